//! Scrapes of `/metrics`: the few families that kvtop uses, by their names in each version and engine
//! (PROTOCOL 8).

mod histogram;
mod labels;
mod pairs;
mod sample;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use histogram::Histograms;
pub use labels::kept_of_scrape;
use pairs::Pairs;
use sample::Sample;

use super::text::printable;
use super::{Facts, Reject, utf8, version_sign};
use crate::domain::{
    Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, DpRank, Fact, Gauge, GaugeName, Medium, Subject,
    WorkerId,
};
use crate::dynamo::metric;
use crate::frame::{Frame, Origin};

/// Largest scrape that is parsed; real ones are some 100 KB.
const SCRAPE_LIMIT: usize = 16 << 20;

/// Workers of one router that are counted; more are no deployment.
const WORKER_LIMIT: usize = 65_536;

/// Dynamo namespaces of one router's workers that are told apart.
const HOMES: usize = 16;

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    let Origin::Metrics { pod, .. } = &frame.origin else { return Ok(()) };
    let text = utf8(frame)?;
    if text.len() > SCRAPE_LIMIT {
        return Err(Reject::new("a scrape of more than 16 MiB"));
    }
    // The others are passed over before they are read: scrapes of 1.6 have thousands of samples.
    let wanted = text.lines().filter(|line| is_wanted(line));
    let samples: Vec<Sample<'_>> =
        wanted.filter_map(Sample::read).filter(|sample| sample.value.is_finite()).collect();
    // One family of counters has many labels; its parts are told once each.
    let mut counted: BTreeMap<GaugeName, f64> = BTreeMap::new();
    let mut pairs = Pairs::default();
    let mut histograms = Histograms::default();
    // A worker has one series for each of its ranks.
    let mut routed_to: BTreeSet<&str> = BTreeSet::new();
    for sample in &samples {
        let value = sample.value;
        if sample.metric == metric::ADOPTED_SIZE {
            facts.other.extend(adopted(ClaimWhat::BlockSize, pod, sample, value));
        } else if sample.metric == metric::ROUTER_WORKER {
            let id = sample.labels.get(metric::ROUTER_WORKER_ID);
            routed_to.extend(id.filter(|_| value > 0.0 && routed_to.len() < WORKER_LIMIT));
        } else if pairs.take(sample, value) || histograms.take(sample, value) {
        } else if sample.metric == metric::REQUESTS {
            if sample.labels.get("status") == Some(metric::REQUEST_FAILED) {
                *counted.entry(GaugeName::FailedRequests).or_default() += value;
            }
        } else if let Some(name) = applied(sample) {
            *counted.entry(name).or_default() += value;
        } else if let Some(name) = gauge_of(&sample.metric).filter(|name| counts(*name, sample)) {
            if name == GaugeName::ConfiguredBlocks {
                facts.other.extend(configured(pod, sample));
            }
            let value = if name == GaugeName::ConfiguredBlocks {
                sample.labels.get("num_gpu_blocks").and_then(|blocks| blocks.parse().ok())
            } else {
                Some(value)
            };
            facts.other.extend(value.map(|value| {
                let (worker, dp_rank) = (labelled_worker(sample), labelled_rank(sample));
                Fact::Gauge(Gauge { pod: Arc::clone(pod), worker, dp_rank, name, value })
            }));
        }
    }
    // The counter is not there before the first request.
    if samples.iter().any(|sample| sample.metric.starts_with(metric::FRONTEND)) {
        counted.entry(GaugeName::FailedRequests).or_default();
    }
    pairs.tell(pod, facts);
    histograms.tell(pod, facts);
    if !routed_to.is_empty() {
        counted.insert(GaugeName::RouterWorkers, routed_to.len() as f64);
    }
    facts.other.extend(counted.into_iter().map(|(name, value)| {
        let (worker, dp_rank) = (None, None);
        Fact::Gauge(Gauge { pod: Arc::clone(pod), worker, dp_rank, name, value })
    }));
    facts.other.extend(homes(&samples).into_iter().map(|home| {
        let namespace = printable(home, 200).into();
        Fact::Home { pod: Arc::clone(pod), namespace }
    }));
    let release = text.lines().filter_map(version_sign::of_metric).max();
    facts.other.extend(version_sign::of_metrics(release, Subject::Pod(Arc::clone(pod))));
    Ok(())
}

