//! Where are the manual pages? (`cpss manual`)

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::files::atomic::{folder, write_atomically};
use crate::terminal::say;

/// Options of `cpss manual`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cpss manual --out ~/.local/share/man/man1 && man cpss-evaluate")]
pub(super) struct Options {
    /// Folder for the pages, one for `cpss` and one for each command
    #[arg(long, default_value = "man")]
    out: PathBuf,
}

/// Runs `cpss manual`.
pub(super) fn run(options: &Options, mut command: clap::Command) -> Result<()> {
    folder(&options.out)?;
    // So that every page is named after all of its command: `cpss-risk-learn`.
    command.build();
    let pages = write(&command, &options.out)?;
    say!("{pages} pages in {}", options.out.display())
}

/// Writes the page of a command and those of the commands below it; says how many.
fn write(command: &clap::Command, out: &std::path::Path) -> Result<usize> {
    let page = clap_mangen::Man::new(command.clone());
    let path = out.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).with_context(|| format!("cannot make {}", path.display()))?;
    write_atomically(&path, &text)?;
    let below = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set() && below.get_name() != "help");
    below.map(|below| write(below, out)).try_fold(1, |sum, pages| Ok(sum + pages?))
}
