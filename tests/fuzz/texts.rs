//! What people and files say: commands of containers, manifests, settings, themes, filters, the palette.

use std::path::Path;

use kvtop::config::file::Known;
use kvtop::config::{Config, Layers};
use kvtop::domain::Timestamp;
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::lint::{Source, lint};
use kvtop::snapshot::Gravity;
use kvtop::tui::filter::{Filter, Target};
use kvtop::tui::line;
use kvtop::tui::theme::Themes;
use kvtop::wire::{self, Facts};

use super::{corpus, fuzz};

/// Commands as containers have them, with what shells can do.
const COMMANDS: [&str; 12] = [
    "set -e; exec python3 -m dynamo.trtllm --model-path /m \"$@\"",
    "ARGS=(--block-size 32 \"--kv-events-config={\\\"enable\\\":true}\"); python3 -m dynamo.vllm \"${ARGS[@]}\"",
    "for i in 1 2 3; do echo $i; done; python3 -m dynamo.sglang --page-size $((16*2))",
    "case \"$ROLE\" in prefill) F=--is-prefill-worker;; *) F= ;; esac; python3 -m dynamo.vllm $F",
    "if [ -n \"$X\" ] && [[ $Y == a* ]]; then A=1; else A=2; fi; run --flag \"${A:-3}\" ${B/x/y} ${C%%.*}",
    "f() { local a=$1; echo \"$a\"; }; f $(f 'x y') `f z`; python3 -m dynamo.frontend --router-mode kv",
    "cat <<EOF > /tmp/c.yaml\nblock_size: ${SIZE:=32}\nEOF\npython3 -m dynamo.trtllm --extra-engine-args /tmp/c.yaml",
    "while read -r line; do set -- \"$@\" \"$line\"; done < f; shift 2; exec \"$@\"",
    "export A='it'\\''s' B=\"\\$x\" C=$'a\\tb'; eval \"$CMD\" ; trap 'kill 0' EXIT; wait",
    "python3 -m dynamo.vllm --block-size=${BS:?unset} 2>&1 | tee log & wait $!",
    "a=(1 2 3); echo ${#a[@]} ${a[-1]} ${!a[@]} ${a[@]:1:2}; ((i++)); let j=i*2; printf -v k %03d $j",
    "{ true; } || false; ! test -f x; until [ $n -gt 9 ]; do n=$((n+1)); done",
];

#[test]
fn commands_of_containers() {
    let seeds: Vec<Vec<u8>> = COMMANDS.iter().map(|text| text.as_bytes().to_vec()).collect();
    let mut turn = 0;
    fuzz("shell", &seeds, |input| {
        turn += 1;
        let text = String::from_utf8_lossy(input);
        let args = if turn % 2 == 0 { vec!["--block-size", "32"] } else { vec![] };
        let pod = serde_json::json!({
            "kind": "Pod",
            "metadata": {"name": "w", "namespace": "n", "uid": "1",
                "labels": {"nvidia.com/dynamo-component-type": "worker", "nvidia.com/dynamo-graph-deployment-name": "g"}},
            "spec": {"containers": [{"name": "main", "image": "vllm-runtime:0.9.0",
                "command": ["bash", "-c", text, "--"], "args": args,
                "env": [{"name": "SIZE", "value": "16"}]}]},
            "status": {"phase": "Running"},
        });
        let origin = Origin::Kube { kind: "Pod".into(), change: KubeChange::Listed };
        let mut facts = Facts::default();
        drop(wire::decode(&Frame::new(Timestamp(1), origin, pod.to_string()), &mut facts));
    });
}

#[test]
fn manifests_and_engine_settings() {
    let seeds = corpus::manifests();
    fuzz("lint", &seeds, |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        let verdicts = lint(&[Source { name: "fuzz.yaml".into(), text }]);
        assert!(verdicts.flaws.len() <= 10_000);
    });
}

#[test]
fn configuration_files() {
    let seeds: Vec<Vec<u8>> = [
        "theme = \"nord\"\nmax-memory = \"512MiB\"\n[keys]\nquit = \"q\"\n",
        "namespace = \"gtc\"\nrefresh = \"2s\"\n[thresholds]\nmin_stores = 20\nloss_share = 0.05\n",
        "[context-colors]\nprod = \"red\"\n\n# a comment\nmouse = true\n",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    fuzz("config", &seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let known = Known::default();
        let layers = Layers {
            file: Some((Path::new("config.toml"), &text)),
            known: &known,
            env: &|_| None,
            flags: &[],
            other_cluster: false,
        };
        drop(Config::layered(&layers));
    });
}

#[test]
fn themes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("themes");
    let files = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        path.extension().is_some_and(|end| end == "toml").then(|| std::fs::read(path).unwrap())
    });
    let seeds: Vec<Vec<u8>> = files.collect();
    let mut themes = Themes::default();
    fuzz("theme", &seeds, |input| {
        themes.insert("fuzz", &String::from_utf8_lossy(input));
        drop(themes.check("fuzz"));
        themes.mark(&String::from_utf8_lossy(&input[..input.len().min(12)]));
    });
}

#[test]
fn filters() {
    let seeds: Vec<Vec<u8>> = [
        "w0 store !orphan",
        "kind:remove src:nats >=warn",
        "/parent/ is:orphan ,x",
        "a|b (c) \"d e\"",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    fuzz("filter", &seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let filter = Filter::new(&text);
        let row = Target {
            who: "w0",
            kind: "store",
            source: "nats",
            text: "4 blocks under parent 74b87440: not in tree",
            gravity: Gravity::Bad,
            orphan: true,
        };
        let found = filter.matches(&row);
        assert!(found || !filter.is_empty());
    });
}

#[test]
fn the_command_line_of_the_screen() {
    let seeds: Vec<Vec<u8>> = [
        "window 5m",
        "worker w3",
        "find 0c9d44aa",
        "theme nord",
        "demo mismatch",
        "back 90s",
        "export svg",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    let themes = ["nord".to_owned(), "light".to_owned()];
    fuzz("palette", &seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let said = line::parse(&text, &themes, true);
        assert!(said.is_ok() || said.is_err_and(|why| !why.is_empty()));
        line::taken(&text, &themes, true);
        line::scope(&text);
    });
}
