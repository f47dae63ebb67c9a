//! When to draw: only when something changed, and not too often.
//!
//! Fed times, never asks for one.

use std::time::Duration;

/// Decides when the next picture is due. Times are spans since any one start.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    gap: Duration,
    drawn: Option<Duration>,
    dirty: bool,
}

impl Pacer {
    /// Returns a pacer that wants its first picture at once, and later ones at least `gap` apart.
    pub const fn new(gap: Duration) -> Self {
        Self { gap, drawn: None, dirty: true }
    }

    /// Notes that the screen no longer shows the truth.
    pub fn touch(&mut self) {
        self.dirty = true;
    }

    /// Returns how long to wait before drawing, none while nothing changed.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        self.dirty.then(|| match self.drawn {
            Some(drawn) => (drawn + self.gap).saturating_sub(now),
            None => Duration::ZERO,
        })
    }

    /// Notes that the screen was drawn.
    pub fn drawn(&mut self, now: Duration) {
        self.drawn = Some(now);
        self.dirty = false;
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
}
