//! Reasons why no KV events are expected.

use std::sync::Arc;

use super::{Evidence, Ground, OfWorker};
use crate::domain::WorkerId;
use crate::dynamo::{engine, release};

/// A cause that keeps every worker from publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Prefix caching is off on all engines, so there is nothing to publish (KVT017).
    CachingOff,
    /// Engines send blocks of a size that their publishers do not accept and drop (KVT001).
    BlocksDropped,
}

impl Silence {
    /// Returns the reason as text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachingOff => "prefix caching is off on every worker (KVT017)",
            Self::BlocksDropped => {
                "publishers drop their engines' blocks, which have another size (KVT001)"
            }
        }
    }
}

impl Evidence {
    /// Returns the setting that turns prefix caching off on `worker`, if there is one.
    pub fn caching_off(&self, worker: WorkerId) -> Option<&OfWorker<bool>> {
        self.uncached().find(|of| of.worker == Some(worker))
    }

    /// Returns the settings that turn prefix caching off. If other workers are known by their pods, a pod
    /// without a registered worker is left out: it serves no requests.
    pub fn uncached(&self) -> impl Iterator<Item = &OfWorker<bool>> {
        let off = self.settings.prefix_reuse.iter().filter(|of| !of.set.value);
        let is_placed = std::cell::LazyCell::new(|| self.present().any(|rank| rank.pod.is_some()));
        off.filter(move |of| of.worker.is_some() || !*is_placed)
    }

    /// Returns engines that cannot publish, because they connect to their own address.
    pub fn unbound(&self) -> impl Iterator<Item = &OfWorker<Arc<str>>> {
        self.settings.event_endpoints.iter().filter(|of| !engine::is_bound(&of.set.value))
    }

    /// Returns true when prefix caching is off on all known workers.
    fn is_uncached(&self) -> bool {
        let known = self.settings.publishes.len();
        let known = known.max(self.present().filter(|rank| rank.registered).count());
        let off = self.uncached().count();
        off > 0 && off >= known
    }

    /// Returns the reason why no worker is expected to publish KV events, if it applies to all workers.
    pub fn expected_silence(&self) -> Option<Silence> {
        if self.is_uncached() {
            return Some(Silence::CachingOff);
        }
        let drops_smaller =
            self.releases.least.is_some_and(|it| it >= release::EMPTY_STORES_DROPPED);
        // Only called while no event arrives, so no worker publishes.
        let split = self.split_workers().into_iter();
        let mut unfit = split.filter(|(publisher, engine)| {
            engine.ground == Ground::Observed && (drops_smaller || engine.tokens > publisher.tokens)
        });
        let dropped = !self.outgrown().is_empty() || unfit.next().is_some();
        dropped.then_some(Silence::BlocksDropped)
    }
}
