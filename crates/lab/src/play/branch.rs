//! How is it found out what the policy's own action would have led to?
//!
//! At an intervention the world and its drift are copied, the copy runs the action that was refused, and
//! the policy goes on in it without a shield, for `LOOK_AHEAD`. Start at
//! [`Brancher::play`].
//!
//! **Invariants:** the real episode does not notice: what is copied stays as it was, and random numbers are
//! drawn from copies of their generators. So the same episode has the same branches, in any order.
//!
//! **Absent on purpose:** the shield. What it would have done next is not the question.

use cpss_highway::{Action, Scene, World};
use cpss_learn::QFunction;

use super::ending::{is_incident, realised_cost};
use super::regime::Drift;
use crate::record::exact::Exact;
use crate::record::pose::ghost_pose;
use crate::record::what_if::WhatIf;

/// How far ahead a branch is played \[s\].
pub(crate) const LOOK_AHEAD: f64 = 10.0;

/// Plays branches; keeps their room.
#[derive(Debug, Default)]
pub struct Brancher {
    scene: Scene,
    seen: Vec<f32>,
}

/// A branch that was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// What it showed.
    pub what_if: WhatIf,
    /// The reward of its first step, which Theorem 3 compares with that of its stand-in.
    pub reward: f64,
}

impl Brancher {
    /// Plays the action in a copy of the world, and the policy after it. `step` is the number of the
    /// decision; a policy that sees what is left of the budget goes on seeing what was left then.
    ///
    /// # Errors
    ///
    /// An action that the task does not have.
    pub fn play(
        &mut self,
        (world, drift): (&World, &Drift),
        (mut action, left): (usize, f32),
        step: u64,
        policy: &mut dyn QFunction,
    ) -> anyhow::Result<Branch> {
        let (mut world, mut drift) = (world.clone(), drift.clone());
        let Brancher { scene, seen } = self;
        let width = world.task().observer.len();
        seen.resize(policy.observation_len().max(width), left);
        seen[width..].fill(left);
        scene.observe(&world);
        let mut what_if = WhatIf::default();
        what_if.ghost.extend(ghost_pose(scene));
        let mut first_reward = None;
        for next in 1..=look_ahead(world.task().decision_time) {
            let taken = world.step(Action::Index(action), &mut seen[..width])?;
            first_reward.get_or_insert(taken.reward.total);
            scene.observe(&world);
            what_if.costs.push(Exact(realised_cost(scene, &world, &taken)));
            what_if.ghost.extend(ghost_pose(scene));
            if taken.is_over() {
                // Time that is up is no failure, wherever the ego is then; so the costs say it too.
                what_if.crashed = is_incident(&world, taken.terminated);
                break;
            }
            drift.apply(&mut world);
            // A policy that has no answer there is no reason to end the real episode: it ends this one.
            let Ok(proposed) = policy.act(step + next, seen) else { break };
            action = proposed;
        }
        Ok(Branch { what_if, reward: first_reward.unwrap_or_default() })
    }
}

/// Over how many decisions a branch is played.
pub fn look_ahead(decision_time: f64) -> u64 {
    decisions_within(LOOK_AHEAD, decision_time)
}

/// How many decisions it takes to cover a time \[s\].
pub(crate) fn decisions_within(time: f64, decision_time: f64) -> u64 {
    // Less a crumb, so that a rounding error of the quotient does not make one more.
    (time / decision_time - 1e-9).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_ahead_is_rounded_up() {
        for (time, decision_time, decisions) in
            [(10.0, 1.0, 10), (5.0, 0.2, 25), (6.0, 0.2, 30), (6.1, 1.0, 7), (0.1, 1.0, 1)]
        {
            assert_eq!(decisions_within(time, decision_time), decisions, "{time} {decision_time}");
        }
    }
}
