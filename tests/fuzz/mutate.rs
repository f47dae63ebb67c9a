//! A deterministic mutator: inputs that are nearly right reach further into decoders than noise does.

/// xorshift64*: small, fast, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `bound`; 0 for 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Words that decoders treat in a way of their own.
const WORDS: [&[u8]; 48] = [
    b"\"",
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":",
    b":",
    b",",
    b": ",
    b"\n",
    b"\r\n",
    b"\0",
    b"null",
    b"true",
    b"0",
    b"-1",
    b"1e309",
    b"-0.0",
    b"NaN",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"4294967296",
    b"\x1b[31m",
    "\u{202e}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{feff}".as_bytes(),
    "\u{61c}".as_bytes(),
    b"\xff\xfe",
    b"\xc0\x80",
    b"\xf0\x9f\x92",
    b"\\u0000",
    b"\\ud800",
    b"$(",
    b"${",
    b"`",
    b"&&",
    b"|",
    b"#",
    b"&a *a",
    b"<<: ",
    b"- ",
    b"%",
    b"\xc1",
];

const BYTES: [u8; 16] =
    [0, 1, 0x20, 0x22, 0x27, 0x5c, 0x7f, 0x80, 0x81, 0x8f, 0x9f, 0xbf, 0xc1, 0xd9, 0xdf, 0xff];

/// Inputs never grow beyond this: what matters is the form, and long inputs have tests of their own.
const LONGEST: usize = 1 << 14;

/// Changes `input` in one to six places. `others` lend pieces.
pub(crate) fn mutate(input: &mut Vec<u8>, others: &[Vec<u8>], chance: &mut Chance) {
    for _ in 0..=chance.below(6) {
        once(input, others, chance);
    }
    input.truncate(LONGEST);
}

fn once(input: &mut Vec<u8>, others: &[Vec<u8>], chance: &mut Chance) {
    let at = chance.below(input.len() + 1);
    let span = |chance: &mut Chance, from: usize, len: usize| {
        let most = len.saturating_sub(from).min(1 << chance.below(9));
        from..from + chance.below(most + 1)
    };
    match chance.below(10) {
        0 if at < input.len() => input[at] ^= 1 << chance.below(8),
        1 if at < input.len() => input[at] = *chance.pick(&BYTES),
        2 => {
            let range = span(chance, at, input.len());
            input.drain(range);
        }
        3 => {
            let range = span(chance, at, input.len());
            let piece = input[range].to_vec();
            let to = chance.below(input.len() + 1);
            let times = 1 + chance.below(4);
            input.splice(to..to, piece.repeat(times));
        }
        4 | 5 => {
            let word = *chance.pick(&WORDS);
            let over = if chance.below(2) == 0 { 0 } else { word.len().min(input.len() - at) };
            input.splice(at..at + over, word.iter().copied());
        }
        6 => number(input, chance),
        7 => {
            let other = chance.pick(others);
            let from = chance.below(other.len() + 1);
            let piece = other[span(chance, from, other.len())].to_vec();
            let over = span(chance, at, input.len());
            input.splice(over, piece);
        }
        8 => input.truncate(at),
        _ => {
            let byte = u8::try_from(chance.below(256)).unwrap_or_default();
            input.insert(at, byte);
        }
    }
}

/// Replaces a number in the text by another one.
fn number(input: &mut Vec<u8>, chance: &mut Chance) {
    let start = chance.below(input.len() + 1);
    let Some(from) = input[start..].iter().position(u8::is_ascii_digit) else { return };
    let from = start + from;
    let length = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let values =
        [0, 1, 2, 16, 32, 255, 1 << 31, 1 << 32, 1 << 53, 1 << 63, u64::MAX, chance.next()];
    let value = chance.pick(&values).to_string();
    input.splice(from..from + length, value.bytes());
}
