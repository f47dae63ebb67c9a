//! Gathering of arrivals over all connections of the source.
//!
//! All connections share one thread. At high rates it would be woken for each packet of each connection. Instead, once
//! every connection that has something was read, the thread sleeps for a moment, and more gathers in the sockets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::source::Pace;

/// Counts what connections take, and lets the thread sleep in between.
#[derive(Debug, Default)]
pub(super) struct Gather {
    taken: AtomicUsize,
    more: Notify,
}

impl Gather {
    /// Notes that a connection took `count` messages.
    pub(super) fn took(&self, count: usize) {
        if count > 0 {
            self.taken.fetch_add(count, Ordering::Relaxed);
            // The task behind this is queued behind the connections that wait for their turn.
            self.more.notify_one();
        }
    }

    /// Calls `sleep` whenever arrivals may gather, which stops the thread and thereby all connections.
    pub(super) async fn run(&self, mut sleep: impl FnMut(Duration)) {
        let started = Instant::now();
        let mut pace = Pace::default();
        loop {
            self.more.notified().await;
            // Several notes of one round may wake this twice.
            let taken = self.taken.swap(0, Ordering::Relaxed);
            if taken == 0 {
                continue;
            }
            if let Some(pause) = pace.taken(taken, started.elapsed()) {
                sleep(pause);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::sync::watch;

    use super::*;

    const CONNECTIONS: usize = 16;

    /// Lets something arrive on all connections `rounds` times, `gap` apart. Returns in what order they took it, with
    /// none for each sleep.
    async fn order(rounds: u32, gap: Duration) -> Vec<Option<usize>> {
        let log: Arc<Mutex<Vec<Option<usize>>>> = Arc::default();
        let gather: Arc<Gather> = Arc::default();
        let (arrive, arrived) = watch::channel(0);
        for number in 0..CONNECTIONS {
            let (mut arrived, log, gather) = (arrived.clone(), log.clone(), gather.clone());
            tokio::spawn(async move {
                while arrived.changed().await.is_ok() {
                    log.lock().unwrap().push(Some(number));
                    gather.took(1);
                }
            });
        }
        let slept = log.clone();
        tokio::spawn(async move { gather.run(|_| slept.lock().unwrap().push(None)).await });
        for round in 1..=rounds {
            tokio::time::sleep(gap).await;
            arrive.send(round).unwrap();
        }
        tokio::time::sleep(gap).await;
        log.lock().unwrap().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn the_thread_sleeps_once_after_all_connections_were_read() {
        let order = order(100, Duration::from_millis(12)).await;
        // The first rounds only show how fast messages come.
        let busy = &order[order.len() - 20 * (CONNECTIONS + 1)..];
        for round in busy.chunks(CONNECTIONS + 1) {
            let (last, read) = round.split_last().unwrap();
            assert!(last.is_none() && read.iter().all(Option::is_some), "{round:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn single_messages_are_taken_at_once() {
        let order = order(20, Duration::from_secs(1)).await;
        assert!(order.iter().all(Option::is_some));
    }
}
