# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kvtop_global_optspecs
    string join \n n/namespace= A/all-namespaces l/selector= context= kubeconfig= as= request-timeout= dgd= no-port-forward nats-url= nats-context= nats-creds= nats-nkey= nats-user= nats-password-file= nats-tls-ca= nats-tls-cert= nats-tls-key= zmq= deep engine= etcd-url= etcd-user= etcd-password-file= frontend-url= logs= indexer-url= prometheus= prometheus-token-file= prometheus-ca= discovery-dir= dynamo-namespace= keep-log-text max-memory= config= theme= color= glyphs= bell= h/help V/version
end

function __fish_kvtop_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kvtop_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kvtop_using_subcommand
    set -l cmd (__fish_kvtop_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kvtop -n "__fish_kvtop_needs_command" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -s l -l selector -d 'With several deployments: only those whose graph deployment has these labels, as kubectl selects, such as `team=search,tier!=dev`' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l prometheus -d 'Address of a Prometheus that scrapes `kvtop export`, such as `https://prometheus.example:9090`: the fleet view shows what it knows, now and in the past, and asks the cluster only for a deployment that is opened' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l prometheus-token-file -d 'File with a bearer token for the Prometheus' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l prometheus-ca -d 'CA certificate of the Prometheus (PEM)' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_needs_command" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_needs_command" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_needs_command" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_needs_command" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_needs_command" -s A -l all-namespaces -d 'All deployments of the cluster, in every namespace that you may list'
complete -c kvtop -n "__fish_kvtop_needs_command" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_needs_command" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_needs_command" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_needs_command" -s V -l version -d 'Print version'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "demo" -d 'Open the live screen on a simulated deployment; no cluster needed'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "replay" -d 'Play a recording on the live screen'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "report" -d 'Write the report of an incident, from a recording or the last minutes of a deployment: timeline, effect on users, findings, fixes'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "diff" -d 'Compare two recordings or snapshots: exit code 0 same, 1 different, 2 unreadable or invalid command line'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "record" -d 'Record all incoming data to a file'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "snapshot" -d 'Print a one-off snapshot'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "stat" -d 'Print one line of figures per second'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "plan" -d 'Simulate what would help: workers, cache, routing, block sizes'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "check" -d 'Run all checks once and exit with a monitoring-plugin status code: 0 OK, 1 warning, 2 critical, 3 unknown'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "lint" -d 'Lint manifests and engine configs before deployment: exit code 0 clean, 1 findings, 3 unreadable or no deployment'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "explain" -d 'Explain a finding: meaning, detection and fix'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "doctor" -d 'Diagnose connectivity and permissions: cluster, RBAC, events, logs, metrics, terminal'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "bundle" -d 'Collect a support bundle: recording, findings, coverage and settings in one file'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "rbac" -d 'Print the Kubernetes RBAC role that kvtop needs'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "export" -d 'Serve Prometheus metrics, without a screen'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "mcp" -d 'Serve read-only answers to assistants, over the Model Context Protocol on standard input and output'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "deploy" -d 'Print files that deploy `kvtop export` to a cluster: manifests, alert rules, Grafana dashboards'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "schema" -d 'Print the JSON Schema of an output or of the config file'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "themes" -d 'List, show and check (contrast) themes'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "keys" -d 'Print all keys and the names of their actions'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "completions" -d 'Print shell completions'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "man" -d 'Print a manual page'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "config" -d 'Create, locate, validate and print the configuration'
complete -c kvtop -n "__fish_kvtop_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l seed -d 'Seed of the simulation; the same seed gives the same events' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l tour -d 'Guided tour'
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -l gallery -d 'Print every graph in every color mode, then exit'
complete -c kvtop -n "__fish_kvtop_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l speed -d 'Playback speed, as a factor of real time' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l at -d 'Start position: after the beginning (30s) or before the end (-3m)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -l paused -d 'Start paused'
complete -c kvtop -n "__fish_kvtop_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -s o -l output -d 'Format of the page' -r -f -a "html\t'One HTML file, without scripts and without anything to fetch'
md\t'Markdown, with charts as text'"
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l from -d 'Start: after the beginning (30s) or before the end (-3m). Earlier frames still count as history' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l last -d 'Report on this much time: the end of the recording, or the past of a live deployment as far as its streams and logs hold it' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l for -d 'Time to listen to a live deployment after reading history' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l wait -d 'Longest wait for history and for sources to answer [default: 30s]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l title -d 'Title of the page [default: name of the recording or of the deployment]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand diff" -s o -l output -d 'Output format' -r -f -a "text\t'Differences, as aligned text'
md\t'The same as Markdown'
json\t'JSON as described in docs/reference/json.md'
yaml\t'The same as YAML'
jsonpath=\t'Values that a template selects, as in kubectl, such as jsonpath={.kvtop}'"
complete -c kvtop -n "__fish_kvtop_using_subcommand diff" -l at-a -d 'Moment of recording A: after its beginning (30s) or before its end (-3m) [default: its end]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand diff" -l at-b -d 'Moment of recording B, likewise' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand diff" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand diff" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -s o -l output -d 'Output file; compressed if its name ends in .zst' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l for -d 'Recording time [default: until interrupted]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l note -d 'Note stored in the recording, for its readers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -s o -l output -d 'Output format' -r -f -a "table\t'Aligned columns'
wide\t'Aligned columns, with node, role, component, model and more'
name\t'Ids of the workers, one a line'
csv\t'Comma-separated values'
md\t'A Markdown table'
svg\t'The screen as an SVG image'
html\t'The screen as an HTML page'
text\t'The screen as text'
json\t'JSON as described in docs/reference/json.md'
yaml\t'The same as YAML'
jsonpath=\t'Values that a template selects, as in kubectl, such as jsonpath={.kvtop}'"
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l replay -d 'Use the state at the end of this recording instead of a live deployment' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l demo -d 'Use a simulated deployment; `--for` is simulated time' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l seed -d 'Seed of the simulation' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l for -d 'Time to listen after reading history' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l wait -d 'Longest wait for history and for sources to answer [default: 30s]. If history is still incomplete, the output reports it and the exit code is 3' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l view -d 'View to draw in svg, html and text' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l size -d 'Columns x rows of svg, html and text' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l interval -d 'Time between lines' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l wait -d 'Longest wait for history before the first line [default: 30s]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l count -d 'Number of lines to print [default: until interrupted]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l replay -d 'Read this recording, as fast as possible, instead of a live deployment' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -s o -l output -d 'Output format' -r -f -a "text\t'A table, with the inputs and their basis'
json\t'JSON as described in docs/reference/json.md'
yaml\t'The same as YAML'
jsonpath=\t'Values that a template selects, as in kubectl, such as jsonpath={.kvtop}'"
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l demo -d 'Use a simulated deployment; `--for` is simulated time' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l seed -d 'Seed of the simulated deployment' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l for -d 'Time to listen after reading history' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l wait -d 'Longest wait for history and for sources to answer [default: 30s]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l what -d 'Questions to answer [default: all, or those whose values are given]' -r -f -a "workers\t'More workers, or fewer'
cache\t'A larger KV cache'
weight\t'Other overlap weights'
temperature\t'Other router temperatures'
mode\t'KV-aware routing against round-robin'
block-size\t'Other block sizes'
now\t'Only the present and its ceiling, no changes'"
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l workers -d 'Workers to add or remove [default: +1,-1]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l cache -d 'Factors of the KV cache [default: 1.5]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l weight -d 'Overlap weights [default: 0,0.5,2]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l temperature -d 'Router temperatures [default: 0.2,0.5]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l block-size -d 'Tokens per block [default: 16,32,64]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l drain -d 'Drain this worker: its pod, the end of the pod\'s name, or its short name such as w0' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l seeds -d 'Simulations of each answer; their results give its range' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l objective -d 'Objective for the TTFT p95, which sets the ceiling [default: the configured one, or 600ms]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l users -d 'Conversations at once [default: the requests in flight]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l simulate -d 'Simulated time of each measurement' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -s o -l output -d 'Output format' -r -f -a "text\t'One line with performance data, for Nagios-compatible monitoring'
wide\t'The same, then each finding with its evidence and fix, and each check'
name\t'Ids of the active findings, one a line'
prometheus\t'Prometheus metrics'
json\t'JSON as described in docs/reference/json.md'
yaml\t'The same as YAML'
jsonpath=\t'Values that a template selects, as in kubectl, such as jsonpath={.kvtop}'"
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l replay -d 'Check this recording instead of a live deployment' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l for -d 'Time to listen after reading history' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l wait -d 'Wait up to this time until everything is healthy, for example after a fix. Also the limit for reading history [default: 30s]. If history is still incomplete, the output reports it and the exit code is 3' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -s l -l selector -d 'With several deployments: only those whose graph deployment has these labels, as kubectl selects, such as `team=search,tier!=dev`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -s A -l all-namespaces -d 'All deployments of the cluster, in every namespace that you may list'
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand lint" -s o -l output -d 'Output format' -r -f -a "text\t'Human-readable text'
name\t'Ids of the findings, one a line'
json\t'JSON as described in docs/reference/json.md'
yaml\t'The same as YAML'
jsonpath=\t'Values that a template selects, as in kubectl, such as jsonpath={.kvtop}'"
complete -c kvtop -n "__fish_kvtop_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand explain" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -s o -l output -d 'Output format' -r -f -a "text\t'One line per check'
json\t'JSON as described in docs/reference/json.md'
yaml\t'The same as YAML'
jsonpath=\t'Values that a template selects, as in kubectl, such as jsonpath={.kvtop}'"
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -s o -l output -d 'Output file; its name must end in .tar.zst' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l for -d 'Time to listen after reading history' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l replay -d 'Bundle this recording instead of listening to a live deployment' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand bundle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -l nats-namespace -d 'With --port-forward: the namespace of NATS if it differs, such as `dynamo-system`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -l secret -d 'Also print the optional role to read this one Secret, such as NATS credentials' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -l user -d 'Bind the role to this user [default: service account `kvtop`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -l port-forward -d 'Also print the optional role for port-forwards'
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -s A -l all-namespaces -d 'All deployments of the cluster, in every namespace that you may list'
complete -c kvtop -n "__fish_kvtop_using_subcommand rbac" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l listen -d 'Listen address; use `:9478` (all addresses) in a pod' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l tls-cert -d 'Serve over TLS with this certificate (PEM, with its chain)' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l tls-key -d 'Private key of the TLS certificate (PEM)' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l token-file -d 'Answer only requests that carry the bearer token in this file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l shard -d 'Watch only this part of the namespaces, chosen by a hash of their names, such as `2/5` for the second of five exporters' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l metrics-level -d 'Smallest unit with series of its own: `fleet` (about 250 series per deployment), `worker` (about 20 more per worker) or `rank` (about 20 more per rank)' -r -f -a "fleet\t'The deployment as a whole'
worker\t'Each worker, its ranks added up'
rank\t'Each rank of each worker'"
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -s l -l selector -d 'With several deployments: only those whose graph deployment has these labels, as kubectl selects, such as `team=search,tier!=dev`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -s A -l all-namespaces -d 'All deployments of the cluster, in every namespace that you may list'
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l as -d 'Kubernetes user to impersonate' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l request-timeout -d 'Timeout of a single request to the API server' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-creds -d 'NATS credentials file' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-nkey -d 'File with a NATS nkey seed' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-user -d 'NATS user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-password-file -d 'File with the NATS password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-tls-ca -d 'CA certificate of the NATS server' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-tls-cert -d 'Client certificate for NATS' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l nats-tls-key -d 'Key of the NATS client certificate' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l zmq -d 'Address of a ZMQ publisher or broker, such as `tcp://10.42.0.17:41857`; may be repeated. Disables automatic discovery of publishers' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l engine -d 'Address of an engine\'s own event socket, such as `tcp://10.42.0.17:20080`, as with `--deep` but without Kubernetes; may be repeated. kvtop finds the engine\'s worker by the blocks that both report' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l etcd-url -d 'Address of etcd with discovery records of workers and publishers, such as `http://localhost:2379` [default: `ETCD_ENDPOINTS`]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l etcd-user -d 'etcd user' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l etcd-password-file -d 'File with the etcd password' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l frontend-url -d 'Address of a frontend, such as `http://localhost:8000`, to read its metrics without Kubernetes; may be repeated' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l logs -d 'Logs of the router and the workers, as `kubectl logs` prints them; `-` is standard input. Beside a source of events they are followed as they grow; alone, `kvtop check` judges them as they are' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l indexer-url -d 'Address of a standalone indexer (`dynamo.indexer`), such as `http://localhost:8090`, whose dump provides history (Dynamo 1.1+)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l discovery-dir -d 'Directory with discovery records, as written with `DYN_DISCOVERY_BACKEND=file`' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l offline -d 'Attach to no deployment: only read files; needs at least one PATH'
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l deep -d 'Also listen to the engines\' own event sockets (vLLM, SGLang), which report the engine block size. Their events contain prompt tokens; kvtop drops these at once and never stores or shows them'
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -l keep-log-text -d 'Keep whole log lines (redacted) instead of only the fields that kvtop reads. Redaction cannot recognise every prompt and secret, so do not share such recordings'
complete -c kvtop -n "__fish_kvtop_using_subcommand mcp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l image -d 'Container image [default: `kvtop:` and the version]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l metrics-level -d 'Level of the metrics, as for `kvtop export`' -r -f -a "fleet\t'The deployment as a whole'
worker\t'Each worker, its ranks added up'
rank\t'Each rank of each worker'"
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l monitor -d 'Object by which the Prometheus operator finds the exporter' -r -f -a "pod\t'PodMonitor'
service\t'ServiceMonitor'
none\t'Neither, and no PrometheusRule'"
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l runbook-url -d 'Beginning of links to runbooks [default: the exporter, which serves them]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l secret -d 'Also print the role to read this one Secret, such as NATS credentials' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -s l -l selector -d 'With several deployments: only those whose graph deployment has these labels, as kubectl selects, such as `team=search,tier!=dev`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -s A -l all-namespaces -d 'All deployments of the cluster, in every namespace that you may list'
complete -c kvtop -n "__fish_kvtop_using_subcommand deploy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and not __fish_seen_subcommand_from list show check help" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and not __fish_seen_subcommand_from list show check help" -f -a "list" -d 'List all themes with their purpose'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and not __fish_seen_subcommand_from list show check help" -f -a "show" -d 'Print the colours of a theme with their contrasts'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and not __fish_seen_subcommand_from list show check help" -f -a "check" -d 'Check contrast, and the distance between state colours for every kind of colour vision; exit code 1 if a theme fails'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and not __fish_seen_subcommand_from list show check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from show" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from help" -f -a "list" -d 'List all themes with their purpose'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the colours of a theme with their contrasts'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check contrast, and the distance between state colours for every kind of colour vision; exit code 1 if a theme fails'
complete -c kvtop -n "__fish_kvtop_using_subcommand themes; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kvtop -n "__fish_kvtop_using_subcommand keys" -s o -l output -d 'Output format' -r -f -a "text\t'Aligned columns'
md\t'A Markdown table'"
complete -c kvtop -n "__fish_kvtop_using_subcommand keys" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand keys" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand man" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and not __fish_seen_subcommand_from init path check show help" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and not __fish_seen_subcommand_from init path check show help" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and not __fish_seen_subcommand_from init path check show help" -f -a "init" -d 'Create a config file that explains every setting and sets none'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and not __fish_seen_subcommand_from init path check show help" -f -a "path" -d 'Print the path of the config file'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and not __fish_seen_subcommand_from init path check show help" -f -a "check" -d 'Report every error with its line'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and not __fish_seen_subcommand_from init path check show help" -f -a "show" -d 'Print the effective settings and where each one comes from'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and not __fish_seen_subcommand_from init path check show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from init" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from init" -l stdout -d 'Print to standard output instead'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from path" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from path" -s h -l help -d 'Print help'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -s n -l namespace -d 'Kubernetes namespace, or the name of a graph deployment or Dynamo namespace in any namespace that you may list; everything else is discovered. May be repeated for the fleet view, `check` and `export`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l context -d 'Kubernetes context to use' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l kubeconfig -d 'Kubeconfig file to use' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l dgd -d 'Graph deployment to inspect, if the namespace has several' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l nats-url -d 'Address of the NATS server, such as `nats://localhost:4222`' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l nats-context -d 'NATS context to use (see `nats context`)' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l dynamo-namespace -d 'Dynamo namespace [default: all]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l max-memory -d 'Memory limit for the process, such as 512MiB [default: 1GiB]' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Config file to use instead of the default one' -r -F
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l theme -d 'Theme; `terminal` uses your terminal\'s colours, `auto` picks light or dark from the terminal background' -r
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l color -d 'Use of colours' -r -f -a "auto\t'If the terminal supports them, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l glyphs -d 'Characters to draw with [default: depends on the locale]' -r -f -a "unicode\t'Boxes, dots and blocks'
ascii\t'Plain ASCII'"
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l bell -d 'Ring the terminal\'s bell once for each new critical finding' -r -f -a "true\t''
false\t''"
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -l no-port-forward -d 'Never open a port-forward, even if a cluster address is otherwise unreachable'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "init" -d 'Create a config file that explains every setting and sets none'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "path" -d 'Print the path of the config file'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "check" -d 'Report every error with its line'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the effective settings and where each one comes from'
complete -c kvtop -n "__fish_kvtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "demo" -d 'Open the live screen on a simulated deployment; no cluster needed'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "replay" -d 'Play a recording on the live screen'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "report" -d 'Write the report of an incident, from a recording or the last minutes of a deployment: timeline, effect on users, findings, fixes'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "diff" -d 'Compare two recordings or snapshots: exit code 0 same, 1 different, 2 unreadable or invalid command line'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "record" -d 'Record all incoming data to a file'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "snapshot" -d 'Print a one-off snapshot'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "stat" -d 'Print one line of figures per second'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "plan" -d 'Simulate what would help: workers, cache, routing, block sizes'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "check" -d 'Run all checks once and exit with a monitoring-plugin status code: 0 OK, 1 warning, 2 critical, 3 unknown'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "lint" -d 'Lint manifests and engine configs before deployment: exit code 0 clean, 1 findings, 3 unreadable or no deployment'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "explain" -d 'Explain a finding: meaning, detection and fix'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "doctor" -d 'Diagnose connectivity and permissions: cluster, RBAC, events, logs, metrics, terminal'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "bundle" -d 'Collect a support bundle: recording, findings, coverage and settings in one file'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "rbac" -d 'Print the Kubernetes RBAC role that kvtop needs'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "export" -d 'Serve Prometheus metrics, without a screen'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "mcp" -d 'Serve read-only answers to assistants, over the Model Context Protocol on standard input and output'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "deploy" -d 'Print files that deploy `kvtop export` to a cluster: manifests, alert rules, Grafana dashboards'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "schema" -d 'Print the JSON Schema of an output or of the config file'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "themes" -d 'List, show and check (contrast) themes'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "keys" -d 'Print all keys and the names of their actions'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "completions" -d 'Print shell completions'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "man" -d 'Print a manual page'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "config" -d 'Create, locate, validate and print the configuration'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and not __fish_seen_subcommand_from demo replay report diff record snapshot stat plan check lint explain doctor bundle rbac export mcp deploy schema themes keys completions man config help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and __fish_seen_subcommand_from themes" -f -a "list" -d 'List all themes with their purpose'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and __fish_seen_subcommand_from themes" -f -a "show" -d 'Print the colours of a theme with their contrasts'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and __fish_seen_subcommand_from themes" -f -a "check" -d 'Check contrast, and the distance between state colours for every kind of colour vision; exit code 1 if a theme fails'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "init" -d 'Create a config file that explains every setting and sets none'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "path" -d 'Print the path of the config file'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "check" -d 'Report every error with its line'
complete -c kvtop -n "__fish_kvtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Print the effective settings and where each one comes from'
