//! What would happen next if everybody drove by the book?
//!
//! A [`Rehearsal`] plays a [`Scene`] on: the ego as it is told, everyone else by the intelligent
//! driver model and the rules of the road, with the numbers that the task gives its drivers before any drift.
//! What a scene does not show is filled in by a [`Guess`], the same for everybody. It is made from a scene
//! and never sees a world, so it cannot peek at one.
//!
//! A car that shows no direction is played as one without a plan: it takes whichever road comes next.
//!
//! ```
//! use cpss_highway::rehearsal::{Guess, Rehearsal};
//! use cpss_highway::{Scene, Task, TaskId, World};
//!
//! let task = Task::with_defaults(TaskId::IntersectionV0);
//! let mut scene = Scene::default();
//! scene.observe(&World::new(task.clone(), 7));
//! let mut rehearsal = Rehearsal::new(&task);
//! rehearsal.set(&scene, &Guess { wish: 8.0, looked: 0.0 }, &task);
//! for _ in 0..5 {
//!     rehearsal.frame(0.2, &task);
//! }
//! assert_eq!(rehearsal.others().len(), scene.others.len());
//! ```
//!
//! Start at [`Rehearsal::set`]; [`Rehearsal::become_like`] branches.
//!
//! **Invariants:** others keep the scene's order; nothing is allocated once the busiest scene has been
//! seen.
//!
//! **Absent on purpose:** cars that are yet to come, sudden brakings, and the numbers of a drift.

use crate::road::Network;
use crate::route::Route;
use crate::scene::{Body, Scene};
use crate::simulation::Simulation;
use crate::task::Task;
use crate::vehicle::{Driver, MAX_SPEED, Vehicle};

/// A scene that is played on.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    simulation: Simulation,
}

/// What a scene does not show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// The speed that drivers aim for at least, within the limit \[m/s\].
    pub wish: f64,
    /// How long ago they last looked who has the right of way \[s\].
    pub looked: f64,
}

/// The longest frame \[s\] in which drivers still steer stably: they close in on a heading that fast.
pub const LONGEST_FRAME: f64 = 0.2;
/// Cosine of the angle within which two directions are taken for the same: about five degrees, where
/// the exits of a crossing are tens of degrees apart until a car is past the fork.
const SAME_DIRECTION: f64 = 0.996;

impl Rehearsal {
    /// An empty road of a task.
    pub fn new(task: &Task) -> Rehearsal {
        Rehearsal { simulation: Simulation::new(task.rules.temper()) }
    }

    /// Takes up a scene. Without an ego there is nobody.
    pub fn set(&mut self, scene: &Scene, guess: &Guess, task: &Task) {
        self.simulation.clear(task.rules.temper());
        self.simulation.set_clock((guess.looked / task.frame_time).round().max(0.0) as u64);
        let Some(ego) = &scene.ego else { return };
        let others = scene.others.iter().map(|body| by_the_book(body, guess, task));
        self.simulation.vehicles.extend(std::iter::once(ego.vehicle()).chain(others));
    }

    /// Takes over the state of another rehearsal.
    pub fn become_like(&mut self, other: &Rehearsal) {
        self.simulation.take_over(&other.simulation);
    }

    /// The ego; `None` on an empty road.
    pub fn ego(&self) -> Option<&Vehicle> {
        self.simulation.vehicles.first()
    }

    /// The ego, to be told what to do.
    pub fn ego_mut(&mut self) -> Option<&mut Vehicle> {
        self.simulation.vehicles.first_mut()
    }

    /// The others, in the scene's order.
    pub fn others(&self) -> &[Vehicle] {
        self.simulation.vehicles.get(1..).unwrap_or_default()
    }

    /// Plays a frame of `dt` \[s\], which may be longer than the world's, up to [`LONGEST_FRAME`].
    pub fn frame(&mut self, dt: f64, task: &Task) {
        if !self.simulation.vehicles.is_empty() {
            self.simulation.frame_lasting(dt, task);
        }
    }
}

