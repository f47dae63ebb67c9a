//! A writer of the part of MessagePack that Dynamo uses.

/// MessagePack being written. Numbers take their shortest form, as rmp-serde writes them.
#[derive(Debug, Default)]
pub(in crate::wire) struct Pack {
    bytes: Vec<u8>,
}

impl Pack {
    /// Returns what was written.
    pub(in crate::wire) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Opens a map of `entries` keys and values.
    pub(in crate::wire) fn map(&mut self, entries: usize) -> &mut Self {
        self.head(entries, Some((0x80, 16)), [None, Some(0xde), Some(0xdf)])
    }

    /// Opens an array of `items`.
    pub(in crate::wire) fn array(&mut self, items: usize) -> &mut Self {
        self.head(items, Some((0x90, 16)), [None, Some(0xdc), Some(0xdd)])
    }

    /// Writes a string.
    pub(in crate::wire) fn str(&mut self, text: &str) -> &mut Self {
        self.head(text.len(), Some((0xa0, 32)), [Some(0xd9), Some(0xda), Some(0xdb)]);
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Writes binary data.
    pub(in crate::wire) fn bin(&mut self, data: &[u8]) -> &mut Self {
        self.head(data.len(), None, [Some(0xc4), Some(0xc5), Some(0xc6)]);
        self.bytes.extend_from_slice(data);
        self
    }

    /// Writes nothing, as a value.
    pub(in crate::wire) fn nil(&mut self) -> &mut Self {
        self.bytes.push(0xc0);
        self
    }

    /// Writes a number.
    pub(in crate::wire) fn uint(&mut self, value: u64) -> &mut Self {
        let wide = value.to_be_bytes();
        match value {
            0..=0x7f => self.bytes.push(wide[7]),
            0x80..=0xff => self.tagged(0xcc, &wide[7..]),
            0x100..=0xffff => self.tagged(0xcd, &wide[6..]),
            0x1_0000..=0xffff_ffff => self.tagged(0xce, &wide[4..]),
            _ => self.tagged(0xcf, &wide),
        }
        self
    }

    /// Writes a number, or nothing.
    pub(in crate::wire) fn maybe(&mut self, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.uint(value),
            None => self.nil(),
        }
    }

    fn tagged(&mut self, tag: u8, data: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend_from_slice(data);
    }

    /// Writes the length of something: packed into a tag below a limit, otherwise behind the first
    /// of the 8, 16 and 32 bit tags that exists and suffices.
    fn head(
        &mut self,
        length: usize,
        packed: Option<(u8, usize)>,
        tags: [Option<u8>; 3],
    ) -> &mut Self {
        // A length beyond 32 bits cannot be written; nothing in the simulator comes near.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let wide = length.to_be_bytes();
        match (packed, tags) {
            (Some((base, limit)), _) if (length as usize) < limit => {
                self.bytes.push(base | wide[3]);
            }
            (_, [Some(tag), ..]) if length <= 0xff => self.tagged(tag, &wide[3..]),
            (_, [_, Some(tag), _]) if length <= 0xffff => self.tagged(tag, &wide[2..]),
            (_, [.., Some(tag)]) => self.tagged(tag, &wide),
            (_, [.., None]) => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Pack;

    #[test]
    fn lengths_and_numbers_take_their_shortest_form() {
        type Write = fn(&mut Pack) -> &mut Pack;
        let rows: [(Write, &[u8]); 8] = [
            (|pack| pack.uint(127).uint(128), &[0x7f, 0xcc, 0x80]),
            (|pack| pack.uint(256), &[0xcd, 1, 0]),
            (|pack| pack.uint(65_536), &[0xce, 0, 1, 0, 0]),
            (|pack| pack.uint(1 << 32), &[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]),
            (|pack| pack.map(15).map(16), &[0x8f, 0xde, 0, 16]),
            (|pack| pack.array(15).array(16), &[0x9f, 0xdc, 0, 16]),
            (|pack| pack.bin(&[7]), &[0xc4, 1, 7]),
            (|pack| pack.str("ab").nil(), &[0xa2, b'a', b'b', 0xc0]),
        ];

        for (write, bytes) in rows {
            let mut pack = Pack::default();
            write(&mut pack);

            assert_eq!(pack.into_bytes(), bytes);
        }
    }
}
