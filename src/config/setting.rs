//! Every setting there is. File, environment, `kvtop config` and docs/reference/config.md are made
//! from this table; flags name their settings here.

use super::file::nearest;
use crate::cli;

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// The name of a Kubernetes namespace.
    Label,
    /// The name of a Dynamo namespace.
    Subject,
    /// One of these.
    Choice(&'static [&'static str]),
    /// True or false.
    Flag,
    /// A span of time, such as `600ms`.
    Time,
    /// An amount of memory, such as `512MiB`.
    Size,
    /// An address without a login.
    Url,
    /// Names of keys, with spaces between them.
    Keys,
    /// Some of these words, each once, with spaces between them; a list in the file.
    Words(&'static [&'static str]),
    /// A number that is not negative.
    Number,
    /// A colour: `#rrggbb`, or a name of one of the sixteen.
    Colour,
}

/// A setting of kvtop.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name; the part before a dot is the section of the file.
    pub name: &'static str,
    /// Its form.
    pub kind: Kind,
    /// The default; none when it is detected.
    pub default: Option<&'static str>,
    /// Its flag, where it has one.
    pub flag: Option<&'static str>,
    /// A value to show in an example.
    pub example: &'static str,
    /// Its meaning.
    pub about: &'static str,
}

/// Name of the theme, or `auto`.
pub const THEME: &Setting = &Setting {
    name: "theme",
    kind: Kind::Text,
    default: Some("auto"),
    flag: Some("--theme"),
    example: "nord",
    about: "Theme, see `kvtop themes list`; `auto` takes `theme-dark` or `theme-light` by the \
            terminal's background",
};

/// The theme of `auto` on a dark ground.
pub const THEME_DARK: &Setting = &Setting {
    name: "theme-dark",
    kind: Kind::Text,
    default: Some("dark"),
    flag: None,
    example: "catppuccin-mocha",
    about: "Theme that `theme = \"auto\"` uses on a dark background",
};

/// The theme of `auto` on a light ground.
pub const THEME_LIGHT: &Setting = &Setting {
    name: "theme-light",
    kind: Kind::Text,
    default: Some("light"),
    flag: None,
    example: "catppuccin-latte",
    about: "Theme that `theme = \"auto\"` uses on a light background",
};

/// Use of colours.
pub const COLOR: &Setting = &Setting {
    name: "color",
    kind: Kind::Choice(&["auto", "always", "never"]),
    default: Some("auto"),
    flag: Some("--color"),
    example: "never",
    about: "When to use colours; `auto` means if the terminal supports them, unless `NO_COLOR` is set",
};

/// The characters to draw with.
pub const GLYPHS: &Setting = &Setting {
    name: "glyphs",
    kind: Kind::Choice(&["auto", "unicode", "ascii"]),
    default: Some("auto"),
    flag: Some("--glyphs"),
    example: "ascii",
    about: "Characters to draw with; `auto` depends on the locale",
};

/// Time that graphs cover at first.
pub const WINDOW: &Setting = &Setting {
    name: "window",
    kind: Kind::Choice(&["1m", "5m", "15m", "1h"]),
    default: Some("5m"),
    flag: None,
    example: "15m",
    about: "Time that graphs cover when the screen opens; `+` and `-` change it",
};

/// The figures that a headline can show, by name.
pub const FIGURES: [&str; 20] = [
    "hits",
    "ttft",
    "ttft-p95",
    "ttft-p99",
    "itl",
    "itl-p95",
    "itl-p99",
    "queue",
    "queue-p95",
    "queue-p99",
    "rejected",
    "index",
    "kv",
    "workers",
    "registered",
    "routed",
    "tokens",
    "running",
    "waiting",
    "tiers",
];

/// The figures of the headline.
pub const HEADLINE: &Setting = &Setting {
    name: "headline",
    kind: Kind::Words(&FIGURES),
    default: Some("hits ttft rejected index kv"),
    flag: None,
    example: "workers hits ttft-p95 itl-p95 queue-p95 tokens running waiting",
    about: "Figures above the overview, in this order; the last ones are hidden on narrow screens. `ttft` is the \
            time to first token, `itl` the time between tokens, `queue` the time in engines' queues: p50 and p95 \
            unless one is named. `tokens`, `routed` and `tiers` (blocks that KVBM moves) are per second. `c` in the \
            overview picks figures until kvtop ends",
};

/// The mouse.
pub const MOUSE: &Setting = &Setting {
    name: "mouse",
    kind: Kind::Flag,
    default: Some("true"),
    flag: None,
    example: "false",
    about: "Take the mouse: tabs, rows, headers, the wheel and the timeline; `m` toggles it",
};

/// The bell.
pub const BELL: &Setting = &Setting {
    name: "bell",
    kind: Kind::Flag,
    default: Some("false"),
    flag: Some("--bell"),
    example: "true",
    about: "Ring the terminal's bell once for each new critical finding",
};

