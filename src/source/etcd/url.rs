//! Reads etcd's addresses from Dynamo's `ETCD_ENDPOINTS`.

use std::sync::Arc;

use crate::domain::steers;

/// Default port of etcd.
const PORT: u16 = 2379;

/// The address of a member of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdAddress {
    /// Name or address, without brackets.
    pub host: Arc<str>,
    /// Port.
    pub port: u16,
}

/// An address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEtcdAddress {
    /// It is none.
    #[error("`{0}` is no address of etcd; expected http://host:2379")]
    NoAddress(String),
    /// It holds a login.
    #[error("`{0}` holds a login; pass it with --etcd-user and --etcd-password-file")]
    Login(String),
    /// It asks for TLS.
    #[error(
        "`{0}` asks for TLS, which kvtop does not speak with etcd; name an address with http://"
    )]
    Tls(String),
}

/// Reads addresses, separated by commas. The first that answers will be asked.
pub fn addresses(text: &str) -> Result<Vec<EtcdAddress>, BadEtcdAddress> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let found: Vec<EtcdAddress> = parts.map(address).collect::<Result<_, _>>()?;
    if found.is_empty() { Err(BadEtcdAddress::NoAddress(String::new())) } else { Ok(found) }
}

fn address(text: &str) -> Result<EtcdAddress, BadEtcdAddress> {
    // A password in it is not shown.
    let shown = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let shown: String = shown.chars().filter(|letter| !steers(*letter)).collect();
    let bad = || BadEtcdAddress::NoAddress(shown.clone());
    let rest = match text.split_once("://") {
        Some(("http", rest)) => rest,
        Some(("https", _)) => return Err(BadEtcdAddress::Tls(shown)),
        Some(_) => return Err(bad()),
        None => text,
    };
    if rest.contains('@') {
        return Err(BadEtcdAddress::Login(shown));
    }
    let rest = rest.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| bad())?),
        _ => (rest, PORT),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:".contains(letter);
    if host.is_empty() || !host.chars().all(plain) {
        return Err(bad());
    }
    Ok(EtcdAddress { host: host.into(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_dynamo_writes_them() {
        let read = |text: &str| -> Vec<(String, u16)> {
            let found = addresses(text).unwrap().into_iter();
            found.map(|address| (address.host.to_string(), address.port)).collect()
        };
        assert_eq!(read("http://localhost:2379"), [("localhost".to_owned(), 2379)]);
        assert_eq!(
            read("http://a:1, etcd.ns.svc ,http://[::1]:3/"),
            [("a".to_owned(), 1), ("etcd.ns.svc".to_owned(), 2379), ("::1".to_owned(), 3)]
        );
        assert_eq!(addresses("https://x:1"), Err(BadEtcdAddress::Tls("https://x:1".to_owned())));
        for bad in
            ["", ",", "ftp://x", "http://", "http://a b", "http://a:no", "http://u:secret@h:1/x"]
        {
            let error = addresses(bad).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
