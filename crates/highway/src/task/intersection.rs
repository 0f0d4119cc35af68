//! # `intersection-v0`, `intersection-v2`
//!
//! ## Description
//! The ego crosses a four-way intersection with cross traffic, turning as its destination asks.
//! Horizontal traffic has the right of way; other cars give way by rule, the ego does as it likes.
//! In `intersection-v2` drivers also see cars on the lanes before and after their own.
//!
//! ## Action Space
//! `Discrete(3)`: slower, idle, faster. The speeds to hold are 0, 4.5 and 9 m/s.
//!
//! ## Observation Space
//! `Box(15, 7)`: presence, x, y, vx, vy, cos_h, sin_h of the ego and fourteen others, absolute,
//! scaled to [-1, 1].
//!
//! ## Rewards
//! `arrived_reward` on arrival; otherwise `collision_reward` if crashed plus `high_speed_reward`
//! by speed within `reward_speed_range`; zero off the road.
//!
//! ## Starting State
//! Up to nine cars with random routes, simulated for three seconds; then one that goes straight,
//! and the ego on the southern approach at 10 m/s.
//!
//! ## Episode End
//! Terminated by a crash or on arrival, truncated after `duration` seconds.
//!
//! ## Arguments
//! The fields of [`Intersection`], by upstream's names.
//!
//! ## Version History
//! As highway-env 1.12.1; v2 is its correction of the neighbour search.

use std::sync::{Arc, OnceLock};

use serde_json::json;

use super::{Defaults, Reward, Task, TaskRules, Window, above_zero, any, share_of};
use crate::action::{Action, Controls};
use crate::arith::{lerp_between, norm};
use crate::driver::DriverParameters;
use crate::fields::{ConfigError, Fields};
use crate::lane::Lane;
use crate::observation::View;
use crate::random::Generator;
use crate::road::{Network, NetworkBuilder};
use crate::route::Route;
use crate::simulation::Simulation;
use crate::vehicle::{Driver, LENGTH, Vehicle};

const LANE_WIDTH: f64 = 4.0;
const RIGHT_TURN_RADIUS: f64 = LANE_WIDTH + 5.0;
const LEFT_TURN_RADIUS: f64 = RIGHT_TURN_RADIUS + LANE_WIDTH;
const OUTER_DISTANCE: f64 = RIGHT_TURN_RADIUS + LANE_WIDTH / 2.0;
const ACCESS_LENGTH: f64 = 50.0 + 50.0;
const SPEED_LIMIT: f64 = 10.0;
/// How far down the exit the ego has arrived \[m\].
const ARRIVED_AFTER: f64 = 25.0;
/// Seconds for which the first cars drive before the ego appears \[s\].
const WARM_UP: usize = 3;
/// Chance that each of the first cars appears.
const FIRST_SPAWN_PROBABILITY: f64 = 0.6;

/// Where the four approaches begin, and where they reach the crossing.
const OUTER: [&str; 4] = ["o0", "o1", "o2", "o3"];
const INNER: [&str; 4] = ["ir0", "ir1", "ir2", "ir3"];

/// The intersection's config.
#[derive(Clone, Debug, PartialEq)]
pub struct Intersection {
    /// Length of an episode \[s\].
    pub duration: f64,
    /// Where the ego is going, `o0` to `o3`; random if not set.
    pub destination: Option<String>,
    /// Cars at the start.
    pub initial_vehicle_count: usize,
    /// Chance that a car appears after each decision.
    pub spawn_probability: f64,
    /// Reward of a crash.
    pub collision_reward: f64,
    /// Reward of full speed.
    pub high_speed_reward: f64,
    /// Reward of arriving.
    pub arrived_reward: f64,
    /// The speeds that earn no and all speed reward \[m/s\].
    pub reward_speed_range: [f64; 2],
    /// Whether rewards are scaled to [0, 1].
    pub normalize_reward: bool,
    /// Whether leaving the road ends the episode.
    pub offroad_terminal: bool,
}

