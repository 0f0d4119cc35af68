//! What raw bits come next?
//!
//! O'Neill's PCG64 (a 128-bit linear congruence, xor-shift-low and random-rotate output), with
//! NumPy's seeding and NumPy's habit of keeping the unused half of a 64-bit draw for the next
//! 32-bit one. Written out rather than taken from a crate: it is twenty lines, and the kept half
//! is what decides which integers come out.

use super::SeedSequence;

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// NumPy's `PCG64` bit generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    spare_half: Option<u32>,
}

impl Pcg64 {
    /// Starts the generator from a seed sequence.
    pub fn new(seed: &SeedSequence) -> Pcg64 {
        let [state_high, state_low, stream_high, stream_low] = seed.state_words();
        let start = u128::from(state_high) << 64 | u128::from(state_low);
        let stream = u128::from(stream_high) << 64 | u128::from(stream_low);
        let mut pcg = Pcg64 { state: 0, increment: stream << 1 | 1, spare_half: None };
        pcg.advance();
        pcg.state = pcg.state.wrapping_add(start);
        pcg.advance();
        pcg
    }

    /// Everything that decides what comes next, to be kept and gone on from elsewhere.
    pub fn words(&self) -> [u64; 5] {
        // A kept half is told from none by a bit above it.
        let spare = self.spare_half.map_or(0, |half| 1 << 32 | u64::from(half));
        let [state, increment] = [self.state, self.increment];
        [(state >> 64) as u64, state as u64, (increment >> 64) as u64, increment as u64, spare]
    }

    /// The generator whose [`Pcg64::words`] these are.
    pub fn from_words(words: [u64; 5]) -> Pcg64 {
        let [state_high, state_low, increment_high, increment_low, spare] = words;
        Pcg64 {
            state: u128::from(state_high) << 64 | u128::from(state_low),
            increment: u128::from(increment_high) << 64 | u128::from(increment_low),
            spare_half: (spare >> 32 == 1).then_some(spare as u32),
        }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.advance();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// The next 32 bits: the low half of a fresh draw, then the high half that was kept.
    pub fn next_u32(&mut self) -> u32 {
        match self.spare_half.take() {
            Some(high) => high,
            None => {
                let both = self.next_u64();
                self.spare_half = Some((both >> 32) as u32);
                both as u32
            }
        }
    }

    fn advance(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_goes_on_from_its_words_with_or_without_a_kept_half() {
        let mut pcg = Pcg64::new(&SeedSequence::new(9));
        for _ in 0..4 {
            let mut twin = Pcg64::from_words(pcg.words());
            assert_eq!(twin, pcg);
            assert_eq!([twin.next_u32(), twin.next_u32()], {
                let mut same = pcg.clone();
                [same.next_u32(), same.next_u32()]
            });
            // An odd number of halves leaves one over for the next round.
            pcg.next_u32();
        }
    }
}
