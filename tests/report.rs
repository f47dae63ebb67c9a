//! `kvtop report`: the page of an incident.

use std::process::Output;
use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, Origin};
use kvtop::report::incident::{Incident, PageFormat};
use kvtop::simulator::{Scenario, SimConfig, Simulation};
use kvtop::snapshot::{FindingRow, ViewQuery};

use crate::support::fixture;
use crate::support::users_cluster::{BAD, GOOD, NAMESPACE, Past, UsersCluster, healthy};

const START: Timestamp = Timestamp(1_795_224_204_000_000);

fn kvtop(arguments: &[&str]) -> Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_kvtop")).args(arguments).output().unwrap()
}

/// A mismatch that is cured after a minute, and two minutes after that; a picture each second.
pub(crate) fn incident() -> Incident {
    let mut simulation = Simulation::new(Scenario::Mismatch, 1, START);
    let mut engine = Engine::new(EngineOptions::default());
    let mut incident = Incident::default();
    let hostile = "ERROR dynamo: <script>alert(1)</script> \u{1b}[31m | `";
    let origin = Origin::Log {
        namespace: "gtc-demo".into(),
        pod: "<img src=x>|`frontend".into(),
        container: "main".into(),
    };
    engine.ingest(&[Frame::new(START, origin, hostile.to_owned())]);
    for second in 1..=180 {
        let at = START.after(Duration::from_secs(second));
        if second == 60 {
            assert!(simulation.fix());
        }
        engine.ingest(&simulation.advance(at));
        engine.advance(at);
        let snapshot = engine.snapshot(&ViewQuery::default(), at);
        if second == 180 { incident.end(&snapshot) } else { incident.note(&snapshot) }
    }
    incident
}

#[test]
fn the_page_tells_what_happened_when_and_what_users_felt() {
    let incident = incident();

    let page = incident.page("Outage of Friday", PageFormat::Markdown);

    for part in [
        "# Outage of Friday",
        "CRITICAL raised: KVT001 block-size-mismatch",
        "resolved: KVT001 block-size-mismatch",
        "## Effect on users",
        "| Before, ",
        "| After, ",
        "Rejected stores  ",
        "### Fix",
        "### Would disprove this",
        "## Not seen",
    ] {
        let found = page.contains(part) || part == "| Before, " && page.contains("| During, ");
        assert!(found, "{part}\n{page}");
    }
    assert!(!page.contains("not resolved by the end"), "{page}");
}

/// A picture in the middle of a second shows what the rules say by then; they say it again when the second ends.
#[test]
fn a_finding_that_a_picture_shows_before_its_second_ends_is_listed_once() {
    let mut simulation = Simulation::new(Scenario::Mismatch, 1, START);
    let mut engine = Engine::new(EngineOptions::default());
    let at = START.after(Duration::from_secs(30));
    engine.ingest(&simulation.advance(at));
    let mut picture = engine.snapshot(&ViewQuery::default(), at);
    let found = picture.findings[0].clone();
    let mut incident = Incident::default();
    for raised in [795, 845] {
        picture.at = at.after(Duration::from_secs(raised));
        picture.findings[0].raised = at.after(Duration::from_millis(raised));
        incident.note(&picture);
    }
    // It went, and came again.
    let resolved = FindingRow {
        raised: picture.findings[0].raised,
        resolved: Some(at.after(Duration::from_secs(900))),
        ..found
    };
    picture.at = at.after(Duration::from_secs(1_000));
    picture.past = [resolved].into();
    picture.findings[0].raised = at.after(Duration::from_secs(950));
    incident.end(&picture);

    let page = incident.page("Outage", PageFormat::Markdown);

    assert_eq!(page.matches("CRITICAL raised: KVT001").count(), 2, "{page}");
    assert_eq!(page.matches("resolved: KVT001").count(), 1, "{page}");
}

#[test]
fn the_html_page_needs_nothing_else_and_trusts_no_text() {
    let page = incident().page("a <b> & \"c\"", PageFormat::Html);

    assert!(page.contains("<h1>a &lt;b&gt; &amp; &quot;c&quot;</h1>"));
    for danger in ["<script", "<img", "http://", "https://", "\u{1b}", " src=", "url("] {
        assert!(!page.contains(danger), "{danger}");
    }
    assert!(page.matches("class=\"raised\"").count() > 1 && page.contains("class=\"resolved\""));
    assert!(page.matches("<path class=\"curve\"").count() >= 4);
    for tag in ["table", "td", "svg", "figure", "pre", "ul", "h2"] {
        let count = |mark: String| page.matches(&mark).count();
        assert_eq!(
            count(format!("<{tag}>")) + count(format!("<{tag} ")),
            count(format!("</{tag}>")),
            "{tag}"
        );
    }
}

#[test]
fn the_command_reads_a_recording_from_where_it_is_told_to() {
    let path = fixture("captures/0.9.0-incident_load10.frames.gz");
    let path = path.to_str().unwrap();

    let whole = kvtop(&["report", path, "-o", "md"]);
    let late = kvtop(&["report", path, "-o", "md", "--from", "-2s"]);
    let html = kvtop(&["report", path]);
    let missing = kvtop(&["report", "/nowhere.frames"]);

    let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    assert!(whole.status.success() && late.status.success() && html.status.success());
    assert!(text(&whole).contains("(7 s). Status at the end: CRITICAL."), "{}", text(&whole));
    assert!(text(&late).contains("(2 s). Status at the end: CRITICAL."), "{}", text(&late));
    assert!(text(&html).starts_with("<!doctype html>"));
    assert!(!missing.status.success() && missing.stdout.is_empty());
}

#[test]
fn the_last_minutes_of_a_recording_are_its_end() {
    let path = fixture("captures/0.9.0-incident_load10.frames.gz");
    let path = path.to_str().unwrap();
    let last = kvtop(&["report", path, "-o", "md", "--last", "2s"]);
    let from = kvtop(&["report", path, "-o", "md", "--from", "-2s"]);
    assert_eq!(last.stdout, from.stdout);
    for wrong in [
        &["report"][..],
        &["report", "--from", "-2s"],
        &["report", path, "--last", "2s", "--from", "-2s"],
        &["report", path, "--for", "2s"],
    ] {
        assert_eq!(kvtop(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_deployment_is_reported_as_far_back_as_its_sources_reach() {
    let ago = Duration::from_secs;
    let past = Past::since(ago(150))
        .then(ago(80), |it| it.deploy(&[BAD; 3]))
        .then(ago(78), Simulation::restart_workers);
    let cluster =
        UsersCluster::start(SimConfig { workers: vec![GOOD; 3], ..healthy() }, past).await;
    let arguments = cluster.arguments(NAMESPACE);
    let mut all = vec!["report", "--last", "2m", "--for", "3s", "-o", "md"];
    all.extend(arguments.iter().map(String::as_str));

    let output = kvtop(&all);

    let page = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let attached = page.lines().find(|line| line.contains("kvtop attached |")).unwrap();
    let since = page.lines().find(|line| line.contains("evidence of KVT001 begins")).unwrap();
    // Times of day sort as text, but for midnight.
    let time = |line: &str| line.split_whitespace().nth(1).unwrap().to_owned();
    assert!(time(since) < time(attached) || time(attached).starts_with("00:0"), "{page}");
    for part in [
        "Status at the end: CRITICAL",
        "## Sources",
        "| jetstream | ",
        "| logs | ",
        "| Earliest known, ",
        " | Now, ",
        " started |",
        "kvtop was not attached before ",
        "Blocks in the index  ",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}
