//! A setting of a process: what it sets, under which names, and what holds when nobody sets it.

use super::Name;
use crate::domain::{ClaimOf, ClaimValue, ClaimWhat, Release};

/// The form of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Count,
    /// A number that may have a fraction.
    Decimal,
    /// Any text.
    Text,
    /// A switch: a flag without a value, or a variable that is true or false.
    Switch,
    /// JSON that switches events on by itself when it names a publisher.
    EventsConfig,
    /// JSON that must switch them on (vLLM, `KVEventsConfig`: off unless it says so).
    EventsSwitch,
    /// The address in that JSON.
    EventsEndpoint,
}

/// A value that holds when nobody sets another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// None, or one that kvtop does not know.
    Unknown,
    /// A whole number.
    Count(u64),
    /// A switch.
    Flag(bool),
    /// A text.
    Text(&'static str),
    /// A number that may have a fraction, in millionths.
    Millionths(i64),
}

impl Default {
    /// Returns the value; none when it is not known.
    fn value(self) -> Option<ClaimValue> {
        match self {
            Self::Unknown => None,
            Self::Count(count) => Some(ClaimValue::Count(count)),
            Self::Flag(flag) => Some(ClaimValue::Flag(flag)),
            Self::Text(text) => Some(ClaimValue::Text(text.into())),
            Self::Millionths(value) => Some(ClaimValue::Millionths(value)),
        }
    }
}

/// A setting of a process.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The property that it sets.
    pub what: ClaimWhat,
    /// The parts of the deployment that have this property.
    pub of: &'static [ClaimOf],
    /// The form of its value.
    pub kind: Kind,
    /// Flags that set it, with the releases that read them.
    pub flags: &'static [Name],
    /// Flags that deny it.
    pub off: &'static [&'static str],
    /// Variables that set it, with the releases that read them.
    pub variables: &'static [Name],
    /// The value in the oldest release when nobody sets one.
    pub default: Default,
    /// The values of later releases, each with the first release that has it, oldest first.
    pub later: &'static [(Release, Default)],
    /// The first release that does not go by it.
    pub until: Option<Release>,
}

impl Setting {
    /// Returns a setting that only flags set, without a default.
    pub(super) const fn new(
        what: ClaimWhat,
        of: &'static [ClaimOf],
        kind: Kind,
        flags: &'static [Name],
    ) -> Self {
        Self {
            what,
            of,
            kind,
            flags,
            off: &[],
            variables: &[],
            default: Default::Unknown,
            later: &[],
            until: None,
        }
    }

    pub(super) const fn off(self, off: &'static [&'static str]) -> Self {
        Self { off, ..self }
    }

    pub(super) const fn env(self, variables: &'static [Name]) -> Self {
        Self { variables, ..self }
    }

    pub(super) const fn or(self, default: Default) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn then(self, later: &'static [(Release, Default)]) -> Self {
        Self { later, ..self }
    }

    pub(super) const fn until(self, major: u32, minor: u32) -> Self {
        Self { until: Some(Release::new(major, minor)), ..self }
    }

    /// Returns the default in `release`; none when that is not known, as where the default
    /// changed and the release is not known.
    pub fn default_in(&self, release: Option<Release>) -> Option<ClaimValue> {
        if self.later.is_empty() {
            return self.default.value();
        }
        let release = release?;
        let later = self.later.iter().rev().find(|(since, _)| *since <= release);
        later.map_or(self.default, |(_, default)| *default).value()
    }

    /// Returns every flag that sets or denies it.
    pub fn all_flags(&self) -> impl Iterator<Item = &'static str> {
        self.flags.iter().map(|name| name.text).chain(self.off.iter().copied())
    }
}
