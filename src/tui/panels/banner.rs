//! The banner: what is wrong and what mends it, below the status bar of every view.
//!
//! It cannot be closed while it is true, only made smaller.

use ratatui::layout::Rect;

use crate::domain::Timestamp;
use crate::snapshot::{FindingRow, Severity, Snapshot};
use crate::tui::findings::{self, Alert};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Columns that a box needs to say anything.
const BOXED: u16 = 60;
/// Columns that a summary needs to say more than the finding's name.
const TELLING: usize = 30;
/// Columns below which half a summary says less than the name.
const CUT: usize = 46;
/// Columns of the name below which nothing stands to the right of it.
const LEAST: usize = 6;
/// Columns of one row from which on it names keys.
const KEYED: u16 = 46;

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
    rows: Rows,
    collapsed: bool,
) {
    let alert = findings::alert(snapshot);
    let open = Rect { height: rows.open.min(area.height), ..area };
    if let Some(finding) = alert.top {
        let banner = Banner { finding, more: alert.more, now, collapsed };
        match open.height {
            0 => {}
            1 => banner.row(canvas, open),
            2 | 3 => banner.rows(canvas, open),
            4.. => banner.boxed(canvas, open),
        }
    }
    let y = area.y + open.height;
    let rest = Rect { y, height: area.height - open.height, ..area };
    if let Some(finding) = alert.resolved.filter(|_| !rest.is_empty()) {
        resolved(canvas, rest, finding, snapshot);
    }
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
    let points = &snapshot.series.tree_size.points;
    let before = points.iter().rev().nth(points.len() / 10).copied().flatten();
    let grows = before.is_some_and(|before| blocks as f64 > before);
    let grows = if grows { " and growing" } else { "" };
    Some(format!("tree {} blocks{grows}", text::thousands(blocks)))
}

/// One way to fill a row: label and text on the left, more on the right.
struct Form {
    badge: String,
    said: String,
    right: Vec<Part>,
}

impl Form {
    /// Returns the columns that it takes with one between its parts.
    fn width(&self) -> usize {
        let gap = |width: usize| if width > 0 { width + 1 } else { 0 };
        text::width(&self.badge) + gap(text::width(&self.said)) + gap(width(&self.right))
    }
}

struct Banner<'a> {
    finding: &'a FindingRow,
    more: usize,
    now: Timestamp,
    collapsed: bool,
}

