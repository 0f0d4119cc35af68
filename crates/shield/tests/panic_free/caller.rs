//! Calls everything a control loop calls, so that the compiler has to emit it.
//!
//! Compiled by `panic_free.rs`, not a test by itself.

#![no_std]

use cpss_shield::batch::{BatchError, Situations, judge_all, settle_all};
use cpss_shield::candidates::{CandidateError, Neighbourhood, judge_nearest, sample};
use cpss_shield::{
    Certificate, Decision, JudgeError, OutOfRange, Settlement, Shield, ShieldSpec, Situation,
    StaleDecision,
};

#[inline(never)]
pub fn new(spec: ShieldSpec) -> Result<Shield, OutOfRange> {
    Shield::new(spec)
}

#[inline(never)]
pub fn judge(shield: &Shield, situation: &Situation<'_>) -> Result<Decision, JudgeError> {
    shield.judge(situation)
}

#[inline(never)]
pub fn settle(shield: &mut Shield, d: Decision, cost: f64) -> Result<Settlement, StaleDecision> {
    shield.settle(d, cost)
}

#[inline(never)]
pub fn renew(shield: &mut Shield) -> (Certificate, Certificate) {
    (shield.renew(), shield.reset())
}

#[inline(never)]
pub fn judge_batch(
    shields: &[Shield],
    situations: &Situations<'_>,
    decisions: &mut [Option<Decision>],
) -> Result<(), BatchError> {
    judge_all(shields, situations, decisions)
}

#[inline(never)]
pub fn settle_batch(
    shields: &mut [Shield],
    decisions: &[Option<Decision>],
    observed: &[f64],
    settlements: &mut [Option<Settlement>],
) -> Result<(), BatchError> {
    settle_all(shields, decisions, observed, settlements)
}

#[inline(never)]
pub fn candidates(
    shield: &Shield,
    around: &Neighbourhood<'_>,
    rows: &mut [f64],
    costs: &[f64],
    room: &mut [f64],
) -> Result<Decision, CandidateError> {
    sample(around, rows)?;
    judge_nearest(shield, around, rows, costs, 0.0, room)
}
