//! One watch: lists, follows, and lists again when it must.
//!
//! A server that went away is listed anew rather than resumed: it may have come back with an older
//! history, and a watch from a version of the future hangs without a word.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::client::KubeClient;
use super::condition::{Condition, MissingRight, Report};
use super::known::{Known, Told};
use super::lines::Lines;
use super::pace::Pace;
use super::refusal::Refusal;
use super::resource::Resource;
use super::shared::Heard;
use super::trim::trim;
use crate::clock;
use crate::frame::{Frame, KubeChange, Origin};
use crate::source::Emitter;

/// The server ends a watch after this many seconds.
pub(super) const SECONDS: u32 = 290;

/// Bookmarks come about once a minute; a watch that is silent for longer may be dead.
pub(super) const SILENCE: Duration = Duration::from_secs(150);

/// Objects in one answer.
const PAGE: usize = 500;

/// Objects of one list that are read. A list that does not end must not fill the memory.
const MOST_OBJECTS: usize = 50_000;

/// Bytes of one list that are kept, once its objects are trimmed.
const MOST_BYTES: usize = 64 << 20;

/// Lists that may expire in a row before they are reported.
const EXPIRED_LISTS: u32 = 2;

/// Pages of one list that are read.
const MOST_PAGES: usize = 1000;

/// A watch that lived for so long worked.
pub(super) const LIVED: Duration = Duration::from_secs(1);

/// The longest wait that a server may ask for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time a list waits for room in the channel; it could be asked for again, live frames not.
const ROOM: Duration = Duration::from_millis(500);

/// A resource, what is known of it, and how its watch is doing.
pub(super) struct Watch {
    pub(super) resource: Resource,
    client: KubeClient,
    emitter: Emitter,
    reports: mpsc::Sender<Report>,
    pace: Pace,
    known: Known,
    /// Failures since it last worked.
    failures: u32,
    /// Since when it has been forbidden.
    forbidden: Option<Instant>,
    /// The served version that is asked for.
    version: usize,
    /// True when lists are to come from the server's cache, since its store does not answer.
    from_cache: bool,
    told: Option<(Condition, bool)>,
}

/// The refused request.
struct Refused {
    verb: &'static str,
    refusal: Refusal,
}

fn listing(refusal: Refusal) -> Refused {
    Refused { verb: "list", refusal }
}

fn watching(refusal: Refusal) -> Refused {
    Refused { verb: "watch", refusal }
}

/// The end of a watch that was not refused.
pub(super) enum End {
    /// Properly; it can be resumed after this version.
    At(String),
    /// Its start version is forgotten, or it fell silent.
    ListAgain,
}

/// The effect of an event on a watch.
enum Step {
    On,
    Over(End),
    /// Nobody receives frames any more.
    Unheard,
}

impl Watch {
    pub(super) fn new(
        resource: Resource,
        client: KubeClient,
        emitter: Emitter,
        reports: mpsc::Sender<Report>,
        pace: Pace,
    ) -> Self {
        Self {
            resource,
            client,
            emitter,
            reports,
            pace,
            known: Known::default(),
            failures: 0,
            forbidden: None,
            version: 0,
            from_cache: false,
            told: None,
        }
    }

    /// Follows the resource until told to stop; what is known of it stays.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) -> Self {
        self.told = None;
        tokio::select! {
            () = self.follow() => {}
            // An error is the end of whoever could tell it to stop.
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self
    }

