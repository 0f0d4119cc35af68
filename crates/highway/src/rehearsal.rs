//! What would happen next if everybody drove by the book?
//!
//! A [`Rehearsal`] plays a [`Scene`] on: the ego as it is told, everyone else by the intelligent
//! driver model and the rules of the road, with the numbers that the task gives its drivers before any drift.
//! What they intend is worked out from how their speeds change; what a scene does not show is filled in by a
//! [`Guess`], the same for everybody. It is made from a scene and never sees a world, so it cannot peek at
//! one.
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
//! assert_eq!(rehearsal.others().count(), scene.others.len());
//! ```
//!
//! Start at [`Rehearsal::set`]; [`Rehearsal::become_like`] branches.
//!
//! **Invariants:** others keep the scene's order; nothing is allocated once the busiest scene has been
//! seen.
//!
//! **Absent on purpose:** cars that are yet to come, sudden brakings, and the numbers of a drift.

use crate::driver::{Temper, follow_road};
use crate::road::Network;
use crate::route::Route;
use crate::scene::{Body, Scene};
use crate::simulation::Simulation;
use crate::task::Task;
use crate::vehicle::{Driver, Vehicle};

/// A scene that is played on.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    simulation: Simulation,
}

/// What a scene does not show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// The speed that drivers aim for at least, within the limit, if it does not show \[m/s\].
    pub wish: f64,
    /// How long ago they last looked who has the right of way \[s\].
    pub looked: f64,
}

