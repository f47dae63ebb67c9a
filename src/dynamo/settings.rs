//! The settings of each process, with their names by release and their defaults.
//!
//! ai-dynamo 0.9.0 to 1.6.1: `frontend/`, `router/`, `trtllm/`, `vllm/`, `sglang/`, `mocker/`, their modules of
//! arguments.

mod engines;
mod routers;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::engine::{TRTLLM_REUSE_FLAG, TRTLLM_SIZE_FLAG};
use super::{Default, Name, Setting, engine, flag, release, variable};
use crate::domain::{Backend, ClaimWhat as What, Release, Role};
use engines::{MOCKER, SGLANG, TRTLLM, VLLM, WORKER};
use routers::{EVERYBODY_ROUTER, FRONTEND, GATEWAY, ROUTER, STANDALONE};

const ONE: Default = Default::Millionths(1_000_000);

/// Variables of the overlap's weight.
const OVERLAP_WEIGHT: &[Name] = &[
    Name::before(variable::KV_OVERLAP_SCORE_WEIGHT, 1, 0),
    Name::since(variable::ROUTER_KV_OVERLAP_SCORE_WEIGHT, 1, 0),
    Name::since(variable::OVERLAP_SCORE_WEIGHT, 1, 2).alias(),
];

/// Variables of the overlap's credit.
const OVERLAP_CREDIT: &[Name] = &[Name::since(variable::ROUTER_KV_OVERLAP_SCORE_CREDIT, 1, 2)];

const FOLLOWS_EVENTS: &[Name] =
    &[Name::before(variable::KV_EVENTS, 1, 0), Name::since(variable::ROUTER_USE_KV_EVENTS, 1, 0)];

const TRTLLM_PUBLISHES: &[Name] =
    &[Name::always(flag::PUBLISH_EVENTS_AND_METRICS), Name::since(flag::PUBLISH_KV_EVENTS, 1, 3)];

const STANDALONE_SIZE: &[Name] =
    &[Name::since(flag::ROUTER_BLOCK_SIZE, 1, 0), Name::always(flag::BLOCK_SIZE)];

/// The names of something that fixes set, of all releases.
pub type Knob = [&'static [Name]];

/// The weight of cached blocks against load: from 1.2 on it is the credit.
pub const OVERLAP: &Knob = &[OVERLAP_WEIGHT, OVERLAP_CREDIT];

/// The switch for following KV events in the router.
pub const KV_EVENTS: &Knob = &[FOLLOWS_EVENTS];

/// Seconds for which a router without KV events takes a block for cached.
pub const TTL: &Knob =
    &[&[Name::before(variable::ROUTER_TTL, 1, 0), Name::since(variable::ROUTER_TTL_SECS, 1, 0)]];

/// The switch for sharing load between routers; 0.9 has only a flag.
pub const REPLICA_SYNC: &Knob =
    &[&[Name::always(flag::ROUTER_REPLICA_SYNC), Name::since(variable::ROUTER_REPLICA_SYNC, 1, 0)]];

/// The block size of the standalone router.
pub const ROUTER_SIZE: &Knob = &[STANDALONE_SIZE];

/// The switch for publishing KV events in a TensorRT-LLM worker.
pub const PUBLISHES: &Knob = &[TRTLLM_PUBLISHES];

/// Returns the names of a knob, one a release, oldest first, each with the first release that has it.
pub fn history(knob: &Knob) -> Vec<(Release, &'static str)> {
    let names = knob.iter().flat_map(|names| names.iter()).filter(|name| !name.alias);
    let mut all: Vec<_> =
        names.map(|name| (name.since.unwrap_or(release::OLDEST), name.text)).collect();
    all.sort_by_key(|(since, _)| *since);
    all
}

/// Flags that fixes set or take away, and whose values in manifests are therefore compared.
pub const CHANGED_BY_FIXES: &[&str] = &[
    flag::BLOCK_SIZE,
    flag::DISABLE_RADIX_CACHE,
    flag::KV_BLOCK_SIZE,
    flag::KV_CACHE_BLOCK_SIZE,
    flag::KV_EVENTS_CONFIG,
    flag::KV_OVERLAP_SCORE_WEIGHT,
    flag::NO_ENABLE_PREFIX_CACHING,
    flag::NO_KV_EVENTS,
    flag::NO_ROUTER_KV_EVENTS,
    flag::NO_ROUTER_REPLICA_SYNC,
    flag::OVERRIDE_ENGINE_ARGS,
    flag::PAGE_SIZE,
    flag::PUBLISH_EVENTS_AND_METRICS,
    flag::PUBLISH_KV_EVENTS,
    flag::ROUTER_BLOCK_SIZE,
    flag::ROUTER_KV_OVERLAP_SCORE_CREDIT,
    flag::ROUTER_KV_OVERLAP_SCORE_WEIGHT,
    flag::ROUTER_MODE,
    flag::ROUTER_REPLICA_SYNC,
    flag::ROUTER_TEMPERATURE,
    TRTLLM_SIZE_FLAG,
    TRTLLM_REUSE_FLAG,
];

/// Variables of workers, which frontends do not read.
pub const OF_WORKERS: [&str; 3] = [
    variable::TRTLLM_KV_BLOCK_SIZE,
    variable::TRTLLM_PUBLISH_KV_EVENTS,
    variable::TRTLLM_PUBLISH_EVENTS_AND_METRICS,
];

/// Returns what is set on whoever routes, and is not read by workers: the frontend's own table and the
/// router's.
pub fn routing() -> impl Iterator<Item = &'static Setting> {
    FRONTEND.iter().chain(ROUTER)
}

