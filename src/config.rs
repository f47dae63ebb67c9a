//! Settings: defaults, then the config file, then the environment, then flags.
//!
//! Pure: whoever calls reads the file and the environment. [`setting::SETTINGS`] is the one list of
//! what can be set; reader, template, listing and manual page are made from it.

pub mod file;
pub mod page;
pub mod paths;
mod schema;
pub mod setting;

pub use schema::schema;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use file::{Given, Known, Problem};
use setting::{CONTEXT, DGD, NAMESPACE, NATS_CONTEXT, NATS_URL, SETTINGS, Setting};

/// The origin of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody, so the default holds.
    Default,
    /// The config file, at this line.
    File(usize),
    /// This environment variable.
    Variable(String),
    /// This flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(line) => write!(f, "line {line} of the config file"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// An error in the settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file has mistakes.
    #[error("{}", told(path, problems))]
    File {
        /// The file.
        path: PathBuf,
        /// The faults, at least one.
        problems: Vec<Problem>,
    },
    /// The file cannot be read.
    #[error("could not read the config file `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A variable has a value that does not fit.
    #[error("{name}: {why}")]
    Variable {
        /// The variable.
        name: String,
        /// Why, and what is known.
        why: String,
    },
}

fn told(path: &Path, problems: &[Problem]) -> String {
    let lines = problems.iter().map(|one| format!("{}:{}: {}", path.display(), one.line, one.what));
    // What was typed has no lines of its own.
    let lines = lines.map(|line| line.replace('\n', " "));
    lines.collect::<Vec<_>>().join("\n")
}

/// The settings of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    text: String,
    origin: Origin,
}

/// The settings of all origins.
#[derive(Clone, Copy)]
pub struct Layers<'a> {
    /// The file, if there is one, and its text.
    pub file: Option<(&'a Path, &'a str)>,
    /// Names that the file may use besides the settings.
    pub known: &'a Known,
    /// The environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The flags that were given, by setting.
    pub flags: &'a [(&'static Setting, String)],
    /// True when flags name a cluster in a way that has no setting, such as `--kubeconfig`.
    pub other_cluster: bool,
}

/// The settings that hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    said: BTreeMap<String, Said>,
    path: Option<PathBuf>,
}

impl Config {
    /// Brings the layers together.
    pub fn layered(layers: &Layers<'_>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let mut above = Self::default();
        if let Some((path, text)) = layers.file {
            let (given, problems) = file::read(text, layers.known);
            if !problems.is_empty() {
                return Err(ConfigError::File { path: path.to_owned(), problems });
            }
            config.path = Some(path.to_owned());
            for Given { name, text, line } in given {
                config.said.insert(name, Said { text, origin: Origin::File(line) });
            }
        }
        for setting in SETTINGS {
            let name = setting.variable();
            let Some(text) = (layers.env)(&name).filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            // Only files must be free of logins.
            let text = page::shown(setting.kind, &text);
            match setting.kind.refuse(&text) {
                Ok(()) => above.put(setting, text, Origin::Variable(name)),
                Err(why) => return Err(ConfigError::Variable { name, why }),
            }
        }
        for (setting, text) in layers.flags {
            let flag = Origin::Flag(setting.flag.unwrap_or(setting.name));
            above.put(setting, page::shown(setting.kind, text), flag);
        }
        config.forget_other_places(&above, layers.other_cluster);
        config.said.append(&mut above.said);
        Ok(config)
    }

    fn put(&mut self, setting: &Setting, text: String, origin: Origin) {
        self.said.insert(setting.name.to_owned(), Said { text, origin });
    }

    /// A place named above the file replaces the one that the file names: with another context, the
    /// file's namespace would be another cluster's.
    fn forget_other_places(&mut self, above: &Self, other_cluster: bool) {
        let named = |settings: &[&Setting]| settings.iter().any(|one| above.text(one).is_some());
        let nats = named(&[NATS_URL, NATS_CONTEXT]);
        let cluster = other_cluster || named(&[CONTEXT]);
        let kubernetes = cluster || named(&[NAMESPACE, DGD]);
        let mut forget = |settings: &[&Setting]| {
            for setting in settings {
                self.said.remove(setting.name);
            }
        };
        if nats && !kubernetes {
            forget(&[NAMESPACE, CONTEXT, DGD]);
        }
        if kubernetes && !nats {
            forget(&[NATS_URL, NATS_CONTEXT]);
        }
        if nats {
            forget(&[NATS_URL, NATS_CONTEXT]);
        }
        if cluster {
            forget(&[NAMESPACE, DGD]);
        }
        if other_cluster {
            forget(&[CONTEXT]);
        }
        if named(&[NAMESPACE]) {
            forget(&[DGD]);
        }
    }

    /// Returns the value of `setting`; none when nobody set it and it has no default.
    pub fn text(&self, setting: &Setting) -> Option<&str> {
        self.said.get(setting.name).map(|said| said.text.as_str()).or(setting.default)
    }

