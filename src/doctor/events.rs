//! Checks of the sources: events, logs and metrics arrive, and none are missing.

use super::{PLANES, Seen, row};
use crate::domain::{RankLedger, SourceName, SourceState, thousands};
use crate::dynamo::plane::EVENTS_BY_ZMQ;
use crate::report::doctor::{Check, Verdict};
use crate::snapshot::{Snapshot, SourceRow, StreamRow};

const AREA: &str = "sources";

pub(super) fn checks(seen: &Seen) -> Vec<Check> {
    let mut checks = vec![plane(seen)];
    let planes: Vec<Check> =
        PLANES.iter().filter_map(|plane| row(&seen.snapshot, plane)).map(of_plane).collect();
    if planes.is_empty() {
        let none = Check::new(AREA, "nats", Verdict::Failed, "no server found");
        checks.push(none.advise("pass one with --nats-url; without events no caches are shown"));
    }
    checks.extend(planes);
    checks.extend(seen.snapshot.ledger.streams.iter().map(of_stream));
    checks.extend(numbers(&seen.snapshot));
    checks.extend(hole(&seen.snapshot));
    let records = [SourceName::Etcd, SourceName::Discovery].into_iter();
    checks.extend(records.filter_map(|name| row(&seen.snapshot, &name)).map(of_plane));
    checks.extend(ignored(&seen.snapshot));
    // Without Kubernetes there are neither.
    if let Some(wanted) = &seen.wanted {
        checks.push(of_pods(row(&seen.snapshot, &SourceName::Logs), "logs", wanted.logs.len()));
        checks.push(of_pods(
            row(&seen.snapshot, &SourceName::Metrics),
            "metrics",
            wanted.scrapes.len(),
        ));
    }
    checks
}

/// Returns the check that lists ignored Dynamo namespaces.
fn ignored(snapshot: &Snapshot) -> Option<Check> {
    let foreign = &snapshot.deployment.foreign;
    let names = foreign.iter().map(|(name, messages)| format!("{name} ({messages})"));
    let seen = format!("messages ignored: {}", names.collect::<Vec<_>>().join(", "));
    (!foreign.is_empty()).then(|| Check::new(AREA, "other Dynamo namespaces", Verdict::Ok, seen))
}

/// Returns what became of the messages of a stream.
fn of_stream(row: &StreamRow) -> Check {
    let counts = &row.counts;
    let fates = [
        (counts.before, "deleted before kvtop attached"),
        (counts.aged_out, "deleted before kvtop could read them"),
        (counts.dropped, "dropped by kvtop"),
        (counts.missing, "missing, being read again"),
        (row.unseen, "passed on and not seen"),
    ];
    let received = thousands(counts.received);
    let received = format!("{received} of {} messages received", thousands(counts.published));
    let fates = fates.into_iter().filter(|(count, _)| *count > 0);
    let fates = fates.map(|(count, fate)| format!("{} {fate}", thousands(count)));
    let seen = std::iter::once(received).chain(fates).collect::<Vec<_>>().join(", ");
    let even = counts.is_even() && row.unseen == 0;
    let verdict = if even { Verdict::Ok } else { Verdict::Warning };
    let check = Check::new(AREA, format!("stream {}", row.name), verdict, seen);
    if even { check } else { check.advise("counts of blocks may be wrong until workers restart") }
}

/// Returns the check that names KV events that did not arrive, and what closes the hole.
fn hole(snapshot: &Snapshot) -> Option<Check> {
    let hole = snapshot.ledger.hole.as_ref()?;
    let check = Check::new(AREA, "missing events", Verdict::Warning, hole.sentence());
    Some(check.advise(hole.awaited(snapshot.at)))
}

/// Returns what became of the messages that workers numbered.
fn numbers(snapshot: &Snapshot) -> Option<Check> {
    let rows = snapshot.workers.iter().filter(|row| !row.gone && row.ledger.received > 0);
    let sum = |count: fn(&RankLedger) -> u64| -> u64 {
        rows.clone().map(|row| count(&row.ledger)).fold(0, u64::saturating_add)
    };
    let (received, missing) = (sum(|it| it.received), sum(|it| it.missing));
    let reordered = sum(|it| it.reordered);
    let (got, lacks) = (thousands(received), thousands(missing));
    let seen =
        format!("{got} received, {lacks} missing, {} after later ones", thousands(reordered));
    let verdict = if missing == 0 { Verdict::Ok } else { Verdict::Warning };
    (received > 0).then(|| Check::new(AREA, "numbers of workers' events", verdict, seen))
}

fn plane(seen: &Seen) -> Check {
    let Some(plane) = &seen.snapshot.deployment.event_plane else {
        let told = "unknown: no event arrived during the check";
        let check = Check::new(AREA, "event plane", Verdict::Unknown, told);
        return if listens_to_nats_alone(seen) { check.advise(EVENTS_BY_ZMQ) } else { check };
    };
    let heard = seen.snapshot.workers.iter().filter(|worker| worker.last_event.is_some()).count();
    let told = format!("{plane}; received events of {heard} ranks");
    Check::new(AREA, "event plane", Verdict::Ok, told)
}

/// Returns true when nothing but NATS was asked for events, or where they go.
fn listens_to_nats_alone(seen: &Seen) -> bool {
    let there = |name: SourceName| row(&seen.snapshot, &name).is_some();
    there(SourceName::Nats)
        && ![SourceName::Zmq, SourceName::Etcd, SourceName::Discovery, SourceName::Kubernetes]
            .into_iter()
            .any(there)
}

fn of_plane(row: &SourceRow) -> Check {
    let check = |verdict, seen: String| Check::new(AREA, row.name.as_str(), verdict, seen);
    let said = if row.why.is_empty() { row.state.name() } else { row.why.as_str() };
    match row.state {
        SourceState::Live | SourceState::Lossy => {
            let rtt =
                row.rtt.map(|rtt| format!("answers within {:.1} ms", rtt.as_secs_f64() * 1e3));
            let why = Some(row.why.clone()).filter(|why| !why.is_empty());
            let seen = why.into_iter().chain(rtt).collect::<Vec<_>>().join("; ");
            let seen = if seen.is_empty() { said.to_owned() } else { seen };
            if row.state == SourceState::Live && !is_short(row) {
                return check(Verdict::Ok, seen);
            }
            check(Verdict::Warning, seen)
                .advise("data that does not arrive is missing in all views")
        }
        SourceState::Connecting => check(Verdict::Failed, format!("no answer yet: {said}")),
        _ => check(Verdict::Failed, said.to_owned())
            .advise("without events no caches are shown; logs and metrics still are"),
    }
}

/// Returns true for a source with fewer connections than it should have.
fn is_short(row: &SourceRow) -> bool {
    row.peers.is_some_and(|peers| peers.reached != peers.wanted)
}

/// Returns the check of a source with an endpoint in each of `wanted` pods.
fn of_pods(row: Option<&SourceRow>, name: &str, wanted: usize) -> Check {
    let check = |verdict, seen: &str| Check::new(AREA, name, verdict, seen);
    match row {
        _ if wanted == 0 => check(Verdict::Unknown, "no pod to read from"),
        None => check(Verdict::Unknown, "no data received"),
        Some(row) if row.state == SourceState::Down => check(Verdict::Failed, &row.why),
        Some(row) if !is_short(row) && row.peers.is_some_and(|it| it.wanted == wanted as u64) => {
            check(Verdict::Ok, &row.why)
        }
        Some(row) => check(Verdict::Warning, &row.why),
    }
}
