//! KVT003: a worker serves requests and publishes nothing.

mod reported;

use std::sync::Arc;
use std::time::Duration;

use crate::diagnose::evidence::{Evidence, OfWorker, RankEvidence};
use crate::diagnose::fix::{Fix, Part};
use crate::diagnose::{Finding, Proof, Rule, Verdict, workers_of};
use crate::domain::{Grade, Severity, thousands};

/// How long a rank has been asked before its silence says something: its first prompts take a while.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct WorkerSilent;

impl Rule for WorkerSilent {
    fn id(&self) -> &'static str {
        "KVT003"
    }

    fn name(&self) -> &'static str {
        "worker-silent"
    }

    fn about(&self) -> &'static str {
        "A worker that publishes no KV events looks empty to the router: requests go elsewhere, or come to \
         it for load alone. Publishing is asked for on the worker: TensorRT-LLM \
         --publish-events-and-metrics (from 1.3 --publish-kv-events), vLLM and SGLang --kv-events-config \
         (vLLM stopped publishing by itself in 1.1). Judged for each rank: no event at all within 10 s of its first request while at least \
         10 went to it and none of them found a block (30 where no router says what it found), \
         and other workers do publish; or no event from anybody while every worker's settings say that it \
         does not publish. Decode workers of a disaggregated deployment publish nothing by \
         design and are not judged."
    }

    fn explains(&self) -> &'static [&'static str] {
        // A worker that looks empty is chosen for load, past those that hold the prefix.
        &["KVT011", "KVT018"]
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let judged: Vec<&RankEvidence> =
            evidence.present().filter(|rank| must_publish(rank, evidence)).collect();
        let loud = judged.iter().filter(|rank| speaks(rank)).count();
        if let Some(finding) = reported::unbound(evidence, &judged) {
            return finding.into();
        }
        if loud == 0 {
            return match evidence.mute() {
                Some(mute) => {
                    let off = |of: &&OfWorker<bool>| evidence.uncached().any(|it| it.who == of.who);
                    let (off, mute): (Vec<_>, Vec<_>) = mute.into_iter().partition(off);
                    if mute.is_empty() {
                        return Verdict::unknown(
                            "KV events: prefix caching is off on every worker (KVT017)",
                        );
                    }
                    all_mute(evidence, &mute, &off).into()
                }
                None => match reported::sourceless(evidence) {
                    Some(finding) => finding.into(),
                    None => Verdict::unknown("KV events: kvtop sees none from any worker"),
                },
            };
        }
        let silent: Vec<&RankEvidence> =
            judged.iter().copied().filter(|rank| is_silent(rank, evidence)).collect();
        if silent.is_empty() {
            let quiet = judged.iter().filter(|rank| !speaks(rank) && rank.tally.routed > 0).count();
            return if quiet == 0 {
                Verdict::clear(format!("{loud} of {} ranks publish", judged.len()))
            } else {
                Verdict::unknown(format!("requests to {quiet} ranks that published nothing so far"))
            };
        }
        if let Some(unheard) = evidence.plane.unheard.first() {
            let missing = unheard.peers.wanted.saturating_sub(unheard.peers.reached);
            return Verdict::unknown(format!(
                "KV events of {missing} publishers that kvtop does not reach (KVT004)"
            ));
        }
        found(evidence, &silent, loud).into()
    }
}

/// Returns true for ranks that publish when all is well. Where prompts are computed apart, only the
/// workers that do publish.
fn must_publish(rank: &RankEvidence, evidence: &Evidence) -> bool {
    let is = |rank: &RankEvidence, what: &str| {
        rank.role.as_deref().is_some_and(|role| role.to_ascii_lowercase().contains(what))
    };
    let apart = evidence.present().any(|rank| is(rank, "prefill"));
    !is(rank, "decode") && (!apart || is(rank, "prefill"))
}

fn speaks(rank: &RankEvidence) -> bool {
    let counters = &rank.tally.counters;
    counters.stores + counters.removed_blocks + counters.cleared > 0
}

fn is_silent(rank: &RankEvidence, evidence: &Evidence) -> bool {
    // An engine that does not reuse prefixes has nothing to publish, which is a cause of its own.
    if evidence.caching_off(rank.rank.worker).is_some() {
        return false;
    }
    let limits = &evidence.thresholds;
    let overlap = rank.tally.overlap();
    let enough = if overlap.known > 0 {
        overlap.known >= limits.min_silent_routed && overlap.zero == overlap.known
    } else {
        rank.tally.routed >= limits.min_silent_routed_unseen
    };
    // Counted from when kvtop hears the worker, and the worker runs.
    let from = evidence.listens.unwrap_or_default().max(rank.born.unwrap_or_default());
    let asked =
        rank.first_routed.is_some_and(|first| evidence.at.since(first.max(from)) >= PATIENCE);
    // What it published before still counts: it may just find everything cached.
    !speaks(rank)
        && rank.held == 0
        && asked
        && enough
        && rank.tally.routed >= limits.min_silent_routed
}

