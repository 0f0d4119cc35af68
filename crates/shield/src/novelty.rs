//! Is the world still the one that the critic was calibrated in?
//!
//! Incidents are rare, so surprises of risk are slow to tell. How badly an episode's scenes were foretold
//! tells sooner: one number for each episode, its *score*, which comes from outside. Calibration sorted such
//! scores into six bins and found for each an upper bound of its probability: a [`NoveltyScale`]. A
//! [`Novelty`] bets on the upper bins, and adds up what it would have won:
//!
//! ```text
//!   e = w_k / bound_k                       for an episode whose score is in bin k; the w sum to 1
//!   S <- (S + 1)(1 + lambda (e - 1))        averaged over three stakes lambda
//! ```
//!
//! A stake below 1 keeps part of what was won when an episode is as usual. Without it, a world that is rougher
//! only now and then would stay unnoticed.
//!
//! This is an e-detector, as the [evidence](crate::Evidence) is. As long as the world is the calibrated one
//! and episodes are independent, the expected number of them until it passes its level `A` is at least `A`;
//! the [guide](crate#evidence-and-recalibration) has the proof. Start at [`Novelty::learn`].
//!
//! **Invariants:** the value is finite and at least 0, for every sequence of floats; a score that is not
//! finite counts as one of the top bin; the first alarm is never forgotten, short of [`Novelty::restart`].
//!
//! **Absent on purpose:** what a score is made of.

use crate::sum::{Sum, average, bet};
use crate::{NoveltyState, OutOfRange};

/// What is bet on each bin, from the lowest scores to the highest. In 32nds, so that they sum to 1 in doubles too.
const WEIGHTS: [f64; 6] = [1.0 / 32.0, 1.0 / 32.0, 2.0 / 32.0, 4.0 / 32.0, 8.0 / 32.0, 16.0 / 32.0];

/// What calibration has found of the scores of episodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoveltyScale {
    /// The borders between the six bins. Finite, each above the one before. A score on a border is in the bin above it.
    pub borders: [f64; 5],
    /// For each bin, an upper bound of the probability that a calibrated episode falls into it. Above 0, at most 1.
    pub bounds: [f64; 6],
}

impl NoveltyScale {
    /// The bin of a score, from 0 for the lowest to 5; 5 for one that is not finite.
    pub fn bin(&self, score: f64) -> usize {
        if !score.is_finite() {
            return self.borders.len();
        }
        self.borders.iter().filter(|border| **border <= score).count()
    }

    /// The e-value of an episode with this score: its mean is at most 1 in the calibrated world.
    pub fn e_value(&self, score: f64) -> f64 {
        let bin = self.bin(score);
        // `bin` is a place of both; a wrong one would count as no evidence rather than panic.
        match (WEIGHTS.get(bin), self.bounds.get(bin)) {
            (Some(weight), Some(bound)) => weight / bound,
            _ => 1.0,
        }
    }

    /// Checks every number.
    fn check(&self) -> Result<(), OutOfRange> {
        let mut below = f64::NEG_INFINITY;
        for border in self.borders {
            // Accepted by a comparison that a NaN fails.
            if !(below < border && border < f64::INFINITY) {
                return Err(OutOfRange { field: "novelty.borders", value: border });
            }
            below = border;
        }
        match self.bounds.iter().find(|bound| !(0.0 < **bound && **bound <= 1.0)) {
            Some(bound) => Err(OutOfRange { field: "novelty.bounds", value: *bound }),
            None => Ok(()),
        }
    }
}

/// The evidence that the world has changed, from the scores of all episodes since it was opened or restarted.
///
/// ```
/// use cpss_shield::{Novelty, NoveltyScale};
///
/// let scale = NoveltyScale {
///     borders: [1.0, 2.0, 3.0, 4.0, 5.0],
///     bounds: [0.5, 0.3, 0.2, 0.1, 0.05, 0.02],
/// };
/// let mut novelty = Novelty::new(scale, 100.0)?;
/// assert!(!novelty.learn(0.5), "as most episodes were");
/// assert!(!novelty.learn(6.0), "as one in fifty was, at most");
/// assert!(novelty.learn(6.0), "and again at once");
/// assert_eq!((novelty.alarm(), novelty.alarms()), (Some(3), 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Novelty {
    scale: NoveltyScale,
    level: f64,
    state: NoveltyState,
}

impl Novelty {
    /// No evidence yet.
    ///
    /// # Errors
    ///
    /// Borders that do not rise, a bound that is not in `(0, 1]`, or a level below 1.
    pub fn new(scale: NoveltyScale, level: f64) -> Result<Novelty, OutOfRange> {
        scale.check()?;
        if !(1.0..f64::INFINITY).contains(&level) {
            return Err(OutOfRange { field: "novelty.level", value: level });
        }
        Ok(Novelty { scale, level, state: NoveltyState::NONE })
    }

    /// Takes the score of one episode into account, and returns whether it raises an alarm.
    ///
    /// After an alarm the sum begins anew at 0, so that a change that lasts is found again.
    pub fn learn(&mut self, score: f64) -> bool {
        let state = &mut self.state;
        bet(&mut state.sums, self.scale.e_value(score) - 1.0);
        state.seen = state.seen.saturating_add(1);
        self.ring()
    }

