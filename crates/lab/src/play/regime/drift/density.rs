//! How does traffic get denser, or thinner, while an episode runs?
//!
//! Cars come and go where the ego does not see it: at least [`OUT_OF_SIGHT`] away. How many there should be follows
//! the intensity as it does at the start: by a task's density (the highway), by its number of cars (the racetrack), or by
//! its extra cars (the merge, the roundabout), which come and do not go, since their roads lead away. Where cars appear
//! after every decision (the intersection) their chance does it all, in `apply`.
//!
//! On the highway a change multiplies the cars that are out of sight when it comes; those that still wait for room are not
//! among them.

use cpss_highway::road::LaneId;
use cpss_highway::vehicle::Vehicle;
use cpss_highway::{Disturbance, World};

use super::{Drift, TRIES, is_away};
use crate::tasks::{self, Arrivals, DriftSpec};

/// Nearer to the ego than this no car appears or vanishes \[m\].
const OUT_OF_SIGHT: f64 = 80.0;

impl Drift {
    /// Brings the number of cars to that of an intensity. What finds no room now is tried again next time.
    pub(in crate::play::regime) fn follow_density(&mut self, world: &mut World, intensity: f64) {
        let DriftSpec { density, more, arrivals, spawning } =
            &tasks::of(world.task().id).spec.drift;
        match (density, more.first()) {
            _ if !arrivals.is_empty() => self.bring_extra(world, arrivals, intensity),
            (Some(_), _) => {
                let factor = |intensity: f64| 1.0 + intensity * (self.full.density - 1.0);
                let change = factor(intensity) / factor(self.dense) - 1.0;
                let far = far_from(world).0.len() as f64;
                self.owe((far * change).round() as i64, intensity);
            }
            (None, Some(more)) if spawning.is_none() => {
                let count = f64::from(self.full.extra(&more.name, more.count));
                let cars = |intensity: f64| (count * intensity).round() as i64;
                self.owe(cars(intensity) - cars(self.dense), intensity);
            }
            _ => {}
        }
        self.pay(world);
    }

    /// Puts extra cars on the road until so many have come as an intensity asks for.
    fn bring_extra(&mut self, world: &mut World, arrivals: &[Arrivals], intensity: f64) {
        for (kind, arrivals) in arrivals.iter().enumerate() {
            let wanted = self.extra(arrivals, intensity);
            while self.brought[kind] < wanted && self.add_car(world, arrivals, OUT_OF_SIGHT) {
                self.brought[kind] += 1;
            }
        }
    }

    /// Notes how many cars a change of the intensity brings, or takes. A change too small for one car waits until it has
    /// grown.
    fn owe(&mut self, cars: i64, intensity: f64) {
        if cars != 0 {
            self.owed += cars;
            self.dense = intensity;
        }
    }

    /// Brings or removes the cars that are owed, as many as can be now. The last of the traffic stays.
    fn pay(&mut self, world: &mut World) {
        while self.owed > 0 && self.bring_car(world) {
            self.owed -= 1;
        }
        while self.owed < 0 && world.vehicles().len() > 2 && self.remove_car(world) {
            self.owed += 1;
        }
    }

    /// Puts a car like the others on some lane, out of sight.
    fn bring_car(&mut self, world: &mut World) -> bool {
        let Some((usual, usual_target)) = usual_speeds(world) else { return false };
        let network = std::sync::Arc::clone(&world.task().network);
        let lanes: Vec<LaneId> = network.lanes().map(|(lane, _)| lane).collect();
        let reach = far_from(world).1;
        for _ in 0..TRIES {
            let lane = lanes[self.random.choice(lanes.len())];
            let length = network.lane(lane).length;
            // On a road that is far longer than its traffic, only where that is.
            let [from, to] = if length > reach[1] { reach } else { [0.0, length] };
            let along = self.random.uniform(from, to).clamp(0.0, length);
            // Some drive faster than others, and want to.
            let spread = self.full.speed_spread;
            let share = self.random.uniform(1.0 - spread, 1.0 + spread);
            let (speed, target_speed) = (usual * share, usual_target * share);
            let is_away = is_away(world, lane, along, OUT_OF_SIGHT);
            if !is_away || !self.has_room(world, lane, along, speed) {
                continue;
            }
            let arrival =
                Disturbance::Arrival { lane, along, speed, target_speed, destination: None };
            if world.disturb(arrival).is_ok() {
                return true;
            }
        }
        false
    }

    /// Takes some car that is out of sight off the road.
    fn remove_car(&mut self, world: &mut World) -> bool {
        let cars = far_from(world).0;
        let some = self.random.choice(cars.len().max(1));
        let departure = cars.get(some).map(|&vehicle| Disturbance::Departure { vehicle });
        departure.is_some_and(|departure| world.disturb(departure).is_ok())
    }
}

/// The places of all cars that are out of sight, and from where to where traffic reaches along x \[m\].
fn far_from(world: &World) -> (Vec<usize>, [f64; 2]) {
    let me = world.ego();
    let is_far = |car: &Vehicle| (car.x - me.x).hypot(car.y - me.y) >= OUT_OF_SIGHT;
    let far = world.vehicles().iter().enumerate().filter(|(_, car)| is_far(car));
    let xs = world.vehicles().iter().map(|car| car.x);
    let reach = xs.fold([me.x, me.x], |[low, high], x| [low.min(x), high.max(x)]);
    (far.map(|(place, _)| place).collect(), reach)
}

/// The mean speed of the traffic, and the mean that it aims for \[m/s\]; `None` on an empty road.
fn usual_speeds(world: &World) -> Option<(f64, f64)> {
    let others = world.vehicles().iter().enumerate();
    let others = others.filter(|(place, car)| *place != world.ego_index() && !car.crashed);
    let (mut speed, mut target, mut count) = (0.0, 0.0, 0.0);
    for (_, car) in others {
        (speed, target, count) = (speed + car.speed, target + car.target_speed, count + 1.0);
    }
    let bounded = |sum: f64| (sum / count).clamp(1.0, 35.0);
    (count > 0.0).then(|| (bounded(speed), bounded(target)))
}
