//! By how much must the critic's risks be raised to agree with what happens?
//!
//! By a number `r >= 0` of log-odds, learned from the surprises: online logistic regression of one
//! parameter. Up to a limit it is a *shift* `b` of all risks, which also makes what can be avoided cost more; what is
//! beyond is a *lift* `l` of what cannot be avoided. Start at [`Recalibration::raising`].
//!
//! ```text
//!   r        <- r + eta d,   kept within [0, b_max + l_max];   b = min(r, b_max),  l = r - b
//!   rho_b    =  rho e^b / (1 - rho + rho e^b)
//!   V_r      =  V_b e^l / (1 - V_b + V_b e^l),   V_b the least rho_b of a scene
//!   rho_r    =  min(1, rho_b + (V_r - V_b))
//! ```
//!
//! Why two: a shift makes the shield more cautious, which helps as long as the critic still knows what is dangerous. Where
//! it does not, minding what it says all the more does harm, and what is left to do is to say how much happens. A lift
//! changes no cost: costs are what the shifted risks `rho_b` differ by ([`RiskRules::costs`](crate::RiskRules::costs)).
//!
//! What is learned comes into force when an episode ends. Within one it stands still, so that
//! two risks of one episode are on one scale: a risk that rose only because the shift did would be a
//! surprise of the shield's own making. While it stands still, a shift keeps a conservative critic so. A lift does for the
//! least risky actions only, decision by decision. But its promise holds, since that of the critic that is only shifted does.
//!
//! **Invariants**, in floating point and not only on paper: a risk is never lowered; a
//! probability stays one; the order of two risks is kept, and a greater `r` never lowers any;
//! at `r = 0` every risk keeps its bits; what is no probability stays none. See
//! `proofs/recalibration_raises.smt2` and its neighbours.
//!
//! **Absent on purpose:** lowering risks. A critic that was too cautious stays so.

use crate::RecalibrationState;
use crate::evidence::worst_unless_usable;
use crate::gain::decay;
use crate::risk::is_probability;

/// By how much a critic's log-odds are raised, learned from surprises.
///
/// ```
/// use cpss_shield::{RiskRules, RiskSpec};
///
/// let spec = RiskSpec { rate: 0.5, max_shift: 0.5, max_lift: 9.0, ..RiskSpec::new() };
/// let rules = RiskRules::new(spec)?;
/// let mut recalibration = *rules.memory().recalibration();
/// let risks = [0.1, 0.4];
/// assert_eq!(recalibration.raising(&risks).raise(0.4), 0.4);
/// recalibration.learn(1.0); // an incident out of the blue
/// recalibration.adopt();
/// assert_eq!((recalibration.shift(), recalibration.lift()), (0.5, 0.0));
/// assert!((recalibration.raising(&risks).raise(0.1) - 0.1548).abs() < 1e-4);
/// recalibration.learn(1.0); // and another: the shift is at its limit
/// recalibration.adopt();
/// assert_eq!((recalibration.shift(), recalibration.lift()), (0.5, 0.5));
/// assert!((recalibration.raising(&risks).raise(0.1) - 0.2320).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recalibration {
    rate: f64,
    max_shift: f64,
    max_lift: f64,
    /// What has been learned, in force or not yet.
    learned: f64,
    /// The shift and the lift in force.
    shift: f64,
    lift: f64,
    /// `e^-b` and `e^-l` of those, in `(0, 1]`.
    factors: [f64; 2],
    /// What surprises have added to what is learned since the last fork.
    gained: f64,
}

/// How the risks of one scene are raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raising {
    /// `e^-b`.
    factor: f64,
    /// What the lift adds to each, once it is shifted.
    added: f64,
}

impl Raising {
    /// One of the scene's risks, raised: `rho_r`. What is no probability is returned as it is.
    pub fn raise(&self, risk: f64) -> f64 {
        self.lift(self.shift(risk))
    }

    /// The same without the lift: `rho_b`, of which costs are made.
    pub(crate) fn shift(&self, risk: f64) -> f64 {
        if is_probability(risk) { raised(risk, self.factor) } else { risk }
    }

    /// What is shifted already, lifted.
    ///
    /// A sum that is rounded keeps order and is not below what nothing negative was added to.
    pub(crate) fn lift(&self, shifted: f64) -> f64 {
        // At no lift even a negative zero keeps its bits, and a NaN is not made a 1.
        if self.added > 0.0 && is_probability(shifted) {
            (shifted + self.added).min(1.0)
        } else {
            shifted
        }
    }
}

