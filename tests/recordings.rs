//! Recordings: what is written is read back, and what is damaged is said.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use proptest::prelude::*;

use crate::support::{captures, frames, scratch};
use kvtop::domain::{SourceName, Timestamp};
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::record::{Header, RecordError, RecordWriter, Recording, decode, encode};

const HEADER: &str = r#"{"kvtop_frames":1,"dynamo":"0.9.0","captured":"by hand"}"#;
const LINE: &str =
    r#"{"at":5,"from":{"log":{"namespace":"a","pod":"b","container":"c"}},"text":"x"}"#;

fn written(name: &str, content: &[u8]) -> PathBuf {
    let path = scratch().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn read_all(path: &Path) -> (Recording, Vec<Frame>) {
    let mut recording = Recording::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = recording.next_frame().unwrap() {
        frames.push(frame);
    }
    (recording, frames)
}

fn texts() -> impl Strategy<Value = std::sync::Arc<str>> {
    "\\PC{0,12}".prop_map(Into::into)
}

fn frame() -> impl Strategy<Value = Frame> {
    let origin = prop_oneof![
        (
            texts(),
            prop::option::of(texts()),
            prop::collection::vec(("[a-z]{1,5}", "\\PC{0,5}"), 0..3)
        )
            .prop_map(|(subject, reply, headers)| Origin::Nats { subject, reply, headers }),
        (texts(), any::<u64>(), texts()).prop_map(|(stream, seq, subject)| Origin::Jetstream {
            stream,
            seq,
            subject
        }),
        texts().prop_map(|endpoint| Origin::Zmq { endpoint }),
        (texts(), texts(), texts()).prop_map(|(namespace, pod, container)| Origin::Log {
            namespace,
            pod,
            container
        }),
        (texts(), texts()).prop_map(|(pod, url)| Origin::Metrics { pod, url }),
        (texts(), prop::sample::select(KubeChange::ALL.to_vec()))
            .prop_map(|(kind, change)| Origin::Kube { kind, change }),
        (texts(), any::<bool>()).prop_map(|(key, put)| Origin::Etcd { key, put }),
        (texts(), any::<bool>()).prop_map(|(key, put)| Origin::File { key, put }),
        texts().prop_map(|url| Origin::Indexer { url }),
        texts().prop_map(|source| Origin::Health { source: SourceName::from(&*source) }),
    ];
    let bytes = || prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
    let body = prop_oneof![
        bytes().prop_map(Body::Whole),
        prop::collection::vec(bytes(), 0..4).prop_map(Body::Parts),
    ];
    (any::<u64>(), prop::option::of(any::<u64>()), origin, body).prop_map(
        |(at, time, origin, body)| Frame {
            at: Timestamp(at),
            time: time.map(Timestamp),
            origin,
            body,
        },
    )
}

proptest! {
    #[test]
    fn a_frame_survives_its_line(frame in frame()) {
        let line = encode(&frame);

        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(decode(&line), Ok(frame));
    }
}

#[test]
fn a_recording_is_written_plain_and_compressed_and_read_back() {
    let (_, capture) = captures().into_iter().find(|(name, _)| name == "1.6.1-dp").unwrap();
    let original = frames(&capture);
    for name in ["round.frames", "round.frames.zst"] {
        let path = scratch().join(name);
        let header = Header { note: "round trip".into(), ..Header::default() };
        let mut writer = RecordWriter::create(&path, &header).unwrap();
        for frame in &original {
            writer.write(frame).unwrap();
        }
        writer.finish().unwrap();

        let (recording, frames) = read_all(&path);

        assert_eq!(recording.header().note, "round trip", "{name}");
        assert!(frames == original, "{name}");
    }
}

#[test]
fn a_recording_is_for_its_owner_only_and_never_overwrites_a_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = scratch().join("mine.frames");
    RecordWriter::create(&path, &Header::default()).unwrap().finish().unwrap();

    let again = RecordWriter::create(&path, &Header::default());

    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(again.err(), Some(RecordError::Create { .. })));
}

#[test]
fn a_file_that_is_no_recording_of_this_format_is_refused_by_name() {
    let none = written("none.frames", b"hello\n");
    let later = written("later.frames", b"{\"kvtop_frames\":2}\n");
    let empty = written("empty.frames", b"");

    assert!(matches!(Recording::open(&none).err(), Some(RecordError::NoHeader { .. })));
    assert!(matches!(Recording::open(&empty).err(), Some(RecordError::NoHeader { .. })));
    let error = Recording::open(&later).err().unwrap().to_string();
    assert!(error.contains("format 2") && error.contains("later.frames"), "{error}");
}

#[test]
fn bad_lines_are_counted_and_the_rest_is_read() {
    let content =
        format!("{HEADER}\n{LINE}\nnonsense\n{{\"at\":1}}\n\n{LINE}\n\u{fffd}\u{0}\n{LINE}\n");
    let path = written("bad.frames", content.as_bytes());

    let (recording, frames) = read_all(&path);

    assert_eq!((frames.len(), recording.bad().count, recording.bad().first_line), (3, 3, 3));
    assert!(!recording.torn());
}

