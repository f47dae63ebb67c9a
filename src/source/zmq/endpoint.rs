//! The address of a ZMQ socket.

use std::fmt;
use std::sync::Arc;

use crate::domain::steers;

/// An address such as `tcp://10.42.0.17:41857`, checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    text: Arc<str>,
    host: Arc<str>,
    port: u16,
}

/// The fault of an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address of a ZMQ socket that kvtop can reach; expected tcp://host:port")]
pub struct BadEndpoint(String);

impl Endpoint {
    /// Reads an address. Only TCP leads to another process on another machine.
    pub fn parse(text: &str) -> Result<Self, BadEndpoint> {
        // A password in it is not shown.
        let shown = text.rsplit_once('@').map_or(text, |(_, host)| host);
        let bad = || BadEndpoint(shown.chars().filter(|letter| !steers(*letter)).collect());
        let rest = text.strip_prefix("tcp://").ok_or_else(bad)?;
        let (host, port) = rest.rsplit_once(':').ok_or_else(bad)?;
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(bad)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        let fits = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.chars().all(plain),
        };
        if !fits {
            return Err(bad());
        }
        Ok(Self { text: text.into(), host: bare.unwrap_or(host).into(), port })
    }

    /// Returns it as it was written.
    pub fn as_str(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_sockets_are_read_and_others_are_not() {
        let known = Endpoint::parse("tcp://10.42.0.17:41857").unwrap();
        assert_eq!((known.host(), known.port()), ("10.42.0.17", 41857));
        let six = Endpoint::parse("tcp://[fd00::7]:5557").unwrap();
        assert_eq!(
            (six.host(), six.port(), &**six.as_str()),
            ("fd00::7", 5557, "tcp://[fd00::7]:5557")
        );
        for bad in [
            "10.0.0.1:5",
            "tcp://*:5",
            "tcp://host",
            "tcp://host:0",
            "tcp://:5",
            "ipc:///tmp/x",
            "tcp://[x]:5",
            "tcp://a b:5",
            "tcp://h\u{1b}[31m:5",
        ] {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
        assert!(!Endpoint::parse("\u{1b}").unwrap_err().to_string().contains('\u{1b}'));
    }
}
