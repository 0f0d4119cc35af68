//! Contract: bootstrapping stops at a terminated step and goes on across a truncated one.
//!
//! In a world that pays 1 at each step and ends after one, the value is 1 if the end is real. If it
//! is only the clock's, the world would have gone on paying: 1 + γ + γ² + … = 1 / (1 - γ).

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::ops::ControlFlow;

use cpss_learn::{Dqn, DqnSpec, End, Env, Learner, Outcome};

/// Pays 1 and ends at once, in the way it was told.
struct Pay(End);

impl Env for Pay {
    fn observation_len(&self) -> usize {
        1
    }

    fn actions(&self) -> usize {
        1
    }

    fn reset(&mut self, _seed: u64, observation: &mut [f32]) {
        observation[0] = 1.0;
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        observation[0] = 1.0;
        Outcome { reward: 1.0, end: self.0, incident: false, ran: action }
    }
}

fn spec() -> DqnSpec {
    DqnSpec {
        total_steps: 3_000,
        hidden: vec![8],
        learning_rate: 5e-3,
        gamma: 0.75,
        ..DqnSpec::default()
    }
}

fn learned_value(end: End) -> f32 {
    let mut learner = Learner::new(vec![Pay(end)], Dqn::new(spec()).unwrap(), 0, 0..1).unwrap();
    learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    let mut value = [0.0];
    learner.network().q_values(&[1.0], &mut learner.network().scratch(), &mut value);
    value[0]
}

#[test]
fn a_terminated_step_is_worth_its_reward() {
    let value = learned_value(End::Terminated);
    assert!((value - 1.0).abs() < 0.01, "{value}");
}

#[test]
fn a_truncated_step_is_worth_what_would_have_followed() {
    let value = learned_value(End::Truncated);
    assert!((value - 4.0).abs() < 0.05, "{value}");
}

/// Two cells, of which the seed's parity chooses the first. The left one pays nothing and is cut as
/// the walker arrives in the right one, which pays 1 and is the end.
#[derive(Clone)]
struct Cells {
    right: bool,
}

impl Env for Cells {
    fn observation_len(&self) -> usize {
        2
    }

    fn actions(&self) -> usize {
        1
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        self.right = seed % 2 == 1;
        observation.copy_from_slice(if self.right { &[0.0, 1.0] } else { &[1.0, 0.0] });
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        observation.copy_from_slice(&[0.0, 1.0]);
        let (reward, end) = if self.right { (1.0, End::Terminated) } else { (0.0, End::Truncated) };
        Outcome { reward, end, incident: false, ran: action }
    }
}

#[test]
fn a_truncated_step_is_valued_where_it_was_cut_and_not_where_the_next_episode_begins() {
    let mut learner =
        Learner::new(vec![Cells { right: false }; 2], Dqn::new(spec()).unwrap(), 0, 0..100)
            .unwrap();
    learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    let mut value = [0.0];
    learner.network().q_values(&[1.0, 0.0], &mut learner.network().scratch(), &mut value);
    // From the right cell, γ = 0.75; from where episodes begin, left or right alike, 0.6.
    assert!((value[0] - 0.75).abs() < 0.02, "{value:?}");
}
