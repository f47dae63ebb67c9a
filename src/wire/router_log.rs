//! Log lines of frontends and workers, text and JSONL, with and without colours (PROTOCOL 9).
//!
//! Lines are told apart by their message, never by their target: targets moved with every release.

mod fields;
mod kept;
mod startup;

use std::sync::Arc;

use fields::{Line, Reading, finite};
pub use kept::{begins_log_entry, described_log_line, kept_of_log_line};

use super::text::{printable, strip_ansi};
use super::{Facts, Reject, version_sign, whole};
use crate::domain::{
    Basis, BlockSize, BlockSizeNotice, CardRefused, Claim, ClaimOf, ClaimValue, ClaimWhat,
    Decision, DpRank, Fact, FormulaCredit, FormulaTerm, LogWarning, Medium, Overlap, Prompt,
    RegistrationBar, RegistrationRefused, RouterStart, SetMade, Subject, WarningKind, WorkerId,
    WorkerRank,
};
use crate::dynamo::{label, router, sign};
use crate::frame::{Frame, Origin};

/// Longest line that is looked at; the rest of a longer one is ignored.
const LINE_LIMIT: usize = 64 << 10;

/// Longest text that is kept of a line.
const RAW_LIMIT: usize = 300;

type Reader = fn(&Line<'_>, &Arc<str>) -> Option<Fact>;

/// Readers of known log lines, each with a text that its lines contain. A line is searched for each text in turn.
const READERS: &[(&str, Reader)] = &[
    ("Selected ", decision),
    ("Formula for worker_id=", formula),
    ("Failed to find parent block; skipping store", parent_missing),
    ("Failed to find block to remove; skipping remove", remove_missing),
    ("route request completed", overlap),
    ("Block not published. Block size must be", not_published),
    ("which is greater than kv_block_size", block_too_large),
    ("Stale parent: worker no longer covers", |line, pod| {
        warn(line, pod, WarningKind::StaleParent)
    }),
    ("Failed to apply event", |line, pod| warn(line, pod, WarningKind::ApplyFailed)),
    ("block_hash mismatch: sequence hashes", |line, pod| {
        warn(line, pod, WarningKind::HashMismatch)
    }),
    ("Event ID gap detected", |line, pod| {
        Some(gap(line, pod, "for worker ", WarningKind::EventGap))
    }),
    (" events from worker ", recovered),
    ("Input event gap detected", |line, pod| warn(line, pod, WarningKind::EventGap)),
    ("Failed to decode KVEventBatch", |line, pod| warn(line, pod, WarningKind::DecodeFailed)),
    ("request completed request_id=", prompt),
    // From Dynamo 1.4 on (pull request 11194): once a minute, until it is cleared.
    ("KV EVENT ROUTING MISCONFIGURATION", |line, pod| event_source(line, pod, false)),
    ("KV event source mismatch cleared", |line, pod| event_source(line, pod, true)),
    (label::WORKER_METADATA, registration_refused),
    ("Cannot register model '", other_model),
    // Seen in 0.9.0 (dynamo-llm `discovery/watcher.rs:174`) and in 1.6.1 (`discovery/controller.rs`). The two between are
    // said to be of 1.0 and of 1.2 and later, and were not seen.
    ("Checksum for new model does not match existing model", card_refused),
    ("Checksum mismatch for model", card_refused),
    ("Checksum for new worker does not match existing", card_refused),
    ("Rejected incompatible workers", card_refused),
    ("Adding worker set to model", set_made),
    // 0.9.0 `kv_router/subscriber.rs`, and where active sequences are kept: 0.9.0 `kv_router/sequence.rs`,
    // 1.0.2 `multi_worker_sequence`, 1.6.1 `sequences/multi_worker`.
    ("instance removed, removing worker ", |line, _| departed(line, "removing worker ")),
    ("Removing worker WorkerWithDpRank", |line, _| departed(line, "worker_id: ")),
    ("Adding worker WorkerWithDpRank", arrived),
    // Both said so from 0.9.0 to 1.6.1 (dynamo-llm `http/service/service_v2.rs`, `kv_router.rs`).
    ("Starting HTTP(S) service protocol=", |_, pod| router_start(pod, false)),
    ("KV Routing initialized", |_, pod| router_start(pod, true)),
];

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let Origin::Log { pod, .. } = &frame.origin else { return Ok(()) };
    let body = whole(frame)?;
    let body = &body[..body.len().min(LINE_LIMIT)];
    // Containers write what they like; a line that is not UTF-8 is read as far as it is.
    let text = String::from_utf8_lossy(body);
    let text = strip_ansi(&text);
    read(&text, &Reading::new(&text), pod, facts);
    Ok(())
}

