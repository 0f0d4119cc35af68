//! Where may everybody else be in the coming seconds?
//!
//! Each body near the ego gets a few **tracks**: every way it could take, driven with every habit
//! that is thought possible of it. A way follows a lane; it forks where roads do, moves over where
//! its lane ends, when the car is seen drifting out of its lane, and when a lane change would pay
//! its driver (`traffic`), now or once the ego has made room for it: an ego that means to come back
//! to the lane it leaves has to know who takes it meanwhile. A car ahead or beside that is clearly
//! leaving its lane is not thought to stay. A habit is a speed over time: cruise, flow with the traffic, brake, or
//! yield to an ego in front.
//!
//! Start at [`Forecast::look`]; [`Forecast::worst_at`] asks how close an ego would be.
//!
//! **Invariants:** only what an observer sees enters; nothing is allocated once the busiest scene has
//! been seen.
//!
//! **Absent on purpose:** other reactions to what the ego might do, and lane changes without a reason.

use cpss_highway::road::Network;
use cpss_highway::scene::{Body, Ego};
use cpss_highway::{Scene, Task};

use crate::course::Courses;
use crate::looks::Looks;
use crate::nearby::{Counted, Nearby, USUAL_TRACKS};
use crate::proximity::{Margin, Pose, Proximity};
use crate::roadmap::Roadmap;
use crate::spec::{Habits, RiskSpec};
use crate::traffic::{Flow, Temptation, Whereabouts};
use crate::way::{Habit, Way, drifting_to, is_leaving};
use crate::worst::Worst;

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
    /// First those that count whatever the ego does, then those that count if it leaves its lane.
    tracks: Vec<Track>,
    /// Where the latter are gathered.
    once_gone: Vec<Track>,
    courses: Courses,
    nearby: Nearby,
    /// Where the ego that is judged is supposed to be.
    ego: Whereabouts,
    looks: Looks,
    flow: Flow,
    /// Cars that may come near, by their place in [`Scene::others`]: the flow's members.
    near: Vec<usize>,
}

/// How close an ego comes to everything at a look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closest {
    /// The worst of what is likely; its cost alone.
    pub(crate) likely: f64,
    /// The worst of all, and whose it is.
    pub(crate) any: Option<(Proximity, Hazard)>,
}

/// One way a body could go.
#[derive(Clone, Copy, Debug)]
struct Track {
    who: Who,
    habit: Habit,
    counts: Counts,
    /// What a cost on this track is multiplied by: 1, or less for what is possible but unlikely.
    weight: f64,
    way: Way,
}

/// Whose track it is.
#[derive(Clone, Copy, Debug)]
struct Who {
    hazard: Hazard,
    /// Its place in the flow, if it is a car.
    member: usize,
    /// Its speed now \[m/s\].
    speed: f64,
    /// Half its length and half its width \[m\].
    half_size: [f64; 2],
}

/// On which side of the ego a track is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Everywhere,
    Behind,
    NotBehind,
}

/// Cosine of the angle up to which two cars go the same way.
const SAME_WAY: f64 = 0.7;
/// Distance within which every body counts, wherever it goes \[m\].
const CLOSE_BY: f64 = 15.0;
/// How soon a driver may think of changing lane \[s\].
const SECOND_THOUGHT: f64 = 0.7;
/// When the ego has left its lane, a driver may think of moving there \[s\]. Its track begins to move at once:
/// between a little too early and in time lies all that it may do.
const ONCE_GONE: [f64; 2] = [0.7, 1.4];
/// Distance beyond which an unannounced lane change leaves time to react \[m\].
const SIDE_STEP_REACH: f64 = 45.0;

impl Forecast {
    /// Room for some looks.
    pub(crate) fn new(looks: Looks, spec: &RiskSpec) -> Forecast {
        Forecast {
            tracks: Vec::with_capacity(USUAL_TRACKS),
            once_gone: Vec::new(),
            courses: Courses::new(looks, USUAL_TRACKS),
            nearby: Nearby::new(looks, spec),
            ego: Whereabouts::OnItsLane,
            looks,
            flow: Flow::new(looks.strides(looks.count()), looks.stride_time(), spec.habits.wish),
            near: Vec::new(),
        }
    }

