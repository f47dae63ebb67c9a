//! Requests to `pods/log`, and the lines they return.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::client::Body;

use super::LogTarget;
use super::lines::{Splitter, Stamped};
use crate::source::kube::{KubeClient, Pod, Refusal, deepest};

/// Time for the API server to begin an answer. One whose storage stalls lets requests hang.
const HEADERS: Duration = Duration::from_secs(15);

/// From where on a log is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// Its start, as far as this many bytes reach.
    Start {
        /// The limit.
        bytes: u64,
    },
    /// Its last seconds, and of them at most so many lines; and what is written from now on.
    Recent {
        /// The time span.
        seconds: u64,
        /// The number of lines.
        lines: u64,
    },
    /// A second, and what is written from now on.
    Since(Timestamp),
    /// The instance that ended before this one, from a second on when one is known.
    Previous {
        /// The second.
        since: Option<Timestamp>,
        /// The limit.
        bytes: u64,
    },
}

/// Returns the path and query of the request.
pub(super) fn uri(target: &LogTarget, from: From) -> String {
    let since = |time: Timestamp| format!("&sinceTime={}", time.strftime("%Y-%m-%dT%H:%M:%SZ"));
    let range = match from {
        From::Start { bytes } => format!("&limitBytes={bytes}"),
        From::Recent { seconds, lines } => {
            format!("&follow=true&sinceSeconds={seconds}&tailLines={lines}")
        }
        From::Since(time) => format!("&follow=true{}", since(time)),
        From::Previous { since: time, bytes } => {
            format!("&previous=true&limitBytes={bytes}{}", time.map(since).unwrap_or_default())
        }
    };
    let LogTarget { namespace, pod, container, .. } = target;
    format!(
        "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&timestamps=true{range}"
    )
}

/// An open log.
#[derive(Debug)]
pub(super) struct Reading {
    body: Body,
    splitter: Splitter,
    /// Bytes received so far.
    pub(super) received: u64,
}

/// The next part of a log.
#[derive(Debug)]
pub(super) enum Piece {
    /// Lines, possibly none.
    Lines(Vec<Stamped>),
    /// The end; the last line, when it has no line end.
    End(Option<Stamped>),
    /// The connection broke.
    Cut(String),
    /// Nothing came for so long that nobody knows whether the connection still stands.
    Quiet,
}

/// The answer to a request for a log.
#[derive(Debug)]
pub(super) enum Answer {
    /// The log.
    Open(Box<Reading>),
    /// The pod has no node yet (204).
    NotScheduled,
}

/// Asks for the log of `target`.
pub(super) async fn open(
    client: &KubeClient,
    target: &LogTarget,
    from: From,
) -> Result<Answer, Refusal> {
    let path = uri(target, from);
    let opening = client.open(&path);
    let late = || Refusal::Slow { server: Arc::clone(client.server()), limit: HEADERS };
    match tokio::time::timeout(HEADERS, opening).await.map_err(|_| late())? {
        Ok(response) => Ok(Answer::Open(Box::new(Reading {
            body: response.into_body(),
            splitter: Splitter::default(),
            received: 0,
        }))),
        Err(Refusal::Failed { status: 204, .. }) => Ok(Answer::NotScheduled),
        Err(refusal) => Err(refusal),
    }
}

impl Reading {
    /// Returns what comes next, and waits for it for `patience` at most.
    pub(super) async fn next(&mut self, patience: Duration) -> Piece {
        let Ok(frame) = tokio::time::timeout(patience, self.body.frame()).await else {
            return Piece::Quiet;
        };
        match frame {
            None => Piece::End(self.splitter.finish().map(|line| Stamped::read(&line))),
            Some(Err(error)) => Piece::Cut(deepest(&error)),
            Some(Ok(frame)) => {
                let chunk: Bytes = frame.into_data().unwrap_or_default();
                self.received += chunk.len() as u64;
                Piece::Lines(self.splitter.push(&chunk).iter().map(Stamped::read).collect())
            }
        }
    }
}

