//! How does a driving world look to the learner?
//!
//! [`Driving`] is a [`World`] behind the learner's [`Env`]: seed in, flat observation, reward and end out. Plain, it adds
//! nothing and changes no reward. An algorithm may ask for a world with a shield inside, which runs another action
//! where it refuses one, or for one that shows what is left of the budget: [`Inside`].

use std::sync::Arc;

use anyhow::{Context, Result};
use cpss_highway::{Action, Step, Task, TaskId, World};
use cpss_learn::{End, Env, Outcome};

use super::overseer::Overseer;
use crate::play::arm::Arm;
use crate::play::ending::is_incident;
use crate::tasks::policy_task;

/// What is inside a world to learn in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Inside {
    /// Nothing.
    Nothing,
    /// A shield of this arm.
    Shield(Arm),
    /// A ledger in sight: what is left of the budget is one more number of the observation, and once more is spent than
    /// there was, every step earns this instead of its reward.
    Ledger {
        /// The reward then.
        unsafe_reward: f32,
    },
}

/// One world to learn in.
#[derive(Clone, Debug)]
pub(crate) struct Driving {
    world: World,
    actions: usize,
    inside: Inside,
    overseer: Option<Box<Overseer>>,
    /// The reward of the last step, as the task has it.
    earned: f64,
}

impl Driving {
    /// Opens a plain world of a task whose actions are a list; `None` if they are not.
    pub(crate) fn new(task: &Arc<Task>) -> Option<Driving> {
        let actions = task.controls.action_count()?;
        // The learner resets a world before it looks at it, so this seed is never played.
        let world = World::new(Arc::clone(task), 0);
        Some(Driving { world, actions, inside: Inside::Nothing, overseer: None, earned: 0.0 })
    }

    /// Opens a world of a task with something inside.
    pub(crate) fn with(id: TaskId, inside: Inside) -> Result<Driving> {
        let plain = Driving::new(&policy_task(id)).context("the task has no list of actions")?;
        let overseer = match inside {
            Inside::Nothing => None,
            Inside::Shield(arm) => Some(Overseer::new(id, arm)?),
            // The policy alone: its shield is a shadow that counts.
            Inside::Ledger { .. } => Some(Overseer::new(id, Arm::Dqn)?),
        };
        Ok(Driving { inside, overseer: overseer.map(Box::new), ..plain })
    }

    /// The world as it is.
    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// The reward of the last step as the task has it, whatever the learner is told.
    pub(crate) fn earned(&self) -> f64 {
        self.earned
    }

    /// Whether what is left of the budget is in sight.
    fn shows_budget(&self) -> bool {
        matches!(self.inside, Inside::Ledger { .. })
    }
}

impl Env for Driving {
    fn observation_len(&self) -> usize {
        self.world.task().observer.len() + usize::from(self.shows_budget())
    }

    fn actions(&self) -> usize {
        self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        let (seen, left) = observation.split_at_mut(self.world.task().observer.len());
        self.world.reset(Some(seed), seen);
        if let Some(overseer) = &mut self.overseer {
            overseer.begin(&self.world);
            left.fill(overseer.left());
        }
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        let (seen, left) = observation.split_at_mut(self.world.task().observer.len());
        let decision = self.overseer.as_mut().map(|overseer| overseer.judge(action));
        let ran = decision.as_ref().map_or(action, |decision| decision.executed());
        let step = self
            .world
            .step(Action::Index(ran), seen)
            .expect("the learner chooses below `actions`, and each of those is an index");
        self.earned = step.reward.total;
        let mut reward = self.earned as f32;
        if let (Some(overseer), Some(decision)) = (&mut self.overseer, decision) {
            overseer.settle(decision, &self.world);
            left.fill(overseer.left());
            if let Inside::Ledger { unsafe_reward } = self.inside
                && overseer.left() <= 0.0
            {
                reward = unsafe_reward;
            }
        }
        Outcome {
            reward,
            end: end_of(&step),
            incident: is_incident(&self.world, step.terminated),
            ran,
        }
    }
}

