//! The banner: what is wrong and what mends it, below the status bar of every view.
//!
//! It cannot be closed while it is true, only made smaller.

mod boxed;
mod rows;

use ratatui::layout::Rect;

use super::router;
use crate::domain::{ClaimOf, Timestamp, Topic};
use crate::dynamo::plane::EVENTS_BY_ZMQ;
use crate::snapshot::{
    CheckRow, CheckVerdict, Feed, FindingRow, Lack, Snapshot, Standing, ranks_beyond,
};
use crate::tui::command::{Command, Copied};
use crate::tui::findings;
use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::{key_or_line, with_keys};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// Columns that a box needs to say anything.
const BOXED: u16 = 60;
/// Rows of the screen from which on the verdict is a box.
const BOXED_ROWS: u16 = 22;
/// Rows of the screen from which on it says that nothing is wrong.
const QUIET_ROWS: u16 = 14;
/// Rows of the screen from which on a long reason for which nothing is known takes two of them.
const UNKNOWN_ROWS: u16 = 24;
/// Columns before that reason: a mark, `NOT KNOWN YET`, and what is between.
const UNKNOWN_WORDS: usize = 19;
/// Columns that a summary needs to say more than the finding's name.
const TELLING: usize = 30;
/// The label of what mends it.
const FIX: &str = "FIX";
const COPY: Command = Command::Copy(Copied::Fix);

/// The rows of the banner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// For what is wrong.
    pub open: u16,
    /// For what was resolved, or for the verdict that nothing is wrong.
    pub note: u16,
}

impl Rows {
    /// Returns how many there are together.
    pub const fn all(self) -> u16 {
        self.open + self.note
    }
}

/// How the banner is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its rows.
    pub rows: Rows,
    /// True when the reader made it one row.
    pub collapsed: bool,
    /// True when it shows a verdict of the past.
    pub past: bool,
    /// Rows of the screen.
    pub screen: u16,
}

/// Returns the rows of the banner on a screen of that size.
pub fn rows(snapshot: &Snapshot, screen: Rect, collapsed: bool) -> Rows {
    let alert = findings::alert(snapshot);
    let open = match (alert.top, screen.height) {
        (None, _) => 0,
        (Some(_), _) if collapsed => 1,
        (Some(top), BOXED_ROWS..) if screen.width >= BOXED => {
            boxed::height(top, snapshot, (screen.width, screen.height))
        }
        // Its effect gets whole rows before the fix: who does not read that the setting has no effect restarts
        // frontends for nothing.
        (Some(top), 16..) if top.topic == Topic::DeclaredSize => 3,
        (Some(_), 16..) => 2,
        (Some(_), _) => 1,
    };
    let said = alert.resolved.is_some() || open == 0;
    let room = screen.height >= if open == 0 { QUIET_ROWS } else { 16 };
    let long = open == 0 && alert.resolved.is_none() && screen.height >= UNKNOWN_ROWS;
    let note = 1 + u16::from(long && is_long(snapshot, screen.width.into()));
    Rows { open, note: if said && room { note } else { 0 } }
}

/// Draws the banner into `area`, which may have fewer rows than wanted.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    snapshot: &Snapshot,
    now: Timestamp,
    Form { rows, collapsed, past, screen }: Form,
    keys: &Keymap,
) {
    let alert = findings::alert(snapshot);
    let open = Rect { height: rows.open.min(area.height), ..area };
    if let Some(finding) = alert.top {
        let sizes = sizes(finding, snapshot, now, canvas.glyphs());
        let more = alert.more;
        let banner = Banner { finding, snapshot, more, now, collapsed, past, keys, sizes };
        match open.height {
            0 => {}
            1 => banner.row(canvas, open),
            _ if screen >= BOXED_ROWS && open.width >= BOXED => banner.boxed(canvas, open, screen),
            _ => banner.rows(canvas, open),
        }
    }
    let y = area.y + open.height;
    let rest = Rect { y, height: area.height - open.height, ..area };
    if rest.is_empty() {
        return;
    }
    match alert.resolved {
        Some(finding) => resolved(canvas, rest, finding, snapshot),
        None if alert.top.is_none() => quiet(canvas, rest, snapshot, now),
        None => {}
    }
}