/// Notifications of the desktop.
pub const NOTIFY: &Setting = &Setting {
    name: "notify",
    kind: Kind::Choice(&["off", "osc9", "osc777"]),
    default: Some("off"),
    flag: None,
    example: "osc9",
    about: "Have the terminal show a notification for each new critical finding, by the sequence \
            that it knows: OSC 9 (iTerm2, WezTerm, kitty) or OSC 777 (foot, urxvt)",
};

/// Links of findings.
pub const LINKS: &Setting = &Setting {
    name: "links",
    kind: Kind::Text,
    default: None,
    flag: None,
    example: "https://docs.example/kvtop/",
    about: "Link the ids of findings on the screen (OSC 8) to their pages, at this address with the id behind it, such \
            as KVT001; `kvtop export` serves such pages below /explain/. No links without colours",
};

/// The Kubernetes namespace.
pub const NAMESPACE: &Setting = &Setting {
    name: "namespace",
    kind: Kind::Label,
    default: None,
    flag: Some("--namespace"),
    example: "gtc-demo",
    about: "Kubernetes namespace of the deployment; by default the context's own",
};

/// The Kubernetes context.
pub const CONTEXT: &Setting = &Setting {
    name: "context",
    kind: Kind::Text,
    default: None,
    flag: Some("--context"),
    example: "prod",
    about: "Kubernetes context to use; by default the current one",
};

/// The graph deployment.
pub const DGD: &Setting = &Setting {
    name: "dgd",
    kind: Kind::Text,
    default: None,
    flag: Some("--dgd"),
    example: "vllm-agg",
    about: "Graph deployment to inspect, if the namespace has several",
};

/// The Dynamo namespace.
pub const DYNAMO_NAMESPACE: &Setting = &Setting {
    name: "dynamo-namespace",
    kind: Kind::Subject,
    default: None,
    flag: Some("--dynamo-namespace"),
    example: "dynamo",
    about: "Dynamo namespace to inspect; default: all",
};

/// Permission to open port-forwards.
pub const PORT_FORWARD: &Setting = &Setting {
    name: "port-forward",
    kind: Kind::Flag,
    default: Some("true"),
    flag: Some("--no-port-forward"),
    example: "false",
    about: "Open a port-forward if a cluster address is otherwise unreachable",
};

/// Memory limit of the process.
pub const MAX_MEMORY: &Setting = &Setting {
    name: "max-memory",
    kind: Kind::Size,
    default: Some("1GiB"),
    flag: Some("--max-memory"),
    example: "512MiB",
    about: "Memory limit of the process; at the limit kvtop drops the coldest blocks and raises KVT008",
};

/// The address of NATS.
pub const NATS_URL: &Setting = &Setting {
    name: "nats.url",
    kind: Kind::Url,
    default: None,
    flag: Some("--nats-url"),
    example: "nats://localhost:4222",
    about: "Address of the NATS server; keep credentials in a NATS context",
};

/// The objective for times to the first token.
pub const TTFT_P95: &Setting = &Setting {
    name: "objectives.ttft_p95",
    kind: Kind::Time,
    default: None,
    flag: None,
    example: "600ms",
    about: "Objective for the time to the first token: 95 % of requests should wait no longer. Screens mark \
            what is above it; the check for momentary overload compares with it, and with 600ms when it is \
            not set",
};

/// The objective for times between tokens.
pub const ITL_P95: &Setting = &Setting {
    name: "objectives.itl_p95",
    kind: Kind::Time,
    default: None,
    flag: None,
    example: "60ms",
    about: "Objective for the time between tokens: 95 % of them should be no further apart. Screens mark \
            what is above it",
};

/// The NATS context.
pub const NATS_CONTEXT: &Setting = &Setting {
    name: "nats.context",
    kind: Kind::Text,
    default: None,
    flag: Some("--nats-context"),
    example: "staging",
    about: "NATS context to use, see `nats context`",
};

/// Every setting with a name of its own, in the order of the file.
pub const SETTINGS: [&Setting; 21] = [
    THEME,
    THEME_DARK,
    THEME_LIGHT,
    COLOR,
    GLYPHS,
    WINDOW,
    HEADLINE,
    MOUSE,
    BELL,
    NOTIFY,
    LINKS,
    NAMESPACE,
    CONTEXT,
    DGD,
    DYNAMO_NAMESPACE,
    PORT_FORWARD,
    MAX_MEMORY,
    NATS_URL,
    NATS_CONTEXT,
    TTFT_P95,
    ITL_P95,
];

/// The colour of a Kubernetes context in the status bar; `NAME` stands for the context.
pub const CONTEXT_COLOR: &Setting = &Setting {
    name: "contexts.NAME.color",
    kind: Kind::Colour,
    default: None,
    flag: None,
    example: "red",
    about: "Background colour of `kvtop` in the status bar for this context, for example to mark production",
};

impl Setting {
    /// Returns its environment variable: `KVTOP_MAX_MEMORY` of `max-memory`.
    pub fn variable(&self) -> String {
        let name = self.name.to_ascii_uppercase().replace(['-', '.'], "_");
        format!("KVTOP_{name}")
    }
}

