//! Counter-examples: what is almost a fault, and faults of two workers at once.

use std::collections::BTreeMap;

use kvtop::diagnose::{Diagnosis, Evidence, Ground, OfWorker, RULES, SizeClaim, Verdict, Window};
use kvtop::domain::{ClaimOf, Counters, Timestamp, WorkerId};
use kvtop::model::{KvTally, OverlapBy, RequestTally, RouterTally};

use super::rules::{blinded, healthy, rank, setting, size};

type Change = fn(&mut Evidence);

/// Of each rule, what is just below its condition, and what more makes it true.
const NEAR: &[(&str, Change, Change)] = &[
    ("KVT001", |it| empty(it, 49), |it| empty(it, 51)),
    (
        "KVT002",
        |it| {
            // A worker that left had another size.
            it.sizes.push(size(ClaimOf::Card, 2, 16));
            it.ranks[1].gone = true;
        },
        |it| it.ranks[1].gone = false,
    ),
    ("KVT003", |it| silenced(it, 1, 9), |it| zero_overlap(it, 1, 1)),
    (
        "KVT004",
        |it| {
            (it.router.tally.events, it.router.tally.routed) = (0, 9);
            for rank in &mut it.ranks {
                (rank.tally.kv.counters, rank.last_event) = (Counters::default(), None);
            }
        },
        |it| it.router.tally.routed = 10,
    ),
    (
        "KVT005",
        |it| it.router.weights = vec![("frontend".into(), 0.05)],
        |it| it.router.weights = vec![("frontend".into(), 0.0)],
    ),
    (
        "KVT006",
        |it| it.settings.kv_events = Some(setting(true)),
        |it| it.settings.kv_events = Some(setting(false)),
    ),
    ("KVT007", |it| rejected(it, 19), |it| rejected(it, 20)),
    (
        "KVT008",
        |it| (it.ranks[1].gone, it.ranks[1].open_holes) = (true, 3),
        |it| it.ranks[1].gone = false,
    ),
    ("KVT009", |it| it.ranks[0].tally.kv.returned = 39, |it| it.ranks[0].tally.kv.returned = 40),
    (
        "KVT010",
        |it| it.ranks[0].utilization = Some(0.949),
        |it| it.ranks[0].utilization = Some(0.95),
    ),
    (
        "KVT011",
        |it| it.ranks[0].tally.requests.routed = 560,
        |it| it.ranks[0].tally.requests.routed = 1000,
    ),
    // Its last event is 29 s after it left, then 31 s.
    ("KVT012", |it| left(it, 1, 70), |it| left(it, 1, 68)),
    ("KVT013", |it| routers(it, [32, 32]), |it| routers(it, [16, 32])),
    (
        "KVT014",
        |it| it.ranks[0].tally.kv.known_refused = 9,
        |it| it.ranks[0].tally.kv.known_refused = 10,
    ),
    ("KVT015", |it| blind(it, 11), |it| blind(it, 12)),
    (
        "KVT016",
        |it| (it.sizes[1].tokens, it.sizes[1].ground) = (16, Ground::Default),
        |it| it.sizes[1].ground = Ground::Setting,
    ),
    (
        "KVT017",
        |it| {
            unlike(it);
            it.router.tally.overlaps.note(OverlapBy::Decision, 4.0);
        },
        unlike,
    ),
    ("KVT018", |it| ignored(it, 359.0), |it| ignored(it, 361.0)),
    ("KVT019", |it| it.router.tally.unreadable = 88, |it| it.router.tally.unreadable = 89),
    ("KVT020", |it| it.ranks[0].accepted = 1050, |it| it.ranks[0].accepted = 1051),
    (
        "KVT021",
        |it| {
            it.load.first_token.as_mut().unwrap().p95 = 2.0;
            it.load.workers[0].in_flight.most = 64.0;
        },
        |it| it.load.workers[0].in_flight.most = 65.0,
    ),
];

fn empty(evidence: &mut Evidence, stores: u64) {
    for rank in &mut evidence.ranks {
        rank.tally.kv.counters.empty_stores = stores;
    }
}

fn zero_overlap(evidence: &mut Evidence, place: usize, requests: u64) {
    for _ in 0..requests {
        evidence.ranks[place].tally.requests.overlaps.note(OverlapBy::Decision, 0.0);
    }
}

fn silenced(evidence: &mut Evidence, place: usize, requests: u64) {
    let silent = &mut evidence.ranks[place];
    (silent.tally.kv.counters, silent.held, silent.last_event) = (Counters::default(), 0, None);
    zero_overlap(evidence, place, requests);
}

fn rejected(evidence: &mut Evidence, stores: u64) {
    let tally = &mut evidence.router.tally;
    (tally.parent_full, tally.parent_held, tally.parent_before) = (stores, stores, stores);
}

fn left(evidence: &mut Evidence, place: usize, second: u64) {
    let rank = &mut evidence.ranks[place];
    (rank.gone, rank.left) = (true, Some(Timestamp(second * 1_000_000)));
}

