//! # `racetrack-v0`, `racetrack-v1`
//!
//! ## Description
//! The ego steers around a closed two-lane track at 10 m/s, past a slower car. In `racetrack-v1`
//! drivers also see cars on the lanes before and after their own.
//!
//! ## Action Space
//! `Box(1)`: steering, from -1 (45 degrees left) to 1. `DiscreteAction` with `longitudinal` off
//! makes it a list, which is how a DQN drives it.
//!
//! ## Observation Space
//! `Box(2, 12, 12)`: presence of cars and of road in cells of 3 m, in the ego's own frame.
//!
//! ## Rewards
//! `lane_centering_reward` by closeness to the lane's middle, plus `action_reward` times the size
//! of the action, plus `collision_reward` if crashed; scaled to [0, 1] with the best at 1; zero
//! off the road. Under `DiscreteAction` upstream takes the action's *number* for its size, and so
//! do we.
//!
//! ## Starting State
//! The ego at 10 m/s on a random lane of the first straight, one car in the first bend, others
//! (if `other_vehicles` is above 1) anywhere else.
//!
//! ## Episode End
//! Terminated by a crash and, with `terminate_off_road`, off the road; truncated after `duration`
//! seconds.
//!
//! ## Arguments
//! The fields of [`Racetrack`], by upstream's names.
//!
//! ## Version History
//! As highway-env 1.12.1; v1 is its correction of the neighbour search.

use std::sync::{Arc, OnceLock};

use serde_json::json;

use super::{Defaults, Reward, Task, TaskRules, Window, above_zero, any};
use crate::action::Action;
use crate::arith::{lerp_between, norm};
use crate::fields::{ConfigError, Fields};
use crate::lane::Lane;
use crate::observation::View;
use crate::random::Generator;
use crate::road::{LaneId, Network, NetworkBuilder};
use crate::simulation::Simulation;
use crate::vehicle::{Driver, Vehicle};

const LANE_WIDTH: f64 = 5.0;
const SPEED_LIMIT: f64 = 10.0;

/// The racetrack's config.
#[derive(Clone, Debug, PartialEq)]
pub struct Racetrack {
    /// Length of an episode \[s\].
    pub duration: f64,
    /// Reward of a crash.
    pub collision_reward: f64,
    /// How sharply the centring reward falls \[1/m²\].
    pub lane_centering_cost: f64,
    /// Reward of the lane's middle.
    pub lane_centering_reward: f64,
    /// Reward of a unit of action.
    pub action_reward: f64,
    /// Other cars: one in the first bend and fewer than this many anywhere.
    pub other_vehicles: usize,
    /// Whether leaving the road ends the episode.
    pub terminate_off_road: bool,
}

impl Racetrack {
    pub(super) fn read(fields: &mut Fields) -> Result<Racetrack, ConfigError> {
        let mut read = Racetrack {
            duration: 300.0,
            collision_reward: -1.0,
            lane_centering_cost: 4.0,
            lane_centering_reward: 1.0,
            action_reward: -0.3,
            other_vehicles: 1,
            terminate_off_road: true,
        };
        fields.number("duration", &mut read.duration, "seconds above zero", above_zero)?;
        let scalable = |value: f64| (value - 1.0).abs() > 1e-9;
        let wanted = "a number other than 1, which it is scaled against";
        fields.number("collision_reward", &mut read.collision_reward, wanted, scalable)?;
        let not_negative = |value: f64| value >= 0.0;
        let cost = &mut read.lane_centering_cost;
        fields.number("lane_centering_cost", cost, "at least zero", not_negative)?;
        fields.number("lane_centering_reward", &mut read.lane_centering_reward, "a number", any)?;
        fields.number("action_reward", &mut read.action_reward, "a number", any)?;
        let mut egos = 1;
        fields.count("controlled_vehicles", &mut egos, 1..=1)?;
        fields.count("other_vehicles", &mut read.other_vehicles, 0..=1000)?;
        fields.flag("terminate_off_road", &mut read.terminate_off_road)?;
        fields.ignore(&["speed_limit"]);
        Ok(read)
    }
}

/// One section of the track: its nodes and its two lanes.
struct Section(&'static str, &'static str, [Curve; 2]);

/// A lane's centre line, angles in degrees.
enum Curve {
    Line([f64; 2], [f64; 2]),
    Arc { center: [f64; 2], radius: f64, from: f64, to: f64, clockwise: bool },
}

const fn arc(center: [f64; 2], radius: f64, from: f64, to: f64, clockwise: bool) -> Curve {
    Curve::Arc { center, radius, from, to, clockwise }
}