/// A car about to appear.
struct Newcomer {
    along: f64,
    position_deviation: f64,
    speed_deviation: f64,
    probability: f64,
    goes_straight: bool,
}

impl Intersection {
    pub(super) fn read(fields: &mut Fields) -> Result<Intersection, ConfigError> {
        let mut read = Intersection {
            duration: 13.0,
            destination: Some("o1".to_owned()),
            initial_vehicle_count: 10,
            spawn_probability: 0.6,
            collision_reward: -5.0,
            high_speed_reward: 1.0,
            arrived_reward: 1.0,
            reward_speed_range: [7.0, 9.0],
            normalize_reward: false,
            offroad_terminal: false,
        };
        fields.number("duration", &mut read.duration, "seconds above zero", above_zero)?;
        if let Some(value) = fields.take("destination") {
            let known = value.as_str().filter(|name| OUTER.contains(name));
            if !value.is_null() && known.is_none() {
                return Err(fields.bad("destination", &value, "null, o0, o1, o2 or o3"));
            }
            read.destination = known.map(str::to_owned);
        }
        let mut egos = 1;
        fields.count("controlled_vehicles", &mut egos, 1..=1)?;
        fields.count("initial_vehicle_count", &mut read.initial_vehicle_count, 0..=1000)?;
        let probability = |value: f64| (0.0..=1.0).contains(&value);
        fields.number(
            "spawn_probability",
            &mut read.spawn_probability,
            "from 0 to 1",
            probability,
        )?;
        fields.number("collision_reward", &mut read.collision_reward, "a number", any)?;
        fields.number("high_speed_reward", &mut read.high_speed_reward, "a number", any)?;
        fields.number("arrived_reward", &mut read.arrived_reward, "a number", any)?;
        fields.range("reward_speed_range", &mut read.reward_speed_range)?;
        fields.flag("normalize_reward", &mut read.normalize_reward)?;
        fields.flag("offroad_terminal", &mut read.offroad_terminal)?;
        let width = read.arrived_reward - read.collision_reward;
        if read.normalize_reward && width.abs() < 1e-9 {
            let wanted = "other than `collision_reward`, which it is scaled against";
            return Err(fields.bad("arrived_reward", &read.arrived_reward.into(), wanted));
        }
        Ok(read)
    }

    /// Puts a car on a random approach with a random route, unless chance or another car is
    /// against it.
    fn spawn(
        &self,
        newcomer: &Newcomer,
        task: &Task,
        simulation: &mut Simulation,
        random: &mut Generator,
    ) {
        if random.random() > newcomer.probability {
            return;
        }
        let [from, other] = random.choose_two(4);
        let to = if newcomer.goes_straight { (from + 2) % 4 } else { other };
        let along = newcomer.along + 5.0 + random.standard_normal() * newcomer.position_deviation;
        let speed = 8.0 + random.standard_normal() * newcomer.speed_deviation;
        let network = &task.network;
        let Some(approach) = network.find_lane(OUTER[from as usize], INNER[from as usize], 0)
        else {
            return;
        };
        let lane = network.lane(approach);
        let position = lane.position(along, 0.0);
        let in_the_way = |car: &Vehicle| norm(car.x - position[0], car.y - position[1]) < 15.0;
        if simulation.vehicles.iter().any(in_the_way) {
            return;
        }
        let mut car = Vehicle::new(network, Driver::Idm, position, lane.heading_at(along), speed);
        car.route = plan(network, &car, OUTER[to as usize]);
        car.exponent = random.uniform(3.5, 4.5);
        simulation.vehicles.push(car);
    }

    /// How far a car is down an exit, if it is on one \[m\].
    fn down_the_exit(car: &Vehicle, network: &Network) -> Option<f64> {
        let (from, to, _) = network.lane_name(car.lane);
        (from.starts_with("il") && to.starts_with('o')).then_some(car.along)
    }
}

