//! Corrected YAML: the lines of a file as they would be, with everything else as it is.

mod flags;
mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::document::{Key, Kind, Node};
use super::manifest::{Config, Form, Part};
use super::place::Text;
use super::{Edit, Flaw, Source};
pub(super) use secret::{
    holds_secret as sounds_secret, is_open_token as holds_token, is_variable as is_secret,
};
use secret::{holds_secret, is_variable};

pub(super) use secret::Secrets;

/// Places that flaws repeat of each other at most.
const REPEATED: usize = 16;

/// The placeholder for lines that are not repeated.
const UNSHOWN: &str = " Its lines are not repeated here, because they may hold a secret.";

/// One replacement, and the lines to show it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    file: usize,
    range: Range<usize>,
    /// A prefix that is inserted once, even if several edits insert at this place.
    head: String,
    text: String,
    shown: (usize, usize),
    /// Nothing else can be added at its place.
    alone: bool,
}

impl Change {
    fn new(
        file: usize,
        range: Range<usize>,
        text: impl Into<String>,
        shown: (usize, usize),
    ) -> Self {
        Self { file, range, head: String::new(), text: text.into(), shown, alone: false }
    }
}

/// Renders every edit of `flaws` with the corrections of all others in the same lines: whichever of them
/// is pasted, none is lost.
pub(super) fn settle(text: Text<'_>, secrets: &Secrets, flaws: &mut [Flaw]) {
    let mut files: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
    for edit in flaws.iter().flat_map(|flaw| &flaw.edits) {
        files.entry(edit.change.file).or_default().push(edit.change.clone());
    }
    let files: BTreeMap<usize, Corrections> =
        files.into_iter().map(|(file, changes)| (file, Corrections::new(changes))).collect();
    for edit in flaws.iter_mut().flat_map(|flaw| &mut flaw.edits) {
        let Some(known) = files.get(&edit.change.file) else { continue };
        let shown = known.region(edit.change.shown);
        if let Some(yaml) = text.corrected(edit.change.file, shown, &known.changes) {
            edit.lines = shown;
            edit.yaml = yaml;
        }
    }
    complete(flaws);
    for flaw in flaws {
        let before = flaw.edits.len();
        flaw.edits.retain(|edit| !secrets.touch(text, edit.change.file, edit.lines));
        if flaw.edits.len() < before {
            flaw.fix.push_str(UNSHOWN);
        }
    }
}

/// Adds to each flaw the edits of those with which it shares lines, where these have more of them: who pastes its
/// lines alone would make half of the other correction. Where many flaws hang together they say so instead, since each
/// would repeat the lines of all.
fn complete(flaws: &mut [Flaw]) {
    let known: Vec<BTreeSet<Place>> = flaws.iter().map(places).collect();
    let mut users: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (flaw, places) in known.iter().enumerate() {
        for place in places {
            users.entry(*place).or_default().push(flaw);
        }
    }
    let mut met = vec![false; flaws.len()];
    for first in 0..flaws.len() {
        if met[first] {
            continue;
        }
        let together = reached(first, &known, &users);
        let lines: BTreeSet<Place> =
            together.iter().flat_map(|flaw| &known[*flaw]).copied().collect();
        for flaw in &together {
            met[*flaw] = true;
        }
        if lines.len() > REPEATED {
            refer(flaws, &together, &known, &users);
        } else {
            repeat(flaws, &together, &known, &users);
        }
    }
}

/// A file, and the first and last line in it.
type Place = (usize, (usize, usize));

fn places(flaw: &Flaw) -> BTreeSet<Place> {
    flaw.edits.iter().map(|edit| (edit.change.file, edit.lines)).collect()
}

/// Returns `first` and all flaws that share lines with it or with each other, each time the first of those known.
fn reached(
    first: usize,
    known: &[BTreeSet<Place>],
    users: &BTreeMap<Place, Vec<usize>>,
) -> Vec<usize> {
    let mut order = Vec::new();
    let mut met = BTreeSet::from([first]);
    let mut walked: BTreeSet<Place> = BTreeSet::new();
    let mut next = BTreeSet::from([first]);
    while let Some(flaw) = next.pop_first() {
        order.push(flaw);
        for place in &known[flaw] {
            if walked.insert(*place) {
                next.extend(users[place].iter().copied().filter(|user| met.insert(*user)));
            }
        }
    }
    order
}

