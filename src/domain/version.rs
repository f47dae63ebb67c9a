//! Releases of Dynamo, as far as formats depend on them.

use std::fmt;

use super::Subject;

/// A release, without its patch level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// Before the first point.
    pub major: u32,
    /// After it.
    pub minor: u32,
}

impl Release {
    /// Returns the release `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Reads the start of `0.9.0`, `1.6.1-rc2` or `v1.0`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, rest) = text.strip_prefix('v').unwrap_or(text).split_once('.')?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        Some(Self { major: major.parse().ok()?, minor: rest[..end].parse().ok()? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

/// A range of releases, both ends included; none is an open end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// The oldest that it may be.
    pub least: Option<Release>,
    /// The newest that it may be.
    pub most: Option<Release>,
}

impl Releases {
    /// Returns `major.minor` and all that follow.
    pub const fn from(major: u32, minor: u32) -> Self {
        Self { least: Some(Release::new(major, minor)), most: None }
    }

    /// Returns all up to `major.minor`.
    pub const fn up_to(major: u32, minor: u32) -> Self {
        Self { least: None, most: Some(Release::new(major, minor)) }
    }

    /// Returns `least` and all up to `most`.
    pub const fn between(least: Release, most: Release) -> Self {
        Self { least: Some(least), most: Some(most) }
    }

    /// Returns `release` and all that follow.
    pub const fn since(release: Release) -> Self {
        Self { least: Some(release), most: None }
    }

    /// Returns all before `release`, which is not the first of its major version.
    pub const fn before(release: Release) -> Self {
        Self { least: None, most: Some(Release::new(release.major, release.minor - 1)) }
    }

    /// Returns those of the range that come before `release`.
    #[must_use]
    pub const fn until(self, release: Release) -> Self {
        Self { most: Self::before(release).most, ..self }
    }

    /// Returns one release.
    pub const fn only(release: Release) -> Self {
        Self::between(release, release)
    }

    /// Returns what is in both ranges; none when nothing is.
    pub fn meet(self, other: Self) -> Option<Self> {
        let least = self.least.max(other.least);
        let most = match (self.most, other.most) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        let empty = least.zip(most).is_some_and(|(least, most)| least > most);
        (!empty).then_some(Self { least, most })
    }

    /// Returns true when it could be any.
    pub const fn is_open(self) -> bool {
        self.least.is_none() && self.most.is_none()
    }

    /// Returns the release, when there is only one.
    pub fn single(self) -> Option<Release> {
        self.least.filter(|least| self.most == Some(*least))
    }
}

impl fmt::Display for Releases {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (Some(least), Some(most)) if least == most => least.fmt(out),
            (Some(least), Some(most)) => write!(out, "{least} to {most}"),
            (Some(least), None) => write!(out, "{least} or later"),
            (None, Some(most)) => write!(out, "{most} or earlier"),
            (None, None) => out.write_str("unknown"),
        }
    }
}

/// Something by which a process betrays its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSign {
    /// Whose.
    pub subject: Subject,
    /// The releases that do so.
    pub releases: Releases,
    /// The place it was seen, for people.
    pub by: &'static str,
}
