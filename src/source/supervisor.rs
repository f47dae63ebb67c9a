//! Supervises the tasks of a source that has one for each target: starts and ends them, and reports their states.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::notes::Notes;
use super::{Desired, Emitter, SourceHandle};
use crate::domain::{SourceName, SourceState};

/// The parts of a source of this kind that differ.
pub(super) trait Supervised: Send + 'static {
    /// The target of a task.
    type Target: Clone + Eq + Hash + Send + Sync + 'static;
    /// The status that a task reports.
    type Standing: Default + Send + Sync + 'static;

    /// Returns the most tasks at the same time.
    fn limit(&self) -> usize;

    /// Starts the task of a target.
    fn start(&self, target: &Self::Target, handle: TaskHandle<Self::Standing>) -> AbortHandle;

    /// Receives the final status of a task whose target is no longer wanted.
    fn ended(&mut self, _standing: &Self::Standing) {}

    /// Reports the state of the source, of which `targets` targets are wanted.
    fn say(
        &mut self,
        supervisor: &Supervisor<Self>,
        wanted: Desired,
        targets: usize,
        notes: &mut Notes,
    ) where
        Self: Sized;
}

/// The channels of a task: its orders and its reports.
pub(super) struct TaskHandle<S> {
    /// The state that the composition root wants.
    pub(super) wanted: watch::Receiver<Desired>,
    /// The state of the task.
    pub(super) standing: watch::Sender<S>,
    /// To be notified once that has changed.
    pub(super) changed: Arc<Notify>,
}

/// A task that runs. Ends when dropped.
struct Running<S> {
    standing: watch::Receiver<S>,
    task: AbortHandle,
}

impl<S> Drop for Running<S> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The tasks of a source.
pub(super) struct Supervisor<L: Supervised> {
    tasks: HashMap<L::Target, Running<L::Standing>>,
    wanted: watch::Receiver<Desired>,
    changed: Arc<Notify>,
}

/// Starts a source with the tasks of `source`. Must be called within a runtime.
pub(super) fn spawn<L: Supervised>(
    name: SourceName,
    emitter: Emitter,
    targets: watch::Receiver<Vec<L::Target>>,
    source: L,
) -> SourceHandle {
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let notes = Notes::new(name.clone(), emitter, shown);
    let supervisor = Supervisor { tasks: HashMap::new(), wanted, changed: Arc::default() };
    let task = tokio::spawn(supervisor.run(source, targets, notes));
    SourceHandle { name, desired, state, task }
}

impl<L: Supervised> Supervisor<L> {
    /// Returns how many tasks there are.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the targets with how their tasks are.
    pub(super) fn all(&self) -> impl Iterator<Item = (&L::Target, watch::Ref<'_, L::Standing>)> {
        self.tasks.iter().map(|(target, running)| (target, running.standing.borrow()))
    }

    async fn run(
        mut self,
        mut source: L,
        mut targets: watch::Receiver<Vec<L::Target>>,
        mut notes: Notes,
    ) {
        let mut listening = true;
        while notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            if wanted == Desired::Stopped {
                break;
            }
            let list = targets.borrow_and_update().clone();
            if wanted == Desired::Running {
                self.adjust(&mut source, &list);
            }
            source.say(&self, wanted, list.len(), &mut notes);
            let changed = Arc::clone(&self.changed);
            tokio::select! {
                changed = self.wanted.changed() => if changed.is_err() { break },
                changed = targets.changed(), if listening => listening = changed.is_ok(),
                () = changed.notified() => {}
                () = tokio::time::sleep(notes.next()) => {}
            }
        }
        self.tasks.clear();
        notes.ended();
    }

    /// Starts and ends tasks so that the first of `targets` have one.
    fn adjust(&mut self, source: &mut L, targets: &[L::Target]) {
        self.tasks.retain(|target, running| {
            let stays = targets.contains(target);
            if !stays {
                source.ended(&running.standing.borrow());
            }
            stays
        });
        for target in targets {
            if self.tasks.len() >= source.limit() {
                break;
            }
            if !self.tasks.contains_key(target) {
                let (standing, seen) = watch::channel(L::Standing::default());
                let wanted = self.wanted.clone();
                let handle = TaskHandle { wanted, standing, changed: Arc::clone(&self.changed) };
                let task = source.start(target, handle);
                self.tasks.insert(target.clone(), Running { standing: seen, task });
            }
        }
    }
}
