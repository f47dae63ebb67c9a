//! A fake Kubernetes API over real HTTP: lists, watches, logs, port-forward, and all the ways in
//! which the real one fails.
//!
//! Its answers are those recorded from kube-apiserver 1.36.2 (tests/fixtures/kube), with the objects
//! of a test in place of the recorded ones. It runs on a thread of its own, so that blocking tests
//! may use it, too.
#![expect(dead_code, reason = "not every test needs every failure")]

mod forward;
mod http;
mod logs;
mod route;
mod serve;
mod store;
pub(crate) mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::nats_server::Folder;
use store::{Change, State};

pub(crate) use logs::LogState;
pub(crate) use store::{Timeline, kind_of, recorded_objects};

/// The token of the kubeconfig.
pub(crate) const TOKEN: &str = "viewer-token-for-tests";

/// A request that the API received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// The user of the token, or who was impersonated.
    pub(crate) user: String,
    /// The program that asked, as it names itself.
    pub(crate) agent: String,
}

/// What server and test share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Grows with every change of the state.
    changed: watch::Sender<u64>,
    /// Grows when streams are to end properly.
    ended: watch::Sender<u64>,
    /// Grows when connections are to be cut.
    cut: watch::Sender<u64>,
    /// Grows when port-forwards are to be cut.
    cut_forwards: watch::Sender<u64>,
    /// False while nothing new is accepted.
    listening: watch::Sender<bool>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Changes the state and tells those who wait for it.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.send_modify(|count| *count += 1);
        result
    }
}

/// A running fake.
pub(crate) struct FakeKube {
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    folder: Folder,
    address: SocketAddr,
    tls: Option<tls::Identity>,
}

impl FakeKube {
    /// Starts an API without objects, over plain HTTP.
    pub(crate) fn start() -> Self {
        Self::launch(None)
    }

    /// Starts an API over TLS, with a certificate of a new CA.
    pub(crate) fn start_tls() -> Self {
        Self::launch(Some(tls::Identity::generate()))
    }

    /// Starts an API with the recorded objects of the deployment `gtc-demo` of Dynamo 0.9.
    pub(crate) fn demo() -> Self {
        let kube = Self::start();
        for list in ["pods/list_gtc-demo", "dgd/list", "dwm/list", "configmaps/list"] {
            kube.load(list);
        }
        kube.load("endpointslices/list_gtc-demo");
        kube
    }

