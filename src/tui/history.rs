//! Pictures of the past: a few of those that were shown, so that one can go back to them.
//!
//! The nearer the past, the closer together they lie: when there are too many, the one goes whose absence
//! makes the smallest gap for its age. They hold the hottest prefixes of the tree, but no graphs and no answers. The
//! engine has the counts of an hour, of which it draws graphs that end at any moment.

mod size;

use std::sync::Arc;
use std::time::Duration;

use size::Size;

use crate::domain::Timestamp;
use crate::snapshot::{Answer, Feed, SeriesSet, Snapshot};

/// Most pictures that are kept.
pub const PICTURES: usize = 300;

/// Most bytes that they take together, as far as they can be counted: rows and texts.
pub const BYTES: usize = 6 << 20;

/// The same for the few pictures that there are of a large deployment.
pub const BYTES_OF_FEW: usize = 12 << 20;

/// A few pictures.
const FEW: usize = 8;

/// Longest time that a picture is kept.
pub const LONGEST: Duration = Duration::from_secs(12 * 3_600);

/// Time between two pictures at least.
const EVERY: Duration = Duration::from_secs(1);

/// The same while no frame comes.
const QUIET: Duration = Duration::from_secs(10);

/// Time in which a deployment is read before a picture without workers is one of it: what happened
/// before, such as a stream's history, may still be on its way.
const SETTLING: Duration = Duration::from_secs(10);

/// A picture whose newest KV event is older than [`BEHIND`], and newer than that of the picture before, is
/// one of a history that is being read, for [`CATCHING_UP`] at most: clocks may differ.
const BEHIND: Duration = Duration::from_secs(5);
const CATCHING_UP: Duration = Duration::from_secs(60);

/// Events and decisions that a picture keeps, the last ones.
const ROWS: (usize, usize) = (100, 50);

/// Pictures younger than this are thinned as if they were that old.
const NEAR: f64 = 10.0;

/// The pictures, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    kept: Vec<Kept>,
    /// Arrival of the first picture with a frame.
    began: Option<Timestamp>,
    /// The newest KV event so far, and when pictures last went on to a newer one of long ago.
    heard: Option<Timestamp>,
    read: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Kept {
    picture: Arc<Snapshot>,
    size: Size,
}

impl Kept {
    fn at(&self) -> Timestamp {
        self.picture.at
    }

    /// Returns the bytes that it takes beside the picture before it, with which it may share rows.
    fn bytes(&self, before: Option<&Self>) -> usize {
        let Some(before) = before.map(|before| &before.picture) else { return self.size.whole() };
        let own = |shared: bool, size: usize| if shared { 0 } else { size };
        self.size.own
            + own(Arc::ptr_eq(&self.picture.claims, &before.claims), self.size.claims)
            + own(Arc::ptr_eq(&self.picture.pods, &before.pods), self.size.pods)
    }
}

impl History {
    /// Keeps `live`, if it is time for another picture. A recording can be wound back instead.
    pub fn note(&mut self, live: &Snapshot) {
        if live.frames == 0 || matches!(live.feed, Feed::Replay(_)) {
            return;
        }
        if self.is_settling(live) {
            return;
        }
        // A clock that was set back tells the same times again.
        while self.kept.pop_if(|last| last.at() > live.at).is_some() {}
        if let Some(last) = self.kept.last() {
            let pause = if last.picture.frames == live.frames { QUIET } else { EVERY };
            if live.at.since(last.at()) < pause {
                return;
            }
        }
        let picture = trimmed(live);
        let size = Size::of(&picture);
        self.kept.push(Kept { picture: Arc::new(picture), size });
        self.thin(live.at);
    }