    /// Raises an alarm if the level is reached.
    fn ring(&mut self) -> bool {
        let is_reached = self.level <= self.value();
        if is_reached {
            let state = &mut self.state;
            state.alarm = state.alarm.or(Some(state.seen));
            state.alarms = state.alarms.saturating_add(1);
            state.sums.iter_mut().for_each(Sum::clear);
        }
        is_reached
    }

    /// The evidence now; 0 after an alarm.
    pub fn value(&self) -> f64 {
        average(&self.state.sums)
    }

    /// After how many episodes the evidence first reached its level; `None` if never.
    pub const fn alarm(&self) -> Option<u64> {
        self.state.alarm
    }

    /// How many alarms there were.
    pub const fn alarms(&self) -> u64 {
        self.state.alarms
    }

    /// How many scores were seen.
    pub const fn seen(&self) -> u64 {
        self.state.seen
    }

    /// The level `A`.
    pub const fn level(&self) -> f64 {
        self.level
    }

    /// What calibration has found.
    pub const fn scale(&self) -> &NoveltyScale {
        &self.scale
    }

    /// Forgets everything: after an alarm that was seen to.
    pub const fn restart(&mut self) {
        self.state = NoveltyState::NONE;
    }

    /// The same, from which on is remembered what is added.
    pub(crate) fn fork(self) -> Novelty {
        let NoveltyState { sums, seen, alarms, .. } = self.state;
        let sums = sums.map(Sum::fork);
        let state = NoveltyState { sums, seen_before: seen, alarms_before: alarms, ..self.state };
        Novelty { state, ..self }
    }

    /// Takes what a fork has added; returns whether there was an alarm among it, or is one now.
    pub(crate) fn absorb(&mut self, fork: &Novelty) -> bool {
        let (state, other) = (&mut self.state, &fork.state);
        for (sum, added) in state.sums.iter_mut().zip(&other.sums) {
            sum.absorb(added);
        }
        let added = other.seen.saturating_sub(other.seen_before);
        let alarms = other.alarms.saturating_sub(other.alarms_before);
        // Its first alarm, in the count of one system that lived through all.
        let at =
            other.alarm.map(|at| at.saturating_sub(other.seen_before).saturating_add(state.seen));
        state.alarm = state.alarm.or(at);
        state.seen = state.seen.saturating_add(added);
        state.alarms = state.alarms.saturating_add(alarms);
        self.ring() || alarms > 0
    }

    /// All that it has found, as plain numbers.
    pub(crate) const fn state(&self) -> &NoveltyState {
        &self.state
    }

    /// The same detector with what another has found.
    pub(crate) const fn with_state(self, state: NoveltyState) -> Novelty {
        Novelty { state, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: NoveltyScale = NoveltyScale {
        borders: [1.0, 2.0, 3.0, 4.0, 5.0],
        bounds: [0.5, 0.3, 0.2, 0.1, 0.05, 0.02],
    };

    #[test]
    fn the_weights_sum_to_one_and_rise() {
        assert_eq!(WEIGHTS.iter().sum::<f64>(), 1.0);
        assert!(WEIGHTS.is_sorted());
    }

    #[test]
    fn a_score_on_a_border_is_above_it_and_one_that_is_none_on_top() {
        assert_eq!(
            [0.9, 1.0, 4.9, 5.0, 1e300, -1e300].map(|score| SCALE.bin(score)),
            [0, 1, 4, 5, 5, 0]
        );
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!((SCALE.bin(bad), SCALE.e_value(bad)), (5, 25.0));
        }
    }

    #[test]
    fn an_alarm_begins_anew_and_the_first_stays_until_the_restart() {
        let mut novelty = Novelty::new(SCALE, 200.0).unwrap();
        let rings = [0.0, 9.0, 9.0, 9.0, 9.0].map(|score| novelty.learn(score));
        assert_eq!(rings, [false, false, true, false, true]);
        assert_eq!((novelty.value(), novelty.alarm(), novelty.alarms()), (0.0, Some(3), 2));
        assert_eq!(novelty.seen(), 5);
        novelty.restart();
        assert_eq!((novelty.alarm(), novelty.alarms(), novelty.seen()), (None, 0, 0));
    }

    #[test]
    fn a_scale_that_makes_no_sense_is_refused_by_name() {
        let field = |scale, level| Novelty::new(scale, level).unwrap_err().field;
        for borders in [
            [1.0, 2.0, 2.0, 4.0, 5.0],
            [1.0, 2.0, f64::NAN, 4.0, 5.0],
            [f64::NEG_INFINITY, 2.0, 3.0, 4.0, 5.0],
            [1.0, 2.0, 3.0, 4.0, f64::INFINITY],
        ] {
            assert_eq!(field(NoveltyScale { borders, ..SCALE }, 10.0), "novelty.borders");
        }
        for bad in [0.0, -0.1, 1.1, f64::NAN] {
            let bounds = [0.5, 0.3, bad, 0.1, 0.05, 0.02];
            assert_eq!(field(NoveltyScale { bounds, ..SCALE }, 10.0), "novelty.bounds");
        }
        for level in [0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(field(SCALE, level), "novelty.level");
        }
    }
}
