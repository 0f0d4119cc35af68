//! Contract: `cpss reproduce --baselines` plays the policies of a folder on the same episodes as the shipped ones, goes on
//! where it was, and puts its tables where it is told to.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cpss_learn::Policy;
use cpss_learn::policy::card;
use serde_json::Value;

const PLAN: &str = "tasks = [\"merge-v0\"]\nregimes = [\"stationary\", \"high\"]\npolicies = [0, 2]\n\
                    methods = [\"dqn\", \"cpo\", \"static-shield\"]\nepisodes = 3\nfirst_seed = 1000000\n";

const MARKERS: [&str; 2] = ["<!-- cpss baselines: begin -->", "<!-- cpss baselines: end -->"];

fn reproduce(folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cpss"))
        .current_dir(folder)
        .args(["reproduce", "--baselines", "--plan", "plan.toml"])
        .args(more)
        .output()
        .unwrap()
}

/// A folder with a plan, a document, and shipped policies under the names of other methods.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
    let document = format!("above\n{}\n{}\nbelow\n", MARKERS[0], MARKERS[1]);
    fs::write(folder.path().join("doc.md"), document).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks/merge-v0");
    for method in ["cpo", "static-shield"] {
        let place = folder.path().join("baselines/merge-v0").join(method);
        fs::create_dir_all(&place).unwrap();
        for seed in [0, 2] {
            let name = format!("{seed}.safetensors");
            let bytes = fs::read(shipped.join(&name)).unwrap();
            let policy = Policy::from_bytes(&bytes).unwrap();
            let mut card = policy.card().clone();
            card.insert(card::ALGORITHM.to_owned(), method.to_owned());
            let named = Policy::new(policy.network().clone(), card);
            fs::write(place.join(&name), named.to_bytes()).unwrap();
        }
    }
    folder
}

/// The records of a method's folder, by name, without what says whose policy drove.
fn episodes(folder: &Path, method: &str) -> Vec<(String, Value)> {
    let place = folder.join("out/baselines").join(method).join("records");
    let mut records: Vec<(String, Value)> = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, record["episodes"].clone())
        })
        .collect();
    records.sort_by(|one, other| one.0.cmp(&other.0));
    records
}

#[test]
fn the_same_policies_under_another_name_play_the_same_episodes() {
    let folder = prepared();
    let run = reproduce(folder.path(), &["--write", "doc.md"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(said.ends_with("page: out/baselines/baselines.html\n"), "{said}");

    let (shipped, copied) = (episodes(folder.path(), "dqn"), episodes(folder.path(), "cpo"));
    assert_eq!(shipped.len(), 2 * 2 * 2);
    assert_eq!(shipped, copied);
    // Alone is another arm there.
    let fixed = episodes(folder.path(), "static-shield");
    assert!(fixed.iter().any(|(name, _)| name.starts_with("merge-v0_high_fixed_2_")), "{fixed:?}");
    assert_eq!(episodes(folder.path(), "random").len(), 2);

    let document = fs::read_to_string(folder.path().join("doc.md")).unwrap();
    assert!(document.starts_with("above\n") && document.ends_with("\nbelow\n"), "{document}");
    for words in
        ["| static-shield |", "Made by `cpss reproduce --baselines --plan plan.toml` on 20"]
    {
        assert!(document.contains(words), "{document}");
    }

    // A record that was damaged is made again, and nothing else.
    let record = folder.path().join("out/baselines/cpo/records").join(&copied[0].0);
    let before = fs::read(&record).unwrap();
    let other = folder.path().join("out/baselines/cpo/records").join(&copied[1].0);
    let written = fs::metadata(&other).unwrap().modified().unwrap();
    fs::write(&record, "{").unwrap();
    let run = reproduce(folder.path(), &["--json"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(fs::read(&record).unwrap(), before);
    assert_eq!(fs::metadata(&other).unwrap().modified().unwrap(), written);
    let said: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(said["page"], "out/baselines/baselines.html");
    assert_eq!(said["tables"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_missing_is_said_before_anything_is_played() {
    let folder = prepared();
    fs::remove_file(folder.path().join("baselines/merge-v0/cpo/2.safetensors")).unwrap();
    let refusal = |more: &[&str]| {
        let run = reproduce(folder.path(), more);
        assert!(!run.status.success() && run.stdout.is_empty());
        String::from_utf8(run.stderr).unwrap()
    };
    let words = "there is no baselines/merge-v0/cpo/2.safetensors; `cpss train --baselines` makes";
    assert!(refusal(&[]).contains(words), "{}", refusal(&[]));
    let (first, last) =
        ("baselines/merge-v0/cpo/0.safetensors", "baselines/merge-v0/cpo/2.safetensors");
    fs::copy(folder.path().join(first), folder.path().join(last)).unwrap();
    let words = "cpo/2.safetensors is a policy of merge-v0 by cpo, seed 0, says its card";
    assert!(refusal(&[]).contains(words), "{}", refusal(&[]));
    fs::remove_file(folder.path().join(last)).unwrap();
    assert!(!folder.path().join("out/baselines/random").exists());
    assert!(refusal(&["--methods", "dqn,trpo"]).contains("`trpo` is no method: give one of dqn"));
    fs::write(folder.path().join("doc.md"), "no markers\n").unwrap();
    assert!(refusal(&["--write", "doc.md"]).contains("doc.md lacks the lines"));
    // Without the method nothing is missing.
    let run = reproduce(folder.path(), &["--methods", "dqn"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
