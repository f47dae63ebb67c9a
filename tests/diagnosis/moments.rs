//! Recorded deployments of real Dynamo, met at more than a hundred moments: the truth of each follows from what
//! happened to the deployment and when.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use kvtop::domain::Severity;
use kvtop::frame::Frame;
use kvtop::snapshot::Snapshot;

use crate::support::late::attached;
use crate::support::{bless, fixture, frames, played};

/// How a deployment is from a second on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    /// Nothing is wrong.
    Well,
    /// One of these is, and has to be named.
    Wrong(&'static [&'static str]),
    /// The cure is under way, or its effect is not proven yet.
    Between(&'static [&'static str]),
}

use Truth::{Between, Well, Wrong};

const SIZES: &[&str] = &["KVT001"];
const HASHED: &[&str] = &["KVT001", "KVT015"];
const HISTORY: &[&str] = &["KVT007"];

/// A recording: its length in seconds, and how the deployment is from which second on.
type Recorded = (&'static str, u64, &'static [(u64, Truth)]);

const RECORDED: &[Recorded] = &[
    ("after_fix_verify_090", 108, &[(0, Wrong(SIZES)), (14, Between(SIZES)), (36, Well)]),
    ("after_roll_fresh_090", 172, &[(0, Wrong(SIZES)), (20, Between(SIZES)), (37, Well)]),
    (
        "nohist_090",
        225,
        &[
            (0, Well),
            (17, Between(HISTORY)),
            (40, Wrong(HISTORY)),
            (66, Between(HISTORY)),
            (87, Well),
        ],
    ),
    ("card16_161", 143, &[(0, Wrong(HASHED)), (50, Between(HASHED)), (70, Well)]),
    ("two_models_102", 78, &[(0, Well)]),
    ("roll_healthy_161", 46, &[(0, Well)]),
    ("disagg_161", 61, &[(0, Well)]),
    ("healthy_102", 198, &[(0, Well)]),
];

/// How long somebody listens before judging.
const LISTENS: [u64; 3] = [9, 16, 30];

/// Findings that are true of a workload or of a small cache, whatever else is wrong.
const BESIDE: [&str; 4] = ["KVT009", "KVT010", "KVT016", "KVT020"];

/// Attaches per recording and span of listening, spread evenly.
const ATTACHES: u64 = 7;

fn truth_at(phases: &[(u64, Truth)], second: u64) -> Truth {
    phases.iter().rev().find(|(from, _)| *from <= second).unwrap().1
}

/// Returns what may be said by somebody who was there from `from` to `until`.
fn may_be_said(phases: &[(u64, Truth)], from: u64, until: u64) -> Vec<&'static str> {
    let during = (from..=until).map(|second| truth_at(phases, second));
    let ids = during.flat_map(|truth| match truth {
        Well => &[][..],
        Wrong(ids) | Between(ids) => ids,
    });
    ids.chain(&BESIDE).copied().collect()
}

/// Returns what is wrong with what is said, if anything.
fn mistake(seen: &Snapshot, phases: &[(u64, Truth)], from: u64, until: u64) -> Option<String> {
    let loud = |row: &&kvtop::snapshot::FindingRow| row.severity > Severity::Info && !row.advisory;
    let open = seen.findings.iter().filter(loud).filter(|row| row.resolved.is_none());
    let open: Vec<&str> = open.map(|row| row.id).collect();
    let raised = seen.findings.iter().chain(seen.past.iter()).filter(loud);
    let allowed = may_be_said(phases, from, until);
    let others: Vec<&str> = raised.map(|row| row.id).filter(|id| !allowed.contains(id)).collect();
    if !others.is_empty() {
        return Some(format!("{others:?} is not true"));
    }
    match truth_at(phases, until) {
        Wrong(ids) if !ids.iter().any(|id| open.contains(id)) => {
            // Who listened for a few seconds may lack data, and says which.
            let unknown = |row: &kvtop::snapshot::CheckRow| {
                ids.contains(&row.id)
                    && matches!(&row.verdict, kvtop::snapshot::CheckVerdict::Unknown { missing } if !missing.is_empty())
            };
            let brief = until - from < 10 && seen.checks.iter().any(unknown);
            (!brief).then(|| format!("{ids:?} is not named, but {open:?}"))
        }
        // A finding of before the cure is resolved by half a minute of proof.
        Well if until - from < 30 && truth_at(phases, from) == Well => {
            let wrong: Vec<&&str> = open.iter().filter(|id| !BESIDE.contains(id)).collect();
            (!wrong.is_empty()).then(|| format!("{wrong:?} is not true any more"))
        }
        _ => None,
    }
}

const BEGIN: &str = "<!-- recorded: begin -->";
const END: &str = "<!-- recorded: end -->";

#[test]
fn at_a_hundred_moments_of_recorded_deployments_what_is_said_is_true_then() {
    let recordings: Vec<(&Recorded, Vec<Frame>)> = RECORDED
        .iter()
        .map(|it| (it, frames(&fixture(&format!("live/{}.frames.gz", it.0)))))
        .collect();
    let jobs = recordings.iter().enumerate().flat_map(|(place, ((_, length, _), _))| {
        LISTENS.into_iter().flat_map(move |listens| {
            let last = length - listens - 1;
            let starts = (0..ATTACHES).map(move |number| 2 + (last - 2) * number / (ATTACHES - 1));
            starts.map(move |from| (place, from, from + listens))
        })
    });
    let jobs = Mutex::new(jobs.collect::<Vec<_>>());
    let told = Mutex::new(vec![(0_u32, Vec::new()); recordings.len()]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((place, from, until)) = jobs.lock().unwrap().pop() else { return };
                    let ((name, _, phases), all) = &recordings[place];
                    let (_, seen) = played(&attached(all, from, until));
                    let wrong = mistake(&seen, phases, from, until);
                    let mut told = told.lock().unwrap();
                    told[place].0 += 1;
                    told[place]
                        .1
                        .extend(wrong.map(|why| format!("{name} +{from}..{until}: {why}")));
                }
            });
        }
    });
    let told = told.into_inner().unwrap();
    let mistakes: Vec<&String> = told.iter().flat_map(|(_, wrong)| wrong).collect();
    assert_eq!(mistakes, Vec::<&String>::new());
    let moments: u32 = told.iter().map(|(count, _)| count).sum();
    assert!(moments >= 100, "{moments}");
    let mut table = String::from("| recording | moments | right |\n|--|--|--|\n");
    for (((name, ..), _), (count, wrong)) in recordings.iter().zip(&told) {
        let right = *count as usize - wrong.len();
        writeln!(table, "| `{name}` | {count} | {right} |").unwrap();
    }
    writeln!(table, "| all | {moments} | {moments} |").unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DIAGNOSIS.md");
    let known = std::fs::read_to_string(file).unwrap();
    let (before, rest) = known.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    bless::page("docs/DIAGNOSIS.md", &format!("{before}{BEGIN}\n{table}{END}{after}"));
}
