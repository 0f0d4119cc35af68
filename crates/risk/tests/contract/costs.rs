//! Contract: each term of an action's cost, on scenes whose answer is known.

use crate::stage::{FASTER, IDLE, LEFT, RIGHT, SLOWER, Stage};
use std::sync::Arc;

use cpss_highway::action::Meta;
use cpss_highway::scene::Body;
use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_risk::{Backup, Conflict, Hazard, RiskModel, RiskSpec};

#[test]
fn an_empty_road_costs_nothing() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    let assessment = stage.model.assess(&stage.scene);
    assert_eq!(assessment.costs, [0.0; 5]);
    assert!(assessment.conflicts.iter().all(Option::is_none));
    assert_eq!(assessment.density, 0.0);
}

#[test]
fn a_car_far_ahead_at_the_same_speed_costs_nothing() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.add(70.0, 0.0, 0.0, 25.0);
    assert_eq!(stage.costs(), [0.0; 5]);
}

#[test]
fn an_overlap_in_the_coming_decision_costs_one_and_is_explained() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.add(12.0, 0.0, 0.0, 0.0);
    let assessment = stage.model.assess(&stage.scene);
    assert_eq!(assessment.costs[IDLE], 1.0);
    assert_eq!(assessment.costs[SLOWER], 1.0);
    let conflict = assessment.conflicts[IDLE].unwrap();
    assert_eq!(conflict.hazard, Hazard::Car(0));
    assert!(conflict.time <= 1.0 && conflict.clearance <= 0.0, "{conflict:?}");
}

#[test]
fn closing_in_on_a_slower_car_costs_more_the_faster_it_is_done() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    for right in [-4.0, 0.0, 4.0, 8.0] {
        stage.add(30.0, right, 0.0, 20.0);
    }
    let costs = stage.costs();
    assert!(costs[SLOWER] < costs[IDLE] && costs[IDLE] < costs[FASTER], "{costs:?}");
}

#[test]
fn a_way_out_to_the_side_makes_an_approach_cheaper() {
    let mut blocked = Stage::new(TaskId::HighwayV0);
    let mut open = Stage::new(TaskId::HighwayV0);
    for right in [-4.0, 0.0, 4.0] {
        blocked.add(24.0, right, 0.0, 15.0);
    }
    open.add(24.0, 0.0, 0.0, 15.0);
    let (blocked, open) = (blocked.costs()[IDLE], open.costs()[IDLE]);
    assert!(blocked > 0.5 && open < blocked, "{blocked} {open}");
}

#[test]
fn without_a_way_out_the_same_scene_costs_more() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.add(24.0, 0.0, 0.0, 15.0);
    let hold = vec![Backup::Meta([cpss_highway::action::Meta::Idle; 5])];
    let spec = RiskSpec { backups: hold, ..RiskSpec::for_task(TaskId::HighwayV0) };
    let mut stubborn = RiskModel::new(&stage.task, spec).unwrap();
    assert!(stubborn.assess(&stage.scene).costs[IDLE] > stage.costs()[IDLE]);
}

#[test]
fn moving_into_a_car_alongside_costs_one_and_staying_beside_it_nothing() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.add(0.0, -4.0, 0.0, 25.0);
    let costs = stage.costs();
    assert_eq!(costs[LEFT], 1.0);
    assert_eq!(costs[IDLE], 0.0);
}

#[test]
fn a_car_seen_leaving_its_lane_is_expected_in_the_next() {
    let mut steady = Stage::new(TaskId::HighwayV0);
    steady.add(4.0, -4.0, 0.0, 25.0);
    let mut drifting = Stage::new(TaskId::HighwayV0);
    drifting.add(4.0, -4.0, 0.1, 25.0);
    assert_eq!(steady.costs()[IDLE], 0.0);
    assert_eq!(drifting.costs()[IDLE], 1.0);
}

#[test]
fn a_car_seen_leaving_its_lane_is_not_expected_to_stay() {
    let mut steady = Stage::new(TaskId::HighwayV0);
    steady.add(9.0, 0.0, 0.0, 20.0);
    let mut drifting = Stage::new(TaskId::HighwayV0);
    drifting.add(9.0, 0.0, 0.2, 20.0);
    assert!(steady.costs()[IDLE] > 0.5, "{:?}", steady.costs());
    assert!(drifting.costs()[IDLE] < steady.costs()[IDLE] / 2.0, "{:?}", drifting.costs());
}

