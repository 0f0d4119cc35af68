//! Many scenes at once risk what each of them risks alone, and do not notice each other.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Arc;

use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_learn::critic::scale::Scale;
use cpss_learn::critic::{Critic, Shape};
use cpss_learn::generator::Generator;
use cpss_risk::features::Inputs;
use cpss_risk::{ActionKey, BatchModel, Card, LearnedRisk, RiskModel};
use serde_json::{Value, json};

/// What the critic can tell apart.
const RESOLUTION: f64 = 1e-4;

/// A critic that has learned nothing but has an opinion, with a shift and a lift.
fn risk_for(task: &Task) -> Arc<LearnedRisk> {
    let inputs = Inputs::of(task);
    let shape = Shape {
        fixed: inputs.fixed,
        item: inputs.item,
        encoder: vec![24, 20],
        head: vec![28],
        actions: ActionKey::list(&task.controls).len(),
    };
    let mut critic = Critic::new(shape, &mut Generator::from_state(7)).unwrap();
    critic.set_scale(Scale { shift: 4.0, lift: 0.9 });
    let mut card = Card { resolution: RESOLUTION, ..Card::new(task, 1.0) };
    (card.calibration.shift, card.calibration.lift) = (4.0, Some(0.9));
    let risk = LearnedRisk::new(critic, card).unwrap();
    Arc::new(LearnedRisk::from_bytes(&risk.to_bytes()).unwrap())
}

fn lists() -> BTreeMap<&'static str, (TaskId, Value)> {
    let steering =
        json!({"action": {"type": "DiscreteAction", "longitudinal": false, "actions_per_axis": 5}});
    BTreeMap::from([
        ("merge", (TaskId::MergeV0, json!({}))),
        ("highway", (TaskId::HighwayV0, json!({}))),
        ("intersection", (TaskId::IntersectionV0, json!({}))),
        ("racetrack", (TaskId::RacetrackV0, steering)),
    ])
}

/// Scenes of some episodes.
fn scenes(task: &Arc<Task>, count: usize) -> Vec<Scene> {
    let mut seen = vec![0.0; task.observer.len()];
    let mut scenes = Vec::new();
    for seed in 0.. {
        let mut world = World::new(Arc::clone(task), seed);
        for _ in 0..6 {
            let mut scene = Scene::default();
            scene.observe(&world);
            scenes.push(scene);
            if scenes.len() == count {
                return scenes;
            }
            let idle = match task.controls.box_dimension() {
                None => world.step(Action::Index(1), &mut seen),
                Some(_) => world.step(Action::Point(&[0.1]), &mut seen),
            };
            if idle.unwrap().is_over() {
                break;
            }
        }
    }
    scenes
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5
}

#[test]
fn many_scenes_at_once_risk_what_each_risks_alone() {
    for (name, (id, config)) in lists() {
        let task = Task::new(id, &config).unwrap();
        let risk = risk_for(&task);
        let mut single = RiskModel::new(&task, risk).unwrap();
        let mut model = BatchModel::new(single.clone());
        let scenes = scenes(&task, 37);
        let places: Vec<usize> = scenes.iter().map(|scene| model.push(scene)).collect();
        model.run();
        for (scene, place) in scenes.iter().zip(places) {
            let (one, many) = (single.assess(scene), model.assess(place));
            assert_eq!(one.density, many.density, "{name}");
            assert!(close(one.unavoidable, many.unavoidable), "{name}: {one:?} {many:?}");
            for (one, many) in one.risks.iter().zip(&many.risks) {
                assert!(close(*one, *many), "{name}: {one} {many}");
            }
            // A cost is cut off at the critic's resolution, and there the last bits may decide.
            for (one, many) in one.costs.iter().zip(&many.costs) {
                assert!(
                    close(*one, *many) || close(one.max(*many), RESOLUTION),
                    "{name}: {one} {many}"
                );
            }
            assert!(
                one.risks.iter().any(|risk| *risk != one.risks[0]),
                "{name}: nothing to compare"
            );
        }
    }
}

