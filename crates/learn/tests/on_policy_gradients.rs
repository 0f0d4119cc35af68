//! Contract: what moves an on-policy learner is right. The gradients of its losses agree with finite differences, the
//! Fisher product with the matrix built in full and with the divergence itself, conjugate gradients solve, and no step
//! within the trust region and the limit is better than the one found.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use cpss_learn::generator::{Generator, Purpose};
use cpss_learn::on_policy::categorical::{kl, log_probabilities};
use cpss_learn::on_policy::conjugate;
use cpss_learn::on_policy::fisher::Fisher;
use cpss_learn::on_policy::loss::{Clipped, Decisions, squared_error};
use cpss_learn::on_policy::trust_region::{Case, Problem};
use cpss_learn::pass::Pass;
use cpss_learn::{Activation, Network, Topology};

const INPUTS: usize = 4;
const ACTIONS: usize = 3;
const LAYERS: usize = 3;

fn network(outputs: usize, seed: u64) -> Network {
    let topology = Topology::mlp(INPUTS, &[7, 5], outputs, Activation::Tanh, false).unwrap();
    Network::new(topology, &mut Generator::new(seed, Purpose::Weights))
}

fn observations(samples: usize) -> Vec<f32> {
    let mut generator = Generator::new(1, Purpose::Episodes);
    (0..samples * INPUTS).map(|_| generator.unit() as f32 * 2.0 - 1.0).collect()
}

/// All parameters, without padding.
fn flat(network: &Network) -> Vec<f64> {
    let layers = (0..LAYERS).map(|index| network.layer(index));
    layers.flat_map(|(weights, bias)| [weights, bias].concat()).map(f64::from).collect()
}

/// A network of the same topology with these parameters.
fn filled(like: &Network, values: &[f64]) -> Network {
    let mut network = Network::zeros(like.topology().clone());
    let mut rest = values.iter().map(|&value| value as f32);
    for index in 0..LAYERS {
        let (weights, bias) = like.layer(index);
        let weights: Vec<f32> = rest.by_ref().take(weights.len()).collect();
        let bias: Vec<f32> = rest.by_ref().take(bias.len()).collect();
        network.set_layer(index, &weights, &bias);
    }
    network
}

/// Compares a gradient with central differences of a function of the network.
fn assert_gradient(network: &Network, computed: &Network, function: impl Fn(&Network) -> f64) {
    let (parameters, computed) = (flat(network), flat(computed));
    assert!(computed.iter().any(|gradient| gradient.abs() > 0.01), "nothing to compare");
    for (index, computed) in computed.iter().enumerate() {
        let moved = |by: f64| {
            let mut parameters = parameters.clone();
            parameters[index] += by;
            function(&filled(network, &parameters))
        };
        let expected = (moved(1e-3) - moved(-1e-3)) / 2e-3;
        assert!((computed - expected).abs() < 1e-3, "#{index}: {computed} is not {expected}");
    }
}

#[test]
fn the_gradient_of_ppos_loss_agrees_with_finite_differences() {
    let (policy, samples) = (network(ACTIONS, 2), 12);
    let observations = observations(samples);
    let mut generator = Generator::new(3, Purpose::Sampling);
    let mut draw = |low: f64, high: f64| low + (high - low) * generator.unit();
    let decisions = Decisions {
        actions: (0..samples).map(|sample| sample % ACTIONS).collect(),
        // Far enough from the policy that both sides of the clip occur.
        log_probabilities: (0..samples).map(|_| draw(0.15, 0.6).ln()).collect(),
        advantages: (0..samples).map(|_| draw(-2.0, 2.0)).collect(),
    };
    let loss = Clipped { clip_range: 0.2, entropy_coefficient: 0.3 };
    let mut by_logit = vec![0.0; samples * ACTIONS];
    let mut pass = Pass::new(policy.topology(), samples);
    pass.forward(&policy, &observations);
    loss.gradient(&pass, &decisions, &mut by_logit);
    let mut gradient = Network::zeros(policy.topology().clone());
    pass.backward_all(&policy, &by_logit, &mut gradient);
    assert_gradient(&policy, &gradient, |policy| {
        let mut pass = Pass::new(policy.topology(), samples);
        pass.forward(policy, &observations);
        loss.gradient(&pass, &decisions, &mut vec![0.0; samples * ACTIONS]).loss
    });
}

