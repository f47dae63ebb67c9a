//! The live screen over a real server, in a pseudo-terminal.

mod vllm;

use crate::nats::{Publisher, recording};
use crate::support::nats_server::NatsServer;
use crate::support::pty::Pty;

const SIZE: (u16, u16) = (140, 36);

fn live(server: &NatsServer) -> Pty {
    let url = server.url();
    Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["--nats-url", &url], &[("NATS_URL", "")], SIZE)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_live_screen_shows_workers_a_lost_server_and_its_return() {
    let messages = recording("0.9.0-healthy");
    let (early, late) = messages.split_at(messages.len() / 2);
    let mut server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(early).await;

    let mut pty = live(&server);
    pty.wait_for("two workers", |screen| screen.contains("Workers 2"));
    pty.wait_for("a live source", |screen| screen.contains("nats ✓"));

    server.stop();
    pty.wait_for("the loss, and why", |screen| {
        screen.contains("nats ✗") && screen.contains("retry")
    });

    server.restart();
    pty.wait_for("the return", |screen| !screen.contains("nats ✗"));
    Publisher::to(&server.url()).await.publish(late).await;
    // 127 and 111 blocks, as the reference counted them.
    pty.wait_for("every block", |screen| screen.contains("127") && screen.contains("111"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn without_a_server_the_screen_says_what_to_do() {
    let mut pty =
        Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["--nats-url", "nats://127.0.0.1:1"], &[], SIZE);

    pty.wait_for("a reason", |screen| screen.contains("nothing listens at 127.0.0.1:1"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_recording_is_replayed_paused_stepped_and_sought() {
    let file = crate::support::fixture("captures/0.9.0-evict.frames.gz");
    let mut pty = Pty::spawn(
        env!("CARGO_BIN_EXE_kvtop"),
        &["replay", file.to_str().unwrap(), "--paused"],
        &[],
        SIZE,
    );
    pty.wait_for("the recording", |screen| screen.contains("0.9.0-evict"));
    // Paused at its beginning there are no workers' events yet; the end has 95 blocks each.
    assert!(!pty.screen(|screen| screen.contents().contains("≥95 ")));
    pty.send("$");
    pty.wait_for("the end", |screen| screen.matches("≥95 ").count() >= 2);
    pty.send("0");
    pty.wait_for("the beginning again", |screen| !screen.contains("≥95 "));
    pty.send("p");
    pty.wait_for("time that passes", |screen| screen.contains("Workers 2"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
