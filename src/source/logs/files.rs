//! Logs in files that grow, and on standard input: `--logs` beside a live source.
//!
//! A thread reads each file, since reading standard input cannot be given up; it ends when nobody listens. A
//! file that was truncated or replaced is read from its start again.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::NAME;
use super::lines::Splitter;
use super::saved::{PACKED, Taken};
use super::text::{LogText, Sieve};
use crate::clock;
use crate::domain::{SourceState, Timestamp};
use crate::frame::{Frame, Origin};
use crate::source::notes::{Notes, how_many};
use crate::source::{Desired, Emitter, SourceHandle};

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Chunks of all files that wait to be taken in.
const WAITING: usize = 16;

/// Time between two looks at a file that was read to its end.
const PERIOD: Duration = Duration::from_millis(200);

/// Time until a file that cannot be opened is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// A log that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The pod of lines that do not name theirs.
    pub name: Arc<str>,
    /// The file; none for standard input.
    pub path: Option<PathBuf>,
}

/// Starts to follow `files`; of each line, `text` is kept. Must be called within a runtime.
pub fn follow_files(files: Vec<LogFile>, text: LogText, emitter: Emitter) -> SourceHandle {
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let (sender, heard) = mpsc::channel(WAITING);
    let mut logs = Vec::with_capacity(files.len());
    for (place, file) in files.into_iter().enumerate() {
        logs.push(Log::new(&file, text));
        let told = Told { place, sender: sender.clone() };
        let begun = thread::Builder::new()
            .name(format!("log-{place}"))
            .spawn(move || read(file.path.as_deref(), &told));
        if let Err(error) = begun {
            logs[place].standing = Standing::Failed(error.to_string());
        }
    }
    let notes = Notes::new(NAME, emitter.clone(), shown);
    let task = tokio::spawn(Follower { logs, heard, wanted, notes, emitter }.run());
    SourceHandle { name: NAME, desired, state, task }
}

/// News of a file.
enum News {
    Chunk(Bytes),
    /// Everything was read that is there now.
    Level,
    /// It begins again: truncated, or another file of that name.
    Anew,
    Failed(String),
    Ended,
}

/// The channel by which a thread tells of its file.
struct Told {
    place: usize,
    sender: mpsc::Sender<(usize, News)>,
}

impl Told {
    /// Waits until the news are taken. Returns false when nobody listens.
    fn tell(&self, news: News) -> bool {
        self.sender.blocking_send((self.place, news)).is_ok()
    }
}

/// Reads until nobody listens.
fn read(path: Option<&Path>, told: &Told) {
    let Some(path) = path else {
        let end = match pass_on(&mut io::stdin(), told) {
            Ok(Passed::Unheard) => return,
            Ok(Passed::End) => News::Ended,
            Err(error) => News::Failed(error.to_string()),
        };
        told.tell(end);
        return;
    };
    loop {
        let news = match tail(path, told) {
            Ok(Passed::Unheard) => return,
            Ok(Passed::End) => News::Anew,
            Err(error) => News::Failed(format!("{}: {error}", path.display())),
        };
        let failed = matches!(news, News::Failed(_));
        if !told.tell(news) {
            return;
        }
        if failed {
            thread::sleep(RETRY);
        }
    }
}

/// The reason why reading ended.
enum Passed {
    End,
    Unheard,
}

fn pass_on(input: &mut impl Read, told: &Told) -> io::Result<Passed> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if count == 0 {
            return Ok(Passed::End);
        }
        if !told.tell(News::Chunk(Bytes::copy_from_slice(&chunk[..count]))) {
            return Ok(Passed::Unheard);
        }
    }
}

/// Follows a file until it is truncated or replaced.
fn tail(path: &Path, told: &Told) -> io::Result<Passed> {
    let mut file = File::open(path)?;
    loop {
        if matches!(pass_on(&mut file, told)?, Passed::Unheard) || !told.tell(News::Level) {
            return Ok(Passed::Unheard);
        }
        loop {
            thread::sleep(PERIOD);
            if told.sender.is_closed() {
                return Ok(Passed::Unheard);
            }
            let open = file.metadata()?;
            // A rotated log is away for a moment.
            let there = std::fs::metadata(path);
            let replaced = there.is_ok_and(|it| (it.dev(), it.ino()) != (open.dev(), open.ino()));
            let read = io::Seek::stream_position(&mut file)?;
            match open.len() {
                length if length > read => break,
                length if length < read || replaced => return Ok(Passed::End),
                _ => {}
            }
        }
    }
}

