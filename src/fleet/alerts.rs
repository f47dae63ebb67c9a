//! Alert rules: one for each finding, and a few for kvtop itself.

use std::fmt::Write as _;

use super::quoted;
use crate::diagnose::{RULES, Rule};
use crate::domain::Stake;

/// Time for which a finding must last before it alerts: the diagnosis has its own hysteresis.
const LASTS: &str = "2m";

/// An alert about kvtop itself: name, expression, how long, severity, summary, what to do.
type Own = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// Alerts about kvtop itself. What kvtop cannot see is no fault of the deployment, so none of them is critical, and
/// what cannot be judged is for information only.
const OWN: [Own; 4] = [
    (
        "KvtopDown",
        "up{job=~\".*kvtop.*\"} == 0",
        "5m",
        "warning",
        "Prometheus cannot scrape kvtop in {{ $labels.namespace }}",
        "Look at the pod of kvtop and its log. Until it is back, no finding can be raised or resolved.",
    ),
    (
        "KvtopNotReady",
        "max by (namespace, deployment) (kvtop_ready) == 0",
        "15m",
        "info",
        "kvtop has not read everything in {{ $labels.namespace }} yet",
        "GET /readyz of kvtop says what is missing. Run kvtop doctor -n {{ $labels.namespace }}.",
    ),
    (
        "KvtopCannotJudge",
        "max by (namespace, deployment) (kvtop_status{status=\"unknown\"}) == 1",
        "15m",
        "info",
        "kvtop cannot judge {{ $labels.namespace }}/{{ $labels.deployment }}",
        "Data is missing, which says nothing about routing. Run kvtop check -n {{ $labels.namespace }} for what is \
         missing, and kvtop doctor for permissions.",
    ),
    (
        "KvtopDropsData",
        "sum by (namespace, deployment) (increase(kvtop_source_dropped_total[10m])) > 0",
        "10m",
        "warning",
        "kvtop drops data of {{ $labels.namespace }}/{{ $labels.deployment }}",
        "kvtop needs more of a processor than it gets. Raise its CPU limit or lower --metrics-level.",
    ),
];

/// Returns the rules that alert: those about kvtop's own sight are no fault of the deployment.
fn alerting() -> Vec<&'static dyn Rule> {
    let mut rules: Vec<_> =
        RULES.iter().copied().filter(|rule| rule.stake() != Stake::Sight).collect();
    rules.sort_by_key(|rule| rule.id());
    rules
}

/// Returns the name of the alert about a rule: `block-size-mismatch` becomes `KvtopBlockSizeMismatch`.
pub fn alert_name(rule: &dyn Rule) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    };
    format!("Kvtop{}", rule.name().split('-').map(word).collect::<String>())
}

/// Returns the alert rules as a rule file of Prometheus. `runbooks` is what links to runbooks begin with.
///
/// The label `severity` comes from the finding, so a finding that turns critical alerts as critical. Notes do not
/// alert.
pub fn rules(runbooks: &str) -> String {
    let mut text = String::from("groups:\n- name: kvtop-findings\n  rules:\n");
    for rule in alerting() {
        let id = rule.id();
        let expression = format!(
            "max by (namespace, deployment, finding, name, severity) \
             (kvtop_finding{{finding=\"{id}\",severity=~\"warning|critical\"}}) == 1"
        );
        let about = rule.documentation();
        let meaning = about.lines().next().unwrap_or_default();
        let summary = format!(
            "{id} {} in {{{{ $labels.namespace }}}}/{{{{ $labels.deployment }}}}",
            rule.name()
        );
        let alert = Alert {
            name: &alert_name(rule),
            expression: &expression,
            lasts: LASTS,
            severity: None,
            summary: &summary,
            description: meaning,
            runbook: Some(&format!("{runbooks}{id}")),
        };
        alert.write(&mut text);
    }
    text.push_str("- name: kvtop-itself\n  rules:\n");
    for (name, expression, lasts, severity, summary, description) in OWN {
        let severity = Some(severity);
        Alert { name, expression, lasts, severity, summary, description, runbook: None }
            .write(&mut text);
    }
    text
}

struct Alert<'a> {
    name: &'a str,
    expression: &'a str,
    lasts: &'a str,
    /// None where the series has it.
    severity: Option<&'a str>,
    summary: &'a str,
    description: &'a str,
    runbook: Option<&'a str>,
}

impl Alert<'_> {
    fn write(&self, text: &mut String) {
        let labels = self
            .severity
            .map_or(String::new(), |severity| format!("    labels:\n      severity: {severity}\n"));
        let runbook = self
            .runbook
            .map_or(String::new(), |link| format!("      runbook_url: {}\n", quoted(link)));
        let written = writeln!(
            text,
            "  - alert: {}\n    expr: {}\n    for: {}\n{labels}    annotations:\n      summary: {}\n      \
             description: {}\n{runbook}",
            self.name,
            quoted(self.expression),
            self.lasts,
            quoted(self.summary),
            quoted(self.description),
        );
        // Writing to a string cannot fail.
        debug_assert!(written.is_ok());
        text.truncate(text.trim_end().len() + 1);
    }
}

/// Returns the runbook of a rule, as Markdown.
pub fn runbook(rule: &dyn Rule) -> String {
    let (id, name) = (rule.id(), rule.name());
    let about = rule.documentation().replace('\n', "\n\n");
    let consequences = match rule.explains() {
        [] => String::new(),
        ids => {
            format!("\nConsequences, hidden while this finding is active: {}.\n", ids.join(", "))
        }
    };
    let alert = match rule.stake() {
        Stake::Sight => String::from("No alert: this finding is about what kvtop can see."),
        _ => format!("Alert: `{}`.", alert_name(rule)),
    };
    format!(
        "# {id} {name}\n\n{alert}\n\n{about}\n{consequences}\n## First steps\n\n\
         ```\nkvtop check -n NAMESPACE         # evidence in one line; -o json has all of it and the fix\n\
         kvtop -n NAMESPACE               # the live screen: `f` lists findings, `y` copies the fix\n\
         kvtop bundle -n NAMESPACE -o ticket.tar.zst\n```\n"
    )
}
