//! The list of findings and checks: what is wrong first, then what is not known, then what is good.

pub mod detail;

use std::ops::Range;

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::snapshot::{CheckRow, CheckVerdict, FindingRow, Gravity, Severity, Snapshot};
use crate::tui::filter::{Filter, Target};
use crate::tui::findings;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::views::findings::State;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Rows below which each item has one row.
const TALL: usize = 8;

/// Identity of an item while others come and go: its id, and its number among those of the same id.
pub type Key = (&'static str, usize);

/// Something that can be selected.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// Something that is or was wrong.
    Finding(&'a FindingRow),
    /// A check that found nothing, or cannot tell.
    Check(&'a CheckRow),
    /// Something that was wrong more than a minute ago.
    Past(&'a FindingRow),
}

impl Item<'_> {
    const fn id(&self) -> &'static str {
        match self {
            Self::Finding(finding) | Self::Past(finding) => finding.id,
            Self::Check(check) => check.id,
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Finding(finding) | Self::Past(finding) => finding.name,
            Self::Check(check) => check.name,
        }
    }

    /// Returns its mark, its role and its word.
    fn state(&self, glyphs: &Glyphs) -> (&'static str, Role, &'static str) {
        match self {
            Self::Finding(finding) if finding.resolved.is_some() => {
                (glyphs.ok, Role::Resolved, "RESOLVED")
            }
            Self::Finding(finding) => {
                let severity = finding.severity;
                let mark = findings::glyph(severity, glyphs);
                (mark, findings::role(severity), findings::word(severity))
            }
            Self::Past(_) => (glyphs.dot, Role::Muted, "earlier"),
            Self::Check(check) => match check.verdict {
                CheckVerdict::Clear => (glyphs.ok, Role::Ok, "clear"),
                CheckVerdict::Unknown { .. } => (glyphs.unknown, Role::Unknown, "unknown"),
                CheckVerdict::Found => (glyphs.warn, Role::Warn, "found"),
            },
        }
    }

    /// Returns what there is to say of it in one row.
    fn note(&self) -> String {
        let note = match self {
            Self::Finding(finding) | Self::Past(finding) => finding.summary.clone(),
            Self::Check(check) => match &check.verdict {
                CheckVerdict::Unknown { missing } => missing.clone(),
                CheckVerdict::Clear | CheckVerdict::Found => check.note.clone(),
            },
        };
        text::clean(&note).into_owned()
    }

    /// Returns true when the filter lets it through: by id, name, word, grade, and all that is said of it
    /// and of its evidence.
    fn passes(&self, filter: &Filter) -> bool {
        let (_, _, word) = self.state(Glyphs::ASCII);
        let said = [self.id(), self.name(), word, &self.note()].join(" ");
        let (gravity, said, source) = match self {
            Self::Check(_) => (Gravity::Normal, said, String::new()),
            Self::Finding(finding) | Self::Past(finding) => {
                let gravity = match finding.severity {
                    _ if finding.resolved.is_some() => Gravity::Normal,
                    Severity::Critical => Gravity::Bad,
                    Severity::Warning => Gravity::Notice,
                    Severity::Info => Gravity::Normal,
                };
                let evidence = finding.evidence.iter();
                let rows =
                    evidence.map(|row| format!("{} {} {}", row.claim, row.value, row.source));
                let rows = rows.collect::<Vec<_>>().join(" ");
                let said = [&said, finding.grade.name(), &finding.effect, &rows].join(" ");
                (gravity, said, findings::kinds(finding).join(" "))
            }
        };
        let text = text::clean(&said);
        filter.matches(&Target {
            who: "",
            kind: "",
            source: &source,
            text: &text,
            gravity,
            orphan: false,
        })
    }

    const fn is_clear(&self) -> bool {
        matches!(self, Self::Check(CheckRow { verdict: CheckVerdict::Clear, .. }))
    }
}

/// Returns all items in the order of the list.
fn items(snapshot: &Snapshot) -> Vec<Item<'_>> {
    let open = findings::open(snapshot).into_iter().map(Item::Finding);
    let past = snapshot.findings.iter().filter(|finding| finding.resolved.is_some());
    let mut items: Vec<_> = open.chain(past.map(Item::Finding)).collect();
    let listed = |check: &&CheckRow| !snapshot.findings.iter().any(|row| row.id == check.id);
    let mut checks: Vec<_> = snapshot.checks.iter().filter(listed).collect();
    checks.sort_by_key(|check| match check.verdict {
        CheckVerdict::Found => 0,
        CheckVerdict::Unknown { .. } => 1,
        CheckVerdict::Clear => 2,
    });
    items.extend(checks.into_iter().map(Item::Check));
    items.extend(snapshot.past.iter().map(Item::Past));
    items
}

