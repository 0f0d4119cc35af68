//! Does the next step keep its distance?
//!
//! A discrete-time control barrier function (Agrawal and Sreenath, 2017; Ames et al., 2019): the classical filter, to
//! compare a learned one with. A barrier `h` says how far a scene is from being too close, and an action is admissible
//! if it does not use up the barrier too fast. Start at [`barrier_costs`].
//!
//! ```text
//!   h(s)        = least over bodies and edges of  gap / (d_min + t_min · closing speed) - 1,  at most 1
//!   admissible:   h(s') >= (1 - gamma)^T h(s),    s' one decision of T seconds ahead
//! ```
//!
//! Gaps are measured as in [`proximity`](cpss_risk::proximity): of the axes that separate two rectangles the best
//! counts, so that a car in the next lane may be passed. Beyond twice the wanted gap a body takes no part, and below
//! zero `h` goes on falling with the depth of an overlap. Where `h` is negative the same rule asks it to rise.
//!
//! Everybody else is moved along its lane at its speed, and the ego as its own controls would move it. Between now
//! and `s'` some moments are looked at, since two cars can pass through each other within a second; the worst counts.
//!
//! **Invariants:** an admissible action costs 0 and every other from [`LEAST_VIOLATION`] to 1, more the greater the
//! violation; a scene that cannot be read costs 1 throughout; the numbers are the same for every task.
//!
//! **Absent on purpose:** other drivers' minds, the world's driving law, a critic, and anything beyond one decision. A
//! scene from which every action breaks the rule is not foreseen, so nothing is promised.

use cpss_highway::action::{Command, Controls, Meta};
use cpss_highway::driver::{LATERAL_GAIN, SPEED_GAIN};
use cpss_highway::road::{LaneId, Network};
use cpss_highway::scene::{Body, Ego};
use cpss_highway::vehicle::Driver;
use cpss_highway::{Scene, Task};
use cpss_risk::features::is_readable;
use cpss_risk::{Margin, Pose};

/// Gaps that are kept at rest: ahead and behind, and on the sides and to the edge of the road \[m\].
const ALONG: f64 = 2.0;
const ACROSS: f64 = 0.5;
/// The least time to collision \[s\].
const TIME: f64 = 1.5;
/// The share of the barrier that may be used up within a second.
const GAMMA: f64 = 0.5;

/// The threshold that tells admissible actions from others.
pub(crate) const THRESHOLD: f64 = 0.25;
/// The cost of the slightest violation.
const LEAST_VIOLATION: f64 = 0.5;

/// Twice what is wanted: from there on a body is far away.
const FAR: Margin = Margin {
    along: 2.0 * ALONG,
    across: 2.0 * ACROSS,
    closing_time: 2.0 * TIME,
    boundary: 2.0 * ACROSS,
};
/// The most that a barrier can be, for what is far away.
const MOST: f64 = 1.0;
/// An overlap as deep as this is the worst \[m\]: the width of a car.
const DEEPEST: f64 = 2.0;
/// The least that a barrier can be: -1 when two touch, and another 1 for the deepest overlap.
const LEAST: f64 = -2.0;
/// How far apart the moments are that are looked at \[s\].
const SAMPLE_TIME: f64 = 0.2;
/// The most lanes that are followed within a decision.
const MOST_LANES: usize = 4;

/// Writes the cost of each discrete action.
pub(crate) fn barrier_costs(task: &Task, scene: &Scene, costs: &mut Vec<f64>) {
    let actions = task.controls.action_count().unwrap_or(0);
    costs.clear();
    let Some(ego) = scene.ego.as_ref().filter(|_| is_readable(task, scene)) else {
        costs.resize(actions, 1.0);
        return;
    };
    let now = barrier(task, scene, &Pose::of(&ego.body), 0.0);
    let wanted = (1.0 - GAMMA).powf(task.decision_time) * now;
    costs.extend((0..actions).map(|action| cost(wanted, lowest(task, scene, ego, action))));
}

