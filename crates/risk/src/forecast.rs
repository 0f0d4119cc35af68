//! Where may everybody else be in the coming seconds?
//!
//! Each body near the ego gets a few **tracks**: every way it could take, driven with every habit
//! that is thought possible of it. A way follows a lane; it forks where roads do, moves over where
//! its lane ends, and moves over when the car is seen drifting out of its lane. A habit is a speed
//! over time: cruise, brake, pull away, or yield to an ego in front.
//!
//! Start at [`Forecast::look`]; [`Forecast::worst_at`] asks how close an ego would be.
//!
//! **Invariants:** only what an observer sees enters; poses are kept one row per look, all tracks
//! side by side, because an ego is compared with one row at a time; nothing is allocated once the
//! busiest scene has been seen.
//!
//! **Absent on purpose:** others' reactions to each other, and lane changes that nothing announces.

use cpss_highway::road::{LaneId, Network};
use cpss_highway::scene::Body;
use cpss_highway::{Scene, Task};

use crate::proximity::{Margin, Pose, Proximity};
use crate::roadmap::Roadmap;
use crate::spec::{Habits, RiskSpec};
use crate::way::{Habit, Way, centring, drifting_to};

/// What the ego may come too close to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// A car, by its place in [`Scene::others`].
    Car(usize),
    /// An obstacle, by its place in [`Scene::obstacles`].
    Obstacle(usize),
    /// The edge of the road.
    Boundary,
}

/// The looks into the future, and who is where at each.
#[derive(Clone, Debug)]
pub(crate) struct Forecast {
    tracks: Vec<Track>,
    poses: Vec<Pose>,
    looks: usize,
    look_time: f64,
}

/// One way a body could go.
#[derive(Clone, Copy, Debug)]
struct Track {
    hazard: Hazard,
    habit: Habit,
    counts: Counts,
    /// What a cost on this track is multiplied by: 1, or less for what is possible but unlikely.
    weight: f64,
    way: Way,
}

/// On which side of the ego a track is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Everywhere,
    Behind,
    NotBehind,
}

/// What is thought of one car: the habits of all, and what a hard braking of this one weighs.
#[derive(Clone, Copy, Debug)]
struct Manner<'a> {
    habits: &'a Habits,
    brake_weight: f64,
}

/// Time gap below which a driver is about to open it \[s\].
const CROWDED: f64 = 1.2;
/// Cosine of the angle up to which two cars go the same way.
const SAME_WAY: f64 = 0.7;
/// Distance within which every body counts, wherever it goes \[m\].
const CLOSE_BY: f64 = 15.0;
/// Distance beyond which an unannounced lane change leaves time to react \[m\].
const SIDE_STEP_REACH: f64 = 45.0;
/// Tracks for which there is room from the start.
const USUAL_TRACKS: usize = 128;

impl Forecast {
    /// Room for `looks` looks, `look_time` \[s\] apart.
    pub(crate) fn new(looks: usize, look_time: f64) -> Forecast {
        Forecast {
            tracks: Vec::with_capacity(USUAL_TRACKS),
            poses: Vec::with_capacity(USUAL_TRACKS * looks),
            looks,
            look_time,
        }
    }

    /// Predicts all bodies that may come near the ego.
    pub(crate) fn look(
        &mut self,
        scene: &Scene,
        ego: &Body,
        spec: &RiskSpec,
        task: &Task,
        map: &Roadmap,
    ) {
        self.tracks.clear();
        self.poses.clear();
        let habits = &spec.habits;
        let span = self.looks as f64 * self.look_time;
        let near = |body: &Body| may_come_near(body, ego, spec, span);
        for (place, body) in scene.others.iter().enumerate().filter(|(_, body)| near(body)) {
            let manner = Manner::of(scene, body, habits);
            self.add_car(Hazard::Car(place), body, ego, manner, task, map);
        }
        for (place, body) in scene.obstacles.iter().enumerate().filter(|(_, body)| near(body)) {
            self.add(Hazard::Obstacle(place), Habit::Slide, Counts::Everywhere, 1.0, Way::of(body));
        }
        self.drive(scene, habits, &task.network, map);
    }

