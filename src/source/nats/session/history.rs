//! The part of a session that finds streams and reads what they hold.

use std::sync::Arc;

use futures_util::future;
use futures_util::stream::StreamExt;

use crate::clock;
use crate::source::Emitter;
use crate::source::nats::feed::{Feed, Standing};
use crate::source::nats::stream::{self, Absent, Extent, Messages, Stored, Survey};

use super::{LOOK_AGAIN, SURVEY_EVERY, SURVEY_PATIENCE, SURVEY_REFUSED, SURVEY_SOON, Session};

/// A read of what a stream holds.
pub(super) struct Reader {
    stream: String,
    /// True when only the newest messages are read, for a screen that need not wait for the rest.
    ahead: bool,
    answers: Messages,
}

impl Reader {
    /// Returns true when there is room for more answers.
    pub(super) fn has_room(&self, emitter: &Emitter) -> bool {
        if self.ahead { emitter.has_room_ahead() } else { emitter.has_room() }
    }
}

impl Session<'_> {
    pub(super) fn survey_soon(&mut self) {
        self.survey_at = self.survey_at.min(clock::now().after(SURVEY_SOON));
    }

    pub(super) fn surveyed(&mut self, survey: Survey) {
        let now = clock::now();
        self.look_at = now.after(LOOK_AGAIN);
        if !self.look {
            self.survey_at = now.after(SURVEY_EVERY);
        }
        if !matches!(survey, Survey::Failed(_)) {
            self.mute_since = None;
        }
        match survey {
            Survey::Streams { found, rtt } => {
                self.memory.status.rtt = Some(rtt);
                self.trouble.clear();
                self.found(&found);
                self.memory.status.surveyed();
            }
            Survey::None { rtt, why } => {
                self.memory.status.rtt = rtt;
                self.trouble = why.sentence().into();
                if why == Absent::Denied {
                    self.survey_at = clock::now().after(SURVEY_REFUSED);
                }
                self.memory.feeds.values_mut().for_each(Feed::absent);
                self.memory.status.surveyed();
            }
            Survey::Failed(why) => {
                self.trouble = format!("history cannot be read yet: {why}");
                self.look_at = now.after(SURVEY_SOON);
                self.survey_soon();
                let since = *self.mute_since.get_or_insert(now);
                if now.since(since) >= SURVEY_PATIENCE {
                    self.memory.feeds.values_mut().for_each(Feed::absent);
                }
            }
        }
    }

    fn found(&mut self, found: &[(Arc<str>, Extent)]) {
        let mut suspect = false;
        for (stream, extent) in found {
            let feed =
                self.memory.feeds.entry(stream.to_string()).or_insert_with(|| Feed::new(stream));
            if self.look && !feed.is_asking() {
                continue;
            }
            match feed.found(extent) {
                Standing::Suspect => suspect = true,
                Standing::Anew => {
                    self.reader.take_if(|reader| !reader.ahead && *reader.stream == **stream);
                }
                Standing::Even | Standing::Read => {}
            }
            if feed.news_of_loss() > 0 {
                self.memory.status.lost_in_stream();
            }
            if let Some(history) = feed.history().filter(|history| history.complete) {
                self.memory.status.history(history);
            }
        }
        for (stream, feed) in &mut self.memory.feeds {
            if !found.iter().any(|(known, _)| **known == **stream) {
                feed.absent();
            }
        }
        if suspect {
            self.survey_soon();
        }
        self.memory.begin_ahead();
        for feed in self.memory.feeds.values() {
            if let Some(history) = feed.history().filter(|history| !history.complete) {
                self.memory.status.history(history);
            }
        }
        self.read_on();
    }

    /// Starts to read the history of a feed that needs it, one at a time.
    fn read_on(&mut self) {
        if self.reader.is_some() {
            return;
        }
        let feeds = || self.memory.feeds.iter();
        let newest = feeds().find_map(|(key, feed)| Some((key, feed.seqs_ahead()?, true)));
        let whole = || feeds().find_map(|(key, feed)| Some((key, feed.seqs()?, false)));
        if let Some((stream, seqs, ahead)) = newest.or_else(whole) {
            let answers = stream::messages(&self.client, stream, seqs);
            self.reader = Some(Reader { stream: stream.clone(), ahead, answers });
        }
    }

    /// Takes answers to questions for the newest messages.
    fn read_ahead(&mut self, answers: Option<Vec<Result<Option<Stored>, String>>>) {
        let memory = &mut *self.memory;
        let Some(reader) = &self.reader else { return };
        let Some(feed) = memory.feeds.get_mut(&reader.stream) else { return };
        let mut done = answers.is_none();
        let now = clock::now();
        for answer in answers.into_iter().flatten() {
            match answer {
                Ok(Some(message)) => feed.stored_ahead(message, now, &memory.emitter),
                Ok(None) => {}
                // The read of the whole history meets the same trouble and tells of it.
                Err(_) => done = true,
            }
        }
        if done {
            feed.exhausted_ahead();
        }
        if done || feed.is_broken_ahead() {
            self.reader = None;
            self.read_on();
        }
    }

    pub(super) fn read(&mut self, answers: Option<Vec<Result<Option<Stored>, String>>>) {
        if self.reader.as_ref().is_some_and(|reader| reader.ahead) {
            return self.read_ahead(answers);
        }
        let memory = &mut *self.memory;
        let Some(reader) = &self.reader else { return };
        let Some(feed) = memory.feeds.get_mut(&reader.stream) else { return };
        let exhausted = answers.is_none();
        let mut anew = false;
        let now = clock::now();
        for answer in answers.into_iter().flatten() {
            match answer {
                Ok(None) => {}
                Ok(Some(message)) => anew |= feed.stored(message, now, &memory.emitter),
                Err(why) => {
                    feed.disconnected();
                    self.trouble = format!("history cannot be read yet: {why}");
                    self.reader = None;
                    return self.survey_soon();
                }
            }
            if anew {
                break;
            }
        }
        if exhausted || anew {
            if exhausted && feed.exhausted().is_some_and(|missed| missed > 0) {
                memory.status.refilled();
            }
            self.reader = None;
        }
        if feed.news_of_loss() > 0 {
            memory.status.lost_in_stream();
        }
        if let Some(history) = feed.history() {
            memory.status.history(history);
        }
        self.read_on();
    }
}

/// Returns the next answers to the questions for stored messages.
pub(super) async fn next_answers(
    reader: &mut Option<Reader>,
) -> Option<Vec<Result<Option<Stored>, String>>> {
    match reader {
        Some(reader) => reader.answers.next().await,
        None => future::pending().await,
    }
}
