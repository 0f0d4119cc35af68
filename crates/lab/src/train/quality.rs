//! How good are the shipped policies, and how good would be good for nothing?
//!
//! `cpss policies` scores every shipped policy and, as floors, every constant action and a random
//! driver, each on the same seeds, and prints one Markdown table per task. With `--write` the tables
//! go into a document between [`BEGIN`] and [`END`], with the command, the day and the machine:
//! no number in that place is typed by hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;
use cpss_highway::action::Controls;
use cpss_highway::{Task, TaskId};
use serde::Serialize;

use super::journal::write_whole;
use super::score::{Driver, SCORE_SEED, Score, score};
use crate::policy::{SHIPPED_SEEDS, SHIPPED_TASKS, policy_task, shipped};

/// Before the tables in a document.
pub const BEGIN: &str = "<!-- cpss policies: begin -->";
/// After them.
pub const END: &str = "<!-- cpss policies: end -->";

/// Options of `cpss policies`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cpss policies
  cpss policies --env merge-v0 --episodes 100
  cpss policies --write docs/policies.md     (between its markers)")]
pub struct Options {
    /// Only these tasks
    #[arg(long, value_name = "ID")]
    pub env: Vec<TaskId>,
    /// Episodes for each driver
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=500_000))]
    pub episodes: u64,
    /// Put the tables into this document, between its markers
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub write: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
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
///
/// # Errors
///
/// If a task has no shipped policies, or the document has no place for the tables.
pub fn run(options: &Options) -> Result<()> {
    let tasks = if options.env.is_empty() { SHIPPED_TASKS.to_vec() } else { options.env.clone() };
    let mut all = Vec::new();
    for id in tasks {
        eprintln!("scoring {} ...", id.name());
        all.push(score_task(id, options.episodes)?);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    let tables: String = all.iter().map(TaskScores::table).collect();
    match &options.write {
        Some(path) => splice(path, &format!("{}\n{tables}", provenance(options))),
        None => {
            print!("{tables}");
            Ok(())
        }
    }
}

fn score_task(id: TaskId, episodes: u64) -> Result<TaskScores> {
    let task = policy_task(id);
    let scored = |driver: String, who: &Driver| -> Result<Row> {
        Ok(Row { driver, score: score(&task, who, SCORE_SEED, episodes)? })
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
    format!(
        "Made by `{command} --write docs/policies.md` on {}, {}; episodes of the seeds from \
         {SCORE_SEED} on.\n",
        today(),
        machine()
    )
}

/// Puts text between the markers of a document.
fn splice(path: &Path, text: &str) -> Result<()> {
    let document = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the document {}", path.display()))?;
    let spliced = between_markers(&document, text)
        .with_context(|| format!("{} lacks the lines {BEGIN} and {END}", path.display()))?;
    write_whole(path, spliced.as_bytes())
}

fn between_markers(document: &str, text: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", text.trim()))
}

/// What the machine calls itself, where it says so.
fn machine() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or(std::env::consts::ARCH, |(_, model)| model);
    format!("{model}, {threads} threads")
}

fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date_of(seconds / 86_400)
}

/// The date of a day counted from 1970, by walking the years and months: no calendar crate pays
/// for one date.
fn date_of(mut day: u64) -> String {
    let divides = |divisor: u64, year: u64| year.is_multiple_of(divisor);
    let is_leap = |year: u64| divides(4, year) && (!divides(100, year) || divides(400, year));
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        assert_eq!(date_of(0), "1970-01-01");
        assert_eq!(date_of(11_016), "2000-02-29");
        assert_eq!(date_of(19_722), "2023-12-31");
        assert_eq!(date_of(19_723), "2024-01-01");
    }

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let document = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let spliced = between_markers(&document, "\nnew\n").unwrap();
        assert_eq!(spliced, format!("above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"));
        assert_eq!(between_markers(&spliced, "new").unwrap(), spliced);
        assert!(between_markers("no markers", "new").is_none());
    }
}
