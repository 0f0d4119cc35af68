//! How does a whole rollout go through one network?
//!
//! In chunks that fit the processor's cache: a [`Sweep`] has one [`Pass`] for each, so that activations are still there
//! when gradients come back, as often as they come.

use crate::network::Network;
use crate::pass::Pass;
use crate::topology::Topology;

/// Samples that go through the network together.
pub(crate) const CHUNK: usize = 256;

/// Room for a rollout's way through a network and back.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    passes: Vec<Pass>,
    gradients: Network,
}

impl Sweep {
    /// Makes room for this many samples.
    pub(crate) fn new(topology: &Topology, samples: usize) -> Sweep {
        let starts = (0..samples).step_by(CHUNK);
        let passes = starts.map(|start| Pass::new(topology, CHUNK.min(samples - start))).collect();
        Sweep { passes, gradients: Network::zeros(topology.clone()) }
    }

    pub(crate) fn forward(&mut self, network: &Network, observations: &[f32]) {
        let rows = observations.chunks(CHUNK * network.topology().inputs());
        for (pass, rows) in self.passes.iter_mut().zip(rows) {
            pass.forward(network, rows);
        }
    }

    /// Writes one sample's outputs, after [`Sweep::forward`].
    pub(crate) fn outputs(&self, sample: usize, outputs: &mut [f32]) {
        self.passes[sample / CHUNK].q_values(sample % CHUNK, outputs);
    }

    /// Writes the first output of each sample, after [`Sweep::forward`]: the value, for a value network.
    pub(crate) fn values(&self, values: &mut [f32]) {
        for (sample, value) in values.iter_mut().enumerate() {
            *value = self.passes[sample / CHUNK].q(sample % CHUNK, 0);
        }
    }

    /// Sums over all samples the gradient by each parameter. `by_output` writes the gradient by each output of one
    /// chunk, sample after sample; it is told which sample is the chunk's first, and may look at its pass.
    pub(crate) fn backward(
        &mut self,
        network: &Network,
        mut by_output: impl FnMut(usize, &Pass, &mut [f32]),
        total: &mut [f64],
    ) {
        let actions = network.topology().actions();
        let mut room = vec![0.0; CHUNK * actions];
        total.fill(0.0);
        for (index, pass) in self.passes.iter_mut().enumerate() {
            let room = &mut room[..pass.batch() * actions];
            by_output(index * CHUNK, pass, room);
            pass.backward_all(network, room, &mut self.gradients);
            for (total, gradient) in total.iter_mut().zip(self.gradients.parameters()) {
                *total += f64::from(*gradient);
            }
        }
    }
}
