//! The registry: ids, texts, documentation, and that every rule was seen to say each thing it can say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::support::bless;
use kvtop::diagnose::{
    AdvertisedPlane, DownSource, Evidence, Ground, PlaneEvidence, RULES, Regret, RouterKind,
    Setting, SizeClaim, TreeEvidence, Unheard, Verdict,
};
use kvtop::domain::{
    Backend, ClaimOf, Counters, Medium, Peers, Plane, Release, Releases, Timestamp, Trouble,
    Unreached, WorkerId, WorkerRank,
};
use kvtop::lint::CHECKS;

#[test]
fn ids_are_unique_and_explanations_refer_to_rules() {
    let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id()).collect();

    assert_eq!(ids.len(), RULES.len());
    for rule in RULES {
        let text = rule.documentation();
        assert!(text.len() > 100 && text.ends_with('.') && !text.contains("::"), "{}", rule.id());
        for id in rule.explains() {
            assert!(ids.contains(id) && *id != rule.id(), "{} explains {id}", rule.id());
        }
    }
}

#[test]
fn the_reference_of_findings_is_generated_from_the_rules() {
    let mut page = String::from(
        "# Findings\n\nGenerated from the rules (`tests/bless` rewrites it); \
         `kvtop explain KVT001` prints the same. Ids are never reused.\n",
    );
    let mut rules: Vec<_> = RULES.to_vec();
    rules.sort_by_key(|rule| rule.id());
    for rule in rules {
        let about = rule.documentation().replace('\n', "\n\n");
        writeln!(page, "\n## {} {}\n\n{about}", rule.id(), rule.name()).unwrap();
        if !rule.explains().is_empty() {
            writeln!(
                page,
                "\nConsequences, hidden while this finding is active: {}.",
                rule.explains().join(", ")
            )
            .unwrap();
        }
    }
    page.push_str(
        "\n# Of manifests alone\n\nWhat `kvtop lint` finds beside them (see [lint.md](lint.md)).\n",
    );
    for check in CHECKS {
        let about = check.documentation().replace('\n', "\n\n");
        writeln!(page, "\n## {} {}\n\n{about}", check.id, check.name).unwrap();
    }
    bless::page("docs/reference/findings.md", &page);
}

/// A deployment of two workers that is well in every respect.
pub(super) fn healthy() -> Evidence {
    let mut evidence = Evidence {
        at: Timestamp(100_000_000),
        ranks: vec![rank(1), rank(2)],
        tree: TreeEvidence { accepted: 600, held: 600, ..TreeEvidence::default() },
        plane: PlaneEvidence {
            name: Some(Plane::NatsCore),
            members: 2,
            listed: Some(Timestamp(1)),
            followed: true,
            ..PlaneEvidence::default()
        },
        ..Evidence::default()
    };
    for place in 0..2 {
        evidence.load.workers.push(kvtop::diagnose::WorkerLoad {
            id: kvtop::domain::WorkerId(1 + place),
            name: format!("worker-{place}").into(),
            in_flight: kvtop::model::InFlight { now: 30.0, mean: 30.0, most: 36.0, samples: 13 },
            batch_limit: Some(64),
        });
    }
    evidence.load.first_token = Some(kvtop::model::Percentiles {
        p50: 0.3,
        p95: 0.5,
        beyond: false,
        p99: 0.6,
        p99_beyond: false,
        count: 200.0,
        window: std::time::Duration::from_secs(60),
    });
    evidence.router.read = true;
    evidence.router.pods = vec!["frontend-0".into()];
    evidence.router.weights = vec![("frontend".into(), 1.0)];
    evidence.router.regret = Some(Regret {
        decisions: 200,
        passed_up: 4,
        prompt_blocks: 1200.0,
        best_blocks: 900.0,
        chosen_blocks: 880.0,
        forgone_blocks: 0.0,
    });
    let tally = &mut evidence.router.tally;
    (tally.routed, tally.events, tally.messages, tally.remove) = (200, 800, 800, 1);
    for _ in 0..200 {
        tally.overlaps.note(kvtop::model::OverlapBy::Decision, 4.0);
        tally.warm.note(kvtop::model::OverlapBy::Decision, 4.0);
    }
    for of in [ClaimOf::Card, ClaimOf::Declared] {
        evidence.sizes.push(size(of, 1, 32));
    }
    evidence
}