    /// Returns true while the first pictures do not tell of their own time yet.
    fn is_settling(&mut self, live: &Snapshot) -> bool {
        let began = *self.began.get_or_insert(live.at);
        let heard = live.workers.iter().filter_map(|row| row.last_event).max();
        if heard > self.heard && heard.is_some_and(|heard| live.at.since(heard) > BEHIND) {
            self.read = Some(live.at);
        }
        self.heard = heard;
        let age = live.at.since(began);
        let reads = self.read.is_some_and(|read| live.at.since(read) < EVERY);
        let unknown = live.workers.is_empty() && age < SETTLING;
        self.kept.is_empty() && (unknown || reads && age < CATCHING_UP)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the picture nearest to `at`, of those before `end`; none where `at` is before them all.
    pub fn near(&self, at: Timestamp, end: Timestamp) -> Option<&Arc<Snapshot>> {
        let older = self.kept.iter().rfind(|kept| kept.at() <= at).map(|kept| &kept.picture)?;
        let newer = self.after(at).filter(|newer| newer.at < end);
        let nearer = newer.filter(|newer| newer.at.since(at) < at.since(older.at));
        Some(nearer.unwrap_or(older))
    }

    /// Returns the oldest picture that is not older than `at`.
    pub fn after(&self, at: Timestamp) -> Option<&Arc<Snapshot>> {
        self.kept.iter().find(|kept| kept.at() >= at).map(|kept| &kept.picture)
    }

    /// Returns the oldest picture.
    pub fn oldest(&self) -> Option<&Arc<Snapshot>> {
        self.kept.first().map(|kept| &kept.picture)
    }

    fn thin(&mut self, now: Timestamp) {
        while self.kept.first().is_some_and(|kept| now.since(kept.at()) > LONGEST) {
            self.drop_one(0);
        }
        let limit = |pictures: usize| if pictures > FEW { BYTES } else { BYTES_OF_FEW };
        while self.kept.len() > PICTURES || self.bytes() > limit(self.kept.len()) {
            self.drop_one(self.least(now));
        }
    }

    /// Returns the bytes of all.
    fn bytes(&self) -> usize {
        let before = std::iter::once(None).chain(self.kept.iter().map(Some));
        self.kept.iter().zip(before).map(|(kept, before)| kept.bytes(before)).sum()
    }

    /// Returns the picture that is missed least; the oldest of two.
    fn least(&self, now: Timestamp) -> usize {
        let gap = |three: &[Kept]| {
            let [before, it, after] = three else { return f64::INFINITY };
            let age = now.since(it.at()).as_secs_f64().max(NEAR);
            after.at().since(before.at()).as_secs_f64() / age
        };
        let gaps = self.kept.windows(3).map(gap).enumerate();
        gaps.min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(at, _)| at + 1)
    }

    fn drop_one(&mut self, at: usize) {
        if at < self.kept.len() {
            self.kept.remove(at);
        }
    }
}

/// Returns what is kept of a picture.
fn trimmed(live: &Snapshot) -> Snapshot {
    Snapshot {
        at: live.at,
        since: live.since,
        newest: live.newest,
        frames: live.frames,
        feed: live.feed.clone(),
        deployment: live.deployment.clone(),
        workers: Arc::clone(&live.workers),
        memory: Arc::clone(&live.memory),
        curve: live.curve.clone(),
        pods: Arc::clone(&live.pods),
        totals: live.totals.clone(),
        router: live.router.clone(),
        felt: live.felt,
        before: live.before,
        tree: live.tree.clone(),
        prefixes: live.prefixes.clone(),
        foresight: live.foresight.clone(),
        claims: Arc::clone(&live.claims),
        sources: live.sources.clone(),
        ledger: live.ledger.clone(),
        catching_up: live.catching_up,
        rejects: live.rejects.clone(),
        series: SeriesSet::default(),
        events: last(&live.events, ROWS.0),
        decisions: last(&live.decisions, ROWS.1),
        findings: live.findings.clone(),
        past: Arc::clone(&live.past),
        checks: live.checks.clone(),
        raises: live.raises.clone(),
        coverage: live.coverage.clone(),
        limits: live.limits,
        answer: Answer::Nothing,
        fleet: None,
    }
}

