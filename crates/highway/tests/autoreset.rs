//! Contract: a batch resets ended worlds as Gymnasium's three autoreset modes say.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::sync::{Arc, Mutex};

use cpss_highway::batch::{Actions, Buffers};
use cpss_highway::{Autoreset, Batch, BatchError, Moment, Task, TaskId, World};

const WORLDS: usize = 3;

struct Played {
    batch: Batch,
    observations: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    finals: Vec<f32>,
}

impl Played {
    /// A highway whose episodes are over after two seconds.
    fn new(autoreset: Autoreset) -> Played {
        let config = serde_json::json!({"duration": 2, "vehicles_count": 3});
        let task = Task::new(TaskId::HighwayV0, &config).unwrap();
        let width = task.observer.len();
        let batch = Batch::new(&task, WORLDS, 5, autoreset, 1).unwrap();
        Played {
            batch,
            observations: vec![0.0; WORLDS * width],
            rewards: vec![0.0; WORLDS],
            terminated: vec![false; WORLDS],
            truncated: vec![false; WORLDS],
            finals: vec![0.0; WORLDS * width],
        }
    }

    fn step(&mut self, action: usize) -> Result<(), BatchError> {
        let out = Buffers {
            observations: &mut self.observations,
            rewards: &mut self.rewards,
            terminated: &mut self.terminated,
            truncated: &mut self.truncated,
            final_observations: &mut self.finals,
        };
        self.batch.step(Actions::Indices(&[action; WORLDS]), out)
    }
}

#[test]
fn next_step_resets_one_step_late_and_ignores_that_action() {
    let mut played = Played::new(Autoreset::NextStep);
    played.step(1).unwrap();
    assert!(!played.truncated[0]);
    played.step(1).unwrap();
    assert_eq!((&played.truncated, played.batch.ended()), (&vec![true; 3], [true; 3].as_slice()));
    let last = played.observations.clone();
    // An action that does not even exist: this step is a reset, and nobody looks at it.
    played.step(99).unwrap();
    assert_eq!((&played.rewards, &played.truncated), (&vec![0.0; 3], &vec![false; 3]));
    assert_ne!(played.observations, last);
    assert_eq!(played.batch.worlds()[0].time(), 0.0);
    assert!(played.step(99).is_err(), "the new episode looks at its actions");
}

#[test]
fn same_step_keeps_the_last_observation_apart() {
    let mut played = Played::new(Autoreset::SameStep);
    played.step(1).unwrap();
    let mut reference = Played::new(Autoreset::Disabled);
    reference.step(1).unwrap();
    played.step(1).unwrap();
    reference.step(1).unwrap();
    assert_eq!(played.truncated, [true; 3]);
    assert_eq!(played.rewards, reference.rewards, "the reward is the old episode's");
    assert_eq!(played.finals, reference.observations, "and so is the final observation");
    assert_ne!(played.observations, played.finals);
    assert_eq!(played.batch.worlds()[0].time(), 0.0);
}

#[test]
fn disabled_leaves_resets_to_the_caller() {
    let mut played = Played::new(Autoreset::Disabled);
    for _ in 0..2 {
        played.step(1).unwrap();
    }
    assert_eq!(played.step(1), Err(BatchError::Ended { world: 0 }));
    let Played { batch, observations, .. } = &mut played;
    batch.reset(None, |world| world != 1, observations).unwrap();
    assert_eq!(batch.worlds()[0].time(), 0.0);
    assert_eq!(played.step(1), Err(BatchError::Ended { world: 1 }), "one is still waiting");
    let Played { batch, observations, .. } = &mut played;
    batch.reset(None, |world| world == 1, observations).unwrap();
    played.step(1).unwrap();
}

#[test]
fn a_bad_action_moves_no_world() {
    let mut played = Played::new(Autoreset::Disabled);
    let before: Vec<_> = played.batch.worlds().iter().map(|world| world.ego().x).collect();
    let out = Buffers {
        observations: &mut played.observations,
        rewards: &mut played.rewards,
        terminated: &mut played.terminated,
        truncated: &mut played.truncated,
        final_observations: &mut [],
    };
    let error = played.batch.step(Actions::Indices(&[1, 1, 7]), out).unwrap_err();
    assert_eq!(error.to_string(), "world 2: action 7 is out of range: there are 5 actions, from 0");
    let after: Vec<_> = played.batch.worlds().iter().map(|world| world.ego().x).collect();
    assert_eq!(before, after);
}

