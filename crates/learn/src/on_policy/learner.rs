//! How does an on-policy run go on, step by step?
//!
//! [`OnPolicyLearner::run`] draws an action for each world from the policy, steps every world, and when the rollout is
//! full learns from it and starts the next. It has the same calls, with the same meaning, as the DQN's
//! [`Learner`](crate::Learner).
//!
//! **Invariants:** the same settings, worlds and seed give the same weights, bit for bit, on the same machine, however
//! the run is cut into calls of [`OnPolicyLearner::run`] or stopped and resumed; the rollout under way is part of a
//! checkpoint, so it may be cut anywhere. `tests/on_policy_runs.rs` holds it to that.
//!
//! **Absent on purpose:** clocks, files, threads. The caller shows progress, saves and parallelises.

use std::ops::{ControlFlow, Range};

use super::categorical::{draw, log_probabilities};
use super::rollout::Rollout;
use super::settings::{Constraint, OnPolicy, OnPolicySpec};
use super::trainable::Trainable;
use super::update::{Incidents, Updater};
use crate::env::Env;
use crate::generator::{Generator, Purpose};
use crate::learner::{Diverged, StartError};
use crate::multiplier::Multiplier;
use crate::network::{Network, Scratch};
use crate::progress::{Progress, Recent};
use crate::topology::{BadTopology, Topology};
use crate::update::NotFinite;
use crate::worlds::Worlds;

/// An on-policy training run in progress.
#[derive(Debug)]
pub struct OnPolicyLearner<E> {
    pub(crate) settings: OnPolicy,
    pub(crate) seed: u64,
    pub(crate) worlds: Worlds<E>,
    pub(crate) updater: Updater,
    pub(crate) rollout: Rollout,
    pub(crate) multiplier: Option<Multiplier>,
    /// Draws the actions.
    pub(crate) exploration: Generator,
    /// Draws the minibatches.
    pub(crate) sampling: Generator,
    pub(crate) recent: Recent,
    pub(crate) steps: u64,
    pub(crate) updates: u64,
    pub(crate) loss: f32,
    /// Room that a step uses, holding nothing between steps.
    pub(crate) room: Room,
}

/// Buffers of one step.
#[derive(Debug)]
pub(crate) struct Room {
    scratch: Scratch,
    actions: Vec<usize>,
    logits: Vec<f32>,
    log_probabilities: Vec<f64>,
    before: Vec<f32>,
}

/// The sizes of a run's networks.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) policy: Topology,
    /// Of both value networks.
    pub(crate) value: Topology,
}

impl<E: Env> OnPolicyLearner<E> {
    /// Prepares a run: fresh weights, an empty rollout, and an episode begun in each world.
    ///
    /// Everything random follows from `seed`. The worlds' episodes are those of `episode_seeds`, so
    /// that seeds kept for tuning and reporting stay unseen.
    ///
    /// # Errors
    ///
    /// If the worlds differ, there are none, or a network would be impossible.
    pub fn new(
        envs: Vec<E>,
        settings: OnPolicy,
        seed: u64,
        episode_seeds: Range<u64>,
    ) -> Result<OnPolicyLearner<E>, StartError> {
        let worlds = Worlds::new(envs, episode_seeds, seed)?;
        let spec = settings.spec();
        let sizes = Sizes::new(&worlds, spec)?;
        let mut weights = Generator::new(seed, Purpose::Weights);
        let mut policy = Network::new(sizes.policy.clone(), &mut weights);
        level(&mut policy);
        let mut value = || Trainable::new(Network::new(sizes.value.clone(), &mut weights), spec);
        let (value, cost_value) = (value(), spec.is_constrained().then(value));
        let rollout = Rollout::new(spec.rollout_steps, worlds.len());
        let policy = Trainable::new(policy, spec);
        Ok(OnPolicyLearner {
            room: Room::new(&worlds, &policy.network),
            updater: Updater::new(policy, value, cost_value, rollout.capacity),
            multiplier: spec.multiplier(),
            exploration: Generator::new(seed, Purpose::Exploration),
            sampling: Generator::new(seed, Purpose::Sampling),
            recent: Recent::new(worlds.len()),
            steps: 0,
            updates: 0,
            loss: f32::NAN,
            rollout,
            settings,
            seed,
            worlds,
        })
    }

