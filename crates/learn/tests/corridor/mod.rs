//! The smallest world in which values must travel: five cells in a row, a reward at the right end.

#![allow(dead_code, reason = "each test file that includes this uses a part of it")]

use cpss_learn::{End, Env, Outcome};

/// Number of cells; the last is the goal.
pub(crate) const CELLS: usize = 5;
/// The reward for reaching the goal.
pub(crate) const END_REWARD: f32 = 1.0;

/// Action 0 walks left, action 1 right. Episodes start at `seed % 4`, and are cut after 20 steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Corridor {
    cell: usize,
    steps: usize,
}

impl Env for Corridor {
    fn observation_len(&self) -> usize {
        CELLS
    }

    fn actions(&self) -> usize {
        2
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        *self = Corridor { cell: seed as usize % (CELLS - 1), steps: 0 };
        observe(self.cell, observation);
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        self.cell = if action == 1 { self.cell + 1 } else { self.cell.saturating_sub(1) };
        self.steps += 1;
        observe(self.cell, observation);
        let (reward, end) = match self.cell {
            goal if goal == CELLS - 1 => (END_REWARD, End::Terminated),
            _ if self.steps == 20 => (0.0, End::Truncated),
            _ => (0.0, End::Running),
        };
        Outcome { reward, end, incident: end == End::Truncated, ran: action }
    }
}

/// Writes the observation of a cell: one number per cell, 1 where the walker is.
pub(crate) fn observe(cell: usize, observation: &mut [f32]) {
    observation.fill(0.0);
    observation[cell] = 1.0;
}
