//! What is seen of a world through a sensor?
//!
//! A [`Sensor`] says how far its readings are off, what it does not see, and how late it is. [`Eyes`] look through
//! one: after every decision they hold a world *as it is perceived*, from which observations and scenes are
//! made as from the true one. What happens is decided by the true world alone. Start at [`Eyes::step`].
//!
//! A reading is one look per decision, with errors that are independent from look to look and from car to car.
//! Along and across are directions of the car that is seen. The ego knows where it is itself, and obstacles are
//! on its map.
//!
//! **Invariants:** the same seed, world and decisions give the same readings; a reading depends on nothing but
//! poses, speeds, accelerations, signals and wrecks; a perfect sensor changes no bit of what is seen.
//!
//! **Absent on purpose:** cars that are not there (false detections), and confusing one car with another: a
//! sensor looks many times between two decisions, and a car moves little from one frame to the next.

use std::collections::VecDeque;

use crate::action::{Action, ActionError};
use crate::arith::norm;
use crate::random::Generator;
use crate::route::Route;
use crate::trig::sin_cos;
use crate::vehicle::{LENGTH, Vehicle, WIDTH};
use crate::world::{Step, World};

/// How well a sensor sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensor {
    /// Standard deviation of positions along a car's heading \[m\].
    pub along: f64,
    /// Standard deviation of positions across it \[m\].
    pub across: f64,
    /// Standard deviation of speeds \[m/s\].
    pub speed: f64,
    /// Standard deviation of accelerations \[m/s²\].
    pub acceleration: f64,
    /// Standard deviation of headings \[rad\].
    pub heading: f64,
    /// Chance that a look misses a car.
    pub missed: f64,
    /// How far it sees \[m\], from centre to centre.
    pub range: f64,
    /// Whether a car is out of sight behind another one.
    pub hidden: bool,
    /// How many frames late it is.
    pub delay: usize,
    /// Whether it sees where cars signal to go.
    pub signals: bool,
}

/// A sensor that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{field}` is out of range: {value}, not from {least} to {most}")]
pub struct SensorError {
    /// The field's name.
    pub field: &'static str,
    /// What it held.
    pub value: f64,
    /// The least that it may hold,
    pub least: f64,
    /// and the most.
    pub most: f64,
}

/// How far a sensor may see \[m\].
pub const FARTHEST: f64 = 10_000.0;
/// The most frames that it may be late.
pub const LATEST: usize = 150;

impl Sensor {
    /// Sees everything, as it is, at once.
    pub const PERFECT: Sensor = Sensor {
        along: 0.0,
        across: 0.0,
        speed: 0.0,
        acceleration: 0.0,
        heading: 0.0,
        missed: 0.0,
        range: FARTHEST,
        hidden: false,
        delay: 0,
        signals: true,
    };

    /// Whether there is nothing that it does not see as it is.
    pub fn is_perfect(&self) -> bool {
        *self == Sensor::PERFECT
    }

    /// Whether its numbers make sense.
    ///
    /// # Errors
    ///
    /// The first number that is out of range, by its name.
    pub fn check(&self) -> Result<(), SensorError> {
        for (field, value, least, most) in [
            ("along", self.along, 0.0, 50.0),
            ("across", self.across, 0.0, 50.0),
            ("speed", self.speed, 0.0, 50.0),
            ("acceleration", self.acceleration, 0.0, 50.0),
            ("heading", self.heading, 0.0, std::f64::consts::PI),
            ("missed", self.missed, 0.0, 1.0),
            ("range", self.range, 1.0, FARTHEST),
            ("delay", self.delay as f64, 0.0, LATEST as f64),
        ] {
            if !(least..=most).contains(&value) {
                return Err(SensorError { field, value, least, most });
            }
        }
        Ok(())
    }
}

/// Someone who looks at a world through a sensor.
#[derive(Clone, Debug)]
pub struct Eyes {
    sensor: Sensor,
    /// The world as it is perceived.
    perceived: World,
    /// All cars in the last frames, the oldest first: as many as the sensor is late, and the present one. None if it
    /// is in time.
    frames: VecDeque<Vec<Vehicle>>,
    random: Generator,
}

impl Eyes {
    /// Opens its eyes at the start of an episode. Readings are drawn from a stream of their own.
    ///
    /// # Errors
    ///
    /// A sensor that makes no sense.
    pub fn open(sensor: Sensor, world: &World, seed: u64) -> Result<Eyes, SensorError> {
        sensor.check()?;
        let mut eyes = Eyes {
            sensor,
            perceived: world.clone(),
            frames: VecDeque::new(),
            random: readings(seed),
        };
        eyes.begin(world, seed);
        Ok(eyes)
    }

    /// The same eyes at the start of another episode.
    pub fn begin(&mut self, world: &World, seed: u64) {
        self.random = readings(seed);
        self.perceived = world.clone();
        self.frames.clear();
        if self.sensor.delay > 0 {
            self.watch(world.vehicles());
        }
        self.look(world);
    }

