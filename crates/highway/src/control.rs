//! How does the ego carry out an action?
//!
//! [`obey`] turns an [`Action`] into a lane and a speed to aim for, or into raw controls;
//! [`drive_frame`] then moves the ego by one frame on its own, without other traffic, and [`drive_on`] one with
//! raw controls by several. The world uses the first; whoever predicts the ego uses the others too, and so
//! predicts exactly what the world would do to an ego that meets nobody.

use crate::action::{Action, Controls, Meta, Pedals};
use crate::driver::{follow_road, hold_speed, steer_along};
use crate::task::{Task, nearest_speed};
use crate::vehicle::{Driver, Vehicle};

/// Gives the ego its orders for the coming frames. An action that the task does not have (see
/// [`Controls::check`]) changes nothing.
pub fn obey(task: &Task, ego: &mut Vehicle, action: Action<'_>) {
    match (&task.controls, action) {
        (Controls::Meta { actions, target_speeds }, Action::Index(index)) => {
            if let Some(meta) = actions.get(index) {
                aim(task, ego, *meta, target_speeds);
            }
        }
        (Controls::Continuous(pedals), Action::Point(point)) => command(pedals, ego, point),
        (Controls::Discrete { pedals, points }, Action::Index(index)) => {
            if let Some(point) = points.get(index) {
                command(pedals, ego, point);
            }
        }
        _ => {}
    }
}

/// Moves the ego by one frame as its own controllers would, with nobody else on the road.
pub fn drive_frame(task: &Task, ego: &mut Vehicle) {
    let network = &task.network;
    if ego.driver != Driver::Raw {
        follow_road(ego, network);
        steer_along(ego, ego.target_lane, network);
        hold_speed(ego);
    }
    ego.advance(task.frame_time);
    ego.arrive(network.locate(ego.position(), ego.heading, ego.lane));
}

/// Moves an ego with raw controls by some frames, its controls unchanged. Which lane it is on is looked up at
/// their end only: that search is most of the time that such a frame takes.
pub fn drive_on(task: &Task, ego: &mut Vehicle, frames: usize) {
    for _ in 0..frames {
        ego.advance(task.frame_time);
    }
    ego.arrive(task.network.locate(ego.position(), ego.heading, ego.lane));
}

fn aim(task: &Task, ego: &mut Vehicle, meta: Meta, target_speeds: &[f64]) {
    let network = &task.network;
    match meta {
        Meta::Faster => {
            ego.aim_for_speed(nearest_speed(target_speeds, ego.speed) + 1, target_speeds);
            follow_road(ego, network);
        }
        Meta::Slower => {
            let place = nearest_speed(target_speeds, ego.speed);
            ego.aim_for_speed(place.saturating_sub(1), target_speeds);
            follow_road(ego, network);
        }
        Meta::Idle => follow_road(ego, network),
        Meta::LaneLeft | Meta::LaneRight => {
            follow_road(ego, network);
            let place = network.lane_offset(ego.target_lane);
            let wished = if meta == Meta::LaneLeft { place.saturating_sub(1) } else { place + 1 };
            let lane = network.lane_at_most(network.road_of(ego.target_lane), wished);
            if network.lane(lane).is_reachable_from(ego.position()) {
                ego.target_lane = lane;
            }
        }
    }
}

fn command(pedals: &Pedals, ego: &mut Vehicle, point: &[f32]) {
    if let Some(range) = pedals.speed_range {
        ego.speed_range = range;
    }
    let command = pedals.command(point);
    ego.acceleration = command.acceleration;
    ego.steer(command.steering);
}
