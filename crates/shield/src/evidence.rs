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

/// The stakes. Where incidents are rare and twice as likely as foretold, the best stake is near 1;
/// where they are a tenth more likely, it is about 0.1.
const STAKES: [f64; 3] = [0.1, 0.3, 0.9];

/// Where a sum stops growing. Stopping only makes alarms rarer, so the promise of their rarity stays.
const GREATEST: f64 = 1e300;

/// The evidence against a critic, from all surprises since it was opened or restarted.
///
/// ```
/// use cpss_shield::{RiskRules, RiskSpec};
///
/// let rules = RiskRules::new(RiskSpec { alarm: 100.0, ..RiskSpec::new() })?;
/// let mut evidence = *rules.memory().evidence();
/// for _ in 0..8 {
///     evidence.learn(0.9); // incidents, where the critic had foretold one in ten
/// }
/// assert_eq!(evidence.alarm(), Some(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    level: f64,
    sums: [f64; STAKES.len()],
    seen: u64,
    alarm: Option<u64>,
}

impl Evidence {
    /// No evidence yet. [`RiskRules`](crate::RiskRules) has checked the level.
    pub(crate) const fn new(level: f64) -> Evidence {
        Evidence { level, sums: [0.0; STAKES.len()], seen: 0, alarm: None }
    }

    /// Takes one surprise into account.
    pub fn learn(&mut self, surprise: f64) {
        let surprise = worst_unless_usable(surprise);
        for (sum, stake) in self.sums.iter_mut().zip(STAKES) {
            let grown = (*sum + 1.0) * (1.0 + stake * surprise);
            *sum = if grown < GREATEST { grown } else { GREATEST };
        }
        self.seen = self.seen.saturating_add(1);
        if self.alarm.is_none() && self.level <= self.value() {
            self.alarm = Some(self.seen);
        }
    }

    /// The evidence now: the average over the stakes.
    pub fn value(&self) -> f64 {
        let [a, b, c] = self.sums;
        (a + b + c) / STAKES.len() as f64
    }

    /// After how many surprises the evidence first reached the alarm level; `None` if never.
    pub const fn alarm(&self) -> Option<u64> {
        self.alarm
    }

    /// The alarm level `A`.
    pub const fn level(&self) -> f64 {
        self.level
    }

    /// How many surprises were seen.
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// Forgets everything: after an alarm that was seen to.
    pub fn restart(&mut self) {
        *self = Evidence::new(self.level);
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
