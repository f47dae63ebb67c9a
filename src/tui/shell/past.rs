//! The picture that is shown instead of the newest: one that was frozen, or one of the past.

use std::sync::Arc;
use std::time::Duration;

use super::Shell;
use crate::domain::Timestamp;
use crate::snapshot::{Answer, Feed, RoutingDetail, Snapshot, WorkerRow};
use crate::tui::command::{Action, Past, ReplayCommand};
use crate::tui::layout::{self, Class};
use crate::tui::markers;
use crate::tui::text;
use crate::tui::theme::Glyphs;
use crate::tui::views::overview;

/// A moment this near to the newest picture is now.
const NOW: Duration = Duration::from_millis(1_500);
/// Markers this near to the picture that is shown are where it is.
const NEAR: Duration = Duration::from_millis(1_200);

/// A picture that is held.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// The picture, with the graphs that the engine drew of its time since.
    pub(super) picture: Box<Snapshot>,
    /// Its own answer: a tree belongs to one moment.
    answer: Answer,
    /// True for one of the past; false for one that was frozen.
    past: bool,
}

/// Says that no earlier screen is kept.
const OLDEST: &str = "start of history: of earlier times only graphs are known";

impl Held {
    /// Returns true for a picture of the past, false for one that was frozen.
    pub(super) const fn is_past(&self) -> bool {
        self.past
    }

    /// Takes graphs, and answers that graphs are all of, from `live` where they are of its time.
    fn take(&mut self, live: &Snapshot) {
        if live.series.until != Some(self.picture.at) {
            return;
        }
        self.picture.series = live.series.clone();
        match &live.answer {
            answer @ Answer::Worker(_) => self.picture.answer = answer.clone(),
            Answer::Routing(detail) => {
                let detail = as_of(detail, &self.picture.workers);
                self.picture.answer = Answer::Routing(Box::new(detail));
            }
            Answer::Tree(_) => self.picture.answer = self.answer.clone(),
            Answer::Nothing | Answer::Event(_) | Answer::Lines(_) => {}
        }
    }
}

/// Returns `detail` with the counts of the time of `workers`.
fn as_of(detail: &RoutingDetail, workers: &[WorkerRow]) -> RoutingDetail {
    let mut shares = detail.shares.clone();
    shares.retain_mut(|share| {
        let row = workers.iter().find(|row| row.rank == share.rank && row.routed > 0);
        let Some(row) = row else { return false };
        (share.routed, share.per_second) = (row.routed, row.routed_per_second);
        true
    });
    shares.sort_by_key(|share| std::cmp::Reverse(share.routed));
    let routed = workers.iter().filter(|row| row.routed > 0).count();
    RoutingDetail { more: routed.saturating_sub(shares.len()), shares, ..detail.clone() }
}

impl Shell {
    /// Keeps the picture for later, and completes the one that is held by what it brings.
    pub(super) fn remember(&mut self, live: &Snapshot) {
        self.history.note(live);
        if let Some(held) = &mut self.held {
            held.take(live);
        }
    }

    /// Freezes the newest picture, or goes on.
    pub(super) fn toggle_freeze(&mut self, live: &Snapshot) {
        if self.held.take().is_none() {
            let picture = Box::new(live.clone());
            self.held = Some(Held { answer: picture.answer.clone(), picture, past: false });
        }
    }

