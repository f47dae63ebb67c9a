//! The table of workers: which one, and what is wrong with it. The worst is on top.

use ratatui::layout::Rect;

use super::{PanelId, Scene};
use crate::snapshot::WorkerRow;
use crate::tui::judge::{self, Named, State, Verdict};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::gauge;
use crate::tui::widgets::table::{Align, Column, Table};

/// Columns of a worker's name, at least and at most.
const NAME: (usize, usize) = (16, 34);
/// Columns of the table from which on other columns go before a name is cut to less than this.
const ROOMY: usize = 76;
const NAMED: usize = 18;
/// Columns of the table from which on a worker that warms up says so in a word.
const WARMING: usize = 60;
/// Columns of the table from which on there is a word for each state.
const WORDS: usize = 136;
/// Cells of the bar beside KV%.
const BAR: usize = 10;
/// Width of ORPH% with room for the word.
const ORPHANS: usize = 9;

/// Draws the table, or its worst row where there is room for one only.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    if area.height == 1 && !scene.framed {
        return line(canvas, area, scene);
    }
    let count = scene.snapshot.workers.len();
    let glyphs = canvas.glyphs();
    let height = if scene.framed { area.height.saturating_sub(2) } else { area.height };
    let room = if scene.framed { area.width.saturating_sub(4) } else { area.width };
    let table = table(scene, room.into(), height >= 4 && count > 1, glyphs);
    let page = table.page(height).max(1);
    let first = scene.look.first_worker.min(count.saturating_sub(page));
    let mut notes = vec![part(format!("worst first {}", glyphs.down), Role::Muted)];
    if count > page {
        let shown = format!("{}-{} of {count}  ", first + 1, (first + page).min(count));
        notes.insert(0, part(shown, Role::Muted));
    }
    let inner = scene.frame(canvas, area, PanelId::Workers, format!("Workers {count}"), notes);
    if count == 0 {
        canvas.put(inner, 0, 0, waiting(scene), Role::Muted);
        return;
    }
    // Two rows of names would leave none for workers.
    let names = inner.height >= 3;
    table.draw(canvas, inner, names, first);
}

fn waiting(scene: &Scene<'_>) -> &'static str {
    if scene.snapshot.frames == 0 {
        "no data yet: waiting for the first event"
    } else {
        "no worker seen yet: they appear with their first KV event"
    }
}

/// Draws how many workers are in which state, and names the worst.
fn line(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let rows = order(scene, &Named::of(&scene.snapshot.findings));
    let Some((worst, verdict)) = rows.first() else {
        canvas.put(area, 0, 0, "kvtop: no worker yet", Role::Muted);
        return;
    };
    let mark = verdict.state.glyph(canvas.glyphs());
    let name = text::clean(&worst.alias).into_owned();
    let said = format!("{mark} {name} {}", verdict.word);
    canvas.put(area, 0, 0, &said, verdict.state.role());
}

/// Returns the rows with their verdicts, the worst first. Close shares do not swap places.
fn order<'a>(scene: &Scene<'a>, named: &Named) -> Vec<(&'a WorkerRow, Verdict)> {
    let mut rows: Vec<_> =
        scene.snapshot.workers.iter().map(|row| (row, named.worker(row))).collect();
    rows.sort_by_key(|(row, verdict)| {
        let tenths = match judge::orphans(row) {
            State::Unknown => 0,
            State::Ok | State::Warn | State::Fail => {
                text::cells(row.orphan_share.unwrap_or(0.0) * 10.0)
            }
        };
        std::cmp::Reverse((verdict.state, tenths))
    });
    rows
}

