//! How much does a dense or changing context tighten the threshold?
//!
//! By a factor, the gain `g(d, delta)` of Eq. 5, where `d` is the density around the system and
//! `delta` how far it has just moved from its own average. Start at [`GainSpec::at`].
//!
//! **Invariants**, for every finite `d >= 0` and `delta >= 0`, in floating point and not only on
//! paper: `0 < g <= 1`; `g(0, 0) = 1`; `g` never increases in `d` nor in `delta`; the same input
//! gives the same bits on every platform.
//!
//! **Absent on purpose:** the platform's `exp`. It is not in `core`, its last bits differ from one
//! system to the next, and few libraries promise that it is monotone. [`decay`] is ours, and
//! monotone by construction.

use crate::{OutOfRange, usable};

/// The form of the gain and its strengths. Part of a [`ShieldSpec`](crate::ShieldSpec), whose
/// check covers it.
///
/// With `x = k_density * d + k_change * delta`:
///
/// | form | gain |
/// |---|---|
/// | `Constant` | 1: the budget alone decides |
/// | `Exponential` | `exp(-x)`, never below `floor` |
/// | `Rational` | `1 / (1 + x)`, never below `floor` |
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GainSpec {
    /// No tightening by context.
    Constant,
    /// Tightens by the same proportion for every further unit of density.
    Exponential {
        /// Strength of the density `d`. Finite, at least 0.
        k_density: f64,
        /// Strength of the change `delta`. Finite, at least 0.
        k_change: f64,
        /// The least gain. Above 0, at most 1.
        floor: f64,
    },
    /// Tightens quickly at first and slowly later.
    Rational {
        /// Strength of the density `d`. Finite, at least 0.
        k_density: f64,
        /// Strength of the change `delta`. Finite, at least 0.
        k_change: f64,
        /// The least gain. Above 0, at most 1.
        floor: f64,
    },
}

impl GainSpec {
    /// The default: halves the threshold at about `d = 0.7`, for densities of about 0 to 1.
    pub const EXPONENTIAL: GainSpec =
        GainSpec::Exponential { k_density: 1.0, k_change: 1.0, floor: 0.1 };

    /// The gain at density `d` and change `delta`, both finite and at least 0.
    ///
    /// ```
    /// use cpss_shield::GainSpec;
    ///
    /// let gain = GainSpec::Rational { k_density: 1.0, k_change: 2.0, floor: 0.1 };
    /// assert_eq!(gain.at(0.0, 0.0), 1.0);
    /// assert_eq!(gain.at(1.0, 1.0), 0.25);
    /// assert_eq!(gain.at(1e300, 0.0), 0.1);
    /// ```
    pub fn at(&self, density: f64, change: f64) -> f64 {
        // Each step is one rounding of a function that is monotone over the reals, and rounding
        // is monotone, so the whole is. An `x` that overflows to infinity ends at the floor.
        match *self {
            GainSpec::Constant => 1.0,
            GainSpec::Exponential { k_density, k_change, floor } => {
                decay(k_density * density + k_change * change).max(floor)
            }
            GainSpec::Rational { k_density, k_change, floor } => {
                (1.0 / (1.0 + (k_density * density + k_change * change))).max(floor)
            }
        }
    }

    /// Checks the strengths and the floor; the first that is out of range is the error.
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        let (GainSpec::Exponential { k_density, k_change, floor }
        | GainSpec::Rational { k_density, k_change, floor }) = *self
        else {
            return Ok(());
        };
        for (field, value, in_range) in [
            ("gain.k_density", k_density, usable(k_density)),
            ("gain.k_change", k_change, usable(k_change)),
            ("gain.floor", floor, 0.0 < floor && floor <= 1.0),
        ] {
            if !in_range {
                return Err(OutOfRange { field, value });
            }
        }
        Ok(())
    }
}

/// `exp(-x)` for `x >= 0`, monotone in floating point; constant from `x = 40` on.
///
/// `e^x = (e^(x/1024))^1024`: the inner power is a polynomial with positive coefficients at a
/// point in `[0, 0.04]`, the outer one is ten squarings, and the result is the reciprocal. Every
/// operation is an addition or a product of numbers that are at least 0 and do not decrease in
/// `x`, so no rounding can turn the order of two inputs around. `x/1024` is exact.
///
/// The price is accuracy: each squaring doubles the relative error, so about `2^10` roundings
/// remain. A test below measures the error against the platform's `exp`: under 5e-13. A gain needs
/// no more, and monotone matters here while the last bits do not.
pub(crate) fn decay(x: f64) -> f64 {
    let r = x.min(40.0) / 1024.0;
    // The Taylor polynomial of degree 7, in Estrin's order: short chains, and all terms positive.
    let r2 = r * r;
    let low = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    let high = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let mut power = low + (r2 * r2) * high;
    for _ in 0..10 {
        power *= power;
    }
    1.0 / power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_close_to_exp() {
        let worst = (0..=400_000)
            .map(|i| f64::from(i) * 1e-4)
            .map(|x| (decay(x) / (-x).exp() - 1.0).abs())
            .fold(0.0, f64::max);
        assert!(worst < 5e-13, "worst relative error {worst:e}");
        assert!(worst > 1e-15, "suspiciously exact: is `decay` still ours? {worst:e}");
    }

    #[test]
    fn decay_never_increases_from_one_float_to_the_next() {
        for start in [0.0_f64, 1e-9, 1e-4, 0.3, 1.0, 7.7, 39.999_999_999] {
            let mut x = start;
            for _ in 0..100_000 {
                let next = x.next_up();
                assert!(decay(next) <= decay(x), "{x:e}");
                x = next;
            }
        }
    }

    #[test]
    fn decay_starts_at_one_and_never_reaches_zero() {
        assert_eq!(decay(0.0), 1.0);
        assert!(decay(f64::INFINITY) > 0.0);
        assert_eq!(decay(f64::INFINITY), decay(40.0));
    }

    #[test]
    fn floor_holds() {
        let gain = GainSpec::Exponential { k_density: 3.0, k_change: 0.0, floor: 0.25 };
        assert_eq!(gain.at(f64::MAX, f64::MAX), 0.25);
        assert!(gain.at(0.4, 0.0) > 0.25);
    }
}
