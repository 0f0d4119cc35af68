//! Where does a lane lead, and how close do two come who follow theirs?
//!
//! A [`Way`] is a lane and those that follow it: along its route for the ego, and for others towards where they
//! show that they are bound. [`Paths`] moves the ego along its way at its present speed, braking and
//! accelerating, and says how close a body comes that follows its own at constant speed. This is geometry,
//! as an input of the critic: what drivers do about each other is for it to learn.

use cpss_highway::road::{LaneId, Network, RoadId};
use cpss_highway::route::Route;
use cpss_highway::scene::{Body, Ego};
use cpss_highway::vehicle::Driver;

/// The most lanes that a way is made of.
const MOST_LANES: usize = 8;
/// Sample times of a path: so many, this far apart \[s\].
const SAMPLES: usize = 10;
const SAMPLE_TIME: f64 = 0.4;
/// How hard an ego is moved that brakes or accelerates \[m/s²\], and to how much more speed \[m/s\].
const HARD: f64 = 4.0;
const FASTER: f64 = 8.0;
/// How long an ego takes to reach the middle of the lane it aims for \[s\].
const LANE_CHANGE: f64 = 2.0;

/// Lanes, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    lanes: [(LaneId, f64); MOST_LANES],
    count: usize,
    /// Whether the last lane leads nowhere.
    is_dead_end: bool,
}

impl Way {
    /// The way from a place on a lane, `reach` \[m\] far. `next` says which lane follows one that ends.
    fn of(
        network: &Network,
        (lane, along): (LaneId, f64),
        reach: f64,
        mut next: impl FnMut(LaneId) -> Option<LaneId>,
    ) -> Way {
        let mut way = Way { lanes: [(lane, -along); MOST_LANES], count: 1, is_dead_end: false };
        while way.count < MOST_LANES {
            let (last, begin) = way.lanes[way.count - 1];
            let end = begin + network.lane(last).length;
            if end >= reach {
                break;
            }
            match next(last) {
                Some(lane) if lane != last => {
                    way.lanes[way.count] = (lane, end);
                    way.count += 1;
                }
                _ => {
                    way.is_dead_end = true;
                    break;
                }
            }
        }
        way
    }

    /// The ego's way, from the lane that it aims for or, if it steers itself, the one it is on.
    pub(crate) fn of_ego(network: &Network, ego: &Ego, reach: f64) -> Way {
        let lane = aim(ego);
        let (along, _) = network.lane(lane).local_coordinates(ego.body.position);
        let mut route: Route = ego.route;
        Way::of(network, (lane, along), reach, |last| {
            let end = network.lane(last).position(network.lane(last).length, 0.0);
            Some(network.next_lane(last, &mut route, end))
        })
    }

