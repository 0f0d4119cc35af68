//! Where could an ego that steers itself be soon?
//!
//! For an ego with raw controls, ten swerves: each of five steering angles for one decision or two, and then
//! straight along the road. Each is told by how close every body comes, which follows its own lane, and by the
//! room that is left to the edge of the road. This is the ego's own bicycle and geometry, as an input of the
//! critic: a swerve is decided by decimetres, which coordinates alone show too coarsely.
//!
//! Start at [`Swerves::of`].

use cpss_highway::Task;
use cpss_highway::action::{Controls, Pedals};
use cpss_highway::road::Network;
use cpss_highway::scene::{Body, Ego};

use crate::proximity::{Margin, Pose};
use crate::way::Way;

/// Steering angles, from the most to the left to the most to the right, as shares of the range.
pub(crate) const STEERING: [f32; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];
/// How many steps each is held for.
const HELD: [usize; 2] = [1, 2];
/// How many swerves there are.
pub(crate) const SWERVES: usize = STEERING.len() * HELD.len();
/// Steps that are looked ahead, and how long one is \[s\].
const STEPS: usize = 7;
const STEP: f64 = 0.2;
/// Bodies farther away than this are not met within that time \[m\].
const NEAR: f64 = 40.0;
/// How close is close.
const CLOSE: Margin = Margin { along: 3.0, across: 1.5, closing_time: 0.0, boundary: 2.0 };
/// Room to the edge of the road that counts as one \[m\].
const ROOM: f64 = 2.0;

/// An ego's swerves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swerves {
    poses: [[Pose; STEPS]; SWERVES],
    /// The least room to the edge of the road, in units of [`ROOM`].
    room: [f64; SWERVES],
}

/// The raw controls of a task, if the ego steers with them.
pub(crate) fn pedals(task: &Task) -> Option<&Pedals> {
    match &task.controls {
        Controls::Discrete { pedals, .. } | Controls::Continuous(pedals) => Some(pedals),
        Controls::Meta { .. } => None,
    }
}

/// The sine of the slip that a share of the steering's range causes.
pub(crate) fn slip_of(pedals: &Pedals, share: f32) -> f64 {
    let tan = 0.5 * pedals.command(&[share; 2]).steering.tan();
    tan / (1.0 + tan * tan).sqrt()
}

impl Swerves {
    /// All swerves of an ego.
    pub(crate) fn of(network: &Network, ego: &Ego, way: &Way, pedals: &Pedals) -> Swerves {
        let slips = STEERING.map(|share| slip_of(pedals, share));
        let locks = [slips[0].min(slips[4]), slips[0].max(slips[4])];
        let mut swerves = Swerves {
            poses: [[Pose::of(&ego.body); STEPS]; SWERVES],
            room: [f64::INFINITY; SWERVES],
        };
        let (_, turned) = way.room_and_angle(network, ego.body.position, ego.body.heading);
        for (place, (poses, room)) in swerves.poses.iter_mut().zip(&mut swerves.room).enumerate() {
            let (slip, held) = (slips[place % STEERING.len()], HELD[place / STEERING.len()]);
            let mut car = Car { pose: poses[0], heading: ego.body.heading };
            let mut angle = turned;
            for (step, pose) in poses.iter_mut().enumerate() {
                let slip = if step < held { slip } else { car.straighten(angle, locks) };
                car.go(slip, ego.body.length / 2.0);
                *pose = car.pose;
                let left;
                (left, angle) = way.room_and_angle(network, car.pose.position, car.heading);
                *room = room.min(left);
            }
            *room /= ROOM;
        }
        swerves
    }

    /// The least room to the edge of the road that each swerve leaves, in units of [`ROOM`].
    pub(crate) fn room(&self) -> &[f64; SWERVES] {
        &self.room
    }

    /// How close a body comes in each swerve, from 0, not close at all, to 1, touching.
    pub(crate) fn closeness(&self, network: &Network, body: &Body) -> [f64; SWERVES] {
        let mut closest = [0.0_f64; SWERVES];
        let ego = &self.poses[0][0];
        let offset = [body.position[0] - ego.position[0], body.position[1] - ego.position[1]];
        if offset[0].abs().max(offset[1].abs()) > NEAR {
            return closest;
        }
        let way = Way::of_body(network, body, (body.speed.abs() * STEPS as f64 * STEP).max(1.0));
        let turn = body.heading - network.lane(body.lane).heading_at(body.along);
        for step in 0..STEPS {
            let distance = body.speed * (step + 1) as f64 * STEP;
            let (position, heading) = way.pose(network, distance, body.across);
            let (sin, cos) = (heading + turn).sin_cos();
            let other = Pose { position, cos, sin, ..Pose::of(body) };
            for (closest, poses) in closest.iter_mut().zip(&self.poses) {
                *closest = closest.max(CLOSE.proximity(&poses[step], &other).cost);
            }
        }
        closest
    }
}

/// An ego on the move.
struct Car {
    pose: Pose,
    heading: f64,
}

impl Car {
    /// The slip that turns it along the road within a step, if it is at an angle to it, as far as its steering goes.
    fn straighten(&self, angle: f64, [left, right]: [f64; 2]) -> f64 {
        let speed = self.pose.speed.max(1.0);
        (-angle * self.pose.half_size[0] / (speed * STEP)).clamp(left, right)
    }

    /// Moves it by a step, on an arc: the bicycle model with its course taken in the middle.
    fn go(&mut self, slip: f64, half_length: f64) {
        let Pose { speed, .. } = self.pose;
        let turn = speed * slip / half_length * STEP;
        let (sin, cos) = (self.heading + slip.asin() + turn / 2.0).sin_cos();
        self.pose.position[0] += speed * cos * STEP;
        self.pose.position[1] += speed * sin * STEP;
        self.heading += turn;
        (self.pose.sin, self.pose.cos) = self.heading.sin_cos();
    }
}
