//! What is looked at is picked on the screen.

use serde_json::Value;

use crate::attach::screen;
use crate::support::deployment::{Deployment, WORKERS, messages};
use crate::support::kube_api::recorded_objects;

/// Puts the second worker into another graph deployment of the same namespace.
fn two_graphs(it: &Deployment) {
    let mut second = recorded_objects("dgd/list").remove(0);
    second["metadata"]["name"] = "another".into();
    second["metadata"]["uid"] = "another-uid".into();
    it.kube.object(second);
    it.kube.edit("Pod", WORKERS[1].0, |pod: &mut Value| {
        let labels = pod["metadata"]["labels"].as_object_mut().unwrap();
        labels["nvidia.com/dynamo-graph-deployment-name"] = "another".into();
    });
}

/// Returns true when the worker table has the row of each of these pods, and no other.
fn rows(screen: &str, pods: [bool; 2]) -> bool {
    let has = |pod: &str, held: &str| {
        screen.lines().any(|line| line.contains(pod) && line.contains(held))
    };
    [("fhhcl", "127"), ("mj7km", "111")].map(|(pod, held)| has(pod, held)) == pods
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_deployment_is_picked_of_several_and_the_choice_widened_again() {
    let it = Deployment::start();
    two_graphs(&it);
    it.publish(&messages()).await;

    let mut pty = screen(&it);
    pty.wait_for("the list", |screen| {
        screen.contains("Graph deployments") && screen.contains("another")
    });
    // The list has `all`, `another`, `gtc-demo`.
    pty.send("jj\r");
    pty.wait_for("one worker", |screen| rows(screen, [true, false]));
    pty.wait_for("its name", |screen| screen.contains("gtc-demo/gtc-demo"));

    // The other one was not listened to, so that it takes new sources, which read its history.
    pty.send(":dgd another\r");
    pty.wait_for("the other worker", |screen| rows(screen, [false, true]));
    pty.wait_for("what is looked at", |screen| screen.contains("gtc-demo/another"));

    pty.send(":dgd all\r");
    pty.wait_for("both workers", |screen| rows(screen, [true, true]));

    pty.send(":dgd third\r");
    pty.wait_for("what there is", |screen| {
        screen.contains("no graph deployment `third`; there are another, gtc-demo")
    });
    pty.send("D");
    pty.wait_for("the list again", |screen| screen.contains("Enter picks"));
    pty.send("\u{1b}");
    pty.wait_for("no list", |screen| !screen.contains("Enter picks") && rows(screen, [true, true]));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    assert!(it.kube.requests().iter().all(|request| request.method == "GET"));
}
