//! Contract: gradients are right. They agree with finite differences of the forward pass for every
//! activation and head, and a whole update agrees with PyTorch's.
//!
//! The fixture is made by `scripts/pytorch_gradients.py`.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use cpss_learn::generator::{Generator, Purpose};
use cpss_learn::loss::{huber, td_target};
use cpss_learn::pass::Pass;
use cpss_learn::replay::Batch;
use cpss_learn::update::Updater;
use cpss_learn::{Activation, DqnSpec, End, Network, Topology};
use serde::Deserialize;

/// A network of the same topology as `network`, holding a gradient in place of each parameter.
fn gradient(network: &Network, observations: &[f32], actions: &[usize], by_q: &[f32]) -> Network {
    let mut pass = Pass::new(network.topology(), actions.len());
    pass.forward(network, observations);
    let mut gradients = Network::zeros(network.topology().clone());
    pass.backward(network, actions, by_q, &mut gradients);
    gradients
}

#[test]
fn backward_agrees_with_finite_differences() {
    for (activation, dueling) in
        [(Activation::Tanh, false), (Activation::Tanh, true), (Activation::Relu, false)]
    {
        let topology = Topology::mlp(5, &[9, 6], 3, activation, dueling).unwrap();
        let mut generator = Generator::new(2, Purpose::Weights);
        let network = Network::new(topology, &mut generator);
        let batch = 6;
        let mut draw = || generator.unit() as f32 * 2.0 - 1.0;
        let observations: Vec<f32> = (0..batch * 5).map(|_| draw()).collect();
        let by_q: Vec<f32> = (0..batch).map(|_| draw()).collect();
        let actions: Vec<usize> = (0..batch).map(|sample| sample % 3).collect();
        // The function whose gradient is asked for: the weighted sum of the chosen Q-values.
        let objective = |network: &Network| -> f64 {
            let mut q = [0.0; 3];
            let samples = observations.chunks_exact(5).zip(&actions).zip(&by_q);
            samples
                .map(|((observation, &action), &weight)| {
                    network.q_values(observation, &mut network.scratch(), &mut q);
                    f64::from(q[action]) * f64::from(weight)
                })
                .sum()
        };
        let computed = gradient(&network, &observations, &actions, &by_q);
        // Short enough that no unit of this network crosses ReLU's kink on the way.
        let step = 2e-3;
        for layer in 0..3 {
            let (weights, bias) = network.layer(layer);
            let (by_weight, by_bias) = computed.layer(layer);
            for (index, &computed) in by_weight.iter().chain(&by_bias).enumerate() {
                let moved = |by: f32| {
                    let (mut weights, mut bias) = (weights.clone(), bias.clone());
                    match index.checked_sub(weights.len()) {
                        None => weights[index] += by,
                        Some(index) => bias[index] += by,
                    }
                    let mut network = network.clone();
                    network.set_layer(layer, &weights, &bias);
                    objective(&network)
                };
                let expected = (moved(step) - moved(-step)) / f64::from(2.0 * step);
                let error = (f64::from(computed) - expected).abs();
                assert!(
                    error < 1e-3,
                    "{activation:?} {dueling} layer {layer} #{index}: {computed} is not {expected}"
                );
            }
        }
    }
}

/// One update as PyTorch computed it; parameters are weights and biases by turns.
#[derive(Deserialize)]
struct Fixture {
    sizes: Vec<usize>,
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
    gradients: Vec<Vec<f32>>,
    after: Vec<Vec<f32>>,
}

impl Fixture {
    fn load() -> Fixture {
        serde_json::from_str(include_str!("fixtures/pytorch_update.json")).unwrap()
    }

    fn network(&self, parameters: &[Vec<f32>]) -> Network {
        let [inputs, hidden @ .., actions] = self.sizes.as_slice() else { panic!("no layers") };
        let topology = Topology::mlp(*inputs, hidden, *actions, Activation::Relu, false).unwrap();
        let mut network = Network::zeros(topology);
        for (index, layer) in parameters.chunks_exact(2).enumerate() {
            network.set_layer(index, &layer[0], &layer[1]);
        }
        network
    }

    fn ends(&self) -> Vec<End> {
        let end = |&terminated| if terminated { End::Terminated } else { End::Running };
        self.terminated.iter().map(end).collect()
    }
}

fn assert_close(network: &Network, expected: &[Vec<f32>], tolerance: f32) {
    for (index, layer) in expected.chunks_exact(2).enumerate() {
        let (weights, bias) = network.layer(index);
        for (ours, theirs) in weights.iter().chain(&bias).zip(layer.iter().flatten()) {
            assert!((ours - theirs).abs() <= tolerance, "layer {index}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn loss_and_gradient_agree_with_pytorch() {
    let fixture = Fixture::load();
    let (online, target) = (fixture.network(&fixture.online), fixture.network(&fixture.target));
    let len = fixture.actions.len();
    let (mut pass, mut target_pass) =
        (Pass::new(online.topology(), len), Pass::new(online.topology(), len));
    pass.forward(&online, &fixture.observations);
    target_pass.forward(&target, &fixture.successors);
    let (mut loss, mut by_q) = (0.0, Vec::new());
    for (sample, end) in fixture.ends().into_iter().enumerate() {
        let best = (0..3).map(|action| target_pass.q(sample, action)).fold(f32::MIN, f32::max);
        let target = td_target(fixture.rewards[sample], fixture.gamma as f32, best, end);
        let (cost, slope) = huber(pass.q(sample, fixture.actions[sample]) - target);
        loss += cost / len as f32;
        by_q.push(slope / len as f32);
    }
    assert!((loss - fixture.loss).abs() < 1e-6, "{loss} is not {}", fixture.loss);
    let computed = gradient(&online, &fixture.observations, &fixture.actions, &by_q);
    assert_close(&computed, &fixture.gradients, 1e-6);
}

#[test]
fn a_whole_update_agrees_with_pytorch() {
    let fixture = Fixture::load();
    let spec = DqnSpec {
        batch_size: fixture.actions.len(),
        gamma: fixture.gamma,
        learning_rate: fixture.learning_rate,
        max_grad_norm: fixture.max_grad_norm,
        ..DqnSpec::default()
    };
    let target = fixture.network(&fixture.target);
    let mut updater = Updater::new(fixture.network(&fixture.online), &spec).with_target(target);
    let loss = updater.update(&Batch {
        observations: fixture.observations.clone(),
        actions: fixture.actions.clone(),
        rewards: fixture.rewards.clone(),
        successors: fixture.successors.clone(),
        ends: fixture.ends(),
        incidents: vec![false; fixture.actions.len()],
    });
    assert!((loss.unwrap() - fixture.loss).abs() < 1e-6);
    // Adam's first step is the learning rate, 5e-4, in nearly every parameter: a thousandth of that.
    assert_close(updater.online(), &fixture.after, 5e-7);
}
