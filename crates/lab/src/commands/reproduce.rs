//! How is the paper's experiment made again?
//!
//! `cpss reproduce` runs every unit of the plan from the shipped policies, keeps each finished one
//! as a file, and makes tables, figures, traces and the report of them. `cpss run` does a share of a plan's units,
//! for Slurm arrays and indexed jobs, and `cpss merge` puts the shares together. Killed at any moment,
//! it goes on where it was: a finished unit is never lost, a half-written one never counted, and
//! everything comes out the same to the last byte.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::files::lock::{Claim, Lock};
use crate::measure::unit::Unit;
use crate::plan::baselines::Method;
use crate::plan::work::{Shard, finished, keep_record, run_units};
use crate::plan::{Plan, Size};
use crate::play::view;
use crate::report::document;
use crate::report::table::Table;
use crate::report::{page, write_results};
use crate::terminal::say;

mod baselines;

/// Where `cpss train --baselines` puts policies.
const POLICIES: &str = "baselines";

/// Options of `cpss reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss reproduce --quick               a first look, in about a minute
  cpss reproduce                       5 policies x 100 episodes per cell
  cpss reproduce --full --out results  5 policies x 1,000 episodes per cell
  cpss reproduce --baselines           learners of the literature, alone and under the shield
  cpss reproduce --baselines --quick --methods dqn,cpo")]
pub(super) struct Options {
    /// 5 policies x 8 episodes per cell, 2 where they are long; x 4 of --baselines
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// 5 policies x 1,000 episodes per cell
    #[arg(long)]
    full: bool,
    /// Another experiment than the paper's, as a .toml file; see `cpss run --help`
    #[arg(long, conflicts_with_all = ["quick", "full"])]
    plan: Option<PathBuf>,
    /// Compare learners in place of the paper's experiment: their policies are in this folder, where
    /// `cpss train --baselines` puts them. With --plan, as of `cpss schema baselines`
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        default_missing_value = POLICIES,
        conflicts_with_all = ["full", "config"]
    )]
    baselines: Option<PathBuf>,
    /// Only these methods, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "baselines")]
    methods: Vec<Method>,
    /// What the plan's own policies see, as of `cpss evaluate`, in place of what the plan says
    #[arg(long, value_name = "JSON", value_parser = view::parse, requires = "plan")]
    config: Option<Value>,
    /// Folder for records, tables, figures, traces and the report; an interrupted run goes on from it
    /// [default: out, or out/baselines with --baselines]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Put the summary into this document, between its markers
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print one JSON document: the tables, and where everything is
    #[arg(long)]
    json: bool,
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
pub(super) struct RunOptions {
    /// The plan, as a .toml file
    #[arg(long)]
    plan: PathBuf,
    /// Which share of the units: I/N, from 0/N to N-1/N
    #[arg(long, default_value = "0/1")]
    shard: Shard,
    /// Folder for records; an interrupted run goes on from it
    #[arg(long, default_value = "out")]
    out: PathBuf,
    /// Print one JSON document: how many units there are, and where
    #[arg(long)]
    json: bool,
}

/// Options of `cpss merge`.
#[derive(Debug, Args)]
pub(super) struct MergeOptions {
    /// The plan that the shares belong to, as a .toml file
    #[arg(long)]
    plan: PathBuf,
    /// Folder for all records and the tables
    #[arg(long, default_value = "out")]
    out: PathBuf,
    /// Folders of the shares
    #[arg(required = true)]
    shares: Vec<PathBuf>,
    /// Print one JSON document: the tables, and where everything is
    #[arg(long)]
    json: bool,
}

/// Runs `cpss run`.
pub(super) fn run_share(options: &RunOptions) -> Result<()> {
    let units = Plan::load(&options.plan)?.units();
    let Shard { index, count } = options.shard;
    let share: Vec<Unit> = units.into_iter().skip(index).step_by(count).collect();
    // Shares write other records each, and the jobs of an array may have one folder.
    let _lock = Lock::take(&options.out, Claim::Shared, "cpss run")?;
    let records = run_units(&share, &options.out)?;
    if options.json {
        let (units, out) = (records.len(), &options.out);
        return say!("{}", json!({ "schema": 1, "units": units, "records": out.join("records") }));
    }
    say!("{} units in {}", records.len(), options.out.display())
}

/// Runs `cpss merge`.
pub(super) fn merge(options: &MergeOptions) -> Result<()> {
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
            found = finished(&unit, share)?;
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
    for record in &records {
        keep_record(record, &options.out)?;
    }
    let command = command_of(Size::Default, Some(&options.plan));
    print(&write_results(&records, &plan, &options.out, &command)?, &options.out, options.json)
}

/// Runs `cpss reproduce`.
pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(policies) = &options.baselines {
        return baselines::run(options, policies);
    }
    let out = options.out.as_deref().unwrap_or(Path::new("out"));
    let plan = match &options.plan {
        Some(path) => Plan::load_seeing(path, options.config.as_ref())?,
        None => Plan::sized(options.size()),
    };
    if let Some(path) = &options.write {
        document::REPRODUCE.check(path)?;
    }
    let config = options.config.as_ref().map(|config| format!(" --config '{config}'"));
    let command = command_of(options.size(), options.plan.as_deref()) + &config.unwrap_or_default();
    let _lock = Lock::take(out, Claim::Alone, &command)?;
    let records = run_units(&plan.units(), out)?;
    let summary = write_results(&records, &plan, out, &command)?;
    if let Some(path) = &options.write {
        document::splice(path, &command, &summary)?;
    }
    print(&summary, out, options.json)
}

/// Prints the summary and where everything is, for a person or for a program.
fn print(summary: &[Table], out: &Path, as_json: bool) -> Result<()> {
    if as_json {
        let document = json!({
            "schema": 1,
            "out": out,
            "records": out.join("records"),
            "report": out.join(page::FILE),
            "tables": summary.iter().map(Table::json).collect::<Vec<_>>(),
        });
        return say!("{}", serde_json::to_string_pretty(&document)?);
    }
    summary.iter().try_for_each(|table| say!("{}", table.markdown()))?;
    say!("records, tables, figures and traces: {}", out.display())?;
    say!("report: {}", out.join(page::FILE).display())
}