#[test]
fn a_torn_last_line_is_dropped_with_a_note_and_a_whole_one_is_kept() {
    let torn = written("torn.frames", format!("{HEADER}\n{LINE}\n{}", &LINE[..30]).as_bytes());
    let whole = written("whole.frames", format!("{HEADER}\n{LINE}\n{LINE}").as_bytes());

    let (torn, torn_frames) = read_all(&torn);
    let (whole, whole_frames) = read_all(&whole);

    assert_eq!((torn_frames.len(), torn.torn(), torn.bad().count), (1, true, 0));
    assert_eq!((whole_frames.len(), whole.torn()), (2, false));
}

#[test]
fn a_compressed_recording_that_ends_early_is_torn_not_broken() {
    let content = format!("{HEADER}\n{}", format!("{LINE}\n").repeat(50_000));
    let zstd = zstd::encode_all(content.as_bytes(), 3).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(content.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    for (name, bytes) in [("cut.frames.zst", zstd), ("cut.frames.gz", gzip)] {
        let path = written(name, &bytes[..bytes.len() - bytes.len() / 3]);

        let (recording, frames) = read_all(&path);

        assert!(recording.torn(), "{name}");
        assert!(frames.len() < 50_000, "{name}: {}", frames.len());
    }
}

#[test]
fn times_never_go_back_and_unknown_header_keys_are_kept() {
    let line = |at: u64| LINE.replace(":5,", &format!(":{at},"));
    let header = r#"{"kvtop_frames":1,"operator":"night shift"}"#;
    let content = format!("{header}\n{}\n{}\n{}\n", line(5), line(3), line(8));
    let path = written("times.frames", content.as_bytes());

    let (recording, frames) = read_all(&path);

    assert_eq!(frames.iter().map(|frame| frame.at.0).collect::<Vec<_>>(), [5, 5, 8]);
    assert_eq!(recording.header().other["operator"], "night shift");
}

#[test]
fn a_line_without_an_end_does_not_take_all_memory() {
    let mut content = format!("{HEADER}\n").into_bytes();
    content.resize(content.len() + (65 << 20), b'x');
    content.extend_from_slice(format!("\n{LINE}\n").as_bytes());
    let path = written("endless.frames", &content);

    let (recording, frames) = read_all(&path);

    assert_eq!((frames.len(), recording.bad().count), (1, 1));
}

#[test]
fn a_time_that_no_calendar_has_is_a_bad_line() {
    let far = LINE.replace(":5,", &format!(":{},", u64::MAX));
    let path = written("far.frames", format!("{HEADER}\n{LINE}\n{far}\n{LINE}\n").as_bytes());

    let (recording, frames) = read_all(&path);

    assert_eq!(frames.iter().map(|frame| frame.at.0).collect::<Vec<_>>(), [5, 5]);
    assert_eq!((recording.bad().count, recording.bad().first_line), (1, 3));
}

#[test]
fn a_recording_without_a_frame_is_refused_with_the_fault() {
    for (content, why) in [
        (String::new(), "it ends with its header"),
        ("oops\n".to_owned(), "line 2: "),
        ("{\"at\":".to_owned(), "it is truncated or damaged"),
    ] {
        let path = written("empty.frames", format!("{HEADER}\n{content}").as_bytes());

        let error = Recording::open(&path).unwrap().next_frame().unwrap_err().to_string();

        let known = "holds no frame that can be read: ";
        assert!(error.contains(&format!("{known}{why}")), "{error}");
    }
}

#[test]
fn a_damaged_compressed_recording_is_read_up_to_the_damage() {
    let content: String =
        (0..50_000).map(|n| LINE.replace(":5,", &format!(":{n},")) + "\n").collect();
    let content = format!("{HEADER}\n{content}");
    let zstd = zstd::encode_all(content.as_bytes(), 3).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(content.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    for (name, mut bytes) in [("hurt.frames.zst", zstd), ("hurt.frames.gz", gzip)] {
        let from = bytes.len() * 3 / 4;
        bytes[from..].fill(0xFF);

        let (recording, frames) = read_all(&written(name, &bytes));

        assert!(recording.torn(), "{name}");
        assert!((1_000..50_000).contains(&frames.len()), "{name}: {}", frames.len());
    }
}

#[test]
fn a_header_with_a_wrong_value_says_which() {
    let path = written("number.frames", b"{\"kvtop_frames\":1,\"dynamo\":1.0}\n");

    let error = Recording::open(&path).err().unwrap().to_string();

    assert!(error.contains("floating point `1.0`, expected a string"), "{error}");
}

#[test]
fn a_named_pipe_is_refused_and_not_waited_for() {
    let path = scratch().join("pipe.frames");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());

    let error = Recording::open(&path).err().unwrap();

    assert!(matches!(error, RecordError::Open { .. }), "{error}");
}

#[test]
fn a_file_whose_first_line_does_not_end_is_refused_and_not_read_on() {
    let error = Recording::open(std::path::Path::new("/dev/zero")).err().unwrap();

    assert!(matches!(error, RecordError::NoHeader { .. }), "{error}");
}