/// What a barrier that is wanted and one that is foreseen cost. What is no number costs 1.
fn cost(wanted: f64, foreseen: f64) -> f64 {
    if foreseen >= wanted {
        return 0.0;
    }
    let violation = (wanted - foreseen) / (MOST - LEAST);
    // Not `f64::min`, which would drop a NaN.
    let violation = if violation < 1.0 { violation } else { 1.0 };
    LEAST_VIOLATION + (1.0 - LEAST_VIOLATION) * violation
}

/// The lowest barrier within the next decision, if an action runs.
fn lowest(task: &Task, scene: &Scene, ego: &Ego, action: usize) -> f64 {
    let samples = (task.decision_time / SAMPLE_TIME).round().max(1.0) as usize;
    (1..=samples).fold(MOST, |least, sample| {
        let time = task.decision_time * sample as f64 / samples as f64;
        barrier(task, scene, &moved(task, ego, action, time), time).min(least)
    })
}

/// The barrier of an ego at a pose, among the bodies of a scene as they are after a time.
fn barrier(task: &Task, scene: &Scene, ego: &Pose, time: f64) -> f64 {
    let bodies = scene.others.iter().chain(&scene.obstacles).map(|body| {
        let found = FAR.proximity(ego, &followed(&task.network, body, time));
        let depth = (-found.clearance / DEEPEST).clamp(0.0, 1.0);
        let height = MOST - 2.0 * found.cost - depth;
        // A pose that makes no sense is as low as can be, never a NaN that `min` would drop.
        if height.is_nan() { LEAST } else { height }
    });
    // An ego that holds a lane by itself cannot leave the road.
    let steers = scene.ego.as_ref().filter(|ego| ego.driver == Driver::Raw);
    let edge = steers.map(|seen| edge_barrier(&task.network, ego, seen.body.lane));
    bodies.chain(edge).fold(MOST, f64::min)
}

/// The same for the edges of the road, which the ego's centre must not cross.
fn edge_barrier(network: &Network, ego: &Pose, hint: LaneId) -> f64 {
    let heading = ego.sin.atan2(ego.cos);
    let place = network.locate(ego.position, heading, hint);
    let lane = network.lane(place.lane);
    if !lane.contains(place.along, place.across, 0.0) {
        return LEAST;
    }
    let lanes = network.lane_count(network.road_of(place.lane));
    let left = network.lane_offset(place.lane) as f64 + 0.5;
    let right = lanes as f64 - left;
    let to_the_right = ego.speed * lane.angle_at(place.along, heading).sin();
    let rooms = [
        (left * lane.width + place.across, -to_the_right),
        (right * lane.width - place.across, to_the_right),
    ];
    let barriers = rooms.map(|(room, closing)| room / (ACROSS + TIME * closing.max(0.0)) - 1.0);
    let lowest = barriers[0].min(barriers[1]).min(MOST);
    if lowest.is_nan() { LEAST } else { lowest }
}

/// A body after a time, at its speed and at its angle to its lane.
fn followed(network: &Network, body: &Body, time: f64) -> Pose {
    let lane = network.lane(body.lane);
    let turn = body.heading - lane.heading_at(body.along);
    let along = body.along + body.speed * turn.cos() * time;
    let across = body.across + body.speed * turn.sin() * time;
    let (sin, cos) = (lane.heading_at(along) + turn).sin_cos();
    Pose { position: lane.position(along, across), cos, sin, ..Pose::of(body) }
}

/// A body after a time, at its velocity.
fn coasted(body: &Body, time: f64) -> Pose {
    let ([x, y], [vx, vy]) = (body.position, body.velocity());
    Pose { position: [x + vx * time, y + vy * time], ..Pose::of(body) }
}

