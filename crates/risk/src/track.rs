//! Where is everybody now, by all that was seen of them?
//!
//! A sensor is noisy and late, and misses cars. A [`Tracker`] stands between it and the critic: every car has a Kalman
//! filter along its lane, predicted from look to look and corrected by each reading. A car that a look has missed goes
//! on along its lane, ever less certain, until it is given up. Start at [`Tracker::look`]; what comes out is a
//! [`Scene`] of the present moment whose bodies say how far they may be off.
//!
//! **Invariants:** a body that is seen without error comes out where it is seen; a doubt never shrinks while a car
//! is not seen; nothing depends on the order in which a scene lists its cars.
//!
//! **Absent on purpose:** any law of driving. A car is expected to go on as it does, along its lane.

use cpss_highway::road::Network;
use cpss_highway::scene::{Body, Doubt, Ego};
use cpss_highway::{Scene, Sensor};

use crate::way::Way;

/// How much a car's acceleration changes from one moment to the next, as a standard deviation \[m/s²\],
const RESTLESSNESS: f64 = 2.0;
/// how fast it may drift sideways \[m/s\],
const SIDEWAYS: f64 = 0.5;
/// and how fast it turns otherwise than its lane \[rad/s\].
const TURNING: f64 = 0.15;
/// How long an acceleration lasts that is not seen any more \[s\].
const LASTING: f64 = 1.0;
/// After how long a car that is not seen is given up \[s\].
const GIVEN_UP: f64 = 3.0;
/// A reading that is farther off than so many standard deviations is believed, and what was expected is not.
const BEYOND: f64 = 5.0;
/// Cars farther from the ego than this are not followed \[m\]: a critic does not look at them.
const FAR: f64 = 150.0;

/// Follows the cars of one episode.
#[derive(Clone, Debug)]
pub struct Tracker {
    sensor: Sensor,
    /// By number, the first on the road first.
    tracks: Vec<Track>,
    scene: Scene,
}

/// One car.
#[derive(Clone, Copy, Debug)]
struct Track {
    id: u32,
    /// As it was at the last look.
    body: Body,
    /// Variances of its place along its lane and of its speed, and how they go together.
    along: f64,
    speed: f64,
    both: f64,
    /// Variances across the lane and of the heading.
    across: f64,
    heading: f64,
    /// Since when it has not been seen \[s\].
    age: f64,
}

impl Tracker {
    /// Follows cars through a sensor.
    pub fn new(sensor: Sensor) -> Tracker {
        Tracker { sensor, tracks: Vec::new(), scene: Scene::default() }
    }

    /// Forgets everybody: a new episode begins.
    pub fn begin(&mut self) {
        self.tracks.clear();
    }

    /// Where everybody is now, by all looks so far.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Takes a look, `elapsed` \[s\] after the one before. The scene is as the sensor shows it, `lateness` \[s\] ago but for
    /// the ego.
    pub fn look(&mut self, network: &Network, sensed: &Scene, elapsed: f64, lateness: f64) {
        let Tracker { sensor, tracks, scene } = self;
        tracks.iter_mut().for_each(|track| track.predict(network, elapsed));
        let near = |body: &&Body| sensed.ego.as_ref().is_none_or(|ego| is_near(ego, body));
        for seen in sensed.others.iter().filter(near) {
            // Whoever cannot be known again is taken as it is seen.
            let Some(id) = seen.id else { continue };
            match tracks.binary_search_by_key(&id, |track| track.id) {
                Ok(place) => tracks[place].correct(network, sensor, seen),
                Err(place) => tracks.insert(place, Track::new(id, seen, sensor)),
            }
        }
        tracks.retain(|track| {
            let is_near = sensed.ego.as_ref().is_none_or(|ego| is_near(ego, &track.body));
            is_near && track.age <= GIVEN_UP
        });
        scene.ego = sensed.ego;
        scene.obstacles.clone_from(&sensed.obstacles);
        scene.missed = sensor.missed;
        scene.others.clear();
        scene.others.extend(tracks.iter().map(|track| track.now(network, lateness)));
        let unknown = sensed.others.iter().filter(|body| body.id.is_none());
        scene.others.extend(unknown.copied());
        let own = sensed.ego.as_ref().and_then(|ego| ego.body.id).unwrap_or(0);
        scene.earlier = tracks.partition_point(|track| track.id < own);
    }
}

fn is_near(ego: &Ego, body: &Body) -> bool {
    let [x, y] = ego.body.position;
    (body.position[0] - x).hypot(body.position[1] - y) < FAR
}

impl Track {
    fn new(id: u32, seen: &Body, sensor: &Sensor) -> Track {
        Track {
            id,
            body: *seen,
            along: sensor.along.powi(2),
            speed: sensor.speed.powi(2),
            both: 0.0,
            across: sensor.across.powi(2),
            heading: sensor.heading.powi(2),
            age: 0.0,
        }
    }

    /// Goes on by some time, unseen.
    fn predict(&mut self, network: &Network, dt: f64) {
        self.body = gone_on(network, &self.body, dt);
        self.body.acceleration = self.body.acceleration.map(|it| it * (-dt / LASTING).exp());
        let noise = RESTLESSNESS.powi(2);
        self.along += dt * (2.0 * self.both + dt * self.speed) + noise * dt.powi(4) / 4.0;
        self.both += dt * self.speed + noise * dt.powi(3) / 2.0;
        self.speed += noise * dt * dt;
        self.across += (SIDEWAYS * dt).powi(2);
        self.heading += (TURNING * dt).powi(2);
        self.age += dt;
    }

