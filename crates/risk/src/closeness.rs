//! How close did the ego come to anything?
//!
//! The yardstick for every driver, shielded or not: what *happened*, by one fixed margin. No decision depends
//! on it. Start at [`closeness`].

use cpss_highway::road::Network;
use cpss_highway::scene::{Body, Ego};
use cpss_highway::vehicle::Driver;
use cpss_highway::{Scene, Task};

use crate::features::is_readable;
use crate::proximity::{Margin, Pose};

/// The margin by which closeness is measured, in every task.
pub const MARGIN: Margin = Margin { along: 2.0, across: 0.4, closing_time: 0.3, boundary: 1.0 };

/// How close the closest body is (or, for an ego that steers itself, the edge of the road): from 0, beyond
/// the margin, to 1, touching; and 1 after a crash or if the scene cannot be read.
pub fn closeness(task: &Task, scene: &Scene) -> f64 {
    let Some(ego) = &scene.ego else { return 1.0 };
    if ego.body.crashed || !is_readable(task, scene) {
        return 1.0;
    }
    let pose = Pose::of(&ego.body);
    let bodies = scene.others.iter().chain(&scene.obstacles);
    let bodies = bodies.map(|body| MARGIN.proximity(&pose, &Pose::of(body)));
    let edge = edge_distance(ego, &task.network);
    let edge = edge.map(|distance| MARGIN.boundary_proximity(distance));
    bodies.chain(edge).fold(0.0, |worst, found| found.cost.max(worst))
}

/// The smallest distance \[m\] from the ego's centre to another car's, or, for an ego that steers itself, to
/// the edge of the road; `None` if there is neither.
pub fn min_distance(task: &Task, scene: &Scene) -> Option<f64> {
    let ego = scene.ego.as_ref()?;
    let distance = |car: &Body| {
        let [x, y] = [0, 1].map(|axis| car.position[axis] - ego.body.position[axis]);
        (x * x + y * y).sqrt()
    };
    let edge = edge_distance(ego, &task.network).map(|distance| distance.max(0.0));
    scene.others.iter().map(distance).chain(edge).min_by(f64::total_cmp)
}

/// How far the ego's centre is from the edge of the road \[m\], negative beyond it; `None` for an ego that
/// holds a lane by itself and for one far from any edge.
fn edge_distance(ego: &Ego, network: &Network) -> Option<f64> {
    if ego.driver != Driver::Raw {
        return None;
    }
    let body = &ego.body;
    let lane = network.lane(body.lane);
    let half = lane.width / 2.0;
    if !lane.contains(body.along, body.across, 0.0) {
        // Also between two lanes that do not quite meet, which the world takes for off road.
        return Some((half - body.across.abs()).min(0.0));
    }
    let left = network.left_of(body.lane).is_none().then_some(half + body.across);
    let right = network.right_of(body.lane).is_none().then_some(half - body.across);
    left.into_iter().chain(right).min_by(f64::total_cmp)
}
