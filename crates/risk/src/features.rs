//! How does a driving scene look to a critic?
//!
//! As a row of numbers about the ego and its road, and one row for each body around it. All of it is
//! relative to the ego and scaled to be about one; the same for every task, but that an ego which steers
//! itself is told its swerves too. Start at [`Features::read`].
//!
//! **Invariants:** only what an observer could see goes in (poses, speeds, lanes, lights, and who was there
//! first); the order in which a scene lists its cars does not matter, not by a bit; a scene that holds a
//! number which is none, or no ego, cannot be read.

mod describe;

use cpss_highway::scene::{Body, Doubt, Ego};
use cpss_highway::{Scene, Task};

use crate::actions::ActionKey;
use crate::escape::Escape;
use crate::swerve::{SWERVES, Swerves, pedals};
use crate::way::Way;
use describe::Frame;

impl Inputs {
    /// What a critic of a task's actions reads, through perfect eyes.
    pub fn of(task: &Task) -> Inputs {
        if pedals(task).is_some() { STEERING } else { DRIVING }
    }

    /// The same, with how far each number may be off.
    pub fn with_doubts(self) -> Inputs {
        match self.name {
            name if name == DRIVING.name => DRIVING_IN_DOUBT,
            name if name == STEERING.name => STEERING_IN_DOUBT,
            _ => self,
        }
    }

    /// Whether a critic is told how far the numbers may be off.
    pub fn has_doubts(&self) -> bool {
        *self == DRIVING_IN_DOUBT || *self == STEERING_IN_DOUBT
    }
}

/// What a critic reads: which numbers, and how many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// What they are called; another choice of numbers is another name.
    pub name: &'static str,
    /// Numbers about the ego and its road.
    pub fixed: usize,
    /// Numbers about each body.
    pub item: usize,
}

/// For an ego under meta-actions.
pub const DRIVING: Inputs = Inputs { name: "driving 1", fixed: 18 + 2 * PREVIEW.len(), item: 34 };
/// For an ego that steers itself: the same, and its swerves.
pub const STEERING: Inputs =
    Inputs { name: "steering 1", fixed: DRIVING.fixed + SWERVES, item: DRIVING.item + SWERVES };
/// For an ego under meta-actions, behind a sensor: the same, and how far each number may be off.
pub const DRIVING_IN_DOUBT: Inputs = DRIVING.plus_doubts("driving 1 in doubt");
/// For an ego that steers itself, behind a sensor.
pub const STEERING_IN_DOUBT: Inputs = STEERING.plus_doubts("steering 1 in doubt");
/// Numbers that say how far a body may be off, and how far the scene as a whole.
const DOUBTS: (usize, usize) = (4, 1);

impl Inputs {
    const fn plus_doubts(self, name: &'static str) -> Inputs {
        Inputs { name, fixed: self.fixed + DOUBTS.1, item: self.item + DOUBTS.0 }
    }
}

/// The most bodies that are told apart; of more, those that come closest.
pub const MOST_ITEMS: usize = 16;

/// Bodies farther away than this are not looked at \[m\].
const RANGE: f64 = 120.0;
/// Until when it is asked how close a body comes at its present velocity \[s\].
const LOOK_AHEAD: f64 = 4.0;
/// How far ahead the ego's lane is told \[m\].
const PREVIEW: [f64; 6] = [4.0, 8.0, 15.0, 25.0, 40.0, 60.0];
/// How far ahead it is looked for the end of the road \[m\].
const ROAD_END: f64 = 200.0;
/// Where density counts a car as nothing \[m\].
const DENSITY_REACH: f64 = 50.0;
/// No number is beyond this.
const LIMIT: f64 = 7.99;

/// A scene as numbers; keep one and read scene after scene.
#[derive(Clone, Debug, Default)]
pub struct Features {
    fixed: Vec<f32>,
    items: Vec<f32>,
    density: f64,
    /// For each item, which body it is.
    sources: Vec<Source>,
    candidates: Vec<Candidate>,
    escape: Option<Escape>,
    has_doubts: bool,
}

/// A body of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A car, by its place in [`Scene::others`].
    Car(usize),
    /// Something without a driver, by its place in [`Scene::obstacles`].
    Obstacle(usize),
}

