//! What must be kept, for a stopped on-policy run to go on as if it had not been stopped?
//!
//! As for the DQN, with the rollout under way in place of the replay, and the price of an incident where it has one:
//! see [`checkpoint`](crate::checkpoint).
//!
//! **Invariants:** a resumed run has the weights of an uninterrupted one, bit for bit; a damaged or
//! foreign file is a typed error. `tests/on_policy_runs.rs` holds both.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::learner::{OnPolicyLearner, Room, Sizes};
use super::rollout::{Rollout, Tally};
use super::settings::{OnPolicy, OnPolicySpec};
use super::trainable::Trainable;
use super::update::Updater;
use crate::adam::Adam;
use crate::checkpoint::{
    ResumeError, end_code, end_of_code, expect_format, json, parse, read_multiplier, read_recent,
    read_worlds, write_recent, write_worlds,
};
use crate::env::Env;
use crate::generator::Generator;
use crate::learner::StartError;
use crate::network::Network;
use crate::tensors::{Reader, Writer};
use crate::topology::Topology;
use crate::worlds::Worlds;

/// The format's name and version, in the metadata.
const FORMAT: &str = "cpss-learn on-policy checkpoint 1";

impl<E: Env> OnPolicyLearner<E> {
    /// Returns the run's complete state, as a `safetensors` file's bytes.
    pub fn checkpoint(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.metadata("format", FORMAT);
        writer.metadata("settings", json(self.settings.spec()));
        let networks = &self.updater;
        write_trainable(&mut writer, "policy", &networks.policy);
        write_trainable(&mut writer, "value", &networks.value);
        if let Some(cost_value) = &networks.cost_value {
            write_trainable(&mut writer, "cost_value", cost_value);
        }
        writer.f32s("loss", &[1], &[self.loss]);
        if let Some(multiplier) = &self.multiplier {
            writer.f64s("multiplier", &multiplier.state());
        }
        let counters = Counters {
            seed: self.seed,
            steps: self.steps,
            updates: self.updates,
            episodes: self.recent.episodes,
            incidents: self.recent.incidents,
            exploration: self.exploration.state(),
            sampling: self.sampling.state(),
            episode_generator: self.worlds.generator().state(),
            episode_seeds: self.worlds.seeds().clone(),
            tally: self.rollout.tally,
        };
        writer.metadata("counters", json(&counters));
        write_rollout(&mut writer, &self.rollout, self.worlds.observation_len());
        write_worlds(&mut writer, &self.worlds);
        write_recent(&mut writer, &self.recent);
        writer.finish()
    }

    /// Continues a run from a [`checkpoint`](OnPolicyLearner::checkpoint), in worlds like those it had: each
    /// plays its episode again up to where it was.
    ///
    /// # Errors
    ///
    /// If the file is damaged, contradicts itself, or the worlds are other ones.
    pub fn resume(envs: Vec<E>, checkpoint: &[u8]) -> Result<OnPolicyLearner<E>, ResumeError> {
        let reader = Reader::new(checkpoint)?;
        expect_format(&reader, FORMAT)?;
        let settings = OnPolicy::new(parse(&reader, "settings")?)?;
        let spec = settings.spec();
        let counters: Counters = parse(&reader, "counters")?;
        let generator = Generator::from_state(counters.episode_generator);
        let worlds = read_worlds(&reader, envs, generator, counters.episode_seeds)?;
        let sizes = Sizes::new(&worlds, spec).map_err(StartError::from)?;
        let policy = read_trainable(&reader, "policy", &sizes.policy, spec)?;
        let value = read_trainable(&reader, "value", &sizes.value, spec)?;
        let cost_value = spec
            .is_constrained()
            .then(|| read_trainable(&reader, "cost_value", &sizes.value, spec))
            .transpose()?;
        let multiplier =
            spec.multiplier().map(|fresh| read_multiplier(&reader, fresh)).transpose()?;
        let rollout = read_rollout(&reader, &worlds, spec, counters.tally)?;
        Ok(OnPolicyLearner {
            seed: counters.seed,
            room: Room::new(&worlds, &policy.network),
            updater: Updater::new(policy, value, cost_value, rollout.capacity),
            rollout,
            multiplier,
            exploration: Generator::from_state(counters.exploration),
            sampling: Generator::from_state(counters.sampling),
            recent: read_recent(&reader, worlds.len(), counters.episodes, counters.incidents)?,
            steps: counters.steps,
            updates: counters.updates,
            loss: reader.f32s("loss", &[1])?[0],
            settings,
            worlds,
        })
    }
}

