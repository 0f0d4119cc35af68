//! What is a number near one to the power of about four?
//!
//! [`power`] is the one expensive function that every car needs in every frame. For now it is the
//! standard library's.

/// `base` to the power `exponent`, for `base >= 0`.
#[inline]
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    base.powf(exponent)
}
