//! What happens when the world changes and nobody says so? (`cpss deploy`)

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::files::atomic::write_atomically;
use crate::files::lock::{Claim, Lock};
use crate::plan::deployments::DeployPlan;
use crate::report::deployment::{alarms, figure, outcomes};
use crate::report::document::{DEPLOY, made_by};
use crate::terminal::meter::Meter;
use crate::terminal::say;

/// Options of `cpss deploy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Critics learned in stationary traffic with perfect eyes are deployed, episode after episode; in the middle traffic
or eyes change. Single cars have a memory of their own, a fleet shares one. It goes on where it was when stopped.

Examples:
  cpss deploy                                     the built-in plan, into out/deploy
  cpss deploy --plan mine.toml --out mine")]
pub(super) struct Options {
    /// The plan, a .toml file [default: experiments/adaptation.toml, built in]
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Where the results go
    #[arg(long, value_name = "DIR", default_value = "out/deploy")]
    out: PathBuf,
    /// Put the tables into a document, between the lines that ask for it
    #[arg(long, value_name = "DOCUMENT")]
    write: Option<PathBuf>,
    /// Print one JSON document: all cells
    #[arg(long)]
    json: bool,
}

/// Runs `cpss deploy`.
pub(super) fn run(options: &Options) -> Result<()> {
    let plan = DeployPlan::load(options.plan.as_deref())?;
    if let Some(document) = &options.write {
        DEPLOY.check(document)?;
    }
    let _lock = Lock::take(&options.out, Claim::Alone, "cpss deploy")?;
    let meter = Meter::new("cells", 0, plan.cells().len() as u64);
    let cells = plan.play(&options.out, &|words| meter.tell(words), &|| meter.advance())?;
    meter.finish();
    let canvas = figure(&plan, &cells);
    write_atomically(&options.out.join("adaptation.svg"), canvas.svg().as_bytes())?;
    write_atomically(&options.out.join("adaptation.png"), &canvas.png()?)?;
    let tables = [outcomes(&plan, &cells), alarms(&plan, &cells)];
    let text: Vec<String> = tables.iter().map(|table| table.markdown()).collect();
    let text = format!("{}\n\n{}.\n", text.join("\n\n"), made_by("cpss deploy"));
    write_atomically(&options.out.join("adaptation.md"), text.as_bytes())?;
    if let Some(document) = &options.write {
        DEPLOY.put(document, &text)?;
    }
    if options.json {
        return say!("{}", serde_json::to_string_pretty(&cells)?);
    }
    say!("{text}")?;
    say!("figure: {}", options.out.join("adaptation.png").display())
}
