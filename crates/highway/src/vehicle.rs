//! What is a car, and how does it move?
//!
//! A [`Vehicle`] is plain data: pose, speed, what it aims for, and who drives it. It moves by a
//! modified bicycle model ([`Vehicle::advance`]). Who drives is a [`Driver`], an enum and not a
//! type per driver, so that a road full of cars is one flat list.
//!
//! **Invariants:** `cos` and `sin` belong to `heading`; `along` and `across` are the position on
//! `lane`; `slip_cos` and `slip_sin` are a point of
//! the unit circle. A heading that does not change costs no trigonometry.
//!
//! **Absent on purpose:** the dynamical bicycle with tyre forces, which no task here uses.

use crate::lane::{Lane, NEIGHBOUR_MARGIN};
use crate::road::{LaneId, Location, Network};
use crate::route::Route;
use crate::trig::sin_cos;

/// Length of a car \[m\].
pub const LENGTH: f64 = 5.0;
/// Width of a car \[m\].
pub const WIDTH: f64 = 2.0;
/// The fastest a car may go, in either direction \[m/s\].
pub const MAX_SPEED: f64 = 40.0;

/// Who decides what a car does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// The intelligent driver model with MOBIL lane changes: other traffic.
    Idm,
    /// The ego under meta-actions: a speed and a lane to hold.
    Meta,
    /// The ego under raw steering and throttle.
    Raw,
}

/// One car.
#[derive(Clone, Debug)]
pub struct Vehicle {
    /// Centre, along the world's x axis \[m\].
    pub x: f64,
    /// Centre, along the world's y axis \[m\].
    pub y: f64,
    /// Direction it points \[rad\].
    pub heading: f64,
    /// Speed along its heading \[m/s\].
    pub speed: f64,
    /// Cosine of the heading.
    pub cos: f64,
    /// Sine of the heading.
    pub sin: f64,
    /// Longitudinal coordinate on its lane \[m\].
    pub along: f64,
    /// Lateral coordinate on its lane \[m\].
    pub across: f64,
    /// Sine of the slip angle that the steering causes.
    pub slip_sin: f64,
    /// Cosine of the slip angle.
    pub slip_cos: f64,
    /// Commanded acceleration \[m/s²\].
    pub acceleration: f64,
    /// Speed it aims for \[m/s\].
    pub target_speed: f64,
    /// Exponent of its free-road acceleration (drivers differ in it).
    pub exponent: f64,
    /// Time since it last thought about changing lane \[s\].
    pub timer: f64,
    /// Push out of another body, to be applied at the next step \[m\].
    pub impact: Option<[f64; 2]>,
    /// Slowest and fastest speed it may reach \[m/s\].
    pub speed_range: [f64; 2],
    /// Emergency braking that overrides the driver: how hard \[m/s²\] and for how long \[s\].
    pub braking: Option<(f64, f64)>,
    /// The roads it means to take.
    pub route: Route,
    /// The lane it is on: the closest one.
    pub lane: LaneId,
    /// The lane it aims for.
    pub target_lane: LaneId,
    /// Who drives.
    pub driver: Driver,
    /// Whether it has hit something.
    pub crashed: bool,
    /// Whether it looks for collisions of its own (those that others find count all the same).
    pub checks_collisions: bool,
    /// Whether it waits for somebody who has the right of way.
    pub is_yielding: bool,
    /// Index of the target speed, for a car under meta-actions.
    pub speed_index: u8,
    /// Its number on the road: the first car there is 1, and a later one has a greater number; 0 until the
    /// world has given it one.
    pub id: u32,
}

impl Vehicle {
    /// A car at a pose, on whichever lane is closest, aiming to go on as it does.
    pub fn new(
        network: &Network,
        driver: Driver,
        [x, y]: [f64; 2],
        heading: f64,
        speed: f64,
    ) -> Vehicle {
        let Location { lane, along, across } = network.locate([x, y], heading, LaneId(0));
        let (sin, cos) = sin_cos(heading);
        Vehicle {
            x,
            y,
            heading,
            speed,
            cos,
            sin,
            along,
            across,
            slip_sin: 0.0,
            slip_cos: 1.0,
            acceleration: 0.0,
            // A car under raw control aims for nothing; drivers behind it judge it as if for zero.
            target_speed: if driver == Driver::Raw { 0.0 } else { speed },
            exponent: 4.0,
            // Upstream spreads the drivers' clocks by where they start.
            timer: ((x + y) * std::f64::consts::PI).rem_euclid(1.0),
            impact: None,
            speed_range: [-MAX_SPEED, MAX_SPEED],
            braking: None,
            route: Route::default(),
            lane,
            target_lane: lane,
            driver,
            crashed: false,
            checks_collisions: true,
            is_yielding: false,
            speed_index: 0,
            id: 0,
        }
    }

    /// Centre \[m\].
    #[inline]
    pub fn position(&self) -> [f64; 2] {
        [self.x, self.y]
    }

    /// Velocity along the heading \[m/s\].
    #[inline]
    pub fn velocity(&self) -> [f64; 2] {
        [self.speed * self.cos, self.speed * self.sin]
    }

