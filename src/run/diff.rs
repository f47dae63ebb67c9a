//! `kvtop diff`: two states of a deployment, side by side.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use super::RunError;
use super::headless::{at_the_end_of, tell_damage};
use super::memory;
use super::output::print;
use super::structured::Shape;
use super::thresholds;
use crate::cli::{DiffArgs, DiffFormat, Offset, SourceArgs};
use crate::exit::Exit;
use crate::player::Player;
use crate::record::{RecordError, Recording};
use crate::report::diff::{Diff, Kind, Side, State};
use crate::snapshot::ViewQuery;

/// Largest snapshot that is read, in MiB: a thousand workers take about ten.
const LARGEST: u64 = 64;

/// Time between two looks on the way to a moment: rules judge once a second.
const LOOK: Duration = Duration::from_secs(5);

pub(super) fn diff(args: &DiffArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let shape = match &args.output {
        DiffFormat::Structured(format) => Shape::new(format)?,
        _ => Shape::Json,
    };
    let a = side(&args.a, args.at_a, "--at-a", source)?;
    let b = side(&args.b, args.at_b, "--at-b", source)?;
    let diff = Diff::new(&a, &b);
    print(&match args.output {
        DiffFormat::Text => diff.text(),
        DiffFormat::Md => diff.markdown(),
        DiffFormat::Structured(_) => shape.print(diff.json()),
    })?;
    Ok(if diff.is_same() { Exit::Clean } else { Exit::Differs })
}

/// Returns the state in a file: a moment of a recording, or a snapshot.
fn side(
    path: &Path,
    at: Option<Offset>,
    option: &'static str,
    source: &SourceArgs,
) -> Result<Side, RunError> {
    let name = path.display().to_string();
    let is_input = path == Path::new("-");
    if !is_input {
        match Recording::open(path) {
            Ok(_) => return recorded(path, at, source),
            // Without the header of a recording it may be a snapshot.
            Err(RecordError::NoHeader { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let json = read(path, is_input)?;
    let state =
        State::parse(&json).map_err(|why| RunError::State { path: path.to_owned(), why })?;
    if at.is_some() {
        return Err(RunError::Moment { path: path.to_owned(), option });
    }
    Ok(Side { name, kind: Kind::Snapshot, state })
}

fn read(path: &Path, is_input: bool) -> Result<Vec<u8>, RunError> {
    let failed = |source: io::Error| RunError::Read { path: path.to_owned(), source };
    let mut json = Vec::new();
    let limit = (LARGEST << 20) + 1;
    if is_input {
        io::stdin().lock().take(limit).read_to_end(&mut json).map_err(failed)?;
    } else {
        File::open(path).map_err(failed)?.take(limit).read_to_end(&mut json).map_err(failed)?;
    }
    if json.len() as u64 == limit {
        return Err(RunError::LargeState { path: path.to_owned(), most: LARGEST });
    }
    Ok(json)
}

/// Returns a recording's state at its end, or at the chosen moment.
fn recorded(path: &Path, at: Option<Offset>, source: &SourceArgs) -> Result<Side, RunError> {
    let name = path.display().to_string();
    let Some(at) = at else {
        return Ok(Side::recorded(name, &at_the_end_of(path, source)?));
    };
    let limit = memory::of_mirror(source.max_memory());
    let mut player = Player::open(path, limit, thresholds::chosen(source))?;
    let (begin, end) = (player.position(), player.end());
    let target = match at {
        Offset::FromStart(after) => begin.after(after).min(end),
        Offset::BeforeEnd(before) => end.before(before).max(begin),
    };
    while player.position() < target {
        let next = player.position().after(LOOK).min(target);
        player.seek(next)?;
        if player.position() < next {
            break;
        }
    }
    player.engine().settle();
    let position = player.position();
    let snapshot = player.engine().snapshot(&ViewQuery::default(), position);
    tell_damage(player.recording());
    Ok(Side::recorded(name, &snapshot))
}
