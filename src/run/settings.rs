//! The settings of this run: the config file is read, everything is brought together, and the command
//! line is filled in with what it left open.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use super::RunError;
use super::output::{print, printable_lines};
use super::thresholds;
use crate::cli::{self, Cli, ConfigCommand, NatsFile};
use crate::config::file::{self, Given, Known, Problem};
use crate::config::setting::{self as known, Setting};
use crate::config::{Config, ConfigError, Layers, Origin, page, paths};
use crate::diagnose::Thresholds;
use crate::exit::Exit;
use crate::tui::keymap::{Change, Keymap, names};
use crate::tui::labels::Labels;
use crate::tui::panels::headline::Figure;
use crate::tui::theme::Themes;

/// The file's name below the user's folder.
const FILE: &str = "config.toml";

/// The file of names of blocks, beside it.
const LABELS: &str = "labels.toml";

/// Longest config or theme file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns where the config file is, or would be; none when the user has no home.
fn path(cli: &Cli) -> Option<PathBuf> {
    cli.source.config.clone().or_else(|| paths::config(&env).map(|folder| folder.join(FILE)))
}

/// Reads a small file; none when there is none.
fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Ok(about) if about.len() > LONGEST => {
            Err(io::Error::other(format!("it is longer than {LONGEST} bytes")))
        }
        Ok(_) => {
            // A device may have no end.
            let mut text = String::new();
            fs::File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
            if text.len() as u64 > LONGEST {
                return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
            }
            Ok(Some(text))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the config file and its text; none when there is none. One that was asked for must be there.
fn config_file(cli: &Cli) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let Some(path) = path(cli) else { return Ok(None) };
    let advice = "no such file; `kvtop config init` creates one";
    let missing = || io::Error::new(io::ErrorKind::NotFound, advice);
    let text = match read(&path) {
        Ok(None) if cli.source.config.is_some() => Err(missing()),
        other => other,
    };
    match text {
        Ok(text) => Ok(text.map(|text| (path, text))),
        Err(source) => Err(ConfigError::Unreadable { path, source }),
    }
}

/// Returns the settings made by options of `cli`.
fn flags(cli: &Cli) -> Vec<(&'static Setting, String)> {
    let (source, screen) = (&cli.source, &cli.screen);
    let values = [
        (known::THEME, screen.theme.clone()),
        (known::COLOR, screen.color.as_ref().map(word)),
        (known::GLYPHS, screen.glyphs.as_ref().map(word)),
        (known::BELL, screen.bell.map(|bell| bell.to_string())),
        (known::NAMESPACE, source.namespace.clone()),
        (known::CONTEXT, source.context.clone()),
        (known::DGD, source.dgd.clone()),
        (known::DYNAMO_NAMESPACE, source.dynamo_namespace.clone()),
        (known::PORT_FORWARD, source.no_port_forward.then(|| "false".to_owned())),
        (known::MAX_MEMORY, source.max_memory.map(|bytes| bytes.to_string())),
        (known::NATS_URL, source.nats_url.clone()),
        (known::NATS_CONTEXT, source.nats_context.clone()),
    ];
    values.into_iter().filter_map(|(setting, value)| Some((setting, value?))).collect()
}

fn word<V: ValueEnum>(choice: &V) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Returns the names that the config file may use besides the settings.
fn names() -> Known {
    Known { thresholds: thresholds::names(), actions: names::actions() }
}

/// Returns the keys that hold.
pub(super) fn keymap(config: &Config) -> Result<Keymap, ConfigError> {
    let given: Vec<_> = config.section("keys").collect();
    let split = |keys: &str| keys.split_whitespace().map(str::to_owned).collect();
    let changes: Vec<Change> =
        given.iter().map(|(action, keys, _)| ((*action).to_owned(), split(keys))).collect();
    Keymap::with(&changes).map_err(|(at, why)| {
        let (action, origin) =
            given.get(at).map_or(("", &Origin::Default), |(action, _, origin)| (*action, origin));
        config.mistake(&format!("keys.{action}"), origin, &why)
    })
}

/// Returns the figures of the headline.
pub(super) fn headline(config: &Config) -> Vec<Figure> {
    let words = config.text(known::HEADLINE).unwrap_or_default();
    words.split_whitespace().filter_map(Figure::from_word).collect()
}

