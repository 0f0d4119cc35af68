//! Who drives ahead of a car on a lane, and who behind?
//!
//! [`Traffic`] is a frame's frozen view of everything on the road. On an ordinary network it asks
//! every body about the lane; where all lanes run along x it uses the order that `lineup.rs` keeps,
//! and on a strip of parallel lanes also the lists of `strip.rs`. All give the same answer, ties
//! included: a car level with the asker
//! counts as ahead, and of two level cars ahead the later in the list wins.

use crate::driver::Leader;
use crate::lane::{END_MARGIN, Lane, NEIGHBOUR_MARGIN, Shape, project};
use crate::lineup::Lineup;
use crate::road::{LaneId, Network};
use crate::strip::Strip;
use crate::vehicle::Vehicle;

/// A body without a driver, such as the end of a ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstacle {
    /// Centre \[m\].
    pub position: [f64; 2],
}

/// Length and width of an obstacle \[m\].
pub const OBSTACLE_SIZE: f64 = 2.0;

/// A vehicle or an obstacle, by its place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A vehicle.
    Vehicle(usize),
    /// An obstacle.
    Obstacle(usize),
}

/// Everything on the road at one moment.
#[derive(Clone, Copy)]
pub struct Traffic<'a> {
    /// The cars.
    pub vehicles: &'a [Vehicle],
    /// The obstacles.
    pub obstacles: &'a [Obstacle],
    /// Where the obstacles are: for each lane, obstacle and longitudinal coordinate \[m\].
    pub obstacle_places: &'a [Vec<(usize, f64)>],
    /// The lanes.
    pub network: &'a Network,
    /// Whether a search also looks along connected lanes.
    pub connected_lanes: bool,
    /// What is known to make searches short.
    pub(crate) index: Index<'a>,
}

/// Lists that make searches short, where the road allows them.
#[derive(Clone, Copy)]
pub(crate) enum Index<'a> {
    /// Any road.
    None,
    /// All lanes run along x.
    Lineup(&'a Lineup),
    /// And side by side, from the same start.
    Strip(&'a Lineup, &'a Strip),
}