/// Returns the block sizes that differ, where `finding` is about that, from all who have them down to the
/// bare numbers: they say more than half a sentence does.
fn sizes(
    finding: &FindingRow,
    snapshot: &Snapshot,
    now: Timestamp,
    glyphs: &Glyphs,
) -> Vec<String> {
    let sides = router::sizes::sides(snapshot);
    let about = finding.name == "block-size-mismatch";
    if !about || sides.len() < 2 || findings::mending(finding, now).is_some() {
        return Vec::new();
    }
    let all = router::sizes::format_sides(&sides, glyphs);
    let first = |of: &Vec<ClaimOf>| of.first().copied().into_iter().collect::<Vec<_>>();
    let firsts = sides.iter().map(|(size, of)| (*size, first(of))).collect();
    let brief = |of: &Vec<ClaimOf>| match of.first() {
        Some(ClaimOf::Engine) => "eng",
        Some(ClaimOf::Publisher) => "pub",
        Some(of) => of.name(),
        None => "",
    };
    let briefs: Vec<String> =
        sides.iter().map(|(size, of)| format!("{}{size}", brief(of))).collect();
    let bare: Vec<String> = sides.keys().map(ToString::to_string).collect();
    vec![
        format!("block size {all}"),
        all,
        router::sizes::format_sides(&firsts, glyphs),
        briefs.join(glyphs.differs),
        bare.join(glyphs.differs),
    ]
}

/// Draws what was resolved, how long it lasted, and what users feel of it.
fn resolved(canvas: &mut Canvas<'_>, area: Rect, finding: &FindingRow, snapshot: &Snapshot) {
    let glyphs = canvas.glyphs();
    let ended = finding.resolved.unwrap_or(snapshot.at);
    let (at, lasted) = (text::clock(ended), text::span(ended.since(finding.raised)));
    let short = format!(" {} RESOLVED {}", glyphs.ok, finding.id);
    let name = finding.name.replace('-', " ");
    let whole = format!("{short} {name} at {at}Z after {lasted}");
    let mut said =
        felt_since(snapshot, glyphs, [&whole, &format!("{short} after {lasted}"), &short]);
    said.extend([
        whole,
        format!("{short} at {at}Z after {lasted}"),
        format!("{short} at {at}Z"),
        short,
    ]);
    let room = usize::from(area.width);
    let fits = said.iter().find(|said| text::width(said) <= room).or(said.last());
    if let Some(said) = fits {
        canvas.put(area, 0, 0, said, Role::Resolved);
    }
}

/// Returns the ways to say what users feel since a finding ended, behind each of `heads`, from the one that says most.
fn felt_since(snapshot: &Snapshot, glyphs: &Glyphs, heads: [&str; 3]) -> Vec<String> {
    // Restarted workers begin with empty caches: what is worse for a while follows what is better.
    let (better, mut worse): (Vec<_>, Vec<_>) =
        changes(snapshot, glyphs).into_iter().partition(|it| it.better);
    // Users wait for the first token.
    worse.sort_by_key(|it| !it.of_first_tokens);
    let texts = |all: Vec<FeltChange>| all.into_iter().map(|it| it.said).collect::<Vec<String>>();
    let (better, worse) = (texts(better), texts(worse));
    let dot = format!(" {} ", glyphs.dot);
    let labels: &[&str] = match snapshot.refilling() {
        Some(_) => &["while caches refill", "refilling"],
        None => &["worse"],
    };
    let mut said = Vec::new();
    // As much as fits, but never what is better without what is worse.
    for bad in (worse.len().min(1)..=worse.len()).rev() {
        for good in (better.len().min(1)..=better.len()).rev() {
            for label in labels {
                let mut parts = better.get(..good).unwrap_or_default().to_vec();
                if bad > 0 {
                    let worse = worse.get(..bad).unwrap_or_default().join(", ");
                    parts.push(format!("{label}: {worse}"));
                }
                if !parts.is_empty() {
                    let parts = parts.join(&dot);
                    said.extend(heads.map(|head| format!("{head}{dot}{parts}")));
                }
            }
        }
    }
    said
}

