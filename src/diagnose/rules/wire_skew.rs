//! KVT019: KV events cannot be decoded, or processes run different Dynamo releases.

use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, phrase};
use crate::diagnose::{Evidence, Finding, Member, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};

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
         discovery records, metrics, logs and the format of its KV events.\nRun frontend and workers from images \
         of the same Dynamo version."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT003", "KVT014", "KVT004"]
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
        if tally.unreadable < limits.min_unreadable
            && let Some(members) = &evidence.mixed
        {
            return mixed(members, evidence).into();
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