    /// Returns true while the picture is one of the past.
    pub(super) fn is_past(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.past)
    }

    /// Shows another moment. A recording is wound there instead.
    pub(super) fn go_back(&mut self, by: Past, live: &Snapshot) -> Option<Action> {
        let here = self.held.as_ref().map_or(live.at, |held| held.picture.at);
        let span = |seconds: i64| Duration::from_secs(seconds.unsigned_abs());
        let by = match by {
            Past::Step(steps) => {
                let step = i64::try_from(overview::step(self.look.window)).unwrap_or(1);
                Past::By(steps.saturating_mul(step))
            }
            Past::Marker(way) => self.marker(way, here, live)?,
            by => by,
        };
        if matches!(live.feed, Feed::Replay(_)) {
            let command = match by {
                Past::By(seconds) | Past::Step(seconds) => ReplayCommand::SeekBy(seconds),
                Past::At(at) => ReplayCommand::SeekTo(at),
                Past::Ago(seconds) => ReplayCommand::SeekBy(
                    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_neg(),
                ),
                Past::Now | Past::Marker(_) => ReplayCommand::SeekEnd,
            };
            return Some(Action::Replay(command));
        }
        let newest = live.at.after(Duration::from_micros(1));
        let found = match by {
            Past::Now | Past::Step(_) | Past::Marker(_) => None,
            Past::At(at) if live.at.since(at) < NOW => None,
            Past::At(at) => match self.history.near(at, newest) {
                None => {
                    self.at_the_oldest(live);
                    return None;
                }
                found => found,
            },
            Past::By(seconds) if seconds > 0 => self.history.after(here.after(span(seconds))),
            Past::By(seconds) => match self.history.near(here.before(span(seconds)), here) {
                None => {
                    self.at_the_oldest(live);
                    return None;
                }
                found => found,
            },
            Past::Ago(seconds) => {
                let wanted = self.now(live).before(Duration::from_secs(seconds));
                match self.history.near(wanted, newest) {
                    None => {
                        self.at_the_oldest(live);
                        return None;
                    }
                    found => found,
                }
            }
        };
        match found.map(Arc::clone) {
            None => self.held = None,
            Some(_) if layout::class(self.area()) == Class::Tiny => {
                self.tell("the terminal is too small to show the past", true);
            }
            Some(picture) => self.hold(&picture, live),
        }
        None
    }

    /// Returns the way to the next marker after `here`, or to the last one before; says so where there is none.
    fn marker(&mut self, way: i64, here: Timestamp, live: &Snapshot) -> Option<Past> {
        let markers = markers::known(live, Glyphs::UNICODE);
        let mut times = markers.iter().map(|marker| marker.at);
        // A picture is of the second in which something happened, or of one nearby.
        let found = if way < 0 {
            times.rfind(|at| at.after(NEAR) < here)
        } else {
            times.find(|at| *at > here.after(NEAR))
        };
        match (found, way) {
            (Some(at), _) => Some(Past::At(at)),
            (None, 0..) if self.is_past() => Some(Past::Now),
            (None, 0..) => {
                self.tell("no marker after this moment", false);
                None
            }
            (None, _) => {
                self.tell("no marker before this moment", false);
                None
            }
        }
    }

    /// Goes as far back as there is something.
    fn at_the_oldest(&mut self, live: &Snapshot) {
        let here = self.held.as_ref().map_or(live.at, |held| held.picture.at);
        let oldest = self.history.oldest().filter(|oldest| oldest.at < here).map(Arc::clone);
        match oldest {
            Some(oldest) => {
                self.hold(&oldest, live);
                self.tell(OLDEST, false);
            }
            None if self.is_past() => {
                self.tell(OLDEST, true);
            }
            None => self.tell("no history yet", true),
        }
    }

    /// Shows `picture`; until the engine has drawn its graphs, they are those that were shown before,
    /// and say so.
    fn hold(&mut self, picture: &Snapshot, live: &Snapshot) {
        let series = self.shown(live).series.clone();
        let until = series.until.or(Some(self.shown(live).at));
        let mut picture = Box::new(picture.clone());
        picture.series = series;
        picture.series.until = until;
        self.held = Some(Held { picture, answer: Answer::Nothing, past: true });
    }

    /// Returns what to say about a picture that is held: `‖ frozen 12s, 1,104 new`, or `‖ -2m10s`.
    pub(super) fn held(&self, live: &Snapshot, glyphs: &Glyphs) -> Option<String> {
        let held = self.held.as_ref()?;
        let span = text::span(self.now(live).since(held.picture.at));
        if held.past {
            return Some(format!("{} -{span}", glyphs.pause));
        }
        let new = text::brief(live.frames.saturating_sub(held.picture.frames));
        Some(format!("{} frozen {span}, {new} new", glyphs.pause))
    }

    /// Returns the moment of the past that is shown, with the oldest that could be, and now.
    pub(super) fn moment(&self, live: &Snapshot) -> Option<[Timestamp; 3]> {
        let held = self.held.as_ref().filter(|held| held.past)?;
        let oldest = self.history.oldest().map_or(held.picture.at, |oldest| oldest.at);
        Some([oldest.min(held.picture.at), held.picture.at, self.now(live)])
    }
}
