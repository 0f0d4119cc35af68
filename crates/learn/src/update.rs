//! What does one update do?
//!
//! [`Updater::update`] is the whole of DQN's arithmetic, in the order of the paper (Mnih et al.,
//! 2015): value the successors with the target network, compare with the online network's Q-values,
//! send the Huber loss's gradient back, clip it, and let Adam move the weights.
//!
//! **Invariants:** nothing is allocated after [`Updater::new`]; an update whose loss or gradient is
//! not finite changes no weight and says so.

use crate::adam::{Adam, clip_scale};
use crate::loss::{huber, td_target};
use crate::network::{Network, greedy};
use crate::pass::Pass;
use crate::quantile::Quantiles;
use crate::replay::Batch;
use crate::settings::DqnSpec;

/// Both networks, the optimiser and the room that an update needs.
#[derive(Clone, Debug)]
pub struct Updater {
    pub(crate) online: Network,
    pub(crate) target: Network,
    adam: Adam,
    pub(crate) gamma: f32,
    max_norm: f32,
    pub(crate) double: bool,
    /// How outputs are read, if they are not Q-values.
    quantiles: Option<Quantiles>,
    /// What an incident costs.
    price: f32,
    pub(crate) pass: Pass,
    pub(crate) target_pass: Pass,
    /// A gradient in place of each parameter.
    pub(crate) gradients: Network,
    /// What each chosen Q-value, or each of its quantiles, should have been.
    pub(crate) targets: Vec<f32>,
    /// The loss's gradient by each chosen Q-value.
    by_chosen_q: Vec<f32>,
    /// For double DQN, the online network's choice at each successor.
    choices: Vec<usize>,
    pub(crate) q_values: Vec<f32>,
    /// The loss's gradient by every output, sample by sample; for quantiles only.
    pub(crate) by_output: Vec<f32>,
}

impl Updater {
    /// Starts with a target network equal to the online one.
    pub fn new(online: Network, spec: &DqnSpec) -> Updater {
        let target = online.clone();
        let adam = Adam::new(online.parameters().len(), spec.learning_rate);
        Updater::from_parts(online, target, adam, spec)
    }

    /// Continues with networks and moments read from a checkpoint.
    pub(crate) fn from_parts(
        online: Network,
        target: Network,
        adam: Adam,
        spec: &DqnSpec,
    ) -> Updater {
        let batch = spec.batch_size;
        let outputs = online.topology().actions();
        let quantiles = spec.quantiles.map(|q| Quantiles::new(q, outputs / q.count.max(1)));
        let each = spec.quantiles.map_or(1, |quantiles| quantiles.count);
        Updater {
            pass: Pass::new(online.topology(), batch),
            target_pass: Pass::new(online.topology(), batch),
            gradients: Network::zeros(online.topology().clone()),
            targets: vec![0.0; batch * each],
            by_chosen_q: vec![0.0; batch],
            choices: vec![0; batch],
            q_values: vec![0.0; outputs],
            by_output: vec![0.0; if quantiles.is_some() { batch * outputs } else { 0 }],
            quantiles,
            price: 0.0,
            online,
            target,
            adam,
            gamma: spec.gamma as f32,
            max_norm: spec.max_grad_norm as f32,
            double: spec.double,
        }
    }

    /// Values successors with another target network than a copy of the online one.
    ///
    /// # Panics
    ///
    /// If it has another topology.
    pub fn with_target(self, target: Network) -> Updater {
        assert_eq!(target.topology(), self.online.topology(), "topology of the target network");
        Updater { target, ..self }
    }

    /// Learns from one batch and returns its mean loss, as it was before the weights moved.
    ///
    /// # Errors
    ///
    /// [`NotFinite`] if the loss or its gradient is not a finite number; no weight has moved then.
    pub fn update(&mut self, batch: &Batch) -> Result<f32, NotFinite> {
        let loss = self.gradient(batch)?;
        let scale = clip_scale(self.gradients.parameters(), self.max_norm).ok_or(NotFinite)?;
        self.adam.step(self.online.parameters_mut(), self.gradients.parameters(), scale);
        Ok(loss)
    }

    /// Makes the target network equal to the online one.
    pub fn sync_target(&mut self) {
        self.target.parameters_mut().copy_from_slice(self.online.parameters());
    }

    /// The network that learns.
    pub fn online(&self) -> &Network {
        &self.online
    }

    pub(crate) fn target(&self) -> &Network {
        &self.target
    }