impl Banner<'_> {
    const fn role(&self) -> Role {
        findings::role(self.finding.severity)
    }

    /// Returns mark and id, with the word between them where there is room.
    fn badge(&self, glyphs: &Glyphs) -> [String; 2] {
        let mark = findings::glyph(self.finding.severity, glyphs);
        let (word, id) = (findings::word(self.finding.severity), self.finding.id);
        [format!("{mark} {word} {id}"), format!("{mark} {id}")]
    }

    fn age(&self) -> String {
        text::span(self.now.since(self.finding.raised))
    }

    fn summary(&self) -> String {
        text::clean(&self.finding.summary).into_owned()
    }

    /// Returns the name and the summary together.
    fn named(&self) -> String {
        format!("{}  {}", self.finding.name, self.summary())
    }

    fn key(key: &str, does: &str) -> [Part; 2] {
        [part(format!(" {key}"), Role::Key), part(format!(" {does}"), Role::Fg)]
    }

    /// Returns how many other findings there are, unless there are none.
    fn others(&self, long: bool) -> Vec<Part> {
        let said = match (self.more, long) {
            (0, _) => return Vec::new(),
            (more, true) => format!("+{more} more (f)"),
            (more, false) => format!("+{more}"),
        };
        vec![part(said, self.role())]
    }

    /// Fills a row with the first of `forms` that fits; returns what went to the right of it. When none
    /// fits, the text of the last is cut, or gives way to the name where little of it would be left.
    fn fill(&self, canvas: &mut Canvas<'_>, area: Rect, forms: Vec<Form>) -> Vec<Part> {
        let room = usize::from(area.width);
        let whole = forms.iter().position(|form| form.width() <= room);
        let at = whole.unwrap_or(forms.len().saturating_sub(1));
        let Some(mut form) = forms.into_iter().nth(at) else { return Vec::new() };
        if whole.is_none() {
            let mark = canvas.glyphs().ellipsis;
            let long = text::width(&form.said);
            if room < text::width(&form.badge) + width(&form.right) + LEAST {
                form.right.clear();
            }
            let left = room.saturating_sub(form.width() - long);
            let cut = text::cut_words(&form.said, left, mark);
            form.said = if left < TELLING || (left < CUT && text::width(&cut) * 2 < long) {
                text::cut(self.finding.name, left, mark)
            } else {
                cut
            };
        }
        let x = canvas.badge(area, 0, 0, &form.badge, self.role());
        canvas.put(area, x + 1, 0, &form.said, Role::Title);
        canvas.parts_right(area, 0, &form.right);
        form.right
    }

    /// One row: what is wrong, and the keys that tell more.
    fn row(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let [long, short] = self.badge(canvas.glyphs());
        let mut keys = self.others(false);
        if self.collapsed {
            keys.extend(Self::key("b", "open"));
        }
        if self.finding.fix.is_some() && !self.collapsed {
            keys.extend(Self::key("Y", "fix"));
        }
        keys.extend(Self::key("f", "why"));
        let mut aged = vec![part(self.age(), Role::Muted), part(" ", Role::Fg)];
        aged.extend(keys.iter().cloned());
        let form = |badge: &str, said: String, right: &[Part]| Form {
            badge: badge.to_owned(),
            said,
            right: right.to_vec(),
        };
        let last = if area.width >= KEYED { &keys } else { &self.others(false) };
        let forms = vec![
            form(&long, self.named(), &aged),
            form(&long, self.summary(), &aged),
            form(&long, self.summary(), &keys),
            form(&short, self.summary(), &keys),
            form(&short, self.summary(), last),
        ];
        self.fill(canvas, area, forms);
    }

    /// Two rows: what is wrong, and what mends it.
    fn rows(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let [long, short] = self.badge(canvas.glyphs());
        let age = part(self.age(), Role::Muted);
        let bar = part(format!(" {} ", canvas.glyphs().bar), Role::Border);
        let grade = part(findings::grade(self.finding), self.role());
        let name = part(self.finding.grade.name(), self.role());
        let form = |badge: &str, said: String, right: &[&Part]| Form {
            badge: badge.to_owned(),
            said,
            right: right.iter().copied().cloned().collect(),
        };
        let forms = vec![
            form(&long, self.named(), &[&grade, &bar, &age]),
            form(&long, self.summary(), &[&grade, &bar, &age]),
            form(&long, self.summary(), &[&name, &bar, &age]),
            form(&long, self.summary(), &[]),
            form(&short, self.summary(), &[]),
        ];
        let graded = !self.fill(canvas, area, forms).is_empty();
        self.mend(canvas, area, graded);
    }

    /// The second of two rows. It says how sure the finding is where the first has no room for it.
    fn mend(&self, canvas: &mut Canvas<'_>, area: Rect, graded: bool) {
        let (label, said) = self.remedy(false);
        let copy = || self.finding.fix.iter().flat_map(|_| Self::key("Y", "copy"));
        let mut long = self.others(true);
        long.extend(copy());
        if self.more == 0 {
            long.extend(Self::key("f", "evidence"));
        }
        let mut short = self.others(false);
        short.extend(copy().chain(Self::key("f", "why")));
        let mut least = self.others(false);
        least.extend(copy());
        let grade = part(format!("{} ", self.finding.grade.name()), self.role());
        let grade = (!graded).then_some(grade);
        let graded = |right: &[Part]| grade.iter().chain(right).cloned().collect::<Vec<Part>>();
        let room = usize::from(area.width).saturating_sub(2);
        let labelled = if label.is_empty() { 0 } else { text::width(label) + 1 };
        let fits = |said: usize, right: &[Part]| labelled + said + 1 + width(right) <= room;
        // What to type comes before how sure that is, and both before keys.
        let whole = [graded(&long), graded(&short), graded(&least), graded(&[]), Vec::new()];
        let cut = [graded(&least), graded(&[]), Vec::new()];
        let long = text::width(&said);
        let right = whole.into_iter().find(|right| fits(long, right));
        let right = right.or_else(|| cut.into_iter().find(|right| fits(TELLING, right)));
        let right = right.unwrap_or_default();
        let left = room.saturating_sub(labelled + width(&right) + 1);
        let x = Self::label(canvas, area, 2, 1, label);
        canvas.put(area, x, 1, &text::cut_words(&said, left, canvas.glyphs().ellipsis), Role::Fg);
        canvas.parts_right(area, 1, &right);
    }

    /// Writes `label` where something mends it; returns the column after it.
    fn label(canvas: &mut Canvas<'_>, area: Rect, x: u16, y: u16, label: &str) -> u16 {
        if label.is_empty() { x } else { canvas.put(area, x, y, label, Role::Key) + 1 }
    }

    /// Returns what mends it, with its label; what it does where nothing mends it.
    fn remedy(&self, effect_is_said: bool) -> (&'static str, String) {
        match &self.finding.fix {
            Some(fix) => ("FIX", text::clean(&fix.sentence).into_owned()),
            None if effect_is_said => ("", String::from("no fix is known; f shows the evidence")),
            None => ("", text::clean(&self.finding.effect).into_owned()),
        }
    }

    /// Four rows: a box with everything.
    fn boxed(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let area = canvas.clip(area);
        self.edges(canvas, area);
        self.head(canvas, area);
        let inner = Rect { x: area.x + 2, width: area.width - 4, ..area };
        let room = usize::from(inner.width);
        let mark = canvas.glyphs().ellipsis;
        let (summary, effect) = (self.summary(), text::clean(&self.finding.effect).into_owned());
        let both = text::width(&summary) + 1 + text::width(&effect) <= room;
        let x = canvas.put(inner, 0, 1, &text::cut_words(&summary, room, mark), Role::Title);
        let left = room.saturating_sub(usize::from(x) + 1);
        if both || left >= TELLING {
            canvas.put(inner, x + 1, 1, &text::cut_words(&effect, left, mark), Role::Fg);
        }
        let (label, said) = self.remedy(both);
        let x = Self::label(canvas, inner, 0, 2, label);
        let left = room.saturating_sub(x.into());
        let x = canvas.put(inner, x, 2, &text::cut_words(&said, left, mark), Role::Fg);
        let restarts = self.finding.fix.as_ref().map(|fix| text::clean(&fix.restarts).into_owned());
        if let Some(restarts) = restarts.filter(|said| !said.is_empty()) {
            let said = format!("  restarts: {restarts}");
            if usize::from(x) + text::width(&said) <= room {
                canvas.put(inner, x, 2, &said, Role::Muted);
            }
        }
        self.foot(canvas, area);
    }

    fn edges(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let set = canvas.glyphs().banner;
        let inner = usize::from(area.width) - 2;
        let edge = |left: &str, middle: &str, right: &str| {
            format!("{left}{}{right}", middle.repeat(inner))
        };
        let role = self.role();
        canvas.put(area, 0, 0, &edge(set.top_left, set.horizontal_top, set.top_right), role);
        for y in 1..area.height - 1 {
            canvas.put(area, 0, y, set.vertical_left, role);
            canvas.put(area, area.width - 1, y, set.vertical_right, role);
        }
        let bottom = edge(set.bottom_left, set.horizontal_bottom, set.bottom_right);
        canvas.put(area, 0, area.height - 1, &bottom, role);
    }

    /// The upper edge: what it is, how sure that is, and for how long.
    fn head(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let glyphs = canvas.glyphs();
        let [badge, _] = self.badge(glyphs);
        let x = canvas.badge(area, 2, 0, &format!(" {badge} "), self.role());
        let age = part(format!("{} ", self.age()), Role::Fg);
        let bar = part(format!(" {} ", glyphs.bar), Role::Border);
        let grade = |said: String| part(format!(" {said}"), self.role());
        let long = [grade(findings::grade(self.finding)), bar.clone(), age.clone()];
        let short = [grade(self.finding.grade.name().to_owned()), bar, age.clone()];
        let name = format!(" {} ", self.finding.name);
        let room = usize::from(area.width.saturating_sub(x + 3));
        let both = |right: &[Part]| text::width(&name) + width(right) <= room;
        let right: &[Part] = if both(&long) {
            &long
        } else if both(&short) {
            &short
        } else {
            &[]
        };
        canvas.put(area, x, 0, &name, Role::Title);
        if !right.is_empty() {
            let start = area.width - 2 - text::coordinate(width(right));
            canvas.parts(area, start, 0, right);
        }
    }

    /// The lower edge: keys, and how much more there is.
    fn foot(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let y = area.height - 1;
        let mut keys: Vec<[Part; 2]> = Vec::new();
        if let Some(fix) = &self.finding.fix {
            keys.push(Self::key(
                "Y",
                if fix.yaml.is_some() { "copy fix" } else { "copy sentence" },
            ));
            if fix.kubectl.is_some() {
                keys.push(Self::key("C", "copy kubectl command"));
            }
        }
        keys.extend([Self::key("f", "evidence"), Self::key("b", "collapse")]);
        let mut others = self.others(true);
        if !others.is_empty() {
            others.insert(0, part(" ", Role::Fg));
            others.push(part(" ", Role::Fg));
        }
        let needed = |keys: &[[Part; 2]]| keys.iter().map(|key| width(key) + 2).sum::<usize>();
        let room = usize::from(area.width).saturating_sub(4 + width(&others));
        while needed(&keys) > room && keys.len() > 1 {
            keys.pop();
        }
        let x = keys.iter().fold(2, |x, key| {
            let x = canvas.parts(area, x, y, key);
            canvas.put(area, x, y, "  ", Role::Fg)
        });
        let start = area.width.saturating_sub(2 + text::coordinate(width(&others)));
        if start >= x {
            canvas.parts(area, start, y, &others);
        }
    }
}
