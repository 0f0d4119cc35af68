//! Which lanes are there, and how do they connect?
//!
//! A graph whose edges are roads (one or more parallel lanes from one node to another), compiled
//! to small integers: a [`LaneId`] is a lane's place in upstream's own iteration order, which is
//! what breaks ties between equally close lanes. Build one with [`NetworkBuilder::add_lane`], finish it
//! with [`NetworkBuilder::compile`].
//!
//! **Invariants:** ids are dense; the lanes of one road have consecutive ids; a compiled network
//! never changes, so worlds share it.

use crate::arith::wrap_to_pi;
use crate::atlas::{Atlas, QuietStretch};
use crate::lane::{Lane, Shape, project};
use crate::route::Route;

mod builder;

pub use builder::NetworkBuilder;

/// A lane of a compiled network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub(crate) u16);

/// A road of a compiled network: all lanes from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoadId(pub(crate) u16);

/// A node of a compiled network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(pub(crate) u16);

/// A place on a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    /// The lane.
    pub lane: LaneId,
    /// Longitudinal coordinate \[m\].
    pub along: f64,
    /// Lateral coordinate \[m\].
    pub across: f64,
}

impl LaneId {
    /// The lane's place in the network's order, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A compiled lane network.
#[derive(Clone, Debug, Default)]
pub struct Network {
    lanes: Vec<Lane>,
    places: Vec<Place>,
    roads: Vec<Road>,
    nodes: Vec<Node>,
    connected: Vec<Vec<(LaneId, f64)>>,
    paths: Vec<Option<Vec<RoadId>>>,
    atlas: Atlas,
    quiet: Vec<QuietStretch>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    road: RoadId,
    offset: u16,
}

#[derive(Clone, Copy, Debug)]
struct Road {
    from: NodeId,
    to: NodeId,
    first: u16,
    count: u16,
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    roads: Vec<RoadId>,
}

impl Network {
    /// The geometry and rules of a lane.
    #[inline]
    pub fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id.index()]
    }

    /// All lanes with their ids, in order.
    pub fn lanes(&self) -> impl ExactSizeIterator<Item = (LaneId, &Lane)> {
        self.lanes.iter().enumerate().map(|(i, lane)| (LaneId(i as u16), lane))
    }

    /// The road that a lane belongs to.
    #[inline]
    pub fn road_of(&self, lane: LaneId) -> RoadId {
        self.places[lane.index()].road
    }

    /// The lane's place among its road's lanes, from 0 on the left.
    #[inline]
    pub fn lane_offset(&self, lane: LaneId) -> usize {
        usize::from(self.places[lane.index()].offset)
    }

    /// How many lanes a road has.
    pub fn lane_count(&self, road: RoadId) -> usize {
        usize::from(self.roads[usize::from(road.0)].count)
    }

    /// The lane at a place of a road, if it has that many.
    pub fn lane_at(&self, road: RoadId, offset: usize) -> Option<LaneId> {
        let entry = self.roads[usize::from(road.0)];
        (offset < usize::from(entry.count)).then(|| LaneId(entry.first + offset as u16))
    }

    /// The lane of a road nearest to a wanted place.
    pub fn lane_at_most(&self, road: RoadId, offset: usize) -> LaneId {
        let entry = self.roads[usize::from(road.0)];
        LaneId(entry.first + (offset as u16).min(entry.count.saturating_sub(1)))
    }

    /// The neighbouring lane on the left, if there is one.
    #[inline]
    pub fn left_of(&self, lane: LaneId) -> Option<LaneId> {
        (self.places[lane.index()].offset > 0).then(|| LaneId(lane.0 - 1))
    }

    /// The neighbouring lane on the right, if there is one.
    #[inline]
    pub fn right_of(&self, lane: LaneId) -> Option<LaneId> {
        let Place { road, offset } = self.places[lane.index()];
        (offset + 1 < self.roads[usize::from(road.0)].count).then(|| LaneId(lane.0 + 1))
    }

    /// The node at which a road begins.
    pub fn start_of(&self, road: RoadId) -> NodeId {
        self.roads[usize::from(road.0)].from
    }

    /// The node at which a road ends.
    pub fn end_of(&self, road: RoadId) -> NodeId {
        self.roads[usize::from(road.0)].to
    }

    /// The roads that leave a node, in order.
    pub fn roads_from(&self, node: NodeId) -> &[RoadId] {
        &self.nodes[usize::from(node.0)].roads
    }

    /// The nodes that at least one road leaves, in upstream's order.
    pub fn origins(&self) -> impl Iterator<Item = NodeId> {
        let mut seen: Vec<NodeId> = Vec::new();
        for road in &self.roads {
            if !seen.contains(&road.from) {
                seen.push(road.from);
            }
        }
        seen.into_iter()
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name).map(|i| NodeId(i as u16))
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.nodes[usize::from(node.0)].name
    }

    /// The lane of upstream's `(from, to, id)`.
    pub fn find_lane(&self, from: &str, to: &str, offset: usize) -> Option<LaneId> {
        let (from, to) = (self.node(from)?, self.node(to)?);
        let road = *self.roads_from(from).iter().find(|road| self.end_of(**road) == to)?;
        self.lane_at(road, offset)
    }

    /// A lane as upstream's `(from, to, id)`.
    pub fn lane_name(&self, lane: LaneId) -> (&str, &str, usize) {
        let road = self.road_of(lane);
        let (from, to) = (self.start_of(road), self.end_of(road));
        (self.node_name(from), self.node_name(to), self.lane_offset(lane))
    }

    /// Where a pose is: the closest lane, counting a radian of heading error as a metre, and the
    /// coordinates on it.
    ///
    /// `hint` is where the car was a moment ago: its distance bounds the search, so almost every
    /// other lane is dismissed unseen. The answer does not depend on it.
    #[inline]
    pub fn locate(&self, position: [f64; 2], heading: f64, hint: LaneId) -> Location {
        match self.certainly_on(position, heading, hint) {
            Some(location) => location,
            None => self.search_closest(position, heading, hint),
        }
    }

    /// Where a pose is, if it is on a stretch of `id` where no other lane can be closest.
    #[inline]
    fn certainly_on(&self, position: [f64; 2], heading: f64, id: LaneId) -> Option<Location> {
        // Only straight lanes have such stretches, and on them a car is neither before its lane's
        // start nor past its end: what is left of the distance is this.
        let Shape::Straight { start, direction, heading: straight } = self.lane(id).shape else {
            return None;
        };
        let (along, across) = project(start, direction, position);
        let quiet = &self.quiet[id.index()];
        let is_certain = quiet.first <= along
            && along <= quiet.last
            && across.abs() + wrap_to_pi(heading - straight).abs() <= quiet.bound;
        is_certain.then_some(Location { lane: id, along, across })
    }

    #[inline(never)]
    fn search_closest(&self, position: [f64; 2], heading: f64, hint: LaneId) -> Location {
        let (mut least, along, across) = self.lanes[hint.index()]
            .distance_with_heading(position, heading, f64::INFINITY)
            .unwrap_or((f64::INFINITY, 0.0, 0.0));
        let mut best = Location { lane: hint, along, across };
        let mut consider = |id: u16, least: &mut f64| {
            let lane = LaneId(id);
            let found =
                self.lanes[usize::from(id)].distance_with_heading(position, heading, *least);
            if let Some((distance, along, across)) = found
                && (distance < *least || lane < best.lane)
            {
                *least = distance;
                best = Location { lane, along, across };
            }
        };
        match self.atlas.candidates(position) {
            Some(candidates) => {
                for candidate in candidates {
                    if f64::from(candidate.least) > least {
                        break;
                    }
                    if candidate.lane != hint.0 {
                        consider(candidate.lane, &mut least);
                    }
                }
            }
            None => {
                for id in (0..self.lanes.len() as u16).filter(|id| *id != hint.0) {
                    consider(id, &mut least);
                }
            }
        }
        best
    }

    /// The lanes on which a neighbour search from `lane` also looks when connected lanes count,
    /// the lane itself first, each with what to add to its longitudinal coordinate \[m\].
    #[inline]
    pub fn connected_lanes(&self, lane: LaneId) -> &[(LaneId, f64)] {
        &self.connected[lane.index()]
    }

    /// The lane to follow at the end of `current`: along the route, or else the closest one.
    ///
    /// A route's first leg is dropped once it is driven. At a dead end the answer is `current`.
    pub fn next_lane(&self, current: LaneId, route: &mut Route, position: [f64; 2]) -> LaneId {
        let road = self.road_of(current);
        let node = self.end_of(road);
        if route.first().is_some_and(|leg| leg.road == road) {
            route.drop_first();
        }
        let (longitudinal, _) = self.lane(current).local_coordinates(position);
        let projected = self.lane(current).position(longitudinal, 0.0);
        match route.first() {
            Some(leg) if self.start_of(leg.road) == node => {
                self.entry_lane(current, leg.road, leg.lane, projected)
            }
            _ => {
                let mut best = (current, f64::INFINITY);
                for &next in self.roads_from(node) {
                    let lane = self.entry_lane(current, next, None, projected);
                    let distance = self.lane(lane).distance(projected);
                    if distance < best.1 {
                        best = (lane, distance);
                    }
                }
                best.0
            }
        }
    }

    /// The shortest chain of roads from one node to another: fewest roads, then names in order.
    pub fn shortest_path(&self, start: NodeId, goal: NodeId) -> Option<&[RoadId]> {
        let place = usize::from(start.0) * self.nodes.len() + usize::from(goal.0);
        self.paths.get(place)?.as_deref()
    }

    /// The lane on which `road` is entered: the same place if both roads have as many lanes,
    /// otherwise the closest.
    fn entry_lane(
        &self,
        current: LaneId,
        road: RoadId,
        wanted: Option<u16>,
        position: [f64; 2],
    ) -> LaneId {
        let entry = self.roads[usize::from(road.0)];
        if self.lane_count(self.road_of(current)) == usize::from(entry.count) {
            let offset = wanted.unwrap_or(self.places[current.index()].offset);
            return LaneId(entry.first + offset);
        }
        let mut best = (LaneId(entry.first), f64::INFINITY);
        for id in (entry.first..entry.first + entry.count).map(LaneId) {
            let distance = self.lane(id).distance(position);
            if distance < best.1 {
                best = (id, distance);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests;