#[test]
fn the_gradient_of_a_value_loss_agrees_with_finite_differences() {
    let (value, samples) = (network(1, 4), 9);
    let observations = observations(samples);
    let targets: Vec<f64> = (0..samples).map(|sample| sample as f64 / 3.0 - 1.0).collect();
    let mut by_value = vec![0.0; samples];
    let mut pass = Pass::new(value.topology(), samples);
    pass.forward(&value, &observations);
    squared_error(&pass, &targets, &mut by_value);
    let mut gradient = Network::zeros(value.topology().clone());
    pass.backward_all(&value, &by_value, &mut gradient);
    assert_gradient(&value, &gradient, |value| {
        let mut pass = Pass::new(value.topology(), samples);
        pass.forward(value, &observations);
        squared_error(&pass, &targets, &mut vec![0.0; samples])
    });
}

/// The logarithms of a policy's probabilities, sample after sample.
fn distributions(policy: &Network, observations: &[f32]) -> Vec<[f64; ACTIONS]> {
    let mut scratch = policy.scratch();
    let rows = observations.chunks_exact(INPUTS).map(|observation| {
        let (mut logits, mut logs) = ([0.0; ACTIONS], [0.0; ACTIONS]);
        policy.q_values(observation, &mut scratch, &mut logits);
        log_probabilities(&logits, &mut logs);
        logs
    });
    rows.collect()
}

/// The mean of `Jᵀ (diag p - p pᵀ) J`, with the Jacobian taken one output of one sample at a time.
fn fisher_matrix(policy: &Network, observations: &[f32]) -> Vec<Vec<f64>> {
    let parameters = flat(policy).len();
    let mut matrix = vec![vec![0.0; parameters]; parameters];
    let samples = observations.len() / INPUTS;
    let logs = distributions(policy, observations);
    for (observation, logs) in observations.chunks_exact(INPUTS).zip(logs) {
        let mut pass = Pass::new(policy.topology(), 1);
        pass.forward(policy, observation);
        let jacobian: Vec<Vec<f64>> = (0..ACTIONS)
            .map(|action| {
                let mut gradient = Network::zeros(policy.topology().clone());
                pass.backward(policy, &[action], &[1.0], &mut gradient);
                flat(&gradient)
            })
            .collect();
        let p = logs.map(f64::exp);
        for (i, row) in matrix.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                let mean = |column: usize| (0..ACTIONS).map(|a| p[a] * jacobian[a][column]).sum();
                let (mean_i, mean_j): (f64, f64) = (mean(i), mean(j));
                let both: f64 = (0..ACTIONS).map(|a| p[a] * jacobian[a][i] * jacobian[a][j]).sum();
                *entry += (both - mean_i * mean_j) / samples as f64;
            }
        }
    }
    matrix
}

#[test]
fn the_fisher_product_agrees_with_the_whole_matrix() {
    // More samples than go through the network together, and not a multiple of it.
    let (policy, observations) = (network(ACTIONS, 5), observations(300));
    let matrix = fisher_matrix(&policy, &observations);
    let damping = 0.1;
    let mut fisher = Fisher::new(&policy, &observations, damping);
    let mut generator = Generator::new(6, Purpose::Weights);
    for _ in 0..5 {
        let direction: Vec<f64> = matrix.iter().map(|_| generator.unit() * 2.0 - 1.0).collect();
        let product = flat(&fisher.product(&filled(&policy, &direction)));
        for (index, row) in matrix.iter().enumerate() {
            let expected = conjugate::dot(row, &direction) + damping * direction[index];
            let error = (product[index] - expected).abs();
            assert!(error < 1e-5, "#{index}: {} is not {expected}", product[index]);
        }
    }
}

#[test]
fn the_fisher_product_is_the_curvature_of_the_divergence() {
    let (policy, observations) = (network(ACTIONS, 7), observations(50));
    let mut generator = Generator::new(8, Purpose::Weights);
    let parameters = flat(&policy);
    let direction: Vec<f64> = parameters.iter().map(|_| generator.unit() * 2.0 - 1.0).collect();
    let mut fisher = Fisher::new(&policy, &observations, 0.0);
    let image = flat(&fisher.product(&filled(&policy, &direction)));
    let predicted = 0.5 * conjugate::dot(&direction, &image);
    // Both ways, so that the third order of the divergence cancels.
    let step = 0.02;
    let divergence = |by: f64| {
        let moved: Vec<f64> = parameters.iter().zip(&direction).map(|(x, v)| x + by * v).collect();
        let (old, new) = (
            distributions(&policy, &observations),
            distributions(&filled(&policy, &moved), &observations),
        );
        old.iter().zip(&new).map(|(old, new)| kl(old, new)).sum::<f64>() / 50.0
    };
    let measured = (divergence(step) + divergence(-step)) / (2.0 * step * step);
    assert!((measured / predicted - 1.0).abs() < 0.01, "{measured} is not {predicted}");
}

