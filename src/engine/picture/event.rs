//! One entry of the journal with the frame that it was made from, decoded.

use crate::domain::{ClaimValue, ClearScope, Fact, KvEvent, KvKind, SequenceHash};
use crate::engine::Engine;
use crate::engine::kept::KeptFrame;
use crate::engine::kv::count_of;
use crate::frame::{Body, Origin};
use crate::snapshot::{EventDetail, FrameView};
use crate::wire::{self, Facts};

/// Most things that are told of one frame.
const FACTS: usize = 100;
/// Most blocks that are told of one event.
const BLOCKS: usize = 64;

pub(super) fn detail(engine: &Engine, number: u64) -> EventDetail {
    let (frames, bytes) = engine.journal.kept.size();
    let kept = engine.journal.kept.of(number);
    EventDetail {
        number,
        frame: kept.map(|kept| view(engine, kept)),
        kept_frames: frames as u64,
        kept_bytes: bytes as u64,
    }
}

fn view(engine: &Engine, kept: &KeptFrame) -> FrameView {
    let frame = &kept.frame;
    let mut facts = Facts::default();
    let mut decoded = Vec::new();
    if let Err(reject) = wire::decode(frame, &mut facts) {
        decoded.push(format!("cannot be read: {reject}"));
    }
    for fact in facts.other.iter().take(FACTS) {
        decoded.push(fact_line(engine, fact));
    }
    for event in facts.kv.events().iter().take(FACTS) {
        kv_lines(engine, event, &facts, &mut decoded);
    }
    let more = (facts.other.len() + facts.kv.events().len()).saturating_sub(2 * FACTS);
    if more > 0 {
        decoded.push(format!("and {more} more"));
    }
    let body = match &frame.body {
        Body::Whole(bytes) => wire::readable(bytes),
        Body::Parts(parts) => {
            let part = |(at, bytes): (usize, &_)| -> Vec<String> {
                let head = format!("part {} of {}", at + 1, parts.len());
                [vec![head], wire::readable(AsRef::<[u8]>::as_ref(bytes))].concat()
            };
            parts.iter().enumerate().flat_map(|(at, bytes)| part((at, bytes))).collect()
        }
    };
    FrameView {
        origin: origin(&frame.origin),
        at: frame.at,
        time: frame.time,
        size: kept.size as u64,
        cut: kept.size > frame.len(),
        decoded,
        body,
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Nats { subject, .. } => format!("NATS subject {subject}"),
        Origin::Jetstream { stream, seq, subject } => {
            format!("JetStream {stream}, message {seq}, subject {subject}")
        }
        Origin::Zmq { endpoint } => format!("ZMQ {endpoint}"),
        Origin::Log { pod, container, .. } => format!("log of {pod}, container {container}"),
        Origin::Metrics { pod, url } => format!("metrics of {pod}, {url}"),
        Origin::Kube { kind, change } => format!("Kubernetes {kind}, {}", change.name()),
        Origin::Etcd { key, put } => {
            format!("etcd key {key}, {}", if *put { "written" } else { "deleted" })
        }
        Origin::Indexer { url } => format!("dump of the indexer at {url}"),
        Origin::Health { source } => format!("kvtop's own note about {source}"),
    }
}

fn kv_lines(engine: &Engine, event: &KvEvent, facts: &Facts, lines: &mut Vec<String>) {
    let who = engine.alias(event.rank);
    let (id, tier) = (event.event_id, event.tier.name());
    let hash = |hash: SequenceHash| format!("{:016x}", hash.0);
    let mut rows = match &event.kind {
        KvKind::Stored { parent, blocks } => {
            let parent = parent.map_or_else(|| "the root".to_owned(), hash);
            let blocks = facts.kv.blocks_of(blocks);
            lines.push(format!(
                "STORED {who} event {id} tier {tier}: {} under {parent}",
                count_of(blocks.len())
            ));
            let row = |block: &crate::domain::Block| {
                format!("  block {} tokens hash {:016x}", hash(block.sequence), block.tokens.0)
            };
            blocks.iter().map(row).collect::<Vec<_>>()
        }
        KvKind::Removed { hashes } => {
            let hashes = facts.kv.removed_of(hashes);
            let count = count_of(hashes.len());
            lines.push(format!("REMOVED {who} event {id} tier {tier}: {count}"));
            hashes.iter().map(|block| format!("  block {}", hash(*block))).collect()
        }
        KvKind::Cleared { scope } => {
            let of = if *scope == ClearScope::Worker { "all ranks" } else { "this rank" };
            lines.push(format!("CLEARED {who} event {id}: {of}"));
            Vec::new()
        }
    };
    let more = rows.len().saturating_sub(BLOCKS);
    rows.truncate(BLOCKS);
    lines.append(&mut rows);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
}

