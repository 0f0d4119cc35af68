//! Contract: what really happened is charged by one fixed margin, and distances are to centres.

use crate::stage::Stage;
use cpss_highway::TaskId;

#[test]
fn a_gap_of_half_the_margin_costs_a_half() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    let margin = stage.model.spec().margin;
    stage.add(5.0 + margin.along / 2.0, 0.0, 0.0, 25.0);
    assert!((stage.model.realised_cost(&stage.scene) - 0.5).abs() < 1e-9);
    stage.scene.others.clear();
    stage.add(0.0, 2.0 + margin.across / 2.0, 0.0, 25.0);
    assert!((stage.model.realised_cost(&stage.scene) - 0.5).abs() < 1e-9);
}

#[test]
fn the_closest_body_counts_and_the_next_lane_does_not() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.add(0.0, 4.0, 0.0, 25.0);
    assert_eq!(stage.model.realised_cost(&stage.scene), 0.0);
    stage.add(5.5, 0.0, 0.0, 25.0);
    let one = stage.model.realised_cost(&stage.scene);
    stage.add(-20.0, 0.0, 0.0, 25.0);
    assert!(one > 0.0 && stage.model.realised_cost(&stage.scene) == one);
}

#[test]
fn a_crash_costs_one_whatever_is_near() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.scene.ego.as_mut().unwrap().body.crashed = true;
    assert_eq!(stage.model.realised_cost(&stage.scene), 1.0);
}

#[test]
fn leaving_the_road_costs_one_and_nearing_its_edge_something() {
    let mut stage = Stage::new(TaskId::RacetrackV0);
    stage.place_ego(("a", "b", 0), 30.0, 10.0);
    let boundary = stage.model.spec().margin.boundary;
    let mut cost_at = |across: f64| {
        let ego = stage.scene.ego.as_mut().unwrap();
        (ego.body.position[1], ego.body.across) = (across, across);
        (stage.model.realised_cost(&stage.scene), stage.model.min_distance(&stage.scene).unwrap())
    };
    assert_eq!(cost_at(0.0), (0.0, 2.5));
    let (cost, distance) = cost_at(-2.5 + boundary / 4.0);
    assert!((cost - 0.75).abs() < 1e-9 && (distance - boundary / 4.0).abs() < 1e-9);
    assert_eq!(cost_at(-2.6), (1.0, 0.0));
    // The edge towards the other lane is not the edge of the road.
    assert_eq!(cost_at(2.4).0, 0.0);
}

#[test]
fn the_smallest_distance_is_between_centres() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    assert_eq!(stage.model.min_distance(&stage.scene), None);
    stage.add(3.0, 4.0, 0.0, 25.0);
    stage.add(30.0, 0.0, 0.0, 25.0);
    assert!((stage.model.min_distance(&stage.scene).unwrap() - 5.0).abs() < 1e-9);
}
