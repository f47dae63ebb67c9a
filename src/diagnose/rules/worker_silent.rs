//! KVT003: a worker serves requests but publishes no KV events.

mod reported;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::names;
use crate::diagnose::Origin;
use crate::diagnose::evidence::{Evidence, Ground, OfWorker, RankEvidence, Setting};
use crate::diagnose::fix::{Fix, Part};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Finding, Proof, Rule, Verdict, workers_of};
use crate::domain::{ClaimOf, Grade, Role, Severity, WorkerId};
use crate::model::Owed;

/// Time for which a rank must have received requests before its silence counts: the first prompts are slow.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of requests without an event that casts doubt on a rank.
const HINTS: u64 = 5;

/// Requests of so short a time may all have failed for the same reason, such as a worker that is still starting.
const BURST: Duration = Duration::from_secs(3);

/// Time by which the clocks of Kubernetes and of workers may differ.
const CLOCKS: Duration = Duration::from_secs(5);

/// The chance at which a rank without any cache hit is doubted, were it to have hits as often as the others.
const CHANCE: f64 = 0.01;

/// Time without an event after which a worker that has to store blocks seems to have stopped publishing.
const STOPPED: Duration = Duration::from_secs(60);

/// The size of a block, in tokens, where no card tells it.
const USUAL_BLOCK: u32 = 64;

/// Time since its last request for which that counts.
const STOPPED_LATELY: Duration = Duration::from_secs(300);

/// Effect of a worker that never published, and of one that published only before it restarted.
const LOOKS_EMPTY: &str =
    "The router assumes an empty cache there, so no request is routed there for its cached prefix.";
const UNKNOWN_NOW: &str =
    "Routers know nothing of what is cached there now, so no request is routed there for it.";

pub(super) struct WorkerSilent;

impl Rule for WorkerSilent {
    fn id(&self) -> &'static str {
        "KVT003"
    }

    fn name(&self) -> &'static str {
        "worker-silent"
    }

    fn about(&self) -> &'static str {
        "A worker that publishes no KV events looks empty to the router: requests go elsewhere, or reach this \
         worker only because of load. Publishing must be enabled on the worker: TensorRT-LLM \
         {flag::PUBLISH_EVENTS_AND_METRICS} (from 1.3 {flag::PUBLISH_KV_EVENTS}), vLLM and SGLang {flag::KV_EVENTS_CONFIG} (from \
         1.1 vLLM no longer publishes by default).\nDetected for a rank if other workers publish, but this rank \
         sent no event within 10 s of its first request, received at least 10 requests over more than 3 s, and \
         none of them had a cache hit (30 requests if no router logs cache hits). Also detected if no worker publishes and every \
         worker's settings disable it. A worker that published earlier, and sends no event for a minute although 10 requests \
         needed new blocks there, keeps the verdict open. So does one that has sent no event while kvtop listened, and \
         whose last 10 requests or more had no cache hit, by logs from before too, where the others' cache hits give \
         that a chance of at most 1 %. Decode workers of a disaggregated deployment publish nothing by design \
         and are not judged."
    }

    fn explains(&self) -> &'static [&'static str] {
        // A worker that looks empty is chosen because of load, instead of workers that hold the prefix.
        &["KVT011", "KVT018"]
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    /// One event of a worker proves that it publishes.
    fn is_refuted_at_once(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let judged: Vec<&RankEvidence> =
            evidence.present().filter(must_publish(evidence)).collect();
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
                            "no KV events expected: prefix caching is off on every worker (KVT017)",
                        );
                    }
                    all_mute(evidence, &mute, &off).into()
                }
                None => nobody_speaks(evidence, &judged),
            };
        }
        let silent: Vec<&RankEvidence> =
            judged.iter().copied().filter(|rank| is_silent(rank, evidence)).collect();
        if silent.is_empty() {
            return stopped(&judged, evidence)
                .unwrap_or_else(|| nobody_silent(evidence, &judged, loud));
        }
        if let Some(unplaced) = silent.iter().find(|rank| may_be_foreign(rank, evidence)) {
            return Verdict::unknown(phrase!(
                "needs the discovery record of {}: KV events of other Dynamo namespaces are ignored",
                Evidence::name_of(unplaced)
            ));
        }
        if let Some(unheard) = evidence.plane.unheard.first() {
            let missing = unheard.peers.wanted.saturating_sub(unheard.peers.reached);
            return Verdict::unknown(phrase!(
                "needs KV events of {} publishers that kvtop cannot reach (KVT004)",
                missing
            ));
        }
        found(evidence, &silent, loud).into()
    }
}

