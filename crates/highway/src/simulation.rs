//! What happens in one frame?
//!
//! Everyone decides, then everyone moves, then collisions are settled: `Simulation::frame`.
//! Deciding is done in passes over all cars (lanes first, then steering and pedals). That gives
//! what upstream's car-by-car order gives, because a car's pedals depend on others' poses, which
//! do not change while deciding, and only lane choices depend on others' earlier choices.
//!
//! **Invariant:** after the first frames of an episode, a frame allocates nothing.

use crate::collision::handle_collisions;
use crate::driver::{DriverParameters, Model, follow_road, hold_speed, speed_ratio, steer_along};
use crate::lineup::Lineup;
use crate::mobil::{consider_lane_change, is_due};
use crate::neighbours::{Index, Traffic};
use crate::power::powers;
use crate::regulation::{self, Outlook};
use crate::road::LaneId;
use crate::strip::{self, Strip};
use crate::task::{Layout, Task};
use crate::vehicle::{Driver, Vehicle};

/// The moving part of a world: the cars, and work space for moving them.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The cars, in upstream's order.
    pub vehicles: Vec<Vehicle>,
    /// The ego's place among them.
    pub ego: usize,
    /// How the traffic drives now.
    pub model: Model,
    /// Chance that a car appears after a decision, where drift has changed it.
    pub spawn_probability: Option<f64>,
    frames: u64,
    /// How many cars have been on the road so far.
    numbered: u32,
    lineup: Lineup,
    strip: Strip,
    outlook: Outlook,
    pairs: Vec<(u16, u16)>,
    ratio_powers: Vec<f64>,
    exponents: Vec<f64>,
}

impl Simulation {
    /// An empty road.
    pub(crate) fn new(parameters: DriverParameters) -> Simulation {
        Simulation {
            // Room for the busiest crossing, so that a record number of cars costs nothing.
            vehicles: Vec::with_capacity(64),
            ego: 0,
            model: parameters.model(),
            spawn_probability: None,
            frames: 0,
            numbered: 0,
            lineup: Lineup::default(),
            strip: Strip::default(),
            outlook: Outlook::default(),
            pairs: Vec::with_capacity(64),
            ratio_powers: Vec::with_capacity(64),
            exponents: Vec::with_capacity(64),
        }
    }

    /// Clears the road for a new episode, keeping the work space.
    pub(crate) fn clear(&mut self, parameters: DriverParameters) {
        self.vehicles.clear();
        self.ego = 0;
        self.model = parameters.model();
        self.spawn_probability = None;
        self.frames = 0;
        self.numbered = 0;
        self.lineup.mark_stale();
    }

    /// Decides, moves and collides: one frame.
    pub(crate) fn frame(&mut self, task: &Task) {
        let dt = task.frame_time;
        self.line_up(task);
        self.choose_lanes(task);
        self.steer_and_accelerate(task);
        self.frames += 1;
        if task.rules.is_regulated() && regulation::is_due(self.frames, dt) {
            regulation::enforce(&mut self.vehicles, &task.network, &mut self.outlook);
        }
        self.advance(dt, task);
        let by_x = (task.layout != Layout::Any).then(|| {
            self.lineup.sort(&self.vehicles);
            self.lineup.slots()
        });
        handle_collisions(&mut self.vehicles, &task.obstacles, by_x, dt, &mut self.pairs);
    }

    /// Numbers the cars that have come since it was last called.
    pub(crate) fn number_newcomers(&mut self) {
        for car in self.vehicles.iter_mut().filter(|car| car.id == 0) {
            self.numbered += 1;
            car.id = self.numbered;
            self.lineup.mark_stale();
        }
    }

    /// Keeps the ego and the other cars that pass the test, in order.
    pub(crate) fn retain_others(&mut self, mut keep: impl FnMut(&Vehicle) -> bool) {
        let mut place = 0;
        let mut ego = self.ego;
        self.vehicles.retain(|car| {
            let kept = place == self.ego || keep(car);
            ego -= usize::from(!kept && place < self.ego);
            place += 1;
            kept
        });
        self.ego = ego;
        self.lineup.mark_stale();
    }

    fn traffic<'a>(&'a self, task: &'a Task) -> Traffic<'a> {
        Traffic {
            vehicles: &self.vehicles,
            obstacles: &task.obstacles,
            obstacle_places: &task.obstacle_places,
            network: &task.network,
            connected_lanes: task.connected_lanes,
            index: match task.layout {
                Layout::Any => Index::None,
                Layout::AlongX => Index::Lineup(&self.lineup),
                Layout::Strip => Index::Strip(&self.lineup, &self.strip),
            },
        }
    }

    /// Sorts the cars as far as the task's layout asks for it.
    #[inline]
    fn line_up(&mut self, task: &Task) {
        if task.layout != Layout::Any {
            self.lineup.refresh(&self.vehicles);
        }
        if task.layout == Layout::Strip {
            self.strip.update(&self.lineup, &self.vehicles, &task.network);
        }
    }

