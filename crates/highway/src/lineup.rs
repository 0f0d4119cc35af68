//! In which order do the cars stand along x, and who is next on a lane that runs along it?
//!
//! Where every lane runs along x (the highway, the merge with its swinging ramp), a car's
//! longitudinal coordinate is its x less the lane's start. One list sorted by x then serves every
//! lane: a search walks it away from the asker and ends at the first car on the lane, and the
//! collision test looks only at cars next to each other in it.
//!
//! Start at [`Lineup::ahead`]. A test below compares every answer with a search over all cars.
//!
//! **Invariants:** after [`Lineup::sort`], `slots` lists every vehicle once, by x and then by index,
//! with the position it had then, and `rank[i]` is the place of vehicle `i`. Taking away a lane's
//! start may round two different x to the same coordinate, never swap them.

use crate::lane::{END_MARGIN, Lane, NEIGHBOUR_MARGIN, Shape};
use crate::road::{LaneId, Network};
use crate::vehicle::Vehicle;

/// A car's place in the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Where it is along x \[m\].
    pub(crate) x: f64,
    /// Where it is along y \[m\].
    pub(crate) y: f64,
    /// Which vehicle.
    pub(crate) car: u16,
}

/// The cars, sorted by x.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lineup {
    slots: Vec<Slot>,
    rank: Vec<u16>,
    has_ties: bool,
    is_stale: bool,
}

/// Whether every lane runs along x, so that one order of the cars serves all of them.
pub(crate) fn runs_along_x(network: &Network) -> bool {
    network.lanes().all(|(_, lane)| match lane.shape {
        Shape::Straight { direction, .. } | Shape::Sine { direction, .. } => {
            direction == [1.0, 0.0]
        }
        Shape::Circular { .. } => false,
    })
}

impl Lineup {
    /// Sorts the cars by x. From frame to frame they hardly pass each other, so insertion is
    /// close to linear.
    pub(crate) fn sort(&mut self, vehicles: &[Vehicle]) {
        if self.slots.len() != vehicles.len() {
            self.slots.clear();
            self.slots.extend((0..vehicles.len() as u16).map(|car| Slot { x: 0.0, y: 0.0, car }));
            self.rank.resize(vehicles.len(), 0);
        }
        self.is_stale = false;
        self.has_ties = false;
        for place in 0..self.slots.len() {
            let car = self.slots[place].car;
            let Vehicle { x, y, .. } = vehicles[usize::from(car)];
            let moved = Slot { x, y, car };
            let mut hole = place;
            while hole > 0 {
                let before = self.slots[hole - 1];
                if before.x < x {
                    break;
                }
                self.has_ties |= before.x == x;
                if before.x == x && before.car < car {
                    break;
                }
                self.slots[hole] = before;
                hole -= 1;
            }
            self.slots[hole] = moved;
        }
        for (place, slot) in self.slots.iter().enumerate() {
            self.rank[usize::from(slot.car)] = place as u16;
        }
    }

    /// Sorts the cars if they may have been replaced since [`Lineup::sort`].
    pub(crate) fn refresh(&mut self, vehicles: &[Vehicle]) {
        if self.is_stale || self.slots.len() != vehicles.len() {
            self.sort(vehicles);
        }
    }

    /// Says that the cars have been replaced.
    pub(crate) fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    /// The cars by x, lowest first.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A vehicle's place in that order.
    #[inline]
    pub(crate) fn rank(&self, car: usize) -> usize {
        usize::from(self.rank[car])
    }

    /// Whether two cars have the same x.
    #[inline]
    pub(crate) fn has_ties(&self) -> bool {
        self.has_ties
    }

    /// The nearest car ahead of another on a lane along x, and its longitudinal coordinate \[m\];
    /// of level ones the last in the vehicles' list.
    #[inline]
    pub(crate) fn ahead(
        &self,
        vehicles: &[Vehicle],
        asker: usize,
        (id, lane): (LaneId, &Lane),
    ) -> Option<(f64, usize)> {
        let reach = lane.width / 2.0 + NEIGHBOUR_MARGIN;
        match lane.shape {
            Shape::Straight { start: [x, y], .. } => {
                let sees = |slot: &Slot| (slot.y - y).abs() <= reach;
                self.walk_ahead(asker, x, lane.length, sees)
            }
            Shape::Sine { start: [x, _], .. } => {
                let sees =
                    |slot: &Slot| vehicles[usize::from(slot.car)].seen_on(id, lane).is_some();
                self.walk_ahead(asker, x, lane.length, sees)
            }
            Shape::Circular { .. } => None,
        }
    }

