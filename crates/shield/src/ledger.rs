//! How much budget is left, and what does it allow the next decision?
//!
//! Start at [`Ledger::tau_budget`], the projection of Eq. 4 with a pace; [`Ledger::charge`] is the
//! only way in which cost is ever spent; [`Ledger::envelope`] is the bound that the spent cost keeps.
//!
//! **Invariants:** `spent` and `excess` never decrease and are never NaN; the step counts every
//! charge; once the step reaches the horizon, the ledger is closed and the projection is 0; while
//! there is no excess, `spent <= budget` holds in IEEE double exactly, not only over the reals
//! (`proofs/ledger_never_overdrawn.smt2` joins the steps, each proved bit by bit).
//!
//! **Absent on purpose:** refunds, transfers between ledgers, and any knowledge of actions.

use crate::ShieldSpec;

/// The running account of one budget over one horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ledger {
    budget: f64,
    horizon: u32,
    epsilon: f64,
    pace: f64,
    step: u64,
    spent: f64,
    excess: f64,
    /// The share `f_t` of the budget that is left on the envelope's line. Kept for a pace above 1.
    line_left: f64,
}

impl Ledger {
    /// Opens an empty account. [`Rules`](crate::Rules) has checked the numbers.
    pub(crate) const fn open(spec: &ShieldSpec) -> Ledger {
        let ShieldSpec { budget, horizon, epsilon, pace, .. } = *spec;
        Ledger { budget, horizon, epsilon, pace, step: 0, spent: 0.0, excess: 0.0, line_left: 1.0 }
    }

    /// The projection of Eq. 4 with a pace: `min(R_t, k R_t / (T - t + epsilon))`, and 0 once
    /// nothing is left or the ledger is closed.
    ///
    /// One number differs from that equation. Where it allows the whole of `R_t`, the projection is
    /// `R_t / (1 + 1e-12)`: the margin of [`ShieldSpec::MIN_EPSILON`], without which the account could
    /// end one unit in the last place above `B`.
    pub fn tau_budget(&self) -> f64 {
        let remaining = self.remaining();
        match self.divisor() {
            // Not `f64::max(remaining, 0.0)`, which would drop a NaN, and a dropped NaN fails open.
            Some(divisor) if remaining > 0.0 => remaining / divisor,
            _ => 0.0,
        }
    }

    /// What the remaining budget is divided by: `max((T - t + epsilon) / k, 1 + 1e-12)`, or `None`
    /// once the ledger is closed. At pace 1 it has the bits of `T - t + epsilon`.
    fn divisor(&self) -> Option<f64> {
        const LEAST: f64 = 1.0 + ShieldSpec::MIN_EPSILON;
        let left = u64::from(self.horizon).checked_sub(self.step).filter(|&left| left > 0)?;
        let paced = (left as f64 + self.epsilon) / self.pace;
        Some(if paced < LEAST { LEAST } else { paced })
    }

    /// Spends what a decision is charged, against the threshold it was judged by, and
    /// returns the excess `e_t = max(0, c_t - tau_t)`.
    ///
    /// Both numbers must be usable; the shield, the only caller, sees to it.
    pub(crate) fn charge(&mut self, charge: f64, threshold: f64) -> f64 {
        let excess = if charge > threshold { charge - threshold } else { 0.0 };
        // At pace 1 the product has a closed form, and needs no upkeep.
        if self.pace > 1.0
            && let Some(divisor) = self.divisor()
        {
            self.line_left *= 1.0 - 1.0 / divisor;
        }
        self.spent += charge;
        self.excess += excess;
        self.step = self.step.saturating_add(1);
        excess
    }

    /// The anytime envelope `B (1 - f_t) + E_t`, which `spent` keeps below.
    ///
    /// `f_t` is the product of `1 - m_i` over the decisions so far, where `m_i` is the greatest share
    /// of the remaining budget that decision `i` may spend. At pace 1 it telescopes, and
    /// `B (1 - f_t) = B min(t, T) / (T + epsilon)` is the straight line from 0 to `B`. See the
    /// [theorem](crate#the-anytime-envelope).
    pub fn envelope(&self) -> f64 {
        let share = if self.pace > 1.0 {
            1.0 - self.line_left
        } else {
            let horizon = f64::from(self.horizon);
            let elapsed = self.step.min(u64::from(self.horizon)) as f64;
            // The share first: `B * elapsed` could overflow where the share, below 1, cannot.
            elapsed / (horizon + self.epsilon)
        };
        self.budget * share + self.excess
    }