/// A probability whose log-odds are raised by `b`, for `factor = e^-b`.
///
/// Computed as `1 / (1 + e^-b (1 - rho) / rho)`. Each operation is monotone and rounding keeps
/// order, so the whole is monotone in `rho` and in `b`. The comparison at the end repairs a last
/// bit that rounding may have lost.
fn raised(risk: f64, factor: f64) -> f64 {
    if factor >= 1.0 {
        return risk;
    }
    let raised = 1.0 / (1.0 + factor * ((1.0 - risk) / risk));
    // A risk of 0 is raised to 0, and one too small for its odds to be a double keeps its bits.
    if raised > risk { raised } else { risk }
}

impl Recalibration {
    /// Nothing raised yet. [`RiskRules`](crate::RiskRules) has checked the numbers.
    pub(crate) const fn new(rate: f64, max_shift: f64, max_lift: f64) -> Recalibration {
        Recalibration {
            rate,
            max_shift,
            max_lift,
            learned: 0.0,
            shift: 0.0,
            lift: 0.0,
            factors: [1.0; 2],
            gained: 0.0,
        }
    }

    /// How the risks of a scene are raised, by what is in force. Those that are no probabilities do not count.
    pub fn raising(&self, risks: &[f64]) -> Raising {
        let [factor, lifted] = self.factors;
        let mut added = 0.0;
        if lifted < 1.0 {
            let mut least = 1.0;
            for &risk in risks {
                let shifted = raised(risk, factor);
                // Accepted by a comparison that a NaN fails.
                if is_probability(shifted) && shifted <= least {
                    least = shifted;
                }
            }
            added = raised(least, lifted) - least;
        }
        Raising { factor, added }
    }

    /// Takes one surprise into account. What is in force stays so until [`Recalibration::adopt`].
    pub fn learn(&mut self, surprise: f64) {
        let before = self.learned;
        self.learned = self.kept_within(before + self.rate * worst_unless_usable(surprise));
        self.gained += self.learned - before;
    }

    /// What is learned is at least this from now on, as far as the limits allow, until surprises lower it again.
    pub(crate) fn take_precaution(&mut self, least: f64) {
        self.learned = self.kept_within(self.learned.max(least));
    }

    fn kept_within(&self, learned: f64) -> f64 {
        // Not `f64::clamp`, which can panic.
        learned.max(0.0).min(self.most())
    }

    /// Puts what was learned into force: between two episodes.
    pub fn adopt(&mut self) {
        let shift = self.learned.min(self.max_shift);
        // A difference may be off by its last bit.
        self.put(shift, (self.learned - shift).min(self.max_lift));
    }

    fn put(&mut self, shift: f64, lift: f64) {
        (self.shift, self.lift) = (shift, lift);
        self.factors = [decay(shift), decay(lift)];
    }

    /// The shift `b` of the log-odds of all risks that is in force.
    pub const fn shift(&self) -> f64 {
        self.shift
    }

    /// The lift `l` of the log-odds of what cannot be avoided that is in force, beyond the shift.
    pub const fn lift(&self) -> f64 {
        self.lift
    }

    /// By how much the log-odds of what cannot be avoided are raised in all: shift and lift together.
    pub fn raised(&self) -> f64 {
        self.shift + self.lift
    }

