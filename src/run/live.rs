//! Starting and stopping the sources of a running deployment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::RunError;
use super::cluster::{self, ClusterSpec, EtcdOptions, Limits, PortForward};
use super::discovery::{self, Records};
use super::log_files;
use super::memory;
use super::output::tell;
use super::place::{self, Ambiguous, Found};
use super::publishers::Publishers;
use super::records;
use super::removed;
use super::thresholds;
use crate::attach::{self, Choice, Seen, Wanted};
use crate::cli::{self, SourceArgs};
use crate::clock;
use crate::diagnose::{ClusterChoice, Objectives};
use crate::domain::{SourceName, SourceNote, SourceState};
use crate::engine::{Engine, EngineOptions};

use crate::frame::Frame;
use crate::record::RecordedTarget;
use crate::source::etcd;
use crate::source::indexer::{self, BadIndexerUrl, IndexerSpec};
use crate::source::kube::{self, KubeClient, KubeOptions};
use crate::source::logs::LogLimits;
use crate::source::metrics::{self, ScrapeTarget};
use crate::source::nats::{self, FilePlace, NatsConfigError, NatsOptions, NatsSpec, Resolved, Tls};
use crate::source::reach::Reach;
use crate::source::zmq::{self, BadEndpoint, Endpoint, ZmqSpec, ZmqTarget};
use crate::source::{Ahead, Budget, Emitter, FRAME_BUFFER, SourceHandle};

/// Running sources and what they emit.
pub(super) struct Live {
    pub(super) frames: mpsc::Receiver<Frame>,
    /// Messages that go ahead of a long history; none for commands, which wait for it.
    pub(super) ahead: Option<mpsc::Receiver<Ahead>>,
    pub(super) sources: Vec<SourceHandle>,
    pub(super) target: Target,
    /// The channel of sources to open next; none where everything was named.
    pub(super) attach: Option<Attach>,
    /// The cluster's client; none without Kubernetes.
    pub(super) client: Option<KubeClient>,
}

/// Who looks at a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Viewer {
    /// Somebody who wants to see the present at once.
    Screen,
    /// A command, which waits for history.
    Command,
}

/// The inspected deployment.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Its name: a Kubernetes namespace, or else an address.
    pub(super) label: String,
    /// The name that was given for it, where that is another one.
    pub(super) asked: Option<String>,
    /// The arguments, with the namespace and the deployment that the name led to.
    pub(super) args: SourceArgs,
    /// True when the API server could not be asked what the name means.
    pub(super) unsure: bool,
    /// True when there is nothing but logs.
    logs_only: bool,
}

impl Target {
    pub(super) fn new(label: String, args: &SourceArgs) -> Self {
        Self { label, asked: None, args: args.clone(), unsure: false, logs_only: false }
    }

    /// Returns its name for display.
    pub(super) fn title(&self) -> String {
        match &self.asked {
            Some(asked) => format!("{asked} → {}", self.label),
            None => self.label.clone(),
        }
    }

    /// Returns which part of it is looked at, for a recording.
    pub(super) fn recorded(&self) -> RecordedTarget {
        RecordedTarget {
            dgd: self.args.dgd.clone(),
            dynamo_namespace: self.args.dynamo_namespace.clone(),
            logs_named: !self.args.logs.is_empty(),
            logs_only: self.logs_only,
        }
    }

    /// Returns how an engine that looks at it begins.
    pub(super) fn engine_options(&self) -> EngineOptions {
        EngineOptions {
            asked: self.asked.clone(),
            logs_only: self.logs_only,
            logs_named: !self.args.logs.is_empty(),
            ..engine_options(&self.label, &self.args)
        }
    }
}

/// Turns the engine's knowledge into sources.
pub(super) struct Attach {
    /// The Kubernetes namespace; none when only discovery records tell of the deployment.
    pub(super) namespace: Option<Arc<str>>,
    pub(super) choice: Choice,
    pub(super) wanted: watch::Sender<Wanted>,
}

impl Attach {
    /// Publishes the wanted sources, given the knowledge of `engine`.
    pub(super) fn update(&self, engine: &Engine) {
        let (cluster, channels) = (engine.cluster(), engine.channels());
        let wanted = match &self.namespace {
            Some(name) => attach::wanted(&Seen::new(cluster, channels, name), &self.choice),
            None => attach::wanted_by_records(&Seen::new(cluster, channels, ""), &self.choice),
        };
        self.wanted.send_if_modified(|known| {
            let differs = *known != wanted;
            *known = wanted;
            differs
        });
    }
}

/// Starts the sources that `args` name, for a command that waits for history.
pub(super) async fn start(args: &SourceArgs) -> Result<Live, RunError> {
    start_for(args, Viewer::Command).await
}

