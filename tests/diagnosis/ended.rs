//! Faults that have ended, as late attaches and those who watched see them.

use std::time::Duration;

use kvtop::diagnose::{Diagnosis, Evidence, Verdict, Window, rule};
use kvtop::domain::Timestamp;
use kvtop::model::{KvTally, OverlapBy};
use kvtop::snapshot::CheckVerdict;
use kvtop::tui::judge::{Named, State};

use super::rules::healthy;
use crate::support::late::attached;
use crate::support::{fixture, frames, played};

const NOW: Timestamp = Timestamp(1_000_000_000);

/// Judges at `at` a cache that was too small until `ended`.
fn judge(diagnosis: &mut Diagnosis, at: Timestamp, ended: Timestamp) {
    let evidence = Evidence { at, active: Some(at), ..healthy() };
    let count = |from: Option<Timestamp>| {
        let mut ranks: Vec<_> = evidence.ranks.iter().map(|rank| rank.tally).collect();
        if from.is_none_or(|from| from < ended) {
            for tally in &mut ranks {
                tally.kv.returned = 60;
            }
        }
        let (router, told) = (evidence.router.tally, evidence.router.told);
        let told_ranks = evidence.ranks.iter().map(|rank| rank.told).collect();
        Window { from, ranks, told_ranks, router, told, regret: evidence.router.regret }
    };
    diagnosis.judge(&evidence, &count);
}

/// Returns for how many seconds the fault has been mending at `at`; none once it is resolved, or never raised.
fn churn(diagnosis: &Diagnosis, at: Timestamp) -> Option<u64> {
    let raised = diagnosis.raised();
    let active = raised.iter().find(|it| it.rule.id() == "KVT009" && it.resolved.is_none())?;
    Some(active.mending.map_or(0, |since| at.since(since).as_secs()))
}

#[test]
fn late_attaches_find_a_fault_as_far_resolved_as_those_who_watched() {
    for ago in [10, 45, 58, 65, 120, 280] {
        let ended = NOW.before(Duration::from_secs(ago));
        let (mut late, mut watched) = (Diagnosis::default(), Diagnosis::default());
        for second in (0..=290).rev() {
            judge(&mut watched, NOW.before(Duration::from_secs(second)), ended);
        }
        judge(&mut late, NOW, ended);

        let (fresh, seen) = (churn(&late, NOW), churn(&watched, NOW));
        match (fresh, seen) {
            (Some(one), Some(other)) => assert!(one.abs_diff(other) <= 5, "{ago}"),
            _ => assert_eq!(fresh, seen, "{ago} seconds ago"),
        }
        // From then on they stay together.
        for second in 1..40 {
            let at = NOW.after(Duration::from_secs(second));
            judge(&mut late, at, ended);
            judge(&mut watched, at, ended);
        }
        let at = NOW.after(Duration::from_secs(39));
        assert_eq!(churn(&late, at).is_some(), churn(&watched, at).is_some(), "{ago}");
    }
}

#[test]
fn one_event_of_a_worker_ends_the_finding_that_it_is_silent() {
    let mut diagnosis = Diagnosis::default();
    let mut look = |at: Timestamp, publishes: bool| {
        let mut evidence = Evidence { at, active: Some(at), ..healthy() };
        if !publishes {
            let rank = &mut evidence.ranks[1];
            (rank.tally.kv, rank.held, rank.last_event) = (KvTally::default(), 0, None);
            (0..20).for_each(|_| {
                rank.tally.requests.overlaps.note(OverlapBy::Decision, 0.0);
            });
        }
        let window = Window {
            from: None,
            ranks: evidence.ranks.iter().map(|rank| rank.tally).collect(),
            told_ranks: evidence.ranks.iter().map(|rank| rank.told).collect(),
            router: evidence.router.tally,
            told: evidence.router.told,
            regret: None,
        };
        diagnosis.judge(&evidence, &|_| window.clone());
        let raised = diagnosis.raised();
        raised.iter().find(|it| it.rule.id() == "KVT003").map(|it| it.resolved.is_some())
    };

    assert_eq!(look(NOW, false), Some(false));
    assert_eq!(look(NOW.after(Duration::from_secs(1)), true), Some(true));
}

#[test]
fn requests_of_a_moment_prove_no_silence() {
    let said = |seconds: u64| {
        let mut evidence = healthy();
        let rank = &mut evidence.ranks[1];
        (rank.tally.kv, rank.held, rank.last_event) = (KvTally::default(), 0, None);
        rank.last_routed = rank.first_routed.map(|first| first.after(Duration::from_secs(seconds)));
        matches!(rule("KVT003").unwrap().judge(&evidence), Verdict::Found(_))
    };
    assert_eq!([said(1), said(30)], [false, true]);
}

#[test]
fn a_router_that_lacks_a_few_parents_or_just_started_is_not_well_yet() {
    let said = |change: fn(&mut Evidence)| {
        let mut evidence = healthy();
        change(&mut evidence);
        match rule("KVT007").unwrap().judge(&evidence) {
            Verdict::Clear { .. } => String::from("clear"),
            Verdict::Unknown { missing, .. } => missing.to_string(),
            Verdict::Found(_) => String::from("found"),
        }
    };
    assert_eq!(said(|_| ()), "clear");
    let few = said(|it| {
        let tally = &mut it.router.tally;
        (tally.parent_full, tally.parent_held, tally.parent_before) = (7, 7, 7);
    });
    assert!(few.starts_with("needs at least 20 rejected stores: "), "{few}");
    let fresh = said(|it| {
        it.router.began = Some(Timestamp(97_000_000));
        it.router.heard.routed = Some(Timestamp(96_000_000));
    });
    assert_eq!(fresh, "needs requests (none routed since the router started 3 s ago)");
}

#[test]
fn checks_of_new_workers_say_that_what_came_was_of_others() {
    let all = frames(&fixture("live/nohist_090.frames.gz"));
    let (_, seen) = played(&attached(&all, 105, 113));
    let missing = |id: &str| {
        let check = seen.checks.iter().find(|check| check.id == id).unwrap();
        match &check.verdict {
            CheckVerdict::Unknown { missing } => missing.clone(),
            other => panic!("{id}: {other:?}"),
        }
    };
    for id in ["KVT003", "KVT007"] {
        assert!(
            missing(id).contains("of the workers that are there")
                || missing(id).contains("to the workers that are there"),
            "{}",
            missing(id)
        );
    }
}

#[test]
fn new_workers_are_not_accused_by_what_a_recovering_finding_says_of_then() {
    let all = frames(&fixture("live/card16_161.frames.gz"));
    let (_, seen) = played(&attached(&all, 0, 95));
    let sizes = seen.findings.iter().find(|row| row.id == "KVT001").unwrap();
    assert!(sizes.mending.is_some() && sizes.evidence.iter().any(|row| row.worker.is_some()));

    let named = Named::new(&seen);
    let present = seen.workers.iter().filter(|row| !row.gone);
    let states: Vec<State> = present.map(|row| named.worker(row).state).collect();
    assert_eq!(states, [State::Ok; 2]);
}
