//! The status bar: what is looked at, and how every source is doing. Row 1, always.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::domain::{SourceState, Timestamp};
use crate::snapshot::{Feed, Snapshot, SourceRow};
use crate::tui::judge::{self, State};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Data older than this has its age beside it.
const STALE: Duration = Duration::from_secs(3);
/// Longest reason of a source that is down.
const REASON: usize = 40;

/// Forms of the bar by the detail on the deployment and on each source, from the most to the least.
const FORMS: [(Label, Detail); 26] = [
    (Label::Full, Detail::Reason(REASON)),
    (Label::Full, Detail::Reason(20)),
    (Label::Version, Detail::Reason(REASON)),
    (Label::Version, Detail::Reason(20)),
    (Label::Full, Detail::Word),
    (Label::Version, Detail::Word),
    (Label::Full, Detail::Trouble(REASON)),
    (Label::Version, Detail::Trouble(REASON)),
    (Label::Version, Detail::Trouble(20)),
    (Label::Name, Detail::Trouble(REASON)),
    (Label::Name, Detail::Trouble(20)),
    (Label::Version, Detail::Failed(REASON)),
    (Label::Version, Detail::Failed(20)),
    (Label::Name, Detail::Failed(REASON)),
    (Label::Name, Detail::Failed(20)),
    (Label::Version, Detail::Trouble(0)),
    (Label::Name, Detail::Trouble(0)),
    (Label::Full, Detail::Mark),
    (Label::Version, Detail::Mark),
    (Label::Name, Detail::Word),
    (Label::Version, Detail::Count),
    (Label::Name, Detail::Mark),
    (Label::Name, Detail::Count),
    (Label::Short, Detail::Trouble(20)),
    (Label::Short, Detail::Mark),
    (Label::Short, Detail::Count),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    /// Name, version and Dynamo's namespace.
    Full,
    /// Name and version.
    Version,
    /// The name.
    Name,
    /// The name, without kvtop's.
    Short,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// Word and reason of each source.
    Reason(usize),
    /// A word for each; only while all is well.
    Word,
    /// Word and reason of those that are not well, and how many are; only while some are not.
    Trouble(usize),
    /// The same of those that are down alone, and marks of others that are not well.
    Failed(usize),
    /// A mark for each.
    Mark,
    /// The number of sources in each state.
    Count,
}

impl Detail {
    /// Trouble that is cut to a word hides the reason, so there is a form of its own for it.
    const fn suits(self, trouble: bool) -> bool {
        match self {
            Self::Word => !trouble,
            Self::Trouble(_) | Self::Failed(_) => trouble,
            Self::Reason(_) | Self::Mark | Self::Count => true,
        }
    }
}

/// Draws the bar. `frozen` is what to say about a held picture where no other row says it; while one is
/// `held`, the time is marked as that of now.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    snapshot: &Snapshot,
    now: Timestamp,
    frozen: Option<&str>,
    held: bool,
) {
    let glyphs = canvas.glyphs();
    let mut time = time(snapshot, now, area.width);
    // Below it nothing moves.
    if held && !time.is_empty() && area.width >= 60 {
        time.insert(0, part("now ", Role::Muted));
    }
    if let Some(frozen) = frozen {
        time.insert(0, part(format!("{frozen}  "), Role::Warn));
    }
    // Blocks are missing from kvtop's copy of the index, and no engine is to blame.
    if snapshot.tree.shed_blocks > 0 {
        time.insert(0, part(format!("{} memory limit  ", glyphs.warn), Role::Warn));
    }
    let room = usize::from(area.width);
    let build = |(label, detail): (Label, Detail)| {
        (left(snapshot, label, glyphs), sources(snapshot, now, detail, glyphs))
    };
    let fits = |(left, right): &(Vec<Part>, Vec<Part>)| {
        width(left) + width(right) + width(&time) + 2 <= room
    };
    let trouble = snapshot.sources.iter().any(is_troubled);
    let suits = |form: &(Label, Detail)| {
        // A version is not worth the name of what fails.
        form.1.suits(trouble) && !(trouble && *form == (Label::Version, Detail::Count))
    };
    let found = FORMS.into_iter().filter(suits).map(build).find(fits);
    if let Some((left, mut right)) = found {
        canvas.parts(area, 0, 0, &left);
        right.extend(time);
        canvas.parts_right(area, 0, &right);
        return;
    }
    let sources = match frozen {
        Some(frozen) => vec![part(frozen, Role::Warn)],
        None => sources(snapshot, now, Detail::Count, glyphs),
    };
    let name = label_of(snapshot, glyphs);
    let rest = room.saturating_sub(width(&sources) + 2);
    let x = canvas.put(area, 1, 0, &text::cut(&name, rest, glyphs.ellipsis), Role::Title);
    canvas.parts(area, x + 1, 0, &sources);
}

