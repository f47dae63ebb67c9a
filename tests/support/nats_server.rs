//! A real `nats-server` for tests: on a port of the kernel's choice, gone when dropped.
#![expect(clippy::expect_used, clippy::panic, reason = "without a server there is no test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A folder that is removed with everything in it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kvtop-test-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A running server.
pub(crate) struct NatsServer {
    child: Option<Child>,
    folder: Folder,
    arguments: Vec<String>,
    port: u16,
}

fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("NATS_SERVER_BIN") {
        return named.into();
    }
    let on_path = std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("nats-server"))
        .find(|file| file.is_file());
    let local = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/nats-server");
    on_path.or_else(|| Some(local).filter(|file| file.is_file())).expect(
        "these tests need nats-server 2.10 or later: run tests/run, which gets it into \
         target/tools, or set NATS_SERVER_BIN",
    )
}

impl NatsServer {
    /// Starts a server with `JetStream` and no login.
    pub(crate) fn with_jetstream() -> Self {
        Self::start(&["-js"], "")
    }

    /// Starts a server with more `arguments`, and `config` when it is not empty.
    pub(crate) fn start(arguments: &[&str], config: &str) -> Self {
        let folder = Folder::new();
        let mut all: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        all.extend(["-sd".to_owned(), folder.path().join("store").display().to_string()]);
        if !config.is_empty() {
            all.extend([
                "-c".to_owned(),
                folder.write("server.conf", config).display().to_string(),
            ]);
        }
        let mut server = Self { child: None, folder, arguments: all, port: 0 };
        server.launch();
        server
    }

    fn launch(&mut self) {
        let ports = self.folder.path().join("ports");
        drop(fs::remove_dir_all(&ports));
        fs::create_dir_all(&ports).unwrap();
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let mut command = Command::new(binary());
        command.args(["-a", "127.0.0.1", "-p", &port, "--ports_file_dir"]).arg(&ports);
        command.arg("-l").arg(self.folder.path().join("log")).args(&self.arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(child.spawn().expect("nats-server should start"));
        for _ in 0..500 {
            if let Some(port) = port_in(&ports) {
                self.port = port;
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("nats-server did not start: {}", self.log());
    }

    /// Ends the server; its store stays.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // SIGTERM, so that it writes what it has.
            let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
            rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::TERM).unwrap();
            child.wait().unwrap();
        }
    }

    /// Ends the server without a chance to write or to say anything.
    pub(crate) fn crash(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts the server again, on the same port and store.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.launch();
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the folder of its store.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

fn port_in(folder: &Path) -> Option<u16> {
    let file = fs::read_dir(folder).ok()?.next()?.ok()?.path();
    let ports: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    let address = ports["nats"].as_array()?.iter().find_map(|it| it.as_str())?;
    address.rsplit(':').next()?.parse().ok()
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
