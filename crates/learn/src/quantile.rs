//! What is learned of a return besides its mean, and how does a cautious policy use it?
//!
//! With [`QuantileSpec`] a network has, for each action, `count` quantiles of the return in place of its mean (QR-DQN:
//! Dabney et al., 2018), and an action is worth the mean of the lowest of them: the conditional value at risk of the
//! return at a `level` (Chow et al., 2015), at which 1 is the mean. Quantile `i` of `n` is the one at `(i + 1/2) / n`.
//!
//! That worth is linear in the network's last layer, so [`Quantiles::fold`] makes a plain Q-network of it: a policy file
//! needs no word of quantiles, and every reader of policies can run it.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::network::{Network, greedy};
use crate::replay::Batch;
use crate::topology::Topology;
use crate::update::{NotFinite, Updater};

/// Quantiles in place of means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct QuantileSpec {
    /// Quantiles of each action's return, from 1 to 1,000.
    pub count: usize,
    /// Share of the worst returns whose mean an action is worth, above 0 and at most 1; 1 is the plain mean.
    pub level: f64,
}

impl Default for QuantileSpec {
    fn default() -> QuantileSpec {
        QuantileSpec { count: 32, level: 1.0 }
    }
}

/// How a network's outputs are read: the quantiles of one action after those of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    actions: usize,
    count: usize,
    /// The lowest of them that make an action's worth.
    kept: usize,
}

impl Quantiles {
    /// Quantiles of this many actions.
    pub fn new(spec: QuantileSpec, actions: usize) -> Quantiles {
        let kept = (spec.level * spec.count as f64).ceil() as usize;
        Quantiles { actions, count: spec.count, kept: kept.clamp(1, spec.count.max(1)) }
    }

    /// Outputs that the network has.
    pub fn outputs(&self) -> usize {
        self.actions * self.count
    }

    /// Writes what each action is worth.
    ///
    /// # Panics
    ///
    /// If there are not as many outputs and values as there should be.
    pub fn values(&self, outputs: &[f32], values: &mut [f32]) {
        assert_eq!(outputs.len(), self.outputs(), "number of outputs");
        assert_eq!(values.len(), self.actions, "number of values");
        let share = 1.0 / self.kept as f32;
        for (value, quantiles) in values.iter_mut().zip(outputs.chunks_exact(self.count)) {
            *value = quantiles[..self.kept].iter().sum::<f32>() * share;
        }
    }

    /// The plain Q-network of what each action is worth.
    ///
    /// # Panics
    ///
    /// If the network has other outputs.
    pub fn fold(&self, network: &Network) -> Network {
        let layers = network.topology().layers();
        let last = layers.len() - 1;
        assert_eq!(layers[last].outputs, self.outputs(), "number of outputs");
        let sizes = layers.iter().enumerate().map(|(index, layer)| {
            let outputs = if index == last { self.actions } else { layer.outputs };
            (layer.inputs, outputs, layer.activation)
        });
        let topology = Topology::new(sizes, false).expect("fewer outputs make a network too");
        let mut folded = Network::zeros(topology);
        for index in 0..last {
            let (weights, bias) = network.layer(index);
            folded.set_layer(index, &weights, &bias);
        }
        let (weights, bias) = network.layer(last);
        let inputs = layers[last].inputs;
        let mean = |rows: &[f32], width: usize| -> Vec<f32> {
            let kept = |rows: &[f32], column: usize| -> f32 {
                rows.iter().skip(column).step_by(width).take(self.kept).sum()
            };
            let of_action = rows.chunks_exact(self.count * width);
            of_action
                .flat_map(|rows| (0..width).map(|column| kept(rows, column)).collect::<Vec<_>>())
                .map(|sum| sum / self.kept as f32)
                .collect()
        };
        folded.set_layer(last, &mean(&weights, inputs), &mean(&bias, 1));
        folded
    }

    /// The quantiles of one action.
    fn of(&self, action: usize) -> std::ops::Range<usize> {
        action * self.count..(action + 1) * self.count
    }

    /// The quantile Huber loss of estimates against a sample of targets, summed over the estimates and averaged over
    /// the targets, and its gradient by each estimate.
    fn loss(&self, estimates: &[f32], targets: &[f32], by_estimate: &mut [f32]) -> f32 {
        let share = 1.0 / targets.len() as f32;
        let mut loss = 0.0;
        // The loop is compiled once per instruction set and chosen at run time.
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (place, (&estimate, by)) in estimates.iter().zip(by_estimate).enumerate() {
                    let tau = (place as f32 + 0.5) / self.count as f32;
                    let (cost, slope) = against(estimate, tau, targets);
                    loss += cost * share;
                    *by = -slope * share;
                }
            },
        );
        loss
    }
}

