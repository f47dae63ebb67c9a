//! What the screen, `check`, the exporter and a replay say of one moment, and whether it is true.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use kvtop::diagnose::Thresholds;
use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::Frame;
use kvtop::player::Player;
use kvtop::record::{Header, RecordWriter};
use kvtop::report::check::{self, Status};
use kvtop::report::prometheus::{self, Level, Process, Watched};
use kvtop::snapshot::{CheckVerdict, FindingRow, Snapshot, Standing, ViewQuery};
use kvtop::tui::findings;
use serde_json::Value;

use super::faults::Fault;
use super::fixes;
use super::play::{Moment, Played};
use super::table::Cell;
use crate::diagnosis::QUERY;
use crate::support::scratch;

/// How often a live engine is looked at.
const LOOKS: Duration = Duration::from_secs(10);

/// What a face says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    exit: u64,
    open: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

/// Meets the deployment at `moment` with every face, and judges what they say.
pub(super) fn met(fault: &Fault, played: &Played, moment: Moment) -> Cell {
    let frames = played.attached(moment);
    let live = watched(&frames);
    let screen = on_screen(&live);
    let again = replayed(&frames);
    let others = [
        ("check", checked(&check::json(&live))),
        ("export", exported(&exporter_page(&live))),
        ("replay", checked(&check::json(&again))),
    ];
    let mut cell = judged(fault, played, moment, &live);
    if matches!(moment, Moment::During | Moment::Late)
        && let Some(wrong) = fixes::tried(played, moment, &live, fault.id)
    {
        cell.is_applied = true;
        cell.wrong.extend(wrong);
    }
    for (name, said) in others {
        if said != screen {
            cell.wrong.push(format!("the screen says {screen:?}, {name} {said:?}"));
        }
    }
    cell
}

/// Takes frames in as they come, and looks now and then.
fn watched(frames: &[Frame]) -> Snapshot {
    let mut engine = Engine::new(EngineOptions::default());
    let end = frames.last().unwrap().at;
    let mut rest = frames;
    let mut at = frames[0].at;
    while at < end {
        at = at.after(LOOKS).min(end);
        let (now, later) = rest.split_at(rest.partition_point(|frame| frame.at <= at));
        rest = later;
        for lot in now.chunks(1024) {
            engine.ingest(lot);
        }
        engine.advance(at);
        drop(engine.snapshot(&QUERY, at));
    }
    engine.snapshot(&ViewQuery::default(), end)
}

/// Writes a recording of `frames` and plays it to its end.
fn replayed(frames: &[Frame]) -> Snapshot {
    let folder = scratch();
    let path = folder.join("moment.frames");
    write(&path, frames);
    let mut player = Player::open(&path, 1 << 30, Thresholds::default()).unwrap();
    player.finish().unwrap();
    let at: Timestamp = player.position();
    let seen = player.engine().snapshot(&ViewQuery::default(), at);
    std::fs::remove_dir_all(folder).unwrap();
    seen
}

fn write(path: &Path, frames: &[Frame]) {
    let mut writer = RecordWriter::create(path, &Header::default()).unwrap();
    for frame in frames {
        writer.write(frame).unwrap();
    }
    writer.finish().unwrap();
}

fn on_screen(seen: &Snapshot) -> Said {
    let exit = match seen.standing() {
        Standing::Ok => 0,
        Standing::Warning => 1,
        Standing::Critical => 2,
        Standing::Unknown => 3,
    };
    let open = findings::open(seen).into_iter().map(|row| row.id.to_owned()).collect();
    let unknown = |verdict: &CheckVerdict| matches!(verdict, CheckVerdict::Unknown { .. });
    let unknown = seen.checks.iter().filter(|check| unknown(&check.verdict));
    Said { exit, open, unknown: unknown.map(|check| check.id.to_owned()).collect() }
}

