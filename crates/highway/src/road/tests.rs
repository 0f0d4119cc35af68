use super::*;

/// Two lanes that become one, and a ramp.
fn network() -> Network {
    let mut builder = NetworkBuilder::default();
    builder.add_lane("a", "b", Lane::straight([0.0, 0.0], [100.0, 0.0]));
    builder.add_lane("b", "c", Lane::straight([100.0, 4.0], [200.0, 4.0]));
    builder.add_lane("a", "b", Lane::straight([0.0, 4.0], [100.0, 4.0]));
    builder.add_lane("r", "b", Lane::straight([0.0, 40.0], [100.0, 8.0]));
    builder.compile()
}

fn lane(network: &Network, from: &str, to: &str, offset: usize) -> LaneId {
    network.find_lane(from, to, offset).unwrap()
}

#[test]
fn ids_follow_insertion_and_keep_roads_together() {
    let network = network();
    let names: Vec<_> = network.lanes().map(|(id, _)| network.lane_name(id)).collect();
    assert_eq!(names, [("a", "b", 0), ("a", "b", 1), ("b", "c", 0), ("r", "b", 0)]);
    assert_eq!(network.right_of(LaneId(0)), Some(LaneId(1)));
    assert_eq!(network.right_of(LaneId(1)), None);
    assert_eq!(network.left_of(LaneId(0)), None);
}

#[test]
fn the_hint_never_changes_the_closest_lane() {
    let network = network();
    for x in -10..220 {
        for y in -10..50 {
            let position = [f64::from(x), f64::from(y)];
            let found: Vec<_> =
                network.lanes().map(|(hint, _)| network.locate(position, 0.1, hint)).collect();
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{position:?} {found:?}");
        }
    }
}

#[test]
fn a_road_with_fewer_lanes_is_entered_on_the_closest() {
    let network = network();
    let next = network.next_lane(lane(&network, "a", "b", 1), &mut Route::default(), [99.0, 4.0]);
    assert_eq!(network.lane_name(next), ("b", "c", 0));
}

#[test]
fn a_dead_end_leads_nowhere() {
    let network = network();
    let end = lane(&network, "b", "c", 0);
    assert_eq!(network.next_lane(end, &mut Route::default(), [199.0, 4.0]), end);
}

#[test]
fn connected_lanes_come_with_their_offsets() {
    let network = network();
    let seen = network.connected_lanes(lane(&network, "b", "c", 0));
    let names: Vec<_> = seen.iter().map(|(id, offset)| (network.lane_name(*id), *offset)).collect();
    let ramp = network.lane(lane(&network, "r", "b", 0)).length;
    assert_eq!(names, [(("b", "c", 0), 0.0), (("a", "b", 0), -100.0), (("r", "b", 0), -ramp)]);
}