    /// Changes Adam's step size from the next update on.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.adam.set_learning_rate(learning_rate);
    }

    /// Changes what an incident costs from the next update on.
    pub fn set_price(&mut self, price: f64) {
        self.price = price as f32;
    }

    /// What a step of the batch was worth: its reward, less the price of an incident. Divided so that however high the
    /// price, a step is worth about as much as before: the Huber loss takes an error beyond 1 for an outlier, and would
    /// learn the median of returns, in which a rare incident does not show.
    pub(crate) fn reward(&self, batch: &Batch, sample: usize) -> f32 {
        let price = if batch.incidents[sample] { self.price } else { 0.0 };
        (batch.rewards[sample] - price) / (1.0 + self.price)
    }

    pub(crate) fn adam(&self) -> &Adam {
        &self.adam
    }

    /// Writes the gradient of the batch's mean loss to `self.gradients`, and returns the loss.
    fn gradient(&mut self, batch: &Batch) -> Result<f32, NotFinite> {
        if let Some(quantiles) = self.quantiles {
            return self.quantile_gradient(batch, &quantiles);
        }
        self.value_successors(batch)?;
        self.pass.forward(&self.online, &batch.observations);
        let share = 1.0 / batch.actions.len() as f32;
        let mut loss = 0.0;
        for (sample, &action) in batch.actions.iter().enumerate() {
            let (cost, slope) = huber(self.pass.q(sample, action) - self.targets[sample]);
            loss += cost * share;
            self.by_chosen_q[sample] = slope * share;
        }
        if !loss.is_finite() {
            return Err(NotFinite);
        }
        self.pass.backward(&self.online, &batch.actions, &self.by_chosen_q, &mut self.gradients);
        Ok(loss)
    }

    /// Writes each sample's TD target to `self.targets`.
    fn value_successors(&mut self, batch: &Batch) -> Result<(), NotFinite> {
        if self.double {
            self.pass.forward(&self.online, &batch.successors);
            for (sample, choice) in self.choices.iter_mut().enumerate() {
                self.pass.q_values(sample, &mut self.q_values);
                *choice = greedy(&self.q_values).ok_or(NotFinite)?;
            }
        }
        self.target_pass.forward(&self.target, &batch.successors);
        for sample in 0..self.targets.len() {
            self.target_pass.q_values(sample, &mut self.q_values);
            let best = greedy(&self.q_values).ok_or(NotFinite)?;
            let choice = if self.double { self.choices[sample] } else { best };
            let next_q = self.q_values[choice];
            let reward = self.reward(batch, sample);
            self.targets[sample] = td_target(reward, self.gamma, next_q, batch.ends[sample]);
        }
        Ok(())
    }
}

/// An output, loss or gradient that is not a finite number: a world gave a senseless observation or
/// reward, or the settings make learning diverge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an output of the network, the loss or its gradient is not a finite number")]
pub struct NotFinite;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::End;
    use crate::generator::{Generator, Purpose};
    use crate::topology::{Activation, Topology};

    fn updater(spec: &DqnSpec) -> (Updater, Batch) {
        let topology = Topology::mlp(4, &[16], 3, Activation::Relu, spec.dueling).unwrap();
        let mut generator = Generator::new(5, Purpose::Weights);
        let network = Network::new(topology, &mut generator);
        let mut batch = Batch::new(spec.batch_size, 4);
        batch.observations.fill_with(|| generator.unit() as f32);
        batch.successors.fill_with(|| generator.unit() as f32);
        batch.rewards.fill_with(|| generator.unit() as f32);
        batch.actions.fill_with(|| generator.below(3) as usize);
        (Updater::new(network, spec), batch)
    }

    #[test]
    fn padding_stays_zero_through_updates() {
        let (mut updater, batch) = updater(&DqnSpec::default());
        for _ in 0..20 {
            updater.update(&batch).unwrap();
        }
        let rebuilt = {
            let mut rebuilt = Network::zeros(updater.online.topology().clone());
            for index in 0..2 {
                let (weights, bias) = updater.online.layer(index);
                rebuilt.set_layer(index, &weights, &bias);
            }
            rebuilt
        };
        assert_eq!(rebuilt, updater.online);
    }

    #[test]
    fn double_values_the_online_choice_with_the_target_network() {
        let spec = DqnSpec { double: true, batch_size: 8, ..DqnSpec::default() };
        let (mut updater, batch) = updater(&spec);
        // A target network whose Q-values are the online ones negated disagrees about every choice.
        let (weights, bias) = updater.online.layer(1);
        let negated = |values: Vec<f32>| values.into_iter().map(|x| -x).collect::<Vec<_>>();
        updater.target.set_layer(1, &negated(weights), &negated(bias));
        updater.value_successors(&batch).unwrap();
        let (mut online_q, mut target_q) = ([0.0; 3], [0.0; 3]);
        for (sample, successor) in batch.successors.chunks_exact(4).enumerate() {
            let scratch = &mut updater.online.scratch();
            updater.online.q_values(successor, scratch, &mut online_q);
            updater.target.q_values(successor, scratch, &mut target_q);
            let choice = greedy(&online_q).unwrap();
            assert_ne!(choice, greedy(&target_q).unwrap(), "else DQN would pass this test too");
            let expected = batch.rewards[sample] + 0.8 * target_q[choice];
            assert!((updater.targets[sample] - expected).abs() < 1e-5);
        }
    }

    #[test]
    fn a_senseless_number_moves_no_weight() {
        let (mut updater, batch) = updater(&DqnSpec::default());
        let before = updater.online.clone();
        let mut bad_reward = batch.clone();
        bad_reward.rewards[3] = f32::NAN;
        assert_eq!(updater.update(&bad_reward), Err(NotFinite));
        let mut bad_successor = batch.clone();
        bad_successor.successors[5] = f32::NAN;
        bad_successor.ends.fill(End::Terminated);
        assert_eq!(updater.update(&bad_successor), Err(NotFinite));
        let mut bad_observation = batch;
        bad_observation.observations[0] = f32::INFINITY;
        assert_eq!(updater.update(&bad_observation), Err(NotFinite));
        assert_eq!(updater.online, before);
    }
}
