//! Reasons why there is no client: one sentence each, with the remedy.

use std::error::Error;

use kube::client::AuthError;
use kube::config::KubeconfigError;

use super::redact::redacted_line;

/// The reason why the cluster cannot even be asked.
#[derive(Debug, thiserror::Error)]
pub enum KubeConfigError {
    /// There is neither kubeconfig nor service account.
    #[error(
        "no kubeconfig was found: set KUBECONFIG, pass --kubeconfig FILE, or run kvtop inside the \
         cluster"
    )]
    NoKubeconfig,
    /// The kubeconfig cannot be used.
    #[error("{file} cannot be used")]
    Unreadable {
        /// The file, for people.
        file: String,
        /// The fault.
        source: Box<KubeconfigError>,
    },
    /// There is no such context.
    #[error("the kubeconfig has no context `{context}`: use one of {known}")]
    UnknownContext {
        /// The context asked for.
        context: String,
        /// Those that exist.
        known: String,
    },
    /// No context is selected.
    #[error("the kubeconfig selects no context: pass --context with one of {known}")]
    NoContext {
        /// Those that exist.
        known: String,
    },
    /// kvtop runs in a pod whose service account cannot be used.
    #[error("the service account of this pod cannot be used: {why}")]
    ServiceAccount {
        /// The fault.
        why: String,
    },
    /// The kubeconfig names a credential plugin that is not installed.
    #[error(
        "the kubeconfig gets its credentials from `{command}`, which could not be started: install \
         it, or put it on the PATH"
    )]
    NoPlugin {
        /// The command.
        command: String,
        /// The reason why it could not be started.
        source: std::io::Error,
    },
    /// The credential plugin failed.
    #[error("the credential plugin `{command}` failed{said}: log in again and retry")]
    PluginFailed {
        /// The command.
        command: String,
        /// Its output, as a part of the sentence.
        said: String,
    },
    /// The credentials cannot be used.
    #[error("the credentials of the kubeconfig cannot be used: log in again and retry")]
    Credentials {
        /// The fault.
        source: Box<AuthError>,
    },
    /// The client cannot be made.
    #[error("the connection to the cluster cannot be set up")]
    Client {
        /// Why.
        source: Box<kube::Error>,
    },
}

impl KubeConfigError {
    /// Returns the failure of building a client whose credential plugin, if any, is `command`.
    pub(super) fn of_client(error: kube::Error, command: Option<&str>) -> Self {
        let command = command.unwrap_or("the credential plugin").to_owned();
        match error {
            kube::Error::Auth(AuthError::AuthExecStart(source)) => {
                Self::NoPlugin { command, source }
            }
            kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
                let text = String::from_utf8_lossy(&out.stderr);
                let last = text.lines().rev().find(|line| !line.trim().is_empty());
                let said = last.map_or_else(String::new, |line| format!(" (\"{}\")", line.trim()));
                Self::PluginFailed { command, said }
            }
            kube::Error::Auth(source) => Self::Credentials { source: Box::new(source) },
            source => Self::Client { source: Box::new(source) },
        }
    }

    /// Returns the message with its causes, in one line.
    pub fn sentence(&self) -> String {
        match self {
            // The parser quotes the lines around a mistake, among them tokens and passwords.
            Self::Unreadable { source, .. } => {
                let why = without_quotes(&chain_by(source.as_ref(), first_line));
                format!("{self}: {why}")
            }
            _ => redacted_line(&chain(self)).unwrap_or_else(|| chain(self)),
        }
    }
}

/// Returns a message with those of its causes that say something new.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    chain_by(error, |said| said.lines().map(str::trim).collect::<Vec<_>>().join(" "))
}

fn chain_by(error: &(dyn Error + 'static), shown: impl Fn(&str) -> String) -> String {
    let mut text = shown(&error.to_string());
    let mut next = error.source();
    while let Some(cause) = next {
        let said = shown(&cause.to_string());
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

fn first_line(said: &str) -> String {
    said.lines().next().unwrap_or_default().trim().to_owned()
}

/// Returns a message without the texts that it quotes; single characters stay.
fn without_quotes(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '`', '\'']) {
        let quote = rest.as_bytes()[at];
        let inner = &rest[at + 1..];
        let Some(end) = inner.bytes().position(|byte| byte == quote) else { break };
        let shown = if inner[..end].chars().count() > 1 { "…" } else { &inner[..end] };
        kept.push_str(&rest[..=at]);
        kept.push_str(shown);
        kept.push(char::from(quote));
        rest = &inner[end + 1..];
    }
    // A quote that does not end may begin anything.
    kept.push_str(rest.split(['"', '`']).next().unwrap_or_default());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_is_not_quoted() {
        let rows = [
            "users:\n- name: a\n  user: {token: PLANTED\n",
            "users: PLANTED\n",
            "clusters: [PLANTED]\n",
            "current-context: [PLANTED]\n",
            "contexts:\n- PLANTED: \"PLANTED\n",
            "PLANTED: PLANTED: PLANTED\n",
        ];
        for text in rows {
            let source = Box::new(kube::config::Kubeconfig::from_yaml(text).unwrap_err());
            let said = KubeConfigError::Unreadable { file: "it".to_owned(), source }.sentence();
            assert!(!said.contains("PLANTED") && said.contains("line"), "{said}");
        }
    }
}
