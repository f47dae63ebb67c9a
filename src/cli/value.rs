//! Parsers of option values, with errors that name a valid example.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Offset;

/// Reads the name of a Kubernetes namespace: a DNS label.
pub fn label(text: &str) -> Result<String, String> {
    let inner = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let ends = |letter: Option<&u8>| letter.is_some_and(|letter| inner(*letter));
    let bytes = text.as_bytes();
    let fits = bytes.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|letter| inner(*letter) || *letter == b'-');
    if fits {
        return Ok(text.to_owned());
    }
    Err("not a namespace name: use a-z, 0-9 and -, at most 63 characters".to_owned())
}

/// Reads what names a deployment: a Kubernetes namespace, a graph deployment or a Dynamo namespace.
pub fn place(text: &str) -> Result<String, String> {
    let inner = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let ends = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let fits = text.len() <= 253
        && ends(text.chars().next())
        && ends(text.chars().last())
        && text.chars().all(inner);
    if fits {
        return Ok(text.to_owned());
    }
    Err("not a namespace or deployment name: use letters, digits, `-`, `_` and `.`, at most 253 characters"
        .to_owned())
}

/// The address of an HTTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its host, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path of its metrics.
    pub path: String,
}

/// Reads the address of an HTTP server; `/metrics` where it names no path.
pub(super) fn endpoint(text: &str) -> Result<Endpoint, String> {
    let none =
        || "not an address such as http://localhost:8000 (no TLS, no credentials)".to_owned();
    let rest = text.strip_prefix("http://").ok_or_else(none)?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let printable = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if authority.contains('@') || !printable(rest) {
        return Err(none());
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| none())?),
        _ => (authority, 80),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let path = if path.len() > 1 { path } else { "/metrics" }.to_owned();
    if host.is_empty() { Err(none()) } else { Ok(Endpoint { host, port, path }) }
}

/// Reads a label selector. The API server knows the rest of its grammar.
pub(super) fn selector(text: &str) -> Result<String, String> {
    let known = |letter: char| letter.is_ascii_alphanumeric() || "-_./=!,() ".contains(letter);
    if !text.trim().is_empty() && text.len() <= 1_000 && text.chars().all(known) {
        return Ok(text.to_owned());
    }
    Err("not a label selector such as `team=search,tier!=dev`".to_owned())
}

/// Reads the address of a web server, with or without TLS, and the path that its API is below.
pub(super) fn web_address(text: &str) -> Result<String, String> {
    let none =
        || "not an address such as https://prometheus.example:9090 (no credentials)".to_owned();
    let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let rest = rest.ok_or_else(none)?;
    let (authority, _) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let printable = rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
    let has_host = !authority.is_empty() && !authority.starts_with(':');
    if printable && has_host && !authority.contains('@') {
        Ok(text.to_owned())
    } else {
        Err(none())
    }
}

/// One of several exporters that share the namespaces of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u64,
    /// The number of exporters.
    pub count: u64,
}

impl Shard {
    /// Returns true when this one watches what has this hash.
    pub const fn has(self, hash: u64) -> bool {
        hash % self.count == self.number - 1
    }
}

/// Reads a part such as `2/5`.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    let read = || {
        let (number, count) = text.split_once('/')?;
        let (number, count) = (number.parse().ok()?, count.parse().ok()?);
        (1 <= number && number <= count && count <= 1000).then_some(Shard { number, count })
    };
    read().ok_or_else(|| "not a part such as 2/5, from 1/N to N/N".to_owned())
}

/// Reads the name of a Dynamo namespace: part of subjects of NATS, so without spaces and wildcards.
pub fn subject(text: &str) -> Result<String, String> {
    let bad = |letter: char| letter.is_whitespace() || letter.is_control() || "*>".contains(letter);
    if text.is_empty() || text.contains(bad) {
        return Err("not a Dynamo namespace: spaces, `*` and `>` are not allowed".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads the name of a file to write.
pub(super) fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("cannot write to standard output; give a file name".to_owned()),
        name => Ok(name.into()),
    }
}

/// Reads a whole number from 0 on.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}

/// Reads a span of time such as `30s` or `10m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| format!("`{text}` is not a duration such as 30s, 10m or 1h"))?;
    Duration::try_from(span)
        .ok()
        .filter(|span| !span.is_zero())
        .ok_or_else(|| "must be longer than 0s".to_owned())
}

