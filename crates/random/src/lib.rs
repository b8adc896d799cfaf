//! Numbers from a seed (SplitMix64), the same on every machine. They are good enough for choices in tests, for resampling, and for payloads
//! that hardly compress. Nothing secret may be made of them.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

/// A generator. Its seed determines all of its numbers.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }

    /// An index into a list of this length; 0 if it is empty.
    pub fn index(&mut self, length: usize) -> usize {
        // Both conversions are lossless: a `usize` has at most 64 bits here, and the number is less than `length`.
        self.below(length as u64) as usize
    }

    /// An item of a list that is not empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let item = from.get(self.index(from.len()));
        item.expect("a choice needs something to choose from")
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A text of this many bytes that hardly compresses: each byte is one of 64 ASCII characters, none of which JSON escapes.
    pub fn noise(&mut self, bytes: usize) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        (0..bytes)
            .map(|_| char::from(*self.pick(ALPHABET)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the authors of SplitMix64 publish for this seed: recorded seeds of simulations must mean the same tomorrow.
    #[test]
    fn a_seed_gives_the_published_numbers() {
        let mut random = Random(1_234_567);
        let numbers = [(); 5].map(|()| random.next_u64());
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(numbers, published);
    }

    #[test]
    fn numbers_are_less_than_their_bound() {
        let mut random = Random(1);
        for bound in 0..1000 {
            assert!(random.below(bound) < bound.max(1));
        }
    }

    #[test]
    fn noise_has_the_wanted_length_and_no_pattern() {
        let noise = Random(7).noise(6400);
        assert_eq!(noise.len(), 6400);
        for letter in noise.chars() {
            let times = noise.matches(letter).count();
            assert!((50..200).contains(&times), "{letter}: {times} of 6400");
        }
    }
}
