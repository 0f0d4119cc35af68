//! How do many worlds feed one learner, and how are they put back after a stop?
//!
//! [`Worlds`] steps a batch of worlds in order, starts the next episode of each that ended, and
//! remembers for each its episode's seed and the actions since. That memory is the whole state of a
//! deterministic world, so `Worlds::resume` plays it again and arrives at the same place, at any
//! step, without the world knowing how to save itself.
//!
//! **Invariants:** episode seeds come from the range given and from nowhere else, so training never
//! sees a reporting seed; a resumed world that shows another observation is an error.
//!
//! **Absent on purpose:** threads. The unit of parallel work is a training seed; one run is one
//! thread, and its order of events is fixed.

use std::ops::Range;

use crate::env::{End, Env, Outcome};
use crate::generator::{Generator, Purpose};

/// A batch of worlds, each in the middle of an episode.
#[derive(Clone, Debug)]
pub struct Worlds<E> {
    envs: Vec<E>,
    episodes: Vec<Episode>,
    seeds: Range<u64>,
    generator: Generator,
    /// What the policy sees next, world after world.
    observations: Vec<f32>,
    /// What the last step led to, before any reset, world after world.
    successors: Vec<f32>,
    outcomes: Vec<Outcome>,
    observation_len: usize,
    actions: usize,
}

/// All that is needed to bring one world back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Episode {
    pub(crate) seed: u64,
    pub(crate) actions: Vec<u32>,
}

/// Worlds that cannot be trained in together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWorlds {
    /// No world was given.
    #[error("there is no world to learn in")]
    None,
    /// A world without actions or observations.
    #[error("world {world} has {actions} actions and observations of length {observation_len}")]
    Empty {
        /// Its index.
        world: usize,
        /// Its number of actions.
        actions: usize,
        /// Its observation's length.
        observation_len: usize,
    },
    /// A world unlike the first.
    #[error("world {world} differs from world 0 in its actions or its observation's length")]
    Unlike {
        /// Its index.
        world: usize,
    },
    /// A seed range with nothing in it.
    #[error("the range of episode seeds is empty: {start}..{end}")]
    NoSeeds {
        /// The first seed.
        start: u64,
        /// The end, excluded.
        end: u64,
    },
    /// A saved batch of another size.
    #[error("the checkpoint has {saved} worlds, but {given} were given")]
    Count {
        /// In the checkpoint.
        saved: usize,
        /// By the caller.
        given: usize,
    },
    /// A saved action that the world does not have.
    #[error("the checkpoint has world {world} take action {action} of {actions}")]
    Action {
        /// The world's index.
        world: usize,
        /// The action saved.
        action: u32,
        /// The number of actions.
        actions: usize,
    },
    /// A world that did not come back to where it was saved.
    #[error(
        "world {world} does not come back to where it was saved when it plays seed {seed} again: \
         it is another task, or not deterministic"
    )]
    Diverged {
        /// The world's index.
        world: usize,
        /// Its episode's seed.
        seed: u64,
    },
}

impl<E: Env> Worlds<E> {
    /// Starts an episode in each world, with seeds drawn from `seeds`.
    ///
    /// # Errors
    ///
    /// If there is no world, if they differ, or if there is no seed to draw.
    pub fn new(envs: Vec<E>, seeds: Range<u64>, seed: u64) -> Result<Worlds<E>, BadWorlds> {
        let mut worlds = Worlds::idle(envs, seeds, Generator::new(seed, Purpose::Episodes))?;
        for world in 0..worlds.len() {
            worlds.begin_episode(world);
        }
        Ok(worlds)
    }

