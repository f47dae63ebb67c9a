//! Which of several claims about block sizes hold, and causes of silence that settings or routers name.

use kvtop::diagnose::{
    Evidence, Ground, OfWorker, RouterKind, Setting, SizeByCosts, SizeClaim, Verdict,
};
use kvtop::domain::{
    Backend, ClaimOf, ClaimValue, ClaimWhat, Counters, Grade, Medium, Severity, Timestamp, WorkerId,
};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::snapshot::{CheckVerdict, FindingRow, Snapshot};

use super::rules::{blinded, healthy, size};
use super::settings::found;
use crate::support::{fixture, frames, played};

fn judge(id: &str, evidence: &Evidence) -> Verdict {
    kvtop::diagnose::rule(id).unwrap().judge(evidence)
}

fn summary(id: &str, evidence: &Evidence) -> Option<String> {
    match judge(id, evidence) {
        Verdict::Found(finding) => Some(finding.summary.to_string()),
        Verdict::Clear { .. } | Verdict::Unknown { .. } => None,
    }
}

fn observed(of: ClaimOf, worker: u64, tokens: u32) -> SizeClaim {
    SizeClaim { ground: Ground::Observed, ..size(of, worker, tokens) }
}

/// Requests find nothing, and the costs of the router are multiples of 1/16.
fn by_costs(tokens: u32) -> Evidence {
    let mut evidence = healthy();
    evidence.sizes = vec![observed(ClaimOf::Card, 1, 32), observed(ClaimOf::Card, 2, 32)];
    evidence.router.inferred = Some(SizeByCosts { tokens, samples: 40, error: 1e-12 });
    blinded(&mut evidence, 30);
    evidence
}

#[test]
fn a_router_whose_costs_show_another_size_than_the_cards_is_a_mismatch() {
    let Verdict::Found(finding) = judge("KVT001", &by_costs(16)) else { panic!() };

    assert_eq!(finding.grade, Grade::Confirmed);
    let told =
        "Block sizes differ: the router hashes 16-token blocks, but workers publish 32-token";
    assert!(finding.summary.to_string().starts_with(told), "{}", finding.summary);
    let fix = finding.fix.unwrap().sentence.to_string();
    assert!(fix.starts_with("Restart the frontend: model cards say 32"), "{fix}");
    // A metric that repeats the card does not speak for the router.
    let mut adopted = by_costs(16);
    adopted.sizes.push(observed(ClaimOf::Router, 0, 32));
    assert!(summary("KVT001", &adopted).is_some());
    // The same size, and requests that find blocks, are well.
    assert_eq!(summary("KVT001", &by_costs(32)), None);
    let mut sees = by_costs(16);
    sees.router.tally.overlaps.note(kvtop::model::OverlapBy::Decision, 4.0);
    assert_eq!(summary("KVT001", &sees), None);
}

#[test]
fn what_is_declared_on_the_frontend_is_the_fix_where_the_router_hashes_with_it() {
    let mut evidence = by_costs(16);
    evidence.settings.router_kind = RouterKind::Frontend;
    evidence.sizes.push(size(ClaimOf::Declared, 0, 16));

    let Verdict::Found(finding) = judge("KVT001", &evidence) else { panic!() };
    let fix = finding.fix.unwrap().sentence.to_string();
    assert!(fix.starts_with("Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend"), "{fix}");
    let Verdict::Found(declared) = judge("KVT016", &evidence) else { panic!() };
    assert!(
        declared
            .effect
            .to_string()
            .starts_with("This router hashes requests with the declared size")
    );
}

