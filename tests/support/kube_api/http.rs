//! As much of HTTP/1.1 as a Kubernetes client speaks.

use std::collections::BTreeMap;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A connection, with or without TLS.
pub(super) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

pub(super) type Socket = Box<dyn Io>;

/// The head of a request; bodies are read and dropped.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
}

impl Head {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the decoded value of a query parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then(|| decode(value))
        })
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.parameter(name).is_some_and(|value| value == "true" || value == "1")
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                let hex = String::from_utf8(hex).unwrap();
                bytes.push(u8::from_str_radix(&hex, 16).unwrap_or(b'?'));
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a request, none when the client has closed.
pub(super) async fn read(socket: &mut Socket) -> io::Result<Option<Head>> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if socket.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        bytes.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let method = first.next().unwrap_or_default().to_owned();
    let target = first.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let head = Head { method, path: path.to_owned(), query: query.to_owned(), headers };
    let mut body = vec![0; head.header("content-length").parse().unwrap_or(0)];
    socket.read_exact(&mut body).await?;
    Ok(Some(head))
}

/// A response that is written at once.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: String,
    pub(super) body: String,
}

impl Response {
    pub(super) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            status,
            content_type: "application/json",
            headers: String::new(),
            body: format!("{body}\n"),
        }
    }

    pub(super) fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            headers: String::new(),
            body: body.to_owned(),
        }
    }

    pub(super) async fn write(&self, socket: &mut Socket) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 {} {}\r\nCache-Control: no-cache, private\r\nContent-Type: {}\r\n{}\
             Content-Length: {}\r\n\r\n",
            self.status,
            reason(self.status),
            self.content_type,
            self.headers,
            self.body.len()
        );
        socket.write_all(head.as_bytes()).await?;
        socket.write_all(self.body.as_bytes()).await?;
        socket.flush().await
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}

/// Begins a response of unknown length.
pub(super) async fn begin_chunks(socket: &mut Socket, content_type: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nCache-Control: no-cache, private\r\nContent-Type: {content_type}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await?;
    socket.flush().await
}

pub(super) async fn chunk(socket: &mut Socket, text: &str) -> io::Result<()> {
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    socket.write_all(chunk.as_bytes()).await?;
    socket.flush().await
}

pub(super) async fn end_chunks(socket: &mut Socket) -> io::Result<()> {
    socket.write_all(b"0\r\n\r\n").await?;
    socket.flush().await
}
