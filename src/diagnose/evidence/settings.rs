//! Settings and block sizes, as claimed, with how each is known.

use std::sync::Arc;

use crate::diagnose::Origin;
use crate::domain::{ClaimOf, ClaimWhat, Medium, SetBy, Timestamp, WorkerId};

/// The ground of a value, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ground {
    /// The default of the version.
    Default,
    /// From a deployment's manifest, before there are pods.
    Manifest,
    /// The process was started with it, or reads it from a file.
    Setting,
    /// Reported by the running process.
    Observed,
}

/// A claim about a block size.
#[derive(Clone, Debug)]
pub struct SizeClaim {
    /// Whose.
    pub of: ClaimOf,
    /// The worker, where it is one's.
    pub worker: Option<WorkerId>,
    /// The pod, where it is one's.
    pub pod: Option<Arc<str>>,
    /// The component, where a manifest says it of one that has no pods yet.
    pub component: Option<Arc<str>>,
    /// Its role, from discovery, its pod or its manifest.
    pub role: Option<Arc<str>>,
    /// The model it is of, where whoever says so may serve several.
    pub model: Option<Arc<str>>,
    /// The Dynamo namespace of whoever it is of, where that is known.
    pub dynamo_namespace: Option<Arc<str>>,
    /// Tokens per block.
    pub tokens: u32,
    /// The ground.
    pub ground: Ground,
    /// The place it was read from.
    pub source: Arc<str>,
    /// The text it was read from.
    pub raw: Arc<str>,
    /// The flag or variable that set it; none for a value from elsewhere.
    pub set_by: Option<SetBy>,
    /// The kind of place that it was read from.
    pub medium: Medium,
    /// The time the claim was first seen.
    pub at: Timestamp,
    /// The time the claim was last seen.
    pub last: Timestamp,
}

/// A setting with where it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T> {
    /// Its value.
    pub value: T,
    /// The ground.
    pub ground: Ground,
    /// The place it was read from.
    pub source: Arc<str>,
    /// The text it was read from.
    pub raw: Arc<str>,
    /// The flag or variable that set it; none for a value from elsewhere.
    pub set_by: Option<SetBy>,
    /// The kind of place that it was read from.
    pub medium: Medium,
    /// When.
    pub at: Timestamp,
}

/// A setting of one worker.
#[derive(Clone, Debug, PartialEq)]
pub struct OfWorker<T> {
    /// The worker, once it registered.
    pub worker: Option<WorkerId>,
    /// Its name, its pod, or the component that it will belong to.
    pub who: Arc<str>,
    /// The setting.
    pub set: Setting<T>,
}

impl<T> Setting<T> {
    /// Returns the place as the source of evidence.
    pub fn origin(&self) -> Origin {
        Origin::Read { medium: self.medium, place: Arc::clone(&self.source) }
    }

    /// Returns the flag that set it, when it was one: a flag wins over a variable of the same meaning.
    pub fn flag(&self) -> Option<&str> {
        self.set_by.as_ref()?.flag()
    }

    /// Returns the variable that set it, when it was one.
    pub fn variable(&self) -> Option<&str> {
        self.set_by.as_ref()?.variable()
    }
}

/// The kind of router, which decides whether it reads the size declared on the frontend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterKind {
    /// Unknown.
    #[default]
    Unknown,
    /// The router inside `dynamo.frontend`, which hashes with the model card's size.
    Frontend,
    /// A router with a block size of its own: `dynamo.router`, a gateway plugin.
    OwnSize,
}

/// Settings, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The kind of router.
    pub router_kind: RouterKind,
    /// The router mode.
    pub router_mode: Option<Setting<Arc<str>>>,
    /// Frontends that are set to another mode, and were not seen to choose workers by cached blocks.
    pub other_modes: Vec<(Arc<str>, Setting<Arc<str>>)>,
    /// The modes in the model cards of workers, which override those of frontends.
    pub card_modes: Vec<OfWorker<Arc<str>>>,
    /// True when every worker with a model card names a mode there, so that no frontend's mode counts.
    pub only_card_modes: bool,
    /// The event planes to which routers listen.
    pub event_planes: Vec<Setting<Arc<str>>>,
    /// The event planes on which workers publish.
    pub publishing_planes: Vec<OfWorker<Arc<str>>>,
    /// Weight, or credit, of the overlap.
    pub overlap_weight: Option<Setting<f64>>,
    /// Randomness of the choice.
    pub temperature: Option<Setting<f64>>,
    /// The switch for following KV events in the router.
    pub kv_events: Option<Setting<bool>>,
    /// The pods of routers that do not follow KV events, where others do.
    pub predicting: Vec<Arc<str>>,
    /// Sharing of load between routers (replica sync).
    pub replica_sync: Option<Setting<bool>>,
    /// Publishing of events by workers.
    pub publishes: Vec<OfWorker<bool>>,
    /// Addresses at which engines publish events of their own.
    pub event_endpoints: Vec<OfWorker<Arc<str>>>,
    /// Prefix reuse in the engines of workers that compute prompts.
    pub prefix_reuse: Vec<OfWorker<bool>>,
    /// Over how many processes engines split the context that they decode: the tokens of their events' blocks
    /// are those of a block on each.
    pub context_parallel: Vec<OfWorker<u64>>,
    /// Settings that pods may have where kvtop cannot read.
    pub unreadable: Vec<Unreadable>,
}

/// A setting that a pod may have where kvtop cannot read: in a Secret, in a script, in a file of its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The setting.
    pub what: ClaimWhat,
    /// The part of the deployment that has it.
    pub of: ClaimOf,
    /// The pod.
    pub pod: Arc<str>,
    /// The place that hides it.
    pub by: Arc<str>,
}

impl Settings {
    /// Returns where a setting may stand that kvtop cannot read, for the end of a sentence that says what is
    /// needed; empty when nothing hides it.
    pub fn hidden(&self, what: ClaimWhat, of: ClaimOf) -> String {
        let found = self.unreadable.iter().find(|it| (it.what, it.of) == (what, of));
        found.map_or_else(String::new, |it| {
            format!("; pod {} may have it from {}, which kvtop cannot read", it.pod, it.by)
        })
    }
}
