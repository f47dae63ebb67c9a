//! The pages that are scraped: written once for each picture and format, however many ask.

use std::io::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, VARY};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::Full;
use tokio::sync::watch;

use super::process;
use super::watcher::{Picture, Watcher};
use crate::cli::MetricsLevel;
use crate::clock;
use crate::domain::Timestamp;
use crate::report::prometheus::{self, Level, Page, Watched};

/// The longest wait of a scrape for pictures: less than the 10 s after which Prometheus gives up.
const WITHIN: Duration = Duration::from_secs(9);

/// A watcher that has not taken anything in for so long is stuck.
const STUCK: Duration = Duration::from_secs(30);

/// The pictures of one moment, and the pages made of them so far.
#[derive(Debug)]
struct Moment {
    pictures: Vec<Arc<Picture>>,
    /// By format, then by compression.
    bodies: [[OnceLock<Bytes>; 2]; 2],
    page: OnceLock<Arc<Page>>,
}

/// A page and how it is written.
pub(super) struct Body {
    bytes: Bytes,
    open_metrics: bool,
    gzip: bool,
}

impl Body {
    /// Returns the answer to a scrape.
    pub(super) fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.bytes));
        let headers = response.headers_mut();
        let format = if self.open_metrics {
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        } else {
            "text/plain; version=0.0.4; charset=utf-8"
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(format));
        headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        if self.gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

/// The watchers of the moment.
pub(super) type Watchers = watch::Receiver<Arc<Vec<Watcher>>>;

/// The watchers and what was made of them last.
pub(super) struct Pages {
    watchers: Watchers,
    level: Level,
    started: Timestamp,
    last: Mutex<Option<Arc<Moment>>>,
}

impl Pages {
    pub(super) fn new(watchers: Watchers, level: MetricsLevel) -> Self {
        let level = match level {
            MetricsLevel::Fleet => Level::Fleet,
            MetricsLevel::Worker => Level::Worker,
            MetricsLevel::Rank => Level::Rank,
        };
        Self { watchers, level, started: clock::now(), last: Mutex::new(None) }
    }

    fn now(&self) -> Arc<Vec<Watcher>> {
        Arc::clone(&self.watchers.borrow())
    }

    /// Returns why a watcher takes nothing in any more; none while all do.
    pub(super) fn stuck(&self) -> Option<String> {
        let now = clock::now();
        let since = |watcher: &Watcher| now.since(watcher.vitals.borrow().ticked);
        let longest = self.now().iter().map(since).max()?;
        (longest >= STUCK).then(|| format!("stuck: nothing taken in for {} s", longest.as_secs()))
    }

    /// Returns why the figures are not complete; none once they are.
    pub(super) fn unready(&self) -> Option<String> {
        let waits = |watcher: &Watcher| watcher.vitals.borrow().waits_for.clone();
        self.stuck().or_else(|| self.now().iter().find_map(waits))
    }

    /// Returns the page of now in the format that a client accepts; none when a watcher does not answer in time.
    pub(super) async fn page(&self, headers: &HeaderMap) -> Option<Body> {
        let open_metrics = accepts(headers, &ACCEPT, "application/openmetrics-text");
        let gzip = accepts(headers, &ACCEPT_ENCODING, "gzip");
        let watchers = self.now();
        let asking = watchers.iter().map(Watcher::picture);
        let pictures = tokio::time::timeout(WITHIN, futures_util::future::join_all(asking)).await;
        let alone = watchers.len() == 1;
        // One of several may have ended since, because its deployment is gone.
        let pictures = pictures.ok()?.into_iter().filter(|picture| alone || picture.is_some());
        let pictures: Vec<Arc<Picture>> = pictures.collect::<Option<_>>()?;
        let moment = self.moment(pictures);
        let (level, started) = (self.level, self.started);
        let write = move || moment.body(level, started, open_metrics, gzip);
        let bytes = tokio::task::spawn_blocking(write).await.ok()?;
        Some(Body { bytes, open_metrics, gzip })
    }

    /// Returns the moment that these pictures make: the last one where they are the same.
    fn moment(&self, pictures: Vec<Arc<Picture>>) -> Arc<Moment> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |moment: &&mut Arc<Moment>| {
            !pictures.is_empty()
                && moment.pictures.len() == pictures.len()
                && moment.pictures.iter().zip(&pictures).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        if let Some(moment) = last.as_mut().filter(same) {
            return Arc::clone(moment);
        }
        let moment =
            Arc::new(Moment { pictures, bodies: Default::default(), page: OnceLock::new() });
        *last = Some(Arc::clone(&moment));
        moment
    }
}

impl Moment {
    fn body(&self, level: Level, started: Timestamp, open_metrics: bool, gzip: bool) -> Bytes {
        let [plain, packed] = &self.bodies[usize::from(open_metrics)];
        let text = || {
            let page = self.page.get_or_init(|| {
                let watched: Vec<Watched<'_>> =
                    self.pictures.iter().map(|picture| picture.watched()).collect();
                Arc::new(prometheus::export(&watched, level, &process::figures(started)))
            });
            Bytes::from(if open_metrics { page.open_metrics() } else { page.text() })
        };
        if !gzip {
            return plain.get_or_init(text).clone();
        }
        packed.get_or_init(|| compressed(&plain.get().cloned().unwrap_or_else(text))).clone()
    }
}

/// Returns `text` compressed with gzip: fast rather than small, since every scrape is a new page.
fn compressed(text: &[u8]) -> Bytes {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    drop(packer.write_all(text));
    packer.finish().unwrap_or_default().into()
}

/// Returns true when the header's list names `wanted` and does not refuse it.
fn accepts(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let refused = |part: &str| {
            part.strip_prefix("q=")
                .is_some_and(|quality| quality.parse().is_ok_and(|q: f64| q <= 0.0))
        };
        parts.next().is_some_and(|known| known.eq_ignore_ascii_case(wanted)) && !parts.any(refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_taken_only_by_those_who_accept_it() {
        let table = [
            ("", false),
            ("gzip", true),
            ("br;q=1.0, gzip;q=0.8", true),
            ("gzip;q=0", false),
            ("x-gzip, identity", false),
        ];
        for (list, expected) in table {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(list));
            assert_eq!(accepts(&headers, &ACCEPT_ENCODING, "gzip"), expected, "{list}");
        }
        assert!(!accepts(&HeaderMap::new(), &ACCEPT_ENCODING, "gzip"));
    }
}
