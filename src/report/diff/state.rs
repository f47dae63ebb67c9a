//! A state of a deployment, read back from the JSON contract. Fields that a file lacks are unknown.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::report::json::CONTRACT;
use crate::report::plain_text;

/// A state of a deployment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct State {
    contract: u32,
    pub(super) kvtop: String,
    pub(super) at: String,
    pub(super) target: Option<Target>,
    pub(super) status: Option<String>,
    pub(super) dynamo: Dynamo,
    pub(super) workers: Option<Vec<Worker>>,
    pub(super) router: Router,
    pub(super) hits: Hits,
    pub(super) tree: Tree,
    pub(super) pods: Vec<Pod>,
    pub(super) claims: Option<Vec<Claim>>,
    pub(super) capacity_curve: Option<Curve>,
    pub(super) findings: Option<Vec<Finding>>,
    pub(super) checks: Option<Vec<Check>>,
    incomplete: Vec<String>,
    error: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Target {
    pub(super) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Dynamo {
    pub(super) version: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) model: Option<String>,
    pub(super) event_plane: Option<String>,
    pub(super) dgds: Vec<Dgd>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Dgd {
    pub(super) name: String,
    pub(super) components: Vec<Component>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) replicas: Option<f64>,
    pub(super) ready: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Worker {
    pub(super) id: String,
    pub(super) dp_rank: u32,
    pub(super) alias: String,
    pub(super) pod: Option<String>,
    pub(super) gone: bool,
    pub(super) held: Option<f64>,
    pub(super) capacity_blocks: Option<f64>,
    pub(super) kv_utilization: Option<f64>,
    pub(super) hit_rate: Option<f64>,
    pub(super) mean_overlap: Option<f64>,
    pub(super) rates: Option<BTreeMap<String, Rate>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Rate {
    pub(super) stores: f64,
    pub(super) removals: f64,
    pub(super) refused: f64,
    pub(super) unknown_removals: f64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Router {
    pub(super) requests_per_second: Option<f64>,
    pub(super) queued: Option<f64>,
    pub(super) ttft: Option<Percentiles>,
    pub(super) itl: Option<Percentiles>,
    pub(super) request_duration: Option<Percentiles>,
    pub(super) queue_time: Option<Percentiles>,
    pub(super) registered_workers: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Percentiles {
    pub(super) p50: f64,
    pub(super) p95: f64,
    /// Files of earlier versions have none.
    pub(super) p99: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Hits {
    pub(super) cached_prompt_tokens: Option<f64>,
    pub(super) requests_with_hit: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tree {
    #[serde(rename = "accepted_blocks")]
    pub(super) accepted: Option<f64>,
    #[serde(rename = "held_blocks")]
    pub(super) held: Option<f64>,
    #[serde(rename = "distinct_blocks")]
    pub(super) distinct: Option<f64>,
    #[serde(rename = "orphan_blocks")]
    pub(super) orphan: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) worker: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Claim {
    pub(super) what: String,
    pub(super) of: String,
    pub(super) subject: String,
    pub(super) value: Value,
    pub(super) basis: String,
    #[serde(default)]
    pub(super) at: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Curve {
    pub(super) points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Point {
    pub(super) factor: f64,
    pub(super) avoided_share: f64,
    pub(super) margin: f64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Finding {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) severity: String,
    pub(super) grade: String,
    pub(super) summary: String,
    pub(super) resolved: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) verdict: String,
    pub(super) missing: Option<String>,
}

/// A file that is no state of a deployment. The message never quotes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadState {
    /// Not JSON, or with a value of another type than the contract has.
    #[error("line {line}, column {column} is not what `kvtop snapshot -o json` writes")]
    Invalid {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// The file ends early.
    #[error("it is truncated: it ends within line {line}")]
    Truncated {
        /// Line, from 1.
        line: usize,
    },
    /// JSON of something else.
    #[error(
        "it is neither a recording nor output of `kvtop snapshot -o json` or `kvtop check -o json`"
    )]
    Foreign,
    /// A later contract.
    #[error("it follows contract {0} of the JSON output; this kvtop reads contract {CONTRACT}")]
    Contract(u32),
}

impl State {
    /// Reads the output of `kvtop snapshot -o json` or `kvtop check -o json`.
    pub fn parse(json: &[u8]) -> Result<Self, BadState> {
        let state: Self = serde_json::from_slice(json).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            if json.trim_ascii().is_empty() {
                BadState::Foreign
            } else if error.is_eof() {
                BadState::Truncated { line }
            } else {
                BadState::Invalid { line, column }
            }
        })?;
        match state.contract {
            0 => Err(BadState::Foreign),
            CONTRACT if state.workers.is_none() && state.status.is_none() => Err(BadState::Foreign),
            CONTRACT => Ok(state.printable()),
            later => Err(BadState::Contract(later)),
        }
    }

    /// Removes what could steer a terminal from the texts that are shown.
    fn printable(mut self) -> Self {
        let clean = |text: &mut String| *text = plain_text(text);
        let dynamo = &mut self.dynamo;
        let named = [
            &mut dynamo.version,
            &mut dynamo.namespace,
            &mut dynamo.model,
            &mut dynamo.event_plane,
            &mut self.status,
            &mut self.error,
        ];
        named.into_iter().flatten().for_each(clean);
        self.target.iter_mut().for_each(|target| clean(&mut target.name));
        [&mut self.at, &mut self.kvtop].into_iter().for_each(clean);
        self.incomplete.iter_mut().for_each(clean);
        for dgd in &mut dynamo.dgds {
            clean(&mut dgd.name);
            dgd.components.iter_mut().for_each(|component| clean(&mut component.name));
        }
        for worker in self.workers.iter_mut().flatten() {
            [&mut worker.id, &mut worker.alias].into_iter().for_each(clean);
            worker.pod.iter_mut().for_each(clean);
        }
        for claim in self.claims.iter_mut().flatten() {
            [&mut claim.what, &mut claim.of].into_iter().for_each(clean);
        }
        for row in self.findings.iter_mut().flatten() {
            let all =
                [&mut row.id, &mut row.name, &mut row.severity, &mut row.grade, &mut row.summary];
            all.into_iter().for_each(clean);
        }
        for row in self.checks.iter_mut().flatten() {
            [&mut row.id, &mut row.name].into_iter().for_each(clean);
            row.missing.iter_mut().for_each(clean);
        }
        self
    }

    /// Returns the workers that are there; none when none is known.
    pub(super) fn present(&self) -> Option<Vec<&Worker>> {
        let all = self.workers.as_ref().filter(|all| !all.is_empty())?;
        Some(all.iter().filter(|worker| !worker.gone).collect())
    }

    /// Returns the reasons why the state is not whole, in sentences.
    pub(super) fn lacking(&self) -> Vec<String> {
        let mut all: Vec<String> = self.error.iter().cloned().collect();
        if self.findings.is_none() {
            all.push("the file holds no findings; newer versions of kvtop write them".to_owned());
        }
        if self.workers.is_none() {
            all.push("the file holds no workers, settings and figures".to_owned());
        }
        all.extend(self.incomplete.iter().cloned());
        all
    }
}
