//! Container logs, as the kubelet serves them through the API.

use kvtop::domain::Timestamp;

use super::http::Head;

/// How requests for a log are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogState {
    /// With its lines.
    #[default]
    Served,
    /// 204 and nothing: the pod is not scheduled.
    Pending,
    /// 400: the container waits for its image.
    Waiting,
    /// 500: the kubelet does not answer.
    KubeletDown,
}

impl LogState {
    /// Returns the recorded response, none when lines are served.
    pub(super) const fn response(self) -> Option<&'static str> {
        match self {
            Self::Served => None,
            Self::Pending => Some("logs/204_not_scheduled"),
            Self::Waiting => Some("logs/follow_waiting_container_400"),
            Self::KubeletDown => Some("kubelet/500_log_follow_kubelet_down"),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    lines: Vec<(Timestamp, String)>,
    /// Lines that were there and are not any more.
    dropped: usize,
    pub(super) state: LogState,
}

impl Log {
    pub(super) fn push(&mut self, at: Timestamp, line: &str) {
        self.lines.push((at, line.to_owned()));
    }

    pub(super) fn clear(&mut self) {
        self.dropped += self.lines.len();
        self.lines.clear();
    }

    /// Returns the number of the next line.
    pub(super) fn end(&self) -> usize {
        self.dropped + self.lines.len()
    }

    /// Returns the lines from number `from` on, as `options` want them.
    pub(super) fn text(&self, from: usize, options: &Options) -> String {
        let from = from.saturating_sub(self.dropped).min(self.lines.len());
        let lines = self.lines[from..].iter().filter(|(at, _)| at.0 >= options.since);
        let mut text: String = lines
            .map(|(at, line)| {
                if options.timestamps {
                    format!("{} {line}\n", rfc3339(*at))
                } else {
                    format!("{line}\n")
                }
            })
            .collect();
        text.truncate(options.limit.unwrap_or(text.len()));
        text
    }

    /// Returns the number of the first line for a request that begins now.
    pub(super) fn first(&self, options: &Options) -> usize {
        let tail = options.tail.unwrap_or(self.lines.len()).min(self.lines.len());
        self.end() - tail
    }
}

/// Kubelets write nine digits.
fn rfc3339(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_microsecond(i64::try_from(at.0).unwrap()).unwrap();
    format!("{}.{:06}000Z", time.strftime("%Y-%m-%dT%H:%M:%S"), at.0 % 1_000_000)
}

/// What a request for a log asks.
#[derive(Clone, Debug)]
pub(super) struct Options {
    timestamps: bool,
    pub(super) follow: bool,
    tail: Option<usize>,
    /// Bytes after which the answer is cut.
    limit: Option<usize>,
    /// Microseconds since 1970. The kubelet's grain is one second.
    since: u64,
}

impl Options {
    pub(super) fn of(head: &Head) -> Self {
        let time = head.parameter("sinceTime").map(|text| {
            let time: jiff::Timestamp = text.parse().unwrap();
            u64::try_from(time.as_second()).unwrap() * 1_000_000
        });
        let span = head.parameter("sinceSeconds").map(|text| {
            let seconds: u64 = text.parse().unwrap();
            kvtop::clock::now().0.saturating_sub(seconds * 1_000_000)
        });
        Self {
            timestamps: head.flag("timestamps"),
            follow: head.flag("follow"),
            limit: head.parameter("limitBytes").and_then(|text| text.parse().ok()),
            tail: head.parameter("tailLines").and_then(|text| text.parse().ok()),
            since: time.or(span).unwrap_or(0),
        }
    }
}
