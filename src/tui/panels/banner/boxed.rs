//! The verdict as a box: what is wrong, the whole fix, and what it costs; or how far healing has come.

use ratatui::layout::Rect;

use super::{Banner, COPY, FIX, changes};
use crate::domain::{RESOLVED_AFTER, RolloutStage};
use crate::snapshot::{FindingRow, Refill, RolloutRow, Snapshot};
use crate::tui::command::Command;
use crate::tui::findings;
use crate::tui::graph::bar;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Columns of a box that are not for its text.
const AROUND: u16 = 4;
/// Rows of a box that are not for its text.
const EDGES: u16 = 2;
/// Columns of the bar that fills until a finding is resolved.
const BAR: usize = 10;
/// Rows of text at most: a box is no page.
const MOST: u16 = 7;

/// Lines of the cause that always stay, even if the box gets more rows: half a sentence names no cause.
const CAUSE: usize = 2;

/// A paragraph of the box: a label, and a text that is wrapped.
struct Said {
    label: &'static str,
    lines: Vec<String>,
    role: Role,
}

/// Returns the rows of the box of `finding` on a screen of that size.
pub(super) fn height(
    finding: &FindingRow,
    snapshot: &Snapshot,
    (columns, rows): (u16, u16),
) -> u16 {
    let lines: usize = paragraphs(finding, snapshot, (columns, rows), Glyphs::UNICODE)
        .iter()
        .map(|said| said.lines.len())
        .sum();
    text::coordinate(lines.max(1)) + EDGES
}

/// Returns the paragraphs, as many lines of each as there is room for. The fix is never shortened.
fn paragraphs(
    finding: &FindingRow,
    snapshot: &Snapshot,
    (columns, rows): (u16, u16),
    glyphs: &Glyphs,
) -> Vec<Said> {
    let wide = usize::from(columns.saturating_sub(AROUND));
    let paragraph = |label: &'static str, sentence: &str, role| Said {
        label,
        lines: text::wrap(&text::clean(sentence), wide.saturating_sub(indent(label))),
        role,
    };
    let rollout = finding.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
    let mut paragraphs = Vec::new();
    if heals(finding) {
        if let Some(progress) = rollout.and_then(|rollout| progress(rollout, true)) {
            paragraphs.push(paragraph("", &progress, Role::Title));
        }
        let (better, worse): (Vec<_>, Vec<_>) =
            changes(snapshot, glyphs).into_iter().partition(|it| it.better);
        // Before the figures: it explains why first tokens come later than before the cure, where they do.
        if let Some(refill) = snapshot.refilling() {
            let slower = worse.iter().any(|it| it.of_first_tokens);
            paragraphs.push(paragraph("", &filling(&refill, slower, wide), Role::Fg));
        }
        for (felt, role) in [(better, Role::Resolved), (worse, Role::Warn)] {
            let felt: Vec<String> = felt.into_iter().map(|it| it.said).collect();
            if !felt.is_empty() {
                paragraphs.push(paragraph("", &felt.join(&format!(" {} ", glyphs.dot)), role));
            }
        }
        // While some pods run without the fix, the fault is there.
        let (label, role) =
            if finding.mending.is_some() { ("WAS", Role::Muted) } else { ("STILL", Role::Fg) };
        paragraphs.push(paragraph(label, &finding.summary, role));
    } else {
        // The cause and what it does to requests, where both fit.
        let both = format!("{} {}", finding.summary.trim_end(), finding.effect);
        let roomy = rows >= 30 && !finding.effect.is_empty();
        let cause = if roomy { both.as_str() } else { finding.summary.as_str() };
        paragraphs.push(paragraph("", cause, Role::Title));
        match &finding.fix {
            Some(fix) => paragraphs.push(paragraph(FIX, &fix.sentence, Role::Fg)),
            None if !roomy => paragraphs.push(paragraph("", &finding.effect, Role::Fg)),
            None => {}
        }
        // The fix names the pods that are still to restart.
        if let Some(progress) = rollout.and_then(|rollout| progress(rollout, false)) {
            paragraphs.push(paragraph("SO FAR", &progress, Role::Warn));
        }
        let restarts = finding.fix.as_ref().map_or("", |fix| fix.restarts.as_str());
        if !restarts.is_empty() && rows >= 30 {
            paragraphs.push(paragraph("IMPACT", restarts, Role::Muted));
        }
    }
    let most = (rows / 5).clamp(3, MOST).into();
    // The fix and its IMPACT are worth more rows than the effect of the fault.
    if !heals(finding) && finding.fix.is_some() && count(&paragraphs) > most {
        paragraphs[0] = paragraph("", &finding.summary, Role::Title);
    }
    fit(paragraphs, most, wide, glyphs)
}

