//! Sensors and deployments by the command: what is seen changes what is done, the same seed gives the same, traces of
//! sensed episodes audit, and nonsense is refused by field and value.

use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn cpss(arguments: &[&str]) -> Output {
    Command::cargo_bin("cpss").unwrap().args(arguments).output().unwrap()
}

fn evaluate(sensor: &str, more: &[&str]) -> Value {
    let usual = ["evaluate", "--env", "merge-v0", "--regime", "high", "--episodes", "10", "--json"];
    let out = cpss(&[&usual[..], &["--sensor", sensor], more].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut found: Value = serde_json::from_slice(&out.stdout).unwrap();
    for clock in ["steps_per_second", "decision_p50_us", "decision_p99_us"] {
        found.as_object_mut().unwrap().remove(clock);
    }
    found
}

#[test]
fn eyes_change_what_is_done_and_the_same_eyes_see_the_same() {
    let [perfect, poor] = ["perfect", "poor"].map(|sensor| evaluate(sensor, &[]));
    assert_ne!(perfect, poor);
    assert_eq!(poor, evaluate("poor", &[]));
    let [policy, shield] = ["policy", "shield"].map(|who| evaluate("poor", &["--behind", who]));
    assert!(policy != poor && shield != poor && policy != shield);
    assert_eq!(
        evaluate("perfect", &["--behind", "shield"]),
        perfect,
        "there is nothing to look through"
    );
}

#[test]
fn a_sensor_of_ones_own_works_as_the_built_in_ones_do() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine.toml");
    std::fs::write(&mine, cpss_sensor("poor")).unwrap();
    let own = evaluate(mine.to_str().unwrap(), &[]);
    let mut built_in = evaluate("poor", &[]);
    // Of another name nothing is known, and so nothing is promised.
    built_in["promise"] = own["promise"].clone();
    assert_eq!(own, built_in);
}

/// The file of a built-in sensor.
fn cpss_sensor(name: &str) -> String {
    let place = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/sensors");
    std::fs::read_to_string(place.join(format!("{name}.toml"))).unwrap()
}

#[test]
fn nonsense_is_refused_by_field_and_value() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.toml");
    for (text, words) in [
        ("name = 'x'\nmissed = 7.0", "`missed` is out of range: 7"),
        ("name = 'x'\nheading = 9", "`heading` is out of range: 9"),
        ("name = 'x'\nfog = true", "unknown field `fog`"),
    ] {
        std::fs::write(&bad, text).unwrap();
        let out = cpss(&["evaluate", "--env", "merge-v0", "--sensor", bad.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(words), "{said}");
    }
}

#[test]
fn traces_of_sensed_episodes_tell_what_was_seen_and_audit() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let usual = ["evaluate", "--env", "merge-v0", "--regime", "high", "--sensor", "poor"];
    let out = cpss(&[&usual[..], &["--episodes", "2", "--trace", place]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut traces = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        assert!(lines.next().unwrap().contains("\"sensor\":\"poor\""));
        assert!(lines.next().unwrap().contains("\"seen\":["));
        let audit = cpss(&["audit", path.to_str().unwrap()]);
        assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
        traces += 1;
    }
    assert_eq!(traces, 2);
}

#[test]
fn a_deployment_notices_poor_eyes_is_the_same_for_any_number_of_threads_and_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let text = "tasks = ['merge-v0']\nepisodes = 40\nchange = 20\nruns = 2\nfleet = 4\nfirst_seed = 900000\n\
                methods = ['budget', 'all']\n[[changes]]\nsensor = 'poor'\n[thresholds]\nmerge-v0 = 0.01\n";
    std::fs::write(&plan, text).unwrap();
    let deploy = |threads: &str, out: &str| -> Value {
        let out = folder.path().join(out);
        let mut command = Command::cargo_bin("cpss").unwrap();
        command.env("RAYON_NUM_THREADS", threads);
        let arguments =
            ["deploy", "--plan", plan.to_str().unwrap(), "--out", out.to_str().unwrap(), "--json"];
        let found = command.args(arguments).output().unwrap();
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        assert!(out.join("adaptation.png").exists() && out.join("adaptation.md").exists());
        serde_json::from_slice(&found.stdout).unwrap()
    };
    let one = deploy("1", "one");
    assert_eq!(one, deploy("2", "two"));
    assert_eq!(one, deploy("2", "one"), "what is there is not played again");
    let cells = one.as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells.iter().filter(|cell| cell["method"] == "all") {
        assert_eq!(cell["false_alarms"], 0);
        let alarms = cell["alarms"].as_array().unwrap();
        assert!(
            alarms.iter().all(|after| after.as_u64().is_some_and(|after| after <= 10)),
            "{alarms:?}"
        );
    }
}
