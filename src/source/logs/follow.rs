//! Following the log of one container for as long as it is wanted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::join::Joined;
use super::lines::Stamped;
use super::request::{self, Answer, From, Piece, Reading};
use super::text::Sieve;
use super::{LogLimits, LogStart, LogTarget};
use crate::clock;
use crate::frame::{Frame, Origin};
use crate::source::kube::{KubeClient, Refusal};
use crate::source::{Desired, Emitter};

/// The first wait after an end.
const RETRY_FIRST: Duration = Duration::from_millis(500);

/// The longest wait after an end.
const RETRY_LAST: Duration = Duration::from_secs(5);

/// For a second or two after its start an API server answers 403 to those who may; so many of them
/// in a row, [`RETRY_FIRST`] doubling in between, are believed.
const FORBIDDEN_BELIEVED: u32 = 3;

/// The wait before a refused request is repeated.
const RETRY_FORBIDDEN: Duration = Duration::from_secs(60);

/// After so long without a line what a log held before has been read: the kubelet sends a file as fast as it can.
const AT_THE_END: Duration = Duration::from_millis(500);

/// The time over which the pace of lines is measured.
const PACE: Duration = Duration::from_secs(1);

/// Tells lines that come as they are written from those of the past, on a node with any clock: the times of the
/// past pass faster than the clock here.
#[derive(Clone, Copy, Debug, Default)]
struct LinePace {
    /// When the present span began, and the time of the newest line then.
    began: Option<(crate::domain::Timestamp, Timestamp)>,
}

impl LinePace {
    /// Returns true when the times of lines, of which `newest` was read by `now`, pass as fast as the clock.
    fn is_live(&mut self, newest: Option<Timestamp>, now: crate::domain::Timestamp) -> bool {
        let Some(newest) = newest else { return false };
        let (since, first) = *self.began.get_or_insert((now, newest));
        let span = now.since(since);
        if span < PACE {
            return false;
        }
        self.began = Some((now, newest));
        newest.duration_since(first) < jiff::SignedDuration::try_from(span * 2).unwrap_or_default()
    }
}

/// The state of following one container's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) phase: Phase,
    /// Times the connection broke. A log that ends with its container is not broken.
    pub(super) cuts: u64,
    /// Lines dropped.
    pub(super) dropped: u64,
}

/// The state of one container's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not yet, and nothing went wrong.
    #[default]
    Opening,
    /// Yes, but what it held before is still being read.
    Reading,
    /// Yes.
    Followed,
    /// No; why.
    Not(String),
    /// It was told to pause, and is not connected.
    Paused,
}

/// The follow of one container.
pub(super) struct Follow {
    pub(super) client: KubeClient,
    pub(super) emitter: Emitter,
    pub(super) target: LogTarget,
    pub(super) limits: LogLimits,
    pub(super) wanted: watch::Receiver<Desired>,
    pub(super) standing: watch::Sender<Standing>,
    pub(super) changed: Arc<Notify>,
}

/// The state of a container that outlives a connection.
#[derive(Default)]
struct Past {
    sieve: Sieve,
    joined: Joined,
    /// The start of the log has been read, or is not wanted.
    started: bool,
    /// What the log held when it was first opened has been read.
    level: bool,
    /// The start was longer than what is read of it.
    truncated: bool,
    /// Ended instances whose rest has been read.
    previous: Option<String>,
    failures: u32,
    forbidden: u32,
}

/// The end of a connection.
enum End {
    /// As it should; the container ended, its node went away, or nothing came for long.
    Clean,
    /// In the middle.
    Cut(String),
    /// It did not begin.
    Refused(Refusal),
    /// The pod is not on a node yet.
    NotScheduled,
    /// Nobody receives frames any more.
    Unheard,
}