#[test]
fn the_lane_that_is_left_may_be_taken() {
    // The ego could go right, behind a slow car, and come back in time, if nobody has taken its place.
    let to_the_right = |with_a_leader: bool, with_another_behind: bool| {
        let mut stage = Stage::new(TaskId::HighwayV0);
        stage.place_ego(("0", "1", 0), 200.0, 30.0);
        stage.add(30.0, 4.0, 0.0, 16.5);
        if with_a_leader {
            stage.add(52.0, 4.0, 0.0, 19.5);
        }
        if with_another_behind {
            stage.add(-12.0, 0.0, 0.0, 29.0);
        }
        let costs = stage.costs();
        assert_eq!(costs[IDLE], 0.0, "nobody pulls out right before the ego: {costs:?}");
        costs[RIGHT]
    };
    assert_eq!(to_the_right(false, false), 0.0, "a car that nobody holds up stays where it is");
    assert!(to_the_right(true, false) > 0.5, "one that is held up does not");
    assert_eq!(to_the_right(true, true), 0.0, "unless somebody else is in its way");
}

#[test]
fn a_car_behind_in_the_ego_s_lane_is_expected_to_brake() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.add(-25.0, 0.0, 0.0, 30.0);
    assert_eq!(stage.costs()[IDLE], 0.0);
    let mut too_late = Stage::new(TaskId::HighwayV0);
    too_late.add(-7.0, 0.0, 0.0, 40.0);
    assert_eq!(too_late.costs()[IDLE], 1.0);
}

#[test]
fn a_wreck_is_not_expected_to_yield() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.add(-8.0, 0.0, 0.0, 40.0).crashed = true;
    assert!(stage.costs()[SLOWER] > 0.0);
}

#[test]
fn a_sudden_braking_is_possible_but_weighs_less() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    // A row of cars at the ego's own speed: nothing happens unless somebody brakes.
    for right in [-4.0, 0.0, 4.0, 8.0] {
        stage.add(7.5, right, 0.0, 25.0);
    }
    let mut spec = RiskSpec { fade: 0.5, ..RiskSpec::for_task(TaskId::HighwayV0) };
    spec.habits.slow_down = 3.0;
    let mut wary = RiskModel::new(&stage.task, spec.clone()).unwrap();
    let likely = wary.assess(&stage.scene).costs[IDLE];
    spec.habits.slow_down = 0.0;
    let mut model = RiskModel::new(&stage.task, spec.clone()).unwrap();
    let possible = model.assess(&stage.scene).costs[IDLE];
    spec.habits.unlikely = 0.0;
    let mut trusting = RiskModel::new(&stage.task, spec.clone()).unwrap();
    let none = trusting.assess(&stage.scene).costs[IDLE];
    assert!(none < possible && possible < likely, "{none} {possible} {likely}");
    assert!(possible <= 0.5, "no more than its weight: {possible}");
}

#[test]
fn a_car_right_behind_another_is_expected_to_brake() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    for right in [-4.0, 0.0, 4.0, 8.0] {
        stage.add(9.0, right, 0.0, 25.0);
    }
    let free = stage.costs()[IDLE];
    for right in [-4.0, 0.0, 4.0, 8.0] {
        stage.add(9.0 + 20.0, right, 0.0, 25.0);
    }
    let crowded = stage.costs()[IDLE];
    assert!(crowded > free, "the second row makes the first brake: {crowded} after {free}");
}

#[test]
fn the_cost_of_standing_cars_never_grows_with_their_distance() {
    // Later looks are two thirds of a second apart, and a cost fades from 1 to 0.05 within nine
    // seconds: a conflict may be seen one look late, or, between two looks, only as a near miss.
    const TWO_LOOKS: f64 = 2.0 * 0.95 * 2.0 / 3.0 / 9.0;
    let mut least = f64::INFINITY;
    let mut seen = Vec::new();
    for distance in 0..160 {
        let mut stage = Stage::new(TaskId::HighwayV0);
        for right in [-4.0, 0.0, 4.0, 8.0] {
            stage.add(6.0 + f64::from(distance), right, 0.0, 0.0);
        }
        let cost = stage.costs()[SLOWER];
        assert!(cost <= least + TWO_LOOKS, "at {distance} m more: {cost} after {least}");
        least = least.min(cost);
        seen.push(cost);
    }
    assert_eq!((seen[0], seen[159]), (1.0, 0.0));
}

