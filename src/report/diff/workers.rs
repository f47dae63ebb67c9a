//! Workers: who joined, who left, and the figures of those on both sides.

use super::rows::{Row, Section, Unit, Value};
use super::state::{State, Worker};

/// A figure of a worker; none while it is unknown.
type Figure = fn(&Worker) -> Option<f64>;

const FIGURES: &[(&str, Unit, Figure)] = &[
    ("blocks held", Unit::Count, |it| it.held),
    ("capacity in blocks", Unit::Count, |it| it.capacity_blocks),
    ("KV cache in use", Unit::Share, |it| it.kv_utilization),
    ("prompt tokens found in its cache", Unit::Share, |it| it.hit_rate),
    ("mean overlap in blocks", Unit::Mean, |it| it.mean_overlap),
];

pub(super) fn rows(a: &State, b: &State) -> Vec<Row> {
    // A side that shows no worker at all says nothing about any.
    let (Some(a), Some(b)) = (a.present(), b.present()) else { return Vec::new() };
    let mut left = b.clone();
    let mut rows = Vec::new();
    for worker in &a {
        let found = left
            .iter()
            .position(|other| is_same_process(worker, other))
            .or_else(|| left.iter().position(|other| is_same_pod(worker, other)));
        match found.map(|at| left.remove(at)) {
            Some(other) => rows.extend(compared(worker, other)),
            None => rows.extend(presence(worker, ["present", "absent"])),
        }
    }
    for worker in left {
        rows.extend(presence(worker, ["absent", "present"]));
    }
    rows
}

fn is_same_process(a: &Worker, b: &Worker) -> bool {
    a.id == b.id && a.dp_rank == b.dp_rank
}

fn is_same_pod(a: &Worker, b: &Worker) -> bool {
    a.pod.is_some() && a.pod == b.pod && a.dp_rank == b.dp_rank
}

fn compared(a: &Worker, b: &Worker) -> Vec<Row> {
    let name = name(b);
    let figures = FIGURES.iter().filter_map(|(figure, unit, of)| {
        Row::number(Section::Workers, figure, *unit, of(a), of(b))
    });
    // A new process in the same pod has another id.
    let restarted = (a.id != b.id).then(|| {
        let id = |worker: &Worker| Some(Value::Text(worker.id.clone()));
        Row::value(Section::Workers, "id (restarted)", id(a), id(b))
    });
    restarted.flatten().into_iter().chain(figures).map(|row| row.about(&name)).collect()
}

fn presence(worker: &Worker, [a, b]: [&str; 2]) -> Option<Row> {
    let side = |word: &str| Some(Value::Text(word.to_owned()));
    let row = Row::value(Section::Workers, "presence", side(a), side(b))?;
    Some(row.about(&name(worker)))
}

/// Returns the pod of a worker, or else its id: aliases are of one session.
fn name(worker: &Worker) -> String {
    let process = worker.pod.clone().unwrap_or_else(|| worker.id.clone());
    if worker.dp_rank == 0 { process } else { format!("{process} rank {}", worker.dp_rank) }
}
