//! The logs source against a fake API that answers as a real one was recorded to.

mod cuts;
mod files;
mod kept;
pub(crate) mod planted;
mod private;
mod reasons;

use std::time::Duration;

use kvtop::clock;
use kvtop::domain::SourceState;
use kvtop::frame::{Frame, Origin};
use kvtop::source::logs::{LogLimits, LogStart, LogTarget, LogText, spawn_with};
use kvtop::source::{Desired, SourceHandle};
use tokio::sync::watch;

use crate::support::frames::{Delivered, name};
use crate::support::kube_api::FakeKube;

const FRONTEND: &str = "gtc-demo-0-frontend-rmjwp";
const WORKER: &str = "gtc-demo-0-trtllmworker-fhhcl";

fn target(pod: &str, start: LogStart) -> LogTarget {
    LogTarget { namespace: name("gtc-demo"), pod: name(pod), container: name("main"), start }
}

fn frontend() -> LogTarget {
    target(FRONTEND, LogStart::Recent)
}

fn worker() -> LogTarget {
    target(WORKER, LogStart::Beginning)
}

/// A source under test.
struct Following {
    handle: SourceHandle,
    targets: watch::Sender<Vec<LogTarget>>,
    delivered: Delivered,
}

async fn follow_with(
    kube: &FakeKube,
    targets: &[LogTarget],
    limits: LogLimits,
    room: usize,
) -> Following {
    let (emitter, delivered) = Delivered::with_room(room);
    let (targets, list) = watch::channel(targets.to_vec());
    // What is kept of a line is tested in `private`.
    let limits = LogLimits { text: LogText::Whole, ..limits };
    let handle = spawn_with(kube.client().await, emitter, list, limits);
    Following { handle, targets, delivered }
}

async fn follow(kube: &FakeKube, targets: &[LogTarget]) -> Following {
    follow_with(kube, targets, LogLimits::default(), 10_000).await
}

impl Following {
    /// Waits until a log has been asked for `times` times, and the last time is being answered.
    async fn until_open(&mut self, kube: &FakeKube, times: usize) {
        let asked =
            |kube: &FakeKube| kube.requests().iter().filter(|it| it.path.ends_with("/log")).count();
        let follows = self.targets.borrow().len();
        while asked(kube) < times || kube.open_streams() < follows {
            self.delivered.during(Duration::from_millis(20)).await;
        }
    }

    async fn until_lines(&mut self, pod: &str, count: usize) {
        let what = format!("expected {count} lines of {pod}");
        self.delivered.until(&what, |it| it.lines(pod).len() >= count).await;
    }
}

fn numbered(from: usize, to: usize) -> Vec<String> {
    (from..to).map(|number| format!("line {number}")).collect()
}

fn write(kube: &FakeKube, pod: &str, lines: &[String]) {
    for line in lines {
        kube.log_line(pod, "main", line);
    }
}

#[tokio::test]
async fn lines_come_as_the_container_wrote_them_with_the_time_of_the_kubelet() {
    let kube = FakeKube::demo();
    let before = kvtop::clock::now();
    let odd = "\u{1b}[32m INFO\u{1b}[0m \u{1} block \u{fffd} 32";
    kube.log_line(WORKER, "main", "early");
    kube.log_line(FRONTEND, "main", "2026-11-21T00:22:26.780370Z  WARN text");
    let mut it = follow(&kube, &[frontend(), worker()]).await;
    it.delivered.until_noted("2 of 2 logs followed").await;

    kube.log_line(WORKER, "main", odd).log_line(WORKER, "main", "");

    it.until_lines(WORKER, 3).await;
    it.until_lines(FRONTEND, 1).await;
    assert_eq!(it.delivered.lines(WORKER), ["early", odd, ""]);
    assert_eq!(it.delivered.lines(FRONTEND), ["2026-11-21T00:22:26.780370Z  WARN text"]);
    for frame in &it.delivered.frames {
        let time = frame.time.unwrap();
        assert!(before <= time && time <= frame.at, "{frame:?}");
        let Origin::Log { namespace, container, .. } = &frame.origin else { panic!("{frame:?}") };
        assert_eq!((&**namespace, &**container), ("gtc-demo", "main"));
    }
    let note = it.delivered.notes.last().unwrap();
    assert_eq!((note.state, note.dropped, note.interruptions), (SourceState::Live, 0, 0));
}