/// Draws the verdict while no finding is open: healthy, or not known, with what is missing.
fn quiet(canvas: &mut Canvas<'_>, area: Rect, snapshot: &Snapshot, now: Timestamp) {
    let glyphs = canvas.glyphs();
    let (mark, word, role) = match snapshot.standing() {
        Standing::Ok => (glyphs.ok, "HEALTHY", Role::Ok),
        Standing::Unknown => (glyphs.unknown, "NOT KNOWN YET", Role::Unknown),
        Standing::Warning | Standing::Critical => (glyphs.warn, "WARNING", Role::Warn),
    };
    let style = canvas.strong(role);
    let x = canvas.put_styled(area, 0, 0, &format!(" {mark} {word}"), style);
    let facts = facts(snapshot, glyphs);
    if let Some(reason) = facts.first().filter(|_| area.height > 1) {
        let room = usize::from(area.width).saturating_sub(usize::from(x) + 2);
        let lines = text::wrap(reason, room);
        let [first, rest @ ..] = lines.as_slice() else { return };
        canvas.put(area, x + 2, 0, first, Role::Fg);
        canvas.put(
            area,
            x + 2,
            1,
            &text::cut_words(&rest.join(" "), room, glyphs.ellipsis),
            Role::Fg,
        );
        return;
    }
    let ended = snapshot.past.iter().chain(snapshot.findings.iter().filter(|row| row.counts()));
    let latest = ended.filter_map(|row| Some((row.resolved?, row))).max_by_key(|(at, _)| *at);
    let latest = latest
        .map(|(at, row)| format!("last finding: {}, {} ago", row.id, text::span(now.since(at))));
    let dot = format!(" {} ", glyphs.dot);
    let room = usize::from(area.width).saturating_sub(usize::from(x) + 2);
    let waits = waiting(snapshot);
    let said = |facts: &[String], waits: Option<&String>, news: &[&String]| {
        let parts = facts.iter().chain(waits).chain(news.iter().copied());
        parts.cloned().collect::<Vec<_>>().join(&dot)
    };
    // News go before reasons, and reasons before the number of checks.
    let mut ways: Vec<String> = Vec::new();
    for change in demo_changes(snapshot, now, glyphs) {
        let all: Vec<&String> = [&change].into_iter().chain(&latest).collect();
        ways.extend(waits.iter().map(|waits| said(&facts, Some(waits), &all)));
        ways.extend([&all[..], &[&change]].map(|news| said(&facts, waits.last(), news)));
        ways.push(change);
    }
    let latest: Vec<&String> = latest.iter().collect();
    ways.extend(waits.iter().map(|waits| said(&facts, Some(waits), &latest)));
    ways.extend([&latest[..], &[]].map(|news| said(&facts, waits.last(), news)));
    ways.extend((1..=facts.len()).rev().map(|count| facts[..count].join(&dot)));
    let fits = ways.iter().find(|said| text::width(said) <= room).or(ways.last());
    let said = text::cut_words(fits.map_or("", String::as_str), room, glyphs.ellipsis);
    canvas.put(area, x + 2, 0, &said, Role::Fg);
}

/// Returns true where the reason for which nothing is known takes more than a row of so many `columns`.
fn is_long(snapshot: &Snapshot, columns: usize) -> bool {
    let room = columns.saturating_sub(UNKNOWN_WORDS);
    let is_long = |reason: &String| text::width(reason) > room;
    snapshot.standing() == Standing::Unknown
        && facts(snapshot, Glyphs::UNICODE).first().is_some_and(is_long)
}

/// Returns how many checks wait for data, ever shorter: with the reason of the first, with the ids, alone.
fn waiting(snapshot: &Snapshot) -> Vec<String> {
    let missing = |check: &CheckRow| match &check.verdict {
        CheckVerdict::Unknown { missing } => Some((check.id, text::clean(missing).into_owned())),
        CheckVerdict::Clear | CheckVerdict::Found => None,
    };
    let waiting: Vec<_> = snapshot.checks.iter().filter_map(missing).collect();
    let Some((id, missing)) = waiting.first() else { return Vec::new() };
    let need = if waiting.len() == 1 { "needs" } else { "need" };
    let brief = format!("{} {need} more data", waiting.len());
    let ids: Vec<&str> = waiting.iter().map(|(id, _)| *id).collect();
    let named = format!("{brief}: {}", ids.join(", "));
    match (snapshot.standing() == Standing::Unknown).then(|| snapshot.lack()) {
        // The missing input stands before the number of checks.
        Some(Lack::Check(_)) => vec![named, brief],
        _ => vec![format!("{brief} ({id}: {missing})"), named, brief],
    }
}

