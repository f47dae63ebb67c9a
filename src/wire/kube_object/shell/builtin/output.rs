//! Files that a script writes.

use std::sync::Arc;

use crate::wire::kube_object::shell::lex::Word;
use crate::wire::kube_object::shell::run::{Runner, Simple};
use crate::wire::kube_object::shell::vars::{DIRECTORY, Known, Value};
use crate::wire::kube_object::shell::{Arg, absolute};

impl Runner<'_> {
    /// Notes what a file holds from now on.
    pub(in crate::wire::kube_object::shell) fn write(
        &mut self,
        target: &Word,
        text: Option<String>,
    ) {
        let path = self.text(target);
        if path.hidden.is_some() {
            return;
        }
        let by: Arc<str> = path.start.as_str().into();
        let Some(path) = self.path(&path.start) else { return };
        let value = match text {
            Some(text) => Value::Text(text.into()),
            None => Value::Hidden { by, one: false },
        };
        self.vars.set(&format!("file:{path}"), value, false);
    }

    /// Returns a path from the root on, when the working directory is known or not needed.
    pub(super) fn path(&self, path: &str) -> Option<String> {
        match self.vars.get(DIRECTORY) {
            _ if path.starts_with('/') => Some(absolute(path, "/")),
            Known::Value(Value::Text(directory)) => Some(absolute(path, directory)),
            _ => None,
        }
    }

    /// Follows `cat <<EOF > file` and `echo text > file`.
    pub(super) fn print(&mut self, name: &str, arguments: &[Arg], simple: &Simple<'_>) {
        let printed = match (name, simple.here) {
            ("cat", Some(here)) if arguments.is_empty() => {
                let text = self.text(here);
                text.hidden.is_none().then_some(text.start)
            }
            ("echo", None) => {
                let words: Option<Vec<&str>> = arguments.iter().map(Arg::known).collect();
                let words = words.filter(|words| {
                    let option = words.first().is_some_and(|word| word.starts_with('-'));
                    !option && !words.iter().any(|word| word.contains('\\'))
                });
                words.map(|words| words.join(" ") + "\n")
            }
            _ => None,
        };
        for (append, target) in &simple.outs {
            let text = match (append, &printed) {
                (false, printed) => printed.clone(),
                (true, Some(more)) => {
                    let path = self.text(target);
                    let path = self.path(&path.start).filter(|_| path.hidden.is_none());
                    match path.map(|path| self.vars.get(&format!("file:{path}"))) {
                        Some(Known::Value(Value::Text(text))) => Some(format!("{text}{more}")),
                        _ => None,
                    }
                }
                (true, None) => None,
            };
            self.write(target, text);
        }
    }

    /// A process that names a file may change it.
    pub(super) fn touch(&mut self, words: &[Arg]) {
        if self.is_wanted(words) {
            return;
        }
        let named = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            words.iter().any(|arg| arg.known().is_none() || arg.start().contains(name))
        };
        let files: Vec<String> = self
            .vars
            .beginning("file:")
            .filter(|(path, _)| named(path))
            .map(|(path, _)| path.to_owned())
            .collect();
        for path in files {
            let by = path.as_str().into();
            self.vars.set(&format!("file:{path}"), Value::Hidden { by, one: false }, false);
        }
    }
}
