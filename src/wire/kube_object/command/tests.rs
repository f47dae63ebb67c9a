//! Commands, by how a container may be written.

use serde_json::json;

use super::*;
use crate::domain::ConfigMaps;

fn all(container: &Value) -> Vec<Command> {
    let mut env = Env::default();
    env.add(&container["env"], &ConfigMaps::new(), |_| None);
    Command::all_of(container, &env)
}

/// The value of a flag, `unset` or `hidden`.
fn size(container: &Value) -> String {
    match all(container).remove(0).flag(&["--kv-block-size"]) {
        Reading::Set(found) => found.value.unwrap_or("no value").to_owned(),
        Reading::Unset => "unset".to_owned(),
        Reading::Hidden(_) => "hidden".to_owned(),
    }
}

#[test]
fn modules_and_flags_are_found_however_a_container_is_written() {
    let script = "export A=1; exec python3 -m dynamo.trtllm \"$@\"";
    let cases = [
        json!({"command": ["python3", "-m", "dynamo.trtllm"], "args": ["--kv-block-size", "32"]}),
        json!({"command": ["python3", "-m", "dynamo.trtllm", "--kv-block-size=32"]}),
        json!({"args": ["python3", "-m", "dynamo.trtllm", "--kv_block_size", "32"]}),
        json!({"command": ["sh", "-c"], "args": ["exec python3 -m dynamo.trtllm --kv-block-size 32"]}),
        json!({"command": ["/bin/bash", "-lc", "cd /w && B=32; python3 -m dynamo.trtllm --kv-block-size $B"]}),
        json!({"env": [{"name": "B", "value": "32"}], "command": ["python3", "-m", "dynamo.trtllm"],
               "args": ["--kv-block-size", "$(B)"]}),
        json!({"env": [{"name": "B", "value": "32"}], "command": ["sh", "-c",
               "python3 -m dynamo.trtllm --kv-block-size ${B:-16} &\nwait"]}),
        json!({"command": ["bash", "-c", script, "--"], "args": ["--kv-block-size", "32"]}),
        json!({"command": ["bash", "-c", script], "args": ["zero", "--kv-block-size", "32"]}),
        json!({"command": ["bash", "-euo", "pipefail", "-c", script, "x", "--kv-block-size=32"]}),
        json!({"command": ["bash", "-c", "python3 -m dynamo.trtllm --kv-block-size $0", "32"]}),
        json!({"command": ["bash", "-c", "exec bash -c 'exec python3 -m dynamo.trtllm \"$@\"' -- \"$@\"", "-",
               "--kv-block-size", "32"]}),
        json!({"command": ["tini", "--", "sh", "-c", "exec \"$@\"", "x", "python3", "-m", "dynamo.trtllm",
               "--kv-block-size", "32"]}),
        json!({"command": ["bash", "-c",
               "ARGS=(--kv-block-size 32)\nARGS+=(--x)\nexec python3 -m dynamo.trtllm \"${ARGS[@]}\""]}),
        json!({"command": ["bash", "-c",
               "if [ -n \"$NO\" ]; then S=16; else S=32; fi; python3 -m dynamo.trtllm --kv-block-size $S"],
               "env": [{"name": "NO", "value": ""}]}),
    ];
    for container in cases {
        let found = all(&container);
        assert_eq!(found[0].module, Some(Module::Engine(Backend::TrtLlm)), "{container}");
        assert_eq!(size(&container), "32", "{container}");
    }
}

