//! What can be asked of `cpss`?
//!
//! One command per capability, each a short file of its own. Results go to standard output,
//! progress and logs to standard error; the exit status is zero only for success.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};

use crate::terminal::note;

mod audit;
mod bench;
mod completions;
mod deploy;
mod evaluate;
mod evidence;
mod export;
mod manual;
mod memory;
mod policies;
mod prepare;
mod replay;
mod reproduce;
mod risk;
mod rollout;
mod schema;
mod tasks;
mod train;

/// Runtime safety for reinforcement learning.
#[derive(Debug, Parser)]
#[command(name = "cpss", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the paper's experiment again: every task, regime and method, with tables and a report
    Reproduce(reproduce::Options),
    /// Do a share of a plan's work units, for job arrays
    Run(reproduce::RunOptions),
    /// Put the shares of a plan together and write its tables
    Merge(reproduce::MergeOptions),
    /// List the tasks, and what is shipped for each
    Tasks(tasks::Options),
    /// Play given actions from a seed and print every state as a line of JSON
    Rollout(rollout::Options),
    /// Train a policy and write it, with its score, to a file
    Train(train::Options),
    /// Learn the risk of each action, and score what was learned
    #[command(subcommand)]
    Risk(RiskCommand),
    /// Train a task's policies and learn its critics, into its folder
    Prepare(prepare::Options),
    /// Score the shipped policies beside constant and random drivers
    Policies(policies::Options),
    /// Play one method on one task under one regime and sum it up
    Evaluate(evaluate::Options),
    /// Show what shields remember from episode to episode, and share a memory in a fleet
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Derive every threshold, verdict, charge and the certificate of a trace again
    Audit(audit::Options),
    /// Write a page that replays a trace, and open it in the browser
    Replay(replay::Options),
    /// Write traces as MCAP, for Foxglove and Rerun
    Export(export::Options),
    /// Deploy shields into a world that changes in the middle of a run, and see whether they notice
    Deploy(deploy::Options),
    /// Put what a safety case asks of an experiment on one page
    Evidence(evidence::Options),
    /// Measure throughput on this machine
    Bench(bench::Options),
    /// Print the JSON schema of a file that people write: a plan, a regime, a shield
    Schema(schema::Options),
    /// Print completions for a shell
    Completions(completions::Options),
    /// Write the manual pages
    Manual(manual::Options),
}

#[derive(Debug, Subcommand)]
enum RiskCommand {
    /// Learn and calibrate a critic
    Learn(risk::learn::Options),
    /// Calibrate a critic anew, for other regimes
    Calibrate(risk::calibrate::Options),
    /// Look at what the traffic is like that a critic knows
    Likeness(risk::likeness::Options),
    /// Print a critic's card, and measure it anew
    Score(risk::score::Options),
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// Print what memories have found
    Show(memory::ShowOptions),
    /// Give a car of a fleet its own memory, which goes on from a common one
    Fork(memory::ForkOptions),
    /// Put together what the cars of a fleet have found since they were forked
    Merge(memory::MergeOptions),
    /// Begin the evidence anew, after an alarm that was seen to
    Restart(memory::RestartOptions),
}

/// Reads the command line, does what it says, and tells the person at the terminal what went wrong, if anything did.
pub fn run() -> ExitCode {
    ExitCode::from(run_from(std::env::args_os()))
}

/// The same with a command line from elsewhere, the program's name first, and the exit status as a number: Python's
/// `cpss` is this one. A command line that is not understood, and `--help`, end the process.
pub fn run_from(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    match run_command(Cli::parse_from(arguments).command) {
        Ok(()) => 0,
        Err(error) => {
            note!("error: {error:#}");
            1
        }
    }
}

fn run_command(command: Command) -> Result<()> {
    if !matches!(
        command,
        Command::Tasks(_)
            | Command::Prepare(_)
            | Command::Rollout(_)
            | Command::Memory(_)
            | Command::Audit(_)
            | Command::Replay(_)
            | Command::Export(_)
            | Command::Schema(_)
            | Command::Completions(_)
            | Command::Manual(_)
    ) {
        start_threads()?;
    }
    match command {
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Run(options) => reproduce::run_share(&options),
        Command::Merge(options) => reproduce::merge(&options),
        Command::Tasks(options) => tasks::run(&options),
        Command::Rollout(options) => rollout::run(&options),
        Command::Train(options) => train::run(&options),
        Command::Risk(RiskCommand::Learn(options)) => risk::learn::run(&options),
        Command::Risk(RiskCommand::Calibrate(options)) => risk::calibrate::run(&options),
        Command::Risk(RiskCommand::Likeness(options)) => risk::likeness::run(&options),
        Command::Risk(RiskCommand::Score(options)) => risk::score::run(&options),
        Command::Prepare(options) => prepare::run(&options),
        Command::Policies(options) => policies::run(&options),
        Command::Evaluate(options) => evaluate::run(&options),
        Command::Memory(MemoryCommand::Show(options)) => memory::show(&options),
        Command::Memory(MemoryCommand::Fork(options)) => memory::fork(&options),
        Command::Memory(MemoryCommand::Merge(options)) => memory::merge(&options),
        Command::Memory(MemoryCommand::Restart(options)) => memory::restart(&options),
        Command::Audit(options) => audit::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Deploy(options) => deploy::run(&options),
        Command::Evidence(options) => evidence::run(&options),
        Command::Schema(options) => schema::run(&options),
        Command::Completions(options) => completions::run(&options, Cli::command()),
        Command::Manual(options) => manual::run(&options, Cli::command()),
    }
}

/// Starts the threads that episodes are shared out to, here and not when the first is needed, where a failure
/// could not be told in words.
fn start_threads() -> Result<()> {
    rayon::ThreadPoolBuilder::new().build_global().context(
        "cannot start as many threads; the variable RAYON_NUM_THREADS says how many, say 1",
    )
}
