//! Contract: known records make known tables: who keeps the budget, and who is told apart from whom.

use super::*;
use crate::measure::unit::{Unit, UnitRecord};
use crate::play::sensor::PERFECT;
use crate::record::EpisodeRecord;
use crate::report::table::Entry;

/// A task of which nothing was learned.
const UNKNOWN: &str = "nowhere-v0";

/// A plan of one task in which promises are made and one in which none are, in two regimes.
fn plan(methods: &[&str]) -> BaselinePlan {
    let methods = methods.iter().map(|name| name.parse().unwrap()).collect();
    BaselinePlan {
        tasks: ["merge-v0", UNKNOWN].map(str::to_owned).to_vec(),
        regimes: ["stationary", "high"].map(str::to_owned).to_vec(),
        methods,
        policies: vec![0, 1],
        episodes: 500,
        decisions: None,
        first_seed: 0,
    }
}

/// Records of an arm in which so many episodes of each policy fail, in stationary and in high traffic.
fn records(plan: &BaselinePlan, arm: &str, failures: [u64; 2]) -> Vec<UnitRecord> {
    let mut records = Vec::new();
    for task in &plan.tasks {
        for (regime, failures) in plan.regimes.iter().zip(failures.into_iter().cycle()) {
            for policy in plan.policies.iter().copied() {
                let episode = |place: u64| EpisodeRecord {
                    seed: place,
                    steps: 10,
                    crashed: place < failures,
                    episode_return: if arm == "cpss" { 8.0 } else { 10.0 },
                    interventions: if arm == "cpss" { 1 } else { 0 },
                    start: 0.003,
                    ..EpisodeRecord::default()
                };
                let unit = Unit {
                    task: task.clone(),
                    regime: regime.clone(),
                    arm: arm.to_owned(),
                    policy,
                    own: None,
                    sensor: PERFECT.to_owned(),
                    first_seed: 0,
                    episodes: plan.episodes,
                };
                let episodes = (0..plan.episodes).map(episode).collect();
                let fingerprint = String::new();
                records.push(UnitRecord { unit, fingerprint, episodes, refusals: Vec::new() });
            }
        }
    }
    records
}

/// Methods with failures alone and under the shield, and the floor's.
fn played(plan: &BaselinePlan, failures: &[[[u64; 2]; 2]]) -> Played {
    let of = |(method, [alone, shielded]): (&Method, &[[u64; 2]; 2])| {
        let mut all = records(plan, method.alone(), *alone);
        let arm = method.shielded();
        all.extend(arm.into_iter().flat_map(|arm| records(plan, arm, *shielded)));
        (*method, all)
    };
    let methods = plan.methods.iter().zip(failures).map(of).collect();
    Played { methods, floor: records(plan, FLOOR, [plan.episodes; 2]) }
}

fn words(row: &[Entry]) -> Vec<String> {
    let text = |entry: &Entry| match entry {
        Entry::Words(words) => words.clone(),
        Entry::Empty => "none".to_owned(),
        Entry::Number(value, _) => value.to_string(),
        Entry::Estimate(found, _) | Entry::Percent(found) => found.value.to_string(),
    };
    row.iter().map(text).collect()
}

#[test]
fn cells_in_which_the_budget_is_kept_are_counted() {
    // In version 0.1's regimes no critic was calibrated, so nothing is promised there.
    let regimes = ["stationary", "high", "mild-0.1", "high-0.1"].map(str::to_owned).to_vec();
    let tasks = vec!["merge-v0".to_owned()];
    let plan = BaselinePlan { tasks, regimes, ..plan(&["dqn", "barrier"]) };
    // B is 0.01 and V_0 0.003: 5 of 500 are at most B, 6 are above it within their interval, 50 are above beyond it.
    let played = played(&plan, &[[[5, 50], [6, 0]], [[6, 6], [0, 0]]]);
    let table =
        Comparison::new(&plan, Path::new("absent"), &played).unwrap().who_keeps_the_budget();
    let none = ["none"; 4];
    assert_eq!(
        words(&table.rows[0])[1..5],
        ["2 of 4", "2 of 4", "1 of 2", "1 of 2"],
        "alone, with two cells in which nothing is promised"
    );
    assert_eq!(words(&table.rows[0])[5..], ["2 of 4", "0 of 4", "2 of 2", "0 of 2"]);
    assert_eq!(words(&table.rows[1])[1..5], ["0 of 4", "0 of 4", "2 of 2", "0 of 2"]);
    assert_eq!(words(&table.rows[1])[5..], none);
    assert_eq!(words(&table.rows[2])[..3], ["random", "0 of 4", "4 of 4"]);
}