fn plan(network: &Network, car: &Vehicle, destination: &str) -> Route {
    network.node(destination).map_or(Route::default(), |node| Route::plan(network, car.lane, node))
}

/// Nodes are named as upstream names them: `o`uter or `i`nner `r`ight and `l`eft, then the
/// side: 0 south, 1 west, 2 north, 3 east.
fn road() -> NetworkBuilder {
    let mut builder = NetworkBuilder::default();
    for corner in 0..4_u32 {
        let angle = f64::from(90 * corner).to_radians();
        let (sin, cos) = angle.sin_cos();
        let turned = |x: f64, y: f64| [cos * x - sin * y, sin * x + cos * y];
        let priority = if corner % 2 == 1 { 3 } else { 1 };
        let with = |lane: Lane, priority: i32| Lane { priority, speed_limit: SPEED_LIMIT, ..lane };
        let side = |offset: u32| (corner + offset) % 4;
        let (half, outer) = (LANE_WIDTH / 2.0, OUTER_DISTANCE);
        let (inner, approach) = (format!("ir{corner}"), format!("o{corner}"));
        let incoming = Lane::straight(turned(half, ACCESS_LENGTH + outer), turned(half, outer));
        builder.add_lane(&approach, &inner, with(incoming, priority));
        let quarter = |turns: i32| angle + f64::from(90 * turns).to_radians();
        let right =
            Lane::circular(turned(outer, outer), RIGHT_TURN_RADIUS, quarter(2), quarter(3), true);
        builder.add_lane(&inner, &format!("il{}", side(3)), with(right, priority));
        let left = Lane::circular(
            turned(-LEFT_TURN_RADIUS + half, LEFT_TURN_RADIUS - half),
            LEFT_TURN_RADIUS,
            quarter(0),
            quarter(-1),
            false,
        );
        builder.add_lane(&inner, &format!("il{}", side(1)), with(left, priority - 1));
        let straight = Lane::straight(turned(half, outer), turned(half, -outer));
        builder.add_lane(&inner, &format!("il{}", side(2)), with(straight, priority));
        let exit = Lane::straight(turned(outer, half), turned(ACCESS_LENGTH + outer, half));
        let (from, to) = (format!("il{}", side(3)), format!("o{}", side(3)));
        builder.add_lane(&from, &to, with(exit, priority));
    }
    builder
}

impl TaskRules for Intersection {
    fn defaults(&self) -> Defaults {
        Defaults {
            observation: json!({
                "type": "Kinematics",
                "vehicles_count": 15,
                "features": ["presence", "x", "y", "vx", "vy", "cos_h", "sin_h"],
                "features_range": {
                    "x": [-100, 100], "y": [-100, 100], "vx": [-20, 20], "vy": [-20, 20],
                },
                "absolute": true,
            }),
            action: json!({
                "type": "DiscreteMetaAction",
                "longitudinal": true,
                "lateral": false,
                "target_speeds": [0, 4.5, 9],
            }),
            window: Window { scaling: 5.5 * 1.3, center: [0.5, 0.6], ..Window::SQUARE },
            ..Defaults::default()
        }
    }

    fn network(&self) -> Arc<Network> {
        static ROAD: OnceLock<Arc<Network>> = OnceLock::new();
        Arc::clone(ROAD.get_or_init(|| Arc::new(road().compile())))
    }

    fn parameters(&self) -> DriverParameters {
        DriverParameters {
            jam_distance: 7.0,
            comfort_acceleration: 6.0,
            comfort_braking: 3.0,
            ..DriverParameters::default()
        }
    }

    fn is_regulated(&self) -> bool {
        true
    }