/// Starts the sources that `args` name, for a screen.
pub(super) async fn show(args: &SourceArgs) -> Result<Live, RunError> {
    start_for(args, Viewer::Screen).await
}

/// Starts the sources that `args` name.
///
/// Kubernetes is asked when the command line names something of it, and when nothing names another
/// source of events: `kvtop` alone looks where `kubectl` would.
async fn start_for(args: &SourceArgs, viewer: Viewer) -> Result<Live, RunError> {
    // Mistakes are told before anybody waits.
    for path in [&args.nats_tls_ca, &args.nats_tls_cert, &args.nats_tls_key].into_iter().flatten() {
        let read = std::fs::read(path);
        read.map_err(|source| RunError::Read { path: path.clone(), source })?;
    }
    let named = [&args.namespace, &args.context, &args.dgd].iter().any(|flag| flag.is_some())
        || args.kubeconfig.is_some();
    if named {
        return on_kubernetes(args, viewer).await;
    }
    let records = discovery::records(args)?;
    let env = |name: &str| std::env::var(name).ok();
    let read = |path: &Path| std::fs::read_to_string(path);
    let nats = match nats::resolve(&options(args), &env, &read) {
        // Who names a publisher does not also mean a server that the environment happens to name.
        _ if !args.zmq.is_empty() && args.nats_url.is_none() && args.nats_context.is_none() => None,
        Err(NatsConfigError::NoAddress) => None,
        resolved => Some(resolved?),
    };
    let silent = nats.is_none() && records.is_none() && args.zmq.is_empty();
    if silent && args.logs.is_empty() {
        return on_kubernetes(args, viewer).await.map_err(|error| match error {
            RunError::Kube(kube) => RunError::Nowhere(kube),
            other => other,
        });
    }
    let (emitter, frames, ahead) = channels(viewer, memory::budget(args.max_memory()));
    let mut sources = Vec::new();
    sources.extend(frontends(args, &emitter));
    sources.extend(log_files::followed(args, &emitter));
    if args.deep {
        tell(
            "kvtop: --deep has no effect without --namespace: engines are discovered in Kubernetes; name them with \
             --engine",
        );
    }
    let label = label(args, nats.as_ref(), records.as_ref());
    sources.extend(indexer(args, &emitter)?);
    if let Some(resolved) = nats {
        sources.push(nats::spawn(nats_spec(args, resolved), emitter.clone()));
    }
    if !args.zmq.is_empty() {
        sources.push(zmq_named(args, &emitter)?);
    }
    sources.extend(engines_named(args, &emitter)?);
    let attach = records.map(|records| {
        let (wanted, followed) = watch::channel(Wanted::default());
        let readers = records.spawn(&emitter);
        let publishers = args.zmq.is_empty().then(|| {
            let named = args.dynamo_namespace.as_deref().map(Into::into);
            Publishers::new(emitter, Reach::default(), named)
        });
        sources.push(records::spawn(readers, publishers, followed));
        let dynamo_namespace = args.dynamo_namespace.clone();
        Attach { namespace: None, choice: Choice { dynamo_namespace, ..Choice::default() }, wanted }
    });
    let target = Target { logs_only: silent, ..Target::new(label, args) };
    Ok(Live { frames, ahead, sources, target, attach, client: None })
}

/// Returns an emitter for sources, and the channels of what it passes on.
fn channels(
    viewer: Viewer,
    budget: Arc<Budget>,
) -> (Emitter, mpsc::Receiver<Frame>, Option<mpsc::Receiver<Ahead>>) {
    let (sender, frames) = mpsc::channel(FRAME_BUFFER);
    let emitter = Emitter::within(sender, budget);
    match viewer {
        Viewer::Command => (emitter, frames, None),
        Viewer::Screen => {
            let (news, ahead) = mpsc::channel(FRAME_BUFFER);
            (emitter.with_ahead(news), frames, Some(ahead))
        }
    }
}

/// Returns the deployment's name on screen.
fn label(args: &SourceArgs, nats: Option<&Resolved>, records: Option<&Records>) -> String {
    if let Some(namespace) = &args.dynamo_namespace {
        return namespace.clone();
    }
    if !args.zmq.is_empty() {
        return args.zmq.join(", ");
    }
    let host = nats.and_then(|resolved| Some(resolved.servers.first()?.host().to_owned()));
    let files = || args.logs.first().map(|path| path.display().to_string());
    host.or_else(|| records.map(Records::label)).or_else(files).unwrap_or_default()
}

async fn on_kubernetes(args: &SourceArgs, viewer: Viewer) -> Result<Live, RunError> {
    let found = place::find(connect(args).await?, args).await?;
    let budget = memory::budget(found.args.max_memory());
    look_for(found, budget, viewer)
}

/// Starts the sources of a deployment on Kubernetes, for a screen. Must be called within a runtime.
pub(super) fn look_at(found: Found) -> Result<Live, RunError> {
    let budget = memory::budget(found.args.max_memory());
    look_for(found, budget, Viewer::Screen)
}

