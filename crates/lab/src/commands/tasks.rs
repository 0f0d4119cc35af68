//! Which tasks are there? (`cpss tasks`)

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::tasks::{SHIPPED_SEEDS, TaskEntry, all, policy_task};
use crate::terminal::say;

/// Options of `cpss tasks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cpss tasks
  cpss tasks --json")]
pub(super) struct Options {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A task as it is listed.
#[derive(Debug, Serialize)]
struct Listed {
    id: &'static str,
    /// The task's folder below `tasks/`.
    folder: &'static str,
    /// Numbers that a policy sees, in its configuration, and actions that it chooses from.
    observation: Vec<usize>,
    actions: usize,
    /// About how long an episode lasts \[s\], and the shield's horizon in decisions.
    seconds: f64,
    horizon: Option<u32>,
    policies: usize,
    critics: usize,
}

impl Listed {
    fn of(task: &TaskEntry) -> Listed {
        let played = policy_task(task.id);
        let critics = ["risk.safetensors", "risk-stationary.safetensors"];
        Listed {
            id: task.id.name(),
            folder: task.folder,
            observation: played.observer.shape(),
            actions: played.controls.action_count().unwrap_or(0),
            seconds: task.spec.seconds,
            horizon: task.spec.shield.map(|shield| shield.horizon),
            policies: (0..SHIPPED_SEEDS).filter(|seed| task.policy(*seed).is_some()).count(),
            critics: critics.iter().filter(|name| task.file(name).is_some()).count(),
        }
    }
}

/// Runs `cpss tasks`.
pub(super) fn run(options: &Options) -> Result<()> {
    let tasks: Vec<Listed> = all().map(Listed::of).collect();
    if options.json {
        return say!("{}", serde_json::to_string_pretty(&tasks)?);
    }
    say!(
        "{:<18} {:>14} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "task",
        "a policy sees",
        "actions",
        "episode",
        "horizon",
        "policies",
        "critics"
    )?;
    for task in &tasks {
        let sizes: Vec<String> = task.observation.iter().map(usize::to_string).collect();
        let horizon = task.horizon.map_or("-".to_owned(), |horizon| horizon.to_string());
        say!(
            "{:<18} {:>14} {:>8} {:>8} {:>8} {:>9} {:>8}",
            task.id,
            sizes.join(" x "),
            task.actions,
            format!("{} s", task.seconds),
            horizon,
            task.policies,
            task.critics
        )?;
    }
    Ok(())
}
