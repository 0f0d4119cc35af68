//! Contract: a learner with a limit on incidents ends at the limit, and earns as much there as any policy could. In a
//! world whose best policy is known exactly, PPO ignores the limit; PPO-Lagrangian and CPO keep it.
//!
//! Policies are judged by their probabilities, without sampling. What a limited learner plays swings about the limit,
//! for it sees incidents only as often as they happen, so its worth is the mean over the last quarter of its rollouts.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

mod shortcuts;

use std::ops::ControlFlow;

use cpss_learn::{
    Constraint, CpoSpec, MultiplierSpec, OnPolicy, OnPolicyLearner, OnPolicySpec, Pid,
};
use shortcuts::{STAGES, Shortcuts, Worth, best_within, shortcuts_of, worth};

/// Incidents per episode that are allowed.
const LIMIT: f64 = 0.1;
/// Rollouts of a run.
const ROLLOUTS: usize = 60;

fn spec(constraint: Constraint) -> OnPolicySpec {
    OnPolicySpec {
        total_steps: 2_048 * ROLLOUTS as u64,
        hidden: vec![16],
        learning_rate: 1e-3,
        batch_size: 256,
        epochs: 5,
        gamma: 1.0,
        cost_gamma: 1.0,
        constraint,
        ..OnPolicySpec::default()
    }
}

/// Trains, and returns what the policy was worth after each of the last rollouts, and the price of an incident then.
fn train(spec: OnPolicySpec, seed: u64) -> Vec<(Worth, f64)> {
    let envs = vec![Shortcuts::default(); 4];
    let settings = OnPolicy::new(spec).unwrap();
    let mut learner = OnPolicyLearner::new(envs, settings, seed, 0..u64::MAX).unwrap();
    let mut seen = Vec::new();
    while !learner.is_complete() {
        let progress = learner.run(2_048, &mut |_| ControlFlow::Continue(())).unwrap();
        let price = progress.multiplier.unwrap_or(f64::NAN);
        seen.push((worth(shortcuts_of(learner.network())), price));
    }
    assert_eq!(seen.len(), ROLLOUTS);
    seen.split_off(ROLLOUTS - ROLLOUTS / 4)
}

fn mean<T>(of: &[T], number: impl Fn(&T) -> f64) -> f64 {
    of.iter().map(number).sum::<f64>() / of.len() as f64
}

fn assert_close(what: &str, seed: u64, is: f64, should_be: f64, tolerance: f64) {
    let error = (is - should_be).abs();
    assert!(error < tolerance, "seed {seed}: {what} is {is:.4}, not {should_be:.4}");
}

#[test]
fn without_a_limit_the_most_reward_is_taken() {
    let best = worth([1.0; STAGES]);
    assert_eq!(best.total_reward, best_within(1.0));
    let learned = train(spec(Constraint::None), 0);
    let (Worth { total_reward, incident_rate }, _) = learned[learned.len() - 1];
    assert_close("reward", 0, total_reward, best.total_reward, 0.02);
    assert_close("incident rate", 0, incident_rate, best.incident_rate, 0.01);
}

#[test]
fn ppo_lagrangian_ends_at_the_limit_and_finds_its_price() {
    let pid = Some(Pid { proportional: 50.0, derivative: 0.0, smoothing: 0.999 });
    let multiplier = MultiplierSpec { budget: LIMIT, pid, ..MultiplierSpec::default() };
    // What one more allowed incident would earn: theory says that this is the price.
    let price = (best_within(LIMIT + 0.01) - best_within(LIMIT)) / 0.01;
    for seed in 0..2 {
        let learned = train(spec(Constraint::Lagrangian(multiplier)), seed);
        assert_close("rate", seed, mean(&learned, |(w, _)| w.incident_rate), LIMIT, 0.02);
        let best = best_within(LIMIT);
        assert_close("reward", seed, mean(&learned, |(w, _)| w.total_reward), best, 0.1);
        assert_close("price", seed, mean(&learned, |(_, price)| *price), price, 1.0);
    }
}

#[test]
fn cpo_ends_at_the_limit_and_stays_near_it() {
    let cpo = CpoSpec { budget: LIMIT, ..CpoSpec::default() };
    for seed in 0..2 {
        let learned = train(spec(Constraint::Cpo(cpo)), seed);
        assert_close("rate", seed, mean(&learned, |(w, _)| w.incident_rate), LIMIT, 0.01);
        let best = best_within(LIMIT);
        assert_close("reward", seed, mean(&learned, |(w, _)| w.total_reward), best, 0.05);
        for (Worth { incident_rate, .. }, _) in learned {
            assert_close("rate after a rollout", seed, incident_rate, LIMIT, 0.03);
        }
    }
}