    /// Returns the value of a setting that is true or false; false when it has none.
    pub fn flag(&self, setting: &Setting) -> bool {
        self.text(setting) == Some("true")
    }

    /// Returns who said what `setting` is.
    pub fn origin(&self, setting: &Setting) -> Origin {
        self.said.get(setting.name).map_or(Origin::Default, |said| said.origin.clone())
    }

    /// Returns the mistake of something that the file sets and that cannot be used.
    pub fn mistake(&self, name: &str, origin: &Origin, why: &str) -> ConfigError {
        let line = if let Origin::File(line) = origin { *line } else { 0 };
        let problems = vec![Problem { line, what: format!("`{name}`: {why}") }];
        ConfigError::File { path: self.path.clone().unwrap_or_default(), problems }
    }

    /// Returns the value of `setting` where the file gave it, and nobody above.
    pub fn of_file(&self, setting: &Setting) -> Option<&str> {
        let said = self.said.get(setting.name)?;
        matches!(said.origin, Origin::File(_)).then_some(said.text.as_str())
    }

    /// Returns the colour of a Kubernetes context.
    pub fn context_color(&self, context: &str) -> Option<&str> {
        self.said.get(&format!("contexts.{context}.color")).map(|said| said.text.as_str())
    }

    /// Returns what a section without fixed names holds: name, value and line.
    pub fn section(&self, section: &str) -> impl Iterator<Item = (&str, &str, Origin)> {
        self.said.iter().filter_map(move |(name, said)| {
            let name = name.strip_prefix(section)?.strip_prefix('.')?;
            Some((name, said.text.as_str(), said.origin.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::setting::{BELL, GLYPHS, MAX_MEMORY, THEME};
    use super::*;

    fn layered(
        file: &str,
        env: &[(&str, &str)],
        flags: &[(&'static Setting, String)],
    ) -> Result<Config, ConfigError> {
        let known = Known::default();
        let env = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let file = Some((Path::new("config.toml"), file));
        Config::layered(&Layers { file, known: &known, env: &env, flags, other_cluster: false })
    }

    #[test]
    fn later_layers_win_and_say_so() {
        let file = "theme = \"dark\"\nglyphs = \"ascii\"\nmax-memory = \"2GiB\"\n";
        let env = [("KVTOP_GLYPHS", "unicode"), ("KVTOP_THEME", "light")];
        let config = layered(file, &env, &[(THEME, "mono".to_owned())]).unwrap();

        assert_eq!(config.text(THEME), Some("mono"));
        assert_eq!(config.origin(THEME), Origin::Flag("--theme"));
        assert_eq!(config.text(GLYPHS), Some("unicode"));
        assert_eq!(config.origin(GLYPHS).to_string(), "KVTOP_GLYPHS");
        assert_eq!(config.text(MAX_MEMORY), Some("2GiB"));
        assert_eq!(config.origin(MAX_MEMORY), Origin::File(3));
        assert_eq!(config.origin(BELL), Origin::Default);
        assert!(!config.flag(BELL));
    }

    #[test]
    fn mistakes_name_file_and_line_or_variable() {
        let file = layered("bell = true\nthme = \"x\"\n", &[], &[]).unwrap_err().to_string();
        assert_eq!(file, "config.toml:2: unknown key `thme`; did you mean `theme`?");
        let variable = layered("", &[("KVTOP_BELL", "loud")], &[]).unwrap_err().to_string();
        assert!(variable.starts_with("KVTOP_BELL: `loud`"), "{variable}");
    }

    #[test]
    fn a_place_named_above_replaces_that_of_the_file() {
        let file = "namespace = \"mine\"\ncontext = \"home\"\ndgd = \"one\"\n\
                    [nats]\nurl = \"nats://h:1\"\n";
        let all = |config: &Config| {
            [NAMESPACE, CONTEXT, DGD, NATS_URL].map(|one| config.text(one).map(str::to_owned))
        };
        let some = |text: &str| Some(text.to_owned());
        let config = layered(file, &[], &[]).unwrap();
        assert_eq!(all(&config), [some("mine"), some("home"), some("one"), some("nats://h:1")]);

        let config = layered(file, &[], &[(NATS_URL, "nats://other:1".to_owned())]).unwrap();
        assert_eq!(all(&config), [None, None, None, some("nats://other:1")]);
        let config = layered(file, &[], &[(NAMESPACE, "other".to_owned())]).unwrap();
        assert_eq!(all(&config), [some("other"), some("home"), None, None]);
        let config = layered(file, &[("KVTOP_CONTEXT", "away")], &[]).unwrap();
        assert_eq!(all(&config), [None, some("away"), None, None]);
    }

    #[test]
    fn contexts_have_colours() {
        let config = layered("[contexts.\"eu.prod\"]\ncolor = \"red\"\n", &[], &[]).unwrap();
        assert_eq!(config.context_color("eu.prod"), Some("red"));
        assert_eq!(config.context_color("dev"), None);
        assert_eq!(config.section("contexts").count(), 1);
    }
}
