//! The figures that a headline can show, and how each is written. What nobody reports is a dash.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Tile;
use crate::domain::Stake;
use crate::snapshot::{Knowledge, Latency, Snapshot, WorkerRow};
use crate::tui::judge::{self, State};
use crate::tui::panels::PanelContext;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::sparkline;

/// A figure of the headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Cache hits.
    Hits,
    /// Time to first token, p50 and p95.
    Ttft,
    /// The same, p95 alone.
    TtftP95,
    /// The same, p99 alone.
    TtftP99,
    /// Time between tokens, p50 and p95.
    Itl,
    /// The same, p95 alone.
    ItlP95,
    /// The same, p99 alone.
    ItlP99,
    /// Time in engines' queues, p50 and p95.
    Queue,
    /// The same, p95 alone.
    QueueP95,
    /// The same, p99 alone.
    QueueP99,
    /// Rejected stores.
    Rejected,
    /// Blocks in the index.
    Index,
    /// KV cache in use.
    Kv,
    /// Workers.
    Workers,
    /// Workers that are registered with the router.
    Registered,
    /// Requests routed per second.
    Routed,
    /// Tokens per second.
    Tokens,
    /// Requests that engines compute.
    Running,
    /// Requests that wait in engines.
    Waiting,
    /// Blocks that KVBM moves between tiers.
    Tiers,
}

/// A percentile of a latency.
#[derive(Clone, Copy)]
enum Rank {
    P95,
    P99,
}

impl Figure {
    /// Every figure, in the order of the picker.
    pub const ALL: [Self; 20] = [
        Self::Hits,
        Self::Ttft,
        Self::TtftP95,
        Self::TtftP99,
        Self::Itl,
        Self::ItlP95,
        Self::ItlP99,
        Self::Queue,
        Self::QueueP95,
        Self::QueueP99,
        Self::Rejected,
        Self::Index,
        Self::Kv,
        Self::Workers,
        Self::Registered,
        Self::Routed,
        Self::Tokens,
        Self::Running,
        Self::Waiting,
        Self::Tiers,
    ];

    /// The figures that are shown until somebody chooses.
    pub const USUAL: [Self; 5] = [Self::Hits, Self::Ttft, Self::Rejected, Self::Index, Self::Kv];

