//! Commands without a screen: outputs, errors and exit codes of the real binary.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};

use crate::support::{fixture, scratch};

fn kvtop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).stdin(Stdio::null()).env("HOME", scratch());
    for name in ["NATS_URL", "NATS_SERVER", "KVTOP_NATS_URL", "XDG_CONFIG_HOME", "KUBECONFIG"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn capture(name: &str) -> String {
    fixture(&format!("captures/{name}.frames.gz")).to_str().unwrap().to_owned()
}

#[test]
fn snapshots_of_a_recording_come_in_every_format() {
    let file = capture("0.9.0-mm_pub32_eng16");
    for format in ["table", "csv", "md", "json"] {
        let output = kvtop(&["snapshot", "--replay", &file, "-o", format]);

        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        // How much room its tables take is the mirror's own affair.
        let text = stdout(&output);
        let stable = text.lines().filter(|line| !line.contains("memory_bytes"));
        let text = stable.collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(format!("snapshot_{format}"), text);
    }
}

#[test]
fn lines_of_a_recording_are_those_of_its_own_time() {
    let file = capture("0.9.0-evict");

    let output = kvtop(&["stat", "--replay", &file, "--interval", "5s"]);

    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!("stat", stdout(&output));
}

#[test]
fn errors_say_what_was_attempted_and_end_with_their_code() {
    let other = scratch().join("other.frames");
    std::fs::write(&other, "{\"kvtop_frames\":7}\n").unwrap();
    let other = other.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["snapshot", "--replay", "no-such-file"], 1, "could not open `no-such-file`"),
        (&["snapshot", "--replay", "Cargo.toml"], 1, "is not a kvtop recording"),
        (&["replay", other], 1, "a recording of format 7"),
        (&["demo", "sunny"], 2, "unknown scenario `sunny`; known scenarios: gtc-demo"),
        (&["snapshot"], 1, "no deployment given (no kubeconfig"),
        (&["snapshot", "-o", "papyrus"], 2, "invalid value 'papyrus'"),
        (&["stat", "--interval", "soon"], 2, "is not a duration such as 30s"),
        (&["snapshot", "--max-memory", "12"], 2, "at least 1MiB"),
    ];
    for (arguments, code, text) in cases {
        let output = kvtop(arguments);

        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(stderr(&output).contains(text), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let url = "nats://someone:topsecret@127.0.0.1:1";

    let output = kvtop(&["snapshot", "--for", "100ms", "--nats-url", url]);

    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output) + &stderr(&output);
    assert!(text.contains("nothing listens at 127.0.0.1:1"), "{text}");
    assert!(!text.contains("topsecret"), "{text}");
}

#[test]
fn bad_lines_and_a_torn_end_are_said_beside_the_result() {
    let path = scratch().join("hurt.frames");
    let log = r#"{"at":5,"from":{"log":{"pod":"frontend"}},"text":"hello"}"#;
    std::fs::write(&path, format!("{{\"kvtop_frames\":1}}\n{log}\noops\n{log}\n{{\"at\":"))
        .unwrap();

    let path = path.to_str().unwrap();
    let bundle = scratch().join("hurt.tar.zst");
    let bundle = bundle.to_str().unwrap();
    for args in [
        &["snapshot", "--replay", path][..],
        &["stat", "--replay", path],
        &["bundle", "--replay", path, "-o", bundle],
    ] {
        let output = kvtop(args);

        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("1 line of the recording could not be read"), "{args:?}");
        assert!(stderr(&output).contains("line 3"), "{}", stderr(&output));
        assert!(stderr(&output).contains("ends within a line"), "{}", stderr(&output));
    }
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["stat", "--replay", &capture("0.9.0-evict"), "--interval", "1ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());

    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn years_without_a_frame_are_not_printed_line_by_line() {
    let path = scratch().join("years.frames");
    let log = |at: u64| {
        format!("{{\"at\":{at},\"from\":{{\"log\":{{\"pod\":\"frontend\"}}}},\"text\":\"x\"}}\n")
    };
    let lines = log(5) + &log(1_780_000_000_000_000);
    std::fs::write(&path, format!("{{\"kvtop_frames\":1}}\n{lines}")).unwrap();

    let output = kvtop(&["stat", "--replay", path.to_str().unwrap(), "--interval", "1s"]);

    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).lines().count() <= 4, "{}", stdout(&output));
}

#[test]
fn no_second_has_two_lines_and_no_warning_is_counted_that_was_not_seen() {
    let file = capture("0.9.0-incident_load10");
    let lines = stdout(&kvtop(&["stat", "--replay", &file, "--interval", "1s"]));
    let times: Vec<&str> = lines.lines().skip(1).map(|line| &line[..8]).collect();
    assert!(times.len() > 3, "{lines}");
    assert!(times.windows(2).all(|pair| pair[0] != pair[1]), "{lines}");

    let json = stdout(&kvtop(&["snapshot", "--replay", &file, "-o", "json"]));
    let router = &serde_json::from_str::<serde_json::Value>(&json).unwrap()["router"];
    let count = |key: &str| router[key].as_u64().unwrap();
    let all = count("log_parent_warnings") + count("log_remove_warnings");
    let last = lines.lines().last().and_then(|line| line.split_whitespace().last()).unwrap();
    // The recording is shorter than a minute.
    assert_eq!(last.parse(), Ok(all), "{lines}");
}