    /// The nearest car behind another on a lane along x, and its longitudinal coordinate \[m\]; of
    /// level ones the first in the vehicles' list.
    pub(crate) fn behind(
        &self,
        vehicles: &[Vehicle],
        asker: usize,
        (id, lane): (LaneId, &Lane),
    ) -> Option<(f64, usize)> {
        let (Shape::Straight { start: [start, _], .. } | Shape::Sine { start: [start, _], .. }) =
            lane.shape
        else {
            return None;
        };
        let rank = self.rank(asker);
        let own = self.slots[rank].x - start;
        let mut found: Option<(f64, usize)> = None;
        for slot in self.slots[..rank].iter().rev() {
            let at = slot.x - start;
            let car = usize::from(slot.car);
            match found {
                Some((nearest, _)) if at < nearest => break,
                Some((_, best)) if best < car => continue,
                _ if at < own && vehicles[car].seen_on(id, lane).is_some() => {
                    found = Some((at, car))
                }
                _ => {}
            }
        }
        found
    }

    #[inline(always)]
    fn walk_ahead(
        &self,
        asker: usize,
        start: f64,
        length: f64,
        sees: impl Fn(&Slot) -> bool,
    ) -> Option<(f64, usize)> {
        let mut first = self.rank(asker);
        let own = self.slots[first].x - start;
        while first > 0 && self.slots[first - 1].x - start == own {
            first -= 1;
        }
        let mut ahead = self.slots[first..].iter();
        let (at, mut best) = loop {
            let slot = ahead.next()?;
            let at = slot.x - start;
            // Everyone after this one is past the lane's end, too.
            if at >= length + END_MARGIN {
                return None;
            }
            if at >= -END_MARGIN && usize::from(slot.car) != asker && sees(slot) {
                break (at, slot.car);
            }
        };
        for slot in ahead {
            if slot.x - start > at {
                break;
            }
            if slot.car > best && usize::from(slot.car) != asker && sees(slot) {
                best = slot.car;
            }
        }
        Some((at, usize::from(best)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbours::{Body, Index, Traffic};
    use crate::random::Generator;
    use crate::task::{Task, TaskId};
    use crate::vehicle::Driver;

    #[test]
    fn a_lineup_answers_as_a_search_over_all_cars_does() {
        let task = Task::with_defaults(TaskId::MergeV0);
        let network = &task.network;
        let mut random = Generator::seeded(5);
        let mut lineup = Lineup::default();
        let mut found = 0;
        for round in 0..300 {
            let cars: Vec<Vehicle> = (0..2 + random.choice(20))
                .map(|_| {
                    // Coarse places, so that cars are often level with each other, and some that
                    // differ by less than a lane's start rounds away.
                    let hair = f64::from(random.integers(0, 3)) * 1e-14;
                    let x = f64::from(random.integers(0, 60)) * 9.0 - 20.0 + hair;
                    let y = random.uniform(-6.0, 18.0);
                    Vehicle::new(network, Driver::Idm, [x, y], 0.0, 20.0)
                })
                .collect();
            lineup.mark_stale();
            lineup.refresh(&cars);
            let by_lineup = Traffic {
                vehicles: &cars,
                obstacles: &task.obstacles,
                obstacle_places: &task.obstacle_places,
                network,
                connected_lanes: false,
                index: Index::Lineup(&lineup),
            };
            let by_search = Traffic { index: Index::None, ..by_lineup };
            for asker in 0..cars.len() {
                for (lane, _) in network.lanes() {
                    let place = format!("round {round}, car {asker}, {lane:?}");
                    let same = |a: Option<Body>, b: Option<Body>| assert_eq!(a, b, "{place}");
                    let ahead = by_lineup.ahead(asker, lane);
                    same(ahead, by_search.ahead(asker, lane));
                    same(by_lineup.behind(asker, lane), by_search.behind(asker, lane));
                    found += usize::from(ahead.is_some());
                }
            }
        }
        assert!(found > 1000, "hardly anyone was ever ahead: {found}");
    }
}
