//! What a sensor shows: everything as it is if it is perfect, and otherwise off by as much as it says.

use cpss_highway::scene::Body;
use cpss_highway::{Action, Disturbance, Eyes, Scene, Sensor, Task, TaskId, World};

const TASKS: [TaskId; 4] =
    [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RoundaboutV0];

/// An episode through a sensor; `look` is shown the true scene and the perceived one at every decision.
fn play(id: TaskId, sensor: Sensor, seed: u64, mut look: impl FnMut(&Scene, &Scene, &Eyes)) {
    let mut world = World::new(Task::with_defaults(id), seed);
    let mut eyes = Eyes::open(sensor, &world, seed).expect("a sensor that makes sense");
    let mut seen = vec![0.0; world.task().observer.len()];
    let (mut truth, mut perceived) = (Scene::default(), Scene::default());
    for _ in 0..10 {
        truth.observe(&world);
        perceived.observe(eyes.world());
        look(&truth, &perceived, &eyes);
        if eyes
            .step(&mut world, Action::Index(1), &mut seen)
            .expect("an action of the task")
            .is_over()
        {
            break;
        }
    }
}

fn find<'a>(scene: &'a Scene, body: &Body) -> Option<&'a Body> {
    scene.others.iter().find(|other| other.id == body.id)
}

#[test]
fn a_perfect_sensor_changes_no_bit() {
    for id in TASKS {
        play(id, Sensor::PERFECT, 3, |truth, seen, _| {
            assert_eq!(truth.others, seen.others);
            assert_eq!((truth.earlier, &truth.obstacles), (seen.earlier, &seen.obstacles));
        });
    }
}

#[test]
fn errors_are_as_large_as_the_sensor_says_and_the_ego_knows_itself() {
    let sensor = Sensor {
        along: 0.5,
        across: 0.1,
        speed: 0.4,
        acceleration: 0.3,
        heading: 0.02,
        ..Sensor::PERFECT
    };
    let mut errors: [Vec<f64>; 5] = Default::default();
    for seed in 0..40 {
        play(TaskId::HighwayV0, sensor, seed, |truth, seen, _| {
            assert_eq!(truth.ego.unwrap().body, seen.ego.unwrap().body);
            assert_eq!(truth.others.len(), seen.others.len());
            for (a, b) in truth.others.iter().zip(&seen.others) {
                let [x, y] = [b.position[0] - a.position[0], b.position[1] - a.position[1]];
                let parts = [
                    x * a.cos + y * a.sin,
                    y * a.cos - x * a.sin,
                    b.speed - a.speed,
                    b.acceleration.unwrap() - a.acceleration.unwrap(),
                    b.heading - a.heading,
                ];
                errors.iter_mut().zip(parts).for_each(|(all, error)| all.push(error));
            }
        });
    }
    for (all, wanted) in errors.iter().zip([0.5, 0.1, 0.4, 0.3, 0.02]) {
        let n = all.len() as f64;
        let deviation = (all.iter().map(|error| error * error).sum::<f64>() / n).sqrt();
        assert!((deviation / wanted - 1.0).abs() < 0.03, "{deviation} instead of {wanted}");
        assert!((all.iter().sum::<f64>() / n).abs() < 0.05 * wanted, "no bias");
    }
}

#[test]
fn misses_come_by_chance_and_what_is_out_of_range_is_not_seen() {
    let sensor = Sensor { missed: 0.1, range: 80.0, signals: false, ..Sensor::PERFECT };
    let (mut near, mut seen_near) = (0.0, 0.0);
    for seed in 0..30 {
        play(TaskId::IntersectionV0, sensor, seed, |truth, seen, _| {
            let me = truth.ego.unwrap().body.position;
            for body in &truth.others {
                let away = (body.position[0] - me[0]).hypot(body.position[1] - me[1]);
                let found = find(seen, body);
                assert!(found.is_none() || away <= 80.0);
                assert!(found.is_none_or(|body| body.bound_for.is_none()), "no signals");
                if away <= 80.0 {
                    near += 1.0;
                    seen_near += f64::from(u8::from(found.is_some()));
                }
            }
        });
    }
    let share: f64 = 1.0 - seen_near / near;
    assert!((share - 0.1).abs() < 0.02, "missed {share} of {near}");
}

#[test]
fn a_late_sensor_shows_where_cars_were() {
    let late = Sensor { delay: 3, ..Sensor::PERFECT };
    let mut decisions = 0;
    play(TaskId::HighwayV0, late, 5, |truth, seen, eyes| {
        let lateness = if decisions == 0 { 0.0 } else { 0.2 };
        assert!((eyes.lateness() - lateness).abs() < 1e-12);
        for (now, then) in truth.others.iter().zip(&seen.others) {
            let moved = now.position[0] - then.position[0];
            assert!((moved - now.speed * lateness).abs() < 0.25, "{moved} at {}", now.speed);
        }
        decisions += 1;
    });
    assert!(decisions > 3);
}

#[test]
fn a_car_behind_another_is_hidden_and_comes_into_sight_beside_it() {
    let mut world = World::new(
        Task::new(TaskId::HighwayV0, &serde_json::json!({"vehicles_count": 0})).unwrap(),
        1,
    );
    let (lane, along) = (world.ego().lane, world.ego().along);
    let beside =
        world.task().network.left_of(lane).or(world.task().network.right_of(lane)).unwrap();
    for (lane, ahead) in [(lane, 30.0), (lane, 60.0), (beside, 75.0)] {
        let car = Disturbance::Arrival {
            lane,
            along: along + ahead,
            speed: 20.0,
            target_speed: 20.0,
            destination: None,
        };
        world.disturb(car).unwrap_or_else(|_| panic!("no room {ahead} m ahead"));
    }
    let eyes = Eyes::open(Sensor { hidden: true, ..Sensor::PERFECT }, &world, 1).unwrap();
    let seen: Vec<u32> = eyes.world().vehicles().iter().map(|car| car.id).collect();
    assert_eq!(seen, [1, 2, 4], "the third car is behind the second");
}

#[test]
fn the_same_seed_reads_the_same_and_another_differs() {
    let sensor = Sensor { along: 1.0, missed: 0.2, delay: 1, ..Sensor::PERFECT };
    let readings = |seed_of_eyes: u64| {
        let mut world = World::new(Task::with_defaults(TaskId::HighwayV0), 9);
        let mut eyes = Eyes::open(sensor, &world, seed_of_eyes).unwrap();
        let mut seen = vec![0.0; world.task().observer.len()];
        eyes.step(&mut world, Action::Index(1), &mut seen).unwrap();
        eyes.observe(&mut seen);
        seen
    };
    assert_eq!(readings(1), readings(1));
    assert_ne!(readings(1), readings(2));
}

#[test]
fn nonsense_is_refused_by_field_and_value() {
    for (field, sensor) in [
        ("along", Sensor { along: -0.1, ..Sensor::PERFECT }),
        ("across", Sensor { across: f64::NAN, ..Sensor::PERFECT }),
        ("speed", Sensor { speed: f64::INFINITY, ..Sensor::PERFECT }),
        ("heading", Sensor { heading: 4.0, ..Sensor::PERFECT }),
        ("missed", Sensor { missed: 1.5, ..Sensor::PERFECT }),
        ("range", Sensor { range: 0.0, ..Sensor::PERFECT }),
        ("delay", Sensor { delay: 1_000, ..Sensor::PERFECT }),
    ] {
        let error = sensor.check().unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.to_string().contains(field));
    }
}