    /// Predicts all bodies that may come near the ego.
    pub(crate) fn look(
        &mut self,
        scene: &Scene,
        ego: &Ego,
        spec: &RiskSpec,
        task: &Task,
        map: &Roadmap,
    ) {
        self.tracks.clear();
        self.once_gone.clear();
        self.near.clear();
        let span = self.looks.span();
        let near = |body: &Body| may_come_near(body, &ego.body, spec, span);
        self.near.extend((0..scene.others.len()).filter(|car| near(&scene.others[*car])));
        self.flow.look(&scene.others, &self.near, ego, task, map);
        for member in 0..self.near.len() {
            let car = self.near[member];
            self.add_car(car, member, &scene.others[car], &ego.body, &spec.habits, task, map);
        }
        for (place, body) in scene.obstacles.iter().enumerate().filter(|(_, body)| near(body)) {
            let who = Who::of(Hazard::Obstacle(place), 0, body);
            self.add(who, Habit::Slide, Counts::Everywhere, 1.0, Way::of(body));
        }
        let always = self.tracks.len();
        self.tracks.append(&mut self.once_gone);
        let tracks = Counted { always, all: self.tracks.len() };
        self.nearby.begin(tracks, ego, self.looks, task);
        self.drive(&spec.habits, &task.network, map);
        self.suppose(Whereabouts::OnItsLane);
    }

    /// Says what is judged from now on: an ego that keeps to its lane, or one that leaves it.
    pub(crate) fn suppose(&mut self, ego: Whereabouts) {
        self.ego = ego;
    }

    /// How close any track that counts comes to this ego at a look (from 1), as far as that could be worse
    /// than the worst known, if a cost weighs as much as `weight` there.
    #[inline]
    pub(crate) fn worst_at(
        &self,
        look: usize,
        ego: &Pose,
        margin: &Margin,
        known: &Worst,
        weight: f64,
    ) -> Closest {
        let mut closest = Closest { likely: 0.0, any: None };
        self.nearby.each(look, ego, self.ego, |place| {
            let track = &self.tracks[place];
            let most = track.weight * weight;
            let is_likely = track.weight >= Habits::LIKELY;
            let may_be_worse = most > known.cost || is_likely && most > known.likely;
            if !may_be_worse {
                return;
            }
            let pose = self.courses.pose(place, look, track.who.half_size);
            if track.is_believed(ego, &pose) {
                closest.see(track.weight, track.who.hazard, margin.proximity(ego, &pose));
            }
        });
        closest
    }

    /// Adds the tracks of one car, which is a member of the flow.
    #[expect(clippy::too_many_arguments, reason = "what a car is, and what is known around it")]
    fn add_car(
        &mut self,
        car: usize,
        member: usize,
        body: &Body,
        ego: &Body,
        habits: &Habits,
        task: &Task,
        map: &Roadmap,
    ) {
        let network = &task.network;
        let who = Who::of(Hazard::Car(car), member, body);
        let here = Way::of(body);
        if body.crashed {
            return self.add(who, Habit::Slide, Counts::Everywhere, 1.0, here);
        }
        if follows(body, ego) {
            // Whatever the ego does there, that driver sees it and has to keep its distance; only
            // if even braking cannot, the ego had better move on.
            self.add(who, Habit::Yield, Counts::Everywhere, 1.0, here);
            if let Some(lane) = drifting_to(body, network) {
                // It is pulling out, and may be beside the ego before that has changed lane.
                let way = Way::onto(lane, body, network);
                self.add(who, Habit::Cruise, Counts::NotBehind, 1.0, way);
                self.add(who, Habit::Yield, Counts::Behind, 1.0, way);
            }
            return;
        }
        let is_behind = is_behind(&Pose::of(ego), &Pose::of(body));
        // Whoever is seen leaving its lane is taken at its word: to be ready for its staying as well
        // would leave an ego behind it nowhere to go.
        if !is_leaving(body, network) {
            for turn in 0..here.turns(body.speed * self.looks.span(), network, map) {
                self.add_way(who, here.turning(turn), is_behind, habits, network);
            }
        }
        let announced = drifting_to(body, network).or(map.must_move_to(body.lane));
        if let Some(lane) = announced {
            let way = Way::onto(lane, body, network);
            self.add_way(who, way, is_behind, habits, network);
        }
        if !is_behind && map.runs_out(body.lane) {
            // It moves over when it finds a gap, and the later the slower it has become.
            let way = announced.map_or(here, |lane| Way::onto(lane, body, network));
            self.add(who, Habit::RunOut, Counts::NotBehind, 1.0, way);
        }
        if distance(body, ego) > SIDE_STEP_REACH {
            return;
        }
        for lane in [network.left_of(body.lane), network.right_of(body.lane)].into_iter().flatten()
        {
            if Some(lane) == announced {
                continue;
            }
            // Whether it thinks of it now or in a moment is not seen from outside.
            let thoughts = |times: [f64; 2], ego| {
                times.map(|later| self.flow.temptation(body, car, lane, later, ego, network))
            };
            let weight = habits.weight(thoughts([0.0, SECOND_THOUGHT], Whereabouts::OnItsLane));
            let once_gone = if lane == ego.lane {
                habits.weight(thoughts(ONCE_GONE, Whereabouts::Gone))
            } else {
                0.0
            };
            let way = Way::onto(lane, body, network);
            for habit in [Habit::Cruise, Habit::Flow] {
                let track = Track { who, habit, counts: Counts::NotBehind, weight, way };
                if weight > 0.0 {
                    self.tracks.push(track);
                }
                if once_gone > weight {
                    self.once_gone.push(Track { weight: once_gone, ..track });
                }
            }
        }
    }

