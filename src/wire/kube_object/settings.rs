//! Settings of Dynamo's processes: which flag or variable sets what (PROTOCOL 6).

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::command::{Command, Form, Found, Module, Reading};
use super::engine_config::{self, millionths};
use super::engine_file::EngineConfig;
use super::image;
use super::{raw, shared};
use crate::domain::{
    Backend, Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, ConfigSource, EngineFile, HiddenSetting,
    Medium, Release, Role, SetBy, Setting, Subject,
};
use crate::dynamo::{Kind, Setting as Row, engine, flag, part, release, settings, variable};

/// A container's process and the subject of its claims.
pub(super) struct Process<'a> {
    /// About whom.
    pub(super) subject: Subject,
    /// The place its settings were read from, such as `pod a`.
    pub(super) place: String,
    /// The basis of its settings.
    pub(super) basis: Basis,
    /// Its role in the deployment.
    pub(super) role: Role,
    /// Its engine.
    pub(super) backend: Option<Backend>,
    /// Dynamo's version, when it is known.
    pub(super) version: Option<Release>,
    /// Its command.
    pub(super) command: &'a Command,
    /// The configuration file of its engine.
    pub(super) config: &'a EngineConfig,
}

/// The claims of a process's settings.
#[derive(Default)]
pub(super) struct Said {
    pub(super) claims: Vec<Claim>,
    /// Settings that it may have been given where kvtop cannot read.
    pub(super) hidden: Vec<HiddenSetting>,
    /// The configuration file of its engine, with what it decides.
    pub(super) engine_file: Option<EngineFile>,
}

