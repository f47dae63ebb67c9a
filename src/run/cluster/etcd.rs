//! The etcd of a deployment whose processes keep their records there.

use super::ending;
use crate::attach::EtcdTarget;
use crate::clock;
use crate::domain::{SourceName, SourceNote, SourceState};
use crate::source::etcd::{self, EtcdAddress, EtcdSpec};
use crate::source::nats::Secret;
use crate::source::reach::Reach;
use crate::source::{Emitter, SourceHandle};

/// The user's options for etcd.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct EtcdOptions {
    /// Its address; none for the one that pods name.
    pub(in crate::run) addresses: Option<Vec<EtcdAddress>>,
    /// User and password.
    pub(in crate::run) login: Option<(String, Secret)>,
}

/// The source that reads it, once there is something to read.
pub(super) struct Etcd {
    options: EtcdOptions,
    emitter: Emitter,
    reach: Reach,
    /// The last wanted target, and its source if that could be started.
    open: Option<(EtcdTarget, Option<SourceHandle>)>,
}

impl Etcd {
    /// Must be called within a runtime.
    pub(super) fn new(options: EtcdOptions, emitter: Emitter, reach: Reach) -> Self {
        let mut etcd = Self { options, emitter, reach, open: None };
        if let Some(addresses) = etcd.options.addresses.clone() {
            let target = EtcdTarget { endpoints: "".into(), from: String::new() };
            let source = etcd.start(addresses);
            etcd.open = Some((target, Some(source)));
        }
        etcd
    }

    pub(super) fn handle(&self) -> Option<&SourceHandle> {
        self.open.as_ref().and_then(|(_, source)| source.as_ref())
    }

    /// Reads what is wanted, unless the user named another.
    pub(super) async fn follow(&mut self, wanted: Option<&EtcdTarget>) {
        // A deployment that is rolled has no pods for a moment; its etcd is still the same.
        let Some(target) = wanted.filter(|_| self.options.addresses.is_none()) else { return };
        if self.open.as_ref().is_some_and(|(known, _)| known == target) {
            return;
        }
        if let Some(old) = self.handle() {
            ending::end(&[old]).await;
        }
        let source = match etcd::addresses(&target.endpoints) {
            Ok(addresses) => Some(self.start(addresses)),
            Err(error) => {
                self.tell(&format!("{}: {error}", target.from));
                None
            }
        };
        self.open = Some((target.clone(), source));
    }

    fn start(&self, addresses: Vec<EtcdAddress>) -> SourceHandle {
        let spec = EtcdSpec::new(addresses, self.options.login.clone(), self.reach.clone());
        etcd::spawn(spec, self.emitter.clone())
    }

    fn tell(&self, why: &str) {
        let note = SourceNote::new(SourceName::Etcd, SourceState::Down, why, clock::now());
        // With nobody to hear it the owner ends by itself.
        self.emitter.note(&note);
    }
}
