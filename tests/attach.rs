//! `kvtop -n NAMESPACE`: the real binary over a fake Kubernetes API and a real NATS server.

mod heals;
mod names;
mod picks;
mod rights;
mod secrets;
mod shown;
mod variables;

use std::process::{Command, Output, Stdio};

use crate::support::deployment::Deployment;
use crate::support::pty::Pty;

const SIZE: (u16, u16) = (200, 50);

/// Variables that would name other servers.
const NAMES: [&str; 4] = ["NATS_URL", "NATS_SERVER", "KVTOP_NATS_URL", "KUBECONFIG"];

/// Starts the live screen.
fn screen(it: &Deployment) -> Pty {
    screen_with(&it.arguments())
}

/// Starts the live screen with these arguments.
fn screen_with(arguments: &[String]) -> Pty {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &NAMES.map(|name| (name, "")), SIZE)
}

/// Runs a command to its end.
async fn run(it: &Deployment, arguments: &[&str]) -> Output {
    run_with(it, arguments, &[]).await
}

/// Runs a command to its end, with these variables.
async fn run_with(it: &Deployment, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).args(it.arguments()).stdin(Stdio::null());
    for name in NAMES {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}
