//! Contract: what a person or a script at the terminal gets from `cpss`: results on standard
//! output, everything else on standard error, and an exit status that tells.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use assert_cmd::Command;
use serde_json::Value;

fn cpss(arguments: &[&str]) -> (bool, String, String) {
    let run = Command::cargo_bin("cpss").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (run.status.success(), text(run.stdout), text(run.stderr))
}

#[test]
fn rollout_prints_a_reset_line_and_one_line_per_step() {
    let (success, out, err) =
        cpss(&["rollout", "--env", "merge-v0", "--seed", "7", "--actions", "3,3,1"]);
    assert!(success, "{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["seed"], 7);
    for (place, line) in lines[1..].iter().enumerate() {
        assert_eq!(line["step"], place);
        for key in ["action", "reward", "terminated", "truncated", "obs", "vehicles"] {
            assert!(!line[key].is_null(), "line {place} has no {key}");
        }
        assert_eq!(line["obs"].as_array().unwrap().len(), 25);
        let cars = line["vehicles"].as_array().unwrap();
        let egos = cars.iter().filter(|car| car["ego"] == true).count();
        assert_eq!((cars.len(), egos), (5, 1));
        for key in ["x", "y", "heading", "speed", "crashed", "lane"] {
            assert!(!cars[0][key].is_null(), "a vehicle has no {key}");
        }
    }
}

#[test]
fn rollout_takes_steering_and_configs() {
    let arguments = ["rollout", "--env", "racetrack-v0", "--seed", "1", "--actions", "-0.1,0.05"];
    let (success, out, err) = cpss(&arguments);
    assert!(success, "{err}");
    assert_eq!(out.lines().count(), 3);
    let config = r#"{"lanes_count": 2, "vehicles_count": 4}"#;
    let arguments =
        ["rollout", "--env", "highway-v0", "--seed", "1", "--actions", "1", "--config", config];
    let (success, out, err) = cpss(&arguments);
    assert!(success, "{err}");
    let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(line["vehicles"].as_array().unwrap().len(), 5);
}

#[test]
fn mistakes_are_named_and_fail() {
    let rollout = ["rollout", "--seed", "1", "--actions"];
    for (rest, words) in [
        (vec!["9", "--env", "merge-v0"], "action 9 is out of range"),
        (vec!["left", "--env", "merge-v0"], "`left` is not the index of an action"),
        (vec!["0.1:0.2", "--env", "racetrack-v0"], "has 2 components, the task takes 1"),
        (vec!["1", "--env", "merge-v7"], "there is no task `merge-v7`"),
        (vec!["1", "--env", "merge-v0", "--config", "{"], "not valid JSON"),
        (vec!["1", "--env", "merge-v0", "--config", r#"{"lane": 1}"#], "unknown key `lane`"),
        (vec!["1", "--env", "merge-v0", "--config-file", "/nowhere"], "/nowhere"),
    ] {
        let (success, out, err) = cpss(&[rollout.as_slice(), &rest].concat());
        assert!(!success && out.lines().count() <= 1, "{rest:?} printed {out}");
        assert!(err.contains(words), "{rest:?} says: {err}");
    }
    let (success, _, err) =
        cpss(&["rollout", "--env", "merge-v0", "--seed", "-4", "--actions", "1"]);
    assert!(!success && err.contains("'-4' for '--seed") && err.contains("from 0 on"), "{err}");
}

#[test]
fn bench_writes_what_the_shield_costs_into_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("document.md");
    let path = document.to_str().unwrap();
    let arguments = ["bench", "--seconds", "0.02", "--env", "merge-v0", "--write", path];
    std::fs::write(&document, "no markers").unwrap();
    let (success, _, err) = cpss(&arguments);
    assert!(!success && err.contains("lacks the lines"), "{err}");
    let markers = "above\n<!-- cpss bench: begin -->\n<!-- cpss bench: end -->\nbelow\n";
    std::fs::write(&document, markers).unwrap();
    let (success, _, err) = cpss(&arguments);
    assert!(success, "{err}");
    let text = std::fs::read_to_string(&document).unwrap();
    assert!(text.starts_with("above\n") && text.ends_with("below\n"), "{text}");
    assert!(text.contains("| merge-v0 | ") && text.contains("Made by `cpss bench"), "{text}");
}

#[test]
fn bench_prints_one_json_document() {
    let arguments = ["bench", "--json", "--seconds", "0.02", "--env", "merge-v0"];
    let (success, out, err) = cpss(&arguments);
    assert!(success, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let task = &report["tasks"]["merge-v0"];
    for key in ["steps_per_second", "steps_per_second_all_threads", "vehicle_updates_per_second"] {
        assert!(task[key].as_f64().unwrap() > 0.0, "{key}");
    }
    for key in ["p50_ns", "p99_ns", "p999_ns"] {
        assert!(report["shield"][key].as_u64().unwrap() > 0, "{key}");
    }
    assert!(report["gradient_steps_per_second"].as_f64().unwrap() > 0.0);
    let (success, _, err) = cpss(&["bench", "--seconds", "0"]);
    assert!(!success && err.contains("seconds above 0"), "{err}");
}

#[test]
fn regression_seeds_below_zero_and_beyond_the_last_are_refused() {
    for words in ["evaluate --env merge-v0 --seed", "train --env merge-v0 --seed"] {
        for seed in ["-1", "18446744073709551616", "1.5"] {
            let arguments: Vec<&str> = words.split_whitespace().chain([seed]).collect();
            let (success, _, err) = cpss(&arguments);
            assert!(!success && err.contains("a seed is a whole number from 0 on"), "{err}");
        }
    }
    let last = u64::MAX.to_string();
    let evaluate = |episodes| {
        let words = ["evaluate", "--env", "merge-v0", "--method", "random", "--seed", &last];
        cpss(&[words.as_slice(), &["--episodes", episodes]].concat())
    };
    let (success, _, err) = evaluate("2");
    assert!(!success && err.contains("need seeds beyond 2^64 - 1"), "{err}");
}

#[test]
fn regression_a_trace_that_is_not_there_is_not_called_forged() {
    let (success, _, err) = cpss(&["audit", "nope.jsonl"]);
    assert!(!success && err.contains("nope.jsonl: there is no such file"), "{err}");
    assert!(
        err.contains("the trace cannot be read") && !err.contains("as it was written"),
        "{err}"
    );
    let (success, out, _) = cpss(&["audit", "nope.jsonl", "--json"]);
    let line: Value = serde_json::from_str(&out).unwrap();
    assert!(!success && line["sound"] == false && line["what"] == "there is no such file");
    let (success, _, err) = cpss(&["audit", "nope.jsonl", "src", "Cargo.toml"]);
    assert!(!success && err.contains("1 of 3 traces are not as they were written"), "{err}");
    assert!(err.contains("and 2 cannot be read"), "{err}");
}
