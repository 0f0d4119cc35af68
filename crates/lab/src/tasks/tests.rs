use cpss_highway::Task;

use super::*;

#[test]
fn every_task_has_a_folder_and_every_folder_a_task() {
    for task in all() {
        assert!(task.file("task.toml").is_some(), "{} is in no folder", task.id.name());
        assert!(task.spec.shield.is_some(), "{} has no shield", task.id.name());
        assert!(task.file("train.toml").is_some(), "{} has no training", task.id.name());
    }
    for (folder, name, _) in FILES {
        let id: TaskId = folder.parse().unwrap();
        assert_eq!(of(id).folder, *folder, "{folder} serves another task than its own");
        let critics =
            ["risk.safetensors", "risk-stationary.safetensors", "risk-sensed.safetensors"];
        let is_policy = (0..SHIPPED_SEEDS).any(|seed| *name == format!("{seed}.safetensors"));
        let is_known = ["task.toml", "train.toml"].contains(name) || critics.contains(name);
        assert!(is_known || is_policy, "tasks/{folder}/{name} is read by nobody");
    }
}

#[test]
fn what_drift_adds_fits_the_task() {
    for task in all() {
        let world = Task::with_defaults(task.id);
        let DriftSpec { density, more, arrivals, .. } = &task.spec.drift;
        for key in density.iter().map(|density| &density.key).chain(more.iter().map(|m| &m.key)) {
            let config = serde_json::json!({ key: 1 });
            assert!(Task::new(task.id, &config).is_ok(), "{} has no {key}", task.id.name());
        }
        for Arrivals { roads, destinations, speed, .. } in arrivals {
            assert!(*speed > 0.0);
            for [from, to] in roads {
                assert!(world.network.find_lane(from, to, 0).is_some(), "{from} to {to}");
            }
            for node in destinations {
                assert!(world.network.node(node).is_some(), "{}: {node}", task.id.name());
            }
        }
        let drifts = density.is_some() || !more.is_empty() || !arrivals.is_empty();
        assert!(drifts, "drift makes {} no denser", task.id.name());
    }
}

#[test]
fn versions_share_a_folder_and_differ_where_it_says_so() {
    let [fast, whole] = [TaskId::HighwayFastV0, TaskId::HighwayV0].map(of);
    assert_eq!(fast.folder, "highway-v0");
    assert_eq!((fast.spec.seconds, whole.spec.seconds), (30.0, 40.0));
    assert!(whole.policy(0).is_some() && fast.policy(0).is_none());
    assert_eq!(fast.file("risk.safetensors"), whole.file("risk.safetensors"));
}
