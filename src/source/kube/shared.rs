//! One watch of a kind of object in the whole cluster, in place of one for each namespace.
//!
//! A fleet watches hundreds of namespaces, and each watch is a connection with its buffers. Whoever watches a
//! namespace joins, lists that namespace, and hears every later change of it: events since the list, and maybe some
//! before. So a list must be asked for after joining. Without the right to watch the whole cluster everybody keeps
//! to a watch of their own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::client::KubeClient;
use super::lines::Lines;
use super::pace::Pace;
use super::refusal::Refusal;
use super::resource::Resource;
use super::watch::{LIVED, SECONDS, SILENCE, error_event};

/// Changes of one namespace that wait; whoever lags further lists again.
const ROOM: usize = 1024;

/// Time after which the right to watch the cluster is looked for again.
const DENIED: Duration = Duration::from_secs(300);

/// The watches of the kinds that somebody wants, by the path of their lists. They end when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<BTreeMap<String, Feed>>);

/// A watch that is shared.
#[derive(Debug)]
struct Feed {
    ears: Arc<Ears>,
    task: AbortHandle,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whoever hears of a kind of object, by namespace.
#[derive(Debug)]
struct Ears {
    by_namespace: Mutex<HashMap<Arc<str>, Vec<mpsc::Sender<Heard>>>>,
    phase: watch::Sender<Phase>,
}

/// The state of a shared watch.
#[derive(Clone, Debug)]
enum Phase {
    Starting,
    Live,
    Denied(Instant),
    Refused(Refusal),
}

/// News of a shared watch.
#[derive(Debug)]
pub(super) enum Heard {
    /// An event about an object of the namespace, as the server sent it.
    Line(Bytes),
    /// The watch ended for this reason.
    Refused(Refusal),
}

/// The parts of an event that tell whom it is for.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: Object<'a>,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(default, borrow)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
struct Metadata<'a> {
    #[serde(default, borrow)]
    namespace: Cow<'a, str>,
    #[serde(default, borrow, rename = "resourceVersion")]
    version: Cow<'a, str>,
}

impl Shared {
    /// Joins those who hear of `resource`, for the namespace of `client`. Returns none where the whole cluster may not
    /// be watched. The news end without a word when they have to be listed again.
    pub(super) async fn join(
        &self,
        client: &KubeClient,
        resource: &Resource,
        version: &str,
        pace: Pace,
    ) -> Result<Option<mpsc::Receiver<Heard>>, Refusal> {
        let path = resource.path_everywhere(version);
        let (ear, heard) = mpsc::channel(ROOM);
        let ears = self.ears(path, client, pace);
        let mut phase = ears.phase.subscribe();
        ears.add(client.namespace(), ear);
        let known = phase.wait_for(|phase| !matches!(phase, Phase::Starting)).await;
        match known.map(|phase| phase.clone()) {
            Ok(Phase::Live) => Ok(Some(heard)),
            Ok(Phase::Refused(refusal)) => Err(refusal),
            Ok(Phase::Starting | Phase::Denied(_)) | Err(_) => Ok(None),
        }
    }

    /// Returns those who hear of the kind at `path`, and begins to watch it where nobody did.
    fn ears(&self, path: String, client: &KubeClient, pace: Pace) -> Arc<Ears> {
        let mut feeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |phase: &Phase| matches!(phase, Phase::Denied(at) if at.elapsed() >= DENIED);
        feeds.retain(|known, feed| *known != path || !over(&feed.ears.phase.borrow()));
        let feed = feeds.entry(path).or_insert_with_key(|path| {
            let (by_namespace, phase) = (Mutex::default(), watch::Sender::new(Phase::Starting));
            let ears = Arc::new(Ears { by_namespace, phase });
            let following = Arc::clone(&ears).run(client.alone(), path.clone(), pace);
            Feed { ears, task: tokio::spawn(following).abort_handle() }
        });
        Arc::clone(&feed.ears)
    }
}

