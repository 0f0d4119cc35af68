//! How is the training going?
//!
//! [`Progress`] is what a progress bar, a log or a Ctrl-C handler sees after each step of the batch
//! of worlds. Its means are over the last [`WINDOW`] finished episodes, kept by `Recent`.
//!
//! **Absent on purpose:** steps per second. The learner has no clock; whoever shows a speed has.

use crate::env::{End, Outcome};

/// Number of episodes that the means of a [`Progress`] look back on.
pub const WINDOW: usize = 100;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Environment steps so far.
    pub steps: u64,
    /// Environment steps in the whole run.
    pub total_steps: u64,
    /// Updates so far.
    pub updates: u64,
    /// Episodes finished so far.
    pub episodes: u64,
    /// Those of them with an incident: what learning has cost.
    pub incidents: u64,
    /// Mean return of the last [`WINDOW`] episodes; NaN before the first ends.
    pub return_mean: f64,
    /// Mean length of the last [`WINDOW`] episodes \[steps\]; NaN before the first ends.
    pub length_mean: f64,
    /// Share of the last [`WINDOW`] episodes with an incident; NaN before the first ends.
    pub incident_rate: f64,
    /// Probability of a random action now; `None` for a policy that draws its actions.
    pub epsilon: Option<f64>,
    /// Loss of the latest update; NaN before the first.
    pub loss: f32,
    /// Price of an incident now, where it has one.
    pub multiplier: Option<f64>,
}

/// One finished episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Finished {
    pub(crate) total_reward: f64,
    pub(crate) steps: u64,
    pub(crate) incident: bool,
}

/// The episodes under way, and the latest that finished.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recent {
    pub(crate) running: Vec<Finished>,
    /// Oldest first, at most [`WINDOW`].
    pub(crate) finished: std::collections::VecDeque<Finished>,
    pub(crate) episodes: u64,
    pub(crate) incidents: u64,
}

impl Recent {
    pub(crate) fn new(worlds: usize) -> Recent {
        Recent {
            running: vec![Finished::default(); worlds],
            finished: std::collections::VecDeque::with_capacity(WINDOW),
            episodes: 0,
            incidents: 0,
        }
    }

    /// Counts one step of one world, and returns the episode if it ended there.
    pub(crate) fn record(&mut self, world: usize, outcome: &Outcome) -> Option<Finished> {
        let episode = &mut self.running[world];
        episode.total_reward += f64::from(outcome.reward);
        episode.steps += 1;
        episode.incident |= outcome.incident;
        if outcome.end == End::Running {
            return None;
        }
        let finished = std::mem::take(episode);
        if self.finished.len() == WINDOW {
            self.finished.pop_front();
        }
        self.finished.push_back(finished);
        self.episodes += 1;
        self.incidents += u64::from(finished.incident);
        Some(finished)
    }

    /// Averages something over the finished episodes; NaN if there are none.
    pub(crate) fn mean(&self, value: impl Fn(&Finished) -> f64) -> f64 {
        self.finished.iter().map(value).sum::<f64>() / self.finished.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_look_back_one_window_and_a_crash_counts_once() {
        let mut recent = Recent::new(2);
        assert!(recent.mean(|episode| episode.total_reward).is_nan());
        let outcome = |reward, end, incident| Outcome { reward, end, incident, ran: 0 };
        assert_eq!(recent.record(1, &outcome(100.0, End::Running, true)), None);
        assert!(recent.record(1, &outcome(100.0, End::Terminated, false)).is_some());
        assert_eq!(recent.mean(|episode| f64::from(u8::from(episode.incident))), 1.0);
        assert_eq!(recent.mean(|episode| episode.total_reward), 200.0);
        for _ in 0..WINDOW {
            recent.record(0, &outcome(1.0, End::Truncated, false));
        }
        assert_eq!(recent.mean(|episode| f64::from(u8::from(episode.incident))), 0.0);
        assert_eq!(recent.mean(|episode| episode.total_reward), 1.0);
        assert_eq!((recent.episodes, recent.incidents), (1 + WINDOW as u64, 1));
    }
}
