//! Which tables are made of the records?
//!
//! First what was promised and what happened. The paper's five with the paper's value beside ours, then what the paper does not show: return,
//! speed, success, what the shield did and what it was good for, the bound of Theorem 3, the frontier, and every cell. Each is a
//! [`Table`], written as Markdown (`tables.md`), LaTeX (`tables.tex`) and CSV (`tables/`). Start at
//! [`write_all`].

use std::path::Path;

use anyhow::Result;

use crate::files::atomic::{folder, write_atomically};
use crate::measure::estimate::{Cell, Estimate, Metric, Results, metric};
use crate::report::paper;
use crate::report::table::{Entry, Table};

mod beyond;
mod glance;
mod promise;

pub(crate) use glance::traffic;
pub(crate) use promise::{Kept, allowed, kept, promised};

use beyond::{beyond, every_cell, frontier, theorem_three, what_if};
use glance::at_a_glance;
use promise::{promise, promise_by_budget};

/// What every interval in a table means.
const INTERVALS: &str = "Value ± standard deviation over training seeds [95 % interval]. Intervals \
    are Wilson's for shares of episodes and bootstraps over training seeds and episodes for the rest.";

/// How many of the tables sum the others up.
pub(crate) const SUMMARY: usize = 1;

/// Writes all tables and returns them; the first `SUMMARY` say most: collisions, and what avoiding
/// them costs.
///
/// # Errors
///
/// A folder that cannot be written.
pub fn write_all(results: &Results<'_>, out: &Path) -> Result<Vec<Table>> {
    let place = out.join("tables");
    folder(&place)?;
    let mut tables = vec![at_a_glance(results), collision_summary(results), price(results)];
    tables.push(promise(results));
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
    tables.push(promise_by_budget(results));
    tables.push(frontier(results));
    tables.push(every_cell(results));
    tables.retain(|table| !table.rows.is_empty());
    let disagreements: String =
        paper::doubts().iter().map(|doubt| format!("- {doubt}\n")).collect();
    let markdown = tables.iter().map(Table::markdown).collect::<Vec<_>>().join("\n");
    let markdown = format!(
        "# The paper's experiment, made again\n\n{markdown}\n\
         ## Where the paper's tables disagree\n\n{disagreements}"
    );
    write_atomically(&out.join("tables.md"), markdown.as_bytes())?;
    write_atomically(&out.join("tables.tex"), latex.as_bytes())?;
    for table in &tables {
        write_atomically(&place.join(format!("{}.csv", table.name)), table.csv().as_bytes())?;
    }
    Ok(tables)
}

/// The collision rate of each task, mean over regimes, ours beside the paper's.
pub(crate) fn collision_summary(results: &Results<'_>) -> Table {
    let collisions = metric("collision_rate");
    let all = |task, arm| results.estimate(Cell { task, regime: None, arm }, collisions);
    let percent = |found: Option<Estimate>| found.map_or(Entry::Empty, Entry::Percent);
    let tasks = results.tasks();
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    for task in &tasks {
        let theirs = |table: [f64; 4]| {
            let row = paper::row(task);
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
    let over = |tasks: &[&str], name: &str, theirs: [Entry; 2]| {
        let mean = |arm| results.mean_over_tasks(tasks, None, arm, collisions);
        let mut row = vec![
            Entry::words(name),
            Entry::estimate(mean("dqn"), 4),
            Entry::estimate(mean("cpss"), 4),
            percent(results.reduction(tasks, "dqn", "cpss")),
        ];
        row.extend(theirs);
        row
    };
    let theirs = [paper::MEAN_DQN, paper::MEAN_CPSS].map(|mean| Entry::Number(mean, 4));
    let shared = paper::shared(&tasks);
    if shared.len() < tasks.len() {
        rows.push(over(&shared, "**the paper's tasks**", theirs));
        rows.push(over(&tasks, "**all**", [Entry::Empty, Entry::Empty]));
    } else if tasks.len() > 1 {
        rows.push(over(&tasks, "**all**", theirs));
    }
    Table {
        name: "collision_summary",
        title: "Collision rate, mean over regimes".to_owned(),
        columns: names(&["task", "DQN", "CPSS", "paired reduction", "paper: DQN", "paper: CPSS"]),
        rows,
        note: format!(
            "{INTERVALS} The last row's are bootstraps; without a single failure it ends where Wilson's \
             does for as many episodes."
        ),
    }
}

/// What the shield costs: return, speed and success beside the policy's own, and how often it acts.
fn price(results: &Results<'_>) -> Table {
    let found = |task: &str, arm: &str, key: &str| {
        Entry::of(results, Cell { task, regime: None, arm }, metric(key))
    };
    let row = |task: &str| {
        vec![
            Entry::words(task),
            found(task, "dqn", "return_mean"),
            found(task, "cpss", "return_mean"),
            found(task, "dqn", "mean_speed"),
            found(task, "cpss", "mean_speed"),
            found(task, "dqn", "success_rate"),
            found(task, "cpss", "success_rate"),
            found(task, "cpss", "intervention_rate"),
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
            "success, DQN",
            "success, CPSS",
            "interventions",
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
                Entry::of(results, cell, metric)
            });
            rows.push([Entry::words(task), Entry::words(arm)].into_iter().chain(ours).collect());
            let Some(row) = paper::row(task) else { continue };
            let printed = regimes.iter().map(|regime| {
                let column = paper::column(regime);
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
        let row = paper::row(task);
        for (arm, risk, distance) in [
            ("dqn", &paper::PROXIMITY_DQN, &paper::DISTANCE_DQN),
            ("cpss", &paper::PROXIMITY_CPSS, &paper::DISTANCE_CPSS),
        ] {
            let ours =
                |key| Entry::of(results, Cell { task, regime: Some(regime), arm }, metric(key));
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

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
