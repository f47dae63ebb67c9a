//! A fix, worked out against the objects that it is about: what is to be changed where, and what is changed
//! already.

use std::sync::Arc;

use serde_json::Value;

use super::component::{self, Step};
use super::objects::{FileState, Objects, PodState};
use super::patch::{Operation, pointer};
use super::text::{self, Format};
use super::{Change, Part};
use crate::domain::{Component, ConfigSource, Graph, GraphApi};
use crate::dynamo::{engine, flag, variable};

/// The flag of Dynamo's TensorRT-LLM workers whose engine settings win over the file (0.9.0,
/// `trtllm/main.py`; the variable from 1.0.0 on, `trtllm/backend_args.py`).
const OVERRIDE: (&str, &[&str]) =
    (variable::TRTLLM_OVERRIDE_ENGINE_ARGS, &[flag::OVERRIDE_ENGINE_ARGS]);

/// Tokens in a block of TensorRT-LLM.
pub(super) const ENGINE_SIZE: &str = "kv_cache_config.tokens_per_block";

/// The switch of TensorRT-LLM's prefix caching.
pub(super) const ENGINE_REUSE: &str = "kv_cache_config.enable_block_reuse";

/// An object that is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The graph deployment.
    Graph {
        /// The list in it, as people write it.
        place: String,
    },
    /// A file in a `ConfigMap`.
    ConfigMap {
        /// The `ConfigMap`.
        name: Arc<str>,
        /// Its key.
        key: Arc<str>,
    },
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The object.
    pub object: Changed,
    /// The components whose processes read it.
    pub components: Vec<Arc<str>>,
    /// The setting, as it is written there.
    pub setting: String,
    /// The flag in whose JSON the setting stands.
    pub inside: Option<String>,
    /// Its value until then.
    pub was: Option<String>,
    /// Its new value; none for a flag that is taken away.
    pub value: Option<String>,
    /// True when the object holds it already.
    pub in_place: bool,
    /// The template that pods are compared with.
    pub(super) change: Change,
    pub(super) step: Step,
}

/// Everything that a fix changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The changes, in their order.
    pub edits: Vec<Edit>,
    /// True when each of them can be made safely.
    pub complete: bool,
}

impl Plan {
    /// Returns true when there is nothing left to change.
    pub fn is_applied(&self) -> bool {
        !self.edits.is_empty() && self.edits.iter().all(|edit| edit.in_place)
    }

    /// Returns the changes that are not made yet.
    pub fn open(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().filter(|edit| !edit.in_place)
    }
}

impl Edit {
    /// Returns the tokens per block that engines get by it, where it is about that.
    pub(super) fn engine_size(&self) -> Option<u32> {
        match &self.change {
            Change::Engine { path, value, .. } if *path == ENGINE_SIZE => value.parse().ok(),
            // One flag sets engine and publisher.
            Change::Set { flags: [flag::BLOCK_SIZE | flag::PAGE_SIZE], value, .. } => {
                value.parse().ok()
            }
            _ => None,
        }
    }

    /// Returns true when `pod` reads what is changed.
    pub(super) fn concerns(&self, pod: &PodState) -> bool {
        pod.component.as_ref().is_some_and(|name| self.components.contains(name))
    }

    /// Returns true when a pod was started with the value, by its own manifest; none where its manifest does
    /// not say.
    pub(super) fn runs_in(&self, pod: &PodState) -> Option<bool> {
        match (&self.object, &self.change) {
            (Changed::ConfigMap { .. }, _) | (_, Change::Roll { .. }) => None,
            (_, Change::Set { variable, flags, value, .. }) => {
                Some(component::value(&pod.manifest, variable.as_deref(), flags) == Some(value))
            }
            (_, Change::Switch { flags, present, .. }) => {
                Some(component::has_flag(&pod.manifest, flags) == *present)
            }
            (_, Change::Engine { path, value, .. }) => {
                let flags = key_flags(path);
                if component::has_flag(&pod.manifest, &flags) {
                    return Some(component::flag_value(&pod.manifest, &flags) == Some(value));
                }
                let json = component::value(&pod.manifest, Some(OVERRIDE.0), OVERRIDE.1);
                let found = json.and_then(|json| text::value_at(json, path, Format::Json));
                Some(found.is_some_and(|found| is(&found, value)))
            }
        }
    }
}

/// The objects that a plan works on, with all earlier changes applied.
struct Draft<'a> {
    graph: Option<&'a Graph>,
    components: Vec<Component>,
    files: Vec<FileState>,
    plan: Plan,
}

impl Objects {
    /// Works out `changes`.
    pub fn plan(&self, changes: &[Change]) -> Plan {
        let graph = self.graph.as_ref();
        let mut draft = Draft {
            graph,
            components: graph.map(|graph| graph.components.clone()).unwrap_or_default(),
            files: self.files.clone(),
            plan: Plan { edits: Vec::new(), complete: graph.is_some_and(|it| it.api.is_some()) },
        };
        for change in changes {
            draft.make(change);
        }
        draft.plan
    }
}

