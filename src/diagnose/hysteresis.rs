//! Raises and resolves findings: rules judge windows, findings persist.
//!
//! A finding is raised by counts over the last minutes, and by those of the last half minute, so that a fault is named
//! while earlier successes are still counted. Only evidence resolves it: a rule that is clear over
//! the last half minute, never silence; or the end of every worker concerned.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::evidence::{Evidence, RankEvidence, Window};
use super::phrase::phrase;
use super::verdict::{Finding, Verdict};
use super::{RULES, Rule};
use crate::domain::{Grade, RESOLVED_AFTER, Timestamp, WorkerId};

/// The window of counts that raises findings.
const LONG: Duration = Duration::from_secs(300);

/// The window of evidence that resolves findings; the evidence must last as long again.
const SHORT: Duration = RESOLVED_AFTER;

/// Steps in which the past is searched for the last evidence.
const STEP: Duration = Duration::from_secs(5);

/// Time for which a resolved finding is still shown.
const RESOLVED_FOR: Duration = Duration::from_secs(60);

/// The number of resolved findings that are remembered.
const MOST_PAST: usize = 32;

/// A resolved finding.
#[derive(Clone, Debug)]
struct Episode {
    raised: Timestamp,
    resolved: Timestamp,
    finding: Box<Finding>,
}

/// The state of one rule. Findings are boxed, because a fleet keeps every rule's state for hundreds of deployments and
/// few rules raise a finding.
#[derive(Clone, Debug, Default)]
struct State {
    verdict: Option<Verdict>,
    raised: Option<(Timestamp, Box<Finding>)>,
    /// The raised finding when it named the most workers: those that are cured first are part of what was wrong.
    widest: Option<Box<Finding>>,
    resolved: Option<Box<Episode>>,
    /// The cause, as last judged, while this finding is its consequence.
    follows: Option<&'static str>,
    /// Since when there is no new evidence for the finding.
    clear_since: Option<Timestamp>,
    /// The workers concerned, each with the start of its incarnation.
    accused: Vec<(WorkerId, Timestamp)>,
    /// `RouterEvidence::alone` when the finding was last confirmed: a later time means that all its routers were
    /// replaced.
    routers: Option<Timestamp>,
    /// Earlier counts are no evidence any more.
    epoch: Timestamp,
    raises: u64,
}

/// All raised and resolved findings.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    states: Vec<State>,
    /// Past findings that are no longer shown as resolved, oldest first, each with the index of its rule.
    past: VecDeque<(usize, Box<Episode>)>,
    /// The total number of past findings.
    passed: u64,
}

/// A finding with its state.
#[derive(Clone, Debug)]
pub struct Raised<'a> {
    /// Its rule.
    pub rule: &'static dyn Rule,
    /// The finding.
    pub finding: &'a Finding,
    /// The time it was raised.
    pub raised: Timestamp,
    /// Since when there is no new evidence (recovering); none while there is, and once the finding is resolved.
    pub mending: Option<Timestamp>,
    /// The time it was resolved; none while it is active.
    pub resolved: Option<Timestamp>,
    /// Findings that are consequences of this one.
    pub explains: Vec<&'static str>,
}

impl std::fmt::Debug for dyn Rule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.id())
    }
}

/// A rule with its current verdict.
#[derive(Clone, Debug)]
pub struct Check<'a> {
    /// The rule.
    pub rule: &'static dyn Rule,
    /// The verdict; a raised finding counts as found until it is resolved.
    pub verdict: &'a Verdict,
    /// The finding that causes this one, if any.
    pub explained_by: Option<&'static str>,
    /// Number of times that it was raised.
    pub raises: u64,
}

