//! A real `etcd` for tests: on ports of the kernel's choice, gone when dropped.
#![expect(clippy::expect_used, clippy::panic, reason = "without a server there is no test")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::nats_server::Folder;

/// A running etcd.
pub(crate) struct Etcd {
    child: Option<Child>,
    folder: Folder,
    port: u16,
    peer: u16,
    token: Option<String>,
}

fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("ETCD_BIN") {
        return named.into();
    }
    let on_path = std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("etcd"))
        .find(|file| file.is_file());
    let local = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/etcd");
    on_path.or_else(|| Some(local).filter(|file| file.is_file())).expect(
        "these tests need etcd 3.4 or later: run tests/run, which gets it into target/tools, or set \
         ETCD_BIN",
    )
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Etcd {
    pub(crate) fn start() -> Self {
        let folder = Folder::new();
        let (port, peer) = (free_port(), free_port());
        let mut etcd = Self { child: None, folder, port, peer, token: None };
        etcd.launch();
        etcd
    }

    fn launch(&mut self) {
        let client = self.url();
        let peer = format!("http://127.0.0.1:{}", self.peer);
        let child = Command::new(binary())
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}"), "--log-level", "error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("etcd should start"));
        for _ in 0..500 {
            if self.try_ask("/v3/kv/range", &json!({ "key": STANDARD.encode("x") })).is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("etcd did not start");
    }

    /// Ends it; its data stays.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Starts it again, on the same port and data.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.launch();
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Asks its gateway.
    pub(crate) fn ask(&self, path: &str, question: &Value) -> Value {
        let answer = self.try_ask(path, question);
        answer.unwrap_or_else(|| panic!("etcd refuses {path} {question}"))
    }

    fn try_ask(&self, path: &str, question: &Value) -> Option<Value> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let body = question.to_string();
        let login = self.token.as_ref().map(|token| format!("Authorization: {token}\r\n"));
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n",
            login.unwrap_or_default(),
            body.len()
        );
        socket.write_all(head.as_bytes()).ok()?;
        socket.write_all(body.as_bytes()).ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        // Long answers come in pieces, which these questions do not have.
        head.starts_with("HTTP/1.1 200").then(|| serde_json::from_str(body).ok())?
    }

    pub(crate) fn put(&self, key: &str, value: &str) {
        let (key, value) = (STANDARD.encode(key), STANDARD.encode(value));
        self.ask("/v3/kv/put", &json!({ "key": key, "value": value }));
    }

    /// Writes keys that live as long as a lease; returns the lease.
    pub(crate) fn put_leased(&self, pairs: &[(String, String)]) -> String {
        let lease = self.ask("/v3/lease/grant", &json!({ "TTL": "600" }))["ID"].clone();
        for (key, value) in pairs {
            let (key, value) = (STANDARD.encode(key), STANDARD.encode(value));
            self.ask("/v3/kv/put", &json!({ "key": key, "value": value, "lease": lease }));
        }
        lease.as_str().unwrap().to_owned()
    }

    pub(crate) fn revoke(&self, lease: &str) {
        self.ask("/v3/lease/revoke", &json!({ "ID": lease }));
    }

    pub(crate) fn delete(&self, key: &str) {
        self.ask("/v3/kv/deleterange", &json!({ "key": STANDARD.encode(key) }));
    }

    /// Forgets every revision but the last.
    pub(crate) fn compact(&self) {
        let now = self.ask("/v3/kv/range", &json!({ "key": STANDARD.encode("x") }));
        let revision = now["header"]["revision"].clone();
        self.ask("/v3/kv/compaction", &json!({ "revision": revision, "physical": true }));
    }

    /// Wants logins from now on. `reader` with password `secret` may read `v1/`.
    pub(crate) fn enable_logins(&mut self) {
        self.ask("/v3/auth/role/add", &json!({ "name": "read" }));
        let right = json!({
            "permType": "READ",
            "key": STANDARD.encode("v1/"),
            "range_end": STANDARD.encode("v10"),
        });
        self.ask("/v3/auth/role/grant", &json!({ "name": "read", "perm": right }));
        for (name, password, role) in [("root", "root", "root"), ("reader", "secret", "read")] {
            self.ask("/v3/auth/user/add", &json!({ "name": name, "password": password }));
            self.ask("/v3/auth/user/grant", &json!({ "user": name, "role": role }));
        }
        self.ask("/v3/auth/enable", &json!({}));
        let login = json!({ "name": "root", "password": "root" });
        let token = self.ask("/v3/auth/authenticate", &login)["token"].clone();
        self.token = token.as_str().map(str::to_owned);
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.stop();
    }
}
