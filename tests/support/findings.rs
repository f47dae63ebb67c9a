//! Findings made by hand, in pictures that suit them. The wording is invented.

use std::time::Duration;

use kvtop::domain::Medium;
use kvtop::domain::Timestamp;
use kvtop::snapshot::{
    CheckRow, CheckVerdict, EvidenceRow, FindingRow, FixRow, Grade, Severity, Snapshot,
};

use super::pictures::{self, NOW};

fn ago(seconds: u64) -> Timestamp {
    NOW.before(Duration::from_secs(seconds))
}

fn evidence(claim: &str, value: &str, source: &str, at: Option<Timestamp>) -> EvidenceRow {
    let places = ["w0", "w1", "w2"].iter().position(|alias| claim.contains(alias));
    let worker = places.map(|place| pictures::healthy().workers[place].rank.worker);
    let (claim, value, source) = (claim.to_owned(), value.to_owned(), source.to_owned());
    let of = |words: &[&str]| words.iter().any(|word| source.contains(word));
    let medium = match () {
        () if of(&["log"]) => Medium::Logs,
        () if of(&["event", "index"]) => Medium::Events,
        () if of(&["metric", "gauge", "scrape"]) => Medium::Metrics,
        () if of(&["decision"]) => Medium::Decisions,
        () => Medium::Settings,
    };
    EvidenceRow {
        media: vec![medium],
        kind: "cache_hits",
        claim,
        value,
        source,
        since: None,
        at,
        against: false,
        worker,
    }
}

/// Returns KVT001 as the demo's workers would raise it.
pub(crate) fn block_size() -> FindingRow {
    let against = EvidenceRow {
        against: true,
        ..evidence("requests with any overlap", "3 of 412", "router log", Some(ago(40)))
    };
    FindingRow {
        id: "KVT001",
        name: "block-size-mismatch",
        severity: Severity::Critical,
        grade: Grade::Confirmed,
        advisory: false,
        topic: topic("KVT001"),
        summary: String::from(
            "Workers publish blocks of 32 tokens, their engines have blocks of 16.",
        ),
        effect: String::from("The router's index stays empty: requests go by load only."),
        evidence: vec![
            evidence("publisher block size, w0", "32", "args of pod x7k2p", Some(ago(472))),
            evidence("engine block size, w0", "16", "KV events", Some(ago(1))),
            evidence("publisher block size, w1", "32", "args of pod m4q9d", Some(ago(472))),
            evidence(
                "stores refused, parent unknown",
                "5,496 of 5,520 in 1 min",
                "KV events",
                None,
            ),
            evidence("Failed to find parent block", "5,496 per minute", "router log", Some(NOW)),
            against,
        ],
        refuted_by: String::from("Any store of w0 or w1 that carries 32 tokens in a block."),
        competing: vec![
            String::from("KVT007 router-without-history: no, the parents are not held either."),
            String::from("KVT009 cache-churn: no, the removals name blocks that never came."),
        ],
        fix: Some(FixRow {
            sentence: String::from("Start the workers with --kv-block-size 16."),
            yaml: Some(String::from(PATCH)),
            kubectl: Some(String::from(
                "kubectl -n gtc-demo patch dynamographdeployment gtc-demo --type merge --patch-file patch.yaml",
            )),
            restarts: String::from("trtllmworker, one pod after the other"),
            verify: String::from("kvtop check -n gtc-demo --wait 2m"),
            rollout: None,
        }),
        subjects: Vec::new(),
        explains: vec!["KVT014", "KVT009"],
        raised: ago(472),
        mending: None,
        resolved: None,
    }
}

/// The patch of [`block_size`].
pub(crate) const PATCH: &str = "\
spec:
  services:
    TRTLLMWorker:
      extraPodSpec:
        mainContainer:
          args:
            - --kv-block-size
            - \"16\"
";

