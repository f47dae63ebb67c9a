//! Blocks of a page, as Markdown and as HTML. Text comes from other processes, so each format escapes it.

use super::chart::{Curve, Mark};
use super::put;

/// One part of a page.
#[derive(Clone, Debug)]
pub(in crate::report) enum Block {
    /// A heading of the second rank, or deeper.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// A table; the first row names the columns.
    Table(Vec<Vec<String>>),
    /// Lines to paste as they are.
    Code(String),
    /// Figures over time.
    Charts(Vec<Curve>, Vec<Mark>),
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;\
color:#1c1f24;background:#fff}h1{margin-bottom:0}h2{margin-top:2.2rem;border-bottom:1px solid #d5d9e0}\
table{border-collapse:collapse;margin:1rem 0}th,td{text-align:left;padding:.25rem .9rem .25rem 0;\
border-bottom:1px solid #e3e6eb;vertical-align:top}pre{background:#f4f5f7;padding:.8rem;overflow-x:auto}\
figure{margin:1rem 0}figcaption{font-weight:600}svg{width:100%;height:auto;font:11px system-ui,sans-serif;fill:#59606b}\
.curve{fill:none;stroke:#2563c4;stroke-width:1.6}.axis{stroke:#b9bfc9}.raised{stroke:#c22f2f;stroke-width:1.4}\
.resolved{stroke:#1d8a4d;stroke-width:1.4;stroke-dasharray:4 3}\
@media(prefers-color-scheme:dark){body{color:#dfe3ea;background:#15181d}pre{background:#1f242c}\
th,td{border-color:#333a45}h2{border-color:#3a424e}svg{fill:#9aa3b0}.curve{stroke:#7db0ff}.raised{stroke:#ff7b7b}\
.resolved{stroke:#5fd28f}.axis{stroke:#4a5361}}@media print{body{max-width:none}}";

/// Returns the page as HTML.
pub(super) fn html(blocks: &[Block], title: &str) -> String {
    let mut body = String::new();
    for block in blocks {
        match block {
            Block::Heading(rank, text) => {
                put(&mut body, format_args!("<h{rank}>{}</h{rank}>\n", escaped(text)));
            }
            Block::Text(text) => put(&mut body, format_args!("<p>{}</p>\n", escaped(text))),
            Block::List(items) => {
                let items: Vec<_> =
                    items.iter().map(|item| format!("<li>{}</li>", escaped(item))).collect();
                put(&mut body, format_args!("<ul>{}</ul>\n", items.concat()));
            }
            Block::Table(rows) => body.push_str(&table(rows)),
            Block::Code(text) => {
                put(&mut body, format_args!("<pre><code>{}</code></pre>\n", escaped(text)));
            }
            Block::Charts(curves, marks) => {
                for curve in curves {
                    put(
                        &mut body,
                        format_args!(
                            "<figure><figcaption>{}</figcaption>{}</figure>\n",
                            curve.title,
                            curve.svg(marks)
                        ),
                    );
                }
            }
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

fn table(rows: &[Vec<String>]) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells: Vec<_> =
            cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{}</tr>", cells.concat())
    };
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let rows: Vec<_> = rows.iter().map(|cells| row(cells, "td")).collect();
    format!("<table><thead>{}</thead><tbody>{}</tbody></table>\n", row(head, "th"), rows.concat())
}

/// Returns the page as Markdown.
pub(in crate::report) fn markdown(blocks: &[Block]) -> String {
    let mut page = String::new();
    for block in blocks {
        match block {
            Block::Heading(rank, text) => {
                let marks = "#".repeat(usize::from(*rank));
                put(&mut page, format_args!("{marks} {}\n\n", plain(text)));
            }
            Block::Text(text) => put(&mut page, format_args!("{}\n\n", plain(text))),
            Block::List(items) => {
                for item in items {
                    put(&mut page, format_args!("- {}\n", plain(item)));
                }
                page.push('\n');
            }
            Block::Table(rows) => {
                for (at, row) in rows.iter().enumerate() {
                    let cells: Vec<_> = row.iter().map(|cell| plain(cell)).collect();
                    put(&mut page, format_args!("| {} |\n", cells.join(" | ")));
                    if at == 0 {
                        put(&mut page, format_args!("|{}\n", "---|".repeat(row.len())));
                    }
                }
                page.push('\n');
            }
            Block::Code(text) => {
                let text = clean(text);
                // The fence is longer than any run of backticks inside.
                let longest =
                    text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
                let fence = "`".repeat(longest.max(2) + 1);
                put(&mut page, format_args!("{fence}\n{}\n{fence}\n\n", text.trim_end()));
            }
            Block::Charts(curves, _) => {
                let lines: Vec<_> = curves.iter().map(Curve::text).collect();
                put(&mut page, format_args!("```\n{}\n```\n\n", lines.join("\n")));
            }
        }
    }
    page
}

/// Takes out control characters except line ends.
fn clean(text: &str) -> String {
    text.chars().filter(|char| *char == '\n' || !char.is_control()).collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in clean(text).chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            char => out.push(char),
        }
    }
    out
}

/// Returns text that Markdown shows as it is, on one line.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in clean(text).chars() {
        match char {
            '\n' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => {
                out.push('\\');
                out.push(char);
            }
            char => out.push(char),
        }
    }
    out
}
