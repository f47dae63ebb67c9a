//! A TCP connection that can be cut: a forwarder between kvtop and a server.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A forwarder. Its threads end with the test's process.
pub(crate) struct WireCut {
    address: SocketAddr,
    open: Arc<AtomicBool>,
    /// Connections that were let through.
    pub(crate) connections: Arc<AtomicU64>,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

impl WireCut {
    /// Forwards to `target`, such as `127.0.0.1:4222`.
    pub(crate) fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let cut = Self {
            address: listener.local_addr().unwrap(),
            open: Arc::new(AtomicBool::new(true)),
            connections: Arc::default(),
            sockets: Arc::default(),
        };
        let (open, sockets) = (Arc::clone(&cut.open), Arc::clone(&cut.sockets));
        let (target, connections) = (target.to_owned(), Arc::clone(&cut.connections));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&target) else { continue };
                connections.fetch_add(1, Ordering::SeqCst);
                let mut known = sockets.lock().unwrap();
                known.push(client.try_clone().unwrap());
                known.push(server.try_clone().unwrap());
                drop(known);
                let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass(client, server));
                std::thread::spawn(move || pass(down, up));
            }
        });
        cut
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Ends every connection, and takes none until [`Self::mend`].
    pub(crate) fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        self.drop_connections();
    }

    /// Ends every connection; new ones are taken.
    pub(crate) fn drop_connections(&self) {
        for socket in self.sockets.lock().unwrap().drain(..) {
            // One that has ended already cannot be ended.
            drop(socket.shutdown(Shutdown::Both));
        }
    }

    pub(crate) fn mend(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Both));
    drop(from.shutdown(Shutdown::Both));
}
