//! `kvtop diff`: two states of a deployment, side by side.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::RunError;
use super::headless::moment;
use super::output::print;
use super::structured::Shape;
use crate::cli::{DiffArgs, DiffFormat, Offset, SourceArgs};
use crate::exit::Exit;
use crate::record::{RecordError, Recording};
use crate::report::diff::{Diff, Kind, Side, State};
use crate::snapshot::ViewQuery;

/// Largest snapshot that is read, in MiB: a thousand workers take about ten.
const LARGEST: u64 = 64;

pub(super) fn diff(args: &DiffArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let shape = match &args.output {
        DiffFormat::Structured(format) => Shape::new(format)?,
        _ => Shape::Json,
    };
    let diff = compared((&args.a, args.at_a), (&args.b, args.at_b), source)?;
    print(&match args.output {
        DiffFormat::Text => diff.text(),
        DiffFormat::Md => diff.markdown(),
        DiffFormat::Structured(_) => shape.print(diff.json()),
    })?;
    Ok(if diff.is_same() { Exit::Clean } else { Exit::Differs })
}

/// Compares the states in two files, each with the moment of a recording.
pub(super) fn compared(
    a: (&Path, Option<Offset>),
    b: (&Path, Option<Offset>),
    source: &SourceArgs,
) -> Result<Diff, RunError> {
    let a = side(a.0, a.1, "--at-a", source)?;
    let b = side(b.0, b.1, "--at-b", source)?;
    Ok(Diff::new(&a, &b))
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
            Ok(_) => {
                let snapshot = moment(path, at, &ViewQuery::default(), source)?;
                return Ok(Side::recorded(name, &snapshot));
            }
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
