//! How does a trace get into somebody else's tools? (`cpss export`)

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;

use crate::files::atomic::{folder, write_atomically};
use crate::terminal::say;
use crate::trace::audit::audit;
use crate::trace::mcap::mcap;

/// Options of `cpss export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --episodes 3 --trace traces
  cpss export traces/*.jsonl                   writes traces/*.mcap, for Foxglove or Rerun
  cpss export out/traces/*.jsonl --out mcap

The trace itself is attached to its MCAP, so that whoever has that can audit it.")]
pub(super) struct Options {
    /// Traces; one that does not audit is not exported
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Folder for the files; beside the traces unless told otherwise
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs `cpss export`.
pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(out) = &options.out {
        folder(out)?;
    }
    for place in &options.traces {
        let name = place.file_name().unwrap_or_default();
        let bytes = std::fs::read(place)
            .with_context(|| format!("cannot read the trace {}", place.display()))?;
        let found = audit(&bytes).map_err(|finding| {
            anyhow!("{} does not audit and is not exported: {finding}", place.display())
        })?;
        let film = mcap(&bytes, &name.to_string_lossy(), &found)
            .with_context(|| format!("cannot export {}", place.display()))?;
        let file = match &options.out {
            Some(out) => out.join(name).with_extension("mcap"),
            None => place.with_extension("mcap"),
        };
        ensure!(file != *place, "{} would take its own place", place.display());
        write_atomically(&file, &film)?;
        say!("{}", file.display())?;
    }
    Ok(())
}
