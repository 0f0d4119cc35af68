//! How do the records become tables?
//!
//! Everything in a table comes from records: the collision summary with its intervals, the
//! paper's tables by regime with the paper's value beside ours, and what the paper does not show
//! (return, speed, interventions, infeasible and mispredicted steps, envelope). Markdown for
//! people, CSV for programs. Start at [`write_all`].

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::episode::EpisodeRecord;
use crate::evaluate::Summary;
use crate::paper;
use crate::plan::UnitRecord;
use crate::statistics::{mean, standard_deviation, wilson};

/// Regimes in the order of columns.
const REGIMES: [&str; 4] = ["stationary", "mild", "average", "high"];

/// Writes `tables.md` and `cells.csv`, and returns the collision summary.
///
/// # Errors
///
/// A folder that cannot be written.
pub fn write_all(records: &[UnitRecord], out: &Path) -> Result<String> {
    let summary = collision_summary(records);
    let by_regime = [
        by_regime(records, "Collision rate", &paper::COLLISION_DQN, &paper::COLLISION_CPSS, |s| {
            s.collision_rate
        }),
        by_regime(records, "Proximity risk", &paper::PROXIMITY_DQN, &paper::PROXIMITY_CPSS, |s| {
            s.proximity_risk
        }),
        by_regime(
            records,
            "Minimum distance [m]",
            &paper::DISTANCE_DQN,
            &paper::DISTANCE_CPSS,
            |s| s.min_distance,
        ),
    ]
    .join("\n");
    let disagreements: String =
        paper::DISAGREEMENTS.iter().map(|line| format!("- {line}\n")).collect();
    let text = format!(
        "# The paper's experiment, made again\n\n{summary}\n{by_regime}\n{}\n\
         ## Where the paper's tables disagree\n\n{disagreements}",
        cells_table(records)
    );
    for (name, content) in [("tables.md", text), ("cells.csv", cells_csv(records))] {
        let place = out.join(name);
        fs::write(&place, content).with_context(|| format!("cannot write {}", place.display()))?;
    }
    Ok(summary)
}

