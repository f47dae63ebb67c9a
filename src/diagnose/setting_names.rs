//! The settings that fixes change, by the names that the version in use reads.

use std::sync::Arc;

use super::evidence::{Evidence, OfWorker, Setting};
use super::fix::{Change, Part};
use crate::domain::{Backend, ClaimWhat, Release, SetBy};
use crate::dynamo::settings::{self, Knob};
use crate::dynamo::{engine, flag, release};

/// The flags of the overlap's weight and credit, of every version.
const OVERLAP_FLAGS: &[&str] = &[
    flag::KV_OVERLAP_SCORE_WEIGHT,
    flag::ROUTER_KV_OVERLAP_SCORE_WEIGHT,
    flag::ROUTER_KV_OVERLAP_SCORE_CREDIT,
];

impl Evidence {
    /// Returns the name of a setting in the version in use; none while several names are possible.
    pub(super) fn knob(&self, knob: &Knob) -> Option<&'static str> {
        let names = settings::history(knob);
        let read = |release: Release| {
            let read = names.iter().rev().find(|(since, _)| *since <= release);
            read.or(names.first()).map(|(_, name)| *name)
        };
        let oldest = self.releases.least.map_or(names.first().map(|(_, name)| *name), read);
        let newest = self.releases.most.map_or(names.last().map(|(_, name)| *name), read);
        oldest.filter(|name| newest == Some(*name))
    }

    /// Returns the name of a setting in the version in use, or all possible names with their versions, each
    /// with what `set` makes of it.
    pub(super) fn knob_with(&self, knob: &Knob, set: impl Fn(&str) -> String) -> String {
        if let Some(name) = self.knob(knob) {
            return set(name);
        }
        let names = settings::history(knob);
        let Some(((since, newest), older)) = names.split_last() else { return String::new() };
        let older: Vec<String> = older
            .iter()
            .rev()
            .map(|(since, name)| format!("from {since}: {}", set(name)))
            .collect();
        if older.is_empty() {
            return set(newest);
        }
        format!("{} (from Dynamo {since}; {})", set(newest), older.join(", "))
    }

    /// Returns the name of a setting with its value, as [`Evidence::knob_with`] does.
    pub(super) fn knob_text(&self, knob: &Knob, value: &str) -> String {
        self.knob_with(knob, |name| format!("{name}{value}"))
    }

    /// Returns the flag or variable with which routers share their load, with its value.
    pub(super) fn replica_sync(&self) -> String {
        self.knob_with(settings::REPLICA_SYNC, |name| {
            if name == flag::ROUTER_REPLICA_SYNC { name.to_owned() } else { format!("{name}=true") }
        })
    }

    /// Returns the change of a frontend setting, if the name of its variable is known.
    pub(super) fn set_on_frontend(
        &self,
        knob: &Knob,
        flags: &'static [&'static str],
        value: &str,
    ) -> Option<Change> {
        let variable = Some(self.knob(knob)?.to_owned());
        Some(Change::Set { on: Part::Frontend, variable, flags, value: value.to_owned() })
    }

    /// Returns the change of the overlap's weight. From 1.2 on routers read the weight and the credit: the one that
    /// is set is changed, since a correct value beside it would change nothing.
    pub(super) fn set_overlap(&self, value: &str) -> Option<Change> {
        let set = self.settings.overlap_weight.as_ref().and_then(Setting::variable);
        let Some(name) = set else {
            return self.set_on_frontend(settings::OVERLAP, OVERLAP_FLAGS, value);
        };
        let (variable, value) = (Some(name.to_owned()), value.to_owned());
        Some(Change::Set { on: Part::Frontend, variable, flags: OVERLAP_FLAGS, value })
    }

    /// Returns the overlap's weight with its value in words, by the name that [`Evidence::set_overlap`] changes.
    pub(super) fn overlap_text(&self, value: &str) -> String {
        match self.settings.overlap_weight.as_ref().and_then(Setting::variable) {
            Some(name) => format!("{name}={value}"),
            None => self.knob_text(settings::OVERLAP, &format!("={value}")),
        }
    }

    /// Returns the word for the overlap's setting: the weight, or the credit where that is set.
    pub(super) fn overlap_word(&self) -> &'static str {
        let set = self.settings.overlap_weight.as_ref().and_then(|set| set.set_by.as_ref());
        let is_credit = |by: &SetBy| settings::is_of(ClaimWhat::OverlapCredit, by.name());
        if set.is_some_and(is_credit) { "overlap credit" } else { "overlap weight" }
    }

    /// Returns true for versions whose frontend loses its index at a restart: up to 0.9, unless workers keep
    /// their own index.
    pub(super) fn forgets(&self) -> bool {
        self.releases.least.is_none_or(|least| least < release::ROUTERS_ASK_WORKERS)
    }

    /// Returns the restarts after a change of a frontend setting.
    pub(super) fn frontend_restarts(&self) -> String {
        if self.releases.most.is_some_and(|most| most < release::ROUTERS_ASK_WORKERS) {
            return "restart of the frontend; on Dynamo 0.9 its router may lose its history (KVT007)"
                .to_owned();
        }
        if !self.forgets() {
            return "restart of the frontend; its router rebuilds its index from the workers"
                .to_owned();
        }
        "restart of the frontend; up to Dynamo 0.9 its router may lose its history (KVT007)"
            .to_owned()
    }

    /// Returns the flags that make workers publish KV events.
    pub(super) fn publish_flags(&self) -> String {
        let trtllm = || self.knob_text(settings::PUBLISHES, "");
        let config = flag::KV_EVENTS_CONFIG;
        match self.backend() {
            Some(Backend::TrtLlm) => trtllm(),
            Some(backend @ (Backend::Vllm | Backend::SgLang)) => {
                let json =
                    engine::events_config(backend, engine::VLLM_EVENT_PORT).unwrap_or_default();
                format!("{config} '{json}'")
            }
            Some(Backend::Mocker) | None => format!(
                "{} (TensorRT-LLM) or {config} with {} (vLLM and SGLang)",
                trtllm(),
                engine::ENABLE_EVENTS
            ),
        }
    }

    /// Returns the change that makes workers publish KV events, if all use one engine.
    pub(super) fn publish(&self, on: Part) -> Option<Change> {
        let value = match self.backend()? {
            Backend::TrtLlm => {
                let flags: &[&str] = match self.knob(settings::PUBLISHES)? {
                    flag::PUBLISH_KV_EVENTS => {
                        &[flag::PUBLISH_KV_EVENTS, flag::PUBLISH_EVENTS_AND_METRICS]
                    }
                    _ => &[flag::PUBLISH_EVENTS_AND_METRICS],
                };
                return Some(Change::Switch { on, flags, present: true });
            }
            other => engine::events_config(other, engine::VLLM_EVENT_PORT)?,
        };
        Some(Change::Set { on, variable: None, flags: &[flag::KV_EVENTS_CONFIG], value })
    }

    /// Returns the components of these workers' pods; none if one of them is unknown.
    pub(super) fn components<'a>(
        &self,
        pods: impl Iterator<Item = Option<&'a Arc<str>>>,
    ) -> Option<Part> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for pod in pods {
            let name = self.objects.component_of(pod?)?;
            if !names.contains(name) {
                names.push(Arc::clone(name));
            }
        }
        (!names.is_empty()).then_some(Part::These(names))
    }

    /// Returns the components of the workers that these settings are of; none if one of them is unknown.
    pub(super) fn part_of(&self, settings: &[&OfWorker<bool>]) -> Option<Part> {
        let pod = |of: &&OfWorker<bool>| match of.worker {
            Some(worker) => {
                let mut ranks = self.ranks.iter();
                ranks.find(|rank| rank.rank.worker == worker).and_then(|rank| rank.pod.clone())
            }
            None => Some(Arc::clone(&of.who)),
        };
        let pods: Vec<Option<Arc<str>>> = settings.iter().map(pod).collect();
        self.components(pods.iter().map(Option::as_ref))
    }

    /// Returns the engine's name for the limit of concurrent sequences.
    pub(super) fn sequences_flag(&self) -> &'static str {
        match self.backend() {
            Some(backend) => engine::sequences(backend),
            None => "max_num_seqs (TensorRT-LLM: max_batch_size)",
        }
    }

    /// Returns the instruction that enlarges the engine's event buffer.
    pub(super) fn buffer_advice(&self) -> String {
        let (buffer, json) = (engine::TRTLLM_EVENT_BUFFER, flag::OVERRIDE_ENGINE_ARGS);
        let config = flag::KV_EVENTS_CONFIG;
        let trtllm = || {
            let (settable, large) = (release::TRTLLM_BUFFER_SETTABLE, release::TRTLLM_BUFFER_LARGE);
            match self.releases.single() {
                Some(release) if release < settable => format!(
                    "Upgrade to Dynamo {large} (before {settable} the engine's event buffer is fixed at 1024 \
                     events)"
                ),
                Some(release) if release < large => format!("Raise {buffer} to 65536 in {json}"),
                Some(_) => format!("Raise {buffer} above its default of 100000"),
                None => format!(
                    "TensorRT-LLM: upgrade to Dynamo {large}, or from {settable} on raise {buffer}. vLLM and \
                     SGLang: raise max_queue_size in {config}"
                ),
            }
        };
        match self.backend() {
            Some(Backend::Vllm | Backend::SgLang) => format!("Raise max_queue_size in {config}"),
            Some(Backend::TrtLlm | Backend::Mocker) | None => trtllm(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Releases;

    fn of(version: Option<(u32, u32)>) -> Evidence {
        let only = version.map(|(major, minor)| Releases::only(Release::new(major, minor)));
        Evidence { releases: only.unwrap_or_default(), ..Evidence::default() }
    }

    #[test]
    fn a_setting_has_the_name_that_the_version_in_use_reads() {
        let cases = [
            (Some((0, 9)), "DYN_KV_OVERLAP_SCORE_WEIGHT=0.5"),
            (Some((1, 1)), "DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT=0.5"),
            (Some((1, 6)), "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT=0.5"),
        ];
        for (version, expected) in cases {
            assert_eq!(of(version).knob_text(settings::OVERLAP, "=0.5"), expected);
        }
        assert_eq!(
            of(None).knob_text(settings::KV_EVENTS, "=true"),
            "DYN_ROUTER_USE_KV_EVENTS=true (from Dynamo 1.0; from 0.9: DYN_KV_EVENTS=true)"
        );
        assert_eq!(of(None).knob(settings::KV_EVENTS), None);
        let later = Evidence { releases: Releases::from(1, 0), ..Evidence::default() };
        assert_eq!(later.knob(settings::KV_EVENTS), Some("DYN_ROUTER_USE_KV_EVENTS"));
        assert_eq!(later.knob(settings::OVERLAP), None);
    }
}