    fn populate(&self, task: &Task, simulation: &mut Simulation, random: &mut Generator) {
        let first_cars = self.initial_vehicle_count.saturating_sub(1);
        let spread = 80.0 / first_cars.max(1) as f64;
        let mut newcomer = Newcomer {
            along: 0.0,
            position_deviation: 1.0,
            speed_deviation: 1.0,
            probability: FIRST_SPAWN_PROBABILITY,
            goes_straight: false,
        };
        for place in 0..first_cars {
            newcomer.along = place as f64 * spread;
            self.spawn(&newcomer, task, simulation, random);
        }
        let frames_per_second = (1.0 / task.frame_time).round() as usize;
        for _ in 0..WARM_UP * frames_per_second {
            simulation.frame(task);
        }
        let challenger = Newcomer {
            along: 60.0,
            position_deviation: 0.1,
            speed_deviation: 0.0,
            probability: 1.0,
            goes_straight: true,
        };
        self.spawn(&challenger, task, simulation, random);

        let network = &task.network;
        let destination = match &self.destination {
            Some(name) => name.as_str(),
            None => OUTER[random.integers(1, 4) as usize],
        };
        let along = 60.0 + 5.0 * random.normal(1.0);
        let Some(approach) = network.find_lane("o0", "ir0", 0) else { return };
        let lane = network.lane(approach);
        let mut ego = task.make_ego(lane.position(along, 0.0), lane.heading_at(60.0), SPEED_LIMIT);
        if matches!(task.controls, Controls::Meta { .. }) {
            ego.route = plan(network, &ego, destination);
        }
        simulation.vehicles.retain(|car| norm(car.x - ego.x, car.y - ego.y) >= 20.0);
        simulation.ego = simulation.vehicles.len();
        simulation.vehicles.push(ego);
    }

    fn reward(&self, view: &View<'_>, _: Action<'_>) -> Reward {
        let ego = view.ego();
        let flag = |fact: bool| f64::from(u8::from(fact));
        let speed = share_of(ego.speed, self.reward_speed_range).clamp(0.0, 1.0);
        let arrived = self.has_arrived(view) == Some(true);
        let on_road = flag(ego.on_road(view.network));
        let driving = self.collision_reward * flag(ego.crashed)
            + self.high_speed_reward * speed
            + self.arrived_reward * flag(arrived);
        let mut total = if arrived { self.arrived_reward } else { driving };
        total *= on_road;
        if self.normalize_reward {
            total = lerp_between(total, [self.collision_reward, self.arrived_reward], [0.0, 1.0]);
        }
        Reward {
            total,
            terms: [
                ("collision_reward", flag(ego.crashed)),
                ("high_speed_reward", speed),
                ("arrived_reward", flag(arrived)),
                ("on_road_reward", on_road),
                ("", 0.0),
            ],
        }
    }

    fn is_terminated(&self, view: &View<'_>) -> bool {
        let ego = view.ego();
        ego.crashed
            || self.has_arrived(view) == Some(true)
            || self.offroad_terminal && !ego.on_road(view.network)
    }

    fn is_truncated(&self, time: f64) -> bool {
        time >= self.duration
    }

    /// Cars at the end of an exit leave, and another may appear.
    fn after_step(&self, task: &Task, simulation: &mut Simulation, random: &mut Generator) {
        let network = &task.network;
        let leaves = |car: &Vehicle| {
            Intersection::down_the_exit(car, network)
                .is_some_and(|along| along >= network.lane(car.lane).length - 4.0 * LENGTH)
        };
        simulation.retain_others(|car| !leaves(car));
        let newcomer = Newcomer {
            along: 0.0,
            position_deviation: 1.0,
            speed_deviation: 1.0,
            probability: simulation.spawn_probability.unwrap_or(self.spawn_probability),
            goes_straight: false,
        };
        self.spawn(&newcomer, task, simulation, random);
    }

    fn has_arrived(&self, view: &View<'_>) -> Option<bool> {
        let along = Intersection::down_the_exit(view.ego(), view.network);
        Some(along.is_some_and(|along| along >= ARRIVED_AFTER))
    }
}
