//! Guards the metrics: TLS, and a token that every scrape has to carry.
//!
//! Certificate, key and token are read again a minute after they were read last: clusters renew them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::cli::ExportArgs;
use crate::clock;
use crate::domain::Timestamp;

/// Time for which files count as unchanged.
const FRESH: Duration = Duration::from_secs(60);

/// Longest token.
const LONGEST_TOKEN: usize = 64 << 10;

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("could not use {what} `{}`: {why}", path.display())]
pub struct Unusable {
    what: &'static str,
    path: PathBuf,
    why: String,
}

/// Checks before a connection gets an answer.
#[derive(Clone)]
pub(super) struct Access {
    /// Speaks TLS; without it the connection is plain.
    pub(super) tls: Option<TlsAcceptor>,
    token: Option<Arc<[u8]>>,
}

impl Access {
    /// Returns true for a request that carries the token, or needs none.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes).unwrap_or_default();
        let (scheme, rest) = given.split_at(given.len().min(7));
        scheme.eq_ignore_ascii_case(b"bearer ") && is_same(rest, token)
    }
}

/// Compares in a time that tells the length of the secret at most.
fn is_same(given: &[u8], secret: &[u8]) -> bool {
    let mut differ = given.len() ^ secret.len();
    for (at, byte) in given.iter().enumerate() {
        let other = secret.get(at % secret.len().max(1)).copied().unwrap_or_default();
        differ |= usize::from(std::hint::black_box(byte ^ other));
    }
    std::hint::black_box(differ) == 0
}

/// The files that access is made of.
pub(super) struct Files {
    tls: Option<(PathBuf, PathBuf)>,
    token: Option<PathBuf>,
    access: Access,
    read: Timestamp,
}

impl Files {
    /// Reads the files that the command line names.
    pub(super) fn read(args: &ExportArgs) -> Result<Self, Unusable> {
        let tls = args.tls_cert.clone().zip(args.tls_key.clone());
        let token = args.token_file.clone();
        let access = access(tls.as_ref(), token.as_deref())?;
        Ok(Self { tls, token, access, read: clock::now() })
    }

    /// Returns the scheme of the server's address.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Returns the access that holds now. While the files cannot be read, what was read last holds.
    pub(super) fn now(&mut self) -> Access {
        let now = clock::now();
        if now.since(self.read) >= FRESH {
            self.read = now;
            if let Ok(access) = access(self.tls.as_ref(), self.token.as_deref()) {
                self.access = access;
            }
        }
        self.access.clone()
    }
}

fn access(tls: Option<&(PathBuf, PathBuf)>, token: Option<&Path>) -> Result<Access, Unusable> {
    let tls = tls.map(|(cert, key)| acceptor(cert, key)).transpose()?;
    Ok(Access { tls, token: token.map(read_token).transpose()? })
}

fn read_token(path: &Path) -> Result<Arc<[u8]>, Unusable> {
    let unusable = |why: String| Unusable { what: "the token in", path: path.to_owned(), why };
    let text = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    let token = text.trim_ascii();
    if token.is_empty() {
        return Err(unusable("it is empty".to_owned()));
    }
    if token.len() > LONGEST_TOKEN || !token.iter().all(u8::is_ascii_graphic) {
        return Err(unusable("a token is one word of ASCII letters".to_owned()));
    }
    Ok(token.into())
}

fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, Unusable> {
    let unusable = |what, path: &Path, why: String| Unusable { what, path: path.to_owned(), why };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable("the certificate", cert, error.to_string()))?;
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| unusable("the key", key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| unusable("the certificate", cert, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_with_the_token_are_admitted() {
        let token: Option<Arc<[u8]>> = Some(b"secret".as_slice().into());
        let admits = |token: &Option<Arc<[u8]>>, header: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers
                .extend(header.map(|text| (AUTHORIZATION, http::HeaderValue::from_static(text))));
            Access { tls: None, token: token.clone() }.admits(&headers)
        };
        assert!(admits(&token, Some("Bearer secret")) && admits(&token, Some("bearer secret")));
        for wrong in
            ["Bearer secre", "Bearer secrets", "Bearer secretsecret", "secret", "Basic secret", ""]
        {
            assert!(!admits(&token, Some(wrong)), "{wrong}");
        }
        assert!(!admits(&token, None));
        assert!(admits(&None, None));
    }
}
