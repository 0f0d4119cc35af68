//! What are the sine and cosine of a heading, and which heading has this sine or slope?
//!
//! [`sin_cos`] is the standard library's to within two units in the last place (pinned by a test),
//! without its trip through the processor's rounding mode, which costs more than the polynomials.
//! Headings of cars are small or a few turns at most; anything large or strange goes to the
//! standard library. [`asin`] and [`atan`] have a short way for the small arguments that lane
//! keeping produces, and leave the rest to the standard library.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_4};

/// Beyond this many radians the standard library answers.
const LARGE: f64 = 1e4;
/// Adding and taking away this number rounds to an integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Half of pi in three pieces, the first two short enough that small multiples of them are exact.
const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
const HALF_PI_MIDDLE: f64 = 6.077_100_506_303_966e-11;
const HALF_PI_LOW: f64 = 2.022_266_248_795_950_6e-21;

/// Sine and cosine of an angle \[rad\].
#[inline(never)]
pub(crate) fn sin_cos(angle: f64) -> (f64, f64) {
    if angle.abs() <= FRAC_PI_4 {
        return sin_cos_near_zero(angle);
    }
    sin_cos_far(angle)
}

/// Up to here the series below are exact to the last place.
const SMALL: f64 = 0.125;

/// Arcsine \[rad\].
#[inline]
pub(crate) fn asin(x: f64) -> f64 {
    if x.abs() > SMALL {
        return x.asin();
    }
    let s = x * x;
    let q = s * s;
    let a = 1.0 / 6.0 + s * (3.0 / 40.0);
    let b = 15.0 / 336.0 + s * (105.0 / 3_456.0);
    let c = 945.0 / 42_240.0 + s * (10_395.0 / 599_040.0);
    let d = 135_135.0 / 9_676_800.0;
    x + x * s * (a + q * (b + q * (c + q * d)))
}

/// Arctangent \[rad\].
#[inline]
pub(crate) fn atan(x: f64) -> f64 {
    if x.abs() > SMALL {
        return x.atan();
    }
    let s = x * x;
    let q = s * s;
    let a = -1.0 / 3.0 + s * (1.0 / 5.0);
    let b = -1.0 / 7.0 + s * (1.0 / 9.0);
    let c = -1.0 / 11.0 + s * (1.0 / 13.0);
    let d = -1.0 / 15.0 + s * (1.0 / 17.0);
    x + x * s * (a + q * (b + q * (c + q * d)))
}

fn sin_cos_far(angle: f64) -> (f64, f64) {
    // Written so that a NaN takes the standard library's way too.
    if angle.abs() <= LARGE {
        // Rounds to even, as the standard library's function does, which is a call here.
        let quarters = (angle * FRAC_2_PI + ROUNDER) - ROUNDER;
        let rest =
            angle - quarters * HALF_PI_HIGH - quarters * HALF_PI_MIDDLE - quarters * HALF_PI_LOW;
        let (sin, cos) = sin_cos_near_zero(rest);
        return match (quarters as i64) & 3 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        };
    }
    angle.sin_cos()
}

/// Sine and cosine, for at most a quarter of pi: their series up to the 17th and 18th power, in
/// pairs of terms so that the processor can work on several at once, and side by side so that one
/// vector instruction serves both.
#[inline]
fn sin_cos_near_zero(x: f64) -> (f64, f64) {
    let s = x * x;
    let q = s * s;
    let terms = |[sin, cos]: [f64; 2], [next_sin, next_cos]: [f64; 2]| {
        [sin + s * next_sin, cos + s * next_cos]
    };
    let a = terms([-1.0 / 6.0, 1.0 / 24.0], [1.0 / 120.0, -1.0 / 720.0]);
    let b = terms([-1.0 / 5_040.0, 1.0 / 40_320.0], [1.0 / 362_880.0, -1.0 / 3_628_800.0]);
    let c = terms(
        [-1.0 / 39_916_800.0, 1.0 / 479_001_600.0],
        [1.0 / 6_227_020_800.0, -1.0 / 87_178_291_200.0],
    );
    let d = terms(
        [-1.0 / 1_307_674_368_000.0, 1.0 / 20_922_789_888_000.0],
        [1.0 / 355_687_428_096_000.0, -1.0 / 6_402_373_705_728_000.0],
    );
    let [sin, cos] = [0, 1].map(|i| (a[i] + q * b[i]) + q * q * (c[i] + q * d[i]));
    (x + x * s * sin, 1.0 - (0.5 * s - q * cos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        let mut worst = 0.0_f64;
        for i in -400_000..400_000 {
            let angle = f64::from(i) * 1.234_567e-5 * if i % 3 == 0 { 20.0 } else { 1.0 };
            let (sin, cos) = sin_cos(angle);
            worst = worst.max((sin - angle.sin()).abs()).max((cos - angle.cos()).abs());
        }
        assert!(worst <= 4.5e-16, "{worst:e}");
        assert!(worst > 0.0, "this is not the standard library itself");
    }

    #[test]
    fn the_short_ways_agree_with_the_long_ones() {
        for i in -1000..=1000 {
            let x = f64::from(i) * 2e-4;
            assert!((asin(x) - x.asin()).abs() <= 2.0 * f64::EPSILON * x.abs(), "asin {x}");
            assert!((atan(x) - x.atan()).abs() <= 2.0 * f64::EPSILON * x.abs(), "atan {x}");
        }
        assert!(asin(f64::NAN).is_nan() && atan(f64::NAN).is_nan());
    }

    #[test]
    fn zero_is_exact_and_strange_angles_are_safe() {
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        assert!(sin_cos(f64::NAN).0.is_nan() && sin_cos(f64::INFINITY).1.is_nan());
        assert_eq!(sin_cos(1e9), 1e9_f64.sin_cos());
        assert_eq!(sin_cos(1e-20).0, 1e-20);
    }
}