#[test]
fn a_promise_of_a_task_is_kept_or_broken() {
    let plan = plan(&["dqn", "cpo"]);
    let played = played(&plan, &[[[50, 50], [6, 6]], [[50, 50], [30, 30]]]);
    let comparison = Comparison::new(&plan, Path::new("absent"), &played).unwrap();
    let rows = comparison.outcomes_of("merge-v0").rows;
    assert_eq!(words(&rows[0])[..6], ["dqn", "0.1", "10", "0.012", "8", "10"]);
    let Entry::Number(promised, _) = rows[0][6] else { panic!("{:?}", rows[0][6]) };
    assert!((promised - 0.013).abs() < 1e-9, "{promised}");
    assert_eq!(words(&rows[0])[7..], ["yes", "none", "none", "none"]);
    assert_eq!(words(&rows[1])[..4], ["cpo", "0.1", "10", "0.06"]);
    assert_eq!(words(&rows[1])[7], "NO");
    assert_eq!(words(&rows[2])[..3], ["random", "1", "10"]);
    // Where no critic is known to be conservative, nothing is promised.
    let rows = comparison.outcomes_of(UNKNOWN).rows;
    assert_eq!(words(&rows[1])[6..8], ["nothing", "none"]);
    // Programs get the task in a column of its own.
    let whole = comparison.outcomes();
    assert_eq!(whole.rows.len(), 6);
    assert!(whole.csv().starts_with("task,method,alone_incidents,alone_incidents_low,"));
}

#[test]
fn a_learner_is_compared_with_its_own_unconstrained_form() {
    let plan = plan(&["dqn", "lagrangian", "cvar", "saute", "cpo"]);
    let nothing = [0, 0];
    let failures = [
        [[50, 0], nothing],
        [[5, 0], nothing],
        [[45, 0], nothing],
        [[200, 0], nothing],
        [[5, 0], nothing],
    ];
    let played = played(&plan, &failures);
    let table =
        Comparison::new(&plan, Path::new("absent"), &played).unwrap().against_unconstrained();
    let told: Vec<[String; 3]> = table.rows[..5]
        .iter()
        .map(|row| [1, 3, 6].map(|place| words(row)[place].clone()))
        .collect();
    assert_eq!(
        told,
        [
            ["dqn", "none", "none"],
            ["lagrangian", "dqn", "fewer"],
            ["cvar", "dqn", "not told apart"],
            ["saute", "dqn", "more"],
            // PPO was not played.
            ["cpo", "ppo", "none"],
        ]
    );
    assert!(table.rows.iter().all(|row| words(row)[8] == "fewer"), "than random");
    let calm = BaselinePlan { regimes: vec!["high".to_owned()], ..plan.clone() };
    let calm = Comparison::new(&calm, Path::new("absent"), &played).unwrap();
    assert!(calm.against_unconstrained().rows.is_empty());
}

#[test]
fn a_comparison_leaves_tables_figure_and_page() {
    let plan = BaselinePlan { episodes: 60, ..plan(&["dqn", "lagrangian", "barrier"]) };
    let played = played(&plan, &[[[50, 50], [6, 6]], [[20, 20], [0, 0]], [[9, 9], [0, 0]]]);
    let out = tempfile::tempdir().unwrap();
    let comparison = Comparison::new(&plan, Path::new("absent"), &played).unwrap();
    let tables = comparison.write(out.path(), "cpss <test>").unwrap();
    assert_eq!(tables.len(), 4);
    for name in ["baselines.md", "baselines.json", "baselines.png", "tables/baselines.csv"] {
        assert!(out.path().join(name).is_file(), "{name}");
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    let page = read(FILE);
    for words in ["cpss &lt;test&gt;", "id=\"table-merge-v0\"", "id=\"table-budget\"", "<svg"] {
        assert!(page.contains(words), "{words}");
    }
    for method in ["dqn", "lagrangian", "barrier"] {
        assert!(read("baselines.svg").contains(&format!(">{method}<")), "{method}");
        // In each task, and where the budget is counted.
        let (text, start) = (read("baselines.md"), format!("| {method} |"));
        assert_eq!(text.lines().filter(|line| line.starts_with(&start)).count(), 3, "{method}");
    }
}

#[test]
fn the_document_says_what_every_method_is_and_has_a_place_for_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = root.join("docs/baselines.md");
    let text = std::fs::read_to_string(&document).unwrap();
    for method in Method::all() {
        assert!(text.contains(&format!("| `{}` |", method.name())), "{}", method.name());
    }
    crate::report::document::BASELINES.check(&document).unwrap();
    for page in ["README.md", "ARCHITECTURE.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        assert!(text.contains("docs/baselines.md"), "{page}");
    }
}
