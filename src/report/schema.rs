//! JSON Schemas of the outputs, made from the types that write them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// An output with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// `kvtop check -o json`.
    Check,
    /// `kvtop check -A -o json`.
    CheckFleet,
    /// `kvtop snapshot -o json`.
    Snapshot,
    /// `kvtop diff -o json`.
    Diff,
    /// `kvtop lint -o json`.
    Lint,
    /// `kvtop doctor -o json`.
    Doctor,
    /// `kvtop plan -o json`.
    Plan,
    /// The answer of `curve` of `kvtop mcp`.
    Curve,
    /// The answer of `decisions`.
    Decisions,
    /// The answer of `tree`.
    Tree,
}

/// Returns the JSON Schema of an output, draft 2020-12. Fields may be added to the contract, so others are allowed.
pub fn schema(output: Output) -> String {
    let (name, schema) = match output {
        Output::Check => ("check", root_schema::<super::check::Report<'_>>()),
        Output::CheckFleet => ("check -A", root_schema::<super::check::FleetReport<'_>>()),
        Output::Snapshot => ("snapshot", root_schema::<super::json::Report<'_>>()),
        Output::Diff => ("diff", root_schema::<super::diff::Diff>()),
        Output::Lint => ("lint", root_schema::<super::lint::Report<'_>>()),
        Output::Doctor => ("doctor", root_schema::<super::doctor::Report<'_>>()),
        Output::Plan => ("plan", root_schema::<super::plan::Report<'_>>()),
        Output::Curve => ("curve", root_schema::<super::json::curve::CurveAt>()),
        Output::Decisions => ("decisions", root_schema::<super::json::decisions::Decisions<'_>>()),
        Output::Tree => ("tree", root_schema::<super::json::tree::Page>()),
    };
    let mut schema: Value = schema.to_value();
    if let Some(fields) = schema.as_object_mut() {
        let of_mcp = matches!(output, Output::Curve | Output::Decisions | Output::Tree);
        let origin =
            if of_mcp { format!("{name} of kvtop mcp") } else { format!("kvtop {name} -o json") };
        fields.insert("title".to_owned(), format!("{origin}, contract 1").into());
    }
    // A value always serializes.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

fn root_schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}
