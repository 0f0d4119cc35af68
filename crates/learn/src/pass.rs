//! How does a batch go through a network, and its gradient back?
//!
//! A [`Pass`] owns every buffer for one topology and one batch size. [`Pass::forward`] takes
//! observations sample by sample, as the replay stores them, and keeps each layer's activations
//! feature-major, as `kernel` wants them; [`Pass::backward`] takes the gradient of
//! the loss by each chosen Q-value, [`Pass::backward_all`] by every output, and writes the gradient by
//! each parameter.
//!
//! ```text
//!   observations -> inputs[0] -> layer 0 -> inputs[1] -> … -> raw -> q
//!                                 weight gradients <- … <- raw gradient <- q gradient
//! ```
//!
//! **Invariants:** nothing is allocated after [`Pass::new`]; the columns that pad a batch may hold
//! anything going forward, but their gradient is zero, so they never reach a weight.

use crate::kernel::{Left, Product, Start, padded};
use crate::network::Network;
use crate::topology::{Layer, Topology};

/// Buffers for a batch's way through a network.
#[derive(Clone, Debug)]
pub struct Pass {
    batch: usize,
    /// Padded batch: the width of every feature-major buffer.
    lanes: usize,
    /// What each layer takes, feature-major.
    inputs: Vec<Vec<f32>>,
    /// The gradient by each layer's input, feature-major; unused for the first layer.
    deltas: Vec<Vec<f32>>,
    /// What the last layer gives, and the gradient by it.
    raw: Vec<f32>,
    raw_delta: Vec<f32>,
    /// One layer's input, sample by sample and padded, while its weight gradient is computed.
    samples: Vec<f32>,
    /// Q-values, one row per action; equal to `raw` unless the network is dueling.
    q: Vec<f32>,
    q_delta: Vec<f32>,
}

impl Pass {
    /// Makes room for batches of `batch` observations.
    pub fn new(topology: &Topology, batch: usize) -> Pass {
        let lanes = padded(batch);
        let layers = topology.layers();
        let inputs: Vec<Vec<f32>> =
            layers.iter().map(|layer| vec![0.0; layer.inputs * lanes]).collect();
        let widest = layers.iter().map(Layer::stride).max().unwrap_or(0);
        let raw = vec![0.0; layers.last().map_or(0, |layer| layer.outputs * lanes)];
        let q = vec![0.0; topology.actions() * lanes];
        Pass {
            batch,
            lanes,
            deltas: inputs.clone(),
            inputs,
            raw_delta: raw.clone(),
            raw,
            samples: vec![0.0; batch * widest],
            q_delta: q.clone(),
            q,
        }
    }

    /// Computes the Q-values of a batch of observations, given one after the other.
    ///
    /// # Panics
    ///
    /// If the observations are not as many and as long as the pass was made for.
    pub fn forward(&mut self, network: &Network, observations: &[f32]) {
        let layers = network.topology().layers();
        let lanes = self.lanes;
        assert_eq!(observations.len(), self.batch * layers[0].inputs, "length of the batch");
        for (sample, observation) in observations.chunks_exact(layers[0].inputs).enumerate() {
            for (row, &value) in self.inputs[0].chunks_exact_mut(lanes).zip(observation) {
                row[sample] = value;
            }
        }
        for (index, layer) in layers.iter().enumerate() {
            let (before, after) = self.inputs.split_at_mut(index + 1);
            let out = after.first_mut().unwrap_or(&mut self.raw);
            Product {
                left: &network.parameters()[layer.weights()],
                layout: Left::Rows,
                stride: layer.stride(),
                right: &before[index],
                start: Start::Bias(&network.parameters()[layer.bias()]),
                out,
                m: layer.outputs,
                k: layer.inputs,
                n: lanes,
            }
            .run();
            layer.activation.apply(out);
        }
        if network.topology().dueling() {
            self.combine_streams();
        } else {
            self.q.copy_from_slice(&self.raw);
        }
    }

    /// Returns one sample's Q-value of one action, after [`Pass::forward`].
    pub fn q(&self, sample: usize, action: usize) -> f32 {
        self.q[action * self.lanes + sample]
    }

    /// Copies one sample's Q-values, after [`Pass::forward`].
    pub fn q_values(&self, sample: usize, q_values: &mut [f32]) {
        for (action, q) in q_values.iter_mut().enumerate() {
            *q = self.q(sample, action);
        }
    }

    /// Computes the gradient by each parameter from the gradient by each sample's chosen Q-value.
    /// `gradients` has the network's topology, and a gradient in place of each parameter.
    /// [`Pass::forward`] came before.
    ///
    /// # Panics
    ///
    /// If a slice is not as long as the batch, or `gradients` has another topology.
    pub fn backward(
        &mut self,
        network: &Network,
        actions: &[usize],
        by_chosen_q: &[f32],
        gradients: &mut Network,
    ) {
        assert_eq!(actions.len(), self.batch, "number of actions");
        assert_eq!(by_chosen_q.len(), self.batch, "number of gradients by Q-value");
        self.q_delta.fill(0.0);
        for (sample, (&action, &gradient)) in actions.iter().zip(by_chosen_q).enumerate() {
            self.q_delta[action * self.lanes + sample] = gradient;
        }
        self.propagate(network, gradients);
    }

