//! The notes in a recording's header about removed data.

use crate::cli::SourceArgs;
use crate::frame::{Body, Frame, Origin};
use crate::source::logs::LogText;
use crate::wire::kept_of_log_line;

/// Returns how much of log lines `args` ask to keep.
pub(super) fn log_text(args: &SourceArgs) -> LogText {
    if args.keep_log_text { LogText::Whole } else { LogText::Read }
}

/// Returns a line for each kind of data of which a part was removed before it was recorded.
pub(super) fn removed(args: &SourceArgs) -> Vec<String> {
    let logs = match log_text(args) {
        LogText::Read => "log lines: all text but the fields that kvtop reads",
        LogText::Whole => {
            "log lines: secrets and prompts where kvtop recognised them (--keep-log-text)"
        }
    };
    vec![
        logs.to_owned(),
        "Kubernetes objects: secrets, and values of variables and arguments that kvtop does not know"
            .to_owned(),
        "engine events: token ids".to_owned(),
    ]
}

/// Returns `frame`; of a log line only what a decoder reads.
pub(super) fn without_text(frame: Frame) -> Frame {
    match (&frame.origin, &frame.body) {
        (Origin::Log { .. }, Body::Whole(line)) => {
            let kept = kept_of_log_line(&String::from_utf8_lossy(line));
            Frame { body: Body::Whole(kept.into()), ..frame }
        }
        _ => frame,
    }
}