impl Diagnosis {
    /// Judges `evidence`, with what `count` returns for a window from some moment on. While something has yet to
    /// be read, nothing is raised or resolved.
    ///
    /// The window of rules ends with the last thing that happened: silence changes no verdict, and whoever attaches
    /// during it finds what was found before.
    pub fn judge(&mut self, evidence: &Evidence, count: &dyn Fn(Option<Timestamp>) -> Window) {
        let at = evidence.at;
        self.states.resize_with(RULES.len(), State::default);
        let over = |from: Timestamp| {
            let from = (from > evidence.since).then_some(from);
            evidence.over(&count(from))
        };
        let active = evidence.active.unwrap_or(at).min(at);
        let long = over(active.before(LONG));
        let short = over(at.before(SHORT));
        for (index, (rule, state)) in RULES.iter().zip(&mut self.states).enumerate() {
            if let Some(why) = &evidence.reading {
                if state.raised.is_none() {
                    state.verdict = Some(Verdict::unknown(why.clone()));
                }
                continue;
            }
            let since = (state.epoch > long.since).then(|| over(state.epoch));
            let long = since.as_ref().unwrap_or(&long);
            if let Some(past) = state.look(*rule, long, &short, &over) {
                self.past.push_back((index, past));
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
    }

    /// Returns the number of past findings that are no longer shown as resolved.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the past findings, newest first, without those that were only consequences of another.
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

    /// Returns active findings, causes first, then recently resolved ones, newest first.
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
        let active = found.len();
        for (rule, state) in RULES.iter().zip(&self.states) {
            if let (None, Some(episode)) = (&state.raised, &state.resolved) {
                let (raised, resolved) = (episode.raised, Some(episode.resolved));
                let (finding, explains) = (&episode.finding, Vec::new());
                let mending = None;
                found.push(Raised { rule: *rule, finding, raised, mending, resolved, explains });
            }
        }
        found[active..].sort_by_key(|raised| std::cmp::Reverse(raised.resolved));
        found
    }

    /// Returns every rule with its current verdict.
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
        let finding_of = |id: &str| {
            let mut states = RULES.iter().zip(&self.states);
            let (_, state) = states.find(|(rule, _)| rule.id() == id)?;
            state.raised.as_ref().map(|(_, finding)| finding)
        };
        let is_raised = |id: &str| finding_of(id).is_some();
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
                let cause = raised.map(|(_, finding)| finding);
                let covered = cause.zip(finding_of(id)).is_some_and(|(a, b)| covers(*rule, a, b));
                if covered && !hidden.iter().any(|(_, known)| known == id) {
                    hidden.push((rule.id(), id));
                }
            }
        }
        hidden
    }
}

/// Returns the workers that a finding is about, each with the beginning of its incarnation: those that it names,
/// else all that are there and did something that counts, else all that are there.
fn accused(rule: &dyn Rule, finding: &Finding, evidence: &Evidence) -> Vec<(WorkerId, Timestamp)> {
    if !rule.is_of_workers() {
        return Vec::new();
    }
    let subjects: BTreeSet<WorkerId> = finding.subjects.iter().copied().collect();
    // Workers that started later and are idle, or publish nothing while others do, are not to blame.
    let published = |rank: &RankEvidence| {
        let counters = &rank.tally.kv.counters;
        counters.stores + counters.removed_blocks > 0
    };
    let by_events = evidence.present().any(published);
    let acted =
        |rank: &RankEvidence| published(rank) || !by_events && rank.tally.requests.routed > 0;
    let all = subjects.is_empty() && !evidence.present().any(acted);
    let named = |rank: &&RankEvidence| {
        all || if subjects.is_empty() { acted(rank) } else { subjects.contains(&rank.rank.worker) }
    };
    let ranks = evidence.present().filter(named);
    let mut accused: Vec<(WorkerId, Timestamp)> = ranks
        .map(|rank| (rank.rank.worker, rank.born.unwrap_or_default().max(evidence.attached)))
        .collect();
    accused.dedup();
    accused
}

