//! Contract: an experiment that is killed goes on where it was and ends with the same bytes; shares
//! of a plan merge to the same bytes as one run; nothing finished is lost or done twice.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PLAN: &str = r#"
tasks = ["merge-v0"]
regimes = ["stationary", "high"]
arms = ["dqn", "cpss"]
policies = [0, 1]
episodes = 6
budgets = [0.01]
thresholds = []
frontier_episodes = 1
first_seed = 1000000
"#;

fn cpss(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_cpss"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    (run.status.success(), String::from_utf8(run.stderr).unwrap())
}

/// Every file below a folder, with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            for (below, bytes) in contents(&entry.path()) {
                found.insert(format!("{name}/{below}"), bytes);
            }
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn folder_with_plan() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    folder
}

fn merged(folder: &Path, out: &str, shares: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let (success, error) =
        cpss(folder, &[&["merge", "--plan", "plan.toml", "--out", out], shares].concat());
    assert!(success, "{error}");
    contents(&folder.join(out))
}

#[test]
fn shares_merge_to_the_bytes_of_one_run() {
    let folder = folder_with_plan();
    for (shard, out) in [("0/1", "whole"), ("0/3", "a"), ("1/3", "b"), ("2/3", "c")] {
        let (success, error) =
            cpss(folder.path(), &["run", "--plan", "plan.toml", "--shard", shard, "--out", out]);
        assert!(success, "{error}");
    }
    let whole = merged(folder.path(), "all-of-one", &["whole"]);
    assert_eq!(whole, merged(folder.path(), "all-of-three", &["c", "a", "b"]));
    assert_eq!(whole.keys().filter(|name| name.starts_with("records/")).count(), 20);
    for folder in ["figures/", "tables/", "traces/"] {
        assert!(whole.keys().any(|name| name.starts_with(folder)), "no {folder}");
    }
    assert!(whole.contains_key("report.html"));
    let table = String::from_utf8(whole["tables.md"].clone()).unwrap();
    assert!(table.contains("| merge-v0 |"), "{table}");

    let (success, error) =
        cpss(folder.path(), &["merge", "--plan", "plan.toml", "--out", "x", "a", "b"]);
    assert!(!success && error.contains("no share has finished the unit"), "{error}");
}

#[test]
fn a_killed_run_goes_on_and_ends_with_the_same_bytes() {
    let folder = folder_with_plan();
    let run = ["reproduce", "--plan", "plan.toml", "--out"];
    assert!(cpss(folder.path(), &[run.as_slice(), &["calm"]].concat()).0);
    // Killed again and again, a little later each time, until it comes through.
    let mut kills = 0;
    for patience in (1..).map(|round| Duration::from_millis(40 * round)) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cpss"))
            .current_dir(folder.path())
            .args(run)
            .arg("killed")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(patience);
        if child.try_wait().unwrap().is_some_and(|status| status.success()) {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills > 0, "it was never killed");
    let calm = contents(&folder.path().join("calm"));
    assert!(calm.contains_key("tables.md") && calm.contains_key("traces/index.json"));
    assert_eq!(calm, contents(&folder.path().join("killed")));
}

