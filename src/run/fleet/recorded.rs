//! The fleet from a Prometheus that scrapes `kvtop export`: now, and as it was.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::super::RunError;
use super::{Asked, FleetWatch};
use crate::cli::SourceArgs;
use crate::clock;
use crate::domain::Timestamp;
use crate::fleet::rows;
use crate::snapshot::{FLEET_SPANS, Fleet, FleetPast, FleetPoint, Member, MemberState};
use crate::source::prometheus::{PrometheusClient, PrometheusError, PrometheusOptions};

/// Time between two questions: as often as exporters are scraped.
const EVERY: Duration = Duration::from_secs(15);

/// Points of the past.
const POINTS: u32 = 60;

/// Starts to ask the Prometheus that `args` name. Must be called within a runtime.
pub(super) fn start(args: &SourceArgs) -> Result<FleetWatch, RunError> {
    let client = PrometheusClient::new(&PrometheusOptions {
        url: args.prometheus.clone().unwrap_or_default(),
        token_file: args.prometheus_token_file.clone(),
        ca_file: args.prometheus_ca.clone(),
    })?;
    let blank = Fleet { origin: client.server().to_owned(), ..Fleet::default() };
    let (show, shown) = watch::channel(Arc::new(blank));
    let (ask, asked) = watch::channel(Asked { moment: None, span: FLEET_SPANS[1] });
    let recorded = Recorded { client, names: args.namespaces.clone(), members: Vec::new() };
    let task = tokio::spawn(recorded.run(asked, show));
    Ok(FleetWatch { client: None, shown, asked: Some(ask), task })
}

struct Recorded {
    client: PrometheusClient,
    /// Names to which the fleet is limited; all deployments when there is none.
    names: Vec<String>,
    /// The rows that were read last.
    members: Vec<Member>,
}

impl Recorded {
    async fn run(mut self, mut asked: watch::Receiver<Asked>, show: watch::Sender<Arc<Fleet>>) {
        let mut points = Vec::new();
        loop {
            let now = *asked.borrow_and_update();
            let fleet = self.fleet(now, &mut points).await;
            // Whoever moved the cursor meanwhile waits for another moment.
            if !asked.has_changed().unwrap_or(true) && show.send(Arc::new(fleet)).is_err() {
                return;
            }
            if let Ok(Err(_)) = timeout(EVERY, asked.changed()).await {
                return;
            }
        }
    }

    async fn fleet(&mut self, asked: Asked, points: &mut Vec<FleetPoint>) -> Fleet {
        let at = asked.moment.unwrap_or_else(clock::now);
        let step = asked.span / POINTS;
        let read = async {
            let found = self.rows(asked.moment).await?;
            let end = aligned(clock::now(), step);
            let course = self.client.range(rows::COURSE, (end.before(asked.span), end), step);
            Ok::<_, PrometheusError>((found, filled(&rows::course(&course.await?), end, step)))
        };
        let mut unlisted = Vec::new();
        match read.await {
            Ok((members, course)) => {
                if members.is_empty() {
                    unlisted.push(self.nothing(asked.moment));
                }
                self.members = members;
                *points = course;
            }
            Err(why) => {
                let why = crate::exit::chain(&why);
                // What was true before it fell silent is not known to be true still.
                for member in &mut self.members {
                    *member = Member {
                        id: member.id.clone(),
                        state: MemberState::Unknown,
                        missing: why.clone(),
                        ..Member::default()
                    };
                }
                unlisted.push(why);
            }
        }
        let mut fleet = Fleet::new(at, self.client.server().to_owned(), self.members.clone());
        fleet.unlisted = unlisted;
        fleet.past =
            Some(FleetPast { span: asked.span, step, shown: asked.moment, points: points.clone() });
        fleet
    }

    /// Returns what to say where there are no rows.
    fn nothing(&self, moment: Option<Timestamp>) -> String {
        let server = self.client.server();
        match moment {
            Some(_) => format!("{server} has no metrics of kvtop at that time"),
            None if self.names.is_empty() => {
                format!("{server} has no metrics of kvtop: is it scraping `kvtop export`?")
            }
            None => format!("{server} has no metrics of kvtop for {}", self.names.join(", ")),
        }
    }

    async fn rows(&self, moment: Option<Timestamp>) -> Result<Vec<Member>, PrometheusError> {
        let (states, figures, last) = tokio::try_join!(
            self.client.instant(rows::STATES, moment),
            self.client.instant(rows::FIGURES, moment),
            self.client.instant(rows::LAST, moment),
        )?;
        let at = moment.unwrap_or_else(clock::now);
        let mut members = rows::members(&states, &figures, &last, at);
        let named = |name: &Option<String>| name.as_ref().is_some_and(|it| self.names.contains(it));
        members.retain(|member| {
            let id = &member.id;
            let is_named = self.names.contains(&id.namespace);
            self.names.is_empty() || is_named || named(&id.dgd) || named(&id.dynamo_namespace)
        });
        Ok(members)
    }
}

/// Returns the end of the last step before `now`, so that points stay where they are from one question to the next.
fn aligned(now: Timestamp, step: Duration) -> Timestamp {
    let step = u64::try_from(step.as_micros()).unwrap_or(u64::MAX).max(1);
    Timestamp(now.0 - now.0 % step)
}

/// Returns a point for each step until `end`, those without metrics included.
fn filled(known: &[FleetPoint], end: Timestamp, step: Duration) -> Vec<FleetPoint> {
    let point = |back: u32| {
        let at = end.before(step * back);
        let near = |point: &&FleetPoint| point.at.since(at).max(at.since(point.at)) < step / 2;
        FleetPoint { at, worst: known.iter().find(near).and_then(|point| point.worst) }
    };
    (0..=POINTS).rev().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_without_metrics_are_points_of_which_nothing_is_known() {
        let step = Duration::from_secs(60);
        let end = aligned(Timestamp(1_000_000_030_000_000), step);
        let known = [FleetPoint { at: end.before(step), worst: Some(MemberState::Healthy) }];

        let points = filled(&known, end, step);

        assert_eq!(points.len(), 61);
        assert_eq!(points[59].worst, Some(MemberState::Healthy));
        assert!(points.iter().filter(|point| point.worst.is_some()).count() == 1);
        assert_eq!(end.0 % 60_000_000, 0);
    }
}