    /// Whether the spent cost is within the envelope, up to the rounding that `t` decisions in
    /// IEEE double can cause.
    ///
    /// The theorem is about real numbers, the account is kept in doubles, and the slack
    /// `(t + 8) (2 u (B + C_t + E_t) + m)` covers the difference, where `u = 2^-53` is the
    /// rounding of one operation and `m` the smallest normal double. Let `C_t` be the account as it
    /// is kept, and repeat the theorem's induction for `R_t = B - C_t`:
    ///
    /// - Each addition to the account may make it too large by `u C_t`: in all, `t u C_t`.
    /// - The projection is a rounded difference, which keeps the sign of `R_t`, divided by a divisor
    ///   with two roundings, which makes a third: it exceeds `m_i R_i` by at most `4 u m_i B`. The
    ///   cap and the gain only lower it. What step `i` spends too much tightens every later
    ///   projection, which leaves the product of `1 - m_j` of it, over the steps `j` after `i`; and
    ///   the sum of `m_i` times that product telescopes to `1 - f_t`. In all, `4 u B`.
    /// - `E_t` is a sum of `t` rounded differences: at most `(t + 1) u E_t`.
    /// - Each factor of `f_t` is off by `3 u m_i` and the roundings of a difference and a product:
    ///   as `f_i m_i` sums to less than 1, at most `(2 t + 3) u B` in all. At pace 1 there is no
    ///   product, and it is `2 u B`.
    /// - Evaluating the right side costs a few roundings of `B + E_t`.
    /// - Results below the normal doubles lose less than `m` each.
    ///
    /// Terms in `u^2` are left out, which is sound for horizons far below `2^53` decisions.
    /// `tests/reference.py` replays runs in exact rational arithmetic and checks both the theorem and
    /// this slack.
    ///
    /// Where the bound itself overflows, which takes charges or a budget near the largest double,
    /// about 1.8e308, every account would be within it. Nothing has been checked then, and the
    /// answer is `false`.
    pub fn envelope_holds(&self) -> bool {
        let envelope = self.envelope();
        let magnitude = self.budget + self.spent + self.excess;
        let slack = (self.step as f64 + 8.0) * (f64::EPSILON * magnitude + f64::MIN_POSITIVE);
        let bound = envelope + slack;
        bound < f64::INFINITY && self.spent <= bound
    }

    /// Whether the horizon has been reached, so that nothing but cost 0 is admissible.
    pub fn is_closed(&self) -> bool {
        self.step >= u64::from(self.horizon)
    }

    /// The remaining budget `R_t = B - C_t`; below zero once overdrawn.
    pub fn remaining(&self) -> f64 {
        self.budget - self.spent
    }

    /// The budget `B`.
    pub const fn budget(&self) -> f64 {
        self.budget
    }

    /// The horizon `T` \[decisions\].
    pub const fn horizon(&self) -> u32 {
        self.horizon
    }

    /// The `epsilon` of Eq. 4.
    pub const fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The pace `k`.
    pub const fn pace(&self) -> f64 {
        self.pace
    }

    /// The number of decisions settled so far, `t`.
    pub const fn step(&self) -> u64 {
        self.step
    }

    /// The cost spent so far, `C_t`.
    pub const fn spent(&self) -> f64 {
        self.spent
    }