    /// Another's way: where lanes part, towards where it shows that it is bound.
    pub(crate) fn of_body(network: &Network, body: &Body, reach: f64) -> Way {
        Way::of(network, (body.lane, body.along), reach, |last| {
            let road = network.road_of(last);
            let end = network.lane(last).position(network.lane(last).length, 0.0);
            let entries = network.roads_from(network.end_of(road)).iter();
            let entries =
                entries.map(|next| network.lane_at_most(*next, network.lane_offset(last)));
            let badness = |lane: LaneId| match body.bound_for {
                None => network.lane(lane).distance(end),
                Some([x, y]) => {
                    let goal = network.lane(lane).position(network.lane(lane).length, 0.0);
                    let [dx, dy] = [goal[0] - body.position[0], goal[1] - body.position[1]];
                    -(dx * x + dy * y) / (dx * dx + dy * dy).sqrt().max(1e-9)
                }
            };
            entries
                .map(|lane| (badness(lane), lane))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, lane)| lane)
        })
    }

    /// The point at a distance ahead \[m\].
    pub(crate) fn point(&self, network: &Network, distance: f64, across: f64) -> [f64; 2] {
        let passed = self.lanes[..self.count].iter().rev().find(|(_, begin)| *begin <= distance);
        let (lane, begin) = passed.copied().unwrap_or(self.lanes[0]);
        network.lane(lane).position(distance - begin, across)
    }

    /// The point at a distance ahead \[m\], and the direction of the way there \[rad\].
    pub(crate) fn pose(&self, network: &Network, distance: f64, across: f64) -> ([f64; 2], f64) {
        let passed = self.lanes[..self.count].iter().rev().find(|(_, begin)| *begin <= distance);
        let (lane, begin) = passed.copied().unwrap_or(self.lanes[0]);
        let (lane, along) = (network.lane(lane), distance - begin);
        (lane.position(along, across), lane.heading_at(along))
    }

    /// The lane that a point beside this way is on, with its coordinates there.
    fn place(&self, network: &Network, position: [f64; 2]) -> (LaneId, f64, f64) {
        let mut found = (self.lanes[0].0, 0.0, 0.0);
        for &(lane, _) in &self.lanes[..self.count] {
            let (along, across) = network.lane(lane).local_coordinates(position);
            found = (lane, along, across);
            if along <= network.lane(lane).length {
                break;
            }
        }
        found
    }

    /// The room between a point and the edge of the road \[m\], negative beyond it, and the angle of a heading to
    /// the way there \[rad\].
    pub(crate) fn room_and_angle(
        &self,
        network: &Network,
        position: [f64; 2],
        heading: f64,
    ) -> (f64, f64) {
        let (lane, along, across) = self.place(network, position);
        let (offset, lanes) =
            (network.lane_offset(lane), network.lane_count(network.road_of(lane)));
        let width = network.lane(lane).width;
        let to_left = (offset as f64 + 0.5) * width + across;
        let to_right = ((lanes - 1 - offset) as f64 + 0.5) * width - across;
        (to_left.min(to_right), network.lane(lane).angle_at(along, heading))
    }

    /// Its lanes, and how far ahead each begins \[m\], negative if that is behind.
    pub(crate) fn lanes(&self) -> &[(LaneId, f64)] {
        &self.lanes[..self.count]
    }

    /// How far ahead a road of this way begins \[m\], negative if it is behind; `None` if it is on none.
    pub(crate) fn begin_of(&self, network: &Network, road: RoadId) -> Option<f64> {
        let known = self.lanes[..self.count].iter();
        known.clone().find(|(lane, _)| network.road_of(*lane) == road).map(|(_, begin)| *begin)
    }

    /// How far ahead it ends \[m\], at most `reach`.
    pub(crate) fn end(&self, network: &Network, reach: f64) -> f64 {
        let (last, begin) = self.lanes[self.count - 1];
        if self.is_dead_end { (begin + network.lane(last).length).min(reach) } else { reach }
    }
}

/// The lane that an ego follows.
pub(crate) fn aim(ego: &Ego) -> LaneId {
    match ego.driver {
        Driver::Raw => ego.body.lane,
        _ => ego.target_lane,
    }
}

/// The ego along its way at every sample time: holding its speed, braking, accelerating.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paths {
    ego: [[[f64; 2]; SAMPLES]; 3],
}

impl Paths {
    pub(crate) fn of(network: &Network, ego: &Ego, way: &Way) -> Paths {
        let speed = ego.body.speed;
        let (_, across) = network.lane(aim(ego)).local_coordinates(ego.body.position);
        let place = |profile: usize, sample: usize| {
            let time = (sample + 1) as f64 * SAMPLE_TIME;
            let distance = match profile {
                0 => speed * time,
                1 => {
                    let time = time.min(speed.max(0.0) / HARD);
                    speed * time - 0.5 * HARD * time * time
                }
                _ => {
                    let rising = time.min(FASTER / HARD);
                    speed * time + 0.5 * HARD * rising * rising + FASTER * (time - rising)
                }
            };
            let across = match ego.driver {
                Driver::Raw => across,
                _ => across * (1.0 - time / LANE_CHANGE).max(0.0),
            };
            way.point(network, distance, across)
        };
        Paths { ego: std::array::from_fn(|p| std::array::from_fn(|sample| place(p, sample))) }
    }

    /// For each of the ego's three ways of going on: how close a body comes \[m\], and when \[s\].
    pub(crate) fn closest(&self, network: &Network, body: &Body) -> [(f64, f64); 3] {
        let reach = (body.speed.abs() * SAMPLES as f64 * SAMPLE_TIME).max(1.0);
        let way = Way::of_body(network, body, reach);
        let mut closest = [(f64::INFINITY, 0.0); 3];
        for sample in 0..SAMPLES {
            let time = (sample + 1) as f64 * SAMPLE_TIME;
            let [x, y] = way.point(network, body.speed * time, body.across);
            for (closest, path) in closest.iter_mut().zip(&self.ego) {
                let [dx, dy] = [x - path[sample][0], y - path[sample][1]];
                let square = dx * dx + dy * dy;
                if square < closest.0 {
                    *closest = (square, time);
                }
            }
        }
        closest.map(|(square, time)| (square.sqrt(), time))
    }

    /// Until when paths are compared \[s\].
    pub(crate) const UNTIL: f64 = SAMPLES as f64 * SAMPLE_TIME;
}
