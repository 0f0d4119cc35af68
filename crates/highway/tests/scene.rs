//! Contract: a scene holds what an observer could see, and nothing else; and a disturbance does what it says.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cpss_highway::driver::DriverParameters;
use cpss_highway::{Action, Disturbance, Scene, Task, TaskId, World};

#[test]
fn other_drivers_minds_cannot_be_seen() {
    let mut world = World::new(Task::with_defaults(TaskId::HighwayV0), 5);
    let mut before = Scene::default();
    before.observe(&world);
    let hasty = DriverParameters { headway: 0.5, politeness: 1.0, ..world.parameters() };
    world.disturb(Disturbance::Drivers(hasty)).unwrap();
    let braking = Disturbance::Braking { vehicle: 3, deceleration: 5.0, duration: 2.0 };
    world.disturb(braking).unwrap();
    let mut after = Scene::default();
    after.observe(&world);
    assert_eq!(before.others, after.others, "a change of mind shows only once the car moves");
    assert_eq!(before.others.len(), 50);
}

#[test]
fn obstacles_are_in_the_scene() {
    let world = World::new(Task::with_defaults(TaskId::MergeV0), 1);
    let mut scene = Scene::default();
    scene.observe(&world);
    assert_eq!(scene.obstacles.len(), 1);
    assert_eq!((scene.obstacles[0].length, scene.obstacles[0].speed), (2.0, 0.0));
}

#[test]
fn disturbances_do_what_they_say_or_are_refused_by_name() {
    let mut world = World::new(Task::with_defaults(TaskId::HighwayV0), 5);
    let mut seen = vec![0.0; world.task().observer.len()];
    let undisturbed = world.clone();
    let refuse = |world: &mut World, disturbance: Disturbance| {
        world.disturb(disturbance).unwrap_err().to_string()
    };
    let ego = Disturbance::Braking { vehicle: 0, deceleration: 5.0, duration: 2.0 };
    assert_eq!(refuse(&mut world, ego), "vehicle 0 is not a car of the traffic");
    let never = Disturbance::SpawnProbability(f64::NAN);
    assert_eq!(refuse(&mut world, never), "`probability` is out of range: NaN");
    let car = world.vehicles()[1].clone();
    let on_top = Disturbance::Arrival {
        lane: car.lane,
        along: car.x,
        speed: 20.0,
        target_speed: 20.0,
        destination: None,
    };
    assert!(refuse(&mut world, on_top).starts_with("no room for a car there: vehicle 1"));

    let braking = Disturbance::Braking { vehicle: 1, deceleration: 5.0, duration: 1.0 };
    world.disturb(braking).unwrap();
    let arrival = Disturbance::Arrival {
        lane: car.lane,
        along: 3000.0,
        speed: 20.0,
        target_speed: 25.0,
        destination: None,
    };
    world.disturb(arrival).unwrap();
    let mut twin = undisturbed;
    world.step(Action::Index(1), &mut seen).unwrap();
    twin.step(Action::Index(1), &mut seen).unwrap();
    assert_eq!(world.vehicles().len(), twin.vehicles().len() + 1);
    assert!(world.vehicles()[1].speed < twin.vehicles()[1].speed - 3.0);
}
