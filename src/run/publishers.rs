//! The ZMQ source of whatever discovery names: opened when there is something to listen to.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use crate::attach;
use crate::clock;
use crate::domain::{Reason, SourceName, SourceNote, SourceState, Trouble, Unreached};
use crate::source::reach::Reach;
use crate::source::zmq::{self, BadEndpoint, Endpoint, ZmqSpec, ZmqTarget};
use crate::source::{Emitter, SourceHandle};

/// Publishers that are listened to.
pub(super) struct Publishers {
    emitter: Emitter,
    reach: Reach,
    dynamo_namespace: Option<Arc<str>>,
    targets: watch::Sender<Vec<ZmqTarget>>,
    source: Option<SourceHandle>,
    /// Addresses that cannot be used, as they were told.
    unusable: BTreeSet<Arc<str>>,
}

impl Publishers {
    pub(super) fn new(emitter: Emitter, reach: Reach, dynamo_namespace: Option<Arc<str>>) -> Self {
        let (targets, _) = watch::channel(Vec::new());
        let unusable = BTreeSet::new();
        Self { emitter, reach, dynamo_namespace, targets, source: None, unusable }
    }

    /// Listens to `wanted`, and to nobody else. Must be called within a runtime.
    pub(super) fn follow(&mut self, wanted: &[attach::ZmqTarget]) {
        let (mut targets, mut unusable) = (Vec::new(), Vec::new());
        for one in wanted {
            match target(one) {
                Ok(target) => targets.push(target),
                Err(why) => unusable.push((one, why)),
            }
        }
        self.cannot(unusable, wanted.len());
        if targets.is_empty() && self.source.is_none() {
            return;
        }
        self.targets.send_if_modified(|known| {
            let differs = *known != targets;
            *known = targets;
            differs
        });
        if self.source.is_none() {
            let spec = ZmqSpec::new(self.reach.clone(), self.dynamo_namespace.clone());
            let source = zmq::spawn(spec, self.emitter.clone(), self.targets.subscribe());
            self.source = Some(source);
        }
    }

    /// Returns the source, once there is one.
    pub(super) fn handle(&self) -> Option<&SourceHandle> {
        self.source.as_ref()
    }

    /// Reports which of `count` addresses are unusable, whenever that changes; those of KV events first.
    fn cannot(&mut self, mut unusable: Vec<(&attach::ZmqTarget, BadEndpoint)>, count: usize) {
        unusable.sort_by_key(|(target, _)| !target.events);
        let now = unusable.iter().map(|(target, _)| Arc::clone(&target.endpoint));
        let now: BTreeSet<Arc<str>> = now.take(attach::TARGET_LIMIT).collect();
        if std::mem::replace(&mut self.unusable, now) == self.unusable {
            return;
        }
        let Some((first, why)) = unusable.first() else {
            // What listens says itself how it is doing.
            if self.source.is_none() {
                self.tell(SourceState::Ended, "the discovery records of publishers are gone");
            }
            return;
        };
        let without = unusable.len();
        let text = format!("{without} of {count} publishers have no usable address; {why}");
        let unreached = vec![Unreached {
            address: Arc::clone(&first.endpoint),
            why: why.to_string().into(),
            from: Arc::clone(&first.from),
        }];
        // The source itself says how the others are doing.
        let state = if without == count { SourceState::Down } else { SourceState::Lossy };
        let note = SourceNote::new(
            SourceName::Zmq,
            state,
            Reason::new(Trouble::NoAddress, text),
            clock::now(),
        );
        // With nobody to hear it the owner ends by itself.
        self.emitter.note(&SourceNote { unreached, ..note });
    }

    fn tell(&self, state: SourceState, why: impl Into<Reason>) {
        // With nobody to hear it the owner ends by itself.
        self.emitter.note(&SourceNote::new(SourceName::Zmq, state, why, clock::now()));
    }
}

fn target(wanted: &attach::ZmqTarget) -> Result<ZmqTarget, BadEndpoint> {
    Ok(ZmqTarget {
        endpoint: Endpoint::parse(&wanted.endpoint)?,
        pod: wanted.pod.clone(),
        broker: wanted.broker,
        events: wanted.events,
        engine: wanted.engine,
        from: Arc::clone(&wanted.from),
    })
}
