//! The state of the watches, and of the source as a whole.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{Reason, SourceState, Trouble};

/// A right that kvtop would need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingRight {
    /// `list`, `watch` or `get`.
    pub verb: &'static str,
    /// The resource as in a Role, with its group: `dynamographdeployments.nvidia.com`.
    pub resource: Arc<str>,
    /// The namespace it is needed in.
    pub namespace: Arc<str>,
}

impl fmt::Display for MissingRight {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} on {}", self.verb, self.resource)
    }
}

/// The state of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// It has not been answered yet.
    Starting,
    /// It was listed, and is followed.
    Live,
    /// A right is missing.
    Forbidden(MissingRight),
    /// The resource is not installed.
    Missing(Arc<str>),
    /// The server cannot answer; when it is asked again.
    Troubled(Arc<str>, Duration),
    /// The server cannot be reached; when it is tried again.
    Lost(Reason, Duration),
    /// The credentials are not accepted; when they are tried again.
    Unauthorized(Arc<str>, Duration),
}

/// The condition of a watch.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// The watch.
    pub(super) slot: Arc<str>,
    pub(super) condition: Condition,
    /// True when it has seen a part of a Dynamo deployment.
    pub(super) dynamo: bool,
}

/// All watches.
#[derive(Debug, Default)]
pub(super) struct Board {
    watches: BTreeMap<Arc<str>, (Condition, bool)>,
    /// The reason why the server does not answer new requests, although watches are open.
    pub(super) deaf: Option<String>,
    /// The notice about a namespace without Dynamo.
    pub(super) empty: Option<String>,
}

/// The condition of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) state: SourceState,
    pub(super) why: Reason,
    pub(super) retry: Option<Duration>,
}

impl Board {
    pub(super) fn put(&mut self, report: Report) {
        self.watches.insert(report.slot, (report.condition, report.dynamo));
    }

    pub(super) fn remove(&mut self, slot: &str) {
        self.watches.remove(slot);
    }

    /// Returns how many watches have reported.
    pub(super) fn count(&self) -> usize {
        self.watches.len()
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.watches.values().map(|(condition, _)| condition)
    }

    /// Returns true when everything was answered, in whatever way, and something was delivered.
    pub(super) fn is_settled(&self) -> bool {
        !self.watches.is_empty()
            && self.conditions().any(|it| *it == Condition::Live)
            && !self.conditions().any(|it| {
                matches!(
                    it,
                    Condition::Starting | Condition::Lost(..) | Condition::Unauthorized(..)
                )
            })
    }

    /// Returns true when credentials are refused.
    pub(super) fn is_unauthorized(&self) -> bool {
        self.conditions().any(|it| matches!(it, Condition::Unauthorized(..)))
    }

    /// Returns true when a part of a Dynamo deployment has been seen.
    pub(super) fn has_dynamo(&self) -> bool {
        self.watches.values().any(|(_, dynamo)| *dynamo)
    }

    /// Returns true while pods may not be listed: what is not seen may be there.
    pub(super) fn is_blind(&self) -> bool {
        self.missing_rights().iter().any(|right| &*right.resource == "pods" && right.verb == "list")
    }

    /// Returns the rights that are missing.
    pub(super) fn missing_rights(&self) -> Vec<MissingRight> {
        let mut rights: Vec<MissingRight> = self
            .conditions()
            .filter_map(|it| match it {
                Condition::Forbidden(right) => Some(right.clone()),
                _ => None,
            })
            .collect();
        rights.sort();
        rights.dedup();
        rights
    }

    /// Returns what the source says of itself.
    pub(super) fn summary(&self) -> Summary {
        // What concerns the server concerns all watches, and each says the same.
        let server = self.conditions().find_map(|it| match it {
            Condition::Unauthorized(why, retry) => {
                Some((Reason::new(Trouble::LoggedOut, Arc::clone(why)), *retry))
            }
            _ => None,
        });
        let server = server.or_else(|| {
            self.conditions().find_map(|it| match it {
                Condition::Lost(why, retry) => Some((why.clone(), *retry)),
                _ => None,
            })
        });
        if let Some((why, retry)) = server {
            let state = SourceState::Down;
            return Summary { state, why, retry: Some(retry) };
        }
        let why = self.complaints();
        let retry = self.conditions().find_map(|it| match it {
            Condition::Troubled(_, retry) => Some(*retry),
            _ => None,
        });
        let state = if self.deaf.is_some() {
            SourceState::Down
        } else if self.conditions().any(|it| *it == Condition::Starting) {
            SourceState::Connecting
        } else if self.conditions().any(|it| *it == Condition::Live) {
            SourceState::Live
        } else {
            SourceState::Down
        };
        Summary { state, why, retry }
    }

    fn complaints(&self) -> Reason {
        let mut complaints = Vec::new();
        if let Some(why) = &self.deaf {
            let text = format!("{why}; what is shown may be out of date");
            complaints.push((Trouble::PartlyUnanswered, text));
        }
        let rights = self.missing_rights();
        if !rights.is_empty() {
            let list: Vec<String> = rights.iter().map(ToString::to_string).collect();
            let text = format!(
                "no permission: needs {}: `kvtop rbac -n {}` prints the Role",
                list.join(", "),
                rights[0].namespace
            );
            let namespace = Some(Arc::clone(&rights[0].namespace));
            complaints.push((Trouble::NoPermission { namespace }, text));
        }
        for condition in self.conditions() {
            match condition {
                Condition::Missing(resource) => {
                    let text = format!("{resource} is not installed in this cluster");
                    complaints.push((Trouble::NotInstalled, text));
                }
                Condition::Troubled(why, _) => {
                    complaints.push((Trouble::PartlyUnanswered, why.to_string()));
                }
                _ => {}
            }
        }
        let empty = self.empty.clone().map(|text| (Trouble::NoDeployment, text));
        complaints.extend(empty);
        let texts: Vec<&str> = complaints.iter().map(|(_, text)| text.as_str()).collect();
        let text = texts.join("; ").into();
        let mut troubles: Vec<Trouble> = complaints.into_iter().map(|(kind, _)| kind).collect();
        troubles.extend(self.is_blind().then_some(Trouble::PodsHidden));
        troubles.sort();
        troubles.dedup();
        Reason { text, troubles }
    }
}