    /// Adds one way, driven with every habit that makes sense from there.
    fn add_way(&mut self, who: Who, way: Way, is_behind: bool, habits: &Habits, network: &Network) {
        let mut add = |habit, counts, weight| self.add(who, habit, counts, weight, way);
        if is_behind {
            // It may pass, and as long as it has not, it brakes for whoever moves in front of it.
            add(Habit::Cruise, Counts::NotBehind, 1.0);
            add(Habit::Yield, Counts::Behind, 1.0);
            return;
        }
        let limit = way.speed_limit(network);
        add(Habit::Cruise, Counts::Everywhere, 1.0);
        if who.speed > limit {
            add(Habit::Comply, Counts::Everywhere, 1.0);
        }
        if who.speed > 0.0 {
            add(Habit::Flow, Counts::NotBehind, habits.expected);
            add(Habit::SlowDown, Counts::NotBehind, if habits.slow_down > 0.0 { 1.0 } else { 0.0 });
            add(Habit::Brake, Counts::NotBehind, habits.unlikely);
        }
    }

    /// Adds a track, unless it weighs nothing.
    fn add(&mut self, who: Who, habit: Habit, counts: Counts, weight: f64, way: Way) {
        if weight > 0.0 {
            self.tracks.push(Track { who, habit, counts, weight, way });
        }
    }

    /// Drives every track to the horizon and notes where it comes by.
    fn drive(&mut self, habits: &Habits, network: &Network, map: &Roadmap) {
        let looks = self.looks;
        self.courses.make_room(self.tracks.len());
        for (place, track) in self.tracks.iter().enumerate() {
            let Track { who: Who { member, speed, half_size, .. }, habit, way, .. } = *track;
            let limit = way.speed_limit(network);
            let speed_at = |look, time| match habit {
                Habit::Flow => self.flow.speed(member, looks.strides(look)),
                _ => habit.speed_after(speed, time, limit, habits),
            };
            self.courses.drive(place, way, speed, speed_at, network, map);
            self.nearby.note(place, self.courses.of(place), half_size);
        }
    }
}

impl Habits {
    /// How much a lane change weighs that a driver may think of at some moments.
    fn weight(&self, thoughts: [Option<Temptation>; 2]) -> f64 {
        let mut thoughts = thoughts.iter().flatten();
        if thoughts.clone().any(Temptation::is_usual) {
            self.expected
        } else if thoughts.any(Temptation::is_eager) {
            self.unlikely
        } else {
            0.0
        }
    }
}

impl Closest {
    #[inline]
    fn see(&mut self, weight: f64, hazard: Hazard, mut found: Proximity) {
        found.cost *= weight;
        if weight >= Habits::LIKELY {
            self.likely = self.likely.max(found.cost);
        }
        // Of several overlaps the deepest, which is taken to have begun first.
        let is_worse = |known: &Proximity| {
            found.cost > known.cost || found.cost == known.cost && found.clearance < known.clearance
        };
        if found.cost > 0.0 && self.any.is_none_or(|(known, _)| is_worse(&known)) {
            self.any = Some((found, hazard));
        }
    }
}

impl Who {
    fn of(hazard: Hazard, member: usize, body: &Body) -> Who {
        let half_size = [body.length / 2.0, body.width / 2.0];
        Who { hazard, member, speed: body.speed, half_size }
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
    let distance = length([dx, dy]);
    let closing = -(dx * (vx - ego_vx) + dy * (vy - ego_vy)) / distance.max(1.0);
    let reach = spec.reach.min((closing + spec.agility).max(0.0) * span + CLOSE_BY);
    distance <= reach
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

/// Distance between two centres \[m\].
pub(crate) fn distance(a: &Body, b: &Body) -> f64 {
    length([a.position[0] - b.position[0], a.position[1] - b.position[1]])
}

/// Length of a vector, for lengths that are nowhere near the ends of what a number can hold.
#[inline]
pub(crate) fn length([x, y]: [f64; 2]) -> f64 {
    (x * x + y * y).sqrt()
}
