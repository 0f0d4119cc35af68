//! How does a task get its policies and critics? (`cpss prepare`)
//!
//! One command after the other, each as a person would give it: five trainings, then a critic over all regimes
//! and one of stationary traffic, all into the task's folder. What is there already is left as it is, and
//! what was stopped goes on, so the same command again finishes the work.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use cpss_highway::TaskId;

use crate::tasks::{self, SHIPPED_SEEDS};
use crate::terminal::{note, say};

/// Options of `cpss prepare`.
#[derive(Debug, Args)]
#[command(after_help = "\
The next build ships what lies in the folder. Logs stand beside each file; a command that was stopped or killed
goes on from its checkpoint. To make a file anew, delete it first.

Examples:
  cpss prepare --env roundabout-v0
  cpss prepare --env roundabout-v0 --quick --out trial      to see that the chain works")]
pub(super) struct Options {
    /// Task, by its id
    #[arg(long)]
    env: TaskId,
    /// The folder that the files go to [default: tasks/ENV]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Little training and few episodes: in a minute, and of no use but to see that it works
    #[arg(long)]
    quick: bool,
}

/// Runs `cpss prepare`.
pub(super) fn run(options: &Options) -> Result<()> {
    let name = options.env.name();
    let folder = options.out.clone().unwrap_or_else(|| Path::new("tasks").join(name));
    ensure!(
        options.out.is_some() || folder.join("task.toml").is_file(),
        "there is no {}/task.toml: go to the top of the repository, or say where to with --out",
        folder.display()
    );
    for file in ["task.toml", "train.toml"].map(|file| folder.join(file)) {
        let built = file.file_name().and_then(|name| tasks::of(options.env).file(name.to_str()?));
        ensure!(
            options.out.is_some() || std::fs::read(&file).ok().as_deref() == built,
            "{} is not what this program was built with: build again first",
            file.display()
        );
    }
    for seed in 0..SHIPPED_SEEDS {
        let (seed, file) = (seed.to_string(), folder.join(format!("{seed}.safetensors")));
        let mut arguments = vec!["train", "--env", name, "--seed", &seed];
        if options.quick {
            arguments.extend(["--steps", "20000", "--score-episodes", "100"]);
        }
        if file.with_extension("checkpoint").exists() {
            arguments.push("--resume");
        }
        make(&file, &arguments, None)?;
    }
    for (critic, regimes) in
        [("risk", None), ("risk-stationary", Some(["--regimes", "stationary"]))]
    {
        let mut arguments = vec!["risk", "learn", "--env", name];
        arguments.extend(regimes.iter().flatten());
        if options.quick {
            let small = "--rounds 2 --decisions 20000 --updates 200 --episodes 100";
            arguments.extend(small.split(' '));
        }
        make(&folder.join(format!("{critic}.safetensors")), &arguments, Some(&folder))?;
    }
    say!("{} is ready: build again to ship it", folder.display())
}

/// Makes a file by a command of this program, unless it is there.
fn make(file: &Path, arguments: &[&str], policies: Option<&Path>) -> Result<()> {
    if file.exists() {
        note!("{} is there already", file.display());
        return Ok(());
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(arguments).arg("--out").arg(file);
    if let Some(folder) = policies {
        command.arg("--policies").arg(folder);
    }
    note!("cpss {} --out {}", arguments.join(" "), file.display());
    let status = command.status().context("cannot start this program again")?;
    ensure!(status.success(), "{} was not made; the same command goes on", file.display());
    Ok(())
}
