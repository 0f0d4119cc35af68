use super::*;
use cpss_highway::Action;

fn episode(regime: &str, id: TaskId, seed: u64) -> Vec<u64> {
    let spec = RegimeSpec::load(regime).unwrap();
    let regime = Regime::new(spec, id, &json!({})).unwrap();
    let (mut world, mut drift) = regime.begin(seed);
    let mut seen = vec![0.0; world.task().observer.len()];
    let mut bits = Vec::new();
    for _ in 0..10 {
        drift.apply(&mut world);
        let action = match world.task().controls.action_count() {
            Some(_) => Action::Index(1),
            None => Action::Point(&[0.01]),
        };
        let step = world.step(action, &mut seen).unwrap();
        bits.extend(world.vehicles().iter().flat_map(|car| [car.x.to_bits(), car.y.to_bits()]));
        if step.is_over() {
            break;
        }
    }
    bits
}

#[test]
fn stationary_is_the_plain_task_bit_for_bit() {
    for id in TaskId::ALL {
        let task = Task::with_defaults(id);
        let mut world = World::new(task.clone(), 11);
        let mut seen = vec![0.0; task.observer.len()];
        let mut bits = Vec::new();
        for _ in 0..10 {
            let action = match task.controls.action_count() {
                Some(_) => Action::Index(1),
                None => Action::Point(&[0.01]),
            };
            let step = world.step(action, &mut seen).unwrap();
            let cars = world.vehicles().iter();
            bits.extend(cars.flat_map(|car| [car.x.to_bits(), car.y.to_bits()]));
            if step.is_over() {
                break;
            }
        }
        assert_eq!(episode("stationary", id, 11), bits, "{id:?}");
    }
}

#[test]
fn drift_is_reproducible_and_different() {
    for id in TaskId::ALL {
        assert_eq!(episode("high", id, 3), episode("high", id, 3), "{id:?}");
        // An episode may begin quietly; ten of them do not all.
        let differs = |seed| episode("high", id, seed) != episode("stationary", id, seed);
        assert!((3..13).any(differs), "{id:?}");
        assert_ne!(episode("high", id, 3), episode("high", id, 4), "{id:?}");
    }
}

#[test]
fn intensity_stays_within_its_peak_and_changes_as_often_as_it_should() {
    for (name, peak, changes) in [("mild", 0.25, 1), ("average", 0.5, 2), ("high", 1.0, 4)] {
        let spec = RegimeSpec::load(name).unwrap();
        for seed in 0..50 {
            let timeline = Timeline::draw(&spec, 40.0, &mut Generator::seeded(seed));
            assert_eq!(timeline.changes(), changes);
            for tenth in 0..400 {
                let intensity = timeline.at(f64::from(tenth) / 10.0);
                assert!((0.0..=peak).contains(&intensity), "{name} {intensity}");
            }
        }
    }
}

/// The numbers of the table in the methodology.
#[test]
fn full_intensity_is_as_dense_as_it_should_be() {
    for name in ["mild", "average", "high"] {
        let full = RegimeSpec::load(name).unwrap().full;
        assert_eq!(full, Intensity::default(), "{name}");
        let at_full = |id, key: &str| denser(&full, id, &json!({}), 1.0).unwrap()[key].clone();
        assert_eq!(at_full(TaskId::HighwayV0, "vehicles_density"), 2.0);
        assert_eq!(at_full(TaskId::IntersectionV0, "initial_vehicle_count"), 15);
        assert_eq!(at_full(TaskId::RacetrackV0, "other_vehicles"), 4);
        assert_eq!(extra_at_the_merge(&full), [3, 2], "{name}");
    }
}

