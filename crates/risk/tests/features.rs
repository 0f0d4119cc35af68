//! Contract: a scene's features are finite, none is beyond ±8, and they are the same for the same scene, whatever
//! was read before; they follow the lane that the ego aims for, or the one it is on if it steers itself.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod stage;

use cpss_highway::vehicle::Driver;
use cpss_highway::{Scene, Task, TaskId};
use cpss_risk::Features;
use cpss_risk::features::{DRIVING, Inputs, MOST_ITEMS, STEERING};
use stage::{add, alone, drive, listed};

#[test]
fn features_are_finite_small_and_the_same_for_the_same_scene() {
    let mut read = Features::default();
    let mut decisions = 0;
    for id in TaskId::ALL {
        // As upstream drives it: the racetrack with points of a box.
        let task = Task::with_defaults(id);
        let mut crowded = 0;
        drive(&task, 21, 400, |scene| {
            assert!(read.read(&task, scene), "{id:?}");
            let bodies = read.sources().len();
            let Inputs { fixed, item, .. } = Inputs::of(&task);
            assert_eq!((read.fixed().len(), read.items().len()), (fixed, bodies * item));
            assert!(bodies <= MOST_ITEMS && bodies <= scene.others.len() + scene.obstacles.len());
            for number in read.fixed().iter().chain(read.items()) {
                assert!(number.abs() <= 8.0, "{id:?}: {number}");
            }
            assert!(read.density().is_finite() && read.density() >= 0.0);
            let mut anew = Features::default();
            assert!(anew.read(&task, scene));
            assert_eq!((anew.fixed(), anew.items()), (read.fixed(), read.items()), "{id:?}");
            assert_eq!(anew.sources(), read.sources());
            decisions += 1;
            crowded = crowded.max(bodies);
        });
        assert!(crowded > 0, "{id:?}: nobody was ever near");
    }
    assert!(decisions >= 3000, "{decisions}");
}

#[test]
fn extreme_numbers_stay_within_bounds() {
    let task = listed(TaskId::HighwayV0);
    let mut read = Features::default();
    for number in [0.0, -0.0, 1e-300, 1e3, -1e3, 1e12, -1e12] {
        let mut scene = alone(&task);
        add(&task, &mut scene, 20.0, 0.0, number);
        let ego = scene.ego.as_mut().unwrap();
        (ego.body.speed, ego.target_speed) = (number, -number);
        assert!(read.read(&task, &scene), "{number}");
        assert!(
            read.fixed().iter().chain(read.items()).all(|found| found.abs() <= 8.0),
            "{number}"
        );
    }
}

fn numbers(task: &Task, scene: &Scene) -> (Vec<f32>, Vec<f32>) {
    let mut read = Features::default();
    assert!(read.read(task, scene));
    (read.fixed().to_vec(), read.items().to_vec())
}

/// Where an ego with raw controls aims is nothing that its controls follow.
#[test]
fn an_ego_that_steers_itself_is_described_by_the_lane_it_is_on() {
    for (id, driver) in [(TaskId::RacetrackV0, Driver::Raw), (TaskId::HighwayV0, Driver::Meta)] {
        let task = listed(id);
        let mut scene = alone(&task);
        add(&task, &mut scene, 20.0, 0.0, 10.0);
        let before = numbers(&task, &scene);
        let ego = scene.ego.as_mut().unwrap();
        assert_eq!(ego.driver, driver, "{id:?}");
        let network = &task.network;
        let beside = network.left_of(ego.body.lane).or_else(|| network.right_of(ego.body.lane));
        assert_ne!(beside, Some(ego.target_lane));
        ego.target_lane = beside.unwrap();
        assert_eq!(numbers(&task, &scene) == before, driver == Driver::Raw, "{id:?}");
    }
}

/// What an ego that steers itself is told of its swerves: the room that each leaves, and how close a body comes.
fn swerves(scene: &Scene) -> (Vec<f32>, Vec<f32>) {
    let task = listed(TaskId::RacetrackV0);
    let (fixed, items) = numbers(&task, scene);
    (fixed[DRIVING.fixed..].to_vec(), items[DRIVING.item..STEERING.item].to_vec())
}

#[test]
fn a_swerve_is_told_by_what_it_comes_close_to() {
    let task = listed(TaskId::RacetrackV0);
    let mut scene = alone(&task);
    // Straight ahead, standing: going straight on runs into it, and a swerve to either side less so.
    add(&task, &mut scene, 11.0, 0.0, 0.0);
    let (_, ahead) = swerves(&scene);
    assert_eq!(ahead.len(), 10);
    assert_eq!(ahead[2], 1.0, "{ahead:?}");
    assert!(ahead[5] < 1.0 || ahead[9] < 1.0, "{ahead:?}");
    // Far ahead, nothing comes close.
    let mut scene = alone(&task);
    add(&task, &mut scene, 35.0, 0.0, 10.0);
    assert_eq!(swerves(&scene).1, [0.0; 10]);
}

#[test]
fn a_swerve_is_told_by_the_room_that_it_leaves() {
    let task = listed(TaskId::RacetrackV0);
    let mut scene = alone(&task);
    add(&task, &mut scene, 35.0, 0.0, 10.0);
    let (room, _) = swerves(&scene);
    // Left of the ego's lane, or right of it, is the edge of the road: two decisions at full lock go nearer to one
    // of them than going straight on does, and less far to the other than to the one.
    let nearest = room[5].min(room[9]);
    assert!(nearest < room[2] && room[2] > 0.0, "{room:?}");
    assert!(room[5] != room[9], "{room:?}");
}
