//! `kvtop export`: metrics over HTTP, for a Prometheus in the cluster.
//!
//! A page is written when it is asked for, beside the engine; GET only. Connections are short-lived, and clients that
//! stall or never ask do not keep a scrape from its answer. TLS and a bearer token where the command line
//! names them; probes need no token.

pub(super) mod access;
mod connections;
mod crowd;
mod pages;
mod process;
mod watcher;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use access::{Access, Files};
use connections::Connections;
use pages::Pages;

use super::RunError;
use super::headless::ended;
use super::output::tell;
use crate::cli::{ExportArgs, SourceArgs};
use crate::diagnose::rule;
use crate::exit::Exit;
use crate::fleet;

/// Pause after a connection could not be taken.
const PAUSE: Duration = Duration::from_secs(1);
/// Time for a request to arrive.
const HEADERS_WITHIN: Duration = Duration::from_secs(5);
/// The lifetime of a connection: longer than a scrape, which takes 10 s at most unless configured otherwise.
const CONNECTION_FOR: Duration = Duration::from_secs(30);

/// The path below which runbooks are, to which alerts link.
const EXPLAIN: &str = "/explain/";

/// Serves metrics until it is asked to end.
pub(super) async fn export(args: &ExportArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let files = Files::read(args)?;
    let scheme = files.scheme();
    let failed = |source| RunError::Listen { address: args.listen, source };
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let (stop, stopped) = watch::channel(false);
    let (title, watchers, watching) = if source.means_several() {
        let (crowd, watchers) = crowd::start(source, args.shard).await?;
        (crowd.title(), watchers, tokio::spawn(crowd.run(stopped)))
    } else {
        let (watcher, watch) = watcher::start(source).await?;
        let (_, watchers) = watch::channel(Arc::new(vec![watcher]));
        (watch.title(), watchers, tokio::spawn(watch.run(stopped)))
    };
    let pages = Arc::new(Pages::new(watchers, args.metrics_level));
    let server = tokio::spawn(serve(listener, files, pages));
    tell(&format!(
        "kvtop: serving metrics of {title} at {scheme}://{address}/metrics; press Ctrl-C to stop"
    ));
    let exit = ended().await;
    server.abort();
    stop.send_replace(true);
    // A watcher that panicked has told so already.
    drop(watching.await);
    Ok(exit)
}

/// Takes connections for as long as it is polled.
async fn serve(listener: TcpListener, mut files: Files, pages: Arc<Pages>) {
    let mut connections = Connections::default();
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            // Out of file handles, which passes.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        connections.make_room(client.ip());
        let asked = Arc::new(AtomicBool::new(false));
        let visit =
            Visit { access: files.now(), pages: Arc::clone(&pages), asked: Arc::clone(&asked) };
        let task = tokio::spawn(async move {
            // A peer that breaks off or stalls is its own affair.
            drop(tokio::time::timeout(CONNECTION_FOR, visit.run(stream)).await);
        });
        connections.add(client.ip(), asked, task);
    }
}

/// One connection.
struct Visit {
    access: Access,
    pages: Arc<Pages>,
    asked: Arc<AtomicBool>,
}

impl Visit {
    async fn run(self, stream: TcpStream) {
        let Some(tls) = self.access.tls.clone() else { return self.speak(stream).await };
        let handshake = tokio::time::timeout(HEADERS_WITHIN, tls.accept(stream)).await;
        if let Ok(Ok(stream)) = handshake {
            self.speak(stream).await;
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Self { access, pages, asked } = self;
        let answer = service_fn(move |request: Request<Incoming>| {
            asked.store(true, Ordering::Relaxed);
            let admitted = is_probe(request.uri().path()) || access.admits(request.headers());
            let pages = Arc::clone(&pages);
            async move {
                Ok::<_, Infallible>(if admitted {
                    let path = request.uri().path();
                    answer(request.method(), path, request.headers(), &pages).await
                } else {
                    unauthorized()
                })
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN).keep_alive(false);
        drop(http.serve_connection(TokioIo::new(stream), answer).await);
    }
}

/// Returns true for paths that tell only how the process is doing.
fn is_probe(path: &str) -> bool {
    ["/livez", "/readyz", "/healthz", "/health"].contains(&path)
}

/// The answer to a request without the token: no body, so that it tells nothing.
fn unauthorized() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response.headers_mut().insert(WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    response
}

async fn answer(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    pages: &Pages,
) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "GET only\n");
        response.headers_mut().insert(ALLOW, http::HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match path {
        "/metrics" => match pages.page(headers).await {
            Some(page) => page.response(),
            None => plain(StatusCode::SERVICE_UNAVAILABLE, "busy: no figures within 9 s\n"),
        },
        "/readyz" => match pages.unready() {
            None => plain(StatusCode::OK, "ok\n"),
            Some(why) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")),
        },
        _ if path.starts_with(EXPLAIN) => {
            let about = path.strip_prefix(EXPLAIN).unwrap_or_default();
            match rule(about) {
                None if about == fleet::CAPACITY => {
                    plain(StatusCode::OK, fleet::capacity_runbook())
                }
                Some(rule) => plain(StatusCode::OK, fleet::runbook(rule)),
                None => plain(StatusCode::NOT_FOUND, "no such finding\n"),
            }
        }
        _ if is_probe(path) => match pages.stuck() {
            None => plain(StatusCode::OK, "ok\n"),
            Some(why) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        },
        _ => plain(StatusCode::NOT_FOUND, "see /metrics, /livez and /readyz\n"),
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let format = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, format);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::MetricsLevel;

    #[tokio::test]
    async fn only_metrics_and_probes_are_served_and_only_to_those_who_read() {
        let (_, none) = watch::channel(Arc::default());
        let pages = Pages::new(none, MetricsLevel::Worker);
        let status = async |method: &Method, path| {
            answer(method, path, &HeaderMap::new(), &pages).await.status().as_u16()
        };
        assert_eq!(status(&Method::GET, "/metrics").await, 200);
        assert_eq!(status(&Method::HEAD, "/metrics").await, 200);
        for probe in ["/livez", "/readyz", "/healthz", "/health"] {
            assert_eq!(status(&Method::GET, probe).await, 200);
        }
        assert_eq!(status(&Method::GET, "/explain/KVT001").await, 200);
        assert_eq!(status(&Method::GET, "/explain/KVT999").await, 404);
        assert_eq!(status(&Method::GET, "/").await, 404);
        assert_eq!(status(&Method::POST, "/metrics").await, 405);
        assert_eq!(status(&Method::DELETE, "/anything").await, 405);
    }
}