fn count(all: &[Said]) -> usize {
    all.iter().map(|said| said.lines.len()).sum()
}

/// Takes lines away until no more than `most` are left: first whole paragraphs from the end, then lines of the
/// cause. Those of the fix stay.
fn fit(mut paragraphs: Vec<Said>, most: usize, wide: usize, glyphs: &Glyphs) -> Vec<Said> {
    while count(&paragraphs) > most {
        let last = paragraphs.iter().rposition(|said| said.label != FIX).unwrap_or(0);
        if last > 0 {
            paragraphs.remove(last);
            continue;
        }
        let Some(first) = paragraphs.first_mut().filter(|said| said.lines.len() > CAUSE) else {
            break;
        };
        let rest = first.lines.pop().unwrap_or_default();
        if let Some(end) = first.lines.last_mut() {
            *end = text::cut_clause(&format!("{end} {rest}"), wide, glyphs.ellipsis);
        }
    }
    paragraphs
}

fn indent(label: &str) -> usize {
    if label.is_empty() { 0 } else { text::width(label) + 1 }
}

/// Says that caches fill, which explains slow first tokens right after a restart; in one line where that is possible.
fn filling(refill: &Refill, slower: bool, wide: usize) -> String {
    let (caches, until) = match refill.workers {
        1 => ("1 cache is", "it is"),
        several => (&*format!("{several} caches are"), "they are"),
    };
    let stored = text::short(refill.stored);
    let stored = stored.trim();
    let evicted = text::short(refill.evicted);
    let effect = |is: &str| {
        if slower { format!(": TTFT {is} higher until {until} warm") } else { String::new() }
    };
    let evicted = evicted.trim();
    let long = format!(
        "{caches} refilling ({stored} blocks/s stored, {evicted} evicted){}.",
        effect("stays")
    );
    if text::width(&long) <= wide {
        return long;
    }
    format!("{caches} refilling ({stored} blocks/s){}.", effect("is"))
}

/// Returns true once a finding heals: nothing shows it any more, or pods restart with the fix.
pub(super) fn heals(finding: &FindingRow) -> bool {
    let rollout = finding.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
    let restarts = rollout.is_some_and(|rollout| rollout.stage >= RolloutStage::Restarting);
    finding.resolved.is_none() && (finding.mending.is_some() || restarts)
}

/// Returns how far a fix has come, in a sentence, with the pods that are still to restart where these are asked for; none
/// while it is not applied.
fn progress(rollout: &RolloutRow, names_pods: bool) -> Option<String> {
    let mut said = rollout.text()?;
    if let Some(first) = said.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if names_pods && !rollout.waiting.is_empty() {
        said.extend(["; still to restart: ", &rollout.waiting.join(", ")]);
    }
    Some(said + ".")
}