/// The ego after a time under an action.
fn moved(task: &Task, ego: &Ego, action: usize, time: f64) -> Pose {
    match &task.controls {
        Controls::Meta { actions, target_speeds } => match actions.get(action) {
            Some(meta) => aim(&task.network, ego, *meta, target_speeds).follow(ego, time),
            None => coasted(&ego.body, time),
        },
        Controls::Discrete { pedals, points } => match points.get(action) {
            Some(point) => roll(ego, pedals.command(point), time),
            None => coasted(&ego.body, time),
        },
        Controls::Continuous(_) => coasted(&ego.body, time),
    }
}

/// The ego under raw controls: a bicycle, with its course taken in the middle of the time.
fn roll(ego: &Ego, Command { acceleration, steering }: Command, time: f64) -> Pose {
    let body = &ego.body;
    let [slowest, fastest] = ego.speed_range;
    let speed = (body.speed + acceleration * time).max(slowest).min(fastest);
    let distance = 0.5 * (body.speed + speed) * time;
    let slip = (0.5 * steering.tan()).atan();
    let turn = distance * slip.sin() / (body.length / 2.0);
    let course = body.heading + slip + turn / 2.0;
    let (sin, cos) = (body.heading + turn).sin_cos();
    let [x, y] = body.position;
    let position = [x + distance * course.cos(), y + distance * course.sin()];
    Pose { position, cos, sin, speed, ..Pose::of(body) }
}

/// What the ego would aim for.
struct Aim<'a> {
    network: &'a Network,
    lane: LaneId,
    speed: f64,
}

/// The lane and the speed that a meta-action makes the ego aim for.
fn aim<'a>(network: &'a Network, ego: &Ego, meta: Meta, target_speeds: &[f64]) -> Aim<'a> {
    let (mut lane, mut route, position) = (ego.target_lane, ego.route, ego.body.position);
    if network.lane(lane).is_after_end(network.lane(lane).local_coordinates(position).0) {
        lane = network.next_lane(lane, &mut route, position);
    }
    let beside = match meta {
        Meta::LaneLeft => network.left_of(lane),
        Meta::LaneRight => network.right_of(lane),
        Meta::Idle | Meta::Faster | Meta::Slower => None,
    };
    let reachable = beside.filter(|lane| network.lane(*lane).is_reachable_from(position));
    let off = |place: usize| (target_speeds[place] - ego.body.speed).abs();
    let nearest = (0..target_speeds.len()).min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(0);
    let place = match meta {
        Meta::Faster => Some(nearest + 1),
        Meta::Slower => Some(nearest.saturating_sub(1)),
        Meta::Idle | Meta::LaneLeft | Meta::LaneRight => None,
    };
    let last = target_speeds.len().saturating_sub(1);
    let speed = place.and_then(|place| target_speeds.get(place.min(last)).copied());
    Aim { network, lane: reachable.unwrap_or(lane), speed: speed.unwrap_or(ego.target_speed) }
}

