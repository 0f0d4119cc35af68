//! Contract: how close the ego came is measured by one fixed margin, in every task and for every driver, and
//! distances are between centres.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod stage;

use std::sync::Arc;

use cpss_highway::scene::Body;
use cpss_highway::{Scene, Task, TaskId};
use cpss_risk::closeness::{MARGIN, closeness, min_distance};
use stage::{add, alone, listed};

fn highway() -> (Arc<Task>, Scene) {
    let task = Task::new(TaskId::HighwayV0, &serde_json::json!({"initial_lane_id": 1})).unwrap();
    let mut scene = alone(&task);
    // Nobody closes in on anybody.
    scene.ego.as_mut().unwrap().body.speed = 25.0;
    (task, scene)
}

#[test]
fn a_gap_of_half_the_margin_counts_a_half() {
    let (task, mut scene) = highway();
    add(&task, &mut scene, 5.0 + MARGIN.along / 2.0, 0.0, 25.0);
    assert!((closeness(&task, &scene) - 0.5).abs() < 1e-9);
    scene.others.clear();
    add(&task, &mut scene, 0.0, 2.0 + MARGIN.across / 2.0, 25.0);
    assert!((closeness(&task, &scene) - 0.5).abs() < 1e-9);
}

#[test]
fn the_closest_body_counts_and_the_next_lane_does_not() {
    let (task, mut scene) = highway();
    add(&task, &mut scene, 0.0, 4.0, 25.0);
    assert_eq!(closeness(&task, &scene), 0.0);
    add(&task, &mut scene, 5.5, 0.0, 25.0);
    let one = closeness(&task, &scene);
    add(&task, &mut scene, -20.0, 0.0, 25.0);
    assert!(one > 0.0 && closeness(&task, &scene) == one);
}

#[test]
fn a_crash_counts_one_whatever_is_near() {
    let (task, mut scene) = highway();
    scene.ego.as_mut().unwrap().body.crashed = true;
    assert_eq!(closeness(&task, &scene), 1.0);
}

#[test]
fn leaving_the_road_counts_one_and_nearing_its_edge_something() {
    let task = listed(TaskId::RacetrackV0);
    let mut scene = alone(&task);
    let lane = task.network.find_lane("a", "b", 0).unwrap();
    let place = task.network.lane(lane).position(30.0, 0.0);
    let body = Body::new(&task.network, place, 0.0, 10.0, [5.0, 2.0]);
    assert_eq!((body.lane, body.across), (lane, 0.0));
    scene.ego.as_mut().unwrap().body = body;
    let mut at = |across: f64| {
        let ego = scene.ego.as_mut().unwrap();
        (ego.body.position[1], ego.body.across) = (place[1] + across, across);
        (closeness(&task, &scene), min_distance(&task, &scene).unwrap())
    };
    assert_eq!(at(0.0), (0.0, 2.5));
    let (close, distance) = at(-2.5 + MARGIN.boundary / 4.0);
    assert!((close - 0.75).abs() < 1e-9 && (distance - MARGIN.boundary / 4.0).abs() < 1e-9);
    assert_eq!(at(-2.6), (1.0, 0.0));
    // The edge towards the other lane is not the edge of the road.
    assert_eq!(at(2.4).0, 0.0);
}

#[test]
fn the_smallest_distance_is_between_centres() {
    let (task, mut scene) = highway();
    assert_eq!(min_distance(&task, &scene), None);
    add(&task, &mut scene, 3.0, 4.0, 25.0);
    add(&task, &mut scene, 30.0, 0.0, 25.0);
    assert!((min_distance(&task, &scene).unwrap() - 5.0).abs() < 1e-9);
}