/// Returns the items that the filter lets through, each with its key.
pub fn listed<'a>(snapshot: &'a Snapshot, state: &State) -> Vec<(Key, Item<'a>)> {
    let items = items(snapshot);
    let filter = Filter::new(&state.typed);
    let key = |at: usize| {
        let id = items[at].id();
        (id, items[..at].iter().filter(|item| item.id() == id).count())
    };
    let passes = |item: &Item<'_>| filter.is_empty() || item.passes(&filter);
    (0..items.len()).filter(|&at| passes(&items[at])).map(|at| (key(at), items[at])).collect()
}

/// Returns where the selected item is; the first one where none is, or it is gone or does not match.
pub fn position(listed: &[(Key, Item<'_>)], state: &State) -> usize {
    let found = |wanted| listed.iter().position(|(key, _)| *key == wanted);
    state.selected.and_then(found).unwrap_or(0)
}

/// Returns the selected item; none where there are none.
pub fn selected<'a>(snapshot: &'a Snapshot, state: &State) -> Option<Item<'a>> {
    let listed = listed(snapshot, state);
    listed.get(position(&listed, state)).map(|(_, item)| *item)
}

/// Draws the list around the selected item.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let state = &context.look.findings;
    let listed = listed(context.snapshot, state);
    let title = title(context.snapshot, listed.len(), state);
    let selected = position(&listed, state);
    let items: Vec<_> = listed.into_iter().map(|(_, item)| item).collect();
    // What a frame takes of the height; where it takes none, it bears no note either.
    let framed = seen(&items, selected, usize::from(area.height.saturating_sub(2)));
    let below = items.len() - framed.end;
    let more = format!("{below} more {}", canvas.glyphs().down);
    let notes = if below > 0 { vec![part(more, Role::Muted)] } else { Vec::new() };
    let inner = context.frame(canvas, area, PanelId::Findings, title, notes);
    if items.is_empty() && !state.typed.trim().is_empty() {
        canvas.put(inner, 0, 0, "nothing matches; Esc clears the filter", Role::Muted);
        return;
    }
    if items.is_empty() {
        let unknown = canvas.glyphs().unknown;
        canvas.put(inner, 0, 0, &format!("{unknown} no check has run yet"), Role::Unknown);
        return;
    }
    let height = usize::from(inner.height);
    let rows = heights(&items, height);
    let first = seen(&items, selected, height).start;
    let mut y = 0;
    for (at, item) in items.iter().enumerate().skip(first) {
        if y >= height {
            break;
        }
        let area = Rect { y: inner.y + text::coordinate(y), ..inner };
        canvas.spot(area, 0, at);
        if rows[at] > 1 && y + 1 < height {
            canvas.spot(area, 1, at);
        }
        let list = Row { item, selected: at == selected, context };
        list.first(canvas, area, rows[at] > 1);
        if rows[at] > 1 && y + 1 < height {
            list.second(canvas, area);
        }
        y += rows[at];
    }
}