#[test]
fn an_engine_that_overrides_its_flag_is_no_mismatch() {
    let mut evidence = healthy();
    evidence.sizes = vec![
        observed(ClaimOf::Card, 1, 16),
        size(ClaimOf::Publisher, 1, 32),
        size(ClaimOf::Engine, 1, 32),
        observed(ClaimOf::Engine, 1, 16),
    ];
    for rank in &mut evidence.ranks {
        rank.backend = Some(Backend::Vllm);
        (rank.tally.kv.counters, rank.held) = (Counters::default(), 0);
    }
    let tally = &mut evidence.router.tally;
    (tally.overlaps, tally.warm, tally.events) = Default::default();

    assert_eq!(summary("KVT001", &evidence), None);
    assert_eq!(evidence.worker_size().map(|claim| claim.tokens), Some(16));
    // Without its log and card the two settings of TensorRT-LLM do differ.
    evidence.sizes = vec![size(ClaimOf::Publisher, 1, 32), size(ClaimOf::Engine, 1, 16)];
    assert!(summary("KVT001", &evidence).is_some());
}

#[test]
fn settings_that_differ_are_refuted_by_stores_that_hold_blocks() {
    let mut evidence = healthy();
    blinded(&mut evidence, 5);
    evidence.sizes = vec![size(ClaimOf::Publisher, 1, 32), size(ClaimOf::Engine, 1, 16)];
    assert_eq!(summary("KVT001", &evidence), None);

    // Held blocks outlast a window without events.
    evidence.ranks[0].tally.kv.counters = Counters::default();
    assert_eq!(summary("KVT001", &evidence), None);
    evidence.ranks[0].held = 0;
    let told = summary("KVT001", &evidence).unwrap();
    assert!(
        told.contains("publish 32-token blocks, but their engines are configured for 16-token"),
        "{told}"
    );
}

#[test]
fn a_number_that_is_no_block_size_is_no_side_of_a_mismatch() {
    for garbage in [2_662_439_576, 7, 70_000] {
        let mut evidence = by_costs(32);
        evidence.sizes.push(observed(ClaimOf::Publisher, 1, garbage));
        assert_eq!(summary("KVT001", &evidence), None, "{garbage}");
        assert_eq!(evidence.worker_size().map(|claim| claim.tokens), Some(32));
    }
    // Hybrid models have such blocks.
    let mut evidence = by_costs(32);
    evidence.sizes.push(observed(ClaimOf::Engine, 1, 528));
    evidence.sizes.push(observed(ClaimOf::Engine, 2, 528));
    assert!(summary("KVT001", &evidence).unwrap().contains("publish 528-token blocks"));
}

fn of<T>(worker: u64, value: T) -> OfWorker<T> {
    let set = Setting {
        value,
        ground: Ground::Setting,
        source: "pod p, --no-enable-prefix-caching".into(),
        raw: "--no-enable-prefix-caching".into(),
        at: Timestamp(1),
        set_by: None,
        medium: Medium::Settings,
    };
    OfWorker { worker: Some(WorkerId(worker)), who: format!("w{}", worker - 1).into(), set }
}

/// Two workers that serve requests, of which no event is seen.
fn quiet() -> Evidence {
    let mut evidence = healthy();
    evidence.router.tally.events = 0;
    evidence.router.tally.messages = 0;
    for rank in &mut evidence.ranks {
        (rank.tally.kv.counters, rank.last_event, rank.held) = (Counters::default(), None, 0);
    }
    evidence
}

#[test]
fn silence_is_explained_by_prefix_caching_that_is_off_everywhere() {
    let mut evidence = quiet();
    assert!(summary("KVT004", &evidence).is_some());
    evidence.settings.prefix_reuse = vec![of(1, false)];
    assert!(summary("KVT004", &evidence).is_some(), "the other worker should publish");

    evidence.settings.prefix_reuse.push(of(2, false));

    assert_eq!(summary("KVT004", &evidence), None);
    assert_eq!(summary("KVT003", &evidence), None);
    let told = summary("KVT017", &evidence).unwrap();
    assert_eq!(told, "Prefix caching is off on w0, w1.");
}

#[test]
fn two_causes_of_silence_are_told_apart() {
    let mut evidence = quiet();
    evidence.settings.publishes = vec![of(1, false), of(2, false)];
    evidence.settings.prefix_reuse = vec![of(2, false)];

    let Verdict::Found(finding) = judge("KVT003", &evidence) else { panic!() };

    let told = "publishing is not enabled on w0, and prefix caching is off on w1.";
    assert!(finding.summary.to_string().ends_with(told), "{}", finding.summary);
    let fix = finding.fix.unwrap().sentence.to_string();
    assert!(fix.starts_with("Enable KV events on w0 with "), "{fix}");
    assert!(fix.contains("On w1, enable prefix caching"), "{fix}");
    let told = summary("KVT017", &evidence).unwrap();
    assert_eq!(told, "Prefix caching is off on w1 (1 of 2 workers).");
}

