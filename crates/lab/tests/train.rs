//! Contract: `cpss train` makes a policy, the same one again, and the same one after a stop; and
//! `cpss policies` finds the shipped ones as good as their cards say.
//!
//! Every run here is through the program itself, as small as can still learn something. Runs are
//! compared by the bytes of their files.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const SETTINGS: &str = "worlds = 3\n[dqn]\ntotal_steps = 900\nhidden = [16]\nbuffer_size = 500\n";

/// A directory with settings for small runs in it.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(TempDir::new().unwrap());
        std::fs::write(place.path("small.toml"), SETTINGS).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs `cpss` in the directory.
    fn cpss(&self, words: &str) -> Output {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("cpss");
        command.current_dir(&self.0).args(words.split_whitespace()).output().unwrap()
    }

    fn train(&self, words: &str) -> Output {
        self.cpss(&format!("train {words}"))
    }

    fn train_well(&self, words: &str) -> String {
        let output = self.train(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `cpss train`, which must fail and print nothing but a message; returns that.
    fn train_badly(&self, words: &str) -> String {
        let output = self.train(words);
        assert!(!output.status.success(), "{words} succeeded");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    }
}

const MERGE: &str = "--env merge-v0 --settings small.toml --score-episodes 5";

#[test]
fn a_run_leaves_a_policy_that_says_how_it_was_made() {
    let place = Place::new();
    let stdout = place.train_well(&format!("{MERGE} --seed 3 --out m.safetensors --json"));
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["env"], "merge-v0");
    assert_eq!(report["steps"], 900);
    assert_eq!(report["score"]["episodes"], 5);

    let policy = cpss_learn::Policy::from_bytes(&place.bytes("m.safetensors")).unwrap();
    let card = policy.card();
    assert_eq!((card["env"].as_str(), card["seed"].as_str()), ("merge-v0", "3"));
    assert_eq!((card["steps"].as_str(), card["worlds"].as_str()), ("900", "3"));
    let settings: cpss_learn::DqnSpec = serde_json::from_str(&card["settings"]).unwrap();
    assert_eq!(settings.hidden, [16]);
    let score: serde_json::Value = serde_json::from_str(&card["score"]).unwrap();
    assert_eq!(score, report["score"]);

    let log = String::from_utf8(place.bytes("m.csv")).unwrap();
    assert!(log.starts_with("steps,updates,episodes,incidents,return_mean"));
    assert!(log.lines().last().unwrap().starts_with("900,"));
    let events = std::fs::read_dir(place.path("m.tensorboard")).unwrap().next().unwrap().unwrap();
    assert!(events.file_name().to_string_lossy().contains("tfevents"));
    assert!(!place.path("m.checkpoint").exists());
}

#[test]
fn a_policy_without_a_name_is_called_after_its_task_and_seed() {
    let place = Place::new();
    assert!(place.train_well(MERGE).contains("wrote merge-v0-0.safetensors"));
    place.train_well(&format!("{MERGE} --seed 0 --out named.safetensors"));
    assert!(place.bytes("merge-v0-0.safetensors") == place.bytes("named.safetensors"));
}

#[test]
fn the_same_seed_makes_the_same_file_and_another_does_not() {
    let place = Place::new();
    for (seed, name) in [(0, "a"), (0, "b"), (1, "c")] {
        place.train_well(&format!("{MERGE} --seed {seed} --out {name}.safetensors"));
    }
    assert!(place.bytes("a.safetensors") == place.bytes("b.safetensors"));
    assert!(place.bytes("a.safetensors") != place.bytes("c.safetensors"));
}

#[test]
fn a_paused_run_ends_as_an_uninterrupted_one() {
    for task in ["merge-v0", "racetrack-v0"] {
        let place = Place::new();
        let words = format!("--env {task} --seed 0 --settings small.toml --score-episodes 2");
        place.train_well(&format!("{words} --out whole.safetensors"));
        for step in [100, 500] {
            let resume = if step == 100 { "" } else { "--resume" };
            let stop = format!("{words} --out cut.safetensors --pause-at {step} {resume}");
            assert!(place.train_badly(&stop).contains("with --resume to go on"));
            assert!(!place.path("cut.safetensors").exists());
        }
        place.train_well(&format!("{words} --out cut.safetensors --resume"));
        assert!(place.bytes("whole.safetensors") == place.bytes("cut.safetensors"), "{task}");
        assert!(place.bytes("whole.csv") == place.bytes("cut.csv"), "{task}");
        assert!(!place.path("cut.checkpoint").exists());
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_a_run_that_can_go_on() {
    let place = Place::new();
    // Long enough that it cannot be over before the signal comes.
    let words = "train --env merge-v0 --seed 0 --out long.safetensors --settings small.toml \
                 --score-episodes 2 --steps 100000000";
    let program = assert_cmd::cargo::cargo_bin!("cpss");
    let mut child = std::process::Command::new(program)
        .current_dir(&place.0)
        .args(words.split_whitespace())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&place.path("long.csv"));
    let interrupt = ["-INT".to_owned(), child.id().to_string()];
    assert!(std::process::Command::new("kill").args(interrupt).status().unwrap().success());
    assert!(!child.wait().unwrap().success());

    assert!(place.path("long.checkpoint").exists());
    let resume = "--env merge-v0 --seed 0 --out long.safetensors --settings small.toml \
                  --steps 100000000 --resume --pause-at 1";
    assert!(place.train_badly(resume).contains("stopped at step"));
}

#[test]
fn regression_a_killed_run_goes_on_and_ends_with_the_same_bytes() {
    let place = Place::new();
    let words = format!("{MERGE} --steps 80000");
    place.train_well(&format!("{words} --out whole.safetensors"));
    let cut = format!("train {words} --out cut.safetensors --checkpoint-every 0.05");
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("cpss"))
        .current_dir(&place.0)
        .args(cut.split_whitespace())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !place.path("cut.checkpoint").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint came");
        std::thread::sleep(Duration::from_millis(2));
    }
    // At once, as no process can prepare for.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.path("cut.safetensors").exists(), "it was over before it was killed");
    let log = String::from_utf8(place.bytes("cut.csv")).unwrap();
    assert!(log.lines().count() > 1, "the log was lost: {log}");

    place.train_well(&format!("{words} --out cut.safetensors --resume"));
    assert!(place.bytes("whole.safetensors") == place.bytes("cut.safetensors"));
    assert!(place.bytes("whole.csv") == place.bytes("cut.csv"));
    assert!(!place.path("cut.checkpoint").exists());
}

