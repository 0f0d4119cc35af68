//! # `highway-v0`, `highway-fast-v0`
//!
//! ## Description
//! The ego drives on a straight highway among slower cars. It is rewarded for speed, for keeping
//! right and for not crashing. `highway-fast-v0` is the same with fewer cars and lanes, a third of
//! the frames, and collisions looked for by the ego alone.
//!
//! ## Action Space
//! `Discrete(5)`: lane left, idle, lane right, faster, slower. The speeds to hold are 20, 25 and
//! 30 m/s. Any other action type can be configured.
//!
//! ## Observation Space
//! `Box(5, 5)`: presence, x, y, vx, vy of the ego and the four nearest cars that are not far
//! behind, relative to the ego and scaled to [-1, 1].
//!
//! ## Rewards
//! `collision_reward` if crashed, plus `right_lane_reward` by how far right, plus
//! `high_speed_reward` by speed within `reward_speed_range`; scaled to [0, 1] with
//! `normalize_reward`; zero off the road.
//!
//! ## Starting State
//! The ego at 25 m/s on a random lane, then the other cars one after the other ahead of it, on
//! random lanes, at 21 to 24 m/s, spaced by `vehicles_density`.
//!
//! ## Episode End
//! Terminated by a crash (with `offroad_terminal` also off the road), truncated after `duration`
//! seconds.
//!
//! ## Arguments
//! The fields of [`Highway`], by upstream's names.
//!
//! ## Version History
//! As highway-env 1.12.1.

use std::sync::Arc;

use super::{Defaults, Reward, Task, TaskRules, above_zero, any, share_of};
use crate::action::Action;
use crate::arith::lerp_between;
use crate::fields::{ConfigError, Fields};
use crate::lane::Lane;
use crate::observation::View;
use crate::random::Generator;
use crate::road::{LaneId, Network, NetworkBuilder};
use crate::simulation::Simulation;
use crate::vehicle::{Driver, Vehicle};

/// Length of the road \[m\].
const ROAD_LENGTH: f64 = 10_000.0;
/// Speed limit of every lane \[m/s\].
const SPEED_LIMIT: f64 = 30.0;
/// Speed at which the ego starts \[m/s\].
const EGO_SPEED: f64 = 25.0;

/// The highway's config.
#[derive(Clone, Debug, PartialEq)]
pub struct Highway {
    /// Lanes side by side.
    pub lanes_count: usize,
    /// Other cars.
    pub vehicles_count: usize,
    /// The ego's first lane; random if not set.
    pub initial_lane_id: Option<usize>,
    /// Length of an episode \[s\].
    pub duration: f64,
    /// Room between the ego and the first car, relative to the usual.
    pub ego_spacing: f64,
    /// Density of the other cars, relative to the usual.
    pub vehicles_density: f64,
    /// Reward of a crash.
    pub collision_reward: f64,
    /// Reward of the rightmost lane.
    pub right_lane_reward: f64,
    /// Reward of full speed.
    pub high_speed_reward: f64,
    /// The speeds that earn none and all of that \[m/s\].
    pub reward_speed_range: [f64; 2],
    /// Whether rewards are scaled to [0, 1].
    pub normalize_reward: bool,
    /// Whether leaving the road ends the episode.
    pub offroad_terminal: bool,
    /// Whether this is `highway-fast-v0`.
    pub fast: bool,
}

impl Highway {
    pub(super) fn read(fields: &mut Fields) -> Result<Highway, ConfigError> {
        Highway::read_as(fields, false)
    }

    pub(super) fn read_fast(fields: &mut Fields) -> Result<Highway, ConfigError> {
        Highway::read_as(fields, true)
    }

    fn read_as(fields: &mut Fields, fast: bool) -> Result<Highway, ConfigError> {
        let mut read = Highway {
            lanes_count: if fast { 3 } else { 4 },
            vehicles_count: if fast { 20 } else { 50 },
            initial_lane_id: None,
            duration: if fast { 30.0 } else { 40.0 },
            ego_spacing: if fast { 1.5 } else { 2.0 },
            vehicles_density: 1.0,
            collision_reward: -1.0,
            right_lane_reward: 0.1,
            high_speed_reward: 0.4,
            reward_speed_range: [20.0, 30.0],
            normalize_reward: true,
            offroad_terminal: false,
            fast,
        };
        fields.count("lanes_count", &mut read.lanes_count, 1..=100)?;
        fields.count("vehicles_count", &mut read.vehicles_count, 0..=1000)?;
        let mut egos = 1;
        fields.count("controlled_vehicles", &mut egos, 1..=1)?;
        if let Some(value) = fields.take("initial_lane_id").filter(|value| !value.is_null()) {
            let lane = value.as_u64().map(|lane| lane as usize);
            let wanted = format!("null or a lane from 0 to {}", read.lanes_count - 1);
            let lane = lane.filter(|lane| *lane < read.lanes_count);
            let lane = lane.ok_or_else(|| fields.bad("initial_lane_id", &value, &wanted))?;
            read.initial_lane_id = Some(lane);
        }
        fields.number("duration", &mut read.duration, "seconds above zero", above_zero)?;
        fields.number("ego_spacing", &mut read.ego_spacing, "above zero", above_zero)?;
        fields.number("vehicles_density", &mut read.vehicles_density, "above zero", above_zero)?;
        fields.number("collision_reward", &mut read.collision_reward, "a number", any)?;
        fields.number("right_lane_reward", &mut read.right_lane_reward, "a number", any)?;
        fields.number("high_speed_reward", &mut read.high_speed_reward, "a number", any)?;
        fields.ignore(&["lane_change_reward"]);
        fields.range("reward_speed_range", &mut read.reward_speed_range)?;
        fields.flag("normalize_reward", &mut read.normalize_reward)?;
        fields.flag("offroad_terminal", &mut read.offroad_terminal)?;
        let best = read.high_speed_reward + read.right_lane_reward;
        if read.normalize_reward && (read.collision_reward - best).abs() < 1e-9 {
            let wanted = "other than the best reward, which it is scaled against";
            return Err(fields.bad("collision_reward", &read.collision_reward.into(), wanted));
        }
        if read.furthest_start() > ROAD_LENGTH {
            let wanted = format!("few enough to fit on {ROAD_LENGTH} m at this density");
            return Err(fields.bad("vehicles_count", &read.vehicles_count.into(), &wanted));
        }
        Ok(read)
    }

