//! How much budget is left, and what does it allow the next decision?
//!
//! Start at [`Ledger::tau_budget`], the projection of Eq. 4; [`Ledger::charge`] is the only way
//! in which cost is ever spent; [`Ledger::envelope`] is the bound that the spent cost keeps.
//!
//! **Invariants:** `spent` and `excess` never decrease and are never NaN; the step counts every
//! charge; once the step reaches the horizon, the ledger is closed and the projection is 0; while
//! there is no excess, `spent <= budget` holds in IEEE double exactly, not only over the reals
//! (`proofs/ledger_never_overdrawn.smt2` joins the steps, each proved bit by bit).
//!
//! **Absent on purpose:** refunds, transfers between ledgers, and any knowledge of actions.

/// The running account of one budget over one horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ledger {
    budget: f64,
    horizon: u32,
    epsilon: f64,
    step: u64,
    spent: f64,
    excess: f64,
}

impl Ledger {
    /// Opens an empty account. [`Rules`](crate::Rules) has checked the numbers.
    pub(crate) const fn open(budget: f64, horizon: u32, epsilon: f64) -> Ledger {
        Ledger { budget, horizon, epsilon, step: 0, spent: 0.0, excess: 0.0 }
    }

    /// The projection of Eq. 4: `max(R_t, 0) / (T - t + epsilon)`, and 0 once the ledger is
    /// closed.
    pub fn tau_budget(&self) -> f64 {
        let remaining = self.remaining();
        match u64::from(self.horizon).checked_sub(self.step) {
            // Not `f64::max(remaining, 0.0)`, which would drop a NaN, and a dropped NaN fails open.
            Some(left) if left > 0 && remaining > 0.0 => remaining / (left as f64 + self.epsilon),
            _ => 0.0,
        }
    }

    /// Spends what a decision was observed to cost, against the threshold it was judged by, and
    /// returns the excess `e_t = max(0, c_t - tau_t)`.
    ///
    /// Both numbers must be usable; the shield, the only caller, sees to it.
    pub(crate) fn charge(&mut self, charge: f64, threshold: f64) -> f64 {
        let excess = if charge > threshold { charge - threshold } else { 0.0 };
        self.spent += charge;
        self.excess += excess;
        self.step = self.step.saturating_add(1);
        excess
    }

    /// The anytime envelope `B min(t, T) / (T + epsilon) + E_t`, which `spent` keeps below.
    ///
    /// The straight line from 0 to `B`, raised by the excess so far. See the
    /// [theorem](crate#the-anytime-envelope).
    pub fn envelope(&self) -> f64 {
        let horizon = f64::from(self.horizon);
        let elapsed = self.step.min(u64::from(self.horizon)) as f64;
        // The share first: `B * elapsed` could overflow where the share, below 1, cannot.
        self.budget * (elapsed / (horizon + self.epsilon)) + self.excess
    }

    /// Whether the spent cost is within the envelope, up to the rounding that `t` additions in
    /// IEEE double can cause.
    ///
    /// The theorem is about real numbers, the account is kept in doubles, and the slack
    /// `(t + 8) (2 u (B + C_t + E_t) + m)` covers the difference, where `u = 2^-53` is the
    /// rounding of one operation and `m` the smallest normal double:
    ///
    /// - `C_t` is a sum of `t` terms: its error is at most `t u C_t`. `E_t` likewise, and each of
    ///   its terms is itself a rounded difference: at most `(t + 1) u E_t`.
    /// - The projection is the quotient of a rounded difference and a rounded sum, and inherits
    ///   the error of `C_t`: with `n_i = T - i + epsilon` it is too large by at most
    ///   `(3 u B + t u C_t) / n_i`. The cap and the gain only lower it. What step `i` spends too
    ///   much tightens every later projection, which leaves `n_t / n_{i+1}` of it at step `t`; and
    ///   `n_t` times the sum of `1 / (n_i n_{i+1})` telescopes to less than 1. In all, `3 u B +
    ///   t u C_t`.
    /// - Evaluating the right side costs a few roundings of `B + E_t`.
    /// - Results below the normal doubles lose less than `m` each.
    ///
    /// Terms in `u^2` are left out, and where rounding makes a spent account look open, what that
    /// step may spend must stay below the line's own rise, `B / (T + epsilon)`. Both are sound for
    /// horizons up to about `2^26` decisions. `tests/reference.py` replays runs in exact rational
    /// arithmetic and checks both the theorem and this slack.
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

    #[test]
    fn projection_shares_what_is_left_among_the_decisions_left() {
        let mut ledger = Ledger::open(1.0, 4, 0.5);
        assert_eq!(ledger.tau_budget(), 1.0 / 4.5);
        ledger.charge(0.125, 0.2);
        assert_eq!(ledger.tau_budget(), 0.875 / 3.5);
        assert_eq!((ledger.spent(), ledger.excess(), ledger.step()), (0.125, 0.0, 1));
    }

    #[test]
    fn overdrawn_or_closed_allows_nothing() {
        let mut ledger = Ledger::open(1.0, 2, 1e-6);
        ledger.charge(1.5, 0.5);
        assert_eq!((ledger.remaining(), ledger.excess()), (-0.5, 1.0));
        assert_eq!(ledger.tau_budget(), 0.0);

        let mut closed = Ledger::open(1.0, 1, 1e-6);
        closed.charge(0.0, 0.5);
        assert!(closed.is_closed());
        assert_eq!(closed.tau_budget(), 0.0);
    }

    #[test]
    fn envelope_is_a_line_to_the_horizon_and_then_flat() {
        let mut ledger = Ledger::open(2.0, 4, 1.0);
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
        let forged = Ledger { spent: 0.6, step: 1, ..Ledger::open(1.0, 2, 1e-6) };
        assert!(!forged.envelope_holds());
        assert!(Ledger { spent: 0.499_999, ..forged }.envelope_holds());
    }

    #[test]
    fn the_slack_is_as_large_as_it_says_and_no_larger() {
        // The excess is the whole envelope here, and what is spent beyond it the slack.
        for step in [1, 10, 1_000, 100_000] {
            let account = Ledger { excess: 1.0, step, ..Ledger::open(1e-300, 2, 1e-6) };
            let slack = (step as f64 + 8.0) * f64::EPSILON * 2.0;
            assert!(Ledger { spent: 1.0 + 0.9 * slack, ..account }.envelope_holds(), "{step}");
            assert!(!Ledger { spent: 1.0 + 1.1 * slack, ..account }.envelope_holds(), "{step}");
        }
    }

    #[test]
    fn regression_an_infinite_bound_vouches_for_nothing() {
        // Spent by 1e307 more than the excess explains, but `B + C + E` overflows, and with it
        // the slack.
        let forged = Ledger { spent: 1e308, excess: 0.9e308, ..Ledger::open(1.0, 2, 1e-6) };
        assert!(!forged.envelope_holds());
        // A tenth of it all is large too, but can be told: the first is broken, the second sound.
        let tenth = Ledger { spent: 1e307, excess: 0.9e307, ..forged };
        assert!(!tenth.envelope_holds());
        assert!(Ledger { excess: 1e307, ..tenth }.envelope_holds());
    }

    #[test]
    fn step_saturates() {
        let mut ledger = Ledger { step: u64::MAX, ..Ledger::open(1.0, 2, 1e-6) };
        ledger.charge(0.0, 0.0);
        assert_eq!(ledger.step(), u64::MAX);
        assert!(ledger.is_closed());
    }
}
