//! Which tables are made of the records?
//!
//! The paper's five with the paper's value beside ours, then what the paper does not show: return,
//! speed, success, what the shield did and what it was good for, the bound of Theorem 3, the frontier, and every cell. Each is a
//! [`Table`], written as Markdown (`tables.md`), LaTeX (`tables.tex`) and CSV (`tables/`). Start at
//! [`write_all`].

use std::path::Path;

use anyhow::Result;

use crate::episode::{DISCOUNT, EpisodeRecord};
use crate::estimate::{Cell, Estimate, METRICS, Metric, Results, metric};
use crate::keep::{folder, keep};
use crate::paper;
use crate::table::{Entry, Table};

/// What every interval in a table means.
const INTERVALS: &str = "Value ± standard deviation over training seeds [95 % interval]. Intervals \
    are Wilson's for shares of episodes and bootstraps over training seeds and episodes for the rest.";

/// Writes all tables, and returns those two that say most: collisions, and what avoiding them costs.
///
/// # Errors
///
/// A folder that cannot be written.
pub fn write_all(results: &Results<'_>, out: &Path) -> Result<[Table; 2]> {
    let place = out.join("tables");
    folder(&place)?;
    let summary = [collision_summary(results), price(results)];
    let mut tables = summary.to_vec();
    tables.extend([
        by_regime(
            results,
            "collision_by_regime",
            metric("collision_rate"),
            [&paper::COLLISION_DQN, &paper::COLLISION_CPSS],
        ),
        by_regime(
            results,
            "proximity_by_regime",
            metric("proximity_risk"),
            [&paper::PROXIMITY_DQN, &paper::PROXIMITY_CPSS],
        ),
        by_regime(
            results,
            "distance_by_regime",
            metric("min_distance"),
            [&paper::DISTANCE_DQN, &paper::DISTANCE_CPSS],
        ),
    ]);
    tables.extend(diagnostics(results));
    tables.extend([what_if(results), beyond(results), theorem_three(results)]);
    let latex: String = tables.iter().map(|table| table.latex() + "\n").collect();
    // Two more that are too long for a page.
    tables.push(frontier(results));
    tables.push(every_cell(results));
    tables.retain(|table| !table.rows.is_empty());
    let disagreements: String =
        paper::DISAGREEMENTS.iter().map(|line| format!("- {line}\n")).collect();
    let markdown = tables.iter().map(Table::markdown).collect::<Vec<_>>().join("\n");
    let markdown = format!(
        "# The paper's experiment, made again\n\n{markdown}\n\
         ## Where the paper's tables disagree\n\n{disagreements}"
    );
    keep(&out.join("tables.md"), markdown.as_bytes())?;
    keep(&out.join("tables.tex"), latex.as_bytes())?;
    for table in &tables {
        keep(&place.join(format!("{}.csv", table.name)), table.csv().as_bytes())?;
    }
    Ok(summary)
}

/// The collision rate of each task, mean over regimes, ours beside the paper's.
pub fn collision_summary(results: &Results<'_>) -> Table {
    let collisions = metric("collision_rate");
    let all = |task, arm| results.estimate(Cell { task, regime: None, arm }, collisions);
    let percent = |found: Option<Estimate>| found.map_or(Entry::Empty, Entry::Percent);
    let tasks = results.tasks();
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    for task in &tasks {
        let theirs = |table: [f64; 4]| {
            let row = paper::TASKS.iter().position(|known| known == task);
            row.map_or(Entry::Empty, |row| Entry::Number(table[row], 4))
        };
        rows.push(vec![
            Entry::words(task),
            Entry::estimate(all(task, "dqn"), 4),
            Entry::estimate(all(task, "cpss"), 4),
            percent(results.reduction(&[task], "dqn", "cpss")),
            theirs(paper::SUMMARY_DQN),
            theirs(paper::SUMMARY_CPSS),
        ]);
    }
    if tasks.len() > 1 {
        let over_tasks = |arm| results.mean_over_tasks(None, arm, collisions);
        rows.push(vec![
            Entry::words("**all**"),
            Entry::estimate(over_tasks("dqn"), 4),
            Entry::estimate(over_tasks("cpss"), 4),
            percent(results.reduction(&tasks, "dqn", "cpss")),
            Entry::Number(paper::MEAN_DQN, 4),
            Entry::Number(paper::MEAN_CPSS, 4),
        ]);
    }
    Table {
        name: "collision_summary",
        title: "Collision rate, mean over regimes".to_owned(),
        columns: names(&["task", "DQN", "CPSS", "paired reduction", "paper: DQN", "paper: CPSS"]),
        rows,
        note: format!("{INTERVALS} The last row's are bootstraps."),
    }
}

