//! Pacing of draws: only after a change, and not too often.
//!
//! Fed times, never asks for one.

use std::time::Duration;

/// Decides when the next picture is due. Times are spans since any one start.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    gap: Duration,
    /// Due time of the last picture: one that came early counts from the time it was due.
    drawn: Option<Duration>,
    dirty: bool,
    urgent: bool,
}

impl Pacer {
    /// Returns a pacer that wants its first picture at once, and later ones at least `gap` apart.
    pub const fn new(gap: Duration) -> Self {
        Self { gap, drawn: None, dirty: true, urgent: false }
    }

    /// Notes that the screen no longer shows the truth.
    pub fn touch(&mut self) {
        self.dirty = true;
    }

    /// Notes that somebody waits for an answer to a key: it may come early, once, and the pictures
    /// after it so much later.
    pub fn urge(&mut self) {
        self.dirty = true;
        self.urgent = true;
    }

    /// Returns how long to wait before drawing, none while nothing changed.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        self.dirty.then(|| match self.drawn {
            Some(drawn) if self.urgent => drawn.saturating_sub(now),
            Some(drawn) => (drawn + self.gap).saturating_sub(now),
            None => Duration::ZERO,
        })
    }

    /// Notes that the screen was drawn.
    pub fn drawn(&mut self, now: Duration) {
        let due = self.drawn.filter(|_| self.urgent).map(|drawn| drawn + self.gap);
        self.drawn = Some(due.unwrap_or(now).max(now));
        self.dirty = false;
        self.urgent = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(66);

    #[test]
    fn nothing_is_drawn_while_nothing_changes() {
        let mut pacer = Pacer::new(GAP);
        assert_eq!(pacer.wait(Duration::ZERO), Some(Duration::ZERO));

        pacer.drawn(Duration::ZERO);

        assert_eq!(pacer.wait(Duration::from_secs(9)), None);
    }

    #[test]
    fn a_burst_of_changes_waits_for_the_gap() {
        let mut pacer = Pacer::new(GAP);
        pacer.drawn(Duration::from_millis(100));

        pacer.touch();

        assert_eq!(pacer.wait(Duration::from_millis(110)), Some(Duration::from_millis(56)));
        assert_eq!(pacer.wait(Duration::from_millis(400)), Some(Duration::ZERO));
    }

    #[test]
    fn a_key_is_answered_at_once_and_paid_for_later() {
        let ms = Duration::from_millis;
        let mut pacer = Pacer::new(GAP);
        pacer.drawn(ms(100));

        pacer.urge();
        assert_eq!(pacer.wait(ms(110)), Some(ms(0)));
        pacer.drawn(ms(110));

        pacer.touch();
        assert_eq!(pacer.wait(ms(111)), Some(ms(121)), "two gaps after the first picture");
        pacer.urge();
        assert_eq!(pacer.wait(ms(111)), Some(ms(55)), "one early picture at a time");
    }

    #[test]
    fn whoever_holds_a_key_gets_no_more_pictures_than_anybody() {
        let mut pacer = Pacer::new(GAP);
        let mut pictures = 0;
        for now in (0..10_000).map(Duration::from_millis) {
            pacer.urge();
            if pacer.wait(now) == Some(Duration::ZERO) {
                pacer.drawn(now);
                pictures += 1;
            }
        }
        assert!(pictures <= 10_000 / 66 + 2, "{pictures}");
    }
}
