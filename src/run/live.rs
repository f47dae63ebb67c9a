//! Starting and stopping the sources of a running deployment.

use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;

use super::RunError;
use crate::cli::SourceArgs;
use crate::domain::SourceState;
use crate::engine::EngineOptions;
use crate::frame::Frame;
use crate::source::nats::{self, NatsOptions, NatsSpec, Tls};
use crate::source::{Desired, Emitter, FRAME_BUFFER, SourceHandle};

/// How long a source may take to unsubscribe before the process stops anyway.
const UNSUBSCRIBE_WITHIN: Duration = Duration::from_secs(2);

/// Running sources and what they emit.
pub(super) struct Live {
    pub(super) frames: mpsc::Receiver<Frame>,
    pub(super) sources: Vec<SourceHandle>,
    pub(super) label: String,
}

/// Starts the sources that `args` name.
pub(super) fn start(args: &SourceArgs) -> Result<Live, RunError> {
    let env = |name: &str| std::env::var(name).ok();
    let read = |path: &Path| std::fs::read_to_string(path);
    let resolved = nats::resolve(&options(args), &env, &read)?;
    let host = resolved.servers.first().map(|address| address.host().to_owned());
    let (sender, frames) = mpsc::channel(FRAME_BUFFER);
    let spec = NatsSpec {
        name: "nats".into(),
        resolved,
        namespace: args.dynamo_namespace.as_deref().map(Into::into),
    };
    let handle = nats::spawn(spec, Emitter::new(sender));
    let label = args.dynamo_namespace.clone().or(host).unwrap_or_default();
    Ok(Live { frames, sources: vec![handle], label })
}

fn options(args: &SourceArgs) -> NatsOptions {
    let from_file = |path: &std::path::PathBuf| nats::Secret::new(path.display().to_string());
    NatsOptions {
        url: args.nats_url.clone(),
        context: args.nats_context.clone(),
        creds: args.nats_creds.clone(),
        nkey: args.nats_nkey.as_ref().map(from_file),
        user: args.nats_user.clone(),
        password_file: args.nats_password_file.clone(),
        token: None,
        tls: Tls {
            ca: args.nats_tls_ca.clone(),
            cert: args.nats_tls_cert.clone(),
            key: args.nats_tls_key.clone(),
            insecure: false,
        },
    }
}

pub(super) fn engine_options(label: &str, args: &SourceArgs) -> EngineOptions {
    EngineOptions {
        label: label.to_owned(),
        memory_limit: args.max_memory,
        ..EngineOptions::default()
    }
}

/// Tells every source what is wanted of it.
pub(super) fn tell(sources: &[SourceHandle], desired: Desired) {
    for source in sources {
        source.desired.send_replace(desired);
    }
}

/// Has every source unsubscribe and waits until it has, but not for ever: a frozen subscriber slows
/// the publishers, so this comes before the process stops.
pub(super) async fn suspend(sources: &[SourceHandle]) {
    tell(sources, Desired::Suspended);
    let all = async {
        for source in sources {
            let mut state = source.state.clone();
            let quiet =
                |state: &SourceState| matches!(state, SourceState::Suspended | SourceState::Ended);
            // An error means that the source has ended, which is as good.
            drop(state.wait_for(quiet).await);
        }
    };
    // Out of time: the socket is closed by the stop of the process at worst.
    drop(tokio::time::timeout(UNSUBSCRIBE_WITHIN, all).await);
}

/// Ends every source and waits until it has unsubscribed.
pub(super) async fn stop(sources: &[SourceHandle]) {
    tell(sources, Desired::Stopped);
    let all = async {
        for source in sources {
            let mut state = source.state.clone();
            // A source whose sender is gone has ended too.
            drop(state.wait_for(|state| *state == SourceState::Ended).await);
        }
    };
    drop(tokio::time::timeout(UNSUBSCRIBE_WITHIN, all).await);
}
