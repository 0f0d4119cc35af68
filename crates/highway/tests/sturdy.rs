//! Contract: no config and no action makes a world panic or a pose NaN. What makes no sense is
//! refused with an error that names it.
//!
//! A million actions, over as many random configs as that takes: a third of them have a key that
//! makes no sense or belongs to another task and are refused, the others are played for a hundred
//! actions at most, half of them past the end of the episode.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cpss_highway::random::Generator;
use cpss_highway::{Action, ConfigError, Task, TaskId, World};
use serde_json::{Value, json};

const ACTIONS: usize = 1_000_000;
const ACTIONS_PER_CONFIG: usize = 100;
const THREADS: usize = 2;

#[test]
fn a_million_actions_under_random_configs_do_no_harm() {
    let tallies: Vec<[usize; 3]> = std::thread::scope(|scope| {
        let shares: Vec<_> = (0..THREADS)
            .map(|share| {
                scope.spawn(move || {
                    let mut random = Generator::seeded(4321 + share as u64);
                    let [mut built, mut refused, mut taken] = [0; 3];
                    while taken < ACTIONS / THREADS {
                        match play_one(&mut random) {
                            Some(more) => {
                                built += 1;
                                taken += more;
                            }
                            None => refused += 1,
                        }
                    }
                    [built, refused, taken]
                })
            })
            .collect();
        shares.into_iter().map(|share| share.join().unwrap()).collect()
    });
    let total = |place: usize| tallies.iter().map(|tally| tally[place]).sum::<usize>();
    assert!(total(2) >= ACTIONS);
    assert!(total(0) > 5_000, "{} configs were played", total(0));
    assert!(total(1) > 1_000, "{} configs were refused", total(1));
}

/// Draws a config, and plays it if the task accepts it. Returns how many actions were taken.
fn play_one(random: &mut Generator) -> Option<usize> {
    let id = TaskId::ALL[random.choice(TaskId::ALL.len())];
    let config = draw_config(id, random);
    let task = Task::new(id, &config).ok()?;
    let mut seen = vec![0.0; task.observer.len()];
    let mut world = World::new(task.clone(), u64::from(random.integers(0, 1_000_000)));
    let mut taken = 0;
    let past_end = random.choice(2) == 0;
    for _ in 0..ACTIONS_PER_CONFIG {
        let point: Vec<f32> = (0..task.controls.box_dimension().unwrap_or(0))
            .map(|_| match random.choice(12) {
                0 => f32::NAN,
                1 => 1e30,
                _ => random.uniform(-1.5, 1.5) as f32,
            })
            .collect();
        let action = match task.controls.action_count() {
            Some(count) => Action::Index(random.choice(count + 1)),
            None => Action::Point(&point),
        };
        let Ok(step) = world.step(action, &mut seen) else { continue };
        taken += 1;
        for car in world.vehicles() {
            let pose = [car.x, car.y, car.heading, car.speed, car.along, car.across];
            assert!(pose.iter().all(|v| v.is_finite()), "{id:?} {config} {pose:?}");
        }
        assert!(seen.iter().all(|value| value.is_finite()), "{id:?} {config}");
        assert!(step.reward.total.is_finite(), "{id:?} {config}");
        if step.is_over() && !past_end {
            break;
        }
    }
    Some(taken)
}

/// A config of a few of the task's own keys; now and then one that belongs elsewhere or makes no
/// sense.
fn draw_config(id: TaskId, random: &mut Generator) -> Value {
    let mut config = serde_json::Map::new();
    let mut set = |key: &str, value: Value| config.insert(key.to_owned(), value);
    if random.choice(5) == 0 {
        match random.choice(8) {
            0 => set("simulation_frequency", json!(0)),
            1 => set("duration", json!(-1)),
            2 => set(
                "action",
                json!({"steering_range": [-1e300, 1e300], "type": "ContinuousAction"}),
            ),
            3 => set("observation", json!({"features_range": {"x": [-1e308, 1e308]}})),
            4 => set("collision_reward", json!(-1e308)),
            5 => set("other_vehicles", json!(2)),
            6 => set("spawn_probability", json!(1.2)),
            _ => set("lanes_count", json!(0)),
        };
    }
    for _ in 0..random.choice(4) {
        match random.choice(6) {
            0 => set("action", draw_action(random)),
            1 => set("observation", draw_observation(random)),
            2 => set("simulation_frequency", json!(random.integers(6, 20))),
            3 => set("policy_frequency", json!(random.integers(1, 6))),
            4 => set("neighbour_vehicles_connected_lanes", json!(random.choice(2) == 0)),
            _ => set("collision_reward", json!(random.uniform(-5.0, 0.0))),
        };
    }
    match id {
        TaskId::HighwayV0 | TaskId::HighwayFastV0 => {
            // Few cars: the test is about configs, and fifty cars would only make it slow.
            set("vehicles_count", json!(random.integers(0, 12)));
            set("lanes_count", json!(random.integers(1, 7)));
            set("vehicles_density", json!(random.uniform(0.1, 4.0)));
            set("duration", json!(random.uniform(0.5, 40.0)));
            set("offroad_terminal", json!(random.choice(2) == 0));
        }
        TaskId::MergeV0 | TaskId::MergeV1 => {
            set("reward_speed_range", json!([random.uniform(0.0, 20.0), 25.0]));
        }
        TaskId::IntersectionV0 | TaskId::IntersectionV2 => {
            set("initial_vehicle_count", json!(random.integers(0, 20)));
            set("spawn_probability", json!(random.random()));
            set("destination", json!(["o0", "o1", "o2", "o3"][random.choice(4)]));
        }
        TaskId::RacetrackV0 | TaskId::RacetrackV1 => {
            set("other_vehicles", json!(random.integers(0, 8)));
            set("terminate_off_road", json!(random.choice(2) == 0));
        }
        TaskId::RoundaboutV0 | TaskId::RoundaboutV1 => {
            set("incoming_vehicle_destination", json!(random.integers(0, 4)));
            set("duration", json!(random.uniform(0.5, 40.0)));
        }
    }
    Value::Object(config)
}

