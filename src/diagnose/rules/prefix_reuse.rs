//! KVT017: there is nothing to reuse, or engines do not.

use crate::diagnose::{Evidence, Finding, OfWorker, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

pub(super) struct PrefixReuse;

impl Rule for PrefixReuse {
    fn id(&self) -> &'static str {
        "KVT017"
    }

    fn name(&self) -> &'static str {
        "prefix-reuse-off-or-absent"
    }

    fn about(&self) -> &'static str {
        "No request finds anything cached because there is nothing to find: engines do not \
         reuse prefixes (--no-enable-prefix-caching, enable_block_reuse: false, \
         --disable-radix-cache), or no two prompts begin alike: a date, a request id or a tool \
         list near the start makes every prompt new. Judged by the engines' settings and hit \
         rates, and over at least 50 requests without overlap by stores that never fork from a \
         cached prefix. Switch reuse on, or move what changes to the end of the prompt."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let off: Vec<_> =
            evidence.settings.prefix_reuse.iter().filter(|of| !of.set.value).collect();
        if let Some(first) = off.first() {
            return switched_off(&off, first);
        }
        let all = evidence.router.tally.overlaps.best();
        let total = evidence.total();
        if all.known > all.zero {
            return Verdict::clear(format!(
                "{} of {} requests found a prefix",
                all.known - all.zero,
                all.known
            ));
        }
        if all.known < evidence.thresholds.min_decisions / 2
            || total.full_stores() < evidence.thresholds.min_stores
        {
            return Verdict::unknown(
                "enough requests whose overlap is known, and stores with blocks",
            );
        }
        let hit = evidence.present().filter_map(|rank| rank.hit_rate).fold(0.0, f64::max);
        if total.forks > 0 || hit > 0.0 {
            return Verdict::unknown(
                "why routers find nothing: engines do reuse prefixes (KVT001, KVT015)",
            );
        }
        let proofs = vec![
            Proof::new(
                "requests without overlap",
                format!("{} of {}", thousands(all.zero), thousands(all.known)),
                "routers",
            ),
            Proof::new("stores that fork from a cached prefix", "0", "KV events").at(evidence.at),
        ];
        absent(
            format!("None of {} prompts begins like another.", thousands(all.known)),
            Grade::Likely,
            proofs,
        )
    }
}

fn switched_off(off: &[&OfWorker<bool>], first: &OfWorker<bool>) -> Verdict {
    let proofs = off.iter().take(16).map(|of| {
        let value = format!("off ({})", of.set.raw);
        Proof::new(format!("prefix reuse, {}", of.who), value, of.set.source.to_string())
            .at(of.set.at)
    });
    let names: Vec<&str> = off.iter().take(4).map(|of| of.who.as_ref()).collect();
    let others = if off.len() > 4 { " and others" } else { "" };
    let summary = format!("Engines are set not to reuse prefixes: {}{others}.", names.join(", "));
    let sentence = match first.set.flag() {
        Some("--override-engine-args") | None => format!(
            "Set kv_cache_config.enable_block_reuse: true for {}{others} ({}).",
            names.join(", "),
            first.set.source
        ),
        Some(flag) => format!("Start {}{others} without {flag}.", names.join(", ")),
    };
    Finding::new(Severity::Warning, Grade::ConfigOnly, summary, proofs.collect())
        .means(EFFECT, "One overlap.")
        .mended_by(sentence, "every worker whose settings change; their caches start empty")
        .into()
}

const EFFECT: &str = "Every prompt is computed whole; routing by cached blocks cannot help.";

fn absent(summary: String, grade: Grade, proofs: Vec<Proof>) -> Verdict {
    Finding::new(Severity::Warning, grade, summary, proofs)
        .means(EFFECT, "One overlap.")
        .mended_by(
            "Switch prefix reuse on (TensorRT-LLM enable_block_reuse: true), or move what differs between \
             prompts, such as dates and ids, to their end.",
            "every worker whose settings change",
        )
        .into()
}
