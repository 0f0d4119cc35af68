//! Contract: a policy that was made elsewhere drives with what it sees, by `--config`, by its card or by a plan, and
//! nothing else changes: not the traffic, and not what the shield says.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use cpss_learn::{Activation, Network, Policy, Topology};
use serde_json::Value;

/// Values at the intersection: in highway-env's default observation, and in ours.
const UPSTREAM: usize = 15 * 7;
const OURS: usize = 14 * 10 * 7;

/// Writes a policy that values every action the same, whatever it sees, and so proposes the first.
fn write_policy(place: &Path, inputs: usize, actions: usize, config: Option<&str>) {
    let topology = Topology::mlp(inputs, &[4], actions, Activation::Relu, false).unwrap();
    let card = config.map(|config| ("config".to_owned(), config.to_owned()));
    let card: BTreeMap<String, String> = card.into_iter().collect();
    fs::write(place, Policy::new(Network::zeros(topology), card).to_bytes()).unwrap();
}

fn cpss(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let run = Command::new(env!("CARGO_BIN_EXE_cpss"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    match run.status.success() {
        true => Ok(String::from_utf8(run.stdout).unwrap()),
        false => Err(String::from_utf8(run.stderr).unwrap()),
    }
}

/// One cell at a task under drift, without its speed.
fn evaluate(folder: &Path, task: &str, rest: &[&str]) -> Result<Value, String> {
    let cell = ["evaluate", "--env", task, "--regime", "high", "--episodes", "6", "--json"];
    let mut summary: Value =
        serde_json::from_str(&cpss(folder, &[cell.as_slice(), rest].concat())?).unwrap();
    for clock in ["steps_per_second", "decision_p50_us", "decision_p99_us"] {
        summary[clock] = Value::Null;
    }
    Ok(summary)
}

#[test]
fn regression_a_policy_that_sees_upstreams_default_can_be_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    write_policy(&place("ours.safetensors"), OURS, 3, None);
    write_policy(&place("plain.safetensors"), UPSTREAM, 3, None);
    write_policy(&place("card.safetensors"), UPSTREAM, 3, Some("{}"));
    let drive = |rest: &[&str]| evaluate(folder.path(), "intersection-v0", rest);

    let error = drive(&["--policy", "plain.safetensors"]).unwrap_err();
    assert!(error.contains("105") && error.contains("980"), "{error}");
    assert!(error.contains("--config"), "the way out is said: {error}");
    let ours = drive(&["--policy", "ours.safetensors"]).unwrap();
    assert!(ours["intervention_rate"].is_number());
    // The proposals are the same, so what the shield says and what comes of it have to be.
    assert_eq!(drive(&["--policy", "plain.safetensors", "--config", "{}"]).unwrap(), ours);
    assert_eq!(drive(&["--policy", "card.safetensors"]).unwrap(), ours);

    let grid = r#"{"observation": {"type": "OccupancyGrid"}}"#;
    let error = drive(&["--policy", "card.safetensors", "--config", grid]).unwrap_err();
    assert!(error.contains("the card of card.safetensors says"), "{error}");
    let error = drive(&["--policy", "plain.safetensors", "--config", "{"]).unwrap_err();
    assert!(error.contains("not valid JSON"), "{error}");
}

#[test]
fn on_the_racetrack_too_and_without_a_policy_nothing_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    // Upstream's grid: two features of 12 by 12 cells.
    write_policy(&folder.path().join("plain.safetensors"), 2 * 12 * 12, 5, None);
    let drive = |rest: &[&str]| evaluate(folder.path(), "racetrack-v0", rest);
    drive(&["--policy", "plain.safetensors", "--config", "{}"]).unwrap();
    let floor = ["--method", "constant:2"];
    let blind = drive(&floor).unwrap();
    assert_eq!(drive(&[floor.as_slice(), &["--config", "{}"]].concat()).unwrap(), blind);
    let error = drive(&[floor.as_slice(), &["--config", r#"{"duration": 3}"#]].concat());
    assert!(error.unwrap_err().contains("`duration` is not about what the policy sees"));
}

const PLAN: &str = r#"
tasks = ["intersection-v0"]
regimes = ["stationary"]
arms = ["dqn", "cpss"]
policies = [0, 1]
episodes = 2
budgets = []
thresholds = []
[own.intersection-v0]
files = ["a.safetensors", "b.safetensors"]
"#;

#[test]
fn a_plan_names_policies_and_what_they_see() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    for name in ["a.safetensors", "b.safetensors"] {
        write_policy(&folder.path().join(name), UPSTREAM, 3, None);
    }
    write("plan.toml", PLAN);
    write("sees.toml", &format!("{PLAN}config = {{}}\n"));
    write("more.toml", &PLAN.replace("[0, 1]", "[0, 1, 2]"));
    write("shipped.toml", PLAN.split("[own").next().unwrap());
    let reproduce = |rest: &[&str]| cpss(folder.path(), &[&["reproduce", "--plan"], rest].concat());

    let error = reproduce(&["plan.toml"]).unwrap_err();
    assert!(error.contains("105") && error.contains("policy 0 of intersection-v0"), "{error}");
    reproduce(&["sees.toml", "--out", "by-plan"]).unwrap();
    reproduce(&["plan.toml", "--config", "{}", "--out", "by-option"]).unwrap();
    let table = |out: &str| fs::read_to_string(folder.path().join(out).join("tables.md")).unwrap();
    assert_eq!(table("by-plan"), table("by-option"));
    let report = fs::read_to_string(folder.path().join("by-option/report.html")).unwrap();
    assert!(report.contains("for intersection-v0 a.safetensors, b.safetensors"));

    let error = reproduce(&["more.toml"]).unwrap_err();
    assert!(error.contains("policy 2 of intersection-v0, but `own` has 2 files"), "{error}");
    let error = reproduce(&["shipped.toml", "--config", "{}"]).unwrap_err();
    assert!(error.contains("under [own.TASK]"), "{error}");
}