#[test]
fn a_screen_is_refused_where_none_can_be_drawn() {
    let piped = kvtop(&["demo"]);

    assert_eq!(piped.status.code(), Some(1));
    assert_eq!(stdout(&piped), "");
    assert!(stderr(&piped).contains("a file or a pipe"), "{}", stderr(&piped));
    assert!(stderr(&piped).contains("kvtop snapshot"), "{}", stderr(&piped));
}

#[test]
fn a_recording_is_never_called_what_it_is_not() {
    let path = scratch().join("not-gzip.frames.gz");
    let output =
        kvtop(&["record", "-o", path.to_str().unwrap(), "--nats-url", "nats://127.0.0.1:1"]);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(".zst"), "{}", stderr(&output));
    assert!(!path.exists());
}

#[test]
fn a_command_says_what_it_waits_for() {
    let output = kvtop(&["check", "--nats-url", "nats://127.0.0.1:1", "--wait", "2s"]);

    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("retrying for up to 2 s"), "{}", stderr(&output));
}

#[test]
fn a_replay_takes_the_speeds_that_the_player_can_do() {
    let file = capture("0.9.0-evict");
    let output = kvtop(&["replay", &file, "--speed", "0.01"]);

    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("between 0.125 and 1024"), "{}", stderr(&output));
}

#[test]
fn each_claim_of_every_recorded_deployment_comes_with_its_source() {
    let folder = fixture("clusters");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = std::collections::BTreeSet::new();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();

        let output = kvtop(&["snapshot", "-o", "json", "--replay", file.to_str().unwrap()]);

        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let claims = report["claims"].as_array().unwrap();
        let sizes = claims.iter().filter(|claim| claim["what"] == "block_size");
        assert!(sizes.count() > 0, "{name}");
        for claim in claims {
            let told = |key: &str| claim[key].as_str().is_some_and(|text| !text.is_empty());
            assert!(told("source") && told("raw") && told("basis"), "{name}: {claim}");
        }
        seen.insert(name);
    }
    let shapes = [
        "agg-router-pods",
        "config-map",
        "gateway-plugin",
        "sglang-disagg",
        "sh-c",
        "standalone-router",
        "v1beta1",
        "vllm",
    ];
    assert!(shapes.iter().all(|shape| seen.contains(*shape)), "{seen:?}");
}

#[test]
fn help_is_a_command_as_well() {
    for (typed, flags) in
        [(&["help", "check"][..], &["check", "--help"][..]), (&["help"], &["--help"])]
    {
        let [typed, flags] = [typed, flags].map(|arguments| {
            let output =
                Command::new(env!("CARGO_BIN_EXE_kvtop")).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}");
            String::from_utf8(output.stdout).unwrap()
        });
        assert_eq!(typed, flags);
    }
}

#[test]
fn output_that_cannot_be_written_is_unknown_to_monitoring() {
    let file = capture("0.9.0-evict");
    let manifest = fixture("lint/trtllm-agg-router.yaml");
    for arguments in [&["lint", manifest.to_str().unwrap()][..], &["check", "--replay", &file]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
        command.args(arguments).stdin(Stdio::null()).env("HOME", scratch()).stdout(full);
        assert_eq!(command.output().unwrap().status.code(), Some(3), "{arguments:?}");
    }
}

