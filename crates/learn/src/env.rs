//! What must a world offer, for a policy to be learned in it?
//!
//! An [`Env`]: one world that starts an episode from a seed and answers each action with an
//! [`Outcome`]. The learner never asks a world to save itself. A world is a function of its
//! episode's seed and the actions since, so those are what a checkpoint keeps: see
//! [`worlds`](crate::worlds).
//!
//! **Invariant asked of every implementation:** the same seed and the same actions give the same
//! observations, bit for bit, whatever episodes came before. [`Learner::resume`] checks it.
//!
//! [`Learner::resume`]: crate::Learner::resume

/// One world.
pub trait Env {
    /// Length of an observation.
    fn observation_len(&self) -> usize;

    /// Number of actions; they are `0..actions()`.
    fn actions(&self) -> usize;

    /// Starts the episode of this seed and writes its first observation.
    fn reset(&mut self, seed: u64, observation: &mut [f32]);

    /// Runs one decision step and writes the observation after it, even if the episode ended there.
    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome;
}

/// What came of one action, besides the next observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The reward.
    pub reward: f32,
    /// Whether, and how, the episode ended.
    pub end: End,
    /// Whether what must not happen has happened in this step: it costs 1, at most once in an episode. Constrained
    /// learners are held to its probability; the others only log it.
    pub incident: bool,
    /// The action that ran: the one asked for, or what a shield inside the world ran in its place.
    pub ran: usize,
}

/// How an episode stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It goes on.
    Running,
    /// The task is over: no reward can follow.
    Terminated,
    /// The clock ran out: reward would have followed, so its value is still estimated.
    Truncated,
}