pub(super) fn rank(id: u64) -> kvtop::diagnose::RankEvidence {
    let mut tally = kvtop::model::Tally {
        kv: kvtop::model::KvTally { sampled: 100, ..Default::default() },
        requests: kvtop::model::RequestTally { routed: 100, ..Default::default() },
        ..Default::default()
    };
    (tally.kv.counters.stores, tally.kv.counters.stored_blocks) = (100, 400);
    tally.kv.known_stores = 100;
    tally.kv.roots = 20;
    kvtop::diagnose::RankEvidence {
        rank: WorkerRank::new(id, 0),
        name: format!("w{}", id - 1).into(),
        pod: Some(format!("worker-{id}").into()),
        role: None,
        gone: false,
        left: None,
        started: None,
        backend: None,
        registered: true,
        past_known: true,
        missing: 0,
        unmatched: 0,
        born: None,
        was_named: true,
        id_holes: 0,
        open_holes: 0,
        unpublished: 0,
        told: tally.requests,
        tally,
        accepted: 300,
        held: 300,
        capacity: Some(1000),
        utilization: Some(0.4),
        avoided: None,
        unhit: 0,
        hit_rate: None,
        first_event: Some(Timestamp(1_000_000)),
        last_event: Some(Timestamp(99_000_000)),
        first_routed: Some(Timestamp(1_000_000)),
        last_routed: Some(Timestamp(99_000_000)),
        owed: None,
        belongs: kvtop::diagnose::Belongs::Here,
    }
}

pub(super) fn size(of: ClaimOf, worker: u64, tokens: u32) -> SizeClaim {
    SizeClaim {
        of,
        worker: (of != ClaimOf::Declared && of != ClaimOf::Router).then_some(WorkerId(worker)),
        pod: None,
        component: None,
        role: None,
        model: None,
        dynamo_namespace: None,
        tokens,
        ground: Ground::Setting,
        source: "a test".into(),
        raw: format!("block_size: {tokens}").into(),
        at: Timestamp(1),
        last: Timestamp(1),
        set_by: None,
        medium: Medium::Settings,
    }
}

pub(super) fn setting<T>(value: T) -> Setting<T> {
    Setting {
        value,
        ground: Ground::Setting,
        source: "a test".into(),
        raw: "as set".into(),
        at: Timestamp(1),
        set_by: None,
        medium: Medium::Settings,
    }
}

/// Turns every known overlap into none.
pub(super) fn blinded(evidence: &mut Evidence, requests: u64) {
    let tally = &mut evidence.router.tally;
    (tally.overlaps, tally.warm) = Default::default();
    for _ in 0..requests {
        tally.overlaps.note(kvtop::model::OverlapBy::Decision, 0.0);
        tally.warm.note(kvtop::model::OverlapBy::Decision, 0.0);
    }
}

type Change = fn(&mut Evidence);