/// The track, in order of travel.
const TRACK: [Section; 9] = [
    Section(
        "a",
        "b",
        [Curve::Line([42.0, 0.0], [100.0, 0.0]), Curve::Line([42.0, 5.0], [100.0, 5.0])],
    ),
    Section(
        "b",
        "c",
        [
            arc([100.0, -20.0], 20.0, 90.0, -1.0, false),
            arc([100.0, -20.0], 25.0, 90.0, -1.0, false),
        ],
    ),
    Section(
        "c",
        "d",
        [Curve::Line([120.0, -20.0], [120.0, -30.0]), Curve::Line([125.0, -20.0], [125.0, -30.0])],
    ),
    Section(
        "d",
        "e",
        [
            arc([105.0, -30.0], 15.0, 0.0, -181.0, false),
            arc([105.0, -30.0], 20.0, 0.0, -181.0, false),
        ],
    ),
    Section(
        "e",
        "f",
        [arc([70.0, -30.0], 20.0, 0.0, 136.0, true), arc([70.0, -30.0], 15.0, 0.0, 137.0, true)],
    ),
    Section(
        "f",
        "g",
        [
            Curve::Line([55.7, -15.7], [35.7, -35.7]),
            Curve::Line([59.3934, -19.2], [39.3934, -39.2]),
        ],
    ),
    Section(
        "g",
        "h",
        [
            arc([18.1, -18.1], 25.0, 315.0, 170.0, false),
            arc([18.1, -18.1], 30.0, 315.0, 165.0, false),
        ],
    ),
    Section(
        "h",
        "i",
        [
            arc([18.1, -18.1], 25.0, 170.0, 56.0, false),
            arc([18.1, -18.1], 30.0, 170.0, 58.0, false),
        ],
    ),
    Section(
        "i",
        "a",
        [arc([43.2, 23.4], 23.5, 240.0, 270.0, true), arc([43.2, 23.4], 18.5, 238.0, 268.0, true)],
    ),
];

/// The road, which no key of the config changes.
fn road() -> NetworkBuilder {
    let mut builder = NetworkBuilder::default();
    for Section(from, to, lanes) in &TRACK {
        for curve in lanes {
            let lane = match *curve {
                Curve::Line(start, end) => Lane::straight(start, end),
                Curve::Arc { center, radius, from, to, clockwise } => {
                    Lane::circular(center, radius, from.to_radians(), to.to_radians(), clockwise)
                }
            };
            let lane = Lane { width: LANE_WIDTH, speed_limit: SPEED_LIMIT, ..lane };
            builder.add_lane(from, to, lane);
        }
    }
    builder
}

impl TaskRules for Racetrack {
    fn defaults(&self) -> Defaults {
        Defaults {
            observation: json!({
                "type": "OccupancyGrid",
                "features": ["presence", "on_road"],
                "grid_size": [[-18, 18], [-18, 18]],
                "grid_step": [3, 3],
                "align_to_vehicle_axes": true,
            }),
            action: json!({"type": "ContinuousAction", "longitudinal": false, "lateral": true}),
            policy_frequency: 5,
            window: Window::SQUARE,
            ..Defaults::default()
        }
    }

    fn network(&self) -> Arc<Network> {
        static ROAD: OnceLock<Arc<Network>> = OnceLock::new();
        Arc::clone(ROAD.get_or_init(|| Arc::new(road().compile())))
    }

    fn populate(&self, task: &Task, simulation: &mut Simulation, random: &mut Generator) {
        let network = &task.network;
        let side = random.integers(0, 2) as usize;
        let on_lane = |id: LaneId, along: f64| {
            let lane = network.lane(id);
            (lane.position(along, 0.0), lane.heading_at(along))
        };
        let Some(first) = network.find_lane("a", "b", side) else { return };
        let (position, heading) = on_lane(first, random.uniform(20.0, 50.0));
        simulation.ego = 0;
        simulation.vehicles.push(task.make_ego(position, heading, SPEED_LIMIT));
        if self.other_vehicles == 0 {
            return;
        }
        let another = |id: LaneId, longest: LaneId, random: &mut Generator| {
            let along = random.uniform(0.0, network.lane(longest).length);
            let speed = 6.0 + random.uniform(0.0, 3.0);
            let (position, heading) = on_lane(id, along);
            Vehicle::new(network, Driver::Idm, position, heading, speed)
        };
        if let (Some(lane), Some(inner)) =
            (network.find_lane("b", "c", side), network.find_lane("b", "c", 0))
        {
            simulation.vehicles.push(another(lane, inner, random));
        }
        for _ in 0..random.integers(0, self.other_vehicles as u32) {
            let from = random.choice(TRACK.len());
            let lane = LaneId((2 * from) as u16 + random.integers(0, 2) as u16);
            let car = another(lane, lane, random);
            let is_near = |other: &Vehicle| norm(car.x - other.x, car.y - other.y) < 20.0;
            if !simulation.vehicles.iter().any(is_near) {
                simulation.vehicles.push(car);
            }
        }
    }

    fn reward(&self, view: &View<'_>, action: Action<'_>) -> Reward {
        let ego = view.ego();
        let flag = |fact: bool| f64::from(u8::from(fact));
        let centering = 1.0 / (1.0 + self.lane_centering_cost * (ego.across * ego.across));
        let size = match action {
            Action::Index(index) => index as f64,
            Action::Point(point) => f64::from(point.iter().map(|v| v * v).sum::<f32>().sqrt()),
        };
        let on_road = flag(ego.on_road(view.network));
        let total = self.lane_centering_reward * centering
            + self.action_reward * size
            + self.collision_reward * flag(ego.crashed);
        Reward {
            total: lerp_between(total, [self.collision_reward, 1.0], [0.0, 1.0]) * on_road,
            terms: [
                ("lane_centering_reward", centering),
                ("action_reward", size),
                ("collision_reward", flag(ego.crashed)),
                ("on_road_reward", on_road),
                ("", 0.0),
            ],
        }
    }

    fn is_terminated(&self, view: &View<'_>) -> bool {
        let ego = view.ego();
        ego.crashed || self.terminate_off_road && !ego.on_road(view.network)
    }

    fn is_truncated(&self, time: f64) -> bool {
        time >= self.duration
    }
}