/// Returns true for a flag or variable that sets `what` on whoever routes.
pub fn is_of(what: What, name: &str) -> bool {
    let mut its = routing().filter(|setting| setting.what == what);
    its.any(|setting| setting.variables.iter().chain(setting.flags).any(|known| known.text == name))
}

/// Returns the tables of settings of a process.
pub fn rows(role: Role, backend: Option<Backend>) -> Vec<&'static [Setting]> {
    match role {
        Role::Frontend => vec![FRONTEND, ROUTER, EVERYBODY_ROUTER],
        Role::StandaloneRouter => vec![STANDALONE, ROUTER, EVERYBODY_ROUTER],
        Role::GatewayPlugin => vec![GATEWAY, EVERYBODY_ROUTER],
        Role::Worker
        | Role::Prefill
        | Role::Decode
        | Role::Encode
        | Role::Embedding
        | Role::Diffusion => match backend {
            Some(Backend::TrtLlm) => vec![TRTLLM, WORKER],
            Some(Backend::Vllm) => vec![VLLM, WORKER],
            Some(Backend::SgLang) => vec![SGLANG, WORKER],
            Some(Backend::Mocker) => vec![MOCKER, WORKER],
            None => vec![WORKER],
        },
        Role::Planner | Role::Other => Vec::new(),
    }
}

/// The processes that have settings, with the names of their tables for people.
pub const PROCESSES: [(&str, Role, Option<Backend>); 7] = [
    ("Frontend", Role::Frontend, None),
    ("Standalone router", Role::StandaloneRouter, None),
    ("Gateway plugin", Role::GatewayPlugin, None),
    ("TensorRT-LLM worker", Role::Worker, Some(Backend::TrtLlm)),
    ("vLLM worker", Role::Worker, Some(Backend::Vllm)),
    ("SGLang worker", Role::Worker, Some(Backend::SgLang)),
    ("Mocker", Role::Worker, Some(Backend::Mocker)),
];

/// Returns every setting of every process; those that several processes have come several times.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    PROCESSES.into_iter().flat_map(|(_, role, backend)| rows(role, backend)).flatten()
}

/// Returns the name of every flag that decoders read.
pub fn flags() -> &'static BTreeSet<&'static str> {
    static FLAGS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
        let named = flag::ALL.iter().map(|(_, text, _)| *text);
        let keys = engine::TRTLLM_KEYS.iter().map(|key| key.flag);
        named.chain(keys).chain(all().flat_map(Setting::all_flags)).collect()
    });
    &FLAGS
}
