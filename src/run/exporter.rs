//! `kvtop export`: metrics over HTTP, for a Prometheus in the cluster.
//!
//! One page, computed once a second whoever asks; GET only. Connections are short-lived, and clients that
//! stall or never ask do not keep a scrape from its answer. TLS and a bearer token where the command line
//! names them; probes of `/healthz` need no token.

pub(super) mod access;
mod connections;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
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

use super::RunError;
use super::ending;
use super::headless::{ended, follow, take};
use super::live::{self, Live};
use super::output::tell;
use crate::cli::{ExportArgs, SourceArgs};
use crate::clock;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::report::check::{Raises, exporter};
use crate::snapshot::ViewQuery;

/// How often the page is computed.
const EVERY: Duration = Duration::from_secs(1);
/// How long a request may take to arrive.
const HEADERS_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection may stay: longer than a scrape, which takes 10 s at most unless configured otherwise.
const CONNECTION_FOR: Duration = Duration::from_secs(30);
/// The format of Prometheus.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves metrics until it is asked to end.
pub(super) async fn export(args: &ExportArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let files = Files::read(args)?;
    let scheme = files.scheme();
    let failed = |source| RunError::Listen { address: args.listen, source };
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let Live { mut frames, sources, target, attach, .. } = live::start(source).await?;
    let mut engine = Engine::new(target.engine_options());
    let mut raises = Raises::default();
    let (page, pages) = watch::channel(Bytes::new());
    let server = tokio::spawn(serve(listener, files, pages));
    tell(&format!(
        "kvtop: serving metrics of {} at {scheme}://{address}/metrics; press Ctrl-C to stop",
        target.title()
    ));
    let ended = ended();
    tokio::pin!(ended);
    let query = ViewQuery { points: 1, events: 0, decisions: 0, ..ViewQuery::default() };
    let mut due = clock::now();
    let exit = loop {
        tokio::select! {
            exit = &mut ended => break exit,
            () = take(&mut frames, &mut engine) => {}
        }
        let now = clock::now();
        engine.advance(now);
        follow(attach.as_ref(), &engine);
        if now >= due {
            due = now.after(EVERY);
            let snapshot = engine.snapshot(&query, now);
            raises.note(&snapshot);
            page.send_replace(exporter(&snapshot, &raises).into());
        }
    };
    server.abort();
    ending::stop(&sources).await;
    Ok(exit)
}

/// Takes connections for as long as it is polled.
async fn serve(listener: TcpListener, mut files: Files, pages: watch::Receiver<Bytes>) {
    let mut connections = Connections::default();
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            // Out of file handles, which passes.
            tokio::time::sleep(EVERY).await;
            continue;
        };
        connections.make_room(client.ip());
        let asked = Arc::new(AtomicBool::new(false));
        let visit = Visit { access: files.now(), pages: pages.clone(), asked: Arc::clone(&asked) };
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
    pages: watch::Receiver<Bytes>,
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
            let path = request.uri().path();
            let answer = if is_probe(path) || access.admits(request.headers()) {
                answer(request.method(), path, &pages)
            } else {
                unauthorized()
            };
            async move { Ok::<_, Infallible>(answer) }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN).keep_alive(false);
        drop(http.serve_connection(TokioIo::new(stream), answer).await);
    }
}

/// Returns true for the path that says only that the process runs.
fn is_probe(path: &str) -> bool {
    ["/health", "/healthz"].contains(&path)
}

/// The answer to a request without the token: no body, so that it tells nothing.
fn unauthorized() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response.headers_mut().insert(WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    response
}

fn answer(method: &Method, path: &str, pages: &watch::Receiver<Bytes>) -> Response<Full<Bytes>> {
    let page = pages.borrow().clone();
    let (status, text) = match path {
        _ if !matches!(*method, Method::GET | Method::HEAD) => {
            (StatusCode::METHOD_NOT_ALLOWED, Bytes::from_static(b"GET only\n"))
        }
        // Nothing was computed yet.
        "/metrics" if page.is_empty() => {
            (StatusCode::SERVICE_UNAVAILABLE, Bytes::from_static(b"not yet\n"))
        }
        "/metrics" => (StatusCode::OK, page),
        _ if is_probe(path) => (StatusCode::OK, Bytes::from_static(b"ok\n")),
        _ => (StatusCode::NOT_FOUND, Bytes::from_static(b"see /metrics\n")),
    };
    let mut response = Response::new(Full::new(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(FORMAT));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, http::HeaderValue::from_static("GET, HEAD"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_metrics_are_served_and_only_to_those_who_read() {
        let (page, pages) = watch::channel(Bytes::new());
        let status = |method: &Method, path| answer(method, path, &pages).status().as_u16();
        assert_eq!(status(&Method::GET, "/metrics"), 503);
        page.send_replace(Bytes::from_static(b"a 1\n"));
        assert_eq!(status(&Method::GET, "/metrics"), 200);
        assert_eq!(status(&Method::HEAD, "/metrics"), 200);
        assert_eq!(status(&Method::GET, "/healthz"), 200);
        assert_eq!(status(&Method::GET, "/"), 404);
        assert_eq!(status(&Method::POST, "/metrics"), 405);
        assert_eq!(status(&Method::DELETE, "/anything"), 405);
    }
}
