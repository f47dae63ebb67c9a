//! Memory that sources may fill: a budget for frames on their way to the engine, and an alarm for those that hold
//! more than they can count.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::FRAME_BUFFER;
use crate::frame::{Body, Frame};

/// Payloads of at least this size are counted by bytes; smaller ones are bounded by the number of frames.
const LARGE: usize = 4 << 10;

/// Frames that each channel may hold whatever the others hold: more than a deployment sends while its engine makes a
/// picture.
const OWN: usize = 2_048;

/// Bytes of large payloads in flight, unless --max-memory says otherwise.
const FRAMES: usize = 64 << 20;

/// The budget of one process. A payload counts from when it is passed on until nobody holds it any more.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    limit: usize,
    /// Number of times that the process exceeded its memory limit.
    alarms: watch::Sender<u64>,
    /// Connections whose client library buffers until a message is whole.
    intakes: Mutex<Vec<Intake>>,
    /// The channels into which frames are passed on.
    channels: Mutex<Vec<mpsc::WeakSender<Frame>>>,
}

/// Reads how many bytes a connection took and how many messages it made of them.
type Meter = Box<dyn Fn() -> (u64, u64) + Send>;

struct Intake {
    meter: Meter,
    /// Bytes when the last message was made, and how many there were then.
    since: (u64, u64),
    alive: Weak<()>,
}

impl std::fmt::Debug for Intake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Intake").field("since", &self.since).finish_non_exhaustive()
    }
}

/// Bytes without a message that no server has a reason to send: messages of NATS are 1 MiB at most, unless its
/// configuration says otherwise.
const UNFINISHED: u64 = 16 << 20;

impl Default for Budget {
    fn default() -> Self {
        Self::new(FRAMES)
    }
}

impl Budget {
    /// Returns a budget of so many bytes of large payloads.
    pub fn new(limit: usize) -> Self {
        let alarms = watch::Sender::new(0);
        let (intakes, channels) = (Mutex::default(), Mutex::default());
        Self { used: AtomicUsize::new(0), limit, alarms, intakes, channels }
    }

    /// Counts the frames that wait in a channel among those of all.
    pub(super) fn count_waiting_in(&self, frames: &mpsc::Sender<Frame>) {
        if let Ok(mut channels) = self.channels.lock() {
            channels.retain(|channel| channel.strong_count() > 0);
            channels.push(frames.downgrade());
        }
    }

    /// Returns true when a channel that holds so many frames may take another one: always while it holds few, and
    /// beyond that while all channels together hold fewer than `part` of what one channel has room for, or of what
    /// fits into the limit, were each as large as a small payload can be.
    pub(super) fn has_room(&self, waiting: usize, part: Part) -> bool {
        let (own, all) = (OWN, FRAME_BUFFER.max(self.limit / LARGE));
        waiting < part.of(own) || self.waiting() < part.of(all)
    }

    /// Returns the number of frames that wait in all channels.
    fn waiting(&self) -> usize {
        let Ok(channels) = self.channels.lock() else { return 0 };
        channels.iter().filter_map(mpsc::WeakSender::upgrade).map(|it| waiting_in(&it)).sum()
    }

    /// Tells sources that the process holds more than it may: whoever buffers what it cannot count lets go of it.
    pub fn raise_alarm(&self) {
        self.alarms.send_modify(|count| *count += 1);
    }

    /// Watches over a connection until what is returned is dropped.
    pub(super) fn watch_over(&self, meter: Meter) -> Arc<()> {
        let alive = Arc::new(());
        let since = meter();
        if let Ok(mut intakes) = self.intakes.lock() {
            intakes.push(Intake { meter, since, alive: Arc::downgrade(&alive) });
        }
        alive
    }

    /// Returns true when a connection took more than a message may have, and made none of it.
    pub fn is_swamped(&self) -> bool {
        let Ok(mut intakes) = self.intakes.lock() else { return false };
        intakes.retain(|intake| intake.alive.strong_count() > 0);
        let mut swamped = false;
        for intake in intakes.iter_mut() {
            let (bytes, messages) = (intake.meter)();
            if messages != intake.since.1 {
                intake.since = (bytes, messages);
            }
            swamped |= bytes.saturating_sub(intake.since.0) > UNFINISHED;
        }
        swamped
    }

    /// Waits for the next alarm.
    pub(super) async fn alarm(&self) {
        let mut alarms = self.alarms.subscribe();
        // The sender is part of the budget, which lives as long as this.
        drop(alarms.changed().await);
    }

