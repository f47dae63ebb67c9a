//! The outputs that docs/INVESTIGATION.md quotes are those of the binary.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::frame::Frame;
use kvtop::record::{Header, RecordWriter};
use kvtop::simulator::{Scenario, Simulation};

use crate::gate::play::{Plane, notes};
use crate::support::bless;
use crate::support::late::attached;
use crate::support::scratch;

/// 12:00 on 21 November 2026.
const START: Timestamp = Timestamp(1_795_262_400_000_000);

/// Moments of the story: the name in the page, the second, and whether the next step is taken then.
const MOMENTS: [(&str, u64, bool); 6] = [
    ("incident", 60, true),
    ("applied", 66, false),
    ("one restarted", 76, false),
    ("resolved", 180, true),
    ("router lost history", 230, true),
    ("workers restarted", 330, false),
];

/// Attaches of somebody who comes late: the name in the page, the seconds of attaching and of judging.
const LATE: [(&str, u64, u64); 4] = [
    ("late: incident", 45, 59),
    ("late: applied", 63, 68),
    ("late: cured", 126, 146),
    ("late: five minutes after", 420, 440),
];

/// Returns what `kvtop check` says at the end of `frames`, without the performance data.
fn said(folder: &Path, frames: &[Frame]) -> String {
    let file = folder.join("story.frames");
    drop(std::fs::remove_file(&file));
    let mut writer = RecordWriter::create(&file, &Header::default()).unwrap();
    for frame in frames {
        writer.write(frame).unwrap();
    }
    writer.finish().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "--replay"])
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().next().unwrap_or_default();
    line.split(" | ").next().unwrap_or_default().to_owned()
}

#[test]
fn the_investigation_quotes_what_the_binary_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/INVESTIGATION.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let folder = scratch();
    let mut simulation = Simulation::new(Scenario::GtcDemo, 1, START);
    let mut frames = Vec::new();
    let mut stale = Vec::new();
    let mut quote = |name: &str, said: &str| {
        let quoted = format!("<!-- {name} -->\n```\n{said}\n```\n");
        let begin = page.find(&format!("<!-- {name} -->")).unwrap();
        let end = begin + page[begin..].find("\n```\n\n").unwrap() + "\n```\n".len();
        if page[begin..end] != quoted {
            page.replace_range(begin..end, &quoted);
            stale.push(quoted);
        }
    };
    for (name, second, goes_on) in MOMENTS {
        frames.extend(simulation.advance(START.after(Duration::from_secs(second))));
        quote(name, &said(&folder, &frames));
        if goes_on {
            assert!(simulation.fix());
        }
    }
    let mut simulation = Simulation::new(Scenario::GtcDemo, 1, START);
    let mut all = notes(Plane::Jetstream, START);
    all.extend(simulation.advance(START.after(Duration::from_secs(60))));
    assert!(simulation.fix());
    all.extend(simulation.advance(START.after(Duration::from_secs(440))));
    for (name, from, until) in LATE {
        quote(name, &said(&folder, &attached(&all, from, until)));
    }
    if bless::wanted() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    assert!(
        stale.is_empty(),
        "stale: run tests/bless and look at the difference:\n{}",
        stale.join("\n")
    );
}