/// The weighted Huber loss of one estimate against all targets, and the sum of its slopes by the errors. Sums run in
/// lanes, in which a compiler can run them side by side; and without a branch, for the same reason.
#[inline(always)]
fn against(estimate: f32, tau: f32, targets: &[f32]) -> (f32, f32) {
    const LANES: usize = 8;
    let term = |target: f32| {
        let error = target - estimate;
        let weight = if error < 0.0 { 1.0 - tau } else { tau };
        let slope = error.clamp(-1.0, 1.0);
        // Inside, `slope` is the error and this is half its square; outside, its length less a half.
        (weight * slope * (error - 0.5 * slope), weight * slope)
    };
    let (mut costs, mut slopes) = ([0.0; LANES], [0.0; LANES]);
    let (blocks, rest) = targets.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            let (cost, slope) = term(block[lane]);
            costs[lane] += cost;
            slopes[lane] += slope;
        }
    }
    for target in rest {
        let (cost, slope) = term(*target);
        costs[0] += cost;
        slopes[0] += slope;
    }
    (costs.iter().sum(), slopes.iter().sum())
}

impl Updater {
    /// Writes the gradient of the batch's mean quantile loss to `self.gradients`, and returns the loss.
    pub(crate) fn quantile_gradient(
        &mut self,
        batch: &Batch,
        quantiles: &Quantiles,
    ) -> Result<f32, NotFinite> {
        self.quantile_targets(batch, quantiles)?;
        self.pass.forward(&self.online, &batch.observations);
        let (width, count) = (quantiles.outputs(), quantiles.count);
        let share = 1.0 / batch.actions.len() as f32;
        let mut loss = 0.0;
        self.by_output.fill(0.0);
        for (sample, &action) in batch.actions.iter().enumerate() {
            self.pass.q_values(sample, &mut self.q_values);
            let estimates = &self.q_values[quantiles.of(action)];
            let targets = &self.targets[sample * count..(sample + 1) * count];
            let by = &mut self.by_output[sample * width..][quantiles.of(action)];
            loss += quantiles.loss(estimates, targets, by) * share;
            by.iter_mut().for_each(|by| *by *= share);
        }
        if !loss.is_finite() {
            return Err(NotFinite);
        }
        self.pass.backward_all(&self.online, &self.by_output, &mut self.gradients);
        Ok(loss)
    }

    /// Writes each sample's target quantiles to `self.targets`: those of the action that is worth most next.
    fn quantile_targets(&mut self, batch: &Batch, quantiles: &Quantiles) -> Result<(), NotFinite> {
        self.target_pass.forward(&self.target, &batch.successors);
        if self.double {
            self.pass.forward(&self.online, &batch.successors);
        }
        let mut values = vec![0.0; quantiles.actions];
        for sample in 0..batch.actions.len() {
            let judge = if self.double { &self.pass } else { &self.target_pass };
            judge.q_values(sample, &mut self.q_values);
            quantiles.values(&self.q_values, &mut values);
            let choice = greedy(&values).ok_or(NotFinite)?;
            self.target_pass.q_values(sample, &mut self.q_values);
            let reward = self.reward(batch, sample);
            let targets = &mut self.targets[sample * quantiles.count..][..quantiles.count];
            for (target, &next) in targets.iter_mut().zip(&self.q_values[quantiles.of(choice)]) {
                *target = crate::loss::td_target(reward, self.gamma, next, batch.ends[sample]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{Generator, Purpose};
    use crate::topology::Activation;

    #[test]
    fn an_action_is_worth_the_mean_of_its_lowest_quantiles() {
        let outputs = [1.0, 2.0, 3.0, 4.0, -8.0, 0.0, 10.0, 20.0];
        let mut values = [0.0; 2];
        let worth = |level, values: &mut [f32]| {
            Quantiles::new(QuantileSpec { count: 4, level }, 2).values(&outputs, values);
        };
        worth(1.0, &mut values);
        assert_eq!(values, [2.5, 5.5]);
        worth(0.5, &mut values);
        assert_eq!(values, [1.5, -4.0]);
        worth(0.01, &mut values);
        assert_eq!(values, [1.0, -8.0]);
    }

    #[test]
    fn a_folded_network_says_what_each_action_is_worth() {
        let quantiles = Quantiles::new(QuantileSpec { count: 10, level: 0.3 }, 3);
        let topology = Topology::mlp(4, &[16], 30, Activation::Relu, false).unwrap();
        let mut generator = Generator::new(3, Purpose::Weights);
        let network = Network::new(topology, &mut generator);
        let folded = quantiles.fold(&network);
        let observation = [0.3, -0.7, 0.1, 0.9];
        let (mut outputs, mut expected, mut values) = ([0.0; 30], [0.0; 3], [0.0; 3]);
        network.q_values(&observation, &mut network.scratch(), &mut outputs);
        quantiles.values(&outputs, &mut expected);
        folded.q_values(&observation, &mut folded.scratch(), &mut values);
        for (value, expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
        }
    }

    #[test]
    fn the_loss_is_least_at_the_quantiles_of_the_targets() {
        // Far apart, so that Huber's parabola plays no part: a quantile of a sample.
        let quantiles = Quantiles::new(QuantileSpec { count: 4, level: 1.0 }, 1);
        let targets = [0.0, 100.0, 200.0, 300.0];
        let mut estimates = [150.0_f32; 4];
        let mut by = [0.0; 4];
        for _ in 0..20_000 {
            quantiles.loss(&estimates, &targets, &mut by);
            estimates.iter_mut().zip(by).for_each(|(estimate, by)| *estimate -= 0.1 * by);
        }
        for (estimate, target) in estimates.iter().zip(targets) {
            assert!((estimate - target).abs() < 2.0, "{estimates:?}");
        }
    }
}