#[test]
fn conjugate_gradients_solve() {
    let size = 12;
    let mut generator = Generator::new(9, Purpose::Weights);
    let mut row = |_| (0..size).map(|_| generator.unit() * 2.0 - 1.0).collect::<Vec<f64>>();
    let factor: Vec<Vec<f64>> = (0..size).map(&mut row).collect();
    let right = row(0);
    // The factor times its transpose, made positive: symmetric, as a Fisher matrix is.
    let product = |v: &[f64], out: &mut [f64]| {
        let inner: Vec<f64> = (0..size)
            .map(|column| (0..size).map(|row| factor[row][column] * v[row]).sum())
            .collect();
        for (index, out) in out.iter_mut().enumerate() {
            *out = conjugate::dot(&factor[index], &inner) + 0.1 * v[index];
        }
    };
    let error = |iterations| {
        let x = conjugate::solve(product, &right, iterations);
        let mut image = vec![0.0; size];
        product(&x, &mut image);
        let differences: Vec<f64> = image.iter().zip(&right).map(|(a, b)| a - b).collect();
        conjugate::dot(&differences, &differences).sqrt()
    };
    assert!(error(2 * size) < 1e-8, "{}", error(2 * size));
    assert!(error(2) > 1e-2, "the test is too easy");
    assert_eq!(conjugate::solve(product, &vec![0.0; size], 5), vec![0.0; size]);
}

/// The most reward of any step on a fine grid of the trust region, in a plane where `H` is the identity; `None` if no
/// step keeps the limit.
fn best_on_grid(g: [f64; 2], b: [f64; 2], c: f64, delta: f64) -> Option<f64> {
    let radius = (2.0 * delta).sqrt();
    let mut best = None;
    for shell in 0..=400 {
        for angle in 0..720 {
            let (sin, cos) = (f64::from(angle) * std::f64::consts::PI / 360.0).sin_cos();
            let length = radius * f64::from(shell) / 400.0;
            let (x, y) = (length * cos, length * sin);
            let reward = g[0] * x + g[1] * y;
            if c + b[0] * x + b[1] * y <= 0.0 && best.is_none_or(|best| reward > best) {
                best = Some(reward);
            }
        }
    }
    best
}

#[test]
fn no_step_in_the_trust_region_is_better() {
    let mut generator = Generator::new(10, Purpose::Sampling);
    let mut draw = || generator.unit() * 2.0 - 1.0;
    let mut seen = [0; 3];
    for _ in 0..60 {
        let (g, b, c, delta) = ([draw(), draw()], [draw(), draw()], 0.3 * draw(), 0.02);
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let step = Problem { q: dot(g, g), r: dot(g, b), s: dot(b, b), c, delta }.solve();
        let x: [f64; 2] =
            std::array::from_fn(|i| step.along_reward * g[i] + step.along_cost * b[i]);
        assert!(dot(x, x) <= 2.0 * delta * (1.0 + 1e-9), "{step:?} leaves the region");
        let best = best_on_grid(g, b, c, delta);
        match step.case {
            Case::Free | Case::Bound => {
                assert!(c + dot(b, x) <= 1e-9, "{step:?} breaks the limit");
                let best = best.unwrap_or(f64::MIN);
                assert!(dot(g, x) > best - 1e-6, "{step:?} earns {}, not {best}", dot(g, x));
            }
            Case::Recover => {
                assert_eq!(best, None, "{step:?} gives up a limit that can be kept");
                let most = -(2.0 * delta * dot(b, b)).sqrt();
                assert!((dot(b, x) - most).abs() < 1e-9, "{step:?} could lower the cost more");
            }
            Case::Stay => panic!("{step:?} stays where there is a step to take"),
        }
        seen[step.case as usize] += 1;
    }
    assert!(seen.iter().all(|&count| count >= 5), "not every case was tried: {seen:?}");
}

#[test]
fn where_nothing_can_be_gained_or_lowered_the_policy_stays() {
    let stays = |q, s, c| Problem { q, r: 0.0, s, c, delta: 0.01 }.solve().case == Case::Stay;
    assert!(stays(0.0, 1.0, -0.1), "nothing to gain, and room");
    assert!(stays(1.0, 0.0, 0.1), "too many incidents, and no way to fewer");
    assert!(!stays(1.0, 0.0, -0.1), "room, and no way to lose it");
}
