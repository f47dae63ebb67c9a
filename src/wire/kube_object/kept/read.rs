//! Flags and variables that decoders read.

use crate::dynamo::{Kind, Setting, flag, settings, variable};

/// Variables of NATS and etcd that decoders read.
const TRANSPORTS: [&str; 4] =
    ["ETCD_ENDPOINTS", "NATS_AUTH_CREDENTIALS_FILE", "NATS_AUTH_USERNAME", "NATS_SERVER"];

/// Returns the name of a flag that decoders read; dashes and underscores are the same.
fn known(word: &str) -> Option<&'static str> {
    if !word.starts_with('-') {
        return None;
    }
    let same = |flag: &str| {
        flag.len() == word.len()
            && flag.bytes().zip(word.bytes()).all(|(a, b)| a == b || (a == b'-' && b == b'_'))
    };
    settings::flags().iter().copied().find(|flag| same(flag))
}

/// Returns true for flags that stand alone.
fn stands_alone(flag: &str) -> bool {
    let roles = [flag::IS_DECODE_WORKER, flag::IS_PREFILL_WORKER];
    let denies = |row: &Setting| row.off.contains(&flag);
    let switches =
        |row: &Setting| row.kind == Kind::Switch && row.flags.iter().any(|it| it.text == flag);
    roles.contains(&flag) || settings::all().any(|row| denies(row) || switches(row))
}

/// Returns true for a flag that decoders read and that is followed by its value.
pub(super) fn takes_value(flag: &str) -> bool {
    known(flag).is_some_and(|flag| !stands_alone(flag))
}

/// Returns true for a flag that decoders read and that stands alone.
pub(super) fn is_switch(flag: &str) -> bool {
    known(flag).is_some_and(stands_alone)
}

/// Returns true for a variable whose value decoders read.
pub(super) fn is_read_variable(name: &str) -> bool {
    TRANSPORTS.contains(&name) || variable::ALL.iter().any(|(_, text, _)| *text == name)
}
