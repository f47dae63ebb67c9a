//! Chooses the ZMQ publishers to connect to, from discovery records and the settings of pods.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{Choice, Seen, has_started};
use crate::domain::{Advertised, Channel, Pod, Transport};
use crate::dynamo::{plane, variable};

/// Topics that kvtop reads, the most important first. Each has a socket of its own.
const TOPICS: [&str; 4] = [plane::KV_EVENTS, plane::LOAD, plane::ACTIVE_SEQUENCES, plane::HIT_RATE];

/// A ZMQ socket to subscribe to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZmqTarget {
    /// Its address, as it was written.
    pub endpoint: Arc<str>,
    /// Namespace and name of its pod, where that is known.
    pub pod: Option<(Arc<str>, Arc<str>)>,
    /// True for a broker between publishers and subscribers.
    pub broker: bool,
    /// True when KV events are published there.
    pub events: bool,
    /// True for the socket of an engine itself.
    pub engine: bool,
    /// The topic and the source of the address, for display.
    pub from: Arc<str>,
}

/// Returns the sockets that discovery records name, of those that were chosen: those with KV events
/// first, each once.
pub fn published(seen: &Seen<'_>, pods: &[&Pod], choice: &Choice) -> Vec<ZmqTarget> {
    let mut found: BTreeMap<(usize, Arc<str>), ZmqTarget> = BTreeMap::new();
    let who = Who::new(pods, choice);
    for (record, channel) in &seen.channels {
        let topic = TOPICS.iter().position(|topic| *topic == channel.topic.as_ref());
        let by = |endpoint: &Arc<str>, broker| ZmqTarget {
            endpoint: Arc::clone(endpoint),
            pod: if broker { None } else { who.pod(record, endpoint) },
            broker,
            events: broker || topic == Some(0),
            engine: false,
            from: from(channel, record, broker).into(),
        };
        if !who.wants(record, channel) {
            continue;
        }
        match (&channel.transport, topic) {
            (Transport::Zmq { endpoint }, Some(topic)) => {
                found.entry((topic, Arc::clone(endpoint))).or_insert_with(|| by(endpoint, false));
            }
            // A broker passes on every topic, whatever its record is called after.
            (Transport::ZmqBroker { endpoints }, _) => {
                for endpoint in endpoints {
                    found.entry((0, Arc::clone(endpoint))).or_insert_with(|| by(endpoint, true));
                }
            }
            (Transport::Zmq { .. } | Transport::Nats { .. }, _) => {}
        }
    }
    // With brokers that are named outright there are no records (dynamo-runtime 1.6.1,
    // `transports/event_plane/mod.rs:559`).
    for pod in pods {
        for endpoint in &pod.zmq_brokers {
            found.entry((0, Arc::clone(endpoint))).or_insert_with(|| ZmqTarget {
                endpoint: Arc::clone(endpoint),
                pod: None,
                broker: true,
                events: true,
                engine: false,
                from: format!(
                    "broker, by {zmq_broker_url} of pod {}",
                    pod.name,
                    zmq_broker_url = variable::ZMQ_BROKER_URL
                )
                .into(),
            });
        }
    }
    let mut once = BTreeSet::new();
    found.into_values().filter(|target| once.insert(Arc::clone(&target.endpoint))).collect()
}

/// Returns the sockets of engines that publish their own events, which name the tokens in a block.
pub(super) fn engines(pods: &[&Pod]) -> Vec<ZmqTarget> {
    let of_pod = |pod: &&Pod| {
        let (ip, socket) = (pod.ip.as_ref()?, pod.engine_events?);
        let port = socket.port;
        let ip = if ip.contains(':') { format!("[{ip}]") } else { ip.to_string() };
        Some(ZmqTarget {
            endpoint: format!("tcp://{ip}:{port}").into(),
            pod: Some((Arc::clone(&pod.namespace), Arc::clone(&pod.name))),
            broker: false,
            events: false,
            engine: true,
            from: format!("engine, by {} of pod {}", socket.by, pod.name).into(),
        })
    };
    pods.iter().filter(|pod| has_started(pod)).filter_map(of_pod).collect()
}

fn from(channel: &Channel, record: &Advertised, broker: bool) -> String {
    let topic = if broker { "broker" } else { &channel.topic };
    format!("{topic}, by {}", record.record)
}

/// The owners of records that count.
struct Who<'a> {
    by_name: HashMap<&'a str, &'a Pod>,
    by_ip: HashMap<&'a str, &'a Pod>,
    /// Dynamo namespaces; empty when any will do.
    namespaces: BTreeSet<&'a str>,
}

