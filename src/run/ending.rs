//! Ending and pausing sources, in time.

use std::time::Duration;

use crate::domain::SourceState;
use crate::source::{Desired, SourceHandle};

/// Time for a source to unsubscribe before the process stops anyway.
const UNSUBSCRIBE_WITHIN: Duration = Duration::from_secs(2);

/// Has every source unsubscribe and waits until it has, but not for ever: a frozen subscriber slows
/// the publishers, so this comes before the process stops.
pub(super) async fn pause(sources: &[&SourceHandle]) {
    reach(sources, Desired::Suspended, SourceState::Suspended).await;
}

/// Ends every source and waits until it has unsubscribed, but not for ever.
pub(super) async fn end(sources: &[&SourceHandle]) {
    reach(sources, Desired::Stopped, SourceState::Ended).await;
}

async fn reach(sources: &[&SourceHandle], desired: Desired, until: SourceState) {
    for source in sources {
        source.desired.send_replace(desired);
    }
    let all = async {
        for source in sources {
            let mut state = source.state.clone();
            // An error means that the source has ended, which is as good.
            drop(state.wait_for(|state| *state == until || *state == SourceState::Ended).await);
        }
    };
    // Out of time: the sockets are closed with the process at worst.
    drop(tokio::time::timeout(UNSUBSCRIBE_WITHIN, all).await);
}

/// Ends every source of `sources`.
pub(super) async fn stop(sources: &[SourceHandle]) {
    end(&sources.iter().collect::<Vec<_>>()).await;
}
