//! How do a network's outputs change when its parameters move along a direction?
//!
//! [`Tangent::forward`] is the product of the Jacobian with a direction, for a whole batch at once. It walks the
//! layers as [`Pass::forward`] did and uses the activations found there:
//!
//! ```text
//!   change of output = (direction's W · input + direction's b + W · change of input) * slope of the activation
//! ```
//!
//! With [`Pass::backward_all`], the product of the transposed Jacobian, it makes the Fisher matrix's product
//! without ever building the matrix: see [`fisher`](crate::on_policy::fisher).
//!
//! **Invariant:** nothing is allocated after [`Tangent::new`]. **Absent on purpose:** the dueling head, which no
//! policy has.

use crate::kernel::{Left, Product, Start, padded};
use crate::network::Network;
use crate::pass::Pass;
use crate::topology::{Layer, Topology};

/// Room for the changes of a batch's activations.
#[derive(Clone, Debug)]
pub struct Tangent {
    lanes: usize,
    /// The change of the latest layer's output, of the one before, and of what only passes through.
    output: Vec<f32>,
    input: Vec<f32>,
    carried: Vec<f32>,
}

impl Tangent {
    /// Makes room for batches of up to `batch` observations.
    ///
    /// # Panics
    ///
    /// If the topology has a dueling head.
    pub fn new(topology: &Topology, batch: usize) -> Tangent {
        assert!(!topology.dueling(), "a dueling head has no tangent here");
        let widest = topology.layers().iter().map(|layer| layer.outputs).max().unwrap_or(0);
        let room = vec![0.0; widest * padded(batch)];
        Tangent { lanes: 0, input: room.clone(), carried: room.clone(), output: room }
    }

    /// Computes how each output of `pass` changes per step of `network` along `direction`.
    /// [`Pass::forward`] with this network came before.
    ///
    /// # Panics
    ///
    /// If the batch is larger than there is room for, or `direction` has another topology.
    pub fn forward(&mut self, pass: &Pass, network: &Network, direction: &Network) {
        assert_eq!(direction.topology(), network.topology(), "topology of the direction");
        self.lanes = pass.lanes();
        for (index, layer) in network.topology().layers().iter().enumerate() {
            let len = layer.outputs * self.lanes;
            std::mem::swap(&mut self.input, &mut self.output);
            let weights = &direction.parameters()[layer.weights()];
            let start = Start::Bias(&direction.parameters()[layer.bias()]);
            let input = pass.activations(index);
            apply(layer, weights, input, start, &mut self.output[..len], self.lanes);
            // The observations do not move, so the first layer has nothing to carry on.
            if index > 0 {
                let weights = &network.parameters()[layer.weights()];
                let input = &self.input[..layer.inputs * self.lanes];
                let carried = &mut self.carried[..len];
                apply(layer, weights, input, Start::Zero, carried, self.lanes);
                self.output.iter_mut().zip(&*carried).for_each(|(sum, carried)| *sum += carried);
            }
            layer.activation.apply_derivative(pass.activations(index + 1), &mut self.output[..len]);
        }
    }

    /// Returns the change of one sample's output.
    pub fn change(&self, sample: usize, output: usize) -> f32 {
        self.output[output * self.lanes + sample]
    }
}

/// One layer's product with a batch.
fn apply(
    layer: &Layer,
    weights: &[f32],
    input: &[f32],
    start: Start<'_>,
    out: &mut [f32],
    lanes: usize,
) {
    Product {
        left: weights,
        layout: Left::Rows,
        stride: layer.stride(),
        right: input,
        start,
        out,
        m: layer.outputs,
        k: layer.inputs,
        n: lanes,
    }
    .run();
}
