//! Contract: only what an observer of the scene could see enters the costs.

use std::sync::Arc;

use crate::stage::Stage;
use cpss_highway::driver::Temper;
use cpss_highway::scene::Body;
use cpss_highway::{Action, Disturbance, Scene, TaskId, World};

const TASKS: [TaskId; 4] =
    [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0];

/// A world some decisions into an episode.
fn world_after(stage: &Stage, seed: u64, decisions: usize) -> World {
    let task = match stage.task.id {
        TaskId::HighwayV0 => cpss_highway::Task::with_defaults(TaskId::HighwayV0),
        _ => Arc::clone(&stage.task),
    };
    let mut world = World::new(task, seed);
    let mut seen = vec![0.0; world.task().observer.len()];
    for _ in 0..decisions {
        world.step(Action::Index(1), &mut seen).unwrap();
    }
    world
}

#[test]
fn hidden_changes_to_drivers_change_no_cost() {
    for id in TASKS {
        let mut stage = Stage::new(id);
        for seed in 0..20 {
            let world = world_after(&stage, seed, 2);
            let mut changed = world.clone();
            let temper =
                Temper { headway: 0.3, jam_distance: 6.0, politeness: 0.9, ..world.temper() };
            changed.disturb(Disturbance::Temper(temper)).unwrap();
            changed.disturb(Disturbance::SpawnProbability(1.0)).unwrap();
            for vehicle in (0..world.vehicles().len()).filter(|i| *i != world.ego_index()) {
                // About to brake hard, but not yet.
                let braking = Disturbance::Braking { vehicle, deceleration: 9.0, duration: 3.0 };
                changed.disturb(braking).unwrap();
            }
            stage.scene.observe(&world);
            let costs = stage.costs();
            stage.scene.observe(&changed);
            assert_eq!(costs, stage.costs(), "{} seed {seed}", id.name());
        }
    }
}

#[test]
fn cars_rebuilt_from_what_can_be_seen_cost_the_same() {
    for id in TASKS {
        let mut stage = Stage::new(id);
        let mut some_cost = false;
        for seed in 0..40 {
            let world = world_after(&stage, seed, 2);
            stage.scene.observe(&world);
            let costs = stage.costs();
            let rebuilt = |body: &Body| {
                let size = [body.length, body.width];
                let network = &world.task().network;
                let new = Body::new(network, body.position, body.heading, body.speed, size);
                let Body { crashed, bound_for, acceleration, .. } = *body;
                Body { crashed, bound_for, acceleration, ..new }
            };
            let others = stage.scene.others.iter().map(rebuilt).collect();
            stage.scene = Scene { others, ..stage.scene.clone() };
            assert_eq!(costs, stage.costs(), "{} seed {seed}", id.name());
            some_cost |= costs.iter().any(|cost| *cost > 0.0);
        }
        assert!(some_cost || id == TaskId::RacetrackV0, "{}: a test of nothing", id.name());
    }
}
