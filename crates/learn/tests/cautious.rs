//! Contract: what a cautious DQN learns is right. Quantiles are sb3-contrib's to the last digits and their lowest mean
//! is the exact one of a small chain; a learned price keeps a budget; and what a shield runs can be remembered both ways.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::ops::ControlFlow;

use cpss_learn::replay::Batch;
use cpss_learn::update::Updater;
use cpss_learn::{
    Activation, Dqn, DqnSpec, End, Env, Learner, MultiplierSpec, Network, Outcome, QuantileSpec,
    Remember, Topology,
};
use serde::Deserialize;

/// Learns to the end.
fn learned<E: Env + Clone>(env: E, spec: DqnSpec) -> Learner<E> {
    let mut learner = Learner::new(vec![env; 4], Dqn::new(spec).unwrap(), 0, 0..1_000).unwrap();
    learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    learner
}

/// What each action is worth to the policy.
fn values<E: Env>(learner: &Learner<E>, observation: &[f32]) -> Vec<f32> {
    let network = learner.policy_network();
    let mut values = vec![0.0; network.topology().actions()];
    network.q_values(observation, &mut network.scratch(), &mut values);
    values
}

fn spec() -> DqnSpec {
    DqnSpec {
        total_steps: 12_000,
        hidden: vec![16],
        learning_rate: 5e-3,
        learning_rate_final: Some(1e-4),
        gamma: 1.0,
        exploration_final_eps: 0.3,
        ..DqnSpec::default()
    }
}

/// Two steps: first a sure reward of 1 unit, then a choice between 1 for sure and a gamble: 2, but -4 once in ten times.
#[derive(Clone)]
struct Gamble {
    unit: f32,
    loses: bool,
    second: bool,
}

/// Large returns, beside which Huber's parabola is small: the quantiles are those of the returns.
const LARGE: Gamble = Gamble { unit: 4.0, loses: false, second: false };
/// Small returns, inside Huber's parabola: what is learned are means.
const SMALL: Gamble = Gamble { unit: 0.25, loses: false, second: false };

impl Env for Gamble {
    fn observation_len(&self) -> usize {
        1
    }

    fn actions(&self) -> usize {
        2
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        *self = Gamble { loses: seed.is_multiple_of(10), second: false, unit: self.unit };
        observation[0] = 0.0;
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        observation[0] = 1.0;
        let reward = match (self.second, action, self.loses) {
            (true, 1, true) => -4.0,
            (true, 1, false) => 2.0,
            _ => 1.0,
        } * self.unit;
        let end = if self.second { End::Terminated } else { End::Running };
        self.second = true;
        Outcome { reward, end, incident: reward < 0.0, ran: action }
    }
}

#[test]
fn the_lowest_quantiles_are_worth_what_they_are_on_a_small_chain() {
    let close =
        |value: f32, exact: f32| assert!((value - exact).abs() < 0.8, "{value} not {exact}");
    // On the mean, the gamble is worth 0.9 * 8 - 0.1 * 16 = 5.6, and it is what follows the first step.
    let mean = learned(LARGE, DqnSpec { quantiles: quantiles(1.0), ..spec() });
    close(values(&mean, &[1.0])[0], 4.0);
    close(values(&mean, &[1.0])[1], 5.6);
    close(values(&mean, &[0.0])[0], 9.6);
    // The worst fifth of it is -16 and 8 by halves, so the sure thing is worth more.
    let cautious = learned(LARGE, DqnSpec { quantiles: quantiles(0.2), ..spec() });
    close(values(&cautious, &[1.0])[0], 4.0);
    close(values(&cautious, &[1.0])[1], -4.0);
    close(values(&cautious, &[0.0])[0], 8.0);
}

fn quantiles(level: f64) -> Option<QuantileSpec> {
    Some(QuantileSpec { count: 20, level })
}

#[test]
fn a_learned_price_makes_an_incident_cost_what_the_budget_demands() {
    let free = learned(SMALL, spec());
    assert!(values(&free, &[1.0])[1] > values(&free, &[1.0])[0]);
    // From a price of 1 on the sure thing is better: 0.35 - 0.1 * price < 0.25. Exploring alone costs more than the budget.
    let multiplier =
        Some(MultiplierSpec { budget: 0.005, rate: 0.01, ..MultiplierSpec::default() });
    let held = learned(SMALL, DqnSpec { multiplier, ..spec() });
    let price = held.progress().multiplier.unwrap();
    assert!(price > 1.0, "{price}");
    assert!(values(&held, &[1.0])[1] < values(&held, &[1.0])[0]);
    let incidents = held.progress().incidents as f64 / held.progress().episodes as f64;
    assert!(incidents < free.progress().incidents as f64 / free.progress().episodes as f64);
}

