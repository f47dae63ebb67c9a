//! HTML: one page without scripts and without anything to fetch.

use ratatui::style::Modifier;

use super::{Ground, Look, Run, escaped, put};

pub(super) fn page(lines: &[Vec<Run>], ground: &Ground, title: &str) -> String {
    let mut page = String::new();
    put(
        &mut page,
        format_args!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <title>{}</title>\n<style>\nbody {{ background: {}; color: {}; }}\n\
             pre {{ font: 14px/1.17 'DejaVu Sans Mono', Menlo, 'Cascadia Mono', Consolas, \
             monospace; }}\n</style>\n</head>\n<body>\n<pre>",
            escaped(title),
            ground.back,
            ground.text,
        ),
    );
    for runs in lines {
        for run in runs {
            let (text, style) = (escaped(&run.text), style(&run.look, ground));
            if style.is_empty() {
                page.push_str(&text);
            } else {
                put(&mut page, format_args!("<span style=\"{style}\">{text}</span>"));
            }
        }
        page.push('\n');
    }
    page.push_str("</pre>\n</body>\n</html>\n");
    page
}

fn style(look: &Look, ground: &Ground) -> String {
    let mut style = String::new();
    if let Some(text) = look.text.as_ref().filter(|text| **text != ground.text) {
        put(&mut style, format_args!("color:{text};"));
    }
    if let Some(back) = look.back.as_ref().filter(|back| **back != ground.back) {
        put(&mut style, format_args!("background:{back};"));
    }
    for (modifier, rule) in [
        (Modifier::BOLD, "font-weight:bold;"),
        (Modifier::ITALIC, "font-style:italic;"),
        (Modifier::UNDERLINED, "text-decoration:underline;"),
        (Modifier::DIM, "opacity:0.7;"),
    ] {
        if look.modifier.contains(modifier) {
            style.push_str(rule);
        }
    }
    style
}
