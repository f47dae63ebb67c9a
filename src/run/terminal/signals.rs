//! The signals that end or suspend the UI.

use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::{Exit, screen};

/// Time for the UI to end by itself.
const END_WITHIN: Duration = Duration::from_millis(1500);

/// Time for a terminal that takes nothing to take the sequence that restores it.
const RESTORE_WITHIN: Duration = Duration::from_millis(300);

/// Ends the process soon after a signal, should the UI not do it: a terminal that blocks holds up
/// whoever draws. Dropping it ends the watch.
#[derive(Debug)]
pub(super) struct Watch(AbortHandle);

impl Watch {
    /// Starts to watch, in a task of its own.
    pub(super) fn start() -> io::Result<Self> {
        let mut signals = Signals::listen()?;
        let task = tokio::spawn(async move {
            let number = loop {
                if let Caught::End(number) = signals.next().await {
                    break number;
                }
            };
            sleep(END_WITHIN).await;
            // Whoever draws may hold the output for good, so nobody waits for this thread.
            drop(thread::spawn(screen::restore));
            sleep(RESTORE_WITHIN).await;
            screen::cook();
            end(Exit::Signal(number).code());
        });
        Ok(Self(task.abort_handle()))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[expect(clippy::exit, reason = "the main thread cannot return")]
fn end(code: u8) {
    std::process::exit(i32::from(code));
}

/// Starts to listen for the signal that continues a stopped process.
pub(super) fn continued() -> io::Result<Signal> {
    signal(SignalKind::from_raw(Number::CONT.as_raw()))
}

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caught {
    /// Leave, because of this signal.
    End(i32),
    /// Stop until continued.
    Stop,
}

/// The signals, waited for together.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    stop: Signal,
}

impl Signals {
    /// Starts to listen.
    pub(super) fn listen() -> io::Result<Self> {
        let of = |number: Number| signal(SignalKind::from_raw(number.as_raw()));
        Ok(Self {
            terminate: of(Number::TERM)?,
            hang_up: of(Number::HUP)?,
            interrupt: of(Number::INT)?,
            stop: of(Number::TSTP)?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Caught {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Caught::End(Number::TERM.as_raw()),
            _ = self.hang_up.recv() => Caught::End(Number::HUP.as_raw()),
            _ = self.interrupt.recv() => Caught::End(Number::INT.as_raw()),
            _ = self.stop.recv() => Caught::Stop,
        }
    }
}
