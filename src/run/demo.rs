//! The demo: a simulation, and what its presenter changes.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::ahead::Engines;
use super::driver;
use super::live;
use super::screen::{ACTIONS, Sources, exit_of, options, scenario};
use super::terminal::{self, TerminalOptions};
use super::{RunError, output, settings};
use crate::cli::{DemoArgs, SourceArgs};
use crate::clock;
use crate::config::Config;
use crate::draw;
use crate::dynamo::fill;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::simulator::{RouterMode, Scenario, Simulation, Steering};
use crate::snapshot::{DemoChange, DemoState, Feed, Snapshot, ViewQuery};
use crate::source::simulation::{self, Command};
use crate::source::{Emitter, FRAME_BUFFER};
use crate::tui::command::{Action, Simulate};

/// Users for each worker, at least and at most, and by how many the load changes: those of the measurements,
/// in which three workers had 40 to 180.
const USERS: [(usize, usize); 2] = [(40, 3), (180, 3)];
const STEP: (usize, usize) = (10, 3);
/// Most workers.
const WORKERS: usize = 32;

/// Shows a simulated deployment.
pub(super) async fn demo(
    args: &DemoArgs,
    source: &SourceArgs,
    config: &Config,
) -> Result<Exit, RunError> {
    if args.gallery {
        return gallery();
    }
    let scenario = scenario(&args.scenario)?;
    let simulation = Simulation::new(scenario, args.seed, clock::now());
    let mut options = TerminalOptions { tour: args.tour, ..options(config)? };
    options.labels = settings::with_labels(&options.labels, &simulation.labels());
    let steering = simulation.steering();
    let (sender, frames) = mpsc::channel(FRAME_BUFFER);
    let running = simulation::spawn(simulation, Emitter::new(sender), 1.0);
    let engine = Engine::new(live::engine_options(scenario.name(), source));
    let (pictures, shown) = watch::channel(Arc::new(Snapshot::default()));
    let (queries, asked) = watch::channel(ViewQuery::default());
    let mut told = Told { scenario, steps_taken: 0, steering, change: None };
    let (feed, feeds) = watch::channel(told.feed());
    let (actions, mut wanted) = mpsc::channel(ACTIONS);
    let (_, choices) = watch::channel(None);
    tokio::spawn(driver::live(
        Engines::alone(engine),
        frames,
        feeds,
        None,
        pictures,
        asked,
        choices,
    ));
    let commands = running.commands.clone();
    let mut steered = running.steering.clone();
    let obey = tokio::spawn(async move {
        loop {
            tokio::select! {
                action = wanted.recv() => {
                    let Some(action) = action else { break };
                    let Some(command) = told.command(&action) else { continue };
                    if commands.send(command).await.is_err() {
                        break;
                    }
                }
                changed = steered.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    told.steering = *steered.borrow_and_update();
                }
            }
            feed.send_replace(told.feed());
        }
        // The feed lives as long as the screen.
        drop(feed);
    });
    let (_, running) = watch::channel(Arc::new(vec![running.handle]));
    let sources = Sources(running);
    let (_, notices) = mpsc::channel(1);
    let exit = terminal::run(shown, queries, actions, notices, options, sources.clone()).await;
    obey.abort();
    sources.stop().await;
    Ok(exit_of(exit?))
}

/// Prints every graph in every mode of terminals.
fn gallery() -> Result<Exit, RunError> {
    let page = draw::gallery(&settings::themes())?;
    output::print(&page)?;
    Ok(Exit::Clean)
}

/// Returns what the screen says of a demo that nobody has touched.
pub(super) fn untouched(simulation: &Simulation) -> Feed {
    let (scenario, steering) = (simulation.scenario(), simulation.steering());
    Told { scenario, steps_taken: 0, steering, change: None }.feed()
}

/// Words on the screen about a demo.
struct Told {
    scenario: Scenario,
    steps_taken: usize,
    steering: Steering,
    change: Option<DemoChange>,
}

impl Told {
    /// Returns the command that `action` asks for, and notes the change; none where there is nothing to do.
    fn command(&mut self, action: &Action) -> Option<Command> {
        let Steering { users, mode, workers } = self.steering;
        let (command, what) = match action {
            Action::DemoFix => {
                let what = self.scenario.step(self.steps_taken)?.done;
                self.steps_taken += 1;
                (Command::Fix, what.to_owned())
            }
            Action::Simulate(simulate @ (Simulate::MoreUsers | Simulate::FewerUsers)) => {
                let wanted = load(users, workers, *simulate == Simulate::MoreUsers);
                if wanted == users {
                    return None;
                }
                (Command::Users(wanted), format!("{users} → {wanted} users"))
            }
            Action::Simulate(Simulate::Mode) => {
                let other = match mode {
                    RouterMode::Kv => RouterMode::RoundRobin,
                    RouterMode::RoundRobin => RouterMode::Kv,
                };
                (Command::Mode(other), format!("router mode {} → {}", mode.name(), other.name()))
            }
            Action::Simulate(Simulate::Worker) if workers < WORKERS => {
                (Command::Worker, format!("{workers} → {} workers", workers + 1))
            }
            _ => return None,
        };
        self.change = Some(DemoChange { at: clock::now(), what });
        Some(command)
    }

    fn feed(&self) -> Feed {
        let steps = self.scenario.steps();
        let next = steps.get(self.steps_taken).or(steps.last()).copied().unwrap_or_default();
        Feed::Demo(DemoState {
            scenario: self.scenario.name().to_owned(),
            about: self.scenario.about().to_owned(),
            fixed: self.steps_taken > 0 && self.steps_taken >= steps.len(),
            fix: fill(next),
            mends: self.scenario.mends(),
            steps_taken: self.steps_taken,
            next_step: self.scenario.step(self.steps_taken).map(|step| step.does),
            users: self.steering.users,
            mode: self.steering.mode.name(),
            workers: self.steering.workers,
            change: self.change.clone(),
        })
    }
}

/// Returns the next number of users of so many workers.
fn load(users: usize, workers: usize, more: bool) -> usize {
    let of = |(count, measured): (usize, usize)| (count * workers / measured).max(1);
    let [least, most] = USERS.map(of);
    let step = of(STEP);
    let wanted = if more { users + step } else { users.saturating_sub(step) };
    wanted.clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_stays_within_what_was_measured() {
        assert_eq!((load(80, 3, true), load(80, 3, false)), (90, 70));
        assert_eq!((load(180, 3, true), load(40, 3, false)), (180, 40));
        assert_eq!(load(420, 16, true), 473);
    }

    #[test]
    fn a_change_is_told_with_what_was_before() {
        let steering = Steering { users: 80, mode: RouterMode::Kv, workers: 3 };
        let mut told = Told { scenario: Scenario::GtcDemo, steps_taken: 0, steering, change: None };

        let mode = told.command(&Action::Simulate(Simulate::Mode));
        assert_eq!(mode, Some(Command::Mode(RouterMode::RoundRobin)));
        let what = told.change.as_ref().map(|change| change.what.as_str());
        assert_eq!(what, Some("router mode kv → round-robin"));

        told.steering.users = 180;
        assert_eq!(
            told.command(&Action::Simulate(Simulate::MoreUsers)),
            None,
            "no more were measured"
        );
    }
}
