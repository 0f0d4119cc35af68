//! What is a speed ratio to the power of about four?
//!
//! The one expensive function that every driver needs in every frame. [`power`] is written without
//! branches and tables, so that [`powers`] over all cars of a road becomes vector code; both give
//! the same bits. The error is a few units in the last place for the ratios that driving produces
//! (below 1e-14 relative for bases from 1e-3 to 10 and exponents up to 6, pinned by a test).
//!
//! `x^e = 2^(e log2 x)`: the logarithm by the series of the inverse hyperbolic tangent around the
//! nearest power of two, the exponential by its own series around the nearest integer.

/// Adding and taking away this number rounds to an integer, and leaves that integer in the low
/// bits of the sum in between.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Bits of the square root of one half, rounded: where mantissas are split.
const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;

/// `base` to the power `exponent`; zero for a base of zero (or one too small to matter).
#[inline]
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    if exponent == USUAL_EXPONENT { fourth_power(base) } else { any_power(base, exponent) }
}

/// Replaces each base by its power.
#[inline]
pub(crate) fn powers(bases: &mut [f64], exponents: &[f64]) {
    // Where drivers do not differ, two multiplications do; asking is cheaper than a logarithm.
    if exponents.iter().all(|exponent| *exponent == USUAL_EXPONENT) {
        for base in bases {
            *base = fourth_power(*base);
        }
        return;
    }
    for (base, exponent) in bases.iter_mut().zip(exponents) {
        let usual = fourth_power(*base);
        let any = any_power(*base, *exponent);
        *base = if *exponent == USUAL_EXPONENT { usual } else { any };
    }
}

/// The exponent of drivers that are all alike.
const USUAL_EXPONENT: f64 = 4.0;

#[inline]
fn fourth_power(base: f64) -> f64 {
    let square = base * base;
    square * square
}

#[inline]
fn any_power(base: f64, exponent: f64) -> f64 {
    let whole = log2(base.max(f64::MIN_POSITIVE));
    exp2((exponent * whole).clamp(-1000.0, 1000.0))
}

/// Coefficients of the inverse hyperbolic tangent's odd powers, highest first, without the first.
const SERIES_OF_LOG: [f64; 9] = [
    1.0 / 19.0,
    1.0 / 17.0,
    1.0 / 15.0,
    1.0 / 13.0,
    1.0 / 11.0,
    1.0 / 9.0,
    1.0 / 7.0,
    1.0 / 5.0,
    1.0 / 3.0,
];
/// Coefficients of the exponential, highest first, after 1/13!.
const SERIES_OF_EXP: [f64; 13] = [
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

#[inline]
fn log2(x: f64) -> f64 {
    // Split x into m * 2^e with m between sqrt(1/2) and sqrt(2), by integer arithmetic on bits.
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let m = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF_BITS));
    // The exponent is the signed top of `shifted`; biased to be positive it fits the low bits of
    // 2^52, where it is read back as a float.
    let biased = (shifted.wrapping_add(1024 << 52)) >> 52;
    let e = f64::from_bits(biased | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1024.0);
    let f = (m - 1.0) / (m + 1.0);
    let s = f * f;
    // 2 atanh(f) / ln 2, odd powers up to the 21st.
    let series = SERIES_OF_LOG.into_iter().fold(1.0 / 21.0, |sum, term| sum * s + term) * s;
    let scale = 2.0 * std::f64::consts::LOG2_E;
    e + (scale * f + scale * f * series)
}

#[inline]
fn exp2(y: f64) -> f64 {
    let rounded = y + ROUNDER;
    let r = (y - (rounded - ROUNDER)) * std::f64::consts::LN_2;
    let last = 1.0 / 6_227_020_800.0;
    let series = SERIES_OF_EXP.into_iter().fold(last, |sum, term| sum * r + term);
    f64::from_bits(series.to_bits().wrapping_add(rounded.to_bits() << 52))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        let mut worst = 0.0_f64;
        for i in 1..20_000 {
            let base = f64::from(i) * 5e-4 + 5e-4;
            for exponent in [2.0, 3.5, 4.0, 4.123_456, 4.5, 6.0] {
                let (ours, theirs) = (power(base, exponent), base.powf(exponent));
                worst = worst.max((ours / theirs - 1.0).abs());
            }
        }
        assert!(worst < 1e-14, "{worst:e}");
        assert!(worst > 0.0, "this is not the standard library itself");
    }

    #[test]
    fn ends_of_the_range_are_sane() {
        assert!(power(0.0, 4.0) < 1e-300);
        assert_eq!(power(1.0, 4.3), 1.0);
        assert!(power(4000.0, 4.5).is_finite());
        assert!(any_power(1e300, 4.5).is_finite());
    }

    #[test]
    fn many_at_once_are_the_same_bits() {
        let bases: Vec<f64> = (0..101).map(|i| f64::from(i) * 0.013).collect();
        let exponents: Vec<f64> = (0..101).map(|i| 3.5 + f64::from(i) * 0.01).collect();
        let mut together = bases.clone();
        powers(&mut together, &exponents);
        for ((base, exponent), joint) in bases.iter().zip(&exponents).zip(&together) {
            assert_eq!(power(*base, *exponent).to_bits(), joint.to_bits());
        }
    }
}
