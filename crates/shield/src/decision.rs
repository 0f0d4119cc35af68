//! What was decided at one step, with every number that led there?
//!
//! A [`Decision`] is what [`Shield::judge`](crate::Shield::judge) gives and
//! [`Shield::settle`](crate::Shield::settle) takes back with the observed cost, answered by a
//! [`Settlement`]. Together with the spec they are enough to derive the charge, the excess, the ledger
//! and the envelope again, and to check the proposal's verdict against its threshold. To derive the
//! threshold and the choice of the fallback as well, a trace has to keep the whole
//! [`Situation`](crate::Situation): the other actions' costs, the preferences and, through the
//! densities, the context's average.
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
    pub(crate) generation: u64,
    pub(crate) proposal: usize,
    pub(crate) allowed: usize,
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

    /// The action that the verdict calls for: the proposal if it was admitted, else what stands in
    /// for it. Under [`Mode::Enforce`](crate::Mode::Enforce) it is the executed one; in shadow mode
    /// it is what would have run.
    pub const fn allowed(&self) -> usize {
        self.allowed
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
        let (proposal, allowed) = (self.proposal, self.allowed);
        // In shadow mode the refused proposal runs all the same, and the log should say so.
        let only_judged = allowed != self.executed;
        match self.verdict {
            Verdict::Admit => write!(f, "admitted action {proposal}")?,
            Verdict::Replace(_) if only_judged => {
                write!(f, "would have replaced action {proposal} by {allowed}")?;
            }
            Verdict::Replace(_) => write!(f, "replaced action {proposal} by {allowed}")?,
            Verdict::Infeasible(_) if only_judged => {
                write!(f, "nothing fits, would have run {allowed} for {proposal}")?;
            }
            Verdict::Infeasible(_) if proposal == allowed => {
                write!(f, "nothing fits, ran {proposal}")?;
            }
            Verdict::Infeasible(_) => write!(f, "nothing fits, ran {allowed} for {proposal}")?,
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
    /// The cost charged, as the rules' [`Charge`](crate::Charge) says: the observed or the predicted
    /// one as it is, even above 1; or 1 if it was unusable.
    pub charge: f64,
    /// By how much the charge was above the threshold, `e_t`.
    pub excess: f64,
    /// Whether the executed action was predicted to be admissible and was not: the predictor
    /// erred, and the excess is its error.
    pub mispredicted: bool,
    /// Whether the observed cost was NaN, infinite or negative, so that 1 was charged,
    /// the worst on the scale of costs. Always `false` where the prediction is charged.
    pub unusable_observation: bool,
    /// The budget left after the charge, `R_{t+1}`; below zero if overdrawn.
    pub remaining: f64,
    /// The anytime envelope after the charge.
    pub envelope: f64,
    /// Whether the spent cost is within the envelope, up to rounding. Also `false` if the numbers
    /// are too large for a double to tell; see
    /// [`Ledger::envelope_holds`](crate::Ledger::envelope_holds).
    pub envelope_holds: bool,
}

/// A decision that belongs to another step or another ledger than the one the shield is at: it was
/// settled before, or the shield has been renewed or reset since. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleDecision {
    /// The step the decision was judged at.
    pub decided_at: u64,
    /// The ledger it was judged in, counted from 0: how often the shield had been renewed or reset.
    pub decided_in: u64,
    /// The step the shield is at.
    pub shield_at: u64,
    /// The ledger the shield is at, counted likewise.
    pub shield_in: u64,
}

impl fmt::Display for StaleDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaleDecision { decided_at, decided_in, shield_at, shield_in } = self;
        if decided_in == shield_in {
            return write!(
                f,
                "the decision is of step {decided_at}, but the shield is at step {shield_at}"
            );
        }
        write!(
            f,
            "the decision is of step {decided_at} of ledger {decided_in}, but the shield is at \
             step {shield_at} of ledger {shield_in}"
        )
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