#[test]
fn the_ramp_car_is_expected_to_move_over_and_the_others_are_not() {
    let mut stage = Stage::new(TaskId::MergeV0);
    stage.place_ego(("b", "c", 1), 20.0, 20.0);
    stage.add_on(("b", "c", 2), 20.0, 20.0);
    assert!(stage.costs()[IDLE] > 0.3, "it has to leave its lane: {:?}", stage.costs());
    let mut other_side = Stage::new(TaskId::MergeV0);
    other_side.place_ego(("b", "c", 1), 20.0, 20.0);
    other_side.add_on(("b", "c", 0), 20.0, 20.0);
    assert_eq!(other_side.costs()[IDLE], 0.0);
}

#[test]
fn a_crossing_car_costs_those_who_would_meet_it() {
    let mut stage = Stage::new(TaskId::IntersectionV0);
    // Both are three seconds from the middle of the crossing.
    stage.place_ego(("o0", "ir0", 0), 82.0, 9.0);
    stage.add_on(("o3", "ir3", 0), 82.0, 9.0);
    let [slower, idle, faster] = stage.costs()[..] else { panic!("three actions") };
    assert_eq!(slower, 0.0);
    assert!(faster >= slower && idle >= slower);
    let mut late = Stage::new(TaskId::IntersectionV0);
    late.place_ego(("o0", "ir0", 0), 96.0, 9.0);
    late.add_on(("o3", "ir3", 0), 96.0, 9.0);
    assert!(late.costs()[2] > 0.5, "{:?}", late.costs());
}

#[test]
fn steering_off_the_road_costs_one() {
    let mut stage = Stage::new(TaskId::RacetrackV0);
    stage.place_ego(("a", "b", 0), 30.0, 10.0);
    let ego = stage.scene.ego.as_mut().unwrap();
    // Half a metre from the left edge, and pointing at it.
    (ego.body.position[1], ego.body.across) = (-2.0, -2.0);
    (ego.body.heading, ego.body.cos, ego.body.sin) = (-0.3, 0.3_f64.cos(), -(0.3_f64.sin()));
    let assessment = stage.model.assess(&stage.scene);
    assert_eq!(assessment.costs[0], 1.0, "hard left");
    assert_eq!(assessment.conflicts[0].unwrap().hazard, Hazard::Boundary);
    assert!(assessment.costs[4] < 1.0, "hard right: {:?}", assessment.costs);
}

/// What comes of going straight on, for an ego in the middle of a racetrack's lane that can only keep it,
/// if a wreck stands so far ahead of it and to its right \[m\].
fn kept_to_its_lane(ahead: f64, right: f64) -> Option<Conflict> {
    let mut stage = Stage::new(TaskId::RacetrackV0);
    stage.place_ego(("a", "b", 0), 2.0, 10.0);
    stage.add(ahead, right, 0.0, 0.0).crashed = true;
    let keep_lane = Backup::Steer { sides: [0, 0], after: 0.0, brakes: false };
    let spec = RiskSpec { backups: vec![keep_lane], ..stage.model.spec().clone() };
    stage.model = RiskModel::new(&stage.task, spec).unwrap();
    stage.model.assess(&stage.scene).conflicts[2]
}

#[test]
fn an_ego_that_has_settled_in_its_lane_sees_what_it_runs_into_and_when() {
    for ahead in [12.0, 14.8, 25.5, 38.7, 50.4] {
        let conflict = kept_to_its_lane(ahead, 0.0).unwrap();
        assert_eq!(conflict.hazard, Hazard::Car(0));
        // Bumper to bumper at 10 m/s, as seen at the next look, five of which are taken in a second. By its
        // depth, at 3.5 m/s, the overlap began a little earlier.
        let contact = (ahead - 5.0) / 10.0;
        let seen = (5.0 * contact - 1e-6).ceil() / 5.0;
        let depth = 10.0 * (seen - contact);
        let began = seen - (depth / 3.5).min(0.2);
        assert!((conflict.clearance + depth).abs() < 1e-3, "{ahead}: {depth} {conflict:?}");
        assert!((conflict.time - began).abs() < 1e-3, "{ahead}: {began} {conflict:?}");
        assert_eq!(kept_to_its_lane(ahead, 5.0), None, "it goes past what stands beside");
    }
}