impl Source {
    fn body(self, scene: &Scene) -> &Body {
        match self {
            Source::Car(place) => &scene.others[place],
            Source::Obstacle(place) => &scene.obstacles[place],
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    source: Source,
    /// Relative position and velocity in the ego's frame.
    position: [f64; 2],
    velocity: [f64; 2],
    /// When it is closest, and how close \[s, m\].
    closest: (f64, f64),
    /// What it adds to the density.
    crowding: f64,
}

impl Features {
    /// Features for a critic that reads these inputs.
    pub fn for_inputs(inputs: &Inputs) -> Features {
        Features { has_doubts: inputs.has_doubts(), ..Features::default() }
    }

    /// Reads a scene; `false` if it cannot be read, and then there are no numbers.
    pub fn read(&mut self, task: &Task, scene: &Scene) -> bool {
        self.fixed.clear();
        self.items.clear();
        self.sources.clear();
        self.candidates.clear();
        self.escape = None;
        self.density = f64::NAN;
        let Some(ego) = scene.ego.as_ref().filter(|_| is_readable(task, scene)) else {
            return false;
        };
        let network = &*task.network;
        self.select(ego, scene);
        let frame = Frame::of(network, ego);
        let swerves = pedals(task).map(|pedals| Swerves::of(network, ego, &frame.way, pedals));
        self.describe_ego(network, &frame);
        if let Some(swerves) = &swerves {
            push(&mut self.fixed, *swerves.room());
        }
        if self.has_doubts {
            push(&mut self.fixed, [scene.missed * 5.0]);
        }
        self.escape = self.escape_without(task, scene, None, &frame.way);
        for index in 0..self.candidates.len() {
            let candidate = self.candidates[index];
            self.sources.push(candidate.source);
            self.describe_body(network, scene, &frame, &candidate);
            if let Some(swerves) = &swerves {
                let body = candidate.source.body(scene);
                push(&mut self.items, swerves.closeness(network, body));
            }
            if self.has_doubts {
                let Doubt { along, across, speed, age } =
                    candidate.source.body(scene).doubt.unwrap_or_default();
                push(&mut self.items, [along / 2.0, across / 0.5, speed / 2.0, age]);
            }
        }
        let is_sound = self.fixed.iter().chain(&self.items).all(|number| number.is_finite());
        if !is_sound {
            self.fixed.clear();
            self.items.clear();
            self.escape = None;
            self.sources.clear();
            self.density = f64::NAN;
        }
        is_sound
    }

    /// Numbers about the ego and its road, as many as [`Inputs::fixed`].
    pub fn fixed(&self) -> &[f32] {
        &self.fixed
    }

    /// Raises risks, of actions in this order, to what geometry alone says of them, if the ego steers itself.
    pub fn raise(&self, actions: &[ActionKey], risks: &mut [f64]) {
        if let Some(escape) = &self.escape {
            escape.raise(actions, risks);
        }
    }

    /// What geometry alone says, if the ego steers itself.
    pub(crate) fn escape(&self) -> Option<Escape> {
        self.escape
    }

    /// The same as if one of the bodies, by its place among the items, were not there, for the scene last read.
    pub(crate) fn raise_without(
        &self,
        task: &Task,
        scene: &Scene,
        place: usize,
        (actions, risks): (&[ActionKey], &mut [f64]),
    ) {
        let Some(ego) = &scene.ego else { return };
        let way = Way::of_ego(&task.network, ego, ROAD_END);
        if let Some(escape) = self.escape_without(task, scene, Some(place), &way) {
            escape.raise(actions, risks);
        }
    }

    fn escape_without(
        &self,
        task: &Task,
        scene: &Scene,
        without: Option<usize>,
        way: &Way,
    ) -> Option<Escape> {
        let (ego, pedals) = (scene.ego.as_ref()?, pedals(task)?);
        let others =
            self.candidates.iter().enumerate().filter(|(place, _)| Some(*place) != without);
        let bodies = others.map(|(_, candidate)| candidate.source.body(scene));
        Escape::of(task, ego, way, pedals, bodies)
    }

    /// Numbers about each body, as many as [`Inputs::item`], one body after the other.
    pub fn items(&self) -> &[f32] {
        &self.items
    }

    /// For each item, which body of the scene it is.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// How crowded it is around the ego: each car within reach counts 1 at the ego and 0 at the rim, in a
    /// straight line in between. NaN, which a shield refuses, if the scene cannot be read.
    pub fn density(&self) -> f64 {
        self.density
    }

    /// Chooses the bodies that come closest, in an order that depends on them alone.
    fn select(&mut self, ego: &Ego, scene: &Scene) {
        let body = &ego.body;
        let own = body.velocity();
        let cars = scene.others.iter().enumerate().map(|(place, car)| (Source::Car(place), car));
        let things = scene.obstacles.iter().enumerate();
        let things = things.map(|(place, thing)| (Source::Obstacle(place), thing));
        for (source, other) in cars.chain(things) {
            let offset =
                [other.position[0] - body.position[0], other.position[1] - body.position[1]];
            let distance = (offset[0] * offset[0] + offset[1] * offset[1]).sqrt();
            if distance > RANGE {
                continue;
            }
            let crowding = match source {
                Source::Car(_) => (1.0 - distance / DENSITY_REACH).max(0.0),
                Source::Obstacle(_) => 0.0,
            };
            let velocity = other.velocity();
            let velocity = turned(body, [velocity[0] - own[0], velocity[1] - own[1]]);
            let position = turned(body, offset);
            let closest = closest_approach(position, velocity);
            self.candidates.push(Candidate { source, position, velocity, closest, crowding });
        }
        // Ties between bodies at one and the same place cannot be told apart, nor need they be.
        self.candidates.sort_unstable_by(|a, b| {
            let key = |c: &Candidate| {
                [c.closest.1, c.position[0], c.position[1], c.velocity[0], c.velocity[1]]
            };
            let pairs = key(a).into_iter().zip(key(b));
            pairs
                .map(|(a, b)| a.total_cmp(&b))
                .find(|o| o.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        // In that order: a sum has other last bits in another one.
        self.density = self.candidates.iter().map(|candidate| candidate.crowding).sum();
        self.candidates.truncate(MOST_ITEMS);
    }
}

/// When and how close two come at constant velocities.
fn closest_approach([x, y]: [f64; 2], [vx, vy]: [f64; 2]) -> (f64, f64) {
    let speed = vx * vx + vy * vy;
    let time = if speed > 1e-6 { (-(x * vx + y * vy) / speed).clamp(0.0, LOOK_AHEAD) } else { 0.0 };
    let (x, y) = (x + vx * time, y + vy * time);
    (time, (x * x + y * y).sqrt())
}

/// A vector in the frame of a body.
fn turned(body: &Body, [x, y]: [f64; 2]) -> [f64; 2] {
    [x * body.cos + y * body.sin, y * body.cos - x * body.sin]
}

fn push<const N: usize>(numbers: &mut Vec<f32>, values: [f64; N]) {
    // `clamp` keeps a NaN, which is refused afterwards.
    numbers.extend(values.map(|value| value.clamp(-LIMIT, LIMIT) as f32));
}

/// Whether a scene has an ego, all of its numbers are numbers, and everybody has a size and is on a lane that there is.
pub fn is_readable(task: &Task, scene: &Scene) -> bool {
    let lanes = task.network.lanes().len();
    let bodies = scene.others.iter().chain(&scene.obstacles);
    scene.ego.as_ref().is_some_and(|ego| {
        let numbers = [ego.target_speed, ego.slip_sin];
        ego.target_lane.index() < lanes && numbers.iter().all(|number| number.is_finite())
    }) && bodies.chain(scene.ego.iter().map(|ego| &ego.body)).all(|body| is_sound(body, lanes))
}

fn is_sound(body: &Body, lanes: usize) -> bool {
    let Body { position: [x, y], heading, cos, sin, speed, length, width, along, across, .. } =
        body;
    let numbers = [x, y, heading, cos, sin, speed, length, width, along, across];
    numbers.iter().all(|number| number.is_finite())
        && *length > 0.0
        && *width > 0.0
        && body.lane.index() < lanes
        && body.acceleration.is_none_or(f64::is_finite)
        && body.bound_for.is_none_or(|[x, y]| x.is_finite() && y.is_finite())
}
