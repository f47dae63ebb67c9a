//! Settings of Dynamo's processes: which flag or variable sets what (PROTOCOL 6).

mod tables;

use std::sync::Arc;

use serde_json::Value;

use super::command::{Command, Form, Found, Module};
use super::engine_config::{self, millionths};
use super::image::{self, Version};
use super::{raw, shared};
use crate::domain::{
    Backend, Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, EngineFile, Role, Setting, Subject,
};
use tables::{Kind, Row, Variable};

/// A process, and whom its claims are about.
pub(super) struct Process<'a> {
    /// About whom.
    pub(super) subject: Subject,
    /// Where its settings were read, such as `pod a`.
    pub(super) place: String,
    /// How its settings are known.
    pub(super) basis: Basis,
    /// What it does.
    pub(super) role: Role,
    /// Its engine.
    pub(super) backend: Option<Backend>,
    /// Dynamo's version, when it is known.
    pub(super) version: Option<Version>,
    /// What it runs.
    pub(super) command: &'a Command,
    /// The configuration file of its engine.
    pub(super) engine_file: Option<&'a EngineFile>,
}

impl Process<'_> {
    /// Returns every claim that its settings make, and those of its version's defaults.
    pub(super) fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        let rows = tables::rows(self.role, self.backend);
        let overrides = self.overrides();
        for setting in &overrides {
            claims.push(self.claim_of(setting, "--override-engine-args"));
        }
        for row in rows.iter().flat_map(|table| table.iter()) {
            if row.until.is_some_and(|until| self.version.is_some_and(|version| version >= until)) {
                continue;
            }
            let set = |what, of| overrides.iter().any(|known| (known.what, known.of) == (what, of));
            for of in row.of.iter().filter(|of| !set(row.what, **of)) {
                claims.extend(self.claim(row, *of));
            }
        }
        if self.role == Role::Frontend && self.hashes_with_declared() {
            claims.extend(self.router_of_declared(&claims));
        }
        if self.backend == Some(Backend::TrtLlm) && self.role.is_worker() {
            self.trtllm_block_sizes(&mut claims, &overrides);
        }
        claims
    }

    /// Returns true for frontends that hash requests with the size which they declare: those that let the
    /// engine's own code process chats (`kv_cache_block_size or 16`, ai-dynamo 1.0.0 to 1.2.1, `frontend/`).
    fn hashes_with_declared(&self) -> bool {
        let since = Version::new(1, 0);
        let until = Version::new(1, 3);
        let flag = self.command.flag(&["--dyn-chat-processor"]).and_then(|found| found.value);
        let chat = flag.or_else(|| self.command.env().plain("DYN_CHAT_PROCESSOR"));
        self.version.is_some_and(|version| version >= since && version < until)
            && chat.is_some_and(|chat| !chat.is_empty() && chat != "dynamo")
    }

    /// Returns what a frontend declares as what its router hashes with. A default is in effect there.
    fn router_of_declared(&self, claims: &[Claim]) -> Option<Claim> {
        let declared =
            |claim: &&Claim| (claim.what, claim.of) == (ClaimWhat::BlockSize, ClaimOf::Declared);
        let declared = claims.iter().find(declared)?;
        let unset = declared.basis == Basis::Default;
        Some(Claim {
            of: ClaimOf::Router,
            basis: if unset { self.basis } else { declared.basis },
            source: if unset {
                format!("{}, default with a chat processor", self.place).into()
            } else {
                Arc::clone(&declared.source)
            },
            ..declared.clone()
        })
    }

    /// Returns the claim of Dynamo's version that an image's tag makes.
    pub(super) fn version_claim(&self, image: &str) -> Option<Claim> {
        let version = image::version(image).filter(|_| self.role != Role::Other)?;
        Some(Claim {
            what: ClaimWhat::DynamoVersion,
            of: if self.role.is_router() { ClaimOf::Router } else { ClaimOf::Publisher },
            subject: self.subject.clone(),
            model: None,
            value: ClaimValue::Text(shared(version)),
            basis: self.basis,
            source: format!("{}, image tag", self.place).into(),
            raw: raw(image),
        })
    }

    /// The engine's size is in its own configuration; from 1.4 publisher and card follow it, before
    /// that nothing does (ai-dynamo 1.4.0, `trtllm/workers/llm_worker.py:171`).
    fn trtllm_block_sizes(&self, claims: &mut Vec<Claim>, overrides: &[Setting]) {
        let followed = self.version.is_some_and(|version| version >= Version::new(1, 4));
        let set = overrides.iter().find(|setting| setting.what == ClaimWhat::BlockSize);
        let followers: &[ClaimOf] =
            if followed { &[ClaimOf::Publisher, ClaimOf::Card] } else { &[] };
        match set {
            Some(setting) => {
                for of in followers {
                    let setting = Setting { of: *of, ..setting.clone() };
                    claims.push(self.claim_of(&setting, "--override-engine-args"));
                }
            }
            // A file may set it. One in a ConfigMap is read when it comes; of one in the image
            // nothing is known.
            None if self.engine_file.is_some() || self.command.env().may_hide() => {}
            None => {
                for of in [ClaimOf::Engine].iter().chain(followers) {
                    claims.push(default_block_size(*of, &self.subject));
                }
            }
        }
    }

    fn overrides(&self) -> Vec<Setting> {
        if self.backend != Some(Backend::TrtLlm) {
            return Vec::new();
        }
        let found = self.command.flag(&["--override-engine-args"]);
        let found = found.or_else(|| self.command.variable(&["DYN_TRTLLM_OVERRIDE_ENGINE_ARGS"]));
        found.and_then(|found| engine_config::from_json(found.value?)).unwrap_or_default()
    }

    fn claim_of(&self, setting: &Setting, name: &str) -> Claim {
        Claim {
            what: setting.what,
            of: setting.of,
            subject: self.subject.clone(),
            model: None,
            value: setting.value.clone(),
            basis: self.basis,
            source: format!("{}, {name}", self.place).into(),
            raw: Arc::clone(&setting.raw),
        }
    }

    fn claim(&self, row: &Row, of: ClaimOf) -> Option<Claim> {
        let found = self.flag(row).or_else(|| self.variable(row));
        let Some(found) = found else { return self.default_claim(row, of) };
        let off = row.off.iter().any(|name| found.name.replace('_', "-") == **name);
        if found.form == Form::Variable && found.value.is_none() {
            // It is set from somewhere that the object does not show.
            return None;
        }
        let given = found.value.filter(|_| found.is_for(row));
        let value = row.kind.read(given, off).or_else(|| row.kind.as_given(given))?;
        let label = match found.form {
            Form::Variable => match found.lender {
                Some(from) if *from.key == *found.name => {
                    format!("env {} (ConfigMap {})", found.name, from.config_map)
                }
                Some(from) => {
                    format!("env {} (ConfigMap {}: {})", found.name, from.config_map, from.key)
                }
                None => format!("env {}", found.name),
            },
            Form::Flag | Form::Joined => found.name.clone(),
        };
        Some(Claim {
            what: row.what,
            of,
            subject: self.subject.clone(),
            model: None,
            value,
            basis: self.basis,
            source: format!("{}, {label}", self.place).into(),
            raw: raw(&found.text(row)),
        })
    }

    /// The last flag wins, but a model's served name comes before its path.
    fn flag(&self, row: &Row) -> Option<Found<'_>> {
        if row.what == ClaimWhat::Model {
            return row.flags.iter().find_map(|name| self.command.flag(&[*name]));
        }
        let flags: Vec<&str> = row.flags.iter().chain(row.off).copied().collect();
        self.command.flag(&flags)
    }

    /// Variables were renamed at 1.0; the name of the other era is not read.
    fn variable(&self, row: &Row) -> Option<Found<'_>> {
        let old = self.version.map(|version| version < Version::new(1, 0));
        let read = |variable: &&Variable| match variable {
            Variable::Always(_) => true,
            Variable::Before1(_) => old.is_none_or(|old| old),
            Variable::From1(_) => old.is_none_or(|old| !old),
        };
        let names: Vec<&str> = row.env.iter().filter(read).map(Variable::name).collect();
        self.command.variable(&names)
    }

    /// Returns what holds where nothing is set; nothing when a `ConfigMap` that is not known may set it.
    fn default_claim(&self, row: &Row, of: ClaimOf) -> Option<Claim> {
        let env = self.command.env();
        if env.may_hide() && !row.env.is_empty() {
            return None;
        }
        let value = row.default.value(self.version)?;
        let who = match self.version {
            Some(version) => format!("default of Dynamo {version}"),
            None => "default of Dynamo".to_owned(),
        };
        let names: Vec<&str> =
            row.flags.iter().copied().chain(row.env.iter().map(Variable::name)).collect();
        // Secrets hold tokens as a rule, but may hold settings.
        let unless = match env.secrets() {
            secrets if secrets.is_empty() || row.env.is_empty() => String::new(),
            secrets => format!(", unless by Secret {}", secrets.join(", ")),
        };
        Some(Claim {
            what: row.what,
            of,
            subject: self.subject.clone(),
            model: None,
            value,
            basis: Basis::Default,
            source: who.into(),
            raw: raw(&format!("not set: {}{unless}", names.join(", "))),
        })
    }
}