/// One step in a world with a shield inside, which runs action 0 whatever is proposed.
#[derive(Clone)]
struct Overruled;

impl Env for Overruled {
    fn observation_len(&self) -> usize {
        1
    }

    fn actions(&self) -> usize {
        2
    }

    fn reset(&mut self, _seed: u64, observation: &mut [f32]) {
        observation[0] = 1.0;
    }

    fn step(&mut self, _action: usize, _observation: &mut [f32]) -> Outcome {
        Outcome { reward: 5.0, end: End::Terminated, incident: false, ran: 0 }
    }
}

#[test]
fn what_ran_or_what_was_proposed_is_remembered() {
    let values_of = |remember| {
        let learner = learned(Overruled, DqnSpec { total_steps: 4_000, remember, ..spec() });
        values(&learner, &[1.0])
    };
    let executed = values_of(Remember::Executed);
    assert!((executed[0] - 5.0).abs() < 0.1 && executed[1] < 4.0, "{executed:?}");
    let proposed = values_of(Remember::Proposed);
    assert!(proposed.iter().all(|value| (value - 5.0).abs() < 0.1), "{proposed:?}");
}

#[test]
fn a_cautious_run_goes_on_where_it_was_stopped() {
    let multiplier = Some(MultiplierSpec::default());
    let spec = DqnSpec { total_steps: 3_000, quantiles: quantiles(0.25), multiplier, ..spec() };
    let whole = learned(LARGE, spec.clone());
    let mut stopped = Learner::new(vec![LARGE; 4], Dqn::new(spec).unwrap(), 0, 0..1_000).unwrap();
    stopped.run(1_234, &mut |_| ControlFlow::Continue(())).unwrap();
    let mut resumed = Learner::resume(vec![LARGE; 4], &stopped.checkpoint()).unwrap();
    resumed.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(resumed.network(), whole.network());
    assert_eq!(resumed.progress(), whole.progress());
}

/// One update as sb3-contrib's loss and PyTorch compute it.
#[derive(Deserialize)]
struct Fixture {
    sizes: Vec<usize>,
    count: usize,
    gamma: f64,
    learning_rate: f64,
    max_grad_norm: f64,
    online: Vec<Vec<f32>>,
    target: Vec<Vec<f32>>,
    observations: Vec<f32>,
    successors: Vec<f32>,
    actions: Vec<usize>,
    rewards: Vec<f32>,
    terminated: Vec<bool>,
    loss: f32,
    after: Vec<Vec<f32>>,
}

#[test]
fn an_update_of_quantiles_agrees_with_sb3_contrib() {
    let fixture: Fixture =
        serde_json::from_str(include_str!("fixtures/sb3_quantiles.json")).unwrap();
    let network = |parameters: &[Vec<f32>]| {
        let [inputs, hidden @ .., outputs] = fixture.sizes.as_slice() else { panic!("no layers") };
        let topology = Topology::mlp(*inputs, hidden, *outputs, Activation::Relu, false).unwrap();
        let mut network = Network::zeros(topology);
        for (index, layer) in parameters.chunks_exact(2).enumerate() {
            network.set_layer(index, &layer[0], &layer[1]);
        }
        network
    };
    let len = fixture.actions.len();
    let spec = DqnSpec {
        batch_size: len,
        gamma: fixture.gamma,
        learning_rate: fixture.learning_rate,
        max_grad_norm: fixture.max_grad_norm,
        quantiles: Some(QuantileSpec { count: fixture.count, level: 1.0 }),
        ..DqnSpec::default()
    };
    let mut updater =
        Updater::new(network(&fixture.online), &spec).with_target(network(&fixture.target));
    let end = |&terminated| if terminated { End::Terminated } else { End::Running };
    let loss = updater.update(&Batch {
        observations: fixture.observations.clone(),
        actions: fixture.actions.clone(),
        rewards: fixture.rewards.clone(),
        successors: fixture.successors.clone(),
        ends: fixture.terminated.iter().map(end).collect(),
        incidents: vec![false; len],
    });
    let loss = loss.unwrap();
    assert!((loss - fixture.loss).abs() < 1e-5, "{loss} is not {}", fixture.loss);
    for (index, layer) in fixture.after.chunks_exact(2).enumerate() {
        let (weights, bias) = updater.online().layer(index);
        for (ours, theirs) in weights.iter().chain(&bias).zip(layer.iter().flatten()) {
            assert!((ours - theirs).abs() <= 5e-7, "layer {index}: {ours} is not {theirs}");
        }
    }
}
