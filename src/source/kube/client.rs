//! The client: GET requests to the Kubernetes API, and what they fail with.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Builder;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use hyper::upgrade::Upgraded;
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use serde_json::Value;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::error::KubeConfigError;
use super::options::KubeOptions;
use super::refusal::{Refusal, clip};
use super::shared::Shared;

/// The longest answer that is read: a page of 500 pods has some 10 MB.
const LARGEST: usize = 32 << 20;

/// The longest answer that is read of a request that failed.
const LARGEST_ERROR: usize = 64 << 10;

/// A way to ask the Kubernetes API. Clones share their credentials.
#[derive(Clone)]
pub struct KubeClient {
    options: Arc<KubeOptions>,
    namespace: Arc<str>,
    server: Arc<str>,
    /// The name of the server, for people.
    origin: Arc<str>,
    /// Replaced when credentials are renewed.
    current: Arc<watch::Sender<Client>>,
    /// Watches of the whole cluster, where many namespaces are watched.
    shared: Option<Arc<Shared>>,
}

impl std::fmt::Debug for KubeClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The client holds credentials.
        let mut shown = formatter.debug_struct("KubeClient");
        shown.field("server", &self.server).field("namespace", &self.namespace);
        shown.finish_non_exhaustive()
    }
}

/// Reads the configuration and returns a client. Asks the API nothing yet.
///
/// Fails when there is no usable kubeconfig or service account, or when its credential plugin fails;
/// [`KubeConfigError::sentence`] says what to do. Must be called within a runtime.
pub async fn connect(options: KubeOptions) -> Result<KubeClient, KubeConfigError> {
    let config = options.resolve().await?;
    let namespace = config.default_namespace.as_str().into();
    let server = config.cluster_url.to_string().trim_end_matches('/').into();
    let origin = options.origin().into();
    let current = Arc::new(watch::Sender::new(build(config).await?));
    let shared = None;
    Ok(KubeClient { options: Arc::new(options), namespace, server, origin, current, shared })
}

/// Builds a client on a thread for blocking work, since it runs credential plugins and waits.
async fn build(config: Config) -> Result<Client, KubeConfigError> {
    let command = config.auth_info.exec.as_ref().and_then(|exec| exec.command.clone());
    let built = tokio::task::spawn_blocking(move || {
        ClientBuilder::try_from(config).map(ClientBuilder::build)
    });
    match built.await {
        Ok(built) => built.map_err(|error| KubeConfigError::of_client(error, command.as_deref())),
        Err(error) => {
            Err(KubeConfigError::Client { source: Box::new(kube::Error::Service(Box::new(error))) })
        }
    }
}

