//! Opening one connection, and saying in plain words why it did not work.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use tokio::sync::mpsc;

use super::config::Resolved;
use super::options::Tls;
use super::secret::Credential;
use super::tls;

/// Time for one attempt, name resolution and handshake included, per address.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Time after which the server counts as unwilling to answer a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval at which the client library asks if the server is still there; it gives up after two
/// unanswered questions.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Messages that may wait between the library's socket task and ours.
///
/// Both run on one thread, and the socket task yields after 128 reads of 64 KiB at the latest
/// (tokio's cooperative budget), so this is room for one turn of 128-byte messages.
const SUBSCRIPTION_CAPACITY: usize = 65_536;

/// Room for events of the connection. Lost ones are `SlowConsumer`s, which are counted as "at least".
const EVENT_CAPACITY: usize = 128;

/// One connection. It never reconnects by itself: whoever opened it sees it end.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) events: mpsc::Receiver<Event>,
}

/// Opens a connection to any of the servers of `resolved`.
pub(super) async fn open(resolved: &Resolved) -> Result<Connection, String> {
    let servers: Vec<ServerAddr> =
        resolved.servers.iter().filter_map(|address| address.as_str().parse().ok()).collect();
    let (events_tx, events) = mpsc::channel(EVENT_CAPACITY);
    let options = secured(authenticated(&resolved.credential)?, &resolved.tls)?;
    let connected = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&connected);
    let client = options
        .name("kvtop (read-only)")
        .connection_timeout(TIMEOUT)
        .request_timeout(Some(REQUEST_TIMEOUT))
        .ping_interval(PING_INTERVAL)
        .subscription_capacity(SUBSCRIPTION_CAPACITY)
        .ignore_discovered_servers()
        // The library would reconnect and resubscribe silently; a gap must not be silent.
        .reconnect_delay_callback(move |_| {
            if once.load(Ordering::Relaxed) { Duration::from_secs(86_400) } else { Duration::ZERO }
        })
        .event_callback(move |event| {
            let events_tx = events_tx.clone();
            async move {
                // Full: the session is busy and will see the connection's end by other means.
                drop(events_tx.try_send(event));
            }
        })
        .connect(servers)
        .await
        .map_err(|error| explain(&error, resolved))?;
    connected.store(true, Ordering::Relaxed);
    Ok(Connection { client, events })
}

fn authenticated(credential: &Credential) -> Result<ConnectOptions, String> {
    let options = ConnectOptions::new();
    Ok(match credential {
        Credential::None => options,
        Credential::User { user, password } => {
            options.user_and_password(user.clone(), password.expose().to_owned())
        }
        Credential::Token(token) => options.token(token.expose().to_owned()),
        Credential::Nkey(seed) => options.nkey(seed.expose().to_owned()),
        Credential::Creds(text) => options
            // The library only sees a seed whose last line ends.
            .credentials(&format!("{}\n", text.expose()))
            .map_err(|error| format!("the NATS credentials file does not parse: {error}"))?,
    })
}

fn secured(mut options: ConnectOptions, tls: &Tls) -> Result<ConnectOptions, String> {
    if tls.insecure {
        return Ok(options.tls_client_config(tls::accept_any(tls)?).require_tls(true));
    }
    if let (Some(name), Some(ca)) = (&tls.name, &tls.ca) {
        return Ok(options.tls_client_config(tls::named(tls, ca, name)?).require_tls(true));
    }
    if let Some(ca) = &tls.ca {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let (Some(cert), Some(key)) = (&tls.cert, &tls.key) {
        options = options.add_client_certificate(cert.clone(), key.clone()).require_tls(true);
    }
    Ok(options)
}

/// Returns why connecting failed and what to do about it.
fn explain(error: &ConnectError, resolved: &Resolved) -> String {
    let hosts: Vec<&str> = resolved.servers.iter().map(super::secret::Address::host).collect();
    // Behind a forward the address is one of this machine, which tells nobody anything.
    let host = resolved.tls.name.clone().unwrap_or_else(|| hosts.join(", "));
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            refused_login(&host, resolved)
        }
        ConnectErrorKind::Dns => format!(
            "the name in {host} does not resolve; outside the cluster, forward the port and use its local address"
        ),
        ConnectErrorKind::TimedOut => {
            format!(
                "{host} did not answer within 5 s; check the address, the network policy or the port-forward"
            )
        }
        ConnectErrorKind::Tls => tls_trouble(&host, &chain(error)),
        ConnectErrorKind::Io if is_tls(error) => tls_trouble(&host, &chain(error)),
        ConnectErrorKind::Io if is_refused(error) => {
            format!("nothing listens at {host}; check the address or start the port-forward")
        }
        ConnectErrorKind::ServerParse | ConnectErrorKind::Io | ConnectErrorKind::MaxReconnects => {
            format!("could not connect to {host}: {}", chain(error))
        }
    }
}

fn refused_login(host: &str, resolved: &Resolved) -> String {
    match (&resolved.credential, &resolved.withheld) {
        (Credential::None, Some(from)) => format!(
            "{host} wants a login; {from} carries one, which kvtop does not keep: give it with \
             --nats-user and --nats-password-file"
        ),
        (Credential::None, None) => format!(
            "{host} wants a login and none was given; Dynamo's default is user/user: pass --nats-user user \
             with a password file (--nats-password-file), or the credentials the workers use"
        ),
        (credential, _) => {
            format!("{host} refused the {}; check it ({})", credential.kind(), resolved.provenance)
        }
    }
}

fn tls_trouble(host: &str, cause: &str) -> String {
    format!(
        "TLS with {host} failed ({cause}); name its authority with --nats-tls-ca, and a client certificate if it wants one"
    )
}

/// Returns every cause of `error`, the outermost first, each once.
fn chain(error: &ConnectError) -> String {
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !causes.iter().any(|known| known.contains(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    causes.join(": ")
}

fn io_cause(error: &ConnectError) -> Option<&io::Error> {
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref::<io::Error>() {
            return Some(found);
        }
        next = cause.source();
    }
    None
}

fn is_refused(error: &ConnectError) -> bool {
    io_cause(error).is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
}

fn is_tls(error: &ConnectError) -> bool {
    io_cause(error)
        .and_then(io::Error::get_ref)
        .is_some_and(<dyn Error + Send + Sync>::is::<async_nats::rustls::Error>)
}
