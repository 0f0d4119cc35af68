//! Contract: a run that is stopped at any step and resumed from its checkpoint ends with the weights,
//! and the log, of one that was never stopped. A checkpoint that is damaged, or resumed in another
//! world, is a typed error.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

mod corridor;
mod seal;

use std::ops::ControlFlow;

use corridor::Corridor;
use cpss_learn::learner::StartError;
use cpss_learn::worlds::BadWorlds;
use cpss_learn::{Dqn, DqnSpec, End, Env, Learner, Outcome, Progress, ResumeError};
use proptest::prelude::*;
use seal::unsealed;

const WORLDS: usize = 3;

fn worlds() -> Vec<Corridor> {
    vec![Corridor::default(); WORLDS]
}

fn start() -> Learner<Corridor> {
    let spec = DqnSpec {
        total_steps: 900,
        hidden: vec![16],
        // Small enough to wrap around, large enough to be part full at the first stop.
        buffer_size: 400,
        target_update_interval: 70,
        dueling: true,
        learning_rate_final: Some(1e-5),
        ..DqnSpec::default()
    };
    Learner::new(worlds(), Dqn::new(spec).unwrap(), 9, 0..50).unwrap()
}

fn advance(learner: &mut Learner<Corridor>, steps: u64) -> Progress {
    learner.run(steps, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_resumed_run_ends_like_one_that_never_stopped() {
    let mut whole = start();
    let whole_progress = advance(&mut whole, u64::MAX);
    for stop in [1, 100, 301, 640] {
        let mut stopped = start();
        advance(&mut stopped, stop);
        let mut resumed = Learner::resume(worlds(), &stopped.checkpoint()).unwrap();
        assert_eq!(resumed.seed(), whole.seed());
        let progress = advance(&mut resumed, u64::MAX);
        // The final checkpoint is every bit of the state, so it says more than the weights alone.
        assert!(resumed.checkpoint() == whole.checkpoint(), "stopped at {stop}");
        assert_eq!(progress, whole_progress);
    }
}

#[test]
fn resuming_again_and_again_changes_nothing() {
    let mut learner = start();
    while !learner.is_complete() {
        advance(&mut learner, 37);
        learner = Learner::resume(worlds(), &learner.checkpoint()).unwrap();
    }
    let mut whole = start();
    advance(&mut whole, u64::MAX);
    assert!(learner.checkpoint() == whole.checkpoint());
}

#[test]
fn a_different_number_of_worlds_is_refused() {
    let mut learner = start();
    advance(&mut learner, 300);
    let error = Learner::resume(vec![Corridor::default(); 2], &learner.checkpoint()).unwrap_err();
    let count = BadWorlds::Count { saved: WORLDS, given: 2 };
    assert_eq!(error, ResumeError::Start(StartError::Worlds(count)));
}

/// A corridor whose observations are not what they were.
#[derive(Debug)]
struct Mirrored(Corridor);

impl Env for Mirrored {
    fn observation_len(&self) -> usize {
        self.0.observation_len()
    }

    fn actions(&self) -> usize {
        self.0.actions()
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        self.0.reset(seed, observation);
        observation.reverse();
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        let outcome = self.0.step(action, observation);
        observation.reverse();
        outcome
    }
}

#[test]
fn a_world_that_does_not_come_back_to_where_it_was_is_refused() {
    let mut learner = start();
    advance(&mut learner, 300);
    let envs = worlds().into_iter().map(Mirrored).collect();
    let error = Learner::resume(envs, &learner.checkpoint()).unwrap_err();
    assert!(matches!(error, ResumeError::Start(StartError::Worlds(BadWorlds::Diverged { .. }))));
}

/// A corridor that looks the same but ends each episode with its first step.
#[derive(Debug)]
struct Impatient(Corridor);

impl Env for Impatient {
    fn observation_len(&self) -> usize {
        self.0.observation_len()
    }

    fn actions(&self) -> usize {
        self.0.actions()
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        self.0.reset(seed, observation);
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        Outcome { end: End::Truncated, ..self.0.step(action, observation) }
    }
}

#[test]
fn a_world_whose_episode_ends_before_it_comes_back_is_refused() {
    let mut learner = start();
    advance(&mut learner, 300);
    let envs = worlds().into_iter().map(Impatient).collect();
    let error = Learner::resume(envs, &learner.checkpoint()).unwrap_err();
    assert!(matches!(error, ResumeError::Start(StartError::Worlds(BadWorlds::Diverged { .. }))));
}

proptest! {
    #[test]
    fn a_damaged_checkpoint_never_panics(
        at in 0.0..1.0_f64,
        byte: u8,
        keep in 0.0..=1.0_f64,
    ) {
        let mut learner = start();
        advance(&mut learner, 30);
        let mut bytes = unsealed(learner.checkpoint());
        let position = (at * bytes.len() as f64) as usize;
        bytes[position] = byte;
        bytes.truncate((keep * bytes.len() as f64) as usize);
        // Damage to a reward or an unused seed cannot be seen, so either answer is right.
        let _ = Learner::resume(worlds(), &bytes);
    }

    #[test]
    fn a_cut_checkpoint_is_an_error(keep in 0.0..1.0_f64) {
        let mut learner = start();
        advance(&mut learner, 30);
        let bytes = learner.checkpoint();
        let len = (keep * bytes.len() as f64) as usize;
        let error = Learner::resume(worlds(), &bytes[..len]).unwrap_err();
        prop_assert!(matches!(error, ResumeError::Tensors(_)));
    }
}