/// The claims of an engine's configuration in the command.
enum Overrides {
    /// Each with its flag.
    Known(Vec<(Setting, &'static str)>),
    Hidden(Arc<str>),
}

impl Process<'_> {
    /// Returns every claim that its settings make, and those of its version's defaults.
    pub(super) fn said(&self) -> Said {
        let mut said = self.all_said();
        if self.role.is_worker() && !self.role.has_kv_blocks() {
            said.claims.retain(|claim| !claim.what.is_of_kv_blocks());
            said.hidden.retain(|hidden| !hidden.what.is_of_kv_blocks());
            said.engine_file = None;
        }
        said
    }

    #[expect(clippy::too_many_lines, reason = "the order of what is stronger, in one place")]
    fn all_said(&self) -> Said {
        let mut said = Said::default();
        let mut otherwise = Vec::new();
        let mut overridden = Vec::new();
        // Stronger than the file and the flags.
        let overrides = match self.overrides() {
            Overrides::Known(overrides) => overrides,
            Overrides::Hidden(by) => {
                self.hide_engine(&by, &mut said.hidden);
                Vec::new()
            }
        };
        for (setting, name) in &overrides {
            said.claims.push(self.claim_of(setting, name));
            overridden.push((setting.what, setting.of));
        }
        let blind = !said.hidden.is_empty();
        let written = match self.config {
            EngineConfig::Written { path, settings } => {
                let own = settings.iter().filter(|setting| Some(setting.engine) == self.backend);
                let label = format!("{path}, which its command writes");
                own.map(|setting| {
                    (setting, Claim { set_by: None, ..self.claim_of(setting, &label) })
                })
                .collect()
            }
            _ => Vec::new(),
        };
        let file_first = matches!(self.backend, Some(Backend::TrtLlm | Backend::Mocker));
        for row in settings::rows(self.role, self.backend).iter().flat_map(|table| table.iter()) {
            if row.until.is_some_and(|until| self.version.is_some_and(|version| version >= until)) {
                continue;
            }
            for of in row.of {
                let key = (row.what, *of);
                if overridden.contains(&key) {
                    continue;
                }
                let engine = blind && engine_config::is_key(row.what) && *of == ClaimOf::Engine;
                let in_file = written.iter().find(|(known, _)| (known.what, known.of) == key);
                let may_file =
                    file_first && engine_config::is_key(row.what) && *of == ClaimOf::Engine
                        || self.config_is_flags();
                let reading = self.reading(row);
                let set = reading.is_set();
                if engine {
                    continue;
                }
                match (in_file, &reading) {
                    (Some((_, claim)), _) if file_first || reading == Reading::Unset => {
                        said.claims.push(claim.clone());
                        continue;
                    }
                    _ => {}
                }
                let hides =
                    |by: &Arc<str>| HiddenSetting { what: row.what, of: *of, by: Arc::clone(by) };
                let made = match reading {
                    Reading::Set(found) => self.claim(row, *of, &found),
                    Reading::Unset => self.default_claim(row, *of),
                    Reading::Hidden(by) => {
                        said.hidden.push(hides(&by));
                        overridden.push(key);
                        continue;
                    }
                };
                match self.config {
                    // A flag of vLLM and SGLang is stronger than their file, one of TensorRT-LLM and the mocker weaker.
                    EngineConfig::File { .. } if may_file && (file_first || !set) => {
                        otherwise.extend(made);
                        self.hide_in_image(row.what, *of, &mut said.hidden);
                    }
                    EngineConfig::Hidden(by) if may_file && (file_first || !set) => {
                        said.hidden.push(hides(by));
                    }
                    _ => {
                        if set {
                            overridden.push(key);
                        }
                        said.claims.extend(made);
                    }
                }
            }
        }
        let unset = |what, of| {
            let same = |claim: &Claim| (claim.what, claim.of) == (what, of);
            !said.claims.iter().any(same)
        };
        let rest = written.iter().filter(|(known, _)| {
            unset(known.what, known.of) && !overridden.contains(&(known.what, known.of))
        });
        let rest: Vec<Claim> = rest.map(|(_, claim)| claim.clone()).collect();
        said.claims.extend(rest);
        if self.role == Role::Frontend {
            self.own_processor(&mut said);
        }
        if self.backend == Some(Backend::TrtLlm) && self.role.is_worker() && !blind {
            self.trtllm_block_sizes(&mut said, &mut otherwise);
            self.depend_on_gpu(&mut said, &mut otherwise, &mut overridden);
        }
        if blind {
            return said;
        }
        if let EngineConfig::File { path, source } = self.config
            && let Some(engine) = self.backend
        {
            said.engine_file = Some(EngineFile {
                path: Arc::clone(path),
                source: source.clone(),
                engine,
                overridden,
                otherwise,
                followed: engine == Backend::TrtLlm && self.follows_engine(),
            });
        }
        said
    }

    /// Claims the block size that a frontend hashes with because the engine's own code processes chats.
    fn own_processor(&self, said: &mut Said) {
        let hashes = |version| release::OWN_PROCESSOR_HASHES.contains(&version);
        if !self.version.is_some_and(hashes) {
            return;
        }
        let flag = self.command.flag(&[flag::CHAT_PROCESSOR]);
        let by = match flag.or(|| self.command.variable(&[variable::CHAT_PROCESSOR])) {
            Reading::Set(found) => match found.value {
                None | Some("" | "dynamo") => return,
                Some(_) => None,
            },
            Reading::Unset => return,
            Reading::Hidden(by) => Some(by),
        };
        let (what, of) = (ClaimWhat::BlockSize, ClaimOf::Router);
        let declared = (what, ClaimOf::Declared);
        let claim = said.claims.iter().find(|claim| (claim.what, claim.of) == declared);
        match (by, claim) {
            (None, Some(claim)) => said.claims.push(self.router_of_declared(claim)),
            (None, None) => {
                let hidden = said.hidden.iter().find(|known| (known.what, known.of) == declared);
                let hidden = hidden.map(|known| HiddenSetting { of, ..known.clone() });
                said.hidden.extend(hidden);
            }
            (Some(by), _) => said.hidden.push(HiddenSetting { what, of, by }),
        }
    }

    /// Drops what is claimed of TensorRT-LLM's blocks where the GPU decides. What follows the engine does too.
    fn depend_on_gpu(
        &self,
        said: &mut Said,
        otherwise: &mut Vec<Claim>,
        overridden: &mut Vec<(ClaimWhat, ClaimOf)>,
    ) {
        let model = self.command.flag(&[flag::MODEL_PATH]).value();
        let same = ClaimValue::Count(engine::LATENT_BLOCK_SIZE);
        if !model.is_some_and(engine::has_latent_attention) {
            return;
        }
        let follows = self.follows_engine();
        let depends = |claim: &Claim| {
            let engine = claim.of == ClaimOf::Engine || follows && claim.of != ClaimOf::Declared;
            claim.what == ClaimWhat::BlockSize && engine && claim.value != same
        };
        let unsure: Vec<ClaimOf> =
            said.claims.iter().filter(|it| depends(it)).map(|claim| claim.of).collect();
        said.claims.retain(|claim| !depends(claim));
        otherwise.retain(|claim| !depends(claim));
        // The GPU overrides a file of the engine as well.
        overridden.push((ClaimWhat::BlockSize, ClaimOf::Engine));
        said.hidden.extend(unsure.into_iter().map(|of| HiddenSetting {
            what: ClaimWhat::BlockSize,
            of,
            by: "the GPU (on Hopper this model's blocks have 64 tokens)".into(),
        }));
    }

    /// The engine's settings may be anything.
    fn hide_engine(&self, by: &Arc<str>, hidden: &mut Vec<HiddenSetting>) {
        for what in engine_config::keys() {
            hidden.push(HiddenSetting { what, of: ClaimOf::Engine, by: Arc::clone(by) });
        }
        if self.follows_engine() {
            for of in [ClaimOf::Publisher, ClaimOf::Card] {
                hidden.push(HiddenSetting { what: ClaimWhat::BlockSize, of, by: Arc::clone(by) });
            }
        }
    }

    /// A file of the image is never read.
    fn hide_in_image(&self, what: ClaimWhat, of: ClaimOf, hidden: &mut Vec<HiddenSetting>) {
        if let EngineConfig::File { path, source: ConfigSource::Image } = self.config {
            hidden.push(HiddenSetting { what, of, by: Arc::clone(path) });
        }
    }

    /// Returns true for engines whose file holds what flags may set.
    fn config_is_flags(&self) -> bool {
        matches!(self.backend, Some(Backend::Vllm | Backend::SgLang | Backend::Mocker))
    }

    /// Returns true when TensorRT-LLM's publisher and card use the engine's block size.
    fn follows_engine(&self) -> bool {
        self.version.is_some_and(|version| version >= release::TRTLLM_SIZE_FROM_ENGINE)
    }

    /// Returns what a frontend declares as what its router hashes with. A default is in effect there.
    fn router_of_declared(&self, declared: &Claim) -> Claim {
        let unset = declared.basis == Basis::Default;
        Claim {
            of: ClaimOf::Router,
            basis: if unset { self.basis } else { declared.basis },
            source: if unset {
                format!("{}, default with a chat processor", self.place).into()
            } else {
                Arc::clone(&declared.source)
            },
            ..declared.clone()
        }
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
            set_by: None,
            medium: Medium::Settings,
        })
    }

    /// The engine's size is in its own configuration, and has a default.
    fn trtllm_block_sizes(&self, said: &mut Said, otherwise: &mut Vec<Claim>) {
        let followers: &[ClaimOf] =
            if self.follows_engine() { &[ClaimOf::Publisher, ClaimOf::Card] } else { &[] };
        let is_size =
            |claim: &&Claim| (claim.what, claim.of) == (ClaimWhat::BlockSize, ClaimOf::Engine);
        if let Some(claim) = said.claims.iter().find(is_size).cloned() {
            let follow = followers.iter().map(|of| Claim { of: *of, ..claim.clone() });
            return said.claims.extend(follow);
        }
        let all = [ClaimOf::Engine].iter().chain(followers);
        match self.config {
            EngineConfig::None | EngineConfig::Written { .. } => {
                said.claims.extend(all.map(|of| default_block_size(*of, &self.subject)));
            }
            EngineConfig::File { path, source } => {
                let source = match source {
                    ConfigSource::ConfigMap { name, key } => format!("ConfigMap {name}, {key}"),
                    ConfigSource::Image => path.to_string(),
                };
                let source: Arc<str> = source.into();
                otherwise.extend(all.map(|of| Claim {
                    source: Arc::clone(&source),
                    raw: raw(&format!(
                        "not set: {}, TensorRT-LLM's default holds",
                        engine::TRTLLM_BLOCK_SIZE
                    )),
                    ..default_block_size(*of, &self.subject)
                }));
                for of in [ClaimOf::Engine].iter().chain(followers) {
                    self.hide_in_image(ClaimWhat::BlockSize, *of, &mut said.hidden);
                }
            }
            EngineConfig::Hidden(by) => {
                said.hidden.extend(all.map(|of| HiddenSetting {
                    what: ClaimWhat::BlockSize,
                    of: *of,
                    by: Arc::clone(by),
                }));
            }
        }
    }

    fn overrides(&self) -> Overrides {
        if self.backend != Some(Backend::TrtLlm) {
            return Overrides::Known(Vec::new());
        }
        let reading = self.command.flag(&[flag::OVERRIDE_ENGINE_ARGS]);
        let reading =
            reading.or(|| self.command.variable(&[variable::TRTLLM_OVERRIDE_ENGINE_ARGS]));
        match reading {
            Reading::Set(found) => {
                let read = found.value.and_then(engine_config::from_json).unwrap_or_default();
                let named = read.into_iter().map(|setting| (setting, flag::OVERRIDE_ENGINE_ARGS));
                Overrides::Known(named.collect())
            }
            Reading::Unset => self.keys(),
            Reading::Hidden(by) => Overrides::Hidden(by),
        }
    }

    /// Returns what flags set that are named after keys of the engine's configuration.
    fn keys(&self) -> Overrides {
        let mut known = Vec::new();
        for key in engine::TRTLLM_KEYS {
            match self.command.flag(&[key.flag]) {
                Reading::Set(found) => {
                    let set = found.value.and_then(|value| engine_config::from_flag(key, value));
                    known.extend(set.map(|setting| (setting, key.flag)));
                }
                Reading::Unset => {}
                Reading::Hidden(by) => return Overrides::Hidden(by),
            }
        }
        Overrides::Known(known)
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
            set_by: Some(SetBy::Flag(name.into())),
            medium: Medium::Settings,
        }
    }

    fn claim(&self, row: &Row, of: ClaimOf, found: &Found<'_>) -> Option<Claim> {
        let off = row.off.iter().any(|name| found.name.replace('_', "-") == **name);
        let given = found.value.filter(|_| found.is_for(row));
        let by_variable = found.form == Form::Variable && row.kind == Kind::Switch;
        let value = given.filter(|_| by_variable).and_then(|text| self.of_variable(text));
        let value = value.or_else(|| row.kind.read(given, off));
        let value = value.or_else(|| row.kind.given_as_text(given))?;
        let name = Arc::from(found.name.as_str());
        let set_by = match found.form {
            Form::Variable => {
                let key =
                    found.lender.map(|it| (it.config_map.as_ref().into(), it.key.as_ref().into()));
                SetBy::Variable { name, from: key }
            }
            Form::Flag | Form::Joined => SetBy::Flag(name),
        };
        Some(Claim {
            what: row.what,
            of,
            subject: self.subject.clone(),
            model: None,
            value,
            basis: self.basis,
            source: format!("{}, {set_by}", self.place).into(),
            raw: raw(&found.text(row)),
            set_by: Some(set_by),
            medium: Medium::Settings,
        })
    }

    /// Reads the value of a switch that is a variable, where it means another thing than the word alone. An empty one is
    /// false. 0.9 knows the word true only (ai-dynamo 0.9.0, `frontend/main.py:158`), later releases also 1, yes and on
    /// (1.0.2, `common/configuration/utils.py:45`).
    fn of_variable(&self, text: &str) -> Option<ClaimValue> {
        let word = text.trim().to_ascii_lowercase();
        let old = self.version.is_some_and(|version| version < release::SWITCHES_HAVE_WORDS);
        let is_false = word.is_empty() || (old && ["1", "yes", "on"].contains(&word.as_str()));
        is_false.then_some(ClaimValue::Flag(false))
    }

    /// Flags win over variables.
    fn reading(&self, row: &Row) -> Reading<'_> {
        // Plugins of gateways have none of Dynamo's flags.
        if self.role == Role::GatewayPlugin {
            return self.variable(row);
        }
        self.flag(row).or(|| self.variable(row))
    }

    /// The last flag wins, but a model's served name comes before its path.
    fn flag(&self, row: &Row) -> Reading<'_> {
        if row.what == ClaimWhat::Model {
            let flags = row.flags.iter().map(|name| self.command.flag(&[name.text]));
            return flags.fold(Reading::Unset, |known, next| known.or(|| next));
        }
        self.command.flag(&row.all_flags().collect::<Vec<_>>())
    }

    /// A name that this release does not read sets nothing.
    fn variable(&self, row: &Row) -> Reading<'_> {
        let read = row.variables.iter().filter(|name| name.may_be_read(self.version));
        self.command.variable(&read.map(|name| name.text).collect::<Vec<_>>())
    }

    /// Returns what holds where nothing is set.
    fn default_claim(&self, row: &Row, of: ClaimOf) -> Option<Claim> {
        let env = self.command.env();
        let value = row.default_in(self.version)?;
        let who = match self.version {
            Some(version) => format!("default of Dynamo {version}"),
            None => "default of Dynamo".to_owned(),
        };
        let names: Vec<&str> =
            row.flags.iter().chain(row.variables).map(|name| name.text).collect();
        // Secrets hold tokens as a rule, but may hold settings.
        let unless = match env.secrets() {
            secrets if secrets.is_empty() || row.variables.is_empty() => String::new(),
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
            set_by: None,
            medium: Medium::Settings,
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
        value: ClaimValue::Count(engine::TRTLLM_DEFAULT_BLOCK_SIZE),
        basis: Basis::Default,
        source: "default of TensorRT-LLM".into(),
        raw: raw(&format!("not set: {}", engine::TRTLLM_BLOCK_SIZE)),
        set_by: None,
        medium: Medium::Settings,
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

/// The parsers of settings.
trait Read {
    fn given_as_text(self, value: Option<&str>) -> Option<ClaimValue>;

    fn read(self, value: Option<&str>, off: bool) -> Option<ClaimValue>;
}

impl Read for Kind {
    /// Returns the text that stands where a number or a switch should: nobody reads it as one, and it is no
    /// default either.
    fn given_as_text(self, value: Option<&str>) -> Option<ClaimValue> {
        match self {
            // An empty number is none either.
            Self::Count if value.is_some_and(|text| text.trim().is_empty()) => {
                Some(ClaimValue::Text("".into()))
            }
            Self::Count | Self::Decimal | Self::Switch => Self::Text.read(value, false),
            Self::EventsConfig | Self::EventsSwitch => {
                let broken = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_err();
                Self::Text.read(value.filter(|text| broken(text)), false)
            }
            Self::Text | Self::EventsEndpoint => None,
        }
    }

    /// Reads a value. `off` is true for the flag that denies.
    fn read(self, value: Option<&str>, off: bool) -> Option<ClaimValue> {
        let given = value;
        let value = value.map(str::trim);
        match self {
            Self::Count => value?.parse().ok().map(ClaimValue::Count),
            Self::Decimal => value?.parse().ok().and_then(millionths),
            // Dynamo compares words as they are, with the spaces around them.
            Self::Text => {
                let given = given.filter(|text| !text.trim().is_empty());
                given.map(|text| ClaimValue::Text(shared(text)))
            }
            Self::Switch => match value.map(str::to_ascii_lowercase).as_deref() {
                None => Some(ClaimValue::Flag(!off)),
                Some("true" | "1" | "yes" | "on") => Some(ClaimValue::Flag(true)),
                Some("false" | "0" | "no" | "off") => Some(ClaimValue::Flag(false)),
                Some(_) => None,
            },
            // `--kv-events-config '{"publisher": "zmq"}'`
            Self::EventsConfig => {
                let config: Value = serde_json::from_str(value?).ok()?;
                let publisher = config.get("publisher").and_then(Value::as_str);
                Some(ClaimValue::Flag(publisher.is_some_and(|name| name != engine::NO_PUBLISHER)))
            }
            Self::EventsSwitch => {
                let config: Value = serde_json::from_str(value?).ok()?;
                let enabled = config.get(engine::ENABLE_EVENTS).and_then(Value::as_bool);
                let sends =
                    config.get("publisher").and_then(Value::as_str) != Some(engine::NO_PUBLISHER);
                Some(ClaimValue::Flag(enabled.unwrap_or(false) && sends))
            }
            Self::EventsEndpoint => {
                let config: Value = serde_json::from_str(value?).ok()?;
                let endpoint = config.get("endpoint").and_then(Value::as_str)?;
                Some(ClaimValue::Text(shared(endpoint)))
            }
        }
    }
}

/// Returns what flags in the configuration file of an engine set: names, values and how they stand there.
pub(super) fn flag_settings(
    engine: Backend,
    flags: &[(String, Option<String>, Arc<str>)],
) -> Vec<Setting> {
    let rows = settings::rows(Role::Worker, Some(engine)).into_iter().flatten();
    let mut settings = Vec::new();
    for row in rows {
        // A model's served name comes before its path.
        let mut found =
            row.all_flags().filter_map(|name| flags.iter().find(|(flag, ..)| flag == name));
        let Some((flag, value, raw)) = found.next() else { continue };
        let off = row.off.contains(&flag.as_str());
        let Some(value) = row.kind.read(value.as_deref(), off) else { continue };
        settings.extend(row.of.iter().map(|of| Setting {
            engine,
            what: row.what,
            of: *of,
            value: value.clone(),
            raw: Arc::clone(raw),
        }));
    }
    settings
}

/// Returns what a process does, by what it runs, by its labels and by its flags.
pub(super) fn role_of(command: &Command, kind: &str, sub_kind: &str) -> Role {
    let by_module = match command.module {
        Some(Module::Frontend) => Some(Role::Frontend),
        Some(Module::Router) => Some(Role::StandaloneRouter),
        Some(Module::Planner) => Some(Role::Planner),
        Some(Module::Engine(_)) => Some(Role::Worker),
        Some(Module::Generator) => Some(Role::Diffusion),
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

/// Returns whether a worker serves whole requests or a part of them. Engines follow their flags and variables, whatever
/// the component is called (0.9.0 `vllm/args.py`, `trtllm/utils/trtllm_utils.py`; 1.6.1 `vllm/backend_args.py:109`,
/// `sglang/args.py`).
fn part_of_worker(command: &Command, kind: &str, sub_kind: &str) -> Role {
    if let Some(role) = switched(command) {
        return role;
    }
    let variables = [variable::TRTLLM_DISAGGREGATION_MODE, variable::VLLM_DISAGGREGATION_MODE];
    let reading = command.flag(&[flag::DISAGGREGATION_MODE]);
    let reading = reading.or(|| command.variable(&variables));
    let unsaid = matches!(command.module, Some(Module::Engine(_))) && reading == Reading::Unset;
    let mode = reading.value();
    let has = |name| command.flag(&[name]).is_set();
    let is_called = |name| [kind, sub_kind].contains(&name);
    if mode == Some(part::ENCODE) {
        Role::Encode
    } else if has(flag::IS_PREFILL_WORKER) || is_called("prefill") || mode == Some("prefill") {
        Role::Prefill
    } else if has(flag::IS_DECODE_WORKER)
        || mode == Some("decode")
        || (is_called("decode") && !unsaid)
    {
        Role::Decode
    } else {
        Role::Worker
    }
}

/// Returns the role of a worker whose flags or variables give it a part of its own.
fn switched(command: &Command) -> Option<Role> {
    let Some(Module::Engine(backend)) = command.module else { return None };
    let switches = part::PART_SWITCHES.iter().filter(|switch| switch.backend == backend);
    let on = |switch: &&part::PartSwitch| {
        let off = format!("--no-{}", switch.flag.trim_start_matches('-'));
        match command.flag(&[switch.flag, &off]) {
            Reading::Set(found) => !found.name.replace('_', "-").starts_with("--no-"),
            Reading::Unset => {
                let set = switch.variable.and_then(|name| command.variable(&[name]).value());
                set.and_then(|value| Kind::Switch.read(Some(value), false))
                    == Some(ClaimValue::Flag(true))
            }
            Reading::Hidden(_) => false,
        }
    };
    let chosen = switches.filter(on).map(|switch| switch.role).next();
    chosen.or_else(|| {
        let modality = command.flag(&[flag::MODALITY]);
        let modality = modality.or(|| command.variable(&[variable::TRTLLM_MODALITY]));
        let generates = modality.value().is_some_and(|kind| kind.ends_with(part::DIFFUSION));
        (backend == Backend::TrtLlm && generates).then_some(Role::Diffusion)
    })
}