    /// The closest that any track comes to this ego at a look (from 1), and whose it is.
    #[inline]
    pub(crate) fn worst_at(
        &self,
        look: usize,
        ego: &Pose,
        margin: &Margin,
    ) -> Option<(Proximity, Hazard)> {
        let row = self.poses.get((look - 1) * self.tracks.len()..look * self.tracks.len())?;
        let mut worst: Option<(Proximity, Hazard)> = None;
        for (pose, track) in row.iter().zip(&self.tracks) {
            let [dx, dy] = [pose.position[0] - ego.position[0], pose.position[1] - ego.position[1]];
            let room = diagonal(ego)
                + diagonal(pose)
                + margin.along.max(margin.across)
                + margin.closing_time * (ego.speed.abs() + pose.speed.abs());
            if dx * dx + dy * dy > room * room || !track.is_believed(ego, pose) {
                continue;
            }
            let mut found = margin.proximity(ego, pose);
            found.cost *= track.weight;
            if found.cost > 0.0 && worst.is_none_or(|(known, _)| found.cost > known.cost) {
                worst = Some((found, track.hazard));
            }
        }
        worst
    }

    /// Adds the tracks of one car.
    fn add_car(
        &mut self,
        hazard: Hazard,
        body: &Body,
        ego: &Body,
        manner: Manner<'_>,
        task: &Task,
        map: &Roadmap,
    ) {
        let network = &task.network;
        let here = Way::of(body);
        if body.crashed {
            return self.add(hazard, Habit::Slide, Counts::Everywhere, 1.0, here);
        }
        if follows(body, ego) {
            // Whatever the ego does there, that driver sees it and has to keep its distance; only
            // if even braking cannot, the ego had better move on.
            return self.add(hazard, Habit::Yield, Counts::Everywhere, 1.0, here);
        }
        let is_behind = is_behind(&Pose::of(ego), &Pose::of(body));
        let limit = network.lane(body.lane).speed_limit;
        let fastest =
            if manner.habits.pull_away > 0.0 { body.speed.max(limit) } else { body.speed };
        let span = self.looks as f64 * self.look_time;
        for turn in 0..here.turns(fastest * span, network, map) {
            self.add_way(hazard, body, is_behind, manner, here.turning(turn), network);
        }
        let announced = drifting_to(body, network).or(map.must_move_to(body.lane));
        if let Some(lane) = announced {
            let way = Way::onto(lane, body, network);
            self.add_way(hazard, body, is_behind, manner, way, network);
        }
        if !is_behind && map.runs_out(body.lane) {
            // It moves over when it finds a gap, and the later the slower it has become.
            let way = announced.map_or(here, |lane| Way::onto(lane, body, network));
            self.add(hazard, Habit::RunOut, Counts::NotBehind, 1.0, way);
        }
        for lane in [network.left_of(body.lane), network.right_of(body.lane)].into_iter().flatten()
        {
            let may = Some(lane) != announced
                && distance(body, ego) < SIDE_STEP_REACH
                && network.lane(lane).is_reachable_from(body.position)
                && !sees_on(task, lane, ego);
            if may {
                let way = Way::onto(lane, body, network);
                self.add(hazard, Habit::Cruise, Counts::NotBehind, manner.habits.weight, way);
            }
        }
    }

    /// Adds one way, driven with every habit that makes sense from there.
    fn add_way(
        &mut self,
        hazard: Hazard,
        body: &Body,
        is_behind: bool,
        manner: Manner<'_>,
        way: Way,
        network: &Network,
    ) {
        if is_behind {
            // It may pass, and as long as it has not, it brakes for whoever moves in front of it.
            self.add(hazard, Habit::Cruise, Counts::NotBehind, 1.0, way);
            self.add(hazard, Habit::Yield, Counts::Behind, 1.0, way);
            return;
        }
        let limit = way.speed_limit(network);
        self.add(hazard, Habit::Cruise, Counts::Everywhere, 1.0, way);
        if body.speed > limit {
            self.add(hazard, Habit::Comply, Counts::Everywhere, 1.0, way);
        }
        if body.speed > 0.0 {
            self.add(hazard, Habit::SlowDown, Counts::NotBehind, 1.0, way);
            self.add(hazard, Habit::Brake, Counts::NotBehind, manner.brake_weight, way);
        }
        if manner.habits.pull_away > 0.0 && body.speed < limit {
            self.add(hazard, Habit::PullAway, Counts::NotBehind, manner.habits.weight, way);
        }
    }

    fn add(&mut self, hazard: Hazard, habit: Habit, counts: Counts, weight: f64, way: Way) {
        if weight > 0.0 {
            self.tracks.push(Track { hazard, habit, counts, weight, way });
        }
    }