/// Returns the verdict when no worker has published since kvtop listens, and no setting explains it.
fn nobody_speaks(evidence: &Evidence, judged: &[&RankEvidence]) -> Verdict {
    if let Some(finding) = reported::sourceless(evidence) {
        return finding.into();
    }
    if let Some(verdict) = stopped(judged, evidence) {
        return verdict;
    }
    let doubted = judged.iter().filter(|rank| is_heard_of(rank, evidence));
    let doubted: Vec<_> = doubted.filter(|rank| seems_empty(rank, evidence)).collect();
    if let [first, others @ ..] = doubted.as_slice() {
        return Verdict::suspected(needs_requests(first, others.len()));
    }
    if evidence.router.sourceless > 0 {
        return Verdict::suspected(phrase!(
            "needs more requests: the router's metric reports {} workers without a source of KV events",
            evidence.router.sourceless
        ));
    }
    if evidence.ranks.iter().any(|rank| rank.last_event.is_some()) {
        Verdict::unknown("needs KV events of the workers that are there (none lately)")
    } else {
        Verdict::unknown("needs KV events (none from any worker so far)")
    }
}

/// Returns the verdict when workers that published earlier have stopped: requests came for which their engines had to
/// store blocks, and no event followed. Where routers find nothing cached, the engines may have cached all the same.
fn stopped(judged: &[&RankEvidence], evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let all = evidence.router.tally.overlaps.best();
    let sizes = evidence.best_by_subject(ClaimOf::Card).into_iter().map(|claim| claim.tokens);
    let block = f64::from(sizes.max().unwrap_or(USUAL_BLOCK));
    let all_store = evidence.load.computed_tokens.is_some_and(|tokens| tokens >= 2.0 * block);
    // By the mean of all workers; a few requests to one may still be for prompts that it has cached.
    let by_mean = |owed: Owed| if all_store { owed.requests / 3 } else { 0 };
    let storing = |owed: Owed| owed.storing.max(by_mean(owed));
    let owes = |rank: &&&RankEvidence| {
        let Some(owed) = rank.owed.filter(|_| rank.last_event.is_some()) else { return false };
        let asked = rank.last_routed.is_some_and(|last| {
            last.since(owed.since) >= BURST && evidence.at.since(last) <= STOPPED_LATELY
        });
        let heard = evidence.listens.is_some_and(|since| since <= owed.since);
        let long = evidence.at.since(owed.since) >= STOPPED;
        storing(owed) >= limits.min_silent_routed && asked && heard && long
    };
    if all.known == all.zero && !all_store {
        return None;
    }
    let stopped: Vec<&RankEvidence> = judged.iter().filter(owes).copied().collect();
    let first = stopped.first()?;
    let since = stopped.iter().filter_map(|rank| Some(rank.owed?.since)).min()?;
    let requests: u64 = stopped.iter().filter_map(|rank| Some(rank.owed?.requests)).sum();
    let others = match stopped.len() - 1 {
        0 => Phrase::default(),
        more => phrase!(" and {} more", more),
    };
    Some(Verdict::suspected(phrase!(
        "needs KV events of {}{}: none for {} s, although {} requests went there, many of which need new blocks",
        Evidence::name_of(first),
        others,
        evidence.at.since(since).as_secs(),
        Count(requests)
    )))
}

/// Returns the verdict when `loud` of the judged ranks publish, and none of the others was asked enough to accuse it.
fn nobody_silent(evidence: &Evidence, judged: &[&RankEvidence], loud: usize) -> Verdict {
    // One that published earlier may have all its prompts cached.
    let never = |rank: &RankEvidence| rank.last_event.is_none() || spoke_before_its_start(rank);
    let quiet = judged.iter().copied().filter(|rank| !speaks(rank) && never(rank));
    let doubted = |rank: &RankEvidence| {
        let silent = rank.tally.requests.storing() >= HINTS && seems_silent(rank, evidence);
        is_heard_of(rank, evidence) && (silent || seems_empty(rank, evidence))
    };
    let (doubted, quiet): (Vec<&RankEvidence>, Vec<_>) = quiet.partition(|rank| doubted(rank));
    // Where nobody logs which requests they got, routers' own metric tells that they should publish.
    let (mut doubted, mut quiet) = (doubted, quiet);
    if doubted.is_empty() && evidence.router.sourceless > 0 {
        std::mem::swap(&mut doubted, &mut quiet);
    }
    match (doubted.as_slice(), quiet.as_slice()) {
        ([], []) => Verdict::clear(phrase!("{} of {} ranks publish KV events", loud, judged.len())),
        ([], [first, others @ ..]) => Verdict::unknown(needs_requests(first, others.len())),
        ([first, others @ ..], _) => Verdict::suspected(needs_requests(first, others.len())),
    }
}