fn routers(evidence: &mut Evidence, sizes: [u32; 2]) {
    evidence.sizes.retain(|claim| claim.of != ClaimOf::Router);
    for (pod, tokens) in ["a", "b"].into_iter().zip(sizes) {
        let claim = size(ClaimOf::Router, 0, tokens);
        evidence.sizes.push(SizeClaim { pod: Some(pod.into()), ..claim });
    }
}

fn blind(evidence: &mut Evidence, requests: u64) {
    blinded(evidence, requests);
    for rank in &mut evidence.ranks {
        rank.tally.kv.forks = 20;
    }
}

/// No two prompts start alike.
fn unlike(evidence: &mut Evidence) {
    blinded(evidence, 200);
    for rank in &mut evidence.ranks {
        rank.tally.kv.roots = 100;
    }
}

fn ignored(evidence: &mut Evidence, blocks: f64) {
    let regret = evidence.router.regret.as_mut().unwrap();
    regret.chosen_blocks = regret.best_blocks - blocks;
}

#[test]
fn every_rule_has_a_near_miss_that_is_not_found_and_is_when_it_is_a_little_more() {
    let near: BTreeMap<&str, (Change, Change)> =
        NEAR.iter().map(|(id, near, more)| (*id, (*near, *more))).collect();
    let mut wrong = Vec::new();
    for rule in RULES {
        let id = rule.id();
        let Some((near, more)) = near.get(id) else {
            wrong.push(format!("{id} has no near miss"));
            continue;
        };
        let mut evidence = healthy();
        near(&mut evidence);
        let below = rule.judge(&evidence);
        more(&mut evidence);
        let above = rule.judge(&evidence);
        if matches!(below, Verdict::Found(_)) || !matches!(above, Verdict::Found(_)) {
            wrong.push(format!("{id}: below {below:?}\n  above {above:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judged(id: &str, evidence: &Evidence) -> Verdict {
    RULES.iter().find(|rule| rule.id() == id).unwrap().judge(evidence)
}

/// Who attaches late has seen too little of one worker to accuse it, and too much to take it to be well.
#[test]
fn a_worker_that_seems_ill_beside_others_is_suspected_until_enough_was_seen() {
    let empties = |stores: u64| {
        let mut it = healthy();
        let rank = &mut it.ranks[1];
        let counters = &mut rank.tally.kv.counters;
        (counters.stores, counters.empty_stores, counters.stored_blocks) = (stores, stores, 0);
        rank.held = 0;
        judged("KVT001", &it)
    };
    assert!(matches!(empties(4), Verdict::Clear { .. }), "{:?}", empties(4));
    for few in [5, 19] {
        let verdict = empties(few);
        let Verdict::Unknown { missing, suspects: true } = &verdict else { panic!("{verdict:?}") };
        assert!(missing.to_string().contains(&format!("all {few} so far are empty")), "{missing}");
    }
    assert!(matches!(empties(20), Verdict::Found(_)), "{:?}", empties(20));

    let silent = |requests: u64, zero: u64| {
        let mut it = healthy();
        silenced(&mut it, 1, zero);
        it.ranks[1].tally.requests.routed = requests;
        judged("KVT003", &it)
    };
    let suspects = |verdict: &Verdict| matches!(verdict, Verdict::Unknown { suspects: true, .. });
    for (requests, zero, suspected) in
        [(4, 0, false), (5, 0, true), (29, 0, true), (4, 4, false), (9, 9, true)]
    {
        let verdict = silent(requests, zero);
        assert!(matches!(verdict, Verdict::Unknown { .. }), "{requests}: {verdict:?}");
        assert_eq!(suspects(&verdict), suspected, "{requests}: {verdict:?}");
    }
    // The events of a worker that only logs name may be among those of another namespace, which are ignored.
    let mut foreign = healthy();
    silenced(&mut foreign, 1, 9);
    foreign.ranks[1].tally.requests.routed = 9;
    assert!(suspects(&judged("KVT003", &foreign)));
    foreign.has_foreign = true;
    (foreign.ranks[1].registered, foreign.ranks[1].pod) = (false, None);
    assert!(!suspects(&judged("KVT003", &foreign)));
    assert!(matches!(silent(30, 0), Verdict::Found(_)));
    assert!(matches!(silent(10, 10), Verdict::Found(_)));
}

/// What routers told before kvtop listened counts too: no request since then shows whether the worker publishes.
#[test]
fn a_worker_that_routers_always_found_empty_is_doubted_after_a_late_attach() {
    let late = |zero: u64, misses: u64, idle: bool| {
        let mut it = healthy();
        silenced(&mut it, 1, 0);
        let rank = &mut it.ranks[1];
        (rank.tally.requests, rank.told) = (RequestTally::default(), RequestTally::default());
        it.router.told = RouterTally::default();
        for _ in 0..zero {
            rank.told.overlaps.note(OverlapBy::Decision, 0.0);
            rank.unhit += 1;
            it.router.told.overlaps.note(OverlapBy::Decision, 0.0);
        }
        for other in 0..100 {
            let blocks = if other < misses { 0.0 } else { 4.0 };
            it.router.told.overlaps.note(OverlapBy::Decision, blocks);
        }
        if idle {
            it.ranks.iter_mut().for_each(|rank| rank.tally.kv = KvTally::default());
        }
        judged("KVT003", &it)
    };
    for idle in [false, true] {
        for (zero, misses, doubted) in [
            (9, 20, false),
            (10, 20, true),
            // Where others miss too, a worker without hits is nothing special.
            (10, 80, false),
            (20, 80, false),
            (21, 80, true),
            (1_000, 100, false),
        ] {
            let verdict = late(zero, misses, idle);
            let Verdict::Unknown { missing, suspects } = &verdict else { panic!("{verdict:?}") };
            assert_eq!(*suspects, doubted, "{zero} of {zero}, {misses} of 100, {idle}: {missing}");
        }
    }
}

/// It stopped publishing a while ago, and what routers found before says nothing of now.
#[test]
fn a_worker_that_routers_find_empty_since_its_last_hit_is_doubted_too() {
    let late = |unhit: u64| {
        let mut it = healthy();
        silenced(&mut it, 1, 0);
        let rank = &mut it.ranks[1];
        (rank.tally.requests, rank.told) = (RequestTally::default(), RequestTally::default());
        it.router.told = RouterTally::default();
        for request in 0..150 {
            let blocks = if request % 10 == 0 { 0.0 } else { 4.0 };
            it.router.told.overlaps.note(OverlapBy::Decision, blocks);
            if request < 50 {
                rank.told.overlaps.note(OverlapBy::Decision, blocks);
            }
        }
        rank.unhit = unhit;
        judged("KVT003", &it)
    };
    for (unhit, doubted) in [(0, false), (9, false), (12, true)] {
        let verdict = late(unhit);
        let Verdict::Unknown { suspects, .. } = &verdict else { panic!("{verdict:?}") };
        assert_eq!(*suspects, doubted, "{unhit}");
    }
}

type Fault = fn(&mut Evidence, usize);

/// Faults of one worker.
const OF_WORKERS: &[(&str, Fault)] = &[
    ("KVT001", |it, place| it.ranks[place].tally.kv.counters.empty_stores = 100),
    ("KVT003", |it, place| silenced(it, place, 20)),
    ("KVT009", |it, place| it.ranks[place].tally.kv.returned = 95),
    ("KVT010", |it, place| it.ranks[place].utilization = Some(0.99)),
    ("KVT012", |it, place| left(it, place, 10)),
    ("KVT014", |it, place| it.ranks[place].tally.kv.known_refused = 60),
    ("KVT017", |it, place| {
        let rank = &it.ranks[place];
        let off = OfWorker {
            worker: Some(rank.rank.worker),
            who: rank.name.clone(),
            set: setting(false),
        };
        it.settings.prefix_reuse.push(off);
    }),
    ("KVT020", |it, place| it.ranks[place].accepted = 1200),
];

/// Returns four workers, of which the first two have these faults.
fn pair(first: Fault, second: Fault) -> Evidence {
    let mut evidence = healthy();
    evidence.ranks.extend([rank(3), rank(4)]);
    first(&mut evidence, 0);
    second(&mut evidence, 1);
    evidence
}

#[test]
fn faults_of_two_workers_are_both_named_and_each_accuses_its_own() {
    let mut wrong = Vec::new();
    let pairs = OF_WORKERS.iter().flat_map(|first| OF_WORKERS.iter().map(move |it| (first, it)));
    for ((one, first), (two, second)) in pairs.filter(|(a, b)| a.0 != b.0) {
        let evidence = pair(*first, *second);
        let window = Window {
            from: None,
            ranks: evidence.ranks.iter().map(|rank| rank.tally).collect(),
            told_ranks: evidence.ranks.iter().map(|rank| rank.told).collect(),
            router: evidence.router.tally,
            told: evidence.router.told,
            regret: evidence.router.regret,
        };
        let mut diagnosis = Diagnosis::default();
        diagnosis.judge(&evidence, &|_| window.clone());
        let raised = diagnosis.raised();
        for (id, worker) in [(one, WorkerId(1)), (two, WorkerId(2))] {
            match raised.iter().find(|raised| raised.rule.id() == *id) {
                None => wrong.push(format!("{one} on w0, {two} on w1: {id} is not shown")),
                Some(raised) => {
                    let others = raised.finding.subjects.iter().any(|it| *it != worker);
                    if others {
                        let summary = &raised.finding.summary.to_string();
                        wrong.push(format!("{one} on w0, {two} on w1: {summary}"));
                    }
                }
            }
        }
        let expected = [*one, *two];
        let others = raised.iter().filter(|raised| !expected.contains(&raised.rule.id()));
        wrong.extend(others.map(|raised| {
            format!(
                "{one} on w0, {two} on w1: also {} {}",
                raised.rule.id(),
                raised.finding.summary
            )
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