impl Follow {
    /// Follows until it is no longer wanted.
    pub(super) async fn run(mut self) {
        let mut past = Past {
            sieve: Sieve::new(self.limits.text),
            started: self.target.start == LogStart::Recent,
            ..Past::default()
        };
        loop {
            let wanted = *self.wanted.borrow_and_update();
            match wanted {
                Desired::Stopped => return,
                Desired::Suspended => {
                    self.stand(Phase::Paused);
                    if self.wanted.changed().await.is_err() {
                        return;
                    }
                    continue;
                }
                Desired::Running => {}
            }
            let mut wanted = self.wanted.clone();
            let pause = tokio::select! {
                pause = self.attempt(&mut past) => pause,
                changed = wanted.changed() => if changed.is_ok() { continue } else { return },
            };
            let Some(pause) = pause else { return };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = wanted.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Connects once, and returns how long to wait before the next time; none to end.
    async fn attempt(&self, past: &mut Past) -> Option<Duration> {
        let before = past.joined.since();
        let began = Instant::now();
        let end = self.connection(past).await;
        if past.joined.since() != before || began.elapsed() > RETRY_LAST {
            past.failures = 0;
        }
        if !matches!(end, End::Refused(Refusal::Forbidden(_))) {
            past.forbidden = 0;
        }
        match end {
            End::Unheard => return None,
            End::Refused(Refusal::Forbidden(why)) => {
                past.forbidden += 1;
                if past.forbidden >= FORBIDDEN_BELIEVED {
                    self.stand(Phase::Not(format!("`get pods/log` is not permitted: {why}")));
                    return Some(RETRY_FORBIDDEN);
                }
            }
            End::Refused(refusal) => self.stand(Phase::Not(refusal.to_string())),
            End::NotScheduled => self.stand(Phase::Not("not on a node yet".to_owned())),
            End::Cut(why) => {
                self.standing.send_modify(|standing| standing.cuts += 1);
                self.stand(Phase::Not(why));
            }
            End::Clean => {
                if !self.after_end(past).await {
                    return None;
                }
            }
        }
        let pause = RETRY_FIRST.saturating_mul(1 << past.failures.min(8)).min(RETRY_LAST);
        past.failures += 1;
        Some(pause)
    }

    /// Looks why the log ended, and reads the rest of an instance that has been replaced.
    async fn after_end(&self, past: &mut Past) -> bool {
        let instance = match request::look(&self.client, &self.target).await {
            Ok(instance) => instance,
            Err(Refusal::Missing(_)) => {
                self.stand(Phase::Not("the pod is gone".to_owned()));
                return true;
            }
            // Without the right to get pods the log is followed all the same.
            Err(_) => return true,
        };
        if !instance.stopped.is_empty() {
            self.stand(Phase::Not(instance.stopped));
        }
        let Some((id, ended)) = instance.before else { return true };
        let since = past.joined.since();
        if past.previous.as_ref() == Some(&id) || since.is_some_and(|since| ended < since) {
            return true;
        }
        past.previous = Some(id);
        let bytes = self.limits.previous_bytes;
        match self.bounded(past, From::Previous { since, bytes }, bytes).await {
            Err(End::Unheard) => false,
            // Or it is gone for good, as `400 previous terminated container not found` says.
            Ok(_) | Err(_) => true,
        }
    }

    async fn connection(&self, past: &mut Past) -> End {
        // A start that was interrupted is gone on with from where it was.
        if !past.started && past.joined.since().is_none() {
            let bytes = self.limits.start_bytes;
            match self.bounded(past, From::Start { bytes }, bytes).await {
                Ok(truncated) => past.truncated = truncated,
                Err(end) => return end,
            }
            past.started = true;
        }
        match self.open(past, self.resume(past)).await {
            Ok(reading) => self.read(past, reading).await,
            Err(end) => end,
        }
    }

    /// Returns from where on to follow: where it ended, or a while ago.
    fn resume(&self, past: &Past) -> From {
        let recent = self.limits.recent;
        let seconds = recent.as_secs();
        // A long log of which only the start has been read: the middle is passed over.
        let ago = clock::now().before(recent).0 / 1_000_000;
        match past.joined.since() {
            Some(since)
                if !past.truncated || since.as_second() >= i64::try_from(ago).unwrap_or(0) =>
            {
                From::Since(since)
            }
            Some(_) | None => From::Recent { seconds, lines: self.limits.recent_lines },
        }
    }

    async fn open(&self, past: &mut Past, from: From) -> Result<Box<Reading>, End> {
        past.joined.again();
        match request::open(&self.client, &self.target, from).await {
            Ok(Answer::Open(reading)) => {
                self.stand(if past.level { Phase::Followed } else { Phase::Reading });
                Ok(reading)
            }
            Ok(Answer::NotScheduled) => Err(End::NotScheduled),
            Err(refusal) => Err(End::Refused(refusal)),
        }
    }

    /// Reads a part of a log that was written before, and returns whether it was cut at `limit`.
    async fn bounded(&self, past: &mut Past, from: From, limit: u64) -> Result<bool, End> {
        let mut reading = self.open(past, from).await?;
        loop {
            match reading.next(self.limits.quiet).await {
                Piece::Lines(lines) => self.pass(past, &lines, None).await?,
                Piece::End(_) if reading.received >= limit => return Ok(true),
                Piece::End(line) => {
                    self.pass(past, line.as_slice(), None).await?;
                    return Ok(false);
                }
                Piece::Cut(why) => return Err(End::Cut(why)),
                Piece::Quiet => return Err(End::Cut("no answer".to_owned())),
            }
        }
    }

    /// Reads the log until it ends.
    async fn read(&self, past: &mut Past, mut reading: Box<Reading>) -> End {
        let opened = i64::try_from(clock::now().0).ok();
        let live_from = opened.and_then(|at| Timestamp::from_microsecond(at).ok());
        let mut pace = LinePace::default();
        loop {
            let patience = if past.level { self.limits.quiet } else { AT_THE_END };
            let (passed, newest) = match reading.next(patience).await {
                Piece::Lines(lines) => {
                    let newest = lines.iter().rev().find_map(|line| line.time);
                    (self.pass(past, &lines, live_from).await, newest)
                }
                Piece::Quiet if !past.level => {
                    self.is_level(past);
                    continue;
                }
                // A last line without its end is asked for again, whole.
                Piece::End(_) => {
                    self.is_level(past);
                    return End::Clean;
                }
                Piece::Quiet => return End::Clean,
                Piece::Cut(why) => return End::Cut(why),
            };
            past.truncated &= past.joined.since() < live_from;
            if let Err(end) = passed {
                return end;
            }
            if !past.level
                && (newest.is_some() && newest >= live_from || pace.is_live(newest, clock::now()))
            {
                self.is_level(past);
            }
        }
    }

    /// Takes note that what the log held when it was opened has been read.
    fn is_level(&self, past: &mut Past) {
        past.level = true;
        self.stand(Phase::Followed);
    }

    /// Passes on what is new of `lines`. Those older than `live_from` are history, which is paced;
    /// the log is a file on the node, so nobody waits for kvtop.
    async fn pass(
        &self,
        past: &mut Past,
        lines: &[Stamped],
        live_from: Option<Timestamp>,
    ) -> Result<(), End> {
        for line in lines {
            let live = live_from.is_some_and(|from| line.time.is_none_or(|time| time >= from));
            if !live && !self.emitter.room().await {
                return Err(End::Unheard);
            }
            // From here on nothing waits: a line that is taken note of is passed on.
            if past.joined.is_new(line)
                && !self.emitter.emit_if_room(self.frame(line, past.sieve.kept(&line.text)))
            {
                return Err(End::Unheard);
            }
        }
        let dropped = self.emitter.dropped();
        if self.standing.borrow().dropped != dropped {
            self.standing.send_modify(|standing| standing.dropped = dropped);
            self.changed.notify_one();
        }
        Ok(())
    }

    fn frame(&self, line: &Stamped, text: Bytes) -> Frame {
        let origin = Origin::Log {
            namespace: Arc::clone(&self.target.namespace),
            pod: Arc::clone(&self.target.pod),
            container: Arc::clone(&self.target.container),
        };
        let time = line.time.and_then(|time| u64::try_from(time.as_microsecond()).ok());
        Frame { time: time.map(crate::domain::Timestamp), ..Frame::new(clock::now(), origin, text) }
    }

    fn stand(&self, phase: Phase) {
        let replaced = self.standing.send_if_modified(|standing| {
            let differs = standing.phase != phase;
            standing.phase = phase;
            differs
        });
        if replaced {
            self.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a line a hundredth of a second whose times pass `speed` times as fast, and returns after how many
    /// seconds they are taken for live ones.
    fn live_after(speed: i64, clock_of_node: i64) -> Option<u64> {
        let mut pace = LinePace::default();
        (0..1_000_u64).find_map(|step| {
            let passed = i64::try_from(step * 10).unwrap() * speed;
            let line = Timestamp::from_millisecond(clock_of_node + passed).unwrap();
            let now = crate::domain::Timestamp(1_800_000_000_000_000 + step * 10_000);
            pace.is_live(Some(line), now).then_some(step / 100)
        })
    }

    #[test]
    fn lines_are_live_once_their_times_pass_as_fast_as_the_clock() {
        let an_hour_behind = 1_800_000_000_000 - 3_600_000;
        assert_eq!(live_after(1, an_hour_behind), Some(1), "written as they are read");
        assert_eq!(live_after(60, an_hour_behind), None, "the past");
    }
}
