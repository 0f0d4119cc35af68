//! Should this driver change lane?
//!
//! MOBIL: change if it gains the driver enough acceleration and makes the car behind brake no
//! harder than is decent. A change under way is given up when somebody else is already moving
//! into the same lane just ahead. Start at [`consider_lane_change`].

use crate::driver::{Leader, Model};
use crate::neighbours::{Body, Traffic};
use crate::road::LaneId;
use crate::vehicle::{Driver, Vehicle};

/// Slowest speed at which a driver thinks of changing lane \[m/s\].
const LEAST_SPEED: f64 = 1.0;

/// What a driver decides about its lane: a new target, and whether its clock starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneChoice {
    /// The lane to aim for.
    pub(crate) target: LaneId,
    /// Whether the driver took the time to think.
    pub(crate) thought: bool,
}

/// Whether there is anything to decide: a change under way, or time to think of one.
#[inline]
pub(crate) fn is_due(vehicle: &Vehicle, model: &Model) -> bool {
    vehicle.lane != vehicle.target_lane || model.parameters.lane_change_delay < vehicle.timer
}

/// Decides on the lane of car `who`, for whom it [is due](is_due).
#[inline]
pub(crate) fn consider_lane_change(traffic: &Traffic<'_>, model: &Model, who: usize) -> LaneChoice {
    let vehicle = &traffic.vehicles[who];
    let unchanged = LaneChoice { target: vehicle.target_lane, thought: false };
    if vehicle.lane != vehicle.target_lane {
        return if must_give_up(traffic, model, who) {
            LaneChoice { target: vehicle.lane, thought: false }
        } else {
            unchanged
        };
    }
    let mut target = vehicle.target_lane;
    let network = traffic.network;
    for side in [network.left_of(vehicle.lane), network.right_of(vehicle.lane)] {
        let Some(side) = side else { continue };
        if network.lane(side).is_reachable_from(vehicle.position())
            && vehicle.speed.abs() >= LEAST_SPEED
            && is_worth_it(traffic, model, who, side, target)
        {
            target = side;
        }
    }
    LaneChoice { target, thought: true }
}

/// Whether another car is moving into the same lane within the gap this driver wants.
fn must_give_up(traffic: &Traffic<'_>, model: &Model, who: usize) -> bool {
    let vehicle = &traffic.vehicles[who];
    let network = traffic.network;
    if network.road_of(vehicle.lane) != network.road_of(vehicle.target_lane) {
        return false;
    }
    let lane = network.lane(vehicle.lane);
    traffic.vehicles.iter().enumerate().any(|(i, other)| {
        if other.target_lane != vehicle.target_lane
            || other.lane == vehicle.target_lane
            || i == who
            || other.driver == Driver::Raw
        {
            return false;
        }
        let leader = Leader { position: other.position(), velocity: other.velocity() };
        let distance = vehicle.distance_along(lane, leader.position);
        0.0 < distance && distance < model.desired_gap(vehicle, &leader)
    })
}

/// MOBIL's verdict on moving to `side`; `target` is the lane aimed for so far.
fn is_worth_it(
    traffic: &Traffic<'_>,
    model: &Model,
    who: usize,
    side: LaneId,
    target: LaneId,
) -> bool {
    let vehicle = &traffic.vehicles[who];
    let network = traffic.network;
    let exponent = vehicle.exponent;
    let own = Leader { position: vehicle.position(), velocity: vehicle.velocity() };
    // An obstacle or an empty road behind does not brake for anyone.
    let follower = |body: Option<Body>| match body {
        Some(Body::Vehicle(i)) => Some(&traffic.vehicles[i]),
        _ => None,
    };
    let acceleration = |follower: Option<&Vehicle>, leader: Option<Leader>| {
        follower.map_or(0.0, |car| model.acceleration(car, exponent, leader, network))
    };

    // Every condition has to hold and none has side effects, so the cheapest is asked first: what
    // this driver gains, in which its own free-road acceleration cancels out.
    let leader_on = |lane: LaneId| traffic.ahead(who, lane).map(|body| traffic.leader(body));
    let follower_on = |lane: LaneId| follower(traffic.behind(who, lane));
    let new_leader = leader_on(side);
    let imposed = || acceleration(follower_on(side), Some(own));
    if let Some(wanted) = vehicle.route.first().and_then(|leg| leg.lane) {
        let place = |lane: LaneId| network.lane_offset(lane) as i32;
        let towards = (place(side) - place(target)).signum();
        let needed = (i32::from(wanted) - place(target)).signum();
        return towards == needed
            && acceleration(Some(vehicle), new_leader) >= -model.parameters.imposed_braking
            && imposed() >= -model.parameters.imposed_braking;
    }
    let old_leader = leader_on(vehicle.lane);
    let lane = network.lane(vehicle.lane);
    let held_up_by = |leader: Option<Leader>| {
        leader.map_or(0.0, |leader| model.interaction(vehicle, &leader, lane))
    };
    let mut gain = held_up_by(old_leader) - held_up_by(new_leader);
    if model.parameters.politeness != 0.0 {
        let (old_behind, new_behind) = (follower_on(vehicle.lane), follower_on(side));
        let spared = acceleration(old_behind, old_leader) - acceleration(old_behind, Some(own));
        let burdened = imposed() - acceleration(new_behind, new_leader);
        gain += model.parameters.politeness * (burdened + spared);
    }
    gain >= model.parameters.lane_change_gain && imposed() >= -model.parameters.imposed_braking
}
