//! A running `kvtop export`.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::scratch;

pub(crate) struct Exporter {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Exporter {
    /// Starts it for the NATS server at `url`.
    pub(crate) fn of(url: &str) -> Self {
        Self::with(url, &[])
    }

    /// Starts it with more arguments.
    pub(crate) fn with(url: &str, arguments: &[&str]) -> Self {
        Self::at("127.0.0.1:0", url, arguments)
    }

    /// Starts it at an address.
    pub(crate) fn at(listen: &str, url: &str, arguments: &[&str]) -> Self {
        Self::started(listen, &[&["--nats-url", url], arguments].concat())
    }

    /// Starts it with these arguments alone.
    pub(crate) fn started(listen: &str, arguments: &[&str]) -> Self {
        Self::of_program(env!("CARGO_BIN_EXE_kvtop"), listen, arguments)
    }

    /// Starts that of another build.
    pub(crate) fn of_program(program: &str, listen: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(["export", "--listen", listen])
            .args(arguments)
            .env("HOME", scratch())
            .env_remove("XDG_CONFIG_HOME")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut line).unwrap();
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        let address = line.split("://").nth(1).unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    pub(crate) fn ask(&self, request: &str) -> String {
        asked(self.connect(), request, "")
    }
}

/// Sends a request with more lines of its head, and returns the answer.
pub(crate) fn asked(stream: impl Read + Write, request: &str, head: &str) -> String {
    String::from_utf8(bytes_asked(stream, request, head)).unwrap()
}

/// Sends a request with more lines of its head, and returns the answer, which need not be text.
pub(crate) fn bytes_asked(mut stream: impl Read + Write, request: &str, head: &str) -> Vec<u8> {
    // A peer that refuses may close before it has read everything; its answer shows that.
    drop(write!(stream, "{request} HTTP/1.1\r\nHost: test\r\n{head}\r\n"));
    let mut answer = Vec::new();
    // TLS peers may leave without a word.
    drop(stream.read_to_end(&mut answer));
    answer
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
