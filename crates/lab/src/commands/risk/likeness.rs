//! What is the traffic like that a critic knows? (`cpss risk likeness`)

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cpss_highway::TaskId;
use cpss_risk::LearnedRisk;

use crate::files::atomic::{can_write, write_atomically};
use crate::files::lock::Lock;
use crate::learn::files::check_place;
use crate::learn::risk::calibrate::Stage;
use crate::learn::risk::likeness::likeness;
use crate::learn::risk::{Conditions, enough, load_regimes, load_sensors};
use crate::play::critic::RiskSource;
use crate::play::sensor::PERFECT;
use crate::terminal::say;

/// Options of `cpss risk likeness`.
#[derive(Debug, Args)]
#[command(after_help = "\
A critic's card then says what its traffic is like, so that a shield with a memory notices when it is not any more.
`cpss risk learn` and `calibrate` do this by themselves.

Example:
  cpss risk likeness --env merge-v0 --risk stationary --out merge.safetensors")]
pub(crate) struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    env: TaskId,
    /// Critic: drift, sensed, stationary (shipped), or a .safetensors file
    #[arg(long, default_value = "drift")]
    risk: RiskSource,
    /// Where the critic goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Episodes to look at, in the traffic that it was calibrated in; fewer where they are long
    #[arg(long, default_value_t = 9_000, value_parser = clap::value_parser!(u64).range(300..=100_000))]
    episodes: u64,
}

/// Runs `cpss risk likeness`.
pub(crate) fn run(options: &Options) -> Result<()> {
    check_place(&options.out, "critic")?;
    can_write(&options.out)?;
    let _lock = Lock::take_file(&options.out, "cpss risk likeness")?;
    let risk = options.risk.load(options.env)?;
    let mut card = risk.card().clone();
    let names = card.calibration.regimes.clone();
    anyhow::ensure!(
        !names.is_empty(),
        "the critic was not calibrated: `cpss risk calibrate` first"
    );
    let eyes = match card.calibration.sensors.as_slice() {
        [] => vec![PERFECT.to_owned()],
        known => known.to_vec(),
    };
    let (regimes, sensors) = (load_regimes(options.env, &names)?, load_sensors(&eyes)?);
    let episodes = enough(options.env, options.episodes);
    let stage = Stage {
        env: options.env,
        conditions: Conditions { regimes: &regimes, sensors: &sensors },
        regimes: &names,
        sensors: &eyes,
        inputs: risk.inputs(),
        episodes,
        fresh: None,
    };
    let known = likeness(&stage, &risk, episodes)?;
    say!("scores above   {:.1?}", known.borders)?;
    say!("at most, share {:.4?}", known.bounds)?;
    card.likeness = Some(known);
    write_atomically(&options.out, &LearnedRisk::new(risk.critic().clone(), card)?.to_bytes())
}
