//! The report of an incident in a real browser.
//!
//! Runs where `KVTOP_BROWSER` or the PATH has a Chromium, which `tests/run --all` gets.

#![expect(clippy::print_stderr, reason = "a test that is left out says so")]

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use flate2::read::ZlibDecoder;
use kvtop::report::incident::PageFormat;

use crate::report::incident;
use crate::support::scratch;

const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"];

/// Returns a browser; none where there is none, which is said.
fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("KVTOP_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        eprintln!("left out: no browser; set KVTOP_BROWSER to a Chromium");
    }
    found
}

/// A proxy that refuses everything and notes what was asked for.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = [0; 512];
            let length = client.read(&mut head).unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            seen.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
            drop(client.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"));
        }
    });
    (address, asked)
}

/// Opens a page with `more` options; returns the output, and the lines that scripts or errors wrote.
fn open(browser: &Path, page: &Path, proxy: &str, more: &[&str]) -> (String, Vec<String>) {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--no-first-run"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr"])
        .args([&format!("--proxy-server={proxy}"), "--proxy-bypass-list=<-loopback>"])
        .arg(format!("--user-data-dir={}", scratch().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .env("HOME", scratch())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{log}");
    let console = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned);
    (String::from_utf8(output.stdout).unwrap(), console.collect())
}

/// Returns the pixels of a PNG as a browser writes it: eight bits, with or without alpha, not interlaced.
fn pixels(png: &[u8]) -> (usize, Vec<[u8; 3]>) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
    let width = number(16);
    assert_eq!((png[24], png[28]), (8, 0), "depth and interlacing");
    let channels = match png[25] {
        2 => 3,
        6 => 4,
        other => panic!("color type {other}"),
    };
    let (mut at, mut packed) = (8, Vec::new());
    while at < png.len() {
        let length = number(at);
        if &png[at + 4..at + 8] == b"IDAT" {
            packed.extend(&png[at + 8..at + 8 + length]);
        }
        at += length + 12;
    }
    let mut raw = Vec::new();
    ZlibDecoder::new(packed.as_slice()).read_to_end(&mut raw).unwrap();
    let stride = width * channels;
    let mut above = vec![0_u8; stride];
    let mut all = Vec::new();
    for line in raw.chunks(stride + 1) {
        let mut row = line[1..].to_vec();
        for at in 0..stride {
            let left = if at < channels { 0 } else { row[at - channels] };
            let corner = if at < channels { 0 } else { above[at - channels] };
            let (a, b, c) = (i32::from(left), i32::from(above[at]), i32::from(corner));
            let nearest = [left, above[at], corner]
                .into_iter()
                .min_by_key(|value| (a + b - c - i32::from(*value)).abs())
                .unwrap();
            let add = match line[0] {
                1 => left,
                2 => above[at],
                3 => u8::try_from(i32::midpoint(a, b)).unwrap(),
                4 => nearest,
                _ => 0,
            };
            row[at] = row[at].wrapping_add(add);
        }
        all.extend(row.chunks(channels).map(|pixel| [pixel[0], pixel[1], pixel[2]]));
        above = row;
    }
    (width, all)
}

#[test]
fn a_browser_shows_the_report_in_both_colour_schemes_and_fetches_nothing() {
    let Some(browser) = browser() else { return };
    let folder = scratch();
    let page = folder.join("incident.html");
    let html = incident().page("Outage", PageFormat::Html);
    std::fs::write(&page, &html).unwrap();
    let (proxy, asked) = proxy();

    let (dom, console) = open(&browser, &page, &proxy, &["--dump-dom"]);
    let shots = [("0", "dark"), ("1", "light")].map(|(scheme, name)| {
        let shot = folder.join(format!("{name}.png"));
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let to = format!("--screenshot={}", shot.display());
        open(&browser, &page, &proxy, &[&scheme, "--window-size=1000,2600", &to]);
        pixels(&std::fs::read(shot).unwrap())
    });

    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
    assert_eq!(console, Vec::<String>::new());
    // The parser of the browser mends what is not well formed: then its tree has other elements.
    for tag in ["<h1>", "<h2>", "<h3>", "<table>", "<tr>", "<td>", "<figure>", "<svg ", "<path "] {
        let count = |text: &str| text.matches(tag).count();
        assert!(count(&dom) > 0 && count(&dom) == count(&html), "{tag}");
    }
    for ((width, shot), [ground, curve, raised]) in shots.into_iter().zip([
        [[0x15, 0x18, 0x1d], [0x7d, 0xb0, 0xff], [0xff, 0x7b, 0x7b]],
        [[0xff, 0xff, 0xff], [0x25, 0x63, 0xc4], [0xc2, 0x2f, 0x2f]],
    ]) {
        assert_eq!((width, shot.len()), (1000, 1000 * 2600));
        // Nothing is drawn in the margins, so nothing is wider than the page.
        for row in shot.chunks(width) {
            assert!(row[..16].iter().chain(&row[width - 16..]).all(|pixel| *pixel == ground));
        }
        let colours: BTreeSet<[u8; 3]> = shot.iter().copied().collect();
        let near = |wanted: [u8; 3]| {
            let far = |pixel: &[u8; 3]| {
                pixel.iter().zip(wanted).map(|(a, b)| u32::from(a.abs_diff(b))).sum::<u32>()
            };
            colours.iter().map(far).min().unwrap()
        };
        assert!(near(curve) < 40 && near(raised) < 40, "{} {}", near(curve), near(raised));
        let drawn = shot.iter().filter(|pixel| **pixel != ground).count();
        assert!((shot.len() / 100..shot.len() / 3).contains(&drawn), "{drawn}");
    }

    // What the test looks for, it finds.
    let bad = folder.join("bad.html");
    let text = "<img src=\"http://example.com/a.png\"><script>throw new Error(\"boom\")</script>";
    std::fs::write(&bad, text).unwrap();
    let (_, console) = open(&browser, &bad, &proxy, &["--dump-dom"]);
    assert!(console[0].contains("boom"), "{console:?}");
    assert!(asked.lock().unwrap()[0].contains("example.com"));
}
