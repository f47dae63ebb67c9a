//! One compared quantity: its value on both sides, and the difference.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::thousands;

/// The part of the comparison that a row belongs to, in the order of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Section {
    Deployment,
    Settings,
    Hits,
    Latency,
    Rates,
    Index,
    Curve,
    Workers,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unit {
    /// A count.
    Count,
    /// A mean of counts.
    Mean,
    /// A share, 0 to 1.
    Share,
    Seconds,
    PerSecond,
}

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RowState {
    Same,
    Changed,
    /// Unknown in B.
    OnlyA,
    /// Unknown in A.
    OnlyB,
}

/// A value of a setting, and the number of workers or pods that have it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Counted {
    pub(super) value: String,
    pub(super) count: usize,
}

/// A value on one side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Value {
    Number(f64),
    Text(String),
    Values(Vec<Counted>),
}

/// One compared quantity. `a` and `b` are `null` where unknown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Row {
    pub(super) section: Section,
    /// The worker or component that it is about; `null` for the deployment.
    pub(super) subject: Option<String>,
    pub(super) name: String,
    pub(super) unit: Option<Unit>,
    pub(super) a: Option<Value>,
    pub(super) b: Option<Value>,
    /// Half the width of the interval that holds 19 of 20 samples of this size.
    pub(super) a_margin: Option<f64>,
    pub(super) b_margin: Option<f64>,
    pub(super) state: RowState,
    /// B minus A.
    pub(super) delta: Option<f64>,
    /// The same as a share of A; `null` where A is 0.
    pub(super) relative: Option<f64>,
}

impl Row {
    /// Compares two numbers: they are the same when they are shown alike. None while both are unknown.
    pub(super) fn number(
        section: Section,
        name: &str,
        unit: Unit,
        a: Option<f64>,
        b: Option<f64>,
    ) -> Option<Self> {
        let state = match (a, b) {
            (None, None) => return None,
            (Some(a), Some(b)) if shown(a, unit) == shown(b, unit) => RowState::Same,
            (Some(_), Some(_)) => RowState::Changed,
            (Some(_), None) => RowState::OnlyA,
            (None, Some(_)) => RowState::OnlyB,
        };
        let delta = a.zip(b).map(|(a, b)| b - a).filter(|delta| delta.is_finite());
        let relative = a.zip(delta).filter(|(a, _)| *a != 0.0).map(|(a, delta)| delta / a.abs());
        Some(Self {
            section,
            subject: None,
            name: name.to_owned(),
            unit: Some(unit),
            a: a.map(Value::Number),
            b: b.map(Value::Number),
            a_margin: None,
            b_margin: None,
            state,
            delta,
            relative: relative.filter(|relative| relative.is_finite()),
        })
    }

    /// Compares two values without a unit. None while both are unknown.
    pub(super) fn value(
        section: Section,
        name: &str,
        a: Option<Value>,
        b: Option<Value>,
    ) -> Option<Self> {
        let state = match (&a, &b) {
            (None, None) => return None,
            (Some(a), Some(b)) if a == b => RowState::Same,
            (Some(_), Some(_)) => RowState::Changed,
            (Some(_), None) => RowState::OnlyA,
            (None, Some(_)) => RowState::OnlyB,
        };
        Some(Self {
            section,
            subject: None,
            name: name.to_owned(),
            unit: None,
            a,
            b,
            a_margin: None,
            b_margin: None,
            state,
            delta: None,
            relative: None,
        })
    }

    /// Compares two texts. None while both are unknown.
    pub(super) fn text(
        section: Section,
        name: &str,
        a: Option<&String>,
        b: Option<&String>,
    ) -> Option<Self> {
        let value = |text: Option<&String>| text.cloned().map(Value::Text);
        Self::value(section, name, value(a), value(b))
    }

    /// Returns it as a row about `subject`.
    pub(super) fn about(mut self, subject: &str) -> Self {
        self.subject = Some(subject.to_owned());
        self
    }

    /// Returns both sides for people.
    pub(super) fn sides(&self) -> [String; 2] {
        let side = |value: &Option<Value>, margin: Option<f64>| match value {
            None => "unknown".to_owned(),
            Some(Value::Text(text)) => text.clone(),
            Some(Value::Number(number)) => {
                let unit = self.unit.unwrap_or(Unit::Mean);
                let margin = margin.map(|margin| format!(" \u{b1} {:.1}", margin * 100.0));
                shown(*number, unit) + &margin.unwrap_or_default()
            }
            Some(Value::Values(all)) => values(all),
        };
        [side(&self.a, self.a_margin), side(&self.b, self.b_margin)]
    }

    /// Returns the difference for people.
    pub(super) fn change(&self) -> String {
        match self.state {
            RowState::Same => "same".to_owned(),
            RowState::OnlyA => "unknown in B".to_owned(),
            RowState::OnlyB => "unknown in A".to_owned(),
            RowState::Changed => {
                let Some((delta, unit)) = self.delta.zip(self.unit) else {
                    return "changed".to_owned();
                };
                let sign = if delta < 0.0 { "-" } else { "+" };
                if unit == Unit::Share {
                    return format!("{sign}{:.1} points", delta.abs() * 100.0);
                }
                let percent = self.relative.map(|share| {
                    let decimals = usize::from(share.abs() < 0.01);
                    format!(" ({:+.decimals$} %)", share * 100.0)
                });
                format!("{sign}{}{}", shown(delta.abs(), unit), percent.unwrap_or_default())
            }
        }
    }
}

fn values(all: &[Counted]) -> String {
    match all {
        [only] => only.value.clone(),
        several => {
            let each = several.iter().map(|it| format!("{} ({}x)", it.value, it.count));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

/// Returns a number as it is shown.
pub(super) fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count if value.abs() < 1e15 => {
            let sign = if value < 0.0 { "-" } else { "" };
            // Rounded and below 2^53, it has no other digits.
            let digits = format!("{:.0}", value.abs()).parse().map(thousands);
            format!("{sign}{}", digits.unwrap_or_default())
        }
        Unit::Count => format!("{value:.3e}"),
        Unit::Mean => format!("{value:.1}"),
        Unit::Share => format!("{:.1} %", value * 100.0),
        Unit::Seconds if value.abs() < 0.1 => format!("{:.1} ms", value * 1_000.0),
        Unit::Seconds => format!("{value:.2} s"),
        Unit::PerSecond => format!("{value:.1}/s"),
    }
}
