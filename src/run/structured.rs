//! JSON data in the form that the command line asks for.

use super::RunError;
use crate::cli::Structured;
use crate::report::JsonPath;

/// The form, with its template read.
pub(super) enum Shape {
    Json,
    Yaml,
    Path(JsonPath),
}

impl Shape {
    /// Reads the template, so that mistakes in it are reported before anything else is done.
    pub(super) fn new(format: &Structured) -> Result<Self, RunError> {
        Ok(match format {
            Structured::Json => Self::Json,
            Structured::Yaml => Self::Yaml,
            Structured::Path(template) => {
                let bad = |why| RunError::Template { template: template.clone(), why };
                Self::Path(JsonPath::parse(template).map_err(bad)?)
            }
        })
    }

    /// Returns `json`, a document without a line break at its end, in this form.
    pub(super) fn print(&self, json: String) -> String {
        if let Self::Json = self {
            return json + "\n";
        }
        // It was written by this process.
        let value: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
        match self {
            Self::Path(path) => path.print(&value) + "\n",
            _ => serde_saphyr::to_string(&value).unwrap_or_default(),
        }
    }
}
