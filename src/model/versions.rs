//! Works out the release of Dynamo that each process runs, from all signs together.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Release, Releases, Subject, VersionSign};

/// Most processes that are told apart.
const SUBJECT_LIMIT: usize = 16_384;

/// Most places that are named for one process; there are fewer kinds.
const PLACES: usize = 8;

/// The signs of one process.
#[derive(Clone, Debug, Default)]
struct Signs {
    /// The release by its image's tag.
    tag: Option<Release>,
    /// Its role.
    seen: Releases,
    by: Vec<&'static str>,
}

impl Signs {
    /// Returns what follows from all of it. A tag of one's own numbering is worth less than what the
    /// process does.
    fn releases(&self) -> Releases {
        let tag = self.tag.map(Releases::only).unwrap_or_default();
        self.seen.meet(tag).unwrap_or(self.seen)
    }
}

/// The signs of every process.
#[derive(Debug, Default)]
pub struct Versions {
    known: BTreeMap<Subject, Signs>,
    /// The last that went, while nobody is left.
    last: Option<Signs>,
    changes: u64,
}

/// The releases that all signs allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// The releases that everybody may run; nothing more than is known of the oldest when they are
    /// mixed.
    pub releases: Releases,
    /// The places of the signs.
    pub by: Vec<&'static str>,
    /// Two who cannot run the same release: who, what, and how it is known.
    pub mixed: Option<[(Subject, Releases, String); 2]>,
}

impl Versions {
    /// Returns a number that grows with every change: while it stays, a sign that was noted need not be noted again.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes a sign.
    pub fn sign(&mut self, sign: &VersionSign) {
        let Some(signs) = self.signs(&sign.subject) else { return };
        // A process that says something else than before is another one under the same name.
        let seen = signs.seen.meet(sign.releases).unwrap_or(sign.releases);
        let is_new = !signs.by.contains(&sign.by) && signs.by.len() < PLACES;
        let changed = is_new || seen != signs.seen;
        signs.seen = seen;
        if is_new {
            signs.by.push(sign.by);
        }
        self.changes += u64::from(changed);
    }

    /// Notes the tag of a pod's image.
    pub fn tag(&mut self, subject: &Subject, tag: &str) {
        if let (Some(release), Some(signs)) = (Release::parse(tag), self.signs(subject)) {
            signs.tag = Some(release);
            self.changes += 1;
        }
    }

    /// Forgets a process.
    pub fn forget(&mut self, subject: &Subject) {
        let gone = self.known.remove(subject);
        self.changes += u64::from(gone.is_some());
        // What was counted of the deployment stays, and so does whose it is.
        if self.known.is_empty() {
            self.last = gone.or(self.last.take());
        }
    }

    /// Forgets a pod of which only the name stayed.
    pub fn forget_pod(&mut self, name: &Arc<str>) {
        self.forget(&Subject::Pod(Arc::clone(name)));
    }

    fn signs(&mut self, subject: &Subject) -> Option<&mut Signs> {
        if self.known.len() >= SUBJECT_LIMIT && !self.known.contains_key(subject) {
            return None;
        }
        Some(self.known.entry(subject.clone()).or_default())
    }

    /// Returns what all signs of `ours` say together.
    pub fn family(&self, ours: impl Fn(&Subject) -> bool) -> Family {
        let mut family = Family::default();
        let mut all = Some(Releases::default());
        let left = self.last.as_ref().filter(|_| self.known.is_empty());
        let known = self.known.iter().filter(|(subject, _)| ours(subject)).map(|(_, signs)| signs);
        for signs in known.chain(left) {
            all = all.and_then(|all| all.meet(signs.releases()));
            let tag = signs.tag.map(|_| "image tag");
            for by in signs.by.iter().copied().chain(tag) {
                if !family.by.contains(&by) {
                    family.by.push(by);
                }
            }
        }
        family.mixed = if all.is_none() { self.mixed(ours) } else { None };
        let oldest = family.mixed.as_ref().map(|[(_, old, _), _]| *old);
        family.releases = all.or(oldest).unwrap_or_default();
        family
    }

