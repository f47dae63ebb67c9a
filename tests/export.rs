//! The screen as files: `kvtop snapshot -o svg|html|text`, the images of the documentation, and `e`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::draw::{self, Drawing};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::simulator::{Scenario, Simulation};
use kvtop::snapshot::{DemoChange, DemoState, Feed};
use kvtop::tui::command::View;
use kvtop::tui::labels::Labels;
use kvtop::tui::theme::{Glyphs, Level, Themes};

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

/// Returns the feed of a demo of which `steps` steps of its story were taken.
fn demo(simulation: &Simulation, steps: usize) -> Feed {
    let steering = simulation.steering();
    let taken = steps > 0;
    let change = DemoChange { at: FILMED.after(FIXED), what: String::from("fix applied") };
    Feed::Demo(DemoState {
        scenario: simulation.scenario().name().to_owned(),
        about: simulation.about().to_owned(),
        fixed: taken,
        fix: simulation.fix_text().unwrap_or_default(),
        mends: simulation.scenario().mends(),
        steps_taken: steps,
        next_step: simulation.scenario().step(steps).map(|step| step.does),
        users: steering.users,
        mode: steering.mode.name(),
        workers: steering.workers,
        change: taken.then_some(change),
    })
}

/// The beginning of the film, and the time from it until the fix is applied.
const FILMED: Timestamp = Timestamp(1_771_252_733_000_000);
const FIXED: Duration = Duration::from_secs(30);

/// The film that the README shows: an incident, its fix, and the figures after it.
#[test]
fn the_film_of_the_documentation_is_up_to_date() {
    let mut simulation = Simulation::new(Scenario::GtcDemo, 1, FILMED);
    let themes = Themes::default();
    let mut drawing =
        Drawing::new(View::Overview, (100, 30), "dark", &themes, Glyphs::UNICODE).unwrap();
    drawing.name_blocks(Arc::new(Labels::parse(&simulation.labels()).unwrap()));
    let mut engine =
        Engine::new(EngineOptions { label: "gtc-demo".to_owned(), ..EngineOptions::default() });
    let mut pictures = Vec::new();
    for second in 0..=200_u64 {
        let at = FILMED.after(Duration::from_secs(second));
        engine.ingest(&simulation.advance(at));
        engine.advance(at);
        if second == FIXED.as_secs() {
            assert!(simulation.fix());
        }
        if second >= 20 && second % 10 == 0 {
            let feed = demo(&simulation, usize::from(second >= FIXED.as_secs()));
            engine.settle();
            pictures.push(drawing.picture(&mut engine, &feed, at));
        }
    }
    let film = drawing.film(&pictures, 1_200);
    assert!(film.contains("RESOLVED") && film.contains("CRITICAL") && film.contains("<animate "));
    assert!(film.len() < 600_000, "{}", film.len());
    bless::page(Path::new("docs/images/incident.svg"), &film);
}

#[test]
fn the_gallery_shows_every_graph_in_every_mode() {
    let output = kvtop(&scratch(), &[], &["demo", "--gallery"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let modes = page.lines().filter(|line| line.starts_with("kvtop gallery: ")).count();
    assert_eq!(modes, 7);
    for code in ["38;2;", "38;5;", "[0;31m", "▁", "Stacked upwards"] {
        assert!(page.contains(code), "{code}");
    }
    let (_, ascii) = page.split_once("no colours, ASCII\n").unwrap();
    assert!(ascii.is_ascii());
    let theme = Themes::default().theme("dark", Level::True, Glyphs::UNICODE).unwrap();
    bless::page(Path::new("docs/images/gallery.svg"), &draw::gallery_svg(&theme));
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
    assert_eq!(code, Some(2));
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
