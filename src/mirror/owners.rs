//! Sets of owner slots, packed into one word while they are small.
//!
//! Owns the encoding and the sets that outgrew it. Knows nothing of ranks. The top two bits tell:
//! a mask of slots below 30, up to two slots of 15 bits, or the place of a larger set.

mod many;

use many::{Many, View, each_bit};

/// A set, as a node has it.
pub(super) type Word = u32;

const TAG: Word = 3 << 30;
const MASK: Word = 0;
const INLINE: Word = 1 << 30;
const SPILLED: Word = 2 << 30;
/// Slots that fit into a mask.
pub(super) const MASK_SLOTS: u32 = 30;
const FIELD: Word = 0x7FFF;
/// Slots that fit into a word as they are.
const PLAIN: usize = 2;

/// A set without members.
pub(super) const EMPTY: Word = 0;

/// The sets that do not fit into one word.
#[derive(Default)]
pub(super) struct Spill {
    sets: Vec<Many>,
    /// Number of words that name each set. Blocks of a run share theirs.
    uses: Vec<u32>,
    free: Vec<u32>,
    bytes: usize,
}

const fn field(word: Word, at: u32) -> u32 {
    (word >> (at * 15)) & FIELD
}

/// Returns the word of a few slots, none when they need more room.
fn packed(slots: &[u32]) -> Option<Word> {
    if slots.iter().all(|slot| *slot < MASK_SLOTS) {
        return Some(slots.iter().fold(EMPTY, |mask, slot| mask | 1 << slot));
    }
    match slots {
        [one] if *one < FIELD => Some(INLINE | (one + 1)),
        [one, two] if *one < FIELD && *two < FIELD => Some(INLINE | (one + 1) | (two + 1) << 15),
        _ => None,
    }
}