impl Ears {
    fn add(&self, namespace: &Arc<str>, ear: mpsc::Sender<Heard>) {
        let mut all = self.by_namespace.lock().unwrap_or_else(PoisonError::into_inner);
        let ears = all.entry(Arc::clone(namespace)).or_default();
        ears.retain(|ear| !ear.is_closed());
        ears.push(ear);
    }

    /// Watches until the whole cluster may not be watched.
    async fn run(self: Arc<Self>, client: KubeClient, path: String, pace: Pace) {
        let (mut failures, mut forbidden) = (0, None);
        loop {
            match self.follow(&client, &path, pace, &mut failures).await {
                Err(Refusal::Forbidden(_)) => {
                    // A server that starts refuses everybody for a moment.
                    let since = *forbidden.get_or_insert_with(Instant::now);
                    if since.elapsed() >= pace.grace {
                        return self.end(Phase::Denied(Instant::now()), None);
                    }
                    self.end(Phase::Starting, None);
                }
                Err(refusal) => {
                    self.end(Phase::Refused(refusal.clone()), Some(&refusal));
                    forbidden = None;
                }
                Ok(()) => {
                    self.end(Phase::Starting, None);
                    forbidden = None;
                }
            }
            sleep(pace.after(failures)).await;
            failures += 1;
        }
    }

    /// Tells everybody that the watch ended, and forgets them.
    fn end(&self, phase: Phase, why: Option<&Refusal>) {
        self.phase.send_replace(phase);
        let mut all = self.by_namespace.lock().unwrap_or_else(PoisonError::into_inner);
        for ear in std::mem::take(&mut *all).into_values().flatten() {
            if let Some(why) = why {
                // Whoever has no room learns by the end of the channel.
                drop(ear.try_send(Heard::Refused(why.clone())));
            }
        }
    }

    /// Watches from now on. Returns once everybody has to list again.
    async fn follow(
        &self,
        client: &KubeClient,
        path: &str,
        pace: Pace,
        failures: &mut u32,
    ) -> Result<(), Refusal> {
        let first = client.get_json(&format!("{path}limit=1")).await?;
        let at = first["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let mut at = at.to_owned();
        loop {
            let asked = format!(
                "{path}watch=true&allowWatchBookmarks=true&timeoutSeconds={SECONDS}&resourceVersion={at}"
            );
            let limit = client.timeout();
            let opened = timeout(limit, client.open(&asked)).await.unwrap_or_else(|_| {
                Err(Refusal::Slow { server: Arc::clone(client.server()), limit })
            });
            let mut lines = match opened {
                Ok(response) => Lines::new(response.into_body()),
                Err(Refusal::Gone) => return Ok(()),
                Err(refusal) => return Err(refusal),
            };
            self.phase.send_replace(Phase::Live);
            let began = Instant::now();
            loop {
                let Ok(line) = timeout(SILENCE, lines.next()).await else { return Ok(()) };
                let Some(line) = line? else { break };
                if !self.pass_on(&line, &mut at)? {
                    return Ok(());
                }
            }
            if began.elapsed() >= LIVED {
                *failures = 0;
            } else {
                // A server that ends every watch at once must not be asked without pause.
                sleep(pace.after(*failures)).await;
                *failures += 1;
            }
        }
    }

    /// Passes an event on, advancing the version `at`. Returns false when everybody has to list again.
    fn pass_on(&self, line: &Bytes, at: &mut String) -> Result<bool, Refusal> {
        let unreadable = |error: serde_json::Error| Refusal::Unreadable(error.to_string());
        let Event { kind, object } = serde_json::from_slice(line).map_err(unreadable)?;
        if kind == "ERROR" {
            let event: serde_json::Value = serde_json::from_slice(line).map_err(unreadable)?;
            return error_event(&event["object"]).map(|_| false);
        }
        if !object.metadata.version.is_empty() {
            at.clear();
            at.push_str(&object.metadata.version);
        }
        let mut all = self.by_namespace.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ears) = all.get_mut(object.metadata.namespace.as_ref()) {
            // Whoever lags or left hears no more, and the end of the channel makes the former list again.
            ears.retain(|ear| ear.try_send(Heard::Line(line.clone())).is_ok());
        }
        Ok(true)
    }
}
