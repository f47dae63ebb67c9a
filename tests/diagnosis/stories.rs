//! Faults and cures that are seen late, or while nothing is asked: what is told of them is of the workers that are there.

use kvtop::domain::Severity;
use kvtop::frame::Origin;
use kvtop::report::check;
use kvtop::snapshot::{CheckVerdict, Snapshot};

use super::settings::found;
use crate::support::{fixture, frames, played};

fn seen(name: &str) -> Snapshot {
    played(&frames(&fixture(&format!("stories/{name}.frames.gz")))).1
}

fn wrong(seen: &Snapshot) -> Vec<&'static str> {
    super::wrong(seen).into_iter().map(|finding| finding.id).collect()
}

#[test]
fn events_that_stop_under_traffic_are_not_well() {
    let seen = seen("events_stop_102");

    let check = seen.checks.iter().find(|check| check.id == "KVT003").unwrap();
    let CheckVerdict::Unknown { missing } = &check.verdict else { panic!("{check:?}") };
    assert!(missing.contains("w-0 and 2 more: none for 89 s"), "{missing}");
    assert!(check::text(&seen).starts_with("KVTOP UNKNOWN"), "{}", check::text(&seen));
}

#[test]
fn what_a_container_logged_does_not_accuse_the_next_one_in_its_pod() {
    let seen = seen("cured_in_the_same_pods_102");

    assert!(wrong(&seen).is_empty(), "{}", check::text(&seen));
}

#[test]
fn what_a_log_said_before_blocks_were_stored_accuses_nobody() {
    // Without Kubernetes nothing tells that the containers restarted.
    let mut all = frames(&fixture("stories/cured_in_the_same_pods_102.frames.gz"));
    all.retain(|frame| !matches!(frame.origin, Origin::Kube { .. }));
    let seen = played(&all).1;

    assert!(wrong(&seen).is_empty(), "{}", check::text(&seen));
}

#[test]
fn a_mismatch_of_all_workers_ends_with_them_although_nothing_is_asked() {
    let seen = seen("replaced_while_idle_161");

    assert!(wrong(&seen).is_empty(), "{}", check::text(&seen));
}

#[test]
fn the_worker_whose_log_tells_of_a_mismatch_is_named_and_the_others_are_not() {
    let seen = seen("one_of_three_met_idle_161");

    let finding = found(&seen, "KVT001").unwrap();
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.subjects.len(), 1, "{finding:?}");
    assert!(finding.summary.contains("w-0 publishes 16-token blocks"), "{}", finding.summary);
    let fix = &finding.fix.as_ref().unwrap().sentence;
    assert!(fix.contains("w-0") && !fix.contains("Stop all workers"), "{fix}");
}

#[test]
fn a_worker_that_a_router_removed_is_gone_while_nobody_lists_workers() {
    let seen = seen("replaced_unwatched_161");

    assert!(wrong(&seen).is_empty(), "{}", check::text(&seen));
}

#[test]
fn workers_that_are_not_told_to_publish_are_found_while_nothing_is_asked() {
    let seen = seen("nobody_publishes_met_idle_161");

    let finding = found(&seen, "KVT003").unwrap_or_else(|| panic!("{}", check::text(&seen)));
    assert_eq!(finding.severity, Severity::Critical);
    assert!(finding.summary.ends_with("had a cache hit."), "{}", finding.summary);
}

#[test]
fn a_router_that_reports_workers_without_a_source_is_not_well() {
    let mut all = frames(&fixture("stories/nobody_publishes_met_idle_161.frames.gz"));
    all.retain(|frame| !matches!(frame.origin, Origin::Log { .. }));
    let seen = played(&all).1;

    assert!(check::text(&seen).starts_with("KVTOP UNKNOWN"), "{}", check::text(&seen));
    let check = seen.checks.iter().find(|check| check.id == "KVT003").unwrap();
    let CheckVerdict::Unknown { missing } = &check.verdict else { panic!("{check:?}") };
    assert!(missing.contains("3 workers without a source"), "{missing}");
}

#[test]
fn what_a_container_published_does_not_speak_for_the_next_one_in_its_pod() {
    let seen = seen("silent_since_its_restart_090");

    let finding = found(&seen, "KVT003").unwrap_or_else(|| panic!("{}", check::text(&seen)));
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.subjects.len(), 1, "{finding:?}");
}

#[test]
fn a_model_card_overrides_the_mode_of_the_frontend() {
    let seen = seen("card_of_round_robin_161");

    let finding = found(&seen, "KVT005").unwrap();
    assert_eq!((finding.severity, finding.subjects.len()), (Severity::Warning, 0));
    assert!(
        finding.summary.starts_with("Frontends route to worker1, worker2 by round-robin"),
        "{}",
        finding.summary
    );
    assert!(check::text(&seen).starts_with("KVTOP WARNING - KVT005"), "{}", check::text(&seen));
}

#[test]
fn a_router_that_hears_another_event_plane_is_no_other_hashing() {
    for name in ["router_on_zmq_161", "router_on_nats_161"] {
        let seen = seen(name);

        let ids = wrong(&seen);
        assert_eq!(ids, ["KVT019"], "{name}: {}", check::text(&seen));
        let finding = found(&seen, "KVT019").unwrap();
        assert_eq!(finding.severity, Severity::Critical);
        assert!(
            finding.summary.starts_with("No KV event reaches the routers"),
            "{}",
            finding.summary
        );
    }
}

#[test]
fn what_a_process_logged_does_not_accuse_the_next_one_in_the_same_log() {
    let seen = seen("cured_in_one_log_151");

    assert!(wrong(&seen).is_empty(), "{}", check::text(&seen));
}

#[test]
fn what_a_process_logs_is_of_it_and_not_of_the_one_before() {
    let seen = seen("one_of_three_restarted_151");

    let finding = found(&seen, "KVT001").unwrap();
    assert!(finding.summary.contains("worker3 publishes 32-token blocks"), "{}", finding.summary);
    assert_eq!(finding.subjects.len(), 1, "{finding:?}");
}

#[test]
fn a_log_that_names_the_mode_of_each_choice_tells_it_without_kubernetes() {
    let seen = seen("round_robin_142");

    let finding = found(&seen, "KVT005").unwrap();
    assert_eq!(finding.summary, "The frontend routes by round-robin, not by cached blocks.");
}

#[test]
fn the_metrics_of_a_router_on_zmq_are_those_of_its_release() {
    let seen = seen("healthy_zmq_142");

    assert!(wrong(&seen).is_empty(), "{}", check::text(&seen));
}
