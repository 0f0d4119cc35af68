//! By how much must the critic's risks be raised to agree with what happens?
//!
//! By a shift `b >= 0` of their log-odds, learned from the surprises: online logistic regression of
//! one parameter. Start at [`Recalibration::raise`].
//!
//! ```text
//!   rho_b = rho e^b / (1 - rho + rho e^b)
//!   b    <- b + eta d,   kept within [0, b_max]
//! ```
//!
//! What is learned comes into force when an episode ends. Within one the shift stands still, so that
//! two risks of one episode are on one scale: a risk that rose only because the shift did would be a
//! surprise of the shield's own making. And while it stands still, a conservative critic stays so.
//!
//! **Invariants**, in floating point and not only on paper: a risk is never lowered; a
//! probability stays one; the order of two risks is kept, and a greater shift never lowers either;
//! at `b = 0` every risk keeps its bits; what is no probability stays none. See
//! `proofs/recalibration_raises.smt2` and its neighbours.
//!
//! **Absent on purpose:** lowering risks. A critic that was too cautious stays so.

use crate::RecalibrationState;
use crate::evidence::worst_unless_usable;
use crate::gain::decay;
use crate::risk::is_probability;

/// The shift of a critic's log-odds, learned from surprises.
///
/// ```
/// use cpss_shield::{RiskRules, RiskSpec};
///
/// let rules = RiskRules::new(RiskSpec { rate: 0.5, ..RiskSpec::new() })?;
/// let mut recalibration = *rules.memory().recalibration();
/// assert_eq!(recalibration.raise(0.1), 0.1);
/// recalibration.learn(1.0); // an incident out of the blue
/// recalibration.adopt();
/// assert_eq!(recalibration.shift(), 0.5);
/// assert!((recalibration.raise(0.1) - 0.1548).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recalibration {
    rate: f64,
    max_shift: f64,
    /// What has been learned, in force or not yet.
    learned: f64,
    /// The shift in force.
    shift: f64,
    /// `e^-b` of the shift in force, in `(0, 1]`.
    factor: f64,
    /// What surprises have added to what is learned since the last fork.
    gained: f64,
}

impl Recalibration {
    /// No shift yet. [`RiskRules`](crate::RiskRules) has checked the numbers.
    pub(crate) const fn new(rate: f64, max_shift: f64) -> Recalibration {
        Recalibration { rate, max_shift, learned: 0.0, shift: 0.0, factor: 1.0, gained: 0.0 }
    }

    /// The risk after the shift, `rho_b`. What is no probability is returned as it is.
    ///
    /// Computed as `1 / (1 + e^-b (1 - rho) / rho)`. Each operation is monotone and rounding keeps
    /// order, so the whole is monotone in `rho` and in `b`. The comparison at the end repairs a last
    /// bit that rounding may have lost.
    pub fn raise(&self, risk: f64) -> f64 {
        if !is_probability(risk) || self.factor >= 1.0 {
            return risk;
        }
        let raised = 1.0 / (1.0 + self.factor * ((1.0 - risk) / risk));
        // A risk of 0 is raised to 0, and one too small for its odds to be a double keeps its bits.
        if raised > risk { raised } else { risk }
    }

    /// Takes one surprise into account. The shift in force stays until [`Recalibration::adopt`].
    pub fn learn(&mut self, surprise: f64) {
        let before = self.learned;
        self.learned = self.kept_within(before + self.rate * worst_unless_usable(surprise));
        self.gained += self.learned - before;
    }

    /// What is learned is at least this from now on, as far as the greatest shift allows, until surprises lower it again.
    pub(crate) fn take_precaution(&mut self, least: f64) {
        self.learned = self.kept_within(self.learned.max(least));
    }

    fn kept_within(&self, shift: f64) -> f64 {
        // Not `f64::clamp`, which can panic.
        shift.max(0.0).min(self.max_shift)
    }

    /// Puts what was learned into force: between two episodes.
    pub fn adopt(&mut self) {
        self.shift = self.learned;
        self.factor = decay(self.shift);
    }

