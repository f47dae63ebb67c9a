//! One screen, several deployments: what is looked at can be changed while the terminal stays ours.
//!
//! A session is what one deployment takes: sources, an engine, and the task that makes pictures. A choice
//! among what it listens to narrows it; anything else takes a new one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::RunError;
use super::ahead::{Engines, Vanguard};
use super::aside::Aside;
use super::driver;
use super::ending;
use super::fleet::{self, Asked, FleetWatch};
use super::live::{self, Live};
use super::place::{self, Ambiguous};
use super::roster;
use crate::attach::Place;
use crate::cli::{NatsFile, SourceArgs};
use crate::config::Config;
use crate::engine::Engine;
use crate::exit;
use crate::snapshot::{Deployment, Feed, Fleet, MemberId, Snapshot, ViewQuery};
use crate::source::SourceHandle;
use crate::source::kube::{KubeClient, NAMESPACE_LIMIT, Refusal};
use crate::tui::command::Action;
use crate::tui::scope::{Aim, Notice, Scope};

/// The interval at which the API server is asked again what a name means.
const LOOK_UP_EVERY: Duration = Duration::from_secs(5);

/// The sources of the present session.
pub(super) type Running = Arc<Vec<SourceHandle>>;

/// The channels to and from the screen.
pub(super) struct Screen {
    pub(super) pictures: watch::Sender<Arc<Snapshot>>,
    pub(super) queries: watch::Receiver<ViewQuery>,
    pub(super) notices: mpsc::Sender<Notice>,
}

/// The present session, and what the next one is made from.
pub(super) struct Sessions {
    /// The options at the start, with the resulting namespace and context.
    first: SourceArgs,
    /// The same of the present session.
    args: SourceArgs,
    /// A name of which it is still to be chosen what it means.
    open: Option<Ambiguous>,
    /// True while the API server could not be asked what the name means.
    unsure: bool,
    /// Knows the colours of contexts.
    config: Config,
    screen: Screen,
    running: watch::Sender<Running>,
    session: Session,
    /// The deployments to choose from; none where one was named.
    fleet: Option<FleetWatch>,
}

struct Session {
    driver: Aside,
    /// The graph deployment that is shown alone.
    choice: watch::Sender<Option<String>>,
    /// The cluster's client; none without Kubernetes.
    client: Option<KubeClient>,
    /// The feed lives as long as the session.
    _feed: watch::Sender<Feed>,
}

impl Session {
    fn begin(live: Live, screen: &Screen) -> (Self, Running) {
        let Live { frames, ahead, sources, target, attach, client } = live;
        let engine = Engine::new(target.engine_options());
        let vanguard = ahead.map(|news| Vanguard::new(target.engine_options(), news));
        let (feed, feeds) = watch::channel(Feed::Live);
        let (choice, choices) = watch::channel(target.args.dgd);
        let (pictures, queries) = (screen.pictures.clone(), screen.queries.clone());
        let engines = Engines { whole: engine, vanguard };
        let driver = driver::live(engines, frames, feeds, attach, pictures, queries, choices);
        let driver = Aside::run("engine", driver);
        (Self { driver, choice, client, _feed: feed }, Arc::new(sources))
    }

    /// Returns a session that shows a fleet. It has no sources.
    fn among(fleet: &FleetWatch, screen: &Screen) -> Self {
        let driver = show_fleet(fleet.shown.clone(), screen.pictures.clone());
        let driver = Aside::run("fleet", driver);
        let client = fleet.client.clone();
        let (choice, _) = watch::channel(None);
        let (feed, _) = watch::channel(Feed::Live);
        Self { driver, choice, client, _feed: feed }
    }
}

/// Shows each picture of a fleet, for as long as there are any.
async fn show_fleet(
    mut fleets: watch::Receiver<Arc<Fleet>>,
    pictures: watch::Sender<Arc<Snapshot>>,
) {
    loop {
        let fleet = Arc::clone(&fleets.borrow_and_update());
        let (at, fleet) = (fleet.at, Some(fleet));
        pictures.send_replace(Arc::new(Snapshot { at, since: at, fleet, ..Snapshot::default() }));
        if fleets.changed().await.is_err() {
            return;
        }
    }
}

impl Sessions {
    /// Begins with the sources `live`; returns with it the sources of each moment.
    pub(super) fn begin(
        live: Live,
        config: Config,
        screen: Screen,
    ) -> (Self, watch::Receiver<Running>) {
        let args = pinned(live.target.args.clone(), live.client.as_ref());
        let unsure = live.target.unsure;
        let (session, sources) = Session::begin(live, &screen);
        let (running, now) = watch::channel(sources);
        let first = args.clone();
        let (open, fleet) = (None, None);
        (Self { first, args, open, unsure, config, screen, running, session, fleet }, now)
    }

