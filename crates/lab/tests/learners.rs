//! Contract: every learner of the comparison trains, the same file again, also after a stop; what it leaves drives alone
//! and under the shield; and all of them are trained by one command, which goes on where it was.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::path::PathBuf;

use cpss_learn::Policy;
use tempfile::TempDir;

const LEARNERS: [&str; 10] = [
    "dqn",
    "lagrangian",
    "cvar",
    "saute",
    "static-shield",
    "shielded-dqn",
    "shielded-dqn-proposed",
    "ppo",
    "ppo-lagrangian",
    "cpo",
];

/// A directory with settings for small runs in it.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(TempDir::new().unwrap());
        let settings = "worlds = 3\n[dqn]\ntotal_steps = 900\nhidden = [16]\nbuffer_size = 500\n\
                        [on_policy]\ntotal_steps = 900\nhidden = [16]\nrollout_steps = 150\n";
        std::fs::write(place.path("small.toml"), settings).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Runs `cpss` in the directory; returns whether it succeeded, and what it said.
    fn cpss(&self, words: &str) -> (bool, String) {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("cpss");
        let output = command.current_dir(&self.0).args(words.split_whitespace()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    fn well(&self, words: &str) -> String {
        let (is_well, said) = self.cpss(words);
        assert!(is_well, "{words}: {said}");
        said
    }
}

#[test]
fn every_learner_leaves_a_policy_that_drives_alone_and_under_the_shield() {
    let place = Place::new();
    for learner in LEARNERS {
        let train = format!(
            "train --env merge-v0 --algorithm {learner} --settings small.toml --score-episodes 3 --half"
        );
        place.well(&format!("{train} --out {learner}.safetensors"));
        place.well(&format!("{train} --out again.safetensors"));
        let bytes = place.bytes(&format!("{learner}.safetensors"));
        assert!(bytes == place.bytes("again.safetensors"), "{learner}");
        let policy = Policy::from_bytes(&bytes).unwrap();
        let card = policy.card();
        assert_eq!(card.get("algorithm").map_or("dqn", String::as_str), learner);
        assert!(card["training_episodes"].parse::<u64>().unwrap() > 10, "{learner}");
        assert_eq!(card.get("sees").is_some(), learner == "saute");
        for arm in ["dqn", "cpss"] {
            let evaluate =
                format!("evaluate --env merge-v0 --regime high --method {arm} --episodes 3");
            place.well(&format!("{evaluate} --policy {learner}.safetensors"));
        }
    }
    // Learners differ in more than their names.
    let mut files: Vec<Vec<u8>> = LEARNERS
        .iter()
        .map(|learner| Policy::from_bytes(&place.bytes(&format!("{learner}.safetensors"))).unwrap())
        .map(|policy| {
            Policy::new(policy.network().clone(), std::collections::BTreeMap::new()).to_bytes()
        })
        .collect();
    files.sort();
    files.dedup();
    assert_eq!(files.len(), LEARNERS.len());
}

#[test]
fn a_paused_run_of_each_kind_ends_as_an_uninterrupted_one() {
    let place = Place::new();
    for learner in ["lagrangian", "saute", "shielded-dqn", "ppo-lagrangian", "cpo"] {
        let train = format!(
            "train --env merge-v0 --algorithm {learner} --settings small.toml --score-episodes 2"
        );
        place.well(&format!("{train} --out whole.safetensors"));
        let (is_well, _) = place.cpss(&format!("{train} --out cut.safetensors --pause-at 400"));
        assert!(!is_well);
        for other in ["--algorithm static-shield", "--algorithm dqn"] {
            let (is_well, said) = place.cpss(&format!(
                "train --env merge-v0 {other} --settings small.toml --out cut.safetensors --resume"
            ));
            assert!(!is_well && said.contains("begun otherwise"), "{said}");
        }
        place.well(&format!("{train} --out cut.safetensors --resume"));
        assert!(place.bytes("whole.safetensors") == place.bytes("cut.safetensors"), "{learner}");
    }
}

#[test]
fn one_command_trains_what_is_missing_and_no_more() {
    let place = Place::new();
    let train = "train --baselines all --env merge-v0 --steps 300 --score-episodes 2";
    let said = place.well(&format!("{train} --algorithm lagrangian"));
    assert!(said.contains("5 runs trained"), "{said}");
    let first = place.bytes("all/merge-v0/lagrangian/3.safetensors");
    assert!(place.well(&format!("{train} --algorithm lagrangian")).contains("0 runs trained"));
    std::fs::remove_file(place.path("all/merge-v0/lagrangian/3.safetensors")).unwrap();
    assert!(place.well(&format!("{train} --algorithm lagrangian")).contains("1 runs trained"));
    assert!(first == place.bytes("all/merge-v0/lagrangian/3.safetensors"));
    // A policy of other steps, or of another learner, is not taken for the one that is asked for.
    std::fs::copy(
        place.path("all/merge-v0/lagrangian/2.safetensors"),
        place.path("all/merge-v0/lagrangian/3.safetensors"),
    )
    .unwrap();
    assert!(place.well(&format!("{train} --algorithm lagrangian")).contains("1 runs trained"));
    let longer = train.replace("300", "304");
    assert!(place.well(&format!("{longer} --algorithm lagrangian")).contains("5 runs trained"));
    assert!(place.well(&format!("{train} --algorithm lagrangian")).contains("5 runs trained"));
    place.well(&format!("{train} --algorithm dqn"));
    assert!(!place.path("all/merge-v0/dqn").exists());
    let runs = String::from_utf8(place.bytes("all/training.csv")).unwrap();
    assert_eq!(runs.lines().count(), 11);
    assert_eq!(runs.lines().next(), Some("task,algorithm,seed,steps,seconds,episodes,incidents"));
    assert!(runs.lines().any(|line| line.starts_with("merge-v0,dqn,4,304,")), "{runs}");
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let place = Place::new();
    for (words, hint) in [
        ("train --env merge-v0 --algorithm sac", "lagrangian"),
        ("train", "--env"),
        ("train --baselines all --seed 3", "--seed"),
    ] {
        let (is_well, said) = place.cpss(words);
        assert!(!is_well && said.contains(hint), "{words}: {said}");
    }
    std::fs::create_dir(place.path("bad")).unwrap();
    std::fs::write(place.path("bad/training.csv"), "task\nnonsense\n").unwrap();
    let (is_well, said) = place.cpss("train --baselines bad");
    assert!(!is_well && said.contains("`nonsense` is no run"), "{said}");
}
