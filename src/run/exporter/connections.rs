//! The open connections of the exporter, and which one makes room for the next.
//!
//! A new connection is always taken: a scrape must be answered however many clients hold connections open
//! without asking. At the limit one is closed, of the client that has most: first one that has not sent a
//! request yet, the oldest first.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;

/// Connections at once. Each holds a file handle, and a page only while it is sent.
const MOST: usize = 128;

struct Connection {
    client: IpAddr,
    /// Its request has arrived and is being answered.
    asked: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// Connections of one client at once: a scrape needs one. The others are left to the others.
const MOST_OF_ONE: usize = 64;

/// Connections in the order in which they were opened.
#[derive(Default)]
pub(super) struct Connections(Vec<Connection>);

impl Connections {
    /// Makes room for one more connection of `client`.
    pub(super) fn make_room(&mut self, client: IpAddr) {
        self.0.retain(|connection| !connection.task.is_finished());
        loop {
            let open: Vec<_> =
                self.0.iter().map(|it| (it.client, it.asked.load(Ordering::Relaxed))).collect();
            let Some(at) = one_too_many(&open, client) else { return };
            self.0.remove(at).task.abort();
        }
    }

    pub(super) fn add(&mut self, client: IpAddr, asked: Arc<AtomicBool>, task: JoinHandle<()>) {
        self.0.push(Connection { client, asked, task });
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        for connection in &self.0 {
            connection.task.abort();
        }
    }
}

/// Returns which of the open connections has to go before `client` opens another; none while there is room.
fn one_too_many(open: &[(IpAddr, bool)], client: IpAddr) -> Option<usize> {
    let own = (0..open.len()).filter(|at| open[*at].0 == client);
    if own.clone().count() >= MOST_OF_ONE {
        let silent = own.clone().find(|at| !open[*at].1);
        return silent.or_else(|| own.clone().next());
    }
    if open.len() >= MOST { least_needed(open) } else { None }
}

/// Returns which of the open connections to close: given are their clients and whether they have asked,
/// oldest first.
fn least_needed(open: &[(IpAddr, bool)]) -> Option<usize> {
    let held_by = |client| open.iter().filter(|(other, _)| *other == client).count();
    let rank = |at: usize| (!open[at].1, held_by(open[at].0));
    // The first of the best: `max_by_key` would take the last.
    (0..open.len()).rev().max_by_key(|at| rank(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_at_its_limit_loses_a_connection_of_its_own() {
        let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut open = vec![(b, true), (a, true)];
        open.resize(MOST_OF_ONE + 1, (a, false));
        assert_eq!(one_too_many(&open, a), Some(2));
        assert_eq!(one_too_many(&open, b), None);
        open.resize(MOST, (IpAddr::from([10, 0, 0, 3]), true));
        assert_eq!(one_too_many(&open, b), Some(2));
    }

    /// Clients of open connections, and whether they have asked.
    type Open<'a> = &'a [(IpAddr, bool)];

    #[test]
    fn the_oldest_silent_connection_of_the_greediest_client_is_closed_first() {
        let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let table: [(Open<'_>, Option<usize>); 6] = [
            (&[], None),
            (&[(a, false), (a, false)], Some(0)),
            (&[(a, true), (a, false)], Some(1)),
            (&[(b, false), (a, false), (a, false)], Some(1)),
            (&[(a, true), (a, true), (b, false)], Some(2)),
            (&[(b, true), (a, true), (a, true)], Some(1)),
        ];
        for (open, expected) in table {
            assert_eq!(least_needed(open), expected, "{open:?}");
        }
    }
}
