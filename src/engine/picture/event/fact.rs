//! Writes one fact of a frame in words: its kind, and below it a name and a value for each part.

use super::{hash, named};
use crate::domain::{
    ClaimValue, Decision, Fact, FormulaTerm, LatencyName, LogWarning, RegistrationBar,
    RegistrationRefused, RequestEvent, RequestPhase, SequenceHash, WarningKind,
};
use crate::engine::Knowledge;

/// Most hashes of a prompt that are told.
const CHAIN: usize = 4;

/// Adds the lines of `fact`.
pub(super) fn lines(known: &Knowledge, fact: &Fact, lines: &mut Vec<String>) {
    let who = |rank| known.fleet.alias(rank);
    match fact {
        Fact::Envelope { topic, envelope, .. } => {
            lines.push(format!("MESSAGE {topic}"));
            named(lines, "publisher", envelope.publisher);
            named(lines, "number", envelope.sequence);
        }
        Fact::Load(load) => {
            lines.push(format!("LOAD {}", who(load.rank)));
            named(lines, "decode blocks", format_known(load.active_decode_blocks));
            named(lines, "prefill tokens", format_known(load.active_prefill_tokens));
            named(lines, "used blocks", format_known(load.kv_used_blocks));
        }
        Fact::HitRate(hit) => {
            lines.push(format!("HIT {}", who(hit.rank)));
            named(lines, "overlap", format!("{} of {} blocks", hit.overlap_blocks, hit.isl_blocks));
        }
        Fact::Request(request) => self::request(known, request, lines),
        Fact::Decision(decision) => self::decision(known, decision, lines),
        Fact::Formula(term) => formula(known, term, lines),
        Fact::Overlap(overlap) => {
            lines.push(format!("OVERLAP {}", who(overlap.rank)));
            named(lines, "overlap", format!("{} blocks", overlap.overlap_blocks));
        }
        Fact::Prompt(prompt) => {
            lines.push(format!("PROMPT {}", prompt.request));
            named(lines, "length", format!("{} tokens", prompt.tokens));
        }
        Fact::Warning(warning) => self::warning(known, warning, lines),
        Fact::BlockSizes(notice) => {
            lines.push(format!("BLOCK SIZES of {}", notice.pod));
            named(lines, "publisher", notice.publisher);
            named(lines, "engine", notice.engine);
        }
        Fact::EngineSocket(seen) => {
            lines.push(format!("ENGINE at {}", seen.address));
            named(lines, "block size", format!("{} tokens", seen.block_size));
            let worker = known.engine_worker(seen).map(|worker| known.fleet.workers.alias(worker));
            named(lines, "worker", format_known(worker));
        }
        _ => of_router(known, fact, lines),
    }
}

/// Adds the lines of what routers say of themselves and of workers.
fn of_router(known: &Knowledge, fact: &Fact, lines: &mut Vec<String>) {
    match fact {
        Fact::RouterStart(start) => {
            lines.push(format!("START of {}", start.pod));
            named(lines, "router", if start.follows { "follows KV events" } else { "starts" });
        }
        Fact::RegistrationRefused(refused) => self::refused(refused, lines),
        Fact::CardRefused(refused) => {
            lines.push(format!("REFUSED by {}: a model card that differs", refused.router));
            named(lines, "model", &refused.model);
            let worker = refused.worker.map(|worker| known.fleet.workers.alias(worker));
            named(lines, "worker", format_known(worker));
        }
        Fact::Home { pod, namespace } => {
            lines.push(format!("ROUTER {pod}"));
            named(lines, "Dynamo namespace", namespace);
        }
        Fact::SetMade(made) => {
            lines.push(format!("SET of workers made by {}", made.router));
            named(lines, "model", &made.model);
            named(lines, "set", &made.set);
        }
        Fact::Arrived { router, worker } => {
            lines.push(format!("ADDED by {router}: {}", known.fleet.workers.alias(*worker)));
        }
        Fact::Departed { worker } => {
            lines.push(format!("REMOVED by a router: {}", known.fleet.workers.alias(*worker)));
        }
        _ => lines.push(setting_line(fact)),
    }
}

fn refused(refused: &RegistrationRefused, lines: &mut Vec<String>) {
    lines.push(format!("REFUSED: {} cannot register", refused.pod));
    match &refused.by {
        RegistrationBar::Rights { account, verb } => {
            named(lines, "service account", &account.1);
            named(lines, "verb", verb);
        }
        RegistrationBar::OtherModel { model, endpoint, registered } => {
            named(lines, "model", model);
            named(lines, "endpoint", endpoint);
            named(lines, "registered there", registered);
        }
    }
}

fn format_known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "not reported".to_owned(), |value| value.to_string())
}

