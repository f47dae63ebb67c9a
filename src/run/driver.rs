//! The engine's task: frames and time in, pictures out, at most ten a second.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::ahead::{self, Engines};
use super::live::Attach;
use crate::clock;
use crate::domain::Timestamp;
use crate::frame::Frame;
use crate::player::Player;
use crate::snapshot::{Feed, Snapshot, ViewQuery};
use crate::source::Pace;
use crate::tui::command::ReplayCommand;

/// Frames taken in at once; between two lots time and queries get their turn.
const LOT: usize = 1024;

/// Time between two pictures at least, and at most while frames come.
const PICTURE_EVERY: Duration = Duration::from_millis(100);
const PICTURE_WITHIN: Duration = Duration::from_millis(500);

/// Pictures take at most one part in so many of a core, as long as that leaves two a second: with many workers one
/// costs milliseconds, and nobody reads ten a second.
const PICTURE_SHARE: u32 = 100;

/// Without new frames only rates change, and they are worth a picture a second.
const RATES_EVERY: Duration = Duration::from_secs(1);

/// After this long without frames every rate is zero and nothing changes any more.
const RATES_FOR: Duration = Duration::from_secs(310);

/// Publishes pictures of `engines` fed by `frames`, until nobody wants them. `choices` are graph deployments
/// to show alone.
pub(super) async fn live(
    mut engines: Engines,
    mut frames: mpsc::Receiver<Frame>,
    mut feed: watch::Receiver<Feed>,
    mut attach: Option<Attach>,
    pictures: watch::Sender<Arc<Snapshot>>,
    mut queries: watch::Receiver<ViewQuery>,
    mut choices: watch::Receiver<Option<String>>,
) {
    let (mut lot, mut news) = (Vec::with_capacity(LOT), Vec::new());
    let (mut changed, mut open, mut steered, mut choosing) = (true, true, true, true);
    let mut newest = clock::now();
    let start = Instant::now();
    let mut rhythm = Rhythm { last: start, cost: Duration::ZERO, unanswered: false };
    let mut gathering = Gathering { pace: Pace::default(), start, until: None };
    loop {
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(rhythm.next(changed)) => {
                rhythm.last = Instant::now();
                let at = clock::now();
                let behind = engines.advance(at);
                if let Some(attach) = &attach {
                    attach.update(&engines.whole);
                }
                let wanted = changed || at.since(newest) < RATES_FOR;
                let unfinished = wanted
                    && publish(&mut engines, &feed.borrow().clone(), &pictures, &queries, at);
                // What the mirror deferred is worked off before it may rest, and what was asked is
                // answered.
                changed = behind || unfinished;
                rhythm.drawn(unfinished);
            }
            asked = queries.changed() => {
                if asked.is_err() {
                    return;
                }
                let feed = feed.borrow().clone();
                rhythm.unanswered = publish(&mut engines, &feed, &pictures, &queries, clock::now());
                changed |= rhythm.unanswered;
            }
            chosen = choices.changed(), if choosing => {
                choosing = chosen.is_ok();
                if choosing {
                    choose(&mut engines, &mut attach, choices.borrow_and_update().clone());
                    let feed = feed.borrow().clone();
                    changed |= publish(&mut engines, &feed, &pictures, &queries, clock::now());
                }
            }
            known = feed.changed(), if steered => {
                steered = known.is_ok();
                changed = true;
            }
            _ = ahead::news(&mut engines.vanguard, &mut news, LOT) => {
                engines.ingest_news(&mut news, frames.len());
                changed = true;
                newest = clock::now();
            }
            () = gathering.end(), if gathering.until.is_some() => {}
            count = frames.recv_many(&mut lot, LOT), if open && gathering.until.is_none() => {
                open = count > 0;
                engines.ingest(&lot);
                lot.clear();
                changed = true;
                newest = clock::now();
                gathering.taken(count);
            }
        }
    }
}

