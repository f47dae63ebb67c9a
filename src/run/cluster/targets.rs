//! Converts wanted targets into the types of the sources.

use std::sync::Arc;

use crate::domain::Role;
use crate::source::logs::{LogStart, LogTarget};
use crate::source::metrics::ScrapeTarget;

pub(super) fn log_target(target: &crate::attach::LogTarget) -> LogTarget {
    let fresh = matches!(target.role, Role::Frontend | Role::StandaloneRouter);
    LogTarget {
        namespace: Arc::clone(&target.namespace),
        pod: Arc::clone(&target.pod),
        container: Arc::clone(&target.container),
        start: if fresh { LogStart::Recent } else { LogStart::Beginning },
    }
}

pub(super) fn scrape_target(target: &crate::attach::ScrapeTarget) -> ScrapeTarget {
    ScrapeTarget {
        namespace: Arc::clone(&target.namespace),
        pod: Arc::clone(&target.pod),
        ip: Arc::clone(&target.ip),
        port: target.port,
        path: target.path.into(),
    }
}