/// What makes each rule fire, for the healthy deployment changed so.
const FIRES: &[(&str, Change)] = &[
    ("KVT001", |evidence| {
        for rank in &mut evidence.ranks {
            rank.tally.kv.counters.empty_stores = 100;
        }
    }),
    ("KVT002", |evidence| evidence.sizes.push(size(ClaimOf::Card, 2, 16))),
    ("KVT003", |evidence| {
        let silent = &mut evidence.ranks[1];
        (silent.tally.kv.counters, silent.held, silent.last_event) = (Counters::default(), 0, None);
        for _ in 0..20 {
            silent.tally.requests.overlaps.note(kvtop::model::OverlapBy::Decision, 0.0);
        }
    }),
    ("KVT004", |evidence| {
        evidence.router.tally.events = 0;
        evidence.router.tally.messages = 0;
        for rank in &mut evidence.ranks {
            (rank.tally.kv.counters, rank.last_event) = (Counters::default(), None);
        }
    }),
    ("KVT005", |evidence| evidence.router.weights = vec![("frontend".into(), 0.0)]),
    ("KVT006", |evidence| evidence.settings.kv_events = Some(setting(false))),
    ("KVT007", |evidence| {
        let tally = &mut evidence.router.tally;
        (tally.parent_full, tally.parent_held, tally.parent_before) = (40, 38, 38);
    }),
    ("KVT008", |evidence| evidence.tree.incomplete.push("kvtop attached late".into())),
    ("KVT009", |evidence| evidence.ranks[0].tally.kv.returned = 60),
    ("KVT010", |evidence| evidence.ranks[0].utilization = Some(0.99)),
    ("KVT011", |evidence| evidence.ranks[0].tally.requests.routed = 5000),
    ("KVT012", |evidence| {
        (evidence.ranks[1].gone, evidence.ranks[1].left) = (true, Some(Timestamp(10_000_000)));
    }),
    ("KVT013", |evidence| {
        for (pod, tokens) in [("a", 16), ("b", 32)] {
            let claim = size(ClaimOf::Router, 0, tokens);
            evidence.sizes.push(SizeClaim { pod: Some(pod.into()), ..claim });
        }
    }),
    ("KVT014", |evidence| {
        (evidence.router.tally.lost, evidence.router.tally.parent_full) = (50, 4);
    }),
    ("KVT015", |evidence| {
        blinded(evidence, 30);
        for rank in &mut evidence.ranks {
            rank.tally.kv.forks = 20;
        }
    }),
    ("KVT016", |evidence| evidence.sizes[1].tokens = 16),
    ("KVT017", |evidence| {
        blinded(evidence, 200);
        for rank in &mut evidence.ranks {
            rank.tally.kv.roots = 100;
        }
    }),
    ("KVT018", |evidence| {
        let regret = evidence.router.regret.as_mut().unwrap();
        (regret.passed_up, regret.chosen_blocks) = (90, 400.0);
    }),
    ("KVT019", |evidence| evidence.router.tally.unreadable = 400),
    ("KVT020", |evidence| evidence.ranks[0].accepted = 1200),
    ("KVT021", |evidence| {
        evidence.load.first_token.as_mut().unwrap().p95 = 2.0;
        evidence.load.workers[0].in_flight.most = 70.0;
    }),
];

fn said(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Clear { .. } => "clear",
        Verdict::Unknown { .. } => "unknown",
        Verdict::Found(_) => "found",
    }
}

#[test]
fn every_rule_fires_clears_and_says_when_it_does_not_know() {
    let fires: BTreeMap<&str, Change> = FIRES.iter().copied().collect();
    let (well, nothing) = (healthy(), Evidence::default());
    for rule in RULES {
        let change = fires.get(rule.id()).unwrap_or_else(|| panic!("{} has no fault", rule.id()));
        let mut wrong = healthy();
        change(&mut wrong);

        let found = rule.judge(&wrong);
        let clear = rule.judge(&well);
        let unknown = rule.judge(&nothing);

        let id = rule.id();
        assert_eq!((id, said(&found)), (id, "found"), "{found:?}");
        assert_eq!((id, said(&clear)), (id, "clear"), "{clear:?}");
        assert_eq!((id, said(&unknown)), (id, "unknown"), "{unknown:?}");
        let Verdict::Found(finding) = found else { continue };
        assert!(!finding.proofs.is_empty() && !finding.refuted_by.is_empty(), "{id}");
        assert!(finding.summary.to_string().ends_with('.') && !finding.effect.is_empty(), "{id}");
        assert_eq!(
            finding.severity == kvtop::domain::Severity::Critical,
            rule.may_be_critical(),
            "{id}"
        );
    }
}

