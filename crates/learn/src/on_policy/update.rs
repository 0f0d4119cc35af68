//! What is learned from one rollout?
//!
//! [`Updater::learn`] values every step of it, estimates advantages, and moves the networks: under CPO the policy first,
//! by one step within the trust region, and then the values over the epochs; otherwise policy and values together, one
//! minibatch after the other.
//!
//! **Invariant:** a number that is not finite moves no weight. What was learned from minibatches before it stays.

use super::advantage::{Signal, centre, estimate, normalise, priced};
use super::cpo::{Evidence, distributions, improve};
use super::loss::{Clipped, Decisions};
use super::rollout::{Rollout, Tally};
use super::settings::{Constraint, OnPolicySpec};
use super::sweep::Sweep;
use super::trainable::Trainable;
use crate::generator::Generator;
use crate::update::NotFinite;

/// The networks, and the room that learning needs.
#[derive(Clone, Debug)]
pub(crate) struct Updater {
    pub(crate) policy: Trainable,
    pub(crate) value: Trainable,
    /// Expects incidents; there is one where there is a limit on them.
    pub(crate) cost_value: Option<Trainable>,
    policy_sweep: Sweep,
    value_sweep: Sweep,
    prepared: Prepared,
    minibatch: Minibatch,
}

/// What is known about incidents when a rollout is full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incidents {
    /// The price of one.
    pub(crate) price: f64,
    /// Episodes that tell how probable one is.
    pub(crate) tally: Tally,
}

/// What [`Updater::learn`] reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Learned {
    /// Minibatches.
    pub(crate) updates: u64,
    /// The value network's squared error on the latest minibatch; `None` if there was none.
    pub(crate) value_loss: Option<f64>,
}

/// A rollout, made ready to learn from.
#[derive(Clone, Debug, Default)]
struct Prepared {
    decisions: Decisions,
    cost_advantages: Vec<f64>,
    returns: Vec<f64>,
    cost_returns: Vec<f64>,
    /// The samples, shuffled.
    order: Vec<usize>,
}

/// Some of its samples.
#[derive(Clone, Debug, Default)]
struct Minibatch {
    observations: Vec<f32>,
    decisions: Decisions,
    returns: Vec<f64>,
    cost_returns: Vec<f64>,
}

impl Updater {
    /// Prepares to learn from rollouts of this many samples.
    pub(crate) fn new(
        policy: Trainable,
        value: Trainable,
        cost_value: Option<Trainable>,
        samples: usize,
    ) -> Updater {
        Updater {
            policy_sweep: Sweep::new(policy.network.topology(), samples),
            value_sweep: Sweep::new(value.network.topology(), samples),
            prepared: Prepared::default(),
            minibatch: Minibatch::default(),
            policy,
            value,
            cost_value,
        }
    }

    /// Learns from a full rollout.
    pub(crate) fn learn(
        &mut self,
        rollout: &Rollout,
        worlds: usize,
        spec: &OnPolicySpec,
        incidents: Incidents,
        sampling: &mut Generator,
    ) -> Result<Learned, NotFinite> {
        self.prepare(rollout, worlds, spec)?;
        let Prepared { decisions, cost_advantages, .. } = &mut self.prepared;
        if let Constraint::Lagrangian(_) = spec.constraint {
            priced(&mut decisions.advantages, cost_advantages, incidents.price);
        }
        normalise(&mut decisions.advantages);
        if let Constraint::Cpo(cpo) = &spec.constraint {
            // The limit is in incidents, so the cost keeps its unit.
            centre(cost_advantages);
            let evidence = Evidence {
                observations: &rollout.observations,
                decisions,
                cost_advantages,
                excess: incidents.tally.excess_per_step(cpo.budget, rollout.len() / worlds),
            };
            improve(&mut self.policy.network, &mut self.policy_sweep, &evidence, cpo)?;
        }
        self.epochs(rollout, spec, sampling)
    }