    /// The sensor.
    pub fn sensor(&self) -> &Sensor {
        &self.sensor
    }

    /// Steps a world, and looks at what came of it.
    ///
    /// # Errors
    ///
    /// As [`World::step`].
    ///
    /// # Panics
    ///
    /// As [`World::step`].
    pub fn step(
        &mut self,
        world: &mut World,
        action: Action<'_>,
        seen: &mut [f32],
    ) -> Result<Step, ActionError> {
        let step = match self.sensor.delay {
            0 => world.step(action, seen)?,
            _ => world.step_watched(action, seen, |cars| self.watch(cars))?,
        };
        self.look(world);
        Ok(step)
    }

    /// The world as it is perceived: only its cars, and its observations, mean anything.
    pub fn world(&self) -> &World {
        &self.perceived
    }

    /// Writes what the ego sees of what is perceived.
    ///
    /// # Panics
    ///
    /// If `seen` has another length than the task's observations.
    pub fn observe(&mut self, seen: &mut [f32]) {
        self.perceived.observe(seen);
    }

    /// How late what it sees is \[s\]; less at the start of an episode, before which there is nothing to see.
    pub fn lateness(&self) -> f64 {
        self.frames.len().saturating_sub(1) as f64 * self.perceived.task().frame_time
    }

    /// Remembers a frame.
    fn watch(&mut self, cars: &[Vehicle]) {
        // The oldest one makes room, so that a sensor which is always as late allocates no more.
        let mut frame = match self.frames.len() > self.sensor.delay {
            true => self.frames.pop_front().unwrap_or_default(),
            false => Vec::with_capacity(cars.len()),
        };
        frame.clear();
        frame.extend_from_slice(cars);
        self.frames.push_back(frame);
    }

    /// Looks at the cars as they were when the reading was taken.
    fn look(&mut self, world: &World) {
        let simulation = self.perceived.simulation_mut();
        simulation.vehicles.clear();
        simulation.ego = 0;
        // Whoever is in time has watched no frame.
        let seen = self.frames.front().map_or(world.vehicles(), Vec::as_slice);
        let me = world.ego();
        for car in seen {
            if car.id == me.id {
                simulation.ego = simulation.vehicles.len();
                simulation.vehicles.push(me.clone());
            } else if is_seen(&self.sensor, &mut self.random, me, car, seen) {
                let reading = read(&self.sensor, &mut self.random, world, car);
                simulation.vehicles.push(reading);
            }
        }
    }
}

/// The stream that the readings of an episode are drawn from.
fn readings(seed: u64) -> Generator {
    Generator::seeded(seed ^ 0x5e45_0e00_0000_0000)
}

/// Whether a look shows a car.
fn is_seen(
    sensor: &Sensor,
    random: &mut Generator,
    me: &Vehicle,
    car: &Vehicle,
    all: &[Vehicle],
) -> bool {
    let is_missed = sensor.missed > 0.0 && random.random() < sensor.missed;
    let blocks =
        |other: &Vehicle| other.id != car.id && other.id != me.id && stands_between(other, me, car);
    !is_missed
        && norm(car.x - me.x, car.y - me.y) <= sensor.range
        && !(sensor.hidden && all.iter().any(blocks))
}

/// Whether a car stands on the line between the centres of two others.
fn stands_between(car: &Vehicle, from: &Vehicle, to: &Vehicle) -> bool {
    let within = |x: f64, y: f64| {
        let (x, y) = (x - car.x, y - car.y);
        [x * car.cos + y * car.sin, y * car.cos - x * car.sin]
    };
    let (start, end) = (within(from.x, from.y), within(to.x, to.y));
    // The part of the line that is inside both pairs of parallel sides.
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for (axis, half) in [LENGTH / 2.0, WIDTH / 2.0].into_iter().enumerate() {
        let run = end[axis] - start[axis];
        if run.abs() < 1e-9 {
            if start[axis].abs() > half {
                return false;
            }
            continue;
        }
        let [a, b] = [(-half - start[axis]) / run, (half - start[axis]) / run];
        first = first.max(a.min(b));
        last = last.min(a.max(b));
    }
    first < last
}

/// A car as a sensor reads it.
fn read(sensor: &Sensor, random: &mut Generator, world: &World, car: &Vehicle) -> Vehicle {
    let mut error = |deviation: f64| {
        if deviation > 0.0 { deviation * random.standard_normal() } else { 0.0 }
    };
    let mut car = car.clone();
    let [along, across] = [error(sensor.along), error(sensor.across)];
    car.x += along * car.cos - across * car.sin;
    car.y += along * car.sin + across * car.cos;
    car.speed += error(sensor.speed);
    car.acceleration += error(sensor.acceleration);
    let turn = error(sensor.heading);
    if turn != 0.0 {
        car.heading += turn;
        (car.sin, car.cos) = sin_cos(car.heading);
    }
    if [along, across, turn] != [0.0; 3] {
        car.arrive(world.task().network.locate(car.position(), car.heading, car.lane));
    }
    if !sensor.signals {
        car.route = Route::default();
    }
    car
}
