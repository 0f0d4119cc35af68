//! What happens in one frame?
//!
//! Everyone decides, then everyone moves, then collisions are settled: [`Simulation::frame`].
//! Deciding is done in passes over all cars (lanes first, then steering and pedals). That gives
//! what upstream's car-by-car order gives, because a car's pedals depend on others' poses, which
//! do not change while deciding, and only lane choices depend on others' earlier choices.
//!
//! **Invariant:** after the first frames of an episode, a frame allocates nothing.

use crate::collision::handle_collisions;
use crate::driver::{Temper, follow_road, hold_speed, steer_along};
use crate::mobil::consider_lane_change;
use crate::neighbours::{Order, Traffic};
use crate::regulation::{self, Outlook};
use crate::task::Task;
use crate::vehicle::{Driver, Vehicle};

/// The moving part of a world: the cars, and work space for moving them.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The cars, in upstream's order.
    pub vehicles: Vec<Vehicle>,
    /// The ego's place among them.
    pub ego: usize,
    /// How the traffic drives now.
    pub temper: Temper,
    /// Chance that a car appears after a decision, where drift has changed it.
    pub spawn_probability: Option<f64>,
    frames: u64,
    order: Order,
    outlook: Outlook,
    pairs: Vec<(u16, u16)>,
}

impl Simulation {
    /// An empty road.
    pub(crate) fn new(temper: Temper) -> Simulation {
        Simulation {
            vehicles: Vec::new(),
            ego: 0,
            temper,
            spawn_probability: None,
            frames: 0,
            order: Order::default(),
            outlook: Outlook::default(),
            pairs: Vec::new(),
        }
    }

    /// Clears the road for a new episode, keeping the work space.
    pub(crate) fn clear(&mut self, temper: Temper) {
        self.vehicles.clear();
        self.ego = 0;
        self.temper = temper;
        self.spawn_probability = None;
        self.frames = 0;
    }

    /// Decides, moves and collides: one frame.
    pub(crate) fn frame(&mut self, task: &Task) {
        if task.is_strip {
            self.order.update(&self.vehicles);
        }
        self.choose_lanes(task);
        self.steer_and_accelerate(task);
        self.frames += 1;
        if task.rules.is_regulated() && regulation::is_due(self.frames, task.frame_time) {
            regulation::enforce(&mut self.vehicles, &task.network, &mut self.outlook);
        }
        self.advance(task);
        if task.is_strip {
            self.order.update(&self.vehicles);
        }
        let order = task.is_strip.then_some(&self.order);
        handle_collisions(
            &mut self.vehicles,
            &task.obstacles,
            order,
            task.frame_time,
            &mut self.pairs,
        );
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
    }

    fn traffic<'a>(&'a self, task: &'a Task) -> Traffic<'a> {
        Traffic {
            vehicles: &self.vehicles,
            obstacles: &task.obstacles,
            network: &task.network,
            connected_lanes: task.connected_lanes,
            order: task.is_strip.then_some(&self.order),
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
            if self.vehicles[i].driver == Driver::Idm {
                let choice = consider_lane_change(&self.traffic(task), &self.temper, i);
                let vehicle = &mut self.vehicles[i];
                vehicle.target_lane = choice.target;
                if choice.thought {
                    vehicle.timer = 0.0;
                }
            }
        }
    }

    fn steer_and_accelerate(&mut self, task: &Task) {
        for i in 0..self.vehicles.len() {
            let vehicle = &mut self.vehicles[i];
            match vehicle.driver {
                Driver::Raw => continue,
                Driver::Idm if vehicle.crashed => continue,
                Driver::Meta => {
                    steer_along(vehicle, task.network.lane(vehicle.target_lane));
                    hold_speed(vehicle);
                }
                Driver::Idm => {
                    steer_along(vehicle, task.network.lane(vehicle.target_lane));
                    let acceleration = self.follow(task, i);
                    self.vehicles[i].acceleration = acceleration;
                }
            }
        }
    }

    /// The intelligent driver model's acceleration behind whoever is ahead, on the current lane
    /// and on the one aimed for \[m/s²\].
    fn follow(&self, task: &Task, who: usize) -> f64 {
        let traffic = self.traffic(task);
        let vehicle = &self.vehicles[who];
        let lane = task.network.lane(vehicle.lane);
        let free = self.temper.free_acceleration(vehicle, vehicle.exponent, lane);
        let behind = |lane_id| {
            let ahead = traffic.ahead(who, lane_id);
            let leader = ahead.map(|body| traffic.leader(body));
            free - leader.map_or(0.0, |leader| self.temper.interaction(vehicle, &leader, lane))
        };
        let mut acceleration = behind(vehicle.lane);
        if vehicle.lane != vehicle.target_lane {
            acceleration = acceleration.min(behind(vehicle.target_lane));
        }
        let limit = self.temper.acceleration_limit;
        let acceleration = acceleration.clamp(-limit, limit);
        match vehicle.braking {
            Some((braking, _)) => acceleration.min(-braking),
            None => acceleration,
        }
    }

    fn advance(&mut self, task: &Task) {
        let dt = task.frame_time;
        for vehicle in &mut self.vehicles {
            vehicle.timer += dt;
            if let Some((braking, left)) = vehicle.braking {
                vehicle.braking = (left > dt && vehicle.speed > 0.0).then_some((braking, left - dt));
            }
            vehicle.advance(dt);
            vehicle.lane =
                task.network.closest_lane(vehicle.position(), vehicle.heading, vehicle.lane);
        }
    }
}
