//! Calls everything a control loop calls, so that the compiler has to emit it.
//!
//! Compiled by `panic_free.rs`, not a test by itself.

#![no_std]

use cpss_shield::batch::{BatchError, Situations, judge_all, settle_all};
use cpss_shield::candidates::{CandidateError, Neighbourhood, judge_nearest, sample};
use cpss_shield::{
    Account, Alarm, Certificate, CostCount, Decision, JoinError, JudgeError, Memory, MemoryState,
    Novelty, NoveltyScale, OutOfRange, RiskRules, RiskSpec, Settlement, Shield, ShieldSpec, Situation,
    StaleDecision, Surprise,
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
pub fn risk_rules(spec: RiskSpec) -> Result<RiskRules, OutOfRange> {
    RiskRules::new(spec)
}

#[inline(never)]
pub fn risk_costs(
    rules: &RiskRules,
    memory: &Memory,
    risks: &[f64],
    costs: &mut [f64],
) -> Result<f64, CostCount> {
    rules.costs(memory.recalibration(), risks, costs)
}

#[inline(never)]
pub fn enter(account: &mut Account, memory: &mut Memory, numbers: [f64; 3]) {
    let [unavoidable, risk, charge] = numbers;
    let risk = memory.recalibration().raising(&[risk, 0.5]).raise(risk);
    if let Some(surprise) = account.enter(unavoidable, risk, charge) {
        memory.learn(surprise);
    }
}

#[inline(never)]
pub fn close(account: &mut Account, memory: &mut Memory, incident: bool) {
    memory.end_episode(account.close(incident));
}

#[inline(never)]
pub fn novelty(scale: NoveltyScale, level: f64) -> Result<Novelty, OutOfRange> {
    Novelty::new(scale, level)
}

#[inline(never)]
pub fn end_scored(memory: &mut Memory, last: f64, score: f64) -> Option<Alarm> {
    memory.end_episode_scored(Some(Surprise::of(last)), Some(score));
    memory.alarm()
}

#[inline(never)]
pub fn fleet(base: &Memory, forks: &[Memory]) -> Result<(Memory, Memory), JoinError> {
    Ok((base.join(forks)?, base.fork()))
}

#[inline(never)]
pub fn recall(memory: Memory, state: &MemoryState) -> Result<MemoryState, OutOfRange> {
    Ok(memory.recall(state)?.state())
}

#[inline(never)]
pub fn certify(shield: &Shield, account: &Account, memory: &Memory) -> (Certificate, f64) {
    let certificate = shield.certificate().with_account(*account).with_memory(*memory);
    (certificate, certificate.overspent() + account.total() + memory.evidence().value())
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