impl<'a> Who<'a> {
    fn new(pods: &[&'a Pod], choice: &'a Choice) -> Self {
        let of_pods = pods.iter().filter_map(|pod| pod.dynamo_namespace.as_deref());
        Self {
            by_name: pods.iter().map(|pod| (pod.name.as_ref(), *pod)).collect(),
            by_ip: pods.iter().filter_map(|pod| Some((pod.ip.as_deref()?, *pod))).collect(),
            namespaces: match &choice.dynamo_namespace {
                Some(named) => [named.as_str()].into(),
                None => of_pods.collect(),
            },
        }
    }

    fn wants(&self, record: &Advertised, channel: &Channel) -> bool {
        match &record.pod {
            Some(pod) => self.by_name.contains_key(pod.as_ref()),
            None => {
                self.namespaces.is_empty()
                    || channel.namespace.is_empty()
                    || self.namespaces.contains(channel.namespace.as_ref())
            }
        }
    }

    /// Returns the pod that a publisher is in: the one whose record it is, or who has its address.
    fn pod(&self, record: &Advertised, endpoint: &str) -> Option<(Arc<str>, Arc<str>)> {
        let named = record.pod.as_ref().and_then(|pod| self.by_name.get(pod.as_ref()));
        let host = endpoint.strip_prefix("tcp://").and_then(|rest| rest.rsplit_once(':'));
        let host = host.map(|(host, _)| host.trim_matches(['[', ']']));
        let pod = named.or_else(|| self.by_ip.get(host?))?;
        Some((Arc::clone(&pod.namespace), Arc::clone(&pod.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, pod: Option<&str>, channels: Vec<Channel>) -> Advertised {
        Advertised { record: name.into(), pod: pod.map(Into::into), channels }
    }

    fn channel(topic: &str, transport: Transport) -> Channel {
        Channel { namespace: "prod-g".into(), topic: topic.into(), publisher: 7, transport }
    }

    fn direct(topic: &str, endpoint: &str) -> Channel {
        channel(topic, Transport::Zmq { endpoint: endpoint.into() })
    }

    fn pod(name: &str, ip: &str) -> Pod {
        Pod {
            name: name.into(),
            namespace: "prod".into(),
            ip: Some(ip.into()),
            dynamo_namespace: Some("prod-g".into()),
            ..Pod::default()
        }
    }

    fn found(records: &[Advertised], pods: &[Pod], choice: &Choice) -> Vec<ZmqTarget> {
        let mut seen = Seen::default();
        for record in records {
            seen.channels.extend(record.channels.iter().map(|channel| (record, channel)));
        }
        published(&seen, &pods.iter().collect::<Vec<_>>(), choice)
    }

    #[test]
    fn publishers_of_chosen_pods_are_found_those_with_events_first() {
        let own = "DynamoWorkerMetadata a";
        let records = [
            record(
                own,
                Some("a"),
                vec![
                    direct("kv_metrics", "tcp://10.0.0.1:1"),
                    direct("forward-pass-metrics", "tcp://10.0.0.1:2"),
                    direct("kv-events", "tcp://10.0.0.1:3"),
                    channel("kv-events", Transport::Nats { prefix: "namespace.x".into() }),
                ],
            ),
            record("other", Some("b"), vec![direct("kv-events", "tcp://10.0.0.2:3")]),
        ];

        let targets = found(&records, &[pod("a", "10.0.0.1")], &Choice::default());

        let from: Vec<&str> = targets.iter().map(|target| &*target.from).collect();
        assert_eq!(from, [format!("kv-events, by {own}"), format!("kv_metrics, by {own}")]);
        assert_eq!(&*targets[0].endpoint, "tcp://10.0.0.1:3");
        assert_eq!(targets[0].pod, Some(("prod".into(), "a".into())));
    }

    #[test]
    fn records_without_a_pod_count_by_namespace_and_are_joined_by_address() {
        let mut foreign = direct("kv-events", "tcp://10.0.0.9:3");
        foreign.namespace = "else".into();
        let here = direct("kv-events", "tcp://10.0.0.1:3");
        let records = [record("k1", None, vec![foreign]), record("k2", None, vec![here])];

        let targets = found(&records, &[pod("a", "10.0.0.1")], &Choice::default());
        assert_eq!(targets.len(), 1);
        assert_eq!(targets[0].pod, Some(("prod".into(), "a".into())));

        // Without Kubernetes every namespace is looked at, or the one that was named.
        assert_eq!(found(&records, &[], &Choice::default()).len(), 2);
        let named = Choice { dynamo_namespace: Some("else".into()), ..Choice::default() };
        assert_eq!(&*found(&records, &[], &named)[0].endpoint, "tcp://10.0.0.9:3");
    }

    #[test]
    fn brokers_are_found_in_records_and_in_the_environment_and_each_once() {
        let brokers =
            |list: &[&str]| -> Vec<Arc<str>> { list.iter().map(|b| (*b).into()).collect() };
        let endpoints = brokers(&["tcp://a:2", "tcp://b:2"]);
        let records = [record("k", None, vec![channel("any", Transport::ZmqBroker { endpoints })])];
        let told =
            Pod { zmq_brokers: brokers(&["tcp://b:2", "tcp://c:2"]), ..pod("a", "10.0.0.1") };

        let targets = found(&records, &[told], &Choice::default());

        assert!(targets.iter().all(|target| target.broker && target.pod.is_none()));
        let all: Vec<&str> = targets.iter().map(|target| &*target.endpoint).collect();
        assert_eq!(all, ["tcp://a:2", "tcp://b:2", "tcp://c:2"]);
        assert_eq!(&*targets[2].from, "broker, by DYN_ZMQ_BROKER_URL of pod a");
    }
}
