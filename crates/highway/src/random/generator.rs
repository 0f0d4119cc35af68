//! Which number does a distribution give?
//!
//! The methods of NumPy's `Generator` that highway-env calls, each consuming exactly the bits that
//! NumPy's does. Start at [`Generator::seeded`].
//!
//! **Invariant**, pinned by `tests/random.rs` against NumPy itself: for any seed and any order of
//! calls, the same numbers, bit for bit.

use super::ziggurat::{HEIGHT, INSIDE, WIDTH};
use super::{Pcg64, SeedSequence};

/// Where the ziggurat's tail begins.
const TAIL_START: f64 = 3.654_152_885_361_009;
const TAIL_START_INVERSE: f64 = 0.273_661_237_329_758_3;

/// NumPy's `Generator` over [`Pcg64`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    bits: Pcg64,
}

impl Generator {
    /// The generator behind Gymnasium's `reset(seed=seed)`.
    pub fn seeded(seed: u64) -> Generator {
        Generator { bits: Pcg64::new(&SeedSequence::new(seed)) }
    }

    /// Everything that decides what comes next, to be kept and gone on from elsewhere.
    pub fn words(&self) -> [u64; 5] {
        self.bits.words()
    }

    /// The generator whose [`Generator::words`] these are.
    pub fn from_words(words: [u64; 5]) -> Generator {
        Generator { bits: Pcg64::from_words(words) }
    }

    /// `random()`: uniform in [0, 1), with 53 bits.
    pub fn random(&mut self) -> f64 {
        (self.bits.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `uniform(low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random()
    }

    /// `normal(mean)` with unit deviation, by the 256-layer ziggurat.
    pub fn normal(&mut self, mean: f64) -> f64 {
        mean + self.standard_normal()
    }

    /// `standard_normal()`.
    pub fn standard_normal(&mut self) -> f64 {
        loop {
            let draw = self.bits.next_u64();
            let layer = (draw & 0xff) as usize;
            let negative = draw >> 8 & 1 == 1;
            let mantissa = draw >> 9 & 0x000f_ffff_ffff_ffff;
            let magnitude = mantissa as f64 * WIDTH[layer];
            let value = if negative { -magnitude } else { magnitude };
            if mantissa < INSIDE[layer] {
                return value;
            }
            if layer == 0 {
                // The tail's sign comes from another bit than the body's, as in NumPy.
                let tail = self.tail_beyond_start();
                return if mantissa >> 8 & 1 == 1 { -tail } else { tail };
            }
            let height = (HEIGHT[layer - 1] - HEIGHT[layer]) * self.random() + HEIGHT[layer];
            if height < (-0.5 * value * value).exp() {
                return value;
            }
        }
    }

    /// `integers(low, high)`: uniform in [low, high). An empty range gives `low`, as one value does.
    pub fn integers(&mut self, low: u32, high: u32) -> u32 {
        low + self.bounded(high.saturating_sub(low).saturating_sub(1))
    }

    /// `choice(n)`, or an index into a list of `n`: uniform in [0, n).
    pub fn choice(&mut self, n: usize) -> usize {
        self.bounded((n as u32).saturating_sub(1)) as usize
    }

    /// `choice(range(n), size=2, replace=False)`: two different indices, by Floyd's sampling and
    /// a shuffle. `n` is at least 2.
    pub fn choose_two(&mut self, n: u32) -> [u32; 2] {
        let last = n.saturating_sub(1);
        let first = self.bounded(last.saturating_sub(1));
        let drawn = self.bounded(last);
        let second = if drawn == first { last } else { drawn };
        if self.bounded(1) == 0 { [second, first] } else { [first, second] }
    }

    /// `shuffle(rows)`: permutes rows of equal length in place.
    pub fn shuffle_rows<T>(&mut self, data: &mut [T], row_len: usize) {
        let rows = data.len().checked_div(row_len).unwrap_or(0);
        for i in (1..rows).rev() {
            let j = self.interval(i as u32) as usize;
            for column in 0..row_len {
                data.swap(i * row_len + column, j * row_len + column);
            }
        }
    }

    /// A point of the normal's tail, by Marsaglia's method.
    fn tail_beyond_start(&mut self) -> f64 {
        loop {
            let beyond = -TAIL_START_INVERSE * (-self.random()).ln_1p();
            let height = -(-self.random()).ln_1p();
            if height + height > beyond * beyond {
                return TAIL_START + beyond;
            }
        }
    }

    /// Uniform in [0, max], by Lemire's multiplication; a single possible value costs no bits.
    fn bounded(&mut self, max: u32) -> u32 {
        if max == 0 {
            return 0;
        }
        if max == u32::MAX {
            return self.bits.next_u32();
        }
        let range = max + 1;
        let mut product = u64::from(self.bits.next_u32()) * u64::from(range);
        if (product as u32) < range {
            let threshold = range.wrapping_neg() % range;
            while (product as u32) < threshold {
                product = u64::from(self.bits.next_u32()) * u64::from(range);
            }
        }
        (product >> 32) as u32
    }

    /// Uniform in [0, max], by masking and rejection: what `shuffle` uses instead of Lemire's.
    fn interval(&mut self, max: u32) -> u32 {
        if max == 0 {
            return 0;
        }
        let mask = u32::MAX >> max.leading_zeros();
        loop {
            let value = self.bits.next_u32() & mask;
            if value <= max {
                return value;
            }
        }
    }
}
