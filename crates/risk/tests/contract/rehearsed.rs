//! Contract: costs at the crossing, where the scene is rehearsed, on scenes whose answer is known.

use std::sync::Arc;

use crate::stage::Stage;
use cpss_highway::scene::Body;
use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_risk::{Backup, Guess, Hazard, RiskModel, RiskSpec};

/// The first and the last of the crossing's three actions.
const SLOWER_AT_CROSSING: usize = 0;
const FASTER_AT_CROSSING: usize = 2;

/// The cost of going on for an ego that a car meets at the crossing from its left, if that car shows
/// that it is bound for the given exit.
fn cost_beside_a_car_bound_for(exit: (&str, &str, usize)) -> f64 {
    let mut stage = Stage::new(TaskId::IntersectionV0);
    stage.place_ego(("o0", "ir0", 0), 92.0, 9.0);
    stage.add_on(("o1", "ir1", 0), 92.0, 9.0);
    let network = &stage.task.network;
    let lane = network.lane(network.find_lane(exit.0, exit.1, exit.2).unwrap());
    let ([x, y], car) = (lane.position(lane.length, 0.0), stage.scene.others.last_mut().unwrap());
    let [dx, dy] = [x - car.position[0], y - car.position[1]];
    car.bound_for = Some([dx / dx.hypot(dy), dy / dx.hypot(dy)]);
    stage.costs()[FASTER_AT_CROSSING]
}

#[test]
fn a_car_that_shows_it_turns_off_is_cheaper_than_one_that_crosses() {
    let crosses = cost_beside_a_car_bound_for(("il3", "o3", 0));
    let turns_off = cost_beside_a_car_bound_for(("il0", "o0", 0));
    assert!(crosses > 0.5 && turns_off < crosses, "{crosses} {turns_off}");
}

#[test]
fn drivers_are_expected_to_make_way() {
    // The ego turns left across the way of cars that come towards it. There are places where such a car
    // would hit an ego that goes on, if it did not make way.
    let mut differ = false;
    for along in (60..96).step_by(2) {
        let mut stage = Stage::new(TaskId::IntersectionV0);
        stage.place_ego(("o0", "ir0", 0), 96.0, 9.0);
        stage.add_on(("o2", "ir2", 0), f64::from(along), 8.0);
        let by_the_book = stage.costs()[FASTER_AT_CROSSING];
        let spec = RiskSpec { guesses: Vec::new(), ..stage.model.spec().clone() };
        stage.model = RiskModel::new(&stage.task, spec).unwrap();
        let driving_on = stage.costs()[FASTER_AT_CROSSING];
        differ |= by_the_book < driving_on - 0.1;
    }
    assert!(differ);
}

#[test]
fn guesses_that_disagree_cost_half_their_worst_and_half_their_mean() {
    let guesses = [2.0, 10.0].map(|wish| Guess { wish, looked: 0.0 });
    let mut differ = false;
    for along in (40..96).step_by(4) {
        let mut stage = Stage::new(TaskId::IntersectionV0);
        stage.place_ego(("o0", "ir0", 0), 92.0, 9.0);
        stage.add_on(("o3", "ir3", 0), f64::from(along), 3.0);
        let mut cost_of = |guesses: &[Guess]| {
            let spec = RiskSpec { guesses: guesses.to_vec(), ..stage.model.spec().clone() };
            stage.model = RiskModel::new(&stage.task, spec).unwrap();
            stage.costs()
        };
        let (slow, fast) = (cost_of(&guesses[..1]), cost_of(&guesses[1..]));
        for ((slow, fast), both) in slow.iter().zip(&fast).zip(cost_of(&guesses)) {
            let worst = slow.max(*fast);
            let expected = if worst == 1.0 { 1.0 } else { (worst + (slow + fast) / 2.0) / 2.0 };
            assert!((both - expected).abs() < 1e-12, "{slow} {fast} {both}");
            differ |= (slow - fast).abs() > 0.1;
        }
    }
    assert!(differ, "a test of nothing");
}

#[test]
fn a_certain_crash_costs_exactly_one_and_a_wreck_too() {
    let mut stage = Stage::new(TaskId::IntersectionV0);
    stage.place_ego(("o0", "ir0", 0), 82.0, 9.0);
    stage.add_on(("o0", "ir0", 0), 84.0, 0.0);
    assert_eq!(stage.costs(), [1.0; 3]);
    stage.scene.others.clear();
    assert_eq!(stage.costs(), [0.0; 3]);
    stage.scene.ego.as_mut().unwrap().body.crashed = true;
    assert_eq!(stage.costs(), [1.0; 3]);
}

#[test]
fn a_crash_in_the_coming_decision_is_not_for_sale_even_if_one_guess_alone_sees_it() {
    // A car that stands 7 m ahead of the ego's bumper, and either stays or drives off.
    let mut stage = Stage::new(TaskId::IntersectionV0);
    stage.place_ego(("o0", "ir0", 0), 60.0, 9.0);
    stage.add_on(("o0", "ir0", 0), 72.0, 0.0);
    let [stays, drives_off] = [0.0, 10.0].map(|wish| Guess { wish, looked: 0.0 });
    let mut cost_of = |guesses: &[Guess]| {
        let spec = RiskSpec { guesses: guesses.to_vec(), ..stage.model.spec().clone() };
        stage.model = RiskModel::new(&stage.task, spec).unwrap();
        stage.costs()[FASTER_AT_CROSSING]
    };
    assert_eq!(cost_of(&[stays]), 1.0);
    assert!(cost_of(&[drives_off]) < 1.0);
    assert_eq!(cost_of(&[drives_off, drives_off, stays]), 1.0);
}

