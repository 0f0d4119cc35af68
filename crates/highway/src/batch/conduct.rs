//! Who steps the worlds of a batch, and begins their episodes?
//!
//! Usually the worlds themselves do; whoever has something to do before a step, or looks at a world in another way, is a
//! [`Conduct`] of their own. When an episode ends and what follows is the batch's to say, not theirs.

use super::Moment;
use crate::action::{Action, ActionError};
use crate::world::{Step, World};

/// Who steps the worlds of a batch and begins their episodes, each by its place, on whichever thread has it: see
/// [`Batch::step_by`](super::Batch::step_by).
pub trait Conduct: Sync {
    /// Steps a world, and writes what is seen of it.
    ///
    /// # Errors
    ///
    /// An action that the task does not have; the world is then as it was.
    fn step(
        &self,
        place: usize,
        world: &mut World,
        action: Action<'_>,
        seen: &mut [f32],
    ) -> Result<Step, ActionError>;

    /// Begins another episode, and writes what is seen first. A world may be replaced by one of another configuration of
    /// the task, if that has the same actions and observations.
    fn begin(&self, place: usize, world: &mut World, seen: &mut [f32]);
}

/// Worlds are stepped as they are; someone is shown each of them.
pub(super) struct Shown<W>(pub(super) W);

impl<W: Fn(usize, &World, Moment) + Sync> Conduct for Shown<W> {
    #[inline]
    fn step(
        &self,
        place: usize,
        world: &mut World,
        action: Action<'_>,
        seen: &mut [f32],
    ) -> Result<Step, ActionError> {
        let step = world.step(action, seen)?;
        (self.0)(place, world, Moment::Stepped(step));
        Ok(step)
    }

    #[inline]
    fn begin(&self, place: usize, world: &mut World, seen: &mut [f32]) {
        world.reset(None, seen);
        (self.0)(place, world, Moment::Began);
    }
}
