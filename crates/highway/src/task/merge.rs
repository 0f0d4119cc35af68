//! # `merge-v0`, `merge-v1`
//!
//! ## Description
//! The ego drives on a two-lane highway; a car comes in on a ramp whose lane ends. The ego is
//! rewarded for speed, for keeping right, and for letting the other in. In `merge-v1` drivers also
//! see cars on the lanes before and after their own.
//!
//! ## Action Space
//! `Discrete(5)`: lane left, idle, lane right, faster, slower. The speeds to hold are 20, 25 and
//! 30 m/s.
//!
//! ## Observation Space
//! `Box(5, 5)`: presence, x, y, vx, vy of the ego and the four nearest bodies that are not far
//! behind, the end of the ramp among them.
//!
//! ## Rewards
//! `collision_reward` if crashed, plus `right_lane_reward` times the lane's number, plus
//! `high_speed_reward` by speed, plus `lane_change_reward` for asking for a lane change, plus
//! `merging_speed_reward` by how far cars on the merging lane are slowed down; scaled to [0, 1].
//!
//! ## Starting State
//! The ego at 30 m/s on the right lane, three cars around it on random lanes, one on the ramp.
//!
//! ## Episode End
//! Terminated by a crash or 370 m from the start. Never truncated.
//!
//! ## Arguments
//! The fields of [`Merge`], by upstream's names.
//!
//! ## Version History
//! As highway-env 1.12.1; v1 is its correction of the neighbour search.

use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::{Arc, OnceLock};

use super::{Defaults, Reward, Task, TaskRules, any, share_of};
use crate::action::Action;
use crate::arith::lerp_between;
use crate::fields::{ConfigError, Fields};
use crate::lane::Lane;
use crate::neighbours::Obstacle;
use crate::observation::View;
use crate::random::Generator;
use crate::road::{Network, NetworkBuilder};
use crate::simulation::Simulation;
use crate::vehicle::{Driver, Vehicle};

/// Lengths of the road before the ramp converges, along it, along the merge, and after \[m\].
const SECTIONS: [f64; 4] = [150.0, 80.0, 80.0, 150.0];
/// Where the episode ends \[m\].
const FINISH: f64 = 370.0;
/// How far the ramp swings \[m\].
const AMPLITUDE: f64 = 3.25;

/// The merge's config.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// Reward of a crash.
    pub collision_reward: f64,
    /// Reward of the right lane.
    pub right_lane_reward: f64,
    /// Reward of full speed.
    pub high_speed_reward: f64,
    /// The speeds that earn none and all of that \[m/s\].
    pub reward_speed_range: [f64; 2],
    /// Reward of a stopped car on the merging lane.
    pub merging_speed_reward: f64,
    /// Reward of asking for a lane change.
    pub lane_change_reward: f64,
}

impl Merge {
    pub(super) fn read(fields: &mut Fields) -> Result<Merge, ConfigError> {
        let mut read = Merge {
            collision_reward: -1.0,
            right_lane_reward: 0.1,
            high_speed_reward: 0.2,
            reward_speed_range: [20.0, 30.0],
            merging_speed_reward: -0.5,
            lane_change_reward: -0.05,
        };
        fields.number("collision_reward", &mut read.collision_reward, "a number", any)?;
        fields.number("right_lane_reward", &mut read.right_lane_reward, "a number", any)?;
        fields.number("high_speed_reward", &mut read.high_speed_reward, "a number", any)?;
        fields.range("reward_speed_range", &mut read.reward_speed_range)?;
        fields.number("merging_speed_reward", &mut read.merging_speed_reward, "a number", any)?;
        fields.number("lane_change_reward", &mut read.lane_change_reward, "a number", any)?;
        let worst = read.collision_reward + read.merging_speed_reward;
        let best = read.high_speed_reward + read.right_lane_reward;
        if (worst - best).abs() < 1e-9 {
            let wanted = "such that the worst reward differs from the best";
            return Err(fields.bad("collision_reward", &read.collision_reward.into(), wanted));
        }
        Ok(read)
    }

    /// The ramp's three lanes: straight, swinging towards the highway, and alongside it.
    fn ramp() -> [Lane; 3] {
        let [before, converging, merging, _] = SECTIONS;
        let forbidden = |lane: Lane| Lane { forbidden: true, ..lane };
        let y = 6.5 + 4.0 + 4.0;
        let approach = forbidden(Lane::straight([0.0, y], [before, y]));
        let swing = forbidden(Lane::sine(
            approach.position(before, -AMPLITUDE),
            approach.position(before + converging, -AMPLITUDE),
            AMPLITUDE,
            2.0 * PI / (2.0 * converging),
            FRAC_PI_2,
        ));
        let [x, y] = swing.position(converging, 0.0);
        let alongside = forbidden(Lane::straight([x, y], [x + merging, y]));
        [approach, swing, alongside]
    }
}

