//! The signals that end or suspend the UI.

use std::io;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
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
