//! Where does the learner's randomness come from?
//!
//! From [`Generator`], which is SplitMix64 (Steele, Lea and Flood, 2014): eight bytes of state, so a
//! checkpoint carries it exactly, and good enough for exploration, sampling and initial weights.
//! Each purpose has a stream of its own, so that drawing more of one never shifts another.
//!
//! **Absent on purpose:** NumPy's generator, which the traffic world needs and the learner does not.

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// Starts the stream for one purpose of one seed.
    pub fn new(seed: u64, purpose: Purpose) -> Generator {
        // One output of the seed's own stream separates neighbouring seeds before the purpose is
        // added; without it, seed 0 and seed 1 would differ in one bit only.
        let mut root = Generator { state: seed };
        let mut stream = Generator { state: root.next_u64() ^ purpose as u64 };
        Generator { state: stream.next_u64() }
    }

    /// Continues a stream at a saved [`state`](Generator::state).
    pub fn from_state(state: u64) -> Generator {
        Generator { state }
    }

    /// Returns all there is to save.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// Draws 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number from `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        // 53 bits are as many as an `f64` in this range can hold.
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Draws an integer from `0..bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product is uniform up to a bias of `bound / 2^64`.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// What a stream is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Initial weights.
    Weights = 1,
    /// Whether to explore, and which action then.
    Exploration = 2,
    /// Which transitions an update sees.
    Sampling = 3,
    /// Which episodes the worlds play.
    Episodes = 4,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequence() {
        // The first outputs of SplitMix64 from state 1234567, as its reference code prints them.
        let mut generator = Generator::from_state(1_234_567);
        assert_eq!(generator.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let draw = |seed, purpose| Generator::new(seed, purpose).next_u64();
        assert_eq!(draw(7, Purpose::Sampling), draw(7, Purpose::Sampling));
        assert_ne!(draw(7, Purpose::Sampling), draw(7, Purpose::Exploration));
        assert_ne!(draw(7, Purpose::Sampling), draw(8, Purpose::Sampling));
    }

    #[test]
    fn draws_stay_in_range_and_reach_every_value() {
        let mut generator = Generator::new(0, Purpose::Exploration);
        let mut seen = [false; 5];
        for _ in 0..1_000 {
            seen[generator.below(5) as usize] = true;
            assert!((0.0..1.0).contains(&generator.unit()));
        }
        assert_eq!(seen, [true; 5]);
    }
}