    /// Values the rollout with the networks as they are, and writes the advantages and what the values should be.
    fn prepare(
        &mut self,
        rollout: &Rollout,
        worlds: usize,
        spec: &OnPolicySpec,
    ) -> Result<(), NotFinite> {
        let samples = rollout.len();
        let prepared = &mut self.prepared;
        self.policy_sweep.forward(&self.policy.network, &rollout.observations);
        let logs = distributions(&self.policy.network, &self.policy_sweep, samples);
        let rows = logs.chunks_exact(logs.len() / samples);
        prepared.decisions.actions.clone_from(&rollout.actions);
        prepared.decisions.log_probabilities =
            rows.zip(&rollout.actions).map(|(row, &action)| row[action]).collect();
        prepared.order = (0..samples).collect();
        let sweep = &mut self.value_sweep;
        let mut assess = |network: &Trainable, gained, gamma, lambda| {
            let (mut values, mut next_values) = (vec![0.0; samples], vec![0.0; samples]);
            sweep.forward(&network.network, &rollout.observations);
            sweep.values(&mut values);
            sweep.forward(&network.network, &rollout.successors);
            sweep.values(&mut next_values);
            let (values, next_values, ends) = (&values, &next_values, &rollout.ends);
            let signal = Signal { gained, values, next_values, ends, worlds };
            let mut advantages = vec![0.0; samples];
            estimate(&signal, gamma, lambda, &mut advantages);
            let returns: Vec<f64> =
                advantages.iter().zip(values).map(|(a, &value)| a + f64::from(value)).collect();
            // A value that is not finite shows in the advantage of its own step.
            let finite = advantages.iter().all(|advantage| advantage.is_finite());
            finite.then_some((advantages, returns)).ok_or(NotFinite)
        };
        (prepared.decisions.advantages, prepared.returns) =
            assess(&self.value, &rollout.rewards, spec.gamma, spec.gae_lambda)?;
        if let Some(cost_value) = &self.cost_value {
            (prepared.cost_advantages, prepared.cost_returns) =
                assess(cost_value, &rollout.costs, spec.cost_gamma, spec.cost_gae_lambda)?;
        }
        Ok(())
    }

    /// Goes through the prepared minibatch by minibatch, in another order each epoch.
    fn epochs(
        &mut self,
        rollout: &Rollout,
        spec: &OnPolicySpec,
        sampling: &mut Generator,
    ) -> Result<Learned, NotFinite> {
        let mut learned = Learned { updates: 0, value_loss: None };
        let mut order = std::mem::take(&mut self.prepared.order);
        for _ in 0..spec.epochs {
            shuffle(&mut order, sampling);
            for samples in order.chunks_exact(spec.batch_size) {
                self.minibatch.gather(&self.prepared, &rollout.observations, samples);
                let Some(value_loss) = self.step(spec)? else { return Ok(learned) };
                learned.updates += 1;
                learned.value_loss = Some(value_loss);
            }
        }
        Ok(learned)
    }

    /// One minibatch: all gradients first, then all steps. `None` if the policy has moved far enough.
    fn step(&mut self, spec: &OnPolicySpec) -> Result<Option<f64>, NotFinite> {
        let Minibatch { observations, decisions, returns, cost_returns } = &self.minibatch;
        let by_gradient = !matches!(spec.constraint, Constraint::Cpo(_));
        if by_gradient {
            let OnPolicySpec { clip_range, entropy_coefficient, .. } = *spec;
            let loss = Clipped { clip_range, entropy_coefficient };
            let kl = self.policy.policy_gradient(&loss, observations, decisions)?.kl;
            // Half as much again, as in Stable-Baselines3.
            if spec.target_kl.is_some_and(|target| kl > 1.5 * target) {
                return Ok(None);
            }
        }
        let value_loss = self.value.value_gradient(observations, returns)?;
        if let Some(cost_value) = &mut self.cost_value {
            cost_value.value_gradient(observations, cost_returns)?;
            cost_value.step();
        }
        self.value.step();
        if by_gradient {
            self.policy.step();
        }
        Ok(Some(value_loss))
    }
}

impl Minibatch {
    fn gather(&mut self, prepared: &Prepared, observations: &[f32], samples: &[usize]) {
        let width = observations.len() / prepared.decisions.actions.len();
        self.observations.clear();
        for &sample in samples {
            let row = &observations[sample * width..(sample + 1) * width];
            self.observations.extend_from_slice(row);
        }
        pick(&prepared.decisions.actions, samples, &mut self.decisions.actions);
        let logs = &mut self.decisions.log_probabilities;
        pick(&prepared.decisions.log_probabilities, samples, logs);
        pick(&prepared.decisions.advantages, samples, &mut self.decisions.advantages);
        pick(&prepared.returns, samples, &mut self.returns);
        if !prepared.cost_returns.is_empty() {
            pick(&prepared.cost_returns, samples, &mut self.cost_returns);
        }
    }
}

fn pick<T: Copy>(from: &[T], samples: &[usize], to: &mut Vec<T>) {
    to.clear();
    to.extend(samples.iter().map(|&sample| from[sample]));
}

/// Fisher and Yates: every order is as likely as any other.
fn shuffle(order: &mut [usize], generator: &mut Generator) {
    for last in (1..order.len()).rev() {
        order.swap(last, generator.below(last as u64 + 1) as usize);
    }
}
