//! Commands as shells read them: manifests whose settings stand in scripts.

use kvtop::lint::{Source, Verdicts, lint};

use super::sources;

fn found(name: &str, old: &str, new: &str) -> Verdicts {
    let mut source = sources(name).remove(0);
    assert!(source.text.contains(old), "{old}");
    source.text = source.text.replace(old, new);
    lint(&[Source { name: "x.yaml".into(), text: source.text }])
}

fn ids(found: &Verdicts) -> Vec<&str> {
    found.flaws.iter().map(|flaw| flaw.id).collect()
}

const RUN: &str = r#"exec python3 -m dynamo.trtllm "$@""#;

#[test]
fn a_worker_whose_flags_are_parameters_of_its_script_publishes() {
    for run in [
        RUN,
        r#"exec env A=b python3 -m dynamo.trtllm "$@""#,
        r#"cd /workspace && python3 -m dynamo.trtllm "$@" 2>&1"#,
        r#"ARGS=("$@"); exec python3 -m dynamo.trtllm "${ARGS[@]}""#,
        r#"source /opt/venv/bin/activate && exec python3 -m dynamo.trtllm "$@""#,
    ] {
        assert_eq!(ids(&found("trtllm-shell.yaml", RUN, run)), ["KVT016"], "{run}");
        assert_eq!(ids(&found("trtllm-shell-mismatch.yaml", RUN, run)), ["KVT001"], "{run}");
    }
}

#[test]
fn what_a_script_hides_is_not_judged_and_said_so() {
    for (run, by) in [
        (r"exec python3 -m dynamo.trtllm $WORKER_ARGS", "$WORKER_ARGS"),
        (r"exec python3 -m dynamo.trtllm $(cat /args)", "a command's output"),
        (
            r"source /env.sh; exec $LAUNCH python3 -m dynamo.trtllm $A",
            "$A, after the script /env.sh",
        ),
        (r"exec /workspace/start.sh", "a script"),
    ] {
        for name in ["trtllm-shell.yaml", "trtllm-shell-mismatch.yaml"] {
            let found = found(name, RUN, run);

            let wrong = ids(&found).into_iter().any(|id| ["KVT001", "KVT003"].contains(&id));
            assert!(!wrong, "{run}: {:?}", ids(&found));
            let missing = |id: &str| {
                let mut open = found.unjudged.iter().filter(|open| open.id == id);
                open.any(|open| open.missing.starts_with(&format!("needs {by}, ")))
            };
            assert!(missing("KVT001") && missing("KVT003"), "{run}: {:?}", found.unjudged);
        }
    }
}

#[test]
fn a_file_that_the_command_writes_is_read() {
    let script = |size: u32| {
        format!(
            "- |\n              cat > /tmp/engine.yaml <<EOF\n              kv_cache_config:\n                \
             tokens_per_block: {size}\n              EOF\n              exec python3 -m dynamo.trtllm \
             --model-path m --publish-events-and-metrics --extra-engine-args /tmp/engine.yaml"
        )
    };
    let old = format!("- 'export TLLM_LOG_LEVEL=INFO; export OMPI_MCA_btl=^openib; {RUN}'");

    assert_eq!(ids(&found("trtllm-shell.yaml", &old, &script(64))), ["KVT001", "KVT016"]);
    assert_eq!(ids(&found("trtllm-shell.yaml", &old, &script(32))), ["KVT016"]);
}

#[test]
fn a_file_of_flags_that_was_not_given_leaves_everything_open() {
    let mut source = sources("sglang-config.yaml").remove(0);
    let second = source.text.find("---").unwrap();
    source.text.drain(..second);

    let found = lint(&[source]);

    assert_eq!(ids(&found), Vec::<&str>::new());
    let missing: Vec<_> = found.unjudged.iter().map(|open| open.id).collect();
    assert!(missing.contains(&"KVT001"), "{:?}", found.unjudged);
}