/// Returns the effective settings, and adds them to the command line.
pub(super) fn settle(cli: &mut Cli) -> Result<Config, ConfigError> {
    let file = config_file(cli)?;
    let config = Config::layered(&Layers {
        file: file.as_ref().map(|(path, text)| (path.as_path(), text.as_str())),
        known: &names(),
        env: &env,
        flags: &flags(cli),
        other_cluster: cli.source.kubeconfig.is_some(),
    })?;
    let text = |setting| config.text(setting).map(str::to_owned);
    let source = &mut cli.source;
    source.namespace = text(known::NAMESPACE);
    source.context = text(known::CONTEXT);
    source.dgd = text(known::DGD);
    source.dynamo_namespace = text(known::DYNAMO_NAMESPACE);
    source.no_port_forward = !config.flag(known::PORT_FORWARD);
    // Checked when it was read.
    source.max_memory = text(known::MAX_MEMORY).and_then(|size| cli::bytes(&size).ok());
    let span = |setting| text(setting).and_then(|text| cli::duration(&text).ok());
    source.ttft_p95 = span(known::TTFT_P95);
    source.itl_p95 = span(known::ITL_P95);
    for (name, text, origin) in config.section("thresholds") {
        let fits = thresholds::set(&mut Thresholds::default(), name, text);
        fits.map_err(|why| config.mistake(&format!("thresholds.{name}"), &origin, &why))?;
        source.thresholds.push((name.to_owned(), text.to_owned()));
    }
    // Weaker than the variables of NATS, which are read where the connection is made.
    let of_file = |setting| config.of_file(setting).map(str::to_owned);
    source.nats_file =
        NatsFile { url: of_file(known::NATS_URL), context: of_file(known::NATS_CONTEXT) };
    Ok(config)
}

/// Returns the built-in themes and the user's own, which replace those of the same name.
pub(super) fn themes() -> Themes {
    let mut themes = Themes::default();
    let Some(folder) = paths::config(&env).map(|folder| folder.join("themes")) else {
        return themes;
    };
    // A folder or file that cannot be read has no theme; `--theme` then says what there is.
    let Ok(entries) = fs::read_dir(folder) else { return themes };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let is_theme = path.extension().is_some_and(|extension| extension == "toml");
        if let (Some(name), true, Ok(Some(text))) = (name, is_theme, read(&path)) {
            themes.insert(name, &text);
        }
    }
    themes
}

/// Returns `own` names of blocks with those of a demo, which are right by construction.
pub(super) fn with_labels(own: &Arc<Labels>, demo: &str) -> Arc<Labels> {
    let Ok(mut labels) = Labels::parse(demo) else { return Arc::clone(own) };
    labels.extend(own);
    Arc::new(labels)
}

/// Returns the names that the user gave to blocks. A file with a mistake is an error like the config file's.
pub(super) fn labels() -> Result<Arc<Labels>, RunError> {
    let Some(path) = paths::config(&env).map(|folder| folder.join(LABELS)) else {
        return Ok(Arc::default());
    };
    let unreadable = |source| ConfigError::Unreadable { path: path.clone(), source };
    let Some(text) = read(&path).map_err(unreadable)? else { return Ok(Arc::default()) };
    let labels = Labels::parse(&text);
    labels.map(Arc::new).map_err(|source| RunError::Labels { path, source })
}

/// Does `kvtop config …`.
pub(super) fn config(cli: &mut Cli, command: ConfigCommand) -> Result<Exit, RunError> {
    match command {
        ConfigCommand::Init { stdout: true } => print(&template())?,
        ConfigCommand::Init { stdout: false } => {
            let path = path(cli).ok_or(RunError::NoHome)?;
            write(&path).map_err(|source| RunError::Write { path: path.clone(), source })?;
            print(&format!("{}\n", path.display()))?;
        }
        ConfigCommand::Path => {
            let path = path(cli).ok_or(RunError::NoHome)?;
            print(&format!("{}\n", path.display()))?;
        }
        ConfigCommand::Show => {
            let config = settle(cli)?;
            print(&page::listing(&config))?;
            theme_of(&config)?;
        }
        ConfigCommand::Check => return check(cli),
    }
    Ok(Exit::Clean)
}