/// What the shield costs: return and speed beside the policy's own, and how often it acts.
fn price(results: &Results<'_>) -> Table {
    let found = |task: &str, arm: &str, key: &str| {
        let metric = metric(key);
        let cell = Cell { task, regime: None, arm };
        Entry::estimate(results.estimate(cell, metric), metric.decimals)
    };
    let row = |task: &str| {
        vec![
            Entry::words(task),
            found(task, "dqn", "return_mean"),
            found(task, "cpss", "return_mean"),
            found(task, "dqn", "mean_speed"),
            found(task, "cpss", "mean_speed"),
            found(task, "cpss", "intervention_rate"),
            found(task, "cpss", "infeasible_rate"),
            Entry::Number(violations(results, Cell { task, regime: None, arm: "cpss" }) as f64, 0),
        ]
    };
    Table {
        name: "price",
        title: "What that costs, mean over regimes".to_owned(),
        columns: names(&[
            "task",
            "return, DQN",
            "return, CPSS",
            "speed [m/s], DQN",
            "speed [m/s], CPSS",
            "interventions",
            "infeasible steps",
            "envelope violations",
        ]),
        rows: results.tasks().into_iter().map(row).collect(),
        note: INTERVALS.to_owned(),
    }
}

/// One of the paper's tables by regime: DQN and CPSS, ours and the paper's.
fn by_regime(
    results: &Results<'_>,
    name: &'static str,
    metric: &Metric,
    theirs: [&paper::ByRegime; 2],
) -> Table {
    let regimes = results.regimes();
    let mut rows = Vec::new();
    for task in results.tasks() {
        for (arm, theirs) in ["dqn", "cpss"].into_iter().zip(theirs) {
            let ours = regimes.iter().map(|regime| {
                let cell = Cell { task, regime: Some(regime), arm };
                Entry::estimate(results.estimate(cell, metric), metric.decimals)
            });
            rows.push([Entry::words(task), Entry::words(arm)].into_iter().chain(ours).collect());
            let Some(row) = paper::TASKS.iter().position(|known| *known == task) else { continue };
            let printed = regimes.iter().map(|regime| {
                let column = paper::REGIMES.iter().position(|known| known == regime);
                let number = |column: usize| Entry::Number(theirs[row][column], metric.decimals);
                column.map_or(Entry::Empty, number)
            });
            let method = Entry::Words(format!("{arm} in the paper"));
            rows.push([Entry::words(task), method].into_iter().chain(printed).collect());
        }
    }
    Table {
        name,
        title: format!("{} by regime", metric.name),
        columns: ["task", "method"].iter().chain(&regimes).map(|name| (*name).to_owned()).collect(),
        rows,
        note: INTERVALS.to_owned(),
    }
}

/// The main text's diagnostics, under average drift.
fn diagnostics(results: &Results<'_>) -> Option<Table> {
    const COLUMN: usize = 2;
    let regime = paper::REGIMES[COLUMN];
    if !results.regimes().contains(&regime) {
        return None;
    }
    let mut rows = Vec::new();
    for task in results.tasks() {
        let row = paper::TASKS.iter().position(|known| *known == task);
        for (arm, risk, distance) in [
            ("dqn", &paper::PROXIMITY_DQN, &paper::DISTANCE_DQN),
            ("cpss", &paper::PROXIMITY_CPSS, &paper::DISTANCE_CPSS),
        ] {
            let ours = |key| {
                let metric = metric(key);
                let cell = Cell { task, regime: Some(regime), arm };
                Entry::estimate(results.estimate(cell, metric), metric.decimals)
            };
            let theirs = |table: &paper::ByRegime, column: usize, decimals| {
                row.map_or(Entry::Empty, |row| Entry::Number(table[row][column], decimals))
            };
            rows.push(vec![
                Entry::words(task),
                Entry::words(arm),
                ours("proximity_risk"),
                theirs(risk, COLUMN, 3),
                ours("min_distance"),
                theirs(distance, paper::MAIN_TEXT_DISTANCE_COLUMN, 2),
            ]);
        }
    }
    Some(Table {
        name: "diagnostics",
        title: format!("Safety diagnostics under {regime} drift"),
        columns: names(&[
            "task",
            "method",
            "proximity risk",
            "paper: proximity risk",
            "minimum distance [m]",
            "paper: minimum distance [m]",
        ]),
        rows,
        note: format!("{INTERVALS} The paper's distances are those of its main text."),
    })
}