#[test]
fn a_crash_is_blamed_on_whom_the_ego_hits_not_on_who_stands_by() {
    // Cars stand in the ego's way and beside it, in either order.
    let [ahead, beside] = [(6.5, 0.0), (2.0, 4.0)];
    for (place, cars) in [[ahead, beside], [beside, ahead]].iter().enumerate() {
        let mut stage = Stage::new(TaskId::IntersectionV0);
        stage.place_ego(("o0", "ir0", 0), 60.0, 9.0);
        for (forward, right) in cars {
            stage.add(*forward, *right, 0.0, 0.0).crashed = true;
        }
        let assessment = stage.model.assess(&stage.scene);
        assert_eq!(assessment.costs, [1.0; 3]);
        for conflict in &assessment.conflicts {
            let conflict = conflict.unwrap();
            assert_eq!(conflict.hazard, Hazard::Car(place), "{conflict:?}");
            assert!(conflict.time <= 1.0 && conflict.clearance < 0.5, "{conflict:?}");
        }
    }
}

#[test]
fn an_action_at_the_crossing_costs_what_its_best_way_out_does() {
    let task = Task::with_defaults(TaskId::IntersectionV0);
    let spec = RiskSpec::for_task(task.id);
    let spec = RiskSpec { guesses: vec![Guess { wish: 8.0, looked: 0.2 }], ..spec };
    let with =
        |backups: Vec<Backup>| RiskModel::new(&task, RiskSpec { backups, ..spec.clone() }).unwrap();
    let ways = spec.backups.iter().copied().filter(|backup| matches!(backup, Backup::Meta(_)));
    let mut alone: Vec<RiskModel> = ways.map(|backup| with(vec![backup])).collect();
    let mut all = with(spec.backups.clone());
    let mut seen = vec![0.0; task.observer.len()];
    let mut scene = Scene::default();
    // Whether two ways out ever cost differently.
    let mut differ = vec![vec![false; alone.len()]; alone.len()];
    for seed in 1_000_000..1_000_060 {
        let mut world = World::new(Arc::clone(&task), seed);
        for _ in 0..8 {
            scene.observe(&world);
            let costs: Vec<Vec<f64>> =
                alone.iter_mut().map(|model| model.assess(&scene).costs.clone()).collect();
            for (action, cost) in all.assess(&scene).costs.iter().enumerate() {
                let best = costs.iter().map(|costs| costs[action]).fold(1.0, f64::min);
                // At the crossing what no action avoids counts too.
                assert_eq!(*cost, best, "{seed} {action}: {costs:?}");
            }
            for (way, costs_of_way) in costs.iter().enumerate() {
                for (other, costs_of_other) in costs.iter().enumerate() {
                    differ[way][other] |= costs_of_way != costs_of_other;
                }
            }
            if world.step(Action::Index(FASTER_AT_CROSSING), &mut seen).unwrap().is_over() {
                break;
            }
        }
    }
    assert_eq!(alone.len(), 8);
    for (way, differ) in differ.iter().enumerate() {
        assert_eq!(differ.iter().filter(|differ| **differ).count(), 7, "{way}: {differ:?}");
    }
}

#[test]
fn a_wreck_down_the_exit_is_seen_in_time() {
    let mut stage = Stage::new(TaskId::IntersectionV0);
    stage.place_ego(("il1", "o1", 0), 11.0, 9.0);
    stage.add_on(("il1", "o1", 0), 29.0, 0.0);
    stage.scene.others[0].crashed = true;
    let costs = stage.costs();
    assert!(costs[SLOWER_AT_CROSSING] < 0.2 && costs[FASTER_AT_CROSSING] > 0.5, "{costs:?}");
}

#[test]
fn a_long_body_is_as_long_as_it_is() {
    let mut stage = Stage::new(TaskId::IntersectionV0);
    stage.place_ego(("o0", "ir0", 0), 60.0, 9.0);
    stage.add_on(("o0", "ir0", 0), 84.0, 0.0);
    stage.scene.others[0].crashed = true;
    let short = stage.costs();
    stage.scene.others[0].length = 30.0;
    let long = stage.costs();
    assert!(long[SLOWER_AT_CROSSING] > 0.5, "{long:?}");
    assert!(short[SLOWER_AT_CROSSING] < 0.2, "{short:?}");
}

#[test]
fn an_ego_with_raw_controls_has_ways_out_at_the_crossing() {
    let config = serde_json::json!({"action": {"type": "ContinuousAction"}});
    let task = Task::new(TaskId::IntersectionV0, &config).unwrap();
    let mut scene = Scene::default();
    scene.observe(&World::new(Arc::clone(&task), 1));
    let ego = scene.ego.unwrap().body;
    let position = [0, 1].map(|axis| ego.position[axis] + 16.0 * [ego.cos, ego.sin][axis]);
    scene.others = vec![Body::new(&task.network, position, ego.heading, 0.0, [5.0, 2.0])];
    scene.others[0].crashed = true;
    let mut model = RiskModel::new(&task, RiskSpec::for_task(task.id)).unwrap();
    let pedals: [&[f32]; 2] = [&[-1.0, 0.0], &[1.0, 0.0]];
    let costs = model.assess_each(&scene, pedals.map(Action::Point)).costs.clone();
    assert!(costs[0] < costs[1] && costs[1] > 0.5, "{costs:?}");
}