fn table(scene: &Scene<'_>, room: usize, total: bool, glyphs: &Glyphs) -> Table {
    let named = Named::of(&scene.snapshot.findings);
    let rows = order(scene, &named);
    let facts = Facts::of(scene, &rows, &named, room, glyphs);
    let wanted = facts.longest.clamp(NAME.0, NAME.1);
    // The name is what people look for, so that other columns go first where there are any.
    let least = if room >= ROOMY { wanted.min(NAMED) } else { NAME.0 };
    let mut columns = facts.columns(least, glyphs);
    let fitting = Table { columns: columns.clone(), ..Table::default() }.fitting(room);
    let used: usize = fitting.iter().map(|&at| columns[at].width + 1).sum();
    let mut spare = (room + 1).saturating_sub(used);
    let bar = spare > BAR + wanted - least && fitting.contains(&Facts::KV);
    if bar {
        columns[Facts::KV].width += BAR + 1;
        spare -= BAR + 1;
    }
    let name = wanted.min(least + spare);
    columns[Facts::NAME].width = name;
    let cells = |(row, verdict): &(&WorkerRow, Verdict)| {
        let size = named.size(row);
        Cells { row, verdict: *verdict, size, scene, glyphs, facts: &facts, name, bar }.cells()
    };
    let total = total.then(|| total_cells(scene, glyphs, bar));
    Table { rows: rows.iter().map(cells).collect(), columns, total }
}

/// What decides the columns.
struct Facts {
    longest: usize,
    sizes: usize,
    rank: usize,
    ranks: bool,
    held: bool,
    room: usize,
}

impl Facts {
    /// Position of the name.
    const NAME: usize = 1;
    /// Position of KV%.
    const KV: usize = 8;

    fn of(
        scene: &Scene<'_>,
        rows: &[(&WorkerRow, Verdict)],
        named: &Named,
        room: usize,
        glyphs: &Glyphs,
    ) -> Self {
        let workers = || rows.iter().map(|(row, _)| *row);
        let widest = |text: &dyn Fn(&WorkerRow) -> String| {
            workers().map(|row| text::width(&text(row))).max().unwrap_or(0)
        };
        Self {
            longest: widest(&name),
            sizes: widest(&|row| sizes(row, named.size(row), glyphs)).clamp(4, 14),
            rank: widest(&|row| row.rank.dp_rank.0.to_string()).max(2),
            ranks: workers().any(|row| row.rank.dp_rank.0 > 0),
            held: scene.snapshot.totals.held != scene.snapshot.totals.accepted,
            room,
        }
    }

    fn columns(&self, name: usize, glyphs: &Glyphs) -> Vec<Column> {
        let left = |title, width, rank| Column { title, width, align: Align::Left, rank };
        let right = |title, width, rank| Column { title, width, align: Align::Right, rank };
        let hidden =
            |shown: bool, column: Column| if shown { column } else { Column { rank: 0, ..column } };
        let id = 4 + text::width(glyphs.ellipsis);
        vec![
            left("", 1, 50),
            left("WORKER", name, 40),
            hidden(self.room >= WORDS, left("STATE", 12, 1)),
            right("ID", id, 5),
            hidden(self.ranks, right("DP", self.rank, 25)),
            right("BLK", self.sizes, 23),
            right("CACHED", 7, 9),
            hidden(self.held, right("HELD", 7, 7)),
            right("KV%", 4, 22),
            right("STORE/s", 7, 21),
            right("EVICT/s", 7, 20),
            right("ORPH%", if self.room >= WARMING { ORPHANS } else { 6 }, 30),
            right("HIT%", 5, 6),
            right("ROUTED/s", 8, 2),
            right("OVLP", 6, 4),
            right("LAST", 4, 8),
        ]
    }
}

struct Cells<'a> {
    row: &'a WorkerRow,
    verdict: Verdict,
    /// What findings say of its block size.
    size: Option<State>,
    scene: &'a Scene<'a>,
    glyphs: &'a Glyphs,
    facts: &'a Facts,
    name: usize,
    bar: bool,
}

