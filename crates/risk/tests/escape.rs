//! What an ego that steers itself risks is at least what its ways out say.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod stage;

use std::sync::Arc;

use cpss_highway::random::Generator;
use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_risk::RiskModel;
use serde_json::json;
use stage::{add, listed, model};

/// The ego at the beginning of the first straight, with nobody else on the road.
fn alone(task: &Arc<Task>) -> Scene {
    let begins = |seed| World::new(Arc::clone(task), seed);
    let world = (0..).map(begins).find(|world| world.ego().along < 21.0).unwrap();
    let mut scene = Scene::default();
    scene.observe(&world);
    scene.others.clear();
    scene.earlier = 0;
    scene
}

/// What geometry alone says of each steering angle: the risks of a critic that sees none.
fn floors(model: &mut RiskModel, scene: &Scene) -> Vec<f64> {
    model.assess(scene).risks.clone()
}

fn careless(task: &Arc<Task>) -> RiskModel {
    model(task, 1, -40.0)
}

fn least(task: &Arc<Task>, scene: &Scene) -> f64 {
    floors(&mut careless(task), scene).into_iter().fold(f64::INFINITY, f64::min)
}

/// As good as none.
const NONE: f64 = 1e-9;

/// The same with some cars: ahead, to the right \[m\], speed \[m/s\].
fn among(task: &Arc<Task>, cars: &[(f64, f64, f64)]) -> Scene {
    let mut scene = alone(task);
    cars.iter().for_each(|(ahead, right, speed)| add(task, &mut scene, *ahead, *right, *speed));
    scene
}

/// To the side where there is a lane beside the ego's \[m\].
fn beside(task: &Arc<Task>) -> f64 {
    let ego = alone(task).ego.unwrap().body;
    if task.network.lane_offset(ego.lane) == 0 { 5.0 } else { -5.0 }
}

#[test]
fn a_free_road_has_a_way_out_at_every_angle() {
    let task = listed(TaskId::RacetrackV0);
    let found = floors(&mut careless(&task), &alone(&task));
    assert!(found.len() == 5 && found.iter().all(|floor| *floor < NONE), "{found:?}");
}

#[test]
fn a_slow_car_is_passed_where_the_other_lane_is_free() {
    let task = listed(TaskId::RacetrackV0);
    for ahead in [15.0, 25.0, 35.0] {
        let found = least(&task, &among(&task, &[(ahead, 0.0, 5.0)]));
        assert!(found < NONE, "{ahead} m ahead: {found}");
    }
}

#[test]
fn two_slow_cars_abreast_are_the_worse_the_closer_they_are() {
    let task = listed(TaskId::RacetrackV0);
    let abreast =
        |ahead| least(&task, &among(&task, &[(ahead, 0.0, 2.0), (ahead, beside(&task), 2.0)]));
    let found = [12.0, 20.0, 35.0].map(abreast);
    assert!(found[0] > found[1] && found[1] > found[2] && found[2] > NONE, "{found:?}");
}

/// Nothing but losing way helps there, and it does: cars as fast as a weaving ego are not run into.
#[test]
fn behind_cars_abreast_that_are_not_too_slow_weaving_is_a_way_out() {
    let task = listed(TaskId::RacetrackV0);
    let at =
        |speed| least(&task, &among(&task, &[(20.0, 0.0, speed), (20.0, beside(&task), speed)]));
    let found = [2.0, 5.0, 8.0].map(at);
    assert!(found[0] > 0.1 && found[2] < NONE, "{found:?}");
    assert!(found[0] > found[1] && found[1] > found[2], "{found:?}");
}

#[test]
fn who_is_about_to_be_hit_is_close_soon() {
    let task = listed(TaskId::RacetrackV0);
    let scene = among(&task, &[(5.6, 0.0, 0.0), (5.6, beside(&task), 0.0)]);
    let found = floors(&mut careless(&task), &scene);
    assert!(found.iter().all(|floor| *floor > 0.5), "{found:?}");
}

/// Random steering on an empty track: of every decision it was foretold whether it ends off the road, to the slits
/// between lanes.
#[test]
fn which_angles_end_off_the_road_is_told_exactly() {
    let task = json!({
        "action": {"type": "DiscreteAction", "longitudinal": false, "actions_per_axis": 5},
        "other_vehicles": 0,
    });
    let task = Task::new(TaskId::RacetrackV0, &task).unwrap();
    let mut seen = vec![0.0; task.observer.len()];
    let mut scene = Scene::default();
    let mut model = careless(&task);
    let mut random = Generator::seeded(1);
    let (mut off, mut decisions) = (0, 0);
    for seed in 0..200 {
        let mut world = World::new(Arc::clone(&task), seed);
        for _ in 0..200 {
            scene.observe(&world);
            let told: Vec<bool> =
                floors(&mut model, &scene).into_iter().map(|floor| floor == 1.0).collect();
            // Mostly one that stays on the road, so that an episode comes around the track.
            let stays: Vec<usize> = (0..5).filter(|angle| !told[*angle]).collect();
            let action = match stays.as_slice() {
                stays if !stays.is_empty() && random.random() < 0.98 => {
                    stays[random.choice(stays.len())]
                }
                _ => random.choice(5),
            };
            let step = world.step(Action::Index(action), &mut seen).unwrap();
            let is_off = !world.ego().on_road(&task.network);
            assert_eq!(told[action], is_off, "seed {seed}");
            decisions += 1;
            off += u32::from(is_off);
            if step.is_over() {
                break;
            }
        }
    }
    assert!(off > 150 && decisions > 10 * off, "{off} of {decisions} ended off the road");
}

/// A point of the box lies between the angles that it lies between.
#[test]
fn a_floor_lies_between_those_of_the_angles_beside_it() {
    let listed = listed(TaskId::RacetrackV0);
    let scene = among(&listed, &[(7.0, 0.0, 5.0)]);
    let mut among_five = careless(&listed);
    let known = floors(&mut among_five, &scene);
    let free = Task::new(TaskId::RacetrackV0, &json!({})).unwrap();
    let mut of_points = RiskModel::new(&free, Arc::clone(among_five.learned())).unwrap();
    let points = [-1.0, -0.75, -0.5, 0.25].map(|point| [point]);
    let found = of_points.assess_each(&scene, points.iter().map(|point| Action::Point(point)));
    for (found, wanted) in found.risks.iter().zip([
        known[0],
        (known[0] + known[1]) / 2.0,
        known[1],
        (known[2] + known[3]) / 2.0,
    ]) {
        assert!((found - wanted).abs() < 1e-6, "{found} instead of {wanted} among {known:?}");
    }
    assert!(known.iter().any(|floor| (floor - known[2]).abs() > 0.01), "{known:?}");
}