impl Traffic<'_> {
    /// What following a body takes to know.
    #[inline]
    pub fn leader(&self, body: Body) -> Leader {
        match body {
            Body::Vehicle(i) => Leader {
                position: self.vehicles[i].position(),
                velocity: self.vehicles[i].velocity(),
            },
            Body::Obstacle(i) => {
                Leader { position: self.obstacles[i].position, velocity: [0.0, 0.0] }
            }
        }
    }

    /// The nearest body ahead of a car on a lane (which need not be its own).
    #[inline]
    pub fn ahead(&self, asker: usize, lane: LaneId) -> Option<Body> {
        match self.index {
            Index::Strip(lineup, strip) => {
                strip.ahead(lineup, self.vehicles, asker, lane).map(Body::Vehicle)
            }
            Index::Lineup(lineup) => {
                let found = lineup.ahead(self.vehicles, asker, (lane, self.network.lane(lane)));
                self.or_obstacle_ahead(asker, lane, found)
            }
            Index::None => {
                if let Shape::Straight { start, direction, .. } = self.network.lane(lane).shape
                    && !self.connected_lanes
                {
                    return self.ahead_on_line(asker, lane, start, direction);
                }
                let mut nearest = Nearest::new(f64::INFINITY);
                self.search(asker, lane, |own, at, body| {
                    if own <= at && at <= nearest.at {
                        nearest = Nearest { at, body: Some(body) };
                    }
                });
                nearest.body
            }
        }
    }

    /// [`Traffic::ahead`] on a straight lane: the most common search by far, written so that it
    /// compiles without branches, which nothing could predict.
    fn ahead_on_line(
        &self,
        asker: usize,
        id: LaneId,
        start: [f64; 2],
        direction: [f64; 2],
    ) -> Option<Body> {
        let lane = self.network.lane(id);
        let (own, _) = project(start, direction, self.vehicles[asker].position());
        let reach = lane.width / 2.0 + NEIGHBOUR_MARGIN;
        let first = own.max(-END_MARGIN);
        // The lane's end is a first bound: the largest number below it, so that one comparison does
        // for both.
        let mut nearest = ((lane.length + END_MARGIN).next_down(), usize::MAX);
        let mut look = |from: usize, vehicles: &[Vehicle]| {
            for (i, vehicle) in vehicles.iter().enumerate() {
                let (at, across) = project(start, direction, vehicle.position());
                let is_nearer = (across.abs() <= reach) & (first <= at) & (at <= nearest.0);
                nearest = if is_nearer { (at, from + i) } else { nearest };
            }
        };
        look(0, &self.vehicles[..asker]);
        look(asker + 1, &self.vehicles[asker + 1..]);
        let found = (nearest.1 != usize::MAX).then_some(nearest);
        self.or_obstacle_ahead(asker, id, found)
    }

    /// The car found ahead at a longitudinal coordinate \[m\], or an obstacle that is no further.
    #[inline(always)]
    fn or_obstacle_ahead(
        &self,
        asker: usize,
        id: LaneId,
        car: Option<(f64, usize)>,
    ) -> Option<Body> {
        let mut nearest = car.map_or(f64::INFINITY, |(at, _)| at);
        let mut found = car.map(|(_, i)| Body::Vehicle(i));
        for &(i, at) in &self.obstacle_places[id.index()] {
            if at <= nearest && self.vehicles[asker].coordinates_on(id, self.network).0 <= at {
                nearest = at;
                found = Some(Body::Obstacle(i));
            }
        }
        found
    }

    /// The car found behind at a longitudinal coordinate \[m\], or an obstacle that is nearer.
    fn or_obstacle_behind(
        &self,
        asker: usize,
        id: LaneId,
        car: Option<(f64, usize)>,
    ) -> Option<Body> {
        let mut nearest = car.map_or(f64::NEG_INFINITY, |(at, _)| at);
        let mut found = car.map(|(_, i)| Body::Vehicle(i));
        for &(i, at) in &self.obstacle_places[id.index()] {
            if at > nearest && at < self.vehicles[asker].coordinates_on(id, self.network).0 {
                nearest = at;
                found = Some(Body::Obstacle(i));
            }
        }
        found
    }

    /// The nearest body behind a car on a lane.
    pub fn behind(&self, asker: usize, lane: LaneId) -> Option<Body> {
        match self.index {
            Index::Strip(lineup, strip) => strip.behind(lineup, asker, lane).map(Body::Vehicle),
            Index::Lineup(lineup) => {
                let found = lineup.behind(self.vehicles, asker, (lane, self.network.lane(lane)));
                self.or_obstacle_behind(asker, lane, found)
            }
            Index::None => {
                let mut nearest = Nearest::new(f64::NEG_INFINITY);
                self.search(asker, lane, |own, at, body| {
                    if at < own && at > nearest.at {
                        nearest = Nearest { at, body: Some(body) };
                    }
                });
                nearest.body
            }
        }
    }

    /// Shows `consider` every body on a lane, in upstream's order: the asker's longitudinal
    /// coordinate there, the body's, and the body.
    #[inline]
    fn search(&self, asker: usize, id: LaneId, consider: impl FnMut(f64, f64, Body)) {
        let (own, _) = self.vehicles[asker].coordinates_on(id, self.network);
        let lane = self.network.lane(id);
        if self.connected_lanes {
            let lanes = self.network.connected_lanes(id);
            let on_any = |body: Seen<'_>| {
                lanes.iter().find_map(|(other, offset)| {
                    Some(body.place_on(*other, self.network.lane(*other))? + offset)
                })
            };
            self.scan(asker, own, on_any, consider);
        } else {
            self.scan(asker, own, |body| body.place_on(id, lane), consider);
        }
    }

    #[inline]
    fn scan(
        &self,
        asker: usize,
        own: f64,
        place: impl Fn(Seen<'_>) -> Option<f64>,
        mut consider: impl FnMut(f64, f64, Body),
    ) {
        for (i, vehicle) in self.vehicles.iter().enumerate() {
            if i != asker
                && let Some(at) = place(Seen::Vehicle(vehicle))
            {
                consider(own, at, Body::Vehicle(i));
            }
        }
        for (i, obstacle) in self.obstacles.iter().enumerate() {
            if let Some(at) = place(Seen::Obstacle(obstacle)) {
                consider(own, at, Body::Obstacle(i));
            }
        }
    }
}

/// The nearest body found so far.
struct Nearest {
    at: f64,
    body: Option<Body>,
}

impl Nearest {
    fn new(at: f64) -> Nearest {
        Nearest { at, body: None }
    }
}

/// A body that a search looks at.
#[derive(Clone, Copy)]
enum Seen<'a> {
    Vehicle(&'a Vehicle),
    Obstacle(&'a Obstacle),
}

impl Seen<'_> {
    /// The longitudinal coordinate on a lane, if the body is on it.
    #[inline]
    fn place_on(self, id: LaneId, lane: &Lane) -> Option<f64> {
        match self {
            Seen::Vehicle(car) => car.seen_on(id, lane),
            Seen::Obstacle(obstacle) => lane.sees(obstacle.position),
        }
    }
}
