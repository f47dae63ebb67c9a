//! Subscriptions that the server allows or refuses.

use crate::domain::{Reason, SourceState, Trouble};

/// The subjects of one connection, and which of them were refused.
pub(super) struct Rights {
    subjects: Vec<(String, bool)>,
    /// The reason if the server refused another request.
    other: Option<Reason>,
    /// True once anything came by what is left.
    pub(super) heard: bool,
}

impl Rights {
    pub(super) fn new(streams: &str, planes: &[String]) -> Self {
        let planes = planes.iter().map(String::as_str);
        let all = std::iter::once(streams).chain(planes);
        let subjects = all.map(|subject| (subject.to_owned(), false)).collect();
        Self { subjects, other: None, heard: false }
    }

    /// Notes that the server refused something, in its words.
    pub(super) fn refused(&mut self, error: &str) {
        let mut known = false;
        for (subject, refused) in &mut self.subjects {
            if error.contains(&format!("\"{subject}\"")) {
                (*refused, known) = (true, true);
            }
        }
        if !known {
            let needed = self.needed(", ");
            let text = format!(
                "the server says: {error}; kvtop needs to subscribe to {needed} and `_INBOX.>`"
            );
            self.other = Some(Reason::new(Trouble::MayNotSubscribe, text));
        }
    }

    /// Returns the reason for a refusal; none if nothing is refused.
    pub(super) fn why(&self) -> Option<Reason> {
        let refused: Vec<String> = self.refusals().map(|subject| format!("`{subject}`")).collect();
        if refused.is_empty() {
            return self.other.clone();
        }
        let text = format!(
            "the login may not subscribe to {}; kvtop needs to subscribe to {}",
            refused.join(" and "),
            self.needed(" and ")
        );
        Some(Reason::new(Trouble::MayNotSubscribe, text))
    }

    fn needed(&self, between: &str) -> String {
        let all: Vec<String> = self.subjects.iter().map(|(name, _)| format!("`{name}`")).collect();
        all.join(between)
    }

    /// Returns how the source is when subjects were refused: down until something comes by the other.
    /// Which of them a deployment uses depends on its version.
    pub(super) fn state(&self) -> Option<SourceState> {
        let count = self.refusals().count();
        if count == 0 {
            return None;
        }
        let all = count == self.subjects.len();
        Some(if all || !self.heard { SourceState::Down } else { SourceState::Lossy })
    }

    fn refusals(&self) -> impl Iterator<Item = &str> {
        self.subjects.iter().filter(|(_, refused)| *refused).map(|(subject, _)| subject.as_str())
    }
}