/// A car with the mind of a textbook driver.
fn by_the_book(body: &Body, guess: &Guess, task: &Task) -> Vehicle {
    let network = &task.network;
    let limit = network.lane(body.lane).speed_limit;
    let route = body.bound_for.map(|shown| route_towards(shown, body, network));
    Vehicle {
        x: body.position[0],
        y: body.position[1],
        heading: body.heading,
        speed: body.speed,
        cos: body.cos,
        sin: body.sin,
        along: body.along,
        across: body.across,
        slip_sin: 0.0,
        slip_cos: 1.0,
        acceleration: 0.0,
        target_speed: body.speed.max(guess.wish).min(limit),
        exponent: 4.0,
        timer: 0.0,
        impact: None,
        speed_range: [-MAX_SPEED, MAX_SPEED],
        braking: None,
        route: route.unwrap_or_default(),
        lane: body.lane,
        target_lane: body.lane,
        driver: Driver::Idm,
        crashed: body.crashed,
        checks_collisions: true,
        is_yielding: false,
        speed_index: 0,
    }
}

/// The route from a body's lane that ends where it shows that it is bound: the furthest such place,
/// because nodes on the way there lie in the same direction. No route if there is none.
fn route_towards(shown: [f64; 2], body: &Body, network: &Network) -> Route {
    let mut best = (Route::default(), 0.0);
    for node in network.nodes() {
        let route = Route::plan(network, body.lane, node);
        let Some(leg) = route.legs().last() else { continue };
        let lane = network.lane(network.lane_at_most(leg.road, leg.lane.map_or(0, usize::from)));
        let [x, y] = lane.position(lane.length, 0.0);
        let [dx, dy] = [x - body.position[0], y - body.position[1]];
        let distance = dx.hypot(dy);
        let agrees = dx * shown[0] + dy * shown[1] >= SAME_DIRECTION * distance;
        if agrees && distance > best.1 {
            best = (route, distance);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, TaskId, World};

    fn crossing() -> std::sync::Arc<Task> {
        Task::with_defaults(TaskId::IntersectionV0)
    }

    #[test]
    fn every_car_is_given_the_route_that_it_shows() {
        let task = crossing();
        let mut seen = vec![0.0; task.observer.len()];
        let mut compared = 0;
        for seed in 0..40 {
            let mut world = World::new(task.clone(), seed);
            for _ in 0..6 {
                let mut scene = Scene::default();
                scene.observe(&world);
                let others = world.vehicles().iter().enumerate();
                let others = others.filter(|(place, _)| *place != world.ego_index());
                for ((_, car), body) in others.zip(&scene.others) {
                    let Some(shown) = body.bound_for else { continue };
                    let end = |route: &Route| route.legs().last().map(|leg| leg.road);
                    assert_eq!(end(&route_towards(shown, body, &task.network)), end(&car.route));
                    compared += 1;
                }
                if world.step(Action::Index(1), &mut seen).unwrap().is_over() {
                    break;
                }
            }
        }
        assert!(compared > 500, "{compared}");
    }

    #[test]
    fn a_branch_goes_on_from_where_it_left_and_alone() {
        let task = crossing();
        let mut scene = Scene::default();
        scene.observe(&World::new(task.clone(), 3));
        let guess = Guess { wish: 8.0, looked: 0.2 };
        let mut main = Rehearsal::new(&task);
        main.set(&scene, &guess, &task);
        main.frame(0.1, &task);
        let mut branch = Rehearsal::new(&task);
        branch.become_like(&main);
        let places = |rehearsal: &Rehearsal| -> Vec<[f64; 2]> {
            rehearsal.others().iter().map(Vehicle::position).collect()
        };
        let before = places(&main);
        for _ in 0..30 {
            branch.frame(0.1, &task);
        }
        assert_eq!(places(&main), before);
        for _ in 0..30 {
            main.frame(0.1, &task);
        }
        assert_eq!(places(&main), places(&branch));
    }

    #[test]
    fn nobody_on_the_road_is_no_trap() {
        let task = crossing();
        let mut rehearsal = Rehearsal::new(&task);
        rehearsal.set(&Scene::default(), &Guess { wish: 8.0, looked: 0.0 }, &task);
        rehearsal.frame(0.1, &task);
        assert!(rehearsal.ego().is_none() && rehearsal.others().is_empty());
    }
}