/// Returns the name of what is looked at: the namespace, with the graph deployment that was chosen. A name
/// that led to both stands before the namespace.
fn label_of(snapshot: &Snapshot, glyphs: &Glyphs) -> String {
    let deployment = &snapshot.deployment;
    let title = deployment.title(glyphs.leads_to);
    let label = text::clean(&title).into_owned();
    match deployment.chosen.as_ref().filter(|chosen| Some(*chosen) != deployment.asked.as_ref()) {
        Some(chosen) => format!("{label}/{}", text::clean(chosen)),
        None => label,
    }
}

fn left(snapshot: &Snapshot, label: Label, glyphs: &Glyphs) -> Vec<Part> {
    let deployment = &snapshot.deployment;
    let bar = || part(format!(" {} ", glyphs.bar), Role::Border);
    let name = text::cut(&label_of(snapshot, glyphs), 40, glyphs.ellipsis);
    if label == Label::Short {
        return vec![part(format!(" {name}"), Role::Title)];
    }
    let mut parts = vec![part(" kvtop", Role::Title)];
    if !name.is_empty() {
        parts.extend([bar(), part(name, Role::Fg)]);
    }
    if let Some(version) = deployment.version.as_ref().filter(|_| label != Label::Name) {
        parts.extend([bar(), part(format!("dynamo {version}"), Role::Fg)]);
    }
    let namespace = deployment
        .namespace
        .as_ref()
        .filter(|it| **it != deployment.label && deployment.asked.as_ref() != Some(*it));
    if let Some(namespace) = namespace.filter(|_| label == Label::Full) {
        parts.extend([bar(), part(format!("ns {namespace}"), Role::Fg)]);
    }
    match &snapshot.feed {
        Feed::Live => parts.extend([bar(), part("RO", Role::Muted)]),
        Feed::Replay(_) => parts.extend([bar(), part("REPLAY", Role::Warn)]),
        Feed::Demo(_) => parts.extend([bar(), part("DEMO", Role::Warn)]),
    }
    parts
}

fn time(snapshot: &Snapshot, now: Timestamp, columns: u16) -> Vec<Part> {
    if snapshot.at.0 == 0 {
        return Vec::new();
    }
    // Of a recording the moment that is shown, also while nothing comes.
    let plays = matches!(snapshot.feed, Feed::Replay(_));
    let newest = snapshot.newest.filter(|_| !plays).unwrap_or(snapshot.at);
    let age = now.since(newest);
    let clock = text::clock(newest);
    let clock = if columns >= 60 { format!("{clock}Z") } else { clock.chars().take(5).collect() };
    if !plays && age > STALE && columns >= 60 {
        let old = format!("{clock} {} ago ", text::age(age));
        return vec![part(old, Role::Muted)];
    }
    vec![part(format!("{clock} "), Role::Fg)]
}

