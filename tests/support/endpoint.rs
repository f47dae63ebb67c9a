//! A metrics endpoint for tests, of any manners.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How an endpoint answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manners {
    /// With this text; the connection stays.
    Text(&'static str),
    /// With this text; the connection closes.
    Closing(&'static str),
    /// With this status.
    Status(&'static str),
    /// Not at all.
    Silent,
    /// With so many bytes, by length.
    Huge(usize),
    /// With a body that never ends, as fast as it is taken.
    Endless,
    /// With a byte from time to time, and no end.
    Dripping,
    /// With half of a body, and then the connection's end.
    Cut,
}

/// A running endpoint. Its threads end with the test's process.
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    manners: Arc<Mutex<Manners>>,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Endpoint {
    pub(crate) fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Self {
            address: listener.local_addr().unwrap(),
            manners: Arc::new(Mutex::new(manners)),
            requests: Arc::default(),
            connections: Arc::default(),
        };
        let (manners, requests) = (Arc::clone(&endpoint.manners), Arc::clone(&endpoint.requests));
        let connections = Arc::clone(&endpoint.connections);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                *connections.lock().unwrap() += 1;
                let (manners, requests) = (Arc::clone(&manners), Arc::clone(&requests));
                let client = client.unwrap();
                // A client that goes away ends its thread.
                std::thread::spawn(move || drop(serve(client, &manners, &requests)));
            }
        });
        endpoint
    }

    pub(crate) fn behave(&self, manners: Manners) {
        *self.manners.lock().unwrap() = manners;
    }

    /// Returns the first lines and headers of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

fn serve(
    mut client: TcpStream,
    manners: &Mutex<Manners>,
    requests: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(client.try_clone()?).lines();
    loop {
        let mut head = String::new();
        loop {
            let Some(line) = lines.next() else { return Ok(()) };
            let line = line?;
            if line.is_empty() {
                break;
            }
            head.push_str(&line);
            head.push('\n');
        }
        requests.lock().unwrap().push(head);
        let manners = *manners.lock().unwrap();
        match manners {
            Manners::Text(text) => {
                write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len())?;
            }
            Manners::Closing(text) => {
                return write!(client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{text}");
            }
            Manners::Status(status) => {
                write!(client, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")?;
            }
            Manners::Silent => std::thread::sleep(Duration::from_secs(60)),
            Manners::Huge(length) => {
                write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")?;
                client.write_all(&vec![b'x'; length])?;
            }
            Manners::Endless => {
                write!(client, "HTTP/1.1 200 OK\r\n\r\n")?;
                loop {
                    client.write_all(&[b'x'; 8_192])?;
                }
            }
            Manners::Dripping => {
                write!(client, "HTTP/1.1 200 OK\r\n\r\n")?;
                loop {
                    client.write_all(b"x")?;
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            Manners::Cut => {
                return write!(client, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            }
        }
    }
}