fn fact_line(engine: &Engine, fact: &Fact) -> String {
    let who = |rank| engine.alias(rank);
    let said = |value: Option<String>| value.unwrap_or_else(|| "not said".to_owned());
    match fact {
        Fact::Envelope { topic, envelope, .. } => {
            let (publisher, sequence) = (envelope.publisher, envelope.sequence);
            format!("MESSAGE {topic} publisher {publisher} number {sequence}")
        }
        Fact::Load(load) => format!(
            "LOAD {} decode blocks {} prefill tokens {} used blocks {}",
            who(load.rank),
            said(load.active_decode_blocks.map(|n| n.to_string())),
            said(load.active_prefill_tokens.map(|n| n.to_string())),
            said(load.kv_used_blocks.map(|n| n.to_string()))
        ),
        Fact::HitRate(hit) => {
            let (overlap, length) = (hit.overlap_blocks, hit.isl_blocks);
            format!("HIT {} {overlap} of {length} blocks", who(hit.rank))
        }
        Fact::Request(request) => {
            format!("REQUEST {} on {}: {:?}", request.request, who(request.rank), request.phase)
        }
        Fact::Decision(decision) => format!(
            "DECISION worker {} ({}) logit {} cached {} tree size {}",
            engine.workers.alias(decision.worker),
            decision.worker,
            said(decision.logit.map(|n| n.to_string())),
            said(decision.cached_blocks.map(|n| n.to_string())),
            said(decision.tree_size.map(|n| n.to_string()))
        ),
        Fact::Formula(term) => format!(
            "COST {} {} = {} x {} + {} with {} cached",
            who(term.rank),
            term.logit,
            term.weight,
            term.prefill_blocks,
            term.decode_blocks,
            term.cached_blocks
        ),
        Fact::Overlap(overlap) => {
            format!("OVERLAP {} {} blocks", who(overlap.rank), overlap.overlap_blocks)
        }
        Fact::Prompt(prompt) => format!("PROMPT {} {} tokens", prompt.request, prompt.tokens),
        Fact::Warning(warning) => {
            let rank = said(warning.rank.map(who));
            format!("WARNING of {} about {rank}: {:?}", warning.pod, warning.kind)
        }
        Fact::BlockSizes(notice) => format!(
            "BLOCK SIZES of {}: publisher {}, engine {}",
            notice.pod, notice.publisher, notice.engine
        ),
        _ => setting_line(fact),
    }
}

/// Returns the line of a fact that is not about requests.
fn setting_line(fact: &Fact) -> String {
    match fact {
        Fact::Claim(claim) => {
            let value = match &claim.value {
                ClaimValue::Count(count) => count.to_string(),
                ClaimValue::Text(text) => text.to_string(),
                ClaimValue::Flag(flag) => flag.to_string(),
                ClaimValue::Millionths(value) => (*value as f64 / 1e6).to_string(),
            };
            format!("CLAIM {} of {}: {value}", claim.what.name(), claim.of.name())
        }
        Fact::Membership(member) => {
            let (component, endpoint) = (&member.component, &member.endpoint);
            let news = if member.present { "present" } else { "gone" };
            format!("MEMBER {} {component}/{endpoint} {news}", member.instance.0)
        }
        Fact::Placed(placed) => format!("PLACED worker {} in {}", placed.worker, placed.pod),
        Fact::Pod(pod) => {
            let ready = if pod.ready { "ready" } else { "not ready" };
            format!("POD {} {} {ready}, {} restarts", pod.name, pod.phase, pod.restarts)
        }
        Fact::PodGone { name } => format!("POD {name} gone"),
        Fact::Graph(graph) => format!("GRAPH {}", graph.name),
        Fact::GraphGone { name } => format!("GRAPH {name} gone"),
        Fact::Endpoints(endpoints) => {
            format!("ENDPOINTS {}: {} pods", endpoints.slice, endpoints.pods.len())
        }
        Fact::ConfigFile(file) => format!("CONFIG {} {}", file.config_map, file.key),
        Fact::Advertised(record) => {
            let channels = record.channels.iter();
            let channels: Vec<String> = channels
                .map(|channel| format!("{} publisher {}", channel.topic, channel.publisher))
                .collect();
            format!("CHANNELS of {}: {}", record.record, channels.join(", "))
        }
        Fact::Sign(sign) => format!("RELEASE {} by {}", sign.releases, sign.by),
        Fact::Gauge(gauge) => format!("METRIC {:?} of {}: {}", gauge.name, gauge.pod, gauge.value),
        Fact::Source(note) => format!("SOURCE {} {} {}", note.source, note.state.name(), note.why),
        // What is about requests has a line of its own.
        _ => String::new(),
    }
}
