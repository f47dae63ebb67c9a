//! KVT019: KV events cannot be decoded, routers hear none of them, or processes run different Dynamo releases.

use std::sync::Arc;

use crate::diagnose::Origin;
use crate::diagnose::fix::{Change, Part};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::rules::blind::{self, Sight};
use crate::diagnose::rules::block_size_mismatch::BlockSizeMismatch;
use crate::diagnose::{Evidence, Finding, Member, Proof, RouterHits, Rule, Setting, Verdict};
use crate::domain::{Grade, Severity};
use crate::dynamo::{flag, variable};

/// The chance at which a router without any cache hit is doubted, were it to have hits as often as the others.
const CHANCE: f64 = 0.01;

pub(super) struct WireSkew;

impl Rule for WireSkew {
    fn id(&self) -> &'static str {
        "KVT019"
    }

    fn name(&self) -> &'static str {
        "wire-skew"
    }

    fn about(&self) -> &'static str {
        "KV events arrive that cannot be decoded: engine, publisher and router use different versions of the \
         format. A router that cannot decode a batch drops all of it.\nDetected when kvtop's own decoder, which \
         is more tolerant than the router's, fails on at least 20 messages and on one in ten. Also detected by \
         three lines in a worker's log (\"Failed to decode KVEventBatch\"). Processes of different releases are \
         a warning even before events are lost. The release of a process is known from image tags, model cards, \
         discovery records, metrics, logs and the format of its KV events. Routers that hear none of the events are \
         found by their own counters (kv_cache_events_applied, from 1.0 on), which stay 0 while workers store blocks, if their \
         event plane ({variable::EVENT_PLANE}) is another than the workers', another router takes the events in, or no request has a \
         cache hit although engines reuse prefixes. Where only logs tell of them, a router without a cache hit in 30 \
         requests, beside others of the same workers whose hits give that a chance of at most 1 %, keeps the verdict open. kvtop lint compares the event planes in manifests: those that are set, and the defaults of the release.\nGive frontend and workers the same event plane. Run frontend and workers from images \
         of the same Dynamo version."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT003", "KVT014", "KVT004", "KVT015"]
    }

    /// Mixed releases alone may not lose any event.
    fn explains_by(&self, finding: &Finding) -> &'static [&'static str] {
        if finding.severity == Severity::Critical { self.explains() } else { &[] }
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn may_be_critical(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let tally = &evidence.router.tally;
        let all = tally.unreadable + tally.messages;
        if tally.decode_failed >= limits.min_decode_failed {
            return publishers(tally.decode_failed).into();
        }
        if let Some(unfed) = unfed(evidence) {
            return unfed.finding(evidence).into();
        }
        if tally.unreadable < limits.min_unreadable
            && let Some(members) = &evidence.mixed
        {
            return mixed(members, evidence).into();
        }
        if let Some(doubt) = without_hits(evidence) {
            return doubt;
        }
        if all == 0 {
            return Verdict::unknown("needs KV events (none in this window)");
        }
        let share = tally.unreadable as f64 / all as f64;
        if tally.unreadable == 0 {
            return Verdict::clear(phrase!("{} KV events were decoded", Count(tally.events)));
        }
        if tally.unreadable < limits.min_unreadable || share < limits.unreadable_share {
            return Verdict::clear(phrase!(
                "only {} of {} KV event messages could not be decoded",
                tally.unreadable,
                all
            ));
        }
        let reasons = evidence.plane.unreadable.iter();
        let mut proofs: Vec<Proof> = reasons
            .map(|why| Proof::new(measure::DECODE_ERROR, why.clone(), Origin::KvEvents))
            .collect();
        proofs.push(Proof::new(
            measure::MESSAGES_UNREADABLE,
            phrase!("{} of {}", Count(tally.unreadable), Count(all)),
            Origin::KvEvents,
        ));
        Finding::new(
            Severity::Critical,
            Grade::Likely,
            phrase!(
                "{} of {} KV event messages cannot be decoded.",
                Count(tally.unreadable),
                Count(all)
            ),
            proofs,
        )
        .means(
            "A router that cannot decode them does not know those blocks.",
            "A newer kvtop that decodes these messages.",
        )
        .mended_by(
            "Run frontend and workers from images of the same Dynamo version.",
            "rolling restart of the processes with another version",
        )
        .into()
    }
}

