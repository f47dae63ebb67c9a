//! Names of settings by Dynamo version: a fix must use the name that the deployment reads.
//!
//! From `frontend/main.py` of ai-dynamo 0.9.0, `frontend/frontend_args.py` of 1.0.0,
//! `common/configuration/groups/kv_router_args.py` of 1.6.1, and `backend_args.py` of each engine.

use std::sync::Arc;

use super::evidence::Evidence;
use super::fix::{Change, Part};
use crate::domain::{Backend, Release};

/// The names of one setting, each with the first version that reads it, the oldest first.
pub(super) type Names = [((u32, u32), &'static str)];

/// The values that `--router-mode` takes, of all versions (0.9.0 has the first three, `frontend/main.py`; 1.6.1
/// all, `common/configuration/groups/router_args.py`). Capitals are not the same.
pub const ROUTER_MODES: [&str; 7] = [
    "round-robin",
    "random",
    "kv",
    "direct",
    "power-of-two",
    "least-loaded",
    "device-aware-weighted",
];

/// Weight of the overlap; from 1.2 its credit.
pub(super) const OVERLAP: &Names = &[
    ((0, 9), "DYN_KV_OVERLAP_SCORE_WEIGHT"),
    ((1, 0), "DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT"),
    ((1, 2), "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT"),
];

/// The flags of the same, of every version.
pub(super) const OVERLAP_FLAGS: &[&str] = &[
    "--kv-overlap-score-weight",
    "--router-kv-overlap-score-weight",
    "--router-kv-overlap-score-credit",
];

/// Whether the router follows KV events.
pub(super) const KV_EVENTS: &Names =
    &[((0, 9), "DYN_KV_EVENTS"), ((1, 0), "DYN_ROUTER_USE_KV_EVENTS")];

/// Seconds for which a router without KV events assumes that a block stays cached.
pub(super) const TTL: &Names = &[((0, 9), "DYN_ROUTER_TTL"), ((1, 0), "DYN_ROUTER_TTL_SECS")];

/// Whether routers share their load; 0.9 has only a flag.
pub(super) const REPLICA_SYNC: &Names =
    &[((0, 9), "--router-replica-sync"), ((1, 0), "DYN_ROUTER_REPLICA_SYNC=true")];

/// The block size of `dynamo.router`; 0.9 has only a flag.
pub(super) const ROUTER_SIZE: &Names = &[((0, 9), "--block-size"), ((1, 0), "--router-block-size")];

/// Whether a TensorRT-LLM worker publishes KV events.
const TRTLLM_PUBLISHES: &Names =
    &[((0, 9), "--publish-events-and-metrics"), ((1, 3), "--publish-kv-events")];

/// From this release on a router rebuilds its index from the workers.
const FIRST_OF_WORKERS: Release = Release::new(1, 0);

impl Evidence {
    /// Returns the name of a setting in the version in use; none while several names are possible.
    pub(super) fn knob(&self, names: &Names) -> Option<&'static str> {
        let read = |release: Release| {
            let mut newest_first = names.iter().rev();
            let read =
                newest_first.find(|((major, minor), _)| Release::new(*major, *minor) <= release);
            read.or(names.first()).map(|(_, name)| *name)
        };
        let oldest = self.releases.least.map_or(names.first().map(|(_, name)| *name), read);
        let newest = self.releases.most.map_or(names.last().map(|(_, name)| *name), read);
        oldest.filter(|name| newest == Some(*name))
    }

    /// Returns the name of a setting in the version in use, or all possible names with their versions.
    pub(super) fn knob_text(&self, names: &Names, value: &str) -> String {
        let set = |name: &str| format!("{name}{value}");
        if let Some(name) = self.knob(names) {
            return set(name);
        }
        let mut newest_first = names.iter().rev();
        let Some((first, newest)) = newest_first.next() else { return String::new() };
        let older: Vec<String> = newest_first
            .map(|((major, minor), name)| format!("from {major}.{minor}: {}", set(name)))
            .collect();
        if older.is_empty() {
            return set(newest);
        }
        let (major, minor) = first;
        format!("{} (from Dynamo {major}.{minor}; {})", set(newest), older.join(", "))
    }

    /// Returns the change of a frontend setting, if the name of its variable is known.
    pub(super) fn set_on_frontend(
        &self,
        names: &Names,
        flags: &'static [&'static str],
        value: &str,
    ) -> Option<Change> {
        let variable = Some(self.knob(names)?.to_owned());
        Some(Change::Set { on: Part::Frontend, variable, flags, value: value.to_owned() })
    }

    /// Returns true for versions whose frontend loses its index at a restart: up to 0.9, unless workers keep
    /// their own index.
    pub(super) fn forgets(&self) -> bool {
        self.releases.least.is_none_or(|least| least < FIRST_OF_WORKERS)
    }

    /// Returns the restarts after a change of a frontend setting.
    pub(super) fn frontend_restarts(&self) -> String {
        if self.releases.most.is_some_and(|most| most < FIRST_OF_WORKERS) {
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
        let trtllm = || self.knob_text(TRTLLM_PUBLISHES, "");
        let vllm = "--kv-events-config '{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\",\
                    \"topic\":\"kv-events\",\"endpoint\":\"tcp://*:5557\"}'";
        let sglang = "--kv-events-config '{\"publisher\":\"zmq\",\"topic\":\"kv-events\",\
                      \"endpoint\":\"tcp://*:5557\"}'";
        match self.backend() {
            Some(Backend::TrtLlm) => trtllm(),
            Some(Backend::Vllm) => vllm.to_owned(),
            Some(Backend::SgLang) => sglang.to_owned(),
            Some(Backend::Mocker) | None => format!(
                "{} (TensorRT-LLM) or --kv-events-config with enable_kv_cache_events (vLLM and SGLang)",
                trtllm()
            ),
        }
    }

    /// Returns the change that makes workers publish KV events, if all use one engine.
    pub(super) fn publish(&self, on: Part) -> Option<Change> {
        let json = |enable: &str| {
            format!(
                "{{{enable}\"publisher\":\"zmq\",\"topic\":\"kv-events\",\"endpoint\":\"tcp://*:5557\"}}"
            )
        };
        let value = match self.backend()? {
            Backend::TrtLlm => {
                let flags: &[&str] = match self.knob(TRTLLM_PUBLISHES)? {
                    "--publish-kv-events" => {
                        &["--publish-kv-events", "--publish-events-and-metrics"]
                    }
                    _ => &["--publish-events-and-metrics"],
                };
                return Some(Change::Switch { on, flags, present: true });
            }
            Backend::Vllm => json("\"enable_kv_cache_events\":true,"),
            Backend::SgLang => json(""),
            Backend::Mocker => return None,
        };
        Some(Change::Set { on, variable: None, flags: &["--kv-events-config"], value })
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

    /// Returns the engine's name for the limit of concurrent sequences.
    pub(super) fn sequences_flag(&self) -> &'static str {
        match self.backend() {
            Some(Backend::TrtLlm) => "max_batch_size",
            Some(Backend::Vllm | Backend::Mocker) => "--max-num-seqs",
            Some(Backend::SgLang) => "--max-running-requests",
            None => "max_num_seqs (TensorRT-LLM: max_batch_size)",
        }
    }

    /// Returns the instruction that enlarges the engine's event buffer.
    pub(super) fn buffer_advice(&self) -> &'static str {
        let trtllm = match self.releases.single() {
            Some(release) if release < Release::new(1, 2) => {
                "Upgrade to Dynamo 1.3 (up to 1.1 the engine's event buffer is fixed at 1024 events)"
            }
            Some(release) if release == Release::new(1, 2) => {
                "Raise kv_cache_config.event_buffer_max_size to 65536 in --override-engine-args"
            }
            Some(_) => "Raise kv_cache_config.event_buffer_max_size above its default of 100000",
            None => {
                "TensorRT-LLM: upgrade to Dynamo 1.3, or from 1.2 on raise \
                 kv_cache_config.event_buffer_max_size. vLLM and SGLang: raise max_queue_size in \
                 --kv-events-config"
            }
        };
        match self.backend() {
            Some(Backend::Vllm | Backend::SgLang) => "Raise max_queue_size in --kv-events-config",
            Some(Backend::TrtLlm | Backend::Mocker) | None => trtllm,
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
            assert_eq!(of(version).knob_text(OVERLAP, "=0.5"), expected);
        }
        assert_eq!(
            of(None).knob_text(KV_EVENTS, "=true"),
            "DYN_ROUTER_USE_KV_EVENTS=true (from Dynamo 1.0; from 0.9: DYN_KV_EVENTS=true)"
        );
        assert_eq!(of(None).knob(KV_EVENTS), None);
        let later = Evidence { releases: Releases::from(1, 0), ..Evidence::default() };
        assert_eq!(later.knob(KV_EVENTS), Some("DYN_ROUTER_USE_KV_EVENTS"));
        assert_eq!(later.knob(OVERLAP), None);
    }
}
