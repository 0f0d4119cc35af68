//! How does a shell complete `cpss`? (`cpss completions`)

use std::io::Write as _;

use anyhow::{Context, Result};
use clap::Args;
use clap_complete::Shell;

/// Options of `cpss completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss completions bash > ~/.local/share/bash-completion/completions/cpss
  cpss completions zsh > ~/.zfunc/_cpss
  cpss completions fish > ~/.config/fish/completions/cpss.fish")]
pub(super) struct Options {
    /// Which shell
    shell: Shell,
}

/// Runs `cpss completions`.
pub(super) fn run(options: &Options, mut command: clap::Command) -> Result<()> {
    // Into memory first: the generator panics where writing fails, and a closed pipe is no reason to.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "cpss", &mut script);
    std::io::stdout().write_all(&script).context("cannot write to standard output")
}
