//! Choices determined by a seed.

use skep_random::Random;

#[derive(Clone, Debug)]
pub struct Dice(Random);

impl Dice {
    /// The dice of the `n`th attack under a seed: attacks do not depend on their order.
    pub fn of(seed: u64, n: u64) -> Dice {
        let mut random = Random(seed ^ n.wrapping_mul(0xd1b5_4a32_d192_ed03));
        random.next_u64();
        Dice(random)
    }

    /// From 0 to below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.0.one_in(n)
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
