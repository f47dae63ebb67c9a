//! Corrected lines of manifests as people write them: lists in flow style, scripts with logs and traps.

use super::{corrected, linted, shown};
use kvtop::lint::{Source, lint};
use kvtop::report;

/// A deployment whose frontend has its variables in a list of `dash`ed entries in braces.
fn with_dashes(dash: &str) -> String {
    format!(
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {{name: w}}\nspec:\n  components:\n  - \
         name: Frontend\n    type: frontend\n    podTemplate:\n      spec:\n        containers:\n        - name: \
         main\n          image: a/vllm-runtime:1.4.2\n          env:\n{dash}- {{name: DYN_ROUTER_MODE, value: \
         kv}}\n{dash}- {{name: A,    value: b}}\n  - name: W\n    type: worker\n    podTemplate:\n      spec:\n        \
         containers:\n        - name: main\n          image: a/vllm-runtime:1.4.2\n          command: [python3, -m, \
         dynamo.vllm]\n          args: [--model, m, --block-size, \"64\", --kv-events-config, \
         '{{\"enable_kv_cache_events\":true}}']\n"
    )
}

#[test]
fn a_list_of_entries_in_braces_is_corrected_with_its_dashes_indented_or_not() {
    for dash in ["          ", "            "] {
        let sources = [Source { name: "flow.yaml".into(), text: with_dashes(dash) }];
        let found = lint(&sources);
        assert_eq!(found.flaws.iter().map(|flaw| flaw.id).collect::<Vec<_>>(), ["KVT016"]);
        assert_eq!(found.flaws[0].edits.len(), 1, "{dash:?}: {found:?}");
        let mended = lint(&corrected(&sources, &found));
        assert_eq!(shown(&mended), [], "{mended:?}");
    }
}

/// A worker of vLLM 1.4 that this script starts without KV events.
fn scripted(script: &str) -> String {
    format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: s}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n        - {{name: DYN_ROUTER_MODE, value: kv}}\n        \
         - {{name: DYN_KV_CACHE_BLOCK_SIZE, value: \"64\"}}\n      extraPodSpec: {{mainContainer: {{image: \
         a/vllm-runtime:1.4.2}}}}\n    W:\n      componentType: worker\n      extraPodSpec:\n        \
         mainContainer:\n          image: a/vllm-runtime:1.4.2\n          command: [bash, -c]\n          args:\n            \
         - |\n              {script}\n"
    )
}

#[test]
fn lines_that_write_a_log_or_choose_gpus_are_repeated() {
    let run = "python3 -m dynamo.vllm --model m --block-size 64";
    for script in [
        format!("{run} 2>&1 | tee /tmp/x.log"),
        format!("{run} > /tmp/x.log 2>&1"),
        format!("{run} >>/tmp/x.log"),
        format!("CUDA_VISIBLE_DEVICES=0,1 {run} # on both"),
        format!("sleep 5; timeout 300 {run} || exit 1"),
        format!("mpirun -np 1 --allow-run-as-root {run}"),
    ] {
        let found = linted(&scripted(&script));
        assert_eq!(found.flaws.iter().map(|flaw| flaw.id).collect::<Vec<_>>(), ["KVT003"]);
        assert!(!found.flaws[0].edits.is_empty(), "{script}: {found:?}");
    }
    for script in [
        format!("CUDA_TOKEN=CANARY {run}"),
        format!("NCCL_X=hf_CANARY0123456789abcdef {run}"),
        format!("{run} > /tmp/pass-CANARY"),
        format!("tee /tmp/token=CANARY; {run}"),
        format!("{run} # password: CANARY"),
        format!("{run} --x 'a # CANARY'"),
        format!("timeout 3 login CANARY; {run}"),
    ] {
        let found = linted(&scripted(&script));
        let said = report::lint::text(&found) + &report::lint::json(&found);
        assert!(!found.flaws.is_empty() && !said.contains("CANARY"), "{script}: {said}");
    }
    let unshown = linted(&scripted(&format!("login CANARY; {run}")));
    assert!(unshown.flaws[0].fix.ends_with("because they may hold a secret."), "{unshown:?}");
}

#[test]
fn traps_and_aliases_that_change_no_setting_silence_nothing() {
    let run = "python3 -m dynamo.vllm --model m --block-size 64";
    for before in [
        "trap \"kill 0\" EXIT;",
        "trap 'kill $(jobs -p) 2>/dev/null; wait' INT TERM EXIT;",
        "trap - ERR;",
        "trap;",
        "alias ll='ls -l';",
        "shopt -s inherit_errexit;",
    ] {
        let found = linted(&scripted(&format!("{before} {run}")));
        assert_eq!(
            found.flaws.iter().map(|flaw| flaw.id).collect::<Vec<_>>(),
            ["KVT003"],
            "{before}"
        );
        assert!(found.unjudged.is_empty(), "{before}: {:?}", found.unjudged);
    }
    // The action of such a trap may run before the worker starts.
    for before in ["trap 'export B=1' ERR;", "trap handler DEBUG;", "shopt -s nullglob;"] {
        let found = linted(&scripted(&format!("{before} {run} $B")));
        assert!(!found.unjudged.is_empty(), "{before}: {found:?}");
    }
}
