//! Decimal numbers, eight digits at a time.

/// Each byte of a word set to one.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Reads the digits that `text` starts with. Returns their value and their number; none when the value
/// does not fit or there is no digit.
#[inline]
pub(super) fn leading(text: &[u8]) -> Option<(u64, usize)> {
    let Some((words, _)) = text.split_first_chunk::<24>() else { return one_by_one(text) };
    let (high, rest) = words.split_first_chunk::<8>()?;
    let (middle, rest) = rest.split_first_chunk::<8>()?;
    let low = rest.first_chunk::<8>()?;
    let (value, count) = word(*high);
    if count < 8 {
        return (count > 0).then_some((value, count));
    }
    let (next, count) = word(*middle);
    let value = value * POWERS[count] + next;
    if count < 8 {
        return Some((value, 8 + count));
    }
    let (last, count) = word(*low);
    if count > 4 {
        return None;
    }
    let value = value.checked_mul(POWERS[count])?.checked_add(last)?;
    Some((value, 16 + count))
}

const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Returns the value of the digits that `bytes` start with, and their number.
#[inline]
fn word(bytes: [u8; 8]) -> (u64, usize) {
    let word = u64::from_le_bytes(bytes);
    // A digit has a high half of 3, and still has it after 6 is added. A carry out of a byte that is
    // no digit spoils only those behind it.
    let high = word & (EACH * 0xF0);
    let above = word.wrapping_add(EACH * 6) & (EACH * 0xF0);
    let odd = (high ^ (EACH * 0x30)) | (above ^ (EACH * 0x30));
    let count = odd.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // The last digit goes to the last byte; zeros fill up from the front.
    let digits = (word << (64 - 8 * count)) & (EACH * 0x0F);
    let pairs = (digits.wrapping_mul(10 << 8 | 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000 << 32 | 1) >> 32, count)
}

/// The same near the end of the text.
#[cold]
fn one_by_one(text: &[u8]) -> Option<(u64, usize)> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..count].iter().try_fold(0_u64, |value, byte| {
        value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
    })?;
    (count > 0).then_some((value, count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn eight_at_a_time_is_one_by_one(
            digits in "([1-9][0-9]{0,23})?", rest in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            let mut text = digits.into_bytes();
            text.extend(rest);
            prop_assert_eq!(leading(&text), one_by_one(&text));
        }

        #[test]
        fn every_number_is_read_back(number in any::<u64>(), shift in 0..64_u32) {
            let text = format!("{},\"tokens_hash\":123456789", number >> shift);
            let length = text.find(',').unwrap();
            prop_assert_eq!(leading(text.as_bytes()), Some((number >> shift, length)));
        }
    }
}
