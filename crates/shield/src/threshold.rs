//! Is this cost admissible now, and if not, which limit refuses it?
//!
//! [`Threshold::admits`] is the shield's one comparison, `c <= tau`. Everything else in the crate
//! works out `tau` before it or acts on it afterwards.
//!
//! ```text
//!   tau_t = min(tau_cap, tau_budget) * g(d_t, delta_t)          Eq. 5, with the cap
//! ```
//!
//! The cap is ours. Without it, budget that was saved lets `tau` grow as the horizon comes near,
//! until on the last decisions even a predicted collision, cost 1, would be admissible.
//!
//! **Invariants:** `0 <= tau <= tau_cap < 1` and `tau <= tau_budget`, in IEEE double with the
//! product's rounding (`proofs/threshold_below_cap.smt2`); whatever the gain, no cost above either
//! limit is admitted (`proofs/threshold_fails_closed.smt2`); an unusable cost is never admitted; a
//! refused cost has exactly one [`Reason`], the outermost limit that refuses it.

use crate::{Context, GainSpec, Ledger, Reason, usable};

/// The threshold of one decision, with the parts it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    tau: f64,
    tau_cap: f64,
    tau_budget: f64,
    gain: f64,
    closed: bool,
    spent: bool,
}

impl Threshold {
    /// Projects the ledger and tightens by the context: Eqs. 4 and 5.
    pub(crate) fn project(
        ledger: &Ledger,
        context: &Context,
        gain: &GainSpec,
        tau_cap: f64,
        density: f64,
    ) -> Threshold {
        let tau_budget = ledger.tau_budget();
        // A context that cannot be read is taken for the worst there is: gain 0.
        let gain = match context.read(density) {
            Some(change) => gain.at(density, change),
            None => 0.0,
        };
        Threshold {
            tau: tightened(smaller(tau_cap, tau_budget), gain),
            tau_cap,
            tau_budget,
            gain,
            closed: ledger.is_closed(),
            spent: ledger.remaining() <= 0.0,
        }
    }

    /// The shield rule's condition, Eq. 6: may an action of this predicted cost run?
    pub fn admits(&self, cost: f64) -> bool {
        usable(cost) && cost <= self.tau
    }

    /// Why a cost is refused; `None` if it is admitted.
    ///
    /// The limits are tried from the one that can move least to the one that moves most: a cost
    /// over the cap is refused whatever the budget, one over the budget whatever the context.
    pub fn refusal(&self, cost: f64) -> Option<Reason> {
        if self.admits(cost) {
            return None;
        }
        Some(if !usable(cost) {
            Reason::UnusableCost
        } else if cost > self.tau_cap {
            Reason::OverCap
        } else if self.closed {
            Reason::HorizonClosed
        } else if self.spent {
            Reason::BudgetSpent
        } else if cost > self.tau_budget {
            Reason::OverBudget
        } else if self.gain == 0.0 {
            Reason::UnusableContext
        } else {
            Reason::OverContext
        })
    }

    /// The threshold `tau_t` itself.
    pub const fn tau(&self) -> f64 {
        self.tau
    }

    /// The cap, which no budget lifts.
    pub const fn tau_cap(&self) -> f64 {
        self.tau_cap
    }

    /// The budget's projection, Eq. 4, before the cap and the gain.
    pub const fn tau_budget(&self) -> f64 {
        self.tau_budget
    }

    /// The gain `g` in `(0, 1]`; 0 if the density was unusable.
    pub const fn gain(&self) -> f64 {
        self.gain
    }
}

/// The limit times the gain, and never above the limit.
///
/// For a gain of at most 1 the comparison changes no number, as rounding keeps order. It is there
/// so that nothing depends on that: a gain above 1, by whatever slip, would not loosen the limit.
fn tightened(limit: f64, gain: f64) -> f64 {
    smaller(limit, limit * gain)
}

/// The smaller of two numbers, or the second if they have no order.
///
/// Not `f64::min`, which would turn a projection that is NaN into the cap, and so fail open. No
/// ledger projects a NaN today; if one ever did, the threshold would be NaN and admit nothing. Nor
/// would a gain that is NaN: its product is the second of the two.
fn smaller(first: f64, second: f64) -> f64 {
    if first <= second { first } else { second }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smaller_of_the_two_limits_counts() {
        assert_eq!(smaller(0.5, 0.25), 0.25);
        assert_eq!(smaller(0.5, 0.75), 0.5);
        assert_eq!(smaller(0.5, f64::INFINITY), 0.5);
    }

    fn of(tau_budget: f64, gain: f64) -> Threshold {
        let tau = tightened(smaller(0.5, tau_budget), gain);
        Threshold { tau, tau_cap: 0.5, tau_budget, gain, closed: false, spent: false }
    }

    #[test]
    fn regression_a_projection_that_is_nan_admits_nothing() {
        let threshold = of(f64::NAN, 1.0);
        assert!(!threshold.admits(0.0) && !threshold.admits(0.4));
    }

    #[test]
    fn a_gain_that_makes_no_sense_never_loosens() {
        for gain in [1.5, f64::MAX, f64::INFINITY] {
            assert_eq!(of(0.25, gain).tau(), 0.25);
        }
        for gain in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            assert!(!of(0.25, gain).admits(0.0));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Every double from 0 to the largest, as limit; every one from 0 to 1, as gain: the
        /// comparison in [`tightened`] decides nothing, not even among the subnormals.
        #[test]
        fn for_a_gain_of_at_most_one_the_product_is_the_threshold(
            limit in 0..=f64::MAX.to_bits(),
            gain in 0..=1f64.to_bits(),
        ) {
            let (limit, gain) = (f64::from_bits(limit), f64::from_bits(gain));
            prop_assert_eq!(tightened(limit, gain).to_bits(), (limit * gain).to_bits());
        }
    }
}