/// The road, which no key of the config changes.
fn road() -> NetworkBuilder {
    let mut builder = NetworkBuilder::default();
    let [before, converging, merging, after] = SECTIONS;
    let stops = [0.0, before + converging, before + converging + merging];
    let end = before + converging + merging + after;
    for y in [0.0, 4.0] {
        builder.add_lane("a", "b", Lane::straight([stops[0], y], [stops[1], y]));
        builder.add_lane("b", "c", Lane::straight([stops[1], y], [stops[2], y]));
        builder.add_lane("c", "d", Lane::straight([stops[2], y], [end, y]));
    }
    let [approach, swing, alongside] = Merge::ramp();
    builder.add_lane("j", "k", approach);
    builder.add_lane("k", "b", swing);
    builder.add_lane("b", "c", alongside);
    builder
}

impl TaskRules for Merge {
    fn defaults(&self) -> Defaults {
        Defaults::default()
    }

    fn network(&self) -> Arc<Network> {
        static ROAD: OnceLock<Arc<Network>> = OnceLock::new();
        Arc::clone(ROAD.get_or_init(|| Arc::new(road().compile())))
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        let [_, _, alongside] = Merge::ramp();
        vec![Obstacle { position: alongside.position(SECTIONS[2], 0.0) }]
    }

    fn populate(&self, task: &Task, simulation: &mut Simulation, random: &mut Generator) {
        let network = &task.network;
        // Upstream places these cars by lane but points them along x, which is the same here.
        let place = |road: (&str, &str), lane: usize, along: f64| {
            network
                .find_lane(road.0, road.1, lane)
                .map_or([0.0, 0.0], |id| network.lane(id).position(along, 0.0))
        };
        simulation.ego = 0;
        simulation.vehicles.push(task.make_ego(place(("a", "b"), 1, 30.0), 0.0, 30.0));
        for (along, speed) in [(90.0, 29.0), (70.0, 31.0), (5.0, 31.5)] {
            let lane = random.integers(0, 2) as usize;
            let position = place(("a", "b"), lane, along + random.uniform(-5.0, 5.0));
            let speed = speed + random.uniform(-1.0, 1.0);
            simulation.vehicles.push(Vehicle::new(network, Driver::Idm, position, 0.0, speed));
        }
        let ramp = place(("j", "k"), 0, 110.0);
        let mut merging = Vehicle::new(network, Driver::Idm, ramp, 0.0, 20.0);
        merging.target_speed = 30.0;
        simulation.vehicles.push(merging);
    }

    fn reward(&self, view: &View<'_>, action: Action<'_>) -> Reward {
        let ego = view.ego();
        let network = view.network;
        let slowed: f64 = view
            .vehicles
            .iter()
            .filter(|car| network.lane(car.lane).forbidden && car.target_speed != 0.0)
            .filter(|car| network.lane_name(car.lane) == ("b", "c", 2))
            .map(|car| (car.target_speed - car.speed) / car.target_speed)
            .sum();
        let crashed = f64::from(u8::from(ego.crashed));
        let right = network.lane_offset(ego.lane) as f64;
        let speed = share_of(ego.speed, self.reward_speed_range);
        // Upstream compares the action with the lane changes' numbers, whatever its kind.
        let lane_change = f64::from(u8::from(matches!(action, Action::Index(0 | 2))));
        let total = self.collision_reward * crashed
            + self.right_lane_reward * right
            + self.high_speed_reward * speed
            + self.lane_change_reward * lane_change
            + self.merging_speed_reward * slowed;
        let worst = self.collision_reward + self.merging_speed_reward;
        let best = self.high_speed_reward + self.right_lane_reward;
        Reward {
            total: lerp_between(total, [worst, best], [0.0, 1.0]),
            terms: [
                ("collision_reward", crashed),
                ("right_lane_reward", right),
                ("high_speed_reward", speed),
                ("lane_change_reward", lane_change),
                ("merging_speed_reward", slowed),
            ],
        }
    }

    fn is_terminated(&self, view: &View<'_>) -> bool {
        view.ego().crashed || view.ego().x > FINISH
    }

    fn is_truncated(&self, _: f64) -> bool {
        false
    }

    fn has_arrived(&self, view: &View<'_>) -> Option<bool> {
        Some(!view.ego().crashed && view.ego().x > FINISH)
    }
}