/// Returns true when `cause` may hide `consequence`: unless that is about a worker of its own, or a fault by
/// itself.
fn covers(rule: &dyn Rule, cause: &Finding, consequence: &Finding) -> bool {
    if consequence.by_itself {
        return false;
    }
    rule.explains_other_workers()
        || cause.subjects.is_empty()
        || consequence.subjects.iter().all(|worker| cause.subjects.contains(worker))
}

/// Returns the verdict of `rule`. Without a KV router, its index and choices are no fault. While no KV event can
/// arrive, earlier events do not make a rule clear.
fn judged(rule: &dyn Rule, evidence: &Evidence) -> Verdict {
    if let Some(mode) = evidence.other_mode().filter(|_| rule.needs_kv_router()) {
        return Verdict::clear(phrase!(
            "requests are routed by {}, not by cached blocks",
            mode.value
        ));
    }
    let verdict = rule.judge(evidence);
    match &evidence.plane.deaf {
        Some(why) if matches!(verdict, Verdict::Clear { .. }) && rule.rests_on_events() => {
            Verdict::unknown(format!("KV events of now; {why}"))
        }
        _ => verdict,
    }
}

/// Returns since when `rule` has been clear, [`SHORT`] ago at most; none if it is not over the last half minute.
/// Someone who attaches late learns from it what others have seen.
fn clear_since(
    rule: &dyn Rule,
    short: &Evidence,
    count: &dyn Fn(Timestamp) -> Evidence,
) -> Option<Timestamp> {
    let at = short.at;
    let is_clear = |evidence: &Evidence| matches!(judged(rule, evidence), Verdict::Clear { .. });
    if !is_clear(short) {
        return None;
    }
    let steps =
        (1..=SHORT.as_secs() / STEP.as_secs()).map(|step| STEP * u32::try_from(step).unwrap_or(0));
    let clear = steps.take_while(|back| is_clear(&count(at.before(SHORT + *back))));
    Some(at.before(clear.last().unwrap_or_default()))
}

impl State {
    /// Looks again. Returns what was resolved and is over now.
    fn look(
        &mut self,
        rule: &dyn Rule,
        long: &Evidence,
        short: &Evidence,
        count: &dyn Fn(Timestamp) -> Evidence,
    ) -> Option<Box<Episode>> {
        let at = long.at;
        let mut over = self.resolved.take_if(|it| at.since(it.resolved) > RESOLVED_FOR);
        // What was counted is as old as the last thing that was.
        let counted = long.active.map_or(at, |active| active.min(at));
        // Counts are of the time in which they were watched.
        let since = |of: &Evidence| of.since.max(of.listens.unwrap_or_default()).min(counted);
        let mut verdict = judged(rule, long).dated(at, (since(long), counted));
        let by_long = matches!(verdict, Verdict::Found(_));
        // Requests that were served well some minutes ago say nothing about now, and whoever attaches now does
        // not see them.
        if matches!(verdict, Verdict::Clear { .. }) {
            let now = judged(rule, short);
            // The same processes have disproved their settings by serving requests well.
            if matches!(&now, Verdict::Found(found) if found.grade != Grade::ConfigOnly) {
                verdict = now.dated(at, (since(short), counted));
            }
        }
        match (self.raised.take(), verdict) {
            (None, Verdict::Found(finding)) => {
                self.clear_since = by_long.then(|| clear_since(rule, short, count)).flatten();
                if let Some(since) = self.clear_since.take_if(|since| at.since(*since) >= SHORT) {
                    // Someone who watched has seen it resolved.
                    self.epoch = since;
                    self.verdict = Some(judged(rule, short));
                    return over;
                }
                self.raises += 1;
                over = over.or(self.resolved.take());
                self.accuse(rule, &finding, long);
                self.widest = Some(finding.clone());
                self.raised = Some((at, finding.clone()));
                self.verdict = Some(Verdict::Found(finding));
            }
            (None, verdict) => self.verdict = Some(verdict),
            (Some((raised, finding)), verdict) => {
                let recent = judged(rule, short);
                let replaced = finding.of_routers && long.router.alone > self.routers;
                let gone = replaced || self.all_gone(long);
                // A finding is not refuted because its workers or routers left.
                let clear = matches!(recent, Verdict::Clear { .. });
                let refuted = rule.is_refuted_at_once() && clear && !gone;
                if let Some(clear) = self.cured(at, &recent, &verdict, gone, refuted) {
                    let since = self.clear_since.unwrap_or(at);
                    // The counts already leave out the requests of replaced routers.
                    let epoch = if replaced { self.epoch } else { since };
                    self.resolve(raised, epoch, at, finding);
                    self.verdict = Some(clear);
                    return over;
                }
                let finding = match verdict {
                    Verdict::Found(finding) => {
                        self.accuse(rule, &finding, long);
                        self.widen(&finding);
                        finding
                    }
                    Verdict::Clear { .. } | Verdict::Unknown { .. } => finding,
                };
                self.verdict = Some(Verdict::Found(finding.clone()));
                self.raised = Some((raised, finding));
            }
        }
        over
    }