    /// Trains until `steps` more environment steps are done, the run is complete, or `watch` breaks.
    ///
    /// `watch` is called after each step of the batch of worlds. A batch is never cut, so the steps
    /// done may exceed `steps` by one less than the number of worlds.
    ///
    /// # Errors
    ///
    /// [`Diverged`] if an output, a loss or its gradient is not a finite number; the weights are those
    /// of the last good minibatch, and the rollout at fault is dropped.
    pub fn run(
        &mut self,
        steps: u64,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Progress, Diverged> {
        let until = self.steps.saturating_add(steps).min(self.settings.spec().total_steps);
        while self.steps < until {
            self.step().map_err(|NotFinite| Diverged { step: self.steps })?;
            if watch(&self.progress()).is_break() {
                break;
            }
        }
        Ok(self.progress())
    }

    /// Whether the run is complete.
    pub fn is_complete(&self) -> bool {
        self.steps >= self.settings.spec().total_steps
    }

    /// Where the run stands. An update is one minibatch, and the loss is the value network's squared error on the
    /// latest: it says whether returns are understood, which the policy's own loss does not.
    pub fn progress(&self) -> Progress {
        Progress {
            steps: self.steps,
            total_steps: self.settings.spec().total_steps,
            updates: self.updates,
            episodes: self.recent.episodes,
            incidents: self.recent.incidents,
            return_mean: self.recent.mean(|episode| episode.total_reward),
            length_mean: self.recent.mean(|episode| episode.steps as f64),
            incident_rate: self.recent.mean(|episode| f64::from(u8::from(episode.incident))),
            epsilon: None,
            loss: self.loss,
            multiplier: self.multiplier.map(|multiplier| multiplier.price()),
        }
    }

    /// The policy as it is now. Its outputs are logits, so a [`Policy`](crate::Policy) made of it takes the most
    /// probable action.
    pub fn network(&self) -> &Network {
        &self.updater.policy.network
    }

    /// The discounted return that the value network expects from an observation.
    ///
    /// # Panics
    ///
    /// If the observation is not as long as the worlds'.
    pub fn value(&self, observation: &[f32]) -> f32 {
        let network = &self.updater.value.network;
        let mut value = [0.0];
        network.q_values(observation, &mut network.scratch(), &mut value);
        value[0]
    }

    /// The settings of the run.
    pub fn settings(&self) -> &OnPolicy {
        &self.settings
    }

    /// The seed that everything random in the run follows from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// One step of every world, and a round of learning if that filled the rollout.
    fn step(&mut self) -> Result<(), NotFinite> {
        self.draw_actions()?;
        self.room.before.copy_from_slice(self.worlds.observations());
        self.worlds.step(&self.room.actions);
        let width = self.worlds.observation_len();
        for (world, observation) in self.room.before.chunks_exact(width).enumerate() {
            let outcome = self.worlds.outcomes()[world];
            let successor = self.worlds.successor(world);
            self.rollout.push(observation, self.room.actions[world], &outcome, successor);
            let Some(episode) = self.recent.record(world, &outcome) else { continue };
            self.rollout.tally.count(&episode);
            if let Some(multiplier) = &mut self.multiplier {
                multiplier.observe(episode.incident);
            }
        }
        self.steps += self.worlds.len() as u64;
        if self.rollout.is_full() { self.learn() } else { Ok(()) }
    }

    /// Learns from the rollout and empties it, whatever came of it: it must not be learned from again.
    fn learn(&mut self) -> Result<(), NotFinite> {
        let incidents = Incidents {
            price: self.multiplier.map_or(0.0, |multiplier| multiplier.price()),
            tally: self.rollout.tally.or_recent(&self.recent),
        };
        let (spec, worlds) = (self.settings.spec(), self.worlds.len());
        let learned =
            self.updater.learn(&self.rollout, worlds, spec, incidents, &mut self.sampling);
        self.rollout.clear();
        let learned = learned?;
        self.updates += learned.updates;
        self.loss = learned.value_loss.map_or(self.loss, |loss| loss as f32);
        Ok(())
    }

    /// Writes each world's next action to `self.room.actions`.
    fn draw_actions(&mut self) -> Result<(), NotFinite> {
        let Room { scratch, actions, logits, log_probabilities: logs, .. } = &mut self.room;
        let observations = self.worlds.observations().chunks_exact(self.worlds.observation_len());
        for (action, observation) in actions.iter_mut().zip(observations) {
            // One by one: a batch is padded to whole vectors, which costs few worlds more than it saves them.
            self.updater.policy.network.q_values(observation, scratch, logits);
            log_probabilities(logits, logs);
            if logs.iter().any(|log| log.is_nan()) {
                return Err(NotFinite);
            }
            *action = draw(logs, self.exploration.unit());
        }
        Ok(())
    }
}

impl OnPolicySpec {
    pub(crate) fn is_constrained(&self) -> bool {
        self.constraint != Constraint::None
    }

    pub(crate) fn multiplier(&self) -> Option<Multiplier> {
        match self.constraint {
            Constraint::Lagrangian(spec) => Some(Multiplier::new(spec)),
            Constraint::None | Constraint::Cpo(_) => None,
        }
    }
}

impl Sizes {
    pub(crate) fn new<E: Env>(
        worlds: &Worlds<E>,
        spec: &OnPolicySpec,
    ) -> Result<Sizes, BadTopology> {
        let size = |outputs| {
            let inputs = worlds.observation_len();
            Topology::mlp(inputs, &spec.hidden, outputs, spec.activation, false)
        };
        Ok(Sizes { policy: size(worlds.actions())?, value: size(1)? })
    }
}

impl Room {
    pub(crate) fn new<E: Env>(worlds: &Worlds<E>, policy: &Network) -> Room {
        Room {
            scratch: policy.scratch(),
            actions: vec![0; worlds.len()],
            logits: vec![0.0; worlds.actions()],
            log_probabilities: vec![0.0; worlds.actions()],
            before: vec![0.0; worlds.len() * worlds.observation_len()],
        }
    }
}

/// Shrinks a policy's last layer to a hundredth, as Stable-Baselines3 starts it: the first policy is then close to
/// uniform, and tries everything.
fn level(policy: &mut Network) {
    let last = policy.topology().layers().len() - 1;
    let shrink = |values: Vec<f32>| values.into_iter().map(|x| 0.01 * x).collect::<Vec<f32>>();
    let (weights, bias) = policy.layer(last);
    policy.set_layer(last, &shrink(weights), &shrink(bias));
}