/// Returns what the verdict rests on, with how many checks are clear.
fn facts(snapshot: &Snapshot, glyphs: &Glyphs) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(behind) = snapshot.catching_up {
        facts.push(format!("reading history, {} %", behind.percent()));
    }
    let lack = (snapshot.standing() == Standing::Unknown).then(|| snapshot.lack());
    match lack {
        Some(Lack::Silence) => facts.push(format!("no KV events over NATS; {EVENTS_BY_ZMQ}")),
        Some(Lack::Down(row)) => facts.push(text::clean(&row.absence()).into_owned()),
        Some(Lack::Hole(hole)) => facts.push(hole.sentence()),
        Some(Lack::Ranks(limit)) => facts.push(ranks_beyond(limit)),
        Some(Lack::Check(missing)) => {
            facts.push(text::clean(missing).into_owned());
            let kept_from =
                snapshot.kept_from().map(|row| text::clean(&row.absence()).into_owned());
            facts.extend(kept_from);
        }
        // The progress of reading is named above, the number of checks below.
        Some(Lack::Unread | Lack::Everything) | None => {}
    }
    if let Some(why) = snapshot.tree.incomplete.first().filter(|_| snapshot.hears_events()) {
        facts.push(format!("{} {}", glyphs.unknown, text::clean(why)));
    }
    if let Some(quiet) = snapshot.coverage.quiet.as_ref().filter(|quiet| quiet.idle) {
        facts.push(format!("no traffic for {}", text::span(quiet.still)));
    }
    let clear = snapshot.checks.iter().filter(|check| check.verdict == CheckVerdict::Clear).count();
    if snapshot.checks.is_empty() {
        facts.push(String::from("no check has run yet"));
    } else {
        facts.push(format!("{clear} of {} checks clear", snapshot.checks.len()));
    }
    facts.extend(notes(snapshot));
    facts
}

/// Returns how many findings are open that do not count as faults, and which; none when none is.
fn notes(snapshot: &Snapshot) -> Option<String> {
    let open = snapshot.findings.iter().filter(|row| row.resolved.is_none() && !row.counts());
    let ids: Vec<&str> = open.map(|row| row.id).collect();
    match ids.as_slice() {
        [] => None,
        [id] => Some(format!("1 note: {id}")),
        several => Some(format!("{} notes: {}", several.len(), several.join(", "))),
    }
}

/// Returns what the presenter of a demo changed last, with what users feel of it: whole, then ever shorter, but never
/// what is better without what is worse; nothing shorter where nothing is felt.
fn demo_changes(snapshot: &Snapshot, now: Timestamp, glyphs: &Glyphs) -> Vec<String> {
    let Feed::Demo(demo) = &snapshot.feed else { return Vec::new() };
    let Some(change) = &demo.change else { return Vec::new() };
    let felt: Vec<String> = changes(snapshot, glyphs).into_iter().map(|it| it.said).collect();
    let what = change.what.replace('→', glyphs.leads_to);
    let said = format!("{what} {} ago", text::span(now.since(change.at)));
    if felt.is_empty() {
        return vec![said];
    }
    let all = felt.join(", ");
    vec![format!("{said}: {all}"), format!("{what}: {all}"), all]
}

/// A figure that users feel, before and after the last change.
pub(super) struct FeltChange {
    /// Name, old value and new value.
    pub said: String,
    /// True where the new value is the better one.
    pub better: bool,
    /// True where it is the time to the first token.
    pub of_first_tokens: bool,
}

