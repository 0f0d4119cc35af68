//! How is a critic made to fit another traffic without learning anew?
//!
//! `cpss risk calibrate` measures a critic on fresh shielded episodes of the regimes it is asked for, and writes it
//! with the scale, the resolution and the card that follow.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cpss_highway::TaskId;
use cpss_risk::card::MOST_RESOLUTION;

use super::score;
use crate::files::atomic::{can_write, write_atomically};
use crate::files::lock::Lock;
use crate::learn::files::check_place;
use crate::learn::risk::calibrate::{Stage, certify};
use crate::learn::risk::{Conditions, enough, load_regimes, load_sensors};
use crate::play::critic::RiskSource;
use crate::play::sensor::PERFECT;
use crate::terminal::note;

/// Options of `cpss risk calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cpss risk calibrate --env merge-v0 --out merge.safetensors --regimes high
  cpss risk calibrate --env merge-v0 --risk mine.safetensors --out mine.safetensors")]
pub(crate) struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    env: TaskId,
    /// Critic: drift (shipped, learned over all regimes), stationary (shipped), or a .safetensors file
    #[arg(long, default_value = "drift")]
    risk: RiskSource,
    /// Where the calibrated critic goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Regimes to calibrate in [default: those that it was learned in]
    #[arg(long, value_delimiter = ',')]
    regimes: Vec<String>,
    /// Sensors to calibrate behind [default: those that it was learned behind]
    #[arg(long, value_delimiter = ',')]
    sensors: Vec<String>,
    /// A quarter of the episodes to calibrate on [default: 2000, or fewer where they are long]
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..=25_000))]
    episodes: Option<u64>,
    /// Seed of the first of the fresh episodes that the card's numbers are measured on, where an earlier calibration has
    /// already looked at the usual ones [default: right after those that choose]
    #[arg(long, value_name = "SEED")]
    fresh: Option<u64>,
    /// The resolution that an earlier calibration on these episodes found, after the scale
    #[arg(long, value_parser = parse_share)]
    resolution: Option<f64>,
}

/// A quarter of the episodes to calibrate on, if nothing is said.
const USUAL_EPISODES: u64 = 2_000;

/// A difference of risk that may count as none.
fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=MOST_RESOLUTION).contains(share));
    share.ok_or_else(|| format!("expected a number from 0 to {MOST_RESOLUTION}"))
}

/// Runs `cpss risk calibrate`.
pub(crate) fn run(options: &Options) -> Result<()> {
    check_place(&options.out, "critic")?;
    can_write(&options.out)?;
    let _lock = Lock::take_file(&options.out, "cpss risk calibrate")?;
    let risk = options.risk.load(options.env)?;
    let learning = risk.card().learning.clone();
    let names = if options.regimes.is_empty() { &learning.regimes } else { &options.regimes };
    let regimes = load_regimes(options.env, names)?;
    let eyes = match (options.sensors.as_slice(), learning.sensors.as_slice()) {
        ([], []) => vec![PERFECT.to_owned()],
        ([], learned) => learned.to_vec(),
        (asked, _) => asked.to_vec(),
    };
    let sensors = load_sensors(&eyes)?;
    let stage = Stage {
        env: options.env,
        conditions: Conditions { regimes: &regimes, sensors: &sensors },
        regimes: names,
        sensors: &eyes,
        inputs: risk.inputs(),
        episodes: options.episodes.unwrap_or_else(|| enough(options.env, USUAL_EPISODES)),
        fresh: options.fresh,
    };
    let critic = risk.critic().clone();
    let calibrated =
        certify(&stage, critic, learning.clone(), options.resolution, |words| note!("{words}"))?;
    write_atomically(&options.out, &calibrated.to_bytes())?;
    score::print_card(&calibrated, &options.out.display().to_string())
}
