//! Scenes, played or made by hand, and critics that have learned nothing.

#![allow(dead_code, reason = "every contract needs a part of it")]

use std::sync::Arc;

use cpss_highway::random::Generator;
use cpss_highway::scene::Body;
use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_learn::critic::scale::Scale;
use cpss_learn::critic::{Critic, Shape};
use cpss_learn::generator::{Generator as Weights, Purpose};
use cpss_risk::features::Inputs;
use cpss_risk::{ActionKey, Card, LearnedRisk, RiskModel};
use serde_json::json;

/// A task whose actions are a list.
pub(crate) fn listed(id: TaskId) -> Arc<Task> {
    let config = match id {
        TaskId::RacetrackV0 | TaskId::RacetrackV1 => json!({"action": {
            "type": "DiscreteAction", "longitudinal": false, "actions_per_axis": 5,
        }}),
        _ => json!({}),
    };
    Task::new(id, &config).unwrap()
}

/// The same file with its checksum under a name that nobody knows, so that it may be changed.
pub(crate) fn unsealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let name = b"cpss-checksum";
    let place = bytes.windows(name.len()).position(|part| part == name).unwrap();
    bytes[place..place + name.len()].copy_from_slice(b"cpss-unsealed");
    bytes
}

/// A small critic of a task with arbitrary weights. Without a shift its risks are small.
pub(crate) fn critic(task: &Task, seed: u64, shift: f32) -> Critic {
    let (encoder, head) = (vec![12, 8], vec![12]);
    let actions = ActionKey::list(&task.controls).len();
    let Inputs { fixed, item, .. } = Inputs::of(task);
    let shape = Shape { fixed, item, encoder, head, actions };
    let mut critic = Critic::new(shape, &mut Weights::new(seed, Purpose::Weights)).unwrap();
    critic.set_scale(Scale::shifted(shift));
    critic
}

/// A card for a critic of a task.
pub(crate) fn card(task: &Task) -> Card {
    Card { resolution: 0.0001, ..Card::new(task, 1.0) }
}

/// A model with such a critic.
pub(crate) fn model(task: &Arc<Task>, seed: u64, shift: f32) -> RiskModel {
    let risk = LearnedRisk::new(critic(task, seed, shift), card(task)).unwrap();
    RiskModel::new(task, Arc::new(risk)).unwrap()
}

/// Drives at random, and shows the scene at each of some decisions.
pub(crate) fn drive(task: &Arc<Task>, seed: u64, decisions: usize, mut see: impl FnMut(&Scene)) {
    let mut random = Generator::seeded(seed);
    let mut world = World::new(Arc::clone(task), seed);
    let mut seen = vec![0.0; task.observer.len()];
    let mut scene = Scene::default();
    let mut point = [0.0; 2];
    for decision in 0..decisions {
        scene.observe(&world);
        see(&scene);
        let action = match task.controls.action_count() {
            Some(actions) => Action::Index(random.choice(actions)),
            None => {
                point = point.map(|_| random.uniform(-1.0, 1.0) as f32);
                Action::Point(&point[..task.controls.box_dimension().unwrap()])
            }
        };
        if world.step(action, &mut seen).unwrap().is_over() {
            world.reset(Some(seed + 1000 * (decision as u64 + 1)), &mut seen);
        }
    }
}

/// The first scene of a task with nobody else on the road.
pub(crate) fn alone(task: &Arc<Task>) -> Scene {
    let mut scene = Scene::default();
    scene.observe(&World::new(Arc::clone(task), 1));
    scene.others.clear();
    scene.earlier = 0;
    scene
}

/// Adds a car ahead of the ego and to its right \[m\], pointing along its heading.
pub(crate) fn add(task: &Task, scene: &mut Scene, ahead: f64, right: f64, speed: f64) {
    let ego = scene.ego.unwrap().body;
    let position = [
        ego.position[0] + ahead * ego.cos - right * ego.sin,
        ego.position[1] + ahead * ego.sin + right * ego.cos,
    ];
    scene.others.push(Body::new(&task.network, position, ego.heading, speed, [5.0, 2.0]));
}
