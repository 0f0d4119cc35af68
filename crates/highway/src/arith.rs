//! How does upstream round?
//!
//! Small formulas whose order of operations is part of the oracle's behaviour: a car's heading
//! error loses the same low bits here as there, so the same cars end up driving dead straight.
//! Nothing here is about driving; it is about agreeing to the last bit where that is cheap.

use std::f64::consts::{PI, TAU};

/// Wraps an angle \[rad\] into [-π, π), losing the bits that `(x + π) % 2π - π` loses.
#[inline]
pub(crate) fn wrap_to_pi(angle: f64) -> f64 {
    let shifted = angle + PI;
    if (0.0..TAU).contains(&shifted) { shifted - PI } else { whole_turns_off(shifted) - PI }
}

/// `angle.rem_euclid(TAU)` to the bit, but faster for the few turns of a car that drives laps. Taking off
/// the largest power of two of turns that fits loses nothing to rounding: both are within a factor of two.
fn whole_turns_off(angle: f64) -> f64 {
    const TURNS: [f64; 6] = [32.0, 16.0, 8.0, 4.0, 2.0, 1.0];
    let mut rest = angle.abs();
    if rest >= 2.0 * TURNS[0] * TAU || rest.is_nan() {
        return angle.rem_euclid(TAU);
    }
    for turns in TURNS {
        if rest >= turns * TAU {
            rest -= turns * TAU;
        }
    }
    let rest = rest.copysign(angle);
    if rest < 0.0 { rest + TAU } else { rest }
}

/// Keeps a divisor away from zero: at least 0.01 in magnitude, with its sign.
#[inline]
pub(crate) fn not_zero(x: f64) -> f64 {
    const LEAST: f64 = 1e-2;
    if x.abs() > LEAST {
        x
    } else if x >= 0.0 {
        LEAST
    } else {
        -LEAST
    }
}

/// Maps `value` linearly from one interval to another.
#[inline]
pub(crate) fn lerp_between(value: f64, from: [f64; 2], to: [f64; 2]) -> f64 {
    to[0] + (value - from[0]) * (to[1] - to[0]) / (from[1] - from[0])
}

/// The length of a vector.
#[inline]
pub(crate) fn norm(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_loses_upstreams_bits() {
        // ((1e-10 + pi) % (2 pi)) - pi in double precision, by Python.
        assert_eq!(wrap_to_pi(1e-10), 1.000_000_082_740_371e-10);
        assert_eq!(wrap_to_pi(0.0), 0.0);
        assert!((wrap_to_pi(4.0) - (4.0 - TAU)).abs() < 1e-15);
        assert!((wrap_to_pi(-4.0) - (TAU - 4.0)).abs() < 1e-15);
        assert_eq!(wrap_to_pi(PI), -PI);
    }

    #[test]
    fn whole_turns_are_taken_off_to_the_bit() {
        let mut angle = 1e-3_f64;
        while angle < 1e4 {
            for angle in [angle, -angle] {
                let expected = angle.rem_euclid(TAU).to_bits();
                assert_eq!(whole_turns_off(angle).to_bits(), expected, "{angle}");
            }
            angle *= 1.000_37;
        }
        for turns in 1..80 {
            let whole: f64 = f64::from(turns) * TAU;
            for angle in [whole, whole.next_up(), whole.next_down(), -whole, -whole.next_up()] {
                let expected = angle.rem_euclid(TAU).to_bits();
                assert_eq!(whole_turns_off(angle).to_bits(), expected, "{angle}");
            }
        }
        assert!(whole_turns_off(f64::NAN).is_nan() && whole_turns_off(f64::INFINITY).is_nan());
    }

    #[test]
    fn divisors_keep_their_sign() {
        assert_eq!(not_zero(0.0), 0.01);
        assert_eq!(not_zero(-0.001), -0.01);
        assert_eq!(not_zero(0.5), 0.5);
    }
}
