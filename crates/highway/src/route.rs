//! Which roads does a driver mean to take?
//!
//! A [`Route`] is a short queue of legs that lives inside the vehicle: copying a world must not
//! touch the heap once per car. The longest route in any task here has eleven legs.

use crate::road::{LaneId, Network, NodeId, RoadId};

/// The most legs a route can hold; a simple path through the largest network has fewer.
pub const MOST_LEGS: usize = 12;

/// One road of a route, and the lane to take on it if that is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The road.
    pub road: RoadId,
    /// The lane's place on the road, when planned.
    pub lane: Option<u16>,
}

/// The legs still to be driven, in order. No legs at all means "no plan".
#[derive(Clone, Copy, Debug)]
pub struct Route {
    legs: [Leg; MOST_LEGS],
    next: u8,
    end: u8,
}

impl Default for Route {
    fn default() -> Route {
        Route { legs: [Leg { road: RoadId(0), lane: None }; MOST_LEGS], next: 0, end: 0 }
    }
}

impl Route {
    /// The way from a lane to a node: the lane's own road, then the shortest chain of roads. Where
    /// no chain exists the route is the lane alone.
    pub fn plan(network: &Network, lane: LaneId, destination: NodeId) -> Route {
        let mut route = Route::default();
        let road = network.road_of(lane);
        route.push(Leg { road, lane: Some(network.lane_offset(lane) as u16) });
        for &road in network.shortest_path(network.end_of(road), destination).unwrap_or_default() {
            route.push(Leg { road, lane: None });
        }
        route
    }

    /// A plan that was made elsewhere; legs beyond [`MOST_LEGS`] are left out.
    pub fn of(legs: impl IntoIterator<Item = Leg>) -> Route {
        let mut route = Route::default();
        legs.into_iter().for_each(|leg| route.push(leg));
        route
    }

    /// The legs still to be driven.
    #[inline]
    pub fn legs(&self) -> &[Leg] {
        &self.legs[usize::from(self.next)..usize::from(self.end)]
    }

    /// The leg to drive now, if there is a plan.
    #[inline]
    pub fn first(&self) -> Option<Leg> {
        self.legs().first().copied()
    }

    /// Whether there is no plan.
    pub fn is_empty(&self) -> bool {
        self.next == self.end
    }

    pub(crate) fn drop_first(&mut self) {
        if self.next < self.end {
            self.next += 1;
        }
    }

    fn push(&mut self, leg: Leg) {
        if let Some(slot) = self.legs.get_mut(usize::from(self.end)) {
            *slot = leg;
            self.end += 1;
        }
    }
}