    /// Returns `frame` with its large payloads counted; none when they do not fit.
    pub(super) fn admit(self: &Arc<Self>, frame: Frame) -> Option<Frame> {
        let large = |bytes: &Bytes| if bytes.len() >= LARGE { bytes.len() } else { 0 };
        let size = match &frame.body {
            Body::Whole(bytes) => large(bytes),
            Body::Parts(parts) => parts.iter().map(large).sum(),
        };
        if size == 0 {
            return Some(frame);
        }
        let fits = |used: usize| used.checked_add(size).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        let counted = |bytes: Bytes| {
            if bytes.len() < LARGE {
                return bytes;
            }
            Bytes::from_owner(Counted { bytes, budget: Arc::clone(self) })
        };
        let body = match frame.body {
            Body::Whole(bytes) => Body::Whole(counted(bytes)),
            Body::Parts(parts) => Body::Parts(parts.into_iter().map(counted).collect()),
        };
        Some(Frame { body, ..frame })
    }
}

/// The part of the limit that a frame may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Half of it, for those who can wait.
    Half,
    /// Three quarters of it, for frames that are lost otherwise and matter less than others.
    Most,
    /// All of it, for frames that are lost otherwise.
    Whole,
}

impl Part {
    /// Returns this part of `limit`.
    pub(super) const fn of(self, limit: usize) -> usize {
        match self {
            Self::Half => limit / 2,
            Self::Most => limit - limit / 4,
            Self::Whole => limit,
        }
    }
}

/// Returns the number of frames that wait in a channel.
pub(super) fn waiting_in(frames: &mpsc::Sender<Frame>) -> usize {
    frames.max_capacity() - frames.capacity()
}

/// A payload that counts while it is held.
struct Counted {
    bytes: Bytes,
    budget: Arc<Budget>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::frame::Origin;

    fn frame(size: usize) -> Frame {
        Frame::new(Timestamp(1), Origin::nats("s"), vec![7; size])
    }

    #[test]
    fn large_payloads_are_admitted_while_they_fit_and_count_until_they_are_let_go() {
        let budget = Arc::new(Budget::new(100_000));
        let first = budget.admit(frame(60_000)).unwrap();
        let copy = first.clone();
        assert!(budget.admit(frame(60_000)).is_none());
        assert!(budget.admit(frame(100)).is_some(), "small ones are bounded by their number");
        drop(first);
        assert!(budget.admit(frame(60_000)).is_none(), "a copy is held");
        let Body::Whole(bytes) = &copy.body else { panic!("one piece") };
        assert_eq!(bytes.len(), 60_000);
        drop(copy);
        assert!(budget.admit(frame(60_000)).is_some());
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_channel_may_be_long_while_others_are_short_and_always_holds_a_few_frames() {
        let budget = Budget::new(FRAME_BUFFER * LARGE);
        let channels: Vec<_> = (0..4).map(|_| mpsc::channel(FRAME_BUFFER)).collect();
        for (sender, _) in &channels {
            budget.count_waiting_in(sender);
        }
        let fill = |at: usize, frames: usize| {
            let (sender, _) = &channels[at];
            for _ in 0..frames {
                sender.try_send(frame(100)).unwrap();
            }
        };
        let room = |at: usize, part| budget.has_room(waiting_in(&channels[at].0), part);

        fill(0, 12_000);
        assert!(room(0, Part::Whole), "the others hold nothing");
        assert!(
            !room(0, Part::Half) && room(1, Part::Half),
            "history waits where much waits already"
        );
        fill(1, FRAME_BUFFER - 12_000);
        assert!(
            !room(0, Part::Whole) && !room(1, Part::Whole),
            "all together hold as many as one may"
        );
        assert!(room(2, Part::Whole), "few in its own channel");
        fill(2, OWN);
        assert!(!room(2, Part::Whole) && room(3, Part::Whole));
    }

    #[test]
    fn a_channel_that_ended_does_not_count() {
        let budget = Budget::new(FRAME_BUFFER * LARGE);
        let (sender, receiver) = mpsc::channel(FRAME_BUFFER);
        budget.count_waiting_in(&sender);
        for _ in 0..FRAME_BUFFER {
            sender.try_send(frame(100)).unwrap();
        }
        assert!(!budget.has_room(OWN, Part::Whole));
        drop((sender, receiver));
        assert!(budget.has_room(OWN, Part::Whole));
    }
}