    /// What comes into force when the episode ends, shift and lift together, as far as it is learned.
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
        let Recalibration { learned, shift, lift, gained, .. } = *self;
        RecalibrationState { learned, shift, lift, gained }
    }

    /// The same rate and limits with what another has learned.
    pub(crate) fn with_state(self, state: RecalibrationState) -> Recalibration {
        let RecalibrationState { learned, shift, lift, gained } = state;
        let mut recalled = Recalibration { learned, gained, ..self };
        recalled.put(shift, lift);
        recalled
    }

    /// The greatest shift, and the greatest lift.
    pub(crate) const fn limits(&self) -> [f64; 2] {
        [self.max_shift, self.max_lift]
    }

    /// The most that can be learned.
    pub(crate) const fn most(&self) -> f64 {
        self.max_shift + self.max_lift
    }

    /// Whether another learns by the same rate within the same limits.
    pub(crate) fn is_like(&self, other: &Recalibration) -> bool {
        self.rate == other.rate && self.limits() == other.limits()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raised_by(shift: f64, lift: f64) -> Recalibration {
        let mut recalibration = Recalibration::new(0.1, 40.0, 40.0);
        recalibration.put(shift, lift);
        recalibration
    }

    #[test]
    fn the_shift_stays_within_its_bounds() {
        let mut recalibration = Recalibration::new(0.5, 1.25, 0.0);
        let mut shifts = [0.0; 6];
        for (shift, surprise) in shifts.iter_mut().zip([-1.0, 1.0, 0.5, f64::NAN, 1.0, -0.5]) {
            let in_force = recalibration.shift();
            recalibration.learn(surprise);
            assert_eq!(recalibration.shift(), in_force, "it stands still until it is adopted");
            recalibration.adopt();
            *shift = recalibration.shift();
        }
        assert_eq!(shifts, [0.0, 0.5, 0.75, 1.25, 1.25, 1.0]);
        let mut endless = Recalibration::new(f64::MAX, 40.0, 0.0);
        endless.learn(1.0);
        assert_eq!((endless.learned(), endless.shift()), (40.0, 0.0));
    }

    #[test]
    fn the_lift_begins_where_the_shift_ends_and_goes_first() {
        let mut recalibration = Recalibration::new(1.0, 1.0, 2.0);
        let mut found = [[0.0; 2]; 7];
        for (found, surprise) in found.iter_mut().zip([0.5, 1.0, 1.0, 1.0, -1.0, -1.0, -0.5]) {
            recalibration.learn(surprise);
            recalibration.adopt();
            *found = [recalibration.shift(), recalibration.lift()];
            assert_eq!(recalibration.raised(), recalibration.shift() + recalibration.lift());
        }
        let raised = [[0.5, 0.0], [1.0, 0.5], [1.0, 1.5], [1.0, 2.0]];
        assert_eq!(found[..4], raised);
        assert_eq!(found[4..], [[1.0, 1.0], [1.0, 0.0], [0.5, 0.0]], "the lift goes first");
    }

    #[test]
    fn a_lift_raises_the_least_by_its_log_odds_and_all_alike() {
        let risks = [0.3, f64::NAN, 0.01, 2.0, 0.02];
        let raising = raised_by(0.0, 0.7).raising(&risks);
        let log_odds = |risk: f64| (risk / (1.0 - risk)).ln();
        assert!((log_odds(raising.raise(0.01)) - log_odds(0.01) - 0.7).abs() < 1e-12);
        assert!((raising.raise(0.3) - raising.raise(0.01) - 0.29).abs() < 1e-15);
        assert!((raising.raise(0.02) - raising.raise(0.01) - 0.01).abs() < 1e-15);
        assert_eq!(raised_by(0.0, 9.0).raising(&[0.01, 0.999]).raise(0.999), 1.0);
        // Without a single probability everything is certain to fail already.
        assert_eq!(raised_by(0.0, 9.0).raising(&[f64::NAN]).raise(0.5), 0.5);
    }

    #[test]
    fn what_is_no_probability_stays_none() {
        for bad in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
            let raising = raised_by(2.0, 2.0).raising(&[bad, 0.5]);
            assert_eq!(raising.raise(bad).to_bits(), bad.to_bits());
        }
        for (end, others) in [(0.0, [0.0, 0.5]), (1.0, [1.0, 1.0])] {
            assert_eq!(raised_by(40.0, 40.0).raising(&others).raise(end), end);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Every double from 0 to 1 as risk, its neighbour, another in the same scene, and any shift and lift.
        #[test]
        fn it_raises_keeps_order_and_is_the_identity_at_no_shift(
            bits in prop_oneof![0..=1f64.to_bits(), 0.0f64.to_bits()..=1e-3f64.to_bits()],
            (uniform, other) in (0.0..=1.0_f64, 0.0..=1.0_f64),
            (shift, more) in (0.0..40.0_f64, 0.0..2.0_f64),
            (lift, higher) in (prop_oneof![Just(0.0), 0.0..40.0_f64], 0.0..2.0_f64),
        ) {
            for risk in [f64::from_bits(bits), uniform] {
                let next = risk.next_up().min(1.0);
                let scene = [other, risk, next];
                let at = |shift: f64, lift: f64| raised_by(shift.min(40.0), lift.min(40.0)).raising(&scene);
                let (b, shifted) = (at(shift, lift), at(shift, 0.0));
                prop_assert!(b.raise(risk) >= shifted.raise(risk) && shifted.raise(risk) >= risk);
                prop_assert!(b.raise(risk) <= 1.0);
                prop_assert!(b.raise(next) >= b.raise(risk));
                prop_assert!(at(shift + more, 0.0).raise(risk) >= shifted.raise(risk));
                prop_assert!(at(shift, lift + higher).raise(risk) >= b.raise(risk));
                prop_assert_eq!(at(0.0, 0.0).raise(risk).to_bits(), risk.to_bits());
                let odds = shift.exp() * risk / (1.0 - risk);
                if risk > 1e-300 && risk < 1.0 && odds.is_finite() {
                    let exact = odds / (1.0 + odds);
                    prop_assert!((shifted.raise(risk) / exact - 1.0).abs() < 1e-11, "{risk} {shift}");
                }
            }
        }
    }
}