/// Reads a position in a recording: after its beginning (`30s`) or before its end (`-3m`).
pub fn offset(text: &str) -> Result<Offset, String> {
    match text.strip_prefix('-') {
        Some(rest) => duration(rest).map(Offset::BeforeEnd),
        None => duration(text).map(Offset::FromStart),
    }
}

/// Slowest and fastest speed of a replay, as factors of real time.
pub const SPEEDS: (f64, f64) = (0.125, 1024.0);

pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    let (slowest, fastest) = SPEEDS;
    if (slowest..=fastest).contains(&speed) {
        Ok(speed)
    } else {
        Err(format!("must be between {slowest} and {fastest}"))
    }
}

pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let full = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.to_owned(),
    };
    full.parse().map_err(|_| format!("`{text}` is not an address such as 127.0.0.1:9478 or :9478"))
}

/// Most columns and rows of a drawing.
const LARGEST: (u16, u16) = (400, 200);

pub(super) fn size(text: &str) -> Result<(u16, u16), String> {
    let wanted = || format!("`{text}` is not a size such as 120x36");
    let (columns, rows) = text.split_once('x').ok_or_else(wanted)?;
    let size: (u16, u16) =
        (columns.parse().map_err(|_| wanted())?, rows.parse().map_err(|_| wanted())?);
    let fits = (1..=LARGEST.0).contains(&size.0) && (1..=LARGEST.1).contains(&size.1);
    let most = || format!("must be between 1x1 and {}x{}", LARGEST.0, LARGEST.1);
    fits.then_some(size).ok_or_else(most)
}

/// The smallest memory limit of the index copy.
const MIN_MEMORY: usize = 1 << 20;

/// Reads an amount of memory such as `512MiB`, in bytes.
pub fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        other => return Err(format!("`{other}` is not a unit of memory; use MiB or GiB")),
    };
    let count: usize =
        digits.parse().map_err(|_| format!("`{text}` is not a size such as 512MiB"))?;
    let size = count.checked_mul(unit).ok_or_else(|| format!("`{text}` is too large"))?;
    if size >= MIN_MEMORY { Ok(size) } else { Err("must be at least 1MiB".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_or_explained() {
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!(bytes("2g"), Ok(2 << 30));
        assert_eq!(bytes("12"), Err("must be at least 1MiB".to_owned()));
        assert_eq!(bytes("5 stones").map_err(|error| error.contains("unit")), Err(true));
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(offset("-3m"), Ok(Offset::BeforeEnd(Duration::from_secs(180))));
        assert!(duration("soon").is_err());
        assert_eq!(address(":9478"), Ok(SocketAddr::from(([0, 0, 0, 0], 9478))));
        assert!(address("localhost").is_err());
        assert_eq!(size("80x24"), Ok((80, 24)));
        let at = |host: &str, port, path: &str| {
            Ok(Endpoint { host: host.to_owned(), port, path: path.to_owned() })
        };
        assert_eq!(endpoint("http://localhost:8000"), at("localhost", 8000, "/metrics"));
        assert_eq!(endpoint("http://[::1]:9090/m"), at("::1", 9090, "/m"));
        assert_eq!(endpoint("http://frontend/"), at("frontend", 80, "/metrics"));
        for wrong in ["https://a", "http://u:pw@a", "a:8000", "http://", "http://a:x", "http://a b"]
        {
            assert!(endpoint(wrong).is_err(), "{wrong}");
        }
        assert!(size("80").is_err() && size("0x9").is_err() && size("9999x9").is_err());
    }
}
