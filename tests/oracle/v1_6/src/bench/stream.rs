//! The file between the generator and what is measured.
//!
//! Written once, so that every implementation reads the same stream and none shares its memory with the
//! generator.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use kvtop::domain::{Block, SequenceHash, TokensHash};

/// One event of the stream.
pub enum Event {
    Stored {
        worker: u32,
        parent: Option<u64>,
        blocks: Vec<Block>,
    },
    Removed {
        worker: u32,
        hashes: Vec<SequenceHash>,
    },
    /// The caches are full; from here on nearly every store evicts.
    Full,
    /// A prompt to look up at the end.
    Query(Vec<TokensHash>),
}

/// Writes one event.
pub fn put(out: &mut impl Write, event: &Event) -> io::Result<()> {
    let head = |out: &mut dyn Write, kind: u8, worker: u32, count: usize| {
        out.write_all(&[kind])?;
        out.write_all(&worker.to_le_bytes())?;
        out.write_all(&(count as u32).to_le_bytes())
    };
    match event {
        Event::Stored { worker, parent, blocks } => {
            head(out, u8::from(parent.is_some()), *worker, blocks.len())?;
            if let Some(parent) = parent {
                out.write_all(&parent.to_le_bytes())?;
            }
            for block in blocks {
                out.write_all(&block.sequence.0.to_le_bytes())?;
                out.write_all(&block.tokens.0.to_le_bytes())?;
            }
        }
        Event::Removed { worker, hashes } => {
            head(out, 2, *worker, hashes.len())?;
            for hash in hashes {
                out.write_all(&hash.0.to_le_bytes())?;
            }
        }
        Event::Full => head(out, 3, 0, 0)?,
        Event::Query(tokens) => {
            head(out, 4, 0, tokens.len())?;
            for hash in tokens {
                out.write_all(&hash.0.to_le_bytes())?;
            }
        }
    }
    Ok(())
}

/// Reads a stream back.
pub struct Stream(BufReader<std::fs::File>);

impl Stream {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::with_capacity(1 << 20, std::fs::File::open(path)?)))
    }

    fn word(&mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

impl Iterator for Stream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let worker = u32::from_le_bytes(head[1..5].try_into().ok()?);
        let count = u32::from_le_bytes(head[5..9].try_into().ok()?) as usize;
        Some(match head[0] {
            kind @ (0 | 1) => {
                let parent = if kind == 1 { Some(self.word()?) } else { None };
                let mut blocks = Vec::with_capacity(count);
                for _ in 0..count {
                    let (sequence, tokens) = (SequenceHash(self.word()?), TokensHash(self.word()?));
                    blocks.push(Block { sequence, tokens });
                }
                Event::Stored { worker, parent, blocks }
            }
            2 => Event::Removed {
                worker,
                hashes: (0..count).map_while(|_| self.word().map(SequenceHash)).collect(),
            },
            3 => Event::Full,
            _ => Event::Query((0..count).map_while(|_| self.word().map(TokensHash)).collect()),
        })
    }
}