/// Adds to `facts` what a line of `pod` says; `text` is the line as it was written. Facts quote the parts of
/// the line that were read, so that they quote nothing else of a recording that holds whole lines.
fn read(text: &str, reading: &Reading<'_>, pod: &Arc<str>, facts: &mut Facts) {
    let before = facts.other.len();
    read_parts(text, reading, pod, facts);
    let quoted = |raw: &mut Arc<str>| {
        *raw = printable(&kept::parts(text, reading), RAW_LIMIT).into();
    };
    for fact in &mut facts.other[before..] {
        match fact {
            Fact::Claim(claim) => quoted(&mut claim.raw),
            Fact::BlockSizes(notice) => quoted(&mut notice.raw),
            _ => {}
        }
    }
}

fn read_parts(text: &str, reading: &Reading<'_>, pod: &Arc<str>, facts: &mut Facts) {
    let line = &reading.line();
    let Some((mark, reader)) = READERS.iter().find(|(mark, _)| text.contains(mark)) else {
        startup::read(line, pod, &mut facts.other);
        return;
    };
    line.has(mark);
    // One line may say two things: 1.3 and 1.4 print the overlap where they forward a choice.
    facts.other.extend(reader(line, pod));
    if line.has("router_mode=\"direct\"") && line.has("overlap_blocks=") {
        facts.other.extend(overlap(line, pod));
    }
    facts.other.extend(other_mode(line, pod));
    // JSONL names the target apart from the message; text puts it before the message.
    let target = reading.target();
    let has = |mark: &str| line.has(mark) || target.contains(mark);
    facts.other.extend(version_sign::of_line(has, Subject::Pod(Arc::clone(pod))));
}

/// `Selected worker: …` up to 1.2, `Selected worker` with fields from 1.3, `Selected pinned worker`.
fn decision(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let line = line.at("Selected worker").or_else(|| line.at("Selected pinned worker"))?;
    // Other modes log their choices too (dynamo-runtime 1.6.1, `pipeline::network::egress::push_router`).
    let mode = line.word("router_mode=");
    if mode.is_some_and(|mode| !["kv", "direct"].contains(&mode)) {
        return None;
    }
    let cached = line
        .number("effective cached blocks: ")
        .or_else(|| line.number("cached blocks: "))
        .or_else(|| line.number("effective_cached_blocks="));
    Some(Fact::Decision(Decision {
        router: Arc::clone(pod),
        request: line.word("request_id=").map(|id| printable(id, 64).into()),
        worker: WorkerId(line.integer("worker_id=")?),
        dp_rank: line.rank(),
        logit: line.number("logit: ").or_else(|| line.number("logit=")),
        cached_blocks: cached,
        tree_size: line.integer("tree size: "),
        total_blocks: line.integer("total blocks: ").or_else(|| line.integer("total_kv_blocks=")),
        prefill: line.word("worker_type=") == Some(router::OF_PREFILL),
        forwarded: mode == Some("direct"),
    }))
}

/// Returns the mode of a router that chooses without regard to cached blocks: it names it at each choice
/// (dynamo-runtime 1.3.1 to 1.6.1, `pipeline::network::egress::push_router`).
fn other_mode(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let mode = line.at(sign::CHOICE)?.word("router_mode=")?;
    let mode = router::MODES.iter().find(|known| **known == mode)?;
    // The KV router's choices are decisions, and "direct" forwards one.
    let other = !["kv", "direct"].contains(mode);
    other.then(|| {
        Fact::Claim(Claim {
            what: ClaimWhat::RouterMode,
            of: ClaimOf::Router,
            subject: Subject::Pod(Arc::clone(pod)),
            model: None,
            value: ClaimValue::Text((*mode).into()),
            basis: Basis::Observed,
            source: format!("log of {pod}").into(),
            raw: "".into(),
            set_by: None,
            medium: Medium::Logs,
        })
    })
}

