//! The lines of a streamed answer.

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;

use super::refusal::{Refusal, clip};

/// The longest line that is read: etcd takes objects of 1.5 MiB unless told otherwise.
const LONGEST: usize = 16 << 20;

/// A body that is read line by line.
pub(super) struct Lines {
    body: Body,
    read: BytesMut,
    /// Bytes at the start of `read` that hold no newline.
    searched: usize,
}

impl Lines {
    pub(super) fn new(body: Body) -> Self {
        Self { body, read: BytesMut::new(), searched: 0 }
    }

    /// Returns the next line without its newline, none at the proper end of the body. Nothing is
    /// lost when it is dropped before it is ready.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        loop {
            if let Some(at) = self.read[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.read.split_to(self.searched + at).freeze();
                self.read.advance(1);
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.read.len();
            if self.searched > LONGEST {
                return Err(Refusal::Unreadable(format!("a line of more than {LONGEST} bytes")));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.read.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err(Refusal::Cut(clip(&error.to_string()))),
                // What is left without a newline was cut.
                None => return Ok(None),
            }
        }
    }
}