    /// The shift `b` of the log-odds that is in force.
    pub const fn shift(&self) -> f64 {
        self.shift
    }

    /// The shift that comes into force when the episode ends, as far as it is learned.
    pub const fn learned(&self) -> f64 {
        self.learned
    }

    /// The same, from which on is remembered what is added.
    pub(crate) const fn fork(self) -> Recalibration {
        Recalibration { gained: 0.0, ..self }
    }

    /// Takes what a fork's surprises have added.
    pub(crate) fn absorb(&mut self, fork: &Recalibration) {
        let before = self.learned;
        self.learned = self.kept_within(before + fork.gained);
        self.gained += self.learned - before;
    }

    /// All that it has learned, as plain numbers.
    pub(crate) const fn state(&self) -> RecalibrationState {
        RecalibrationState { learned: self.learned, shift: self.shift, gained: self.gained }
    }

    /// The same rate and limit with what another has learned.
    pub(crate) fn with_state(self, state: RecalibrationState) -> Recalibration {
        let RecalibrationState { learned, shift, gained } = state;
        Recalibration { learned, shift, factor: decay(shift), gained, ..self }
    }

    /// The greatest shift.
    pub(crate) const fn max_shift(&self) -> f64 {
        self.max_shift
    }

    /// Whether another learns by the same rate within the same limit.
    pub(crate) fn is_like(&self, other: &Recalibration) -> bool {
        self.rate == other.rate && self.max_shift == other.max_shift
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shifted(shift: f64) -> Recalibration {
        Recalibration { shift, factor: decay(shift), ..Recalibration::new(0.1, 40.0) }
    }

    #[test]
    fn the_shift_stays_within_its_bounds() {
        let mut recalibration = Recalibration::new(0.5, 1.25);
        let mut shifts = [0.0; 6];
        for (shift, surprise) in shifts.iter_mut().zip([-1.0, 1.0, 0.5, f64::NAN, 1.0, -0.5]) {
            let in_force = recalibration.shift();
            recalibration.learn(surprise);
            assert_eq!(recalibration.shift(), in_force, "it stands still until it is adopted");
            recalibration.adopt();
            *shift = recalibration.shift();
        }
        assert_eq!(shifts, [0.0, 0.5, 0.75, 1.25, 1.25, 1.0]);
        let mut endless = Recalibration::new(f64::MAX, 40.0);
        endless.learn(1.0);
        assert_eq!((endless.learned(), endless.shift()), (40.0, 0.0));
    }

    #[test]
    fn what_is_no_probability_stays_none() {
        for bad in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
            assert_eq!(shifted(2.0).raise(bad).to_bits(), bad.to_bits());
        }
        assert_eq!((shifted(40.0).raise(0.0), shifted(40.0).raise(1.0)), (0.0, 1.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Every double from 0 to 1 as risk, its neighbour, and any shift.
        #[test]
        fn it_raises_keeps_order_and_is_the_identity_at_no_shift(
            bits in prop_oneof![0..=1f64.to_bits(), 0.0f64.to_bits()..=1e-3f64.to_bits()],
            uniform in 0.0..=1.0_f64,
            (shift, more) in (0.0..40.0_f64, 0.0..2.0_f64),
        ) {
            for risk in [f64::from_bits(bits), uniform] {
                let (b, greater) = (shifted(shift), shifted((shift + more).min(40.0)));
                let next = risk.next_up().min(1.0);
                prop_assert!(b.raise(risk) >= risk && b.raise(risk) <= 1.0);
                prop_assert!(b.raise(next) >= b.raise(risk));
                prop_assert!(greater.raise(risk) >= b.raise(risk));
                prop_assert_eq!(shifted(0.0).raise(risk).to_bits(), risk.to_bits());
                let odds = shift.exp() * risk / (1.0 - risk);
                if risk > 1e-300 && risk < 1.0 && odds.is_finite() {
                    let exact = odds / (1.0 + odds);
                    prop_assert!((b.raise(risk) / exact - 1.0).abs() < 1e-11, "{risk} {shift}");
                }
            }
        }
    }
}