/// Names every mistake, also those that only show when the settings are used.
fn check(cli: &mut Cli) -> Result<Exit, RunError> {
    let path = path(cli).ok_or(RunError::NoHome)?;
    let mut wrong = Vec::new();
    if let Err(error) = labels() {
        wrong.push(crate::exit::chain(&error));
    }
    let file = config_file(cli)?;
    let (given, mut problems) =
        file.as_ref().map(|(_, text)| file::read(text, &names())).unwrap_or_default();
    problems.extend(misused(&given));
    problems.sort_by_key(|problem| problem.line);
    let listed = |one: &Problem| format!("{}:{}: {}", path.display(), one.line, one.what);
    wrong.extend(problems.iter().map(listed));
    // Variables and flags are judged without the file, whose mistakes are told already.
    let above = Config::layered(&Layers {
        file: None,
        known: &names(),
        env: &env,
        flags: &flags(cli),
        other_cluster: cli.source.kubeconfig.is_some(),
    });
    match above.map(|config| theme_of(&config)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) | Err(error) => wrong.push(error.to_string()),
    }
    if !wrong.is_empty() {
        let lines = wrong.iter().map(|line| printable_lines(&line.replace('\n', " ")) + "\n");
        print(&lines.collect::<String>())?;
        return Ok(Exit::Failed);
    }
    let name = printable_lines(&path.display().to_string());
    if file.is_none() {
        print(&format!("{name} does not exist; create it with `kvtop config init`\n"))?;
        return Ok(Exit::Clean);
    }
    let set = given.len();
    let settings = if set == 1 { "setting" } else { "settings" };
    print(&format!("{name}: no errors, {set} {settings}\n"))?;
    Ok(Exit::Clean)
}

/// Returns the mistakes that only show when what the file gives is used.
fn misused(given: &[Given]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |one: &Given, why: String| {
        problems.push(Problem { line: one.line, what: format!("`{}`: {why}", one.name) });
    };
    let themes = themes();
    let mut keys = Vec::new();
    for one in given {
        if [known::THEME, known::THEME_DARK, known::THEME_LIGHT]
            .iter()
            .any(|it| it.name == one.name)
        {
            let auto = one.name == known::THEME.name && one.text == super::terminal::AUTO;
            if let (false, Err(why)) = (auto, themes.check(&one.text)) {
                wrong(one, crate::exit::chain(&why));
            }
        } else if let Some(name) = one.name.strip_prefix("thresholds.") {
            if let Err(why) = thresholds::set(&mut Thresholds::default(), name, &one.text) {
                wrong(one, why);
            }
        } else if let Some(action) = one.name.strip_prefix("keys.") {
            let typed = one.text.split_whitespace().map(str::to_owned).collect();
            keys.push((one, (action.to_owned(), typed)));
        }
    }
    // The keymap refuses one change at a time; the others are judged without it.
    loop {
        let changes: Vec<Change> = keys.iter().map(|(_, change)| change.clone()).collect();
        let Err((at, why)) = Keymap::with(&changes) else { break };
        if at >= keys.len() {
            break;
        }
        let (one, _) = keys.remove(at);
        wrong(one, why);
    }
    problems
}

/// Judges the theme that a variable or a flag names; the file's is told with its line.
fn theme_of(config: &Config) -> Result<(), ConfigError> {
    let name = config.text(known::THEME).unwrap_or_default();
    if name == super::terminal::AUTO {
        return Ok(());
    }
    themes().check(name).map_err(|why| {
        let why = crate::exit::chain(&why);
        match config.origin(known::THEME) {
            Origin::Variable(name) => ConfigError::Variable { name, why },
            Origin::Flag(flag) => ConfigError::Variable { name: flag.to_owned(), why },
            origin => config.mistake(known::THEME.name, &origin, &why),
        }
    })
}

/// Writes the template. A file that is there is never replaced.
fn write(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(
            error.kind(),
            "exists already; edit it, or print a new one with --stdout",
        ),
        _ => error,
    })?;
    file.write_all(template().as_bytes())
}

/// Returns the file of `kvtop config init`.
fn template() -> String {
    page::template(&thresholds::listed())
}

/// Returns the JSON Schema of the config file.
pub fn schema() -> String {
    crate::config::schema(&thresholds::listed())
}

/// Returns docs/reference/config.md.
pub fn manual() -> String {
    page::manual(&thresholds::listed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_knows_each_figure_of_the_headline() {
        assert_eq!(Figure::ALL.map(Figure::word), known::FIGURES);
        assert_eq!(headline(&Config::default()), Figure::USUAL);
    }
}