    /// Returns the one that must be oldest and the one that must be newest.
    fn mixed(&self, ours: impl Fn(&Subject) -> bool) -> Option<[(Subject, Releases, String); 2]> {
        let known = || self.known.iter().filter(|(subject, _)| ours(subject));
        let all = || known().map(|(subject, signs)| (subject, signs.releases(), signs));
        let old = all().filter(|(_, known, _)| known.most.is_some()).min_by_key(|it| it.1.most)?;
        let new = all().max_by_key(|(_, known, _)| known.least)?;
        let shown = |(subject, releases, signs): (&Subject, Releases, &Signs)| {
            let tag = signs.tag.filter(|tag| releases.single() == Some(*tag)).map(|_| "image tag");
            let by: Vec<&str> = tag.into_iter().chain(signs.by.iter().copied()).collect();
            (subject.clone(), releases, by.join(", "))
        };
        Some([shown(old), shown(new)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::WorkerId;

    fn pod(name: &str) -> Subject {
        Subject::Pod(name.into())
    }

    fn sign(subject: Subject, releases: Releases, by: &'static str) -> VersionSign {
        VersionSign { subject, releases, by }
    }

    #[test]
    fn signs_of_many_kinds_narrow_each_other() {
        let mut versions = Versions::default();
        versions.sign(&sign(pod("front"), Releases::from(1, 1), "log"));
        versions.sign(&sign(Subject::Worker(WorkerId(1)), Releases::from(1, 4), "KV events"));
        versions.sign(&sign(pod("front"), Releases::up_to(1, 5), "metrics"));

        let family = versions.family(|_| true);

        assert_eq!(family.releases.to_string(), "1.4 to 1.5");
        assert_eq!(family.by, ["KV events", "log", "metrics"]);
        assert_eq!(family.mixed, None);
    }

    #[test]
    fn those_who_cannot_run_the_same_release_are_named() {
        let mut versions = Versions::default();
        versions.tag(&pod("front"), "1.6.1");
        versions.tag(&pod("worker-a"), "1.6.0");
        versions.sign(&sign(pod("worker-b"), Releases::up_to(1, 0), "KV events"));

        let [old, new] = versions.family(|_| true).mixed.unwrap();

        assert_eq!((&old.0, old.1.to_string().as_str()), (&pod("worker-b"), "1.0 or earlier"));
        assert_eq!(new.1.to_string(), "1.6");
        assert_eq!(new.2, "image tag");
        versions.forget(&pod("worker-b"));
        assert_eq!(versions.family(|_| true).releases.single(), Some(Release::new(1, 6)));
    }

    #[test]
    fn the_release_stays_known_when_the_last_process_went() {
        let mut versions = Versions::default();
        versions.sign(&sign(pod("worker-a"), Releases::from(1, 5), "KV events"));
        versions.sign(&sign(pod("worker-b"), Releases::from(1, 4), "KV events"));
        versions.forget(&pod("worker-b"));
        versions.forget(&pod("worker-a"));
        versions.forget(&pod("never-seen"));

        assert_eq!(versions.family(|_| true).releases.to_string(), "1.5 or later");
        // Whoever comes next counts alone.
        versions.tag(&pod("worker-c"), "1.2.0");
        assert_eq!(versions.family(|_| true).releases.to_string(), "1.2");
        assert_eq!(versions.family(|_| true).mixed, None);
    }

    #[test]
    fn what_a_process_does_counts_more_than_the_tag_of_its_image() {
        let mut versions = Versions::default();
        versions.tag(&pod("a"), "0.3-ours");
        versions.sign(&sign(pod("a"), Releases::from(1, 3), "log"));
        versions.tag(&pod("b"), "1.5.1");

        let family = versions.family(|_| true);

        assert_eq!(family.mixed, None);
        assert_eq!(family.releases.to_string(), "1.5");
    }
}
