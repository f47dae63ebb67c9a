//! Addresses of publishers, by discovery records.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Advertised, Channel};

/// Most records that are kept.
const RECORD_LIMIT: usize = 16_384;

/// The channels of every discovery record.
#[derive(Debug, Default)]
pub struct Channels {
    records: BTreeMap<Arc<str>, Advertised>,
}

impl Channels {
    /// Notes what a record says, in place of what it said before.
    pub fn set(&mut self, advertised: &Advertised) {
        if advertised.channels.is_empty() {
            self.records.remove(&advertised.record);
        } else if self.records.len() < RECORD_LIMIT || self.records.contains_key(&advertised.record)
        {
            self.records.insert(Arc::clone(&advertised.record), advertised.clone());
        }
    }

    /// Returns every channel with its record.
    pub fn all(&self) -> impl Iterator<Item = (&Advertised, &Channel)> {
        let of = |record| move |channel| (record, channel);
        self.records.values().flat_map(move |record| record.channels.iter().map(of(record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Transport;

    fn advertised(record: &str, topics: &[&str]) -> Advertised {
        let channel = |topic: &&str| Channel {
            namespace: "dynamo".into(),
            topic: (*topic).into(),
            publisher: 1,
            transport: Transport::Zmq { endpoint: "tcp://10.0.0.1:5".into() },
        };
        let channels = topics.iter().map(channel).collect();
        Advertised { record: record.into(), pod: None, channels }
    }

    #[test]
    fn a_record_replaces_what_it_said_and_takes_it_back() {
        let mut channels = Channels::default();
        let topics = |channels: &Channels| -> Vec<String> {
            channels.all().map(|(_, channel)| channel.topic.to_string()).collect()
        };
        channels.set(&advertised("a", &["kv-events", "kv_metrics"]));
        channels.set(&advertised("b", &["kv-events"]));
        assert_eq!(topics(&channels), ["kv-events", "kv_metrics", "kv-events"]);
        channels.set(&advertised("a", &["kv_metrics"]));
        assert_eq!(topics(&channels), ["kv_metrics", "kv-events"]);
        channels.set(&advertised("a", &[]));
        assert_eq!(topics(&channels), ["kv-events"]);
    }
}