/// Returns KVT016 as the users' documents describe it.
pub(crate) fn declared() -> FindingRow {
    FindingRow {
        id: "KVT016",
        name: "block-size-declared",
        severity: Severity::Warning,
        grade: Grade::ConfigOnly,
        advisory: false,
        topic: topic("KVT016"),
        summary: String::from(
            "Frontend KV block size (16) does not match worker block size (32). Set \
             DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend or configure tokens_per_block=16 on workers.",
        ),
        effect: String::from(
            "The frontend does not read it: its router takes the model card's size. By itself it does not \
             explain a cold router. Declared, not in effect here.",
        ),
        evidence: vec![
            evidence("declared block size, frontend", "16, the default", "env of pod rmjwp", None),
            evidence("publisher block size, w0", "32", "model card", Some(ago(35))),
        ],
        refuted_by: String::from("Overlap in the router's decisions."),
        competing: Vec::new(),
        fix: Some(FixRow {
            sentence: String::from(
                "Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend, which does not read it.",
            ),
            restarts: String::from("the frontend"),
            ..FixRow::default()
        }),
        subjects: Vec::new(),
        explains: Vec::new(),
        raised: ago(35),
        mending: None,
        resolved: None,
    }
}

/// Returns a warning without a remedy.
pub(crate) fn pressure() -> FindingRow {
    FindingRow {
        id: "KVT010",
        name: "kv-pressure",
        severity: Severity::Warning,
        grade: Grade::Likely,
        advisory: false,
        topic: topic("KVT010"),
        summary: String::from("w1 uses 99 % of its KV blocks."),
        effect: String::from("It evicts what it is about to need."),
        evidence: vec![evidence("KV blocks in use, w1", "99 %", "metrics", Some(NOW))],
        refuted_by: String::new(),
        competing: Vec::new(),
        fix: None,
        subjects: Vec::new(),
        explains: Vec::new(),
        raised: ago(362),
        mending: None,
        resolved: None,
    }
}

fn silent() -> FindingRow {
    FindingRow {
        id: "KVT003",
        name: "worker-silent",
        severity: Severity::Critical,
        grade: Grade::Likely,
        advisory: false,
        topic: topic("KVT003"),
        summary: String::from("w1 serves 0.6 requests a second and publishes no KV event."),
        raised: ago(90),
        subjects: Vec::new(),
        explains: Vec::new(),
        ..block_size()
    }
}

fn topic(id: &str) -> kvtop::domain::Topic {
    kvtop::diagnose::rule(id).unwrap().topic()
}

fn check(id: &'static str, name: &'static str, verdict: CheckVerdict, note: &str) -> CheckRow {
    let rule = kvtop::diagnose::rule(id).unwrap();
    CheckRow {
        id,
        name,
        topic: topic(id),
        may_be_critical: rule.may_be_critical(),
        stake: rule.stake(),
        suspects: false,
        verdict,
        note: note.to_owned(),
    }
}

fn unknown(missing: &str) -> CheckVerdict {
    CheckVerdict::Unknown { missing: missing.to_owned() }
}

/// Returns checks that fit `findings`.
fn checks(findings: &[FindingRow]) -> Vec<CheckRow> {
    let clear = CheckVerdict::Clear;
    let mut checks = vec![
        check("KVT001", "block-size-mismatch", clear.clone(), "engine, publisher, router 32"),
        check("KVT002", "workers-disagree", clear.clone(), "2 of 2 report 32"),
        check("KVT003", "worker-silent", clear.clone(), "2 of 2 publish, last event now"),
        check("KVT004", "event-plane-not-visible", clear.clone(), "JetStream, 0.8 ms"),
        check("KVT005", "router-not-kv", unknown("the router's arguments: no pod is read"), ""),
        check("KVT006", "approximate-mode", unknown("the router's arguments: no pod is read"), ""),
        check("KVT010", "kv-pressure", clear.clone(), "62 % and 69 % in use"),
        check("KVT011", "imbalance", clear.clone(), "51 % and 49 % of requests"),
        check("KVT014", "event-loss", clear.clone(), "0 gaps in 41,234 events"),
        check("KVT016", "block-size-declared", unknown("the frontend's environment"), ""),
    ];
    for row in &mut checks {
        if findings.iter().any(|finding| finding.id == row.id && finding.resolved.is_none()) {
            row.verdict = CheckVerdict::Found;
        }
    }
    checks
}