/// `Formula for worker_id=… with N cached blocks: L = W * prefill_blocks + decode_blocks = W * P + D`
/// (dynamo-llm 0.9.0, `kv_router/scheduler.rs:533`), or with the terms of 1.6. Other texts are left
/// alone.
fn formula(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let line = line.at("Formula for ")?;
    let (sum, credit) = match line.sum("prefill_blocks + decode_blocks = ") {
        Some(sum) => (sum, None),
        None => credited(&line)?,
    };
    let (weight, sum) = sum.split_once(" * ")?;
    let (prefill, decode) = sum.split_once(" + ")?;
    Some(Fact::Formula(FormulaTerm {
        router: Arc::clone(pod),
        request: line.word("request_id=").map(|id| printable(id, 64).into()),
        rank: line.worker_rank()?,
        logit: line.at("cached blocks")?.number_between(": ", " = ")?,
        cached_blocks: line.number(" with ")?,
        weight: finite(weight)?,
        prefill_blocks: finite(prefill)?,
        decode_blocks: finite(decode.split_whitespace().next()?)?,
        credit,
    }))
}

/// Returns the sum `S * P + D + A`, and what the line says of the credit behind it (dynamo-kv-router
/// 1.6.1, `scheduling/selector/reference.rs:407`).
fn credited<'a>(line: &Line<'a>) -> Option<(&'a str, Option<FormulaCredit>)> {
    let sum = line.sum("+ active_request_cost_blocks = ")?;
    let (_, request) = sum.rsplit_once(" + ")?;
    let credit = FormulaCredit {
        raw_prefill_blocks: line.number("raw_prefill_blocks: ")?,
        credit_blocks: line.number("overlap_credit_blocks: ")?,
        decay: line.number("overlap_credit_decay: ")?,
        request_blocks: finite(request)?,
    };
    sum.contains(" * ").then_some((sum, Some(credit)))
}

/// `route request completed … overlap_blocks=N … worker_id=N` (1.5 and later), and the forwarding
/// line of 1.3 and 1.4.
fn overlap(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    // At the end of a request the span of the HTTP request comes first, the router's name for it last.
    let named = if line.has("route request completed") {
        line.last("request_id=")
    } else {
        line.at("request_id=")
    };
    let named = named.and_then(|line| line.word("request_id="));
    Some(Fact::Overlap(Overlap {
        router: Arc::clone(pod),
        request: named.map(|id| printable(id, 64).into()),
        rank: line.worker_rank()?,
        overlap_blocks: line.integer("overlap_blocks=")?,
    }))
}

/// `request completed request_id=… input_tokens=N` (dynamo-llm 1.6.1, `http/service/metrics.rs`).
fn prompt(line: &Line<'_>, _pod: &Arc<str>) -> Option<Fact> {
    let line = line.at("request completed request_id=")?;
    Some(Fact::Prompt(Prompt {
        request: printable(line.word("request_id=")?, 64).into(),
        tokens: line.integer("input_tokens=")?,
    }))
}

/// A router's words about a worker that should publish KV events: `… worker_id=7 missing_dp_ranks=[0]`.
fn event_source(line: &Line<'_>, pod: &Arc<str>, publishes: bool) -> Option<Fact> {
    let named = line.integer("worker_id=").or_else(|| line.integer("MISCONFIGURATION: worker "));
    Some(Fact::Claim(Claim {
        what: ClaimWhat::PublishesEvents,
        of: ClaimOf::Router,
        subject: Subject::Worker(WorkerId(named?)),
        model: None,
        value: ClaimValue::Flag(publishes),
        basis: Basis::Observed,
        source: format!("log of {pod}").into(),
        raw: "".into(),
        set_by: None,
        medium: Medium::Logs,
    }))
}

#[expect(clippy::unnecessary_wraps, reason = "has the form of the other readers")]
fn router_start(pod: &Arc<str>, follows: bool) -> Option<Fact> {
    Some(Fact::RouterStart(RouterStart { pod: Arc::clone(pod), follows }))
}

/// The API server's own words in a worker's error: `User "system:serviceaccount:NS:NAME" cannot patch resource
/// "dynamoworkermetadatas" in API group …` (Kubernetes, `apiserver/pkg/endpoints/handlers/responsewriters/errors.go`).
fn registration_refused(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let bare = |word: &str| word.trim_matches(['"', '\\']).to_owned();
    let account = bare(line.at("User ")?.word("User ")?);
    let verb = bare(line.at(" cannot ")?.word(" cannot ")?);
    let (namespace, name) = account.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let plain = |text: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        (1..=253).contains(&text.len()) && text.bytes().all(allowed)
    };
    let known = plain(namespace) && plain(name) && plain(&verb);
    known.then(|| {
        Fact::RegistrationRefused(RegistrationRefused {
            pod: Arc::clone(pod),
            by: RegistrationBar::Rights {
                account: (namespace.into(), name.into()),
                verb: verb.into(),
            },
        })
    })
}

