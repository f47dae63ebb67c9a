//! The program `env` before another one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Arg, Variable};

/// Changes that `env` makes before a program.
#[derive(Default)]
pub(in crate::wire::kube_object) struct Own {
    variables: Vec<(String, Variable)>,
    clean: bool,
    hidden: Option<Arc<str>>,
}

impl Own {
    pub(in crate::wire::kube_object) fn apply(
        self,
        variables: &mut BTreeMap<String, Variable>,
        any: &mut Option<Arc<str>>,
    ) {
        if self.clean {
            variables.clear();
            *any = None;
        }
        variables.extend(self.variables);
        if let Some(by) = self.hidden {
            for variable in variables.values_mut() {
                *variable = Variable::Hidden { by: Arc::clone(&by), one: false };
            }
            *any = Some(by);
        }
    }
}

/// Reads `env A=b -u C`, wherever it stands before a program.
pub(in crate::wire::kube_object) fn env_words(words: &[Arg]) -> Own {
    let mut own = Own::default();
    let is_env = |arg: &Arg| arg.known().is_some_and(|text| text.rsplit('/').next() == Some("env"));
    let Some(at) = words.iter().position(is_env) else { return own };
    let mut rest = words.get(at + 1..).unwrap_or_default().iter();
    while let Some(arg) = rest.next() {
        let start = arg.start();
        match (arg, start.split_once('=')) {
            (Arg::Hidden { by }, _) => own.hidden = Some(Arc::clone(by)),
            (_, Some((name, value))) if !start.starts_with('-') => {
                let variable = match arg {
                    Arg::Partial { by, .. } => Variable::Hidden { by: Arc::clone(by), one: false },
                    _ => Variable::Text(value.into()),
                };
                own.variables.push((name.to_owned(), variable));
            }
            (Arg::Partial { by, .. }, _) => own.hidden = Some(Arc::clone(by)),
            (Arg::Word(_), _) => match start {
                "-i" | "-" | "--ignore-environment" => own.clean = true,
                "-u" | "--unset" => {
                    let name = rest.next().map_or("", Arg::start).to_owned();
                    own.variables.push((name, Variable::Unset));
                }
                _ if start.starts_with("-u") => {
                    own.variables.push((start[2..].to_owned(), Variable::Unset));
                }
                _ if start.starts_with("--unset=") => {
                    own.variables.push((start[8..].to_owned(), Variable::Unset));
                }
                "-C" | "--chdir" => _ = rest.next(),
                "-0" | "--null" | "-v" | "--debug" | "--" => {}
                _ if start.starts_with('-') => own.hidden = Some("the options of env".into()),
                _ => break,
            },
        }
    }
    own
}