/// The collision rate of each task, mean over regimes, ours beside the paper's.
pub fn collision_summary(records: &[UnitRecord]) -> String {
    let mut text = String::from(
        "## Collision rate, mean over the four regimes\n\n\
         | task | DQN | CPSS | 95 % | reduction | paper: DQN | paper: CPSS |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let (mut all_dqn, mut all_cpss) = (Vec::new(), Vec::new());
    for (place, task) in paper::TASKS.iter().enumerate() {
        let dqn = rates_by_policy(records, task, "dqn");
        let cpss = rates_by_policy(records, task, "cpss");
        let played = episodes(records, |r| r.unit.task == *task && r.unit.arm == "cpss");
        let failed = played.iter().filter(|e| e.crashed || e.off_road).count() as u64;
        let [low, high] = wilson(failed, played.len() as u64);
        let _ = writeln!(
            text,
            "| {task} | {:.4} ± {:.4} | {:.4} ± {:.4} | {low:.4} to {high:.4} | {} | {:.4} | {:.4} |",
            mean(&dqn),
            standard_deviation(&dqn),
            mean(&cpss),
            standard_deviation(&cpss),
            reduction(mean(&dqn), mean(&cpss)),
            paper::mean_over_regimes(&paper::COLLISION_DQN, place),
            paper::mean_over_regimes(&paper::COLLISION_CPSS, place),
        );
        all_dqn.push(mean(&dqn));
        all_cpss.push(mean(&cpss));
    }
    let _ = writeln!(
        text,
        "| **all** | {:.4} | {:.4} | | {} | 0.0822 | 0.0069 |\n\n\
         Mean ± standard deviation over training seeds; Wilson interval over episodes.",
        mean(&all_dqn),
        mean(&all_cpss),
        reduction(mean(&all_dqn), mean(&all_cpss)),
    );
    text
}

fn reduction(before: f64, after: f64) -> String {
    if before > 0.0 { format!("{:.1} %", 100.0 * (1.0 - after / before)) } else { "–".to_owned() }
}

/// One of the paper's tables by regime: DQN and CPSS, ours and (in brackets) the paper's.
fn by_regime(
    records: &[UnitRecord],
    title: &str,
    paper_dqn: &paper::ByRegime,
    paper_cpss: &paper::ByRegime,
    metric: fn(&Summary) -> f64,
) -> String {
    let mut text = format!(
        "## {title} by regime: ours (the paper's)\n\n\
         | task | method | stationary | mild | average | high |\n|---|---|---|---|---|---|\n"
    );
    for (place, task) in paper::TASKS.iter().enumerate() {
        for (arm, theirs) in [("dqn", paper_dqn), ("cpss", paper_cpss)] {
            let _ = write!(text, "| {task} | {arm} |");
            for (column, regime) in REGIMES.iter().enumerate() {
                let per_policy = summaries_by_policy(records, task, regime, arm);
                let values: Vec<f64> = per_policy.iter().map(metric).collect();
                let _ = write!(
                    text,
                    " {:.4} ± {:.4} ({}) |",
                    mean(&values),
                    standard_deviation(&values),
                    theirs[place][column]
                );
            }
            text.push('\n');
        }
    }
    text
}

/// What the paper does not show, per cell.
fn cells_table(records: &[UnitRecord]) -> String {
    let mut text = String::from(
        "## Every cell\n\n| task | regime | method | collisions | return | speed | success | \
         interventions | infeasible | mispredicted | envelope violations |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (task, regime, arm, s) in cells(records) {
        let _ = writeln!(
            text,
            "| {task} | {regime} | {arm} | {:.4} | {:.3} | {:.2} | {:.3} | {:.3} | {:.4} | {:.4} | {} |",
            s.collision_rate,
            s.return_mean,
            s.mean_speed,
            s.success_rate,
            s.intervention_rate,
            s.infeasible_rate,
            s.misprediction_rate,
            s.envelope_violations,
        );
    }
    text
}

fn cells_csv(records: &[UnitRecord]) -> String {
    let mut text = String::from(
        "task,regime,method,episodes,collision_rate,collision_low,collision_high,offroad_rate,\
         proximity_risk,min_distance,return_mean,mean_speed,success_rate,intervention_rate,\
         infeasible_rate,misprediction_rate,budget_used,envelope_violations\n",
    );
    for (task, regime, arm, s) in cells(records) {
        let [low, high] = s.collision_ci95;
        let _ = writeln!(
            text,
            "{task},{regime},{arm},{},{},{low},{high},{},{},{},{},{},{},{},{},{},{},{}",
            s.episodes,
            s.collision_rate,
            s.offroad_rate,
            s.proximity_risk,
            s.min_distance,
            s.return_mean,
            s.mean_speed,
            s.success_rate,
            s.intervention_rate,
            s.infeasible_rate,
            s.misprediction_rate,
            s.budget_used,
            s.envelope_violations,
        );
    }
    text
}

/// Every cell with all its policies' episodes together, in the order of the records.
fn cells(records: &[UnitRecord]) -> Vec<(String, String, String, Summary)> {
    let mut keys: Vec<(String, String, String)> = Vec::new();
    for UnitRecord { unit, .. } in records {
        let key = (unit.task.clone(), unit.regime.clone(), unit.arm.clone());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let summed = |(task, regime, arm): (String, String, String)| {
        let played = episodes(records, |r| {
            (&r.unit.task, &r.unit.regime, &r.unit.arm) == (&task, &regime, &arm)
        });
        let summary = Summary::of(&played, 1.0);
        (task, regime, arm, summary)
    };
    keys.into_iter().map(summed).collect()
}

fn episodes(records: &[UnitRecord], wanted: impl Fn(&UnitRecord) -> bool) -> Vec<EpisodeRecord> {
    records.iter().filter(|r| wanted(r)).flat_map(|r| r.episodes.iter().copied()).collect()
}

fn summaries_by_policy(
    records: &[UnitRecord],
    task: &str,
    regime: &str,
    arm: &str,
) -> Vec<Summary> {
    records
        .iter()
        .filter(|r| r.unit.task == task && r.unit.regime == regime && r.unit.arm == arm)
        .map(|r| Summary::of(&r.episodes, 1.0))
        .collect()
}

/// Collision rate of each training seed, mean over the regimes.
fn rates_by_policy(records: &[UnitRecord], task: &str, arm: &str) -> Vec<f64> {
    let mut policies: Vec<usize> = records.iter().map(|r| r.unit.policy).collect();
    policies.sort_unstable();
    policies.dedup();
    policies
        .into_iter()
        .map(|policy| {
            let rates: Vec<f64> = records
                .iter()
                .filter(|r| r.unit.task == task && r.unit.arm == arm && r.unit.policy == policy)
                .map(|r| Summary::of(&r.episodes, 1.0).collision_rate)
                .collect();
            mean(&rates)
        })
        .collect()
}
