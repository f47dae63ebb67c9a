//! Takes the messages that wait in a channel.

use futures_util::future::FutureExt;
use futures_util::stream::{Stream, StreamExt};
use tokio::task::unconstrained;

/// Returns what waits in `channel`.
///
/// Unconstrained, since tokio calls every channel empty to a task that took 128 messages in one turn.
pub(super) fn arrived<S: Stream + Unpin>(channel: &mut S) -> Option<S::Item> {
    unconstrained(channel.next()).now_or_never().flatten()
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn everything_that_waits_is_taken_in_one_turn() {
        let (sender, mut receiver) = mpsc::channel(4096);
        for number in 0..3000 {
            sender.try_send(number).unwrap();
        }
        let channel = stream::poll_fn(move |context| receiver.poll_recv(context));
        let mut channel = channel.ready_chunks(1024);
        let mut taken = 0;
        while let Some(chunk) = arrived(&mut channel) {
            taken += chunk.len();
        }
        assert_eq!(taken, 3000);
    }
}
