//! The simulator as a source: simulated time follows wall time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::Simulation;
use crate::clock;
use crate::domain::{SourceNote, SourceState, Timestamp};
use crate::source::{Desired, Emitter, SourceHandle};

/// How often frames are emitted: often enough to look continuous.
const STEP: Duration = Duration::from_millis(50);
/// How much of the past is emitted at once. A second is some hundred frames, far below the room of
/// the channel, and so is the next while the engine catches up.
const CATCH_UP: Duration = Duration::from_secs(1);
/// Commands wait for one step at most.
const COMMANDS: usize = 8;
/// The name of the source.
const NAME: &str = "simulator";

/// What a user asks of a running simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Repair what is wrong.
    Fix,
}

/// A simulation that is running.
#[derive(Debug)]
pub struct Running {
    /// The source.
    pub handle: SourceHandle,
    /// Takes commands.
    pub commands: mpsc::Sender<Command>,
}

/// Runs `simulation` as a source that emits into `emitter`, `speed` times as fast as wall time.
pub fn spawn(simulation: Simulation, emitter: Emitter, speed: f64) -> Running {
    let (desired, wanted) = watch::channel(Desired::Running);
    let (says, state) = watch::channel(SourceState::Connecting);
    let (commands, asked) = mpsc::channel(COMMANDS);
    let driver = Driver { simulation, emitter, speed, wanted, says, asked };
    let task = tokio::spawn(driver.run());
    Running { handle: SourceHandle { name: NAME.into(), desired, state, task }, commands }
}

struct Driver {
    simulation: Simulation,
    emitter: Emitter,
    speed: f64,
    wanted: watch::Receiver<Desired>,
    says: watch::Sender<SourceState>,
    asked: mpsc::Receiver<Command>,
}

impl Driver {
    async fn run(mut self) {
        self.say(SourceState::Live);
        let mut since = self.mapping();
        let mut commands_open = true;
        let mut step = tokio::time::interval(STEP);
        step.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let desired = *self.wanted.borrow_and_update();
            match desired {
                Desired::Running => self.say(SourceState::Live),
                Desired::Suspended => self.say(SourceState::Suspended),
                Desired::Stopped => break,
            }
            tokio::select! {
                changed = self.wanted.changed() => {
                    // Time stands still while it is suspended.
                    since = self.mapping();
                    if changed.is_err() {
                        break;
                    }
                }
                command = self.asked.recv(), if commands_open => match command {
                    Some(Command::Fix) => {
                        self.simulation.fix();
                    }
                    None => commands_open = false,
                },
                _ = step.tick(), if desired == Desired::Running => {
                    if !self.catch_up(simulated(since, clock::now(), self.speed)).await {
                        break;
                    }
                }
            }
        }
        self.say(SourceState::Ended);
    }

    /// Emits what happens up to `to`, in pieces that leave the engine time to read. Returns false
    /// when nobody listens any more.
    async fn catch_up(&mut self, to: Timestamp) -> bool {
        loop {
            let piece = self.simulation.now().after(CATCH_UP).min(to);
            for frame in self.simulation.advance(piece) {
                if !self.emitter.emit(frame) {
                    return false;
                }
            }
            if piece >= to {
                return true;
            }
            while !self.emitter.has_room() {
                if self.wanted.has_changed().unwrap_or(true) {
                    return true;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// Returns a wall time and the simulated time that is to be there then.
    fn mapping(&self) -> (Timestamp, Timestamp) {
        (clock::now(), self.simulation.now().max(self.simulation.start()))
    }

    /// Reports `state` when it is another than before.
    fn say(&mut self, state: SourceState) {
        if *self.says.borrow() == state {
            return;
        }
        self.says.send_replace(state);
        let note = SourceNote {
            source: Arc::from(NAME),
            state,
            why: self.simulation.scenario().name().into(),
            retry_ms: None,
            rtt_us: None,
            dropped: self.emitter.dropped(),
            drops_uncounted: 0,
            interruptions: 0,
            history: None,
            at: clock::now(),
        };
        self.emitter.note(&note);
    }
}

/// Returns the simulated time at wall time `now`, when it was `since.1` at wall time `since.0`.
fn simulated(since: (Timestamp, Timestamp), now: Timestamp, speed: f64) -> Timestamp {
    since.1.after(now.since(since.0).mul_f64(speed.clamp(0.0, 10_000.0)))
}