impl Banner<'_> {
    /// Draws the box.
    pub(super) fn boxed(&self, canvas: &mut Canvas<'_>, area: Rect, rows: u16) {
        let area = canvas.clip(area);
        self.edges(canvas, area);
        self.head(canvas, area);
        let inner = Rect { x: area.x + 2, width: area.width - AROUND, ..area };
        let paragraphs =
            paragraphs(self.finding, self.snapshot, (area.width, rows), canvas.glyphs());
        let mut y = 1;
        for said in &paragraphs {
            let indent = text::coordinate(indent(said.label));
            canvas.put(inner, 0, y, said.label, Role::Key);
            for line in &said.lines {
                if y + 1 >= area.height {
                    break;
                }
                canvas.put(inner, indent, y, line, said.role);
                y += 1;
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

    /// The upper edge: what it is, and how sure that is and for how long, or how far healing has come.
    fn head(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let glyphs = canvas.glyphs();
        let [badge, _] = self.badge(glyphs);
        let x = canvas.badge(area, 2, 0, &format!(" {badge} "), self.role());
        let name = format!(" {} ", self.finding.name.replace('-', " "));
        let room = usize::from(area.width.saturating_sub(x + 3));
        let right = self
            .head_right(glyphs)
            .into_iter()
            .find(|right| text::width(&name) + width(right) <= room)
            .unwrap_or_default();
        canvas.put(area, x, 0, &name, Role::Title);
        if !right.is_empty() {
            let start = area.width - 2 - text::coordinate(width(&right));
            canvas.parts(area, start, 0, &right);
        }
    }

    /// Returns what stands to the right of the upper edge, from the longest to the shortest.
    fn head_right(&self, glyphs: &'static Glyphs) -> Vec<Vec<Part>> {
        let role = self.role();
        if let Some(since) = self.finding.mending.filter(|_| self.finding.resolved.is_none()) {
            let (clean, all) = (self.now.since(since).min(RESOLVED_AFTER), RESOLVED_AFTER);
            let (clean, all) = (clean.as_secs(), all.as_secs());
            let filled = usize::try_from(clean).unwrap_or(0);
            let total = usize::try_from(all).unwrap_or(1);
            let bar = bar::progress(filled, total, BAR, glyphs);
            let long = format!(" no new evidence for {clean} of {all} s ");
            return vec![
                vec![part(long.clone(), role), part(format!("{bar} "), Role::Resolved)],
                vec![part(long, role)],
                vec![part(format!(" {clean} of {all} s "), role)],
            ];
        }
        let rollout = self.finding.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
        if let Some(rollout) = rollout.filter(|_| heals(self.finding)) {
            let bar =
                bar::progress(rollout.restarted, rollout.pods, rollout.pods.clamp(3, BAR), glyphs);
            let said = format!(" {} of {} pods restarted ", rollout.restarted, rollout.pods);
            return vec![
                vec![part(said.clone(), role), part(format!("{bar} "), Role::Resolved)],
                vec![part(said, role)],
            ];
        }
        let age = part(format!(" ACTIVE {} ", self.age()), Role::Fg);
        let dot = part(glyphs.dot, Role::Border);
        let grade = |said: String| part(format!(" {said} "), role);
        vec![
            vec![age.clone(), dot.clone(), grade(findings::grade(self.finding))],
            vec![age.clone(), dot, grade(self.finding.grade.name().to_owned())],
            vec![age],
        ]
    }

    /// The lower edge: keys, and how much more there is.
    fn foot(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let y = area.height - 1;
        let mut keys: Vec<[Part; 2]> = Vec::new();
        if let Some(fix) = self.finding.fix.as_ref().filter(|_| self.finding.mending.is_none()) {
            let what = match (&fix.kubectl, &fix.yaml) {
                (Some(_), _) => "copy commands",
                (None, Some(_)) => "copy fix",
                (None, None) => "copy sentence",
            };
            keys.push(self.key(COPY, what));
        }
        keys.push(self.key(Command::TopFinding, "evidence"));
        if self.applies_here() {
            keys.push(self.key(Command::DemoFix, "apply in the simulation"));
        }
        keys.push(self.key(Command::ToggleBanner, "collapse"));
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
            canvas.put(area, x, y, " ", Role::Fg)
        });
        let start = area.width.saturating_sub(2 + text::coordinate(width(&others)));
        if start >= x {
            canvas.parts(area, start, y, &others);
        }
    }
}
