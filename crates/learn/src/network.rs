//! What is a Q-network, and what does it say about one observation?
//!
//! A [`Network`] is a chain of dense layers, described by its [`Topology`], with all parameters in
//! one flat array: one Adam loop, one copy to the target network and one slice in a checkpoint then
//! cover them all. Start at [`Network::q_values`]; whole batches, and gradients, are in
//! [`pass`](crate::pass).
//!
//! **Invariants:** padding is zero, and stays zero under every update, for its gradient is zero; a
//! NaN in the observation comes out as a NaN, never as a plausible number.

use crate::generator::Generator;
use crate::kernel::Apply;
use crate::topology::Topology;

/// A Q-network: a topology and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    topology: Topology,
    parameters: Vec<f32>,
}

impl Network {
    /// Draws initial weights as PyTorch's `nn.Linear` does: uniform within `1 / sqrt(inputs)`.
    pub fn new(topology: Topology, generator: &mut Generator) -> Network {
        let mut network = Network::zeros(topology);
        for layer in network.topology.layers().to_vec() {
            let bound = 1.0 / (layer.inputs as f64).sqrt();
            let mut draw = || ((2.0 * generator.unit() - 1.0) * bound) as f32;
            for row in network.parameters[layer.weights()].chunks_exact_mut(layer.stride()) {
                row[..layer.inputs].fill_with(&mut draw);
            }
            network.parameters[layer.bias()].fill_with(&mut draw);
        }
        network
    }

    /// Makes a network whose parameters are all zero, to be filled by [`Network::set_layer`].
    pub fn zeros(topology: Topology) -> Network {
        let parameters = vec![0.0; topology.len()];
        Network { topology, parameters }
    }

    /// The sizes.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// All parameters, padding included.
    pub(crate) fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, to be changed in place; the caller keeps the padding zero.
    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Copies one layer out: weights row by row (one row per output) and biases, without padding.
    ///
    /// # Panics
    ///
    /// If there is no such layer.
    pub fn layer(&self, index: usize) -> (Vec<f32>, Vec<f32>) {
        let layer = self.topology.layers()[index];
        let rows = self.parameters[layer.weights()].chunks_exact(layer.stride());
        let weights = rows.flat_map(|row| &row[..layer.inputs]).copied().collect();
        (weights, self.parameters[layer.bias()].to_vec())
    }

    /// Overwrites one layer with weights and biases as [`Network::layer`] gives them.
    ///
    /// # Panics
    ///
    /// If there is no such layer, or the lengths are not that layer's.
    pub fn set_layer(&mut self, index: usize, weights: &[f32], bias: &[f32]) {
        let layer = self.topology.layers()[index];
        assert_eq!(weights.len(), layer.inputs * layer.outputs, "weights of layer {index}");
        let rows = self.parameters[layer.weights()].chunks_exact_mut(layer.stride());
        for (row, values) in rows.zip(weights.chunks_exact(layer.inputs)) {
            row[..layer.inputs].copy_from_slice(values);
        }
        self.parameters[layer.bias()].copy_from_slice(bias);
    }

    /// Writes the Q-value of each action for one observation, without allocating.
    ///
    /// # Panics
    ///
    /// If `observation` or `q_values` is not as long as the topology says.
    pub fn q_values(&self, observation: &[f32], scratch: &mut Scratch, q_values: &mut [f32]) {
        let topology = &self.topology;
        assert_eq!(observation.len(), topology.inputs(), "length of the observation");
        assert_eq!(q_values.len(), topology.actions(), "number of Q-values");
        let Scratch { input, output } = scratch;
        input.clear();
        input.extend_from_slice(observation);
        for layer in topology.layers() {
            input.resize(layer.stride(), 0.0);
            output.clear();
            output.resize(layer.outputs, 0.0);
            let weights = &self.parameters[layer.weights()];
            let bias = &self.parameters[layer.bias()];
            Apply { weights, bias, input, out: output }.run();
            layer.activation.apply(output);
            std::mem::swap(input, output);
        }
        if topology.dueling() {
            let (value, advantages) = (input[0], &input[1..]);
            let mean = advantages.iter().sum::<f32>() / advantages.len() as f32;
            for (q, advantage) in q_values.iter_mut().zip(advantages) {
                *q = value + (advantage - mean);
            }
        } else {
            q_values.copy_from_slice(input);
        }
    }

