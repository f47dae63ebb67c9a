//! The simulator as a source: simulated time follows wall time.

use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::clock;
use crate::domain::{SourceName, SourceNote, SourceState, Timestamp};
use crate::simulator::{RouterMode, Simulation, Steering};
use crate::source::{Desired, Emitter, SourceHandle};

/// Interval between bursts of frames: short enough to look continuous.
const STEP: Duration = Duration::from_millis(50);
/// The part of the past that is emitted at once. A second is some hundred frames, far below the room of
/// the channel, and so is the next while the engine catches up.
const CATCH_UP: Duration = Duration::from_secs(1);
/// Commands wait for one step at most.
const COMMANDS: usize = 8;
/// The name of the source.
const NAME: SourceName = SourceName::Simulator;

/// A user's request to a running simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Repair what is wrong, or take the next step of the story.
    Fix,
    /// Have so many users.
    Users(usize),
    /// Choose workers in this way.
    Mode(RouterMode),
    /// Add a worker.
    Worker,
}

/// A simulation that is running.
#[derive(Debug)]
pub struct Running {
    /// The source.
    pub handle: SourceHandle,
    /// Takes commands.
    pub commands: mpsc::Sender<Command>,
    /// Its state after all commands.
    pub steering: watch::Receiver<Steering>,
}

/// Runs `simulation` as a source that emits into `emitter`, `speed` times as fast as wall time.
pub fn spawn(simulation: Simulation, emitter: Emitter, speed: f64) -> Running {
    let (desired, wanted) = watch::channel(Desired::Running);
    let (says, state) = watch::channel(SourceState::Connecting);
    let (commands, asked) = mpsc::channel(COMMANDS);
    let (steers, steering) = watch::channel(simulation.steering());
    let driver = Driver { simulation, emitter, speed, wanted, says, asked, steers };
    let task = tokio::spawn(driver.run());
    Running { handle: SourceHandle { name: NAME, desired, state, task }, commands, steering }
}

struct Driver {
    simulation: Simulation,
    emitter: Emitter,
    speed: f64,
    wanted: watch::Receiver<Desired>,
    says: watch::Sender<SourceState>,
    asked: mpsc::Receiver<Command>,
    steers: watch::Sender<Steering>,
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
                    Some(command) => self.obey(command),
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

    fn obey(&mut self, command: Command) {
        match command {
            Command::Fix => {
                self.simulation.fix();
            }
            Command::Users(users) => self.simulation.set_concurrency(users),
            Command::Mode(mode) => self.simulation.switch_mode(mode),
            Command::Worker => self.simulation.add_worker(),
        }
        self.steers.send_replace(self.simulation.steering());
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
        let name = self.simulation.scenario().name();
        let said = SourceNote::new(NAME, state, name, clock::now());
        let note = SourceNote { dropped: self.emitter.dropped(), ..said };
        self.emitter.note(&note);
        self.says.send_replace(state);
    }
}

/// Returns the simulated time at wall time `now`, when it was `since.1` at wall time `since.0`.
fn simulated(since: (Timestamp, Timestamp), now: Timestamp, speed: f64) -> Timestamp {
    since.1.after(now.since(since.0).mul_f64(speed.clamp(0.0, 10_000.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Origin};
    use crate::simulator::Scenario;

    fn started(room: usize) -> (Running, mpsc::Receiver<Frame>, Emitter) {
        let (frames, received) = mpsc::channel(room);
        let emitter = Emitter::new(frames);
        let simulation = Simulation::new(Scenario::Mismatch, 1, clock::now());
        (spawn(simulation, emitter.clone(), 100.0), received, emitter)
    }

    fn is_live(frame: &Frame) -> bool {
        matches!(&frame.origin, Origin::Nats { reply: Some(_), .. })
    }

    #[tokio::test]
    async fn the_past_comes_first_and_nothing_is_lost() {
        let (running, mut received, emitter) = started(2_000);
        let mut past = 0;
        let mut first = None;

        while let Some(frame) = received.recv().await {
            first.get_or_insert_with(|| frame.clone());
            past += 1;
            if is_live(&frame) {
                break;
            }
        }

        assert!(matches!(first.map(|frame| frame.origin), Some(Origin::Health { .. })));
        assert!(past > 10_000, "{past}");
        assert_eq!(emitter.dropped(), 0);
        running.handle.task.abort();
    }

    #[tokio::test]
    async fn it_pauses_repairs_and_ends_when_told() {
        let (running, mut received, _emitter) = started(16_384);
        let mut state = running.handle.state.clone();
        running.commands.send(Command::Fix).await.expect("it runs");
        let deletes = |frame: &Frame| matches!(frame.origin, Origin::Etcd { put: false, .. });
        while !deletes(&received.recv().await.expect("it runs")) {}

        running.handle.desired.send_replace(Desired::Suspended);
        state.wait_for(|state| *state == SourceState::Suspended).await.expect("it runs");
        while received.try_recv().is_ok() {}
        tokio::time::sleep(STEP * 3).await;
        assert!(received.try_recv().is_err());

        running.handle.desired.send_replace(Desired::Stopped);
        state.wait_for(|state| *state == SourceState::Ended).await.expect("it says so");
        running.handle.task.await.expect("it ends");
    }
}
