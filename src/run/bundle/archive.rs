//! The file of a bundle: a tar archive, compressed with zstd, for its owner only.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::domain::Timestamp;
use crate::record::never_overwritten;
use crate::run::RunError;

/// The folder that everything unpacks into.
const FOLDER: &str = "kvtop-bundle";

/// The required end of the name.
const ENDING: &str = ".tar.zst";

/// One file of a bundle.
pub(super) struct Entry {
    /// Its name.
    pub(super) name: &'static str,
    /// Its contents.
    pub(super) bytes: Vec<u8>,
}

impl Entry {
    /// Returns a file with `text` in it.
    pub(super) fn text(name: &'static str, text: String) -> Self {
        Self { name, bytes: text.into_bytes() }
    }
}

/// A bundle that is being written.
pub(super) struct Archive {
    tar: tar::Builder<zstd::Encoder<'static, BufWriter<File>>>,
}

impl Archive {
    /// Creates the file at `path`, readable by its owner only. One that is there is not overwritten.
    pub(super) fn create(path: &Path) -> Result<Self, RunError> {
        let failed = |source| RunError::Write { path: path.to_owned(), source };
        if !path.to_string_lossy().ends_with(ENDING) {
            let why = format!("its name must end in {ENDING}, such as x{ENDING}");
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = BufWriter::new(file.map_err(|error| failed(never_overwritten(error)))?);
        let encoder = zstd::Encoder::new(file, 3).map_err(failed)?;
        Ok(Self { tar: tar::Builder::new(encoder) })
    }

    /// Adds `entries`, as of `at`.
    pub(super) fn append(&mut self, entries: Vec<Entry>, at: Timestamp) -> io::Result<()> {
        for Entry { name, bytes } in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(at.seconds());
            self.tar.append_data(&mut header, format!("{FOLDER}/{name}"), &*bytes)?;
        }
        Ok(())
    }

    /// Ends the file and returns its size, in bytes.
    pub(super) fn finish(self) -> io::Result<u64> {
        let mut file = self.tar.into_inner()?.finish()?;
        file.flush()?;
        let file = file.get_ref();
        file.sync_all()?;
        file.metadata().map(|about| about.len())
    }
}
