//! How are the ego and each body told in numbers?
//!
//! All of it relative to the ego, and scaled to be about one. Start at `Features::describe_ego`.

use cpss_highway::Scene;
use cpss_highway::lane::Lane;
use cpss_highway::road::{LaneId, Network};
use cpss_highway::scene::{Body, Ego};

use super::{Candidate, Features, LOOK_AHEAD, PREVIEW, ROAD_END, Source, push, turned};
use crate::way::{Paths, Way, aim};

impl Features {
    pub(super) fn describe_ego(&mut self, network: &Network, frame: &Frame<'_>) {
        let Frame { ego, way, .. } = frame;
        let body = &ego.body;
        let lane = network.lane(body.lane);
        let road = network.road_of(body.lane);
        let (offset, lanes) = (network.lane_offset(body.lane), network.lane_count(road));
        let target = frame.lane;
        let (target_along, target_across) = target.local_coordinates(body.position);
        let turn = body.heading - lane.heading_at(body.along);
        let target_turn = body.heading - target.heading_at(target_along);
        let to_left = offset as f64 * lane.width + lane.width / 2.0 + body.across;
        let to_right = (lanes - 1 - offset) as f64 * lane.width + lane.width / 2.0 - body.across;
        let open = |lane: Option<LaneId>| {
            flag(lane.is_some_and(|lane| {
                let lane = network.lane(lane);
                !lane.forbidden && lane.is_reachable_from(body.position)
            }))
        };
        let mut points = [[0.0; 2]; PREVIEW.len()];
        for (point, distance) in points.iter_mut().zip(PREVIEW) {
            let [x, y] = way.point(network, distance, 0.0);
            *point = turned(body, [x - body.position[0], y - body.position[1]]);
        }
        push(
            &mut self.fixed,
            [
                body.speed / 20.0,
                ego.target_speed / 20.0,
                (ego.target_speed - body.speed) / 5.0,
                body.acceleration.unwrap_or(0.0) / 5.0,
                body.across / 2.0,
                target_across / 4.0,
                turn.sin() * 2.0,
                target_turn.sin() * 2.0,
                target_turn.cos(),
                ego.slip_sin * 4.0,
                to_left / 10.0,
                to_right / 10.0,
                open(network.left_of(aim(ego))),
                open(network.right_of(aim(ego))),
                (lane.length - body.along).min(ROAD_END) / 100.0,
                way.end(network, ROAD_END) / 100.0,
                f64::from(lane.priority) / 3.0,
                self.density / 4.0,
            ],
        );
        for ([x, y], distance) in points.into_iter().zip(PREVIEW) {
            push(&mut self.fixed, [(x - distance) / 10.0, y / 10.0]);
        }
    }

    pub(super) fn describe_body(
        &mut self,
        network: &Network,
        scene: &Scene,
        frame: &Frame<'_>,
        of: &Candidate,
    ) {
        let body = of.source.body(scene);
        let (is_obstacle, came_first) = match of.source {
            Source::Car(place) => (0.0, flag(place < scene.earlier)),
            Source::Obstacle(_) => (1.0, 1.0),
        };
        let ego = &frame.ego.body;
        let [x, y] = of.position;
        let [vx, vy] = of.velocity;
        let lane = network.lane(body.lane);
        let OnWay { is_on_it, beside, along, across } = frame.on_way(network, body);
        let paths = frame.paths.closest(network, body);
        let turn = body.heading - lane.heading_at(body.along);
        let distance = x * x + y * y;
        let closing = -(x * vx + y * vy) / (distance + 4.0);
        let [bound_x, bound_y] = body.bound_for.map_or([0.0; 2], |bound| turned(ego, bound));
        let (gap, gap_speed) = ahead_of(body, of.source, scene);
        push(
            &mut self.items,
            [
                x / 50.0,
                y / 10.0,
                x / (x.abs() + 10.0),
                y / (y.abs() + 2.0),
                vx / 10.0,
                vy / 5.0,
                body.speed / 20.0,
                body.cos * ego.cos + body.sin * ego.sin,
                body.sin * ego.cos - body.cos * ego.sin,
                body.acceleration.unwrap_or(0.0) / 5.0,
                along / 50.0,
                across / 4.0,
                closing * 2.0,
                of.closest.0 / LOOK_AHEAD,
                of.closest.1 / (of.closest.1 + 5.0),
                body.across / 2.0,
                turn.sin() * 5.0,
                flag(is_on_it),
                beside / 2.0,
                bound_x,
                bound_y,
                flag(body.crashed),
                is_obstacle,
                came_first,
                f64::from(lane.priority - frame.priority) / 3.0,
                body.length / 5.0,
                gap,
                gap_speed / 10.0,
            ],
        );
        for (distance, time) in paths {
            push(&mut self.items, [5.0 / (5.0 + distance), time / Paths::UNTIL]);
        }
    }
}

/// What all bodies are described against.
pub(super) struct Frame<'a> {
    ego: &'a Ego,
    /// The lane that the ego follows, and where the ego is along it.
    lane: &'a Lane,
    along: f64,
    pub(super) way: Way,
    paths: Paths,
    priority: i32,
}

impl Frame<'_> {
    pub(super) fn of<'a>(network: &'a Network, ego: &'a Ego) -> Frame<'a> {
        let lane = network.lane(aim(ego));
        let (along, _) = lane.local_coordinates(ego.body.position);
        let way = Way::of_ego(network, ego, ROAD_END);
        let paths = Paths::of(network, ego, &way);
        Frame { ego, lane, along, way, paths, priority: network.lane(ego.body.lane).priority }
    }

    /// Where a body is as seen from the ego's way: along the way's lanes if it is on one of them, else along the ego's own
    /// lane, drawn on.
    fn on_way(&self, network: &Network, body: &Body) -> OnWay {
        match self.way.begin_of(network, network.road_of(body.lane)) {
            Some(begin) => {
                let [own, ego] =
                    [body.lane, aim(self.ego)].map(|lane| network.lane_offset(lane) as f64);
                let beside = own - ego;
                let across = self.lane.width * beside + body.across;
                OnWay { is_on_it: true, beside, along: begin + body.along, across }
            }
            None => {
                let (along, across) = self.lane.local_coordinates(body.position);
                OnWay { is_on_it: false, beside: 0.0, along: along - self.along, across }
            }
        }
    }
}

/// A body's place on the ego's way.
struct OnWay {
    is_on_it: bool,
    /// How many lanes it is beside the one that the ego aims for.
    beside: f64,
    along: f64,
    across: f64,
}

/// How close the next body ahead in a body's own lane is, from 0 (none near) to 1, and how much faster it is.
fn ahead_of(body: &Body, source: Source, scene: &Scene) -> (f64, f64) {
    const NEAR: f64 = 60.0;
    let mut nearest = (NEAR, 0.0);
    let mut consider = |other: &Body| {
        let gap = other.along - body.along;
        if other.lane == body.lane && gap > 0.0 && gap < nearest.0 {
            nearest = (gap, other.speed - body.speed);
        }
    };
    if let Source::Car(_) = source {
        scene.others.iter().chain(&scene.obstacles).for_each(&mut consider);
        scene.ego.iter().for_each(|ego| consider(&ego.body));
    }
    (1.0 - nearest.0 / NEAR, nearest.1)
}

fn flag(fact: bool) -> f64 {
    if fact { 1.0 } else { 0.0 }
}
