//! What does a safety case ask of an experiment? (`cpss evidence`)

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::files::atomic::write_atomically;
use crate::report::evidence::Evidence;
use crate::terminal::say;

/// Options of `cpss evidence`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss reproduce --quick && cpss evidence out        writes out/evidence.html and out/evidence.json
  cpss evidence out --json | jq .promises

It fails if a promise was broken or a trace does not audit, so that a script may ask it.")]
pub(super) struct Options {
    /// The folder of an experiment, as `cpss reproduce`, `run` or `merge` made it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print the JSON document instead of a summary
    #[arg(long)]
    json: bool,
}

/// Runs `cpss evidence`.
pub(super) fn run(options: &Options) -> Result<()> {
    let evidence = Evidence::of(&options.folder)?;
    let document = serde_json::to_string_pretty(&evidence.document)?;
    let page = options.folder.join("evidence.html");
    write_atomically(&page, evidence.page().as_bytes())?;
    write_atomically(&options.folder.join("evidence.json"), format!("{document}\n").as_bytes())?;
    if options.json {
        say!("{document}")?;
    } else {
        say!("{}\n{}", evidence.headline(), page.display())?;
    }
    evidence.verdict()
}
