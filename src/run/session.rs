//! One screen, several deployments: what is looked at can be changed while the terminal stays ours.
//!
//! A session is what one deployment takes: sources, an engine, and the task that makes pictures. Another
//! choice narrows the session; what was left out of it takes a new one, since nobody listened to it.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::driver;
use super::live::{self, Live};
use crate::cli::SourceArgs;
use crate::engine::Engine;
use crate::exit;
use crate::snapshot::{Feed, Snapshot, ViewQuery};
use crate::source::SourceHandle;
use crate::tui::command::Action;
use crate::tui::scope::{Aim, Notice};

/// The sources of the present session.
pub(super) type Running = Arc<Vec<SourceHandle>>;

/// The present session, and what the next one is made from.
pub(super) struct Sessions {
    /// What the present session was started with.
    args: SourceArgs,
    pictures: watch::Sender<Arc<Snapshot>>,
    queries: watch::Receiver<ViewQuery>,
    notices: mpsc::Sender<Notice>,
    running: watch::Sender<Running>,
    session: Session,
}

struct Session {
    driver: JoinHandle<()>,
    /// The graph deployment that is shown alone.
    choice: watch::Sender<Option<String>>,
    /// The feed lives as long as the session.
    _feed: watch::Sender<Feed>,
}

impl Session {
    fn begin(
        live: Live,
        args: &SourceArgs,
        pictures: watch::Sender<Arc<Snapshot>>,
        queries: watch::Receiver<ViewQuery>,
    ) -> (Self, Running) {
        let Live { frames, sources, label, attach, .. } = live;
        let engine = Engine::new(live::engine_options(&label, args));
        let (feed, feeds) = watch::channel(Feed::Live);
        let (choice, choices) = watch::channel(args.dgd.clone());
        let driver = driver::live(engine, frames, feeds, attach, pictures, queries, choices);
        (Self { driver: tokio::spawn(driver), choice, _feed: feed }, Arc::new(sources))
    }
}

impl Sessions {
    /// Begins with the sources `live`, which `args` started; returns with it the sources of each moment.
    pub(super) fn begin(
        live: Live,
        args: &SourceArgs,
        pictures: watch::Sender<Arc<Snapshot>>,
        queries: watch::Receiver<ViewQuery>,
        notices: mpsc::Sender<Notice>,
    ) -> (Self, watch::Receiver<Running>) {
        let mut args = args.clone();
        if let Some(client) = &live.client {
            // What was found without being named stays what it is for every session.
            args.namespace = Some(client.namespace().to_string());
            args.context = client.context().map(str::to_owned);
        }
        let (session, sources) = Session::begin(live, &args, pictures.clone(), queries.clone());
        let (running, now) = watch::channel(sources);
        (Self { args, pictures, queries, notices, running, session }, now)
    }

    /// Obeys what is `wanted` until nobody wants anything. Ends with the engine, so that the screen knows
    /// that no picture comes any more.
    pub(super) async fn run(mut self, mut wanted: mpsc::Receiver<Action>) {
        loop {
            tokio::select! {
                _ = &mut self.session.driver => return,
                action = wanted.recv() => match action {
                    None => return,
                    Some(Action::LookAt(aim)) => self.obey(aim).await,
                    Some(_) => self.say("only a demo or a recording can do that"),
                },
            }
        }
    }

    async fn obey(&mut self, aim: Aim) {
        match aim {
            Aim::Graph(name) => self.choose(name).await,
        }
    }

    /// Shows the graph deployment `name` alone, or all of them. A session that listens to all of them can;
    /// the sources of one that was narrowed have missed what the others said.
    async fn choose(&mut self, name: Option<String>) {
        let now = self.session.choice.borrow().clone();
        if now == name {
            return;
        }
        if now.is_none() {
            self.session.choice.send_replace(name);
            return;
        }
        let args = SourceArgs { dgd: name, ..self.args.clone() };
        self.begin_anew(args).await;
    }

    /// Ends the present session for one with `args`; keeps it when that cannot be.
    async fn begin_anew(&mut self, args: SourceArgs) {
        let live = match live::start(&args).await {
            Ok(live) => live,
            Err(error) => return self.say(&exit::chain(&error)),
        };
        self.session.driver.abort();
        // Nothing of the old engine may be shown after something of the new one.
        drop((&mut self.session.driver).await);
        let (pictures, queries) = (self.pictures.clone(), self.queries.clone());
        let (session, sources) = Session::begin(live, &args, pictures, queries);
        self.session = session;
        self.args = args;
        let old = self.running.send_replace(sources);
        // With nobody to hear it the screen has ended.
        drop(self.notices.try_send(Notice::Anew));
        tokio::spawn(async move { live::stop(&old).await });
    }

    fn say(&self, text: &str) {
        let notice = Notice::Say { text: text.to_owned(), grave: true };
        drop(self.notices.try_send(notice));
    }
}