impl Aim<'_> {
    /// The ego after a time: its controls make up for what is wrong with its speed and its place in the lane at a rate
    /// in proportion.
    fn follow(&self, ego: &Ego, time: f64) -> Pose {
        let body = &ego.body;
        let left = (-SPEED_GAIN * time).exp();
        let excess = body.speed - self.speed;
        let speed = self.speed + excess * left;
        let distance = self.speed * time + excess * (1.0 - left) / SPEED_GAIN;
        let (along, across) = self.network.lane(self.lane).local_coordinates(body.position);
        // A car that stands does not move sideways.
        let most = distance.abs();
        let across = across - (across * (1.0 - (-LATERAL_GAIN * time).exp())).clamp(-most, most);
        let sideways = (-LATERAL_GAIN * across / speed.abs().max(1.0)).clamp(-0.7, 0.7);
        let (lane, along) = self.walk(ego, along + distance);
        let lane = self.network.lane(lane);
        let (sin, cos) = (lane.heading_at(along) + sideways.asin()).sin_cos();
        Pose { position: lane.position(along, across), cos, sin, speed, ..Pose::of(body) }
    }

    /// The lane at a distance from the beginning of the one that is aimed for, and how far along it that is.
    fn walk(&self, ego: &Ego, mut along: f64) -> (LaneId, f64) {
        let (mut lane, mut route) = (self.lane, ego.route);
        for _ in 0..MOST_LANES {
            let length = self.network.lane(lane).length;
            if along <= length {
                break;
            }
            let end = self.network.lane(lane).position(length, 0.0);
            let next = self.network.next_lane(lane, &mut route, end);
            if next == lane {
                break;
            }
            (lane, along) = (next, along - length);
        }
        (lane, along)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::arm::{Arm, ShieldSettings};
    use crate::tasks::policy_task;
    use cpss_highway::TaskId;
    use cpss_highway::route::Route;
    use cpss_shield::{Decision, Shield, Situation};

    /// Places in the highway's list of actions.
    const LEFT: usize = 0;
    const IDLE: usize = 1;
    const RIGHT: usize = 2;
    const FASTER: usize = 3;
    const SLOWER: usize = 4;
    const CAR: [f64; 2] = [5.0, 2.0];

    /// An ego in the middle of the highway at 25 m/s, and cars so far ahead of it, so far to its right, at a speed.
    fn scene(task: &Task, cars: &[[f64; 3]]) -> Scene {
        let network = &task.network;
        let lanes: Vec<LaneId> = network.lanes().map(|(id, _)| id).collect();
        let target_lane = lanes[1];
        let place =
            |ahead: f64, right: f64| network.lane(target_lane).position(200.0 + ahead, right);
        let body = |[ahead, right, speed]: [f64; 3]| {
            Body::new(network, place(ahead, right), 0.0, speed, CAR)
        };
        let ego = Ego {
            body: body([0.0, 0.0, 25.0]),
            driver: Driver::Meta,
            target_lane,
            target_speed: 25.0,
            speed_index: 1,
            route: Route::default(),
            slip_sin: 0.0,
            speed_range: [-40.0, 40.0],
        };
        let others = cars.iter().copied().map(body).collect();
        Scene { ego: Some(ego), others, ..Scene::default() }
    }

    fn costs(task: &Task, scene: &Scene) -> Vec<f64> {
        let mut costs = vec![0.123];
        barrier_costs(task, scene, &mut costs);
        costs
    }

    /// What the arm's shield makes of a scene, if the policy prefers actions in this order.
    fn judged(costs: &[f64], liked: [usize; 5]) -> Decision {
        let settings = ShieldSettings::shipped(TaskId::HighwayV0).unwrap();
        let shield = Shield::new(Arm::Barrier.shield(&settings)).unwrap();
        let rank = |action| liked.iter().position(|place| *place == action).unwrap();
        let preferences: Vec<f64> = (0..5).map(|action| -(rank(action) as f64)).collect();
        let proposal = liked[0];
        let situation = Situation { proposal, costs, preferences: &preferences, density: 1.0 };
        shield.judge(&situation).unwrap()
    }

    #[test]
    fn traffic_that_is_far_away_admits_everything() {
        let task = policy_task(TaskId::HighwayV0);
        assert_eq!(costs(&task, &scene(&task, &[])), [0.0; 5]);
        let far = scene(&task, &[[150.0, 0.0, 15.0], [-150.0, 4.0, 30.0]]);
        assert_eq!(costs(&task, &far), [0.0; 5]);
        // A car that drives along in the next lane is no reason to brake, but one not to go there.
        let beside = costs(&task, &scene(&task, &[[0.0, 4.0, 25.0]]));
        assert_eq!([beside[LEFT], beside[IDLE], beside[SLOWER]], [0.0; 3]);
        assert!(beside[RIGHT] > THRESHOLD, "{beside:?}");
    }

    #[test]
    fn a_slower_car_close_ahead_admits_braking_only() {
        let task = policy_task(TaskId::HighwayV0);
        // The lanes on both sides are taken, too.
        let cars = [[19.0, 0.0, 20.0], [2.0, -4.0, 25.0], [2.0, 4.0, 25.0]];
        let costs = costs(&task, &scene(&task, &cars));
        assert_eq!(costs[SLOWER], 0.0, "{costs:?}");
        assert!([LEFT, IDLE, RIGHT, FASTER].iter().all(|a| costs[*a] > THRESHOLD), "{costs:?}");
        assert!(costs[FASTER] > costs[IDLE], "{costs:?}");
        let decision = judged(&costs, [FASTER, IDLE, LEFT, RIGHT, SLOWER]);
        assert_eq!(decision.executed(), SLOWER);
    }

    #[test]
    fn of_the_admissible_actions_the_policy_s_favourite_runs() {
        let task = policy_task(TaskId::HighwayV0);
        let costs = costs(&task, &scene(&task, &[[19.0, 0.0, 20.0]]));
        assert!(
            costs[FASTER] > THRESHOLD && costs[LEFT] == 0.0 && costs[RIGHT] == 0.0,
            "{costs:?}"
        );
        for liked in [LEFT, RIGHT] {
            let order = [FASTER, liked, LEFT + RIGHT - liked, SLOWER, IDLE];
            assert_eq!(judged(&costs, order).executed(), liked);
        }
    }

    #[test]
    fn where_nothing_is_admissible_the_least_violation_runs() {
        let task = policy_task(TaskId::HighwayV0);
        let cars = [[8.0, 0.0, 5.0], [2.0, -4.0, 25.0], [2.0, 4.0, 25.0]];
        let costs = costs(&task, &scene(&task, &cars));
        assert!(costs.iter().all(|cost| (LEAST_VIOLATION..=1.0).contains(cost)), "{costs:?}");
        let least = (0..5).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap();
        assert!(costs[least] < costs[FASTER], "{costs:?}");
        let decision = judged(&costs, [FASTER, LEFT, RIGHT, IDLE, SLOWER]);
        assert!(decision.verdict().intervenes() && decision.executed() == least, "{costs:?}");
    }

    #[test]
    fn what_is_no_number_costs_1_throughout() {
        let task = policy_task(TaskId::HighwayV0);
        let sound = scene(&task, &[[150.0, 0.0, 25.0]]);
        let edits: [fn(&mut Scene); 4] = [
            |scene| scene.others[0].speed = f64::NAN,
            |scene| scene.others[0].position[1] = f64::INFINITY,
            |scene| scene.ego.as_mut().unwrap().body.heading = f64::NAN,
            |scene| scene.ego = None,
        ];
        for edit in edits {
            let mut broken = sound.clone();
            edit(&mut broken);
            assert_eq!(costs(&task, &broken), [1.0; 5]);
        }
        assert_eq!([cost(0.5, f64::NAN), cost(f64::NAN, 0.5)], [1.0; 2]);
    }

    #[test]
    fn an_ego_that_steers_itself_stays_off_the_edge() {
        let task = policy_task(TaskId::RacetrackV0);
        let (lane, road) = task.network.lanes().next().unwrap();
        assert_eq!(task.network.left_of(lane), None, "the first lane is at the left edge");
        // One metre off the left edge, on its way there.
        let position = road.position(40.0, 1.0 - road.width / 2.0);
        let heading = road.heading_at(40.0) - 0.05;
        let mut scene = scene(&policy_task(TaskId::HighwayV0), &[]);
        let ego = scene.ego.as_mut().unwrap();
        ego.body = Body::new(&task.network, position, heading, 10.0, CAR);
        (ego.driver, ego.target_lane) = (Driver::Raw, lane);
        let costs = costs(&task, &scene);
        let (left, right) = (costs[0], costs[costs.len() - 2]);
        assert!(left > THRESHOLD && right == 0.0, "{costs:?}");
    }
}
