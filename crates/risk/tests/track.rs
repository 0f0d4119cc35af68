//! What a tracker makes of noisy, late and missing readings: what is seen without error stays where it is, errors
//! shrink, and a car that is missed is remembered with growing doubt.

use cpss_highway::scene::Body;
use cpss_highway::{Action, Eyes, Scene, Sensor, Task, TaskId, World};
use cpss_risk::Tracker;

const FAIR: Sensor = Sensor {
    along: 0.5,
    across: 0.1,
    speed: 0.5,
    acceleration: 0.5,
    heading: 0.01,
    missed: 0.01,
    delay: 1,
    ..Sensor::PERFECT
};

/// Plays an episode; `look` is shown the true scene, the sensed one and the tracker's at every decision.
fn play(id: TaskId, sensor: Sensor, seed: u64, mut look: impl FnMut(&Scene, &Scene, &Scene)) {
    let mut world = World::new(Task::with_defaults(id), seed);
    let mut eyes = Eyes::open(sensor, &world, seed).unwrap();
    let mut tracker = Tracker::new(sensor);
    let mut seen = vec![0.0; world.task().observer.len()];
    let (mut truth, mut sensed) = (Scene::default(), Scene::default());
    for decision in 0..12 {
        let elapsed = if decision == 0 { 0.0 } else { world.task().decision_time };
        truth.observe(&world);
        sensed.observe(eyes.world());
        tracker.look(&world.task().network, &sensed, elapsed, eyes.lateness());
        look(&truth, &sensed, tracker.scene());
        let action = match world.task().controls.action_count() {
            Some(_) => Action::Index(1),
            None => Action::Point(&[0.0]),
        };
        if eyes.step(&mut world, action, &mut seen).unwrap().is_over() {
            break;
        }
    }
}

fn find<'a>(scene: &'a Scene, body: &Body) -> Option<&'a Body> {
    scene.others.iter().find(|other| other.id == body.id)
}

fn apart(a: &Body, b: &Body) -> f64 {
    (a.position[0] - b.position[0]).hypot(a.position[1] - b.position[1])
}

fn is_near(scene: &Scene, body: &Body) -> bool {
    apart(&scene.ego.unwrap().body, body) < 100.0
}

#[test]
fn what_is_seen_without_error_stays_where_it_is() {
    for id in [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0] {
        play(id, Sensor::PERFECT, 4, |truth, _, tracked| {
            for body in truth.others.iter().filter(|body| is_near(truth, body)) {
                let found = find(tracked, body).expect("it is seen");
                assert!(apart(found, body) < 1e-9 && (found.speed - body.speed).abs() < 1e-9);
                assert_eq!(found.doubt.unwrap().age, 0.0);
            }
        });
    }
}

#[test]
fn errors_of_places_and_speeds_shrink() {
    for id in [TaskId::HighwayV0, TaskId::RacetrackV0] {
        let (mut raw, mut tracked, mut count) = ([0.0; 2], [0.0; 2], 0.0);
        for seed in 0..30 {
            play(id, FAIR, seed, |truth, sensed, by_tracker| {
                for body in truth.others.iter().filter(|body| is_near(truth, body)) {
                    let (Some(seen), Some(found)) = (find(sensed, body), find(by_tracker, body))
                    else {
                        continue;
                    };
                    for (sum, of) in [(&mut raw, seen), (&mut tracked, found)] {
                        sum[0] += apart(of, body).powi(2);
                        sum[1] += (of.speed - body.speed).powi(2);
                    }
                    count += 1.0;
                }
            });
        }
        let [raw, tracked] = [raw, tracked].map(|sums| sums.map(|sum: f64| (sum / count).sqrt()));
        // A frame late, a car is up to two metres from where it is seen.
        assert!(tracked[0] < 0.7 * raw[0], "{id:?}: place {} of {}", tracked[0], raw[0]);
        assert!(tracked[1] < raw[1], "{id:?}: speed {} of {}", tracked[1], raw[1]);
    }
}

#[test]
fn a_car_that_is_missed_is_remembered_with_growing_doubt_and_then_given_up() {
    let world = World::new(Task::with_defaults(TaskId::HighwayV0), 2);
    let network = &world.task().network;
    let mut full = Scene::default();
    full.observe(&world);
    let lost = *full.others.iter().find(|body| is_near(&full, body)).unwrap();
    let mut rest = full.clone();
    rest.others.retain(|other| other.id != lost.id);
    let mut tracker = Tracker::new(FAIR);
    tracker.look(network, &full, 0.0, 0.0);
    let mut doubt = find(tracker.scene(), &lost).unwrap().doubt.unwrap();
    for second in 1..=3 {
        tracker.look(network, &rest, 1.0, 0.0);
        let found = find(tracker.scene(), &lost).expect("not given up yet");
        let grown = found.doubt.unwrap();
        assert!(
            grown.along > doubt.along && grown.speed > doubt.speed && grown.across > doubt.across
        );
        assert_eq!(grown.age, f64::from(second));
        assert!(found.position[0] > lost.position[0] + 10.0, "it goes on");
        doubt = grown;
    }
    tracker.look(network, &rest, 1.0, 0.0);
    assert!(find(tracker.scene(), &lost).is_none(), "four seconds are too long");
}

#[test]
fn the_order_of_cars_changes_no_bit_and_a_new_episode_forgets() {
    let world = World::new(Task::with_defaults(TaskId::IntersectionV0), 3);
    let network = &world.task().network;
    let mut scene = Scene::default();
    scene.observe(&world);
    let mut reversed = scene.clone();
    reversed.others.reverse();
    let (mut one, mut other) = (Tracker::new(FAIR), Tracker::new(FAIR));
    for _ in 0..3 {
        one.look(network, &scene, 1.0, 0.07);
        other.look(network, &reversed, 1.0, 0.07);
        assert_eq!(one.scene().others, other.scene().others);
        assert_eq!(one.scene().earlier, other.scene().earlier);
    }
    one.begin();
    one.look(network, &Scene { others: Vec::new(), ..scene }, 1.0, 0.0);
    assert!(one.scene().others.is_empty());
}
