//! What does the learner remember, and what does an update see of it?
//!
//! [`Replay`] keeps the latest transitions in a ring of flat arrays; [`Replay::sample`] copies a
//! uniform choice of them, with replacement, into a [`Batch`] that is used again each time. How an
//! episode ended is kept as it was: whether to bootstrap is decided at the loss, in one place.
//!
//! **Invariant:** nothing is allocated after [`Replay::new`].
//!
//! **Absent on purpose:** priorities. Stable-Baselines3's DQN, against which this one is measured, has
//! none either.

use crate::env::{End, Outcome};
use crate::generator::Generator;

/// The latest transitions, up to a capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    observation_len: usize,
    capacity: usize,
    /// Where the next transition goes.
    next: usize,
    len: usize,
    pub(crate) observations: Vec<f32>,
    pub(crate) successors: Vec<f32>,
    pub(crate) actions: Vec<u32>,
    pub(crate) rewards: Vec<f32>,
    pub(crate) ends: Vec<End>,
    pub(crate) incidents: Vec<bool>,
}

impl Replay {
    /// Makes room for `capacity` transitions.
    pub fn new(capacity: usize, observation_len: usize) -> Replay {
        Replay {
            observation_len,
            capacity,
            next: 0,
            len: 0,
            observations: vec![0.0; capacity * observation_len],
            successors: vec![0.0; capacity * observation_len],
            actions: vec![0; capacity],
            rewards: vec![0.0; capacity],
            ends: vec![End::Running; capacity],
            incidents: vec![false; capacity],
        }
    }

    /// Marks how much of a ring that was filled from a checkpoint is in use, and where it goes on.
    /// Returns `None` if no ring of this capacity could stand so.
    pub(crate) fn set_cursor(&mut self, len: usize, next: usize) -> Option<()> {
        let possible = if len < self.capacity { next == len } else { next < self.capacity };
        (len <= self.capacity && possible).then(|| (self.len, self.next) = (len, next))
    }

    /// Number of transitions remembered.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is remembered yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the next transition goes.
    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// Remembers one transition, in place of the oldest if there is no room.
    ///
    /// # Panics
    ///
    /// If an observation has the wrong length.
    pub fn push(
        &mut self,
        observation: &[f32],
        action: usize,
        outcome: &Outcome,
        successor: &[f32],
    ) {
        let row = self.next * self.observation_len..(self.next + 1) * self.observation_len;
        self.observations[row.clone()].copy_from_slice(observation);
        self.successors[row].copy_from_slice(successor);
        self.actions[self.next] = action as u32;
        self.rewards[self.next] = outcome.reward;
        self.ends[self.next] = outcome.end;
        self.incidents[self.next] = outcome.incident;
        self.next = (self.next + 1) % self.capacity;
        self.len = (self.len + 1).min(self.capacity);
    }

    /// Fills `batch` with transitions drawn uniformly; leaves it as it is if there are none.
    pub fn sample(&self, generator: &mut Generator, batch: &mut Batch) {
        if self.is_empty() {
            return;
        }
        let width = self.observation_len;
        for slot in 0..batch.actions.len() {
            let from = generator.below(self.len as u64) as usize;
            let (target, source) = (slot * width..(slot + 1) * width, from * width);
            batch.observations[target.clone()]
                .copy_from_slice(&self.observations[source..source + width]);
            batch.successors[target].copy_from_slice(&self.successors[source..source + width]);
            batch.actions[slot] = self.actions[from] as usize;
            batch.rewards[slot] = self.rewards[from];
            batch.ends[slot] = self.ends[from];
            batch.incidents[slot] = self.incidents[from];
        }
    }
}

/// The transitions of one update.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Observations, one after the other.
    pub observations: Vec<f32>,
    /// The action taken at each.
    pub actions: Vec<usize>,
    /// The reward it gave.
    pub rewards: Vec<f32>,
    /// What each led to, one after the other.
    pub successors: Vec<f32>,
    /// How the episode stood then.
    pub ends: Vec<End>,
    /// Whether it was an incident.
    pub incidents: Vec<bool>,
}

impl Batch {
    /// Makes room for `len` transitions.
    pub fn new(len: usize, observation_len: usize) -> Batch {
        Batch {
            observations: vec![0.0; len * observation_len],
            actions: vec![0; len],
            rewards: vec![0.0; len],
            successors: vec![0.0; len * observation_len],
            ends: vec![End::Running; len],
            incidents: vec![false; len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Purpose;

    #[test]
    fn the_oldest_make_room_and_every_other_one_is_drawn() {
        let mut replay = Replay::new(3, 1);
        for i in 0..5_u8 {
            let value = f32::from(i);
            let end = End::Truncated;
            let outcome = Outcome { reward: value, end, incident: i == 3, ran: 0 };
            replay.push(&[value], usize::from(i), &outcome, &[value + 1.0]);
        }
        assert_eq!(replay.len(), 3);
        let mut batch = Batch::new(200, 1);
        replay.sample(&mut Generator::new(0, Purpose::Sampling), &mut batch);
        let mut drawn = batch.actions.clone();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [2, 3, 4]);
        for slot in 0..200 {
            assert_eq!(batch.observations[slot], batch.actions[slot] as f32);
            assert_eq!(batch.successors[slot], batch.rewards[slot] + 1.0);
            assert_eq!(batch.ends[slot], End::Truncated);
            assert_eq!(batch.incidents[slot], batch.actions[slot] == 3);
        }
    }

    #[test]
    fn a_cursor_that_no_ring_can_have_is_refused() {
        let mut replay = Replay::new(3, 1);
        assert_eq!(replay.set_cursor(2, 1), None);
        assert_eq!(replay.set_cursor(4, 0), None);
        assert_eq!(replay.set_cursor(3, 3), None);
        assert_eq!(replay.set_cursor(2, 2), Some(()));
        assert_eq!(replay.set_cursor(3, 1), Some(()));
    }
}
