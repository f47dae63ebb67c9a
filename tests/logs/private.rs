//! Secrets and prompts leave lines whose text is kept.

use super::{FRONTEND, follow, frontend};
use crate::support::kube_api::FakeKube;

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
