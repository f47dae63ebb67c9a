//! Pages about settings: the template of `kvtop config init`, the listing of `kvtop config show`
//! and docs/reference/config.md.

use std::fmt::Write as _;

use super::Config;
use super::setting::{CONTEXT_COLOR, Kind, SETTINGS, Setting};
use crate::domain::steers;

/// A threshold of the rules, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Its name in the file.
    pub name: String,
    /// Its value when nobody sets it.
    pub default: String,
    /// Its unit.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// Columns of a comment in the template.
const COLUMNS: usize = 96;

/// Returns a config file that sets nothing: every setting, its meaning and its default, as comments.
/// `thresholds` are those of the rules.
pub fn template(thresholds: &[Threshold]) -> String {
    let mut page = String::from(
        "# Settings of kvtop. Flags and KVTOP_* variables win over this file.\n# `kvtop config check` reports \
         errors, `kvtop config show` prints the effective settings.\n",
    );
    let (plain, sectioned): (Vec<&Setting>, Vec<&Setting>) =
        SETTINGS.into_iter().partition(|setting| !setting.name.contains('.'));
    for setting in plain {
        entry(&mut page, setting, setting.name);
    }
    let mut section = "";
    for setting in sectioned {
        let Some((own, key)) = setting.name.split_once('.') else { continue };
        if own != section {
            put(&mut page, format_args!("\n[{own}]\n"));
            section = own;
        }
        entry(&mut page, setting, key);
    }
    put(&mut page, format_args!("\n# [contexts.prod]\n"));
    entry(&mut page, CONTEXT_COLOR, "color");
    page.push_str(
        "\n# Keys by action name (`kvtop keys` prints the names): one key, a list, or [] for none.\n# [keys]\n# \
         toggle-freeze = [\"Space\", \"F5\"]\n",
    );
    if !thresholds.is_empty() {
        page.push_str(
            "\n# Thresholds of the rules, see docs/reference/config.md.\n# [thresholds]\n",
        );
        for Threshold { name, default, .. } in thresholds {
            put(&mut page, format_args!("# {name} = {default}\n"));
        }
    }
    page
}

fn entry(page: &mut String, setting: &Setting, key: &str) {
    let mut line = String::from("#");
    page.push('\n');
    for word in format!("{}.", setting.about).split_whitespace() {
        if line.len() + word.len() >= COLUMNS {
            put(page, format_args!("{line}\n"));
            line = String::from("#");
        }
        put(&mut line, format_args!(" {word}"));
    }
    put(page, format_args!("{line}\n"));
    let value = setting.default.unwrap_or(setting.example);
    put(page, format_args!("# {key} = {}\n", toml_of(setting.kind, value)));
}

/// Returns `value` as TOML writes it.
fn toml_of(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Flag => value.to_owned(),
        Kind::Words(_) => format!("{:?}", value.split_whitespace().collect::<Vec<_>>()),
        _ => format!("{value:?}"),
    }
}

/// Returns what holds, and who said so.
pub fn listing(config: &Config) -> String {
    let mut rows: Vec<(String, String, String)> = SETTINGS
        .into_iter()
        .map(|setting| {
            let value = config.text(setting).map(|value| shown(setting.kind, value));
            let value = value.unwrap_or_else(|| "-".to_owned());
            (setting.name.to_owned(), value, config.origin(setting).to_string())
        })
        .collect();
    for section in ["contexts", "thresholds", "keys"] {
        rows.extend(config.section(section).map(|(name, value, origin)| {
            (format!("{section}.{name}"), value.to_owned(), origin.to_string())
        }));
    }
    let wide = |pick: fn(&(String, String, String)) -> &String| {
        rows.iter().map(|row| pick(row).chars().count()).max().unwrap_or(0)
    };
    let (names, values) = (wide(|row| &row.0), wide(|row| &row.1));
    let mut page = String::new();
    for (name, value, origin) in &rows {
        put(&mut page, format_args!("{name:names$}  {value:values$}  {origin}\n"));
    }
    page
}

