//! Panics: of the UI's thread they restore the screen; of any other they become a line of text.
//!
//! Without the distinction, a task's panic would restore the screen while the UI draws on.

use std::panic::{self, PanicHookInfo};
use std::thread;

use tokio::sync::mpsc;

use super::screen;

/// Lines that wait to be told; more panics than this at once tell nothing new.
const LINES: usize = 16;

/// Sends panics of other threads here until [`uninstall`]. Call it on the UI's thread.
pub(super) fn install(lead: Option<mpsc::Sender<String>>) -> mpsc::Receiver<String> {
    let ui = thread::current().id();
    let (tell, told) = mpsc::channel(LINES);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == ui {
            screen::restore();
            before(info);
            return;
        }
        let line = describe(info);
        // When a channel is full or closed, the panics before this one have been told.
        if let Some(lead) = &lead {
            drop(lead.try_send(line.clone()));
        }
        drop(tell.try_send(line));
    }));
    told
}

/// Gives panics back to the standard hook.
pub(super) fn uninstall() {
    if !thread::panicking() {
        drop(panic::take_hook());
    }
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = message.unwrap_or("no message");
    match info.location() {
        Some(place) => format!("{message} ({}:{})", place.file(), place.line()),
        None => message.to_owned(),
    }
}