impl Draft<'_> {
    fn make(&mut self, change: &Change) {
        let on = match change {
            Change::Set { on, .. } | Change::Switch { on, .. } | Change::Engine { on, .. } => on,
            Change::Roll { .. } => return,
        };
        let mut chosen: Vec<usize> =
            (0..self.components.len()).filter(|at| on.has(&self.components[*at])).collect();
        if *on == Part::OddWorkers {
            self.keep_odd(&mut chosen, change);
        }
        for at in chosen {
            let made = match change {
                Change::Engine { path, value, .. } => self.engine(at, change, path, value),
                _ => self.setting(at, change),
            };
            match made {
                Some(edit) => self.add(edit),
                None => self.plan.complete = false,
            }
        }
    }

    /// Components that read one file are changed by one edit.
    fn add(&mut self, edit: Edit) {
        let file = matches!(edit.object, Changed::ConfigMap { .. });
        let same = |known: &&mut Edit| known.object == edit.object && known.change == edit.change;
        match self.plan.edits.iter_mut().find(same).filter(|_| file) {
            Some(known) => known.components.extend(edit.components),
            None => self.plan.edits.push(edit),
        }
    }

    /// Leaves those that give the setting another value, or where none gives it one, all.
    fn keep_odd(&self, chosen: &mut Vec<usize>, change: &Change) {
        let Change::Set { flags, value, .. } = change else { return };
        let given = |at: &usize| component::flag_value(&self.components[*at].manifest, flags);
        chosen.retain(|at| given(at) != Some(value));
        if chosen.iter().any(|at| given(at).is_some()) {
            chosen.retain(|at| given(at).is_some());
        }
    }

    fn guarded(&self) -> bool {
        self.graph.is_some_and(|graph| graph.generation.is_some())
    }

    fn edit(&self, at: usize, change: &Change, step: Step, in_place: bool) -> Edit {
        let component = &self.components[at];
        let place = self.place(component, &step.path);
        let value = match change {
            Change::Set { value, .. } | Change::Engine { value, .. } => Some(value.clone()),
            Change::Switch { present: true, .. } => Some(String::new()),
            Change::Switch { .. } | Change::Roll { .. } => None,
        };
        Edit {
            object: Changed::Graph { place },
            components: vec![Arc::clone(&component.name)],
            setting: step.name.clone(),
            inside: None,
            was: step.was.clone(),
            value,
            in_place,
            change: change.clone(),
            step,
        }
    }

    /// A flag or a variable of a component.
    fn setting(&mut self, at: usize, change: &Change) -> Option<Edit> {
        let guarded = self.guarded();
        let component = &mut self.components[at];
        let manifest = &mut component.manifest;
        let (step, in_place) = match change {
            Change::Set { variable, flags, value, .. } => {
                let variable = variable.as_deref();
                if component::value(manifest, variable, flags) == Some(value) {
                    let flag = flags.iter().find(|flag| component::has_flag(manifest, &[**flag]));
                    let name = flag.copied().or(variable).unwrap_or_default().to_owned();
                    (Step { name, was: Some(value.clone()), ..Step::default() }, true)
                } else {
                    (component::set(manifest, variable, flags, value, guarded)?, false)
                }
            }
            Change::Switch { flags, present, .. } => {
                if component::is_known(manifest) && component::has_flag(manifest, flags) == *present
                {
                    let name = flags.first().copied().unwrap_or_default().to_owned();
                    (Step { name, ..Step::default() }, true)
                } else {
                    (component::switch(manifest, flags, *present, guarded)?, false)
                }
            }
            Change::Engine { .. } | Change::Roll { .. } => return None,
        };
        let step = self.named(at, step);
        Some(self.edit(at, change, step, in_place))
    }

    /// A setting of the engine: where it is set, or else in the file, or else among what wins over it.
    fn engine(&mut self, at: usize, change: &Change, path: &str, value: &str) -> Option<Edit> {
        if names_keys(&self.components[at].manifest) {
            return self.engine_flag(at, change, path, value);
        }
        let component = &self.components[at];
        let json = component::value(&component.manifest, Some(OVERRIDE.0), OVERRIDE.1);
        let now = json.and_then(|json| text::value_at(json, path, Format::Json));
        let last = path.rsplit('.').next().unwrap_or(path).to_owned();
        let file = component.engine_file.as_ref().map(|file| file.source.clone());
        match (now, json.is_some(), file) {
            (Some(now), ..) if is(&now, value) => {
                let flag = OVERRIDE.1.first().copied().map(str::to_owned);
                let step = Step { was: Some(value.to_owned()), ..Step::default() };
                let edit = self.edit(at, change, step, true);
                return Some(Edit { setting: last, inside: flag, ..edit });
            }
            (None, _, Some(ConfigSource::ConfigMap { name, key })) => {
                let mut edit = self.file(at, change, &name, &key, (path, value))?;
                edit.setting = last;
                return Some(edit);
            }
            // A file that nobody sees may set more of the same map.
            (None, _, Some(ConfigSource::Image)) => return None,
            _ => {}
        }
        let guarded = self.guarded();
        let manifest = &mut self.components[at].manifest;
        let step = if json_given(manifest) {
            component::set_inside(manifest, OVERRIDE, path, value, guarded)?
        } else {
            let json = text::set("{}", path, value, Format::Json)?.text;
            component::set(manifest, None, OVERRIDE.1, &json, guarded)?
        };
        let step = self.named(at, step);
        let edit = self.edit(at, change, step, false);
        Some(Edit { inside: Some(edit.setting.clone()), setting: last, ..edit })
    }

    /// A setting of the engine by the flag of its key, as the component has others: these and the JSON exclude each
    /// other.
    fn engine_flag(&mut self, at: usize, change: &Change, path: &str, value: &str) -> Option<Edit> {
        let flags = key_flags(path);
        let guarded = self.guarded();
        let manifest = &mut self.components[at].manifest;
        let was = component::flag_value(manifest, &flags).map(str::to_owned);
        let (step, in_place) = if was.as_deref() == Some(value) {
            let name = flags.first().copied().unwrap_or_default().to_owned();
            (Step { was, name, ..Step::default() }, true)
        } else {
            (component::set(manifest, None, &flags, value, guarded)?, false)
        };
        let step = self.named(at, step);
        Some(self.edit(at, change, step, in_place))
    }

    /// A setting in a file of a `ConfigMap`.
    fn file(
        &mut self,
        at: usize,
        change: &Change,
        name: &Arc<str>,
        key: &Arc<str>,
        (path, value): (&str, &str),
    ) -> Option<Edit> {
        let component = Arc::clone(&self.components[at].name);
        let json = key.rsplit('.').next() == Some("json");
        let format = if json { Format::Json } else { Format::Yaml };
        let mut files = self.files.iter_mut();
        let file = files.find(|file| (&file.config_map, &file.key) == (name, key))?;
        let old = file.text.clone()?;
        let known = self.plan.edits.iter().find(|edit| {
            edit.object == Changed::ConfigMap { name: Arc::clone(name), key: Arc::clone(key) }
                && edit.change == *change
        });
        if let Some(known) = known {
            return Some(Edit { components: vec![component], ..known.clone() });
        }
        let edited = text::set(&old, path, value, format)?;
        let in_place = edited.text == *old;
        let at = format!("/data/{}", pointer(key));
        let operations = vec![
            Operation::test(at.clone(), old.to_string()),
            Operation::replace(at, edited.text.clone()),
        ];
        file.text = Some(edited.text.into());
        let step = Step {
            operations: if in_place { Vec::new() } else { operations },
            says: "replace these lines; leave the others",
            lines: edited.block,
            was: edited.was.clone(),
            ..Step::default()
        };
        Some(Edit {
            object: Changed::ConfigMap { name: Arc::clone(name), key: Arc::clone(key) },
            components: vec![component],
            setting: String::new(),
            inside: None,
            was: edited.was,
            value: Some(value.to_owned()),
            in_place,
            change: change.clone(),
            step,
        })
    }

    /// Puts the test of a component's name before what counts components.
    fn named(&self, at: usize, mut step: Step) -> Step {
        let component = &self.components[at];
        if let Some(place) = component.manifest.place.filter(|_| !step.operations.is_empty()) {
            let path = format!("/spec/components/{place}/name");
            step.operations.insert(0, Operation::test(path, component.name.as_ref()));
        }
        step
    }

    /// Returns a JSON pointer as people write it.
    fn place(&self, component: &Component, path: &str) -> String {
        let beta = self.graph.and_then(|graph| graph.api) == Some(GraphApi::V1Beta1);
        let mut text = String::new();
        let mut before = "";
        for part in path.split('/').skip(1) {
            let number = part.bytes().all(|byte| byte.is_ascii_digit());
            match before {
                "components" if number && beta => {
                    text.extend(["[name=", &component.name, "]"]);
                }
                "containers" if number && beta => text.push_str("[name=main]"),
                _ => {
                    text.push_str(if text.is_empty() { "" } else { "." });
                    text.push_str(&part.replace("~1", "/").replace("~0", "~"));
                }
            }
            before = part;
        }
        text
    }
}

/// Returns true for the value that `text` is in JSON.
fn is(value: &Value, text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|wanted| wanted == *value)
}

/// Returns the flag that sets a key of the engine's configuration.
fn key_flags(path: &str) -> Vec<&'static str> {
    engine::flag_of_key(path).into_iter().collect()
}

/// Returns true where flags are named after keys of the engine's configuration.
fn names_keys(manifest: &crate::domain::ManifestPart) -> bool {
    let words = manifest.words.iter().filter_map(|list| list.items.as_ref()).flatten();
    words.chain(&manifest.scripted).any(|word| word.starts_with(engine::TRTLLM_KEY_FLAGS))
}

fn json_given(manifest: &crate::domain::ManifestPart) -> bool {
    component::value(manifest, Some(OVERRIDE.0), OVERRIDE.1).is_some()
}