/// Shows the graph deployment of that name alone, and opens what belongs to it; all of them for none.
fn choose(engines: &mut Engines, attach: &mut Option<Attach>, name: Option<String>) {
    engines.choose(name.as_deref());
    if let Some(attach) = attach {
        attach.choice.dgd = name;
        attach.update(&engines.whole);
    }
}

/// Decides when the next picture is due.
struct Rhythm {
    last: Instant,
    /// The time that pictures took lately.
    cost: Duration,
    /// True while another picture would tell more of what was asked.
    unanswered: bool,
}

impl Rhythm {
    /// Returns when the next picture is due; `changed` tells whether there is anything new.
    fn next(&self, changed: bool) -> Instant {
        self.last
            + match (changed, self.unanswered) {
                (_, true) => PICTURE_EVERY,
                (true, false) => pause_after(self.cost),
                (false, false) => RATES_EVERY,
            }
    }

    /// Notes that the picture begun last is done. One that was interrupted does not slow down others for long.
    fn drawn(&mut self, unanswered: bool) {
        self.cost = (self.cost + self.last.elapsed()) / 2;
        self.unanswered = unanswered;
    }
}

/// Returns the time from one picture to the next where one costs so much.
fn pause_after(cost: Duration) -> Duration {
    (cost * PICTURE_SHARE).clamp(PICTURE_EVERY, PICTURE_WITHIN)
}

/// Lets frames gather in the channel at high rates, so that nobody is woken for each.
struct Gathering {
    pace: Pace,
    start: Instant,
    /// The end of the present pause.
    until: Option<Instant>,
}

impl Gathering {
    /// Notes that `count` frames were taken, and begins a pause unless there are more of them.
    fn taken(&mut self, count: usize) {
        let now = Instant::now();
        let pause = self.pace.taken(count, now.duration_since(self.start));
        self.until = pause.filter(|_| count < LOT).map(|pause| now + pause);
    }

    /// Waits for the end of the pause.
    async fn end(&mut self) {
        if let Some(until) = self.until {
            tokio::time::sleep_until(until).await;
        }
        self.until = None;
    }
}

/// Publishes a picture. Returns true when another one would tell more of what was asked.
fn publish(
    engines: &mut Engines,
    feed: &Feed,
    pictures: &watch::Sender<Arc<Snapshot>>,
    queries: &watch::Receiver<ViewQuery>,
    at: Timestamp,
) -> bool {
    let query = queries.borrow().clone();
    let mut snapshot = engines.snapshot(&query, at);
    snapshot.feed = feed.clone();
    let unfinished = snapshot.answer.is_unfinished();
    pictures.send_replace(Arc::new(snapshot));
    unfinished
}

/// Time between two steps of a replay.
const REPLAY_STEP: Duration = Duration::from_millis(50);

/// Frames that a jump plays, or the index reads, before keys and time get their turn.
const SLICE: usize = 256;

/// Slices that a jump plays before the index shows its moment: a short one needs no more.
const AT_ONCE: usize = 8;

/// Most that one step moves: time in which the process stood still was not watched.
const LONGEST_STEP: Duration = Duration::from_millis(250);

/// Publishes pictures of a recording, moved by `commands`, until nobody wants them.
pub(super) async fn replay(
    mut player: Player,
    mut commands: mpsc::Receiver<ReplayCommand>,
    pictures: watch::Sender<Arc<Snapshot>>,
    mut queries: watch::Receiver<ViewQuery>,
) {
    let mut tick = tokio::time::interval(REPLAY_STEP);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = Instant::now();
    let mut odd = false;
    // A file that can no longer be read is played no further.
    let mut failed = false;
    let mut unfinished = show(&mut player, &pictures, &queries);
    #[cfg(debug_assertions)]
    panic_for_tests();
    loop {
        tokio::select! {
            biased;
            asked = queries.changed() => {
                if asked.is_err() {
                    return;
                }
                unfinished = show(&mut player, &pictures, &queries);
            }
            command = commands.recv() => {
                let Some(command) = command else { return };
                // A file that vanished while it is replayed leaves the picture as it is.
                if obey(&mut player, command).is_ok() {
                    for _ in 0..AT_ONCE {
                        failed |= player.approach(SLICE).is_err();
                    }
                    unfinished = show(&mut player, &pictures, &queries);
                }
            }
            _ = tick.tick() => {
                let now = Instant::now();
                let passed = now.duration_since(last).min(LONGEST_STEP);
                let moved = player.pass(passed).unwrap_or(false);
                last = now;
                odd = !odd;
                // Every other step makes ten pictures a second; the last one is always shown.
                if (moved || unfinished) && (odd || player.is_still()) {
                    unfinished = show(&mut player, &pictures, &queries);
                }
            }
            () = tokio::task::yield_now(), if !failed && player.goal().is_some() => {
                failed = player.approach(SLICE).is_err();
                if player.goal().is_none() {
                    unfinished = show(&mut player, &pictures, &queries);
                }
            }
            () = tokio::task::yield_now(), if !failed && player.is_indexing() => {
                failed = player.read_index(SLICE).is_err();
                if !player.is_indexing() {
                    unfinished = show(&mut player, &pictures, &queries);
                }
            }
        }
    }
}

