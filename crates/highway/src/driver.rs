//! What would this driver do next?
//!
//! Two controllers that hold a lane and a speed ([`steer_along`], [`hold_speed`]) and the
//! intelligent driver model of other traffic ([`Model::acceleration`]). Lane changes are decided
//! next door, in `mobil.rs`.
//!
//! **Invariant:** nothing here reads the random generator or changes another car.

use std::f64::consts::FRAC_PI_4;

use crate::arith::{not_zero, wrap_to_pi};
use crate::lane::{Lane, Shape};
use crate::power::power;
use crate::road::{LaneId, Network};
use crate::trig::asin;
use crate::vehicle::{LENGTH, Vehicle};

/// Gain of the speed controller \[1/s\].
pub const SPEED_GAIN: f64 = 1.0 / 0.6;
/// Gain from heading error to heading rate \[1/s\].
pub const HEADING_GAIN: f64 = 1.0 / 0.2;
/// Gain from lateral error to lateral speed \[1/s\].
pub const LATERAL_GAIN: f64 = 1.0 / 0.6;
/// How far ahead in time the lane's heading is looked up \[s\].
const PURSUIT_TIME: f64 = 0.5 * 0.2;
/// Tangent of the slip angle at the steering limit of 60 degrees: half of tan(60°).
const SLIP_TAN_MAX: f64 = 0.866_025_403_784_438_6;

/// Steers a car towards the middle of a lane: a lateral controller over a heading controller.
#[inline]
pub fn steer_along(vehicle: &mut Vehicle, id: LaneId, network: &Network) {
    let lane = network.lane(id);
    let (longitudinal, lateral) = vehicle.coordinates_on(id, network);
    if let Shape::Straight { heading, .. } = lane.shape
        && lateral == 0.0
        && vehicle.heading == heading
    {
        // Dead straight in its lane: every term below is zero.
        (vehicle.slip_sin, vehicle.slip_cos) = (0.0, 1.0);
        return;
    }
    let lane_heading = lane.heading_at(longitudinal + vehicle.speed * PURSUIT_TIME);
    let divisor = not_zero(vehicle.speed);
    let lateral_speed = -LATERAL_GAIN * lateral;
    let approach = asin((lateral_speed / divisor).clamp(-1.0, 1.0)).clamp(-FRAC_PI_4, FRAC_PI_4);
    let heading_rate = HEADING_GAIN * wrap_to_pi(lane_heading + approach - vehicle.heading);
    let slip_sin = (LENGTH / 2.0 / divisor * heading_rate).clamp(-1.0, 1.0);
    // Upstream turns the slip angle into a steering angle, limits that, and turns it back. The
    // two conversions undo each other, so only the limit is left.
    let slip_cos = (1.0 - slip_sin * slip_sin).sqrt();
    if slip_sin.abs() > SLIP_TAN_MAX * slip_cos {
        vehicle.slip_cos = 1.0 / (1.0 + SLIP_TAN_MAX * SLIP_TAN_MAX).sqrt();
        vehicle.slip_sin = (SLIP_TAN_MAX * vehicle.slip_cos).copysign(slip_sin);
    } else {
        (vehicle.slip_sin, vehicle.slip_cos) = (slip_sin, slip_cos);
    }
}

/// Accelerates a car towards its target speed.
#[inline]
pub fn hold_speed(vehicle: &mut Vehicle) {
    vehicle.acceleration = SPEED_GAIN * (vehicle.target_speed - vehicle.speed);
}

/// Switches to the next lane once the one aimed for ends.
#[inline(always)]
pub fn follow_road(vehicle: &mut Vehicle, network: &Network) {
    let (along, _) = vehicle.coordinates_on(vehicle.target_lane, network);
    if network.lane(vehicle.target_lane).is_after_end(along) {
        let position = vehicle.position();
        vehicle.target_lane = network.next_lane(vehicle.target_lane, &mut vehicle.route, position);
    }
}