/// `Cannot register model 'A' on endpoint 'NS/COMPONENT/ENDPOINT': a different model 'B' is already registered
/// there`, after which the worker ends (ai-dynamo 1.6.1, seen under `dynamo.vllm`).
fn other_model(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let name = |mark: &str| {
        let name = printable(line.quoted(mark)?, 200);
        (!name.is_empty()).then(|| Arc::<str>::from(name.as_ref()))
    };
    let by = RegistrationBar::OtherModel {
        model: name("Cannot register model '")?,
        endpoint: name("on endpoint '")?,
        registered: name("a different model '")?,
    };
    Some(Fact::RegistrationRefused(RegistrationRefused { pod: Arc::clone(pod), by }))
}

/// `Checksum for new model does not match existing model. model_name="A"` (0.9.0), or `Rejected incompatible workers; …
/// model=A … instance=Some("NS/COMPONENT/ENDPOINT/ID")` (1.6.1), with the id in hexadecimal.
fn card_refused(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let model = line.word("model_name=").or_else(|| line.word("model="));
    let instance = line.word("instance=Some(\"");
    let id = instance.and_then(|it| it.rsplit_once('/')).map(|(_, id)| id);
    Some(Fact::CardRefused(CardRefused {
        router: Arc::clone(pod),
        model: printable(model?, 200).into(),
        worker: id.and_then(|id| u64::from_str_radix(id, 16).ok()).map(WorkerId),
        set: line.list("worker_set=").map(|set| printable(&set, 400).into()),
    }))
}

/// `Adding worker set to model model=A namespace=["NS","COMPONENT","ENDPOINT",…]` (dynamo-llm 1.6.1, `discovery/model.rs`).
fn set_made(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let (model, set) = (line.word("model=")?, line.list("namespace=")?);
    Some(Fact::SetMade(SetMade {
        router: Arc::clone(pod),
        model: printable(model, 200).into(),
        set: printable(&set, 400).into(),
    }))
}

fn departed(line: &Line<'_>, mark: &str) -> Option<Fact> {
    Some(Fact::Departed { worker: WorkerId(line.integer(mark)?) })
}

fn arrived(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let worker = WorkerId(line.integer("worker_id: ")?);
    Some(Fact::Arrived { router: Arc::clone(pod), worker })
}

fn parent_missing(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let parent = line.hash("parent_hash=");
    let blocks = line.integer("num_blocks=");
    warn(line, pod, WarningKind::ParentMissing { parent, blocks })
}

fn remove_missing(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let block = line.hash("block_hash=");
    warn(line, pod, WarningKind::RemoveMissing { block })
}

#[expect(clippy::unnecessary_wraps, reason = "has the form of the other readers")]
fn warn(line: &Line<'_>, pod: &Arc<str>, kind: WarningKind) -> Option<Fact> {
    Some(Fact::Warning(LogWarning { pod: Arc::clone(pod), rank: line.worker_rank(), kind }))
}

/// A line about missing events of a worker, which it names behind `mark`.
fn gap(line: &Line<'_>, pod: &Arc<str>, mark: &str, kind: WarningKind) -> Fact {
    let rank = line.integer(mark).map(|worker| WorkerRank {
        worker: WorkerId(worker),
        dp_rank: line
            .integer(" dp_rank ")
            .and_then(|it| it.try_into().ok())
            .map(DpRank)
            .unwrap_or_default(),
    });
    Fact::Warning(LogWarning { pod: Arc::clone(pod), rank, kind })
}

/// `Recovered N events from worker W dp_rank R`.
fn recovered(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    let events = line.integer("Recovered ").filter(|events| *events > 0);
    events.map(|_| gap(line, pod, "from worker ", WarningKind::EventsRecovered))
}

/// `Block not published. Block size must be P tokens to be published. Block size is: E`: E is the size that
/// the engine names in its event (dynamo-llm 0.9.0, `kv_router/publisher.rs`).
fn not_published(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    sizes(pod, line.integer("Block size must be ")?, line.integer("Block size is: ")?, true)
}

/// `Block … contains N tokens, which is greater than kv_block_size P`: N counts the tokens of one block,
/// which is not full at the end of a prompt (ai-dynamo 0.9.0, `trtllm/publisher.py`).
fn block_too_large(line: &Line<'_>, pod: &Arc<str>) -> Option<Fact> {
    sizes(pod, line.integer("kv_block_size ")?, line.integer(" contains ")?, false)
}

