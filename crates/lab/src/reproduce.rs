//! How is the paper's experiment made again?
//!
//! `cpss reproduce` runs every unit of the plan from the shipped policies, keeps each finished one
//! as a file, and makes tables, figures, traces and the report of them. `cpss run` does a share of a plan's units,
//! for Slurm arrays and indexed jobs, and `cpss merge` puts the shares together. Killed at any moment,
//! it goes on where it was: a finished unit is never lost, a half-written one never counted, and
//! everything comes out the same to the last byte.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use rayon::prelude::*;
use serde_json::Value;

use crate::document;
use crate::estimate::Results;
use crate::figure;
use crate::keep::{folder, keep};
use crate::lock::{Claim, Lock};
use crate::meter::Meter;
use crate::plan::{Plan, Size, Unit, UnitRecord};
use crate::report::{self, Made};
use crate::table::Table;
use crate::terminal::say;
use crate::{tables, telling, view};

/// Options of `cpss reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss reproduce --quick               a first look, in about a minute
  cpss reproduce                       5 policies x 100 episodes per cell
  cpss reproduce --full --out results  5 policies x 1,000 episodes per cell")]
pub struct Options {
    /// 5 policies x 8 episodes per cell, 2 where they are long
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// 5 policies x 1,000 episodes per cell
    #[arg(long)]
    pub full: bool,
    /// Another experiment than the paper's, as a .toml file; see `cpss run --help`
    #[arg(long, conflicts_with_all = ["quick", "full"])]
    pub plan: Option<PathBuf>,
    /// What the plan's own policies see, as of `cpss evaluate`, in place of what the plan says
    #[arg(long, value_name = "JSON", value_parser = view::parse, requires = "plan")]
    pub config: Option<Value>,
    /// Folder for records, tables, figures, traces and the report; an interrupted run goes on from it
    #[arg(long, default_value = "out")]
    pub out: PathBuf,
    /// Put the summary into this document, between its markers
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

impl Options {
    fn size(&self) -> Size {
        match (self.quick, self.full) {
            (true, _) => Size::Quick,
            (_, true) => Size::Full,
            _ => Size::Default,
        }
    }
}

/// The command that makes the same results again.
fn command_of(size: Size, plan: Option<&Path>) -> String {
    let plan = plan.map(|path| format!(" --plan {}", path.display()));
    let size = match size {
        Size::Quick => " --quick",
        Size::Default => "",
        Size::Full => " --full",
    };
    format!("cpss reproduce{size}{}", plan.unwrap_or_default())
}

/// Options of `cpss run`.
#[derive(Debug, Args)]
#[command(after_help = "Example, a plan shared by two machines:
  cpss run --plan plan.toml --shard 0/2 --out a     on one
  cpss run --plan plan.toml --shard 1/2 --out b     on the other
  cpss merge --plan plan.toml --out all a b         then, anywhere

A plan lists what differs from the paper's experiment, such as
  tasks = [\"merge-v0\"]
  arms = [\"dqn\", \"cpss\"]
  episodes = 200
and policies that were made elsewhere, with what they see:
  policies = [0, 1]
  [own.merge-v0]
  files = [\"first.onnx\", \"second.safetensors\"]
  config = { observation = { type = \"Kinematics\", vehicles_count = 15 } }")]
pub struct RunOptions {
    /// The plan, as a .toml file
    #[arg(long)]
    pub plan: PathBuf,
    /// Which share of the units: I/N, from 0/N to N-1/N
    #[arg(long, default_value = "0/1")]
    pub shard: Shard,
    /// Folder for records; an interrupted run goes on from it
    #[arg(long, default_value = "out")]
    pub out: PathBuf,
}

/// Options of `cpss merge`.
#[derive(Debug, Args)]
pub struct MergeOptions {
    /// The plan that the shares belong to, as a .toml file
    #[arg(long)]
    pub plan: PathBuf,
    /// Folder for all records and the tables
    #[arg(long, default_value = "out")]
    pub out: PathBuf,
    /// Folders of the shares
    #[arg(required = true)]
    pub shares: Vec<PathBuf>,
}

/// A share of a plan's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            Some(Shard { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        match parts {
            Some(shard) if shard.index < shard.count => Ok(shard),
            _ => Err("give I/N with I from 0 to N-1, such as 0/4".to_owned()),
        }
    }
}

/// Runs `cpss run`.
///
/// # Errors
///
/// As [`run`], or a plan that makes no sense.
pub fn run_share(options: &RunOptions) -> Result<()> {
    let units = Plan::load(&options.plan)?.units();
    let Shard { index, count } = options.shard;
    let share: Vec<Unit> = units.into_iter().skip(index).step_by(count).collect();
    // Shares write other records each, and the jobs of an array may have one folder.
    let _lock = Lock::take(&options.out, Claim::Shared, "cpss run")?;
    let records = run_units(&share, &options.out)?;
    say!("{} units in {}", records.len(), options.out.display())
}

/// Runs `cpss merge`.
///
/// # Errors
///
/// A unit of the plan that no share has finished.
pub fn merge(options: &MergeOptions) -> Result<()> {
    let mut records = Vec::new();
    let plan = Plan::load(&options.plan)?;
    for share in &options.shares {
        ensure!(
            share.join("records").is_dir(),
            "{} is no share of a plan: it has no folder `records`, which `cpss run --out` makes",
            share.display()
        );
    }
    for unit in plan.units() {
        let name = format!("{}.json", unit.name());
        let mut found = None;
        for share in &options.shares {
            found = finished(&share.join("records").join(&name), &unit)?;
            if found.is_some() {
                break;
            }
        }
        let record = found.with_context(|| {
            let is_old = |share: &PathBuf| share.join("records").join(&name).exists();
            match options.shares.iter().find(|share| is_old(share)) {
                None => format!("no share has finished the unit {name}; `cpss run` goes on with it"),
                Some(share) => format!(
                    "no share has finished the unit {name}: what {} has of it is damaged, or was made by another \
                     program, policy or setting; `cpss run --out {0}` does it again",
                    share.display()
                ),
            }
        })?;
        records.push(record);
    }
    let _lock = Lock::take(&options.out, Claim::Alone, "cpss merge")?;
    let folder = records_folder(&options.out)?;
    for record in &records {
        keep(&folder.join(format!("{}.json", record.unit.name())), &bytes_of(record)?)?;
    }
    let command = command_of(Size::Default, Some(&options.plan));
    print_summary(&write_results(&records, &plan, &options.out, &command)?)?;
    print_places(&options.out)
}

/// Runs `cpss reproduce`.
///
/// # Errors
///
/// A folder that cannot be written or that somebody else works in, or a policy that cannot be used.
pub fn run(options: &Options) -> Result<()> {
    let plan = match &options.plan {
        Some(path) => Plan::load_seeing(path, options.config.as_ref())?,
        None => Plan::sized(options.size()),
    };
    if let Some(path) = &options.write {
        document::REPRODUCE.check(path)?;
    }
    let config = options.config.as_ref().map(|config| format!(" --config '{config}'"));
    let command = command_of(options.size(), options.plan.as_deref()) + &config.unwrap_or_default();
    let _lock = Lock::take(&options.out, Claim::Alone, &command)?;
    let records = run_units(&plan.units(), &options.out)?;
    let summary = write_results(&records, &plan, &options.out, &command)?;
    if let Some(path) = &options.write {
        document::splice(path, &command, &summary)?;
    }
    print_summary(&summary)?;
    print_places(&options.out)
}

fn print_summary(tables: &[Table]) -> Result<()> {
    tables.iter().try_for_each(|table| say!("{}", table.markdown()))
}

fn print_places(out: &Path) -> Result<()> {
    say!("records, tables, figures and traces: {}", out.display())?;
    say!("report: {}", out.join(report::FILE).display())
}

/// Everything that is made of records: tables, traces of telling episodes, figures, the report. The
/// same records give the same bytes, but for the day, the machine and the command in the report. Returns
/// the tables that sum it up.
///
/// # Errors
///
/// A folder that cannot be written, an episode that does not come out as its record says, or a trace
/// that does not audit.
pub fn write_results(
    records: &[UnitRecord],
    plan: &Plan,
    out: &Path,
    command: &str,
) -> Result<Vec<Table>> {
    let results = Results::new(records);
    results.prepare();
    let mut tables = tables::write_all(&results, out)?;
    let telling = telling::write_all(&results, out)?;
    let figures = figure::write_all(&results, plan, &telling, out)?;
    let made =
        Made { results: &results, plan, tables: &tables, figures: &figures, telling: &telling };
    report::write(&made, command, out)?;
    tables.truncate(tables::SUMMARY);
    Ok(tables)
}

/// Runs those units that are not finished yet, and returns the records of all, in order.
///
/// # Errors
///
/// As [`run`].
pub fn run_units(units: &[Unit], out: &Path) -> Result<Vec<UnitRecord>> {
    run_units_until(&|| false, units, out)
}

/// The same, for somebody who may want it to stop: no unit is begun after that, and those under way are finished and
/// kept.
///
/// # Errors
///
/// As [`run`], or if it was stopped.
pub fn run_units_until(
    is_stopped: &(dyn Fn() -> bool + Sync),
    units: &[Unit],
    out: &Path,
) -> Result<Vec<UnitRecord>> {
    let folder = records_folder(out)?;
    let progress = Meter::new("units", 0, units.len() as u64);
    let finish = |unit: &Unit| -> Result<UnitRecord> {
        let place = folder.join(format!("{}.json", unit.name()));
        let record = match finished(&place, unit)? {
            Some(record) => record,
            None => {
                ensure!(!is_stopped(), "stopped; what was finished is kept");
                let Unit { task, regime, arm, policy, .. } = unit;
                progress.tell(format!("{task} {regime} {arm} policy {policy}"));
                let record = unit.run()?;
                keep(&place, &bytes_of(&record)?)?;
                record
            }
        };
        progress.advance();
        Ok(record)
    };
    // Several units at once, since a unit of few episodes cannot keep all cores busy by itself.
    let records = units.par_iter().with_max_len(1).map(finish).collect::<Result<Vec<_>>>()?;
    progress.finish();
    Ok(records)
}

fn records_folder(out: &Path) -> Result<PathBuf> {
    let place = out.join("records");
    folder(&place)?;
    Ok(place)
}

fn bytes_of(record: &UnitRecord) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(record)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The record of a unit, if it was finished with the same program and settings.
fn finished(place: &Path, unit: &Unit) -> Result<Option<UnitRecord>> {
    let Ok(bytes) = fs::read(place) else { return Ok(None) };
    // A file that cannot be read as a record was not written by us to the end; it is made again.
    let Ok(record) = serde_json::from_slice::<UnitRecord>(&bytes) else { return Ok(None) };
    let is_current = record.unit == *unit && record.fingerprint == unit.fingerprint()?;
    Ok(is_current.then_some(record))
}
