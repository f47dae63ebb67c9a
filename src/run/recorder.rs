//! Recording beside everything else: a thread of its own writes, and nobody waits for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::Instant;

use crate::frame::Frame;
use crate::record::{Header, RecordError, RecordWriter};

/// Room for about two seconds of events at 10 000 a second; a slower disk loses frames, counted.
const QUEUE: usize = 20_000;

/// The longest time that a written frame stays in memory.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A recording in progress.
pub(super) struct Recorder {
    frames: SyncSender<Frame>,
    thread: JoinHandle<Result<u64, RecordError>>,
    dropped: u64,
}

impl Recorder {
    /// Creates the file and starts to write.
    pub(super) fn start(path: &Path, header: &Header) -> Result<Self, RecordError> {
        let writer = RecordWriter::create(path, header)?;
        let (frames, queue) = sync_channel(QUEUE);
        let thread = std::thread::spawn(move || write(writer, &queue));
        Ok(Self { frames, thread, dropped: 0 })
    }

    /// Passes `frame` on. Returns false when the writer has stopped.
    pub(super) fn record(&mut self, frame: &Frame) -> bool {
        match self.frames.try_send(frame.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.dropped += 1;
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    /// Returns how many frames were not written because the disk was too slow.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Ends the file and returns how many frames it has.
    pub(super) fn finish(self) -> Result<u64, RecordError> {
        drop(self.frames);
        // A writer that panicked has written nothing more; its frames are lost with it.
        self.thread.join().unwrap_or(Ok(0))
    }
}

fn write(mut writer: RecordWriter, queue: &Receiver<Frame>) -> Result<u64, RecordError> {
    use std::sync::mpsc::RecvTimeoutError;
    let mut unflushed = false;
    let mut flushed = Instant::now();
    loop {
        match queue.recv_timeout(FLUSH_EVERY) {
            Ok(frame) => {
                writer.write(&frame)?;
                unflushed = true;
                // Without a pause between frames as well.
                if flushed.elapsed() >= FLUSH_EVERY {
                    writer.flush()?;
                    (unflushed, flushed) = (false, Instant::now());
                }
            }
            Err(RecvTimeoutError::Timeout) if unflushed => {
                writer.flush()?;
                (unflushed, flushed) = (false, Instant::now());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let frames = writer.frames();
                writer.finish()?;
                return Ok(frames);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::frame::Origin;

    #[test]
    fn frames_reach_the_disk_while_more_keep_coming() {
        let name = format!("kvtop-recorder-{}.frames", std::process::id());
        let path = std::env::temp_dir().join(name);
        drop(std::fs::remove_file(&path));
        let mut recorder = Recorder::start(&path, &Header::default()).unwrap();
        let header = std::fs::metadata(&path).unwrap().len();
        let frame = Frame::new(Timestamp(1), Origin::log("", "frontend"), "hello");

        let start = Instant::now();
        while start.elapsed() < FLUSH_EVERY + Duration::from_millis(500) {
            assert!(recorder.record(&frame));
            std::thread::sleep(Duration::from_millis(20));
        }
        let written = std::fs::metadata(&path).unwrap().len();
        recorder.finish().unwrap();
        std::fs::remove_file(&path).unwrap();

        assert!(header > 0 && written > header, "{header} {written}");
    }
}
