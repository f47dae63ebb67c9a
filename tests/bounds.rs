//! What a hostile server or file makes the real binary hold: never more than its limit and 64 MiB.

#![expect(clippy::print_stdout, reason = "measurements are for people")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::scratch;

/// `--max-memory` of every run, in MiB, and what may come on top of it.
const LIMIT: u64 = 128;
const ABOVE: u64 = 64;

/// A kvtop that is looked at until it ends, or for so long.
fn most_memory(mut child: Child, span: Duration) -> (u64, Option<i32>) {
    let mut most = 0;
    let step = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    let code = loop {
        // The last reading counts; a process that has ended has none.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let line = status.iter().flat_map(|text| text.lines()).find(|it| it.starts_with("VmHWM:"));
        let found = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        most = most.max(found.unwrap_or_default() / 1024);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if waited >= span {
            break None;
        }
        std::thread::sleep(step);
        waited += step;
    };
    drop(child.kill());
    drop(child.wait());
    (most, code)
}

fn kvtop(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(arguments)
        .args(["--max-memory", &format!("{LIMIT}MiB")])
        .env("HOME", scratch())
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("NATS_SERVER")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Serves every client with `serve`, in threads that end with the test's process.
fn server(serve: fn(TcpStream) -> std::io::Result<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            // A client that goes away ends its thread.
            std::thread::spawn(move || drop(serve(client)));
        }
    });
    url
}

const INFO: &[u8] = b"INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n";

/// Greets a client and answers until it has subscribed.
fn greet(client: &mut TcpStream) -> std::io::Result<()> {
    client.write_all(INFO)?;
    let mut seen: Vec<u8> = Vec::new();
    let mut buffer = [0; 4096];
    while !seen.windows(4).any(|it| it == b"SUB ") {
        let read = client.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        seen.extend(&buffer[..read]);
        if seen.windows(6).any(|it| it == b"PING\r\n") {
            client.write_all(b"PONG\r\n")?;
        }
    }
    client.write_all(b"PONG\r\n")
}

fn pour(client: &mut TcpStream) -> std::io::Result<()> {
    let zeros = vec![b'0'; 1 << 20];
    for _ in 0..4_000 {
        client.write_all(&zeros)?;
    }
    Ok(())
}

fn endless_message(mut client: TcpStream) -> std::io::Result<()> {
    greet(&mut client)?;
    client.write_all(b"MSG namespace.x.component.y.kv-events 2 4000000000\r\n")?;
    pour(&mut client)
}

fn endless_greeting(mut client: TcpStream) -> std::io::Result<()> {
    client.write_all(b"INFO {\"server_id\":\"")?;
    pour(&mut client)
}

fn endless_line(mut client: TcpStream) -> std::io::Result<()> {
    greet(&mut client)?;
    client.write_all(b"INFO {\"connect_urls\":[\"")?;
    pour(&mut client)
}

#[test]
fn a_nats_server_that_never_ends_a_message_is_given_up_within_the_limit() {
    for (name, serve) in [
        ("message", endless_message as fn(TcpStream) -> std::io::Result<()>),
        ("greeting", endless_greeting),
        ("line", endless_line),
    ] {
        let url = server(serve);
        let child = kvtop(&["stat", "--nats-url", &url]);
        let (most, code) = most_memory(child, Duration::from_secs(5));
        assert_eq!(code, None, "{name}: it ended");
        assert!(most > 10 && most <= LIMIT + ABOVE, "{name}: {most} MiB");
        println!("{name}: at most {most} MiB");
    }
}

fn compressed(name: &str, parts: &[&[u8]], repeat: usize) -> String {
    let path = scratch().join(name);
    let file = std::fs::File::create(&path).unwrap();
    let mut out = zstd::stream::write::Encoder::new(file, 19).unwrap();
    out.window_log(26).unwrap();
    let (first, rest) = parts.split_first().unwrap();
    out.write_all(first).unwrap();
    for _ in 0..repeat {
        for part in rest {
            out.write_all(part).unwrap();
        }
    }
    out.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_recording_that_unpacks_to_gigabytes_is_read_within_the_limit() {
    let zeros = vec![b'0'; 1 << 20];
    let header = b"{\"kvtop_frames\":1}\n".as_slice();
    let long = [
        b"{\"at\":1,\"from\":{\"nats\":{\"subject\":\"a\"}},\"text\":\"".as_slice(),
        &zeros,
        b"\"}\n",
    ];
    let endless = compressed("endless.frames.zst", &[header, &zeros], 600);
    let many = compressed("many.frames.zst", &[header, long[0], long[1], long[2]], 600);
    for (name, path) in [("one line", endless), ("many lines", many)] {
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size < 1 << 20, "{name}: {size} bytes on disk");
        let child = kvtop(&["check", "--replay", &path]);
        let (most, code) = most_memory(child, Duration::from_secs(60));
        assert!(code.is_some(), "{name}: still reading after a minute");
        assert!(most > 5 && most <= LIMIT + ABOVE, "{name}: {most} MiB");
        println!("{name}: at most {most} MiB");
    }
}

#[test]
fn workers_beyond_the_limit_are_left_out_and_the_verdict_says_so() {
    let path = scratch().join("ids.frames");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(out, "{{\"kvtop_frames\":1,\"dynamo\":\"0.9.0\"}}").unwrap();
    for id in 1..=40_000_u64 {
        let event = format!(
            "{{\\\"worker_id\\\":{id},\\\"event\\\":{{\\\"event_id\\\":0,\\\"data\\\":{{\\\"stored\\\":\
             {{\\\"parent_hash\\\":null,\\\"blocks\\\":[{{\\\"block_hash\\\":{id},\\\"tokens_hash\\\":{id}}}]}}}},\
             \\\"dp_rank\\\":0}}}}"
        );
        let subject = "namespace-d-component-backend-kv-events.kv-events";
        let at = 1_000_000_000 + id * 10;
        writeln!(out, "{{\"at\":{at},\"from\":{{\"nats\":{{\"subject\":\"{subject}\"}}}},\"text\":\"{event}\"}}")
            .unwrap();
    }
    out.into_inner().unwrap();
    let path = path.to_str().unwrap();

    let (most, code) = most_memory(kvtop(&["check", "--replay", path]), Duration::from_secs(120));
    assert_eq!(code, Some(3), "unknown");
    assert!(most > 5 && most <= LIMIT + ABOVE, "{most} MiB");
    println!("40,000 workers: at most {most} MiB");

    let said = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "--replay", path, "--max-memory", &format!("{LIMIT}MiB")])
        .env("HOME", scratch())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("ranks of workers are counted (--max-memory)"), "{said}");
}