    /// Brings each world back to where [`Worlds::episodes`] and the rest were read.
    pub(crate) fn resume(
        envs: Vec<E>,
        seeds: Range<u64>,
        generator: Generator,
        episodes: Vec<Episode>,
        observations: &[f32],
    ) -> Result<Worlds<E>, BadWorlds> {
        let mut worlds = Worlds::idle(envs, seeds, generator)?;
        if episodes.len() != worlds.len() {
            return Err(BadWorlds::Count { saved: episodes.len(), given: worlds.len() });
        }
        let rows = worlds.observations.chunks_exact_mut(worlds.observation_len);
        for (world, ((env, episode), row)) in
            worlds.envs.iter_mut().zip(&episodes).zip(rows).enumerate()
        {
            env.reset(episode.seed, row);
            for &action in &episode.actions {
                if action as usize >= worlds.actions {
                    return Err(BadWorlds::Action { world, action, actions: worlds.actions });
                }
                // No episode was saved after its end, so one that ends here is another episode.
                if env.step(action as usize, row).end != End::Running {
                    return Err(BadWorlds::Diverged { world, seed: episode.seed });
                }
            }
            let saved = observations.chunks_exact(worlds.observation_len).nth(world);
            let same =
                |saved: &[f32]| saved.iter().zip(&*row).all(|(a, b)| a.to_bits() == b.to_bits());
            if !saved.is_some_and(same) {
                return Err(BadWorlds::Diverged { world, seed: episode.seed });
            }
        }
        worlds.episodes = episodes;
        Ok(worlds)
    }

    /// Runs one action in each world, and begins the next episode where one ended.
    ///
    /// # Panics
    ///
    /// If there are not as many actions as worlds.
    pub fn step(&mut self, actions: &[usize]) {
        assert_eq!(actions.len(), self.len(), "number of actions");
        for (world, &action) in actions.iter().enumerate() {
            let row = world * self.observation_len..(world + 1) * self.observation_len;
            let outcome = self.envs[world].step(action, &mut self.successors[row.clone()]);
            self.outcomes[world] = outcome;
            if outcome.end == End::Running {
                self.observations[row.clone()].copy_from_slice(&self.successors[row]);
                self.episodes[world].actions.push(action as u32);
            } else {
                self.begin_episode(world);
            }
        }
    }

    /// Number of worlds.
    #[expect(clippy::len_without_is_empty, reason = "there is always at least one world")]
    pub fn len(&self) -> usize {
        self.envs.len()
    }

    /// Length of one observation.
    pub fn observation_len(&self) -> usize {
        self.observation_len
    }

    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// What the policy sees next: where an episode ended, the first observation of the one after.
    pub fn observations(&self) -> &[f32] {
        &self.observations
    }

    /// What one world's last step led to: where an episode ended, its final observation.
    pub fn successor(&self, world: usize) -> &[f32] {
        &self.successors[world * self.observation_len..(world + 1) * self.observation_len]
    }

    /// What came of the last step, world by world.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    pub(crate) fn episodes(&self) -> &[Episode] {
        &self.episodes
    }

    pub(crate) fn generator(&self) -> &Generator {
        &self.generator
    }

    pub(crate) fn seeds(&self) -> &Range<u64> {
        &self.seeds
    }

    fn idle(envs: Vec<E>, seeds: Range<u64>, generator: Generator) -> Result<Worlds<E>, BadWorlds> {
        let first = envs.first().ok_or(BadWorlds::None)?;
        let (observation_len, actions) = (first.observation_len(), first.actions());
        if observation_len == 0 || actions == 0 {
            return Err(BadWorlds::Empty { world: 0, actions, observation_len });
        }
        let unlike = |env: &E| (env.observation_len(), env.actions()) != (observation_len, actions);
        if let Some(world) = envs.iter().position(unlike) {
            return Err(BadWorlds::Unlike { world });
        }
        if seeds.is_empty() {
            return Err(BadWorlds::NoSeeds { start: seeds.start, end: seeds.end });
        }
        let idle = Outcome { reward: 0.0, end: End::Running, incident: false, ran: 0 };
        Ok(Worlds {
            episodes: vec![Episode::default(); envs.len()],
            observations: vec![0.0; envs.len() * observation_len],
            successors: vec![0.0; envs.len() * observation_len],
            outcomes: vec![idle; envs.len()],
            envs,
            seeds,
            generator,
            observation_len,
            actions,
        })
    }

    fn begin_episode(&mut self, world: usize) {
        let seed = self.seeds.start + self.generator.below(self.seeds.end - self.seeds.start);
        let row = world * self.observation_len..(world + 1) * self.observation_len;
        self.envs[world].reset(seed, &mut self.observations[row]);
        let episode = &mut self.episodes[world];
        episode.seed = seed;
        episode.actions.clear();
    }
}