/// Tells that requests must show whether a worker publishes, and `others` more.
fn needs_requests(first: &RankEvidence, others: usize) -> Phrase {
    let others = match others {
        0 => Phrase::default(),
        more => phrase!(" and {} more", more),
    };
    phrase!("needs more requests to {}{}: no KV event from there has been seen", first.name, others)
}

/// Tells which ranks should publish. Of a model with disaggregated prefill, only prefill workers do; encoders and workers
/// for embeddings or images never do. A model that is not known may be any.
fn must_publish(evidence: &Evidence) -> impl Fn(&&RankEvidence) -> bool {
    let is = |rank: &RankEvidence, what: &str| {
        rank.role.as_deref().is_some_and(|role| role.to_ascii_lowercase().contains(what))
    };
    let mut models: HashMap<WorkerId, Vec<&str>> = HashMap::new();
    for (worker, model) in &evidence.models {
        models.entry(*worker).or_default().push(model.as_ref());
    }
    let prefills = || evidence.present().filter(|rank| is(rank, "prefill"));
    let any_apart = prefills().any(|rank| !models.contains_key(&rank.rank.worker));
    let apart = prefills().filter_map(|rank| models.get(&rank.rank.worker)).flatten().copied();
    let apart: BTreeSet<&str> = apart.collect();
    let is_apart = move |rank: &RankEvidence| match models.get(&rank.rank.worker) {
        None => any_apart || !apart.is_empty(),
        Some(own) => any_apart || own.iter().any(|model| apart.contains(model)),
    };
    let beside = |rank: &RankEvidence| rank.role.as_deref().is_some_and(Role::names_no_kv_blocks);
    move |rank| !beside(rank) && !is(rank, "decode") && (is(rank, "prefill") || !is_apart(rank))
}

/// Returns true for a worker that only routers' logs name, beside workers of other Dynamo namespaces: its events may be
/// among those that kvtop ignores.
fn may_be_foreign(rank: &RankEvidence, evidence: &Evidence) -> bool {
    evidence.has_foreign && !rank.registered && rank.pod.is_none()
}

/// Returns true where kvtop would know the events of a rank as the deployment's.
fn is_heard_of(rank: &RankEvidence, evidence: &Evidence) -> bool {
    !may_be_foreign(rank, evidence) && evidence.plane.unheard.is_empty()
}

fn speaks(rank: &RankEvidence) -> bool {
    let counters = &rank.tally.kv.counters;
    counters.stores + counters.removed_blocks + counters.cleared > 0
}

/// Returns true where all events of a rank are of an earlier process: what it seems to hold went with that one. A first
/// event shortly before the start may be the present process's, by another clock.
fn spoke_before_its_start(rank: &RankEvidence) -> bool {
    let Some(born) = rank.born else { return false };
    let earlier = rank.first_event.is_some_and(|first| first.after(CLOCKS) < born);
    earlier && rank.last_event.is_some_and(|last| last < born)
}

fn is_silent(rank: &RankEvidence, evidence: &Evidence) -> bool {
    let limits = &evidence.thresholds;
    let requests = &rank.tally.requests;
    let overlap = requests.overlap();
    let enough = if overlap.known > 0 {
        overlap.known.saturating_sub(requests.short) >= limits.min_silent_routed
    } else {
        requests.storing() >= limits.min_silent_routed_unseen
    };
    seems_silent(rank, evidence) && enough && requests.storing() >= limits.min_silent_routed
}

/// Returns true for a rank that has received requests for a while and sent no event. The number of requests does not
/// matter here.
fn seems_silent(rank: &RankEvidence, evidence: &Evidence) -> bool {
    let overlap = rank.tally.requests.overlap();
    // Where no worker's blocks are ever found, missing hits say nothing about one that may have published before.
    let all = evidence.router.tally.overlaps.best();
    let found = all.known > all.zero || all.known == 0;
    // Counted from the moment when the worker runs and kvtop can hear it.
    let from = evidence.listens.unwrap_or_default().max(rank.born.unwrap_or_default());
    let asked = rank.first_routed.zip(rank.last_routed).is_some_and(|(first, last)| {
        let first = first.max(from);
        evidence.at.since(first) >= PATIENCE && last.since(first) >= BURST
    });
    // Blocks published earlier count too: all later prompts may be cached already.
    !speaks(rank)
        && (rank.held == 0 || spoke_before_its_start(rank))
        && asked
        && overlap.zero == overlap.known
        && (rank.past_known || found)
        // An engine without prefix caching has nothing to publish, which is KVT017.
        && evidence.caching_off(rank.rank.worker).is_none()
}

