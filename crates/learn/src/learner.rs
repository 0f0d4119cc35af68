//! How does a policy get learned?
//!
//! [`Learner::run`] is the loop of Stable-Baselines3's DQN over a batch of worlds: act (at random
//! with probability epsilon), step every world, remember, update, and now and then copy the target
//! network. It is synchronous: one thread, one order of events.
//!
//! **Invariants:** the same settings, worlds and seed give the same weights, bit for bit, on the
//! same machine, however the run is cut into calls of [`Learner::run`] or stopped and resumed from a
//! [`Learner::checkpoint`]; `tests/determinism.rs` and `tests/resume.rs` hold it to that.
//!
//! **Absent on purpose:** clocks, files, threads. The caller shows progress, saves and parallelises.

use std::ops::{ControlFlow, Range};

use crate::env::Env;
use crate::generator::{Generator, Purpose};
use crate::multiplier::Multiplier;
use crate::network::{Network, greedy};
use crate::pass::Pass;
use crate::progress::{Progress, Recent};
use crate::quantile::Quantiles;
use crate::replay::{Batch, Replay};
use crate::schedule::Linear;
use crate::settings::{Dqn, DqnSpec, Remember};
use crate::topology::{BadTopology, Topology};
use crate::update::{NotFinite, Updater};
use crate::worlds::{BadWorlds, Worlds};

/// A training run in progress.
#[derive(Debug)]
pub struct Learner<E> {
    pub(crate) settings: Dqn,
    pub(crate) seed: u64,
    pub(crate) worlds: Worlds<E>,
    pub(crate) updater: Updater,
    pub(crate) replay: Replay,
    pub(crate) exploration: Generator,
    pub(crate) sampling: Generator,
    pub(crate) recent: Recent,
    /// The price of an incident, if one is learned.
    pub(crate) multiplier: Option<Multiplier>,
    pub(crate) steps: u64,
    pub(crate) updates: u64,
    pub(crate) loss: f32,
    /// Room that a step uses, holding nothing between steps.
    pub(crate) room: Room,
}

/// Buffers of one step.
#[derive(Debug)]
pub(crate) struct Room {
    pass: Pass,
    batch: Batch,
    actions: Vec<usize>,
    outputs: Vec<f32>,
    q_values: Vec<f32>,
    before: Vec<f32>,
}