fn sources(snapshot: &Snapshot, now: Timestamp, detail: Detail, glyphs: &Glyphs) -> Vec<Part> {
    if snapshot.sources.is_empty() {
        return vec![part(format!("{} no source ", glyphs.unknown), Role::Unknown)];
    }
    if detail == Detail::Count {
        return counts(snapshot, glyphs);
    }
    let mut parts = Vec::new();
    let trouble = matches!(detail, Detail::Trouble(_) | Detail::Failed(_));
    // It was live when it was recorded.
    let recorded = matches!(snapshot.feed, Feed::Replay(_));
    for row in snapshot.sources.iter().filter(|row| !trouble || is_troubled(row)) {
        let mut verdict = judge::source(row);
        if recorded && row.state == SourceState::Live {
            verdict.word = "recorded";
        }
        let name = text::cut(&text::clean(row.name.as_str()), 16, glyphs.ellipsis);
        let mark = verdict.state.glyph(glyphs);
        parts.push(part(format!("{name} "), Role::Fg));
        let said = match detail {
            Detail::Mark | Detail::Count => mark.to_owned(),
            Detail::Failed(_) if verdict.state != State::Fail => mark.to_owned(),
            Detail::Word => format!("{mark} {}", verdict.word),
            Detail::Reason(longest) | Detail::Trouble(longest) | Detail::Failed(longest) => {
                format!("{mark} {}{}", verdict.word, reason(snapshot, row, now, longest, glyphs))
            }
        };
        parts.push(part(said, verdict.state.role()));
        parts.push(part("  ", Role::Fg));
    }
    let well = snapshot.sources.iter().filter(|row| !is_troubled(row)).count();
    if trouble && well > 0 {
        parts.push(part(format!("{}{well} ", glyphs.ok), State::Ok.role()));
    }
    parts
}

fn is_troubled(row: &SourceRow) -> bool {
    judge::source(row).state != State::Ok
}

fn counts(snapshot: &Snapshot, glyphs: &Glyphs) -> Vec<Part> {
    let mut parts = Vec::new();
    for state in [State::Fail, State::Warn, State::Unknown, State::Ok] {
        let of = |row: &&SourceRow| judge::source(row).state == state;
        let count = snapshot.sources.iter().filter(of).count();
        if count > 0 {
            parts.push(part(format!("{}{count} ", state.glyph(glyphs)), state.role()));
        }
    }
    parts
}

/// Returns what there is to say beside the word: why, when again, what was lost, how fast. Nothing
/// when nothing is wanted.
fn reason(
    snapshot: &Snapshot,
    row: &SourceRow,
    now: Timestamp,
    longest: usize,
    glyphs: &Glyphs,
) -> String {
    if longest == 0 {
        return String::new();
    }
    let mut said = Vec::new();
    if !row.why.is_empty() && judge::source(row).state != State::Ok {
        said.push(text::cut(&text::clean(&row.why), longest, glyphs.ellipsis));
    }
    if let Some(retry) = row.retry_at {
        // A moment that has passed is the present attempt.
        said.push(match retry.since(now).as_secs() {
            0 => String::from("retrying"),
            seconds => format!("retry {seconds}s"),
        });
    }
    if row.gaps > 0 {
        said.push(format!("{} missing", text::count(row.gaps)));
    }
    if row.dropped > 0 || row.drops_uncounted {
        let least = if row.drops_uncounted { ">=" } else { "" };
        said.push(format!("{least}{} dropped", text::count(row.dropped.max(1))));
    }
    if let Some(behind) = snapshot.catching_up.filter(|_| row.history.is_some()) {
        let left = behind.left.map(|left| format!(", {}", text::span(left)));
        said.push(format!("reading history {}%{}", behind.percent(), left.unwrap_or_default()));
    }
    if let (Some(rtt), true, true) = (row.rtt, said.is_empty(), longest == REASON) {
        said.push(text::latency(rtt));
    }
    if said.is_empty() { String::new() } else { format!(" {}", said.join(", ")) }
}