    /// Drives every track to the horizon and notes its poses.
    fn drive(&mut self, scene: &Scene, habits: &Habits, network: &Network, map: &Roadmap) {
        let width = self.tracks.len();
        let centring = centring(self.look_time);
        for place in 0..width {
            let Track { hazard, habit, way, .. } = self.tracks[place];
            let body = match hazard {
                Hazard::Car(car) => &scene.others[car],
                Hazard::Obstacle(obstacle) => &scene.obstacles[obstacle],
                Hazard::Boundary => continue,
            };
            if place == 0 {
                // Any pose will do here: every one of them is overwritten below.
                self.poses.resize(width * self.looks, Pose::of(body));
            }
            let half_size = [body.length / 2.0, body.width / 2.0];
            let limit = way.speed_limit(network);
            let mut way = way;
            let mut speed = body.speed;
            for look in 0..self.looks {
                let time = (look + 1) as f64 * self.look_time;
                let before = speed;
                speed = habit.speed_after(body.speed, time, limit, habits);
                way.go(self.look_time * (before + speed) / 2.0, centring, network, map);
                self.poses[look * width + place] = way.pose(speed, half_size, network);
            }
        }
    }
}

impl<'a> Manner<'a> {
    /// A hard braking is unlikely, unless the car has somebody right ahead of it: whoever follows
    /// that closely is about to open the gap, and does so as hard as it can.
    fn of(scene: &Scene, body: &Body, habits: &'a Habits) -> Manner<'a> {
        let wanted = CROWDED * body.speed + body.length;
        let is_close = |other: &Body| {
            let ahead = other.along - body.along;
            other.lane == body.lane && ahead > 0.0 && ahead < wanted
        };
        // Where nothing unlikely is thought of, others are not watched that closely.
        let crowded = habits.weight > 0.0 && scene.others.iter().any(is_close);
        Manner { habits, brake_weight: if crowded { 1.0 } else { habits.weight } }
    }
}

impl Track {
    /// Whether this track is to be believed of a body at this pose.
    #[inline]
    fn is_believed(&self, ego: &Pose, pose: &Pose) -> bool {
        match self.counts {
            Counts::Everywhere => true,
            Counts::Behind => is_behind(ego, pose),
            Counts::NotBehind => !is_behind(ego, pose),
        }
    }
}

/// Whether a body could come near the ego within a time span \[s\].
fn may_come_near(body: &Body, ego: &Body, spec: &RiskSpec, span: f64) -> bool {
    let [dx, dy] = [body.position[0] - ego.position[0], body.position[1] - ego.position[1]];
    let [[vx, vy], [ego_vx, ego_vy]] = [body.velocity(), ego.velocity()];
    let distance = dx.hypot(dy);
    let closing = -(dx * (vx - ego_vx) + dy * (vy - ego_vy)) / distance.max(1.0);
    let reach = spec.reach.min((closing + spec.agility).max(0.0) * span + CLOSE_BY);
    // A NaN stays in, to be found costly.
    distance <= reach || distance.is_nan() || reach.is_nan()
}

/// Whether a car goes the ego's way and its centre is behind the ego's.
#[inline]
fn is_behind(ego: &Pose, other: &Pose) -> bool {
    let [dx, dy] = [other.position[0] - ego.position[0], other.position[1] - ego.position[1]];
    ego.cos * dx + ego.sin * dy < 0.0 && ego.cos * other.cos + ego.sin * other.sin > SAME_WAY
}

/// Whether a car drives behind the ego in its very path.
fn follows(body: &Body, ego: &Body) -> bool {
    let [dx, dy] = [body.position[0] - ego.position[0], body.position[1] - ego.position[1]];
    let beside = (ego.cos * dy - ego.sin * dx).abs();
    beside < (body.width + ego.width) / 2.0 && is_behind(&Pose::of(ego), &Pose::of(body))
}

/// Whether a driver who thinks of moving to a lane sees the ego there, and so will look out for it.
fn sees_on(task: &Task, lane: LaneId, ego: &Body) -> bool {
    let network = &task.network;
    let looked_at = network.connected_lanes(lane);
    let looked_at =
        if task.connected_lanes { looked_at } else { looked_at.get(..1).unwrap_or(&[]) };
    looked_at.iter().any(|(seen, _)| network.lane(*seen).sees(ego.position).is_some())
}

/// Distance between two centres \[m\].
pub(crate) fn distance(a: &Body, b: &Body) -> f64 {
    (a.position[0] - b.position[0]).hypot(a.position[1] - b.position[1])
}

/// Half the diagonal of a body \[m\], or a little more.
#[inline]
fn diagonal(pose: &Pose) -> f64 {
    pose.half_size[0] + pose.half_size[1]
}
