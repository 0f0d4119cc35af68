//! Contract: one cell of the comparison through the command: the keys, the same numbers every
//! time, paired seeds, and errors that name what was wrong.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod traces;

use assert_cmd::Command;
use cpss::tasks::policy_task;
use cpss_highway::TaskId;
use serde_json::Value;
use traces::critic;

fn evaluate(arguments: &[&str]) -> Result<Value, String> {
    let run = Command::cargo_bin("cpss")
        .unwrap()
        .args(["evaluate", "--json"])
        .args(arguments)
        .output()
        .unwrap();
    if run.status.success() {
        return Ok(serde_json::from_slice(&run.stdout).unwrap());
    }
    Err(String::from_utf8(run.stderr).unwrap())
}

#[test]
fn a_cell_has_every_number() {
    let summary =
        evaluate(&["--env", "merge-v0", "--method", "random", "--episodes", "20"]).unwrap();
    for key in [
        "episodes",
        "collision_rate",
        "collision_ci95",
        "offroad_rate",
        "proximity_risk",
        "min_distance",
        "return_mean",
        "mean_speed",
        "success_rate",
        "intervention_rate",
        "replaced_steps",
        "infeasible_rate",
        "endangered_rate",
        "decision_p50_us",
        "decision_p99_us",
        "misprediction_rate",
        "budget_used",
        "envelope_violations",
        "steps_per_second",
        "account",
    ] {
        assert!(!summary[key].is_null(), "no {key}");
    }
    assert_eq!(summary["episodes"], 20);
    assert_eq!(summary["envelope_violations"], 0);
    let [p50, p99] =
        ["p50", "p99"].map(|part| summary[format!("decision_{part}_us")].as_f64().unwrap());
    assert!(0.0 < p50 && p50 <= p99, "{p50} {p99}");
    let endangered = summary["endangered_rate"].as_f64().unwrap();
    assert!(0.0 < endangered && endangered < 1.0, "random driving is in danger: {endangered}");
    let crashes = summary["collision_rate"].as_f64().unwrap();
    assert!(crashes > 0.4, "random driving on merge crashes more than {crashes}");
    let parts = ["start", "chosen", "arriving", "surprise"];
    let sum: f64 = parts.iter().map(|part| summary["account"][part].as_f64().unwrap()).sum();
    assert!((sum - crashes).abs() < 1e-9, "{sum} is not {crashes}");
}

/// A crash avoided, not avoided, a closer call, a false alarm: every replaced action is one of these.
#[test]
fn regression_nothing_is_promised_of_traffic_that_no_critic_was_calibrated_in() {
    let promise = |regime| {
        let cell = ["--env", "merge-v0", "--regime", regime, "--episodes", "5"];
        evaluate(&cell).unwrap()["promise"].as_f64()
    };
    assert!(promise("high").is_some_and(|most| most > 0.01 && most < 0.1));
    assert_eq!(promise("high-0.1"), None);
}

#[test]
fn nothing_is_promised_with_a_budget_that_no_critic_was_calibrated_under() {
    let promise = |budget| {
        let cell = ["--env", "merge-v0", "--episodes", "3", "--budget", budget];
        evaluate(&cell).unwrap()["promise"].as_f64()
    };
    assert!(promise("0.002").is_some() && promise("0.1").is_some());
    assert_eq!((promise("0.0019"), promise("0.11")), (None, None));
}

#[test]
fn replaced_actions_are_good_for_something_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let risk = folder.path().join("critic.safetensors");
    std::fs::write(&risk, critic(&policy_task(TaskId::HighwayV0)).to_bytes()).unwrap();
    let risk = risk.to_str().unwrap();
    let cell = |method: &str| {
        let arguments =
            ["--env", "highway-v0", "--regime", "high", "--episodes", "8", "--risk", risk];
        evaluate(&[arguments.as_slice(), &["--method", method]].concat()).unwrap()
    };
    let shares = ["avoided_share", "unavoided_share", "closer_share", "false_alarm_share"];
    let acting = cell("cpss");
    assert!(acting["replaced_steps"].as_u64().unwrap() > 0);
    let sum: f64 = shares.iter().map(|key| acting[key].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    assert!(acting["budget_used"].is_number());
    // Its budget is so large that it limits nothing, and a share of it would mislead.
    assert!(cell("threshold:0.01")["budget_used"].is_null());
    assert!(cell("fixed")["promise"].is_number() && cell("threshold:0.01")["promise"].is_null());
    let shadow = cell("dqn");
    assert_eq!(shadow["replaced_steps"], 0);
    assert!(shares.iter().all(|key| shadow[key].is_null()));
}

#[test]
fn the_same_cell_gives_the_same_numbers_and_other_seeds_others() {
    let cell = |seed: &str| {
        let arguments =
            ["--env", "intersection-v0", "--regime", "high", "--method", "constant:2", "--seed"];
        let mut summary =
            evaluate(&[arguments.as_slice(), &[seed, "--episodes", "30"]].concat()).unwrap();
        for clock in ["steps_per_second", "decision_p50_us", "decision_p99_us"] {
            summary[clock] = Value::Null;
        }
        summary
    };
    assert_eq!(cell("1000000"), cell("1000000"));
    assert_ne!(cell("1000000"), cell("1000500"));
}

#[test]
fn mistakes_are_named() {
    for (arguments, words) in [
        (vec!["--env", "merge-v0", "--regime", "wild", "--method", "random"], "no regime `wild`"),
        (vec!["--env", "merge-v0", "--method", "shield"], "give dqn, cpss"),
        (vec!["--env", "merge-v0", "--method", "constant:9"], "constant:9 is no action"),
        (vec!["--env", "merge-v0", "--policy", "best.pt"], "best.pt"),
        (vec!["--env", "merge-v0", "--policy", "none.onnx"], "none.onnx"),
        (vec!["--env", "merge-v0", "--shield", "none.toml"], "none.toml"),
        (vec!["--env", "merge-v0", "--risk", "none.safetensors"], "the critic none.safetensors"),
        (vec!["--env", "merge-v0", "--risk", "Cargo.toml"], "the critic cannot be read"),
        (vec!["--env", "merge-v0", "--episodes", "0"], "0"),
    ] {
        let error = evaluate(&arguments).unwrap_err();
        assert!(error.contains(words), "{arguments:?} says: {error}");
    }
}
