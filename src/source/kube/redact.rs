//! Secrets are taken out of objects before anything else sees them.
//!
//! By name (of variables, keys, flags), and by shape (user and password in URLs, well-known prefixes of
//! tokens), wherever the text stands. References to Secrets stay; they are names.

mod line;
mod text;

use serde_json::Value;

pub(in crate::source) use line::redacted_line;

use text::scrub;

use crate::domain::{SECRET_PARTS, SECRET_WORDS};

/// Placeholder for a secret.
pub(super) const REDACTED: &str = "(redacted)";

/// Keys that name a Secret rather than hold one.
const REFERENCES: [&str; 4] = ["envfromsecret", "secretname", "imagepullsecret", "existingsecret"];

/// The texts that may still be nested in one another: a script that quotes JSON whose strings are command
/// lines. Whoever writes a text decides how deep it goes, so deeper ones are taken out whole.
///
/// The limit bounds both the stack (each text holds at most the 128 levels that `serde_json` reads) and the
/// time, which is linear in the length of the text at each level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth(u8);

impl Depth {
    /// The outermost text. Of the commands seen in clusters none needs more than four levels.
    const OUTERMOST: Self = Self(6);

    /// Returns the depth of a text within this one, none below the limit.
    fn inner(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

/// Takes all secrets out of `value`.
pub(super) fn redact(value: &mut Value) {
    redact_at(value, Depth::OUTERMOST);
}

fn redact_at(value: &mut Value, depth: Depth) {
    match value {
        Value::String(text) => {
            if let Some(clean) = scrub(text, depth) {
                *text = clean;
            }
        }
        Value::Array(items) => {
            redact_arguments(items);
            for item in items {
                redact_at(item, depth);
            }
        }
        Value::Object(map) => {
            let variable = map.get("name").and_then(Value::as_str).map(str::to_owned);
            for (key, inner) in map.iter_mut() {
                let named = (key.as_str(), variable.as_deref());
                if let Value::String(text) = &mut *inner
                    && matches!(named, ("value", Some("NATS_SERVER")) | ("NATS_SERVER", _))
                {
                    *text = servers(text);
                    continue;
                }
                let secret = match inner {
                    Value::String(text) => match (key.as_str(), &variable) {
                        ("value", Some(name)) => is_secret_variable(name, text),
                        _ => is_secret_key(key) || is_secret_constant(key, text),
                    },
                    _ => false,
                };
                if secret {
                    *inner = REDACTED.into();
                } else {
                    redact_at(inner, depth);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns addresses of NATS without logins, with a mark where there was one: whoever is refused
/// learns from it that the pods have a login.
fn servers(text: &str) -> String {
    let Some((logins, last)) = text.rsplit_once('@') else { return text.to_owned() };
    // A password may hold a comma: what stands before the last login and is no plain address goes.
    let before = logins.matches(',').count();
    let known = |part: &str| part.contains('@') || is_plain_address(part);
    if text.split(',').take(before).all(known) {
        return text.split(',').map(without_login).collect::<Vec<_>>().join(",");
    }
    let scheme = text.split_once("://").map(|(scheme, _)| scheme).filter(|it| is_scheme(it));
    scheme.map_or_else(
        || format!("{REDACTED}@{last}"),
        |scheme| format!("{scheme}://{REDACTED}@{last}"),
    )
}

fn without_login(address: &str) -> String {
    let Some((login, host)) = address.rsplit_once('@') else { return address.to_owned() };
    match login.split_once("://").filter(|(scheme, _)| is_scheme(scheme.trim_start())) {
        Some((scheme, _)) => format!("{scheme}://{REDACTED}@{host}"),
        None => format!("{REDACTED}@{host}"),
    }
}

fn is_scheme(text: &str) -> bool {
    ["nats", "tls", "ws", "wss"].contains(&text)
}

/// Returns true for a scheme with a host and a port.
fn is_plain_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.trim_start().split_once("://") else { return false };
    let (host, port) = rest.rsplit_once(':').unwrap_or((rest, "0"));
    let named = host.chars().all(|letter| letter.is_alphanumeric() || "-.[]:_".contains(letter));
    is_scheme(scheme) && named && port.trim_end().parse::<u16>().is_ok()
}

/// Takes the values of secret flags out of a list of arguments, where flag and value are two.
fn redact_arguments(items: &mut [Value]) {
    let mut after_flag = false;
    for item in items {
        let Value::String(word) = item else {
            after_flag = false;
            continue;
        };
        let is_flag = word.starts_with('-');
        if after_flag && !is_flag {
            REDACTED.clone_into(word);
        }
        after_flag = is_flag && !word.contains(['=', ' ']) && is_secret_key(word);
    }
}

/// Returns true when the environment variable `name` holds a secret.
pub(super) fn is_secret_variable(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // TOKENIZERS_PARALLELISM, MAX_TOKENS and their like are settings; AUTH_TOKENS is not a number.
    let mut rest = name.replace("TOKENIZER", "");
    let is_setting = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
    if is_setting {
        rest = rest.replace("TOKENS", "");
    }
    !value.is_empty() && SECRET_PARTS.iter().any(|part| rest.contains(part))
}

/// Returns true when a key such as `HF_TOKEN`, written as a constant, holds a secret.
fn is_secret_constant(key: &str, value: &str) -> bool {
    key.len() > 3
        && !key.contains(|letter: char| {
            !letter.is_ascii_uppercase() && !"_0123456789".contains(letter)
        })
        && is_secret_variable(key, value)
}

/// Returns true when the key or flag `name` holds a secret.
fn is_secret_key(name: &str) -> bool {
    // Every word of a log line is asked about, so nothing is copied for that.
    let letters = || name.bytes().rev().filter(u8::is_ascii_alphanumeric);
    let ends_with = |end: &&str| {
        let mut letters = letters();
        end.bytes()
            .rev()
            .all(|byte| letters.next().is_some_and(|it| it.eq_ignore_ascii_case(&byte)))
    };
    // Keys are not judged like variables: `key` and `max_tokens` are everywhere.
    SECRET_WORDS.iter().any(ends_with)
        && !REFERENCES.iter().any(|known| ends_with(known) && letters().count() == known.len())
}

/// Returns true when the file `name` holds a secret, whatever its kind: `secret.txt`.
pub(super) fn is_secret_file(name: &str) -> bool {
    name.split('.').any(is_secret_key)
}

#[cfg(test)]
mod tests;