    /// Makes room for [`Network::q_values`].
    pub fn scratch(&self) -> Scratch {
        let widest = self.topology.widest();
        Scratch { input: Vec::with_capacity(widest), output: Vec::with_capacity(widest) }
    }
}

/// Room for one observation's way through a network, used again for each.
#[derive(Clone, Debug)]
pub struct Scratch {
    input: Vec<f32>,
    output: Vec<f32>,
}

/// Returns the index of the greatest value, the first among equals; `None` if any is not finite.
pub fn greedy(q_values: &[f32]) -> Option<usize> {
    if !q_values.iter().all(|q| q.is_finite()) {
        return None;
    }
    let mut best = 0;
    for (action, q) in q_values.iter().enumerate() {
        if *q > q_values[best] {
            best = action;
        }
    }
    (!q_values.is_empty()).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Purpose;
    use crate::topology::Activation;

    #[test]
    fn a_network_computed_by_hand() {
        let topology = Topology::mlp(2, &[2], 2, Activation::Relu, false).unwrap();
        let mut network = Network::zeros(topology);
        network.set_layer(0, &[1.0, -1.0, 2.0, 0.5], &[0.0, -1.0]);
        network.set_layer(1, &[1.0, 1.0, -1.0, 3.0], &[0.25, 0.0]);
        let mut q = [0.0; 2];
        network.q_values(&[1.0, 2.0], &mut network.scratch(), &mut q);
        // Hidden: relu(-1) = 0 and 2 + 1 - 1 = 2.
        assert_eq!(q, [2.25, 6.0]);
    }

    #[test]
    fn dueling_subtracts_the_mean_advantage() {
        let topology = Topology::mlp(1, &[], 2, Activation::Relu, true).unwrap();
        let mut network = Network::zeros(topology);
        network.set_layer(0, &[10.0, 1.0, 3.0], &[0.0; 3]);
        let mut q = [0.0; 2];
        network.q_values(&[1.0], &mut network.scratch(), &mut q);
        assert_eq!(q, [9.0, 11.0]);
    }

    #[test]
    fn initial_weights_fill_pytorchs_interval() {
        let topology = Topology::mlp(25, &[64], 5, Activation::Relu, false).unwrap();
        let network = Network::new(topology, &mut Generator::new(3, Purpose::Weights));
        for (index, bound) in [(0, 1.0 / 5.0), (1, 1.0 / 8.0)] {
            let (weights, bias) = network.layer(index);
            let largest = weights.iter().chain(&bias).fold(0.0_f32, |m, w| m.max(w.abs()));
            assert!(largest <= bound && largest > 0.9 * bound, "layer {index}: {largest}");
        }
    }

    #[test]
    fn a_nan_comes_out_and_is_never_the_greedy_action() {
        let topology = Topology::mlp(3, &[8, 8], 2, Activation::Relu, false).unwrap();
        let network = Network::new(topology, &mut Generator::new(0, Purpose::Weights));
        let mut q = [0.0; 2];
        network.q_values(&[0.0, f32::NAN, 0.0], &mut network.scratch(), &mut q);
        assert!(q.iter().all(|q| q.is_nan()));
        assert_eq!(greedy(&q), None);
        assert_eq!(greedy(&[f32::INFINITY, 0.0]), None);
        assert_eq!(greedy(&[]), None);
        assert_eq!(greedy(&[1.0, 2.0, 2.0]), Some(1));
    }
}