    /// Keeps the raised finding while it is as bad as ever and names as many workers, and nothing speaks for a cure.
    fn widen(&mut self, finding: &Finding) {
        // One that names nobody is about all of them.
        let wide = |it: &Finding| match it.subjects.len() {
            0 => (it.severity, usize::MAX),
            some => (it.severity, some),
        };
        let most = self.widest.as_ref().map(|it| wide(it));
        if most.is_none_or(|most| wide(finding) >= most) && self.clear_since.is_none() {
            self.widest = Some(Box::new(finding.clone()));
        }
    }

    /// Notes at `at` that a finding is resolved; only counts from `epoch` on may raise it again.
    fn resolve(
        &mut self,
        raised: Timestamp,
        epoch: Timestamp,
        at: Timestamp,
        finding: Box<Finding>,
    ) {
        // What was counted before the cure must not raise it again.
        self.epoch = epoch;
        self.clear_since = None;
        let finding = self.widest.take().unwrap_or(finding);
        // What only followed from another goes with it, and is no news.
        let news = self.follows.take().is_none();
        self.resolved = news.then(|| Box::new(Episode { raised, resolved: at, finding }));
    }

    /// Stores the workers and routers that a finding of `rule` is about.
    fn accuse(&mut self, rule: &dyn Rule, finding: &Finding, evidence: &Evidence) {
        self.accused = accused(rule, finding, evidence);
        self.routers = evidence.router.alone;
    }

    /// Returns true when no worker that the raised finding is about is there any more: each has left, or a new
    /// process took its place.
    fn all_gone(&self, evidence: &Evidence) -> bool {
        let there = |(worker, born): &(WorkerId, Timestamp)| {
            let mut ranks = evidence.present().filter(|rank| rank.rank.worker == *worker);
            ranks.any(|rank| rank.born.unwrap_or_default() <= *born)
        };
        !self.accused.is_empty() && !self.accused.iter().any(there)
    }

    /// Returns the verdict of a raised finding's rule once it has been clear for long enough, or all that it was
    /// about has been `gone` for as long, or at once when it is `refuted`. Silence is no proof: it neither counts nor
    /// resets.
    fn cured(
        &mut self,
        at: Timestamp,
        recent: &Verdict,
        verdict: &Verdict,
        gone: bool,
        refuted: bool,
    ) -> Option<Verdict> {
        if matches!(recent, Verdict::Found(_)) {
            self.clear_since = None;
            return None;
        }
        let mut said = [recent, verdict].into_iter();
        let clear = said.find(|said| matches!(said, Verdict::Clear { .. }));
        let clear =
            clear.or_else(|| (gone && !matches!(verdict, Verdict::Found(_))).then_some(verdict))?;
        let since = *self.clear_since.get_or_insert(at);
        (refuted || at.since(since) >= SHORT).then(|| clear.clone())
    }
}
