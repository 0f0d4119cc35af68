//! How does one integer become the 256 bits that start a generator?
//!
//! NumPy's `SeedSequence`: the seed's 32-bit words are hashed into a pool of four, every pool word
//! is mixed into every other, and the output words are hashed from the pool. Only what
//! `SeedSequence(seed)` does is here: no spawn keys, no longer pools.

const POOL_WORDS: usize = 4;
const INIT_A: u32 = 0x43b0_d7e5;
const MULT_A: u32 = 0x931e_8875;
const INIT_B: u32 = 0x8b51_f9dd;
const MULT_B: u32 = 0x58f3_8ded;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;
const SHIFT: u32 = 16;

/// The mixed entropy of one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedSequence {
    pool: [u32; POOL_WORDS],
}

impl SeedSequence {
    /// Mixes a seed, as `numpy.random.SeedSequence(seed)` does.
    pub fn new(seed: u64) -> SeedSequence {
        // A seed below 2^32 is one word to NumPy and a larger one is two; padding with zeros up to
        // the pool's size gives the same pool either way.
        let words = [seed as u32, (seed >> 32) as u32, 0, 0];
        let mut hash = Hash { constant: INIT_A, multiplier: MULT_A };
        let mut pool = words.map(|word| hash.next(word));
        for source in 0..POOL_WORDS {
            for target in 0..POOL_WORDS {
                if source != target {
                    pool[target] = mix(pool[target], hash.next(pool[source]));
                }
            }
        }
        SeedSequence { pool }
    }

    /// Returns the first four 64-bit words of state, as `generate_state(4, uint64)` does.
    pub fn state_words(&self) -> [u64; 4] {
        let mut hash = Hash { constant: INIT_B, multiplier: MULT_B };
        let mut halves = [0_u32; 8];
        for (i, half) in halves.iter_mut().enumerate() {
            *half = hash.next(self.pool[i % POOL_WORDS]);
        }
        std::array::from_fn(|i| u64::from(halves[2 * i]) | u64::from(halves[2 * i + 1]) << 32)
    }
}

/// A hash whose constant moves on with every word.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn next(&mut self, word: u32) -> u32 {
        let mut value = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        value = value.wrapping_mul(self.constant);
        value ^ (value >> SHIFT)
    }
}

fn mix(left: u32, right: u32) -> u32 {
    let value = left.wrapping_mul(MIX_LEFT).wrapping_sub(right.wrapping_mul(MIX_RIGHT));
    value ^ (value >> SHIFT)
}