/// Returns the Dynamo namespaces of the workers of a router.
fn homes<'a>(samples: &'a [Sample<'_>]) -> BTreeSet<&'a str> {
    let of_router = samples.iter().filter(|sample| sample.metric.starts_with(metric::ROUTER));
    let named = of_router.filter_map(|sample| sample.labels.get("dynamo_namespace"));
    let mut homes: BTreeSet<&str> = BTreeSet::new();
    for name in named.filter(|name| !name.is_empty()) {
        if homes.len() < HOMES {
            homes.insert(name);
        }
    }
    homes
}

/// Returns true for a line whose sample kvtop uses, judged by its name.
fn is_wanted(line: &str) -> bool {
    let name = line.split(['{', ' ', '\t']).next().unwrap_or_default();
    if name.is_empty() || name == "#" {
        return false;
    }
    let name = if name.contains(':') { name.replace(':', "_").into() } else { Cow::Borrowed(name) };
    *name == *metric::ADOPTED_SIZE
        || *name == *metric::ROUTER_WORKER
        || *name == *metric::REQUESTS
        || name.ends_with(metric::EVENTS_APPLIED)
        || gauge_of(&name).is_some()
        || pairs::is_part(&name)
        || histogram::is_bucket(&name)
}

fn applied(sample: &Sample<'_>) -> Option<GaugeName> {
    if !sample.metric.ends_with(metric::EVENTS_APPLIED) {
        return None;
    }
    let labels = (sample.labels.get("event_type")?, sample.labels.get("status")?);
    metric::events_applied(labels.0, labels.1)
}

fn gauge_of(metric: &str) -> Option<GaugeName> {
    metric::GAUGES.iter().find(|(name, _)| *name == metric).map(|(_, gauge)| *gauge)
}

/// The other labels of vLLM's `cache_config_info`: the tokens that fit, which for hybrid
/// models are fewer than all blocks would hold, and whether prefixes are reused (vLLM 0.31, `metrics/loggers.py`).
fn configured(pod: &Arc<str>, sample: &Sample<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let (worker, dp_rank) = (labelled_worker(sample), labelled_rank(sample));
    let tokens = sample.labels.get("kv_cache_size_tokens").and_then(|tokens| tokens.parse().ok());
    facts.extend(tokens.map(|value| {
        Fact::Gauge(Gauge {
            pod: Arc::clone(pod),
            worker,
            dp_rank,
            name: GaugeName::TotalTokens,
            value,
        })
    }));
    let reuse = match sample.labels.get("enable_prefix_caching") {
        Some("True") => Some(true),
        Some("False") => Some(false),
        _ => None,
    };
    facts.extend(reuse.map(|reuse| {
        Fact::Claim(Claim {
            what: ClaimWhat::PrefixReuse,
            of: ClaimOf::Engine,
            subject: worker.map_or_else(|| Subject::Pod(Arc::clone(pod)), Subject::Worker),
            model: None,
            value: ClaimValue::Flag(reuse),
            basis: Basis::Observed,
            source: format!("metrics of {pod}").into(),
            raw: format!("enable_prefix_caching=\"{}\"", if reuse { "True" } else { "False" })
                .into(),
            set_by: None,
            medium: Medium::Metrics,
        })
    }));
    facts
}

/// Returns false for requests in flight of endpoints that answer no prompts, such as the one that clears a cache.
fn counts(name: GaugeName, sample: &Sample<'_>) -> bool {
    let endpoint = sample.labels.get("dynamo_endpoint");
    name != GaugeName::InFlight || endpoint.is_none_or(|endpoint| endpoint == "generate")
}

/// A frontend's settings from the card of its model. The block size is the one its router hashes with
/// (dynamo-llm 0.9.0, `http/service/metrics.rs:670`).
fn adopted(what: ClaimWhat, pod: &Arc<str>, sample: &Sample<'_>, value: f64) -> Option<Fact> {
    // Sizes are small whole numbers; anything else is no size.
    let size = (1.0..=1e9).contains(&value).then(|| value.round())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1e9")]
    let size = size as u64;
    let model = printable(sample.labels.get("model").unwrap_or_default(), 200);
    Some(Fact::Claim(Claim {
        what,
        of: ClaimOf::Router,
        subject: Subject::Pod(Arc::clone(pod)),
        model: Some(model.as_ref().into()).filter(|model: &Arc<str>| !model.is_empty()),
        value: ClaimValue::Count(size),
        basis: Basis::Observed,
        source: format!("metrics of {pod}").into(),
        raw: format!("{}{{model=\"{model}\"}} {size}", sample.metric).into(),
        set_by: None,
        medium: Medium::Metrics,
    }))
}

/// From 1.6 worker metrics carry the instance id in hexadecimal; the frontend's gauges about workers
/// carry it in decimal.
fn labelled_worker(sample: &Sample<'_>) -> Option<WorkerId> {
    let id = sample.labels.get("worker_id")?;
    let decimal = sample.metric.starts_with("dynamo_frontend_worker_");
    u64::from_str_radix(id, if decimal { 10 } else { 16 }).ok().map(WorkerId)
}

/// vLLM counts its engines, one for each data-parallel rank, by a label of its own.
fn labelled_rank(sample: &Sample<'_>) -> Option<DpRank> {
    let engine = || sample.labels.get("engine").filter(|_| sample.metric.starts_with("vllm_"));
    let rank = sample.labels.get("dp_rank").or_else(engine)?;
    rank.parse().ok().map(DpRank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Histogram, LatencyName, Timestamp};

    /// Returns what a scrape says, but that no request failed.
    fn facts(text: &'static str) -> Vec<Fact> {
        let mut facts = every_fact(text);
        facts.retain(|fact| match fact {
            Fact::Gauge(gauge) => gauge.name != GaugeName::FailedRequests || gauge.value > 0.0,
            _ => true,
        });
        facts
    }

    fn every_fact(text: &'static str) -> Vec<Fact> {
        let origin = Origin::Metrics { pod: "worker".into(), url: "/metrics".into() };
        let frame = Frame::new(Timestamp::default(), origin, text);
        let mut facts = Facts::default();
        decode(&frame, &mut facts).unwrap();
        facts.other
    }

    /// Returns the gauges of a scrape with the text, as name, rank and value.
    fn gauges(text: &'static str) -> Vec<(GaugeName, Option<u32>, f64)> {
        let gauge = |fact: Fact| match fact {
            Fact::Gauge(gauge) => Some((gauge.name, gauge.dp_rank.map(|rank| rank.0), gauge.value)),
            _ => None,
        };
        facts(text).into_iter().filter_map(gauge).collect()
    }

    #[test]
    fn failed_requests_are_counted_over_all_endpoints_and_are_0_on_a_page_without_requests() {
        let text = "dynamo_frontend_requests_total{endpoint=\"a\",status=\"error\"} 3\n\
                    dynamo_frontend_requests_total{endpoint=\"a\",status=\"success\"} 40\n\
                    dynamo_frontend_requests_total{endpoint=\"b\",status=\"error\"} 2\n";
        let failed = |text| {
            every_fact(text).into_iter().find_map(|fact| match fact {
                Fact::Gauge(it) if it.name == GaugeName::FailedRequests => Some(it.value),
                _ => None,
            })
        };

        assert_eq!(failed(text), Some(5.0));
        assert_eq!(failed("dynamo_frontend_queued_requests 0\n"), Some(0.0));
        assert_eq!(failed("dynamo_component_total_blocks 9\n"), None);
    }

    #[test]
    fn dynamos_own_gauge_of_the_cache_is_a_share_as_the_engines_is() {
        let text = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.97\n\
                    dynamo_component_gpu_cache_usage_percent{dp_rank=\"0\"} 0.97\n";

        let shares: Vec<_> = gauges(text).into_iter().map(|(_, _, value)| value).collect();

        assert_eq!(shares, [0.97, 0.97]);
    }

    #[test]
    fn requests_of_engines_and_blocks_between_tiers_are_read_under_every_name() {
        let text = "vllm:num_requests_running{engine=\"0\"} 3\n\
                    vllm:num_requests_waiting{engine=\"0\"} 0\n\
                    sglang:num_running_reqs 5\n\
                    sglang:num_queue_reqs 2\n\
                    kvbm_offload_blocks_d2h 40\n\
                    kvbm_onboard_blocks_o2d 7\n\
                    dynamo_frontend_output_tokens_total{model=\"m\"} 900\n\
                    dynamo_kvindexer_workers 4\n";

        let read: Vec<_> = gauges(text).into_iter().map(|(name, _, value)| (name, value)).collect();

        let expected = [
            (GaugeName::Running, 3.0),
            (GaugeName::Waiting, 0.0),
            (GaugeName::Running, 5.0),
            (GaugeName::Waiting, 2.0),
            (GaugeName::DeviceToHost, 40.0),
            (GaugeName::ObjectToDevice, 7.0),
            (GaugeName::OutputTokens, 900.0),
            (GaugeName::Registered, 4.0),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn the_engines_of_one_vllm_worker_are_its_ranks() {
        let text = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.1\n\
                    vllm:kv_cache_usage_perc{engine=\"1\"} 0.9\n\
                    vllm:prefix_cache_queries_total{engine=\"0\"} 400\n\
                    vllm:prefix_cache_queries_total{engine=\"1\"} 0\n\
                    vllm:prefix_cache_hits_total{engine=\"0\"} 100\n\
                    vllm:prefix_cache_hits_total{engine=\"1\"} 0\n\
                    vllm:cache_config_info{engine=\"0\",num_gpu_blocks=\"573\"} 1\n\
                    vllm:cache_config_info{engine=\"1\",num_gpu_blocks=\"None\"} 1\n";

        assert_eq!(
            gauges(text),
            [
                (GaugeName::KvUtilization, Some(0), 0.1),
                (GaugeName::KvUtilization, Some(1), 0.9),
                (GaugeName::ConfiguredBlocks, Some(0), 573.0),
                (GaugeName::PrefixHits, Some(0), 100.0),
                (GaugeName::PrefixQueries, Some(0), 400.0),
                (GaugeName::PrefixHitRate, Some(0), 0.25),
                (GaugeName::PrefixHits, Some(1), 0.0),
                (GaugeName::PrefixQueries, Some(1), 0.0),
            ],
        );
    }

    #[test]
    fn the_configuration_of_vllm_tells_tokens_that_fit_and_reuse_and_no_block_size() {
        let text = "vllm:cache_config_info{block_size=\"32\",enable_prefix_caching=\"False\",engine=\"0\",\
                    kv_cache_size_tokens=\"8128\",num_gpu_blocks=\"512\",worker_id=\"1a\"} 1\n";

        assert_eq!(
            gauges(text),
            [
                (GaugeName::TotalTokens, Some(0), 8128.0),
                (GaugeName::ConfiguredBlocks, Some(0), 512.0)
            ]
        );
        let claims = facts(text).into_iter().filter_map(|fact| match fact {
            Fact::Claim(claim) => Some((claim.what, claim.subject, claim.value)),
            _ => None,
        });
        let worker = Subject::Worker(WorkerId(0x1a));
        let expected = [(ClaimWhat::PrefixReuse, worker, ClaimValue::Flag(false))];
        assert_eq!(claims.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_models_of_one_frontend_differ_in_is_no_capacity() {
        let claimed = |text: &'static str| {
            let of = |fact: &Fact| match fact {
                Fact::Claim(claim) => Some((claim.what, claim.value.clone())),
                _ => None,
            };
            facts(text).iter().filter_map(of).collect::<Vec<_>>()
        };
        let one = "dynamo_frontend_model_total_kv_blocks{model=\"a\"} 5000\n";
        let two = "dynamo_frontend_model_total_kv_blocks{model=\"a\"} 5000\n\
                   dynamo_frontend_model_total_kv_blocks{model=\"b\"} 400\n";

        assert_eq!(claimed(one), [(ClaimWhat::TotalKvBlocks, ClaimValue::Count(5000))]);
        assert_eq!(claimed(two), []);
    }

    #[test]
    fn what_a_frontend_believes_of_a_worker_is_told_as_its_load() {
        let text = "dynamo_frontend_worker_active_decode_blocks{dp_rank=\"1\",worker_id=\"42\"} 7\n\
                    dynamo_frontend_worker_active_prefill_tokens{dp_rank=\"1\",worker_id=\"42\"} 90\n\
                    dynamo_frontend_worker_active_prefill_tokens{dp_rank=\"0\",worker_id=\"43\"} 5\n";

        let [Fact::Load(load)] = &facts(text)[..] else { panic!("{:?}", facts(text)) };

        assert_eq!((load.rank.worker, load.rank.dp_rank), (WorkerId(42), DpRank(1)));
        assert_eq!((load.active_decode_blocks, load.active_prefill_tokens), (Some(7), Some(90)));
        assert_eq!(load.kv_used_blocks, None, "a router's estimate is no use of the engine");
    }

    #[test]
    fn buckets_are_summed_over_models_and_sorted() {
        let name = "dynamo_frontend_time_to_first_token_seconds_bucket";
        let text = format!(
            "{name}{{model=\"a\",le=\"1\"}} 3\n{name}{{model=\"a\",le=\"0.47\"}} 2\n\
             {name}{{model=\"a\",le=\"+Inf\"}} 4\n{name}{{model=\"b\",le=\"1\"}} 5\n\
             {name}{{model=\"b\",le=\"x\"}} 5\n"
        );

        let facts = facts(String::leak(text));

        let buckets = vec![(0.47, 2.0), (1.0, 8.0), (f64::INFINITY, 4.0)];
        let name = LatencyName::FirstToken;
        assert_eq!(facts, [Fact::Histogram(Histogram { pod: "worker".into(), name, buckets })]);
    }

    #[test]
    fn a_router_tells_the_dynamo_namespaces_of_its_workers() {
        let name = "dynamo_component_router_worker_registered";
        let homes = |text: &'static str| -> Vec<Arc<str>> {
            let home = |fact| match fact {
                Fact::Home { namespace, .. } => Some(namespace),
                _ => None,
            };
            facts(text).into_iter().filter_map(home).collect()
        };
        let of = |namespace: &str| {
            format!("{name}{{dynamo_namespace=\"{namespace}\",router_worker_id=\"1\"}} 1\n")
        };

        assert_eq!(homes(String::leak(of("a") + &of("b"))), ["a".into(), "b".into()]);
        assert!(homes(String::leak(of(""))).is_empty());
    }

    #[test]
    fn a_router_counts_each_registered_worker_once_however_many_ranks_it_has() {
        let name = "dynamo_component_router_worker_registered";
        let text = format!(
            "{name}{{dp_rank=\"0\",router_worker_id=\"17\",worker_type=\"decode\"}} 1\n\
             {name}{{dp_rank=\"1\",router_worker_id=\"17\",worker_type=\"decode\"}} 1\n\
             {name}{{dp_rank=\"0\",router_worker_id=\"18\",worker_type=\"prefill\"}} 1\n\
             {name}{{dp_rank=\"0\",router_worker_id=\"19\",worker_type=\"decode\"}} 0\n"
        );

        assert_eq!(gauges(String::leak(text)), [(GaugeName::RouterWorkers, None, 2.0)]);
    }

    #[test]
    fn the_time_in_an_engines_queue_is_read_under_the_name_of_each_engine() {
        let of = |name: &str| {
            let text = format!("{name}_bucket{{le=\"0.3\"}} 3\n{name}_bucket{{le=\"+Inf\"}} 4\n");
            match &facts(String::leak(text))[..] {
                [Fact::Histogram(histogram)] => (histogram.name, histogram.buckets.clone()),
                other => panic!("{name}: {other:?}"),
            }
        };
        let buckets = vec![(0.3, 3.0), (f64::INFINITY, 4.0)];
        for name in [
            "vllm:request_queue_time_seconds",
            "trtllm_request_queue_time_seconds",
            "sglang:queue_time_seconds",
        ] {
            assert_eq!(of(name), (LatencyName::Queue, buckets.clone()), "{name}");
        }
    }

    #[test]
    fn only_requests_for_answers_are_in_flight() {
        let name = "dynamo_component_inflight_requests";
        let text = format!(
            "{name}{{dynamo_endpoint=\"generate\"}} 61\n\
             {name}{{dynamo_endpoint=\"clear_kv_blocks\"}} 1\n"
        );

        assert_eq!(gauges(String::leak(text)), [(GaugeName::InFlight, None, 61.0)]);
    }
}
