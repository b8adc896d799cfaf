//! Variable-length numbers: seven bits per byte, the lowest first; all bytes but the last have the highest bit set.

/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Appends a number. Short ones are pushed; the others are spread over a word of eight bytes, of which as many stay as the number
/// has, so that there is no loop over its bytes.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else if value < 1 << 56 {
        let length = (63 - value.leading_zeros()) / 7 + 1;
        let more = HIGH & !(u64::MAX << (8 * (length - 1)));
        let end = out.len() + length as usize;
        out.extend_from_slice(&(spread(value) | more).to_le_bytes());
        out.truncate(end);
    } else {
        write_by_byte(out, value);
    }
}

/// The lowest 56 bits, seven in each byte.
#[inline(always)]
fn spread(value: u64) -> u64 {
    let word = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let word = word & 0x0000_3fff_0000_3fff | (word & 0x0fff_c000_0fff_c000) << 2;
    word & 0x007f_007f_007f_007f | (word & 0x3f80_3f80_3f80_3f80) << 1
}

#[cold]
fn write_by_byte(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The number at `at`, which is moved behind it.
#[inline(always)]
pub(crate) fn read(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first & 0x80 == 0 {
        *at += 1;
        return Some(u64::from(first));
    }
    let (number, end) = read_by_byte(bytes, *at)?;
    *at = end;
    Some(number)
}

/// As [`read`], for numbers that mostly have four bytes or more, as keys do: faster for these, but more code. The bytes after
/// the number are read as well, so the batch must continue behind a body.
///
/// There is a branch for each length, though the length could be computed: a processor that predicts it continues with the
/// next number before it knows this one, and most keys of a log have the same length.
#[inline(always)]
pub(crate) fn read_long(bytes: &[u8], at: &mut usize) -> Option<u64> {
    if let Some(word) = bytes.get(*at..)?.first_chunk() {
        let word = u64::from_le_bytes(*word);
        if word & 0x80 == 0 {
            *at += 1;
            return Some(word & 0x7f);
        }
        if word & 0x8000 == 0 {
            *at += 2;
            return Some(lowest(word, 2));
        }
        if word & 0x80_0000 == 0 {
            *at += 3;
            return Some(lowest(word, 3));
        }
        if word & 0x8000_0000 == 0 {
            *at += 4;
            return Some(lowest(word, 4));
        }
        if word & 0x80_0000_0000 == 0 {
            *at += 5;
            return Some(lowest(word, 5));
        }
    }
    let (number, end) = read_by_byte(bytes, *at)?;
    *at = end;
    Some(number)
}

/// Behind the number at `at`.
#[inline(always)]
pub(crate) fn skip(bytes: &[u8], mut at: usize) -> Option<usize> {
    while *bytes.get(at)? & 0x80 != 0 {
        at += 1;
    }
    Some(at + 1)
}

/// The number of so many bytes with which the word begins.
#[inline(always)]
fn lowest(word: u64, bytes: u32) -> u64 {
    let word = word & (!HIGH >> (64 - 8 * bytes));
    // Sevens become fourteens, and these one number.
    let word = word - ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let (low, mid, high) = (word & 0x3fff, word >> 16 & 0x3fff, word >> 32 & 0x3fff);
    low | mid << 14 | high << 28
}

/// The number at `at`, and where it ends.
#[inline(never)]
fn read_by_byte(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read_back(value: u64) {
        let (mut bytes, mut slow) = (vec![1], vec![1]);
        write(&mut bytes, value);
        write_by_byte(&mut slow, value);
        assert_eq!(bytes, slow, "{value:#x}");
        bytes.remove(0);
        let end = bytes.len();
        for behind in [&[][..], &[0; 9], &[0x7f; 9], &[0x80; 9], &[0xff; 9]] {
            bytes.truncate(end);
            bytes.extend(behind);
            for read in [read, read_long] {
                let mut at = 0;
                assert_eq!(read(&bytes, &mut at), Some(value));
                assert_eq!(at, end);
            }
            assert_eq!(skip(&bytes, 0), Some(end));
        }
    }

    #[test]
    fn numbers_of_every_length_are_read_whatever_follows() {
        for bits in 0..64 {
            let power = 1u64 << bits;
            for value in [
                power - 1,
                power,
                power | 0x5555_5555_5555_5555 & (power - 1),
            ] {
                is_read_back(value);
            }
        }
        is_read_back(u64::MAX);
    }

    #[test]
    fn a_number_that_does_not_end_is_none() {
        for length in 0..9 {
            assert_eq!(read(&vec![0x80; length], &mut 0), None);
            assert_eq!(read_long(&vec![0x80; length], &mut 0), None);
        }
        assert_eq!(read(&[0xff; 16], &mut 0), None);
        assert_eq!(read_long(&[0xff; 16], &mut 0), None);
    }

    proptest::proptest! {
        #[test]
        fn every_number_is_read_back(value: u64, shift in 0..64) {
            is_read_back(value >> shift);
        }

        #[test]
        fn any_bytes_are_read_as_byte_by_byte(bytes in proptest::collection::vec(0u8.., 0..20)) {
            let slow = read_by_byte(&bytes, 0);
            for read in [read, read_long] {
                let mut at = 0;
                let number = read(&bytes, &mut at);
                proptest::prop_assert_eq!(number.map(|number| (number, at)), slow);
            }
        }
    }
}
