//! The screen as files: `kvtop snapshot -o svg|html|text`, the images of the documentation, and `e`.

use std::path::Path;

use crate::config::kvtop;
use crate::support::bless;
use crate::support::pty::Pty;
use crate::support::{fixture, scratch};

fn drawn(arguments: &[&str]) -> String {
    let mut all = vec!["snapshot"];
    all.extend(arguments);
    let output = kvtop(&scratch(), &[], &all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The images that README and docs show: of simulations with a fixed seed, at a fixed time.
#[test]
fn the_images_of_the_documentation_are_up_to_date() {
    let images: [(&str, &[&str]); 4] = [
        ("mismatch", &["--demo", "gtc-demo", "--for", "90s"]),
        ("findings", &["--demo", "gtc-demo", "--for", "90s", "--view", "findings"]),
        ("healthy", &["--demo", "healthy", "--for", "90s", "--theme", "light"]),
        ("small", &["--demo", "gtc-demo", "--for", "90s", "--size", "80x24"]),
    ];
    for (name, arguments) in images {
        let image = drawn(&[arguments, &["-o", "svg"]].concat());
        bless::page(Path::new("docs/images").join(format!("{name}.svg")), &image);
    }
}

#[test]
fn a_recording_is_drawn_in_every_format() {
    let file = fixture("captures/0.9.0-mm_pub32_eng16.frames.gz");
    let of = |format: &str| {
        drawn(&["--replay", file.to_str().unwrap(), "-o", format, "--size", "80x24"])
    };
    let text = of("text");
    assert_eq!(text.lines().count(), 24);
    assert!(text.contains("KVT001") && !text.contains('\u{1b}'), "{text}");
    let svg = of("svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("KVT001") && svg.contains("fill=\"#"));
    let html = of("html");
    assert!(html.contains("<pre>") && html.contains("KVT001") && !html.contains("<script"));
    let bare = |page: &str| page.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let body = html.split("<pre>").nth(1).unwrap().split("</pre>").next().unwrap();
    let mut words = String::new();
    let mut inside = false;
    for letter in body.chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            letter if !inside => words.push(letter),
            _ => {}
        }
    }
    let trimmed: Vec<String> =
        bare(&words).lines().map(|line| line.trim_end().to_owned()).collect();
    assert_eq!(trimmed, text.lines().collect::<Vec<_>>());
}

#[test]
fn a_theme_without_colours_has_none_in_a_file() {
    let of =
        |theme: &str| drawn(&["--demo", "mismatch", "--for", "30s", "-o", "svg", "--theme", theme]);
    let colours = |svg: &str| {
        let fills = svg.match_indices("fill=\"#").map(|(at, _)| svg[at + 6..at + 13].to_owned());
        fills.collect::<std::collections::BTreeSet<_>>()
    };
    // Ground and text, and each as the other where a label is turned inside out.
    assert_eq!(colours(&of("mono")).len(), 2, "{:?}", colours(&of("mono")));
    assert!(colours(&of("terminal")).len() > 5);
}

#[test]
fn views_and_sizes_that_are_not_are_named() {
    let run = |arguments: &[&str]| {
        let output = kvtop(&scratch(), &[], arguments);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let demo = ["snapshot", "--demo", "healthy", "--for", "1s", "-o", "svg"];
    let (code, text) = run(&[&demo[..], &["--view", "attic"]].concat());
    assert_eq!(code, Some(1));
    assert!(text.contains("unknown view `attic`; known views: overview"), "{text}");
    let (code, text) = run(&[&demo[..], &["--size", "huge"]].concat());
    assert_eq!((code, text.contains("not a size such as 120x36")), (Some(2), true), "{text}");
}

#[test]
fn e_writes_the_view_into_a_private_file_and_says_where() {
    use std::os::unix::fs::PermissionsExt;
    let folder = scratch();
    let shell = format!("cd {} && exec {} demo", folder.display(), env!("CARGO_BIN_EXE_kvtop"));
    let mut pty = Pty::spawn("bash", &["-c", &shell], &[], (120, 36));
    pty.wait_for("events", |screen| screen.contains("STORE"));

    pty.send("e");
    pty.wait_for("the formats", |screen| screen.contains(":export svg"));
    pty.send("m\r");

    pty.wait_for("the name", |screen| screen.contains("written: ") && screen.contains(".md"));
    let files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("kvtop-gtc-demo-2") && name.ends_with("Z.md"), "{name}");
    assert_eq!(std::fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(text.starts_with("# kvtop gtc-demo") && text.contains("Workers"), "{text}");
    assert!(!text.contains(":export"), "{text}");

    pty.send(":export s\r");
    pty.wait_for("the other name", |screen| screen.contains(".svg"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
