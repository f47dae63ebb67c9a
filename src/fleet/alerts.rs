//! Alert rules: one for each finding, and a few for kvtop itself.

use std::borrow::Cow;
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

/// The share of stored blocks from which on a larger KV cache is suggested, and for how long it must hold.
const WORTH: (f64, &str) = (0.2, "30m");

/// The last part of links to the runbook on larger caches.
pub const CAPACITY: &str = "capacity";

/// Returns the name of the alert that suggests a larger cache.
pub const fn capacity_alert() -> &'static str {
    "KvtopLargerCacheHelps"
}

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
            expression: expression.into(),
            lasts: LASTS,
            severity: None,
            summary: summary.into(),
            description: meaning.into(),
            runbook: Some(format!("{runbooks}{id}")),
        };
        alert.write(&mut text);
    }
    text.push_str("- name: kvtop-capacity\n  rules:\n");
    suggestion(runbooks).write(&mut text);
    text.push_str("- name: kvtop-itself\n  rules:\n");
    for (name, expression, lasts, severity, summary, description) in OWN {
        let severity = Some(severity);
        Alert {
            name,
            expression: expression.into(),
            lasts,
            severity,
            summary: summary.into(),
            description: description.into(),
            runbook: None,
        }
        .write(&mut text);
    }
    text
}

/// Returns the rule that tells what twice the KV cache would avoid, where that is worth it. It is for information: the
/// finding behind it, if there is one, alerts by itself.
fn suggestion(runbooks: &str) -> Alert<'static> {
    let (share, lasts) = WORTH;
    Alert {
        name: capacity_alert(),
        expression: format!(
            "max by (namespace, deployment) (kvtop_avoided_store_ratio{{capacity=\"2\"}}) >= {share}"
        )
        .into(),
        lasts,
        severity: Some("info"),
        summary: "A KV cache twice as large would avoid {{ $value | humanizePercentage }} of stored blocks in \
                  {{ $labels.namespace }}/{{ $labels.deployment }}"
            .into(),
        description: "Evicted blocks are computed again. The share holds for engines that evict the block used longest \
                      ago, and for the routing that was seen."
            .into(),
        runbook: Some(format!("{runbooks}{CAPACITY}")),
    }
}

struct Alert<'a> {
    name: &'a str,
    expression: Cow<'a, str>,
    lasts: &'a str,
    /// None where the series has it.
    severity: Option<&'a str>,
    summary: Cow<'a, str>,
    description: Cow<'a, str>,
    runbook: Option<String>,
}

impl Alert<'_> {
    fn write(&self, text: &mut String) {
        let labels = self
            .severity
            .map_or(String::new(), |severity| format!("    labels:\n      severity: {severity}\n"));
        let runbook = self
            .runbook
            .as_ref()
            .map_or(String::new(), |link| format!("      runbook_url: {}\n", quoted(link)));
        let written = writeln!(
            text,
            "  - alert: {}\n    expr: {}\n    for: {}\n{labels}    annotations:\n      summary: {}\n      \
             description: {}\n{runbook}",
            self.name,
            quoted(&self.expression),
            self.lasts,
            quoted(&self.summary),
            quoted(&self.description),
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
         kvtop -n NAMESPACE               # the live screen: `f` shows findings, `Y` copies the fix\n\
         kvtop bundle -n NAMESPACE -o ticket.tar.zst\n```\n"
    )
}

/// Returns the runbook on larger caches, as Markdown.
pub fn capacity_runbook() -> String {
    let (share, lasts) = WORTH;
    format!(
        "# A larger KV cache would help\n\nAlert: `{}`, when twice the capacity would have avoided {:.0} % of stored \
         blocks or more for {lasts}.\n\nWorkers compute prompts again that their caches held a while ago. kvtop follows \
         each evicted block until it is stored again, and counts the stores that 1.25, 1.5, 2 and 3 times the capacity \
         would have avoided. FORESIGHT.md has the method, its measured errors, and where it fails.\n\n## First \
         steps\n\n```\nkvtop snapshot -n NAMESPACE -o json | jq '.capacity_curve'   # all four capacities, with \
         margins\nkvtop -n NAMESPACE                                          # `7` shows the curve of each \
         worker\n```\n\n1. Read the whole curve. A share that rises only at 3x says that twice the cache buys \
         little.\n2. Find memory first: a higher share of GPU memory for the KV cache, a smaller data type for it, fewer \
         requests at once. Another worker adds the same capacity and computing as well.\n3. Where the memory panel shows \
         a host tier, a larger one holds evicted blocks too; the curve is about the device tier alone.\n4. After the \
         change, compare the share of prompt tokens cached with that of before.\n",
        capacity_alert(),
        share * 100.0,
    )
}
