//! What goes away and comes back heals on the screen.

use crate::attach::screen;
use crate::support::deployment::{Deployment, NATS_POD, WORKERS, messages};
use crate::support::pty::Pty;

/// Blocks of the two workers once every event has been read, as the reference counted them.
const ALL: [&str; 2] = ["127", "111"];

fn shows_all(screen: &str) -> bool {
    ALL.iter().all(|count| screen.contains(count)) && screen.contains("nats ✓")
}

/// Returns a deployment with half of the events published, its screen when it shows them, and the
/// other half.
async fn half() -> (Deployment, Pty, Vec<crate::nats::Published>) {
    let it = Deployment::start();
    let messages = messages();
    let (early, late) = messages.split_at(messages.len() / 2);
    it.publish(early).await;
    let pty = screen(&it);
    pty.wait_for("two workers in their pods, and events", |screen| {
        screen.contains("Workers 2") && screen.contains("nats ✓") && screen.contains("kubernetes ✓")
    });
    (it, pty, late.to_vec())
}

fn quit(mut pty: Pty) {
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_that_go_and_come_leave_and_enter_the_screen() {
    let (it, pty, _) = half().await;
    let worker = crate::support::kube_api::recorded_objects("pods/list_gtc-demo")
        .into_iter()
        .find(|pod| pod["metadata"]["name"] == WORKERS[0].0)
        .unwrap();

    it.kube.delete("DynamoWorkerMetadata", WORKERS[0].0).delete("Pod", WORKERS[0].0);
    pty.wait_for("one worker less", |screen| {
        screen.contains("∅ w0") && screen.contains("2 of 2 logs")
    });

    it.kube.object(worker);
    pty.wait_for("it is back", |screen| screen.matches("3 of 3 logs").count() > 1);
    quit(pty);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_api_server_is_said_and_heals() {
    let (it, pty, late) = half().await;

    it.kube.stop();
    pty.wait_for("the loss", |screen| screen.contains("kubernetes ✗"));
    it.kube.forget_history().start_again();

    // The forward went with the server, so events come again only through a new one.
    pty.wait_for("both are back", |screen| {
        screen.contains("kubernetes ✓") && screen.contains("nats ✓")
    });
    it.publish(&late).await;
    pty.wait_for("every block", shows_all);
    quit(pty);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_nats_heals_whether_it_ended_properly_or_was_killed() {
    for killed in [false, true] {
        let (mut it, pty, late) = half().await;

        if killed {
            it.server.crash();
        } else {
            it.server.stop();
        }
        // The history comes over the same connection.
        pty.wait_for("the loss", |screen| {
            screen.contains("nats ✗") && screen.contains("jetstream ✗")
        });
        it.server.restart();

        it.publish(&late).await;
        pty.wait_for("every block", shows_all);
        quit(pty);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forward_that_is_cut_is_opened_again() {
    let (it, pty, late) = half().await;
    let opened = |kube: &crate::support::kube_api::FakeKube| {
        let path = format!("/pods/{NATS_POD}/portforward");
        kube.requests().iter().filter(|request| request.path.ends_with(&path)).count()
    };
    let before = opened(&it.kube);
    assert!(before > 0);

    it.kube.cut_forwards();

    it.publish(&late).await;
    pty.wait_for("every block", shows_all);
    assert!(opened(&it.kube) > before, "through a new one");
    quit(pty);
}
