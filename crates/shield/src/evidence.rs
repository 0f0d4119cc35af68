//! Is there evidence that the critic underestimates risk?
//!
//! If a critic is conservative, its surprises have no positive mean, whatever the policy does. An
//! [`Evidence`] bets against that, at three stakes `lambda`, and averages what it would have won:
//!
//! ```text
//!   S <- (S + 1) (1 + lambda d)        for each surprise d in [-1, 1]
//! ```
//!
//! This is an e-detector. Without cause, the expected number of decisions until it passes the alarm
//! level `A` is at least `A`; the [guide](crate#evidence-and-recalibration) has the proof. Start at
//! [`Evidence::learn`].
//!
//! **Invariants:** the value is finite and at least 0, for every sequence of floats; a surprise out of
//! `[-1, 1]`, a NaN among them, counts as the worst, 1; the first alarm is never forgotten, short of
//! [`Evidence::restart`].

use crate::EvidenceState;
use crate::sum::{average, bet};

/// The evidence against a critic, from all surprises since it was opened or restarted.
///
/// ```
/// use cpss_shield::{RiskRules, RiskSpec};
///
/// let rules = RiskRules::new(RiskSpec { alarm: 100.0, ..RiskSpec::new() })?;
/// let mut evidence = *rules.memory().evidence();
/// for _ in 0..10 {
///     evidence.learn(0.9); // incidents, where the critic had foretold one in ten
/// }
/// assert_eq!(evidence.alarm(), Some(9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    level: f64,
    state: EvidenceState,
}

impl Evidence {
    /// No evidence yet. [`RiskRules`](crate::RiskRules) has checked the level.
    pub(crate) const fn new(level: f64) -> Evidence {
        Evidence { level, state: EvidenceState::NONE }
    }

    /// Takes one surprise into account.
    pub fn learn(&mut self, surprise: f64) {
        let surprise = worst_unless_usable(surprise);
        bet(&mut self.state.sums, surprise);
        self.state.seen = self.state.seen.saturating_add(1);
        self.ring();
    }

    /// Raises the first alarm if the level is reached.
    fn ring(&mut self) {
        if self.state.alarm.is_none() && self.level <= self.value() {
            self.state.alarm = Some(self.state.seen);
        }
    }

    /// The evidence now: the average over the stakes.
    pub fn value(&self) -> f64 {
        average(&self.state.sums)
    }

    /// After how many surprises the evidence first reached the alarm level; `None` if never.
    pub const fn alarm(&self) -> Option<u64> {
        self.state.alarm
    }

    /// The alarm level `A`.
    pub const fn level(&self) -> f64 {
        self.level
    }

    /// How many surprises were seen.
    pub const fn seen(&self) -> u64 {
        self.state.seen
    }

    /// Forgets everything: after an alarm that was seen to.
    pub fn restart(&mut self) {
        *self = Evidence::new(self.level);
    }

    /// The same, from which on is remembered what is added.
    pub(crate) fn fork(self) -> Evidence {
        let EvidenceState { sums, seen, alarm, .. } = self.state;
        let state =
            EvidenceState { sums: sums.map(|sum| sum.fork()), seen, alarm, seen_before: seen };
        Evidence { state, ..self }
    }

    /// Takes what a fork has added. Its first alarm, too, in the count of one system that lived through all.
    pub(crate) fn absorb(&mut self, fork: &Evidence) {
        let (state, other) = (&mut self.state, &fork.state);
        for (sum, added) in state.sums.iter_mut().zip(&other.sums) {
            sum.absorb(added);
        }
        let since = |count: u64| count.saturating_sub(other.seen_before);
        let alarm = other.alarm.map(|at| state.seen.saturating_add(since(at)));
        state.alarm = state.alarm.or(alarm);
        state.seen = state.seen.saturating_add(since(other.seen));
        self.ring();
    }

    /// All that it has found, as plain numbers.
    pub(crate) const fn state(&self) -> &EvidenceState {
        &self.state
    }

    /// The same detector with what another has found.
    pub(crate) const fn with_state(self, state: EvidenceState) -> Evidence {
        Evidence { state, ..self }
    }
}

/// A surprise in `[-1, 1]`, or the worst for anything else.
pub(crate) fn worst_unless_usable(surprise: f64) -> f64 {
    if (-1.0..=1.0).contains(&surprise) { surprise } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_by_one_without_surprise_and_an_alarm_stays() {
        let mut evidence = Evidence::new(3.0);
        for seen in 1..=5 {
            evidence.learn(0.0);
            assert_eq!(evidence.value(), f64::from(seen));
        }
        assert_eq!(evidence.alarm(), Some(3));
        for _ in 0..100 {
            evidence.learn(-1.0);
        }
        assert!(evidence.value() < 4.0 && evidence.alarm() == Some(3));
        evidence.restart();
        assert_eq!(evidence, Evidence::new(3.0));
    }

    #[test]
    fn it_stays_finite_and_what_is_no_surprise_is_the_worst() {
        let mut worst = Evidence::new(1e4);
        let mut unusable = worst;
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5, -1.5] {
            for _ in 0..5_000 {
                worst.learn(1.0);
                unusable.learn(bad);
            }
        }
        assert_eq!(worst, unusable);
        assert!(worst.value().is_finite() && worst.value() > 1e299);
    }
}