#[test]
fn candidate_points_of_a_box_are_judged_in_order() {
    let task = Task::with_defaults(TaskId::RacetrackV0);
    let mut model = RiskModel::new(&task, RiskSpec::for_task(task.id)).unwrap();
    let mut scene = Scene::default();
    scene.observe(&World::new(task, 3));
    scene.others.clear();
    let points: [&[f32]; 3] = [&[0.0], &[f32::NAN], &[0.1, 0.2]];
    let costs = &model.assess_each(&scene, points.map(Action::Point)).costs;
    assert_eq!(costs[..], [0.0, 1.0, 1.0], "straight on, and two that are no actions");
    assert!(model.assess(&scene).costs.is_empty(), "a box has no list of actions");
}

#[test]
fn an_ego_with_raw_controls_has_ways_out_on_any_road() {
    let config = serde_json::json!({"vehicles_count": 0, "action": {"type": "ContinuousAction"}});
    let task = Task::new(TaskId::HighwayV0, &config).unwrap();
    let mut model = RiskModel::new(&task, RiskSpec::for_task(task.id)).unwrap();
    let mut scene = Scene::default();
    scene.observe(&World::new(Arc::clone(&task), 3));
    let position = scene.ego.unwrap().body.position;
    let standing = [position[0] + 105.0, position[1]];
    scene.others.push(Body::new(&task.network, standing, 0.0, 0.0, [5.0, 2.0]));
    let (coast, accelerate): (&[f32], &[f32]) = (&[0.0, 0.0], &[1.0, 0.0]);
    let costs = &model.assess_each(&scene, [coast, accelerate].map(Action::Point)).costs;
    // At 25 m/s and 5 m/s² a stop takes 62.5 m: there is room for one more second, not for more
    // speed in it.
    assert_eq!(costs[0], 0.0);
    assert!(costs[1] > 0.0, "{costs:?}");
}

#[test]
fn without_a_way_out_for_its_controls_only_the_coming_decision_is_known() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    let steer = Backup::Steer { sides: [0, 0], after: 0.0, brakes: false };
    let spec = RiskSpec { backups: vec![steer], ..stage.model.spec().clone() };
    stage.model = RiskModel::new(&stage.task, spec).unwrap();
    stage.add(60.0, 0.0, 0.0, 5.0);
    assert_eq!(stage.costs(), [0.0; 5], "it is more than a decision away");
    stage.add(12.0, 0.0, 0.0, 0.0);
    assert_eq!(stage.costs()[IDLE], 1.0);
}

#[test]
fn a_way_out_that_needs_an_order_the_task_lacks_is_none() {
    // Three actions: left, idle, right. Every shipped way out brakes sooner or later.
    let action = serde_json::json!({"type": "DiscreteMetaAction", "longitudinal": false});
    let config = serde_json::json!({"vehicles_count": 0, "action": action});
    let task = Task::new(TaskId::HighwayV0, &config).unwrap();
    let mut scene = Scene::default();
    scene.observe(&World::new(Arc::clone(&task), 1));
    let ego = scene.ego.unwrap().body;
    // It is reached in two seconds: by then it could be passed, but not behind it be braked.
    let place = [ego.position[0] + 40.0, ego.position[1]];
    scene.others.push(Body::new(&task.network, place, 0.0, 5.0, [5.0, 2.0]));
    let spec = RiskSpec::for_task(task.id);
    let hold = RiskSpec { backups: vec![Backup::Meta([Meta::Idle; 5])], ..spec.clone() };
    let idle = |spec: RiskSpec| RiskModel::new(&task, spec).unwrap().assess(&scene).costs[1];
    assert!(idle(hold) > 0.5, "held on to, it ends in that car");
    assert_eq!(idle(spec), 0.0, "only the coming decision is known");
}

#[test]
fn every_car_within_reach_is_crowding_the_more_the_nearer_it_is() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    let mut density = |ahead: f64, right: f64| {
        stage.add(ahead, right, 0.0, 25.0);
        stage.model.assess(&stage.scene).density
    };
    // One after the other, each on top of those before it; the reach is 150 m.
    assert!((density(30.0, 0.0) - 0.8).abs() < 1e-12);
    assert!((density(-72.0, 21.0) - 1.3).abs() < 1e-12);
    assert!((density(149.0, 0.0) - (1.3 + 1.0 / 150.0)).abs() < 1e-12);
    assert!((density(160.0, 0.0) - (1.3 + 1.0 / 150.0)).abs() < 1e-12, "not beyond");
}

#[test]
fn a_scene_without_an_ego_costs_one_throughout() {
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.scene = Scene::default();
    assert_eq!(stage.costs(), [1.0; 5]);
    assert_eq!(stage.model.realised_cost(&stage.scene), 1.0);
    assert_eq!(stage.model.min_distance(&stage.scene), None);
}
