//! Where can a car go from here?
//!
//! For every lane: the lanes that continue it, one per road that leaves its end, and, where the
//! lane itself ends while the one beside it goes on, the lane that its cars must move to.
//! Worked out once per task, from the map alone.
//!
//! Start at [`Roadmap::new`]; [`edge_distance`] says where nobody can go.

use cpss_highway::road::{LaneId, Network};
use cpss_highway::vehicle::{Driver, Vehicle};

/// What follows each lane.
#[derive(Clone, Debug)]
pub(crate) struct Roadmap {
    exits: Vec<Exits>,
}

#[derive(Clone, Debug, Default)]
struct Exits {
    next: Vec<LaneId>,
    must_move_to: Option<LaneId>,
}

impl Roadmap {
    /// Reads the map.
    pub(crate) fn new(network: &Network) -> Roadmap {
        let mut exits: Vec<Exits> = network
            .lanes()
            .map(|(lane, _)| Exits { next: continuations(network, lane), must_move_to: None })
            .collect();
        let goes_on = |lane: LaneId| !exits[lane.index()].next.is_empty();
        let ends: Vec<Option<LaneId>> = network
            .lanes()
            .map(|(lane, _)| {
                let sides = [network.left_of(lane), network.right_of(lane)];
                let beside = sides.into_iter().flatten().find(|side| goes_on(*side));
                beside.filter(|_| !goes_on(lane))
            })
            .collect();
        for (exit, end) in exits.iter_mut().zip(ends) {
            exit.must_move_to = end;
        }
        Roadmap { exits }
    }

    /// The lanes that a car may be on after this one; none at a dead end.
    #[inline]
    pub(crate) fn after(&self, lane: LaneId) -> &[LaneId] {
        &self.exits[lane.index()].next
    }

    /// The lane that cars of this one have to move to before it ends, if it does.
    #[inline]
    pub(crate) fn must_move_to(&self, lane: LaneId) -> Option<LaneId> {
        self.exits[lane.index()].must_move_to
    }

    /// Whether a car on this lane will soon have to move over, here or on the next.
    pub(crate) fn runs_out(&self, lane: LaneId) -> bool {
        let must = |lane: &LaneId| self.must_move_to(*lane).is_some();
        must(&lane) || self.after(lane).iter().any(must)
    }

    /// Whether whoever keeps to its place on the road can do so for ever: every lane leads into one other, at the
    /// same place.
    pub(crate) fn is_endless(&self, network: &Network) -> bool {
        network.lanes().all(|(lane, _)| match self.after(lane) {
            [next] => network.lane_offset(*next) == network.lane_offset(lane),
            _ => false,
        })
    }
}

/// How far the ego's centre is from the edge of the road \[m\], negative beyond it; `None` for an ego
/// that holds a lane by itself and for one far from any edge.
pub(crate) fn edge_distance(ego: &Vehicle, network: &Network) -> Option<f64> {
    if ego.driver != Driver::Raw {
        return None;
    }
    let lane = network.lane(ego.lane);
    let half = lane.width / 2.0;
    if !lane.contains(ego.along, ego.across, 0.0) {
        // Also between two lanes that do not quite meet, which the world takes for off road.
        return Some((half - ego.across.abs()).min(0.0));
    }
    let left = network.left_of(ego.lane).is_none().then_some(half + ego.across);
    let right = network.right_of(ego.lane).is_none().then_some(half - ego.across);
    left.into_iter().chain(right).min_by(f64::total_cmp)
}

/// On each road that leaves the lane's end, the lane at the same place, or else the closest; only
/// those that a car which stays on the lane drives straight into.
fn continuations(network: &Network, lane: LaneId) -> Vec<LaneId> {
    let road = network.road_of(lane);
    let end = network.lane(lane).position(network.lane(lane).length, 0.0);
    let distance = |id: &LaneId| network.lane(*id).distance(end);
    let entry = |next| {
        if network.lane_count(next) == network.lane_count(road) {
            return network.lane_at(next, network.lane_offset(lane));
        }
        let lanes = (0..network.lane_count(next)).filter_map(|place| network.lane_at(next, place));
        lanes.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    let entries = network.roads_from(network.end_of(road)).iter().filter_map(|next| entry(*next));
    entries.filter(|next| joins(network, lane, *next)).collect()
}

/// Whether a car that stays on `lane` drives straight into `next`: it may neither jump aside, as at
/// the end of a ramp, nor turn back, as at the edge of the map.
fn joins(network: &Network, lane: LaneId, next: LaneId) -> bool {
    let from = network.lane(lane);
    network.lane(next).distance(from.position(from.length, 0.0)) < from.width / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::{Task, TaskId};

    #[test]
    fn the_ramp_must_move_over_and_nobody_else() {
        let task = Task::with_defaults(TaskId::MergeV0);
        let network = &task.network;
        let map = Roadmap::new(network);
        let lane = |from, to, place| network.find_lane(from, to, place).unwrap();
        assert_eq!(map.must_move_to(lane("b", "c", 2)), Some(lane("b", "c", 1)));
        let forced = network.lanes().filter(|(id, _)| map.must_move_to(*id).is_some());
        assert_eq!(forced.count(), 1);
        assert!(map.runs_out(lane("k", "b", 0)) && map.runs_out(lane("b", "c", 2)));
        assert!(!map.runs_out(lane("a", "b", 1)) && !map.runs_out(lane("j", "k", 0)));
        assert_eq!(map.after(lane("k", "b", 0)), [lane("b", "c", 2)]);
        assert_eq!(map.after(lane("a", "b", 0)), [lane("b", "c", 0)]);
    }

    #[test]
    fn an_approach_leads_left_right_and_straight_on() {
        let task = Task::with_defaults(TaskId::IntersectionV0);
        let map = Roadmap::new(&task.network);
        let approach = task.network.find_lane("o0", "ir0", 0).unwrap();
        assert_eq!(map.after(approach).len(), 3);
        let ends = task.network.lanes().filter(|(id, _)| map.after(*id).is_empty()).count();
        assert_eq!(ends, 4, "the four exits");
    }

    #[test]
    fn the_track_is_a_loop_of_two_lanes() {
        let task = Task::with_defaults(TaskId::RacetrackV0);
        let map = Roadmap::new(&task.network);
        for (lane, _) in task.network.lanes() {
            let [next] = map.after(lane) else { panic!("one way on") };
            assert_eq!(task.network.lane_offset(*next), task.network.lane_offset(lane));
            assert_eq!(map.must_move_to(lane), None);
        }
        assert!(map.is_endless(&task.network));
        for id in [TaskId::HighwayV0, TaskId::MergeV0, TaskId::IntersectionV0] {
            let task = Task::with_defaults(id);
            assert!(!Roadmap::new(&task.network).is_endless(&task.network), "{}", id.name());
        }
    }
}
