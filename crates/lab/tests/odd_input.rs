//! Contract: whatever a person types, the answer is an error in words that names what is wrong, at once and not
//! after hours of work, and nothing that was there is lost.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the command, which has to fail in words; returns them.
fn refusal(folder: &Path, words: &str) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_cpss"))
        .current_dir(folder)
        .args(words.split_whitespace())
        .output()
        .unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{words}: {said}");
    assert!(said.contains("error: ") && !said.contains("panicked"), "{words}: {said}");
    said
}

#[test]
fn regression_a_page_never_takes_the_place_of_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let evaluate = "evaluate --env merge-v0 --episodes 1 --trace .";
    let made = Command::new(env!("CARGO_BIN_EXE_cpss"))
        .current_dir(folder.path())
        .args(evaluate.split_whitespace())
        .output();
    assert!(made.unwrap().status.success());
    let trace = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&trace).unwrap();
    let html = folder.path().join("trace.html");
    fs::rename(trace, &html).unwrap();
    for words in ["replay trace.html --no-open", "replay trace.html --no-open --out ./trace.html"] {
        assert!(refusal(folder.path(), words).contains("would take the place of the trace"));
    }
    assert!(fs::read(html).unwrap() == bytes);
}

#[test]
fn regression_where_results_cannot_go_is_said_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder.safetensors")).unwrap();
    fs::write(folder.path().join("plain.md"), "no markers").unwrap();
    fs::write(folder.path().join("endless.toml"), "#".repeat(3 << 20)).unwrap();
    // Each of these would take far longer than anybody waits, if it began.
    for (words, message) in [
        ("train --env merge-v0 --steps 1000000000 --out folder.safetensors", "is a folder"),
        ("train --env merge-v0 --steps 1000000000 --out new.safetensors/", "is a folder"),
        ("reproduce --full --write nowhere.md", "nowhere.md"),
        ("reproduce --full --write plain.md", "plain.md lacks the lines"),
        ("bench --seconds 3600 --write plain.md", "plain.md lacks the lines"),
        ("policies --episodes 500000 --write plain.md", "plain.md lacks the lines"),
        ("risk learn --env merge-v0 --rounds 100 --out folder.safetensors", "is a folder"),
        ("risk calibrate --env merge-v0 --episodes 25000 --out folder.safetensors", "is a folder"),
        ("risk calibrate --env merge-v0 --episodes 25000 --out x.onnx", "a .safetensors file"),
        ("risk calibrate --env merge-v0 --episodes 25000 --out no/x.safetensors", "no folder no"),
        ("train --env merge-v0 --resume --out none.safetensors", "leave --resume out to begin one"),
        (
            "risk calibrate --env merge-v0 --out x.safetensors --fresh 18446744073709551615",
            "do not fit into",
        ),
        (
            "risk calibrate --env merge-v0 --out x.safetensors --fresh 800000",
            "at the earliest, not at 800000",
        ),
        (
            "risk calibrate --env merge-v0 --out x.safetensors --regimes high,high",
            "high is given twice",
        ),
        ("evaluate --env merge-v0 --regime endless.toml", "larger than 1 MiB"),
    ] {
        let said = refusal(folder.path(), words);
        assert!(said.contains(message), "{words}: {said}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "something was left behind");
}

#[test]
fn regression_a_regime_of_a_million_cars_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let regime = "name = \"x\"\npeak = 1.0\nchanges = 1\n[full.extra_cars]\nmerge_ramp = 1000000\n";
    fs::write(folder.path().join("crowd.toml"), regime).unwrap();
    let said = refusal(folder.path(), "evaluate --env merge-v0 --regime crowd.toml");
    let words = "`full.extra_cars` is out of range: 1000000, not from 0 to 100";
    assert!(said.contains(words), "{said}");
}

#[test]
fn folders_in_the_place_of_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["d.toml", "d.onnx", "d.safetensors"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for words in [
        "evaluate --env merge-v0 --regime d.toml",
        "evaluate --env merge-v0 --shield d.toml",
        "evaluate --env merge-v0 --policy d.onnx",
        "evaluate --env merge-v0 --policy d.safetensors",
        "evaluate --env merge-v0 --risk d.safetensors",
        "reproduce --plan d.toml",
        "train --env merge-v0 --settings d.toml",
        "rollout --env merge-v0 --seed 1 --actions 1 --config-file d.toml",
        "audit d.toml",
        "replay d.toml",
    ] {
        let said = refusal(folder.path(), words);
        assert!(said.contains("d."), "{words}: {said}");
    }
}

#[test]
fn regression_what_is_no_trace_is_called_that_and_a_version_is_not_called_forged() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("empty.jsonl", "");
    write("notes.md", "# Notes\n\nNothing here is a trace.\n");
    write("old.jsonl", "{\"cpss_trace\":2}\n");
    for name in ["empty.jsonl", "notes.md"] {
        let said = refusal(folder.path(), &format!("audit {name}"));
        assert!(said.contains("this is no trace") && !said.contains("above"), "{said}");
    }
    let said = refusal(folder.path(), "audit old.jsonl");
    assert!(said.contains("of version 2") && !said.contains("not as it was written"), "{said}");
}

#[test]
fn regression_a_misspelt_critic_is_told_what_there_is_and_a_damaged_one_once_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let said = refusal(folder.path(), "evaluate --env merge-v0 --risk Drift");
    assert!(said.contains("give drift, sensed, stationary, or a file"), "{said}");
    fs::write(folder.path().join("empty.safetensors"), "").unwrap();
    let said = refusal(folder.path(), "evaluate --env merge-v0 --risk empty.safetensors");
    assert_eq!(said.matches("not whole").count(), 1, "{said}");
}

#[test]
fn regression_an_action_that_is_missing_is_not_skipped() {
    let folder = tempfile::tempdir().unwrap();
    for actions in ["1,,3", ",", "1,2,"] {
        let words = format!("rollout --env merge-v0 --seed 1 --actions {actions}");
        let said = refusal(folder.path(), &words);
        assert!(said.contains("is missing"), "{said}");
    }
    let words = "rollout --env highway-v0 --seed 1 --actions 1 --config {\"duration\":1e9}";
    assert!(refusal(folder.path(), words).contains("at most a million"));
}

#[cfg(target_os = "linux")]
#[test]
fn regression_threads_that_cannot_be_started_are_an_error_in_words() {
    // Every thread reserves room for its stack, of which there is not enough.
    let run = Command::new("sh")
        .args(["-c", "ulimit -v 700000; exec \"$0\" evaluate --env merge-v0 --episodes 1"])
        .arg(env!("CARGO_BIN_EXE_cpss"))
        .env("RAYON_NUM_THREADS", "1000")
        .output()
        .unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains("RAYON_NUM_THREADS") && !said.contains("panicked"), "{said}");
}
