//! Who has to wait at the crossing?
//!
//! Twice a second every pair of cars is predicted three seconds ahead along its route. Where two
//! meet, the one of lower priority (or the one behind) gets a target speed of zero until the next
//! look finds its way clear. The ego is never made to wait.

use crate::arith::norm;
use crate::road::Network;
use crate::trig::sin_cos;
use crate::vehicle::{Driver, LENGTH, Vehicle, WIDTH};

/// Looks per second \[Hz\].
const FREQUENCY: f64 = 2.0;
/// Times at which positions are predicted: every quarter second up to, but not at, three \[s\].
const PREDICTIONS: usize = 11;
const PREDICTION_STEP: f64 = 0.25;

/// A predicted pose: centre \[m\] and heading \[rad\].
type Pose = ([f64; 2], f64);

/// Predicted poses, kept between looks so that a look allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Outlook {
    poses: Vec<[Pose; PREDICTIONS]>,
}

impl Default for Outlook {
    fn default() -> Outlook {
        Outlook { poses: Vec::with_capacity(64) }
    }
}

/// Whether a look is due at the road's step number `step` (from 1) with frames of `dt` \[s\].
pub(crate) fn is_due(step: u64, dt: f64) -> bool {
    let period = (1.0 / dt / FREQUENCY) as u64;
    // Below two frames a second upstream divides by zero; we look at every frame.
    period == 0 || step.is_multiple_of(period)
}

/// Releases the cars that waited, then finds conflicts and makes one car of each pair wait.
pub(crate) fn enforce(vehicles: &mut [Vehicle], network: &Network, outlook: &mut Outlook) {
    for vehicle in vehicles.iter_mut() {
        // Upstream's yield duration is zero: whoever yields is released at the next look.
        if std::mem::take(&mut vehicle.is_yielding) {
            vehicle.target_speed = network.lane(vehicle.lane).speed_limit;
        }
    }
    outlook.poses.clear();
    outlook.poses.extend(vehicles.iter().map(|vehicle| predict(vehicle, network)));
    for i in 0..vehicles.len() {
        for j in i + 1..vehicles.len() {
            if meet(&outlook.poses[i], &outlook.poses[j]) {
                let waiting =
                    if first_must_wait(&vehicles[i], &vehicles[j], network) { i } else { j };
                let vehicle = &mut vehicles[waiting];
                if vehicle.driver == Driver::Idm {
                    vehicle.target_speed = 0.0;
                    vehicle.is_yielding = true;
                }
            }
        }
    }
}

fn first_must_wait(first: &Vehicle, second: &Vehicle, network: &Network) -> bool {
    let priority = |vehicle: &Vehicle| network.lane(vehicle.lane).priority;
    match priority(first).cmp(&priority(second)) {
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => {
            first.distance_ahead(second.position()) > second.distance_ahead(first.position())
        }
    }
}

/// Where a car will be at constant speed: along its route, or by its own steering if it has none.
fn predict(vehicle: &Vehicle, network: &Network) -> [Pose; PREDICTIONS] {
    if vehicle.driver == Driver::Raw {
        let mut ghost = vehicle.clone();
        ghost.acceleration = 0.0;
        return std::array::from_fn(|_| {
            ghost.advance(PREDICTION_STEP);
            (ghost.position(), ghost.heading)
        });
    }
    let offset = network.lane_offset(vehicle.lane);
    std::array::from_fn(|k| {
        let mut ahead = vehicle.along + vehicle.speed * (PREDICTION_STEP * (k + 1) as f64);
        let mut legs = vehicle.route.legs().iter();
        let lane_of = |leg: &crate::route::Leg| {
            let place = leg.lane.map_or(offset, usize::from);
            network.lane_at_most(leg.road, place)
        };
        let mut lane = legs.next().map_or(vehicle.lane, lane_of);
        for leg in legs {
            if ahead <= network.lane(lane).length {
                break;
            }
            ahead -= network.lane(lane).length;
            lane = lane_of(leg);
        }
        let lane = network.lane(lane);
        (lane.position(ahead, 0.0), lane.heading_at(ahead))
    })
}

fn meet(first: &[Pose; PREDICTIONS], second: &[Pose; PREDICTIONS]) -> bool {
    first.iter().zip(second).any(|(&(a, heading_a), &(b, heading_b))| {
        let [dx, dy] = [b[0] - a[0], b[1] - a[1]];
        dx * dx + dy * dy <= LENGTH * LENGTH + 1e-6
            && norm(dx, dy) <= LENGTH
            && (has_point_inside(a, heading_a, b, heading_b)
                || has_point_inside(b, heading_b, a, heading_a))
    })
}

/// Whether one of nine points of the first rectangle (corners, middles of edges, centre) lies in
/// the second. Upstream turns the point by the rectangle's angle, not against it; so do we.
fn has_point_inside(a: [f64; 2], heading_a: f64, b: [f64; 2], heading_b: f64) -> bool {
    let (half_length, half_width) = (1.5 * LENGTH / 2.0, 0.9 * WIDTH / 2.0);
    let (sin_a, cos_a) = sin_cos(heading_a);
    let (sin_b, cos_b) = sin_cos(heading_b);
    [-1.0, 0.0, 1.0].into_iter().any(|along| {
        [-1.0, 0.0, 1.0].into_iter().any(|across| {
            let [px, py] = [along * half_length, across * half_width];
            let [dx, dy] =
                [cos_a * px - sin_a * py + a[0] - b[0], sin_a * px + cos_a * py + a[1] - b[1]];
            (cos_b * dx - sin_b * dy).abs() <= half_length
                && (sin_b * dx + cos_b * dy).abs() <= half_width
        })
    })
}
