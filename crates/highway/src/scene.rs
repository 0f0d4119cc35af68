//! What could an observer on the road see?
//!
//! A [`Scene`] holds poses, speeds, sizes and lanes of everything on the road, how speeds change, where
//! others show that they are bound, and the ego's own intentions, which it knows. It does **not** hold
//! another driver's target, timer, exponent, route or plan, nor the random generator: whoever judges
//! risk gets a scene and cannot peek. It is plain data, so a scene can also be filled from another
//! simulator, or from sensors.
//!
//! Where a car is bound is public in highway-env too: any observation may ask for `cos_d` and `sin_d`
//! of every car, as the shipped policy of the intersection does. It stands for a turn signal.
//!
//! Start at [`Scene::observe`].

use crate::neighbours::{OBSTACLE_SIZE, Obstacle};
use crate::observation::destination_direction;
use crate::road::{LaneId, Network};
use crate::route::Route;
use crate::vehicle::{Driver, LENGTH, Vehicle, WIDTH};
use crate::world::World;

/// Everything an observer could see, and what the ego means to do.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The ego; `None` before the first observation.
    pub ego: Option<Ego>,
    /// All other cars, those that have been on the road for longest first.
    pub others: Vec<Body>,
    /// How many of these were there before the ego: where two have the same right of way, that counts.
    pub earlier: usize,
    /// Bodies without a driver.
    pub obstacles: Vec<Body>,
    /// The share of cars that one look misses, by chance; 0 for perfect eyes.
    pub missed: f64,
}

/// A rectangle on the road.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Centre \[m\].
    pub position: [f64; 2],
    /// Direction it points \[rad\].
    pub heading: f64,
    /// Cosine of the heading.
    pub cos: f64,
    /// Sine of the heading.
    pub sin: f64,
    /// Speed along its heading \[m/s\].
    pub speed: f64,
    /// How that has changed in the last frame \[m/s²\], which two looks show; zero for a car that has just
    /// appeared, `None` if unseen.
    pub acceleration: Option<f64>,
    /// Length \[m\].
    pub length: f64,
    /// Width \[m\].
    pub width: f64,
    /// The lane it is closest to.
    pub lane: LaneId,
    /// Longitudinal coordinate on that lane \[m\].
    pub along: f64,
    /// Lateral coordinate on that lane \[m\].
    pub across: f64,
    /// Whether it is a wreck: that can be seen.
    pub crashed: bool,
    /// The direction of the place it is bound for, of length 1; `None` if it shows none.
    pub bound_for: Option<[f64; 2]>,
    /// By which it is known again in the next scene: of two cars, the one that came later has the greater number.
    /// `None` if whoever filled the scene cannot tell.
    pub id: Option<u32>,
    /// How far its numbers may be off; `None` if they are exact.
    pub doubt: Option<Doubt>,
}

/// How far what is known of a body may be off: standard deviations, and how old it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Doubt {
    /// Along its heading \[m\].
    pub along: f64,
    /// Across it \[m\].
    pub across: f64,
    /// Of its speed \[m/s\].
    pub speed: f64,
    /// Since when it has not been seen \[s\]: 0 if it is seen now.
    pub age: f64,
}

/// The ego: a body that knows its own mind.
#[derive(Clone, Copy, Debug)]
pub struct Ego {
    /// What others see of it.
    pub body: Body,
    /// Who drives it.
    pub driver: Driver,
    /// The lane it aims for.
    pub target_lane: LaneId,
    /// The speed it aims for \[m/s\].
    pub target_speed: f64,
    /// The place of that speed among those it can hold.
    pub speed_index: u8,
    /// The roads it means to take.
    pub route: Route,
    /// Sine of the slip angle that its steering causes now.
    pub slip_sin: f64,
    /// Slowest and fastest speed it may reach \[m/s\].
    pub speed_range: [f64; 2],
}

impl Scene {
    /// Looks at a world, reusing this scene's room.
    pub fn observe(&mut self, world: &World) {
        let task = world.task();
        let ego = world.ego_index();
        self.ego = Some(Ego::of(world.ego(), &task.network));
        self.others.clear();
        let others = world.vehicles().iter().enumerate().filter(|(place, _)| *place != ego);
        self.others.extend(others.map(|(_, vehicle)| Body::of(vehicle, &task.network)));
        self.earlier = ego;
        self.obstacles.clear();
        self.obstacles.extend(task.obstacles.iter().map(|o| Body::of_obstacle(o, &task.network)));
    }
}

impl Body {
    /// A body at a pose, on whichever lane is closest.
    pub fn new(
        network: &Network,
        position: [f64; 2],
        heading: f64,
        speed: f64,
        [length, width]: [f64; 2],
    ) -> Body {
        let place = network.locate(position, heading, LaneId(0));
        let (sin, cos) = heading.sin_cos();
        Body {
            position,
            heading,
            cos,
            sin,
            speed,
            acceleration: None,
            length,
            width,
            lane: place.lane,
            along: place.along,
            across: place.across,
            crashed: false,
            bound_for: None,
            id: None,
            doubt: None,
        }
    }

    /// Velocity \[m/s\].
    pub fn velocity(&self) -> [f64; 2] {
        [self.speed * self.cos, self.speed * self.sin]
    }

    fn of(vehicle: &Vehicle, network: &Network) -> Body {
        let direction = destination_direction(vehicle, network);
        Body {
            position: vehicle.position(),
            heading: vehicle.heading,
            cos: vehicle.cos,
            sin: vehicle.sin,
            speed: vehicle.speed,
            acceleration: Some(vehicle.acceleration),
            length: LENGTH,
            width: WIDTH,
            lane: vehicle.lane,
            along: vehicle.along,
            across: vehicle.across,
            crashed: vehicle.crashed,
            bound_for: (direction != [0.0, 0.0]).then_some(direction),
            id: Some(vehicle.id),
            doubt: None,
        }
    }

    fn of_obstacle(obstacle: &Obstacle, network: &Network) -> Body {
        Body::new(network, obstacle.position, 0.0, 0.0, [OBSTACLE_SIZE, OBSTACLE_SIZE])
    }
}

impl Ego {
    fn of(vehicle: &Vehicle, network: &Network) -> Ego {
        Ego {
            body: Body::of(vehicle, network),
            driver: vehicle.driver,
            target_lane: vehicle.target_lane,
            target_speed: vehicle.target_speed,
            speed_index: vehicle.speed_index,
            route: vehicle.route,
            slip_sin: vehicle.slip_sin,
            speed_range: vehicle.speed_range,
        }
    }
}