/// What the shield's interventions were good for.
fn what_if(results: &Results<'_>) -> Table {
    let keys = ["avoided_share", "closer_share", "unavoided_share", "false_alarm_share"];
    let row = |task: &str, regime: Option<&str>| {
        let cell = Cell { task, regime, arm: "cpss" };
        let units = results.units(cell);
        let episodes = units.iter().flat_map(|record| &record.episodes);
        let replaced: u64 = episodes.map(EpisodeRecord::replaced).sum();
        let mut row = vec![
            Entry::words(task),
            Entry::words(regime.unwrap_or("**all**")),
            Entry::Number(replaced as f64, 0),
        ];
        row.extend(keys.map(|key| {
            let metric = metric(key);
            Entry::estimate(results.estimate(cell, metric), metric.decimals)
        }));
        (!units.is_empty()).then_some(row)
    };
    let regimes = results.regimes();
    let rows = results.tasks().into_iter().flat_map(|task| {
        regimes.iter().map(|regime| Some(*regime)).chain([None]).filter_map(move |r| row(task, r))
    });
    let columns = keys.map(|key| metric(key).name);
    Table {
        name: "what_if",
        title: "What CPSS's interventions were good for".to_owned(),
        columns: names(&[["task", "regime", "replaced actions"].as_slice(), &columns].concat()),
        rows: rows.collect(),
        note: format!(
            "{INTERVALS} Shares of replaced actions. For each, a copy of the world ran the refused action and \
             then the policy alone, as far ahead as the risk model looks. A crash (on the racetrack also \
             leaving the road) counts as avoided if the copy had it and the real run did not within as \
             many decisions; a closer call, if neither did and the copy's greatest realised cost is \
             greater; the rest are false alarms."
        ),
    }
}

/// What the paper does not show: every arm, mean over regimes.
fn beyond(results: &Results<'_>) -> Table {
    let keys = [
        "collision_rate",
        "return_mean",
        "mean_speed",
        "success_rate",
        "intervention_rate",
        "infeasible_rate",
        "misprediction_rate",
        "budget_used",
    ];
    let mut rows = Vec::new();
    for task in results.tasks() {
        for arm in results.arms() {
            let cell = Cell { task, regime: None, arm };
            if results.units(cell).is_empty() {
                continue;
            }
            let mut row = vec![Entry::words(task), Entry::Words(arm_name(arm))];
            row.extend(keys.map(|key| {
                let metric = metric(key);
                Entry::estimate(results.estimate(cell, metric), metric.decimals)
            }));
            row.push(Entry::Number(violations(results, cell) as f64, 0));
            rows.push(row);
        }
    }
    let columns = keys.map(|key| metric(key).name);
    Table {
        name: "beyond_the_paper",
        title: "Every arm, mean over regimes".to_owned(),
        columns: names(&[["task", "arm"].as_slice(), &columns, &["envelope violations"]].concat()),
        rows,
        note: format!(
            "{INTERVALS} The oracle is privileged: its costs come from the true world's future, and it \
             plays fewer episodes. For arms that do not act (dqn, random, constant) interventions are \
             those that a shadow shield would have made."
        ),
    }
}

