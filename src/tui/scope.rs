//! The scope that is watched: requests of the UI, and the replies to them.

use std::time::Duration;

use crate::domain::Timestamp;
use crate::snapshot::MemberId;

/// A scope to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// This graph deployment of the namespace; none for all of them.
    Graph(Option<String>),
    /// Whichever namespace is picked of those that there are.
    Namespaces,
    /// This namespace.
    Namespace(String),
    /// Whichever context is picked of those of the kubeconfig.
    Contexts,
    /// This context.
    Context(String),
    /// This deployment of the fleet.
    Member(MemberId),
    /// The fleet that the deployment was picked from.
    Fleet,
    /// This moment of the fleet's past; none for now.
    Moment(Option<Timestamp>),
    /// As much of the fleet's past.
    Span(Duration),
}

/// The kind of a list or of a typed name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Graph deployments of a namespace.
    Graph,
    /// Namespaces of a cluster.
    Namespace,
    /// Contexts of the kubeconfig.
    Context,
}

impl Scope {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Graph, Self::Namespace, Self::Context];

    /// Returns its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Graph => "dgd",
            Self::Namespace => "ns",
            Self::Context => "ctx",
        }
    }

    /// Returns what there are several of.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Graph => "graph deployments",
            Self::Namespace => "namespaces",
            Self::Context => "contexts",
        }
    }
}

/// Notices of the program to the UI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A sentence for the footer.
    Say {
        /// The sentence.
        text: String,
        /// True when something that was asked for cannot be.
        grave: bool,
    },
    /// Names to pick one of.
    Offer {
        /// Their kind.
        scope: Scope,
        /// Each with what it means.
        names: Vec<(String, String)>,
        /// The one that is looked at.
        now: Option<String>,
        /// A remark on them; empty when there is none.
        note: String,
    },
    /// Names that nobody tells: one is to be typed.
    Type {
        /// Its kind.
        scope: Scope,
        /// The reason why they are not known.
        why: String,
    },
    /// From now on pictures are of something else in the same namespace, of which nothing is known yet.
    Anew,
    /// From now on they are of another namespace.
    Elsewhere {
        /// The text to show.
        text: String,
        /// The colour that marks its context.
        mark: Option<String>,
    },
}
