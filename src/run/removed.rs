//! The notes in a recording's header about removed data.

use serde_json::Value;

use crate::cli::SourceArgs;
use crate::frame::{Body, Frame, Origin};
use crate::source::logs::LogText;
use crate::wire::{
    kept_of_engine_file, kept_of_log_line, kept_of_processes, kept_of_record, kept_of_variable,
};

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
        "Kubernetes objects and discovery records: secrets, and values of variables, arguments and \
         settings that kvtop does not know"
            .to_owned(),
        "engine events: token ids".to_owned(),
    ]
}

/// Returns a frame of an older recording as it would enter one now: of lines, objects and records only what a
/// decoder reads.
pub(super) fn without_text(frame: Frame) -> Frame {
    let Body::Whole(body) = &frame.body else { return frame };
    let kept = match &frame.origin {
        Origin::Log { .. } => Some(kept_of_log_line(&String::from_utf8_lossy(body))),
        Origin::Etcd { .. } | Origin::File { .. } => {
            let record = serde_json::from_slice(body).ok();
            record.map(|record| kept_of_record(&record).to_string())
        }
        Origin::Kube { kind, .. } => serde_json::from_slice(body).ok().map(|mut object| {
            keep_of_object(kind, &mut object);
            object.to_string()
        }),
        _ => None,
    };
    match kept {
        Some(kept) => Frame { body: Body::Whole(kept.into()), ..frame },
        None => frame,
    }
}

/// Leaves in an object what a source would pass on. Secrets were taken out when it was recorded.
fn keep_of_object(kind: &str, object: &mut Value) {
    match kind {
        "Pod" | "DynamoGraphDeployment" => kept_of_processes(object),
        "DynamoWorkerMetadata" => object["spec"] = kept_of_record(&object["spec"]),
        "ConfigMap" => {
            for (key, value) in object["data"].as_object_mut().into_iter().flatten() {
                let Some(text) = value.as_str().filter(|text| !text.starts_with('(')) else {
                    continue;
                };
                *value = if text.trim_end().contains(['\n', '{']) {
                    kept_of_engine_file(text).unwrap_or_default().into()
                } else {
                    kept_of_variable(key, text).into()
                };
            }
        }
        _ => {}
    }
}
