//! Hand-made scenes: an ego alone on a task's road, and cars placed around it.

use std::sync::Arc;

use cpss_highway::scene::Body;
use cpss_highway::{Scene, Task, TaskId, World};
use cpss_risk::{RiskModel, RiskSpec};
use serde_json::json;

/// The actions of a task with all five meta-actions.
pub(crate) const LEFT: usize = 0;
/// See [`LEFT`].
pub(crate) const IDLE: usize = 1;
/// See [`LEFT`].
pub(crate) const RIGHT: usize = 2;
/// See [`LEFT`].
pub(crate) const FASTER: usize = 3;
/// See [`LEFT`].
pub(crate) const SLOWER: usize = 4;

/// A task, its model, and a scene to put cars on.
pub(crate) struct Stage {
    pub(crate) task: Arc<Task>,
    pub(crate) model: RiskModel,
    pub(crate) scene: Scene,
}

impl Stage {
    /// The ego alone in the first state of a task, driven as a DQN would drive it.
    pub(crate) fn new(id: TaskId) -> Stage {
        let config = match id {
            TaskId::HighwayV0 => json!({"vehicles_count": 0, "initial_lane_id": 1}),
            TaskId::RacetrackV0 => json!({"other_vehicles": 0, "action": {
                "type": "DiscreteAction", "longitudinal": false, "actions_per_axis": 5,
            }}),
            _ => json!({}),
        };
        let task = Task::new(id, &config).unwrap();
        let model = RiskModel::new(&task, RiskSpec::for_task(id)).unwrap();
        let mut scene = Scene::default();
        scene.observe(&World::new(Arc::clone(&task), 1));
        scene.others.clear();
        Stage { task, model, scene }
    }

    /// Moves the ego to a place on a lane, at a speed it aims to hold.
    pub(crate) fn place_ego(&mut self, lane: (&str, &str, usize), along: f64, speed: f64) {
        let body = self.body(lane, along, 0.0, speed);
        let ego = self.scene.ego.as_mut().unwrap();
        (ego.body, ego.target_lane, ego.target_speed) = (body, body.lane, speed);
    }

    /// Adds a car ahead of the ego and to its right \[m\], pointing along its heading.
    pub(crate) fn add(&mut self, ahead: f64, right: f64, turned: f64, speed: f64) -> &mut Body {
        let ego = self.scene.ego.as_ref().unwrap().body;
        let position = [
            ego.position[0] + ahead * ego.cos - right * ego.sin,
            ego.position[1] + ahead * ego.sin + right * ego.cos,
        ];
        let heading = ego.heading + turned;
        self.scene.others.push(Body::new(&self.task.network, position, heading, speed, [5.0, 2.0]));
        self.scene.others.last_mut().unwrap()
    }

    /// Adds a car on a lane.
    pub(crate) fn add_on(&mut self, lane: (&str, &str, usize), along: f64, speed: f64) {
        let body = self.body(lane, along, 0.0, speed);
        self.scene.others.push(body);
    }

    /// The costs of all actions.
    pub(crate) fn costs(&mut self) -> Vec<f64> {
        self.model.assess(&self.scene).costs.clone()
    }

    fn body(
        &self,
        (from, to, place): (&str, &str, usize),
        along: f64,
        across: f64,
        speed: f64,
    ) -> Body {
        let network = &self.task.network;
        let lane = network.lane(network.find_lane(from, to, place).unwrap());
        let position = lane.position(along, across);
        Body::new(network, position, lane.heading_at(along), speed, [5.0, 2.0])
    }
}
