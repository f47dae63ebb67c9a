//! Traps and options of the shell that change no setting.

use super::super::Arg;

/// Commands of traps that assign nothing and start none of Dynamo's processes.
const HARMLESS: [&str; 12] =
    ["", "-", ":", "true", "kill", "pkill", "wait", "exit", "echo", "rm", "sleep", "jobs"];

/// Options of bash without effect on words, assignments or pipes.
const OPTIONS: [&str; 5] =
    ["checkwinsize", "cmdhist", "histappend", "huponexit", "inherit_errexit"];

/// Returns true for a trap whose action assigns nothing: whenever it runs, no setting changes.
pub(super) fn changes_nothing(arguments: &[Arg]) -> bool {
    let Some(words) = known(arguments) else { return false };
    let words: Vec<&str> = words.into_iter().skip_while(|word| *word == "--").collect();
    let Some(action) = words.first().filter(|word| !["-p", "-l"].contains(word)) else {
        return true;
    };
    let action = action.replace("$(jobs -p)", "");
    let is_harmless =
        |command: &str| HARMLESS.contains(&command.split_whitespace().next().unwrap_or_default());
    // An expansion may assign too: `${A:=1}`, `$((A=1))`.
    !action.contains(['=', '{', '(', '`']) && action.split([';', '&', '|', '\n']).all(is_harmless)
}

/// Returns true for options that change no setting.
pub(super) fn is_harmless_option(arguments: &[Arg]) -> bool {
    let is_harmless = |word: &&str| word.starts_with('-') || OPTIONS.contains(word);
    known(arguments).is_some_and(|words| words.iter().all(is_harmless))
}

fn known(arguments: &[Arg]) -> Option<Vec<&str>> {
    arguments.iter().map(Arg::known).collect()
}