/// How many cars full intensity adds on the merge's highway and ramp, where there is room for all.
fn extra_at_the_merge(full: &Intensity) -> [usize; 2] {
    let task = Task::with_defaults(TaskId::MergeV0);
    let ramp = ["j", "k"].map(|node| task.network.node(node).unwrap());
    let count = |world: &World| {
        let on_ramp = world.vehicles().iter().filter(|car| {
            let road = task.network.road_of(car.lane);
            task.network.roads_from(ramp[0]).contains(&road) && task.network.end_of(road) == ramp[1]
        });
        [world.vehicles().len(), on_ramp.count()]
    };
    let most = (0..30).map(|seed| {
        let mut world = World::new(Arc::clone(&task), seed);
        let [all, on_ramp] = count(&world);
        let spec = RegimeSpec { full: full.clone(), ..RegimeSpec::load("stationary").unwrap() };
        let mut random = Generator::seeded(seed);
        let timeline = Timeline::draw(&spec, 14.0, &mut random);
        Drift::new(&spec, world.parameters(), timeline, random).add_cars(&mut world, 1.0);
        let [now, now_on_ramp] = count(&world);
        [now - all - (now_on_ramp - on_ramp), now_on_ramp - on_ramp]
    });
    most.reduce(|a, b| [a[0].max(b[0]), a[1].max(b[1])]).unwrap()
}

#[test]
fn the_regimes_of_0_1_are_milder_and_drift_as_often() {
    for name in ["mild", "average", "high"] {
        let now = RegimeSpec::load(name).unwrap();
        let old = RegimeSpec::load(&format!("{name}-0.1")).unwrap();
        assert_eq!(old.name, format!("{name}-0.1"));
        assert_eq!((old.peak, old.changes, old.ramp), (now.peak, now.changes, now.ramp));
        assert!(old.full.density < now.full.density, "{name}");
        let cars = |name: &str, usual| (old.full.extra(name, usual), now.full.extra(name, usual));
        let named = [("merge_highway", 3), ("merge_ramp", 2), ("racetrack", 3)];
        assert_eq!(named.map(|(name, usual)| cars(name, usual)), [(2, 3), (1, 2), (1, 3)]);
        assert_eq!(cars("intersection", 5), (5, 5), "{name}");
        // Everything else is the same.
        let (density, extra_cars) = (now.full.density, now.full.extra_cars.clone());
        assert_eq!(Intensity { density, extra_cars, ..old.full }, now.full, "{name}");
    }
}

#[test]
fn a_bad_regime_is_refused_by_name() {
    let refuse = |text: &str| {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        format!("{:#}", RegimeSpec::load(file.path().to_str().unwrap()).unwrap_err())
    };
    assert!(refuse("name = 'x'\npeak = 1.5\nchanges = 1").contains("`peak` is out of range: 1.5"));
    assert!(refuse("name = 'x'\npeak = 1\nchanges = 1\npeek = 2").contains("peek"));
    let named = "name = 'x'\npeak = 1\nchanges = 1\n[full.extra_cars]\nmerge_rmp = 1";
    assert!(refuse(named).contains("`merge_rmp`; there are merge_highway, merge_ramp,"));
    assert!(RegimeSpec::load("wild").unwrap_err().to_string().contains("`wild`"));
}

/// Plays an episode, and tells of every decision how many cars there are and how near to the ego one came or went.
fn comings_and_goings(id: TaskId, regime: &str, seed: u64) -> Vec<(usize, f64)> {
    let regime = Regime::new(RegimeSpec::load(regime).unwrap(), id, &json!({})).unwrap();
    let (mut world, mut drift) = regime.begin(seed);
    let mut seen = vec![0.0; world.task().observer.len()];
    let mut found = Vec::new();
    for _ in 0..40 {
        let before: Vec<_> = world.vehicles().to_vec();
        drift.apply(&mut world);
        let (ego, after) = (world.ego(), world.vehicles());
        let differs = |a: &[cpss_highway::vehicle::Vehicle],
                       b: &[cpss_highway::vehicle::Vehicle]| {
            let gone = a.iter().filter(|car| b.iter().all(|other| other.id != car.id));
            gone.map(|car| (car.x - ego.x).hypot(car.y - ego.y)).fold(f64::INFINITY, f64::min)
        };
        found.push((after.len(), differs(&before, after).min(differs(after, &before))));
        if world.step(Action::Index(1), &mut seen).unwrap().is_over() {
            break;
        }
    }
    found
}

