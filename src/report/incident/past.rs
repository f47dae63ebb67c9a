//! The past of a live deployment: figures by the time at which things happened, where a source tells of them.

use std::time::Duration;

use super::page::Block;
use super::{Incident, Moment};
use crate::domain::{SourceName, Timestamp, thousands};
use crate::report::rfc3339;
use crate::snapshot::{FindingRow, Series, Snapshot};

/// The longest time that figures reach back: graphs hold one value per second of an hour.
pub const REACH: Duration = Duration::from_secs(3600);

/// The time that a source covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The source.
    pub source: SourceName,
    /// The time of its first message within the reported time.
    pub first: Timestamp,
    /// The time of its last one.
    pub last: Timestamp,
    /// Its messages within the reported time.
    pub messages: u64,
}

/// Sources that bring KV events.
const OF_EVENTS: [SourceName; 4] =
    [SourceName::JetStream, SourceName::Nats, SourceName::Zmq, SourceName::Simulator];

impl Incident {
    /// Takes in the picture of a live deployment, whose graphs cover `snapshot.series.window`. Nothing is known of the
    /// time before a source's first message.
    pub fn attached(&mut self, snapshot: &Snapshot, covered: Vec<Covered>, attached: Timestamp) {
        let series = &snapshot.series;
        let begins = |of: &[SourceName]| {
            let firsts = covered.iter().filter(|it| of.contains(&it.source)).map(|it| it.first);
            firsts.min().unwrap_or(attached)
        };
        let (events, logs) = (begins(&OF_EVENTS), begins(&[SourceName::Logs]));
        let points = series.stores.points.len();
        let rejected = series.rejected_share(snapshot.is_warming());
        let begin = snapshot.at.before(series.window);
        let step = series.window / u32::try_from(points.max(1)).unwrap_or(u32::MAX);
        let mut at = begin;
        for index in 0..points {
            at = at.after(step);
            let value = |series: &Series| series.points.get(index).copied().flatten();
            let since = |begin: Timestamp, series: &Series| value(series).filter(|_| at >= begin);
            let stores = since(events, &series.stores).filter(|stores| *stores > 0.0);
            let pair = value(&series.ttft_p50).zip(value(&series.ttft_p95));
            self.moments.push(Moment {
                at,
                standing: None,
                workers: None,
                requests: since(logs, &series.routed),
                cached: value(&series.cached_share),
                found: value(&series.hit_share),
                first_token: pair.map(|(half, most)| [half, most]),
                inter_token: None,
                rejected: rejected.get(index).copied().flatten().filter(|_| stores.is_some()),
                blocks: since(events, &series.tree_size),
                used: value(&series.kv_utilization),
            });
        }
        if let Some(last) = self.moments.last_mut().filter(|last| last.at >= snapshot.at) {
            // The picture itself is the last moment.
            last.at = snapshot.at.before(Duration::from_micros(1));
        }
        self.covered = covered;
        self.attached = Some(attached);
        self.end(snapshot);
    }

    /// Adds a reason why the report may be incomplete.
    pub fn lacks(&mut self, why: String) {
        self.unseen.push(why);
    }
}

/// Returns the earliest moment with a figure that users feel, or else with any.
pub(super) fn earliest(incident: &Incident) -> Option<&Moment> {
    let felt = |moment: &&Moment| {
        moment.cached.is_some() || moment.found.is_some() || moment.first_token.is_some()
    };
    let any = |moment: &&Moment| moment.blocks.is_some() || moment.requests.is_some();
    let before = incident.moments.get(..incident.moments.len().checked_sub(1)?)?;
    before.iter().find(felt).or_else(|| before.iter().find(any))
}

/// Returns the begin of a finding's counts, where that is before kvtop attached.
pub(super) fn evidence_since(incident: &Incident, row: &FindingRow) -> Option<Timestamp> {
    let attached = incident.attached?;
    row.evidence.iter().filter_map(|proof| proof.since).min().filter(|since| *since < attached)
}

/// Lists the sources with the time that each covers.
pub(super) fn sources(incident: &Incident, blocks: &mut Vec<Block>) {
    if incident.covered.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, "Sources".to_owned()));
    blocks.push(Block::Text(
        "Before its first message nothing is known from a source. Streams and logs tell of the time before kvtop \
         attached; metrics and unstored events do not."
            .to_owned(),
    ));
    let head = ["Source", "From", "To", "Messages"].map(str::to_owned).to_vec();
    let rows = incident.covered.iter().map(|it| {
        vec![it.source.to_string(), rfc3339(it.first), rfc3339(it.last), thousands(it.messages)]
    });
    blocks.push(Block::Table(std::iter::once(head).chain(rows).collect()));
}