/// Gives each flaw of `together` the edits of the others.
fn repeat(
    flaws: &mut [Flaw],
    together: &[usize],
    known: &[BTreeSet<Place>],
    users: &BTreeMap<Place, Vec<usize>>,
) {
    let all: BTreeMap<usize, (&'static str, Vec<Edit>)> = together
        .iter()
        .map(|flaw| (*flaw, (flaws[*flaw].id, flaws[*flaw].edits.clone())))
        .collect();
    for at in together {
        let mut mine = known[*at].clone();
        let mut of: BTreeSet<&str> = BTreeSet::new();
        for other in reached(*at, known, users) {
            let (id, edits) = &all[&other];
            for edit in edits {
                if other != *at && mine.insert((edit.change.file, edit.lines)) {
                    flaws[*at].edits.push(edit.clone());
                    of.insert(id);
                }
            }
        }
        say(&mut flaws[*at], of, " The lines below are also those of ", ".");
    }
}

/// Tells for each flaw of `together` whose correction its lines are a part of.
fn refer(
    flaws: &mut [Flaw],
    together: &[usize],
    known: &[BTreeSet<Place>],
    users: &BTreeMap<Place, Vec<usize>>,
) {
    let ids: Vec<&'static str> = flaws.iter().map(|flaw| flaw.id).collect();
    for at in together {
        let others = known[*at].iter().flat_map(|place| &users[place]);
        let more = others.filter(|other| !known[**other].is_subset(&known[*at]));
        let of: BTreeSet<&str> = more.map(|other| ids[*other]).collect();
        say(
            &mut flaws[*at],
            of,
            " The lines below are also a part of the correction of ",
            ", whose other lines are needed with them.",
        );
    }
}

fn say(flaw: &mut Flaw, of: BTreeSet<&str>, before: &str, after: &str) {
    if of.is_empty() {
        return;
    }
    let ids: Vec<&str> = of.into_iter().collect();
    flaw.fix.push_str(before);
    flaw.fix.push_str(&ids.join(" and "));
    flaw.fix.push_str(after);
}

/// Returns the files with every correction of `flaws`; none where one of them cannot be made.
pub(super) fn applied<'a>(
    text: Text<'_>,
    flaws: impl Iterator<Item = &'a Flaw>,
) -> Option<Vec<Source>> {
    let mut files: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
    for edit in flaws.flat_map(|flaw| &flaw.edits) {
        files.entry(edit.change.file).or_default().push(edit.change.clone());
    }
    let mut sources = text.sources.to_vec();
    for (file, changes) in files {
        let lines = (1, text.starts.get(file)?.len());
        let made = Corrections::new(changes).changes;
        sources.get_mut(file)?.text = text.corrected(file, lines, &made)?;
    }
    Some(sources)
}

/// The changes of a file.
struct Corrections {
    /// By where they are.
    changes: Vec<Change>,
    /// Lines that are shown together, in order.
    regions: Vec<(usize, usize)>,
}

impl Corrections {
    fn new(mut all: Vec<Change>) -> Self {
        let mut shown: Vec<(usize, usize)> = all.iter().map(|change| change.shown).collect();
        // An insertion behind a line stands at the start of the next line, which may be shown as well.
        let inserts = all.iter().filter(|change| change.range.is_empty());
        let behind: BTreeSet<usize> = inserts.map(|change| change.shown.1).collect();
        // At one place they stay in the order of their flaws.
        all.sort_by_key(|change| change.range.start);
        let mut changes: Vec<Change> = Vec::new();
        for change in all {
            let near = changes.iter().rev().take_while(|known| {
                known.range.start == change.range.start || known.range.end > change.range.start
            });
            // The first correction of a text wins.
            let taken = near.into_iter().any(|known| {
                let same = known.range == change.range;
                (same && (known.text == change.text || known.alone))
                    || (known.range.start < change.range.end
                        && change.range.start < known.range.end)
            });
            if !taken {
                changes.push(change);
            }
        }
        shown.sort_unstable();
        let mut regions: Vec<(usize, usize)> = Vec::new();
        for (first, last) in shown {
            match regions.last_mut() {
                Some(known)
                    if first <= known.1.max(known.0)
                        || first == known.1 + 1 && behind.contains(&known.1) =>
                {
                    known.1 = known.1.max(last);
                }
                _ => regions.push((first, last)),
            }
        }
        Self { changes, regions }
    }