/// Returns a value that is fit to be shown: addresses without what stands before the host, and
/// nothing that a terminal would obey.
pub(super) fn shown(kind: Kind, value: &str) -> String {
    let clean: String = value.chars().filter(|letter| !steers(*letter)).collect();
    if kind != Kind::Url {
        return clean;
    }
    let parts = clean.split(',').map(|address| {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Returns docs/reference/config.md; `thresholds` are those of the rules.
pub fn manual(thresholds: &[Threshold]) -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         Generated from the settings (`tests/bless` rewrites it).\n\n\
         Settings come from, later ones winning: defaults, the config file, `KVTOP_*` variables, \
         flags.\nThe file is `$XDG_CONFIG_HOME/kvtop/config.toml`, else \
         `~/.config/kvtop/config.toml`; `--config FILE` or\n`KVTOP_CONFIG` name another. An unknown \
         key is an error that names its line and the nearest known key.\n\n\
         ```\nkvtop config init     # write a file in which everything is explained, and nothing \
         set\nkvtop config path     # where it is\nkvtop config check    # every mistake, with its \
         line\nkvtop config show     # effective settings, and where each one comes from\n```\n\n\
         A target given by flag or variable replaces the target in the file: `--nats-url` makes kvtop ignore \
         the file's\nnamespace, context and deployment; `-n` its NATS server; `--context` its namespace. The \
         file holds no login;\n[nats.md](nats.md) says where those come from.\n\n\
         `labels.toml` beside the file gives names to blocks: the tree shows hashes, since events hold no\n\
         text. A key is a hash as the tree and events show it, or its first 8 digits or more:\n\n\
         ```toml\na31f09c2 = \"system prompt\"\n\"5512e3f0a9b10c44\" = \"the one with tools\"\n```\n\n\
         | key | default | flag | variable | meaning |\n|---|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        let flag = setting.flag.map_or_else(String::new, |flag| format!("`{flag}`"));
        let default = setting.default.map_or_else(String::new, |text| format!("`{text}`"));
        let variable = setting.variable();
        let (name, about) = (setting.name, meaning(setting));
        put(
            &mut page,
            format_args!("| `{name}` | {default} | {flag} | `{variable}` | {about} |\n"),
        );
    }
    let (name, about) = (CONTEXT_COLOR.name, meaning(CONTEXT_COLOR));
    put(&mut page, format_args!("| `{name}` | | | | {about} |\n"));
    put(
        &mut page,
        format_args!(
            "\nThe name of a section is the part before the dot: `[nats]`, \
             `[contexts.prod]`. `[keys]` gives actions other\nkeys, by the names of [keys.md](keys.md): \
             a key or a list of them, which replace the usual ones; an empty\nlist takes the action's \
             keys away. A key that has another meaning in the same place is an error. `Ctrl-C`\nquits \
             in any case.\n\n```toml\ntheme = \"auto\"\nbell = true\nnamespace = \
             \"gtc-demo\"\n\n[nats]\ncontext = \"staging\"\n\n[contexts.prod]\ncolor = \
             \"red\"\n\n[keys]\ntoggle-freeze = [\"Space\", \"F5\"]\nnext-theme = []\n```\n"
        ),
    );
    page.push_str(
        "\n## Thresholds\n\n`[thresholds]` moves the lines that rules draw; [findings.md](findings.md) \
         says what each rule compares.\nThe defaults are those that [DIAGNOSIS.md](../DIAGNOSIS.md) \
         measures.\n\n| key | default | unit | meaning |\n|---|---|---|---|\n",
    );
    for Threshold { name, default, unit, meaning } in thresholds {
        put(&mut page, format_args!("| `{name}` | `{default}` | {unit} | {meaning} |\n"));
    }
    page
}

fn meaning(setting: &Setting) -> String {
    let values = match setting.kind {
        Kind::Choice(known) | Kind::Words(known) => {
            let known: Vec<_> = known.iter().map(|one| format!("`{one}`")).collect();
            format!(" ({})", known.join(", "))
        }
        _ => String::new(),
    };
    format!("{}{values}", setting.about)
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    page.write_fmt(text).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::super::file::{Known, read};
    use super::*;

    #[test]
    fn the_template_sets_nothing_and_can_be_uncommented() {
        assert_eq!(read(&template(&[]), &Known::default()), (Vec::new(), Vec::new()));
        let entry = |line: &&str| line.starts_with('#') && line.contains(" = ");
        let lines = template(&[]);
        let bare: Vec<String> = lines
            .lines()
            .filter(|line| !line.contains("keys") && !line.contains("toggle"))
            .filter(|line| (entry(line) && !line.contains('`')) || line.contains('['))
            .map(|line| line.trim_start_matches("# ").to_owned())
            .collect();
        let (given, problems) = read(&bare.join("\n"), &Known::default());
        assert_eq!(problems, []);
        assert_eq!(given.len(), SETTINGS.len() + 1, "{given:?}");
    }

    #[test]
    fn logins_are_not_shown() {
        assert_eq!(shown(Kind::Url, "nats://me:secret@h:1,nats://b:2"), "nats://h:1,nats://b:2");
        assert_eq!(shown(Kind::Text, "a\u{1b}[31mb"), "a[31mb");
    }
}
