//! A tiny HTTP proxy: it takes CONNECT and nothing else.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A running proxy. Its threads end with the test's process.
pub(crate) struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&proxy.asked);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, asked) = (client.unwrap(), Arc::clone(&asked));
                // A client that goes away ends its thread.
                std::thread::spawn(move || drop(serve(client, &asked)));
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns where clients asked to be connected to.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(client: TcpStream, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(client.try_clone()?);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let mut line = String::new();
    while lines.read_line(&mut line)? > 2 {
        line.clear();
    }
    let target = first.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let mut client = client;
    let Some(target) = target else {
        return client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n");
    };
    asked.lock().unwrap().push(target.to_owned());
    let server = TcpStream::connect(target)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut up, mut down) = (server.try_clone()?, client.try_clone()?);
    // What the client sends after its request goes through the reader, which may hold some of it.
    std::thread::spawn(move || {
        drop(std::io::copy(&mut lines, &mut up));
        drop(up.shutdown(std::net::Shutdown::Write));
    });
    let mut server = server;
    std::io::copy(&mut server, &mut down)?;
    down.shutdown(std::net::Shutdown::Write)
}
