//! Who drives ahead of a car on a lane, and who behind?
//!
//! [`Traffic`] is a frame's frozen view of everything on the road. On an ordinary network it asks
//! every body about the lane; on a strip of parallel straight lanes it walks a list sorted by x,
//! where the answer is usually within a few cars. Both give the same answer, ties included: a car
//! level with the asker counts as ahead, and of two level cars ahead the later in the list wins.
//!
//! **Invariant:** `order` lists every vehicle once, by x and then by index.

use crate::driver::Leader;
use crate::road::{LaneId, Network};
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

/// Where every vehicle stands in a list sorted by x; only kept for strips.
#[derive(Clone, Debug, Default)]
pub struct Order {
    by_x: Vec<u16>,
    rank: Vec<u16>,
}

impl Order {
    /// Sorts again. From frame to frame cars hardly pass each other, so insertion is linear.
    pub fn update(&mut self, vehicles: &[Vehicle]) {
        if self.by_x.len() != vehicles.len() {
            self.by_x.clear();
            self.by_x.extend(0..vehicles.len() as u16);
            self.rank.resize(vehicles.len(), 0);
        }
        let key = |i: u16| (vehicles[usize::from(i)].x, i);
        for place in 1..self.by_x.len() {
            let moved = self.by_x[place];
            let moved_key = key(moved);
            let mut hole = place;
            while hole > 0 && moved_key < key(self.by_x[hole - 1]) {
                self.by_x[hole] = self.by_x[hole - 1];
                hole -= 1;
            }
            self.by_x[hole] = moved;
        }
        for (place, vehicle) in self.by_x.iter().enumerate() {
            self.rank[usize::from(*vehicle)] = place as u16;
        }
    }

    /// Vehicles by x, lowest first.
    pub fn by_x(&self) -> impl DoubleEndedIterator<Item = usize> + Clone {
        self.by_x.iter().map(|i| usize::from(*i))
    }
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
    /// The sorted list, when the road is a strip of parallel lanes along x.
    pub order: Option<&'a Order>,
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
        match self.order {
            Some(order) => self.ahead_on_strip(order, asker, lane),
            None => self.search(asker, lane).0,
        }
    }

    /// The nearest bodies ahead and behind on a lane.
    pub fn ahead_and_behind(&self, asker: usize, lane: LaneId) -> (Option<Body>, Option<Body>) {
        match self.order {
            Some(order) => (
                self.ahead_on_strip(order, asker, lane),
                self.behind_on_strip(order, asker, lane),
            ),
            None => self.search(asker, lane),
        }
    }

    fn ahead_on_strip(&self, order: &Order, asker: usize, lane: LaneId) -> Option<Body> {
        let lane = self.network.lane(lane);
        let x = self.vehicles[asker].x;
        let mut place = usize::from(order.rank[asker]);
        while place > 0 && self.vehicles[usize::from(order.by_x[place - 1])].x == x {
            place -= 1;
        }
        let mut found: Option<usize> = None;
        for &i in &order.by_x[place..] {
            let other = usize::from(i);
            let vehicle = &self.vehicles[other];
            if found.is_some_and(|nearest| vehicle.x > self.vehicles[nearest].x) {
                break;
            }
            if other != asker && lane.sees(vehicle.position()).is_some() {
                found = Some(other);
            }
        }
        found.map(Body::Vehicle)
    }

    fn behind_on_strip(&self, order: &Order, asker: usize, lane: LaneId) -> Option<Body> {
        let lane = self.network.lane(lane);
        let x = self.vehicles[asker].x;
        let mut found: Option<usize> = None;
        for &i in order.by_x[..usize::from(order.rank[asker])].iter().rev() {
            let other = usize::from(i);
            let vehicle = &self.vehicles[other];
            if found.is_some_and(|nearest| vehicle.x < self.vehicles[nearest].x) {
                break;
            }
            if vehicle.x < x && lane.sees(vehicle.position()).is_some() {
                found = Some(other);
            }
        }
        found.map(Body::Vehicle)
    }

    /// Asks every body, in upstream's order.
    fn search(&self, asker: usize, lane: LaneId) -> (Option<Body>, Option<Body>) {
        let own = self.network.lane(lane).local_coordinates(self.vehicles[asker].position()).0;
        let mut ahead = (f64::INFINITY, None);
        let mut behind = (f64::NEG_INFINITY, None);
        let mut consider = |body: Body, position: [f64; 2]| {
            if let Some(at) = self.place_on(lane, position) {
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
                consider(Body::Vehicle(i), vehicle.position());
            }
        }
        for (i, obstacle) in self.obstacles.iter().enumerate() {
            consider(Body::Obstacle(i), obstacle.position);
        }
        (ahead.1, behind.1)
    }

    /// The longitudinal coordinate on `lane`, or on a connected one, of a body that is on it.
    #[inline]
    fn place_on(&self, lane: LaneId, position: [f64; 2]) -> Option<f64> {
        if !self.connected_lanes {
            return self.network.lane(lane).sees(position);
        }
        self.network
            .connected_lanes(lane)
            .iter()
            .find_map(|(id, offset)| Some(self.network.lane(*id).sees(position)? + offset))
    }
}
