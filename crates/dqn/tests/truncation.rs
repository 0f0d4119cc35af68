//! Contract: bootstrapping stops at a terminated step and goes on across a truncated one.
//!
//! In a world that pays 1 at each step and ends after one, the value is 1 if the end is real. If it
//! is only the clock's, the world would have gone on paying: 1 + γ + γ² + … = 1 / (1 - γ).

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::ops::ControlFlow;

use cpss_dqn::{Dqn, DqnSpec, End, Env, Learner, Outcome};

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

    fn step(&mut self, _action: usize, observation: &mut [f32]) -> Outcome {
        observation[0] = 1.0;
        Outcome { reward: 1.0, end: self.0, crashed: false }
    }
}

fn learned_value(end: End) -> f32 {
    let spec = DqnSpec {
        total_steps: 3_000,
        hidden: vec![8],
        learning_rate: 5e-3,
        gamma: 0.75,
        ..DqnSpec::default()
    };
    let mut learner = Learner::new(vec![Pay(end)], Dqn::new(spec).unwrap(), 0, 0..1).unwrap();
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
