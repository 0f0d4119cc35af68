//! How does an ego without brakes lose way?
//!
//! By weaving: full lock to one side until the other lock would only just keep it on the road, and back. Behind
//! two cars abreast nothing else helps, and neither policies nor random actions ever do it, so that a critic
//! would not learn what it is worth. While data are collected, some episodes are driven this way for a while.
//! This is an explorer: the shield knows nothing of it.
//!
//! Start at [`Weave::action`].

use cpss_highway::action::{Controls, Pedals};
use cpss_highway::random::Generator;
use cpss_highway::vehicle::{LENGTH, Vehicle};
use cpss_highway::{Task, World};

/// A stretch of weaving.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weave {
    /// The actions with the most steering to the left and to the right, and the sine of the slip that they cause.
    locks: [usize; 2],
    slip: f64,
    /// Room that is left at the edges of the road \[m\].
    room: f64,
    /// The side to begin with, if the ego goes straight on.
    first: f64,
    /// Decisions that it still lasts.
    left: usize,
}

/// Angle to its lane up to which an ego goes straight on \[rad\].
const STRAIGHT_ON: f64 = 0.05;
/// The most decisions that a stretch lasts.
const LONGEST: usize = 60;

impl Weave {
    /// Draws a stretch; `None` where the ego has brakes or does not steer itself.
    pub(super) fn draw(task: &Task, ego: &Vehicle, random: &mut Generator) -> Option<Weave> {
        let Controls::Discrete { pedals, points } = &task.controls else { return None };
        let steering = |point: &Vec<f32>| pedals.command(point).steering;
        let brakes = |pedals: &Pedals, point: &[f32]| pedals.command(point).acceleration < 0.0;
        if points.iter().any(|point| brakes(pedals, point)) {
            return None;
        }
        let by_steering =
            |a: &usize, b: &usize| steering(&points[*a]).total_cmp(&steering(&points[*b]));
        let left = (0..points.len()).min_by(by_steering)?;
        let right = (0..points.len()).max_by(by_steering)?;
        let mut car = ego.clone();
        car.steer(steering(&points[right]).min(-steering(&points[left])));
        let slip = car.slip_sin;
        (slip > 0.0).then(|| Weave {
            locks: [left, right],
            slip,
            room: random.uniform(0.3, 1.5),
            first: if random.random() < 0.5 { -1.0 } else { 1.0 },
            left: 2 + random.choice(LONGEST - 1),
        })
    }

    /// The next action; `None` when the stretch is over.
    pub(super) fn action(&mut self, world: &World) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let (task, ego) = (world.task(), world.ego());
        let network = &task.network;
        let lane = network.lane(ego.lane);
        let angle = lane.angle_at(ego.along, ego.heading);
        let side = if angle.abs() > STRAIGHT_ON { angle.signum() } else { self.first };
        let place = network.lane_offset(ego.lane);
        let lanes = network.lane_count(network.road_of(ego.lane));
        let beyond = if side > 0.0 { lanes - 1 - place } else { place };
        let room = lane.width * (0.5 + beyond as f64) - side * ego.across - self.room;
        // All of it as seen from that side, and as if the road went straight on.
        let slip = self.slip.asin();
        let radius = LENGTH / 2.0 / self.slip;
        let (mut across, mut heading) = (0.0, side * angle);
        for _ in 0..task.frames {
            across += ego.speed * (heading + slip).sin() * task.frame_time;
            heading += ego.speed / radius * task.frame_time;
        }
        let course = (heading - slip).max(0.0);
        let keeps_on = across + radius * (1.0 - course.cos()) <= room;
        let goes_right = (side > 0.0) == keeps_on;
        Some(self.locks[usize::from(goes_right)])
    }
}
