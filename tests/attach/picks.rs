//! What is looked at is picked on the screen.

use std::time::Duration;

use serde_json::{Value, json};

use crate::attach::shown::{namespaces_asked, only_known};
use crate::attach::{screen, screen_with};
use crate::support::deployment::{Deployment, WORKERS, messages};
use crate::support::kube_api::{FakeKube, TOKEN, recorded_objects};

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

fn namespace(kube: &FakeKube, name: &str) {
    kube.object(json!({ "kind": "Namespace", "apiVersion": "v1", "metadata": { "name": name } }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_namespace_is_picked_and_the_first_one_typed() {
    let it = Deployment::start();
    it.publish(&messages()).await;
    for name in ["gtc-demo", "other-team"] {
        namespace(&it.kube, name);
    }

    let mut pty = screen(&it);
    pty.wait_for("both workers", |screen| rows(screen, [true, true]));
    assert_eq!(namespaces_asked(&it.kube), 0);
    pty.send("n");
    pty.wait_for("the list", |screen| {
        screen.contains("Namespaces") && screen.contains("other-team")
    });
    pty.send("j\r");
    pty.wait_for("the other namespace", |screen| {
        screen.contains("kvtop │ other-team") && rows(screen, [false, false])
    });
    pty.wait_for("where there is a deployment, and a header that is not well", |screen| {
        screen.contains("no Dynamo deployment in namespace other-team; there is one in gtc-demo")
            && screen.contains("kubernetes ▲ limited")
    });
    let asks_there = |path: &str| path.contains("/namespaces/other-team/");
    assert!(it.kube.requests().iter().any(|request| asks_there(&request.path)));

    pty.send(":ns other-team\r");
    pty.wait_for("where it is already", |screen| {
        screen.contains("already in namespace `other-team`")
    });
    pty.send(":ns ../secrets\r");
    pty.wait_for("what a name is", |screen| screen.contains("cannot be a namespace"));

    // With the Dynamo namespace that was named for it: every block is there again, counted once.
    pty.send(":ns gtc-demo\r");
    pty.wait_for("both workers again", |screen| rows(screen, [true, true]));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    assert_eq!(namespaces_asked(&it.kube), 1);
    only_known(&it);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_to_list_namespaces_a_name_is_typed() {
    let it = Deployment::start();
    it.kube.deny("list", "namespaces");
    namespace(&it.kube, "other-team");

    let mut pty = screen(&it);
    pty.wait_for("the deployment", |screen| screen.contains("kvtop │ gtc-demo"));
    pty.send("n");
    pty.wait_for("the reason", |screen| {
        screen.contains(":ns ")
            && screen.contains("no permission to list namespaces; type the name")
    });
    pty.send("other-team\r");
    pty.wait_for("the other namespace", |screen| screen.contains("kvtop │ other-team"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_context_of_the_kubeconfig_is_picked() {
    let it = Deployment::start();
    it.publish(&messages()).await;
    let west = FakeKube::start();
    let context = |name: &str, namespace: &str| {
        format!(
            "- name: {name}\n  context: {{ cluster: {name}, user: me, namespace: {namespace} }}\n"
        )
    };
    let cluster =
        |name: &str, url: &str| format!("- name: {name}\n  cluster: {{ server: \"{url}\" }}\n");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: east\nclusters:\n{}{}contexts:\n{}{}users:\n\
         - name: me\n  user: {{ token: {TOKEN} }}\n",
        cluster("east", &it.kube.url()),
        cluster("west", &west.url()),
        context("east", "gtc-demo"),
        context("west", "staging"),
    );
    let file = it.kube.folder().write("two-contexts", &text).display().to_string();
    let arguments = ["--kubeconfig", &file, "--dynamo-namespace", "dynamo"].map(str::to_owned);

    let mut pty = screen_with(&arguments);
    pty.wait_for("both workers", |screen| rows(screen, [true, true]));
    pty.send("x");
    pty.wait_for("the list", |screen| screen.contains("cluster west, namespace staging"));
    assert!(west.requests().is_empty());
    pty.send("j\r");
    pty.wait_for("the other cluster", |screen| {
        screen.contains("kvtop │ staging") && rows(screen, [false, false])
    });
    assert!(west.requests().iter().all(|request| request.method == "GET"));
    // The sources of the first one have ended: no watch, log or port-forward of theirs is open.
    let mut left = usize::MAX;
    for _ in 0..500 {
        left = it.kube.open_streams();
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(left, 0);
    pty.send(":ctx north\r");
    pty.wait_for("what there is", |screen| {
        screen.contains("no context `north`: use one of east, west")
    });
    pty.send(":ctx east\r");
    pty.wait_for("both workers again", |screen| rows(screen, [true, true]));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    only_known(&it);
}

#[test]
fn without_kubernetes_one_sentence_says_why_not() {
    let arguments = ["--nats-url", "nats://127.0.0.1:1"].map(str::to_owned);
    let mut pty = screen_with(&arguments);
    pty.wait_for("the screen", |screen| screen.contains("nothing listens at 127.0.0.1:1"));
    for key in ["n", "x"] {
        pty.send(key);
        pty.wait_for("why not", |screen| screen.contains("not available without Kubernetes"));
        pty.send("\u{1b}");
        pty.wait_for("no message", |screen| !screen.contains("not available without"));
    }
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