#[test]
fn a_buffer_of_the_wrong_length_is_refused_by_name() {
    let task = Task::with_defaults(TaskId::MergeV0);
    let mut batch = Batch::new(&Arc::clone(&task), 2, 0, Autoreset::NextStep, 1).unwrap();
    let error = batch.reset(None, |_| true, &mut [0.0; 7]).unwrap_err();
    assert_eq!(error, BatchError::Length { name: "observations", len: 7, wanted: 50 });
}

/// What a witness of some steps saw: of which world, at which time, and what.
fn witnessed(autoreset: Autoreset, threads: usize, steps: usize) -> Vec<Vec<(f64, Moment)>> {
    let config = serde_json::json!({"duration": 2, "vehicles_count": 3});
    let task = Task::new(TaskId::HighwayV0, &config).unwrap();
    let width = task.observer.len();
    let mut batch = Batch::new(&task, WORLDS, 5, autoreset, threads).unwrap();
    let seen: Vec<Mutex<Vec<(f64, Moment)>>> = (0..WORLDS).map(|_| Mutex::default()).collect();
    for _ in 0..steps {
        let out = Buffers {
            observations: &mut vec![0.0; WORLDS * width],
            rewards: &mut [0.0; WORLDS],
            terminated: &mut [false; WORLDS],
            truncated: &mut [false; WORLDS],
            final_observations: &mut vec![0.0; WORLDS * width],
        };
        let witness = |place: usize, world: &World, moment| {
            seen[place].lock().unwrap().push((world.time(), moment));
        };
        batch.step_before(Actions::Indices(&[1; WORLDS]), out, witness).unwrap();
    }
    seen.into_iter().map(|moments| moments.into_inner().unwrap()).collect()
}

#[test]
fn a_witness_sees_every_step_before_its_world_begins_again() {
    for threads in [1, 2] {
        for (autoreset, steps) in [(Autoreset::NextStep, 4), (Autoreset::SameStep, 3)] {
            for moments in witnessed(autoreset, threads, steps) {
                let times: Vec<f64> = moments.iter().map(|(time, _)| *time).collect();
                assert_eq!(times, [1.0, 2.0, 0.0, 1.0], "{autoreset:?}");
                let ends = moments.iter().map(|(_, moment)| match moment {
                    Moment::Stepped(step) => Some(step.is_over()),
                    Moment::Began => None,
                });
                assert_eq!(ends.collect::<Vec<_>>(), [Some(false), Some(true), None, Some(false)]);
            }
        }
    }
}

#[test]
fn each_world_is_reset_with_its_own_seed_or_left_alone() {
    let task = Task::with_defaults(TaskId::MergeV0);
    let width = task.observer.len();
    let mut batch = Batch::new(&task, WORLDS, 5, Autoreset::Disabled, 1).unwrap();
    let mut seen = vec![f32::NAN; WORLDS * width];
    let seeds = [Some(Some(40)), None, Some(None)];
    batch.reset_each(|place| seeds[place], &mut seen).unwrap();
    let mut alone = vec![0.0; width];
    World::new(Arc::clone(&task), 0).reset(Some(40), &mut alone);
    assert_eq!(seen[..width], alone);
    assert!(seen[width..2 * width].iter().all(|value| value.is_nan()));
    let mut third = World::new(Arc::clone(&task), 7);
    third.reset(None, &mut alone);
    assert_eq!(seen[2 * width..], alone);
}

#[test]
fn an_episode_begins_again_from_the_words_of_its_generator() {
    let task = Task::with_defaults(TaskId::HighwayV0);
    let mut world = World::new(Arc::clone(&task), 3);
    let (mut first, mut again) = (vec![0.0; task.observer.len()], vec![0.0; task.observer.len()]);
    let words = world.random().words();
    world.reset(None, &mut first);
    let mut other = World::new(task, 99);
    other.reset_from(cpss_highway::random::Generator::from_words(words), &mut again);
    assert_eq!(first, again);
    assert_eq!(world.random(), other.random());
}
