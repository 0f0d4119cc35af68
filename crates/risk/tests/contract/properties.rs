//! Contract: whatever the scene, costs are numbers from 0 to 1, and the same scene costs the same.

use crate::stage::Stage;
use cpss_highway::TaskId;
use proptest::prelude::*;

const TASKS: [TaskId; 4] =
    [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0];

/// Ahead, right, turned by, speed, wrecked.
type Car = (f64, f64, f64, f64, bool);

fn cars() -> impl Strategy<Value = Vec<Car>> {
    let car = (-60.0..60.0, -12.0..12.0, -3.2..3.2, -10.0..40.0, any::<bool>());
    prop::collection::vec(car, 0..12)
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
    fn one_more_car_never_makes_an_action_cheaper(which in 0..TASKS.len(), cars in cars()) {
        prop_assume!(!cars.is_empty());
        let all = stage_with(TASKS[which], &cars).costs();
        let fewer = stage_with(TASKS[which], &cars[1..]).costs();
        for (more, less) in all.iter().zip(&fewer) {
            prop_assert!(more >= less, "{all:?} {fewer:?}");
        }
    }
}

#[test]
fn a_car_of_nonsense_makes_everything_cost_one() {
    for id in TASKS {
        let mut stage = Stage::new(id);
        let car = stage.add(10.0, 0.0, 0.0, 5.0);
        (car.position, car.along, car.across) = ([f64::NAN; 2], f64::NAN, f64::NAN);
        assert!(stage.costs().iter().all(|cost| *cost == 1.0), "{}", id.name());
    }
}