/// How traffic drives: the parameters of the intelligent driver model (IDM) and of MOBIL.
///
/// The same for all cars of a world; a car's own [`Vehicle::exponent`] is what tells drivers
/// apart. Drift changes them in mid-episode, through [`crate::World::disturb`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverParameters {
    /// Hardest acceleration or braking \[m/s²\].
    pub acceleration_limit: f64,
    /// Acceleration a driver likes \[m/s²\].
    pub comfort_acceleration: f64,
    /// Braking a driver likes, above zero \[m/s²\].
    pub comfort_braking: f64,
    /// Distance kept in a jam, centre to centre \[m\].
    pub jam_distance: f64,
    /// Time gap kept to the car ahead \[s\].
    pub headway: f64,
    /// Weight of others' accelerations in a lane change, in [0, 1].
    pub politeness: f64,
    /// Acceleration that a lane change has to gain \[m/s²\].
    pub lane_change_gain: f64,
    /// Braking that a lane change may impose on the car behind, above zero \[m/s²\].
    pub imposed_braking: f64,
    /// Time between two thoughts of changing lane \[s\].
    pub lane_change_delay: f64,
}

impl Default for DriverParameters {
    fn default() -> DriverParameters {
        DriverParameters {
            acceleration_limit: 6.0,
            comfort_acceleration: 3.0,
            comfort_braking: 5.0,
            jam_distance: 5.0 + LENGTH,
            headway: 1.5,
            politeness: 0.0,
            lane_change_gain: 0.2,
            imposed_braking: 2.0,
            lane_change_delay: 1.0,
        }
    }
}

impl DriverParameters {
    /// The driver model with these numbers.
    pub fn model(self) -> Model {
        let comfort = (self.comfort_acceleration * self.comfort_braking).sqrt();
        Model { parameters: self, closing_weight: 1.0 / (2.0 * comfort) }
    }
}

/// The intelligent driver model with what follows from its parameters worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The numbers.
    pub parameters: DriverParameters,
    /// By how much a closing speed widens the gap, per unit of speed \[s²/m\].
    closing_weight: f64,
}

/// The car or obstacle ahead, as far as following it is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Leader {
    /// Centre \[m\].
    pub position: [f64; 2],
    /// Velocity \[m/s\].
    pub velocity: [f64; 2],
}

impl Model {
    /// The acceleration \[m/s²\] that the model gives `follower` behind `leader`.
    ///
    /// The exponent is that of whoever asks: a driver judges others by its own habits.
    pub fn acceleration(
        &self,
        follower: &Vehicle,
        exponent: f64,
        leader: Option<Leader>,
        network: &Network,
    ) -> f64 {
        let lane = network.lane(follower.lane);
        let free = self.free_acceleration(power(speed_ratio(follower, lane), exponent));
        free - leader.map_or(0.0, |leader| self.interaction(follower, &leader, lane))
    }

    /// The acceleration \[m/s²\] on an empty road, from the speed ratio's power.
    #[inline]
    pub fn free_acceleration(&self, ratio_power: f64) -> f64 {
        self.parameters.comfort_acceleration * (1.0 - ratio_power)
    }

    /// What a car ahead takes off that \[m/s²\].
    #[inline]
    pub fn interaction(&self, vehicle: &Vehicle, leader: &Leader, lane: &Lane) -> f64 {
        let distance = vehicle.distance_along(lane, leader.position);
        let ratio = self.desired_gap(vehicle, leader) / not_zero(distance);
        self.parameters.comfort_acceleration * (ratio * ratio)
    }

    /// The gap \[m\] that a driver wants to a car ahead.
    #[inline]
    pub fn desired_gap(&self, vehicle: &Vehicle, leader: &Leader) -> f64 {
        let [vx, vy] = vehicle.velocity();
        let closing =
            (vx - leader.velocity[0]) * vehicle.cos + (vy - leader.velocity[1]) * vehicle.sin;
        self.parameters.jam_distance
            + vehicle.speed * self.parameters.headway
            + vehicle.speed * closing * self.closing_weight
    }
}

/// Speed relative to the speed aimed for within the lane's limit.
#[inline]
pub fn speed_ratio(vehicle: &Vehicle, lane: &Lane) -> f64 {
    let target = vehicle.target_speed.clamp(0.0, lane.speed_limit);
    vehicle.speed.max(0.0) / not_zero(target).abs()
}