    /// Returns its name in the config file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hits => "hits",
            Self::Ttft => "ttft",
            Self::TtftP95 => "ttft-p95",
            Self::TtftP99 => "ttft-p99",
            Self::Itl => "itl",
            Self::ItlP95 => "itl-p95",
            Self::ItlP99 => "itl-p99",
            Self::Queue => "queue",
            Self::QueueP95 => "queue-p95",
            Self::QueueP99 => "queue-p99",
            Self::Rejected => "rejected",
            Self::Index => "index",
            Self::Kv => "kv",
            Self::Workers => "workers",
            Self::Registered => "registered",
            Self::Routed => "routed",
            Self::Tokens => "tokens",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Tiers => "tiers",
        }
    }

    /// Returns the figure of that name in the config file.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.word() == word)
    }

    /// Returns its name, and the name where there is little room.
    pub const fn names(self) -> [&'static str; 2] {
        match self {
            Self::Hits => ["CACHE HITS"; 2],
            Self::Ttft => ["TTFT p50 / p95", "TTFT"],
            Self::TtftP95 => ["TTFT p95"; 2],
            Self::TtftP99 => ["TTFT p99"; 2],
            Self::Itl => ["ITL p50 / p95", "ITL"],
            Self::ItlP95 => ["ITL p95"; 2],
            Self::ItlP99 => ["ITL p99"; 2],
            Self::Queue => ["QUEUE p50 / p95", "QUEUE"],
            Self::QueueP95 => ["QUEUE p95"; 2],
            Self::QueueP99 => ["QUEUE p99"; 2],
            Self::Rejected => ["REJECTED STORES", "REJECTED"],
            Self::Index => ["BLOCKS IN THE INDEX", "INDEX"],
            Self::Kv => ["KV CACHE IN USE", "KV"],
            Self::Workers => ["WORKERS"; 2],
            Self::Registered => ["REGISTERED"; 2],
            Self::Routed => ["REQUESTS/s", "REQ/s"],
            Self::Tokens => ["TOKENS/s", "TOK/s"],
            Self::Running => ["RUNNING", "RUN"],
            Self::Waiting => ["WAITING", "WAIT"],
            Self::Tiers => ["TIER BLOCKS/s", "TIERS/s"],
        }
    }

    /// Returns its meaning.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Hits => "share of prompt tokens, or of requests, found cached, last minute",
            Self::Ttft => "time to first token, p50 and p95, last minute",
            Self::TtftP95 => "time to first token, p95, last minute",
            Self::TtftP99 => "time to first token, p99, last minute",
            Self::Itl => "time between tokens, p50 and p95, last minute",
            Self::ItlP95 => "time between tokens, p95, last minute",
            Self::ItlP99 => "time between tokens, p99, last minute",
            Self::Queue => "time in engines' queues, p50 and p95, last minute",
            Self::QueueP95 => "time in engines' queues, p95, last minute",
            Self::QueueP99 => "time in engines' queues, p99, last minute",
            Self::Rejected => "share of stores that the index rejects, last minute",
            Self::Index => "blocks in the index of a router that saw every event",
            Self::Kv => "share of the engines' KV blocks in use",
            Self::Workers => "workers, and those that left",
            Self::Registered => "workers that are registered with the router, or an indexer",
            Self::Routed => "requests routed per second, last minute",
            Self::Tokens => "tokens of prompts and of answers per second, last minute",
            Self::Running => "requests that engines compute",
            Self::Waiting => "requests that wait in engines",
            Self::Tiers => "blocks per second that KVBM offloads and onboards, last minute",
        }
    }

    pub(super) fn tile(self, context: &PanelContext<'_>, glyphs: &'static Glyphs) -> Tile {
        let (snapshot, router) = (context.snapshot, &context.snapshot.router);
        match self {
            Self::Hits => self.hits(context, glyphs),
            Self::Ttft => self.ttft(context, glyphs),
            Self::TtftP95 => {
                let tile = self.percentile(router.ttft.as_ref(), Rank::P95, time, glyphs);
                let points = &context.timeline.series.ttft_p95.points;
                tile.over(context, points, sparkline::largest(points, 0.1))
            }
            Self::TtftP99 => self.percentile(router.ttft.as_ref(), Rank::P99, time, glyphs),
            Self::Itl => self.pair(router.itl.as_ref(), glyphs),
            Self::ItlP95 => self.percentile(router.itl.as_ref(), Rank::P95, short_time, glyphs),
            Self::ItlP99 => self.percentile(router.itl.as_ref(), Rank::P99, short_time, glyphs),
            Self::Queue => self.pair(router.queue_time.as_ref(), glyphs),
            Self::QueueP95 => {
                self.percentile(router.queue_time.as_ref(), Rank::P95, short_time, glyphs)
            }
            Self::QueueP99 => {
                self.percentile(router.queue_time.as_ref(), Rank::P99, short_time, glyphs)
            }
            Self::Rejected => self.rejected(context, glyphs),
            Self::Index => self.index(context, glyphs),
            Self::Kv => self.usage(context, glyphs),
            Self::Workers => self.workers(snapshot, glyphs),
            Self::Registered => self.registered(snapshot, glyphs),
            Self::Routed => {
                let rate = router.tells_of_requests_now().then_some(router.routed_per_second);
                let points = &context.timeline.series.routed.points;
                let tile = self.known(rate.map(text::short), glyphs);
                tile.over(context, points, sparkline::largest(points, 1.0))
            }
            Self::Tokens => {
                let (prompts, answers) = (router.flow.prompt_tokens, router.flow.output_tokens);
                self.flow([prompts, answers], ["prompt", "output"], ["in", "out"], glyphs)
            }
            Self::Running => {
                let running = sum(snapshot, |row| row.in_engine.running);
                self.known(running.map(text::count), glyphs)
            }
            Self::Waiting => {
                let waiting = sum(snapshot, |row| row.in_engine.waiting);
                self.known(waiting.map(text::count), glyphs)
            }
            Self::Tiers => {
                let (down, up) = (router.flow.offloaded, router.flow.onboarded);
                self.flow([down, up], ["offloaded", "onboarded"], ["off", "on"], glyphs)
            }
        }
    }

    /// Returns a tile without a course.
    fn plain(self, values: Vec<String>, role: Role) -> Tile {
        let [name, short] = self.names();
        Tile { name, short, values, role, course: None }
    }

    fn known(self, value: Option<String>, glyphs: &Glyphs) -> Tile {
        let role = if value.is_some() { Role::Title } else { Role::Muted };
        self.plain(vec![value.unwrap_or_else(|| glyphs.none.to_owned())], role)
    }

    fn hits(self, context: &PanelContext<'_>, glyphs: &Glyphs) -> Tile {
        let series = context.timeline.series;
        let (felt, before) = (context.snapshot.felt, context.snapshot.before.unwrap_or_default());
        let of_tokens = felt.cached.is_some();
        let (hits, hits_before) =
            if of_tokens { (felt.cached, before.cached) } else { (felt.found, before.found) };
        let points = if of_tokens { &series.cached_share } else { &series.hit_share };
        let blind = felt.found.is_some_and(|found| found <= 0.0);
        let role = if blind { Role::Crit } else { Role::Title };
        let values = with_unit(shares(hits, hits_before, glyphs), of_tokens);
        self.plain(values, role).over(context, &points.points, 1.0)
    }

    /// Returns the time to first token: half of the requests, and 95 % of them.
    fn ttft(self, context: &PanelContext<'_>, glyphs: &Glyphs) -> Tile {
        let (felt, before) = (context.snapshot.felt, context.snapshot.before.unwrap_or_default());
        let mut values = Vec::new();
        if let (Some([p50, p95]), Some([was50, was95])) = (felt.first_token, before.first_token)
            && changed(was95, p95)
        {
            let arrow = glyphs.leads_to;
            let ([was50, was95, p50, p95], unit) = text::times([was50, was95, p50, p95]);
            values.push(format!("{was50} / {was95} {arrow} {p50} / {p95} {unit}"));
            values.push(format!("p95 {was95} {arrow} {p95} {unit}"));
        }
        values.push(felt.first_token.map_or_else(
            || glyphs.none.to_owned(),
            |times| {
                let ([p50, p95], unit) = text::times(times);
                format!("{p50} / {p95} {unit}")
            },
        ));
        let objective = context.snapshot.router.ttft.as_ref().and_then(|ttft| ttft.objective);
        let role = judged(felt.first_token.map(|[_, p95]| p95), objective);
        let points = &context.timeline.series.ttft_p95.points;
        self.plain(values, role).over(context, points, sparkline::largest(points, 0.1))
    }

    /// Returns p50 and p95 of a latency.
    fn pair(self, latency: Option<&Latency>, glyphs: &Glyphs) -> Tile {
        let Some(latency) = latency else { return self.known(None, glyphs) };
        let least = if latency.beyond { glyphs.least } else { "" };
        let both = format!("{} / {least}{}", short_time(latency.p50), short_time(latency.p95));
        self.plain(vec![both], judged(Some(latency.p95), latency.objective))
    }

    /// Returns one percentile of a latency. Objectives are about the 95th.
    fn percentile(
        self,
        latency: Option<&Latency>,
        rank: Rank,
        write: fn(f64) -> String,
        glyphs: &Glyphs,
    ) -> Tile {
        let Some(latency) = latency else { return self.known(None, glyphs) };
        let (value, beyond, objective) = match rank {
            Rank::P95 => (latency.p95, latency.beyond, latency.objective),
            Rank::P99 => (latency.p99, latency.p99_beyond, None),
        };
        let least = if beyond { glyphs.least } else { "" };
        self.plain(vec![format!("{least}{}", write(value))], judged(Some(value), objective))
    }

    /// Returns rejected stores as a share of all, and what that means.
    fn rejected(self, context: &PanelContext<'_>, glyphs: &Glyphs) -> Tile {
        let series = context.timeline.series;
        let awaited = context.is_warming() || context.snapshot.catching_up.is_some();
        let (value, role) = match context.orphans() {
            None if awaited => (format!("{} not known yet", glyphs.unknown), Role::Unknown),
            None => (glyphs.none.to_owned(), Role::Muted),
            Some((share, state @ State::Unknown)) => {
                (format!("{} {} %", glyphs.unknown, text::percent(share)), state.role())
            }
            Some((share, state)) => (format!("{} %", text::percent(share)), state.role()),
        };
        self.plain(vec![value], role).over(
            context,
            &series.rejected_share(context.is_warming()),
            1.0,
        )
    }

    /// Returns the blocks in the index: a lower bound while blocks of a worker from before the attach are unknown.
    fn index(self, context: &PanelContext<'_>, glyphs: &Glyphs) -> Tile {
        let snapshot = context.snapshot;
        let blocks = snapshot.tree.accepted_blocks;
        let mut present = present(snapshot).peekable();
        let (value, role) = if !snapshot.hears_events() || present.peek().is_none() {
            (glyphs.none.to_owned(), Role::Muted)
        } else if snapshot.catching_up.is_some_and(|behind| !behind.ahead) {
            // They are those of some moment in the past.
            (format!("{} not known yet", glyphs.unknown), Role::Unknown)
        } else if present.any(|row| row.knowledge != Knowledge::Complete) {
            let role = if blocks == 0 { Role::Unknown } else { Role::Title };
            (format!("{}{}", glyphs.least, text::thousands(blocks)), role)
        } else if snapshot.ledger.hole.is_some() {
            // Blocks may be missing, and others may be gone.
            (format!("{} {}", glyphs.unknown, text::thousands(blocks)), Role::Unknown)
        } else {
            let role =
                if blocks == 0 || lost_by_routers(snapshot) { Role::Warn } else { Role::Title };
            (text::thousands(blocks), role)
        };
        // The routers' own index holds less of it then.
        let values = if lost_by_routers(snapshot) {
            vec![format!("{value} in kvtop's copy"), value]
        } else {
            vec![value]
        };
        let points = &context.timeline.series.tree_size.points;
        self.plain(values, role).over(context, points, sparkline::largest(points, 1.0))
    }

    fn usage(self, context: &PanelContext<'_>, glyphs: &Glyphs) -> Tile {
        let used = context.snapshot.totals.kv_utilization;
        let value = used.map(|used| format!("{} %", text::whole_percent(used)));
        let role = used.map_or(Role::Muted, |used| judge::usage(context.snapshot, None, used));
        let tile = Tile { role, ..self.known(value, glyphs) };
        tile.over(context, &context.timeline.series.kv_utilization.points, 1.0)
    }

    fn workers(self, snapshot: &Snapshot, glyphs: &Glyphs) -> Tile {
        let all: BTreeSet<_> = snapshot.workers.iter().map(|row| row.rank.worker).collect();
        if all.is_empty() {
            return self.known(None, glyphs);
        }
        let there = there(snapshot);
        let plain = text::count(there);
        let gone = (all.len() as u64).saturating_sub(there);
        let long = (gone > 0).then(|| format!("{plain}, {gone} gone"));
        self.plain(long.into_iter().chain([plain]).collect(), Role::Title)
    }

    fn registered(self, snapshot: &Snapshot, glyphs: &Glyphs) -> Tile {
        let counted = &snapshot.router.counted;
        let (registered, with) = match (counted.routed_to, counted.registered) {
            (Some(registered), _) => (registered, "with the router"),
            (None, Some(registered)) => (registered, "with the indexer"),
            (None, None) => return self.known(None, glyphs),
        };
        let fewer = registered < there(snapshot);
        let count = text::count(registered);
        let of_all = format!("{count} of {}", text::count(there(snapshot)));
        let long = if fewer { format!("{of_all} {with}") } else { format!("{count} {with}") };
        let short = if fewer { of_all } else { count };
        self.plain(vec![long, short], if fewer { Role::Warn } else { Role::Title })
    }

    /// Returns two rates, each with the name of its way.
    fn flow(
        self,
        rates: [Option<f64>; 2],
        long: [&str; 2],
        short: [&str; 2],
        glyphs: &Glyphs,
    ) -> Tile {
        if rates.iter().all(Option::is_none) {
            return self.known(None, glyphs);
        }
        let [first, second] =
            rates.map(|rate| rate.map_or_else(|| glyphs.none.to_owned(), text::short));
        let both = |[a, b]: [&str; 2]| format!("{first} {a}, {second} {b}");
        self.plain(vec![both(long), both(short), format!("{first} / {second}")], Role::Title)
    }
}

