//! A set of owner slots that does not fit into one word.
//!
//! Owns its form: bits without memory of their own while all slots are low, else a list or bits,
//! whichever is shorter. Knows nothing of words.

/// Words that hold the bits of a set without memory of its own: slots below 128.
const LOW_WORDS: usize = 2;

/// A large set.
#[derive(Clone)]
pub(super) enum Many {
    Low([u64; LOW_WORDS]),
    List(Vec<u32>),
    Bits(Vec<u64>),
}

/// The members of a large set.
pub(super) enum View<'a> {
    List(&'a [u32]),
    Bits(&'a [u64]),
}

impl Many {
    /// Returns a set without members.
    pub(super) const fn none() -> Self {
        Self::Low([0; LOW_WORDS])
    }

    /// Returns what is in the set.
    #[inline]
    pub(super) fn view(&self) -> View<'_> {
        match self {
            Self::Low(bits) => View::Bits(bits),
            Self::List(list) => View::List(list),
            Self::Bits(bits) => View::Bits(bits),
        }
    }

    /// Returns the memory that it takes aside.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Low(_) => 0,
            Self::List(list) => list.capacity() * 4,
            Self::Bits(bits) => bits.capacity() * 8,
        }
    }

    /// Adds a slot that is not there yet.
    pub(super) fn insert(&mut self, slot: u32) {
        if let Self::Low(bits) = self {
            if let Some(word) = bits.get_mut(slot as usize / 64) {
                *word |= 1 << (slot % 64);
                return;
            }
            let mut list = Vec::with_capacity(8);
            for (base, word) in (0_u32..).step_by(64).zip(bits) {
                each_bit(*word, base, &mut |slot| list.push(slot));
            }
            *self = Self::List(list);
        }
        match self {
            Self::List(list) => {
                list.push(slot);
                let words = list.iter().max().map_or(0, |slot| *slot as usize / 64 + 1);
                if list.len() * 4 >= words * 8 {
                    let mut bits = vec![0_u64; words];
                    for slot in list {
                        bits[*slot as usize / 64] |= 1 << (*slot % 64);
                    }
                    *self = Self::Bits(bits);
                }
            }
            Self::Bits(bits) => {
                let at = slot as usize / 64;
                if at >= bits.len() {
                    bits.reserve_exact(at + 1 - bits.len());
                    bits.resize(at + 1, 0);
                }
                bits[at] |= 1 << (slot % 64);
            }
            Self::Low(_) => {}
        }
    }

    /// Takes a slot out.
    pub(super) fn remove(&mut self, slot: u32) {
        let bits = match self {
            Self::List(list) => return list.retain(|own| *own != slot),
            Self::Low(bits) => bits.as_mut_slice(),
            Self::Bits(bits) => bits,
        };
        if let Some(word) = bits.get_mut(slot as usize / 64) {
            *word &= !(1 << (slot % 64));
        }
    }
}

/// Calls `each` for every bit set in `word`, counted from `base`.
pub(super) fn each_bit(mut word: u64, base: u32, each: &mut impl FnMut(u32)) {
    while word != 0 {
        each(base + word.trailing_zeros());
        word &= word - 1;
    }
}