/// The same for a command, where several deployments share the memory of the process.
pub(super) fn look_within(found: Found, budget: Arc<Budget>) -> Result<Live, RunError> {
    look_for(found, budget, Viewer::Command)
}

/// Tells of options that have no effect where everything is found in Kubernetes.
fn tell_ignored(args: &SourceArgs) {
    if !args.frontend_url.is_empty() {
        tell(
            "kvtop: --frontend-url is ignored: the namespace's frontends are discovered automatically",
        );
    }
    if !args.logs.is_empty() {
        tell("kvtop: --logs is ignored: the namespace's logs are read from Kubernetes");
    }
    if args.discovery_dir.is_some() {
        tell(
            "kvtop: --discovery-dir is ignored: the namespace's records are read from Kubernetes or etcd",
        );
    }
}

fn look_for(found: Found, budget: Arc<Budget>, viewer: Viewer) -> Result<Live, RunError> {
    let Found { client, args, asked, unsure } = found;
    let args = &args;
    let (emitter, frames, ahead) = channels(viewer, budget);
    let namespace = Arc::clone(client.namespace());
    let (wanted, followed) = watch::channel(Wanted::default());
    tell_ignored(args);
    let nats_named = names_nats(args);
    let mut sources = Vec::new();
    sources.extend(indexer(args, &emitter)?);
    if nats_named {
        let env = |name: &str| std::env::var(name).ok();
        let read = |path: &Path| std::fs::read_to_string(path);
        let resolved = nats::resolve(&self::options(args), &env, &read)?;
        sources.push(nats::spawn(nats_spec(args, resolved), emitter.clone()));
    }
    if !args.zmq.is_empty() {
        sources.push(zmq_named(args, &emitter)?);
    }
    sources.extend(engines_named(args, &emitter)?);
    sources.push(cluster::spawn(ClusterSpec {
        client: client.clone(),
        emitter,
        nats: self::options(args),
        nats_named,
        etcd: EtcdOptions {
            addresses: args.etcd_url.as_deref().map(etcd::addresses).transpose()?,
            login: discovery::login(args)?,
        },
        zmq_named: !args.zmq.is_empty(),
        port_forward: if args.no_port_forward { PortForward::Never } else { PortForward::Own },
        limits: Limits {
            logs: LogLimits {
                text: removed::log_text(args),
                ..LogLimits::reaching(args.log_reach)
            },
            ..Limits::default()
        },
        dynamo_namespace: args.dynamo_namespace.as_deref().map(Into::into),
        wanted: followed,
    }));
    let choice = Choice {
        dgd: args.dgd.clone(),
        dynamo_namespace: args.dynamo_namespace.clone(),
        deep: args.deep,
        light: false,
    };
    let attach = Attach { namespace: Some(Arc::clone(&namespace)), choice, wanted };
    let target = Target { asked, unsure, ..Target::new(namespace.to_string(), args) };
    Ok(Live { frames, ahead, sources, target, attach: Some(attach), client: Some(client) })
}

/// Returns a client that looks at the namespace of the context, or of the pod that this runs in.
pub(super) async fn connect(args: &SourceArgs) -> Result<KubeClient, RunError> {
    let options = KubeOptions {
        context: args.context.clone(),
        kubeconfig: args.kubeconfig.clone(),
        namespace: None,
        as_user: args.as_user.clone(),
        request_timeout: args.request_timeout,
        service_account: std::env::var_os("KVTOP_SERVICE_ACCOUNT").map(PathBuf::from),
    };
    kube::connect(options).await.map_err(|error| RunError::Kube(Box::new(error)))
}

/// Returns a screen's worth of nothing: what a name that means several deployments leads to until one of
/// them is picked.
pub(super) fn undecided(ambiguous: &Ambiguous, args: &SourceArgs) -> Live {
    let (sender, frames) = mpsc::channel(FRAME_BUFFER);
    let why = format!(
        "`{}` is in {} namespaces: press `n` to choose one",
        ambiguous.name,
        ambiguous.places.len()
    );
    Emitter::new(sender).note(&SourceNote::new(
        SourceName::Kubernetes,
        SourceState::Down,
        &why,
        clock::now(),
    ));
    Live {
        frames,
        ahead: None,
        sources: Vec::new(),
        target: Target::new(ambiguous.name.clone(), args),
        attach: None,
        client: Some(ambiguous.client.clone()),
    }
}

/// Returns true when somebody means a NATS server of their own, not that of the pods. Variables of
/// other programs do not count: a shell may name its own server for them.
fn names_nats(args: &SourceArgs) -> bool {
    let file = &args.nats_file;
    let given = [&args.nats_url, &args.nats_context, &file.url, &file.context];
    let set = |name| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    given.iter().any(|it| it.is_some()) || set("KVTOP_NATS_URL") || set("KVTOP_NATS_CONTEXT")
}

