//! What lines lose on their way: secrets and prompts, and nothing else.

use std::collections::BTreeMap;

use kvtop::frame::{Body, Origin};

use super::{FRONTEND, follow, frontend, write};
use crate::support::kube_api::FakeKube;
use crate::support::{captures, frames};

#[tokio::test]
async fn a_line_with_a_secret_or_a_prompt_arrives_without_it() {
    let kube = FakeKube::demo();
    kube.log_line(FRONTEND, "main", "connecting to nats://user:PLANTED@nats:4222 as user");
    kube.log_line(FRONTEND, "main", "DEBUG got Request { messages: [User(\"PLANTED\")], n: 1 }");
    kube.log_line(FRONTEND, "main", "{\"level\":\"DEBUG\",\"prompt\":\"PLANTED\",\"n\":1}");

    let mut it = follow(&kube, &[frontend()]).await;
    it.until_lines(FRONTEND, 3).await;

    let expected = [
        "connecting to nats://nats:4222 as user",
        "DEBUG got Request { messages: (redacted)",
        "{\"level\":\"DEBUG\",\"prompt\":\"(redacted)\",\"n\":1}",
    ];
    assert_eq!(it.delivered.lines(FRONTEND), expected);
}

#[tokio::test]
async fn recorded_lines_of_every_version_arrive_as_they_were_written() {
    // One line of each shape.
    let mut shapes: BTreeMap<String, String> = BTreeMap::new();
    for (_, path) in captures() {
        for frame in frames(&path) {
            let (Origin::Log { .. }, Body::Whole(body)) = (&frame.origin, &frame.body) else {
                continue;
            };
            let line = String::from_utf8_lossy(body).into_owned();
            let shape = line.replace(|letter: char| letter.is_ascii_digit(), "0");
            shapes.entry(shape.chars().take(200).collect()).or_insert(line);
        }
    }
    let lines: Vec<String> = shapes.into_values().collect();
    assert!(lines.len() > 100, "{}", lines.len());
    let kube = FakeKube::demo();
    write(&kube, FRONTEND, &lines);

    let mut it = follow(&kube, &[frontend()]).await;
    it.until_lines(FRONTEND, lines.len()).await;

    for (seen, line) in it.delivered.lines(FRONTEND).iter().zip(&lines) {
        assert_eq!(seen, line);
    }
}
