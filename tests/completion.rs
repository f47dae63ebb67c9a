//! Completion while a command is typed: the shell asks kvtop, which asks the cluster.

use std::process::Command;

use crate::support::kube_api::FakeKube;
use crate::support::scratch;

/// Returns the words that fish is offered behind `typed`, whose last word is being typed.
fn offered(typed: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["--", "kvtop"])
        .args(typed)
        .env("COMPLETE", "fish")
        .env("HOME", scratch())
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn words_of_kvtop_are_completed() {
    assert!(offered(&["demo", "mis"]).contains(&"mismatch".to_owned()));
    assert!(offered(&["explain", "KVT00"]).contains(&"KVT001".to_owned()));
    assert!(offered(&["snapshot", "--view", "find"]).contains(&"findings".to_owned()));
    assert!(offered(&["--theme", "nor"]).contains(&"nord".to_owned()));
    assert!(offered(&["themes", "show", "nor"]).contains(&"nord".to_owned()));
    assert!(offered(&["che"]).contains(&"check".to_owned()));
}

#[test]
fn words_of_the_cluster_are_completed_and_none_without_one() {
    let kube = FakeKube::demo();
    let file = kube.kubeconfig();
    let kubeconfig = file.to_str().unwrap();
    let behind =
        |words: &[&str]| offered(&[&["check", "--kubeconfig", kubeconfig], words].concat());
    assert_eq!(behind(&["--context", "f"]), ["fake"]);
    assert!(behind(&["-n", "gtc"]).contains(&"gtc-demo".to_owned()));
    assert_eq!(behind(&["-n", "gtc-demo", "--dgd", ""]), ["gtc-demo"]);
    assert!(behind(&["-n", "other", "--dgd", ""]).is_empty());
    kube.stop();
    assert!(behind(&["-n", "gtc"]).is_empty());
}

#[test]
fn a_script_for_each_shell_asks_kvtop() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
        let output = command.env("COMPLETE", shell).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("COMPLETE"), "{shell}: {text}");
    }
}
