//! How strongly does a small move of the parameters change the policy?
//!
//! By half of `v · F v`, where `F` is the Fisher matrix: that is the KL divergence to second order. For logits with
//! Jacobian `J` and probabilities `p` it is exactly
//!
//! ```text
//!   F = mean over samples of  Jᵀ (diag p - p pᵀ) J
//! ```
//!
//! [`Fisher::product`] computes `F v + damping v` by one [`Tangent`] and one way back. The matrix itself, the square
//! of the number of parameters, is never built.

use super::categorical::log_probabilities;
use super::sweep::{CHUNK, Sweep};
use crate::network::Network;
use crate::tangent::Tangent;

/// The damped Fisher matrix of a policy at a set of observations.
#[derive(Debug)]
pub struct Fisher<'a> {
    network: &'a Network,
    sweep: Sweep,
    tangent: Tangent,
    /// Each action's probability, sample after sample.
    probabilities: Vec<f64>,
    damping: f64,
    direction: Network,
}

impl<'a> Fisher<'a> {
    /// Describes the policy of `network` at observations given one after the other.
    ///
    /// # Panics
    ///
    /// If the observations are not a whole number of the network's inputs, or its head is dueling.
    pub fn new(network: &'a Network, observations: &[f32], damping: f64) -> Fisher<'a> {
        let topology = network.topology();
        assert!(observations.len().is_multiple_of(topology.inputs()), "length of the observations");
        let samples = observations.len() / topology.inputs();
        let mut sweep = Sweep::new(topology, samples);
        sweep.forward(network, observations);
        let mut logits = vec![0.0; topology.actions()];
        let mut probabilities = vec![0.0; samples * topology.actions()];
        for (sample, row) in probabilities.chunks_exact_mut(topology.actions()).enumerate() {
            sweep.outputs(sample, &mut logits);
            log_probabilities(&logits, row);
            row.iter_mut().for_each(|log| *log = log.exp());
        }
        let tangent = Tangent::new(topology, CHUNK.min(samples));
        let direction = Network::zeros(topology.clone());
        Fisher { network, sweep, tangent, probabilities, damping, direction }
    }

    /// Returns the matrix times a direction, which has a number in place of each parameter.
    ///
    /// # Panics
    ///
    /// If the direction has another topology.
    pub fn product(&mut self, direction: &Network) -> Network {
        let flat: Vec<f64> = direction.parameters().iter().map(|&x| f64::from(x)).collect();
        let mut image = vec![0.0; flat.len()];
        self.product_flat(&flat, &mut image);
        let mut out = Network::zeros(direction.topology().clone());
        out.parameters_mut().iter_mut().zip(&image).for_each(|(out, &image)| *out = image as f32);
        out
    }

    /// Writes the matrix times a direction that lies as the parameters do.
    pub(crate) fn product_flat(&mut self, direction: &[f64], image: &mut [f64]) {
        let Fisher { network, sweep, tangent, probabilities, damping, .. } = self;
        let along = &mut self.direction;
        along.parameters_mut().iter_mut().zip(direction).for_each(|(to, &from)| *to = from as f32);
        let actions = network.topology().actions();
        let share = 1.0 / (probabilities.len() / actions) as f64;
        sweep.backward(
            network,
            |first, pass, by_logit| {
                tangent.forward(pass, network, along);
                let rows = probabilities[first * actions..].chunks_exact(actions);
                for (sample, (by_logit, p)) in
                    by_logit.chunks_exact_mut(actions).zip(rows).enumerate()
                {
                    let change = |action| f64::from(tangent.change(sample, action));
                    let mean: f64 = p.iter().enumerate().map(|(a, p)| p * change(a)).sum();
                    for (action, by_logit) in by_logit.iter_mut().enumerate() {
                        *by_logit = (share * p[action] * (change(action) - mean)) as f32;
                    }
                }
            },
            image,
        );
        image.iter_mut().zip(direction).for_each(|(image, v)| *image += *damping * v);
    }
}
