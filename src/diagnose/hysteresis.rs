//! What was raised and resolved: rules look at windows, findings last.
//!
//! A finding is raised by what was counted over the last minutes. It is cleared by proof alone: by a
//! rule that is clear over the last half minute, never by silence.

use std::collections::VecDeque;
use std::time::Duration;

use super::evidence::Evidence;
use super::rules::BY_EVENTS;
use super::verdict::{Finding, Verdict};
use super::{RULES, Rule};
use crate::domain::{RESOLVED_AFTER, Timestamp};
use crate::model::{RouterTally, Tally};

/// Findings are raised by what was counted over this time.
const LONG: Duration = Duration::from_secs(300);

/// Findings are cleared by proof over this time, that lasts as long again.
const SHORT: Duration = RESOLVED_AFTER;

/// How long a resolved finding is still shown.
const RESOLVED_FOR: Duration = Duration::from_secs(60);

/// Findings that came and went and are remembered.
const MOST_PAST: usize = 32;

/// Time between two marks.
const MARK_EVERY: Duration = Duration::from_secs(5);

/// Most ranks whose counts are marked. In larger deployments everything since the start counts.
const MARKED_RANKS: usize = 2048;

/// Up to this many ranks are judged whenever there is something new, else once a second.
const EAGER_RANKS: usize = 256;

/// The counts at one moment.
#[derive(Clone, Debug)]
struct Mark {
    at: Timestamp,
    ranks: Vec<Tally>,
    router: RouterTally,
}

/// A finding that came and went.
#[derive(Clone, Debug)]
struct Episode {
    raised: Timestamp,
    resolved: Timestamp,
    finding: Finding,
}

/// What is remembered of one rule.
#[derive(Debug, Default)]
struct State {
    verdict: Option<Verdict>,
    raised: Option<(Timestamp, Finding)>,
    resolved: Option<Episode>,
    /// What it followed from when it was judged last, while it is raised.
    follows: Option<&'static str>,
    /// Since when it looks cured.
    clear_since: Option<Timestamp>,
    /// What was counted before proves nothing any more.
    epoch: Timestamp,
    raises: u64,
}

/// Everything that was raised and resolved.
#[derive(Debug, Default)]
pub struct Diagnosis {
    states: Vec<State>,
    marks: VecDeque<Mark>,
    judged: Option<(u64, u64)>,
    /// What was resolved and is no longer shown as such, oldest first, each with the index of its rule.
    past: VecDeque<(usize, Episode)>,
    /// How many there were in all.
    passed: u64,
}

/// A finding as it stands.
#[derive(Clone, Debug)]
pub struct Raised<'a> {
    /// Its rule.
    pub rule: &'static dyn Rule,
    /// What is wrong.
    pub finding: &'a Finding,
    /// When it was raised.
    pub raised: Timestamp,
    /// Since when nothing shows it any more; none while something does, and once it is resolved. It is
    /// resolved when that lasts.
    pub mending: Option<Timestamp>,
    /// When it was resolved; none while it is true.
    pub resolved: Option<Timestamp>,
    /// Findings that follow from it.
    pub explains: Vec<&'static str>,
}

impl std::fmt::Debug for dyn Rule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.id())
    }
}

/// A rule with what it says now.
#[derive(Clone, Debug)]
pub struct Check<'a> {
    /// The rule.
    pub rule: &'static dyn Rule,
    /// What it says; a raised finding counts as found until it is resolved.
    pub verdict: &'a Verdict,
    /// The finding that it follows from, when it does.
    pub explained_by: Option<&'static str>,
    /// How often it was raised.
    pub raises: u64,
}

impl Diagnosis {
    /// Returns true when it is worth judging again, after `frames` frames.
    pub fn is_due(&self, at: Timestamp, frames: u64, ranks: usize) -> bool {
        match self.judged {
            None => true,
            Some((second, seen)) => {
                at.seconds() != second || (frames != seen && ranks <= EAGER_RANKS)
            }
        }
    }