/// Returns what users feel now beside what they felt before the last change, where that differs.
pub(super) fn changes(snapshot: &Snapshot, glyphs: &Glyphs) -> Vec<FeltChange> {
    let Some(before) = snapshot.before else { return Vec::new() };
    let (now, arrow) = (snapshot.felt, glyphs.leads_to);
    let mut said = Vec::new();
    let mut share = |name: &str, was: Option<f64>, is: Option<f64>| {
        let (Some(was), Some(is)) = (was, is) else { return };
        let (before, now) = (text::whole_percent(was), text::whole_percent(is));
        if before != now {
            let said_now = format!("{name} {before} {arrow} {now} %");
            said.push(FeltChange { said: said_now, better: is > was, of_first_tokens: false });
        }
    };
    share("router finds", before.found, now.found);
    share("cache hits", before.cached, now.cached);
    let mut time = |name: &str, of_first_tokens: bool, [was, is]: [Option<f64>; 2]| {
        let (Some(was), Some(is)) = (was, is) else { return };
        let ([before, now], unit) = text::times([was, is]);
        // Less than two in a hundred is noise.
        if before != now && (was - is).abs() > 0.02 * was.max(is) {
            let said_now = format!("{name} {before} {arrow} {now} {unit}");
            said.push(FeltChange { said: said_now, better: is < was, of_first_tokens });
        }
    };
    let part = |pair: Option<[f64; 2]>, at: usize| pair.map(|pair| pair[at]);
    let both = |at| [part(before.first_token, at), part(now.first_token, at)];
    time("TTFT p95", true, both(1));
    time("TTFT p50", true, both(0));
    let between = [part(before.inter_token, 0), part(now.inter_token, 0)];
    time("ITL p50", false, between);
    said
}

struct Banner<'a> {
    finding: &'a FindingRow,
    snapshot: &'a Snapshot,
    more: usize,
    now: Timestamp,
    collapsed: bool,
    past: bool,
    keys: &'a Keymap,
    /// The block sizes that differ, ever shorter; none where it is about something else.
    sizes: Vec<String>,
}

impl Banner<'_> {
    /// A finding that nothing shows any more is amber, whatever it was.
    fn role(&self) -> Role {
        if self.recovers() { Role::Warn } else { findings::role(self.finding.severity) }
    }

    fn recovers(&self) -> bool {
        boxed::heals(self.finding)
    }

    /// Returns true where the fix can be tried: a key acts on what is now.
    fn applies_here(&self) -> bool {
        !self.past
            && matches!(&self.snapshot.feed, Feed::Demo(demo) if demo.steps_taken == 0 && demo.mends == self.finding.name)
    }

    /// Returns mark and id, with the word between them where there is room.
    fn badge(&self, glyphs: &Glyphs) -> [String; 2] {
        let mark = if self.recovers() {
            glyphs.healing
        } else {
            findings::glyph(self.finding.severity, glyphs)
        };
        let word =
            if self.recovers() { "RECOVERING" } else { findings::word(self.finding.severity) };
        let id = self.finding.id;
        [format!("{mark} {word} {id}"), format!("{mark} {id}")]
    }

    fn age(&self) -> String {
        text::span(self.now.since(self.finding.raised))
    }

    /// Returns what is wrong; what was, once nothing shows it any more.
    fn summary(&self) -> String {
        let summary = text::clean(&self.finding.summary);
        match findings::mending(self.finding, self.now) {
            Some(progress) => format!("{progress}. Was: {summary}"),
            None => summary.into_owned(),
        }
    }

    /// Returns the name and the summary together.
    fn named(&self) -> String {
        format!("{}  {}", self.finding.name, self.summary())
    }

    fn key(&self, command: Command, does: &str) -> [Part; 2] {
        let key = key_or_line(self.keys, command);
        [part(format!(" {key}"), Role::Key), part(format!(" {does}"), Role::Fg)]
    }

    /// Returns how many other findings there are, unless there are none.
    fn others(&self, long: bool) -> Vec<Part> {
        let said = match (self.more, long) {
            (0, _) => return Vec::new(),
            (more, true) => {
                format!("+{more} more ({})", key_or_line(self.keys, Command::TopFinding))
            }
            (more, false) => format!("+{more}"),
        };
        vec![part(said, self.role())]
    }

    /// Writes `label` where something mends it; returns the column after it.
    fn label(canvas: &mut Canvas<'_>, area: Rect, x: u16, y: u16, label: &str) -> u16 {
        if label.is_empty() { x } else { canvas.put(area, x, y, label, Role::Key) + 1 }
    }

    /// Returns what mends it, with its label; what it does where nothing mends it.
    fn remedy(&self, effect_is_said: bool) -> (&'static str, String) {
        match &self.finding.fix {
            Some(fix) => (FIX, text::clean(&fix.sentence).into_owned()),
            None if effect_is_said => {
                ("", with_keys(self.keys, "no fix is known; {top-finding} shows the evidence"))
            }
            None => ("", text::clean(&self.finding.effect).into_owned()),
        }
    }
}
