//! Contract: whatever the scene, costs are numbers from 0 to 1, and the same scene costs the same.

use crate::stage::Stage;
use cpss_highway::TaskId;
use cpss_highway::scene::Body;
use cpss_risk::RiskModel;
use proptest::prelude::*;

const TASKS: [TaskId; 4] =
    [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0];

/// Ahead, right, turned by, speed, wrecked.
type Car = (f64, f64, f64, f64, bool);

fn cars() -> impl Strategy<Value = Vec<Car>> {
    let car = (-60.0..60.0, -12.0..12.0, -3.2..3.2, -10.0..40.0, any::<bool>());
    prop::collection::vec(car, 0..12)
}

/// The same in lanes beside the ego's, and the same way.
fn traffic() -> impl Strategy<Value = Vec<Car>> {
    let car = (-60.0..90.0, -2..3, 10.0..32.0)
        .prop_map(|(ahead, lanes, speed)| (ahead, 4.0 * f64::from(lanes), 0.0, speed, false));
    prop::collection::vec(car, 1..12)
}

fn stage_with(id: TaskId, cars: &[Car]) -> Stage {
    let mut stage = Stage::new(id);
    for &(ahead, right, turned, speed, crashed) in cars {
        stage.add(ahead, right, turned, speed).crashed = crashed;
    }
    stage
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn costs_are_between_nought_and_one(which in 0..TASKS.len(), cars in cars()) {
        let mut stage = stage_with(TASKS[which], &cars);
        let assessment = stage.model.assess(&stage.scene).clone();
        for (cost, conflict) in assessment.costs.iter().zip(&assessment.conflicts) {
            prop_assert!((0.0..=1.0).contains(cost));
            prop_assert_eq!(*cost > 0.0, conflict.is_some());
        }
        prop_assert!(assessment.density >= 0.0 && assessment.density <= cars.len() as f64);
        prop_assert!((0.0..=1.0).contains(&stage.model.realised_cost(&stage.scene)));
    }

    #[test]
    fn the_same_scene_costs_the_same_to_the_bit(which in 0..TASKS.len(), cars in cars(), more in cars()) {
        let mut fresh = stage_with(TASKS[which], &cars);
        let mut used = stage_with(TASKS[which], &more);
        used.costs();
        used.scene = fresh.scene.clone();
        let bits = |costs: Vec<f64>| costs.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        prop_assert_eq!(bits(fresh.costs()), bits(used.costs()));
    }

    #[test]
    fn in_which_order_ways_out_are_tried_changes_no_cost(
        which in 0..TASKS.len(),
        cars in traffic(),
        turns in 0..10_usize,
        backwards in any::<bool>(),
    ) {
        let mut stage = stage_with(TASKS[which], &cars);
        let costs = stage.costs();
        let mut spec = stage.model.spec().clone();
        let count = spec.backups.len();
        spec.backups.rotate_left(turns % count);
        if backwards {
            spec.backups.reverse();
        }
        stage.model = RiskModel::new(&stage.task, spec).unwrap();
        prop_assert_eq!(costs, stage.costs());
    }

    /// Where nothing is expected of drivers: one more car can keep another from changing lane or make it
    /// wait, and what cannot be avoided does not count if it is not likely.
    #[test]
    fn one_more_car_never_makes_an_action_cheaper(which in 0..TASKS.len(), cars in cars()) {
        prop_assume!(!cars.is_empty());
        let costs = |cars: &[Car]| {
            let mut stage = stage_with(TASKS[which], cars);
            let mut spec = stage.model.spec().clone();
            (spec.habits.expected, spec.habits.unlikely) = (0.0, 0.0);
            spec.guesses.clear();
            stage.model = RiskModel::new(&stage.task, spec).unwrap();
            stage.costs()
        };
        let (all, fewer) = (costs(&cars), costs(&cars[1..]));
        for (more, less) in all.iter().zip(&fewer) {
            prop_assert!(more >= less, "{all:?} {fewer:?}");
        }
    }
}

/// Spoils one number of a body.
type Spoil = fn(&mut Body);
const SPOILS: [Spoil; 12] = [
    |body| body.position[0] = f64::NAN,
    |body| body.position[1] = f64::INFINITY,
    |body| body.heading = f64::NAN,
    |body| body.cos = f64::NAN,
    |body| body.sin = f64::NAN,
    |body| body.speed = f64::NAN,
    |body| body.speed = f64::NEG_INFINITY,
    |body| body.length = f64::NAN,
    |body| body.along = f64::NAN,
    |body| body.across = f64::NAN,
    |body| body.bound_for = Some([f64::NAN, 1.0]),
    |body| body.acceleration = Some(f64::NAN),
];

#[test]
fn a_number_that_is_none_makes_everything_cost_one() {
    for id in TASKS {
        for spoil in SPOILS {
            for of_ego in [false, true] {
                let mut stage = Stage::new(id);
                // Far off, and a number of cars that fills no group.
                for ahead in [20.0, 40.0, 60.0] {
                    stage.add(ahead, 0.0, 0.0, 5.0);
                }
                if of_ego {
                    spoil(&mut stage.scene.ego.as_mut().unwrap().body);
                } else {
                    spoil(&mut stage.scene.others[1]);
                }
                let assessment = stage.model.assess(&stage.scene).clone();
                assert!(assessment.costs.iter().all(|cost| *cost == 1.0), "{}", id.name());
                assert!(assessment.density.is_nan());
                assert_eq!(stage.model.realised_cost(&stage.scene), 1.0);
            }
        }
    }
}

#[test]
fn what_no_action_avoids_is_no_reason_to_refuse_one() {
    // Right behind a row of cars on all lanes, at the ego's slowest speed: if one of them brakes
    // suddenly, nothing helps. That alone must not make a scene infeasible.
    let mut stage = Stage::new(TaskId::HighwayV0);
    stage.place_ego(("0", "1", 1), 100.0, 20.0);
    for right in [-4.0, 0.0, 4.0, 8.0] {
        stage.add(8.0, right, 0.0, 20.0);
    }
    let costs = stage.costs();
    let least = costs.iter().copied().fold(1.0, f64::min);
    assert_eq!(least, 0.0, "{costs:?}");
    assert!(costs.iter().any(|cost| *cost > 0.0), "and what can be avoided still counts");
}