/// Theorem 3: the bound on the value lost to shielding, beside what was lost.
fn theorem_three(results: &Results<'_>) -> Table {
    let mut rows = Vec::new();
    for task in results.tasks() {
        for regime in results.regimes() {
            let units = results.units(Cell { task, regime: Some(regime), arm: "cpss" });
            let Some(found) = results.value_difference(task, regime, "cpss", "dqn") else {
                continue;
            };
            let episodes = || units.iter().flat_map(|record| &record.episodes);
            let played = episodes().count() as f64;
            let last = units.iter().map(|record| record.refusals.len()).max().unwrap_or(0);
            let refused_at = |step: usize| {
                units.iter().map(|r| r.refusals.get(step).copied().unwrap_or(0)).sum::<u32>()
            };
            let eta = f64::from((0..last).map(refused_at).max().unwrap_or(0)) / played;
            let change = episodes().map(|episode| episode.reward_change).fold(0.0, f64::max);
            let discounted: f64 = episodes().map(|e| e.discounted_interventions).sum();
            let bound = eta * change / (1.0 - DISCOUNT);
            let holds = if found.value.abs() <= bound { "yes" } else { "no" };
            rows.push(vec![
                Entry::words(task),
                Entry::words(regime),
                Entry::Number(eta, 3),
                Entry::Number(change, 3),
                Entry::Number(bound, 3),
                Entry::Number(discounted / played * change, 3),
                Entry::Estimate(found, 3),
                Entry::words(holds),
            ]);
        }
    }
    Table {
        name: "theorem_3",
        title: "Theorem 3: bound on the value difference, and what was measured".to_owned(),
        columns: names(&[
            "task",
            "regime",
            "η",
            "Δr",
            "bound",
            "bound by steps",
            "value difference",
            "within",
        ]),
        rows,
        note: format!(
            "γ = {DISCOUNT}. η is the largest share, over steps, of episodes refused at that step; Δr the \
             largest change of a step's reward by a refusal, from a copy of the world that ran the \
             proposal; the bound is ηΔr/(1 − γ), and by steps Δr times the mean discounted number of \
             refusals; the value difference is that of discounted returns, cpss less dqn, on the same \
             episodes. The theorem compares rewards step by step in the same state; a measured \
             difference includes everything that follows, such as a crash that did not happen, and may \
             lie outside."
        ),
    }
}

/// Scaled budgets and thresholds.
fn frontier(results: &Results<'_>) -> Table {
    let keys = ["collision_rate", "return_mean", "intervention_rate", "budget_used"];
    let rows = results.frontier_cells().into_iter().map(|cell| {
        let mut row = vec![
            Entry::words(cell.task),
            Entry::words(cell.regime.unwrap_or_default()),
            Entry::words(cell.arm),
        ];
        row.extend(keys.map(|key| {
            let metric = metric(key);
            Entry::estimate(results.estimate(cell, metric), metric.decimals)
        }));
        row
    });
    Table {
        name: "frontier",
        title: "Frontier: CPSS at multiples of its budget, fixed at multiples of its threshold"
            .to_owned(),
        columns: names(
            &[["task", "regime", "arm"].as_slice(), &keys.map(|key| metric(key).name)].concat(),
        ),
        rows: rows.collect(),
        note: INTERVALS.to_owned(),
    }
}

/// Everything about every cell.
fn every_cell(results: &Results<'_>) -> Table {
    let rows = results.cells().into_iter().map(|cell| {
        let episodes: usize = results.units(cell).iter().map(|record| record.episodes.len()).sum();
        let mut row = vec![
            Entry::words(cell.task),
            Entry::words(cell.regime.unwrap_or_default()),
            Entry::words(cell.arm),
            Entry::Number(episodes as f64, 0),
        ];
        row.extend(
            METRICS
                .iter()
                .map(|metric| Entry::estimate(results.estimate(cell, metric), metric.decimals)),
        );
        row.push(Entry::Number(violations(results, cell) as f64, 0));
        row
    });
    let columns = METRICS.map(|metric| metric.name);
    Table {
        name: "cells",
        title: "Every cell".to_owned(),
        columns: names(
            &[["task", "regime", "arm", "episodes"].as_slice(), &columns, &["envelope violations"]]
                .concat(),
        ),
        rows: rows.collect(),
        note: INTERVALS.to_owned(),
    }
}

fn violations(results: &Results<'_>, cell: Cell<'_>) -> usize {
    let units = results.units(cell);
    units.iter().flat_map(|record| &record.episodes).filter(|e| !e.envelope_held).count()
}

fn arm_name(arm: &str) -> String {
    if arm == "oracle" { "oracle (privileged)".to_owned() } else { arm.to_owned() }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
