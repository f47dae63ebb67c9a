//! Text generated from definitions: completions, manual pages, and the list of keys.

mod sections;

use std::fmt::Write as _;
use std::io;

use clap_complete::Shell as Complete;
use clap_mangen::Man;

use super::RunError;
use super::output::print;
use crate::cli::{Cli, KeysFormat, Shell};
use crate::config::ConfigError;
use crate::exit::Exit;
use crate::tui::command::{Command, Edit, Scroll};
use crate::tui::filter::SYNTAX;
use crate::tui::keymap::{Binding, Context, Keymap, names};

/// Prints what makes a shell complete commands and flags.
pub(super) fn completions(shell: Shell) -> Result<Exit, RunError> {
    print(&completion(shell))?;
    Ok(Exit::Clean)
}

/// Returns the completion script of a shell.
pub fn completion(shell: Shell) -> String {
    let shell = match shell {
        Shell::Bash => Complete::Bash,
        Shell::Elvish => Complete::Elvish,
        Shell::Fish => Complete::Fish,
        Shell::PowerShell => Complete::PowerShell,
        Shell::Zsh => Complete::Zsh,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::shown(), "kvtop", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Prints a manual page.
pub(super) fn page(command: &[String]) -> Result<Exit, RunError> {
    let command = command.join("-");
    let wanted = if command.is_empty() { "kvtop".to_owned() } else { format!("kvtop-{command}") };
    let pages = pages().map_err(RunError::Output)?;
    let Some((_, text)) = pages.iter().find(|(name, _)| *name == wanted) else {
        let known = pages.iter().filter_map(|(name, _)| name.strip_prefix("kvtop-"));
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(RunError::NoCommand { name: command, known });
    };
    print(text)?;
    Ok(Exit::Clean)
}

/// Returns the manual pages, of kvtop and of each of its commands, by name.
pub fn pages() -> io::Result<Vec<(String, String)>> {
    let mut kvtop = Cli::shown();
    kvtop.build();
    let mut pages = Vec::new();
    collect(&kvtop, &mut pages)?;
    Ok(pages)
}

fn collect(command: &clap::Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    let mut shown = command.clone();
    // What `help` prints needs no page.
    if shown.find_subcommand("help").is_some() {
        shown = shown.mut_subcommand("help", |help| help.hide(true));
    }
    // Its line of names begins with the name already.
    let about = shown.get_about().map(ToString::to_string).unwrap_or_default();
    if let Some(about) = about.strip_prefix("kvtop: ") {
        shown = shown.about(about.to_owned());
    }
    let page = Man::new(shown);
    let mut text = Vec::new();
    page.render(&mut text)?;
    let name = page.get_filename().trim_end_matches(".1").to_owned();
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text.push_str(&sections::after(name.strip_prefix("kvtop-").unwrap_or_default()));
    pages.push((name, text));
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    commands.into_iter().try_for_each(|command| collect(command, pages))
}

/// Prints every key that holds. Where settings cannot be read it prints the usual ones, which names the
/// actions that settings may have, and then says why.
pub(super) fn keys(
    format: KeysFormat,
    keys: Result<Keymap, ConfigError>,
) -> Result<Exit, RunError> {
    let (keys, wrong) = match keys {
        Ok(keys) => (keys, None),
        Err(wrong) => (Keymap::default(), Some(wrong)),
    };
    print(&key_list(format, &keys))?;
    wrong.map_or(Ok(Exit::Clean), |wrong| Err(wrong.into()))
}

/// Returns every key of `keymap` with the name of its action, where it holds and what it does.
pub fn key_list(format: KeysFormat, keymap: &Keymap) -> String {
    let rows: Vec<[String; 4]> = keymap
        .all()
        .map(|binding| {
            let keys: Vec<String> = binding.keys.iter().map(ToString::to_string).collect();
            let action = names::action(binding.command);
            let action = if names::is_free(binding) { action } else { String::new() };
            let keys = if keys.is_empty() { String::from("(none)") } else { keys.join(" ") };
            [keys, action, names::place(binding), described(binding).to_owned()]
        })
        .collect();
    let mut text = String::new();
    match format {
        KeysFormat::Text => {
            let wide = |at: usize| rows.iter().map(|row| row[at].chars().count()).max();
            let [keys, action, place] = [0, 1, 2].map(|at| wide(at).unwrap_or(0));
            for [a, b, c, d] in &rows {
                let line = format!("{a:keys$}  {b:action$}  {c:place$}  {d}");
                put(&mut text, format_args!("{}\n", line.trim_end()));
            }
            put(&mut text, format_args!("\nWords of a filter (/):\n"));
            for (word, meaning) in SYNTAX {
                put(&mut text, format_args!("{word:keys$}  {meaning}\n"));
            }
        }
        KeysFormat::Md => {
            put(&mut text, format_args!("| keys | action | where | what |\n|---|---|---|---|\n"));
            for [keys, action, place, what] in &rows {
                let keys = keys.split(' ').map(|key| format!("`{key}`")).collect::<Vec<_>>();
                let action = if action.is_empty() { String::new() } else { format!("`{action}`") };
                let (keys, what) = (keys.join(" "), what.replace('|', "\\|"));
                put(&mut text, format_args!("| {keys} | {action} | {place} | {what} |\n"));
            }
            put(
                &mut text,
                format_args!("\n## Words of a filter\n\n| word | matches |\n|---|---|\n"),
            );
            for (word, meaning) in SYNTAX {
                put(&mut text, format_args!("| `{word}` | {meaning} |\n"));
            }
        }
    }
    text
}

/// Returns what a key does, also where `?` leaves the key out because its place explains it.
fn described(binding: &Binding) -> &'static str {
    let in_line = binding.contexts.iter().all(|context| *context == Context::Line);
    match binding.command {
        _ if !binding.help.is_empty() => binding.help,
        Command::Scroll(Scroll::Down) if in_line => "next suggestion",
        Command::Scroll(Scroll::Up) if in_line => "previous suggestion",
        Command::Scroll(Scroll::Top) => "to the first row",
        Command::Scroll(Scroll::Bottom) => "to the last row",
        Command::Scroll(_) => "scroll",
        Command::Quit => "quit",
        Command::Edit(Edit::Erase) => "delete a character",
        Command::Edit(Edit::Clear) => "clear the line",
        _ => "",
    }
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    page.write_fmt(text).unwrap_or_default();
}
