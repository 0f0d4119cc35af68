//! Contract: known records make known tables, word for word; and one command makes tables, figures and
//! traces of a tiny plan, and puts its summary where it is told to.
//!
//! The records of the first are made by hand, so it changes only with the tables and the statistics:
//! better driving does not touch it.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::process::Command;

use cpss::measure::estimate::Results;
use cpss::measure::unit::{Unit, UnitRecord};
use cpss::record::EpisodeRecord;

/// Hand-made records: two tasks, two regimes, five arms, two training seeds, four episodes.
fn records() -> Vec<UnitRecord> {
    let mut records = Vec::new();
    for (task, worse) in [("merge-v0", 0), ("racetrack-v0", 1)] {
        for (regime, rough) in [("stationary", 0), ("average", 1)] {
            let arms = [("dqn", 2), ("cpss", 2), ("fixed", 2), ("oracle", 2), ("random", 1)];
            for (arm, policies) in arms {
                for policy in 0..policies {
                    let unit = Unit {
                        task: task.to_owned(),
                        regime: regime.to_owned(),
                        arm: arm.to_owned(),
                        policy,
                        own: None,
                        sensor: "perfect".to_owned(),
                        first_seed: 1_000_000,
                        episodes: 4,
                    };
                    let failures = match arm {
                        "dqn" => 1 + rough + worse,
                        "random" => 4,
                        "cpss" => rough * worse,
                        _ => 0,
                    };
                    let episode = |place: u64| EpisodeRecord {
                        seed: 1_000_000 + place,
                        steps: 10 + place,
                        crashed: place < failures,
                        success: place >= failures,
                        episode_return: 10.0 - failures as f64
                            + 0.25 * (place + policy as u64) as f64,
                        discounted_return: 8.0 - 0.5 * failures as f64,
                        mean_speed: 20.0 + place as f64,
                        close_steps: failures,
                        min_distance: 5.0 + place as f64,
                        interventions: if arm == "cpss" { 2 } else { 0 },
                        longest_intervention: if arm == "cpss" { 2 } else { 0 },
                        discounted_interventions: if arm == "cpss" { 1.5 } else { 0.0 },
                        reward_change: if arm == "cpss" { 0.25 } else { 0.0 },
                        avoided: if arm == "cpss" { place % 2 } else { 0 },
                        closer: if arm == "cpss" && place == 0 { 1 } else { 0 },
                        false_alarms: if arm == "cpss" { rough } else { 0 },
                        infeasible: rough,
                        budget_used: 0.125,
                        envelope_held: true,
                        ..EpisodeRecord::default()
                    };
                    let refusals = if arm == "cpss" { vec![0, 2, 4, 1] } else { Vec::new() };
                    let episodes = (0..4).map(episode).collect();
                    records.push(UnitRecord {
                        unit,
                        fingerprint: String::new(),
                        episodes,
                        refusals,
                    });
                }
            }
        }
    }
    records
}

#[test]
fn the_tables_of_known_records_read_as_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let records = records();
    cpss::report::tables::write_all(&Results::new(&records), folder.path()).unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    insta::assert_snapshot!("tables_md", read("tables.md"));
    insta::assert_snapshot!("tables_tex", read("tables.tex"));
    insta::assert_snapshot!("theorem_3_csv", read("tables/theorem_3.csv"));
    insta::assert_snapshot!("cells_csv", read("tables/cells.csv"));
}

#[test]
fn a_tiny_plan_makes_everything_and_splices_its_summary() {
    let folder = tempfile::tempdir().unwrap();
    let plan = "tasks = [\"merge-v0\"]\nregimes = [\"high\"]\narms = [\"dqn\", \"cpss\", \
                \"constants\"]\npolicies = [0]\nepisodes = 12\nbudgets = [0.01, 0.1]\nthresholds = [0.01]\n\
                frontier_episodes = 2\nfirst_seed = 1000000\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    fs::write(folder.path().join("doc.md"), "no markers\n").unwrap();
    let reproduce = || {
        Command::new(env!("CARGO_BIN_EXE_cpss"))
            .current_dir(folder.path())
            .args(["reproduce", "--plan", "plan.toml", "--out", "out", "--write", "doc.md"])
            .output()
            .unwrap()
    };
    let run = reproduce();
    let error = String::from_utf8(run.stderr).unwrap();
    assert!(!run.status.success() && error.contains("doc.md lacks the lines"), "{error}");

    let (begin, end) =
        (cpss::report::document::REPRODUCE.begin, cpss::report::document::REPRODUCE.end);
    fs::write(folder.path().join("doc.md"), format!("above\n{begin}\n{end}\nbelow\n")).unwrap();
    let run = reproduce();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(said.ends_with("report: out/report.html\n"), "{said}");
    let document = fs::read_to_string(folder.path().join("doc.md")).unwrap();
    assert!(document.starts_with("above\n") && document.ends_with("\nbelow\n"), "{document}");
    for words in ["| merge-v0 |", "Made by `cpss reproduce --plan plan.toml` on 20", " threads."] {
        assert!(document.contains(words), "{document}");
    }
    for name in [
        "tables.md",
        "tables.tex",
        "tables/cells.csv",
        "tables/frontier.csv",
        "figures/collision_by_drift.svg",
        "figures/collision_by_task.png",
        "figures/diagnostics.svg",
        "figures/budget_frontier.png",
        "figures/episode_merge-v0.svg",
        "traces/index.json",
        "report.html",
    ] {
        assert!(folder.path().join("out").join(name).is_file(), "no {name}");
    }
    let index = fs::read(folder.path().join("out/traces/index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    assert!(!index.as_array().unwrap().is_empty());
    for told in index.as_array().unwrap() {
        for kept in told["traces"].as_array().unwrap() {
            let file = folder.path().join("out/traces").join(kept["file"].as_str().unwrap());
            let report = cpss::trace::audit::audit(&fs::read(file).unwrap()).unwrap();
            assert_eq!(kept["chain_end"], report.chain_end);
            assert_eq!((&told["seed"], &kept["arm"]), (&report.seed.into(), &report.arm.into()));
        }
    }
    let cells = fs::read_to_string(folder.path().join("out/tables/cells.csv")).unwrap();
    assert_eq!(cells.lines().count(), 1 + 2 + 5, "{cells}");
}