impl Tile {
    /// Adds the course up to the cursor.
    fn over(self, context: &PanelContext<'_>, points: &[Option<f64>], top: f64) -> Self {
        Self { course: Some((context.timeline.up_to_cursor(points), top)), ..self }
    }
}

/// Returns true while routers are found to have lost what kvtop's copy of the index holds.
fn lost_by_routers(snapshot: &Snapshot) -> bool {
    let mut checks = snapshot.checks.iter().filter(|check| check.stake == Stake::History);
    checks.any(|check| {
        let mut open = snapshot.findings.iter().filter(|row| row.mending.is_none());
        open.any(|row| row.id == check.id && row.resolved.is_none())
    })
}

fn present(snapshot: &Snapshot) -> impl Iterator<Item = &WorkerRow> {
    snapshot.workers.iter().filter(|row| !row.gone)
}

/// Returns how many workers are there, whatever their ranks.
fn there(snapshot: &Snapshot) -> u64 {
    present(snapshot).map(|row| row.rank.worker).collect::<BTreeSet<_>>().len() as u64
}

/// Returns the sum over all workers that are there; none while one of them does not report it.
fn sum(snapshot: &Snapshot, value: fn(&WorkerRow) -> Option<u64>) -> Option<u64> {
    present(snapshot).map(value).reduce(|a, b| Some(a?.saturating_add(b?))).flatten()
}