/// Waits for the log, which is opened just before the program listens for Ctrl-C.
fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn a_stopped_run_is_neither_overwritten_nor_mistaken_for_another() {
    let place = Place::new();
    let out = "--out m.safetensors --settings small.toml";
    place.train_badly(&format!("--env merge-v0 --seed 0 {out} --pause-at 300"));
    for (words, message) in [
        ("--env merge-v0 --seed 0", "go on with --resume, or delete it"),
        ("--env merge-v0 --seed 1 --resume", "is a run of seed 0, but --seed is 1"),
        ("--env merge-v0 --seed 0 --steps 1000 --resume", "begun with other settings"),
        ("--env highway-v0 --seed 0 --resume", "in highway-v0"),
        ("--env racetrack-v0 --seed 0 --resume", "in racetrack-v0"),
    ] {
        let error = place.train_badly(&format!("{words} {out}"));
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_damaged_checkpoint_is_an_error_that_names_the_file() {
    let place = Place::new();
    let words = format!("{MERGE} --seed 0 --out m.safetensors");
    assert!(
        place
            .train_badly(&format!("{words} --resume"))
            .contains("there is no run to go on with: m.checkpoint")
    );
    place.train_badly(&format!("{words} --pause-at 300"));
    let whole = place.bytes("m.checkpoint");
    for damaged in [&whole[..whole.len() / 2], b"not a checkpoint", b""] {
        std::fs::write(place.path("m.checkpoint"), damaged).unwrap();
        let error = place.train_badly(&format!("{words} --resume"));
        assert!(error.contains("cannot go on from m.checkpoint"), "{error}");
    }
}

#[test]
fn what_cannot_be_done_is_said_before_any_training() {
    let place = Place::new();
    std::fs::write(place.path("typo.toml"), "[dqn]\ngama = 0.9\n").unwrap();
    std::fs::write(place.path("worlds.toml"), "worlds = 0\n").unwrap();
    for (words, message) in [
        ("--env merge --out m.safetensors", "the tasks are merge-v0"),
        ("--env merge-v0 --out m.pt", "a policy is a .safetensors file, but --out is m.pt"),
        ("--env merge-v0 --out small.toml/m.safetensors", "small.toml/m.tensorboard"),
        ("--env merge-v0 --out m.safetensors --settings absent.toml", "absent.toml"),
        ("--env merge-v0 --out m.safetensors --settings typo.toml", "gama"),
        ("--env merge-v0 --out m.safetensors --settings worlds.toml", "`worlds` is 0"),
        ("--env merge-v0 --out m.safetensors --steps 0", "`total_steps` is 0"),
    ] {
        let error = place.train_badly(&format!("{words} --seed 0"));
        assert!(error.contains(message), "{error}");
    }
    assert!(!place.path("m.safetensors").exists());
}

#[test]
fn shipped_policies_drive_as_their_cards_say() {
    let place = Place::new();
    let output = place.cpss("policies --env merge-v0 --json");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tasks: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for task in tasks.as_array().unwrap() {
        let id = task["env"].as_str().unwrap().parse().unwrap();
        for seed in 0..cpss::tasks::SHIPPED_SEEDS {
            let policy = cpss::play::policy::shipped(id, seed).unwrap();
            let card: serde_json::Value = serde_json::from_str(&policy.card()["score"]).unwrap();
            let found = &task["drivers"][seed];
            assert_eq!(found["driver"], format!("`builtin:{seed}`"));
            // Another machine's sines may send a few of the thousand episodes another way.
            for (key, tolerance) in [("return_mean", 0.05), ("crashed_rate", 0.01)] {
                let apart = found[key].as_f64().unwrap() - card[key].as_f64().unwrap();
                assert!(apart.abs() <= tolerance, "{} {seed}: {key} by {apart}", id.name());
            }
        }
    }
}

#[test]
fn tables_go_between_the_markers_of_a_document_or_nowhere() {
    use cpss::report::document::POLICIES;
    let (begin, end) = (POLICIES.begin, POLICIES.end);
    let place = Place::new();
    let write = "policies --env merge-v0 --episodes 2 --write doc.md";
    std::fs::write(place.path("doc.md"), "no markers\n").unwrap();
    let output = place.cpss(write);
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("doc.md lacks the lines"));

    std::fs::write(place.path("doc.md"), format!("above\n{begin}\n{end}\nbelow\n")).unwrap();
    assert!(place.cpss(write).status.success());
    let document = String::from_utf8(place.bytes("doc.md")).unwrap();
    assert!(document.starts_with("above\n") && document.ends_with("\nbelow\n"));
    for line in ["### merge-v0", "| `builtin:4` |", "| always SLOWER |", "| random |"] {
        assert!(document.contains(line), "{document}");
    }
}
