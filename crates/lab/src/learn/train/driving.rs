//! How does a driving world look to the learner?
//!
//! [`Driving`] is a [`World`] behind the learner's [`Env`]: seed in, flat observation, reward and
//! end out. It adds nothing and changes no reward.

use std::sync::Arc;

use cpss_highway::{Action, Step, Task, World};
use cpss_learn::{End, Env, Outcome};

use crate::play::ending::is_incident;

/// One world to learn in.
#[derive(Clone, Debug)]
pub(crate) struct Driving {
    world: World,
    actions: usize,
}

impl Driving {
    /// Opens a world of a task whose actions are a list; `None` if they are not.
    pub(crate) fn new(task: &Arc<Task>) -> Option<Driving> {
        let actions = task.controls.action_count()?;
        // The learner resets a world before it looks at it, so this seed is never played.
        Some(Driving { world: World::new(Arc::clone(task), 0), actions })
    }
}

impl Env for Driving {
    fn observation_len(&self) -> usize {
        self.world.task().observer.len()
    }

    fn actions(&self) -> usize {
        self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        self.world.reset(Some(seed), observation);
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        let step = self
            .world
            .step(Action::Index(action), observation)
            .expect("the learner chooses below `actions`, and each of those is an index");
        Outcome {
            reward: step.reward.total as f32,
            end: end_of(&step),
            incident: is_incident(&self.world, step.terminated),
            ran: action,
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
    use cpss_highway::TaskId;

    use super::*;
    use crate::tasks::policy_task;

    /// Plays one action until the episode ends; returns its length and last outcome.
    fn play(id: TaskId, seed: u64, action: usize) -> (usize, Outcome) {
        let mut env = Driving::new(&policy_task(id)).unwrap();
        let mut observation = vec![0.0; env.observation_len()];
        env.reset(seed, &mut observation);
        let mut steps = 0;
        loop {
            let outcome = env.step(action, &mut observation);
            steps += 1;
            if outcome.end != End::Running {
                return (steps, outcome);
            }
        }
    }

    #[test]
    fn a_crash_terminates_and_the_clock_truncates() {
        const SLOWER: usize = 0;
        let (steps, outcome) = play(TaskId::IntersectionV0, 1, SLOWER);
        assert_eq!((steps, outcome.end, outcome.incident), (13, End::Truncated, false));

        const FASTER: usize = 3;
        let (_, outcome) = play(TaskId::HighwayV0, 0, FASTER);
        assert_eq!((outcome.end, outcome.incident), (End::Terminated, true));
    }

    #[test]
    fn leaving_the_track_counts_as_a_crash_does() {
        const HARD_LEFT: usize = 0;
        let (steps, outcome) = play(TaskId::RacetrackV0, 0, HARD_LEFT);
        assert!(steps < 10);
        assert_eq!((outcome.end, outcome.incident), (End::Terminated, true));
    }

    #[test]
    fn a_task_that_is_steered_freely_is_not_for_this_learner() {
        assert!(Driving::new(&Task::with_defaults(TaskId::RacetrackV0)).is_none());
    }
}