#[tokio::test]
async fn a_recorded_log_is_read_as_the_kubelet_sent_it() {
    let kube = FakeKube::demo();
    let timeline = kube.stream(&format!("/{FRONTEND}/log?"), "logs/follow_timestamps");
    let recorded = timeline.lines();
    let expected: Vec<_> = recorded.iter().map(|line| line.split_once(' ').unwrap()).collect();

    let mut it = follow(&kube, &[frontend()]).await;

    it.until_lines(FRONTEND, expected.len()).await;
    let lines: Vec<_> = expected.iter().map(|(_, line)| *line).collect();
    assert_eq!(it.delivered.lines(FRONTEND), lines);
    for (frame, (time, _)) in it.delivered.frames.iter().zip(&expected) {
        // The kubelet writes nanoseconds.
        let micros: jiff::Timestamp = time.parse().unwrap();
        assert_eq!(i64::try_from(frame.time.unwrap().0).unwrap(), micros.as_microsecond());
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() {
    let kube = FakeKube::demo();
    let mut it = follow(&kube, &[frontend()]).await;

    kube.log_line(FRONTEND, "main", &"x".repeat(1 << 20)).log_line(FRONTEND, "main", "next");

    it.until_lines(FRONTEND, 2).await;
    let lengths: Vec<usize> = it.delivered.lines(FRONTEND).iter().map(String::len).collect();
    // Of the 64 KiB the time of the kubelet takes 31 bytes.
    assert_eq!(lengths, [(64 << 10) - 31, 4]);
}

#[tokio::test]
async fn history_waits_for_room_and_is_never_dropped() {
    let kube = FakeKube::demo();
    write(&kube, WORKER, &numbered(0, 3_000));
    write(&kube, FRONTEND, &numbered(0, 3_000));
    let mut it = follow_with(&kube, &[frontend(), worker()], LogLimits::default(), 64).await;

    it.until_lines(WORKER, 3_000).await;
    it.until_lines(FRONTEND, 3_000).await;

    assert_eq!(it.delivered.lines(WORKER), numbered(0, 3_000));
    assert_eq!(it.delivered.lines(FRONTEND), numbered(0, 3_000));
    assert!(it.delivered.notes.iter().all(|note| note.dropped == 0));
}

#[tokio::test]
async fn a_live_line_is_not_lost_to_a_history_that_fills_half_of_the_room() {
    let (emitter, _delivered) = Delivered::with_room(8);
    let line = || {
        let (namespace, pod, container) = ("n".into(), "p".into(), "c".into());
        Frame::new(clock::now(), Origin::Log { namespace, pod, container }, "line")
    };
    while emitter.has_room() {
        emitter.emit(line());
    }

    emitter.emit_if_room(line());
    let dropped = emitter.dropped();
    emitter.emit_if_room(line());
    emitter.emit_if_room(line());

    assert_eq!((dropped, emitter.dropped()), (0, 1), "the last quarter is left to others");
}

#[tokio::test]
async fn a_flood_of_live_lines_is_dropped_and_counted_and_leaves_room_for_others() {
    const LINES: usize = 100_000;
    const ROOM: usize = 1_000;
    let kube = FakeKube::demo();
    let mut it = follow_with(&kube, &[frontend()], LogLimits::default(), ROOM).await;
    it.delivered.until_noted("1 of 1 logs followed").await;

    // Nobody takes frames while the log is written.
    write(&kube, FRONTEND, &numbered(0, LINES));
    tokio::time::sleep(Duration::from_secs(1)).await;

    // Nothing else runs meanwhile, so that no line takes the place of one that is taken.
    it.delivered.take_queued();
    let queued = it.delivered.lines(FRONTEND).len();
    assert!(queued <= ROOM / 4 * 3 + 1, "a quarter of the room is left: {queued}");
    it.delivered
        .until("expected all lines to be accounted for", |it| {
            let dropped = it.notes.last().map_or(0, |note| note.dropped);
            it.lines(FRONTEND).len() + usize::try_from(dropped).unwrap() == LINES
        })
        .await;
    let note = it.delivered.notes.last().unwrap();
    assert_eq!(note.state, SourceState::Lossy);
    assert!(note.why.contains(&format!("{FRONTEND}: {} lines dropped", note.dropped)), "{note:?}");
}

#[tokio::test]
async fn of_a_long_log_the_start_and_the_present_are_read() {
    let kube = FakeKube::demo();
    write(&kube, WORKER, &numbered(0, 1_000));
    let limits = LogLimits {
        start_bytes: 2_000,
        recent: Duration::from_secs(600),
        recent_lines: 5,
        ..LogLimits::default()
    };
    let mut it = follow_with(&kube, &[worker()], limits, 10_000).await;
    it.delivered.until_noted("1 of 1 logs followed").await;

    kube.log_line(WORKER, "main", "now");

    it.delivered
        .until("expected the newest line", |it| {
            it.lines(WORKER).last().is_some_and(|it| it == "now")
        })
        .await;
    let starts: Vec<_> =
        kube.requests().into_iter().filter(|it| it.query.contains("limitBytes")).collect();
    assert_eq!(starts.len(), 1, "{starts:?}");
    assert_eq!(it.delivered.lines(WORKER)[..3], numbered(0, 3));
}

#[tokio::test]
async fn targets_come_and_go_and_there_is_a_bound() {
    let kube = FakeKube::demo();
    let limits = LogLimits { follows: 1, ..LogLimits::default() };
    let mut it = follow_with(&kube, &[], limits, 10_000).await;
    it.delivered.until_noted("no containers to follow yet").await;

    it.targets.send_replace(vec![frontend(), worker()]);
    it.delivered.until_noted("1 of 2 logs followed; at most 1 are followed").await;
    kube.log_line(WORKER, "main", "worker").log_line(FRONTEND, "main", "frontend");
    it.until_lines(FRONTEND, 1).await;

    it.targets.send_replace(vec![worker()]);
    it.delivered.until_noted("1 of 1 logs followed").await;
    it.until_lines(WORKER, 1).await;
    assert_eq!(it.delivered.frames.len(), 2);
}

#[tokio::test]
async fn nothing_is_open_while_suspended_and_nothing_is_lost() {
    let kube = FakeKube::demo();
    let mut it = follow(&kube, &[frontend(), worker()]).await;
    write(&kube, FRONTEND, &numbered(0, 10));
    it.until_lines(FRONTEND, 10).await;

    it.handle.desired.send_replace(Desired::Suspended);
    it.handle.state.wait_for(|state| *state == SourceState::Suspended).await.unwrap();
    for _ in 0..100 {
        if kube.open_streams() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(kube.open_streams(), 0);
    write(&kube, FRONTEND, &numbered(10, 20));
    it.handle.desired.send_replace(Desired::Running);

    it.until_lines(FRONTEND, 20).await;
    it.delivered.during(Duration::from_millis(300)).await;
    assert_eq!(it.delivered.lines(FRONTEND), numbered(0, 20));
    it.handle.desired.send_replace(Desired::Stopped);
    it.handle.task.await.unwrap();
}