    /// Begins with a fleet, to pick one of its deployments.
    pub(super) fn among(
        fleet: FleetWatch,
        args: &SourceArgs,
        config: Config,
        screen: Screen,
    ) -> (Self, watch::Receiver<Running>) {
        let first = pinned(roster::common(args), fleet.client.as_ref());
        let session = Session::among(&fleet, &screen);
        let (running, now) = watch::channel(Running::default());
        let (args, fleet) = (first.clone(), Some(fleet));
        let (open, unsure) = (None, false);
        (Self { first, args, open, unsure, config, screen, running, session, fleet }, now)
    }

    /// Begins without sources, with the places that a name means to pick one of.
    pub(super) fn undecided(
        ambiguous: Ambiguous,
        args: &SourceArgs,
        config: Config,
        screen: Screen,
    ) -> (Self, watch::Receiver<Running>) {
        let (mut sessions, now) = Self::begin(live::undecided(&ambiguous, args), config, screen);
        sessions.first = args.clone();
        sessions.args = args.clone();
        sessions.offer_places(&ambiguous);
        sessions.open = Some(ambiguous);
        (sessions, now)
    }

    /// Obeys what is `wanted` until nobody wants anything. Ends with the engine, so that the screen knows
    /// that no picture comes any more.
    pub(super) async fn run(mut self, mut wanted: mpsc::Receiver<Action>) {
        loop {
            tokio::select! {
                () = self.session.driver.ended() => return,
                action = wanted.recv() => match action {
                    None => return,
                    Some(Action::LookAt(aim)) => self.obey(aim).await,
                    Some(_) => self.say("only available in a demo or a recording"),
                },
                () = tokio::time::sleep(LOOK_UP_EVERY), if self.unsure => self.look_up().await,
            }
        }
    }

    /// Asks again what the name means: at the start the API server could not be asked.
    async fn look_up(&mut self) {
        let Ok(client) = live::connect(&self.first).await else { return };
        let found = match place::find(client, &self.first).await {
            Ok(found) => found,
            Err(RunError::Ambiguous(ambiguous)) => {
                self.unsure = false;
                self.offer_places(&ambiguous);
                self.open = Some(*ambiguous);
                return;
            }
            Err(error) => return self.say(&exit::chain(&error)),
        };
        self.unsure = found.unsure;
        if found.asked.is_some() && self.begin_with(live::look_at(found)).await {
            self.first = self.args.clone();
            self.say_where();
        }
    }

    async fn obey(&mut self, aim: Aim) {
        match aim {
            Aim::Member(id) => return self.enter(&id).await,
            Aim::Fleet => return self.leave().await,
            Aim::Moment(moment) => return self.wind(|asked| Asked { moment, ..asked }),
            Aim::Span(span) => return self.wind(|asked| Asked { span, ..asked }),
            _ => {}
        }
        let Some(client) = self.session.client.clone() else {
            return self.say("not available without Kubernetes (use kvtop -n NAME)");
        };
        match aim {
            Aim::Graph(name) => self.choose(name).await,
            Aim::Namespaces => match &self.open {
                Some(ambiguous) => self.offer_places(ambiguous),
                None => self.offer_namespaces(&client).await,
            },
            Aim::Contexts => self.offer_contexts(&client),
            Aim::Namespace(name) if self.place(&name).is_some() => self.take(&name).await,
            Aim::Namespace(name) if **client.namespace() == *name && self.open.is_none() => {
                self.say(&format!("already in namespace `{name}`"));
            }
            Aim::Namespace(name) => self.go(self.args.context.clone(), Some(name)).await,
            Aim::Context(name) if client.context() == Some(&name) => {
                self.say(&format!("already in context `{name}`"));
            }
            Aim::Context(name) => self.go(Some(name), None).await,
            Aim::Member(_) | Aim::Fleet | Aim::Moment(_) | Aim::Span(_) => {}
        }
    }

    /// Shows another part of the fleet's past.
    fn wind(&self, change: impl Fn(Asked) -> Asked) {
        let Some(asked) = self.fleet.as_ref().and_then(|fleet| fleet.asked.as_ref()) else {
            return;
        };
        asked.send_modify(|asked| *asked = change(*asked));
    }