#[test]
fn regression_two_runs_do_not_trip_over_each_other_in_one_folder() {
    let folder = folder_with_plan();
    let run = ["reproduce", "--plan", "plan.toml"];
    // Long enough that it is still at it when the second comes.
    fs::write(folder.path().join("long.toml"), PLAN.replace("episodes = 6", "episodes = 100000"))
        .unwrap();
    let mut first = Command::new(env!("CARGO_BIN_EXE_cpss"))
        .current_dir(folder.path())
        .args(["reproduce", "--plan", "long.toml"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.path().join("out/records").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    for second in [run.as_slice(), &["run", "--plan", "plan.toml"]] {
        let (success, error) = cpss(folder.path(), second);
        let holder = format!("is in use by process {} (`cpss reproduce --plan", first.id());
        assert!(!success && error.contains(&holder), "{error}");
    }
    // Killed, it blocks nobody, though its name still stands there.
    first.kill().unwrap();
    first.wait().unwrap();
    let (success, error) = cpss(folder.path(), &run);
    assert!(success, "{error}");
}

#[test]
fn regression_two_runs_do_not_make_the_same_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (words, out) in [
        ("train --env merge-v0 --steps 100000000 --out a.safetensors", "a.safetensors"),
        ("risk learn --env merge-v0 --out b.safetensors", "b.safetensors"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut first = Command::new(env!("CARGO_BIN_EXE_cpss"))
            .current_dir(folder.path())
            .args(&words)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Its log is opened after its lock is taken.
        while !folder.path().join(out).with_extension("csv").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (success, error) = cpss(folder.path(), &words);
        let holder = format!("{out} is in use by process {} (`cpss ", first.id());
        assert!(!success && error.contains(&holder), "{error}");
        first.kill().unwrap();
        first.wait().unwrap();
    }
    // Killed, it blocks nobody.
    let again = ["train", "--env", "merge-v0", "--steps", "8", "--score-episodes", "1", "--out"];
    let (success, error) = cpss(folder.path(), &[again.as_slice(), &["a.safetensors"]].concat());
    assert!(success, "{error}");
    assert!(!folder.path().join("a.safetensors.cpss-lock").exists());
}

#[test]
fn regression_shares_that_are_none_and_records_of_other_settings_are_named() {
    let folder = folder_with_plan();
    let merge =
        |share| cpss(folder.path(), &["merge", "--plan", "plan.toml", "--out", "all", share]);
    for share in ["absent", "plan.toml"] {
        let (success, error) = merge(share);
        assert!(!success && error.contains(&format!("{share} is no share of a plan")), "{error}");
    }
    assert!(cpss(folder.path(), &["run", "--plan", "plan.toml", "--out", "share"]).0);
    let place = folder.path().join("share/records/merge-v0_high_cpss_0_1020000_6.json");
    fs::write(place, "{}").unwrap();
    let (success, error) = merge("share");
    assert!(!success && error.contains("no share has finished the unit"), "{error}");
    assert!(error.contains("what share has of it is damaged, or was made by another"), "{error}");
}

#[test]
fn finished_units_are_not_done_again_and_damaged_ones_are() {
    let folder = folder_with_plan();
    let run = ["run", "--plan", "plan.toml", "--out", "out"];
    assert!(cpss(folder.path(), &run).0);
    let before = contents(&folder.path().join("out"));
    let (name, bytes) = before.first_key_value().unwrap();
    let place = folder.path().join("out").join(name);
    fs::write(&place, &bytes[..bytes.len() / 2]).unwrap();
    let untouched = folder.path().join("out").join(before.last_key_value().unwrap().0);
    let written_at = fs::metadata(&untouched).unwrap().modified().unwrap();
    assert!(cpss(folder.path(), &run).0);
    assert_eq!(contents(&folder.path().join("out")), before);
    assert_eq!(fs::metadata(&untouched).unwrap().modified().unwrap(), written_at);
}

#[test]
fn a_record_that_its_episode_does_not_come_to_is_found() {
    let folder = folder_with_plan();
    let run = ["reproduce", "--plan", "plan.toml", "--out", "out"];
    assert!(cpss(folder.path(), &run).0);
    // The first episode of a cell is always among those that are played again.
    let place = folder.path().join("out/records/merge-v0_high_cpss_0_1020000_6.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    let speed = &mut record["episodes"][0]["mean_speed"];
    *speed = serde_json::json!(speed.as_f64().unwrap() + 1.0);
    fs::write(&place, serde_json::to_vec(&record).unwrap()).unwrap();
    let (success, error) = cpss(folder.path(), &run);
    assert!(!success && error.contains("does not come out as its record says"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = folder_with_plan();
    fs::write(folder.path().join("file"), "not a folder").unwrap();
    let (success, error) = cpss(folder.path(), &["run", "--plan", "plan.toml", "--out", "file"]);
    assert!(!success && error.contains("cannot make the folder"), "{error}");
    fs::write(folder.path().join("bad.toml"), "episodez = 3").unwrap();
    let (success, error) = cpss(folder.path(), &["run", "--plan", "bad.toml"]);
    assert!(!success && error.contains("episodez"), "{error}");
    let (success, error) = cpss(folder.path(), &["run", "--plan", "plan.toml", "--shard", "3/3"]);
    assert!(!success && error.contains("0 to N-1"), "{error}");
}
