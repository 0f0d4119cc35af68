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
    if (0.0..TAU).contains(&shifted) { shifted - PI } else { shifted.rem_euclid(TAU) - PI }
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
    fn divisors_keep_their_sign() {
        assert_eq!(not_zero(0.0), 0.01);
        assert_eq!(not_zero(-0.001), -0.01);
        assert_eq!(not_zero(0.5), 0.5);
    }
}
