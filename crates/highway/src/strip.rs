//! How is a straight road full of cars searched quickly?
//!
//! A strip is one road of parallel lanes along x that all begin at x = 0 (the highway). There a
//! car's longitudinal coordinate is its x on every lane, so one walk along the [`Lineup`] tells who is
//! ahead of everyone, and the closest lane follows from y alone. [`Strip::update`] brings the lists
//! up to date once per frame; a test below compares every answer with a search over all cars.
//!
//! **Invariants:** `seen[i]` is the range of lanes on which a neighbour search sees vehicle `i`;
//! `leaders[i]` is who is ahead of it on its own lane.

use crate::lane::{END_MARGIN, NEIGHBOUR_MARGIN};
use crate::lineup::{Lineup, Slot};
use crate::road::{LaneId, Location, Network};
use crate::vehicle::Vehicle;

/// Stands for "nobody" in a list of vehicles.
const NOBODY: u16 = u16::MAX;

/// The lists that make searches short.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strip {
    seen: Vec<(u16, u16)>,
    leaders: Vec<u16>,
    last_on_lane: Vec<u16>,
}

impl Strip {
    /// Works out who is ahead of whom among cars in order.
    pub(crate) fn update(&mut self, lineup: &Lineup, vehicles: &[Vehicle], network: &Network) {
        let lanes = network.lanes().len() as u16;
        let length = network.lane(LaneId(0)).length;
        self.seen.clear();
        self.seen.extend(vehicles.iter().map(|car| lanes_seeing(car, lanes, length)));
        self.leaders.resize(vehicles.len(), NOBODY);
        self.last_on_lane.clear();
        self.last_on_lane.resize(usize::from(lanes), NOBODY);
        for slot in lineup.slots().iter().rev() {
            let car = usize::from(slot.car);
            self.leaders[car] = self.last_on_lane[vehicles[car].lane.index()];
            let (first, end) = self.seen[car];
            for lane in first..end {
                self.last_on_lane[usize::from(lane)] = slot.car;
            }
        }
    }

    /// The nearest vehicle ahead of a car on a lane.
    #[inline]
    pub(crate) fn ahead(
        &self,
        lineup: &Lineup,
        vehicles: &[Vehicle],
        asker: usize,
        lane: LaneId,
    ) -> Option<usize> {
        if vehicles[asker].lane == lane && !lineup.has_ties() {
            let leader = self.leaders[asker];
            return (leader != NOBODY).then_some(usize::from(leader));
        }
        let slots = lineup.slots();
        let mut place = lineup.rank(asker);
        let x = slots[place].x;
        while place > 0 && slots[place - 1].x == x {
            place -= 1;
        }
        let mut found: Option<&Slot> = None;
        for slot in &slots[place..] {
            if found.is_some_and(|nearest| slot.x > nearest.x) {
                break;
            }
            let other = usize::from(slot.car);
            if other != asker && self.is_seen_on(other, lane) {
                found = Some(slot);
            }
        }
        found.map(|slot| usize::from(slot.car))
    }

    /// The nearest vehicle behind a car on a lane.
    pub(crate) fn behind(&self, lineup: &Lineup, asker: usize, lane: LaneId) -> Option<usize> {
        let rank = lineup.rank(asker);
        let (before, x) = (&lineup.slots()[..rank], lineup.slots()[rank].x);
        let mut found: Option<&Slot> = None;
        for slot in before.iter().rev() {
            if found.is_some_and(|nearest| slot.x < nearest.x) {
                break;
            }
            if slot.x < x && self.is_seen_on(usize::from(slot.car), lane) {
                found = Some(slot);
            }
        }
        found.map(|slot| usize::from(slot.car))
    }

    #[inline]
    fn is_seen_on(&self, car: usize, lane: LaneId) -> bool {
        let (first, end) = self.seen[car];
        (first..end).contains(&lane.0)
    }
}

/// Where a car is on a strip: the lane closest to its y (of two equally close ones, the first).
#[inline]
pub(crate) fn locate(car: &Vehicle, lanes: usize) -> Location {
    let center = |lane: LaneId| f64::from(lane.0) * LANE_WIDTH;
    let mut lane = car.lane;
    // Strictly within half a width of the lane it was on, no other lane can be closer.
    if (car.y - center(lane)).abs() >= LANE_WIDTH / 2.0 {
        let place = ((car.y - LANE_WIDTH / 2.0) / LANE_WIDTH).ceil();
        lane = LaneId(place.clamp(0.0, lanes as f64 - 1.0) as u16);
    }
    Location { lane, along: car.x, across: car.y - center(lane) }
}

/// Width of a strip's lanes \[m\].
pub(crate) const LANE_WIDTH: f64 = 4.0;

/// The lanes on which a neighbour search sees a car, as a range.
#[inline]
fn lanes_seeing(car: &Vehicle, lanes: u16, length: f64) -> (u16, u16) {
    if !(-END_MARGIN <= car.x && car.x < length + END_MARGIN) {
        return (0, 0);
    }
    let reach = LANE_WIDTH / 2.0 + NEIGHBOUR_MARGIN;
    let lane = car.lane.0;
    // Lanes further away than the next ones are out of reach: a car is nearest to its own.
    let first = if lane > 0 && (car.across + LANE_WIDTH).abs() <= reach { lane - 1 } else { lane };
    let last = if (car.across - LANE_WIDTH).abs() <= reach { lane + 1 } else { lane };
    if car.across.abs() <= reach { (first, (last + 1).min(lanes)) } else { (0, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbours::{Body, Index, Traffic};
    use crate::random::Generator;
    use crate::task::{Task, TaskId};
    use crate::vehicle::Driver;

    #[test]
    fn a_strip_answers_as_a_search_over_all_cars_does() {
        let task = Task::with_defaults(TaskId::HighwayV0);
        let network = &task.network;
        let mut random = Generator::seeded(9);
        let (mut lineup, mut strip) = (Lineup::default(), Strip::default());
        for round in 0..300 {
            let cars: Vec<Vehicle> = (0..2 + random.choice(40))
                .map(|_| {
                    // Coarse places on purpose, so that cars are often level with each other.
                    let x = f64::from(random.integers(0, 60)) * 5.0 - 20.0;
                    let y = random.uniform(-6.0, 18.0);
                    Vehicle::new(network, Driver::Idm, [x, y], 0.0, 20.0)
                })
                .collect();
            lineup.mark_stale();
            lineup.refresh(&cars);
            strip.update(&lineup, &cars, network);
            let by_strip = Traffic {
                vehicles: &cars,
                obstacles: &[],
                obstacle_places: &task.obstacle_places,
                network,
                connected_lanes: false,
                index: Index::Strip(&lineup, &strip),
            };
            let by_search = Traffic { index: Index::None, ..by_strip };
            for (asker, car) in cars.iter().enumerate() {
                for (lane, _) in network.lanes() {
                    let place = format!("round {round}, car {asker}, {lane:?}");
                    let same = |a: Option<Body>, b: Option<Body>| assert_eq!(a, b, "{place}");
                    same(by_strip.ahead(asker, lane), by_search.ahead(asker, lane));
                    same(by_strip.behind(asker, lane), by_search.behind(asker, lane));
                }
                assert_eq!(locate(car, network.lanes().len()).lane, car.lane);
            }
        }
    }
}
