//! Contract: the same task, seed and actions give the same bits, for any batch size and number of
//! threads; another seed gives other bits; a clone goes its own way from the same place.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::sync::Arc;

use cpss_highway::batch::{Actions, Buffers};
use cpss_highway::random::Generator;
use cpss_highway::{Action, Autoreset, Batch, Task, TaskId, World};

const STEPS: usize = 40;

/// Every bit that a batch of worlds produces under actions that depend on nothing else.
fn play(id: TaskId, worlds: usize, seed: u64, threads: usize) -> Vec<Vec<u64>> {
    let task = Task::with_defaults(id);
    let width = task.observer.len();
    let mut batch = Batch::new(&task, worlds, seed, Autoreset::NextStep, threads).unwrap();
    let mut observations = vec![0.0; worlds * width];
    let (mut rewards, mut terminated, mut truncated) =
        (vec![0.0; worlds], vec![false; worlds], vec![false; worlds]);
    let mut bits = vec![Vec::new(); worlds];
    let mut random: Vec<_> = (0..worlds as u64).map(|i| Generator::seeded(900 + i)).collect();
    for _ in 0..STEPS {
        let indices: Vec<usize> = random
            .iter_mut()
            .map(|r| r.choice(task.controls.action_count().unwrap_or(1)))
            .collect();
        let points: Vec<f32> = random.iter_mut().map(|r| r.uniform(-0.3, 0.3) as f32).collect();
        let actions = match task.controls.action_count() {
            Some(_) => Actions::Indices(&indices),
            None => Actions::Points(&points),
        };
        let out = Buffers {
            observations: &mut observations,
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
            final_observations: &mut [],
        };
        batch.step(actions, out).unwrap();
        for (i, world) in batch.worlds().iter().enumerate() {
            let seen = &observations[i * width..][..width];
            bits[i].extend(seen.iter().map(|value| u64::from(value.to_bits())));
            bits[i].extend([
                rewards[i].to_bits(),
                u64::from(terminated[i]),
                u64::from(truncated[i]),
            ]);
            for car in world.vehicles() {
                bits[i].extend([car.x, car.y, car.heading, car.speed].map(f64::to_bits));
            }
        }
    }
    bits
}

#[test]
fn bits_do_not_depend_on_batch_size_or_threads() {
    for id in TaskId::ALL {
        let alone = play(id, 1, 7, 1);
        let together = play(id, 5, 7, 1);
        assert_eq!(alone[0], together[0], "{id:?}: the first world of five");
        assert_eq!(together, play(id, 5, 7, 2), "{id:?}: two threads");
        assert_eq!(together, play(id, 5, 7, 5), "{id:?}: five threads");
    }
}

#[test]
fn another_seed_is_another_episode() {
    for id in TaskId::ALL {
        assert_ne!(play(id, 1, 7, 1), play(id, 1, 8, 1), "{id:?}");
    }
}

#[test]
fn a_clone_branches_the_episode() {
    let task = Task::with_defaults(TaskId::HighwayV0);
    let mut seen = vec![0.0; task.observer.len()];
    let mut world = World::new(Arc::clone(&task), 3);
    for _ in 0..5 {
        world.step(Action::Index(1), &mut seen).unwrap();
    }
    let mut same = world.clone();
    let mut other = world.clone();
    let idle = world.step(Action::Index(1), &mut seen).unwrap();
    assert_eq!(same.step(Action::Index(1), &mut seen).unwrap(), idle);
    assert_eq!(same.ego().x.to_bits(), world.ego().x.to_bits());
    other.step(Action::Index(4), &mut seen).unwrap();
    assert_ne!(other.ego().x.to_bits(), world.ego().x.to_bits());
}

#[test]
fn resetting_without_a_seed_goes_on_with_the_random_numbers() {
    let task = Task::with_defaults(TaskId::MergeV0);
    let mut seen = vec![0.0; task.observer.len()];
    let mut world = World::new(Arc::clone(&task), 3);
    let first = world.vehicles()[1].x;
    world.reset(None, &mut seen);
    assert_ne!(world.vehicles()[1].x, first, "a new episode");
    world.reset(Some(3), &mut seen);
    assert_eq!(world.vehicles()[1].x, first, "the seed's episode again");
}