    /// Ends only when nobody receives frames any more.
    async fn follow(&mut self) {
        self.report(Condition::Starting).await;
        loop {
            match self.pass().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(refused) => {
                    let (condition, pause) = self.judge(refused);
                    if let Some(condition) = condition {
                        self.report(condition).await;
                    }
                    sleep(pause).await;
                }
            }
        }
    }

    /// Lists, then watches until it must list again. Returns false when nobody receives frames.
    async fn pass(&mut self) -> Result<bool, Refused> {
        let versions = self.resource.versions(&self.client).await.map_err(listing)?;
        let Some(version) = versions.get(self.version % versions.len().max(1)) else {
            return Err(listing(Refusal::Missing("not installed in this cluster".to_owned())));
        };
        let path = self.resource.path(version, self.client.namespace());
        let api_version = self.resource.api_version(version);
        // News that are not heard before the list would be missed after it.
        let mut news = self.join(version).await.map_err(watching)?;
        let (objects, mut at) = self.list(&path, &api_version).await?;
        let mut told = self.known.replace(&objects);
        if objects.is_empty() && told.is_empty() {
            told.extend(self.absent(&api_version));
        }
        // The watch may last for hours.
        drop(objects);
        if !self.emit(told).await {
            return Ok(false);
        }
        loop {
            let began = Instant::now();
            let end = match &mut news {
                Some(news) => self.hear(news, &api_version).await,
                None => self.watch(&path, &api_version, &mut at).await,
            };
            if began.elapsed() >= LIVED {
                self.failures = 0;
            }
            match end? {
                Some(End::At(version)) => at = version,
                Some(End::ListAgain) => break,
                None => return Ok(false),
            }
            if began.elapsed() < LIVED {
                // A server that ends every watch at once must not be asked without pause.
                sleep(self.pace.after(self.failures)).await;
                self.failures += 1;
            }
        }
        sleep(self.pace.before_list(self.failures)).await;
        self.failures += 1;
        Ok(true)
    }

    /// Joins a watch of the whole cluster, where there is one. A list from the server's cache may be older than the
    /// news of such a watch, so the watch is then one's own.
    async fn join(&self, version: &str) -> Result<Option<mpsc::Receiver<Heard>>, Refusal> {
        match self.client.shared() {
            Some(shared) if self.resource.only().is_none() && !self.from_cache => {
                shared.join(&self.client, &self.resource, version, self.pace).await
            }
            _ => Ok(None),
        }
    }

    /// Follows the news of a watch of the whole cluster. Returns none once the receiver is gone.
    async fn hear(
        &mut self,
        news: &mut mpsc::Receiver<Heard>,
        api_version: &str,
    ) -> Result<Option<End>, Refused> {
        self.forbidden = None;
        self.report(Condition::Live).await;
        // Versions are those of the shared watch, which is resumed there.
        let mut at = String::new();
        loop {
            match news.recv().await {
                Some(Heard::Line(line)) => match self.event(&line, api_version, &mut at).await? {
                    Step::On => {}
                    Step::Over(end) => return Ok(Some(end)),
                    Step::Unheard => return Ok(None),
                },
                Some(Heard::Refused(refusal)) => return Err(watching(refusal)),
                None => return Ok(Some(End::ListAgain)),
            }
        }
    }

    /// Says of the one object that is watched that it is not there. What it may set is known then.
    fn absent(&self, api_version: &str) -> Option<Told> {
        let name = self.resource.only()?;
        let object = json!({
            "apiVersion": api_version,
            "kind": self.resource.kind,
            "metadata": { "name": name, "namespace": self.client.namespace().as_ref() },
        });
        Some((KubeChange::Deleted, object.to_string().into()))
    }

    async fn list(
        &mut self,
        path: &str,
        api_version: &str,
    ) -> Result<(Vec<Value>, String), Refused> {
        let mut objects = Vec::new();
        let mut token = String::new();
        let (mut pages, mut bytes) = (0, 0);
        loop {
            let asked = if std::mem::take(&mut self.from_cache) {
                format!("{path}resourceVersion=0")
            } else {
                format!("{path}limit={PAGE}{token}")
            };
            let mut page = self.client.get_json(&asked).await.map_err(listing)?;
            if let Value::Array(items) = page["items"].take() {
                let trimmed = |item| trim(&self.resource, api_version, item);
                for object in items.into_iter().map(trimmed) {
                    bytes += object.to_string().len();
                    objects.push(object);
                }
            }
            if bytes > MOST_BYTES {
                let why = format!("a list of more than {} MiB", MOST_BYTES >> 20);
                return Err(listing(Refusal::Unreadable(why)));
            }
            if objects.len() > MOST_OBJECTS {
                let why = format!("a list of more than {MOST_OBJECTS} objects");
                return Err(listing(Refusal::Unreadable(why)));
            }
            // A page may be empty and not the last one.
            pages += 1;
            if pages > MOST_PAGES {
                let why = format!("a list of more than {MOST_PAGES} pages");
                return Err(listing(Refusal::Unreadable(why)));
            }
            match page["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => token = format!("&continue={next}"),
                _ => {
                    let at = page["metadata"]["resourceVersion"].as_str().unwrap_or_default();
                    return Ok((objects, at.to_owned()));
                }
            }
        }
    }

    /// Watches from resourceVersion `at`, advancing it. Returns none once the receiver is gone.
    async fn watch(
        &mut self,
        path: &str,
        api_version: &str,
        at: &mut String,
    ) -> Result<Option<End>, Refused> {
        let asked = format!(
            "{path}watch=true&allowWatchBookmarks=true&timeoutSeconds={SECONDS}&resourceVersion={at}"
        );
        let limit = self.client.timeout();
        let opened = timeout(limit, self.client.open(&asked)).await.unwrap_or_else(|_| {
            Err(Refusal::Slow { server: Arc::clone(self.client.server()), limit })
        });
        let mut lines = match opened {
            Ok(response) => Lines::new(response.into_body()),
            Err(Refusal::Gone) => return Ok(Some(End::ListAgain)),
            Err(refusal) => return Err(watching(refusal)),
        };
        // Not before: whoever may list but not watch would seem to be well after each list.
        self.forbidden = None;
        self.report(Condition::Live).await;
        loop {
            let Ok(line) = timeout(SILENCE, lines.next()).await else {
                return Ok(Some(End::ListAgain));
            };
            let Some(line) = line.map_err(watching)? else {
                return Ok(Some(End::At(std::mem::take(at))));
            };
            match self.event(&line, api_version, at).await? {
                Step::On => {}
                Step::Over(end) => return Ok(Some(end)),
                Step::Unheard => return Ok(None),
            }
        }
    }

    /// Takes an event in, advancing `at`.
    async fn event(
        &mut self,
        line: &[u8],
        api_version: &str,
        at: &mut String,
    ) -> Result<Step, Refused> {
        let mut event: Value = serde_json::from_slice(line)
            .map_err(|error| watching(Refusal::Unreadable(error.to_string())))?;
        let object = event["object"].take();
        if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
            version.clone_into(at);
        }
        let told = match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => {
                self.known.put(&trim(&self.resource, api_version, object))
            }
            Some("DELETED") => {
                let object = trim(&self.resource, api_version, object);
                self.known.remove(&object).into_iter().collect()
            }
            Some("ERROR") => return error_event(&object).map(Step::Over).map_err(watching),
            // Bookmarks, and what later servers may add.
            _ => Vec::new(),
        };
        if !told.is_empty() && !self.emit(told).await {
            return Ok(Step::Unheard);
        }
        self.report(Condition::Live).await;
        Ok(Step::On)
    }

    /// Passes changes on. Returns false when nobody receives frames any more.
    async fn emit(&self, told: Vec<Told>) -> bool {
        let end = Instant::now() + ROOM;
        for (change, body) in told {
            while !self.emitter.has_room() && Instant::now() < end {
                sleep(Duration::from_millis(10)).await;
            }
            let origin = Origin::Kube { kind: self.resource.kind.into(), change };
            if !self.emitter.emit(Frame::new(clock::now(), origin, body)) {
                return false;
            }
        }
        true
    }

    /// Returns what a refusal means, none while that is open, and how long to wait.
    fn judge(&mut self, refused: Refused) -> (Option<Condition>, Duration) {
        let Refused { verb, refusal } = refused;
        let pause = self.pace.after(self.failures);
        self.failures += 1;
        if !matches!(refusal, Refusal::Forbidden(_)) {
            self.forbidden = None;
        }
        match refusal {
            Refusal::Forbidden(_) => {
                let since = *self.forbidden.get_or_insert_with(Instant::now);
                if since.elapsed() < self.pace.grace {
                    return (None, self.pace.first.min(self.pace.grace / 4));
                }
                self.failures = 0;
                let resource = self.resource.full_name().into();
                let namespace = Arc::clone(self.client.namespace());
                let right = MissingRight { verb, resource, namespace };
                (Some(Condition::Forbidden(right)), self.pace.slow)
            }
            Refusal::Missing(_) => {
                let known = self.known.replace(&[]);
                // Whoever deletes the resource deletes its objects.
                for (change, body) in known {
                    let origin = Origin::Kube { kind: self.resource.kind.into(), change };
                    self.emitter.emit(Frame::new(clock::now(), origin, body));
                }
                (Some(Condition::Missing(self.resource.full_name().into())), self.pace.slow)
            }
            Refusal::Unauthorized | Refusal::NoCredentials(_) => {
                (Some(Condition::Unauthorized(refusal.to_string().into(), pause)), pause)
            }
            // Pages of a long list expire now and then; that is said only when it goes on.
            Refusal::Gone if self.failures <= EXPIRED_LISTS => (None, pause),
            refusal if refusal.is_loss() => {
                self.from_cache = verb == "list" && matches!(refusal, Refusal::Slow { .. });
                (Some(Condition::Lost(refusal.reason(), pause)), pause)
            }
            refusal => {
                self.from_cache = matches!(refusal, Refusal::Failed { status: 504, .. });
                // The server may be unable to convert to this version.
                self.version += 1;
                let pause = match refusal {
                    Refusal::Busy { after: Some(after), .. } => after.clamp(pause, PATIENCE),
                    _ => pause,
                };
                let why = format!("{}: {refusal}", self.resource.slot()).into();
                (Some(Condition::Troubled(why, pause)), pause)
            }
        }
    }

    async fn report(&mut self, condition: Condition) {
        let now = (condition, self.known.has_dynamo());
        if self.told.as_ref() != Some(&now) {
            self.told = Some(now.clone());
            let report = Report { slot: self.resource.slot(), condition: now.0, dynamo: now.1 };
            // An error is the end of the source, which ends this task as well.
            drop(self.reports.send(report).await);
        }
    }
}

/// Returns what the `Status` of an `ERROR` event means. It comes with HTTP 200.
pub(super) fn error_event(status: &Value) -> Result<End, Refusal> {
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
    match Refusal::of_answer(code, None, status.to_string().as_bytes()) {
        Refusal::Gone => Ok(End::ListAgain),
        refusal => Err(refusal),
    }
}
