//! `kvtop stat`: one line for each interval, of a deployment or a recording.

use std::path::Path;
use std::time::Duration;

use super::RunError;
use super::ending;
use super::headless::{ended, follow, take, tell_damage};
use super::live::{self, Live};
use super::memory;
use super::output::print;
use super::ready;
use super::thresholds;
use super::waiting::Waiting;
use crate::cli::{SourceArgs, StatArgs};
use crate::clock;
use crate::domain::Timestamp;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::player::Player;
use crate::report;
use crate::snapshot::ViewQuery;

/// Prints a line for each interval until it is told to stop.
pub(super) async fn stat(args: &StatArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    if let Some(path) = &args.replay {
        return stat_of(path, args, source);
    }
    let Live { mut frames, sources, target, attach, .. } = live::start(source).await?;
    let mut engine = Engine::new(target.engine_options());
    print(&format!("{}\n", report::stat_header()))?;
    let ended = ended();
    tokio::pin!(ended);
    let mut printed = 0;
    let started = clock::now();
    let mut waiting = Waiting::default();
    let mut due = started.after(args.interval);
    let wait = args.wait.unwrap_or(ready::WAIT);
    let mut begun = false;
    let exit = loop {
        tokio::select! {
            exit = &mut ended => break exit,
            () = take(&mut frames, &mut engine) => {}
        }
        let now = clock::now();
        engine.advance(now);
        follow(attach.as_ref(), &engine);
        if now < due {
            continue;
        }
        due = now.after(args.interval);
        let snapshot = engine.snapshot(&line_query(), now);
        waiting.say(&snapshot, attach.as_ref(), now.since(started), None);
        // Counts of a history that is being read are no rates.
        begun |= !snapshot.is_unread();
        if !begun && now.since(started) < wait {
            continue;
        }
        begun = true;
        print(&format!("{}\n", report::stat_line(&snapshot)))?;
        printed += 1;
        if args.count.is_some_and(|count| printed >= count) {
            break Exit::Clean;
        }
    };
    ending::stop(&sources).await;
    Ok(exit)
}

fn line_of(engine: &mut Engine, at: Timestamp) -> String {
    format!("{}\n", report::stat_line(&engine.snapshot(&line_query(), at)))
}

/// Asks for what a line needs.
fn line_query() -> ViewQuery {
    ViewQuery { points: 1, events: 0, decisions: 0, ..ViewQuery::default() }
}

/// After this long without a frame nothing is left to say until the next one.
const IDLE: Duration = Duration::from_secs(3600);

const SECOND: Duration = Duration::from_secs(1);

/// Returns the whole intervals that nothing happens in, when they are many.
fn idle(player: &Player, interval: Duration) -> Duration {
    let wait = player.next_at().map_or(Duration::ZERO, |next| next.since(player.position()));
    if wait <= IDLE {
        return Duration::ZERO;
    }
    let intervals = wait.as_micros() / interval.as_micros().max(1);
    // The interval of the frame itself is printed.
    let skipped = intervals.saturating_sub(1).saturating_mul(interval.as_micros());
    Duration::from_micros(u64::try_from(skipped).unwrap_or(u64::MAX))
}

/// Prints the lines of a recording: one for each interval of its own time, but for
/// hours without a frame.
fn stat_of(path: &Path, args: &StatArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let mut player =
        Player::open(path, memory::of_mirror(source.max_memory()), thresholds::chosen(source))?;
    print(&format!("{}\n", report::stat_header()))?;
    let mut printed = 0;
    while player.position() < player.end() {
        let target = player.position().after(args.interval + idle(&player, args.interval));
        // What is left of the last second has no line of its own: it would bear the same time.
        let rest = player.end().since(target);
        let target = if rest < SECOND.min(args.interval) { player.end() } else { target };
        player.seek(target)?;
        let at = player.position();
        print(&line_of(player.engine(), at))?;
        printed += 1;
        if args.count.is_some_and(|count| printed >= count) {
            break;
        }
    }
    tell_damage(player.recording());
    Ok(Exit::Clean)
}