    /// Takes a reading into account.
    fn correct(&mut self, network: &Network, sensor: &Sensor, seen: &Body) {
        let body = &self.body;
        let offset = [seen.position[0] - body.position[0], seen.position[1] - body.position[1]];
        let ahead = offset[0] * body.cos + offset[1] * body.sin;
        let aside = offset[1] * body.cos - offset[0] * body.sin;
        let turn = wrapped(seen.heading - body.heading);
        let [along, across, speed, heading] =
            [sensor.along, sensor.across, sensor.speed, sensor.heading].map(|it| it * it);
        let off = |error: f64, variance: f64| error * error > BEYOND * BEYOND * variance;
        if off(ahead, self.along + along)
            || off(aside, self.across + across)
            || off(turn, self.heading + heading)
        {
            let bound_for = seen.bound_for.or(body.bound_for);
            *self = Track::new(self.id, seen, sensor);
            self.body.bound_for = bound_for;
            return;
        }
        // Place and speed go together, so each reading corrects both, one after the other.
        let [by_place, by_place_speed] =
            [gain(self.along, along), share(self.both, self.along + along)];
        let mut moved = by_place * ahead;
        let mut faster = by_place_speed * ahead;
        let (old_along, old_both) = (self.along, self.both);
        self.along = (1.0 - by_place) * old_along;
        self.both = (1.0 - by_place) * old_both;
        self.speed = (self.speed - by_place_speed * old_both).max(0.0);
        let error = seen.speed - (body.speed + faster);
        let [by_speed, by_speed_place] =
            [gain(self.speed, speed), share(self.both, self.speed + speed)];
        faster += by_speed * error;
        moved += by_speed_place * error;
        let old_both = self.both;
        self.speed *= 1.0 - by_speed;
        self.both = (1.0 - by_speed) * old_both;
        self.along = (self.along - by_speed_place * old_both).max(0.0);
        let aside = gain(self.across, across) * aside;
        let turn = gain(self.heading, heading) * turn;
        self.across *= 1.0 - gain(self.across, across);
        self.heading *= 1.0 - gain(self.heading, heading);
        let trust = gain(RESTLESSNESS.powi(2), sensor.acceleration.powi(2));
        let expected = body.acceleration.unwrap_or(0.0);
        let acceleration = seen.acceleration.map(|it| expected + trust * (it - expected));
        let position = [
            body.position[0] + moved * body.cos - aside * body.sin,
            body.position[1] + moved * body.sin + aside * body.cos,
        ];
        let bound_for = seen.bound_for.or(body.bound_for);
        let speed = body.speed + faster;
        let corrected = Body { speed, acceleration, bound_for, ..*seen };
        self.body = placed(network, &corrected, position, body.heading + turn);
        self.age = 0.0;
    }

    /// The car as it should be by now, some time after the last look was taken.
    fn now(&self, network: &Network, lateness: f64) -> Body {
        let mut now = *self;
        if lateness > 0.0 {
            let age = now.age;
            now.predict(network, lateness);
            now.age = age;
        }
        let doubt = Doubt {
            along: now.along.sqrt(),
            across: now.across.sqrt(),
            speed: now.speed.sqrt(),
            age: now.age,
        };
        Body { doubt: Some(doubt), acceleration: self.body.acceleration, ..now.body }
    }
}

/// How much of an error is believed to be the expectation's.
fn gain(expected: f64, read: f64) -> f64 {
    if read > 0.0 { expected / (expected + read) } else { 1.0 }
}

fn share(both: f64, all: f64) -> f64 {
    if all > 0.0 { both / all } else { 0.0 }
}

pub(crate) fn wrapped(angle: f64) -> f64 {
    use std::f64::consts::PI;
    (angle + PI).rem_euclid(2.0 * PI) - PI
}

/// A body some time later, if it goes on along its lane at the same angle to it.
pub(crate) fn gone_on(network: &Network, body: &Body, dt: f64) -> Body {
    let acceleration = body.acceleration.unwrap_or(0.0);
    let speed = body.speed + acceleration * dt;
    // Who comes to a stand stays there.
    let speed = if speed * body.speed < 0.0 { 0.0 } else { speed };
    let distance = (body.speed + speed) / 2.0 * dt;
    let lane = network.lane(body.lane);
    let angle = wrapped(body.heading - lane.heading_at(body.along));
    let across = body.across + distance * angle.sin();
    let way = Way::of_body(network, body, distance.max(0.0) + 1.0);
    let (position, direction) = way.pose(network, distance * angle.cos(), across);
    placed(network, &Body { speed, ..*body }, position, direction + angle)
}

fn placed(network: &Network, body: &Body, position: [f64; 2], heading: f64) -> Body {
    let place = network.locate(position, heading, body.lane);
    let (sin, cos) = heading.sin_cos();
    Body {
        position,
        heading,
        sin,
        cos,
        lane: place.lane,
        along: place.along,
        across: place.across,
        ..*body
    }
}
