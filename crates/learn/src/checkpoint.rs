//! What must be kept, for a stopped run to go on as if it had not been stopped?
//!
//! [`Learner::checkpoint`] writes all of it and [`Learner::resume`] reads it back: both networks,
//! Adam's moments, the replay, the generators, the counters, and for each world its episode's seed
//! and actions. It may be called between any two steps, which is what lets Ctrl-C save.
//!
//! **Invariants:** a resumed run has the weights of an uninterrupted one, bit for bit; a damaged or
//! foreign file is a typed error. `tests/resume.rs` holds both.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::adam::Adam;
use crate::env::{End, Env};
use crate::generator::Generator;
use crate::learner::{Learner, Room, StartError, topology_of};
use crate::multiplier::Multiplier;
use crate::network::Network;
use crate::progress::{Finished, Recent, WINDOW};
use crate::replay::Replay;
use crate::settings::{BadSetting, Dqn};
use crate::tensors::{Reader, TensorError, Writer};
use crate::update::Updater;
use crate::worlds::{BadWorlds, Episode, Worlds};

/// The format's name and version, in the metadata.
const FORMAT: &str = "cpss-learn checkpoint 2";

/// A checkpoint from which a run cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResumeError {
    /// An array or entry is missing, damaged or of the wrong kind.
    #[error("the checkpoint cannot be read: {0}")]
    Tensors(#[from] TensorError),
    /// The file is something else, or of another version.
    #[error("the file is `{found}`, not `{expected}`")]
    Format {
        /// What the file says it is.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
    /// A metadata entry cannot be read.
    #[error("the checkpoint's metadata entry `{key}` cannot be read: {reason}")]
    Metadata {
        /// The entry's key.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The settings in the file are out of range.
    #[error("the checkpoint's settings are unusable: {0}")]
    BadSetting(#[from] BadSetting),
    /// Two parts of the file contradict each other.
    #[error("the checkpoint's `{0}` contradicts the rest of it")]
    Inconsistent(&'static str),
    /// The worlds given are not those of the checkpoint, or the network does not fit them.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl From<BadWorlds> for ResumeError {
    fn from(error: BadWorlds) -> ResumeError {
        ResumeError::Start(error.into())
    }
}

impl<E: Env> Learner<E> {
    /// Returns the run's complete state, as a `safetensors` file's bytes.
    pub fn checkpoint(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.metadata("format", FORMAT);
        writer.metadata("settings", json(self.settings.spec()));
        let adam = self.updater.adam();
        let parameters = [self.updater.online().parameters().len()];
        writer.f32s("online", &parameters, self.updater.online().parameters());
        writer.f32s("target", &parameters, self.updater.target().parameters());
        writer.f32s("adam.moments", &[2 * parameters[0]], &adam.moments());
        writer.f32s("loss", &[1], &[self.loss]);
        if let Some(multiplier) = &self.multiplier {
            writer.f64s("multiplier", &multiplier.state());
        }
        let counters = Counters {
            seed: self.seed,
            steps: self.steps,
            updates: self.updates,
            adam_steps: adam.steps(),
            episodes: self.recent.episodes,
            incidents: self.recent.incidents,
            exploration: self.exploration.state(),
            sampling: self.sampling.state(),
            episode_generator: self.worlds.generator().state(),
            episode_seeds: self.worlds.seeds().clone(),
            replay_len: self.replay.len(),
            replay_next: self.replay.next(),
        };
        writer.metadata("counters", json(&counters));
        write_replay(&mut writer, &self.replay, self.worlds.observation_len());
        write_worlds(&mut writer, &self.worlds);
        write_recent(&mut writer, &self.recent);
        writer.finish()
    }

    /// Continues a run from a [`checkpoint`](Learner::checkpoint), in worlds like those it had: each
    /// plays its episode again up to where it was.
    ///
    /// # Errors
    ///
    /// If the file is damaged, contradicts itself, or the worlds are other ones.
    pub fn resume(envs: Vec<E>, checkpoint: &[u8]) -> Result<Learner<E>, ResumeError> {
        let reader = Reader::new(checkpoint)?;
        expect_format(&reader, FORMAT)?;
        let settings = Dqn::new(parse(&reader, "settings")?)?;
        let spec = settings.spec();
        let counters: Counters = parse(&reader, "counters")?;
        let generator = Generator::from_state(counters.episode_generator);
        let worlds = read_worlds(&reader, envs, generator, counters.episode_seeds.clone())?;
        let topology = topology_of(&worlds, spec).map_err(StartError::from)?;
        let parameters = [topology.len()];
        let network = |name| -> Result<Network, ResumeError> {
            // Read first: settings alone, which a few bytes can make huge, are given no room.
            let values = reader.finite_f32s(name, &parameters)?;
            let mut network = Network::zeros(topology.clone());
            network.parameters_mut().copy_from_slice(&values);
            Ok(network)
        };
        let adam = Adam::from_moments(
            &reader.finite_f32s("adam.moments", &[2 * topology.len()])?,
            counters.adam_steps,
            spec.learning_rate,
        );
        let multiplier = spec
            .multiplier
            .map(|spec| read_multiplier(&reader, Multiplier::new(spec)))
            .transpose()?;
        Ok(Learner {
            multiplier,
            seed: counters.seed,
            updater: Updater::from_parts(network("online")?, network("target")?, adam, spec),
            replay: read_replay(&reader, spec.buffer_size, &worlds, &counters)?,
            exploration: Generator::from_state(counters.exploration),
            sampling: Generator::from_state(counters.sampling),
            recent: read_recent(&reader, worlds.len(), counters.episodes, counters.incidents)?,
            steps: counters.steps,
            updates: counters.updates,
            loss: reader.f32s("loss", &[1])?[0],
            room: Room::new(&worlds, &topology, spec.batch_size),
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
    adam_steps: u64,
    episodes: u64,
    incidents: u64,
    exploration: u64,
    sampling: u64,
    episode_generator: u64,
    episode_seeds: Range<u64>,
    replay_len: usize,
    replay_next: usize,
}

/// Refuses a file that is something else, or of another version.
pub(crate) fn expect_format(
    reader: &Reader<'_>,
    expected: &'static str,
) -> Result<(), ResumeError> {
    let found = reader.metadata("format")?;
    if found == expected {
        return Ok(());
    }
    Err(ResumeError::Format { found: found.to_owned(), expected })
}

/// Settings and counters are numbers, names and lists: they always have a JSON form.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(crate) fn parse<T: DeserializeOwned>(
    reader: &Reader<'_>,
    key: &'static str,
) -> Result<T, ResumeError> {
    let entry = reader.metadata(key)?;
    serde_json::from_str(entry)
        .map_err(|error| ResumeError::Metadata { key, reason: error.to_string() })
}

fn write_replay(writer: &mut Writer, replay: &Replay, width: usize) {
    let len = replay.len();
    let ends: Vec<u64> = replay.ends[..len].iter().map(|end| end_code(*end)).collect();
    let actions: Vec<u64> = replay.actions[..len].iter().map(|action| u64::from(*action)).collect();
    writer.f32s("replay.observations", &[len, width], &replay.observations[..len * width]);
    writer.f32s("replay.successors", &[len, width], &replay.successors[..len * width]);
    writer.f32s("replay.rewards", &[len], &replay.rewards[..len]);
    writer.u64s("replay.actions", &actions);
    writer.u64s("replay.ends", &ends);
    let incidents: Vec<u64> = replay.incidents[..len].iter().map(|&is| u64::from(is)).collect();
    writer.u64s("replay.incidents", &incidents);
}

fn read_replay<E: Env>(
    reader: &Reader<'_>,
    capacity: usize,
    worlds: &Worlds<E>,
    counters: &Counters,
) -> Result<Replay, ResumeError> {
    let width = worlds.observation_len();
    let mut replay = Replay::new(capacity, width);
    let len = counters.replay_len;
    replay.set_cursor(len, counters.replay_next).ok_or(ResumeError::Inconsistent("replay"))?;
    let observations = reader.f32s("replay.observations", &[len, width])?;
    replay.observations[..len * width].copy_from_slice(&observations);
    let successors = reader.f32s("replay.successors", &[len, width])?;
    replay.successors[..len * width].copy_from_slice(&successors);
    replay.rewards[..len].copy_from_slice(&reader.f32s("replay.rewards", &[len])?);
    let (actions, ends) = (reader.u64s("replay.actions")?, reader.u64s("replay.ends")?);
    let incidents = reader.u64s("replay.incidents")?;
    if actions.len() != len || ends.len() != len || incidents.len() != len {
        return Err(ResumeError::Inconsistent("replay"));
    }
    for (slot, (action, end)) in actions.into_iter().zip(ends).enumerate() {
        if action >= worlds.actions() as u64 {
            return Err(ResumeError::Inconsistent("replay.actions"));
        }
        replay.actions[slot] = action as u32;
        replay.ends[slot] = end_of_code(end).ok_or(ResumeError::Inconsistent("replay.ends"))?;
    }
    let incidents = incidents.into_iter().map(|is| is != 0);
    replay.incidents.iter_mut().zip(incidents).for_each(|(kept, is)| *kept = is);
    Ok(replay)
}

pub(crate) fn read_multiplier(
    reader: &Reader<'_>,
    fresh: Multiplier,
) -> Result<Multiplier, ResumeError> {
    let state = <[f64; 3]>::try_from(reader.f64s("multiplier")?.as_slice()).ok();
    state.and_then(|state| fresh.with_state(state)).ok_or(ResumeError::Inconsistent("multiplier"))
}

pub(crate) fn write_worlds<E: Env>(writer: &mut Writer, worlds: &Worlds<E>) {
    let episodes = worlds.episodes();
    let seeds: Vec<u64> = episodes.iter().map(|episode| episode.seed).collect();
    let lengths: Vec<u64> = episodes.iter().map(|episode| episode.actions.len() as u64).collect();
    let actions = episodes.iter().flat_map(|episode| &episode.actions);
    let actions: Vec<u64> = actions.map(|action| u64::from(*action)).collect();
    writer.u64s("worlds.seeds", &seeds);
    writer.u64s("worlds.lengths", &lengths);
    writer.u64s("worlds.actions", &actions);
    let shape = [worlds.len(), worlds.observation_len()];
    writer.f32s("worlds.observations", &shape, worlds.observations());
}

pub(crate) fn read_worlds<E: Env>(
    reader: &Reader<'_>,
    envs: Vec<E>,
    generator: Generator,
    episode_seeds: Range<u64>,
) -> Result<Worlds<E>, ResumeError> {
    let (seeds, lengths) = (reader.u64s("worlds.seeds")?, reader.u64s("worlds.lengths")?);
    let actions = reader.u64s("worlds.actions")?;
    let mut rest = actions.as_slice();
    let mut episodes = Vec::new();
    for (&seed, &length) in seeds.iter().zip(&lengths) {
        let (now, later) = usize::try_from(length)
            .ok()
            .and_then(|length| rest.split_at_checked(length))
            .ok_or(ResumeError::Inconsistent("worlds.lengths"))?;
        // An action too large for its type is also too large for the world, which refuses it.
        let actions = now.iter().map(|&action| u32::try_from(action).unwrap_or(u32::MAX)).collect();
        episodes.push(Episode { seed, actions });
        rest = later;
    }
    let shape = reader.shape("worlds.observations")?;
    let observations = reader.f32s("worlds.observations", &shape)?;
    Ok(Worlds::resume(envs, episode_seeds, generator, episodes, &observations)?)
}

/// Writes all of it but its two counters, which stand among the whole numbers.
pub(crate) fn write_recent(writer: &mut Writer, recent: &Recent) {
    write_episodes(writer, "recent.running", recent.running.iter());
    write_episodes(writer, "recent.finished", recent.finished.iter());
}

pub(crate) fn read_recent(
    reader: &Reader<'_>,
    worlds: usize,
    episodes: u64,
    incidents: u64,
) -> Result<Recent, ResumeError> {
    let running = read_episodes(reader, "recent.running")?;
    let finished = read_episodes(reader, "recent.finished")?;
    if running.len() != worlds || finished.len() > WINDOW {
        return Err(ResumeError::Inconsistent("recent"));
    }
    Ok(Recent { running, finished: finished.into(), episodes, incidents })
}

fn write_episodes<'a>(
    writer: &mut Writer,
    name: &str,
    episodes: impl Iterator<Item = &'a Finished>,
) {
    let flat: Vec<f64> = episodes
        .flat_map(|episode| {
            let incident = f64::from(u8::from(episode.incident));
            [episode.total_reward, episode.steps as f64, incident]
        })
        .collect();
    writer.f64s(name, &flat);
}

fn read_episodes(reader: &Reader<'_>, name: &str) -> Result<Vec<Finished>, ResumeError> {
    let flat = reader.f64s(name)?;
    let (episodes, rest) = flat.as_chunks::<3>();
    if !rest.is_empty() {
        return Err(ResumeError::Inconsistent("recent"));
    }
    let episode = |&[total_reward, steps, incident]: &[f64; 3]| Finished {
        total_reward,
        steps: steps as u64,
        incident: incident != 0.0,
    };
    Ok(episodes.iter().map(episode).collect())
}

pub(crate) fn end_code(end: End) -> u64 {
    match end {
        End::Running => 0,
        End::Terminated => 1,
        End::Truncated => 2,
    }
}

pub(crate) fn end_of_code(code: u64) -> Option<End> {
    [End::Running, End::Terminated, End::Truncated].into_iter().find(|end| end_code(*end) == code)
}
