//! Settings of what routes: frontends, standalone routers and the gateway plugin.

use super::{FOLLOWS_EVENTS, ONE, OVERLAP_CREDIT, OVERLAP_WEIGHT, STANDALONE_SIZE, What};
use crate::domain::ClaimOf::{Declared, Router};
use crate::domain::Release;
use crate::dynamo::router::ROUND_ROBIN;
use crate::dynamo::{Default, Kind, Name, Setting, flag, release, variable};

pub(super) const FRONTEND: &[Setting] = &[
    Setting::new(What::RouterMode, &[Router], Kind::Text, &[Name::always(flag::ROUTER_MODE)])
        .env(&[Name::always(variable::ROUTER_MODE)])
        .or(Default::Text(ROUND_ROBIN)),
    Setting::new(
        What::BlockSize,
        &[Declared],
        Kind::Count,
        &[Name::always(flag::KV_CACHE_BLOCK_SIZE)],
    )
    .env(&[Name::always(variable::KV_CACHE_BLOCK_SIZE)])
    .or(Default::Count(16)),
];

pub(super) const STANDALONE: &[Setting] =
    &[Setting::new(What::BlockSize, &[Router], Kind::Count, STANDALONE_SIZE)
        .env(&[Name::since(variable::ROUTER_BLOCK_SIZE, 1, 0)])
        .or(Default::Count(128))];

/// The plugin's variables were renamed once. From 1.0 on it takes the block size from the model card, and only logs
/// the variable of frontends (ai-dynamo/dynamo, `deploy/inference-gateway`, `dynamo_kv_scorer/plugin.go`).
pub(super) const GATEWAY: &[Setting] = &[
    Setting::new(What::BlockSize, &[Router], Kind::Count, &[])
        .env(&[
            Name::before(variable::KV_BLOCK_SIZE, 1, 0),
            Name::before(variable::OLD_KV_BLOCK_SIZE, 1, 0),
        ])
        // The operator sets it where the graph deployment does not (0.9.0, `deploy/operator/internal/dynamo/component_epp.go`).
        .or(Default::Count(16))
        .then(&[(Release::new(1, 0), Default::Unknown)]),
    Setting::new(What::OverlapWeight, &[Router], Kind::Decimal, &[]).env(&[
        Name::always(variable::OVERLAP_SCORE_WEIGHT),
        Name::always(variable::OLD_OVERLAP_SCORE_WEIGHT),
    ]),
    Setting::new(What::RouterTemperature, &[Router], Kind::Decimal, &[]).env(&[
        Name::always(variable::ROUTER_TEMPERATURE),
        Name::always(variable::OLD_ROUTER_TEMPERATURE),
    ]),
];

pub(super) const ROUTER: &[Setting] = &[
    Setting::new(
        What::OverlapWeight,
        &[Router],
        Kind::Decimal,
        &[
            Name::always(flag::KV_OVERLAP_SCORE_WEIGHT),
            Name::always(flag::ROUTER_KV_OVERLAP_SCORE_WEIGHT),
        ],
    )
    .env(OVERLAP_WEIGHT)
    .or(ONE)
    .then(&[(Release::new(1, 2), Default::Unknown)]),
    Setting::new(
        What::OverlapCredit,
        &[Router],
        Kind::Decimal,
        &[Name::always(flag::ROUTER_KV_OVERLAP_SCORE_CREDIT)],
    )
    .env(OVERLAP_CREDIT)
    .then(&[(Release::new(1, 6), ONE)]),
    Setting::new(
        What::RouterTemperature,
        &[Router],
        Kind::Decimal,
        &[Name::always(flag::ROUTER_TEMPERATURE)],
    )
    .env(&[Name::always(variable::ROUTER_TEMPERATURE)])
    .or(Default::Millionths(0)),
    Setting::new(
        What::KvEvents,
        &[Router],
        Kind::Switch,
        &[Name::always(flag::KV_EVENTS), Name::always(flag::ROUTER_KV_EVENTS)],
    )
    .off(&[flag::NO_KV_EVENTS, flag::NO_ROUTER_KV_EVENTS])
    .env(FOLLOWS_EVENTS)
    .or(Default::Flag(true)),
    Setting::new(
        What::ReplicaSync,
        &[Router],
        Kind::Switch,
        &[Name::always(flag::ROUTER_REPLICA_SYNC)],
    )
    .off(&[flag::NO_ROUTER_REPLICA_SYNC])
    .env(&[Name::since(variable::ROUTER_REPLICA_SYNC, 1, 0)])
    .or(Default::Flag(false)),
    Setting::new(
        What::DurableEvents,
        &[Router],
        Kind::Switch,
        &[Name::always(flag::ROUTER_DURABLE_KV_EVENTS), Name::always(flag::DURABLE_KV_EVENTS)],
    )
    .env(&[Name::since(variable::ROUTER_DURABLE_KV_EVENTS, 1, 0)]),
];

pub(super) const EVERYBODY_ROUTER: &[Setting] = &[
    Setting::new(What::EventPlane, &[Router], Kind::Text, &[Name::always(flag::EVENT_PLANE)])
        .env(&[Name::always(variable::EVENT_PLANE)])
        .or(Default::Text("nats"))
        .then(&[(release::EVENTS_BY_ZMQ, Default::Text("zmq"))]),
    Setting::new(
        What::DiscoveryBackend,
        &[Router],
        Kind::Text,
        &[Name::always(flag::DISCOVERY_BACKEND)],
    )
    .env(&[Name::always(variable::DISCOVERY_BACKEND)]),
];