/// The state that is whole numbers. JSON keeps all 64 bits of each.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counters {
    seed: u64,
    steps: u64,
    updates: u64,
    episodes: u64,
    incidents: u64,
    exploration: u64,
    sampling: u64,
    episode_generator: u64,
    episode_seeds: Range<u64>,
    tally: Tally,
}

fn write_trainable(writer: &mut Writer, name: &str, trainable: &Trainable) {
    let parameters = trainable.network.parameters();
    writer.f32s(name, &[parameters.len()], parameters);
    let moments = trainable.adam.moments();
    writer.f32s(&format!("{name}.moments"), &[moments.len()], &moments);
    writer.u64s(&format!("{name}.adam_steps"), &[trainable.adam.steps()]);
}

fn read_trainable(
    reader: &Reader<'_>,
    name: &'static str,
    topology: &Topology,
    spec: &OnPolicySpec,
) -> Result<Trainable, ResumeError> {
    // Read first: settings alone, which a few bytes can make huge, are given no room.
    let values = reader.finite_f32s(name, &[topology.len()])?;
    let moments = reader.finite_f32s(&format!("{name}.moments"), &[2 * topology.len()])?;
    let steps = reader.u64s(&format!("{name}.adam_steps"))?;
    let [steps] = steps[..] else { return Err(ResumeError::Inconsistent(name)) };
    let mut network = Network::zeros(topology.clone());
    network.parameters_mut().copy_from_slice(&values);
    let adam = Adam::from_moments(&moments, steps, spec.learning_rate);
    Ok(Trainable::from_parts(network, adam, spec))
}

fn write_rollout(writer: &mut Writer, rollout: &Rollout, width: usize) {
    let len = rollout.len();
    let ends: Vec<u64> = rollout.ends.iter().map(|end| end_code(*end)).collect();
    let actions: Vec<u64> = rollout.actions.iter().map(|&action| action as u64).collect();
    writer.f32s("rollout.observations", &[len, width], &rollout.observations);
    writer.f32s("rollout.successors", &[len, width], &rollout.successors);
    writer.f32s("rollout.rewards", &[len], &rollout.rewards);
    writer.f32s("rollout.costs", &[len], &rollout.costs);
    writer.u64s("rollout.actions", &actions);
    writer.u64s("rollout.ends", &ends);
}

fn read_rollout<E: Env>(
    reader: &Reader<'_>,
    worlds: &Worlds<E>,
    spec: &OnPolicySpec,
    tally: Tally,
) -> Result<Rollout, ResumeError> {
    let mut rollout = Rollout::new(spec.rollout_steps, worlds.len());
    let (actions, ends) = (reader.u64s("rollout.actions")?, reader.u64s("rollout.ends")?);
    let (len, width) = (actions.len(), worlds.observation_len());
    // A full rollout is learned from before anything is saved, and every world has had as many steps.
    if len >= rollout.capacity || !len.is_multiple_of(worlds.len()) || ends.len() != len {
        return Err(ResumeError::Inconsistent("rollout"));
    }
    for (action, end) in actions.into_iter().zip(ends) {
        if action >= worlds.actions() as u64 {
            return Err(ResumeError::Inconsistent("rollout.actions"));
        }
        rollout.actions.push(action as usize);
        rollout.ends.push(end_of_code(end).ok_or(ResumeError::Inconsistent("rollout.ends"))?);
    }
    rollout.observations = reader.f32s("rollout.observations", &[len, width])?;
    rollout.successors = reader.f32s("rollout.successors", &[len, width])?;
    rollout.rewards = reader.f32s("rollout.rewards", &[len])?;
    rollout.costs = reader.f32s("rollout.costs", &[len])?;
    rollout.tally = tally;
    Ok(rollout)
}