#[test]
fn an_engine_that_connects_to_its_own_address_is_named_with_the_address_to_bind() {
    let mut evidence = quiet();
    let address = |text: &str| OfWorker {
        set: Setting { value: std::sync::Arc::from(text), ..setting_of(of(1, ())) },
        worker: Some(WorkerId(1)),
        who: "w0".into(),
    };
    evidence.settings.event_endpoints = vec![address("tcp://127.0.0.1:20081")];

    let Verdict::Found(finding) = judge("KVT003", &evidence) else { panic!() };
    assert!(
        finding.summary.to_string().contains("vLLM connects to tcp://127.0.0.1:20081"),
        "{finding:?}"
    );
    assert!(finding.fix.unwrap().sentence.to_string().contains("to tcp://*:20081"));

    for bound in ["tcp://*:20081", "tcp://[::]:20081", "ipc:///tmp/kv"] {
        evidence.settings.event_endpoints = vec![address(bound)];
        assert_eq!(summary("KVT003", &evidence), None, "{bound}");
    }
    // One that is heard has somebody who binds.
    let mut heard = healthy();
    heard.settings.event_endpoints = vec![address("tcp://127.0.0.1:20081")];
    assert_eq!(summary("KVT003", &heard), None);
}

fn setting_of(of: OfWorker<()>) -> Setting<std::sync::Arc<str>> {
    let Setting { ground, source, raw, at, .. } = of.set;
    Setting { value: "".into(), ground, source, raw, at, set_by: None, medium: Medium::Settings }
}

#[test]
fn a_routers_own_metric_is_its_testimony() {
    let mut evidence = quiet();
    assert_eq!(summary("KVT003", &evidence), None);

    evidence.router.sourceless = 2;

    let told = summary("KVT003", &evidence).unwrap();
    assert!(
        told.starts_with("The router's metric reports 2 workers without a source of KV events"),
        "{told}"
    );
}

#[test]
fn decode_context_parallelism_explains_larger_blocks_of_an_engine() {
    let mut evidence = quiet();
    evidence.sizes = vec![observed(ClaimOf::Publisher, 1, 16), observed(ClaimOf::Engine, 1, 32)];
    assert!(summary("KVT001", &evidence).is_some());

    let parallel = |count: u64| {
        let Setting { ground, source, raw, at, .. } = of(1, ()).set;
        let set = Setting {
            value: count,
            ground,
            source,
            raw,
            at,
            set_by: None,
            medium: Medium::Settings,
        };
        OfWorker { worker: Some(WorkerId(1)), who: "w0".into(), set }
    };
    evidence.settings.context_parallel = vec![parallel(2)];
    assert_eq!(summary("KVT001", &evidence), None);
    let note = evidence.context_parallel_note().unwrap();
    assert!(note.contains("events of 32 tokens are 16-token blocks on 2 processes"), "{note}");
    evidence.settings.context_parallel = vec![parallel(4)];
    assert!(summary("KVT001", &evidence).is_some(), "4 times 16 is not 32");
}

fn seen(name: &str) -> Snapshot {
    played(&frames(&fixture(&format!("cases/{name}.frames.gz")))).1
}

fn finding<'a>(seen: &'a Snapshot, id: &str) -> &'a FindingRow {
    found(seen, id).unwrap_or_else(|| panic!("{:?}", seen.findings))
}

#[test]
fn a_recorded_router_of_16_beside_cards_of_32_is_confirmed() {
    let seen = seen("x_router16_card32_0.9.0");

    let mismatch = finding(&seen, "KVT001");

    assert_eq!(mismatch.grade, Grade::Confirmed);
    assert!(mismatch.fix.as_ref().unwrap().sentence.contains("DYN_KV_CACHE_BLOCK_SIZE=32"));
}