#[test]
fn a_size_declared_on_the_frontend_is_named_in_the_words_of_its_users() {
    let mut evidence = healthy();
    evidence.sizes[1].tokens = 16;
    let rule = kvtop::diagnose::rule("kvt016").unwrap();

    let Verdict::Found(finding) = rule.judge(&evidence) else { panic!("it differs") };

    assert_eq!(
        finding.summary,
        "Frontend KV block size (16) does not match worker block size (32). Set \
         DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend or configure tokens_per_block=16 on workers."
    );
}

#[test]
fn a_declared_size_that_is_not_read_is_judged_by_who_wrote_it_and_what_requests_find() {
    let rule = kvtop::diagnose::rule("KVT016").unwrap();
    let judged = |tokens: u32, ground: Ground, blind: bool, kind: RouterKind| {
        let mut evidence = healthy();
        evidence.settings.router_kind = kind;
        (evidence.sizes[1].tokens, evidence.sizes[1].ground) = (tokens, ground);
        if blind {
            blinded(&mut evidence, 30);
        }
        match rule.judge(&evidence) {
            Verdict::Found(finding) => Some((finding.severity, rule.is_advisory(&finding))),
            Verdict::Clear { .. } => None,
            other @ Verdict::Unknown { .. } => panic!("{other:?}"),
        }
    };
    let (info, warning) = (kvtop::domain::Severity::Info, kvtop::domain::Severity::Warning);
    let unread = RouterKind::Frontend;

    // A default that nobody wrote.
    assert_eq!(judged(16, Ground::Default, true, unread), Some((info, true)));
    assert_eq!(judged(16, Ground::Default, false, unread), None);
    // The same value, written.
    assert_eq!(judged(16, Ground::Setting, true, unread), Some((warning, true)));
    assert_eq!(judged(16, Ground::Setting, false, unread), Some((info, true)));
    // A value of its own is worth a look, and never decides how the deployment is.
    assert_eq!(judged(64, Ground::Setting, false, unread), Some((warning, true)));
    // A router that hashes with its default is KVT001; this only explains it.
    assert_eq!(judged(16, Ground::Default, true, RouterKind::OwnSize), Some((info, false)));
    assert_eq!(judged(64, Ground::Setting, true, RouterKind::OwnSize), Some((warning, false)));
    assert_eq!(judged(32, Ground::Setting, true, unread), None);
}

#[test]
fn workers_that_agree_are_said_to_configure_the_size_by_themselves() {
    let rule = kvtop::diagnose::rule("KVT002").unwrap();

    let verdict = rule.judge(&healthy());

    let note = "Auto-configured KV block size: 32 (from worker reports)";
    assert_eq!(verdict, Verdict::clear(note));
}

#[test]
fn routers_of_different_sizes_are_named_with_what_sets_theirs() {
    let rule = kvtop::diagnose::rule("KVT013").unwrap();
    let fix = |kind, workers: bool| {
        let mut evidence = healthy();
        if !workers {
            evidence.sizes.clear();
        }
        evidence.releases = Releases::only(Release::new(1, 1));
        evidence.settings.router_kind = kind;
        for (pod, tokens) in [("router-a", 16), ("router-b", 128)] {
            let claim = size(ClaimOf::Router, 0, tokens);
            evidence.sizes.push(SizeClaim { pod: Some(pod.into()), ..claim });
        }
        match rule.judge(&evidence) {
            Verdict::Found(finding) => (finding.summary, finding.fix.unwrap().sentence),
            other => panic!("{other:?}"),
        }
    };
    let (summary, own) = fix(RouterKind::OwnSize, false);
    let (_, frontends) = fix(RouterKind::Frontend, true);

    let named = "Routers hash with different block sizes: 16 (router-a); 128 (router-b).";
    assert_eq!(summary, named);
    assert_eq!(own, "Start all routers with their workers' block size (--router-block-size).");
    assert!(frontends.to_string().contains("old model card"), "{frontends}");
}

