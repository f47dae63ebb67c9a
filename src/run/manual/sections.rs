//! The last sections of manual pages: exit status, environment, files, examples.

use crate::cli::examples;

/// Codes and what they mean.
type Codes = &'static [(&'static str, &'static str)];

const SIGNALS: (&str, &str) = ("129, 130, 143", "ended by SIGHUP, SIGINT or SIGTERM");
const USAGE: (&str, &str) = ("2", "invalid command line, or an unknown name");

fn codes(command: &str) -> Codes {
    match command {
        "check" => &[
            ("0", "OK"),
            ("1", "warning"),
            ("2", "critical"),
            ("3", "unknown, invalid command line, or no deployment"),
            SIGNALS,
        ],
        "lint" => &[
            ("0", "no findings; notes do not count"),
            ("1", "findings"),
            ("3", "unreadable input, no deployment, or invalid command line"),
        ],
        "diff" => &[
            ("0", "nothing differs, and nothing is known on one side only"),
            ("1", "something differs, or is known on one side only"),
            ("2", "a file cannot be read, or invalid command line"),
            SIGNALS,
        ],
        "doctor" => {
            &[("0", "everything is available"), ("1", "at least one check failed"), USAGE, SIGNALS]
        }
        "snapshot" => &[
            ("0", "data was received"),
            ("1", "no data was received, or a failure"),
            USAGE,
            ("3", "history is incomplete"),
            SIGNALS,
        ],
        "record" | "bundle" => &[
            ("0", "the file is complete, even if a signal ended the recording"),
            ("1", "failure of a file or a server"),
            USAGE,
        ],
        _ => &[
            ("0", "success"),
            ("1", "failure of a file, a server or the terminal"),
            USAGE,
            SIGNALS,
        ],
    }
}

/// Variables that every command with a deployment or a screen reads.
const VARIABLES: [(&str, &str); 8] = [
    ("KVTOP_CONFIG", "config file to use"),
    ("KVTOP_*", "any setting, such as KVTOP_THEME; wins over the config file, loses to flags"),
    ("KUBECONFIG", "kubeconfig files, as for kubectl"),
    ("NATS_URL, NATS_CREDS, NATS_NKEY", "address and login of NATS, as for the nats command"),
    ("NATS_SERVER, NATS_AUTH_*", "the same, as Dynamo names them"),
    ("ETCD_ENDPOINTS", "addresses of etcd"),
    ("NO_COLOR, CLICOLOR_FORCE", "never or always use colours"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "where the files below are"),
];

/// Files that kvtop reads and writes.
const FILES: [(&str, &str); 5] = [
    ("$XDG_CONFIG_HOME/kvtop/config.toml", "settings; else ~/.config/kvtop/config.toml"),
    ("$XDG_CONFIG_HOME/kvtop/themes/*.toml", "themes of your own"),
    ("$XDG_CONFIG_HOME/kvtop/labels.toml", "names of blocks"),
    ("$XDG_CONFIG_HOME/nats/context/*.json", "contexts of the nats command"),
    ("$XDG_STATE_HOME/kvtop/clip.txt", "the last text that was copied"),
];

/// Returns the sections that end the page of a command; an empty name is kvtop itself.
pub(super) fn after(command: &str) -> String {
    let mut text = list("EXIT STATUS", codes(command));
    let first = command.split('-').next().unwrap_or_default();
    if !["lint", "explain", "schema", "completions", "man"].contains(&first) {
        text.push_str(&list("ENVIRONMENT", &VARIABLES));
        text.push_str(&list("FILES", &FILES));
    }
    let examples = examples(&command.replace('-', " "));
    if !examples.is_empty() {
        text.push_str(&list("EXAMPLES", examples));
    }
    text
}

/// Returns a section of terms with their meanings.
fn list(title: &str, rows: &[(&str, &str)]) -> String {
    let row = |(term, about): &(&str, &str)| {
        format!(".TP\n\\fB{}\\fR\n{}\n", escaped(term), escaped(about))
    };
    format!(".SH \"{title}\"\n{}", rows.iter().map(row).collect::<Vec<_>>().concat())
}

/// Returns `text` for troff: a hyphen that can be copied, and no line that begins with a request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