    /// As [`Pass::backward`], from the gradient by every output: one number per action, sample after
    /// sample.
    ///
    /// # Panics
    ///
    /// If there is not one number per sample and action, or `gradients` has another topology.
    pub fn backward_all(&mut self, network: &Network, by_q: &[f32], gradients: &mut Network) {
        let actions = network.topology().actions();
        assert_eq!(by_q.len(), self.batch * actions, "number of gradients by output");
        self.q_delta.fill(0.0);
        for (sample, by_q) in by_q.chunks_exact(actions).enumerate() {
            for (row, &gradient) in self.q_delta.chunks_exact_mut(self.lanes).zip(by_q) {
                row[sample] = gradient;
            }
        }
        self.propagate(network, gradients);
    }

    /// Number of observations in a batch.
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    /// Width of each feature-major row.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// What a layer took in the last [`Pass::forward`], feature-major; after the last layer, what that
    /// one gave.
    pub(crate) fn activations(&self, layer: usize) -> &[f32] {
        self.inputs.get(layer).unwrap_or(&self.raw)
    }

    /// Sends `self.q_delta` back through the layers.
    fn propagate(&mut self, network: &Network, gradients: &mut Network) {
        assert_eq!(gradients.topology(), network.topology(), "topology of the gradients");
        let gradients = gradients.parameters_mut();
        let lanes = self.lanes;
        if network.topology().dueling() {
            self.split_streams();
        } else {
            self.raw_delta.copy_from_slice(&self.q_delta);
        }
        for (index, layer) in network.topology().layers().iter().enumerate().rev() {
            let (before, after) = self.deltas.split_at_mut(index + 1);
            let delta = after.first_mut().unwrap_or(&mut self.raw_delta);
            let output = self.inputs.get(index + 1).unwrap_or(&self.raw);
            layer.activation.apply_derivative(output, delta);
            let samples = &mut self.samples[..self.batch * layer.stride()];
            transpose(&self.inputs[index], lanes, samples, layer.stride());
            Product {
                left: delta,
                layout: Left::Rows,
                stride: lanes,
                right: samples,
                start: Start::Zero,
                out: &mut gradients[layer.weights()],
                m: layer.outputs,
                k: self.batch,
                n: layer.stride(),
            }
            .run();
            for (bias, row) in gradients[layer.bias()].iter_mut().zip(delta.chunks_exact(lanes)) {
                *bias = row.iter().sum();
            }
            if index > 0 {
                Product {
                    left: &network.parameters()[layer.weights()],
                    layout: Left::Columns,
                    stride: layer.stride(),
                    right: delta,
                    start: Start::Zero,
                    out: &mut before[index],
                    m: layer.inputs,
                    k: layer.outputs,
                    n: lanes,
                }
                .run();
            }
        }
    }

    /// `Q = V + A - mean(A)`, for each column.
    fn combine_streams(&mut self) {
        let (value, advantages) = self.raw.split_at(self.lanes);
        let share = 1.0 / (advantages.len() / self.lanes) as f32;
        for (lane, value) in value.iter().enumerate() {
            let column = advantages.iter().skip(lane).step_by(self.lanes);
            let mean = column.clone().sum::<f32>() * share;
            let q = self.q.iter_mut().skip(lane).step_by(self.lanes);
            q.zip(column).for_each(|(q, advantage)| *q = value + (advantage - mean));
        }
    }

    /// The gradient of [`Pass::combine_streams`]: `dV = sum(dQ)`, `dA = dQ - mean(dQ)`.
    fn split_streams(&mut self) {
        let (value, advantages) = self.raw_delta.split_at_mut(self.lanes);
        let share = 1.0 / (advantages.len() / self.lanes) as f32;
        for (lane, value) in value.iter_mut().enumerate() {
            let column = self.q_delta.iter().skip(lane).step_by(self.lanes);
            *value = column.clone().sum();
            let advantages = advantages.iter_mut().skip(lane).step_by(self.lanes);
            advantages.zip(column).for_each(|(advantage, q)| *advantage = q - *value * share);
        }
    }
}

/// Turns feature-major rows of `lanes` into one row of `stride` per sample. The padding of each row
/// is cleared, for the buffer served a wider layer before.
fn transpose(features: &[f32], lanes: usize, samples: &mut [f32], stride: usize) {
    let width = features.len() / lanes;
    for (sample, row) in samples.chunks_exact_mut(stride).enumerate() {
        let (values, padding) = row.split_at_mut(width);
        for (value, feature) in values.iter_mut().zip(features.chunks_exact(lanes)) {
            *value = feature[sample];
        }
        padding.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{Generator, Purpose};
    use crate::topology::Activation;

    #[test]
    fn a_batch_agrees_with_its_samples_one_by_one() {
        for (batch, dueling) in [(1, false), (7, true), (32, false), (33, true)] {
            let topology = Topology::mlp(25, &[40, 17], 5, Activation::Relu, dueling).unwrap();
            let mut generator = Generator::new(1, Purpose::Weights);
            let network = Network::new(topology, &mut generator);
            let observations: Vec<f32> =
                (0..batch * 25).map(|_| generator.unit() as f32 - 0.5).collect();
            let mut pass = Pass::new(network.topology(), batch);
            pass.forward(&network, &observations);
            let mut expected = [0.0; 5];
            for (sample, observation) in observations.chunks_exact(25).enumerate() {
                network.q_values(observation, &mut network.scratch(), &mut expected);
                for (action, expected) in expected.iter().enumerate() {
                    let q = pass.q(sample, action);
                    assert!((q - expected).abs() < 1e-5, "{batch}: {q} is not {expected}");
                }
            }
        }
    }
}
