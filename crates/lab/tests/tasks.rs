//! Contract: a task is one file in `crates/highway`, one folder, and one training command, as
//! `docs/adding-a-task.md` says. Nothing else matches on a task's name; what the page shows can be read; and the
//! command makes every file that a task is shipped with.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpss::tasks::{self, TaskSpec};
use cpss_highway::TaskId;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(top().join("docs/adding-a-task.md")).unwrap()
}

/// All files below a place with one of these endings.
fn files(place: &Path, endings: &[&str], into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(place).unwrap().flatten() {
        let path = entry.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        if path.is_dir() && !path.ends_with("node_modules") {
            files(&path, endings, into);
        } else if endings.contains(&ending) {
            into.push(path);
        }
    }
}

/// A file's code: no comments, no inline tests.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is_code = |line: &&str| !["//", "#", "*", ">>>"].iter().any(|c| line.trim().starts_with(c));
    code.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_code_but_the_worlds_matches_on_a_task() {
    let mut sources = Vec::new();
    for place in ["crates/lab/src", "crates/risk/src", "crates/learn/src", "python/src"] {
        files(&top().join(place), &["rs"], &mut sources);
    }
    sources.retain(|path| !path.ends_with("tests.rs"));
    assert!(sources.len() > 100, "{}", sources.len());
    for path in sources {
        let code = code_of(&path);
        for id in TaskId::ALL {
            let variant = format!("TaskId::{id:?}");
            assert!(!code.contains(&variant), "{} matches on {variant}", path.display());
            // The paper's four tasks are a column of the paper's tables.
            let quoted = format!("\"{}\"", id.name());
            let is_the_papers = path.ends_with("paper.rs");
            assert!(is_the_papers || !code.contains(&quoted), "{} names {quoted}", path.display());
        }
    }
}

#[test]
fn no_script_and_no_page_has_a_list_of_tasks() {
    let mut sources = vec![top().join("bench/compare"), top().join("check")];
    files(&top().join("python/package"), &["py"], &mut sources);
    files(&top().join("crates/highway/scripts"), &["py"], &mut sources);
    files(&top().join("crates/learn/scripts"), &["py"], &mut sources);
    for entry in fs::read_dir(top().join("viewer")).unwrap().flatten() {
        sources
            .extend(Some(entry.path()).filter(|path| path.extension().is_some_and(|e| e == "js")));
    }
    sources.push(top().join("python/transfer.py"));
    for path in sources {
        let code = code_of(&path);
        let named = |id: &TaskId| {
            let family = id.name().split('-').next().unwrap();
            [id.name(), family].iter().any(|name| code.contains(&format!("\"{name}\"")))
        };
        // One may serve as an example; two are a list.
        let mut folders: Vec<&str> =
            TaskId::ALL.into_iter().filter(named).map(|id| tasks::of(id).folder).collect();
        folders.dedup();
        assert!(folders.len() < 2, "{} lists {folders:?}", path.display());
    }
}

#[test]
fn what_the_page_shows_can_be_read() {
    let page = page();
    let shown = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let spec: TaskSpec = toml::from_str(shown).unwrap();
    assert!(spec.shield.is_some() && spec.versions.contains_key("roundabout-v1"));
    let line = page.split("```rust,ignore\n").nth(1).unwrap().split("```").next().unwrap();
    let world = fs::read_to_string(top().join("crates/highway/src/task/mod.rs")).unwrap();
    assert!(world.contains(line), "the world has no such line: {line}");
    for word in page.split(|sign: char| sign == '`' || sign.is_whitespace()) {
        let is_path = ["crates/", "python/", "tasks/"].iter().any(|start| word.starts_with(start));
        let is_example = ["NAME", "ID", "..."].iter().any(|part| word.contains(part));
        let path = top().join(word.trim_end_matches([',', '.', ':', ';', ')', '/']));
        assert!(!is_path || is_example || path.exists(), "there is no {word}");
    }
    let named =
        page.split("cpss ").skip(1).map(|rest| rest.split([' ', '`', '\n']).next().unwrap());
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(|sign| sign.is_alphabetic());
    let commands: Vec<&str> = named.filter(is_word).collect();
    assert!(commands.contains(&"prepare") && commands.len() > 5, "{commands:?}");
    commands.into_iter().for_each(|command| drop(cpss(&[command, "--help"])));
}

fn cpss(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cpss")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn one_command_makes_every_file_and_leaves_alone_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    // Four policies are there; one is missing, and both critics.
    let entry = tasks::of(TaskId::MergeV0);
    for seed in [0, 1, 2, 4] {
        fs::write(place(&format!("{seed}.safetensors")), entry.policy(seed).unwrap()).unwrap();
    }
    let out = folder.path().to_str().unwrap();
    let arguments = ["prepare", "--env", "merge-v0", "--quick", "--out", out];
    assert!(cpss(&arguments).contains("is ready"));
    assert_eq!(fs::read(place("4.safetensors")).unwrap(), entry.policy(4).unwrap());
    assert_ne!(fs::read(place("3.safetensors")).unwrap(), entry.policy(3).unwrap());
    for critic in ["risk.safetensors", "risk-stationary.safetensors"] {
        let file = place(critic);
        cpss(&[
            "evaluate",
            "--env",
            "merge-v0",
            "--episodes",
            "2",
            "--risk",
            file.to_str().unwrap(),
        ]);
    }
    let made = fs::metadata(place("risk.safetensors")).unwrap().modified().unwrap();
    cpss(&arguments);
    assert_eq!(fs::metadata(place("risk.safetensors")).unwrap().modified().unwrap(), made);
}

#[test]
fn regression_a_folder_that_was_changed_since_the_build_is_not_trained_by() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("tasks/merge-v0");
    fs::create_dir_all(&place).unwrap();
    for file in ["task.toml", "train.toml"] {
        fs::copy(top().join("tasks/merge-v0").join(file), place.join(file)).unwrap();
    }
    fs::write(place.join("train.toml"), "steps = 7\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpss"));
    let command = command.current_dir(folder.path());
    let output = command.args(["prepare", "--env", "merge-v0", "--quick"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("train.toml is not what"), "{said}");
    assert!(said.contains("build again"), "{said}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 2, "nothing was trained");
}

#[test]
fn the_list_says_what_is_shipped() {
    let listed: serde_json::Value = serde_json::from_str(&cpss(&["tasks", "--json"])).unwrap();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), TaskId::ALL.len());
    for (task, id) in listed.iter().zip(TaskId::ALL) {
        assert_eq!(task["id"], id.name());
        let is_shipped = task["policies"] == 5 && task["critics"] == 2;
        assert_eq!(is_shipped, tasks::shipped().contains(&id), "{task}");
    }
    assert!(cpss(&["tasks"]).contains("highway-v0"));
}
