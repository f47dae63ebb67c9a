//! KVT019: KV events cannot be read.

use crate::diagnose::{Evidence, Finding, Member, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct WireSkew;

impl Rule for WireSkew {
    fn id(&self) -> &'static str {
        "KVT019"
    }

    fn name(&self) -> &'static str {
        "wire-skew"
    }

    fn about(&self) -> &'static str {
        "KV events arrive that do not decode: engine, publisher and router speak different \
         versions of the format, and a router that cannot read a batch drops all of it. Judged \
         by at least 20 messages, and one in ten, that kvtop's own decoder, which is more \
         tolerant than the router's, cannot read, or by three lines of a worker's log that say the \
         same of its engine's events (\"Failed to decode KVEventBatch\"). Processes of different \
         releases are a warning, whether or not anything is lost yet: told by the tags of images, \
         model cards, discovery records, metrics, logs and the form of KV events. Run frontend and \
         workers from images of the same Dynamo version."
    }

    fn explains(&self) -> &'static [&'static str] {
        &["KVT003", "KVT014", "KVT004"]
    }

    /// Mixed releases alone need not cost a single event.
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
        let all = tally.unreadable + tally.events;
        if tally.decode_failed >= limits.min_decode_failed {
            return publishers(tally.decode_failed).into();
        }
        if tally.unreadable < limits.min_unreadable
            && let Some(members) = &evidence.mixed
        {
            return mixed(members, evidence).into();
        }
        if all == 0 {
            return Verdict::unknown("KV events: none came in this window");
        }
        let share = tally.unreadable as f64 / all as f64;
        if tally.unreadable == 0 {
            return Verdict::clear(format!("{} KV events were read", thousands(tally.events)));
        }
        if tally.unreadable < limits.min_unreadable || share < limits.unreadable_share {
            return Verdict::clear(format!(
                "{} of {all} KV events could not be read",
                tally.unreadable
            ));
        }
        let reasons = evidence.plane.unreadable.iter();
        let mut proofs: Vec<Proof> =
            reasons.map(|why| Proof::new("unreadable", why.clone(), "KV events")).collect();
        proofs.push(Proof::new(
            "messages",
            format!("{} of {}", thousands(tally.unreadable), thousands(all)),
            "KV events",
        ));
        Finding::new(
            Severity::Critical,
            Grade::Likely,
            format!(
                "{} of {} messages with KV events cannot be read.",
                thousands(tally.unreadable),
                thousands(all)
            ),
            proofs,
        )
        .means(
            "A router that cannot read them either knows nothing of those blocks.",
            "A newer kvtop.",
        )
        .mended_by(
            "Run frontend and workers from images of the same Dynamo version.",
            "whatever is of another version",
        )
        .into()
    }
}

fn mixed([old, new]: &[Member; 2], evidence: &Evidence) -> Finding {
    let proof = |member: &Member| {
        Proof::new(
            format!("release of {}", member.name),
            member.releases.to_string(),
            member.by.clone(),
        )
        .at(evidence.at)
    };
    Finding::new(
        Severity::Warning,
        Grade::Likely,
        format!(
            "Releases of Dynamo are mixed: {} is {}, {} is {}.",
            old.name, old.releases, new.name, new.releases
        ),
        vec![proof(old), proof(new)],
    )
    .means(
        "Event formats, subjects and what a cleared cache means differ between releases; a router \
         may pass over what it does not know.",
        "Signs of one release from everybody.",
    )
    .rather_than("A rollout that is under way: it ends with the last old pod.")
    .mended_by(
        "Run frontend and workers from images of the same Dynamo version.",
        "whatever is of another version",
    )
}

/// Workers say themselves that they cannot read what their engines send.
fn publishers(lines: u64) -> Finding {
    let proof = Proof::new("\"Failed to decode KVEventBatch\"", lines.to_string(), "workers' logs");
    Finding::new(
        Severity::Critical,
        Grade::Confirmed,
        format!("Workers cannot read their engines' KV events: {lines} lines say so."),
        vec![proof],
    )
    .means(
        "Each such line drops a whole batch of events: routers never find its blocks.",
        "Fewer lines.",
    )
    .mended_by(
        "Run the workers from an image whose engine and Dynamo were built for each other.",
        "every worker, one after the other; their caches start empty",
    )
}