    /// Goes to a deployment of the fleet.
    async fn enter(&mut self, id: &MemberId) {
        let Some(fleet) = &self.fleet else { return };
        let client = match &fleet.client {
            Some(client) => client.clone(),
            // Until now only the Prometheus was needed.
            None => match live::connect(&self.first).await {
                Ok(client) => client,
                Err(error) => return self.say(&exit::chain(&error)),
            },
        };
        let found = place::at(&client, &self.first, &fleet::place_of(id), &id.namespace);
        if self.begin_with(live::look_at(found)).await {
            self.say_where();
        }
    }

    /// Goes back to the fleet.
    async fn leave(&mut self) {
        let Some(fleet) = &self.fleet else { return };
        // Nothing of the deployment may be shown after the fleet.
        self.session.driver.stop().await;
        self.session = Session::among(fleet, &self.screen);
        self.args = self.first.clone();
        self.unsure = false;
        let old = self.running.send_replace(Running::default());
        tokio::spawn(async move { ending::stop(&old).await });
        let context = fleet.client.as_ref().and_then(KubeClient::context);
        let mark = context.and_then(|name| self.config.context_color(name));
        let mark = mark.map(str::to_owned);
        self.tell(Notice::Elsewhere { text: "all deployments".to_owned(), mark });
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
        if self.begin_anew(args).await {
            self.tell(Notice::Anew);
        }
    }

    fn offer_places(&self, ambiguous: &Ambiguous) {
        let named = |place: &Place| (place.namespace.to_string(), place.describe());
        self.tell(Notice::Offer {
            scope: Scope::Namespace,
            names: ambiguous.places.iter().map(named).collect(),
            now: None,
            note: format!("`{}` exists in several namespaces: select one", ambiguous.name),
        });
    }

    /// Returns the place in `namespace`, where that is still to be chosen.
    fn place(&self, namespace: &str) -> Option<&Place> {
        let open = self.open.as_ref()?;
        open.places.iter().find(|place| *place.namespace == *namespace)
    }

    /// Goes to the place in `namespace`, of those that a name means.
    async fn take(&mut self, namespace: &str) {
        let (Some(open), Some(place)) = (&self.open, self.place(namespace)) else { return };
        let found = place::at(&open.client, &self.first, place, &open.name);
        if self.begin_with(live::look_at(found)).await {
            self.open = None;
            self.first = self.args.clone();
            self.say_where();
        }
    }

    async fn offer_namespaces(&self, client: &KubeClient) {
        let scope = Scope::Namespace;
        let notice = match client.namespaces().await {
            Ok((names, more)) => Notice::Offer {
                scope,
                names: names.into_iter().map(|name| (name, String::new())).collect(),
                now: Some(client.namespace().to_string()),
                note: if more {
                    format!("showing the first {NAMESPACE_LIMIT}; `:ns NAME` accepts any")
                } else {
                    String::new()
                },
            },
            Err(Refusal::Forbidden(_)) => {
                let why = "no permission to list namespaces; type the name".to_owned();
                Notice::Type { scope, why }
            }
            Err(refusal) => Notice::Type { scope, why: refusal.to_string() },
        };
        self.tell(notice);
    }

    fn offer_contexts(&self, client: &KubeClient) {
        match client.contexts() {
            Ok(places) if places.is_empty() => {
                self.say("no contexts: kvtop uses the service account of its pod");
            }
            Ok(places) => {
                let about = |cluster: &str, namespace: Option<&str>| match namespace {
                    Some(namespace) => format!("cluster {cluster}, namespace {namespace}"),
                    None => format!("cluster {cluster}"),
                };
                let name = |place: crate::source::kube::ContextPlace| {
                    let about = about(&place.cluster, place.namespace.as_deref());
                    (place.name, about)
                };
                self.tell(Notice::Offer {
                    scope: Scope::Context,
                    names: places.into_iter().map(name).collect(),
                    now: client.context().map(str::to_owned),
                    note: String::new(),
                });
            }
            Err(error) => self.say(&exit::chain(&error)),
        }
    }

    /// Goes to a namespace; to the one that the context names when none is given.
    async fn go(&mut self, context: Option<String>, namespace: Option<String>) {
        let args = elsewhere(&self.first, context, namespace);
        if self.begin_anew(args).await {
            self.say_where();
        }
    }

    fn say_where(&self) {
        let Some(client) = &self.session.client else { return };
        let (origin, namespace) = (client.origin(), client.namespace());
        let text = format!("namespace {namespace}, {origin}");
        let colour = client.context().and_then(|name| self.config.context_color(name));
        self.tell(Notice::Elsewhere { text, mark: colour.map(str::to_owned) });
    }