/// Returns true for a rank whose last requests all missed the cache, so many that chance does not explain it beside the
/// other workers' hits. Requests from before kvtop listened count too.
fn seems_empty(rank: &RankEvidence, evidence: &Evidence) -> bool {
    let (own, all) = (rank.told.overlap(), evidence.router.told.overlaps.best());
    let others = all.known.saturating_sub(own.known);
    // Earlier hits do not clear it: it may have stopped publishing after them.
    let asked = own.known.min(rank.unhit).saturating_sub(rank.told.short);
    let least = evidence.thresholds.min_silent_routed;
    if asked < least || others < least {
        return false;
    }
    let misses = all.zero.saturating_sub(own.zero) as f64 / others as f64;
    misses.powf(asked as f64) <= CHANCE
        && !speaks(rank)
        && (rank.held == 0 || spoke_before_its_start(rank))
        && evidence.caching_off(rank.rank.worker).is_none()
}

/// Returns the finding if no worker publishes because none is configured to.
fn all_mute(evidence: &Evidence, mute: &[&OfWorker<bool>], off: &[&OfWorker<bool>]) -> Finding {
    let heard = is_heard(evidence);
    let mut proofs: Vec<Proof> = mute
        .iter()
        .take(16)
        .map(|of| {
            let value = phrase!("no ({})", of.set.raw);
            Proof::new(measure::PUBLISHES_EVENTS.of(&of.who), value, of.set.origin())
                .at(of.set.at)
                .of_worker(of.worker)
        })
        .collect();
    let uncached = evidence.uncached().filter(|it| off.iter().any(|of| of.who == it.who));
    proofs.extend(uncached.take(16).map(|of| {
        let value = phrase!("off ({})", of.set.raw);
        Proof::new(measure::PREFIX_CACHING.of(&of.who), value, of.set.origin())
            .at(of.set.at)
            .of_worker(of.worker)
    }));
    proofs.push(if heard {
        let routed = Count(evidence.router.tally.routed);
        let value = phrase!("0, while {} requests were routed", routed);
        Proof::new(measure::KV_EVENTS, value, Origin::EventPlanes)
    } else {
        let value = phrase!("0 of {} requests", Count(evidence.blind_before()));
        Proof::new(measure::CACHE_HITS, value, Origin::RouterLogs)
            .heard(evidence.router.heard.routed)
    });
    proofs.extend(reported::proof(evidence));
    let also = if off.is_empty() {
        Phrase::default()
    } else {
        phrase!(
            " On {}, enable prefix caching (KVT017); without it there is nothing to publish.",
            names(off)
        )
    };
    let on = if off.is_empty() { Phrase::default() } else { phrase!(" on {}", names(mute)) };
    Finding {
        severity: Severity::Critical,
        // Of what came before it listened kvtop only knows what routers logged.
        grade: if heard { Grade::Confirmed } else { Grade::Likely },
        summary: mute_summary(evidence, mute, off),
        effect: "The router knows no cached blocks, so no request is routed to its cached prefix. Any cache hit \
                 is luck, not routing."
            .into(),
        proofs,
        refuted_by: "One KV event from any worker.".into(),
        competing: vec![
            "KVT004: kvtop might listen in the wrong place, but the workers' settings alone explain the silence."
                .into(),
        ],
        fix: Some(Fix {
            sentence: phrase!("Enable KV events{} with {}, then restart the workers one at a time.{}", on, evidence.publish_flags(), also),
            changes: evidence.publish(evidence.part_of(mute).unwrap_or(Part::Workers)).into_iter().collect(),
            restarts: "rolling restart of every worker; each one loses its KV cache".into(),
            ..Fix::default()
        }),
        subjects: Vec::new(),
        by_itself: false,
        of_routers: false,
    }
}

