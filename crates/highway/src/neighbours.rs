//! Who drives ahead of a car on a lane, and who behind?
//!
//! [`Traffic`] is a frame's frozen view of everything on the road. On an ordinary network it asks
//! every body about the lane; on a strip of parallel straight lanes it uses the lists that
//! [`crate::strip`] keeps. Both give the same answer, ties included: a car level with the asker
//! counts as ahead, and of two level cars ahead the later in the list wins.

use crate::driver::Leader;
use crate::lane::{Lane, NEIGHBOUR_MARGIN};
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
    /// The lanes.
    pub network: &'a Network,
    /// Whether a search also looks along connected lanes.
    pub connected_lanes: bool,
    /// The sorted lists, when the road is a strip.
    pub(crate) strip: Option<&'a Strip>,
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
        match self.strip {
            Some(strip) => strip.ahead(self.vehicles, asker, lane).map(Body::Vehicle),
            None => self.search(asker, lane).0,
        }
    }

    /// The nearest bodies ahead and behind on a lane.
    pub fn ahead_and_behind(&self, asker: usize, lane: LaneId) -> (Option<Body>, Option<Body>) {
        match self.strip {
            Some(strip) => (
                strip.ahead(self.vehicles, asker, lane).map(Body::Vehicle),
                strip.behind(self.vehicles, asker, lane).map(Body::Vehicle),
            ),
            None => self.search(asker, lane),
        }
    }

    /// Asks every body, in upstream's order.
    pub(crate) fn search(&self, asker: usize, id: LaneId) -> (Option<Body>, Option<Body>) {
        if self.connected_lanes {
            let lanes = self.network.connected_lanes(id);
            return self.search_by(asker, id, |car: Seen<'_>| {
                lanes.iter().find_map(|(other, offset)| {
                    Some(car.place_on(*other, self.network.lane(*other))? + offset)
                })
            });
        }
        let lane = self.network.lane(id);
        self.search_by(asker, id, |car: Seen<'_>| car.place_on(id, lane))
    }

    #[inline]
    fn search_by(
        &self,
        asker: usize,
        id: LaneId,
        place: impl Fn(Seen<'_>) -> Option<f64>,
    ) -> (Option<Body>, Option<Body>) {
        let (own, _) = self.vehicles[asker].coordinates_on(id, self.network);
        let mut ahead = (f64::INFINITY, None);
        let mut behind = (f64::NEG_INFINITY, None);
        let mut consider = |body: Body, seen: Seen<'_>| {
            if let Some(at) = place(seen) {
                if own <= at && at <= ahead.0 {
                    ahead = (at, Some(body));
                }
                if at < own && at > behind.0 {
                    behind = (at, Some(body));
                }
            }
        };
        for (i, vehicle) in self.vehicles.iter().enumerate() {
            if i != asker {
                consider(Body::Vehicle(i), Seen::Vehicle(vehicle));
            }
        }
        for (i, obstacle) in self.obstacles.iter().enumerate() {
            consider(Body::Obstacle(i), Seen::Obstacle(obstacle));
        }
        (ahead.1, behind.1)
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
            Seen::Vehicle(car) if car.lane == id => {
                lane.contains(car.along, car.across, NEIGHBOUR_MARGIN).then_some(car.along)
            }
            Seen::Vehicle(car) => lane.sees(car.position()),
            Seen::Obstacle(obstacle) => lane.sees(obstacle.position),
        }
    }
}
