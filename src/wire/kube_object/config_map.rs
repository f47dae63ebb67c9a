//! A `ConfigMap`: configuration files of engines, and variables of processes.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Object, engine_config, shared};
use crate::domain::{ConfigFile, ConfigMap, Fact, Variables};
use crate::frame::Frame;
use crate::wire::{Facts, Reject};

/// Most keys of one that are kept as variables.
const KEY_LIMIT: usize = 512;

/// Longest value that is kept as that of a variable.
const VALUE_LIMIT: usize = 4096;

/// Longest file whose text is kept; a command that changes it holds it twice.
const TEXT_LIMIT: usize = 8192;

/// The placeholder that the source leaves for a secret.
const REDACTED: &str = "(redacted)";

/// The end of the note that stands in the place of what is too much, or nothing that is read.
const LEFT_OUT: &str = " bytes left out)";

/// The start of that note where an engine's configuration was expected.
const NO_YAML: &str = "(no YAML: ";

/// Reads what looks like an engine's configuration; a `ConfigMap` holds anything.
pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let object = Object::read(frame)?;
    let none = Map::new();
    let data = object.value["data"].as_object().unwrap_or(&none);
    let mut unreadable = false;
    let changed = object.changed();
    for (key, text) in data {
        let Some(text) = text.as_str() else { continue };
        let extension = key.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let named = ["yaml", "yml", "json"].contains(&extension.as_str());
        // A volume may give a key any path, so its name need not say what it holds.
        if !named && !text.contains(':') {
            continue;
        }
        let read = if object.gone { Ok(None) } else { engine_config::from_yaml(text) };
        unreadable |= named && (read.is_err() || text.starts_with(NO_YAML));
        let settings = read.unwrap_or_default();
        facts.other.push(Fact::ConfigFile(ConfigFile {
            config_map: Arc::clone(&object.name),
            key: shared(key),
            settings,
            text: kept_text(text).filter(|_| !object.gone),
            changed,
        }));
    }
    let variables = (!object.gone).then(|| Arc::new(variables(data)));
    facts.other.push(Fact::ConfigMap(ConfigMap { name: object.name, variables }));
    if unreadable {
        return Err(Reject::new("ConfigMap with a file that is no YAML"));
    }
    Ok(())
}

/// Returns a file's text where a command could write it back: it is short, and nothing was taken out of it.
fn kept_text(text: &str) -> Option<Arc<str>> {
    let whole = text.len() <= TEXT_LIMIT && !text.contains(REDACTED) && !is_taken_out(text);
    whole.then(|| text.into())
}

fn variables(data: &Map<String, Value>) -> Variables {
    let value = |text: &Value| {
        let text = text.as_str().filter(|text| text.len() <= VALUE_LIMIT)?;
        (!is_taken_out(text)).then(|| text.into())
    };
    data.iter().take(KEY_LIMIT).map(|(key, text)| (shared(key), value(text))).collect()
}

fn is_taken_out(text: &str) -> bool {
    // An address keeps a mark where its login was, and is still one.
    text == REDACTED || (text.starts_with('(') && text.ends_with(LEFT_OUT))
}