#[test]
fn recorded_engines_without_reuse_are_named_with_their_setting() {
    for (name, setting) in [
        ("k017_reuse_off_0.9.0", "kv_cache_config.enable_block_reuse: true"),
        ("x_reuse_off_vllm_0.9.0", "remove --no-enable-prefix-caching"),
    ] {
        let seen = seen(name);

        let off = finding(&seen, "KVT017");

        assert!(off.fix.as_ref().unwrap().sentence.contains(setting), "{off:?}");
        for id in ["KVT003", "KVT004"] {
            let check = seen.checks.iter().find(|check| check.id == id).unwrap();
            assert!(matches!(check.verdict, CheckVerdict::Unknown { .. }), "{check:?}");
        }
    }
}

#[test]
fn recorded_silence_of_connected_publishers_names_the_address_that_is_not_bound() {
    let seen = seen("vllm_no_star_filedisc_161");

    let silent = finding(&seen, "KVT004");

    assert!(silent.summary.starts_with("kvtop is connected to all 2 publishers"), "{silent:?}");
    assert!(silent.fix.as_ref().unwrap().sentence.contains("tcp://*:PORT"));
}

#[test]
fn logs_and_metrics_of_vllm_say_what_is_in_effect() {
    let mut all = frames(&fixture("cases/x_reuse_off_vllm_0.9.0.frames.gz"));
    // The setting is gone from the pods, the engine says it all the same.
    for frame in &mut all {
        let Body::Whole(bytes) = &frame.body else { continue };
        let text =
            String::from_utf8_lossy(bytes).replace("--no-enable-prefix-caching", "--enforce-eager");
        frame.body = Body::Whole(text.into());
    }
    let at = all[all.len() - 1].at;
    for pod in ["worker1", "worker2"] {
        let origin =
            Origin::Log { namespace: "".into(), pod: pod.into(), container: "main".into() };
        let line = "(EngineCore pid=9) WARNING 11-22 04:31:44 [vllm.py:2015] KV cache events are on, but prefix \
                    caching is not enabled. Use --enable-prefix-caching to enable.";
        all.push(Frame::new(at, origin, line));
    }
    let (_, seen) = played(&all);

    let off = finding(&seen, "KVT017");

    assert_eq!(off.grade, Grade::Confirmed);
    assert!(off.fix.as_ref().unwrap().sentence.contains("find in the engine's log"), "{off:?}");
}

#[test]
fn a_publisher_that_compares_with_garbage_is_told_to_be_upgraded() {
    let mut evidence = healthy();
    evidence.sizes = vec![observed(ClaimOf::Card, 1, 16)];
    evidence.sizes.push(observed(ClaimOf::Publisher, 1, 2_662_439_576));
    assert_eq!(summary("KVT001", &evidence), None, "stores hold blocks");
    for rank in &mut evidence.ranks {
        rank.tally.kv.counters.empty_stores = 100;
    }

    let Verdict::Found(finding) = judge("KVT001", &evidence) else { panic!() };

    assert!(finding.summary.to_string().contains("must be corrupted memory"), "{finding:?}");
    assert!(finding.fix.unwrap().sentence.to_string().starts_with("Upgrade Dynamo on w0"));
}