fn request(known: &Knowledge, request: &RequestEvent, lines: &mut Vec<String>) {
    lines.push(format!("REQUEST {}", request.request));
    named(lines, "worker", known.fleet.alias(request.rank));
    match &request.phase {
        RequestPhase::Added { isl, overlap, full_blocks, chain } => {
            named(lines, "step", "assigned to the worker");
            named(lines, "prompt tokens", format_known(*isl));
            named(lines, "overlap blocks", format_known(*overlap));
            named(lines, "prompt blocks", format_known(*full_blocks));
            let first: Vec<_> =
                chain.iter().take(CHAIN).map(|it| hash(SequenceHash(*it))).collect();
            if !first.is_empty() {
                let more = if chain.len() > CHAIN { " and more" } else { "" };
                named(lines, "prompt hashes", format!("{}{more}", first.join(" ")));
            }
        }
        RequestPhase::PrefillCompleted => named(lines, "step", "prompt computed"),
        RequestPhase::Freed => named(lines, "step", "ended"),
    }
}

fn decision(known: &Knowledge, decision: &Decision, lines: &mut Vec<String>) {
    let (alias, id) = (known.fleet.workers.alias(decision.worker), decision.worker);
    lines.push(format!("DECISION of {}", decision.router));
    named(lines, "worker", format!("{alias}, id {id}"));
    named(lines, "logit", format_known(decision.logit));
    named(lines, "cached blocks", format_known(decision.cached_blocks));
    named(lines, "tree size", format_known(decision.tree_size));
}

fn formula(known: &Knowledge, term: &FormulaTerm, lines: &mut Vec<String>) {
    let FormulaTerm { logit, weight, prefill_blocks, decode_blocks, cached_blocks, .. } = term;
    lines.push(format!("COST {}", known.fleet.alias(term.rank)));
    named(lines, "cost", format!("{logit} = {weight} x {prefill_blocks} + {decode_blocks}"));
    named(lines, "cached blocks", cached_blocks);
}

fn warning(known: &Knowledge, warning: &LogWarning, lines: &mut Vec<String>) {
    let what = match warning.kind {
        WarningKind::ParentMissing { .. } => "parent block not found",
        WarningKind::RemoveMissing { .. } => "block to remove not found",
        WarningKind::StaleParent => "the worker does not cover the parent block any more",
        WarningKind::ApplyFailed => "an event could not be applied",
        WarningKind::HashMismatch => "one block has two hashes",
        WarningKind::EventGap => "events are missing",
        WarningKind::EventsRecovered => "missing events were recovered",
        WarningKind::DecodeFailed => "the engine's KV events could not be decoded",
    };
    lines.push(format!("WARNING {what}"));
    named(lines, "log of", &warning.pod);
    named(lines, "worker", format_known(warning.rank.map(|rank| known.fleet.alias(rank))));
    match warning.kind {
        WarningKind::ParentMissing { parent, blocks } => {
            named(lines, "parent", format_known(parent.map(hash)));
            named(lines, "rejected blocks", format_known(blocks));
        }
        WarningKind::RemoveMissing { block } => {
            named(lines, "block", format_known(block.map(hash)));
        }
        _ => {}
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
        Fact::Placed(placed) => match &placed.pod {
            Some(pod) => format!("PLACED worker {} in {pod}", placed.worker),
            None => format!("SERVES worker {}, {} ranks", placed.worker, placed.ranks.len()),
        },
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
        Fact::ConfigMap(map) => match &map.variables {
            Some(variables) => format!("CONFIGMAP {}: {} keys", map.name, variables.len()),
            None => format!("CONFIGMAP {} gone", map.name),
        },
        Fact::Advertised(record) => {
            let channels = record.channels.iter();
            let channels: Vec<String> = channels
                .map(|channel| format!("{} publisher {}", channel.topic, channel.publisher))
                .collect();
            format!("CHANNELS of {}: {}", record.record, channels.join(", "))
        }
        Fact::Sign(sign) => format!("RELEASE {} by {}", sign.releases, sign.by),
        Fact::Gauge(gauge) => {
            format!("METRIC {} of {}: {}", gauge.name.about(), gauge.pod, gauge.value)
        }
        Fact::Histogram(histogram) => {
            let name = match histogram.name {
                LatencyName::FirstToken => "times to first token",
                LatencyName::InterToken => "times between tokens",
                LatencyName::Request => "durations of requests",
                LatencyName::Queue => "times in an engine's queue",
            };
            let count = histogram.buckets.last().map_or(0.0, |(_, count)| *count);
            format!("METRIC {name} of {}: {count} in buckets", histogram.pod)
        }
        Fact::Source(note) => format!("SOURCE {} {} {}", note.source, note.state.name(), note.why),
        // What is about requests has a line of its own.
        _ => String::new(),
    }
}