/// Returns the claim that TensorRT-LLM's default holds, where nothing sets the size.
fn default_block_size(of: ClaimOf, subject: &Subject) -> Claim {
    Claim {
        what: ClaimWhat::BlockSize,
        of,
        subject: subject.clone(),
        model: None,
        value: ClaimValue::Count(32),
        basis: Basis::Default,
        source: "default of TensorRT-LLM".into(),
        raw: raw("not set: kv_cache_config.tokens_per_block"),
    }
}

impl Found<'_> {
    /// Switches take no word as a value: what follows them is the next argument.
    fn is_for(&self, row: &Row) -> bool {
        !(self.form == Form::Flag && matches!(row.kind, Kind::Switch))
    }

    fn text(&self, row: &Row) -> String {
        match self.value.filter(|_| self.is_for(row)) {
            Some(value) if self.form == Form::Flag => format!("{} {value}", self.name),
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Kind {
    /// Returns the text that stands where a number or a switch should: nobody reads it as one, and it is no
    /// default either.
    fn as_given(self, value: Option<&str>) -> Option<ClaimValue> {
        match self {
            Self::Count | Self::Decimal | Self::Switch => Self::Text.read(value, false),
            Self::Text | Self::EventsConfig | Self::EventsSwitch | Self::EventsEndpoint => None,
        }
    }

    /// Reads a value. `off` is true for the flag that denies.
    fn read(self, value: Option<&str>, off: bool) -> Option<ClaimValue> {
        let value = value.map(str::trim);
        match self {
            Self::Count => value?.parse().ok().map(ClaimValue::Count),
            Self::Decimal => value?.parse().ok().and_then(millionths),
            Self::Text => {
                value.filter(|text| !text.is_empty()).map(|t| ClaimValue::Text(shared(t)))
            }
            Self::Switch => match value.map(str::to_ascii_lowercase).as_deref() {
                None => Some(ClaimValue::Flag(!off)),
                Some("true" | "1" | "yes" | "on") => Some(ClaimValue::Flag(true)),
                Some("false" | "0" | "no" | "off") => Some(ClaimValue::Flag(false)),
                Some(_) => None,
            },
            // `--kv-events-config '{"enable_kv_cache_events": true}'`
            Self::EventsConfig => {
                let config: Value = serde_json::from_str(value?).ok()?;
                let enabled = config.get("enable_kv_cache_events").and_then(Value::as_bool);
                let publisher = config.get("publisher").and_then(Value::as_str);
                let sent = enabled.or(publisher.map(|name| name != "null"))?;
                Some(ClaimValue::Flag(sent))
            }
            Self::EventsSwitch => {
                let config: Value = serde_json::from_str(value?).ok()?;
                let enabled = config.get("enable_kv_cache_events").and_then(Value::as_bool);
                Some(ClaimValue::Flag(enabled.unwrap_or(false)))
            }
            Self::EventsEndpoint => {
                let config: Value = serde_json::from_str(value?).ok()?;
                let endpoint = config.get("endpoint").and_then(Value::as_str)?;
                Some(ClaimValue::Text(shared(endpoint)))
            }
        }
    }
}

/// A setting of whoever routes, by the names that it has or had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterSetting {
    /// What it sets.
    pub what: ClaimWhat,
    /// Flags that set it, and those that deny it.
    pub flags: [&'static [&'static str]; 2],
    /// The variables that every version reads.
    pub always: &'static str,
    /// The variable up to 0.9, empty when there is none.
    pub old: &'static str,
    /// The variable from 1.0 on, empty when there is none.
    pub new: &'static str,
}

