//! A kvtop that was stopped costs a publisher nothing for long.

use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};

use crate::support::libzmq::LibzmqPublisher;

#[test]
fn a_publisher_gives_up_a_kvtop_that_was_stopped() {
    let mut publisher = LibzmqPublisher::start();
    let mut kvtop = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["stat", "--zmq", &publisher.endpoint()])
        .env_remove("NATS_URL")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    publisher.wait_for("subscribed kv-events");
    let pid = i32::try_from(kvtop.id()).ok().and_then(Pid::from_raw).unwrap();
    // Long enough for its first heartbeat, which says how long it may be silent.
    std::thread::sleep(std::time::Duration::from_millis(500));

    kill_process(pid, Signal::STOP).unwrap();
    publisher.wait_for("disconnected");

    kill_process(pid, Signal::CONT).unwrap();
    publisher.wait_for("subscribed kv-events");
    drop(kvtop.kill());
    drop(kvtop.wait());
}