/// Returns the verdict where a router finds nothing, for so many requests that chance does not explain it beside the hits
/// of others that choose among the same workers, and where no setting or block size does.
fn without_hits(evidence: &Evidence) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    let least = limits.min_silent_routed_unseen;
    let hits = &evidence.router.hits;
    let seems_empty = |router: &&RouterHits| {
        // One of another model chooses among other workers.
        let beside = |other: &&RouterHits| {
            other.pod != router.pod && !other.workers.is_disjoint(&router.workers)
        };
        let others = hits.iter().filter(beside);
        let [known, zero] =
            others.fold([0, 0], |[known, zero], it| [known + it.known, zero + it.zero]);
        let misses = zero as f64 / known.max(1) as f64;
        known >= least && router.unhit >= least && misses.powf(router.unhit as f64) <= CHANCE
    };
    let router = hits.iter().find(seems_empty)?;
    let predicts = evidence.settings.predicting.contains(&router.pod);
    let differ = || matches!(BlockSizeMismatch.judge(evidence), Verdict::Found(_));
    if predicts || differ() {
        return None;
    }
    Some(Verdict::suspected(phrase!(
        "needs the counters of {}, or a cache hit there: none of its last {} requests had one, although other \
         routers find cached blocks",
        router.pod,
        Count(router.unhit)
    )))
}

/// Routers whose indexes take in none of the events that arrive here.
struct Unfed<'a> {
    routers: Vec<&'a str>,
    /// Stores that their counters lack.
    stores: u64,
    /// The event plane of the workers.
    ours: &'static str,
    /// The number of other routers whose indexes have the events.
    fed: usize,
    /// Another event plane, to which a router listens.
    other: Option<&'a Setting<Arc<str>>>,
}

/// Finds such routers, where no other fault explains them.
fn unfed(evidence: &Evidence) -> Option<Unfed<'_>> {
    let limit = evidence.thresholds.min_unreadable;
    let by_blocks =
        |pod: &Arc<str>| !evidence.settings.other_modes.iter().any(|(other, _)| other == pod);
    let unfed = evidence.router.unfed.iter();
    let unfed = unfed.filter(|(pod, stores)| *stores >= limit && by_blocks(pod));
    let stores = unfed.clone().map(|(_, stores)| *stores).max()?;
    let routers: Vec<&str> = unfed.map(|(router, _)| router.as_ref()).collect();
    let settings = &evidence.settings;
    let follows = settings.kv_events.as_ref().is_none_or(|follows| follows.value);
    let router = &evidence.router;
    let found = [&router.tally, &router.told].into_iter().any(|tally| {
        let overlaps = tally.overlaps.best();
        overlaps.known > overlaps.zero || tally.own.hit_rate().is_some_and(|rate| rate > 0.0)
    });
    // Where block sizes differ, counters may stay at 0 for that reason: a capture of 1.6.1 with cards of 16 and
    // engines of 32.
    let differ = matches!(BlockSizeMismatch.judge(evidence), Verdict::Found(_));
    // Cache hits may be those of another router, whose index has the events.
    let fed = router.fed;
    if found && fed == 0 || !follows || differ {
        return None;
    }
    let ours = evidence.plane.name?.word();
    let published = settings.publishing_planes.first().map(|of| &of.set.value);
    let apart = |plane: &&Setting<Arc<str>>| {
        published.is_some_and(|published| *published != plane.value) && *plane.value != *ours
    };
    let other = settings.event_planes.iter().find(apart);
    let blind = || matches!(blind::look(evidence), Sight::Blind(_));
    (fed > 0 || other.is_some() || blind()).then_some(Unfed { routers, stores, ours, fed, other })
}