#[test]
fn what_was_typed_does_not_steer_the_terminal() {
    let evil = "x\u{1b}[31m\u{7}\u{202e}y\nkvtop: z";
    for arguments in [
        &["explain", evil][..],
        &["snapshot", "--replay", evil],
        &["replay", evil],
        &["check", "--replay", evil],
        &["themes", "show", evil],
        &["themes", "check", evil],
        &["config", "check", "--config", evil],
        &["demo", evil],
        &["man", evil],
        &["rbac", "-n", evil],
        &[evil],
        &["snapshot", "--demo", evil],
    ] {
        let output = kvtop(arguments);
        let said = stdout(&output) + &stderr(&output);
        assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {said:?}");
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_mistake_is_refused_at_once_and_named() {
    let cases: &[(&[&str], &str)] = &[
        (&["stat", "--count", "0"], "0 is not in 1.."),
        (&["record", "-o", "-"], "cannot write to standard output"),
        (&["snapshot", "--view", "nosuch", "--demo", "healthy"], "unknown view `nosuch`"),
        (&["check", "--nats-url", "nats://127.0.0.1:1", "--nats-tls-ca", "nofile"], "`nofile`"),
        (&["check", "--etcd-url", "http://u:pw@127.0.0.1:2379"], "--etcd-password-file"),
        (&["check", "--zmq", "tcp://u:SECRETURL@h"], "no address of a ZMQ socket"),
        (&["check", "--dynamo-namespace", "x y"], "not a Dynamo namespace"),
        (&["rbac", "-n", "a\nb"], "not a namespace or deployment name"),
        (&["rbac", "--kubeconfig", "nofile"], "nofile cannot be used"),
    ];
    for (arguments, expected) in cases {
        let output = kvtop(arguments);
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!said.contains("pw@") && !said.contains("SECRETURL"), "{said}");
        assert_ne!(output.status.code(), Some(0));
    }
    for arguments in [&["explain", "block-size-mismatch"][..], &["man", "config", "check"]] {
        assert_eq!(kvtop(arguments).status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn the_role_is_for_the_namespace_of_the_context() {
    let file = scratch().join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: []\nusers: []\ncontexts:\n\
                - {name: a, context: {cluster: c, user: u, namespace: of-context}}\n\
                - {name: b, context: {cluster: c, user: u, namespace: \"Bad NS\"}}\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let role = |more: &[&str]| kvtop(&[&["rbac", "--kubeconfig", file], more].concat());
    assert!(stdout(&role(&[])).contains("namespace: of-context"));
    assert!(stdout(&role(&["-n", "other"])).contains("namespace: other"));
    assert!(stderr(&role(&["--context", "b"])).contains("`Bad NS`"));
    assert!(stderr(&role(&["--context", "zz"])).contains("no context `zz`"));
}

#[test]
fn an_option_without_effect_is_neither_listed_nor_taken() {
    let cases: [(&[&str], i32, &str); 7] = [
        (
            &["lint", "--namespace", "prod", "x.yaml"],
            3,
            "--namespace has no effect on `kvtop lint`",
        ),
        (&["-n", "prod", "explain"], 2, "--namespace has no effect on `kvtop explain`"),
        (
            &["check", "--replay", "x.frames", "--dynamo-namespace", "a"],
            3,
            "--dynamo-namespace has no effect on `kvtop check --replay`: the recording names its",
        ),
        (&["rbac", "--nats-url", "nats://a"], 2, "--nats-url has no effect on `kvtop rbac`"),
        (&["themes", "list", "--color", "never"], 2, "no effect on `kvtop themes list`"),
        (&["config", "path", "--dgd", "x"], 2, "--dgd has no effect on `kvtop config path`"),
        (&["demo", "--zmq", "tcp://a:1"], 2, "--zmq has no effect on `kvtop demo`"),
    ];
    for (arguments, code, text) in cases {
        let output = kvtop(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(stderr(&output).contains(text), "{arguments:?}: {}", stderr(&output));
    }
    assert!(stderr(&kvtop(cases[0].0)).contains("Usage: kvtop lint [OPTIONS] <FILE>..."));

    let lists = |command: &[&str], option: &str| {
        let help = stdout(&kvtop(&[command, &["--help"]].concat()));
        assert!(help.contains("Usage: kvtop"), "{help}");
        help.lines().any(|line| line.trim_start().trim_start_matches("-n, ").starts_with(option))
    };
    for command in [&["lint"][..], &["explain"], &["man"], &["themes", "list"], &["config", "init"]]
    {
        assert!(!lists(command, "--namespace") && !lists(command, "--nats"), "{command:?}");
    }
    for command in [&["rbac"][..], &["snapshot"], &["config", "show"], &[]] {
        assert!(lists(command, "--namespace"), "{command:?}");
    }
    // Those that count may stand anywhere.
    for arguments in [["-n", "prod", "rbac"], ["rbac", "-n", "prod"]] {
        assert!(stdout(&kvtop(&arguments)).contains("reads in namespace prod"));
    }
}

#[test]
fn too_few_file_descriptors_are_an_error_with_advice() {
    let command = format!("ulimit -n 12; exec {} demo", env!("CARGO_BIN_EXE_kvtop"));
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();

    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("limit of open files is 12") && said.contains("ulimit -n"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn grants_to_two_users_stand_side_by_side() {
    let names = |user: &str| -> BTreeSet<String> {
        let output = kvtop(&["rbac", "-n", "demo", &format!("--user={user}")]);
        let text = String::from_utf8(output.stdout).unwrap();
        let bindings = text.split("---").filter(|object| object.contains("kind: RoleBinding"));
        bindings
            .map(|object| {
                object.lines().find(|line| line.starts_with("  name: ")).unwrap().to_owned()
            })
            .collect()
    };
    let users = ["alice@example.com", "alice-example.com", "Alice@example.com", "--help"];
    let all: Vec<String> = users.into_iter().flat_map(names).collect();
    let once: BTreeSet<&String> = all.iter().collect();
    assert!(all.len() == 4 && once.len() == 4, "{all:?}");
}