/// Returns the colour of a 95th percentile.
fn judged(p95: Option<f64>, objective: Option<f64>) -> Role {
    match (p95, objective) {
        (None, _) => Role::Muted,
        (Some(p95), Some(most)) if p95 > most => Role::Crit,
        (Some(_), Some(_)) => Role::Ok,
        (Some(_), None) => Role::Title,
    }
}

/// Returns a share, first with what it was before where that differs.
fn shares(now: Option<f64>, before: Option<f64>, glyphs: &Glyphs) -> Vec<String> {
    let Some(now) = now.map(text::whole_percent) else { return vec![glyphs.none.to_owned()] };
    let plain = format!("{now} %");
    match before.map(text::whole_percent) {
        Some(was) if was != now => vec![format!("{was} {} {plain}", glyphs.leads_to), plain],
        _ => vec![plain],
    }
}

/// Returns true for times that differ by more than two in a hundred: less is noise.
fn changed(before: f64, now: f64) -> bool {
    (before - now).abs() > 0.02 * before.max(now)
}

/// Adds what a share is of, where there is room for it.
fn with_unit(values: Vec<String>, of_tokens: bool) -> Vec<String> {
    let unit = if of_tokens { "of prompt tokens" } else { "of requests" };
    let short = if of_tokens { "of tokens" } else { "of requests" };
    let known = values.first().is_some_and(|value| value.ends_with('%'));
    let Some(last) = values.last().filter(|_| known) else { return values };
    let mut forms: Vec<String> =
        values.iter().flat_map(|it| [format!("{it} {unit}"), format!("{it} {short}")]).collect();
    let plain = last.clone();
    forms.extend(values);
    forms.retain(|form| *form != plain);
    forms.push(plain);
    forms
}

fn time(value: f64) -> String {
    let ([value], unit) = text::times([value]);
    format!("{value} {unit}")
}

fn short_time(value: f64) -> String {
    let span = Duration::try_from_secs_f64(value);
    span.map_or_else(|_| String::from("?"), text::latency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_a_word_of_its_own() {
        let words: BTreeSet<&str> = Figure::ALL.iter().map(|figure| figure.word()).collect();
        assert_eq!(words.len(), Figure::ALL.len());
        for figure in Figure::ALL {
            assert_eq!(Figure::from_word(figure.word()), Some(figure));
            let [name, short] = figure.names();
            assert!(text::width(short) <= text::width(name), "{short}");
        }
    }
}