    fn choose_lanes(&mut self, task: &Task) {
        for i in 0..self.vehicles.len() {
            let vehicle = &mut self.vehicles[i];
            match vehicle.driver {
                Driver::Raw => continue,
                Driver::Idm if vehicle.crashed => continue,
                Driver::Meta | Driver::Idm => follow_road(vehicle, &task.network),
            }
            if vehicle.driver == Driver::Idm && is_due(vehicle, &self.model) {
                let choice = consider_lane_change(&self.traffic(task), &self.model, i);
                let vehicle = &mut self.vehicles[i];
                vehicle.target_lane = choice.target;
                if choice.thought {
                    vehicle.timer = 0.0;
                }
            }
        }
    }

    fn steer_and_accelerate(&mut self, task: &Task) {
        // A whole number of vectors: the rest would be computed one by one.
        let room = self.vehicles.len().next_multiple_of(8);
        self.ratio_powers.resize(room, 1.0);
        self.exponents.resize(room, 4.0);
        let slots = self.ratio_powers.iter_mut().zip(&mut self.exponents);
        for (vehicle, (ratio, exponent)) in self.vehicles.iter_mut().zip(slots) {
            let steers = match vehicle.driver {
                Driver::Raw => false,
                Driver::Meta => true,
                Driver::Idm => !vehicle.crashed,
            };
            if steers {
                steer_along(vehicle, vehicle.target_lane, &task.network);
            }
            if vehicle.driver == Driver::Meta {
                hold_speed(vehicle);
            }
            *ratio = speed_ratio(vehicle, task.network.lane(vehicle.lane));
            *exponent = vehicle.exponent;
        }
        powers(&mut self.ratio_powers, &self.exponents);
        // Each car's place holds its power before and its acceleration after: nobody else reads it.
        let mut powers = std::mem::take(&mut self.ratio_powers);
        let traffic = self.traffic(task);
        let follows = |vehicle: &Vehicle| vehicle.driver == Driver::Idm && !vehicle.crashed;
        for (i, (vehicle, slot)) in self.vehicles.iter().zip(&mut powers).enumerate() {
            if follows(vehicle) {
                *slot = follow(&traffic, &self.model, i, *slot);
            }
        }
        for (vehicle, acceleration) in self.vehicles.iter_mut().zip(&powers) {
            if follows(vehicle) {
                vehicle.acceleration = *acceleration;
            }
        }
        self.ratio_powers = powers;
    }

    fn advance(&mut self, dt: f64, task: &Task) {
        let lanes = task.network.lanes().len();
        for vehicle in &mut self.vehicles {
            vehicle.timer += dt;
            if let Some((braking, left)) = vehicle.braking {
                vehicle.braking =
                    (left > dt && vehicle.speed > 0.0).then_some((braking, left - dt));
            }
            vehicle.advance(dt);
            vehicle.arrive(if task.layout == Layout::Strip {
                strip::locate(vehicle, lanes)
            } else {
                task.network.locate(vehicle.position(), vehicle.heading, vehicle.lane)
            });
        }
    }
}

/// The intelligent driver model's acceleration behind whoever is ahead, on the current lane and on
/// the one aimed for \[m/s²\]. `ratio_power` is the power of the car's speed ratio.
#[inline]
fn follow(traffic: &Traffic<'_>, model: &Model, who: usize, ratio_power: f64) -> f64 {
    let vehicle = &traffic.vehicles[who];
    let free = model.free_acceleration(ratio_power);
    let mut acceleration = free - held_up(traffic, model, who, vehicle.lane);
    if vehicle.lane != vehicle.target_lane {
        acceleration = acceleration.min(free - held_up_beside(traffic, model, who));
    }
    let limit = model.parameters.acceleration_limit;
    let acceleration = acceleration.clamp(-limit, limit);
    match vehicle.braking {
        Some((braking, _)) => acceleration.min(-braking),
        None => acceleration,
    }
}

/// What whoever is ahead on a lane takes off a car's acceleration \[m/s²\].
#[inline(always)]
fn held_up(traffic: &Traffic<'_>, model: &Model, who: usize, on: LaneId) -> f64 {
    let vehicle = &traffic.vehicles[who];
    match traffic.ahead(who, on) {
        Some(body) => {
            let lane = traffic.network.lane(vehicle.lane);
            model.interaction(vehicle, &traffic.leader(body), lane)
        }
        None => 0.0,
    }
}

/// [`held_up`] on the lane aimed for, kept apart because few cars are changing lane.
#[inline(never)]
fn held_up_beside(traffic: &Traffic<'_>, model: &Model, who: usize) -> f64 {
    held_up(traffic, model, who, traffic.vehicles[who].target_lane)
}
