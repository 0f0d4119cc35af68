//! How are many worlds stepped at once?
//!
//! A [`Batch`] holds worlds of one task and steps them all in one call, into buffers that the
//! caller owns, on as many threads as it was given. What happens when an episode ends is one of
//! Gymnasium's three [`Autoreset`] modes, with Gymnasium's meaning.
//!
//! **Invariant:** results do not depend on the number of threads, to the last bit: worlds share
//! nothing but their task.

mod conduct;
mod rows;

use std::sync::Arc;

use crate::action::{Action, ActionError};
use crate::task::Task;
use crate::workers::Workers;
use crate::world::{Step, World};

pub use conduct::Conduct;
use conduct::Shown;
use rows::{Rows, take_some};

/// What a batch does with a world whose episode has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// The next step ignores its action and resets the world instead: reward zero, no flags.
    #[default]
    NextStep,
    /// The same step resets it: its observation is the new episode's first, and the last one of
    /// the old episode is kept apart.
    SameStep,
    /// Nothing: the caller resets; stepping a world that has ended is an error.
    Disabled,
}

/// One action for every world.
#[derive(Clone, Copy, Debug)]
pub enum Actions<'a> {
    /// An index each.
    Indices(&'a [usize]),
    /// A point each, one after the other.
    Points(&'a [f32]),
}

/// What a witness of a batch is shown: see [`Batch::step_before`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// The world has made a step, which may have been its episode's last.
    Stepped(Step),
    /// The world has begun another episode.
    Began,
}

/// Where a step's results go; each slice holds one entry (or one observation) per world.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// Observations, one after the other.
    pub observations: &'a mut [f32],
    /// Rewards.
    pub rewards: &'a mut [f64],
    /// Whether each episode reached a terminal state.
    pub terminated: &'a mut [bool],
    /// Whether each episode ran out of time.
    pub truncated: &'a mut [bool],
    /// Last observations of the episodes that ended, under [`Autoreset::SameStep`]; may be empty
    /// under the others.
    pub final_observations: &'a mut [f32],
}

/// A step that could not be made; no world has moved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BatchError {
    /// An action that the task cannot take.
    #[error("world {world}: {error}")]
    Action {
        /// Which world.
        world: usize,
        /// What is wrong with its action.
        error: ActionError,
    },
    /// Under [`Autoreset::Disabled`], a world that has ended and was not reset.
    #[error("world {world} has ended: reset it before the next step")]
    Ended {
        /// Which world.
        world: usize,
    },
    /// A slice of the wrong length.
    #[error("`{name}` holds {len} values, but {wanted} are needed")]
    Length {
        /// Which slice.
        name: &'static str,
        /// How long it is.
        len: usize,
        /// How long it has to be.
        wanted: usize,
    },
    /// The threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

/// Many worlds of one task.
#[derive(Debug)]
pub struct Batch {
    task: Arc<Task>,
    worlds: Vec<World>,
    ended: Vec<bool>,
    autoreset: Autoreset,
    /// The other threads, besides the caller's; `None` when that one does it all.
    helpers: Option<Workers>,
    threads: usize,
}

impl Batch {
    /// `count` worlds, seeded with `seed`, `seed + 1`, … as Gymnasium's vector environments are.
    ///
    /// # Errors
    ///
    /// If the threads cannot be started.
    pub fn new(
        task: &Arc<Task>,
        count: usize,
        seed: u64,
        autoreset: Autoreset,
        threads: usize,
    ) -> Result<Batch, BatchError> {
        let threads = threads.clamp(1, count.max(1));
        let helpers = match threads {
            1 => None,
            _ => {
                let started = Workers::start(threads - 1);
                Some(started.map_err(|e| BatchError::Threads { threads, reason: e.to_string() })?)
            }
        };
        let seeds = (0..count as u64).map(|i| seed.wrapping_add(i));
        Ok(Batch {
            task: Arc::clone(task),
            worlds: seeds.map(|seed| World::new(Arc::clone(task), seed)).collect(),
            ended: vec![false; count],
            autoreset,
            helpers,
            threads,
        })
    }

    /// The worlds.
    pub fn worlds(&self) -> &[World] {
        &self.worlds
    }

    /// Puts a world of the same task in the place of another, and says whether its episode has ended
    /// and waits for a reset: how a batch that was written down is made again.
    pub fn put(&mut self, place: usize, world: World, ended: bool) {
        self.worlds[place] = world;
        self.ended[place] = ended;
    }

    /// The worlds whose episode has ended and waits for a reset.
    pub fn ended(&self) -> &[bool] {
        &self.ended
    }

    /// The task being played.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Resets the worlds that `which` picks. With a seed, world `i` gets `seed + i`; without one
    /// each goes on with its own random numbers. Other worlds' observations are left alone.
    ///
    /// # Errors
    ///
    /// A slice of the wrong length.
    pub fn reset(
        &mut self,
        seed: Option<u64>,
        which: impl Fn(usize) -> bool,
        observations: &mut [f32],
    ) -> Result<(), BatchError> {
        let seed_of = |i: usize| seed.map(|seed| seed.wrapping_add(i as u64));
        self.reset_each(|i| which(i).then(|| seed_of(i)), observations)
    }