/// A run that cannot start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartError {
    /// The worlds do not fit together.
    #[error(transparent)]
    Worlds(#[from] BadWorlds),
    /// The settings and the worlds make no network.
    #[error(transparent)]
    Topology(#[from] BadTopology),
}

/// A run that cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("training diverged at step {step}: an output, the loss or its gradient is not finite")]
pub struct Diverged {
    /// The environment step.
    pub step: u64,
}

impl<E: Env> Learner<E> {
    /// Prepares a run: fresh weights, an empty memory, and an episode begun in each world.
    ///
    /// Everything random follows from `seed`. The worlds' episodes are those of `episode_seeds`, so
    /// that seeds kept for tuning and reporting stay unseen.
    ///
    /// # Errors
    ///
    /// If the worlds differ, there are none, or the network would be impossible.
    pub fn new(
        envs: Vec<E>,
        settings: Dqn,
        seed: u64,
        episode_seeds: Range<u64>,
    ) -> Result<Learner<E>, StartError> {
        let worlds = Worlds::new(envs, episode_seeds, seed)?;
        let spec = settings.spec();
        let topology = topology_of(&worlds, spec)?;
        let network = Network::new(topology.clone(), &mut Generator::new(seed, Purpose::Weights));
        Ok(Learner {
            updater: Updater::new(network, spec),
            replay: Replay::new(spec.buffer_size, worlds.observation_len()),
            exploration: Generator::new(seed, Purpose::Exploration),
            sampling: Generator::new(seed, Purpose::Sampling),
            recent: Recent::new(worlds.len()),
            multiplier: spec.multiplier.map(Multiplier::new),
            steps: 0,
            updates: 0,
            loss: f32::NAN,
            room: Room::new(&worlds, &topology, spec.batch_size),
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
    /// [`Diverged`] if a Q-value, the loss or its gradient is not a finite number; the weights are
    /// those of the last good update.
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

    /// Where the run stands.
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
            epsilon: Some(self.epsilon()),
            loss: self.loss,
            multiplier: self.multiplier.map(|multiplier| multiplier.price()),
        }
    }

    /// The network as it is now.
    pub fn network(&self) -> &Network {
        self.updater.online()
    }

    /// The network of a policy: it says what each action is worth, whatever was learned of the returns.
    pub fn policy_network(&self) -> Network {
        match quantiles_of(&self.worlds, self.settings.spec()) {
            Some(quantiles) => quantiles.fold(self.network()),
            None => self.network().clone(),
        }
    }

    /// The settings of the run.
    pub fn settings(&self) -> &Dqn {
        &self.settings
    }

    /// The seed that everything random in the run follows from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// One step of every world, and the updates that fall due.
    fn step(&mut self) -> Result<(), NotFinite> {
        self.choose_actions()?;
        self.room.before.copy_from_slice(self.worlds.observations());
        self.worlds.step(&self.room.actions);
        let width = self.worlds.observation_len();
        for (world, observation) in self.room.before.chunks_exact(width).enumerate() {
            let outcome = self.worlds.outcomes()[world];
            let action = match self.settings.spec().remember {
                Remember::Executed => outcome.ran,
                Remember::Proposed => self.room.actions[world],
            };
            self.replay.push(observation, action, &outcome, self.worlds.successor(world));
            let finished = self.recent.record(world, &outcome);
            if let (Some(episode), Some(multiplier)) = (finished, &mut self.multiplier) {
                multiplier.observe(episode.incident);
            }
        }
        let before = self.steps;
        self.steps += self.worlds.len() as u64;
        self.learn(before)
    }

    /// Copies the target network and runs the updates that fell due since step `before`.
    fn learn(&mut self, before: u64) -> Result<(), NotFinite> {
        let spec = self.settings.spec();
        let due = |interval: u64| self.steps / interval - before / interval;
        let rounds = due(spec.train_freq);
        if due(spec.target_update_interval) > 0 {
            self.updater.sync_target();
        }
        if self.steps <= spec.learning_starts {
            return Ok(());
        }
        let learning_rate = Linear {
            initial: spec.learning_rate,
            last: spec.learning_rate_final.unwrap_or(spec.learning_rate),
            steps: spec.total_steps,
        };
        self.updater.set_learning_rate(learning_rate.at(self.steps));
        self.updater.set_price(self.multiplier.map_or(0.0, |multiplier| multiplier.price()));
        for _ in 0..rounds * spec.gradient_steps {
            self.replay.sample(&mut self.sampling, &mut self.room.batch);
            self.loss = self.updater.update(&self.room.batch)?;
            self.updates += 1;
        }
        Ok(())
    }

    /// Writes each world's next action to `self.room.actions`.
    fn choose_actions(&mut self) -> Result<(), NotFinite> {
        let warming_up = self.steps < self.settings.spec().learning_starts;
        let epsilon = if warming_up { 1.0 } else { self.epsilon() };
        let quantiles = quantiles_of(&self.worlds, self.settings.spec());
        let Room { pass, actions, outputs, q_values, .. } = &mut self.room;
        if epsilon < 1.0 {
            pass.forward(self.updater.online(), self.worlds.observations());
        }
        for (world, action) in actions.iter_mut().enumerate() {
            *action = if self.exploration.unit() < epsilon {
                self.exploration.below(self.worlds.actions() as u64) as usize
            } else {
                match &quantiles {
                    None => pass.q_values(world, q_values),
                    Some(quantiles) => {
                        pass.q_values(world, outputs);
                        quantiles.values(outputs, q_values);
                    }
                }
                greedy(q_values).ok_or(NotFinite)?
            };
        }
        Ok(())
    }

    fn epsilon(&self) -> f64 {
        let spec = self.settings.spec();
        let schedule = Linear {
            initial: spec.exploration_initial_eps,
            last: spec.exploration_final_eps,
            steps: (spec.exploration_fraction * spec.total_steps as f64) as u64,
        };
        schedule.at(self.steps)
    }
}

/// How the outputs of a run's network are read, if they are not Q-values.
fn quantiles_of<E: Env>(worlds: &Worlds<E>, spec: &DqnSpec) -> Option<Quantiles> {
    spec.quantiles.map(|quantiles| Quantiles::new(quantiles, worlds.actions()))
}

/// The network that a run needs.
pub(crate) fn topology_of<E: Env>(
    worlds: &Worlds<E>,
    spec: &DqnSpec,
) -> Result<Topology, BadTopology> {
    let outputs = quantiles_of(worlds, spec).map_or(worlds.actions(), |each| each.outputs());
    let (inputs, activation) = (worlds.observation_len(), spec.activation);
    Topology::mlp(inputs, &spec.hidden, outputs, activation, spec.dueling)
}

impl Room {
    pub(crate) fn new<E: Env>(worlds: &Worlds<E>, topology: &Topology, batch_size: usize) -> Room {
        Room {
            pass: Pass::new(topology, worlds.len()),
            batch: Batch::new(batch_size, worlds.observation_len()),
            actions: vec![0; worlds.len()],
            outputs: vec![0.0; topology.actions()],
            q_values: vec![0.0; worlds.actions()],
            before: vec![0.0; worlds.len() * worlds.observation_len()],
        }
    }
}
