//! How good are the shipped policies, and how good would be good for nothing?
//!
//! `cpss policies` scores every shipped policy and, as floors, every constant action and a random
//! driver, each on the same seeds, and prints one Markdown table per task. With `--write` the tables
//! go into a document between [`POLICIES`]'s markers, with the command, the day and the machine:
//! no number in that place is typed by hand.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cpss_highway::action::Controls;
use cpss_highway::{Task, TaskId};
use serde::Serialize;

use crate::learn::train::driving::{Driving, Inside};
use crate::learn::train::score::{Driver, SCORE_SEED, Score, score};
use crate::play::policy::shipped;
use crate::report::document::{POLICIES, made_by};
use crate::tasks::{self, SHIPPED_SEEDS, policy_task};
use crate::terminal::{note, say};

/// Options of `cpss policies`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cpss policies
  cpss policies --env merge-v0 --episodes 100
  cpss policies --write docs/policies.md     (between its markers)")]
pub(super) struct Options {
    /// Only these tasks
    #[arg(long, value_name = "ID")]
    env: Vec<TaskId>,
    /// Episodes for each driver
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=500_000))]
    episodes: u64,
    /// Put the tables into this document, between its markers
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    write: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The scores of one task.
#[derive(Clone, Debug, Serialize)]
struct TaskScores {
    env: &'static str,
    drivers: Vec<Row>,
    /// Mean over the shipped policies.
    policies_mean: Score,
}

/// One driver's score.
#[derive(Clone, Debug, Serialize)]
struct Row {
    driver: String,
    #[serde(flatten)]
    score: Score,
}

/// Runs `cpss policies`.
pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(path) = &options.write {
        POLICIES.check(path)?;
    }
    let tasks =
        if options.env.is_empty() { tasks::shipped().to_vec() } else { options.env.clone() };
    let mut all = Vec::new();
    for id in tasks {
        note!("scoring {} ...", id.name());
        all.push(score_task(id, options.episodes)?);
    }
    if options.json {
        return say!("{}", serde_json::to_string_pretty(&all)?);
    }
    let tables: String = all.iter().map(TaskScores::table).collect();
    match &options.write {
        Some(path) => POLICIES.put(path, &format!("{}\n{tables}", provenance(options))),
        None => say!("{}", tables.trim_end()),
    }
}

fn score_task(id: TaskId, episodes: u64) -> Result<TaskScores> {
    let task = policy_task(id);
    let world = Driving::with(id, Inside::Nothing)?;
    let scored = |driver: String, who: &Driver| -> Result<Row> {
        Ok(Row { driver, score: score(&world, who, SCORE_SEED, episodes)? })
    };
    let mut drivers = Vec::new();
    for seed in 0..SHIPPED_SEEDS {
        let policy = Driver::Greedy(shipped(id, seed)?);
        drivers.push(scored(format!("`builtin:{seed}`"), &policy)?);
    }
    let policies_mean = mean(&drivers);
    for action in 0..task.controls.action_count().unwrap_or(0) {
        drivers
            .push(scored(format!("always {}", label(&task, action)), &Driver::Constant(action))?);
    }
    drivers.push(scored("random".to_owned(), &Driver::Random)?);
    Ok(TaskScores { env: id.name(), drivers, policies_mean })
}

/// The plain mean of each number: every training seed counts the same.
fn mean(rows: &[Row]) -> Score {
    let mean = |value: fn(&Score) -> f64| {
        rows.iter().map(|row| value(&row.score)).sum::<f64>() / rows.len() as f64
    };
    Score {
        return_mean: mean(|score| score.return_mean),
        crashed_rate: mean(|score| score.crashed_rate),
        offroad_rate: mean(|score| score.offroad_rate),
        length_mean: mean(|score| score.length_mean),
        speed_mean: mean(|score| score.speed_mean),
        ..rows[0].score
    }
}

/// What an action is called.
fn label(task: &Task, action: usize) -> String {
    match &task.controls {
        Controls::Meta { actions, .. } => actions[action].label().to_owned(),
        Controls::Discrete { points, .. } => format!("{action} (at {:+.2})", points[action][0]),
        Controls::Continuous(_) => action.to_string(),
    }
}

impl TaskScores {
    fn table(&self) -> String {
        let mut text = format!(
            "\n### {}\n\n| driver | return | crashed | off road | steps | speed \\[m/s\\] |\n\
             |---|---:|---:|---:|---:|---:|\n",
            self.env
        );
        let (policies, floors) = self.drivers.split_at(SHIPPED_SEEDS);
        let mean = Row { driver: "**mean of the five**".to_owned(), score: self.policies_mean };
        for Row { driver, score } in policies.iter().chain([&mean]).chain(floors) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {driver} | {:.2} | {:.3} | {:.3} | {:.1} | {:.1} |",
                score.return_mean,
                score.crashed_rate,
                score.offroad_rate,
                score.length_mean,
                score.speed_mean
            );
        }
        text
    }
}

/// The command, the day and the machine.
fn provenance(options: &Options) -> String {
    let mut command = format!("cpss policies --episodes {}", options.episodes);
    for id in &options.env {
        command += &format!(" --env {}", id.name());
    }
    let made = made_by(&format!("{command} --write docs/policies.md"));
    format!("{made}; episodes of the seeds from {SCORE_SEED} on.\n")
}