fn last<T: Clone>(rows: &[T], count: usize) -> Vec<T> {
    rows.get(rows.len().saturating_sub(count)..).unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::PodRow;

    fn picture(second: u64, frames: u64) -> Snapshot {
        Snapshot { at: Timestamp(second * 1_000_000), frames, ..Snapshot::default() }
    }

    /// Returns a history that began long ago.
    fn settled() -> History {
        History { began: Some(Timestamp::default()), ..History::default() }
    }

    #[test]
    fn what_came_before_the_workers_is_no_picture_of_them() {
        let mut history = History::default();
        for second in 100..115 {
            history.note(&picture(second, second));
        }
        assert_eq!(times(&history), [110, 111, 112, 113, 114], "there may be none at all");
    }

    fn times(history: &History) -> Vec<u64> {
        history.kept.iter().map(|kept| kept.at().seconds()).collect()
    }

    #[test]
    fn the_near_past_is_kept_closer_than_the_far_one() {
        let mut history = settled();
        let day = 24 * 3_600;
        for second in 0..day {
            history.note(&picture(1_000 + second, 1 + second));
        }

        let now = 1_000 + day - 1;
        let times = times(&history);
        assert!(times.len() <= PICTURES && times.len() > PICTURES / 2, "{}", times.len());
        assert!(now - times[0] <= LONGEST.as_secs() && now - times[0] > 11 * 3_600);
        for pair in times.windows(2) {
            let (age, gap) = (now - pair[0], pair[1] - pair[0]);
            assert!(gap <= 2 + age / 10, "{gap}s at an age of {age}s");
        }
        let wanted = Timestamp((now - 600) * 1_000_000);
        let found = history.near(wanted, Timestamp(now * 1_000_000)).unwrap().at;
        assert!(
            wanted.since(found).max(found.since(wanted)) < Duration::from_secs(60),
            "{found:?}"
        );
    }

    #[test]
    fn the_nearest_picture_is_found_before_the_one_that_is_shown() {
        let mut history = settled();
        for (at, second) in [100, 110, 120].into_iter().enumerate() {
            history.note(&picture(second, 1 + at as u64));
        }
        let near = |at: u64, end: u64| {
            let found = history.near(Timestamp(at * 1_000_000), Timestamp(end * 1_000_000));
            found.map(|picture| picture.at.seconds())
        };
        assert_eq!([near(109, 130), near(111, 130), near(99, 130)], [Some(110), Some(110), None]);
        assert_eq!(near(109, 110), Some(100), "a step back never stays where it is");
    }

    #[test]
    fn no_more_bytes_are_kept_than_allowed() {
        for (size, limit, fewest) in [(200_000, BYTES, 25), (1 << 20, BYTES_OF_FEW, FEW)] {
            let mut history = settled();
            let mut large = picture(0, 0);
            large.router.routers = vec!["x".repeat(size)];
            for second in 1..=100 {
                large.at = Timestamp((100 + second) * 1_000_000);
                large.frames = second;
                history.note(&large);
                assert!(history.bytes() <= limit, "{}", history.bytes());
            }
            assert!(history.kept.len() >= fewest, "{}", history.kept.len());
            assert_eq!(
                history.oldest().unwrap().at.seconds(),
                101,
                "a coarser past is not a shorter one"
            );
        }
    }

    #[test]
    fn rows_that_pictures_share_are_counted_once() {
        let pods = Arc::new(vec![PodRow::default(); 1_000]);
        let mut history = settled();
        for second in 0..4 {
            // The third picture has other pods.
            let pods = if second == 2 { Arc::new((*pods).clone()) } else { Arc::clone(&pods) };
            history.note(&Snapshot { pods, ..picture(100 + second, second + 1) });
        }
        let rows = history.kept[0].size.pods;
        let own: usize = history.kept.iter().map(|kept| kept.size.own).sum();

        assert!(rows >= 1_000 * size_of::<PodRow>());
        assert_eq!(history.bytes(), own + 3 * rows);
        history.drop_one(0);
        assert_eq!(history.bytes() - own, 3 * rows - history.kept[0].size.own);
    }

    #[test]
    fn a_picture_without_news_is_kept_less_often_and_a_recording_never() {
        let mut history = settled();
        for second in 100..130 {
            history.note(&picture(second, 5));
        }
        assert_eq!(times(&history), [100, 110, 120]);

        let replay = Feed::Replay(crate::snapshot::Playback::default());
        history.note(&Snapshot { feed: replay, ..picture(200, 9) });
        assert_eq!(times(&history).len(), 3);
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_times_in_order() {
        let mut history = settled();
        for (at, second) in [100, 110, 120, 105, 106].into_iter().enumerate() {
            history.note(&picture(second, 1 + at as u64));
        }
        assert_eq!(times(&history), [100, 105, 106]);
    }
}