fn draw_action(random: &mut Generator) -> Value {
    match random.choice(6) {
        0 => json!({"type": "ContinuousAction", "clip": random.choice(2) == 0}),
        1 => {
            json!({"type": "ContinuousAction", "acceleration_range": [-20, 20], "speed_range": [-5, 60]})
        }
        2 => json!({"type": "DiscreteAction", "actions_per_axis": random.integers(0, 6)}),
        3 => json!({"type": "DiscreteMetaAction", "target_speeds": [0, 15, 45]}),
        4 => json!({"type": "DiscreteMetaAction", "lateral": false, "target_speeds": [-10, 0, 10]}),
        _ => json!({"type": "DiscreteMetaAction", "longitudinal": random.choice(2) == 0}),
    }
}

fn draw_observation(random: &mut Generator) -> Value {
    let all = ["presence", "x", "y", "vx", "vy", "heading", "cos_d", "long_off", "ang_off"];
    match random.choice(3) {
        0 => json!({"type": "OccupancyGrid", "grid_step": [random.integers(0, 9), 4]}),
        1 => json!({"type": "Kinematics", "features": all, "normalize": random.choice(2) == 0}),
        _ => {
            json!({"type": "Kinematics", "order": "shuffled", "vehicles_count": random.integers(0, 9)})
        }
    }
}

#[test]
fn every_refusal_names_the_key_and_the_value() {
    let refused = |id: TaskId, config: Value| Task::new(id, &config).unwrap_err().to_string();
    for (id, config, words) in [
        (TaskId::HighwayV0, json!({"lanes_count": 0}), ["lanes_count", "0"]),
        (TaskId::HighwayV0, json!({"simulation_frequency": -15}), ["simulation_frequency", "-15"]),
        (TaskId::HighwayV0, json!({"policy_frequency": 30}), ["policy_frequency", "30"]),
        (TaskId::HighwayV0, json!({"vehicles_count": 999}), ["vehicles_count", "10000 m"]),
        (TaskId::HighwayV0, json!({"vehicles_density": 0}), ["vehicles_density", "above zero"]),
        (TaskId::HighwayV0, json!({"controlled_vehicles": 2}), ["controlled_vehicles", "2"]),
        (TaskId::HighwayV0, json!({"duration": "long"}), ["duration", "\"long\""]),
        (TaskId::MergeV0, json!({"lanes_count": 2}), ["lanes_count", "unknown key"]),
        (
            TaskId::MergeV0,
            json!({"colision_reward": -2}),
            ["colision_reward", "`collision_reward`"],
        ),
        (
            TaskId::MergeV0,
            json!({"action": {"target_speeds": [30, 20]}}),
            ["action.target_speeds", "[30,20]"],
        ),
        (TaskId::IntersectionV0, json!({"spawn_probability": 1.5}), ["spawn_probability", "1.5"]),
        (TaskId::IntersectionV0, json!({"destination": "home"}), ["destination", "home"]),
        (
            TaskId::RacetrackV0,
            json!({"observation": {"type": "Lidar"}}),
            ["observation.type", "Lidar"],
        ),
        (
            TaskId::RacetrackV0,
            json!({"observation": {"grid_stp": 1}}),
            ["observation.grid_stp", "unknown key"],
        ),
        (TaskId::RacetrackV0, json!([1, 2]), ["config", "[1,2]"]),
        (
            TaskId::RoundaboutV0,
            json!({"incoming_vehicle_destination": 3}),
            ["incoming_vehicle_destination", "null, 0, 1 or 2"],
        ),
        (
            TaskId::RoundaboutV0,
            json!({"high_speed_reward": -1}),
            ["collision_reward", "high_speed_reward"],
        ),
    ] {
        let message = refused(id, config);
        for word in words {
            assert!(message.contains(word), "`{message}` does not say `{word}`");
        }
    }
    let unknown: ConfigError = "merge-v9".parse::<TaskId>().unwrap_err();
    assert!(unknown.to_string().contains("merge-v9") && unknown.to_string().contains("merge-v0"));
}
