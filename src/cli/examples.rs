//! Examples of each command, for its help and its manual page.

/// A command line, and what it does.
pub type Example = (&'static str, &'static str);

/// Examples by command.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            ("kvtop demo", "try kvtop without a cluster"),
            ("kvtop -n NAMESPACE", "inspect a deployment in Kubernetes"),
            ("kvtop -A", "all deployments that you may see, the worst first"),
            ("kvtop --nats-url URL", "inspect a deployment by its NATS server"),
            ("kvtop check -n NAMESPACE", "one-shot health check (exit 0-3)"),
        ],
    ),
    (
        "demo",
        &[
            ("kvtop demo", "the incident of the documentation, with its fix"),
            ("kvtop demo healthy --seed 7", "another scenario, with other events"),
            ("kvtop demo --tour", "guided tour"),
        ],
    ),
    (
        "replay",
        &[
            ("kvtop replay incident.frames.zst", "play it"),
            (
                "kvtop replay incident.frames.zst --at -3m --paused",
                "look at its last three minutes",
            ),
        ],
    ),
    (
        "report",
        &[
            ("kvtop report incident.frames.zst > incident.html", "a page for the post-mortem"),
            (
                "kvtop report incident.frames.zst -o md --from -30m",
                "the last half hour, as Markdown",
            ),
            (
                "kvtop report -n gtc-demo --last 30m > incident.html",
                "report on the last 30 minutes of a live deployment",
            ),
        ],
    ),
    (
        "diff",
        &[
            ("kvtop diff before.frames.zst after.frames.zst", "the last moments of two recordings"),
            (
                "kvtop diff incident.frames.zst incident.frames.zst --at-a -10m",
                "a recording ten minutes before its end, and at its end",
            ),
            ("kvtop snapshot -n gtc-demo -o json | kvtop diff monday.json -", "monday and now"),
        ],
    ),
    (
        "record",
        &[("kvtop record -n gtc-demo -o incident.frames.zst --for 10m", "record ten minutes")],
    ),
    (
        "snapshot",
        &[
            ("kvtop snapshot -n gtc-demo -o wide", "a table with node, role, component and model"),
            ("kvtop snapshot -n gtc-demo -o jsonpath='{.workers[*].pod}'", "names of pods"),
            ("kvtop snapshot --replay incident.frames.zst -o svg > screen.svg", "a picture"),
        ],
    ),
    ("stat", &[("kvtop stat -n gtc-demo --interval 5s", "a line every five seconds")]),
    (
        "check",
        &[
            ("kvtop check -n gtc-demo", "for monitoring"),
            ("kvtop check -n gtc-demo --wait 2m", "after a fix: ends as soon as all is healthy"),
            ("kvtop check -n gtc-demo -o wide", "every finding with its evidence and fix"),
            (
                "kvtop check -n gtc-demo -o jsonpath='{.findings[*].fix.kubectl}'",
                "the commands of the fixes",
            ),
            ("kvtop check -A", "one line for each deployment of the cluster"),
            ("kubectl logs deploy/frontend | kvtop check --logs -", "from saved logs alone"),
        ],
    ),
    (
        "plan",
        &[
            ("kvtop plan -n gtc-demo", "listen for two minutes and answer every question"),
            ("kvtop plan incident.frames.zst --workers +1,+2", "one or two workers more"),
            ("kvtop plan --demo healthy --what cache,mode -o json", "two questions, as JSON"),
        ],
    ),
    (
        "lint",
        &[
            ("kvtop lint deploy/ engine_configs/", "all manifests below two directories"),
            ("helm template ./chart | kvtop lint -", "rendered manifests"),
        ],
    ),
    ("explain", &[("kvtop explain", "list all findings"), ("kvtop explain KVT001", "one")]),
    ("doctor", &[("kvtop doctor -n gtc-demo", "what can be reached, and what is missing")]),
    (
        "bundle",
        &[("kvtop bundle -n gtc-demo -o ticket.tar.zst", "listen for half a minute and pack it")],
    ),
    ("rbac", &[("kvtop rbac -n gtc-demo | kubectl apply -f -", "grant the rights to read")]),
    (
        "export",
        &[
            ("kvtop export -n gtc-demo --listen :9478", "serve metrics in a pod"),
            ("kvtop export -A --shard 2/5", "one of five exporters for all namespaces"),
            ("kvtop export --nats-url URL --metrics-level fleet", "as few series as possible"),
        ],
    ),
    (
        "mcp",
        &[
            ("kvtop mcp -n gtc-demo", "for an assistant: the command of an MCP server"),
            ("kvtop mcp --offline incident.frames.zst deploy/", "a recording and manifests alone"),
        ],
    ),
    (
        "deploy",
        &[
            ("kvtop deploy -n gtc-demo --image IMAGE | kubectl apply -f -", "run the exporter"),
            ("kvtop deploy rules -n gtc-demo > kvtop-rules.yaml", "alert rules for Prometheus"),
            ("kvtop deploy dashboard-fleet > kvtop-fleet.json", "a dashboard for Grafana"),
        ],
    ),
    ("schema", &[("kvtop schema check", "the JSON Schema of kvtop check -o json")]),
    ("themes", &[("kvtop themes check", "contrast of every theme")]),
    ("keys", &[("kvtop keys", "with those of your config file")]),
    (
        "completions",
        &[
            (
                "kvtop completions bash > ~/.local/share/bash-completion/completions/kvtop",
                "commands and options, for new shells",
            ),
            (
                "echo 'source <(COMPLETE=bash kvtop)' >> ~/.bashrc",
                "also namespaces, deployments, contexts, themes, views and findings",
            ),
        ],
    ),
    ("man", &[("kvtop man check | man -l -", "read the page of a command")]),
    ("config", &[("kvtop config init", "write a file in which everything is explained")]),
];

/// Returns the examples of a command, such as `check` or `config check`; those of an empty name are kvtop's own.
pub fn examples(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

/// Returns the examples of a command as the end of its help; none when it has none.
pub(super) fn help(command: &str) -> Option<String> {
    let all = examples(command);
    let width = all.iter().map(|(line, _)| line.len()).max()?;
    let lines = all.iter().map(|(line, what)| match width {
        ..60 => format!("  {line:width$}   {what}"),
        _ => format!("  {line}\n      {what}"),
    });
    Some(format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n")))
}