    /// Signed distance from this car to another along this car's lane \[m\].
    #[inline]
    pub fn distance_along(&self, lane: &Lane, position: [f64; 2]) -> f64 {
        lane.local_coordinates(position).0 - self.along
    }

    /// Lane coordinates \[m\] on any lane; those on the car's own are at hand.
    #[inline(always)]
    pub fn coordinates_on(&self, id: LaneId, network: &Network) -> (f64, f64) {
        if id == self.lane {
            (self.along, self.across)
        } else {
            network.lane(id).local_coordinates(self.position())
        }
    }

    /// Its longitudinal coordinate \[m\] on a lane, if a neighbour search there sees it.
    #[inline]
    pub(crate) fn seen_on(&self, id: LaneId, lane: &Lane) -> Option<f64> {
        if self.lane == id {
            lane.contains(self.along, self.across, NEIGHBOUR_MARGIN).then_some(self.along)
        } else {
            lane.sees(self.position())
        }
    }

    /// Notes where the car is, after it has moved.
    #[inline]
    pub(crate) fn arrive(&mut self, Location { lane, along, across }: Location) {
        (self.lane, self.along, self.across) = (lane, along, across);
    }

    /// How far ahead of this car, in its own direction, a position lies \[m\].
    pub fn distance_ahead(&self, [x, y]: [f64; 2]) -> f64 {
        self.cos * (x - self.x) + self.sin * (y - self.y)
    }

    /// Whether the car is on its lane, or off the road.
    pub fn on_road(&self, network: &Network) -> bool {
        network.lane(self.lane).contains(self.along, self.across, 0.0)
    }

    /// Aims for one of the speeds it can hold; past the last it is the last.
    pub(crate) fn aim_for_speed(&mut self, place: usize, target_speeds: &[f64]) {
        let place = place.min(target_speeds.len() - 1);
        self.speed_index = place as u8;
        self.target_speed = target_speeds[place];
    }

    /// Sets the slip angle that a steering angle \[rad\] causes.
    pub fn steer(&mut self, steering: f64) {
        // tan(beta) = tan(steering) / 2, so no arctangent is needed for beta's sine and cosine.
        let tan = 0.5 * steering.tan();
        self.slip_cos = 1.0 / (1.0 + tan * tan).sqrt();
        self.slip_sin = tan * self.slip_cos;
    }

    /// Moves the car by `dt` \[s\]: a bicycle model, with a crashed car sliding to a stop.
    #[inline]
    pub fn advance(&mut self, dt: f64) {
        if self.crashed {
            (self.slip_sin, self.slip_cos) = (0.0, 1.0);
            self.acceleration = -self.speed;
        }
        let [slowest, fastest] = self.speed_range;
        if self.speed > fastest {
            self.acceleration = self.acceleration.min(fastest - self.speed);
        } else if self.speed < slowest {
            self.acceleration = self.acceleration.max(slowest - self.speed);
        }
        // The course is heading plus slip: its sine and cosine by addition, not by new calls.
        let course_cos = self.cos * self.slip_cos - self.sin * self.slip_sin;
        let course_sin = self.sin * self.slip_cos + self.cos * self.slip_sin;
        self.x += self.speed * course_cos * dt;
        self.y += self.speed * course_sin * dt;
        if let Some([push_x, push_y]) = self.impact.take() {
            self.x += push_x;
            self.y += push_y;
            self.crashed = true;
        }
        if self.slip_sin != 0.0 {
            self.heading += self.speed * self.slip_sin / (LENGTH / 2.0) * dt;
            (self.sin, self.cos) = sin_cos(self.heading);
        }
        self.speed += self.acceleration * dt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::road::NetworkBuilder;

    fn car() -> Vehicle {
        let mut builder = NetworkBuilder::default();
        builder.add_lane("a", "b", Lane::straight([0.0, 0.0], [100.0, 0.0]));
        Vehicle::new(&builder.compile(), Driver::Raw, [10.0, 0.0], 0.3, 12.0)
    }

    #[test]
    fn a_step_is_the_bicycle_model() {
        let mut car = car();
        let (steering, dt) = (0.2_f64, 0.1);
        car.steer(steering);
        car.acceleration = 2.0;
        car.advance(dt);
        let beta = (0.5 * steering.tan()).atan();
        assert!((car.x - (10.0 + 12.0 * (0.3 + beta).cos() * dt)).abs() < 1e-12);
        assert!((car.y - 12.0 * (0.3 + beta).sin() * dt).abs() < 1e-12);
        assert!((car.heading - (0.3 + 12.0 * beta.sin() / 2.5 * dt)).abs() < 1e-12);
        assert!((car.speed - 12.2).abs() < 1e-12);
    }

    #[test]
    fn a_crashed_car_slides_to_a_stop() {
        let mut car = car();
        car.crashed = true;
        car.steer(0.5);
        for _ in 0..600 {
            car.advance(1.0 / 15.0);
        }
        assert!(car.speed.abs() < 1e-9 && car.heading == 0.3);
    }

    #[test]
    fn speed_is_pulled_back_into_range() {
        let mut car = car();
        car.speed = 45.0;
        car.acceleration = 5.0;
        car.advance(1.0);
        assert_eq!(car.speed, 40.0);
    }
}
