//! The selected finding or check: what, by what evidence, what speaks against it, what mends it.

use ratatui::layout::Rect;

use super::{Item, selected};
use crate::domain::Timestamp;
use crate::snapshot::{CheckRow, CheckVerdict, EvidenceRow, FindingRow, FixRow};
use crate::tui::findings;
use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::with_keys;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part, width};
use crate::tui::widgets::sheet::{Proof, Sheet};

/// Rows without a frame from which on the first one names the finding.
const NAMED: u16 = 4;

/// Draws it from the row on that the UI wants.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let glyphs = canvas.glyphs();
    let Some(item) = selected(context.snapshot, &context.look.findings) else {
        context.frame(canvas, area, PanelId::Finding, "Nothing selected", Vec::new());
        return;
    };
    let title = format!("{} {}", item.id(), item.name());
    let lines = rows(&item, context, inside(area, context.framed), glyphs);
    let page = page(area, context.framed);
    let first = context.look.findings.first_line.min(lines.len().saturating_sub(page));
    let below = lines.len().saturating_sub(first + page);
    let room = usize::from(area.width).saturating_sub(text::width(&title) + 10);
    let notes = notes(&item, context.now, below, room, glyphs);
    let mut inner = context.frame(canvas, area, PanelId::Finding, title.clone(), notes.clone());
    if !context.framed && area.height >= NAMED {
        let x = canvas.put(inner, 0, 0, &title, Role::Title);
        if usize::from(x) + 2 + width(&notes) <= inner.width.into() {
            canvas.parts_right(inner, 0, &notes);
        }
        inner = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    }
    for (y, line) in lines.iter().skip(first).take(inner.height.into()).enumerate() {
        canvas.parts(inner, 0, text::coordinate(y), line);
    }
}

/// Returns the last row from which on it can be shown in `area`.
pub fn last(context: &PanelContext<'_>, area: Rect, glyphs: &'static Glyphs) -> usize {
    let Some(item) = selected(context.snapshot, &context.look.findings) else { return 0 };
    let rows = rows(&item, context, inside(area, context.framed), glyphs).len();
    rows.saturating_sub(page(area, context.framed))
}

/// Returns the rows for its text: all but the frame, or the name where there is no frame.
pub fn page(area: Rect, framed: bool) -> usize {
    let around = if framed { 2 } else { u16::from(area.height >= NAMED) };
    usize::from(area.height.saturating_sub(around))
}

/// Returns the columns inside of the frame.
fn inside(area: Rect, framed: bool) -> usize {
    usize::from(if framed { area.width.saturating_sub(4) } else { area.width })
}

/// Returns what stands beside the title: how sure it is, for how long, and how much is below.
fn notes(
    item: &Item<'_>,
    now: Timestamp,
    below: usize,
    room: usize,
    glyphs: &'static Glyphs,
) -> Vec<Part> {
    let (_, role, word) = item.state(glyphs);
    let more = (below > 0).then(|| part(format!("  {below} more {}", glyphs.down), Role::Muted));
    let (Item::Finding(finding) | Item::Past(finding)) = item else {
        return [part(word, role)].into_iter().chain(more).collect();
    };
    let age = text::span(now.since(finding.resolved.unwrap_or(finding.raised)));
    let age = part(format!(" {} {age}", glyphs.bar), Role::Muted);
    let grades = match finding.resolved {
        Some(_) => [word.to_owned(), word.to_owned()],
        None => [findings::grade(finding), finding.grade.name().to_owned()],
    };
    let form = |grade: &String| -> Vec<Part> {
        [part(grade, role), age.clone()].into_iter().chain(more.clone()).collect()
    };
    let [long, short] = grades.each_ref().map(form);
    if width(&long) <= room { long } else { short }
}

/// Returns its rows: all of them while it is read, evidence in short while the list is.
fn rows(
    item: &Item<'_>,
    context: &PanelContext<'_>,
    width: usize,
    glyphs: &'static Glyphs,
) -> Vec<Vec<Part>> {
    let mut sheet = Sheet::new(width, context.look.focus == PanelId::Finding, glyphs);
    match item {
        Item::Finding(finding) | Item::Past(finding) => {
            self::finding(&mut sheet, finding, context, glyphs);
        }
        Item::Check(check) => self::check(&mut sheet, check, glyphs),
    }
    sheet.rows
}

