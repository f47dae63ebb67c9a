//! Why no KV event is to be expected, where none is.

use std::sync::Arc;

use super::{Evidence, Ground, OfWorker};
use crate::domain::WorkerId;

/// A cause that keeps every worker from publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// No engine reuses prefixes, so that there is nothing to publish (KVT017).
    CachingOff,
    /// Engines send larger blocks than their publishers take, which drop them (KVT001).
    BlocksDropped,
}

impl Silence {
    /// Returns it in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachingOff => "prefix caching is off on every worker (KVT017)",
            Self::BlocksDropped => "publishers drop the larger blocks of their engines (KVT001)",
        }
    }
}

impl Evidence {
    /// Returns the setting that keeps the engine of `worker` from reusing prefixes, when one does.
    pub fn caching_off(&self, worker: WorkerId) -> Option<&OfWorker<bool>> {
        self.uncached().find(|of| of.worker == Some(worker))
    }

    /// Returns the settings that keep engines from reusing prefixes. A pod whose worker never registered, while
    /// others are known by their pods, serves nobody.
    pub fn uncached(&self) -> impl Iterator<Item = &OfWorker<bool>> {
        let placed = self.present().any(|rank| rank.pod.is_some());
        let off = self.settings.prefix_reuse.iter().filter(|of| !of.set.value);
        off.filter(move |of| of.worker.is_some() || !placed)
    }

    /// Returns engines that cannot publish: vLLM binds an address with `*` or `::` in it, and connects to any other,
    /// where nobody listens (vLLM 0.8 to 0.31, `distributed/kv_events.py`).
    pub fn unbound(&self) -> impl Iterator<Item = &OfWorker<Arc<str>>> {
        let binds = |endpoint: &str| {
            endpoint.contains('*')
                || endpoint.contains("::")
                || endpoint.starts_with("ipc://")
                || endpoint.starts_with("inproc://")
        };
        self.settings.event_endpoints.iter().filter(move |of| !binds(&of.set.value))
    }

    /// Returns true when no engine reuses prefixes, as far as workers are known.
    fn is_uncached(&self) -> bool {
        let known = self.settings.publishes.len();
        let known = known.max(self.present().filter(|rank| rank.registered).count());
        let off = self.uncached().count();
        off > 0 && off >= known
    }

    /// Returns why no worker is expected to publish KV events, when that is known of all.
    pub fn expected_silence(&self) -> Option<Silence> {
        if self.is_uncached() {
            return Some(Silence::CachingOff);
        }
        // A worker that does publish would have been heard.
        let larger = self.split_workers().into_iter();
        let mut larger = larger.filter(|(publisher, engine)| {
            engine.ground == Ground::Observed && engine.tokens > publisher.tokens
        });
        let dropped = !self.outgrown().is_empty() || larger.next().is_some();
        dropped.then_some(Silence::BlocksDropped)
    }
}