/// Returns `picture` with these findings, and with checks.
pub(crate) fn with(mut picture: Snapshot, findings: Vec<FindingRow>) -> Snapshot {
    picture.checks = checks(&findings);
    picture.findings = findings;
    picture
}

/// Returns the demo's mismatch, found.
pub(crate) fn mismatch() -> Snapshot {
    with(pictures::mismatch(), vec![block_size(), pressure()])
}

/// Returns a deployment whose frontend declares another block size, with nothing proven.
pub(crate) fn config_only() -> Snapshot {
    with(pictures::healthy(), vec![declared()])
}

/// Returns two critical findings and a warning.
pub(crate) fn two_criticals() -> Snapshot {
    with(pictures::mismatch(), vec![pressure(), block_size(), silent()])
}

/// Returns a deployment that was cured seconds ago.
pub(crate) fn resolved() -> Snapshot {
    let cured = FindingRow { resolved: Some(ago(12)), ..block_size() };
    let mut picture = with(pictures::healthy(), vec![cured]);
    picture.series.tree_size = pictures::wave(9_000.0, 900.0, 300, 40.0);
    picture
}

/// Returns one that was cured long ago, twice.
pub(crate) fn earlier() -> Snapshot {
    let mut picture = with(pictures::healthy(), Vec::new());
    let last = FindingRow { raised: ago(900), resolved: Some(ago(600)), ..block_size() };
    let first = FindingRow { raised: ago(7_200), resolved: Some(ago(3_700)), ..block_size() };
    picture.past = [last, first].into();
    picture
}

/// Returns a deployment about which little is known.
pub(crate) fn unknown_only() -> Snapshot {
    let mut picture = with(pictures::late_attach(), Vec::new());
    for row in &mut picture.checks {
        row.verdict = unknown("a minute of events with known parents");
        row.note = String::new();
    }
    picture
}

/// Returns a finding whose texts are longer than any row.
pub(crate) fn long_texts() -> Snapshot {
    let long = |text: &str| format!("{text} ").repeat(12);
    let mut finding = block_size();
    finding.summary = long("Workers publish 32 tokens, engines have 16, routers hash 128.");
    finding.effect = long("Nothing is found in the index.");
    for row in &mut finding.evidence {
        row.claim = long(&row.claim);
        row.source = long(&row.source);
    }
    finding.competing = vec![long("a word"), "x".repeat(300)];
    if let Some(fix) = &mut finding.fix {
        fix.sentence = long("Start the workers with another size.");
        fix.restarts = long("everything");
    }
    with(pictures::mismatch(), vec![finding, pressure(), declared()])
}

/// Returns a finding whose texts try to move the cursor and to hide what follows.
pub(crate) fn hostile() -> Snapshot {
    let evil = String::from("\u{1b}[2J\u{1b}]52;c;YQ==\u{7}\u{202e}16\n\r\tw0 日本語👩‍👩‍👧‍👦");
    let mut finding = block_size();
    finding.summary.clone_from(&evil);
    finding.effect.clone_from(&evil);
    finding.refuted_by.clone_from(&evil);
    finding.competing = vec![evil.clone()];
    for row in &mut finding.evidence {
        (row.claim, row.value, row.source) = (evil.clone(), evil.clone(), evil.clone());
    }
    finding.fix = Some(FixRow {
        sentence: evil.clone(),
        yaml: Some(format!("spec:\n  a: {evil}\n")),
        kubectl: Some(evil.clone()),
        restarts: evil.clone(),
        verify: evil.clone(),
        rollout: None,
    });
    let mut picture = with(pictures::mismatch(), vec![finding]);
    for row in &mut picture.checks {
        row.note.clone_from(&evil);
        if row.id == "KVT005" {
            row.verdict = unknown(&evil);
        }
    }
    picture
}