/// Starts to scrape the frontends that `args` name.
fn frontends(args: &SourceArgs, emitter: &Emitter) -> Option<SourceHandle> {
    let target = |url: &cli::Endpoint| ScrapeTarget {
        namespace: "".into(),
        pod: format!("{}:{}", url.host, url.port).into(),
        ip: url.host.as_str().into(),
        port: url.port,
        path: url.path.as_str().into(),
    };
    let targets: Vec<ScrapeTarget> = args.frontend_url.iter().map(target).collect();
    // They stay as they are; nobody is left to change them.
    let (_, known) = watch::channel(targets);
    let named = !args.frontend_url.is_empty();
    named.then(|| metrics::spawn(Reach::default(), emitter.clone(), known))
}

/// Starts to read the indexer that `args` name, before anything else is heard.
fn indexer(args: &SourceArgs, emitter: &Emitter) -> Result<Option<SourceHandle>, BadIndexerUrl> {
    let Some(url) = &args.indexer_url else { return Ok(None) };
    let spec = IndexerSpec::parse(url, Reach::default())?;
    Ok(Some(indexer::spawn(spec, emitter.clone())))
}

/// Starts to listen to the publishers that `args` name.
fn zmq_named(args: &SourceArgs, emitter: &Emitter) -> Result<SourceHandle, BadEndpoint> {
    let targets: Result<Vec<ZmqTarget>, BadEndpoint> =
        args.zmq.iter().map(|url| named(url)).collect();
    let namespace = args.dynamo_namespace.as_deref().map(Into::into);
    let spec = ZmqSpec::new(Reach::default(), namespace);
    // They stay as they are; nobody is left to change them.
    let (_, targets) = watch::channel(targets?);
    Ok(zmq::spawn(spec, emitter.clone(), targets))
}

/// Starts to listen to the engines that `args` name.
fn engines_named(
    args: &SourceArgs,
    emitter: &Emitter,
) -> Result<Option<SourceHandle>, BadEndpoint> {
    if args.engine.is_empty() {
        return Ok(None);
    }
    let of_engine = |url: &String| {
        let from = "--engine".into();
        Ok(ZmqTarget { broker: false, events: false, engine: true, from, ..named(url)? })
    };
    let targets: Result<Vec<ZmqTarget>, BadEndpoint> = args.engine.iter().map(of_engine).collect();
    let (_, targets) = watch::channel(targets?);
    Ok(Some(zmq::spawn(ZmqSpec::of_engines(), emitter.clone(), targets)))
}

fn named(url: &str) -> Result<ZmqTarget, BadEndpoint> {
    let endpoint = Endpoint::parse(url)?;
    // Several may be brokers of one deployment, which only their messages tell.
    Ok(ZmqTarget {
        endpoint,
        pod: None,
        broker: true,
        events: true,
        engine: false,
        from: "--zmq".into(),
    })
}

fn nats_spec(args: &SourceArgs, resolved: Resolved) -> NatsSpec {
    let namespaces = args.dynamo_namespace.as_deref().map(Into::into).into_iter().collect();
    NatsSpec { name: SourceName::Nats, resolved, namespaces }
}

fn options(args: &SourceArgs) -> NatsOptions {
    let from_file = |path: &std::path::PathBuf| nats::Secret::new(path.display().to_string());
    NatsOptions {
        url: args.nats_url.clone(),
        context: args.nats_context.clone(),
        creds: args.nats_creds.clone(),
        nkey: args.nats_nkey.as_ref().map(from_file),
        user: args.nats_user.clone(),
        password_file: args.nats_password_file.clone(),
        token: None,
        tls: Tls {
            ca: args.nats_tls_ca.clone(),
            cert: args.nats_tls_cert.clone(),
            key: args.nats_tls_key.clone(),
            insecure: false,
            name: None,
        },
        file: FilePlace {
            url: args.nats_file.url.clone(),
            context: args.nats_file.context.clone(),
        },
    }
}

pub(super) fn engine_options(label: &str, args: &SourceArgs) -> EngineOptions {
    EngineOptions {
        label: label.to_owned(),
        dgd: args.dgd.clone(),
        cluster: ClusterChoice {
            kubeconfig: args.kubeconfig.as_ref().map(|path| path.to_string_lossy().into_owned()),
            context: args.context.clone(),
        },
        dynamo_namespace: args.dynamo_namespace.clone(),
        memory_limit: memory::of_mirror(args.max_memory()),
        thresholds: thresholds::chosen(args),
        objectives: Objectives { ttft_p95: args.ttft_p95, itl_p95: args.itl_p95 },
        ..EngineOptions::default()
    }
}