impl Spill {
    /// Returns the memory of the large sets in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.sets.capacity() * (size_of::<Many>() + 4) + self.free.capacity() * 4
    }

    #[inline]
    pub(super) fn contains(&self, word: Word, slot: u32) -> bool {
        match word & TAG {
            MASK => slot < MASK_SLOTS && word >> slot & 1 == 1,
            INLINE => {
                let wanted = slot + 1;
                field(word, 0) == wanted || field(word, 1) == wanted
            }
            _ => match self.many(word).map(Many::view) {
                Some(View::List(list)) => list.contains(&slot),
                Some(View::Bits(bits)) => {
                    bits.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
                }
                None => false,
            },
        }
    }

    /// Returns how many slots are in the set.
    pub(super) fn len(&self, word: Word) -> usize {
        match word & TAG {
            MASK => word.count_ones() as usize,
            INLINE => (0..2).filter(|at| field(word, *at) != 0).count(),
            _ => match self.many(word).map(Many::view) {
                Some(View::List(list)) => list.len(),
                Some(View::Bits(bits)) => bits.iter().map(|word| word.count_ones() as usize).sum(),
                None => 0,
            },
        }
    }

    /// Calls `each` for every slot in the set.
    pub(super) fn each(&self, word: Word, mut each: impl FnMut(u32)) {
        match word & TAG {
            MASK => each_bit(u64::from(word), 0, &mut each),
            INLINE => {
                for at in 0..2 {
                    if let Some(slot) = field(word, at).checked_sub(1) {
                        each(slot);
                    }
                }
            }
            _ => match self.many(word).map(Many::view) {
                Some(View::List(list)) => list.iter().copied().for_each(each),
                Some(View::Bits(bits)) => {
                    for (base, word) in (0_u32..).step_by(64).zip(bits) {
                        each_bit(*word, base, &mut each);
                    }
                }
                None => {}
            },
        }
    }

    /// Adds `slot`, returns the new set.
    #[inline]
    pub(super) fn insert(&mut self, word: Word, slot: u32) -> Word {
        if word & TAG == MASK && slot < MASK_SLOTS {
            return word | 1 << slot;
        }
        if self.contains(word, slot) {
            return word;
        }
        self.insert_new(word, slot)
    }

    fn insert_new(&mut self, word: Word, slot: u32) -> Word {
        if word & TAG == SPILLED {
            let word = self.unshare(word);
            let Some(many) = self.sets.get_mut((word & !TAG) as usize) else { return word };
            self.bytes -= many.bytes();
            many.insert(slot);
            self.bytes += many.bytes();
            return word;
        }
        let count = self.len(word);
        if count < PLAIN {
            let mut slots = [slot; PLAIN];
            let mut at = 0;
            self.each(word, |own| {
                slots[at] = own;
                at += 1;
            });
            if let Some(word) = packed(&slots[..=count]) {
                return word;
            }
        }
        let mut many = Many::none();
        self.each(word, |slot| many.insert(slot));
        many.insert(slot);
        self.bytes += many.bytes();
        SPILLED | self.put(many)
    }

    /// Takes `slot` out, returns the new set.
    #[inline]
    pub(super) fn remove(&mut self, word: Word, slot: u32) -> Word {
        match word & TAG {
            MASK if slot < MASK_SLOTS => word & !(1 << slot),
            MASK => word,
            INLINE => {
                let mut left = [0; PLAIN];
                let mut count = 0;
                for at in 0..2 {
                    if let Some(own) = field(word, at).checked_sub(1)
                        && own != slot
                    {
                        left[count] = own;
                        count += 1;
                    }
                }
                packed(&left[..count]).unwrap_or(word)
            }
            _ => self.remove_spilled(word, slot),
        }
    }

    fn remove_spilled(&mut self, word: Word, slot: u32) -> Word {
        if !self.contains(word, slot) {
            return word;
        }
        let word = self.unshare(word);
        if let Some(many) = self.sets.get_mut((word & !TAG) as usize) {
            many.remove(slot);
        }
        if self.len(word) > PLAIN {
            return word;
        }
        let mut left = Vec::with_capacity(PLAIN);
        self.each(word, |slot| left.push(slot));
        let Some(small) = packed(&left) else { return word };
        self.release(word);
        small
    }

    /// Lets one more node have the set of `word`.
    #[inline]
    pub(super) fn share(&mut self, word: Word) {
        if word & TAG == SPILLED
            && let Some(uses) = self.uses.get_mut((word & !TAG) as usize)
        {
            *uses += 1;
        }
    }

    /// Returns a word for the set of `word` that no other node has.
    fn unshare(&mut self, word: Word) -> Word {
        let at = (word & !TAG) as usize;
        if self.uses.get(at) == Some(&1) {
            return word;
        }
        let Some(copy) = self.sets.get(at).cloned() else { return word };
        self.uses[at] -= 1;
        self.bytes += copy.bytes();
        SPILLED | self.put(copy)
    }

    /// Returns true when every slot of `wanted`, 64 to a word, is in the set; false also when that would
    /// take long to tell.
    #[inline]
    pub(super) fn covers(&self, word: Word, wanted: &[u64]) -> bool {
        match (word & TAG, wanted) {
            (MASK, [only]) => only & !u64::from(word) == 0,
            (INLINE, _) => {
                let own = |at: usize, slot: u32| {
                    let hit = slot != 0 && (slot - 1) as usize / 64 == at;
                    u64::from(hit) << (slot.wrapping_sub(1) % 64)
                };
                let (one, two) = (field(word, 0), field(word, 1));
                let mut each = wanted.iter().enumerate();
                each.all(|(at, wanted)| wanted & !(own(at, one) | own(at, two)) == 0)
            }
            (SPILLED, _) => match self.many(word).map(Many::view) {
                Some(View::Bits(bits)) => wanted
                    .iter()
                    .enumerate()
                    .all(|(at, wanted)| wanted & !bits.get(at).copied().unwrap_or_default() == 0),
                _ => false,
            },
            _ => false,
        }
    }

    /// Gives back what the set of one node holds outside its word.
    #[inline]
    pub(super) fn release(&mut self, word: Word) {
        if word & TAG == SPILLED {
            let at = (word & !TAG) as usize;
            self.uses[at] -= 1;
            if self.uses[at] == 0 {
                self.dissolve(at);
            }
        }
    }

    /// Frees a set that no node has any more.
    #[cold]
    fn dissolve(&mut self, at: usize) {
        if let Some(many) = self.sets.get_mut(at) {
            self.bytes -= many.bytes();
            *many = Many::none();
            self.free.push(at as u32);
        }
    }

    /// Writes the set to `into`, 64 slots to a word.
    #[inline]
    pub(super) fn words(&self, word: Word, into: &mut Vec<u64>) {
        if word & TAG == MASK {
            into.push(u64::from(word));
        } else if let (SPILLED, Some(View::Bits(bits))) =
            (word & TAG, self.many(word).map(Many::view))
        {
            into.extend_from_slice(bits);
        } else {
            self.each(word, |slot| {
                let at = slot as usize / 64;
                if at >= into.len() {
                    into.resize(at + 1, 0);
                }
                into[at] |= 1 << (slot % 64);
            });
        }
    }

    /// Returns the set as a mask, none when it is not one.
    #[inline]
    pub(super) const fn as_mask(word: Word) -> Option<Word> {
        if word & TAG == MASK { Some(word) } else { None }
    }

    fn many(&self, word: Word) -> Option<&Many> {
        self.sets.get((word & !TAG) as usize)
    }

    fn put(&mut self, many: Many) -> u32 {
        if let Some(at) = self.free.pop() {
            self.sets[at as usize] = many;
            self.uses[at as usize] = 1;
            return at;
        }
        self.uses.push(1);
        self.sets.push(many);
        (self.sets.len() - 1) as u32
    }
}
