//! The config file: TOML, read strictly. Every mistake is told, with its line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::setting::{CONTEXT_COLOR, Kind, SETTINGS};

/// A mistake in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its line, from 1.
    pub line: usize,
    /// The mistake, and the known words.
    pub what: String,
}

/// One value of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The whole name of what is set.
    pub name: String,
    /// The value as text.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// Names that the file may use besides [`SETTINGS`].
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The names in `[thresholds]`.
    pub thresholds: Vec<String>,
    /// The names in `[keys]`.
    pub actions: Vec<String>,
}

/// Reads a file: its values, and its mistakes.
pub fn read(text: &str, known: &Known) -> (Vec<Given>, Vec<Problem>) {
    let mut reader = Reader { text, known, given: Vec::new(), problems: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => reader.table("", table.get_ref(), 0),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let what = error.message().to_owned();
            reader.problem(at, what);
        }
    }
    reader.given.sort_by_key(|given| given.line);
    reader.problems.sort_by_key(|problem| problem.line);
    (reader.given, reader.problems)
}

struct Reader<'a> {
    text: &'a str,
    known: &'a Known,
    given: Vec<Given>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count()
    }

    fn problem(&mut self, at: usize, what: String) {
        let line = self.line(at);
        self.problems.push(Problem { line, what });
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>, depth: usize) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            self.entry(&name, key.span().start, value, depth);
        }
    }

    fn entry(&mut self, name: &str, at: usize, value: &Spanned<DeValue<'_>>, depth: usize) {
        if let Some(kind) = self.kind(name) {
            let text = match (kind, value.get_ref()) {
                (Kind::Keys | Kind::Words(_), DeValue::Array(keys)) => {
                    let keys: Option<Vec<_>> =
                        keys.iter().map(|key| scalar(key.get_ref())).collect();
                    keys.map(|keys| keys.join(" "))
                }
                (Kind::Words(_), _) => None,
                (_, value) => scalar(value),
            };
            match text.ok_or_else(|| wanted(kind)).and_then(|text| fit(kind, text)) {
                Ok(text) => {
                    let line = self.line(at);
                    self.given.push(Given { name: name.to_owned(), text, line });
                }
                Err(why) => self.problem(value.span().start, format!("`{name}`: {why}")),
            }
            return;
        }
        // A context's name may hold dots, so depth tells its section from what is in it.
        let is_section = self.is_section(name) || (depth == 1 && name.starts_with("contexts."));
        match value.get_ref() {
            DeValue::Table(table) if is_section => {
                self.table(&format!("{name}."), table, depth + 1);
            }
            _ if is_section => self.problem(at, format!("`{name}` must be a section")),
            _ => {
                let advice = self.nearest(name).map_or_else(
                    || "`kvtop config init --stdout` lists all keys".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                self.problem(at, format!("unknown key `{name}`; {advice}"));
            }
        }
    }

    /// Returns what the value of `name` may be; none when there is no such name.
    fn kind(&self, name: &str) -> Option<Kind> {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) {
            return Some(setting.kind);
        }
        let (section, rest) = name.split_once('.')?;
        match section {
            "contexts" => rest.strip_suffix(".color").map(|_| CONTEXT_COLOR.kind),
            "thresholds" => {
                self.known.thresholds.iter().any(|name| name == rest).then_some(Kind::Number)
            }
            "keys" => self.known.actions.iter().any(|action| action == rest).then_some(Kind::Keys),
            _ => None,
        }
    }

    fn is_section(&self, name: &str) -> bool {
        ["contexts", "nats", "objectives"].contains(&name) || self.is_open(name)
    }

    fn is_open(&self, name: &str) -> bool {
        (name == "thresholds" && !self.known.thresholds.is_empty())
            || (name == "keys" && !self.known.actions.is_empty())
    }

    /// Returns the known name that is most like `name`; none when no name is near.
    fn nearest(&self, name: &str) -> Option<String> {
        let mut names: Vec<String> = SETTINGS.iter().map(|known| known.name.to_owned()).collect();
        let context = name.strip_prefix("contexts.").and_then(|rest| rest.rsplit_once('.'));
        let context = context.map_or("NAME", |(context, _)| context);
        names.push(CONTEXT_COLOR.name.replace("NAME", context));
        names.extend(self.known.thresholds.iter().map(|name| format!("thresholds.{name}")));
        names.extend(self.known.actions.iter().map(|name| format!("keys.{name}")));
        nearest(name, names)
    }
}

