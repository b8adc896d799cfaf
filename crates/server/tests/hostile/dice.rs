//! Choices determined by a seed.

/// SplitMix64: small, and good enough for choices.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of the `n`th attack under a seed: attacks do not depend on their order.
    pub fn of(seed: u64, n: u64) -> Dice {
        let mut dice = Dice(seed ^ n.wrapping_mul(0xd1b5_4a32_d192_ed03));
        dice.next();
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// From 1 to about `max`, each order of magnitude equally often.
    pub fn size(&mut self, max: u64) -> u64 {
        let bits = u64::from(max.max(1).ilog2()) + 1;
        let highest = 1u64 << self.below(bits);
        (highest + self.below(highest)).min(max)
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len() as u64) as usize]
    }
}