impl Unfed<'_> {
    fn finding(&self, evidence: &Evidence) -> Finding {
        let Self { routers, ours, .. } = self;
        let stores = Count(self.stores);
        let whose = if self.fed > 0 && routers.len() == 1 { "its" } else { "their" };
        let routers = routers.join(", ");
        let taken = Proof::new(measure::STORES_APPLIED.of(&routers), "0", Origin::RouterCounters);
        let sent = Proof::new(measure::STORE_EVENTS, phrase!("{}", stores), Origin::KvEvents);
        let mut proofs = vec![taken.at(evidence.at), sent.at(evidence.at)];
        let counted = phrase!(
            "{} counters show none of the {} store events that workers sent over {} between two readings",
            whose,
            Count(self.stores),
            ours.to_uppercase()
        );
        let cost = evidence.frontend_restarts();
        let Some(plane) = self.other else {
            let summary = self.unreached(&routers, &counted);
            let compare = phrase!(
                "Compare {}, the NATS server and {} of frontend and workers, and the rights of the frontend's NATS \
                 user.",
                variable::EVENT_PLANE,
                variable::NAMESPACE
            );
            return self.unheard(Grade::Likely, summary, proofs).mended_by(compare, cost);
        };
        let listens = Proof::new(measure::EVENT_PLANE, plane.value.to_string(), plane.origin());
        proofs.push(listens.at(plane.at));
        let over = plane.value.to_uppercase();
        let summary = if self.fed == 0 {
            phrase!(
                "Routers listen for KV events over {}, not where workers publish: {}.",
                over,
                counted
            )
        } else {
            phrase!("No KV event reaches {}: {}. A router listens over {}.", routers, counted, over)
        };
        let sentence = phrase!(
            "Set {}={} on the frontend, as the workers have it.",
            variable::EVENT_PLANE,
            ours
        );
        let change = Change::Set {
            on: Part::Frontend,
            variable: Some(variable::EVENT_PLANE.to_owned()),
            flags: &[flag::EVENT_PLANE],
            value: (*ours).to_owned(),
        };
        let finding = self.unheard(Grade::Confirmed, summary, proofs).mended_by(sentence, cost);
        finding.through(vec![change])
    }

    /// Returns the summary where no setting explains why no event reaches `routers`; `counted` is the evidence.
    fn unreached(&self, routers: &str, counted: &Phrase) -> Phrase {
        match self.fed {
            0 => phrase!("No KV event reaches the routers: {}.", counted),
            1 => phrase!(
                "No KV event reaches {}: {}. Another router takes them in.",
                routers,
                counted
            ),
            more => phrase!(
                "No KV event reaches {}: {}. {} other routers take them in.",
                routers,
                counted,
                more
            ),
        }
    }

    /// Returns the finding: a warning where other routers have the events, because it then affects only some requests.
    fn unheard(&self, grade: Grade, summary: Phrase, proofs: Vec<Proof>) -> Finding {
        let severity = if self.fed == 0 { Severity::Critical } else { Severity::Warning };
        Finding::new(severity, grade, summary, proofs)
            .means(blind::EFFECT, "A counter of applied stores that grows.")
            .of_routers()
    }
}

fn mixed([old, new]: &[Member; 2], evidence: &Evidence) -> Finding {
    let proof = |member: &Member| {
        Proof::new(
            measure::RELEASE.of(&member.name),
            member.releases.to_string(),
            member.by.clone(),
        )
        .at(evidence.at)
    };
    Finding::new(
        Severity::Warning,
        Grade::Likely,
        phrase!("Dynamo releases are mixed: {} runs {}, {} runs {}.", old.name, old.releases, new.name, new.releases),
        vec![proof(old), proof(new)],
    )
    .means(
        "Event formats, subjects and the meaning of `cleared` differ between releases; a router may ignore \
         events that it does not understand.",
        "The same release reported by every process.",
    )
    .rather_than("A rollout in progress: the mix ends with the last old pod.")
    .mended_by(
        "Run frontend and workers from images of the same Dynamo version.",
        "rolling restart of the processes with another version",
    )
}

/// Returns the finding for workers whose logs report undecodable engine events.
fn publishers(lines: u64) -> Finding {
    let proof = Proof::new(measure::DECODE_WARNINGS, lines.to_string(), Origin::WorkerLogs);
    Finding::new(
        Severity::Critical,
        Grade::Confirmed,
        phrase!("Workers cannot decode their engines' KV events: {} log lines report this.", lines),
        vec![proof],
    )
    .means(
        "Each such line means a dropped batch of events: routers never find its blocks.",
        "No further lines of this kind.",
    )
    .mended_by(
        "Run the workers from an image whose engine and Dynamo versions were built for each other.",
        "rolling restart of every worker; each one loses its KV cache",
    )
}
