//! How is a critic made to fit another traffic without learning anew?
//!
//! `cpss risk calibrate` measures a critic on fresh shielded episodes of the regimes it is asked for, and writes it
//! with the shift, the resolution and the card that follow.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cpss_highway::TaskId;

use super::calibrate::{Stage, certify};
use super::journal::check_place;
use super::shipped::RiskSource;
use super::{enough, load_regimes, score};
use crate::keep::{can_keep, keep};
use crate::terminal::note;

/// Options of `cpss risk calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cpss risk calibrate --env merge-v0 --out merge.safetensors --regimes high
  cpss risk calibrate --env merge-v0 --risk mine.safetensors --out mine.safetensors")]
pub struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    pub env: TaskId,
    /// Critic: drift (shipped, learned over all regimes), stationary (shipped), or a .safetensors file
    #[arg(long, default_value = "drift")]
    pub risk: RiskSource,
    /// Where the calibrated critic goes
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Regimes to calibrate in [default: those that it was learned in]
    #[arg(long, value_delimiter = ',')]
    pub regimes: Vec<String>,
    /// A quarter of the episodes to calibrate on; fewer where they are long
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(100..=25_000))]
    pub episodes: u64,
}

/// Runs `cpss risk calibrate`.
///
/// # Errors
///
/// A critic or regime that cannot be used, or a file that cannot be written.
pub fn run(options: &Options) -> Result<()> {
    check_place(&options.out)?;
    can_keep(&options.out)?;
    let risk = options.risk.load(options.env)?;
    let learning = risk.card().learning.clone();
    let names = if options.regimes.is_empty() { &learning.regimes } else { &options.regimes };
    let regimes = load_regimes(options.env, names)?;
    let episodes = enough(options.env, options.episodes);
    let stage = Stage { env: options.env, regimes: &regimes, names, episodes };
    let calibrated =
        certify(&stage, risk.critic().clone(), learning.clone(), |words| note!("{words}"))?;
    keep(&options.out, &calibrated.to_bytes())?;
    score::print_card(&calibrated, &options.out.display().to_string())
}