/// No worker publishes, because none was told to.
fn all_mute(evidence: &Evidence, mute: &[&OfWorker<bool>], off: &[&OfWorker<bool>]) -> Finding {
    let routed = thousands(evidence.router.tally.routed);
    let mut proofs: Vec<Proof> = mute
        .iter()
        .take(16)
        .map(|of| {
            let value = format!("no ({})", of.set.raw);
            Proof::new(format!("publishes events, {}", of.who), value, of.set.source.to_string())
                .at(of.set.at)
                .of_worker(of.worker)
        })
        .collect();
    let uncached = evidence.uncached().filter(|it| off.iter().any(|of| of.who == it.who));
    proofs.extend(uncached.take(16).map(|of| {
        let value = format!("off ({})", of.set.raw);
        Proof::new(format!("prefix caching, {}", of.who), value, of.set.source.to_string())
            .at(of.set.at)
            .of_worker(of.worker)
    }));
    let value = format!("0, while {routed} requests were routed");
    proofs.push(Proof::new("KV events", value, "every event plane that kvtop listens to"));
    proofs.extend(reported::proof(evidence));
    let summary = mute_summary(evidence, mute, off);
    let also = if off.is_empty() {
        String::new()
    } else {
        format!(
            " On {}, switch prefix caching on (KVT017): without it there is nothing to publish.",
            names(off)
        )
    };
    let on = if off.is_empty() { String::new() } else { format!(" on {}", names(mute)) };
    Finding {
        severity: Severity::Critical,
        grade: Grade::Confirmed,
        summary,
        effect: "The router knows of no cached block: no request is routed to where its prefix is cached. \
                 What hits, hits by chance."
            .into(),
        proofs,
        refuted_by: "One KV event from any worker.".into(),
        competing: vec![
            "KVT004: kvtop might listen in the wrong place; the workers' settings explain it without."
                .into(),
        ],
        fix: Some(Fix {
            sentence: format!(
                "Enable KV events{on}: {}. Restart the workers one by one.{also}",
                evidence.publish_flags()
            ),
            changes: evidence.publish(mute_parts(evidence, mute)).into_iter().collect(),
            restarts: "every worker, one after the other; their caches start empty".into(),
            ..Fix::default()
        }),
        subjects: Vec::new(),
    }
}

fn mute_summary(evidence: &Evidence, mute: &[&OfWorker<bool>], off: &[&OfWorker<bool>]) -> String {
    let routed = thousands(evidence.router.tally.routed);
    if off.is_empty() {
        format!(
            "No worker publishes KV events: none of {} was told to, and none came with {routed} requests.",
            mute.len()
        )
    } else {
        format!(
            "No worker publishes KV events, and none came with {routed} requests: {} {} not told to publish, \
             and {} {} prefix caching switched off.",
            names(mute),
            if mute.len() == 1 { "was" } else { "were" },
            names(off),
            if off.len() == 1 { "has" } else { "have" }
        )
    }
}

/// Returns the names of workers, of many the first.
fn names(of: &[&OfWorker<bool>]) -> String {
    let names: Vec<&str> = of.iter().take(4).map(|of| of.who.as_ref()).collect();
    let others = if of.len() > 4 { " and others" } else { "" };
    format!("{}{others}", names.join(", "))
}

/// Returns the components of workers that were not told to publish.
fn mute_parts(evidence: &Evidence, mute: &[&OfWorker<bool>]) -> Part {
    let pod = |of: &&OfWorker<bool>| match of.worker {
        Some(worker) => {
            let mut ranks = evidence.ranks.iter();
            ranks.find(|rank| rank.rank.worker == worker).and_then(|rank| rank.pod.clone())
        }
        None => Some(Arc::clone(&of.who)),
    };
    let pods: Vec<Option<Arc<str>>> = mute.iter().map(pod).collect();
    evidence.components(pods.iter().map(Option::as_ref)).unwrap_or(Part::Workers)
}

fn found(evidence: &Evidence, silent: &[&RankEvidence], loud: usize) -> Finding {
    let names: Vec<String> = silent.iter().map(|rank| Evidence::name_of(rank)).collect();
    let routed = thousands(silent.iter().map(|rank| rank.tally.routed).sum());
    let set = |rank: &RankEvidence| {
        let settings = evidence.settings.publishes.iter();
        settings.filter(|of| of.worker == Some(rank.rank.worker)).map(|of| &of.set).next()
    };
    let mut proofs = vec![
        Proof::new(
            format!("events of {}", names.join(", ")),
            format!("0, while {routed} requests were routed to it"),
            "KV events, routers' logs",
        )
        .at(evidence.at),
        Proof::new("ranks that publish", loud.to_string(), "KV events").at(evidence.at),
    ];
    let off: Vec<_> = silent.iter().filter_map(|rank| set(rank)).filter(|set| !set.value).collect();
    for setting in &off {
        proofs
            .push(Proof::new("publishes events", "no", setting.source.to_string()).at(setting.at));
    }
    proofs.extend(reported::proof(evidence));
    // A worker that was told to publish needs something else.
    let pods = silent.iter().map(|rank| rank.pod.as_ref());
    let part = if off.len() == silent.len() { evidence.components(pods) } else { None };
    let is = if silent.len() == 1 { "publishes" } else { "publish" };
    let ranks = if loud == 1 { "rank does" } else { "ranks do" };
    Finding {
        severity: Severity::Critical,
        grade: if off.is_empty() { Grade::Likely } else { Grade::Confirmed },
        summary: format!(
            "{} {is} no KV events, although {routed} requests were routed there; {loud} other {ranks}.",
            names.join(", ")
        ),
        effect: "The router takes it for empty: no request is sent there for what it has cached."
            .into(),
        proofs,
        refuted_by: "One event from it.".into(),
        competing: vec![
            "KVT004: kvtop sees events of other workers, so that the event plane is visible."
                .into(),
        ],
        fix: Some(Fix {
            sentence: format!(
                "Roll {} with {}: it switches KV events on.",
                names.join(", "),
                evidence.publish_flags()
            ),
            changes: part.and_then(|part| evidence.publish(part)).into_iter().collect(),
            restarts: "that worker; its cache starts empty".into(),
            ..Fix::default()
        }),
        subjects: workers_of(silent.iter().copied()),
    }
}
