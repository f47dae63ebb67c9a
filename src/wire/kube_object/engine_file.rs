//! The configuration file that an engine was told to read.

use std::sync::Arc;

use serde_json::Value;

use super::command::{Command, Reading, Written};
use super::engine_config;
use super::volume::{Mounted, mounted};
use super::{raw, shared};
use crate::domain::{Backend, ConfigSource, Setting};
use crate::dynamo::{engine, flag};

/// The reading of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EngineConfig {
    /// There is none.
    None,
    /// The script that starts the engine wrote it.
    Written { path: Arc<str>, settings: Vec<Setting> },
    /// It is somewhere else.
    File { path: Arc<str>, source: ConfigSource },
    /// There may be one.
    Hidden(Arc<str>),
}

/// Finds the configuration file that an engine was told to read.
pub(super) fn find(
    command: &Command,
    container: &Value,
    volumes: &Value,
    backend: Option<Backend>,
) -> EngineConfig {
    let Some(backend) = backend else { return EngineConfig::None };
    let (flags, variables) = engine::config_file(backend);
    let path = match command.flag(flags).or(|| command.variable(variables)) {
        Reading::Unset => return EngineConfig::None,
        Reading::Hidden(by) => return EngineConfig::Hidden(by),
        Reading::Set(found) => match found.value.filter(|path| !path.is_empty()) {
            Some(path) => path,
            None => return EngineConfig::None,
        },
    };
    // Only a section of SGLang's file counts, whose settings stand anywhere in it, and the mocker's has a form of its own
    // (ai-dynamo 1.2.1, `sglang/args.py:225`, `mocker/args.py:401`).
    if backend == Backend::Mocker || command.flag(&[flag::DISAGG_CONFIG]).is_set() {
        return EngineConfig::Hidden(raw(path));
    }
    let full = command.path(path);
    match full.as_deref().map_or(Written::Nothing, |full| command.written(full)) {
        Written::Nothing => {}
        Written::Hidden => return EngineConfig::Hidden(raw(path)),
        Written::Text(text) => {
            return match engine_config::from_yaml(text) {
                Ok(settings) => {
                    let settings = settings.unwrap_or_default();
                    EngineConfig::Written { path: raw(path), settings }
                }
                Err(_) => EngineConfig::Hidden(raw(path)),
            };
        }
    }
    let full = full.as_deref().unwrap_or(path);
    let source = match mounted(full, container, volumes) {
        Some(Mounted::ConfigMap { name, key }) => {
            ConfigSource::ConfigMap { name: shared(name), key: shared(&key) }
        }
        Some(Mounted::Secret { .. }) | None => ConfigSource::Image,
    };
    EngineConfig::File { path: raw(path), source }
}
