//! The watchers of several deployments: started and ended as deployments come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::super::RunError;
use super::super::live;
use super::super::memory;
use super::super::output::tell;
use super::super::place;
use super::super::roster::{self, Roster};
use super::pages::Watchers;
use super::watcher::{self, Watcher};
use crate::attach::Place;
use crate::cli::{Shard, SourceArgs};
use crate::source::Budget;
use crate::source::kube::KubeClient;

/// Time between two looks for new namespaces.
const LIST_EVERY: Duration = Duration::from_secs(10);

/// Looks in a row after which a namespace that is no longer listed is left alone.
const MISSES: u32 = 2;

/// The least memory for the index copy of a namespace.
const LEAST: usize = 4 << 20;

/// The watchers of several namespaces.
pub(super) struct Crowd {
    client: KubeClient,
    args: SourceArgs,
    shard: Option<Shard>,
    budget: Arc<Budget>,
    members: BTreeMap<Place, Member>,
    show: watch::Sender<Arc<Vec<Watcher>>>,
    told: BTreeSet<String>,
}

/// A watched namespace.
struct Member {
    watcher: Watcher,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    missed: u32,
}

/// Lists the namespaces and starts their sources; the crowd is to be run.
pub(super) async fn start(
    args: &SourceArgs,
    shard: Option<Shard>,
) -> Result<(Crowd, Watchers), RunError> {
    let args = roster::common(args);
    let client = live::connect(&args).await?;
    let roster = Roster::read(&client, &args).await?;
    let (show, watchers) = watch::channel(Arc::default());
    let budget = memory::budget(args.max_memory());
    let members = BTreeMap::new();
    let told = BTreeSet::new();
    let mut crowd = Crowd { client, args, shard, budget, members, show, told };
    crowd.follow(roster);
    Ok((crowd, watchers))
}

impl Crowd {
    /// Returns the number of watched namespaces, for people.
    pub(super) fn title(&self) -> String {
        let noun = if self.members.len() == 1 { "namespace" } else { "namespaces" };
        let part = self.shard.map(|it| format!(" (shard {} of {})", it.number, it.count));
        format!("{} {noun}{}", self.members.len(), part.unwrap_or_default())
    }

    /// Follows what is listed until `stopped` says so.
    pub(super) async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut listing = tokio::time::interval_at(Instant::now() + LIST_EVERY, LIST_EVERY);
        loop {
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => break,
                _ = listing.tick() => {}
            }
            match Roster::read(&self.client, &self.args).await {
                Ok(roster) => self.follow(roster),
                Err(error) => self.once(&crate::exit::chain(&error)),
            }
        }
        let members = std::mem::take(&mut self.members);
        for member in members.values() {
            member.stop.send_replace(true);
        }
        for member in members.into_values() {
            // One that panicked has told so already.
            drop(member.task.await);
        }
    }

    fn follow(&mut self, roster: Roster) {
        for part in &roster.unlisted {
            self.once(&format!("not watched: {part}"));
        }
        let wanted = self.places(roster);
        let share = memory::of_mirror(self.args.max_memory()) / wanted.len().max(1);
        for (place, member) in &mut self.members {
            member.missed = if wanted.contains(place) { 0 } else { member.missed + 1 };
        }
        self.members.retain(|_, member| {
            let stays = member.missed < MISSES;
            if !stays {
                member.stop.send_replace(true);
            }
            stays
        });
        for place in wanted {
            if self.members.contains_key(&place) {
                continue;
            }
            let found = place::at(&self.client, &self.args, &place, &place.namespace);
            match live::look_within(found, Arc::clone(&self.budget)) {
                Ok(live) => {
                    let (watcher, watch) = watcher::with_watch(live, Some(share.max(LEAST)));
                    let (stop, stopped) = watch::channel(false);
                    let task = tokio::spawn(watch.run(stopped));
                    self.members.insert(place, Member { watcher, stop, task, missed: 0 });
                }
                Err(error) => self.once(&crate::exit::chain(&error)),
            }
        }
        let watchers = self.members.values().map(|member| member.watcher.clone()).collect();
        self.show.send_replace(Arc::new(watchers));
    }

    /// Returns the places to watch: whole namespaces, except for deployments that were named, of this shard.
    fn places(&self, roster: Roster) -> BTreeSet<Place> {
        let named = &self.args.namespaces;
        let is_named =
            |name: &Option<String>| name.as_ref().is_some_and(|name| named.contains(name));
        let place = |place: Place| {
            if is_named(&place.dgd) || is_named(&place.dynamo_namespace) {
                return place;
            }
            Place { namespace: place.namespace, dgd: None, dynamo_namespace: None }
        };
        let ours = |place: &Place| {
            let hash = xxh3_64(place.namespace.as_bytes());
            self.shard.is_none_or(|shard| shard.has(hash))
        };
        roster.places.into_iter().map(place).filter(ours).collect()
    }

    fn once(&mut self, sentence: &str) {
        if self.told.len() < 64 && self.told.insert(sentence.to_owned()) {
            tell(&format!("kvtop: {sentence}"));
        }
    }
}
