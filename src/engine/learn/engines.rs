//! Engines that the user named by address: the worker that each one belongs to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{
    Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, EngineSocketSeen, Medium, Subject, Timestamp,
    Transport, WorkerId,
};
use crate::engine::{Knowledge, Learner};

/// The largest number of engines kept apart; a deployment has one per rank.
const ENGINES: usize = 1024;

/// The largest number of blocks kept per engine to find its worker.
const BLOCKS: usize = 8;

/// Engines whose worker is not known yet, by address and rank, each with its last report and the time of it.
#[derive(Debug, Default)]
pub(in crate::engine) struct UnlinkedEngines(
    BTreeMap<(Arc<str>, u32), (EngineSocketSeen, Timestamp)>,
);

impl Learner<'_> {
    /// Keeps an engine's report until its worker is known.
    pub(super) fn engine_socket(&mut self, seen: &EngineSocketSeen, at: Timestamp) {
        let key = (Arc::clone(&seen.address), seen.dp_rank);
        let unlinked = &mut self.known.fleet.unlinked.0;
        if unlinked.len() >= ENGINES && !unlinked.contains_key(&key) {
            return;
        }
        let before = unlinked.remove(&key).map(|(before, _)| before.blocks).unwrap_or_default();
        let mut seen = seen.clone();
        seen.blocks.extend(before);
        seen.blocks.truncate(BLOCKS);
        unlinked.insert(key, (seen, at));
    }

    /// Claims the block sizes that engines reported, each for its worker. An engine whose worker is not known stays
    /// in the list, because its worker may publish the same blocks a little later.
    pub(in crate::engine) fn link_engines(&mut self) {
        for (key, (seen, at)) in std::mem::take(&mut self.known.fleet.unlinked.0) {
            let worker = self.known.engine_worker(&seen);
            self.claim_engine_size(&seen, worker, at);
            if worker.is_none() {
                self.known.fleet.unlinked.0.insert(key, (seen, at));
            }
        }
    }

    fn claim_engine_size(
        &mut self,
        seen: &EngineSocketSeen,
        worker: Option<WorkerId>,
        at: Timestamp,
    ) {
        let subject = worker.map_or_else(|| self.known.engine_pod(&seen.address), Subject::Worker);
        let source: Arc<str> = format!("KV events of the engine at {}", seen.address).into();
        self.known.fleet.claims.forget(|claim| claim.source == source && claim.subject != subject);
        let claim = Claim {
            what: ClaimWhat::BlockSize,
            of: ClaimOf::Engine,
            subject,
            model: None,
            value: ClaimValue::Count(seen.block_size),
            basis: Basis::Observed,
            source,
            raw: format!("block_size: {}", seen.block_size).into(),
            set_by: None,
            medium: Medium::Events,
        };
        self.known.fleet.claims.note(&claim, at);
    }
}

impl Knowledge {
    /// Returns the worker that publishes most of the engine's blocks; or else the only one at the engine's host.
    /// Prompts that begin alike are cached by several workers, so that some blocks are those of others as well.
    pub(in crate::engine) fn engine_worker(&self, seen: &EngineSocketSeen) -> Option<WorkerId> {
        let present = |worker| self.fleet.workers.worker(worker).is_none_or(|known| !known.gone);
        let mut held: BTreeMap<WorkerId, usize> = BTreeMap::new();
        for (rank, _) in self.index.mirror.ranks().filter(|(rank, _)| present(rank.worker)) {
            let known = |block: &&_| self.index.mirror.knows(rank, **block);
            let blocks = seen.blocks.iter().filter(known).count();
            let most = held.entry(rank.worker).or_default();
            *most = blocks.max(*most);
        }
        let most = held.values().copied().max().filter(|most| *most > 0);
        let holders = held.iter().filter(|(_, blocks)| Some(**blocks) == most);
        only(holders.map(|(worker, _)| *worker)).or_else(|| self.worker_on(host(&seen.address)?))
    }

    /// Returns the only worker at `host`, by its pod's address or by where it publishes.
    fn worker_on(&self, host: &str) -> Option<WorkerId> {
        let pods = self.shown.cluster.pods().filter(|it| it.pod.ip.as_deref() == Some(host));
        let in_pods = pods.filter_map(|it| self.fleet.workers.in_pod(&it.pod.name));
        let channels =
            self.shown.channels.all().filter_map(|(_, channel)| match &channel.transport {
                // Up to 1.2 a worker publishes under its own id.
                Transport::Zmq { endpoint } if self::host(endpoint) == Some(host) => {
                    self.fleet.workers.worker(WorkerId(channel.publisher)).map(|worker| worker.id)
                }
                _ => None,
            });
        only(in_pods.chain(channels))
    }

    /// Returns the subject of claims about an engine whose worker is not known: its pod, or else its address.
    fn engine_pod(&self, address: &Arc<str>) -> Subject {
        let host = host(address);
        let pods =
            self.shown.cluster.pods().filter(|it| host.is_some() && it.pod.ip.as_deref() == host);
        let mut names = pods.map(|it| Arc::clone(&it.pod.name));
        let only = names.next().filter(|_| names.next().is_none());
        Subject::Pod(only.unwrap_or_else(|| Arc::clone(address)))
    }
}

/// Returns the host of `tcp://HOST:PORT`.
fn host(address: &str) -> Option<&str> {
    let (host, _) = address.strip_prefix("tcp://")?.rsplit_once(':')?;
    Some(host.trim_matches(['[', ']']))
}

/// Returns the worker if all of `workers` are the same one.
fn only(mut workers: impl Iterator<Item = WorkerId>) -> Option<WorkerId> {
    let first = workers.next()?;
    workers.all(|other| other == first).then_some(first)
}
