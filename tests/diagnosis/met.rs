//! Recordings of real Dynamo, each with what is true of it.

use kvtop::report::check;
use kvtop::snapshot::Snapshot;

use crate::support::{fixture, frames, played};

fn seen(name: &str) -> Snapshot {
    played(&frames(&fixture(&format!("met/{name}.frames.gz")))).1
}

/// Returns the line of `check`, and the ids of the findings that count.
fn told(seen: &Snapshot) -> (String, Vec<&'static str>) {
    let open = super::wrong(seen).into_iter().map(|finding| finding.id);
    (check::text(seen), open.collect())
}

#[test]
fn requests_whose_blocks_are_all_cached_are_no_idleness() {
    let seen = seen("served_unseen_161");
    let (line, open) = told(&seen);

    assert!(line.starts_with("KVTOP UNKNOWN - "), "{line}");
    assert!(line.contains("routers found nothing cached for 48 requests"), "{line}");
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn requests_that_fail_are_no_idleness() {
    let seen = seen("all_fail_161");
    let (line, _) = told(&seen);

    assert!(line.starts_with("KVTOP UNKNOWN - needs requests that succeed: all"), "{line}");
}

#[test]
fn prompts_shorter_than_a_block_accuse_no_worker_of_silence() {
    for name in ["short_prompts_161", "short_prompts_090"] {
        let seen = seen(name);
        let (line, open) = told(&seen);
        assert!(line.starts_with("KVTOP OK - ") && open.is_empty(), "{name}: {line}");
        // Nothing has been seen of the others all the same.
        let check = seen.checks.iter().find(|check| check.id == "KVT003").unwrap();
        let kvtop::snapshot::CheckVerdict::Unknown { missing } = &check.verdict else {
            panic!("{name}: {check:?}");
        };
        assert!(missing.starts_with("needs more requests to worker"), "{name}: {missing}");
    }
}

#[test]
fn a_worker_that_published_before_is_not_silent_where_nothing_is_ever_found() {
    let (line, open) = told(&seen("published_before_161"));

    assert!(line.starts_with("KVTOP UNKNOWN - ") && open.is_empty(), "{line}");
}

#[test]
fn the_size_that_the_router_adopted_outweighs_a_majority_that_it_refuses() {
    let seen = seen("refused_majority_161");
    let (_, open) = told(&seen);

    assert_eq!(open, ["KVT002"]);
    let finding = seen.findings.iter().find(|finding| finding.id == "KVT002").unwrap();
    let fix = &finding.fix.as_ref().unwrap().sentence;
    assert!(fix.starts_with("Restart worker3, worker4 with --block-size 16"), "{fix}");
    assert!(fix.ends_with("the size that the router hashes with."), "{fix}");
    // Only those that the fix restarts are marked; the consequences are seen at the other one.
    let workers = seen.workers.iter().filter(|row| finding.subjects.contains(&row.rank.worker));
    let sizes: Vec<_> = workers.map(|row| row.block_size.card).collect();
    assert_eq!(sizes, [Some(32), Some(32)]);
}

#[test]
fn saved_logs_accuse_the_worker_whose_log_says_so_and_no_other() {
    let seen = seen("logs_of_one_wrong_161");
    let finding = seen.findings.iter().find(|finding| finding.id == "KVT001").unwrap();
    let fix = &finding.fix.as_ref().unwrap().sentence;

    let summary = "Block sizes differ: worker3 publishes 32-token blocks but its engine uses 16.";
    assert!(finding.summary.starts_with(summary), "{}", finding.summary);
    assert!(fix.contains(", then restart worker3. "), "{fix}");
    assert!(!fix.contains("stop all workers"), "{fix}");
}

#[test]
fn two_namespaces_of_two_sizes_are_no_fault() {
    for name in ["two_namespaces_161", "two_namespaces_090"] {
        let seen = seen(name);
        let (line, open) = told(&seen);
        assert!(line.starts_with("KVTOP OK - ") && open.is_empty(), "{name}: {line}");
    }
}

#[test]
fn who_attaches_within_a_minute_of_a_change_of_workers_waits_for_the_rollout_too() {
    let seen = seen("attached_in_rollout_161");
    let (line, open) = told(&seen);

    let waits = "KVTOP UNKNOWN - block sizes are 32 (w1, w2); 16 (w0); waiting for a rollout to end: worker ";
    assert!(line.starts_with(waits) && open.is_empty(), "{line}");
}

#[test]
fn where_engines_have_the_size_of_the_cards_the_publishers_are_mended() {
    let seen = seen("publisher_alone_161");
    let finding = seen.findings.iter().find(|finding| finding.id == "KVT001").unwrap();
    let fix = &finding.fix.as_ref().unwrap().sentence;

    assert!(fix.starts_with("Restart the workers with the publisher's block size 16 ("), "{fix}");
    assert!(!fix.contains("tokens_per_block"), "{fix}");
}
