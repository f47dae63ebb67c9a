//! The files that tools may read: those that the user named when kvtop was started, and what is below them.

use std::path::{Path, PathBuf};

use super::super::RunError;

/// The permitted paths, resolved.
#[derive(Clone, Debug)]
pub(super) struct Files(Vec<PathBuf>);

impl Files {
    pub(super) fn new(paths: &[PathBuf]) -> Result<Self, RunError> {
        let resolved = paths.iter().map(|path| {
            path.canonicalize().map_err(|source| RunError::Read { path: path.clone(), source })
        });
        Ok(Self(resolved.collect::<Result<_, _>>()?))
    }

    /// Returns the file behind a path, links resolved. The refusal is the same for a file that does not exist, so that
    /// it tells nothing of other files.
    pub(super) fn permitted(&self, path: &str) -> Result<PathBuf, String> {
        let found = Path::new(path).canonicalize().ok();
        let within = |path: &PathBuf| self.0.iter().any(|root| path.starts_with(root));
        found.filter(within).ok_or_else(|| match self.0.as_slice() {
            [] => "no files may be read: start kvtop mcp with the recordings, manifests or directories to read"
                .to_owned(),
            _ => format!("`{path}` is not among the files that kvtop mcp was started with"),
        })
    }
}
