//! Splits expanded text into words.

use std::sync::Arc;

use super::{Field, Text};
use crate::wire::kube_object::shell::Arg;

/// Adds a value outside quotes: blanks end words.
pub(super) fn split(text: &str, field: &mut Option<Field>, globs: bool, out: &mut Vec<Arg>) {
    let blank = |letter: char| matches!(letter, ' ' | '\t' | '\n');
    if text.starts_with(blank)
        && let Some(done) = field.take()
    {
        done.finish(globs, out);
    }
    for (place, part) in text.split(blank).filter(|part| !part.is_empty()).enumerate() {
        if place > 0
            && let Some(done) = field.take()
        {
            done.finish(globs, out);
        }
        field.get_or_insert_default().push_open(part);
    }
    if text.ends_with(blank)
        && let Some(done) = field.take()
    {
        done.finish(globs, out);
    }
}

/// Adds `"$@"`: the first joins what stands before it, the last what follows.
pub(super) fn spread(args: &[Arg], field: &mut Option<Field>, globs: bool, out: &mut Vec<Arg>) {
    for (place, arg) in args.iter().enumerate() {
        if place > 0
            && let Some(done) = field.take()
        {
            done.finish(globs, out);
        }
        field.get_or_insert_default().push_arg(arg);
    }
}

/// Adds `$@`: every parameter is split.
pub(super) fn split_each(
    args: &[Arg],
    splits: bool,
    field: &mut Option<Field>,
    globs: bool,
    out: &mut Vec<Arg>,
) {
    for (place, arg) in args.iter().enumerate() {
        if place > 0
            && let Some(done) = field.take()
        {
            done.finish(globs, out);
        }
        match arg {
            Arg::Word(text) if splits => split(text, field, globs, out),
            Arg::Word(_) => {
                field.get_or_insert_default().hide("a value split at other letters".into(), false);
            }
            Arg::Partial { by, .. } | Arg::Hidden { by } => {
                field.get_or_insert_default().hide(Arc::clone(by), false);
            }
        }
    }
}

/// Returns the words as one text, with blanks between them.
pub(super) fn joined(args: &[Arg], splits: bool) -> Text {
    let mut text = Text::default();
    for (place, arg) in args.iter().enumerate() {
        if text.hidden.is_some() {
            break;
        }
        if place > 0 && !splits {
            text.hidden = Some("words joined by another letter".into());
            break;
        }
        text.start.push_str(if place > 0 { " " } else { "" });
        match arg {
            Arg::Word(word) => text.start.push_str(word),
            Arg::Partial { start, by } => {
                text.start.push_str(start);
                text.hidden = Some(Arc::clone(by));
            }
            Arg::Hidden { by } => text.hidden = Some(Arc::clone(by)),
        }
    }
    text
}