/// Returns the one of `names` that is most like `name`; none when more than a third of its letters differ.
pub fn nearest(name: &str, names: impl IntoIterator<Item = String>) -> Option<String> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let farthest = name.chars().count().div_ceil(3);
    let distance = |known: &str| {
        // `freeze` means `toggle-freeze`, however many letters it lacks.
        let is_part = last.len() > 3 && known.contains(last);
        if is_part { 1 } else { strsim::damerau_levenshtein(name, known).min(word(name, known)) }
    };
    let near = names.into_iter().map(|known| (distance(&known), known));
    let near = near.filter(|(distance, _)| *distance <= farthest);
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// Returns how far the last part of `name` is from the nearest word of that of `known`, in the same
/// section: `freze` means `toggle-freeze` as well.
fn word(name: &str, known: &str) -> usize {
    let split = |name: &str| {
        let (section, last) = name.rsplit_once('.').unwrap_or(("", name));
        (section.to_owned(), last.to_owned())
    };
    let ((section, last), (other, words)) = (split(name), split(known));
    if section != other || last.len() < 4 {
        return usize::MAX;
    }
    let words = words.split(['-', '_']).filter(|word| word.len() > 3);
    let nearest = words.map(|word| strsim::damerau_levenshtein(&last, word)).min();
    nearest.map_or(usize::MAX, |distance| distance + 1)
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

fn fit(kind: Kind, text: String) -> Result<String, String> {
    kind.refuse(&text).map(|()| text)
}

fn wanted(kind: Kind) -> String {
    format!("must be {}", kind.about())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(usize, String)> {
        let (_, problems) = read(text, &Known::default());
        problems.into_iter().map(|problem| (problem.line, problem.what)).collect()
    }

    #[test]
    fn values_keep_their_lines() {
        let text = "theme = \"nord\"\nbell = true\n\n[nats]\nurl = \"nats://h:1\"\n\n\
                    [contexts.\"eu.prod\"]\ncolor = \"red\"\n";
        let (given, problems) = read(text, &Known::default());
        assert_eq!(problems, []);
        let given: Vec<_> =
            given.iter().map(|one| (one.name.as_str(), one.text.as_str(), one.line)).collect();
        let expected = [
            ("theme", "nord", 1),
            ("bell", "true", 2),
            ("nats.url", "nats://h:1", 5),
            ("contexts.eu.prod.color", "red", 8),
        ];
        assert_eq!(given, expected);
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_what_is_near() {
        let text = "thme = \"nord\"\n# fine\nbell = \"loud\"\n[nats]\nulr = \"x\"\n\
                    [contexts.prod]\ncolour = \"red\"\n";
        let problems = problems(text);
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert_eq!(problems[0], (1, "unknown key `thme`; did you mean `theme`?".into()));
        assert_eq!(problems[1], (3, "`bell`: `loud` is neither true nor false".into()));
        assert_eq!(problems[2].0, 5);
        assert!(problems[2].1.contains("`nats.url`"), "{problems:?}");
        assert!(problems[3].1.contains("`contexts.prod.color`"), "{problems:?}");
    }

    #[test]
    fn a_key_that_is_like_no_other_is_not_guessed() {
        let problems = problems("bad = 1\n");
        assert_eq!(problems[0].1, "unknown key `bad`; `kvtop config init --stdout` lists all keys");
    }

    #[test]
    fn a_misspelt_word_of_a_name_leads_to_the_name() {
        let actions = ["open", "quit", "toggle-freeze", "toggle-zoom", "scroll-page-up"];
        let known = Known {
            actions: actions.map(str::to_owned).to_vec(),
            thresholds: vec![String::from("stale_seconds")],
        };
        let near = |key: &str| {
            let (_, problems) = read(&format!("[keys]\n{key} = \"F5\"\n"), &known);
            problems[0].what.rsplit('`').nth(1).unwrap().to_owned()
        };
        assert_eq!(near("freze"), "keys.toggle-freeze");
        assert_eq!(near("frezee"), "keys.toggle-freeze");
        assert_eq!(near("quitt"), "keys.quit");
        assert_eq!(near("page-up"), "keys.scroll-page-up");
    }

    #[test]
    fn what_is_no_toml_and_what_has_the_wrong_shape_is_told() {
        assert_eq!(problems("theme = \"a\"\nbell = = 1\n")[0].0, 2);
        assert_eq!(problems("nats = 4\n")[0].1, "`nats` must be a section");
        assert!(problems("headline = \"hits\"\n")[0].1.contains("must be a list of some of hits,"));
        assert!(problems("headline = [\"hist\"]\n")[0].1.contains("did you mean `hits`?"));
        assert_eq!(problems("headline = [\"index\", \"hits\"]\n"), []);
        assert!(problems("theme = [1]\n")[0].1.contains("must be text"));
    }
}