fn mute_summary(evidence: &Evidence, mute: &[&OfWorker<bool>], off: &[&OfWorker<bool>]) -> Phrase {
    let without = if is_heard(evidence) {
        phrase!("{} requests produced no event", Count(evidence.router.tally.routed))
    } else {
        phrase!("none of {} requests had a cache hit", Count(evidence.blind_before()))
    };
    if off.is_empty() {
        phrase!(
            "No worker publishes KV events: publishing is not enabled on any of {}, and {}.",
            mute.len(),
            without
        )
    } else {
        phrase!(
            "No worker publishes KV events ({}): publishing is not enabled on {}, and prefix caching is off on {}.",
            without,
            names(mute),
            names(off)
        )
    }
}

/// Returns true where kvtop listened while enough requests came to expect events.
fn is_heard(evidence: &Evidence) -> bool {
    evidence.router.tally.routed >= evidence.thresholds.min_silent_routed
}

/// Tells since when these ranks are silent, where they published before their processes started `anew`.
fn since_when(silent: &[&RankEvidence], anew: bool) -> &'static str {
    match (anew, silent.len()) {
        (false, _) => "",
        (true, 1) => " since its restart",
        (true, _) => " since their restart",
    }
}

/// Tells how many others publish.
fn others_publish(evidence: &Evidence, loud: usize) -> Phrase {
    let ranked = evidence.present().any(|rank| rank.rank.dp_rank.0 > 0);
    let noun = if ranked { "rank" } else { "worker" };
    match loud {
        1 => phrase!("the other {} is publishing", noun),
        loud => phrase!("{} other {}s are publishing", loud, noun),
    }
}

fn found(evidence: &Evidence, silent: &[&RankEvidence], loud: usize) -> Finding {
    let names: Vec<String> = silent.iter().map(|rank| Evidence::name_of(rank)).collect();
    let routed = Count(silent.iter().map(|rank| rank.tally.requests.routed).sum());
    let set = |rank: &RankEvidence| {
        let settings = evidence.settings.publishes.iter();
        settings.filter(|of| of.worker == Some(rank.rank.worker)).map(|of| &of.set).next()
    };
    let mut proofs = vec![
        Proof::new(
            measure::EVENTS_OF.of(names.join(", ")),
            phrase!("0, while {} requests were routed there", routed),
            Origin::Several(&[Origin::KvEvents, Origin::RouterLogs]),
        )
        .at(evidence.at),
        Proof::new(measure::RANKS_PUBLISHING, loud.to_string(), Origin::KvEvents).at(evidence.at),
    ];
    // A release's default says nothing where others that have it publish.
    let by_default = |set: &&Setting<bool>| set.ground == Ground::Default;
    let loud_ones = || evidence.present().filter(|rank| speaks(rank));
    let refuted = loud_ones().filter_map(set).any(|set| by_default(&set) && !set.value);
    let off = silent.iter().filter_map(|rank| set(rank)).filter(|set| !set.value);
    let off: Vec<_> = off.filter(|set| !(refuted && by_default(set))).collect();
    for setting in &off {
        proofs.push(Proof::new(measure::PUBLISHES_EVENTS, "no", setting.origin()).at(setting.at));
    }
    proofs.extend(reported::proof(evidence));
    // If publishing is already enabled, the fix is another one.
    let pods = silent.iter().map(|rank| rank.pod.as_ref());
    let part = if off.len() == silent.len() { evidence.components(pods) } else { None };
    let have = if silent.len() == 1 { "has" } else { "have" };
    let others = others_publish(evidence, loud);
    let anew = silent.iter().all(|rank| spoke_before_its_start(rank));
    Finding {
        severity: Severity::Critical,
        grade: if off.is_empty() { Grade::Likely } else { Grade::Confirmed },
        summary: phrase!(
            "{} {} published no KV events{} despite receiving {} requests; {}.",
            names.join(", "),
            have,
            since_when(silent, anew),
            routed,
            others
        ),
        effect: if anew { UNKNOWN_NOW } else { LOOKS_EMPTY }.into(),
        proofs,
        refuted_by: "One KV event from this worker.".into(),
        competing: vec![
            "KVT004: kvtop receives events of other workers, so the event plane is visible.".into(),
        ],
        fix: Some(Fix {
            sentence: phrase!(
                "Restart {} with {} to enable KV events.",
                names.join(", "),
                evidence.publish_flags()
            ),
            changes: part.and_then(|part| evidence.publish(part)).into_iter().collect(),
            restarts: "restart of that worker, which loses its KV cache".into(),
            ..Fix::default()
        }),
        subjects: workers_of(silent.iter().copied()),
        // A setting silences these, whatever else is wrong.
        by_itself: off.len() == silent.len(),
        of_routers: false,
    }
}