#[test]
fn models_of_different_block_sizes_do_not_disagree() {
    let mut evidence = healthy();
    evidence.sizes.push(size(ClaimOf::Card, 2, 16));
    let rule = kvtop::diagnose::rule("KVT002").unwrap();

    let same_model = rule.judge(&evidence);
    evidence.models = vec![(WorkerId(1), "one".into()), (WorkerId(2), "another".into())];
    let two_models = rule.judge(&evidence);

    assert_eq!((said(&same_model), said(&two_models)), ("found", "clear"));
}

#[test]
fn only_workers_of_one_dynamo_namespace_must_agree() {
    let judged = |namespaces: [&str; 2], odd: Option<(&str, u32)>| {
        let mut evidence = healthy();
        evidence.sizes.clear();
        let workers = [(1, namespaces[0], 16), (2, namespaces[1], 32)];
        let odd = odd.map(|(namespace, tokens)| (3, namespace, tokens));
        for (worker, namespace, tokens) in workers.into_iter().chain(odd) {
            let dynamo_namespace = (!namespace.is_empty()).then(|| namespace.into());
            let claim = size(ClaimOf::Card, worker, tokens);
            let ground = Ground::Observed;
            evidence.sizes.push(SizeClaim { dynamo_namespace, ground, ..claim });
        }
        kvtop::diagnose::rule("KVT002").unwrap().judge(&evidence)
    };

    assert_eq!(said(&judged(["a", "a"], None)), "found");
    let note = "Auto-configured KV block sizes: 16 (a), 32 (b) (from worker reports)";
    assert_eq!(judged(["a", "b"], None), Verdict::clear(note));
    // Within one of them sizes differ all the same, and live cards prove it.
    match judged(["a", "b"], Some(("b", 64))) {
        Verdict::Found(finding) => assert_eq!(finding.grade, kvtop::domain::Grade::Confirmed),
        other => panic!("{other:?}"),
    }
    // A worker of which nobody knows the namespace may be of either.
    assert_eq!(said(&judged(["a", "b"], Some(("", 32)))), "unknown");
    // A pod names its namespace without the suffix that its worker appends.
    assert_eq!(said(&judged(["a", "a-3f2c81d0"], None)), "unknown");
}

#[test]
fn a_card_without_an_instance_is_no_side_of_a_difference() {
    let judged = |unlisted: &[u64]| {
        let mut evidence = healthy();
        evidence.sizes.clear();
        for (worker, tokens) in [(1, 16), (2, 32), (3, 32)] {
            let claim = size(ClaimOf::Card, worker, tokens);
            evidence.sizes.push(SizeClaim { ground: Ground::Observed, ..claim });
        }
        evidence.unlisted = unlisted.iter().map(|worker| WorkerId(*worker)).collect();
        kvtop::diagnose::rule("KVT002").unwrap().judge(&evidence)
    };

    assert_eq!(said(&judged(&[])), "found");
    let Verdict::Unknown { missing, .. } = judged(&[1]) else {
        panic!("judged a worker that left")
    };
    let missing = missing.to_string();
    assert!(missing.starts_with("needs the instance of") && missing.contains("32"), "{missing}");
    // Where nobody serves, nobody is left out.
    assert_eq!(said(&judged(&[1, 2, 3])), "found");
}

/// Prefill workers with blocks of 64 tokens, decode workers with 16, and one with `odd`.
#[test]
fn prefill_workers_of_one_model_excuse_no_silent_worker_of_another() {
    let judged = |models: [&str; 2]| {
        let mut evidence = healthy();
        let (_, silence) = FIRES.iter().find(|(id, _)| *id == "KVT003").unwrap();
        silence(&mut evidence);
        for (rank, (role, model)) in
            evidence.ranks.iter_mut().zip(["prefill", "backend"].into_iter().zip(models))
        {
            rank.role = Some(role.into());
            evidence.models.push((rank.rank.worker, model.into()));
        }
        said(&kvtop::diagnose::rule("KVT003").unwrap().judge(&evidence))
    };

    assert_eq!(judged(["one", "two"]), "found");
    assert_ne!(judged(["one", "one"]), "found");
}

