//! How fast is it here? (`cpss bench`)

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cpss_highway::TaskId;

use crate::measure::bench::{measure, shielded};
use crate::report::document::{BENCH, made_by};
use crate::terminal::say;

/// Options of `cpss bench`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Seconds for each measurement
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Only these tasks
    #[arg(long)]
    env: Vec<TaskId>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Put what the shield costs into this document, between its markers
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 3600.0 => Ok(value),
        _ => Err("a number of seconds above 0, at most 3600".to_owned()),
    }
}

/// Runs `cpss bench`.
pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(document) = &options.write {
        BENCH.check(document)?;
    }
    let report = measure(&options.env, options.seconds)?;
    if let Some(document) = &options.write {
        let command = format!("cpss bench --seconds {}", options.seconds);
        let table = shielded::markdown(&report.shielded);
        BENCH.put(document, &format!("{table}\n{}.", made_by(&command)))?;
    }
    if options.json {
        say!("{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        say!("{:<18} {:>14} {:>14} {:>18}", "task", "steps/s", "all threads", "car updates/s")?;
        for (name, task) in &report.tasks {
            say!(
                "{name:<18} {:>14.0} {:>14.0} {:>18.0}",
                task.steps_per_second,
                task.steps_per_second_all_threads,
                task.vehicle_updates_per_second
            )?;
        }
        for (name, task) in &report.shielded {
            say!(
                "{name} with its policy: {:.0} steps/s, under the shield {:.0}; a whole decision: {}; behind a sensor: {}",
                task.unshielded_steps_per_second,
                task.steps_per_second,
                task.decision,
                task.behind_sensor
            )?;
        }
        say!("shield alone, a decision: {}", report.shield)?;
        say!("of which reading the clock: {}", report.clock)?;
        say!("DQN updates/s: {:.0}", report.gradient_steps_per_second)?;
    }
    Ok(())
}
