//! `kvtop schema`: JSON Schemas.

use super::RunError;
use super::output::print;
use super::settings;
use crate::cli::{SchemaArgs, SchemaOf};
use crate::exit::Exit;
use crate::report::{self, Output};

/// Prints a schema.
pub(super) fn schema(args: SchemaArgs) -> Result<Exit, RunError> {
    print(&match args.of {
        SchemaOf::Check => report::schema(Output::Check),
        SchemaOf::CheckFleet => report::schema(Output::CheckFleet),
        SchemaOf::Snapshot => report::schema(Output::Snapshot),
        SchemaOf::Diff => report::schema(Output::Diff),
        SchemaOf::Lint => report::schema(Output::Lint),
        SchemaOf::Doctor => report::schema(Output::Doctor),
        SchemaOf::Plan => report::schema(Output::Plan),
        SchemaOf::Curve => report::schema(Output::Curve),
        SchemaOf::Decisions => report::schema(Output::Decisions),
        SchemaOf::Tree => report::schema(Output::Tree),
        SchemaOf::Config => settings::schema(),
    })?;
    Ok(Exit::Clean)
}