/// The state of a container, read from its pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Instance {
    /// The instance that ended last, when there is another one after it, and when it ended.
    pub(super) before: Option<(String, Timestamp)>,
    /// The reason why the container does not run, empty when it does.
    pub(super) stopped: String,
}

/// Looks at the pod of `target`.
pub(super) async fn look(client: &KubeClient, target: &LogTarget) -> Result<Instance, Refusal> {
    let LogTarget { namespace, pod, container, .. } = target;
    let body = client.get(&format!("/api/v1/namespaces/{namespace}/pods/{pod}")).await?;
    let pod: Pod =
        serde_json::from_slice(&body).map_err(|error| Refusal::Unreadable(error.to_string()))?;
    Ok(instance(&pod, container))
}

fn instance(pod: &Pod, container: &str) -> Instance {
    let status = pod.status.as_ref();
    let statuses = status.and_then(|status| status.container_statuses.as_ref());
    let Some(status) = statuses
        .and_then(|all| all.iter().find(|status| status.name.as_deref() == Some(container)))
    else {
        return Instance::default();
    };
    let ended = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let before = ended.and_then(|ended| {
        Some((ended.container_id.clone()?, ended.finished_at.as_ref()?.parse().ok()?))
    });
    let stopped = status.state.as_ref().map_or_else(String::new, |state| {
        if let Some(waiting) = &state.waiting {
            waiting.reason.clone().unwrap_or_else(|| "waiting".to_owned())
        } else if let Some(ended) = &state.terminated {
            let reason = ended.reason.as_deref().unwrap_or("ended");
            let code = ended.exit_code.map(|code| format!(", exit code {code}"));
            format!("{reason}{}", code.unwrap_or_default())
        } else {
            String::new()
        }
    });
    Instance { before, stopped }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::logs::LogStart;

    #[test]
    fn each_request_names_the_container_and_asks_for_timestamps() {
        let target = LogTarget {
            namespace: "gtc-demo".into(),
            pod: "frontend-0".into(),
            container: "main".into(),
            start: LogStart::Recent,
        };
        let second = Timestamp::from_second(1_763_684_546).unwrap();
        let table = [
            (From::Start { bytes: 9 }, "&limitBytes=9"),
            (From::Recent { seconds: 600, lines: 5 }, "&follow=true&sinceSeconds=600&tailLines=5"),
            (From::Since(second), "&follow=true&sinceTime=2025-11-21T00:22:26Z"),
            (From::Previous { since: None, bytes: 9 }, "&previous=true&limitBytes=9"),
            (
                From::Previous { since: Some(second), bytes: 9 },
                "&previous=true&limitBytes=9&sinceTime=2025-11-21T00:22:26Z",
            ),
        ];
        let path = "/api/v1/namespaces/gtc-demo/pods/frontend-0/log?container=main&timestamps=true";
        for (from, range) in table {
            assert_eq!(uri(&target, from), format!("{path}{range}"));
        }
    }

    #[test]
    fn a_pod_tells_which_instance_ended_before_and_why_none_runs() {
        let pod: Pod = serde_json::from_value(serde_json::json!({"status": {"containerStatuses": [
            {"name": "other", "image": "", "imageID": "", "ready": true, "restartCount": 0},
            {"name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 1,
             "state": {"waiting": {"reason": "CrashLoopBackOff"}},
             "lastState": {"terminated": {"exitCode": 1, "containerID": "containerd://a",
                                          "finishedAt": "2026-11-21T00:22:26Z"}}}]}}))
        .unwrap();
        let ended: Timestamp = "2026-11-21T00:22:26Z".parse().unwrap();
        let expected = Instance {
            before: Some(("containerd://a".to_owned(), ended)),
            stopped: "CrashLoopBackOff".to_owned(),
        };
        assert_eq!(instance(&pod, "main"), expected);
        assert_eq!(instance(&pod, "other"), Instance::default());
        assert_eq!(instance(&pod, "none"), Instance::default());
    }
}