impl KubeClient {
    /// Returns the namespace to look at: the flag's, the context's, or `default`.
    pub fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }

    /// Returns the address of the API server.
    pub fn server(&self) -> &Arc<str> {
        &self.server
    }

    /// Returns what names the API server, such as ``context `prod` ``, for people.
    pub fn origin(&self) -> &Arc<str> {
        &self.origin
    }

    /// Returns the name of the context; none with the service account of a pod.
    pub fn context(&self) -> Option<&str> {
        self.origin.strip_prefix("context `")?.strip_suffix('`').filter(|name| !name.is_empty())
    }

    /// Returns the client of the moment, for logs and port-forwards. Ask again for each request:
    /// credentials are renewed by replacing it.
    pub fn client(&self) -> Client {
        self.current.borrow().clone()
    }

    /// Returns a client with the same credentials that looks at `namespace`, as `options` say.
    pub(super) fn looking_at(&self, namespace: &str, options: Arc<KubeOptions>) -> Self {
        Self { options, namespace: namespace.into(), ..self.clone() }
    }

    /// Returns a client whose sources share one watch of each kind of object, wherever it looks. For hundreds of
    /// namespaces that is hundreds of connections less; the server must permit to watch the whole cluster.
    #[must_use]
    pub fn sharing(&self) -> Self {
        Self { shared: Some(Arc::default()), ..self.clone() }
    }

    /// Returns the same client for requests of its own.
    pub(super) fn alone(&self) -> Self {
        Self { shared: None, ..self.clone() }
    }

    /// Returns the watches that it shares.
    pub(super) fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }

    /// Reads the configuration again, after a login or when credentials have expired.
    pub(super) async fn renew(&self) -> Result<(), KubeConfigError> {
        let client = build(self.options.resolve().await?).await?;
        self.current.send_replace(client);
        Ok(())
    }

    /// Returns true when the credentials run out within a minute.
    pub(super) fn is_expiring(&self) -> bool {
        let client = self.client();
        let left = client.valid_until().map(jiff::Timestamp::as_second);
        let now = i64::try_from(crate::clock::now().0 / 1_000_000).unwrap_or(i64::MAX);
        left.is_some_and(|until| until < now + 60)
    }

    /// Returns what the command line says.
    pub(super) fn options(&self) -> &KubeOptions {
        &self.options
    }

    /// Returns how long one request may take.
    pub(super) fn timeout(&self) -> Duration {
        self.options.timeout()
    }

    /// Returns the version of the API server, such as `v1.36.2`.
    pub async fn version(&self) -> Result<String, Refusal> {
        let answer = self.get_json("/version").await?;
        Ok(answer["gitVersion"].as_str().unwrap_or_default().to_owned())
    }

    /// Returns the JSON that a GET of `path` (with its query) answers.
    pub async fn get_json(&self, path: &str) -> Result<Value, Refusal> {
        let bytes = self.get(path).await?;
        serde_json::from_slice(&bytes).map_err(|error| Refusal::Unreadable(error.to_string()))
    }

    /// Returns the body that a GET of `path` (with its query) answers.
    pub async fn get(&self, path: &str) -> Result<Bytes, Refusal> {
        let whole = async {
            let response = self.open(path).await?;
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            body.map(Collected::to_bytes).map_err(|error| match error.downcast::<kube::Error>() {
                Ok(error) => Refusal::of_transport(&error, &self.server),
                Err(error) if error.is::<LengthLimitError>() => {
                    Refusal::Unreadable(format!("an answer of more than {} MiB", LARGEST >> 20))
                }
                Err(error) => Refusal::Cut(clip(&error.to_string())),
            })
        };
        let limit = self.timeout();
        tokio::time::timeout(limit, whole)
            .await
            .unwrap_or_else(|_| Err(Refusal::Slow { server: Arc::clone(&self.server), limit }))
    }

    /// Sends a GET and returns the response once its head is there. Fails unless it is a 200.
    pub(in crate::source) async fn open(&self, path: &str) -> Result<Response<Body>, Refusal> {
        let response =
            self.send(|| Request::get(path).header(header::ACCEPT, "application/json")).await?;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        Err(self.refused(response).await)
    }

    /// Sends a GET that makes the connection a WebSocket of `protocol`, and returns the connection.
    pub(in crate::source) async fn upgrade(
        &self,
        path: &str,
        protocol: &str,
    ) -> Result<Upgraded, Refusal> {
        let key = generate_key();
        let request = || {
            Request::get(path)
                .header(header::CONNECTION, "Upgrade")
                .header(header::UPGRADE, "websocket")
                .header(header::SEC_WEBSOCKET_VERSION, "13")
                .header(header::SEC_WEBSOCKET_KEY, &key)
                .header(header::SEC_WEBSOCKET_PROTOCOL, protocol)
        };
        let response = self.send(request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.refused(response).await);
        }
        let accepted = derive_accept_key(key.as_bytes());
        let answers = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        if answers.is_none_or(|answer| *answer != *accepted) {
            return Err(Refusal::Unreadable("an answer to another WebSocket request".to_owned()));
        }
        let upgraded = hyper::upgrade::on(response).await;
        upgraded.map_err(|error| Refusal::Cut(clip(&error.to_string())))
    }

    /// Sends what `request` makes and returns the head of the response. Servers close idle connections at any time, so
    /// a request on a connection that ends without an answer is sent once more: a GET changes nothing.
    async fn send(&self, request: impl Fn() -> Builder) -> Result<Response<Body>, Refusal> {
        let make = || {
            let made = request().body(Body::empty());
            made.map_err(|error| Refusal::Unreadable(error.to_string()))
        };
        let mut response = self.client().send(make()?).await;
        if response.as_ref().is_err_and(ended_unanswered) {
            response = self.client().send(make()?).await;
        }
        response.map_err(|error| Refusal::of_transport(&error, &self.server))
    }

    /// Returns why a request was answered otherwise than it should be.
    async fn refused(&self, response: Response<Body>) -> Refusal {
        let status = response.status().as_u16();
        let after = response.headers().get(header::RETRY_AFTER);
        let after = after.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = Limited::new(response.into_body(), LARGEST_ERROR).collect().await;
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        if status == 401
            && let Some(at) = self.options.expired(crate::clock::now())
        {
            return Refusal::NoCredentials(format!(
                "the client certificate in the kubeconfig expired on {at}: log in again, or renew it"
            ));
        }
        Refusal::of_answer(status, after.map(Duration::from_secs), &body)
    }
}

/// Returns true where the connection ended before the server answered anything.
fn ended_unanswered(error: &kube::Error) -> bool {
    let mut cause = error.source();
    while let Some(known) = cause {
        if let Some(error) = known.downcast_ref::<hyper::Error>() {
            return error.is_incomplete_message() || error.is_canceled();
        }
        cause = known.source();
    }
    false
}
