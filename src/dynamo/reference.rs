//! The tables as a page of documentation.

use std::fmt::Write as _;

use super::setting::{Default, Setting};
use super::{Name, flag, label, metric, plane, release, router, settings, variable};
use crate::domain::GaugeName;

/// Returns `docs/reference/dynamo.md`.
pub fn reference() -> String {
    let mut page = String::new();
    // Writing into a text does not fail.
    if write(&mut page).is_err() {
        page.clear();
    }
    page
}

fn write(page: &mut String) -> std::fmt::Result {
    write!(
        page,
        "# Dynamo's names\n\nThe names that kvtop reads and proposes, by release of Dynamo ({}). \
         They stand in `src/dynamo`,\nfrom which `tests/bless names` writes this page.\n",
        release::span()
    )?;
    for (title, role, backend) in settings::PROCESSES {
        write!(
            page,
            "\n## {title}\n\n| setting | flags | variables | default |\n|---|---|---|---|\n"
        )?;
        for setting in settings::rows(role, backend).into_iter().flatten() {
            let off = setting.off.iter().map(|name| format!("`{name}` (off)"));
            let flags = setting.flags.iter().map(named).chain(off);
            writeln!(
                page,
                "| {} | {} | {} | {} |",
                setting.what.name(),
                flags.collect::<Vec<_>>().join(", "),
                setting.variables.iter().map(named).collect::<Vec<_>>().join(", "),
                defaults(setting),
            )?;
        }
    }
    write!(
        page,
        "\n## Router modes\n\n{}. Without one, or with one that Dynamo does not know: `{}`.\n",
        quoted(&router::MODES),
        router::ROUND_ROBIN
    )?;
    write!(
        page,
        "\n## Event plane and discovery\n\nTopics: {}. Streams of 0.9 end with `{}`. Discovery records: {}.\n",
        quoted(&plane::TOPICS),
        plane::STREAM_END,
        quoted(&plane::RECORD_KINDS)
    )?;
    page.push_str(
        "\n## Metrics\n\nA `:` in a name is written as `_`.\n\n| metric | quantity |\n|---|---|\n",
    );
    for (name, gauge) in metric::GAUGES {
        writeln!(page, "| `{name}` | {} |", GaugeName::about(*gauge))?;
    }
    for (title, names) in [
        ("Variables", variable::ALL),
        ("Flags of several processes", flag::ALL),
        ("Labels and annotations", label::ALL),
    ] {
        write!(page, "\n## {title}\n\n| name | meaning |\n|---|---|\n")?;
        for (_, name, about) in names {
            writeln!(page, "| `{name}` | {about} |")?;
        }
    }
    Ok(())
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn named(name: &Name) -> String {
    let text = name.text;
    match (name.since, name.before) {
        (None, None) => format!("`{text}`"),
        (Some(since), None) => format!("`{text}` (from {since})"),
        (None, Some(before)) => format!("`{text}` (before {before})"),
        (Some(since), Some(before)) => format!("`{text}` (from {since}, before {before})"),
    }
}

fn defaults(setting: &Setting) -> String {
    let mut all = vec![shown(setting.default)];
    for (since, default) in setting.later {
        all.push(format!("from {since}: {}", shown(*default)));
    }
    if let Some(until) = setting.until {
        all.push(format!("not used from {until}"));
    }
    all.join("; ")
}

fn shown(default: Default) -> String {
    match default {
        Default::Unknown => "–".to_owned(),
        Default::Count(count) => count.to_string(),
        Default::Flag(flag) => flag.to_string(),
        Default::Text(text) => text.to_owned(),
        Default::Millionths(value) if value % 1_000_000 == 0 => (value / 1_000_000).to_string(),
        Default::Millionths(value) => format!("{value} millionths"),
    }
}
