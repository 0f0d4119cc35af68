//! Contract: in which order a scene lists its cars changes no bit of features, density, risks and costs.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod stage;

use cpss_highway::random::Generator;
use cpss_highway::{Scene, TaskId};
use cpss_risk::{Features, RiskModel};
use stage::{drive, listed, model};

/// Everything that is made of a scene, to the bit.
fn bits(model: &mut RiskModel, scene: &Scene) -> Vec<u64> {
    let mut features = Features::default();
    assert!(features.read(model.task(), scene));
    let numbers = features.fixed().iter().chain(features.items());
    let mut bits: Vec<u64> = numbers.map(|number| u64::from(number.to_bits())).collect();
    let found = model.assess(scene);
    let judged = found.risks.iter().chain(&found.costs).chain([&found.unavoidable, &found.density]);
    bits.extend(judged.map(|number| number.to_bits()));
    bits
}

/// The same scene with its cars in another order; who was there before the ego stays before it.
fn shuffled(scene: &Scene, random: &mut Generator) -> Scene {
    let mut scene = scene.clone();
    let (earlier, later) = scene.others.split_at_mut(scene.earlier);
    for cars in [earlier, later] {
        for last in (1..cars.len()).rev() {
            cars.swap(last, random.choice(last + 1));
        }
    }
    scene.obstacles.reverse();
    scene
}

#[test]
fn the_order_of_cars_does_not_matter() {
    let mut random = Generator::seeded(3);
    for id in TaskId::ALL {
        let task = listed(id);
        let mut model = model(&task, 5, 3.0);
        let mut moved = 0;
        drive(&task, 11, 60, |scene| {
            let other = shuffled(scene, &mut random);
            moved += u32::from(other.others != scene.others);
            assert_eq!(bits(&mut model, &other), bits(&mut model, scene), "{id:?}");
        });
        // On the racetrack there is one other car, which has no order.
        assert!(moved > 0 || matches!(id, TaskId::RacetrackV0 | TaskId::RacetrackV1), "{id:?}");
    }
}

#[test]
fn who_was_there_first_does_matter() {
    let task = listed(TaskId::IntersectionV0);
    let mut model = model(&task, 5, 3.0);
    let mut differs = 0;
    drive(&task, 11, 20, |scene| {
        let mut other = scene.clone();
        other.earlier = scene.others.len() - scene.earlier;
        differs += u32::from(bits(&mut model, &other) != bits(&mut model, scene));
    });
    assert!(differs > 0);
}