    /// Judges `evidence`, whose counts are of everything since the start.
    pub fn judge(&mut self, evidence: &Evidence, frames: u64) {
        let at = evidence.at;
        self.judged = Some((at.seconds(), frames));
        self.states.resize_with(RULES.len(), State::default);
        let short = self.before(at.before(SHORT)).map(|mark| over(evidence, mark));
        let long = self.before(at.before(LONG)).map(|mark| over(evidence, mark));
        let long = long.as_ref().unwrap_or(evidence);
        for (at, (rule, state)) in RULES.iter().zip(&mut self.states).enumerate() {
            let later = state.epoch > long.since;
            let since = later.then(|| newest(&self.marks, state.epoch)).flatten();
            let since = since.map(|mark| over(evidence, mark));
            if let Some(over) = state.look(*rule, since.as_ref().unwrap_or(long), short.as_ref()) {
                self.past.push_back((at, over));
                self.passed += 1;
            }
        }
        while self.past.len() > MOST_PAST {
            self.past.pop_front();
        }
        let hidden = self.hidden();
        for (rule, state) in RULES.iter().zip(&mut self.states).filter(|it| it.1.raised.is_some()) {
            let cause = hidden.iter().find(|(_, id)| *id == rule.id());
            state.follows = cause.map(|(cause, _)| *cause);
        }
        self.remember(evidence);
    }

    /// Returns how many findings came and went, and are no longer shown as resolved.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the last of them, the newest first. What only followed from another is not among them.
    pub fn past(&self) -> impl Iterator<Item = Raised<'_>> {
        self.past.iter().rev().map(|(rule, episode)| Raised {
            rule: RULES[*rule],
            finding: &episode.finding,
            raised: episode.raised,
            mending: None,
            resolved: Some(episode.resolved),
            explains: Vec::new(),
        })
    }

    /// Returns what is wrong, the cause first, and then what was resolved lately.
    pub fn raised(&self) -> Vec<Raised<'_>> {
        let hidden = self.hidden();
        let mut found: Vec<Raised<'_>> = Vec::new();
        for (rule, state) in RULES.iter().zip(&self.states) {
            let Some((raised, finding)) = &state.raised else { continue };
            if hidden.iter().any(|(_, id)| *id == rule.id()) {
                continue;
            }
            let explains = hidden.iter().filter(|(cause, _)| *cause == rule.id());
            let explains = explains.map(|(_, id)| *id).collect();
            found.push(Raised {
                rule: *rule,
                finding,
                raised: *raised,
                mending: state.clear_since,
                resolved: None,
                explains,
            });
        }
        // Stable: equally severe ones stay in the order of the registry.
        found.sort_by_key(|raised| std::cmp::Reverse(raised.finding.severity));
        for (rule, state) in RULES.iter().zip(&self.states) {
            if let (None, Some(episode)) = (&state.raised, &state.resolved) {
                let (raised, resolved) = (episode.raised, Some(episode.resolved));
                let (finding, explains) = (&episode.finding, Vec::new());
                let mending = None;
                found.push(Raised { rule: *rule, finding, raised, mending, resolved, explains });
            }
        }
        found
    }

    /// Returns every rule with what it says.
    pub fn checks(&self) -> Vec<Check<'_>> {
        let hidden = self.hidden();
        let states = RULES.iter().zip(&self.states);
        let checks = states.filter_map(|(rule, state)| {
            let explained = hidden.iter().find(|(_, id)| *id == rule.id());
            Some(Check {
                rule: *rule,
                verdict: state.verdict.as_ref()?,
                explained_by: explained.map(|(cause, _)| *cause),
                raises: state.raises,
            })
        });
        checks.collect()
    }

    /// Returns the raised findings that follow from others, each after its cause.
    fn hidden(&self) -> Vec<(&'static str, &'static str)> {
        let is_raised = |id: &str| {
            let mut states = RULES.iter().zip(&self.states);
            states.any(|(rule, state)| rule.id() == id && state.raised.is_some())
        };
        let mut hidden: Vec<(&'static str, &'static str)> = Vec::new();
        for rule in RULES {
            // What is a consequence itself explains nothing on its own.
            if !is_raised(rule.id()) || hidden.iter().any(|(_, id)| *id == rule.id()) {
                continue;
            }
            let mut states = RULES.iter().zip(&self.states);
            let of_rule = states.find(|(other, _)| other.id() == rule.id());
            let raised = of_rule.and_then(|(_, state)| state.raised.as_ref());
            for id in raised.map_or(&[][..], |(_, finding)| rule.explains_by(finding)) {
                if is_raised(id) && !hidden.iter().any(|(_, known)| known == id) {
                    hidden.push((rule.id(), id));
                }
            }
        }
        hidden
    }

    /// Returns what had been counted of the rank at `index` at the beginning of the last minutes, and when
    /// that was; none while everything since the start counts.
    pub fn mark(&self, index: usize, at: Timestamp) -> Option<(Timestamp, Tally)> {
        let mark = self.before(at.before(LONG))?;
        Some((mark.at, mark.ranks.get(index).copied().unwrap_or_default()))
    }

    fn remember(&mut self, evidence: &Evidence) {
        let due = self.marks.back().is_none_or(|last| evidence.at.since(last.at) >= MARK_EVERY);
        if !due || evidence.ranks.len() > MARKED_RANKS {
            return;
        }
        let ranks = evidence.ranks.iter().map(|rank| rank.tally).collect();
        self.marks.push_back(Mark { at: evidence.at, ranks, router: evidence.router.tally });
        // The last one before the window is where it begins, however long ago that was.
        let begins = evidence.at.before(LONG);
        while self.marks.get(1).is_some_and(|mark| mark.at <= begins) {
            self.marks.pop_front();
        }
    }

    fn before(&self, at: Timestamp) -> Option<&Mark> {
        newest(&self.marks, at)
    }
}