#[test]
fn what_is_not_shown_is_hidden_and_neither_set_nor_unset() {
    let script = |text: &str| json!({"command": ["bash", "-c", text]});
    let run = "python3 -m dynamo.trtllm";
    let cases = [
        (format!("{run} $EXTRA"), "hidden"),
        (format!("{run} --kv-block-size 32 $EXTRA"), "hidden"),
        (format!("{run} $EXTRA --kv-block-size 32"), "32"),
        (format!("{run} --kv-block-size \"$SIZE\""), "hidden"),
        (format!("{run} --kv-block-size=$(cat /size)"), "hidden"),
        (format!("{run} --model \"$MODEL\""), "unset"),
        (format!("{run} --model-path m --max-num-tokens=\"$N\""), "unset"),
        (format!("{run} \"$ONE\""), "hidden"),
        (format!("source /env.sh; {run} --kv-block-size $S"), "hidden"),
        (format!("source /venv/bin/activate; S=32; {run} --kv-block-size $S"), "32"),
        (format!("read S; {run} --kv-block-size $S"), "hidden"),
        (format!("test -e /x && S=16 || S=32; {run} --kv-block-size $S"), "hidden"),
        (format!("test -e /x && {run} --kv-block-size 16 || {run} --kv-block-size 32"), "hidden"),
        (format!("test -e /x && {run} --kv-block-size 16 --a || {run} --kv-block-size 16"), "16"),
        (format!("run() {{ {run} --kv-block-size \"$1\"; }}; run 32"), "hidden"),
        (format!("eval \"{run} --kv-block-size $S\""), "hidden"),
        ("./start.sh".to_owned(), "hidden"),
        (format!("${{X:-{run} --kv-block-size 32}}"), "32"),
    ];
    for (text, expected) in cases {
        assert_eq!(size(&script(&text)), expected, "{text}");
    }
    assert_eq!(size(&json!({"command": ["/start.sh"]})), "hidden");
    assert_eq!(size(&json!({})), "unset");
}

#[test]
fn the_environment_of_a_process_is_what_the_script_exports() {
    let read = |text: &str| {
        let command = all(&json!({"command": ["bash", "-c", text],
            "env": [{"name": "OUTER", "value": "1"}]}))
        .remove(0);
        match command.variable(&["DYN_X"]) {
            Reading::Set(found) => found.value.unwrap_or_default().to_owned(),
            Reading::Unset => "unset".to_owned(),
            Reading::Hidden(_) => "hidden".to_owned(),
        }
    };
    let run = "exec python3 -m dynamo.trtllm";
    let cases = [
        (format!("export DYN_X=5; {run}"), "5"),
        (format!("DYN_X=5; {run}"), "unset"),
        (format!("DYN_X=5; export DYN_X; {run}"), "5"),
        (format!("set -a; DYN_X=5; {run}"), "5"),
        (format!("DYN_X=5 {run}"), "5"),
        ("exec env DYN_X=5 python3 -m dynamo.trtllm".to_owned(), "5"),
        (format!("export DYN_X=$OUTER$OUTER; {run}"), "11"),
        (format!("export DYN_X=5; unset DYN_X; {run}"), "unset"),
        ("export DYN_X=5; exec env -u DYN_X python3 -m dynamo.trtllm".to_owned(), "unset"),
        (format!("export $(cat /env); {run}"), "hidden"),
        (format!(". /env.sh && {run}"), "hidden"),
        (format!("(export DYN_X=5); {run}"), "unset"),
        (format!("export DYN_X=$UNSEEN; {run}"), "hidden"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(&text), expected, "{text}");
    }
}

#[test]
fn a_container_that_starts_two_modules_has_two_commands() {
    let script = "python3 -m dynamo.frontend --http-port 8001 & python3 -m dynamo.vllm";
    let found = all(&json!({"command": ["sh", "-c", script]}));

    assert_eq!(found.len(), 2);
    assert_eq!(found[0].flag(&["--http-port"]).value(), Some("8001"));
}

#[test]
fn a_file_that_the_script_writes_is_known_until_something_changes_it() {
    let read = |text: &str| {
        let command = all(&json!({"command": ["bash", "-c", text]})).remove(0);
        match command.written("/tmp/e.yaml") {
            Written::Nothing => "nothing".to_owned(),
            Written::Hidden => "hidden".to_owned(),
            Written::Text(text) => text.to_owned(),
        }
    };
    let run = "exec python3 -m dynamo.trtllm --extra-engine-args /tmp/e.yaml";
    let here = "cat > /tmp/e.yaml <<EOF\na: $A\nEOF";

    assert_eq!(read(&format!("A=1\n{here}\n{run}")), "a: 1\n");
    assert_eq!(read(&format!("A=1\ncd /tmp\ncat <<'EOF' >e.yaml\na: $A\nEOF\n{run}")), "a: $A\n");
    assert_eq!(read(&format!("echo 'a: 1' > /tmp/e.yaml; {run}")), "a: 1\n");
    assert_eq!(read(&format!("{here}\n{run}")), "hidden");
    assert_eq!(read(&format!("A=1\n{here}\nsed -i s/1/2/ /tmp/e.yaml\n{run}")), "hidden");
    assert_eq!(read(run), "nothing");
}
