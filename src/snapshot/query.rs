//! Questions of a front end, and the answers beside the snapshot.

use std::time::Duration;

use super::{EventDetail, LogLine, RoutingDetail, TreePage, TreeQuery, WorkerDetail};
use crate::domain::{Timestamp, WorkerRank};

/// The data that a front end needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewQuery {
    /// The time graphs cover.
    pub window: Duration,
    /// The end of graphs, those of an answer too; none for now.
    pub until: Option<Timestamp>,
    /// A moment to compare with: the picture then has what users felt at it.
    pub compare: Option<Timestamp>,
    /// Points of each graph.
    pub points: usize,
    /// Events wanted at most.
    pub events: usize,
    /// Decisions wanted at most.
    pub decisions: usize,
    /// True where a picture should hold its hottest prefixes, for later when its tree is gone.
    pub prefixes: bool,
    /// Blocks to look at for answers from state, at most; 0 where none are wanted.
    pub foresight: usize,
    /// The question of the visible view, so that a snapshot costs only what the screen shows.
    pub ask: Ask,
}

impl Default for ViewQuery {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(300),
            until: None,
            compare: None,
            points: 300,
            events: 200,
            decisions: 50,
            prefixes: false,
            foresight: 0,
            ask: Ask::Nothing,
        }
    }
}

/// A question of the visible view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ask {
    /// Nothing.
    #[default]
    Nothing,
    /// Everything about one rank of a worker.
    Worker(WorkerRank),
    /// A page of the tree.
    Tree(Box<TreeQuery>),
    /// The shares of requests by worker, and the decision of this number.
    Routing(Option<u64>),
    /// The event of this number, with its frame.
    Event(u64),
    /// The log lines behind the last events.
    Lines,
}

/// An answer of the engine. It may belong to an earlier question: compare the subjects.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Answer {
    /// Nothing was asked, or there is nothing to say.
    #[default]
    Nothing,
    /// About one rank of a worker.
    Worker(Box<WorkerDetail>),
    /// About routing.
    Routing(Box<RoutingDetail>),
    /// About one event.
    Event(Box<EventDetail>),
    /// Log lines, in the order of their events.
    Lines(Vec<LogLine>),
    /// A page of the tree.
    Tree(Box<TreePage>),
}

impl Answer {
    /// Returns true while another picture for the same query would tell more.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Self::Tree(page) if page.unfinished)
    }
}
