//! Contract: whoever reads the command's output may leave, and the disk it goes to may be full. A reader that
//! leaves ends nothing and changes no exit status; results that cannot be written are an error in words;
//! notes that cannot be written are not missed. Nothing panics.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PLAN: &str = "tasks = [\"merge-v0\"]\nregimes = [\"stationary\"]\narms = [\"dqn\", \"cpss\"]\n\
                    policies = [0]\nepisodes = 2\nbudgets = []\nthresholds = []\n";

/// A folder with a plan, settings for small training runs and a trace.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    let settings = "worlds = 2\n[dqn]\ntotal_steps = 200\nhidden = [8]\n";
    fs::write(folder.path().join("small.toml"), settings).unwrap();
    let words = "evaluate --env merge-v0 --episodes 1 --trace traces";
    assert!(command(folder.path(), words).output().unwrap().status.success());
    let entry = fs::read_dir(folder.path().join("traces")).unwrap().next().unwrap().unwrap();
    fs::rename(entry.path(), folder.path().join("trace.jsonl")).unwrap();
    folder
}

fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpss"));
    command.current_dir(folder).args(words.split_whitespace()).stdin(Stdio::null());
    command
}

/// Every subcommand, as small as it gets.
const ALL: [&str; 10] = [
    "rollout --env merge-v0 --seed 7 --actions 3,3,1,0",
    "evaluate --env merge-v0 --episodes 1",
    "evaluate --env merge-v0 --episodes 1 --json",
    "train --env merge-v0 --settings small.toml --score-episodes 1",
    "policies --env merge-v0 --episodes 1",
    "audit trace.jsonl",
    "replay trace.jsonl --no-open",
    "bench --seconds 0.01 --env merge-v0",
    "run --plan plan.toml --out share",
    "merge --plan plan.toml --out merged share",
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs with standard output into a pipe that nobody reads.
fn unread(folder: &Path, words: &str) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command(folder, words).stdout(writer).stderr(Stdio::piped()).output().unwrap()
}

#[test]
fn regression_a_reader_that_leaves_changes_nothing() {
    let folder = folder();
    for words in ALL.into_iter().chain(["reproduce --plan plan.toml"]) {
        let run = unread(folder.path(), words);
        let said = text(&run.stderr);
        assert!(run.status.success(), "{words}: {} {said}", run.status);
        assert!(!said.contains("panic") && !said.contains("error"), "{words}: {said}");
    }
    // Its work is done all the same, and what it found is still in the exit status.
    assert!(folder.path().join("out/report.html").exists());
    let cut = fs::read(folder.path().join("trace.jsonl")).unwrap();
    fs::write(folder.path().join("cut.jsonl"), &cut[..cut.len() / 2]).unwrap();
    let run = unread(folder.path(), "audit trace.jsonl cut.jsonl");
    assert_eq!(run.status.code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn regression_a_full_disk_is_an_error_in_words() {
    let folder = folder();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for words in ALL {
        let run = command(folder.path(), words).stdout(full()).stderr(Stdio::piped()).output();
        let run = run.unwrap();
        let said = text(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains("standard output") && said.contains("No space left"), "{said}");
        assert!(!said.contains("panic"), "{words}: {said}");
    }
    for words in ["bench --seconds 0.01 --env merge-v0", "audit trace.jsonl nowhere.jsonl"] {
        let run = command(folder.path(), words).stdout(Stdio::piped()).stderr(full()).output();
        let code = run.unwrap().status.code();
        assert_eq!(code, Some(i32::from(words.contains("nowhere"))), "{words}");
    }
}

#[test]
fn regression_a_log_shows_how_far_the_work_is() {
    let folder = folder();
    for (words, unit) in [
        ("train --env merge-v0 --settings small.toml --steps 100000000", "of 100000000 steps, "),
        ("evaluate --env merge-v0 --episodes 10000000 --method random", "of 10000000 episodes, "),
    ] {
        let mut child = command(folder.path(), words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(line.contains(unit) && line.contains("/s, "), "{line}");
    }
}
