//! What does a shield remember, and what does a fleet? (`cpss memory`)
//!
//! Shows memory files, and lets a fleet share one: each car plays with its own fork of a common base, and what
//! they bring back is merged.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;

use crate::files::lock::Lock;
use crate::measure::summary::AlarmSaid;
use crate::play::memory::MemoryFile;
use crate::terminal::say;

/// Options of `cpss memory show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --regime high --memory car.json
  cpss memory show car.json
  cpss memory show *.json --json | jq '.[].recalibration'")]
pub(super) struct ShowOptions {
    /// Memories, as `cpss evaluate --memory FILE` keeps them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Options of `cpss memory fork`.
#[derive(Debug, Args)]
#[command(after_help = "Example, a fleet of two cars:
  cpss memory fork fleet.json --out one.json && cpss memory fork fleet.json --out two.json
  cpss evaluate --env merge-v0 --memory one.json && cpss evaluate --env merge-v0 --seed 1500000 --memory two.json
  cpss memory merge one.json two.json --out fleet.json")]
pub(super) struct ForkOptions {
    /// The memory that the fleet has in common
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// Where one car's own goes; there must be nothing yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Options of `cpss memory merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "The fleet's memory is that of one car that lived through all their episodes in a row, in the order given.
An alarm of one car is one of the fleet. Example:
  cpss memory merge one.json two.json --out fleet.json"
)]
pub(super) struct MergeOptions {
    /// The cars' memories, forked from one base
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the fleet's goes: a new file, or over the one that the cars were forked from
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Options of `cpss memory restart`.
#[derive(Debug, Args)]
#[command(
    after_help = "Risks stay raised by what was found; only the evidence, and with it the alarm, begins anew.
The next alarm about traffic raises them at once again. Example:
  cpss memory restart car.json"
)]
pub(super) struct RestartOptions {
    /// The memory, changed in place
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs `cpss memory show`.
pub(super) fn show(options: &ShowOptions) -> Result<()> {
    let mut documents = Vec::new();
    for place in &options.files {
        let file = MemoryFile::read(place)?;
        if options.json {
            documents.push(document(&place.display().to_string(), &file)?);
        } else {
            print_for_people(&place.display().to_string(), &file)?;
        }
    }
    if options.json {
        say!("{}", serde_json::to_string_pretty(&documents)?)?;
    }
    Ok(())
}

/// Runs `cpss memory fork`.
pub(super) fn fork(options: &ForkOptions) -> Result<()> {
    let base = MemoryFile::read(&options.base)?;
    let _lock = Lock::take_file(&options.out, "cpss memory fork")?;
    // What a car has found is not to be lost by a slip of the hand.
    ensure!(
        !options.out.exists(),
        "{} is there already: give a name that is not",
        options.out.display()
    );
    base.fork()?.write(&options.out)?;
    say!("{}", options.out.display())
}

/// Runs `cpss memory merge`.
pub(super) fn merge(options: &MergeOptions) -> Result<()> {
    let read = |place: &PathBuf| Ok((place.display().to_string(), MemoryFile::read(place)?));
    let cars = options.files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let fleet = MemoryFile::merge(&cars)?;
    let _lock = Lock::take_file(&options.out, "cpss memory merge")?;
    ensure!(
        !options.files.contains(&options.out),
        "{} is one of the cars' memories: give another place",
        options.out.display()
    );
    if options.out.exists() {
        // Over the base that it goes on from, and over nothing else that somebody has found.
        let there = MemoryFile::read(&options.out)?.sha256();
        let base = cars.first().and_then(|(_, car)| car.base.as_ref());
        ensure!(
            base.is_some_and(|base| base.sha256 == there),
            "{} is there already, and is not what the cars were forked from: give another place",
            options.out.display()
        );
    }
    fleet.write(&options.out)?;
    print_for_people(&options.out.display().to_string(), &fleet)
}

/// Runs `cpss memory restart`.
pub(super) fn restart(options: &RestartOptions) -> Result<()> {
    let name = options.file.display().to_string();
    let _lock = Lock::take_file(&options.file, "cpss memory restart")?;
    let file = MemoryFile::read(&options.file)?;
    let file = file.restarted().with_context(|| format!("the memory {name}"))?;
    file.write(&options.file)?;
    print_for_people(&name, &file)
}

fn document(name: &str, file: &MemoryFile) -> Result<serde_json::Value> {
    let memory = file.memory().with_context(|| format!("the memory {name}"))?;
    let alarms: Vec<AlarmSaid> = memory.alarms().map(AlarmSaid::from).collect();
    Ok(json!({
        "file": name,
        "task": file.task,
        "critic": file.critic,
        "settings": file.settings,
        "forked_from": file.base.as_ref().map(|base| &base.sha256),
        "episodes": memory.episodes(),
        "decisions": memory.evidence().seen(),
        "evidence": memory.evidence().value(),
        "recalibration": memory.recalibration().raised(),
        "shift": memory.recalibration().shift(),
        "lift": memory.recalibration().lift(),
        "novelty": memory.novelty().map(cpss_shield::Novelty::value),
        "alarms": alarms,
        "sha256": file.sha256(),
    }))
}

/// By how much risks are raised, in words.
fn raised(recalibration: &cpss_shield::Recalibration) -> String {
    let (shift, lift) = (recalibration.shift(), recalibration.lift());
    let all = format!("log-odds raised by {shift:.3}, odds times {:.2}", shift.exp());
    match lift > 0.0 {
        true => format!("{all}; those of what cannot be avoided by {lift:.3} more"),
        false => all,
    }
}

fn print_for_people(name: &str, file: &MemoryFile) -> Result<()> {
    let memory = file.memory().with_context(|| format!("the memory {name}"))?;
    let short = |hash: &str| hash.chars().take(12).collect::<String>();
    let evidence = memory.evidence();
    let novelty = memory.novelty().map_or("no scores are watched".to_owned(), |novelty| {
        format!("{:.2}, alarm at {}", novelty.value(), novelty.level())
    });
    say!("{name}")?;
    for (what, value) in [
        ("about the critic", format!("{} of {}", short(&file.critic), file.task)),
        ("episodes", memory.episodes().to_string()),
        ("decisions", evidence.seen().to_string()),
        ("evidence", format!("{:.2}, alarm at {}", evidence.value(), evidence.level())),
        ("novelty", novelty),
        ("recalibration", raised(memory.recalibration())),
    ] {
        say!("  {what:<17} {value}")?;
    }
    if let Some(base) = &file.base {
        let before = base.memory.episodes;
        say!("  {:<17} {}, which had {before} episodes", "forked from", short(&base.sha256))?;
    }
    for alarm in memory.alarms() {
        say!("  {:<17} {alarm}", "ALARM")?;
    }
    Ok(())
}