/// A step that is both terminal and the last in time is terminal: no reward could have followed.
fn end_of(step: &Step) -> End {
    match (step.terminated, step.truncated) {
        (true, _) => End::Terminated,
        (false, true) => End::Truncated,
        (false, false) => End::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays one action until the episode ends; returns its length, last outcome and last observation.
    fn play(env: &mut Driving, seed: u64, action: usize) -> (usize, Outcome, Vec<f32>) {
        let mut observation = vec![0.0; env.observation_len()];
        env.reset(seed, &mut observation);
        let mut steps = 0;
        loop {
            let outcome = env.step(action, &mut observation);
            steps += 1;
            if outcome.end != End::Running {
                return (steps, outcome, observation);
            }
        }
    }

    fn plain(id: TaskId) -> Driving {
        Driving::with(id, Inside::Nothing).unwrap()
    }

    #[test]
    fn a_crash_terminates_and_the_clock_truncates() {
        const SLOWER: usize = 0;
        let (steps, outcome, _) = play(&mut plain(TaskId::IntersectionV0), 1, SLOWER);
        assert_eq!((steps, outcome.end, outcome.incident), (13, End::Truncated, false));

        const FASTER: usize = 3;
        let (_, outcome, _) = play(&mut plain(TaskId::HighwayV0), 0, FASTER);
        assert_eq!((outcome.end, outcome.incident), (End::Terminated, true));
    }

    #[test]
    fn leaving_the_track_counts_as_a_crash_does() {
        const HARD_LEFT: usize = 0;
        let (steps, outcome, _) = play(&mut plain(TaskId::RacetrackV0), 0, HARD_LEFT);
        assert!(steps < 10);
        assert_eq!((outcome.end, outcome.incident), (End::Terminated, true));
    }

    #[test]
    fn a_task_that_is_steered_freely_is_not_for_this_learner() {
        assert!(Driving::new(&Task::with_defaults(TaskId::RacetrackV0)).is_none());
    }

    #[test]
    fn a_shield_inside_runs_something_else_and_says_so() {
        const FASTER: usize = 3;
        let mut shielded =
            Driving::with(TaskId::HighwayV0, Inside::Shield(Arm::Cpss(None))).unwrap();
        let (mut observation, mut overruled, mut incidents) = (Vec::new(), 0, [0, 0]);
        for seed in 0..10 {
            let (_, alone, _) = play(&mut plain(TaskId::HighwayV0), seed, FASTER);
            incidents[0] += usize::from(alone.incident);
            observation.resize(shielded.observation_len(), 0.0);
            shielded.reset(seed, &mut observation);
            loop {
                let outcome = shielded.step(FASTER, &mut observation);
                overruled += usize::from(outcome.ran != FASTER);
                if outcome.end != End::Running {
                    incidents[1] += usize::from(outcome.incident);
                    break;
                }
            }
        }
        assert!(overruled > 0);
        assert!(incidents[1] < incidents[0], "{incidents:?}");
    }

    #[test]
    fn a_ledger_in_sight_falls_and_overdrawn_it_takes_the_reward() {
        const FASTER: usize = 3;
        let inside = Inside::Ledger { unsafe_reward: -0.2 };
        let mut seen = Driving::with(TaskId::HighwayV0, inside).unwrap();
        assert_eq!(seen.observation_len(), plain(TaskId::HighwayV0).observation_len() + 1);
        let mut observation = vec![0.0; seen.observation_len()];
        seen.reset(3, &mut observation);
        assert_eq!(observation.last(), Some(&1.0));
        let crashed = (0..20).map(|seed| play(&mut seen, seed, FASTER)).find(|end| end.1.incident);
        let (_, outcome, observation) = crashed.expect("who always goes faster crashes");
        assert_eq!(outcome.reward, -0.2);
        assert_eq!(observation.last(), Some(&0.0));
    }
}