fn finding(
    sheet: &mut Sheet,
    finding: &FindingRow,
    context: &PanelContext<'_>,
    glyphs: &'static Glyphs,
) {
    let (mark, role) = match finding.resolved {
        Some(_) => (glyphs.dot, Role::Muted),
        None => (findings::glyph(finding.severity, glyphs), findings::role(finding.severity)),
    };
    sheet.say("WHAT", &finding.summary, Role::Title);
    sheet.say("EFFECT", &finding.effect, Role::Fg);
    let (raised, resolved) = (text::clock(finding.raised), finding.resolved.map(text::clock));
    let when = match resolved {
        Some(resolved) => {
            let lasted = finding.resolved.map(|at| text::span(at.since(finding.raised)));
            let lasted = lasted.unwrap_or_default();
            format!("raised at {raised}Z, resolved at {resolved}Z, after {lasted}")
        }
        None => format!("raised at {raised}Z"),
    };
    sheet.say("SINCE", &when, Role::Fg);
    if let Some(mending) = findings::mending(finding, context.now) {
        sheet.say("", &mending, Role::Resolved);
    }
    sheet.gap();
    match &finding.fix {
        Some(fix) => {
            sheet.say("FIX", &fix.sentence, Role::Title);
            sheet.say("IMPACT", &fix.restarts, Role::Fg);
        }
        None => sheet.say("FIX", "none is known", Role::Muted),
    }
    sheet.gap();
    let proofs: Vec<_> =
        finding.evidence.iter().map(|row| proof(row, context, mark, role, glyphs)).collect();
    sheet.evidence("EVIDENCE", &proofs);
    sheet.gap();
    sheet.say("WOULD DISPROVE THIS", &finding.refuted_by, Role::Fg);
    sheet.gap();
    if let Some(fix) = &finding.fix {
        apply(sheet, fix, context.keys);
    }
    sheet.gap();
    for (at, other) in finding.competing.iter().enumerate() {
        sheet.say(if at == 0 { "ALTERNATIVES RULED OUT" } else { "" }, other, Role::Fg);
    }
    if !finding.explains.is_empty() {
        let said = format!("{}: they follow from it", finding.explains.join(", "));
        sheet.say("EXPLAINS", &said, Role::Fg);
    }
}

fn proof(
    row: &EvidenceRow,
    context: &PanelContext<'_>,
    mark: &'static str,
    role: Role,
    glyphs: &Glyphs,
) -> Proof {
    let clean = |text: &str| text::clean(text).trim().to_owned();
    // First, so that it is never what is cut.
    let against = if row.against { "against it: " } else { "" };
    let (mark, role) = if row.against { (glyphs.ok, Role::Ok) } else { (mark, role) };
    Proof {
        mark,
        role,
        claim: format!("{against}{}", clean(&row.claim)),
        value: clean(&row.value),
        source: clean(&row.source),
        age: row.at.map(|at| context.age(at)).unwrap_or_default(),
    }
}

/// The fix, and the way to verify it.
fn apply(sheet: &mut Sheet, fix: &FixRow, held: &Keymap) {
    if let Some(yaml) = &fix.yaml {
        sheet.code("MANIFEST", yaml);
    }
    if let Some(command) = &fix.kubectl {
        sheet.command("COMMANDS", command);
    }
    sheet.say("VERIFY", &fix.verify, Role::Fg);
    let keys = match (&fix.yaml, &fix.kubectl) {
        (_, Some(_)) => "{copy-fix} copies the commands.",
        (Some(_), None) => "{copy-fix} copies the lines.",
        (None, None) => "{copy-fix} copies the sentence.",
    };
    let keys = with_keys(held, keys);
    sheet.say("", &format!("{keys} kvtop only reads: it never applies a fix."), Role::Muted);
}

fn check(sheet: &mut Sheet, check: &CheckRow, glyphs: &'static Glyphs) {
    let (mark, role, _) = Item::Check(check).state(glyphs);
    match &check.verdict {
        CheckVerdict::Clear => {
            sheet.say("VERDICT", &format!("{mark} clear: no fault found"), role);
        }
        CheckVerdict::Found => sheet.say("VERDICT", &format!("{mark} found"), role),
        CheckVerdict::Unknown { missing } => {
            let said = format!("{mark} not judged: more data is needed");
            sheet.say("VERDICT", &said, role);
            sheet.say("MISSING", missing, Role::Fg);
        }
    }
    sheet.say("JUDGED BY", &check.note, Role::Fg);
}
