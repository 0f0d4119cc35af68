//! Contract: `cpss risk learn` makes the same file from the same settings, byte for byte, whether it was killed on the
//! way or not; another seed makes another. The file says how it was made, and `evaluate`, `risk score` and
//! `risk calibrate` take it; a file that is none is refused by name.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn cpss(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpss"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A small run at the merge.
fn learn(out: &Path, seed: &str, threads: &str) -> Command {
    let out = out.to_str().unwrap();
    let small = ["--rounds", "2", "--decisions", "3000", "--updates", "60", "--episodes", "100"];
    let mut command = cpss(&["risk", "learn", "--env", "merge-v0", "--out", out, "--seed", seed]);
    command.args(small).env("RAYON_NUM_THREADS", threads);
    command
}

fn done(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn the_same_settings_give_the_same_bytes_killed_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    done(learn(&place("a.safetensors"), "0", "1"));
    let bytes = std::fs::read(place("a.safetensors")).unwrap();
    done(learn(&place("other.safetensors"), "1", "2"));
    assert_ne!(std::fs::read(place("other.safetensors")).unwrap(), bytes);

    let mut killed = learn(&place("b.safetensors"), "0", "2");
    let mut child = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now();
    while !place("b.checkpoint").exists() && child.try_wait().unwrap().is_none() {
        assert!(patience.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    done(learn(&place("b.safetensors"), "0", "2"));
    assert_eq!(std::fs::read(place("b.safetensors")).unwrap(), bytes);
    assert!(!place("b.checkpoint").exists());
    let log = std::fs::read_to_string(place("a.csv")).unwrap();
    assert!(log.starts_with("updates,loss,incidents") && log.lines().count() > 10, "{log}");
    assert!(place("a.tensorboard").read_dir().unwrap().next().is_some());
}

#[test]
fn a_critic_of_one_s_own_serves_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.safetensors");
    done(learn(&file, "0", "2"));
    let mine = file.to_str().unwrap();
    let evaluate = ["evaluate", "--env", "merge-v0", "--episodes", "4", "--json", "--risk", mine];
    let output = done(cpss(&evaluate));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let account = &summary["account"];
    let part = |name: &str| account[name].as_f64().unwrap();
    let sum = part("start") + part("chosen") + part("surprise") + part("arriving");
    assert!((sum - summary["collision_rate"].as_f64().unwrap()).abs() < 1e-9);
    let score =
        ["risk", "score", "--env", "merge-v0", "--episodes", "20", "--json", "--risk", mine];
    let score: serde_json::Value = serde_json::from_slice(&done(cpss(&score)).stdout).unwrap();
    assert_eq!(score["card"]["learning"]["rounds"], 2);
    assert_eq!(score["frontier"].as_array().unwrap().len(), 6);
    assert_eq!(score["hash"].as_str().unwrap().len(), 64);
    // Of another task, whether or not its actions have the same names.
    for other in ["racetrack-v0", "highway-v0"] {
        let foreign = ["evaluate", "--env", other, "--episodes", "1", "--risk", mine];
        let refused = cpss(&foreign).output().unwrap();
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && words.contains("was learned in merge-v0"), "{words}");
    }
}

#[test]
fn what_is_no_critic_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nonsense.safetensors");
    std::fs::write(&file, b"no critic at all").unwrap();
    for path in [file.to_str().unwrap(), "nowhere.safetensors"] {
        let output = cpss(&["evaluate", "--env", "merge-v0", "--episodes", "1", "--risk", path]);
        let output = { output }.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && words.contains(path), "{words}");
    }
}