/// Returns the settings of routing, which workers do not read.
pub fn router_settings() -> Vec<RouterSetting> {
    let named = |row: &Row, pick: fn(&Variable) -> Option<&'static str>| {
        row.env.iter().find_map(pick).unwrap_or_default()
    };
    let setting = |row: &Row| RouterSetting {
        what: row.what,
        flags: [row.flags, row.off],
        always: named(row, |variable| match variable {
            Variable::Always(name) => Some(name),
            Variable::Before1(_) | Variable::From1(_) => None,
        }),
        old: named(row, |variable| match variable {
            Variable::Before1(name) => Some(name),
            Variable::Always(_) | Variable::From1(_) => None,
        }),
        new: named(row, |variable| match variable {
            Variable::From1(name) => Some(name),
            Variable::Always(_) | Variable::Before1(_) => None,
        }),
    };
    tables::routing().map(setting).collect()
}

/// Returns what a process does, by what it runs, by its labels and by its flags.
pub(super) fn role_of(command: &Command, kind: &str, sub_kind: &str) -> Role {
    let by_module = match command.module {
        Some(Module::Frontend) => Some(Role::Frontend),
        Some(Module::Router) => Some(Role::StandaloneRouter),
        Some(Module::Planner) => Some(Role::Planner),
        Some(Module::Engine(_)) => Some(Role::Worker),
        None => None,
    };
    let by_label = match kind {
        "frontend" => Role::Frontend,
        "worker" | "main" => Role::Worker,
        "prefill" => Role::Prefill,
        "decode" => Role::Decode,
        "planner" => Role::Planner,
        "router" => Role::StandaloneRouter,
        "epp" | "gateway-plugin" => Role::GatewayPlugin,
        _ => Role::Other,
    };
    match by_module.unwrap_or(by_label) {
        Role::Worker => part_of_worker(command, kind, sub_kind),
        role => role,
    }
}

/// Returns whether a worker serves whole requests or a part of them.
fn part_of_worker(command: &Command, kind: &str, sub_kind: &str) -> Role {
    let mode = command.flag(&["--disaggregation-mode"]).and_then(|found| found.value);
    let mode = mode.or_else(|| command.env().plain("DYN_TRTLLM_DISAGGREGATION_MODE"));
    let has = |name| command.flag(&[name]).is_some();
    if has("--is-prefill-worker")
        || [kind, sub_kind].contains(&"prefill")
        || mode == Some("prefill")
    {
        Role::Prefill
    } else if has("--is-decode-worker")
        || [kind, sub_kind].contains(&"decode")
        || mode == Some("decode")
    {
        Role::Decode
    } else {
        Role::Worker
    }
}
