//! A cursor over `MessagePack`, for the few types that Dynamo sends.
//!
//! Hand-written because it decodes four times as many events a second as a general deserializer
//! (docs/PERFORMANCE.md). Nothing recurses, so depth cannot overflow the stack, and no length is
//! trusted for an allocation.

/// The reason why bytes are not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    Short,
    NotUnsigned,
    NotText,
    NotBinary,
    NotArray,
    NotMap,
    Reserved,
}

impl Malformed {
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::Short => "the message ends too early",
            Self::NotUnsigned => "expected an unsigned integer",
            Self::NotText => "expected a string",
            Self::NotBinary => "expected binary data",
            Self::NotArray => "expected an array",
            Self::NotMap => "expected a map",
            Self::Reserved => "a byte that MessagePack does not use",
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(Malformed::Short)?;
        self.rest = tail;
        Ok(head)
    }

    /// Takes exactly these bytes, or nothing.
    #[inline]
    pub(super) fn expect<const N: usize>(&mut self, bytes: &[u8; N]) -> Option<()> {
        let (head, tail) = self.rest.split_first_chunk::<N>()?;
        if head != bytes {
            return None;
        }
        self.rest = tail;
        Some(())
    }

    /// Returns what comes next as rows of `N` bytes, at most `most`, and takes nothing.
    #[inline]
    pub(super) fn rows<const N: usize>(&self, most: usize) -> &'a [[u8; N]] {
        let (rows, _) = self.rest.as_chunks::<N>();
        &rows[..rows.len().min(most)]
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, tail) = self.rest.split_first().ok_or(Malformed::Short)?;
        self.rest = tail;
        Ok(*first)
    }

    #[inline]
    fn big_endian(&mut self, count: usize) -> Result<u64, Malformed> {
        if count == 8 {
            let (head, tail) = self.rest.split_first_chunk::<8>().ok_or(Malformed::Short)?;
            self.rest = tail;
            return Ok(u64::from_be_bytes(*head));
        }
        Ok(self.take(count)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn length(&mut self, count: usize) -> Result<usize, Malformed> {
        usize::try_from(self.big_endian(count)?).map_err(|_| Malformed::Short)
    }

    /// Reads an unsigned integer. A negative one is reinterpreted, as Dynamo does with the i64 hashes
    /// of some engines.
    #[inline]
    pub(super) fn unsigned(&mut self) -> Result<u64, Malformed> {
        match self.byte()? {
            0xCF | 0xD3 => self.big_endian(8),
            small @ 0x00..=0x7F => Ok(u64::from(small)),
            0xCC => self.big_endian(1),
            0xCD => self.big_endian(2),
            0xCE => self.big_endian(4),
            0xD0 => Ok(signed(self.big_endian(1)?, 8)),
            0xD1 => Ok(signed(self.big_endian(2)?, 16)),
            0xD2 => Ok(signed(self.big_endian(4)?, 32)),
            negative @ 0xE0..=0xFF => Ok(signed(u64::from(negative), 8)),
            _ => Err(Malformed::NotUnsigned),
        }
    }

    #[inline]
    pub(super) fn optional_unsigned(&mut self) -> Result<Option<u64>, Malformed> {
        if self.nil() { Ok(None) } else { self.unsigned().map(Some) }
    }

    /// Takes a nil if there is one.
    #[inline]
    pub(super) fn nil(&mut self) -> bool {
        if self.peek() == Some(0xC0) {
            self.rest = &self.rest[1..];
            return true;
        }
        false
    }

    /// Reads a string as bytes; keys are compared as bytes, other strings checked by their readers.
    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let count = match self.byte()? {
            short @ 0xA0..=0xBF => usize::from(short & 0x1F),
            0xD9 => self.length(1)?,
            0xDA => self.length(2)?,
            0xDB => self.length(4)?,
            _ => return Err(Malformed::NotText),
        };
        self.take(count)
    }

    #[inline]
    pub(super) fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        let count = match self.byte()? {
            0xC4 => self.length(1)?,
            0xC5 => self.length(2)?,
            0xC6 => self.length(4)?,
            _ => return Err(Malformed::NotBinary),
        };
        self.take(count)
    }

    #[inline]
    pub(super) fn array(&mut self) -> Result<usize, Malformed> {
        match self.byte()? {
            short @ 0x90..=0x9F => Ok(usize::from(short & 0x0F)),
            0xDC => self.length(2),
            0xDD => self.length(4),
            _ => Err(Malformed::NotArray),
        }
    }

    #[inline]
    pub(super) fn map(&mut self) -> Result<usize, Malformed> {
        match self.byte()? {
            short @ 0x80..=0x8F => Ok(usize::from(short & 0x0F)),
            0xDE => self.length(2),
            0xDF => self.length(4),
            _ => Err(Malformed::NotMap),
        }
    }

    pub(super) const fn starts_array(first: u8) -> bool {
        matches!(first, 0x90..=0x9F | 0xDC | 0xDD)
    }

    pub(super) const fn starts_text(first: u8) -> bool {
        matches!(first, 0xA0..=0xBF | 0xD9..=0xDB)
    }

    /// Passes over one value of any kind, a number or a short text in no time.
    #[inline]
    pub(super) fn pass(&mut self) -> Result<(), Malformed> {
        let bytes = match self.peek() {
            Some(0x00..=0x7F | 0xC0) => 1,
            Some(text @ 0xA0..=0xBF) => usize::from(text & 0x1F) + 1,
            Some(0xCD) => 3,
            _ => return self.skip(),
        };
        self.take(bytes).map(|_| ())
    }

    /// Passes over one value of any kind.
    pub(super) fn skip(&mut self) -> Result<(), Malformed> {
        let mut values: usize = 1;
        while values > 0 {
            values -= 1;
            let inner = self.skip_head()?;
            values = values.checked_add(inner).ok_or(Malformed::Short)?;
        }
        Ok(())
    }

    /// Passes over one value, but not over what it contains; returns how many values that is.
    fn skip_head(&mut self) -> Result<usize, Malformed> {
        let first = self.byte()?;
        let (bytes, inner) = match first {
            0x00..=0x7F | 0xC0 | 0xC2 | 0xC3 | 0xE0..=0xFF => (0, 0),
            0x80..=0x8F => (0, usize::from(first & 0x0F) * 2),
            0x90..=0x9F => (0, usize::from(first & 0x0F)),
            0xA0..=0xBF => (usize::from(first & 0x1F), 0),
            0xC4 | 0xD9 => (self.length(1)?, 0),
            0xC5 | 0xDA => (self.length(2)?, 0),
            0xC6 | 0xDB => (self.length(4)?, 0),
            0xC7 => (self.length(1)?.saturating_add(1), 0),
            0xC8 => (self.length(2)?.saturating_add(1), 0),
            0xC9 => (self.length(4)?.saturating_add(1), 0),
            0xCC | 0xD0 => (1, 0),
            0xCD | 0xD1 => (2, 0),
            0xCA | 0xCE | 0xD2 => (4, 0),
            0xCB | 0xCF | 0xD3 => (8, 0),
            0xD4..=0xD8 => ((1 << (first - 0xD4)) + 1, 0),
            0xDC => (0, self.length(2)?),
            0xDD => (0, self.length(4)?),
            0xDE => (0, self.length(2)?.saturating_mul(2)),
            0xDF => (0, self.length(4)?.saturating_mul(2)),
            0xC1 => return Err(Malformed::Reserved),
        };
        self.take(bytes)?;
        Ok(inner)
    }
}

