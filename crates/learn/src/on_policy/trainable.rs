//! What does it take to move one network by minibatches?
//!
//! A [`Trainable`]: the network, its Adam, and the room for one minibatch. Gradients are computed first and steps are
//! taken after, so that of several networks either all move or none does.

use super::loss::{Clipped, Decisions, PolicyLoss, squared_error};
use super::settings::OnPolicySpec;
use crate::adam::{Adam, clip_scale};
use crate::network::Network;
use crate::pass::Pass;
use crate::update::NotFinite;

/// A network that learns.
#[derive(Clone, Debug)]
pub(crate) struct Trainable {
    pub(crate) network: Network,
    pub(crate) adam: Adam,
    pass: Pass,
    by_output: Vec<f32>,
    /// A gradient in place of each parameter, and the factor that clips it.
    gradients: Network,
    scale: f32,
    max_norm: f32,
}

impl Trainable {
    pub(crate) fn new(network: Network, spec: &OnPolicySpec) -> Trainable {
        let adam = Adam::new(network.parameters().len(), spec.learning_rate);
        Trainable::from_parts(network, adam, spec)
    }

    /// Continues with a network and moments read from a checkpoint.
    pub(crate) fn from_parts(network: Network, adam: Adam, spec: &OnPolicySpec) -> Trainable {
        let topology = network.topology();
        Trainable {
            adam,
            pass: Pass::new(topology, spec.batch_size),
            by_output: vec![0.0; spec.batch_size * topology.actions()],
            gradients: Network::zeros(topology.clone()),
            scale: 0.0,
            max_norm: spec.max_grad_norm as f32,
            network,
        }
    }

    /// Computes the gradient of PPO's loss on one minibatch.
    pub(crate) fn policy_gradient(
        &mut self,
        loss: &Clipped,
        observations: &[f32],
        decisions: &Decisions,
    ) -> Result<PolicyLoss, NotFinite> {
        self.pass.forward(&self.network, observations);
        let loss = loss.gradient(&self.pass, decisions, &mut self.by_output);
        self.backward(loss.loss)?;
        Ok(loss)
    }

    /// Computes the gradient of the squared error on one minibatch, and returns the error.
    pub(crate) fn value_gradient(
        &mut self,
        observations: &[f32],
        targets: &[f64],
    ) -> Result<f64, NotFinite> {
        self.pass.forward(&self.network, observations);
        let loss = squared_error(&self.pass, targets, &mut self.by_output);
        self.backward(loss)?;
        Ok(loss)
    }

    /// Moves the network against the gradient computed last.
    pub(crate) fn step(&mut self) {
        self.adam.step(self.network.parameters_mut(), self.gradients.parameters(), self.scale);
    }

    fn backward(&mut self, loss: f64) -> Result<(), NotFinite> {
        if !loss.is_finite() {
            return Err(NotFinite);
        }
        self.pass.backward_all(&self.network, &self.by_output, &mut self.gradients);
        self.scale = clip_scale(self.gradients.parameters(), self.max_norm).ok_or(NotFinite)?;
        Ok(())
    }
}
