//! What was decided at one step, with every number that led there?
//!
//! A [`Decision`] is what [`Shield::judge`](crate::Shield::judge) gives and
//! [`Shield::settle`](crate::Shield::settle) takes back with the observed cost, answered by a
//! [`Settlement`]. Together they hold all that an auditor needs to derive the step again.
//!
//! **Invariants:** only a shield makes a decision (its fields are private); under
//! [`Mode::Enforce`](crate::Mode::Enforce) an action that is not the proposal runs only with a
//! reason, and an inadmissible one only as [`Verdict::Infeasible`].

use core::fmt;

use crate::{Reason, Threshold, Verdict};

/// One judged proposal. Run [`Decision::executed`], then settle what it really cost.
#[must_use = "a decision does nothing until its executed action runs and its cost is settled"]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub(crate) step: u64,
    pub(crate) proposal: usize,
    pub(crate) executed: usize,
    pub(crate) verdict: Verdict,
    pub(crate) threshold: Threshold,
    pub(crate) cost_proposed: f64,
    pub(crate) cost_executed: f64,
    pub(crate) density: f64,
}

impl Decision {
    /// The action to run, `a_t`.
    pub const fn executed(&self) -> usize {
        self.executed
    }

    /// The verdict on the proposal, with its reason.
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The step `t` this decision belongs to.
    pub const fn step(&self) -> u64 {
        self.step
    }

    /// The action the policy proposed.
    pub const fn proposal(&self) -> usize {
        self.proposal
    }

    /// The threshold `tau_t` that costs were compared with.
    pub const fn threshold(&self) -> f64 {
        self.threshold.tau()
    }

    /// The budget's projection, Eq. 4, before the cap and the gain.
    pub const fn tau_budget(&self) -> f64 {
        self.threshold.tau_budget()
    }

    /// The gain `g` in `(0, 1]`; 0 if the density was unusable.
    pub const fn gain(&self) -> f64 {
        self.threshold.gain()
    }

    /// The predicted cost of the proposal; may be unusable.
    pub const fn cost_proposed(&self) -> f64 {
        self.cost_proposed
    }

    /// The predicted cost of the executed action; may be unusable.
    pub const fn cost_executed(&self) -> f64 {
        self.cost_executed
    }

    /// The density of the situation; may be unusable.
    pub const fn density(&self) -> f64 {
        self.density
    }

    /// Whether the executed action was predicted to be admissible: the conclusion of Theorem 1.
    pub fn is_admissible(&self) -> bool {
        self.threshold.admits(self.cost_executed)
    }
}

/// For people: what was decided, and the numbers that decided it.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (proposal, executed) = (self.proposal, self.executed);
        let ran_anyway = proposal == executed;
        match self.verdict {
            Verdict::Admit => write!(f, "admitted action {proposal}")?,
            // In shadow mode the refused proposal runs all the same, and the log should say so.
            Verdict::Replace(_) if ran_anyway => write!(f, "would have replaced {proposal}")?,
            Verdict::Replace(_) => write!(f, "replaced action {proposal} by {executed}")?,
            Verdict::Infeasible(_) if ran_anyway => write!(f, "nothing fits, ran {proposal}")?,
            Verdict::Infeasible(_) => write!(f, "nothing fits, ran {executed} for {proposal}")?,
        }
        let (cost, tau) = (Short(self.cost_proposed), Short(self.threshold()));
        let (budget, gain) = (Short(self.tau_budget()), Short(self.gain()));
        match self.verdict.reason() {
            None => write!(f, ": cost {cost} is within the threshold {tau}")?,
            // Which of the two it was shows in the numbers that follow.
            Some(Reason::OverBudget | Reason::OverContext) => {
                write!(f, ": cost {cost} is over the threshold {tau}")?;
            }
            Some(Reason::OverCap) => {
                write!(f, ": cost {cost} is over the cap {}", Short(self.threshold.tau_cap()))?;
            }
            Some(reason) => return write!(f, ": {reason} (cost {cost}, threshold {tau})"),
        }
        write!(f, " (budget {budget}, gain {gain})")
    }
}

/// What a decision really cost, and where that leaves the ledger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settlement {
    /// The step `t` that was settled.
    pub step: u64,
    /// The cost charged: the observed one, or 1 if that was unusable.
    pub charge: f64,
    /// By how much the charge was above the threshold, `e_t`.
    pub excess: f64,
    /// Whether the executed action was predicted to be admissible and was not: the predictor
    /// erred, and the excess is its error.
    pub mispredicted: bool,
    /// Whether the observed cost was NaN, infinite or negative, so that the worst was charged.
    pub unusable_observation: bool,
    /// The budget left after the charge, `R_{t+1}`; below zero if overdrawn.
    pub remaining: f64,
    /// The anytime envelope after the charge.
    pub envelope: f64,
    /// Whether the spent cost is within the envelope, up to rounding.
    pub envelope_holds: bool,
}

/// A decision that belongs to another step than the one the shield is at: it was settled
/// before, or the ledger has been renewed since. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleDecision {
    /// The step the decision was judged at.
    pub decided_at: u64,
    /// The step the shield is at.
    pub shield_at: u64,
}

impl fmt::Display for StaleDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaleDecision { decided_at, shield_at } = self;
        write!(f, "the decision is of step {decided_at}, but the shield is at step {shield_at}")
    }
}

impl core::error::Error for StaleDecision {}

/// A number as a person would write it: the fewest decimals that are right to half a percent.
pub(crate) struct Short(pub(crate) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        let mut scaled = value.abs();
        // Beyond a million, and for NaN, the plain form is as short as any.
        if scaled < 1e6 {
            for decimals in 0..=6 {
                let nearest = (scaled + 0.5) as u64 as f64;
                if (scaled - nearest).abs() <= 0.005 * scaled {
                    return write!(f, "{value:.decimals$}");
                }
                scaled *= 10.0;
            }
            return write!(f, "{value:.1e}");
        }
        write!(f, "{value}")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn numbers_are_short_and_right() {
        for (value, text) in [
            (0.41, "0.41"),
            (1.0 / 12.0, "0.083"),
            (0.1, "0.1"),
            (0.0, "0"),
            (-0.5, "-0.5"),
            (12.0, "12"),
            (3.2e-9, "3.2e-9"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Short(value).to_string(), text);
        }
    }
}