#[test]
fn traffic_gets_denser_and_thinner_during_an_episode_out_of_sight() {
    for id in [TaskId::HighwayV0, TaskId::MergeV0, TaskId::RoundaboutV0] {
        let all: Vec<_> = (0..20).flat_map(|seed| comings_and_goings(id, "high", seed)).collect();
        let changes = all.iter().filter(|(_, nearest)| nearest.is_finite()).count();
        assert!(changes >= 3, "{id:?}: {changes}");
        assert!(all.iter().all(|(_, nearest)| *nearest >= 80.0), "{id:?}");
    }
    let counts = |seed| comings_and_goings(TaskId::HighwayV0, "high", seed);
    let rises = |found: &[(usize, f64)]| found.windows(2).any(|pair| pair[1].0 > pair[0].0);
    let falls = |found: &[(usize, f64)]| found.windows(2).any(|pair| pair[1].0 < pair[0].0);
    assert!((0..20).any(|seed| rises(&counts(seed))) && (0..20).any(|seed| falls(&counts(seed))));
}

/// A car without room was once tried again together with those that had found room: up to 26 on the racetrack.
#[test]
fn regression_as_many_cars_come_as_an_intensity_asks_for_and_no_more() {
    // Those of the racetrack come and go, those of the others come.
    for (id, extra, go) in [
        (TaskId::RacetrackV0, 3.0, true),
        (TaskId::MergeV0, 5.0, false),
        (TaskId::RoundaboutV0, 4.0, false),
    ] {
        let spec = RegimeSpec { peak: 0.0, ..RegimeSpec::load("high").unwrap() };
        let regime = Regime::new(spec, id, &json!({})).unwrap();
        let (mut some, mut all) = (0, 0);
        for seed in 0..20 {
            let (mut world, mut drift) = regime.begin(seed);
            let usual = world.vehicles().len();
            let mut most = 0.0_f64;
            for intensity in [0.4, 1.0, 0.0, 1.0, 0.4, 1.0] {
                (0..200).for_each(|_| drift.follow_density(&mut world, intensity));
                most = if go { intensity } else { most.max(intensity) };
                // Two kinds of cars at the merge, each rounded by itself.
                let asked = usual + (extra * most).round() as usize;
                let now = world.vehicles().len();
                assert!(now <= asked, "{id:?} {seed}: {now} at {intensity}");
                some += usize::from(intensity == 1.0 && now > usual);
                all += usize::from(intensity == 1.0 && now == asked);
            }
        }
        // At the merge's start there is no room out of sight for all.
        assert!(some > 0 && (all > 0 || id == TaskId::MergeV0), "{id:?}: {some}, {all}");
    }
}

#[test]
fn cars_that_come_want_to_drive_at_speeds_of_their_own() {
    let spec = RegimeSpec { peak: 0.0, ..RegimeSpec::load("high").unwrap() };
    let regime = Regime::new(spec, TaskId::RacetrackV0, &json!({})).unwrap();
    let (mut world, mut drift) = regime.begin(1);
    let usual = world.vehicles().len();
    (0..200).for_each(|_| drift.follow_density(&mut world, 1.0));
    let mut wanted: Vec<_> = world.vehicles()[usual..].iter().map(|car| car.target_speed).collect();
    wanted.sort_by(f64::total_cmp);
    assert!(wanted.len() > 1 && wanted.windows(2).all(|pair| pair[0] < pair[1]), "{wanted:?}");
}

#[test]
fn the_regimes_of_0_1_keep_the_density_of_their_start() {
    for seed in 0..20 {
        let found = comings_and_goings(TaskId::HighwayV0, "high-0.1", seed);
        assert!(found.iter().all(|(_, nearest)| nearest.is_infinite()));
    }
}

#[test]
fn regression_drift_is_applied_once_before_the_first_decision() {
    let regime =
        Regime::new(RegimeSpec::load("high").unwrap(), TaskId::MergeV0, &json!({})).unwrap();
    for seed in 0..200 {
        let (world, drift) = regime.begin(seed);
        assert!(world.vehicles().iter().all(|car| car.braking.is_none()), "nobody brakes yet");
        assert_eq!(drift.intensity(), 0.0, "nothing is applied before the first decision");
    }
}
