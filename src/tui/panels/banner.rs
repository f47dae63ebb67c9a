//! The banner: what is wrong and what mends it, below the status bar of every view.
//!
//! It cannot be closed while it is true, only made smaller.

mod boxed;
mod rows;

use ratatui::layout::Rect;

use super::router;
use crate::domain::{ClaimOf, Timestamp};
use crate::snapshot::{FindingRow, Severity, Snapshot};
use crate::tui::command::{Command, Copied};
use crate::tui::findings::{self, Alert};
use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::{told, with_keys};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// Columns that a box needs to say anything.
const BOXED: u16 = 60;
/// Columns from which on a box gives what mends it a second row.
const ROOMY: u16 = 100;
/// Columns that a summary needs to say more than the finding's name.
const TELLING: usize = 30;
/// The label of what mends it.
const FIX: &str = "FIX";
/// The finding whose effect is shown whole rows before its fix: who does not read that the setting is not
/// read restarts frontends for nothing.
const DECLARED: &str = "KVT016";
const COPY: Command = Command::Copy(Copied::Fix);

/// How many rows the banner has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// For what is wrong.
    pub open: u16,
    /// For what was resolved.
    pub resolved: u16,
}

impl Rows {
    /// Returns how many there are together.
    pub const fn all(self) -> u16 {
        self.open + self.resolved
    }
}

/// Returns the rows of the banner on a screen of that size.
pub fn rows(alert: &Alert<'_>, screen: Rect, collapsed: bool) -> Rows {
    let open = match (alert.top, screen.height) {
        (None, _) => 0,
        (Some(_), _) if collapsed => 1,
        (Some(top), 30..) if top.id == DECLARED && screen.width >= BOXED => {
            boxed::whole(top, screen.width)
        }
        (Some(top), 16..30) if top.id == DECLARED => 3,
        (Some(top), 30..) if screen.width >= ROOMY && boxed::wraps(top, screen.width) => 5,
        (Some(_), 30..) if screen.width >= BOXED => 4,
        (Some(_), 16..) => 2,
        (Some(_), _) => 1,
    };
    let room = open == 0 || screen.height >= 16;
    Rows { open, resolved: u16::from(alert.resolved.is_some() && room) }
}

/// Draws the banner into `area`, which may have fewer rows than wanted.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    snapshot: &Snapshot,
    now: Timestamp,
    (rows, collapsed): (Rows, bool),
    keys: &Keymap,
) {
    let alert = findings::alert(snapshot);
    let open = Rect { height: rows.open.min(area.height), ..area };
    if let Some(finding) = alert.top {
        let sizes = sizes(finding, snapshot, now, canvas.glyphs());
        let banner = Banner { finding, more: alert.more, now, collapsed, keys, sizes };
        match open.height {
            0 => {}
            1 => banner.row(canvas, open),
            2 | 3 => banner.rows(canvas, open),
            4.. if finding.id == DECLARED => banner.spelt_out(canvas, open),
            4.. => banner.boxed(canvas, open),
        }
    }
    let y = area.y + open.height;
    let rest = Rect { y, height: area.height - open.height, ..area };
    if let Some(finding) = alert.resolved.filter(|_| !rest.is_empty()) {
        resolved(canvas, rest, finding, snapshot);
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
    let all = router::sizes::said(&sides, glyphs);
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
        router::sizes::said(&firsts, glyphs),
        briefs.join(glyphs.differs),
        bare.join(glyphs.differs),
    ]
}

/// Draws what was mended, and since when.
fn resolved(canvas: &mut Canvas<'_>, area: Rect, finding: &FindingRow, snapshot: &Snapshot) {
    let glyphs = canvas.glyphs();
    let at = text::clock(finding.resolved.unwrap_or(snapshot.at));
    let short = format!("{} RESOLVED {}", glyphs.ok, finding.id);
    let long = format!("{short} {} at {at}Z", finding.name);
    let shorter = format!("{short} at {at}Z");
    let tree = growth(snapshot).filter(|_| finding.severity == Severity::Critical);
    let tree = tree.map_or_else(String::new, |tree| format!(": {tree}"));
    let room = usize::from(area.width);
    let said = [format!("{long}{tree}"), format!("{shorter}{tree}"), long, shorter, short];
    let fits = said.iter().find(|said| text::width(said) <= room).or(said.last());
    if let Some(said) = fits {
        canvas.put(area, 0, 0, said, Role::Resolved);
    }
}

/// Returns how large the tree is, and whether it grew over the last tenth of the window.
fn growth(snapshot: &Snapshot) -> Option<String> {
    let blocks = snapshot.tree.accepted_blocks;
    if blocks == 0 {
        return None;
    }
    // Graphs that end in the past do not tell.
    let points = &snapshot.series.tree_size.points;
    let points = if snapshot.series.until.is_none() { points.as_slice() } else { &[] };
    let before = points.iter().rev().nth(points.len() / 10).copied().flatten();
    let grows = before.is_some_and(|before| blocks as f64 > before);
    let grows = if grows { " and growing" } else { "" };
    Some(format!("tree {} blocks{grows}", text::thousands(blocks)))
}

struct Banner<'a> {
    finding: &'a FindingRow,
    more: usize,
    now: Timestamp,
    collapsed: bool,
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
        findings::mending(self.finding, self.now).is_some()
    }

    /// Returns mark and id, with the word between them where there is room.
    fn badge(&self, glyphs: &Glyphs) -> [String; 2] {
        let severity = if self.recovers() { Severity::Warning } else { self.finding.severity };
        let mark = findings::glyph(severity, glyphs);
        let word = if self.recovers() { "RECOVERING" } else { findings::word(severity) };
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
        let key = told(self.keys, command);
        [part(format!(" {key}"), Role::Key), part(format!(" {does}"), Role::Fg)]
    }

    /// Returns how many other findings there are, unless there are none.
    fn others(&self, long: bool) -> Vec<Part> {
        let said = match (self.more, long) {
            (0, _) => return Vec::new(),
            (more, true) => format!("+{more} more ({})", told(self.keys, Command::TopFinding)),
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