    /// Resets the worlds for which `seed_of` gives something: a seed, or none to go on with its own
    /// random numbers. Other worlds' observations are left alone.
    ///
    /// # Errors
    ///
    /// A slice of the wrong length.
    pub fn reset_each(
        &mut self,
        seed_of: impl Fn(usize) -> Option<Option<u64>>,
        observations: &mut [f32],
    ) -> Result<(), BatchError> {
        let width = self.task.observer.len();
        check_len("observations", observations.len(), width * self.worlds.len())?;
        let rows = observations.chunks_exact_mut(width);
        for (i, (world, seen)) in self.worlds.iter_mut().zip(rows).enumerate() {
            if let Some(seed) = seed_of(i) {
                world.reset(seed, seen);
                self.ended[i] = false;
            }
        }
        Ok(())
    }

    /// Steps every world.
    ///
    /// # Errors
    ///
    /// An action that the task cannot take, or a slice of the wrong length; no world has then
    /// moved.
    pub fn step(&mut self, actions: Actions<'_>, out: Buffers<'_>) -> Result<(), BatchError> {
        self.step_before(actions, out, |_, _, _| {})
    }

    /// Steps every world before a witness, who sees it after its step and, if it begins again, after
    /// that; by its place, on whichever thread steps it. Under [`Autoreset::SameStep`] nobody else
    /// sees a world in the last state of its episode.
    ///
    /// # Errors
    ///
    /// As [`Batch::step`].
    pub fn step_before(
        &mut self,
        actions: Actions<'_>,
        out: Buffers<'_>,
        witness: impl Fn(usize, &World, Moment) + Sync,
    ) -> Result<(), BatchError> {
        self.step_by(actions, out, &Shown(witness))
    }

    /// Has every world stepped by someone else, and begun again where its episode has ended.
    ///
    /// # Errors
    ///
    /// As [`Batch::step`].
    pub fn step_by(
        &mut self,
        actions: Actions<'_>,
        out: Buffers<'_>,
        conduct: &impl Conduct,
    ) -> Result<(), BatchError> {
        self.check(&actions, &out)?;
        let width = self.task.observer.len();
        let mut no_room: [f32; 0] = [];
        let rows = Rows {
            first: 0,
            worlds: &mut self.worlds,
            ended: &mut self.ended,
            observations: out.observations,
            rewards: out.rewards,
            terminated: out.terminated,
            truncated: out.truncated,
            finals: match self.autoreset {
                Autoreset::SameStep => out.final_observations,
                _ => &mut no_room,
            },
        };
        let autoreset = self.autoreset;
        match &self.helpers {
            None => rows.step(actions, autoreset, width, conduct),
            // One contiguous piece per thread, so that worlds stay in the cache of the core that
            // steps them. The caller's thread does its piece itself: waking one thread less is
            // time saved. Whoever is done helps the others: threads wake up late, and some worlds
            // take longer than others.
            Some(helpers) => {
                let pieces = rows.cut(self.threads, width);
                helpers.share(|own| {
                    for offset in 0..pieces.len() {
                        let piece = &pieces[(own + offset) % pieces.len()];
                        while let Some(rows) = take_some(piece, offset == 0, width) {
                            rows.step(actions, autoreset, width, conduct);
                        }
                    }
                });
            }
        }
        Ok(())
    }

    fn check(&self, actions: &Actions<'_>, out: &Buffers<'_>) -> Result<(), BatchError> {
        let count = self.worlds.len();
        let width = self.task.observer.len();
        check_len("observations", out.observations.len(), count * width)?;
        check_len("rewards", out.rewards.len(), count)?;
        check_len("terminated", out.terminated.len(), count)?;
        check_len("truncated", out.truncated.len(), count)?;
        if self.autoreset == Autoreset::SameStep || !out.final_observations.is_empty() {
            check_len("final_observations", out.final_observations.len(), count * width)?;
        }
        match actions {
            Actions::Indices(indices) => check_len("actions", indices.len(), count)?,
            Actions::Points(values) => {
                let dimension = self.task.controls.box_dimension().unwrap_or(1);
                check_len("actions", values.len(), count * dimension)?;
            }
        }
        if self.autoreset == Autoreset::Disabled
            && let Some(world) = self.ended.iter().position(|ended| *ended)
        {
            return Err(BatchError::Ended { world });
        }
        for world in 0..count {
            // A world that is about to be reset ignores its action, whatever it is.
            if !(self.autoreset == Autoreset::NextStep && self.ended[world]) {
                let action = actions.of(world, count);
                self.task
                    .controls
                    .check(action)
                    .map_err(|error| BatchError::Action { world, error })?;
            }
        }
        Ok(())
    }
}

impl<'a> Actions<'a> {
    fn of(&self, world: usize, count: usize) -> Action<'a> {
        match self {
            Actions::Indices(indices) => Action::Index(indices[world]),
            Actions::Points(values) => {
                let dimension = values.len() / count.max(1);
                Action::Point(&values[world * dimension..][..dimension])
            }
        }
    }
}

fn check_len(name: &'static str, len: usize, wanted: usize) -> Result<(), BatchError> {
    if len == wanted { Ok(()) } else { Err(BatchError::Length { name, len, wanted }) }
}

#[cfg(test)]
mod tests;