/// Returns which items are seen: as many rows above the selected one as fit together with it, and what fits
/// below.
fn seen(items: &[Item<'_>], selected: usize, height: usize) -> Range<usize> {
    let rows = heights(items, height);
    let mut first = selected.min(items.len());
    let mut used = rows.get(first).copied().unwrap_or_default();
    while first > 0 && used + rows[first - 1] <= height {
        first -= 1;
        used += rows[first];
    }
    let mut left = height;
    let fits = |rows: &&usize| {
        let fit = left > 0;
        left = left.saturating_sub(**rows);
        fit
    };
    first..first + rows[first..].iter().take_while(fits).count()
}

fn title(snapshot: &Snapshot, shown: usize, state: &State) -> String {
    if !state.typed.trim().is_empty() {
        let all = items(snapshot).len();
        return format!("Findings, {shown} of {all} match {}", state.typed);
    }
    let open = findings::open(snapshot).len();
    let critical = findings::count(snapshot, Severity::Critical);
    let more = if critical > 0 { format!(" ({critical} critical)") } else { String::new() };
    let earlier = match snapshot.past.len() {
        0 => String::new(),
        count => format!(", earlier {count}"),
    };
    format!("Findings {open}{more}, checks {}{earlier}", snapshot.checks.len())
}

/// Returns the rows of each item: two where there is room, so that each says why.
fn heights(items: &[Item<'_>], height: usize) -> Vec<usize> {
    let all = items.len() * 2 <= height;
    let rows = |item: &Item<'_>| {
        if height < TALL || (item.is_clear() && !all) { 1 } else { 2 }
    };
    items.iter().map(rows).collect()
}

struct Row<'a> {
    item: &'a Item<'a>,
    selected: bool,
    context: &'a PanelContext<'a>,
}

impl Row<'_> {
    fn first(&self, canvas: &mut Canvas<'_>, area: Rect, tall: bool) {
        let glyphs = canvas.glyphs();
        let (mark, role, word) = self.item.state(glyphs);
        let pointer = if self.selected { glyphs.mark } else { " " };
        let name_role = if self.selected { Role::Title } else { Role::Fg };
        let mut left = [
            part(pointer, Role::Key),
            part(format!("{mark} {} ", self.item.id()), role),
            part("", name_role),
        ];
        let room = usize::from(area.width).saturating_sub(width(&left));
        left[2].text = text::cut(self.item.name(), room, glyphs.ellipsis);
        let x = canvas.parts(area, 0, 0, &left);
        let age = self.age();
        let word = part(word, role);
        let both = vec![word.clone(), part(format!("  {age}"), Role::Muted)];
        let age = vec![part(age, Role::Muted)];
        let forms = if tall { [age.clone(), age] } else { [both, vec![word]] };
        let room = usize::from(area.width.saturating_sub(x + 1));
        let Some(right) = forms.into_iter().find(|right: &Vec<Part>| width(right) <= room) else {
            return;
        };
        let left = room - width(&right);
        if !tall && left > 24 {
            let note = text::cut_words(&self.item.note(), left - 3, glyphs.ellipsis);
            canvas.put(area, x + 2, 0, &note, Role::Muted);
        }
        canvas.parts_right(area, 0, &right);
    }

    fn second(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let (_, role, word) = self.item.state(canvas.glyphs());
        let colon = if matches!(self.item, Item::Check(_)) { ":" } else { "" };
        let x = canvas.put(area, 3, 1, &format!("{word}{colon}"), role) + 1;
        let room = usize::from(area.width.saturating_sub(x));
        let note = text::cut_words(&self.item.note(), room, canvas.glyphs().ellipsis);
        canvas.put(area, x, 1, &note, Role::Muted);
    }

    /// Returns for how long it has been so.
    fn age(&self) -> String {
        match self.item {
            Item::Finding(finding) | Item::Past(finding) => {
                let since = finding.resolved.unwrap_or(finding.raised);
                text::span(self.context.now.since(since))
            }
            Item::Check(_) => String::new(),
        }
    }
}
