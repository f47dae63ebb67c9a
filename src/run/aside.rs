//! A thread of its own for the engine, which makes way for those that read sockets.
//!
//! A publisher waits for its slowest subscriber: whatever kvtop makes of events comes second to taking them off the
//! socket. Where processors are scarce the engine then falls behind and frames are dropped and counted.

use std::future::Future;
use std::io;
use std::sync::mpsc::{self, SyncSender};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::STACK;

/// The priority of the thread, from 0 as usual to 19.
#[cfg(target_os = "linux")]
pub(super) const NICENESS: i32 = 10;

/// A future at work on a thread of its own. Dropping this ends it at its next pause.
pub(super) struct Aside {
    stop: Option<oneshot::Sender<()>>,
    ended: oneshot::Receiver<()>,
}

impl Aside {
    /// Runs `work` on a thread called `name`; as a task of the runtime where there can be no other thread. Must be
    /// called within a runtime.
    pub(super) fn run(name: &str, work: impl Future<Output = ()> + Send + 'static) -> Self {
        let (stop, mut stopped) = oneshot::channel::<()>();
        let (end, ended) = oneshot::channel::<()>();
        let work = async move {
            tokio::select! {
                () = work => {}
                // An error is the end of whoever could stop it.
                _ = &mut stopped => {}
            }
            drop(end);
        };
        match thread(name) {
            Ok(thread) => drop(thread.send(work)),
            Err(_) => drop(tokio::spawn(work)),
        }
        Self { stop: Some(stop), ended }
    }

    /// Waits until it ends by itself.
    pub(super) async fn ended(&mut self) {
        // It ends without a word.
        drop((&mut self.ended).await);
    }

    /// Stops it, and waits until it has.
    pub(super) async fn stop(&mut self) {
        self.stop = None;
        self.ended().await;
    }
}

/// Starts a thread that works on what it is sent; it gives that to the present runtime when it cannot have its own.
fn thread<F: Future<Output = ()> + Send + 'static>(name: &str) -> io::Result<SyncSender<F>> {
    let (sender, sent) = mpsc::sync_channel::<F>(1);
    let present = Handle::current();
    std::thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(move || {
        let Ok(work) = sent.recv() else { return };
        let Ok(runtime) = Builder::new_current_thread().enable_time().build() else {
            present.spawn(work);
            return;
        };
        #[cfg(target_os = "linux")]
        rustix::process::setpriority_process(None, NICENESS).unwrap_or_default();
        runtime.block_on(work);
    })?;
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Tells whether the future that holds it is there.
    struct Guard(Arc<AtomicBool>);

    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn it_ends_by_itself_when_it_is_stopped_and_when_it_panics() {
        let mut done = Aside::run("done", async {});
        done.ended().await;
        let mut lost = Aside::run("lost", async { panic!("for a test") });
        lost.ended().await;

        let goes_on = Arc::new(AtomicBool::new(true));
        let guard = Guard(Arc::clone(&goes_on));
        let mut endless = Aside::run("endless", async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        endless.stop().await;
        assert!(!goes_on.load(Ordering::SeqCst), "nothing of it is left");
    }
}