#[test]
fn a_scene_does_not_notice_those_beside_it() {
    let task = Task::new(TaskId::HighwayV0, &json!({})).unwrap();
    let risk = risk_for(&task);
    let model = RiskModel::new(&task, risk).unwrap();
    let scenes = scenes(&task, 40);
    let whole = assess(&model, &scenes);
    for size in [1, 7, 16, 23] {
        let parts: Vec<_> = scenes.chunks(size).flat_map(|chunk| assess(&model, chunk)).collect();
        assert_eq!(parts, whole, "in parts of {size}");
    }
}

fn assess(model: &RiskModel, scenes: &[Scene]) -> Vec<Vec<f64>> {
    let mut model = BatchModel::new(model.clone());
    scenes.iter().for_each(|scene| {
        model.push(scene);
    });
    model.run();
    (0..scenes.len()).map(|place| model.assess(place).risks.clone()).collect()
}

#[test]
fn a_scene_that_cannot_be_read_costs_1_throughout_and_the_others_do_not_notice() {
    let task = Task::new(TaskId::MergeV0, &json!({})).unwrap();
    let risk = risk_for(&task);
    let model = RiskModel::new(&task, risk).unwrap();
    let mut scenes = scenes(&task, 3);
    let before = assess(&model, &scenes);
    let mut nowhere = scenes[0].clone();
    nowhere.others[1].speed = f64::NAN;
    scenes.insert(1, nowhere);
    scenes.insert(0, Scene::default());
    let mut batch = BatchModel::new(model);
    scenes.iter().for_each(|scene| {
        batch.push(scene);
    });
    batch.run();
    for place in [0, 2] {
        let found = batch.assess(place);
        assert!(found.costs.iter().chain(&found.risks).all(|number| *number == 1.0), "{found:?}");
        assert!(found.density.is_nan() && found.costs.len() == 5);
    }
    for (place, before) in [1, 3, 4].into_iter().zip(before) {
        assert_eq!(batch.assess(place).risks, before);
    }
    // And if there is nothing else.
    batch.clear();
    batch.push(&Scene::default());
    batch.run();
    assert_eq!(batch.assess(0).costs, [1.0; 5]);
}

#[test]
fn points_of_a_box_are_judged_as_alone() {
    let steering = json!({"type": "DiscreteAction", "longitudinal": false, "actions_per_axis": 5});
    let grid = Task::new(TaskId::RacetrackV0, &json!({"action": steering})).unwrap();
    let risk = risk_for(&grid);
    let task = Task::new(TaskId::RacetrackV0, &json!({})).unwrap();
    let mut single = RiskModel::new(&task, risk).unwrap();
    let mut model = BatchModel::new(single.clone());
    let points = [-1.0, -0.3, 0.0, 0.4, 1.0].map(|point| [point as f32]);
    let scenes = scenes(&task, 5);
    scenes.iter().for_each(|scene| {
        model.push(scene);
    });
    model.run();
    for (place, scene) in scenes.iter().enumerate() {
        let one = single.assess_each(scene, points.iter().map(|point| Action::Point(point)));
        let many = model.assess_each(place, points.iter().map(|point| Action::Point(point)));
        assert_eq!(many.risks.len(), points.len());
        assert!(
            one.risks.iter().zip(&many.risks).all(|(one, many)| close(*one, *many)),
            "{one:?} {many:?}"
        );
    }
}

#[test]
fn the_order_of_cars_changes_no_bit() {
    let task = Task::new(TaskId::HighwayV0, &json!({})).unwrap();
    let risk = risk_for(&task);
    let mut model = RiskModel::new(&task, risk).unwrap();
    for mut scene in scenes(&task, 30) {
        let before = model.assess(&scene).clone();
        let earlier = scene.earlier;
        scene.others[..earlier].reverse();
        scene.others[earlier..].reverse();
        assert_eq!(*model.assess(&scene), before);
    }
}
