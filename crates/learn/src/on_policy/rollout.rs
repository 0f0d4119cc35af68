//! What did the policy just play?
//!
//! A [`Rollout`] keeps the steps since the last round of learning: in each, world after world. It holds what the worlds
//! said and nothing computed from it, so a checkpoint in its middle is complete, and values and probabilities are
//! computed for all of it at once when it is full. The networks have not moved in between.
//!
//! A [`Tally`] counts the episodes that ended in it, from which the probability of an incident is estimated.

use crate::env::{End, Outcome};
use crate::progress::{Finished, Recent, WINDOW};

/// The steps since the last round of learning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rollout {
    pub(crate) capacity: usize,
    pub(crate) observations: Vec<f32>,
    /// What each step led to, before any reset.
    pub(crate) successors: Vec<f32>,
    pub(crate) actions: Vec<usize>,
    pub(crate) rewards: Vec<f32>,
    /// 1 where there was an incident, else 0.
    pub(crate) costs: Vec<f32>,
    pub(crate) ends: Vec<End>,
    pub(crate) tally: Tally,
}

impl Rollout {
    /// An empty rollout of `steps`, rounded up so that every world has as many.
    pub(crate) fn new(steps: usize, worlds: usize) -> Rollout {
        Rollout {
            capacity: steps.next_multiple_of(worlds),
            observations: Vec::new(),
            successors: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            costs: Vec::new(),
            ends: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Adds one step of one world. `action` is the one asked for, whose probability the policy can change.
    pub(crate) fn push(
        &mut self,
        observation: &[f32],
        action: usize,
        outcome: &Outcome,
        successor: &[f32],
    ) {
        self.observations.extend_from_slice(observation);
        self.successors.extend_from_slice(successor);
        self.actions.push(action);
        self.rewards.push(outcome.reward);
        self.costs.push(f32::from(u8::from(outcome.incident)));
        self.ends.push(outcome.end);
    }

    pub(crate) fn len(&self) -> usize {
        self.actions.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    pub(crate) fn clear(&mut self) {
        self.observations.clear();
        self.successors.clear();
        self.actions.clear();
        self.rewards.clear();
        self.costs.clear();
        self.ends.clear();
        self.tally = Tally::default();
    }
}

/// Episodes that ended, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tally {
    pub(crate) episodes: u64,
    pub(crate) incidents: u64,
    pub(crate) steps: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, episode: &Finished) {
        self.episodes += 1;
        self.incidents += u64::from(episode.incident);
        self.steps += episode.steps;
    }

    /// This tally, or that of the last [`WINDOW`] episodes where it holds fewer: a few episodes say little about a rare
    /// incident.
    pub(crate) fn or_recent(self, recent: &Recent) -> Tally {
        if self.episodes >= WINDOW as u64 {
            return self;
        }
        let mut latest = Tally::default();
        recent.finished.iter().for_each(|episode| latest.count(episode));
        latest
    }

    /// How far incidents are above a budget per episode, spread over an episode's steps. If none has ended, there was no
    /// incident yet, and an episode is at least `lasting` steps long.
    pub(crate) fn excess_per_step(&self, budget: f64, lasting: usize) -> f64 {
        if self.episodes == 0 {
            return -budget / lasting.max(1) as f64;
        }
        let (episodes, incidents) = (self.episodes as f64, self.incidents as f64);
        (incidents / episodes - budget) * episodes / self.steps.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(steps: u64, incident: bool) -> Finished {
        Finished { total_reward: 0.0, steps, incident }
    }

    #[test]
    fn the_excess_is_spread_over_an_episodes_steps() {
        let mut tally = Tally::default();
        assert_eq!(tally.excess_per_step(0.1, 50), -0.002);
        tally.count(&episode(30, true));
        tally.count(&episode(10, false));
        assert_eq!(tally.excess_per_step(0.1, 50), 0.4 / 20.0);
    }

    #[test]
    fn a_few_episodes_are_completed_by_those_before() {
        let mut recent = Recent::new(1);
        recent.finished.extend([episode(4, true), episode(4, false), episode(4, false)]);
        let few = Tally { episodes: 2, incidents: 0, steps: 8 };
        assert_eq!(few.or_recent(&recent), Tally { episodes: 3, incidents: 1, steps: 12 });
        let many = Tally { episodes: WINDOW as u64, incidents: 0, steps: 8 };
        assert_eq!(many.or_recent(&recent), many);
    }
}