/// Returns the newest mark that is not after `at`.
fn newest(marks: &VecDeque<Mark>, at: Timestamp) -> Option<&Mark> {
    marks.iter().rev().find(|mark| mark.at <= at)
}

/// Returns `evidence` with what was counted since `mark`.
fn over(evidence: &Evidence, mark: &Mark) -> Evidence {
    let mut window = evidence.clone();
    window.since = mark.at;
    for (rank, base) in window.ranks.iter_mut().zip(&mark.ranks) {
        rank.tally = rank.tally.since(base);
    }
    window.router.tally = window.router.tally.since(&mark.router);
    window
}

/// Returns what `rule` says. While no KV event can come it is not clear by those that came.
fn judged(rule: &dyn Rule, evidence: &Evidence) -> Verdict {
    let verdict = rule.judge(evidence);
    match &evidence.plane.deaf {
        Some(why) if matches!(verdict, Verdict::Clear { .. }) && BY_EVENTS.contains(&rule.id()) => {
            Verdict::unknown(format!("KV events of now; {why}"))
        }
        _ => verdict,
    }
}

impl State {
    /// Looks again. Returns what was resolved and is over now.
    fn look(
        &mut self,
        rule: &dyn Rule,
        long: &Evidence,
        short: Option<&Evidence>,
    ) -> Option<Episode> {
        let at = long.at;
        let mut over = self.resolved.take_if(|it| at.since(it.resolved) > RESOLVED_FOR);
        let verdict = judged(rule, long).dated(at);
        match (self.raised.take(), verdict) {
            (None, Verdict::Found(finding)) => {
                self.raises += 1;
                over = over.or(self.resolved.take());
                self.raised = Some((at, (*finding).clone()));
                self.verdict = Some(Verdict::Found(finding));
            }
            (None, verdict) => self.verdict = Some(verdict),
            (Some((raised, finding)), verdict) => {
                let recent = short.map(|short| judged(rule, short));
                if let Some(clear) = self.cured(at, recent.as_ref(), &verdict) {
                    // What was counted before the cure must not raise it again.
                    self.epoch = self.clear_since.take().unwrap_or(at);
                    // What only followed from another goes with it, and is no news.
                    let news = self.follows.take().is_none();
                    self.resolved = news.then_some(Episode { raised, resolved: at, finding });
                    self.verdict = Some(clear);
                    return over;
                }
                let finding = match verdict {
                    Verdict::Found(finding) => *finding,
                    Verdict::Clear { .. } | Verdict::Unknown { .. } => finding,
                };
                self.verdict = Some(Verdict::Found(Box::new(finding.clone())));
                self.raised = Some((raised, finding));
            }
        }
        over
    }

    /// Returns the verdict of a raised finding's rule once it has been clear for long enough. Silence
    /// is no proof: it neither counts nor resets.
    fn cured(
        &mut self,
        at: Timestamp,
        recent: Option<&Verdict>,
        verdict: &Verdict,
    ) -> Option<Verdict> {
        if matches!(recent, Some(Verdict::Found(_))) {
            self.clear_since = None;
            return None;
        }
        let mut said = recent.into_iter().chain([verdict]);
        let clear = said.find(|verdict| matches!(verdict, Verdict::Clear { .. }))?;
        let since = *self.clear_since.get_or_insert(at);
        (at.since(since) >= SHORT).then(|| clear.clone())
    }
}