    /// Room that a car at this speed is given \[m\].
    fn room(&self, spacing: f64, speed: f64) -> f64 {
        spacing * (12.0 + 1.0 * speed) * (-5.0 / 40.0 * self.lanes_count as f64).exp()
    }

    /// The furthest that the last car could start \[m\].
    fn furthest_start(&self) -> f64 {
        let ego = 4.1 * self.room(self.ego_spacing, EGO_SPEED);
        let each = 1.1 * self.room(1.0 / self.vehicles_density, 0.8 * SPEED_LIMIT);
        ego + self.vehicles_count as f64 * each
    }
}

impl TaskRules for Highway {
    fn defaults(&self) -> Defaults {
        let simulation_frequency = if self.fast { 5 } else { 15 };
        Defaults { simulation_frequency, ..Defaults::default() }
    }

    fn network(&self) -> Arc<Network> {
        let mut builder = NetworkBuilder::default();
        for lane in 0..self.lanes_count {
            let y = lane as f64 * 4.0;
            let lane = Lane::straight([0.0, y], [ROAD_LENGTH, y]);
            builder.add_lane("0", "1", Lane { speed_limit: SPEED_LIMIT, ..lane });
        }
        Arc::new(builder.compile())
    }

    fn populate(&self, task: &Task, simulation: &mut Simulation, random: &mut Generator) {
        let network = &task.network;
        let pick_lane = |random: &mut Generator, fixed: Option<usize>| {
            LaneId(fixed.unwrap_or_else(|| random.choice(self.lanes_count)) as u16)
        };
        let lane = network.lane(pick_lane(random, self.initial_lane_id));
        let room = self.room(self.ego_spacing, EGO_SPEED);
        let mut front = 3.0 * room;
        front += room * random.uniform(0.9, 1.1);
        let ego = task.make_ego(lane.position(front, 0.0), lane.heading_at(front), EGO_SPEED);
        simulation.ego = 0;
        simulation.vehicles.push(ego);
        for _ in 0..self.vehicles_count {
            let id = pick_lane(random, None);
            let lane = network.lane(id);
            let speed = random.uniform(0.7 * lane.speed_limit, 0.8 * lane.speed_limit);
            let room = self.room(1.0 / self.vehicles_density, speed);
            // Every car starts ahead of all others, so the last one's place is the furthest.
            front += room * random.uniform(0.9, 1.1);
            let position = lane.position(front, 0.0);
            let mut car =
                Vehicle::new(network, Driver::Idm, position, lane.heading_at(front), speed);
            car.exponent = random.uniform(3.5, 4.5);
            car.checks_collisions = !self.fast;
            simulation.vehicles.push(car);
        }
    }

    fn reward(&self, view: &View<'_>, _: Action<'_>) -> Reward {
        let ego = view.ego();
        let network = view.network;
        let lane = if ego.driver == Driver::Raw { ego.lane } else { ego.target_lane };
        let side_lanes = network.lane_count(network.road_of(ego.lane));
        let right = network.lane_offset(lane) as f64 / side_lanes.saturating_sub(1).max(1) as f64;
        let speed = share_of(ego.speed * ego.cos, self.reward_speed_range).clamp(0.0, 1.0);
        let crashed = f64::from(u8::from(ego.crashed));
        let on_road = f64::from(u8::from(ego.on_road(network)));
        let mut total = self.collision_reward * crashed
            + self.right_lane_reward * right
            + self.high_speed_reward * speed;
        if self.normalize_reward {
            let best = self.high_speed_reward + self.right_lane_reward;
            total = lerp_between(total, [self.collision_reward, best], [0.0, 1.0]);
        }
        Reward {
            total: total * on_road,
            terms: [
                ("collision_reward", crashed),
                ("right_lane_reward", right),
                ("high_speed_reward", speed),
                ("on_road_reward", on_road),
                ("", 0.0),
            ],
        }
    }

    fn is_terminated(&self, view: &View<'_>) -> bool {
        let ego = view.ego();
        ego.crashed || self.offroad_terminal && !ego.on_road(view.network)
    }

    fn is_truncated(&self, time: f64) -> bool {
        time >= self.duration
    }
}