/// Panics where a test wants to see what remains without an engine.
#[cfg(debug_assertions)]
fn panic_for_tests() {
    let wanted = std::env::var("KVTOP_TEST_PANIC");
    assert!(wanted.as_deref() != Ok("engine"), "asked for by a test");
}

/// Publishes a picture. Returns true when another one would tell more of what was asked.
fn show(
    player: &mut Player,
    pictures: &watch::Sender<Arc<Snapshot>>,
    queries: &watch::Receiver<ViewQuery>,
) -> bool {
    let query = queries.borrow().clone();
    let mut snapshot = if let Some(near) = player.glimpse() {
        Snapshot::clone(near)
    } else {
        let at = player.position();
        player.engine().snapshot(&query, at)
    };
    snapshot.feed = Feed::Replay(player.playback());
    let unfinished = snapshot.answer.is_unfinished();
    pictures.send_replace(Arc::new(snapshot));
    unfinished
}

fn obey(player: &mut Player, command: ReplayCommand) -> Result<(), crate::record::RecordError> {
    match command {
        ReplayCommand::Toggle => player.toggle(),
        ReplayCommand::Step => player.step(),
        ReplayCommand::SeekBy(seconds) => {
            let span = Duration::from_secs(seconds.unsigned_abs());
            let position = player.playback().position;
            let target = if seconds < 0 { position.before(span) } else { position.after(span) };
            player.jump(target)
        }
        ReplayCommand::SeekTo(at) => player.jump(at),
        ReplayCommand::SeekStart => player.jump(Timestamp::default()),
        ReplayCommand::SeekEnd => {
            let end = player.end();
            player.jump(end)
        }
        ReplayCommand::Faster => {
            player.faster();
            Ok(())
        }
        ReplayCommand::Slower => {
            player.slower();
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Thresholds;

    #[test]
    fn pictures_that_cost_much_come_less_often() {
        let pauses = [0, 1, 3, 5, 90].map(|cost| pause_after(Duration::from_millis(cost)));

        assert_eq!(pauses.map(|pause| pause.as_millis()), [100, 100, 300, 500, 500]);
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_process_stood_still_is_not_played() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/captures/0.9.0-evict.frames.gz");
        let player =
            Player::open(std::path::Path::new(path), 1 << 30, Thresholds::default()).unwrap();
        let start = player.position();
        let (pictures, picture) = watch::channel(Arc::default());
        let (_queries, asked) = watch::channel(ViewQuery::default());
        let (_commands, told) = mpsc::channel(1);
        let task = tokio::spawn(replay(player, told, pictures, asked));
        tokio::time::sleep(Duration::from_millis(110)).await;

        tokio::time::advance(Duration::from_secs(20)).await;
        tokio::time::sleep(Duration::from_millis(60)).await;

        let passed = picture.borrow().at.since(start);
        task.abort();
        assert!(passed < Duration::from_secs(1), "{passed:?}");
        assert!(passed > Duration::from_millis(50), "{passed:?}");
    }
}
