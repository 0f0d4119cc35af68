//! How does the ego carry out an action?
//!
//! [`obey`] turns an [`Action`] into a lane and a speed to aim for, or into raw controls. Its frames are
//! driven with everybody else's, in `simulation`.

use crate::action::{Action, Controls, Meta, Pedals};
use crate::driver::follow_road;
use crate::task::{Task, nearest_speed};
use crate::vehicle::Vehicle;

/// Gives the ego its orders for the coming frames. An action that the task does not have (see
/// [`Controls::check`]) changes nothing.
pub(crate) fn obey(task: &Task, ego: &mut Vehicle, action: Action<'_>) {
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
            let wanted = if meta == Meta::LaneLeft { place.saturating_sub(1) } else { place + 1 };
            let lane = network.lane_at_most(network.road_of(ego.target_lane), wanted);
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