    /// Ends the present session for one with `args`. Returns false, and keeps it, when that cannot be.
    async fn begin_anew(&mut self, args: SourceArgs) -> bool {
        let live = live::show(&args).await;
        if let Err(RunError::Ambiguous(ambiguous)) = live {
            self.offer_places(&ambiguous);
            self.open = Some(*ambiguous);
            return false;
        }
        self.begin_with(live).await
    }

    /// Ends the present session for one with `live`. Returns false, and keeps it, when that cannot be.
    async fn begin_with(&mut self, live: Result<Live, RunError>) -> bool {
        let live = match live {
            Ok(live) => live,
            Err(error) => {
                self.say(&exit::chain(&error));
                return false;
            }
        };
        self.open = None;
        // Nothing of the old engine may be shown after something of the new one.
        self.session.driver.stop().await;
        let (label, asked) = (live.target.label.clone(), live.target.asked.clone());
        let deployment = Deployment { label, asked, ..Deployment::default() };
        let blank = Snapshot { deployment, ..Snapshot::default() };
        self.screen.pictures.send_replace(Arc::new(blank));
        let args = pinned(live.target.args.clone(), live.client.as_ref());
        self.unsure = live.target.unsure;
        let (session, sources) = Session::begin(live, &self.screen);
        self.session = session;
        self.args = args;
        let old = self.running.send_replace(sources);
        tokio::spawn(async move { ending::stop(&old).await });
        true
    }

    fn say(&self, text: &str) {
        self.tell(Notice::Say { text: text.to_owned(), grave: true });
    }

    fn tell(&self, notice: Notice) {
        // With nobody to hear it the screen has ended.
        drop(self.screen.notices.try_send(notice));
    }
}

/// Returns `args` with the namespace and the context that they led to: what was found without being named
/// stays what it is.
fn pinned(args: SourceArgs, client: Option<&KubeClient>) -> SourceArgs {
    let Some(client) = client else { return args };
    let namespace = Some(client.namespace().to_string());
    SourceArgs { namespace, context: client.context().map(str::to_owned), ..args }
}

/// Returns `first` for another namespace: without what names a part of the deployment, and in another
/// cluster without addresses and logins, which are not for its servers. Back where kvtop began all of that
/// holds again.
fn elsewhere(first: &SourceArgs, context: Option<String>, namespace: Option<String>) -> SourceArgs {
    let same_cluster = context == first.context;
    if same_cluster && (namespace.is_none() || namespace == first.namespace) {
        return first.clone();
    }
    let args = SourceArgs {
        namespace,
        context,
        dgd: None,
        dynamo_namespace: None,
        zmq: Vec::new(),
        engine: Vec::new(),
        indexer_url: None,
        ..first.clone()
    };
    if same_cluster {
        return args;
    }
    SourceArgs {
        nats_url: None,
        nats_context: None,
        nats_creds: None,
        nats_nkey: None,
        nats_user: None,
        nats_password_file: None,
        nats_tls_ca: None,
        nats_tls_cert: None,
        nats_tls_key: None,
        nats_file: NatsFile::default(),
        etcd_url: None,
        etcd_user: None,
        etcd_password_file: None,
        ..args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> SourceArgs {
        SourceArgs {
            namespace: Some("gtc-demo".to_owned()),
            context: Some("east".to_owned()),
            dgd: Some("canary".to_owned()),
            dynamo_namespace: Some("dynamo".to_owned()),
            nats_url: Some("nats://10.0.0.1".to_owned()),
            nats_password_file: Some("secret".into()),
            deep: true,
            ..SourceArgs::default()
        }
    }

    fn own(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn another_namespace_leaves_behind_what_names_a_part_of_the_deployment() {
        let there = elsewhere(&first(), Some(own("east")), Some(own("other")));

        assert_eq!((there.dgd, there.dynamo_namespace), (None, None));
        assert_eq!((there.nats_url, there.deep), (Some(own("nats://10.0.0.1")), true));
    }

    #[test]
    fn another_context_gets_neither_addresses_nor_logins() {
        let there = elsewhere(&first(), Some(own("west")), None);

        assert_eq!((there.nats_url, there.nats_password_file), (None, None));
        assert_eq!((there.namespace, there.context), (None, Some(own("west"))));
    }

    #[test]
    fn back_where_it_began_everything_holds_again() {
        for namespace in [None, Some(own("gtc-demo"))] {
            let back = elsewhere(&first(), Some(own("east")), namespace);
            assert_eq!(
                (back.dgd, back.dynamo_namespace),
                (Some(own("canary")), Some(own("dynamo")))
            );
        }
    }
}