/// Reads a report of `check`.
fn checked(report: &str) -> Said {
    let report: Value = serde_json::from_str(report).unwrap();
    let ids = |list: &str, wanted: &dyn Fn(&Value) -> bool| {
        let rows = report[list].as_array().unwrap().iter().filter(|row| wanted(row));
        rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    Said {
        exit: report["exit"].as_u64().unwrap(),
        open: ids("findings", &|row| row["resolved"].is_null()),
        unknown: ids("checks", &|row| row["verdict"] == "unknown"),
    }
}

/// Returns the page that an exporter would serve.
fn exporter_page(live: &Snapshot) -> String {
    let watched = Watched { snapshot: live, namespace: None, ready: true, named: true };
    prometheus::export(&[watched], Level::Worker, &Process::default()).text()
}

/// Reads a page of metrics.
fn exported(page: &str) -> Said {
    let ones = |name: &str| {
        let start = format!("{name}{{");
        let lines =
            page.lines().filter_map(move |line| line.strip_prefix(&start)?.strip_suffix("} 1"));
        lines.collect::<Vec<&str>>()
    };
    let label = |line: &str, name: &str| {
        let value = line.split_once(&format!("{name}=\"")).unwrap().1;
        value.split_once('"').unwrap().0.to_owned()
    };
    let ids = |lines: &[&str]| lines.iter().map(|line| label(line, "finding")).collect();
    let mut checks = ones("kvtop_check");
    checks.retain(|line| line.contains("state=\"unknown\""));
    let status = label(ones("kvtop_status")[0], "status");
    let exits = ["ok", "warning", "critical", "unknown"];
    Said {
        exit: exits.iter().position(|known| *known == status).unwrap() as u64,
        open: ids(&ones("kvtop_finding")),
        unknown: ids(&checks),
    }
}

fn told(row: &FindingRow) -> String {
    let fix = row.fix.as_ref().map_or("", |fix| &fix.sentence);
    format!("{} {} ({}) FIX {fix}", row.id, row.summary, row.grade.name())
}

/// Judges what is said at `moment` by the truth of `fault`.
fn judged(fault: &Fault, played: &Played, moment: Moment, seen: &Snapshot) -> Cell {
    let broken = moment.is_wrong() && !fault.id.is_empty();
    let loud: Vec<&FindingRow> =
        findings::open(seen).into_iter().filter(|row| row.counts()).collect();
    let recovers = |row: &FindingRow| findings::mending(row, seen.at).is_some();
    let mut wrong = Vec::new();
    for row in &loud {
        let own = row.id == fault.id || fault.beside.contains(&row.id);
        if !own || !(broken || recovers(row)) {
            wrong.push(told(row));
        }
    }
    let lead = loud.first();
    let missing = |id: &str| {
        let check = seen.checks.iter().find(|check| check.id == id);
        match check.map(|check| &check.verdict) {
            Some(CheckVerdict::Unknown { missing }) if !missing.is_empty() => Some(missing.clone()),
            _ => None,
        }
    };
    let said = match lead {
        Some(row) if recovers(row) => format!("recovering {}", row.id),
        Some(row) => row.id.to_owned(),
        None if broken && missing(fault.id).is_some() => "unknown".to_owned(),
        None => match Status::new(seen) {
            Status::Unknown => "unknown".to_owned(),
            _ => "healthy".to_owned(),
        },
    };
    if broken {
        match lead {
            Some(row) if row.id == fault.id => {
                let fix = row.fix.as_ref();
                let advice = fix.map_or(String::new(), |fix| {
                    format!("{} {}", fix.sentence, fix.kubectl.as_deref().unwrap_or_default())
                });
                let lacks = fault.fix.iter().filter(|word| !advice.contains(**word));
                wrong.extend(lacks.map(|word| format!("no `{word}` in the advice: {advice}")));
            }
            Some(_) => {}
            None => {
                let missing = missing(fault.id);
                if missing.is_none() || !(fault.hidden)(played.plane, moment) {
                    wrong.push(format!(
                        "{} is not named: {}",
                        fault.id,
                        missing.unwrap_or(said.clone())
                    ));
                }
            }
        }
    }
    Cell { said, wrong, is_applied: false }
}