/// Sign-extends the low `bits` of `value`, then reinterprets it as unsigned.
fn signed(value: u64, bits: u32) -> u64 {
    let shift = 64 - bits;
    ((value << shift).cast_signed() >> shift).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_are_read() {
        let cases: [(&[u8], u64); 8] = [
            (&[0x05], 5),
            (&[0xCC, 0xFF], 255),
            (&[0xCD, 0x01, 0x00], 256),
            (&[0xCE, 0x00, 0x01, 0x00, 0x00], 65_536),
            (&[0xCF, 0xFF, 0, 0, 0, 0, 0, 0, 1], 0xFF00_0000_0000_0001),
            (&[0xFF], u64::MAX),
            (&[0xD1, 0xFF, 0xFE], u64::MAX - 1),
            (&[0xD3, 0x80, 0, 0, 0, 0, 0, 0, 0], 1 << 63),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Cursor::new(bytes).unsigned(), Ok(expected), "{bytes:?}");
        }
    }

    #[test]
    fn skipping_passes_nested_values_and_stops_at_the_end_of_input() {
        let mut nested = vec![0x91; 100_000];
        nested.push(0xC0);
        nested.push(0x07);
        let mut cursor = Cursor::new(&nested);

        assert_eq!(cursor.skip(), Ok(()));
        assert_eq!(cursor.unsigned(), Ok(7));
        assert_eq!(Cursor::new(&[0xDD, 0xFF, 0xFF, 0xFF, 0xFF]).skip(), Err(Malformed::Short));
        assert_eq!(Cursor::new(&[0xDF, 0xFF, 0xFF, 0xFF, 0xFF]).skip(), Err(Malformed::Short));
    }
}
