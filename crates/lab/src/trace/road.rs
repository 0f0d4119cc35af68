//! What does a trace say about the road, so that it can be drawn?
//!
//! A [`Road`] is the part of a header that follows from the task alone: whoever knows the task can check it.

use cpss_highway::Task;
use cpss_highway::action::Controls;
use cpss_highway::lane::{Lane, Shape};
use cpss_highway::neighbours::OBSTACLE_SIZE;
use cpss_highway::vehicle::{LENGTH, WIDTH};

use super::format::LaneLine;
use crate::record::pose::round;

/// What follows from the task.
#[derive(Clone, Debug, PartialEq)]
pub struct Road {
    /// Names of the actions.
    pub actions: Vec<String>,
    /// Time between two decisions \[s\].
    pub decision_time: f64,
    /// Length and width of a car \[m\].
    pub car: [f64; 2],
    /// The lanes, in the road's order.
    pub lanes: Vec<LaneLine>,
    /// Bodies without a driver: x, y, heading, length, width.
    pub obstacles: Vec<[f64; 5]>,
}

impl Road {
    /// The road of a task.
    pub fn of(task: &Task) -> Road {
        let obstacle =
            |[x, y]: [f64; 2]| [round(x, 1e2), round(y, 1e2), 0.0, OBSTACLE_SIZE, OBSTACLE_SIZE];
        Road {
            actions: action_names(&task.controls),
            decision_time: task.decision_time,
            car: [LENGTH, WIDTH],
            lanes: task.network.lanes().map(|(_, lane)| lane_line(lane)).collect(),
            obstacles: task.obstacles.iter().map(|body| obstacle(body.position)).collect(),
        }
    }
}

/// A lane for drawing: the ends of a straight one, a point every two metres of another.
fn lane_line(lane: &Lane) -> LaneLine {
    let pieces = match lane.shape {
        Shape::Straight { .. } => 1,
        _ => (lane.length / 2.0).ceil().clamp(1.0, 1000.0) as usize,
    };
    let at = |piece: usize| {
        lane.position(lane.length * piece as f64 / pieces as f64, 0.0).map(|at| round(at, 1e2))
    };
    LaneLine { width: lane.width, line: (0..=pieces).map(at).collect() }
}

fn action_names(controls: &Controls) -> Vec<String> {
    match controls {
        Controls::Meta { actions, .. } => {
            actions.iter().map(|action| action.label().to_owned()).collect()
        }
        Controls::Discrete { points, .. } => {
            points.iter().map(|point| format!("{:+.2}", point[0])).collect()
        }
        Controls::Continuous(_) => Vec::new(),
    }
}
