//! Contract: a scene with a number in it that is none, anywhere, or without an ego, risks and costs 1
//! throughout and has no density; and the scene after it is judged as if nothing had been.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod stage;

use cpss_highway::scene::{Body, Ego};
use cpss_highway::{Action, Scene, TaskId};
use cpss_risk::RiskModel;
use cpss_risk::closeness::closeness;
use stage::{add, alone, listed, model};

/// A number of something, by name, and how it is set.
type Field<T> = (&'static str, fn(&mut T, f64));

/// A body of a scene, by name.
type Place = (&'static str, fn(&mut Scene) -> &mut Body);

/// Every number of a body.
const BODY: [Field<Body>; 13] = [
    ("x", |body, number| body.position[0] = number),
    ("y", |body, number| body.position[1] = number),
    ("heading", |body, number| body.heading = number),
    ("cos", |body, number| body.cos = number),
    ("sin", |body, number| body.sin = number),
    ("speed", |body, number| body.speed = number),
    ("acceleration", |body, number| body.acceleration = Some(number)),
    ("length", |body, number| body.length = number),
    ("width", |body, number| body.width = number),
    ("along", |body, number| body.along = number),
    ("across", |body, number| body.across = number),
    ("bound_for x", |body, number| body.bound_for = Some([number, 0.0])),
    ("bound_for y", |body, number| body.bound_for = Some([1.0, number])),
];

/// What only the ego has. How fast it may get is not asked, and so may be anything.
const EGO: [Field<Ego>; 2] = [
    ("target_speed", |ego, number| ego.target_speed = number),
    ("slip_sin", |ego, number| ego.slip_sin = number),
];

fn check(model: &mut RiskModel, scene: &Scene, what: &str) {
    let found = model.assess(scene);
    let actions = found.risks.len();
    assert!(actions > 0 && found.risks.iter().all(|risk| *risk == 1.0), "{what}: {found:?}");
    assert_eq!(
        (found.costs.as_slice(), found.unavoidable),
        (vec![1.0; actions].as_slice(), 1.0),
        "{what}"
    );
    assert!(found.density.is_nan(), "{what}: {found:?}");
    assert_eq!(model.blame(scene, Action::Index(0)), None, "{what}");
    assert_eq!(closeness(model.task(), scene), 1.0, "{what}");
}

#[test]
fn a_number_that_is_none_costs_one_throughout() {
    let task = listed(TaskId::MergeV0);
    let mut model = model(&task, 5, 3.0);
    let mut sound = alone(&task);
    add(&task, &mut sound, 30.0, 0.0, 20.0);
    // Too far away to be looked at, and still no reason to believe the rest.
    add(&task, &mut sound, 200.0, 0.0, 20.0);
    assert_eq!(sound.obstacles.len(), 1);
    let judged = model.assess(&sound).clone();
    assert!(judged.costs.contains(&0.0) && judged.density.is_finite());
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (field, set) in BODY {
            let places: [Place; 4] = [
                ("ego", |scene| &mut scene.ego.as_mut().unwrap().body),
                ("car", |scene| &mut scene.others[0]),
                ("far car", |scene| &mut scene.others[1]),
                ("obstacle", |scene| &mut scene.obstacles[0]),
            ];
            for (who, body) in places {
                let mut scene = sound.clone();
                set(body(&mut scene), number);
                check(&mut model, &scene, &format!("{who}: {field} is {number}"));
                assert_eq!(*model.assess(&sound), judged);
            }
        }
        for (field, set) in EGO {
            let mut scene = sound.clone();
            set(scene.ego.as_mut().unwrap(), number);
            check(&mut model, &scene, &format!("ego: {field} is {number}"));
        }
    }
}

#[test]
fn a_scene_without_an_ego_costs_one_throughout() {
    let task = listed(TaskId::HighwayV0);
    let mut scene = alone(&task);
    scene.ego = None;
    check(&mut model(&task, 5, 3.0), &scene, "no ego");
    check(&mut model(&task, 5, 3.0), &Scene::default(), "nothing at all");
}
