//! `kvtop lint`: reads files, folders and standard input, and prints what is wrong with them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::RunError;
use super::output::print;
use super::structured::Shape;
use crate::cli::{LintArgs, LintFormat};
use crate::exit::Exit;
use crate::lint::{self, Source, Unreadable};
use crate::report;
use crate::wire::printable;

/// Largest file that is read, in bytes.
const FILE_LIMIT: u64 = 16 << 20;

/// Bytes that are read in all.
const TOTAL_LIMIT: u64 = 128 << 20;

/// Most files of folders.
const FILES_LIMIT: usize = 10_000;

/// Deepest folder below one that was named.
const DEPTH_LIMIT: usize = 32;

/// Longest name of a file that is shown.
const NAME_LIMIT: usize = 512;

/// Judges manifests.
pub(super) fn lint(args: &LintArgs) -> Result<Exit, RunError> {
    let shape = match &args.output {
        LintFormat::Structured(format) => Shape::new(format)?,
        _ => Shape::Json,
    };
    let found = judged(&args.files);
    print(&match args.output {
        LintFormat::Text => report::lint::text(&found),
        LintFormat::Name => report::lint::names(&found),
        LintFormat::Structured(_) => shape.print(report::lint::json(&found)),
    })?;
    Ok(Exit::Check(report::lint::exit(&found)))
}

/// Reads files and folders, and judges them.
pub(super) fn judged(files: &[PathBuf]) -> lint::Verdicts {
    let mut input = Input::default();
    for path in files {
        input.take(path);
    }
    let mut found = lint::lint(&input.sources);
    found.unreadable.extend(input.refused);
    found
}

/// The input read so far.
#[derive(Default)]
struct Input {
    sources: Vec<Source>,
    refused: Vec<(std::sync::Arc<str>, Unreadable)>,
    /// Bytes read.
    read: u64,
}

impl Input {
    fn take(&mut self, path: &Path) {
        if path.as_os_str() == "-" {
            self.text("<stdin>", io::stdin().lock());
        } else if path.is_dir() {
            let mut files = Vec::new();
            self.collect(path, 0, &mut files);
            if files.is_empty() {
                self.refuse(
                    &path.to_string_lossy(),
                    "no .yaml, .yml or .json file in this directory",
                );
            }
            files.sort();
            for file in files {
                self.file(&file);
            }
        } else {
            self.file(path);
        }
    }

    /// Collects the manifests below a folder. Links are not followed, so that it ends.
    fn collect(&mut self, folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.refuse(&folder.to_string_lossy(), &error.to_string()),
        };
        for entry in entries.flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let extension = path.extension().and_then(|extension| extension.to_str());
            let manifest = extension.is_some_and(|name| ["yaml", "yml", "json"].contains(&name));
            match kind {
                Ok(kind) if kind.is_dir() && !hidden && depth < DEPTH_LIMIT => {
                    self.collect(&path, depth + 1, files);
                }
                Ok(kind) if kind.is_file() && manifest && !hidden => {
                    if files.len() == FILES_LIMIT {
                        let why = format!("more than {FILES_LIMIT} files; the rest is skipped");
                        self.refuse(&folder.to_string_lossy(), &why);
                        return;
                    }
                    files.push(path);
                }
                _ => {}
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let name = path.to_string_lossy();
        match File::open(path) {
            Ok(file) => self.text(&name, file),
            Err(error) => self.refuse(&name, &error.to_string()),
        }
    }

    fn text(&mut self, name: &str, reader: impl io::Read) {
        let left = TOTAL_LIMIT.saturating_sub(self.read);
        let mut bytes = Vec::new();
        if let Err(error) = reader.take(FILE_LIMIT.min(left) + 1).read_to_end(&mut bytes) {
            return self.refuse(name, &error.to_string());
        }
        let size = bytes.len() as u64;
        self.read += size;
        if size > left {
            return self.refuse(name, "too much input at once; pass fewer files");
        }
        if size > FILE_LIMIT {
            return self.refuse(name, &format!("larger than {} MiB", FILE_LIMIT >> 20));
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let text = text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text);
                let name = printable(name, NAME_LIMIT).as_ref().into();
                self.sources.push(Source { name, text });
            }
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let before = &error.as_bytes()[..good];
                let line = before.split(|byte| *byte == b'\n').count();
                self.refuse_at(name, line, "the text is not UTF-8");
            }
        }
    }

    fn refuse(&mut self, name: &str, why: &str) {
        self.refuse_at(name, 0, why);
    }

    fn refuse_at(&mut self, name: &str, line: usize, why: &str) {
        let bad = Unreadable { file: self.sources.len(), line, why: why.to_owned() };
        self.refused.push((printable(name, NAME_LIMIT).as_ref().into(), bad));
    }
}