#[test]
fn lines_of_engines_and_routers_become_claims() {
    let mut all = frames(&fixture("cases/x_reuse_off_vllm_0.9.0.frames.gz"));
    let at = all[all.len() - 1].at;
    let line = |pod: &str, text: &str| {
        let origin =
            Origin::Log { namespace: "".into(), pod: pod.into(), container: "main".into() };
        Frame::new(at, origin, text.to_owned())
    };
    all.push(line(
        "worker1",
        "INFO [kv_cache_utils.py:2464] CPU KV cache size: 8,128 tokens, Maximum",
    ));
    all.push(line("worker2", "WARNING [server_args.py] Setting page size to 64 for DeepSeek DSA."));
    all.push(line(
        "worker3",
        "INFO [cuda.py:184] Forcing kv cache block size to 128 for CUTLASS_MLA backend.",
    ));
    all.push(line(
        "frontend",
        "ERROR KV EVENT ROUTING MISCONFIGURATION: worker 7 is missing worker-local KV indexer query endpoints for \
         DP ranks [0]. worker_id=7 missing_dp_ranks=[0]",
    ));
    let (_, seen) = played(&all);

    let said = |what: ClaimWhat, source: &str| {
        let mut claims = seen.claims.iter().map(|row| &row.claim);
        claims
            .find(|claim| claim.what == what && *claim.source == *source)
            .map(|it| it.value.clone())
    };
    let tokens = said(ClaimWhat::KvCacheTokens, "log of worker1");
    assert_eq!(tokens, Some(ClaimValue::Count(8128)));
    assert_eq!(said(ClaimWhat::BlockSize, "log of worker2"), Some(ClaimValue::Count(64)));
    assert_eq!(said(ClaimWhat::BlockSize, "log of worker3"), Some(ClaimValue::Count(128)));
    let published = said(ClaimWhat::PublishesEvents, "log of frontend");
    assert_eq!(published, Some(ClaimValue::Flag(false)));
}

#[test]
fn a_router_that_takes_in_no_event_is_found_by_its_counters() {
    let unfed = |plane: &str, stores: u64| {
        let mut evidence = healthy();
        blinded(&mut evidence, 30);
        evidence.router.unfed = vec![("frontend".into(), stores)];
        evidence.settings.event_planes = vec![setting_with(plane.into())];
        evidence.settings.publishing_planes = vec![OfWorker {
            worker: Some(WorkerId(1)),
            who: "worker-1".into(),
            set: setting_with("nats".into()),
        }];
        evidence
    };

    let Verdict::Found(finding) = judge("KVT019", &unfed("zmq", 200)) else { panic!() };
    assert_eq!(finding.grade, Grade::Confirmed);
    assert_eq!(
        finding.summary.to_string(),
        "Routers listen for KV events over ZMQ, not where workers publish: their counters show none of the 200 store \
         events that workers sent over NATS between two readings."
    );
    let fix = finding.fix.unwrap().sentence.to_string();
    assert_eq!(fix, "Set DYN_EVENT_PLANE=nats on the frontend, as the workers have it.");

    // A counter that was read a moment ago may have missed them, and a router that finds blocks has some.
    assert_eq!(summary("KVT019", &unfed("zmq", 3)), None);
    // Nor is it told of another hashing meanwhile.
    let mut early = unfed("zmq", 3);
    for rank in &mut early.ranks {
        rank.tally.kv.forks = 20;
    }
    assert!(
        matches!(judge("KVT015", &early), Verdict::Unknown { .. }),
        "{:?}",
        judge("KVT015", &early)
    );
    early.router.unfed.clear();
    assert!(summary("KVT015", &early).is_some());
    let mut sees = unfed("zmq", 200);
    sees.router.tally.overlaps.note(kvtop::model::OverlapBy::Decision, 4.0);
    assert_eq!(summary("KVT019", &sees), None);
    // What another router finds says nothing of one that takes in none.
    sees.router.fed = 1;
    let Verdict::Found(finding) = judge("KVT019", &sees) else { panic!() };
    assert_eq!(finding.severity, Severity::Warning);
    sees.settings.other_modes = vec![("frontend".into(), setting_with("random".into()))];
    assert_eq!(summary("KVT019", &sees), None, "it routes without regard to what is cached");
    // One that only predicts needs no events.
    let mut predicts = unfed("zmq", 200);
    predicts.settings.kv_events = Some(setting_with(false));
    assert_eq!(summary("KVT019", &predicts), None);
    assert_eq!(summary("KVT019", &unfed("nats", 200)), None);
}

fn setting_with<T>(value: T) -> Setting<T> {
    Setting {
        value,
        ground: Ground::Setting,
        source: "pod frontend".into(),
        raw: "".into(),
        at: Timestamp(1),
        set_by: None,
        medium: Medium::Settings,
    }
}
