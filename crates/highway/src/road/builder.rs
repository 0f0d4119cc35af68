//! How does a list of lanes become a network?
//!
//! [`NetworkBuilder::add_lane`] keeps upstream's order of insertion; [`NetworkBuilder::compile`] numbers everything once, and works
//! out what a running world would otherwise ask again and again: which lanes are seen from each, and the way from each
//! node to each.

use super::{LaneId, Network, Node, NodeId, Place, Road, RoadId};
use crate::atlas::Atlas;
use crate::lane::Lane;

/// The lanes to one node, by its name.
type Target = (String, Vec<Lane>);

/// A lane network under construction, in upstream's insertion order.
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    // Lists, not maps: insertion order is behaviour here, and there are at most a few dozen edges.
    roads: Vec<(String, Vec<Target>)>,
}

impl NetworkBuilder {
    /// Adds a lane to the road between two named nodes, after its other lanes.
    pub fn add_lane(&mut self, from: &str, to: &str, lane: Lane) {
        let targets = match self.roads.iter_mut().position(|(name, _)| name == from) {
            Some(place) => &mut self.roads[place].1,
            None => {
                self.roads.push((from.to_owned(), Vec::new()));
                &mut self.roads.last_mut().expect("just pushed").1
            }
        };
        match targets.iter_mut().position(|(name, _)| name == to) {
            Some(place) => targets[place].1.push(lane),
            None => targets.push((to.to_owned(), vec![lane])),
        }
    }

    /// Numbers nodes, roads and lanes, and works out who is next to whom.
    pub fn compile(self) -> Network {
        let mut network = Network::default();
        for (from, targets) in self.roads {
            let from = network.intern(from);
            for (to, lanes) in targets {
                let to = network.intern(to);
                let road = RoadId(network.roads.len() as u16);
                let first = network.lanes.len() as u16;
                let count = lanes.len() as u16;
                network.roads.push(Road { from, to, first, count });
                network.nodes[usize::from(from.0)].roads.push(road);
                for (offset, lane) in lanes.into_iter().enumerate() {
                    network.lanes.push(lane);
                    network.places.push(Place { road, offset: offset as u16 });
                }
            }
        }
        network.connected =
            (0..network.lanes.len() as u16).map(|id| network.lanes_seen_from(LaneId(id))).collect();
        let nodes = 0..network.nodes.len() as u16;
        network.paths = nodes
            .clone()
            .flat_map(|start| nodes.clone().map(move |goal| (NodeId(start), NodeId(goal))))
            .map(|(start, goal)| network.find_path(start, goal))
            .collect();
        network.atlas = Atlas::new(&network.lanes);
        network.quiet = (0..network.lanes.len())
            .map(|id| network.atlas.quiet_stretch(&network.lanes, id))
            .collect();
        network
    }
}

impl Network {
    /// Breadth-first search behind [`Network::shortest_path`], done once for every pair.
    fn find_path(&self, start: NodeId, goal: NodeId) -> Option<Vec<RoadId>> {
        let mut queue = std::collections::VecDeque::from([(start, vec![start], Vec::new())]);
        while let Some((node, visited, path)) = queue.pop_front() {
            let mut roads = self.roads_from(node).to_vec();
            roads.sort_by_key(|road| self.node_name(self.end_of(*road)));
            for road in roads {
                let next = self.end_of(road);
                if visited.contains(&next) {
                    continue;
                }
                let path = [path.as_slice(), &[road]].concat();
                if next == goal {
                    return Some(path);
                }
                queue.push_back((next, [visited.as_slice(), &[next]].concat(), path));
            }
        }
        None
    }

    fn lanes_seen_from(&self, lane: LaneId) -> Vec<(LaneId, f64)> {
        let Place { road, offset } = self.places[lane.index()];
        let same_or_first = |road: &RoadId| {
            self.lane_at(*road, usize::from(offset)).or_else(|| self.lane_at(*road, 0))
        };
        let mut seen = vec![(lane, 0.0)];
        let length = self.lane(lane).length;
        let after = self.roads_from(self.end_of(road)).iter();
        seen.extend(after.filter_map(same_or_first).map(|next| (next, length)));
        // Upstream asks every origin in order whether it leads to where this lane begins.
        for origin in self.origins() {
            let before = self.roads_from(origin).iter();
            let leading = before.filter(|other| self.end_of(**other) == self.start_of(road));
            seen.extend(
                leading.filter_map(same_or_first).map(|prev| (prev, -self.lane(prev).length)),
            );
        }
        seen
    }

    fn intern(&mut self, name: String) -> NodeId {
        self.node(&name).unwrap_or_else(|| {
            self.nodes.push(Node { name, roads: Vec::new() });
            NodeId(self.nodes.len() as u16 - 1)
        })
    }
}