fn disaggregated(releases: Releases, odd: (u64, &str, u32)) -> Verdict {
    let mut evidence = healthy();
    evidence.releases = releases;
    evidence.sizes.clear();
    for (worker, role, tokens) in [(1, "prefill", 64), (2, "backend", 16), odd] {
        let role = (!role.is_empty()).then(|| role.into());
        evidence.sizes.push(SizeClaim { role, ..size(ClaimOf::Card, worker, tokens) });
    }
    kvtop::diagnose::rule("KVT002").unwrap().judge(&evidence)
}

#[test]
fn from_1_5_prefill_and_decode_workers_may_differ() {
    let old = Releases::only(Release::new(1, 4));
    let new = Releases::from(1, 5);
    let unknown = Releases::from(1, 3);
    let same = (3, "backend", 16);

    assert_eq!(said(&disaggregated(old, same)), "found");
    let note =
        "Auto-configured KV block sizes: 16 (the others), 64 (prefill) (from worker reports)";
    assert_eq!(disaggregated(new, same), Verdict::clear(note));
    let open = |verdict: Verdict| match verdict {
        Verdict::Unknown { missing, .. } => missing,
        other => panic!("{other:?}"),
    };
    let missing = open(disaggregated(unknown, same));
    let missing = missing.to_string();
    assert!(missing.starts_with("needs the Dynamo release") && missing.contains("64"), "{missing}");
    let missing = open(disaggregated(new, (3, "", 32)));
    let missing = missing.to_string();
    assert!(missing.starts_with("needs to know which workers are prefill-only"), "{missing}");
    // Workers that do the same must agree in every release.
    for releases in [old, new, unknown] {
        assert_eq!(said(&disaggregated(releases, (3, "backend", 32))), "found");
        assert_eq!(said(&disaggregated(releases, (3, "prefill", 32))), "found");
    }
}

fn no_events() -> Evidence {
    let mut evidence = healthy();
    evidence.router.tally.events = 0;
    evidence.router.tally.messages = 0;
    for rank in &mut evidence.ranks {
        (rank.tally.kv.counters, rank.last_event) = (Counters::default(), None);
    }
    evidence
}

/// Returns a source that is down, with words and kinds of trouble.
pub(super) fn down(source: &str, why: &str, troubles: &[Trouble]) -> DownSource {
    DownSource {
        source: source.into(),
        why: why.into(),
        troubles: troubles.to_vec(),
        peers: None,
        unreached: Vec::new(),
    }
}

fn blind(evidence: &Evidence) -> Box<kvtop::diagnose::Finding> {
    match kvtop::diagnose::rule("KVT004").unwrap().judge(evidence) {
        Verdict::Found(finding) => finding,
        other => panic!("{other:?}"),
    }
}

#[test]
fn logs_that_nobody_reads_prove_nothing() {
    let of_logs = |evidence: &Evidence| {
        blind(evidence).proofs.iter().any(|proof| proof.source.to_string().contains("logs"))
    };
    let mut evidence = no_events();
    evidence.router.read = true;
    assert!(of_logs(&evidence));
    evidence.router.read = false;
    assert!(!of_logs(&evidence), "{:?}", blind(&evidence).proofs);
}

