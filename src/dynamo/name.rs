//! Names with the releases that read them.

use crate::domain::Release;

/// A name of a setting: an environment variable or a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: &'static str,
    /// The first release that reads it; none for all that kvtop knows.
    pub since: Option<Release>,
    /// The first release that no longer reads it.
    pub before: Option<Release>,
    /// True for another name of the same, which no fix proposes.
    pub alias: bool,
}

impl Name {
    /// Returns a name that every release reads.
    pub const fn always(text: &'static str) -> Self {
        Self { text, since: None, before: None, alias: false }
    }

    /// Returns a name that is read from `major.minor` on.
    pub const fn since(text: &'static str, major: u32, minor: u32) -> Self {
        Self { since: Some(Release::new(major, minor)), ..Self::always(text) }
    }

    /// Returns a name that is read by the releases before `major.minor`.
    pub const fn before(text: &'static str, major: u32, minor: u32) -> Self {
        Self { before: Some(Release::new(major, minor)), ..Self::always(text) }
    }

    /// Returns the same name as one that no fix proposes.
    #[must_use]
    pub const fn alias(self) -> Self {
        Self { alias: true, ..self }
    }

    /// Returns true when `release` may read it: an unknown one may.
    pub fn may_be_read(&self, release: Option<Release>) -> bool {
        release.is_none_or(|release| {
            self.since.is_none_or(|since| release >= since)
                && self.before.is_none_or(|before| release < before)
        })
    }
}