    /// The excess so far, `E_t`: by how much charges were above their thresholds.
    pub const fn excess(&self) -> f64 {
        self.excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(budget: f64, horizon: u32, epsilon: f64) -> Ledger {
        Ledger::open(&ShieldSpec { epsilon, ..ShieldSpec::new(budget, horizon) })
    }

    fn paced(budget: f64, horizon: u32, epsilon: f64, pace: f64) -> Ledger {
        Ledger::open(&ShieldSpec { epsilon, pace, ..ShieldSpec::new(budget, horizon) })
    }

    #[test]
    fn a_pace_spends_shares_ahead_and_never_more_than_is_left() {
        let mut ledger = paced(1.0, 4, 0.5, 2.0);
        assert_eq!(ledger.tau_budget(), 1.0 / (4.5 / 2.0));
        ledger.charge(0.25, 0.4);
        assert_eq!(ledger.tau_budget(), 0.75 / (3.5 / 2.0));
        ledger.charge(0.25, 0.4);
        ledger.charge(0.25, 0.4);
        let last = ledger.tau_budget();
        assert!(last < 0.25 && last > 0.25 - 1e-12, "all that is left, but for the margin: {last}");
        assert_eq!(paced(1.0, 4, 0.5, f64::MAX).tau_budget(), 1.0 / (1.0 + 1e-12));
    }

    #[test]
    fn the_envelope_under_a_pace_is_ahead_of_the_line() {
        let (mut fast, mut slow) = (paced(2.0, 4, 1.0, 2.0), open(2.0, 4, 1.0));
        let mut line = [0.0; 6];
        for point in &mut line {
            *point = fast.envelope();
            assert!(*point >= slow.envelope());
            fast.charge(0.0, 0.0);
            slow.charge(0.0, 0.0);
        }
        // Left: 1, then 3/5 of it, then 2/4 of that, then 1/3; then the whole of it may go.
        let exact = [0.0, 2.0 * 0.4, 2.0 * 0.7, 2.0 * 0.9, 2.0, 2.0];
        for (point, exact) in line.iter().zip(exact) {
            assert!((point - exact).abs() < 1e-11, "{line:?}");
        }
    }

    #[test]
    fn projection_shares_what_is_left_among_the_decisions_left() {
        let mut ledger = open(1.0, 4, 0.5);
        assert_eq!(ledger.tau_budget(), 1.0 / 4.5);
        ledger.charge(0.125, 0.2);
        assert_eq!(ledger.tau_budget(), 0.875 / 3.5);
        assert_eq!((ledger.spent(), ledger.excess(), ledger.step()), (0.125, 0.0, 1));
    }

    #[test]
    fn overdrawn_or_closed_allows_nothing() {
        let mut ledger = open(1.0, 2, 1e-6);
        ledger.charge(1.5, 0.5);
        assert_eq!((ledger.remaining(), ledger.excess()), (-0.5, 1.0));
        assert_eq!(ledger.tau_budget(), 0.0);

        let mut closed = open(1.0, 1, 1e-6);
        closed.charge(0.0, 0.5);
        assert!(closed.is_closed());
        assert_eq!(closed.tau_budget(), 0.0);
    }

    #[test]
    fn envelope_is_a_line_to_the_horizon_and_then_flat() {
        let mut ledger = open(2.0, 4, 1.0);
        let mut line = [0.0; 6];
        for point in &mut line {
            *point = ledger.envelope();
            ledger.charge(0.0, 0.0);
        }
        assert_eq!(line, [0.0, 0.4, 0.8, 2.0 * (3.0 / 5.0), 1.6, 1.6]);
    }

    #[test]
    fn envelope_can_fail() {
        // The shield cannot write this account: it is spent without a threshold that allowed it.
        let forged = Ledger { spent: 0.6, step: 1, ..open(1.0, 2, 1e-6) };
        assert!(!forged.envelope_holds());
        assert!(Ledger { spent: 0.499_999, ..forged }.envelope_holds());
    }

    #[test]
    fn the_slack_is_as_large_as_it_says_and_no_larger() {
        // The excess is the whole envelope here, and what is spent beyond it the slack.
        for step in [1, 10, 1_000, 100_000] {
            let account = Ledger { excess: 1.0, step, ..open(1e-300, 2, 1e-6) };
            let slack = (step as f64 + 8.0) * f64::EPSILON * 2.0;
            assert!(Ledger { spent: 1.0 + 0.9 * slack, ..account }.envelope_holds(), "{step}");
            assert!(!Ledger { spent: 1.0 + 1.1 * slack, ..account }.envelope_holds(), "{step}");
        }
    }

    #[test]
    fn regression_an_infinite_bound_vouches_for_nothing() {
        // Spent by 1e307 more than the excess explains, but `B + C + E` overflows, and with it
        // the slack.
        let forged = Ledger { spent: 1e308, excess: 0.9e308, ..open(1.0, 2, 1e-6) };
        assert!(!forged.envelope_holds());
        // A tenth of it all is large too, but can be told: the first is broken, the second sound.
        let tenth = Ledger { spent: 1e307, excess: 0.9e307, ..forged };
        assert!(!tenth.envelope_holds());
        assert!(Ledger { excess: 1e307, ..tenth }.envelope_holds());
    }

    #[test]
    fn step_saturates() {
        let mut ledger = Ledger { step: u64::MAX, ..open(1.0, 2, 1e-6) };
        ledger.charge(0.0, 0.0);
        assert_eq!(ledger.step(), u64::MAX);
        assert!(ledger.is_closed());
    }
}