    fn launch(tls: Option<tls::Identity>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("fake kube")
            .enable_all()
            .build()
            .unwrap();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: watch::Sender::new(0),
            ended: watch::Sender::new(0),
            cut: watch::Sender::new(0),
            cut_forwards: watch::Sender::new(0),
            listening: watch::Sender::new(true),
        });
        let listener = serve::bind(SocketAddr::from(([127, 0, 0, 1], 0)));
        let address = listener.local_addr().unwrap();
        let acceptor = tls.as_ref().map(tls::Identity::acceptor);
        runtime.spawn(serve::run(Arc::clone(&shared), listener, acceptor));
        Self { shared, runtime: Some(runtime), folder: Folder::new(), address, tls }
    }

    /// Returns the address as in a kubeconfig.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the certificate of the CA over TLS, as PEM.
    pub(crate) fn authority(&self) -> Option<&str> {
        self.tls.as_ref().map(|identity| identity.ca.as_str())
    }

    /// Writes a kubeconfig with this API, the token of the tests and namespace `gtc-demo`.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig_as(&format!("{{ token: {TOKEN} }}"))
    }

    /// Writes a kubeconfig whose user is `user`, in YAML.
    pub(crate) fn kubeconfig_as(&self, user: &str) -> PathBuf {
        let ca = self.tls.as_ref().map_or_else(String::new, |identity| {
            let file = self.folder.write("ca.pem", &identity.ca);
            format!(", certificate-authority: {}", file.display())
        });
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: fake\n\
             clusters:\n- name: fake\n  cluster: {{ server: \"{}\"{ca} }}\n\
             contexts:\n- name: fake\n  context: {{ cluster: fake, user: me, namespace: gtc-demo }}\n\
             users:\n- name: me\n  user: {user}\n",
            self.url()
        );
        self.folder.write("kubeconfig", &text)
    }

    /// Returns a client with the kubeconfig of the tests.
    pub(crate) async fn client(&self) -> kvtop::source::kube::KubeClient {
        let kubeconfig = Some(self.kubeconfig());
        let options = kvtop::source::kube::KubeOptions { kubeconfig, ..Default::default() };
        kvtop::source::kube::connect(options).await.unwrap()
    }

    /// Writes a kubeconfig with one context, `context`, whose namespace is `namespace`.
    pub(crate) fn kubeconfig_in(&self, context: &str, namespace: &str) -> PathBuf {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {context}\n\
             clusters:\n- name: {context}\n  cluster: {{ server: \"{}\" }}\n\
             contexts:\n- name: {context}\n  context: {{ cluster: {context}, user: me, namespace: {namespace} }}\n\
             users:\n- name: me\n  user: {{ token: {TOKEN} }}\n",
            self.url()
        );
        self.folder.write("kubeconfig", &text)
    }

    /// Returns the folder of the kubeconfig.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    // Objects.

    /// Adds an object, or replaces it.
    pub(crate) fn object(&self, object: Value) -> &Self {
        self.shared.change(|state| state.put(object));
        self
    }

    /// Replaces an object, or adds it.
    pub(crate) fn update(&self, object: Value) -> &Self {
        self.object(object)
    }

    /// Changes the object `name` of `kind`.
    pub(crate) fn edit(&self, kind: &str, name: &str, edit: impl FnOnce(&mut Value)) -> &Self {
        let mut object = self.shared.state().find(kind, name).unwrap();
        edit(&mut object);
        self.object(object)
    }

    /// Returns the object `name` of `kind`.
    pub(crate) fn found(&self, kind: &str, name: &str) -> Option<Value> {
        self.shared.state().find(kind, name)
    }

    /// Returns all objects of `kind`.
    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        let state = self.shared.state();
        state.objects.values().filter(|object| object["kind"] == kind).cloned().collect()
    }

    /// Returns all objects of `kind` in `namespace`.
    pub(crate) fn all_in(&self, kind: &str, namespace: &str) -> Vec<Value> {
        let state = self.shared.state();
        let of = |object: &&Value| {
            object["kind"] == kind && object["metadata"]["namespace"] == namespace
        };
        state.objects.values().filter(of).cloned().collect()
    }

    /// Deletes the object `name` of `kind`.
    pub(crate) fn delete(&self, kind: &str, name: &str) -> &Self {
        self.shared.change(|state| state.remove(kind, name));
        self
    }

    /// Adds every object of a recorded list, such as `pods/list_gtc-demo`, or a recorded object.
    pub(crate) fn load(&self, recorded: &str) -> &Self {
        for object in store::recorded_objects(recorded) {
            self.object(object);
        }
        self
    }

    /// Sends a bookmark to every watch that takes them.
    pub(crate) fn bookmark(&self) -> &Self {
        self.shared.change(|state| state.record(Change::Bookmark, None, Value::Null));
        self
    }

    /// Forgets which changes there were: who resumes from before now is told 410.
    pub(crate) fn forget_history(&self) -> &Self {
        self.shared.change(State::compact);
        self
    }

    /// Serves graph deployments of both versions, v1beta1 preferred.
    pub(crate) fn serve_v1beta1(&self) -> &Self {
        self.shared.change(|state| state.v1beta1 = true);
        self
    }

    /// Uninstalls a resource, such as `dynamoworkermetadatas`, objects and all.
    pub(crate) fn uninstall(&self, plural: &str) -> &Self {
        self.shared.change(|state| state.uninstall(plural));
        self
    }

    /// Installs a resource again.
    pub(crate) fn install(&self, plural: &str) -> &Self {
        self.shared.change(|state| state.missing.remove(plural));
        self
    }

    // Failures.

    /// Refuses `verb` on `resource` (such as `pods/log`) with 403, from the next request on.
    pub(crate) fn deny(&self, verb: &str, resource: &str) -> &Self {
        self.shared.change(|state| state.denied.insert((verb.to_owned(), resource.to_owned())));
        self
    }

    /// Permits it again.
    pub(crate) fn allow(&self, verb: &str, resource: &str) -> &Self {
        self.shared.change(|state| state.denied.remove(&(verb.to_owned(), resource.to_owned())));
        self
    }

    /// Permits from now on what the Roles among `manifest`'s documents allow, and nothing else.
    pub(crate) fn permit_only(&self, manifest: &str) -> &Self {
        let permitted = store::permissions(manifest);
        self.shared.change(|state| state.permitted = Some(permitted));
        self
    }

    /// Refuses every request with 403 for a while, as a server does that has just started.
    pub(crate) fn deny_everything_for(&self, span: Duration) -> &Self {
        let until = kvtop::clock::now().0 + u64::try_from(span.as_micros()).unwrap();
        self.shared.change(|state| state.denied_until = until);
        self
    }

    /// Accepts `token` from now on, and no other.
    pub(crate) fn only_token(&self, token: &str) -> &Self {
        self.shared.change(|state| token.clone_into(&mut state.token));
        self
    }

    /// Answers the next request with `status` and a body of the recorded kind.
    pub(crate) fn fail_next(&self, status: u16) -> &Self {
        self.shared.change(|state| state.fail_next.push_back(status));
        self
    }

    /// Answers with a recorded response, such as `errors/429_list`, whenever path and query contain
    /// `part`.
    pub(crate) fn answer(&self, part: &str, recorded: &str) -> &Self {
        self.shared.change(|state| {
            state.answers.insert(part.to_owned(), store::recorded_response(recorded))
        });
        self
    }

    /// Takes back what [`Self::answer`] set for `part`.
    pub(crate) fn answer_properly(&self, part: &str) -> &Self {
        self.shared.change(|state| state.answers.remove(part));
        self
    }

    /// Answers the next request whose path and query contain `part` with a recorded stream, such as
    /// `restart/sigkill_watch`, read by read as it came.
    pub(crate) fn stream(&self, part: &str, recorded: &str) -> Timeline {
        let timeline = Timeline::recorded(recorded);
        let whole = (part.to_owned(), timeline.clone());
        self.shared.change(|state| state.streams.push(whole));
        timeline
    }

    /// Waits before it answers anything.
    pub(crate) fn slow(&self, delay: Duration) -> &Self {
        self.shared.change(|state| state.delay = delay);
        self
    }

    // Streams and restarts.

    /// Ends all streams properly just before `object` comes, and forgets that it came.
    pub(crate) fn expire(&self, object: Value) -> &Self {
        self.shared.change(|state| {
            self.end_streams();
            state.put(object);
            state.compact();
        });
        self
    }

    /// Ends all streams properly, as at their timeout.
    pub(crate) fn end_streams(&self) -> &Self {
        self.shared.ended.send_modify(|count| *count += 1);
        self
    }

    /// Cuts all connections, without a last chunk.
    pub(crate) fn cut_streams(&self) -> &Self {
        self.shared.cut.send_modify(|count| *count += 1);
        self
    }

    /// Goes away as with SIGKILL: nothing is left.
    pub(crate) fn stop(&self) -> &Self {
        self.shared.listening.send_replace(false);
        self.cut_streams()
    }

    /// Goes away as with SIGTERM: nothing new is accepted, open streams live on.
    pub(crate) fn stop_accepting(&self) -> &Self {
        self.shared.listening.send_replace(false);
        self
    }

    /// Comes back at the same address, with the same objects.
    pub(crate) fn start_again(&self) -> &Self {
        self.shared.listening.send_replace(true);
        self
    }

    /// Goes away as with SIGKILL and comes back at once, without its history of changes.
    pub(crate) fn restart(&self) -> &Self {
        self.stop();
        std::thread::sleep(Duration::from_millis(50));
        self.forget_history();
        self.start_again()
    }

    // Logs and port-forwards.

    /// Appends a line to a container's log; followers get it at once.
    pub(crate) fn log_line(&self, pod: &str, container: &str, line: &str) -> &Self {
        self.log_line_at(pod, container, kvtop::clock::now(), line)
    }

    /// Appends a line that was written at `at`.
    pub(crate) fn log_line_at(
        &self,
        pod: &str,
        container: &str,
        at: kvtop::domain::Timestamp,
        line: &str,
    ) -> &Self {
        self.shared.change(|state| state.log(pod, container).push(at, line));
        self
    }

    /// Appends lines, each with its pod and time, to the logs of containers `main`: followers are woken once.
    pub(crate) fn log_lines(&self, lines: &[(String, kvtop::domain::Timestamp, String)]) -> &Self {
        self.shared.change(|state| {
            for (pod, at, line) in lines {
                state.log(pod, "main").push(*at, line);
            }
        });
        self
    }

    /// Sets how requests for a container's log are answered.
    pub(crate) fn log_state(&self, pod: &str, container: &str, to: LogState) -> &Self {
        self.shared.change(|state| state.log(pod, container).state = to);
        self
    }

    /// Drops all lines of a container's log so far, as its restart does.
    pub(crate) fn clear_log(&self, pod: &str, container: &str) -> &Self {
        self.shared.change(|state| state.log(pod, container).clear());
        self
    }

    /// Connects port-forwards to `port` of `pod` with `target`.
    pub(crate) fn forward(&self, pod: &str, port: u16, target: SocketAddr) -> &Self {
        self.shared.change(|state| state.forwards.insert((pod.to_owned(), port), target));
        self
    }

    /// Cuts all port-forwards, and nothing else.
    pub(crate) fn cut_forwards(&self) -> &Self {
        self.shared.cut_forwards.send_modify(|count| *count += 1);
        self
    }

    // What was asked.

    /// Returns all requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// Forgets the requests so far.
    pub(crate) fn forget_requests(&self) -> &Self {
        self.shared.state().requests.clear();
        self
    }

    /// Returns how many watches, log follows and port-forwards are open.
    pub(crate) fn open_streams(&self) -> usize {
        self.shared.state().open_streams
    }
}

impl Drop for FakeKube {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