impl Kind {
    /// Returns what a value may be, for people.
    pub fn about(self) -> String {
        match self {
            Self::Text | Self::Label | Self::Subject => "text".to_owned(),
            Self::Choice(known) => known.join(", "),
            Self::Flag => "true or false".to_owned(),
            Self::Time => "time such as 600ms".to_owned(),
            Self::Size => "size such as 512MiB".to_owned(),
            Self::Url => "address".to_owned(),
            Self::Words(known) => format!("a list of some of {}", known.join(", ")),
            Self::Keys => "a key such as `F5`, or a list of them".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Colour => "colour: #rrggbb or one of the sixteen names".to_owned(),
        }
    }

    /// Returns why `text` cannot be a value, if it cannot.
    pub fn refuse(self, text: &str) -> Result<(), String> {
        match self {
            Self::Text | Self::Url if text.is_empty() => Err("must not be empty".to_owned()),
            Self::Choice(known) if !known.contains(&text) => {
                Err(format!("`{text}` is none of {}", known.join(", ")))
            }
            Self::Flag if !["true", "false"].contains(&text) => {
                Err(format!("`{text}` is neither true nor false"))
            }
            Self::Words(known) => words(known, text),
            Self::Label => cli::place(text).map(drop).map_err(|why| format!("`{text}` is {why}")),
            Self::Subject => {
                cli::subject(text).map(drop).map_err(|why| format!("`{text}` is {why}"))
            }
            Self::Size => cli::bytes(text).map(drop),
            Self::Time => cli::duration(text).map(drop),
            Self::Url if has_login(text) => {
                Err("holds a login, which no config file should; put it into a NATS context"
                    .to_owned())
            }
            Self::Url if !is_nats(text) => {
                Err(format!("`{text}` is no address of NATS; expected nats://host:port"))
            }
            Self::Number => match text.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(()),
                _ => Err(format!("`{text}` is no number from 0 on")),
            },
            Self::Colour if !is_colour(text) => {
                Err(format!("`{text}` is no colour; known are {} and #rrggbb", COLOURS.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

/// Returns why `text` is no list of words that are `known`, each once.
fn words(known: &[&str], text: &str) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        if !known.contains(&word) {
            let near = nearest(word, known.iter().map(|known| (*known).to_owned()));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("`{word}` is none of {}{near}", known.join(", ")));
        }
        if seen.contains(&word) {
            return Err(format!("`{word}` is named twice"));
        }
        seen.push(word);
    }
    if seen.is_empty() { Err("must name at least one".to_owned()) } else { Ok(()) }
}

/// Returns true when every address is one that NATS clients understand.
fn is_nats(text: &str) -> bool {
    text.split(',').all(|address| match address.trim().split_once("://") {
        Some((scheme, rest)) => ["nats", "tls"].contains(&scheme) && !rest.is_empty(),
        None => !address.trim().is_empty(),
    })
}

/// Returns true when an address, or one of several, holds a login.
fn has_login(text: &str) -> bool {
    text.split(',').any(|address| {
        let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
        rest.split('/').next().is_some_and(|host| host.contains('@'))
    })
}

/// The names that a context's colour may have, as themes name them.
pub const COLOURS: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "gray",
    "dark-gray",
    "light-red",
    "light-green",
    "light-yellow",
    "light-blue",
    "light-magenta",
    "light-cyan",
    "white",
];

fn is_colour(text: &str) -> bool {
    let hex = text.strip_prefix('#').is_some_and(|digits| {
        digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    hex || COLOURS.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_examples_are_values() {
        for setting in SETTINGS.into_iter().chain([CONTEXT_COLOR]) {
            for text in setting.default.into_iter().chain([setting.example]) {
                assert_eq!(setting.kind.refuse(text), Ok(()), "{}: {text}", setting.name);
            }
        }
    }

    #[test]
    fn values_that_do_not_fit_are_explained() {
        let why = |kind: Kind, text: &str| kind.refuse(text).unwrap_err();
        assert!(why(GLYPHS.kind, "emoji").contains("auto, unicode, ascii"));
        assert!(why(Kind::Url, "nats://me:secret@host:4222").contains("NATS context"));
        assert!(why(Kind::Url, "nats://a:1,me@host:4222").contains("NATS context"));
        assert!(why(Kind::Colour, "crimson").contains("light-red"));
        assert!(why(HEADLINE.kind, "hits itl-59").ends_with("did you mean `itl-p95`?"));
        assert!(why(HEADLINE.kind, "hits ttft hits").contains("`hits` is named twice"));
        assert!(why(HEADLINE.kind, " ").contains("at least one"));
        assert!(why(Kind::Size, "many").contains("many"));
        assert_eq!(Kind::Url.refuse("nats://host:4222/a@b"), Ok(()));
        assert_eq!(MAX_MEMORY.variable(), "KVTOP_MAX_MEMORY");
    }
}