impl Cells<'_> {
    fn cells(&self) -> Vec<Part> {
        let row = self.row;
        let rates = &row.rates.ten_seconds;
        let name_role = if row.gone { Role::Muted } else { Role::Fg };
        let state = self.verdict.state;
        let id = row.rank.worker.0 % 10_000;
        let age = row.last_event.map(|at| text::age(self.scene.now.since(at)));
        let hits = row.hit_rate.as_ref().map(|rate| text::whole_percent(rate.value));
        vec![
            part(state.glyph(self.glyphs), state.role()),
            part(text::cut_middle(&name(row), self.name, self.glyphs.ellipsis), name_role),
            part(self.verdict.word, state.role()),
            part(format!("{}{id:04}", self.glyphs.ellipsis), Role::Muted),
            part(row.rank.dp_rank.0.to_string(), Role::Fg),
            self.block_size(),
            part(text::count(row.accepted), Role::Fg),
            part(text::count(row.held), Role::Fg),
            usage(row.kv_utilization.as_ref().map(|used| used.value), self.bar, self.glyphs),
            part(text::short(rates.stores), Role::Fg),
            part(text::short(rates.removals), Role::Fg),
            self.orphans(),
            known(hits, self.glyphs),
            part(text::short(row.routed_per_second), Role::Fg),
            known(row.mean_overlap.map(text::short), self.glyphs),
            known(age, self.glyphs),
        ]
    }

    fn block_size(&self) -> Part {
        let said = sizes(self.row, self.size, self.glyphs);
        let role = self.size.map_or(Role::Fg, State::role);
        match judge::sizes(&self.row.block_size).len() {
            0 if self.size.is_none() => known(None, self.glyphs),
            0 | 1 => part(said, role),
            _ if text::width(&said) <= self.facts.sizes => part(said, Role::Crit),
            several => part(format!("{several} {}", self.glyphs.fail), Role::Crit),
        }
    }

    fn orphans(&self) -> Part {
        let state = judge::orphans(self.row);
        match (state, self.row.orphan_share) {
            (State::Ok | State::Warn | State::Fail, Some(share)) => {
                let role = if state == State::Ok { Role::Fg } else { state.role() };
                part(text::percent(share), role)
            }
            _ if self.verdict.word != "warming" => known(None, self.glyphs),
            _ if self.facts.room >= WARMING => {
                part(format!("{} warming", self.glyphs.unknown), Role::Unknown)
            }
            _ => part(self.glyphs.unknown, Role::Unknown),
        }
    }
}

/// Returns the block sizes claimed for a worker: `32`, or `32≠16✗`; with a mark as well when only
/// findings know that they differ: `32✗`.
fn sizes(row: &WorkerRow, found: Option<State>, glyphs: &Glyphs) -> String {
    let sizes: Vec<String> = judge::sizes(&row.block_size).iter().map(u32::to_string).collect();
    let state = if sizes.len() > 1 { Some(State::Fail) } else { found };
    let said = if sizes.is_empty() { glyphs.none.to_owned() } else { sizes.join(glyphs.differs) };
    said + state.map_or("", |state| state.glyph(glyphs))
}

fn name(row: &WorkerRow) -> String {
    let alias = text::clean(&row.alias);
    match &row.pod {
        Some(pod) => format!("{alias} {}", text::clean(pod)),
        None => alias.into_owned(),
    }
}

fn known(value: Option<String>, glyphs: &Glyphs) -> Part {
    value.map_or_else(|| part(glyphs.none, Role::Muted), |value| part(value, Role::Fg))
}

fn usage(share: Option<f64>, bar: bool, glyphs: &Glyphs) -> Part {
    match share {
        None => known(None, glyphs),
        Some(share) if bar => {
            let percent = text::whole_percent(share);
            part(format!("{} {percent:>3}%", gauge::bar(share, BAR, glyphs)), gauge::role(share))
        }
        Some(share) => part(text::whole_percent(share), gauge::role(share)),
    }
}

fn total_cells(scene: &Scene<'_>, glyphs: &Glyphs, bar: bool) -> Vec<Part> {
    let totals = &scene.snapshot.totals;
    let rates = &totals.rates.ten_seconds;
    let last = scene.snapshot.workers.iter().filter_map(|row| row.last_event).max();
    let orphans = match (scene.orphans(), totals.orphan_share) {
        (State::Unknown, _) | (_, None) => known(None, glyphs),
        (State::Ok, Some(share)) => part(text::percent(share), Role::Fg),
        (state, Some(share)) => part(text::percent(share), state.role()),
    };
    let blank = || part("", Role::Fg);
    vec![
        blank(),
        part("total", Role::Title),
        blank(),
        blank(),
        blank(),
        blank(),
        part(text::count(totals.accepted), Role::Fg),
        part(text::count(totals.held), Role::Fg),
        usage(totals.kv_utilization, bar, glyphs),
        part(text::short(rates.stores), Role::Fg),
        part(text::short(rates.removals), Role::Fg),
        orphans,
        blank(),
        part(text::short(scene.snapshot.router.routed_per_second), Role::Fg),
        blank(),
        known(last.map(|at| text::age(scene.now.since(at))), glyphs),
    ]
}