/// The state of a file.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Reading,
    Level,
    Ended,
    /// It cannot be read at the moment, and is tried again.
    Failed(String),
    /// It is compressed, which is not read.
    Packed(String),
}

struct Log {
    name: Arc<str>,
    splitter: Splitter,
    sieve: Sieve,
    standing: Standing,
    begun: bool,
    origin: Option<Origin>,
}

impl Log {
    fn new(file: &LogFile, text: LogText) -> Self {
        Self {
            name: Arc::clone(&file.name),
            splitter: Splitter::default(),
            sieve: Sieve::new(text),
            standing: Standing::Reading,
            begun: false,
            origin: None,
        }
    }

    fn frame(&mut self, line: &Bytes, now: Timestamp) -> Frame {
        let taken = Taken::apart(line);
        let origin = Taken::origin(taken.of, &self.name, &mut self.origin);
        let text = self.sieve.kept(&taken.text);
        Frame { time: taken.time.map(|time| time.min(now)), ..Frame::new(now, origin, text) }
    }
}

struct Follower {
    logs: Vec<Log>,
    heard: mpsc::Receiver<(usize, News)>,
    wanted: watch::Receiver<Desired>,
    notes: Notes,
    emitter: Emitter,
}

impl Follower {
    async fn run(mut self) {
        let mut told = self.wanted.clone();
        while self.notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            match wanted {
                Desired::Stopped => break,
                Desired::Suspended => {
                    self.notes.set(SourceState::Suspended, "", None);
                    self.notes.tell_at_once();
                    if told.changed().await.is_err() {
                        break;
                    }
                    continue;
                }
                Desired::Running => {}
            }
            let pause = self.notes.next();
            tokio::select! {
                news = self.heard.recv() => match news {
                    Some((place, news)) => if !self.take(place, news).await { break },
                    // Every file ended: nothing is left but to say so.
                    None => _ = told.changed().await,
                },
                _ = told.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
            self.tell();
        }
        self.notes.ended();
    }

    /// Takes news in. Returns false when nobody receives frames any more.
    async fn take(&mut self, place: usize, news: News) -> bool {
        let Some(log) = self.logs.get_mut(place) else { return true };
        let lines = match news {
            News::Chunk(chunk) => {
                let packed = PACKED.iter().any(|magic| chunk.starts_with(magic));
                if !std::mem::replace(&mut log.begun, true) && packed {
                    log.standing = Standing::Packed(format!("{} is compressed", log.name));
                }
                match log.standing {
                    Standing::Packed(_) => return true,
                    Standing::Failed(_) => log.standing = Standing::Reading,
                    Standing::Reading | Standing::Level | Standing::Ended => {}
                }
                log.splitter.push(&chunk)
            }
            News::Level => {
                if !matches!(log.standing, Standing::Packed(_)) {
                    log.standing = Standing::Level;
                }
                return true;
            }
            News::Anew => {
                log.standing = Standing::Reading;
                log.begun = false;
                log.splitter.finish().into_iter().collect()
            }
            News::Failed(why) => {
                // It is read from its begin once it can be.
                log.standing = Standing::Failed(why);
                log.begun = false;
                log.splitter = Splitter::default();
                return true;
            }
            News::Ended => {
                log.standing = Standing::Ended;
                log.splitter.finish().into_iter().collect()
            }
        };
        for line in &lines {
            let frame = log.frame(line, clock::now());
            // A file waits, so nothing needs to be dropped.
            if !self.emitter.room().await || !self.emitter.emit_if_room(frame) {
                return false;
            }
        }
        true
    }

    fn tell(&mut self) {
        let failed = |log: &Log| match &log.standing {
            Standing::Failed(why) | Standing::Packed(why) => Some(why.clone()),
            Standing::Reading | Standing::Level | Standing::Ended => None,
        };
        let reasons: Vec<String> = self.logs.iter().filter_map(failed).collect();
        let of = self.logs.len();
        let all = |standing: &Standing| self.logs.iter().all(|log| log.standing == *standing);
        let state = if all(&Standing::Ended) {
            SourceState::Ended
        } else if reasons.len() == of {
            SourceState::Down
        } else if self.logs.iter().any(|log| log.standing == Standing::Reading) {
            SourceState::Connecting
        } else {
            SourceState::Live
        };
        let why = if reasons.is_empty() {
            String::new()
        } else {
            how_many(of - reasons.len(), of, "files read", &reasons)
        };
        self.notes.set(state, &why, None);
        self.notes.pending(state == SourceState::Connecting);
        self.notes.tell();
    }
}
