//! How do the worlds of a batch begin, and how do they go on where traffic drifts or eyes are not perfect?
//!
//! Under conditions each goes by its own [`Course`](crate::conditions::Course), which its row keeps: start at
//! [`Conducted`]. Without them the worlds step themselves, and only [`reset`] is here.

use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, ensure};
use cpss_highway::batch::{Actions, Conduct};
use cpss_highway::{Action, ActionError, Moment, Step, World};

use super::lock;
use super::row::Row;
use crate::conditions::Prepared;
use crate::world::Taken;

/// Who steps the worlds under conditions, and takes down what came of it.
pub(super) struct Conducted<'a, N> {
    pub(super) conditions: &'a Prepared,
    pub(super) rows: &'a [Mutex<Row>],
    pub(super) actions: Actions<'a>,
    /// Is told what no ledger knows of, by the place of the world.
    pub(super) note: N,
}

impl<N: Fn(usize, String) + Sync> Conduct for Conducted<'_, N> {
    fn step(
        &self,
        place: usize,
        world: &mut World,
        action: Action<'_>,
        seen: &mut [f32],
    ) -> Result<Step, ActionError> {
        let mut row = lock(&self.rows[place]);
        let step = match &mut row.course {
            Some(course) => course.step(world, action, seen)?,
            None => world.step(action, seen)?,
        };
        let action = || Taken::at(&self.actions, place, self.rows.len());
        if let Err(error) = row.follow(world, Moment::Stepped(step), action) {
            (self.note)(place, error);
        }
        Ok(step)
    }

    fn begin(&self, place: usize, world: &mut World, seen: &mut [f32]) {
        let mut row = lock(&self.rows[place]);
        if let Err(error) = row.begin_under(self.conditions, world, None, seen) {
            (self.note)(place, error);
        }
    }
}

/// Begins an episode in every world that has an entry in `seeds`, and writes what is seen of it.
///
/// # Errors
///
/// As [`Row::begin_under`], and a slice of the wrong length.
pub(super) fn reset(
    batch: &mut cpss_highway::Batch,
    rows: &[Mutex<Row>],
    conditions: Option<&Prepared>,
    seeds: &[Option<(Option<u64>,)>],
    observations: &mut [f32],
) -> Result<()> {
    let Some(conditions) = conditions else {
        batch.reset_each(|place| seeds[place].map(|(seed,)| seed), observations)?;
        for ((row, world), seed) in rows.iter().zip(batch.worlds()).zip(seeds) {
            if let Some((seed,)) = seed {
                lock(row).begin(world, *seed);
            }
        }
        return Ok(());
    };
    let width = batch.task().observer.len();
    let (len, wanted) = (observations.len(), width * rows.len());
    ensure!(len == wanted, "`observations` holds {len} values, but {wanted} are needed");
    for (place, seen) in observations.chunks_exact_mut(width).enumerate() {
        let Some((seed,)) = seeds[place] else { continue };
        let mut world = batch.worlds()[place].clone();
        lock(&rows[place])
            .begin_under(conditions, &mut world, seed, seen)
            .map_err(|error| anyhow!(error))
            .with_context(|| format!("environment {place}"))?;
        batch.put(place, world, false);
    }
    Ok(())
}