/// The longest frame \[s\] in which drivers still steer stably: they close in on a heading that fast.
pub const LONGEST_FRAME: f64 = 0.2;
/// Speed below which a driver's mind does not show \[m/s\]: whoever waits rocks on the spot.
const SLOWEST_READ: f64 = 0.3;
/// How far from its limit a braking is taken to be at it \[m/s²\].
const READING_ERROR: f64 = 0.5;
/// The share of the hardest braking from which on the car ahead is taken for its reason.
const EXPLAINED: f64 = 0.6;
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
        let (earlier, later) = scene.others.split_at(scene.earlier.min(scene.others.len()));
        let drive = |body| by_the_book(body, guess, task);
        let vehicles = &mut self.simulation.vehicles;
        vehicles.extend(earlier.iter().map(drive));
        vehicles.push(ego.vehicle());
        vehicles.extend(later.iter().map(drive));
        self.simulation.ego = earlier.len();
        self.read_minds(&scene.others, task);
    }

    /// Takes from how the others' speeds change what they intend, where it shows: by the driver model, the
    /// speed that a driver aims for follows from how it speeds up and from who is ahead of it, and whoever
    /// brakes at the limit for nobody is giving way.
    fn read_minds(&mut self, others: &[Body], task: &Task) {
        let Temper { acceleration_limit, comfort_acceleration, .. } = self.simulation.model.temper;
        for (place, body) in others.iter().enumerate() {
            let Some(seen) = body.acceleration.filter(|_| !body.crashed) else { continue };
            // What was decided a frame ago was decided at the speed of that time.
            let speed = body.speed - seen * task.frame_time;
            if speed < SLOWEST_READ {
                continue;
            }
            let place = place + usize::from(place >= self.simulation.ego);
            // At the end of a road a driver already looks down the next one.
            follow_road(&mut self.simulation.vehicles[place], &task.network);
            let held_up = self.simulation.held_up(place, task);
            let car = &mut self.simulation.vehicles[place];
            if seen <= -acceleration_limit + READING_ERROR {
                if held_up < EXPLAINED * acceleration_limit {
                    car.target_speed = 0.0;
                    car.is_yielding = true;
                }
                continue;
            }
            let ratio_power = 1.0 - (seen + held_up) / comfort_acceleration;
            // Nobody aims for less than it drives: such a one brakes for something that does not show.
            if ratio_power <= 1.0 {
                let limit = task.network.lane(body.lane).speed_limit;
                let aim = speed / ratio_power.max(0.0).powf(1.0 / car.exponent);
                car.target_speed = aim.min(limit);
            }
        }
    }

    /// Takes over the state of another rehearsal.
    pub fn become_like(&mut self, other: &Rehearsal) {
        self.simulation.take_over(&other.simulation);
    }

    /// The ego; `None` on an empty road.
    pub fn ego(&self) -> Option<&Vehicle> {
        self.simulation.vehicles.get(self.simulation.ego)
    }

    /// The ego, to be told what to do.
    pub fn ego_mut(&mut self) -> Option<&mut Vehicle> {
        self.simulation.vehicles.get_mut(self.simulation.ego)
    }

    /// The others, in the scene's order.
    pub fn others(&self) -> impl Iterator<Item = &Vehicle> {
        let Simulation { vehicles, ego, .. } = &self.simulation;
        let (earlier, rest) = vehicles.split_at((*ego).min(vehicles.len()));
        earlier.iter().chain(rest.iter().skip(1))
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
        target_speed: body.speed.max(guess.wish).min(limit),
        route: route.unwrap_or_default(),
        ..body.vehicle(Driver::Idm)
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

    /// A car alone on its way to the crossing, as it is rehearsed.
    fn read(acceleration: Option<f64>) -> Vehicle {
        read_behind(None, acceleration)
    }

    /// The same behind another one, which is so far ahead \[m\] and as fast.
    fn read_behind(leader: Option<f64>, acceleration: Option<f64>) -> Vehicle {
        let task = crossing();
        let mut scene = Scene::default();
        scene.observe(&World::new(task.clone(), 3));
        let lane = task.network.lane(task.network.find_lane("o1", "ir1", 0).unwrap());
        let at = |along: f64| {
            let position = lane.position(along, 0.0);
            Body::new(&task.network, position, lane.heading_at(along), 7.0, [5.0, 2.0])
        };
        scene.others = vec![Body { acceleration, ..at(30.0) }];
        scene.others.extend(leader.map(|ahead| at(30.0 + ahead)));
        let mut rehearsal = Rehearsal::new(&task);
        rehearsal.set(&scene, &Guess { wish: 9.0, looked: 0.0 }, &task);
        rehearsal.others().next().unwrap().clone()
    }

    #[test]
    fn a_driver_s_aim_is_read_from_how_it_speeds_up_and_guessed_if_unseen() {
        assert_eq!(read(None).target_speed, 9.0);
        assert!((read(Some(0.0)).target_speed - 7.0).abs() < 1e-9);
        assert!(read(Some(1.0)).target_speed > 7.1);
        // It brakes for something that does not show, but not as one who gives way.
        assert_eq!(read(Some(-1.0)).target_speed, 9.0);
        assert!(!read(Some(-1.0)).is_yielding);
        // Faster than its model has it: it wants all it is allowed to.
        assert_eq!(read(Some(6.0)).target_speed, 10.0);
    }

    #[test]
    fn whoever_brakes_at_the_limit_for_nobody_gives_way() {
        let car = read(Some(-6.0));
        assert!(car.is_yielding && car.target_speed == 0.0);
    }

    #[test]
    fn whoever_brakes_at_the_limit_behind_another_does_not_give_way() {
        let car = read_behind(Some(9.0), Some(-6.0));
        assert!(!car.is_yielding && car.target_speed == 9.0, "{}", car.target_speed);
        // That one is too far ahead to be the reason.
        assert!(read_behind(Some(50.0), Some(-6.0)).is_yielding);
    }

    #[test]
    fn what_a_car_ahead_takes_off_is_added_back_before_an_aim_is_read() {
        // To hold 7 m/s behind a car takes a wish for more.
        let (alone, behind) = (read(Some(0.0)), read_behind(Some(25.0), Some(0.0)));
        assert!(behind.target_speed > alone.target_speed + 0.1, "{}", behind.target_speed);
        // It rehearses what was seen: with the aim that was read, it speeds up just like that.
        let task = crossing();
        let mut simulation = Simulation::new(task.rules.temper());
        let lane = task.network.lane(behind.lane);
        let mut leader = behind.clone();
        [leader.x, leader.y] = lane.position(55.0, 0.0);
        (leader.along, leader.across) = lane.local_coordinates(leader.position());
        simulation.vehicles.extend([behind.clone(), leader]);
        let held_up = simulation.held_up(0, &task);
        let Temper { comfort_acceleration, .. } = simulation.model.temper;
        let free = 1.0 - (7.0 / behind.target_speed).powf(behind.exponent);
        assert!((comfort_acceleration * free - held_up).abs() < 1e-6, "{free} {held_up}");
    }

    #[test]
    fn minds_are_mostly_read_right() {
        let task = crossing();
        let mut rehearsal = Rehearsal::new(&task);
        let mut seen = vec![0.0; task.observer.len()];
        let (mut right, mut all) = (0, 0);
        for seed in 0..60 {
            let mut world = World::new(task.clone(), seed);
            for _ in 0..8 {
                let mut scene = Scene::default();
                scene.observe(&world);
                rehearsal.set(&scene, &Guess { wish: 8.0, looked: 0.0 }, &task);
                let others = world.vehicles().iter().enumerate();
                let others = others.filter(|(place, _)| *place != world.ego_index());
                for ((_, car), read) in others.zip(rehearsal.others()) {
                    let shows = !car.crashed && car.speed > 2.0 * SLOWEST_READ;
                    all += usize::from(shows);
                    let is_right = (car.target_speed - read.target_speed).abs() < 0.5;
                    right += usize::from(shows && is_right);
                }
                if world.step(Action::Index(1), &mut seen).unwrap().is_over() {
                    break;
                }
            }
        }
        assert!(all > 1000 && right * 10 > all * 9, "{right} of {all}");
    }

    #[test]
    fn of_two_who_come_towards_each_other_the_later_one_waits() {
        let task = crossing();
        let lane = task.network.lane(task.network.find_lane("o2", "ir2", 0).unwrap());
        let along = lane.length - 12.0;
        let heading = lane.heading_at(along);
        let position = lane.position(along, 0.0);
        let mut scene = Scene::default();
        scene.observe(&World::new(task.clone(), 3));
        // The ego's mirror image: the crossing's middle is the origin.
        let ego = scene.ego.as_mut().unwrap();
        let turned = heading - std::f64::consts::PI;
        let mirrored = position.map(|number| -number);
        ego.body = Body::new(&task.network, mirrored, turned, 8.0, [5.0, 2.0]);
        ego.target_lane = ego.body.lane;
        let exit = task.network.lane(task.network.find_lane("il0", "o0", 0).unwrap());
        let [x, y] = exit.position(exit.length, 0.0);
        let [dx, dy] = [x - position[0], y - position[1]];
        let body = Body::new(&task.network, position, heading, 8.0, [5.0, 2.0]);
        let straight_on = Some([dx / dx.hypot(dy), dy / dx.hypot(dy)]);
        scene.others = vec![Body { bound_for: straight_on, ..body }];
        let mut waits = |earlier: usize| {
            scene.earlier = earlier;
            let mut rehearsal = Rehearsal::new(&task);
            rehearsal.set(&scene, &Guess { wish: 8.0, looked: 0.0 }, &task);
            let mut waits = false;
            for _ in 0..15 {
                rehearsal.frame(task.frame_time, &task);
                waits |= rehearsal.others().next().unwrap().is_yielding;
            }
            waits
        };
        assert_eq!([waits(0), waits(1), waits(usize::MAX)], [true, false, false]);
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
            rehearsal.others().map(Vehicle::position).collect()
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
        assert!(rehearsal.ego().is_none() && rehearsal.others().next().is_none());
    }
}
