//! Code that can panic in the ways a shield must not: the scanner has to find each of them.
//!
//! Compiled by `panic_free.rs`, not a test by itself.

#![no_std]

#[inline(never)]
pub fn indexes(costs: &[f64], action: usize) -> f64 {
    costs[action]
}

#[inline(never)]
pub fn slices(costs: &[f64], from: usize) -> &[f64] {
    &costs[from..]
}

#[inline(never)]
pub fn unwraps(cost: Option<f64>) -> f64 {
    cost.unwrap()
}

#[inline(never)]
pub fn overflows(step: u64) -> u64 {
    step + 1
}

#[inline(never)]
pub fn divides(length: usize, dimensions: usize) -> usize {
    length / dimensions
}

#[inline(never)]
pub fn clamps(value: f64, low: f64, high: f64) -> f64 {
    value.clamp(low, high)
}

#[inline(never)]
pub fn copies(from: &[f64], to: &mut [f64]) {
    to.copy_from_slice(from);
}