#[test]
fn what_keeps_events_from_kvtop_is_named_with_address_record_and_way_out() {
    let mut forbidden = no_events();
    let why = "Connection refused (os error 111); through port-forward: a port-forward needs `get` and \
               `create` on `pods/portforward` in namespace `prod`";
    let record = "kv-events, by etcd v1/event_channels/a";
    let words = format!("0 of 6 publishers connected; tcp://10.0.0.1:5: {why} ({record})");
    let trouble = Trouble::MayNotForward { namespace: Some("prod".into()) };
    forbidden.plane.down.push(DownSource {
        peers: Some(Peers { wanted: 6, reached: 0 }),
        unreached: vec![Unreached {
            address: "tcp://10.0.0.1:5".into(),
            why: why.into(),
            from: record.into(),
        }],
        ..down("zmq", &words, &[trouble])
    });
    let finding = blind(&forbidden);
    assert_eq!(
        finding.summary,
        "kvtop receives no KV events: 0 of 6 publishers connected; tcp://10.0.0.1:5: Connection \
         refused (os error 111); through port-forward: a port-forward needs `get` and `create` on \
         `pods/portforward` in namespace `prod`."
    );
    assert!(finding.proofs.iter().any(|proof| proof.source.to_string().contains(record)));
    assert!(
        finding
            .fix
            .unwrap()
            .sentence
            .to_string()
            .contains("kvtop rbac -n NAMESPACE --port-forward")
    );

    let mut elsewhere = no_events();
    elsewhere.plane.open.push("zmq".into());
    elsewhere.plane.advertised.push(AdvertisedPlane {
        plane: Plane::NatsCore,
        publishers: 2,
        first: "namespace.prod".into(),
        record: "etcd v1/event_channels/x".into(),
    });
    let finding = blind(&elsewhere);
    assert!(finding.summary.to_string().contains("over NATS core"));
    assert!(finding.proofs.iter().any(|proof| proof.source.to_string().contains("etcd v1/")));
    assert!(finding.fix.unwrap().sentence.to_string().contains("--nats-url"));

    let mut nowhere = no_events();
    nowhere.releases = Releases::from(1, 4);
    nowhere.plane.open.push("nats".into());
    let finding = blind(&nowhere);
    assert!(finding.summary.to_string().contains("publish over ZMQ, and no discovery record"));
    let fix = finding.fix.unwrap().sentence.to_string();
    assert!(["DynamoWorkerMetadata", "--etcd-url", "--zmq"].iter().all(|way| fix.contains(way)));
}

/// Returns the fix of KVT004 if a source is down for this kind of trouble.
fn way_out(source: &str, trouble: Option<Trouble>) -> String {
    let mut evidence = no_events();
    let troubles: Vec<Trouble> = trouble.into_iter().collect();
    evidence.plane.down.push(down(source, "in words", &troubles));
    blind(&evidence).fix.unwrap().sentence.to_string()
}

#[test]
fn the_role_that_reaches_nats_is_named_with_its_namespace() {
    let barred = |namespace| way_out("nats", Some(Trouble::MayNotForward { namespace }));
    let known = barred(Some("sys".into()));
    assert!(
        known.contains("kvtop rbac -n NAMESPACE --port-forward --nats-namespace sys"),
        "{known}"
    );
    assert!(barred(None).contains("--nats-namespace NAMESPACE"));

    let mut evidence = no_events();
    evidence.objects =
        kvtop::diagnose::Objects { namespace: Some("prod".into()), ..Default::default() }.into();
    let barred = Trouble::MayNotForward { namespace: Some("sys".into()) };
    evidence.plane.down.push(down("nats", "in words", &[barred]));
    let fix = blind(&evidence).fix.unwrap().sentence.to_string();
    assert!(fix.contains("kvtop rbac -n prod --port-forward --nats-namespace sys"), "{fix}");
}

#[test]
fn what_keeps_kvtop_from_the_cluster_is_mended_there() {
    let cases = [
        (Some(Trouble::LoggedOut), "Log in again"),
        (None, "`kubectl get pods`"),
        (Some(Trouble::Unspecified), "`kubectl get pods`"),
        (Some(Trouble::NoPermission { namespace: Some("prod".into()) }), "`kvtop rbac -n prod`"),
        (Some(Trouble::Certificate), "certificate-authority"),
    ];
    for (trouble, wanted) in cases {
        let fix = way_out("kubernetes", trouble);
        assert!(fix.contains(wanted) && !fix.contains("DYN_EVENT_PLANE"), "{fix}");
    }
    let nats = way_out("nats", Some(Trouble::MayNotSubscribe));
    assert!(nats.contains("NATS account"), "{nats}");
    assert!(way_out("etcd", Some(Trouble::MayNotRead)).contains("--etcd-user"));
    assert!(way_out("zmq", Some(Trouble::NoAddress)).contains("DYN_EVENT_PLANE_HOST"));
}

