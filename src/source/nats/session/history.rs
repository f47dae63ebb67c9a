//! The part of a session that finds streams and reads what they hold.

use std::sync::Arc;

use futures_util::future;
use futures_util::stream::StreamExt;

use crate::clock;
use crate::source::nats::feed::{Feed, Standing};
use crate::source::nats::stream::{self, Absent, Extent, Messages, Stored, Survey};

use super::{LOOK_AGAIN, SURVEY_EVERY, SURVEY_PATIENCE, SURVEY_REFUSED, SURVEY_SOON, Session};

/// The feed whose history is being read, and the answers.
pub(super) type Reader = (String, Messages);

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
                    self.reader.take_if(|(key, _)| *key == **stream);
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
        let next = self.memory.feeds.iter().find_map(|(key, feed)| Some((key, feed.seqs()?)));
        if let Some((key, seqs)) = next {
            self.reader = Some((key.clone(), stream::messages(&self.client, key, seqs)));
        }
    }

    pub(super) fn read(&mut self, answers: Option<Vec<Result<Option<Stored>, String>>>) {
        let memory = &mut *self.memory;
        let Some(feed) = self.reader.as_ref().and_then(|(key, _)| memory.feeds.get_mut(key)) else {
            return;
        };
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
        Some((_, messages)) => messages.next().await,
        None => future::pending().await,
    }
}
