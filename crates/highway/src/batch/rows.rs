//! How is a batch cut up for threads, and stepped?
//!
//! [`Rows`] are some worlds with their places in every buffer. Stepping, resetting and reporting go over them once; the
//! three modes of [`Autoreset`] differ by a few lines each.

use std::sync::{Mutex, PoisonError};

use super::{Actions, Autoreset, Conduct};
use crate::action::Action;
use crate::world::World;

/// A run of worlds with their rows of every buffer.
#[derive(Default)]
pub(super) struct Rows<'a> {
    pub(super) first: usize,
    pub(super) worlds: &'a mut [World],
    pub(super) ended: &'a mut [bool],
    pub(super) observations: &'a mut [f32],
    pub(super) rewards: &'a mut [f64],
    pub(super) terminated: &'a mut [bool],
    pub(super) truncated: &'a mut [bool],
    pub(super) finals: &'a mut [f32],
}

impl<'a> Rows<'a> {
    /// Cuts the rows into one piece per thread, in order.
    pub(super) fn cut(self, threads: usize, width: usize) -> Vec<Mutex<Rows<'a>>> {
        let mut rest = self;
        let mut next = |threads_left: usize| {
            let len = rest.worlds.len() / threads_left;
            let (near, far) = std::mem::take(&mut rest).split_at(len, width);
            rest = far;
            Mutex::new(near)
        };
        (1..=threads).rev().map(&mut next).collect()
    }

    fn split_at(self, middle: usize, width: usize) -> (Rows<'a>, Rows<'a>) {
        let (worlds, far_worlds) = self.worlds.split_at_mut(middle);
        let (ended, far_ended) = self.ended.split_at_mut(middle);
        let (observations, far_observations) = self.observations.split_at_mut(middle * width);
        let (rewards, far_rewards) = self.rewards.split_at_mut(middle);
        let (terminated, far_terminated) = self.terminated.split_at_mut(middle);
        let (truncated, far_truncated) = self.truncated.split_at_mut(middle);
        let cut = if self.finals.is_empty() { 0 } else { middle * width };
        let (finals, far_finals) = self.finals.split_at_mut(cut);
        let first = self.first;
        (
            Rows { first, worlds, ended, observations, rewards, terminated, truncated, finals },
            Rows {
                first: first + middle,
                worlds: far_worlds,
                ended: far_ended,
                observations: far_observations,
                rewards: far_rewards,
                terminated: far_terminated,
                truncated: far_truncated,
                finals: far_finals,
            },
        )
    }

    /// Steps every world, and begins the next episode where one has ended.
    pub(super) fn step(
        self,
        actions: Actions<'_>,
        autoreset: Autoreset,
        width: usize,
        conduct: &impl Conduct,
    ) {
        let dimension = match actions {
            Actions::Indices(_) => 0,
            Actions::Points(_) => self
                .worlds
                .first()
                .and_then(|world| world.task().controls.box_dimension())
                .unwrap_or(0),
        };
        let rows = self.observations.chunks_exact_mut(width);
        for (i, (world, seen)) in self.worlds.iter_mut().zip(rows).enumerate() {
            let place = self.first + i;
            (self.rewards[i], self.terminated[i], self.truncated[i]) = (0.0, false, false);
            if autoreset == Autoreset::NextStep && self.ended[i] {
                conduct.begin(place, world, seen);
                self.ended[i] = false;
                continue;
            }
            let action = match actions {
                Actions::Indices(indices) => Action::Index(indices[place]),
                Actions::Points(values) => Action::Point(&values[place * dimension..][..dimension]),
            };
            // `Batch::check` has seen every action; a refusal here would leave the row as it was.
            let Ok(step) = conduct.step(place, world, action, seen) else { continue };
            self.rewards[i] = step.reward.total;
            self.terminated[i] = step.terminated;
            self.truncated[i] = step.truncated;
            self.ended[i] = step.is_over();
            if autoreset == Autoreset::SameStep && step.is_over() {
                self.finals[i * width..][..width].copy_from_slice(seen);
                conduct.begin(place, world, seen);
                self.ended[i] = false;
            }
        }
    }
}

/// Takes a few worlds of a piece: its owner from the front, a thread that is done with its own from
/// the back. The fewer are left the fewer are taken, so that all threads finish together.
pub(super) fn take_some<'a>(
    piece: &Mutex<Rows<'a>>,
    is_owner: bool,
    width: usize,
) -> Option<Rows<'a>> {
    // The lock is never held while a world is stepped, so a panic there leaves no half-made piece.
    let mut piece = piece.lock().unwrap_or_else(PoisonError::into_inner);
    let len = piece.worlds.len();
    let some = len.div_ceil(8);
    let (near, far) =
        std::mem::take(&mut *piece).split_at(if is_owner { some } else { len - some }, width);
    let (taken, left) = if is_owner { (near, far) } else { (far, near) };
    *piece = left;
    (some > 0).then_some(taken)
}
