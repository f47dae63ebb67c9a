//! A page of metrics as data, and its two formats.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

/// The description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A count that only grows while the process runs.
    Counter,
    /// A value of now.
    Gauge,
    /// Always 1: its labels are the information.
    Info,
}

/// Name, kind and meaning of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// Its name in the text format; counters end in `_total`, infos in `_info`.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its meaning, without a full stop.
    pub help: &'static str,
}

/// Returns a counter; its name ends in `_total`.
pub(super) const fn counter(name: &'static str, help: &'static str) -> Stated {
    Stated { name, kind: Kind::Counter, help }
}

/// Returns a gauge.
pub(super) const fn gauge(name: &'static str, help: &'static str) -> Stated {
    Stated { name, kind: Kind::Gauge, help }
}

/// Returns an info metric, whose name gets `_info` at its end.
pub(super) const fn info(name: &'static str, help: &'static str) -> Stated {
    Stated { name, kind: Kind::Info, help }
}

impl Stated {
    /// Returns the name of its family in `OpenMetrics`: without what the samples end in.
    fn family(&self) -> &'static str {
        self.name.strip_suffix("_total").filter(|_| self.kind == Kind::Counter).unwrap_or(self.name)
    }

    /// Returns the name of its samples.
    pub fn sample(&self) -> Cow<'static, str> {
        match self.kind {
            Kind::Counter | Kind::Gauge => self.name.into(),
            Kind::Info => format!("{}_info", self.name).into(),
        }
    }
}

type Label = (&'static str, Cow<'static, str>);

/// The labels of a sample. Those with an empty value are left out, as Prometheus does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Labels {
    /// Shared by many samples.
    base: Arc<[Label]>,
    own: Vec<Label>,
}

impl Labels {
    /// Returns labels that many samples share.
    pub(super) fn shared(labels: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let known = labels.into_iter().filter(|(_, value)| !value.is_empty());
        Self { base: known.map(|(name, value)| (name, value.into())).collect(), own: Vec::new() }
    }

    /// Returns them with one more.
    #[must_use]
    pub(super) fn with(&self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        let mut labels = self.clone();
        let value = value.into();
        if !value.is_empty() {
            labels.own.push((name, value));
        }
        labels
    }

    fn all(&self) -> Vec<(&'static str, &str)> {
        self.base.iter().chain(&self.own).map(|(name, value)| (*name, value.as_ref())).collect()
    }
}

/// A number that a sample may have.
pub(super) trait Number {
    /// Returns it as the formats write it.
    fn value(self) -> f64;
}

impl Number for bool {
    fn value(self) -> f64 {
        f64::from(u8::from(self))
    }
}

impl Number for u8 {
    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl Number for u64 {
    fn value(self) -> f64 {
        self as f64
    }
}

impl Number for f64 {
    fn value(self) -> f64 {
        self
    }
}

#[derive(Clone, Debug)]
struct Family {
    stated: Stated,
    samples: Vec<(Labels, f64)>,
}

/// Metrics, each with its samples, in the order in which they were first put.
#[derive(Clone, Debug, Default)]
pub struct Page {
    families: Vec<Family>,
    places: HashMap<&'static str, usize>,
}

impl Page {
    /// Adds a sample.
    pub(super) fn put(&mut self, stated: &Stated, labels: &Labels, value: impl Number) {
        self.put_all(stated, [(labels.clone(), value.value())]);
    }

    /// Adds samples of one metric.
    pub(super) fn put_all(
        &mut self,
        stated: &Stated,
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let families = &mut self.families;
        let place = *self.places.entry(stated.name).or_insert_with(|| {
            families.push(Family { stated: *stated, samples: Vec::new() });
            families.len() - 1
        });
        if let Some(family) = families.get_mut(place) {
            family.samples.extend(samples);
        }
    }

    /// Returns every metric on the page.
    pub fn stated(&self) -> impl Iterator<Item = &Stated> {
        self.families.iter().map(|family| &family.stated)
    }

    /// Returns how many samples there are.
    pub fn len(&self) -> usize {
        self.families.iter().map(|family| family.samples.len()).sum()
    }

    /// Returns true when there is no sample.
    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// Returns the page in the text format of Prometheus, version 0.0.4.
    pub fn text(&self) -> String {
        let mut page = String::new();
        for Family { stated, samples } in &self.families {
            let name = stated.sample();
            let kind = if stated.kind == Kind::Counter { "counter" } else { "gauge" };
            put(&mut page, format_args!("# HELP {name} {}.\n# TYPE {name} {kind}\n", stated.help));
            for (labels, value) in samples {
                page.push_str(&name);
                for (at, (label, text)) in labels.all().into_iter().enumerate() {
                    page.push(if at == 0 { '{' } else { ',' });
                    put(&mut page, format_args!("{label}=\""));
                    escape(&mut page, text);
                    page.push('"');
                    // The brace is closed behind the last one.
                }
                if labels.base.len() + labels.own.len() > 0 {
                    page.push('}');
                }
                put(&mut page, format_args!(" {value}\n"));
            }
        }
        page
    }

    /// Returns the page as `OpenMetrics` text, version 1.0.0.
    pub fn open_metrics(self: &Arc<Self>) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Source(Arc::clone(self))));
        let mut page = String::new();
        // Writing to a string cannot fail.
        text::encode(&mut page, &registry).unwrap_or_default();
        page
    }
}

#[derive(Debug)]
struct Source(Arc<Page>);

impl Collector for Source {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for Family { stated, samples } in &self.0.families {
            let kind = match stated.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Info => MetricType::Info,
            };
            let mut family = encoder.encode_descriptor(stated.family(), stated.help, None, kind)?;
            for (labels, value) in samples {
                let labels = labels.all();
                match stated.kind {
                    Kind::Counter => family
                        .encode_family(&labels)?
                        .encode_counter::<NoLabelSet, f64, f64>(value, None)?,
                    Kind::Gauge => family.encode_family(&labels)?.encode_gauge(value)?,
                    Kind::Info => family.encode_info(&labels)?,
                }
            }
        }
        Ok(())
    }
}

/// Adds `text` as a label's value: the format escapes these three.
fn escape(page: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '\\' => page.push_str(r"\\"),
            '"' => page.push_str("\\\""),
            '\n' => page.push_str(r"\n"),
            other => page.push(other),
        }
    }
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    page.write_fmt(text).unwrap_or_default();
}