    /// Returns the lines that are shown together with `shown`.
    fn region(&self, shown: (usize, usize)) -> (usize, usize) {
        let after = self.regions.partition_point(|region| region.0 <= shown.0);
        let region = after.checked_sub(1).and_then(|index| self.regions.get(index));
        region.copied().unwrap_or(shown)
    }
}

impl Text<'_> {
    /// Sets a variable of `part`.
    pub(super) fn set_env(self, part: &Part<'_>, name: &str, value: &str) -> Option<Edit> {
        if let Some(known) = part.variable(name) {
            let old = known.entry.get("value")?;
            let range = old.span.clone()?;
            let shown = match self.shown_list(part, known.key, known.list) {
                Some(shown) => shown,
                None => (known.entry.line, old.line),
            };
            let (range, text) = self.with_comment(part.file, range, format!("\"{value}\""))?;
            return self.render(Change::new(part.file, range, text, shown));
        }
        if let Some((key, list)) = part.own_envs() {
            return self.add_entry(part, key, list, name, value);
        }
        self.add_list(part, name, value)
    }

    /// Returns a replacement with the comment behind it, which then says what it was said of: of the old
    /// value it may be wrong.
    fn with_comment(
        self,
        file: usize,
        range: Range<usize>,
        text: String,
    ) -> Option<(Range<usize>, String)> {
        let whole = self.content(file);
        let old = whole.get(range.clone())?;
        let behind = whole.get(range.end..)?.split(['\n', '\r']).next()?;
        let gap = behind.len() - behind.trim_start().len();
        let bare = |text: &str| text.trim_matches(['"', '\'']).to_owned();
        let is_new = bare(old) != bare(&text) && !old.contains('\n');
        if gap == 0 || !is_new || !behind.trim_start().starts_with('#') {
            return Some((range, text));
        }
        let text = format!("{text}{}# was {old}:", &behind[..gap]);
        Some((range.start..range.end + gap + 1, text))
    }

    /// Returns the lines of a whole list; none when it is not written in lines, or holds what should
    /// not be repeated.
    fn shown_list(self, part: &Part<'_>, key: &Key, list: &Node) -> Option<(usize, usize)> {
        let open = |entry: &Node| {
            let name = entry.string("name").unwrap_or_default();
            let value = entry.get("value");
            let text = value.and_then(Node::text).unwrap_or_default();
            value.is_some() && (is_variable(name, text) || holds_secret(text))
        };
        let plain = self.is_block(part.file, list) && !list.items().iter().any(open);
        plain.then(|| (key.line, self.last_line(part.file, key)))
    }

    fn add_entry(
        self,
        part: &Part<'_>,
        key: &Key,
        list: &Node,
        name: &str,
        value: &str,
    ) -> Option<Edit> {
        if !self.is_block(part.file, list) {
            let entry = serde_json::json!({"name": name, "value": value}).to_string();
            return self.add_in_flow(part.file, (key, list), &entry);
        }
        let end = self.last_line(part.file, key);
        let indent = self.indent_of(part.file, list);
        let text = format!("{indent}- name: {name}\n{indent}  value: \"{value}\"\n");
        let shown = self.shown_list(part, key, list).unwrap_or((end + 1, end));
        self.insert_after(part.file, end, (String::new(), text), shown)
    }

    /// Adds the first variable of a part, with the list.
    fn add_list(self, part: &Part<'_>, name: &str, value: &str) -> Option<Edit> {
        let (owner, list) = match part.form {
            Form::Service => (part.node, "envs"),
            Form::Component | Form::Workload => (part.container?, "env"),
        };
        let (key, _) = owner.entries().first()?;
        if !self.is_block(part.file, owner) {
            let entry = serde_json::json!([{"name": name, "value": value}]);
            let at = owner.span.as_ref()?.start + 1;
            let text = format!("\"{list}\": {entry}, ");
            let shown = (owner.line, key.line);
            let alone = true;
            return self.render(Change { alone, ..Change::new(part.file, at..at, text, shown) });
        }
        let end = self.last_line(part.file, key);
        let indent = " ".repeat(key.column - 1);
        let head = format!("{indent}{list}:\n");
        let text = format!("{indent}  - name: {name}\n{indent}    value: \"{value}\"\n");
        let first = if part.form == Form::Service { part.head.0 } else { key.line };
        self.insert_after(part.file, end, (head, text), (first, end))
    }

    /// Sets a value of an engine's configuration.
    pub(super) fn set_config(self, config: Config<'_>, path: &str, value: &str) -> Option<Edit> {
        let range = self.in_config(config, path)?;
        let line = self.place_of(config.file, range.start).0;
        let text = value.to_owned();
        self.render(Change::new(config.file, range, text, (line, line)))
    }

    /// Puts a value in quotes.
    pub(super) fn quote(self, file: usize, node: &Node, shown: (usize, usize)) -> Option<Edit> {
        let range = node.span.clone()?;
        let text = format!("\"{}\"", self.content(file).get(range.clone())?);
        self.render(Change::new(file, range, text, shown))
    }

    fn insert_after(
        self,
        file: usize,
        line: usize,
        (head, text): (String, String),
        shown: (usize, usize),
    ) -> Option<Edit> {
        let at = self.start_of(file, line + 1);
        let torn = at == self.content(file).len() && !self.content(file).ends_with('\n');
        let head = if torn { format!("\n{head}") } else { head };
        self.render(Change { head, ..Change::new(file, at..at, text, shown) })
    }

    fn render(self, change: Change) -> Option<Edit> {
        let yaml = self.corrected(change.file, change.shown, std::slice::from_ref(&change))?;
        let file = Arc::clone(&self.sources.get(change.file)?.name);
        Some(Edit { file, lines: change.shown, yaml, change })
    }

    /// Returns lines of a file with every change in them made.
    fn corrected(self, file: usize, shown: (usize, usize), changes: &[Change]) -> Option<String> {
        let whole = self.content(file);
        let mut at = self.start_of(file, shown.0);
        let end = self.start_of(file, shown.1 + 1).max(at);
        let mut new = String::new();
        let mut head: Option<(usize, &str)> = None;
        let from = changes.partition_point(|change| change.range.start < at);
        let inside = changes.get(from..).unwrap_or_default();
        for change in inside.iter().take_while(|change| change.range.end <= end) {
            new.push_str(whole.get(at..change.range.start)?);
            if head != Some((change.range.start, &change.head)) {
                new.push_str(&change.head);
                head = Some((change.range.start, &change.head));
            }
            new.push_str(&change.text);
            at = change.range.end;
        }
        new.push_str(whole.get(at..end)?);
        Some(new)
    }

    /// Returns true for what is written line by line, not in brackets.
    fn is_block(self, file: usize, node: &Node) -> bool {
        let start = node.span.as_ref().map(|span| span.start);
        let letter = start.and_then(|start| self.content(file).as_bytes().get(start));
        // A list whose dashes are not indented starts with its first item, which may be in braces.
        let brackets: &[u8] = match node.value {
            Kind::List(_) => b"[",
            Kind::Map(_) => b"{",
            Kind::Text(_) | Kind::Number(_) | Kind::Bool(_) | Kind::Null => b"[{",
        };
        letter.is_some_and(|letter| !brackets.contains(letter))
    }

    /// Returns the indentation of a list's dashes.
    fn indent_of(self, file: usize, list: &Node) -> String {
        let item = list.items().first().map_or(list.line, |item| item.line);
        // A dash may stand on a line of its own above what it begins.
        let dashed = |at: &usize| self.line(file, *at).trim_start().starts_with('-');
        let first = (list.line..=item).rev().find(dashed).unwrap_or(item);
        let line = self.line(file, first);
        " ".repeat(line.len() - line.trim_start().len())
    }

    /// Returns where the bracket of a list closes.
    fn end_of_flow(self, file: usize, list: &Node) -> Option<usize> {
        let start = list.span.as_ref()?.start;
        let mut quote = None;
        let mut depth = 0_usize;
        let mut escaped = false;
        for (at, letter) in self.content(file).get(start..)?.char_indices() {
            match (quote, letter) {
                _ if escaped => escaped = false,
                (Some('"'), '\\') => escaped = true,
                (Some(open), _) if open == letter => quote = None,
                (None, '"' | '\'') => quote = Some(letter),
                (None, '[' | '{') => depth += 1,
                (None, ']' | '}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(start + at);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