fn sizes(pod: &Arc<str>, publisher: u64, engine: u64, whole: bool) -> Option<Fact> {
    let size = |tokens: u64| BlockSize::new(u32::try_from(tokens).ok()?);
    Some(Fact::BlockSizes(BlockSizeNotice {
        pod: Arc::clone(pod),
        publisher: size(publisher)?,
        engine: size(engine)?,
        whole,
        raw: "".into(),
    }))
}

impl Line<'_> {
    fn rank(&self) -> Option<DpRank> {
        self.integer("dp_rank=").and_then(|rank| u32::try_from(rank).ok()).map(DpRank)
    }

    fn worker_rank(&self) -> Option<WorkerRank> {
        let worker = WorkerId(self.integer("worker_id=")?);
        Some(WorkerRank { worker, dp_rank: self.rank().unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_and_its_recovery_name_the_same_worker() {
        let said = |text: &str| {
            let line = format!("2026-03-01T08:56:51.288762Z  INFO dynamo_llm::kv_router: {text}");
            let mut facts = Facts::default();
            read(&line, &Reading::new(&line), &"fe".into(), &mut facts);
            facts.other.iter().find_map(|fact| match fact {
                Fact::Warning(warning) => Some((warning.rank, warning.kind)),
                _ => None,
            })
        };
        let rank =
            Some(WorkerRank { worker: WorkerId(528_506_817_602_504_201), dp_rank: DpRank(1) });
        // As 1.0.2 logs them.
        let gap = said(
            "Event ID gap detected for worker 528506817602504201 dp_rank 1, recovering events [335, 431], gap_size: 97",
        );
        let filled = said("Recovered 97 events from worker 528506817602504201 dp_rank 1");

        assert_eq!(gap, Some((rank, WarningKind::EventGap)));
        assert_eq!(filled, Some((rank, WarningKind::EventsRecovered)));
        assert_eq!(said("Recovered 0 events from worker 7 dp_rank 0"), None);
    }

    #[test]
    fn only_choices_of_the_kv_router_are_decisions() {
        // As ai-dynamo 1.6.1 logs them.
        let of = |mode: &str| {
            let text = format!(
                "2026-11-27T08:08:53.166949Z  INFO http-request: \
                 dynamo_runtime::pipeline::network::egress::push_router: Selected worker \
                 router_mode=\"{mode}\" worker_id=8451182942117296906 method=POST \
                 uri=/v1/chat/completions request_id=478521da model=\"m\""
            );
            decision(&Reading::new(&text).line(), &"frontend".into()).is_some()
        };
        assert!(of("kv") && of("direct"));
        assert!(!of("round-robin") && !of("random") && !of("least-loaded"));
    }

    #[test]
    fn the_cost_of_1_6_reads_with_its_credit() {
        // As dynamo-kv-router 1.6.1 formats it, with shared blocks and without.
        for shared in ["", ", 3 shared blocks beyond device (multiplier=0.50)"] {
            let text = format!(
                "2026-11-21T00:18:59.658362Z DEBUG dynamo_kv_router::scheduling::selector::reference: \
                 Formula for worker_id=77 dp_rank=1 with 4.00 effective cached blocks{shared}: 12.500 = \
                 prefill_load_scale * adjusted_prefill_blocks + decode_blocks + \
                 active_request_cost_blocks = 1.000 * 4.250 + 8.000 + 0.250 (raw_prefill_blocks: \
                 8.250, overlap_credit_blocks: 4.000, overlap_credit_decay: 1.000) \
                 request_id=\"a-b\" worker_type=\"decode\""
            );
            let Some(Fact::Formula(term)) =
                formula(&Reading::new(&text).line(), &"frontend".into())
            else {
                panic!("{text}");
            };
            let credit = FormulaCredit {
                raw_prefill_blocks: 8.25,
                credit_blocks: 4.0,
                decay: 1.0,
                request_blocks: 0.25,
            };
            let expected = FormulaTerm {
                router: "frontend".into(),
                request: Some("a-b".into()),
                rank: WorkerRank::new(77, 1),
                logit: 12.5,
                cached_blocks: 4.0,
                weight: 1.0,
                prefill_blocks: 4.25,
                decode_blocks: 8.0,
                credit: Some(credit),
            };
            assert_eq!(term, expected);
        }
    }
}