#[test]
fn the_words_of_a_source_never_choose_the_fix() {
    let mut evidence = no_events();
    let words = "nats: log in again; needs `pods/portforward` in namespace `sys`; certificate";
    evidence.plane.down.push(down("nats", words, &[]));
    let fix = blind(&evidence).fix.unwrap().sentence.to_string();
    assert!(fix.starts_with("Check that this is the right server"), "{fix}");
}

#[test]
fn a_publisher_out_of_reach_is_named_and_its_worker_not_called_silent() {
    let mut evidence = healthy();
    evidence.ranks[1].tally.kv.counters = Counters::default();
    (evidence.ranks[1].held, evidence.ranks[1].tally.requests.routed) = (0, 5_000);
    (evidence.ranks[1].first_event, evidence.ranks[1].last_event) = (None, None);
    let silent = kvtop::diagnose::rule("KVT003").unwrap();
    assert_eq!(said(&silent.judge(&evidence)), "found");
    let asked = evidence.ranks[1].first_routed.replace(Timestamp(evidence.at.0 - 5_000_000));
    assert_eq!(said(&silent.judge(&evidence)), "unknown", "its first prompts take a while");
    evidence.ranks[1].first_routed = asked;
    evidence.plane.unheard.push(Unheard {
        source: DownSource {
            unreached: vec![Unreached {
                address: "tcp://10.0.0.2:5".into(),
                why: "connection refused".into(),
                from: "x".into(),
            }],
            ..down("zmq", "1 of 2 publishers connected; and so on", &[])
        },
        peers: Peers { wanted: 2, reached: 1 },
        since: Timestamp(95_000_000),
    });

    let verdict = kvtop::diagnose::rule("KVT004").unwrap().judge(&evidence);
    assert_eq!(said(&verdict), "clear", "five seconds are not enough");
    assert_eq!(said(&silent.judge(&evidence)), "unknown");
    evidence.plane.unheard[0].since = Timestamp(80_000_000);
    let finding = blind(&evidence);
    assert_eq!(
        finding.summary,
        "kvtop is connected to 1 of 2 publishers of KV events: tcp://10.0.0.2:5: connection refused."
    );
}

#[test]
fn the_sentence_of_a_fix_says_what_its_change_does() {
    let rule = kvtop::diagnose::rule("KVT001").unwrap();
    let cases = [
        (Backend::Vllm, "--block-size 64", "--block-size"),
        (Backend::SgLang, "--page-size 64", "--page-size"),
        (Backend::TrtLlm, "--kv-block-size 64", "--kv-block-size"),
    ];
    for (backend, first, flag) in cases {
        let mut evidence = healthy();
        evidence.releases = Releases::only(Release::new(1, 1));
        for rank in &mut evidence.ranks {
            rank.backend = Some(backend);
            rank.tally.kv.counters.empty_stores = 100;
        }
        for worker in [1, 2] {
            for (of, tokens) in [(ClaimOf::Publisher, 32), (ClaimOf::Engine, 64)] {
                let claim = size(of, worker, tokens);
                evidence.sizes.push(SizeClaim { ground: Ground::Observed, ..claim });
            }
        }

        let Verdict::Found(finding) = rule.judge(&evidence) else { panic!("{backend:?}") };
        let fix = finding.fix.unwrap();

        let lead = format!("Stop all workers. Then start the workers with {first}, ");
        assert!(fix.sentence.to_string().starts_with(&lead), "{}", fix.sentence);
        let [kvtop::diagnose::Change::Set { flags, value, .. }] = fix.changes.as_slice() else {
            panic!("{fix:?}")
        };
        assert_eq!((flags[0], value.as_str()), (flag, "64"));
    }
}
