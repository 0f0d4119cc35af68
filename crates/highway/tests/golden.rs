//! Contract: whole episodes recorded from highway-env 1.12.1 are played again within 1e-6: every
//! vehicle, the observation, the reward and its terms, and both end flags, after every step.
//!
//! `golden/episodes.jsonl` holds one episode per line: all ten ids with their defaults, and
//! configs that exercise the other action types, observations and sizes. It is made again by
//! `scripts/parity.py --record`; the same script compares fresh seeds on every run of the gate.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cpss_highway::{Action, Step, Task, TaskId, World};
use serde_json::Value;

const TOLERANCE: f64 = 1e-6;

#[test]
fn recorded_episodes_are_played_again() {
    let mut steps = 0;
    for line in include_str!("golden/episodes.jsonl").lines() {
        let episode: Value = serde_json::from_str(line).unwrap();
        steps += play(&episode);
    }
    assert!(steps > 500, "{steps}");
}

/// Plays one recorded episode and returns its length.
fn play(episode: &Value) -> usize {
    let id: TaskId = episode["env"].as_str().unwrap().parse().unwrap();
    let seed = episode["seed"].as_u64().unwrap();
    let task = Task::new(id, &episode["config"]).unwrap();
    let mut seen = vec![0.0; task.observer.len()];
    let mut world = World::new(task, seed);
    world.reset(Some(seed), &mut seen);
    let frames = episode["frames"].as_array().unwrap();
    let actions = episode["actions"].as_array().unwrap();
    let place =
        |step: usize| format!("{} seed {seed} {} step {step}", id.name(), episode["config"]);
    compare_state(&world, &seen, &frames[0], &place(0));
    for (i, (action, frame)) in actions.iter().zip(&frames[1..]).enumerate() {
        let point: Vec<f32> = action
            .as_array()
            .map(|values| values.iter().map(|value| value.as_f64().unwrap() as f32).collect())
            .unwrap_or_default();
        let action = match action.as_u64() {
            Some(index) => Action::Index(index as usize),
            None => Action::Point(&point),
        };
        let step = world.step(action, &mut seen).unwrap();
        compare_state(&world, &seen, frame, &place(i + 1));
        compare_outcome(&step, frame, &place(i + 1));
    }
    actions.len()
}

fn compare_state(world: &World, seen: &[f32], frame: &Value, place: &str) {
    let cars = frame["vehicles"].as_array().unwrap();
    assert_eq!(world.vehicles().len(), cars.len(), "{place}");
    assert_eq!(world.ego_index() as u64, frame["ego"].as_u64().unwrap(), "{place}");
    for (i, (car, golden)) in world.vehicles().iter().zip(cars).enumerate() {
        for (k, value) in [car.x, car.y, car.heading, car.speed].into_iter().enumerate() {
            close(value, &golden[k], &format!("{place}: vehicle {i}, number {k}"));
        }
        assert_eq!(golden[4].as_bool().unwrap(), car.crashed, "{place}: vehicle {i}");
        let (from, to, offset) = world.task().network.lane_name(car.lane);
        assert_eq!(golden[5], serde_json::json!([from, to, offset]), "{place}: vehicle {i}");
    }
    let golden = frame["obs"].as_array().unwrap();
    assert_eq!(seen.len(), golden.len(), "{place}");
    for (i, (value, golden)) in seen.iter().zip(golden).enumerate() {
        close(f64::from(*value), golden, &format!("{place}: observation {i}"));
    }
}

fn compare_outcome(step: &Step, frame: &Value, place: &str) {
    close(step.reward.total, &frame["reward"], place);
    for (name, value) in step.reward.terms() {
        close(value, &frame["rewards"][name], &format!("{place}: {name}"));
    }
    assert_eq!(step.terminated, frame["terminated"].as_bool().unwrap(), "{place}");
    assert_eq!(step.truncated, frame["truncated"].as_bool().unwrap(), "{place}");
}

/// Upstream's NaN (a feature that an obstacle does not have) is recorded as null; ours is zero.
fn close(value: f64, golden: &Value, place: &str) {
    let golden = golden.as_f64().unwrap_or(0.0);
    assert!((value - golden).abs() <= TOLERANCE, "{place}: {value}, upstream {golden}");
}
