//! How does one method do on one task under one regime?
//!
//! `cpss evaluate` plays one cell of the comparison: an arm, with a policy, for a run of seeds, in
//! parallel. The same seeds give the same numbers for any number of threads.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use cpss_highway::TaskId;
use rayon::prelude::*;
use serde::Serialize;

use crate::arm::{Arm, ShieldSettings};
use crate::episode::{EpisodeRecord, Player};
use crate::policy::{PolicySource, policy_config};
use crate::regime::{Regime, RegimeSpec};
use crate::statistics::{mean, wilson};

/// Options of `cpss evaluate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --method cpss
  cpss evaluate --env highway-v0 --regime high --method dqn --policy builtin:2 --episodes 500
  cpss evaluate --env merge-v0 --method cpss --shield my_shield.toml --json")]
pub struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    pub env: TaskId,
    /// Drift: stationary, mild, average, high, or a .toml file
    #[arg(long, default_value = "stationary")]
    pub regime: String,
    /// Method: dqn, cpss, fixed, budget-only, context-only, oracle, random or constant:K
    #[arg(long, default_value = "cpss")]
    pub method: Arm,
    /// Policy: builtin:K, FILE.safetensors or FILE.onnx
    #[arg(long, default_value = "builtin:0")]
    pub policy: PolicySource,
    /// Episodes to play
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub episodes: u64,
    /// Seed of the first episode; the others count up. Below 1000000 are training seeds, from
    /// there on tuning seeds, from 2000000 on reporting seeds
    #[arg(long, default_value_t = 1_000_000)]
    pub seed: u64,
    /// Shield settings as a .toml file, instead of the task's own
    #[arg(long)]
    pub shield: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What a cell came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Episodes played.
    pub episodes: u64,
    /// Share of episodes in which the ego crashed (racetrack: or left the road).
    pub collision_rate: f64,
    /// Its 95 % Wilson interval.
    pub collision_ci95: [f64; 2],
    /// Share of episodes that ended off the road without a crash.
    pub offroad_rate: f64,
    /// Share of decision steps whose realised cost was above zero.
    pub proximity_risk: f64,
    /// Mean over episodes of the smallest distance \[m\].
    pub min_distance: f64,
    /// Mean return.
    pub return_mean: f64,
    /// Mean over episodes of the mean speed \[m/s\].
    pub mean_speed: f64,
    /// Share of episodes that arrived, or lasted.
    pub success_rate: f64,
    /// Share of steps on which the proposal was refused.
    pub intervention_rate: f64,
    /// Share of steps on which no action was admissible.
    pub infeasible_rate: f64,
    /// Share of steps that cost more than the threshold though predicted admissible.
    pub misprediction_rate: f64,
    /// Mean share of the budget that was spent.
    pub budget_used: f64,
    /// Episodes in which the envelope did not hold at every step.
    pub envelope_violations: u64,
    /// Decisions per second, on all threads together.
    pub steps_per_second: f64,
}

/// Runs `cpss evaluate`.
///
/// # Errors
///
/// A regime, policy or shield that cannot be used.
pub fn run(options: &Options) -> Result<()> {
    let spec = RegimeSpec::load(&options.regime)?;
    let regime = Regime::new(spec, options.env, &policy_config(options.env))?;
    let settings = match &options.shield {
        None => ShieldSettings::shipped(options.env)?,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the shield {}", path.display()))?;
            toml::from_str(&text).with_context(|| format!("the shield {}", path.display()))?
        }
    };
    let seeds: Vec<u64> = (0..options.episodes).map(|i| options.seed.wrapping_add(i)).collect();
    let started = Instant::now();
    let records = play_all(&regime, options.method, &settings, &options.policy, &seeds)?;
    let summary = Summary::of(&records, started.elapsed().as_secs_f64());
    if options.json {
        println!("{}", serde_json::to_string_pretty(&summary)?);
    } else {
        print_for_people(options, &summary);
    }
    Ok(())
}

/// Plays the episodes of some seeds, in parallel; records come back in the order of the seeds.
///
/// # Errors
///
/// A policy that cannot be used.
pub fn play_all(
    regime: &Regime,
    arm: Arm,
    settings: &ShieldSettings,
    policy: &PolicySource,
    seeds: &[u64],
) -> Result<Vec<EpisodeRecord>> {
    let new_player = || {
        let policy = match arm {
            Arm::Random | Arm::Constant(_) => None,
            _ => Some(policy.load(regime.task())?),
        };
        Player::new(regime, arm, settings, policy)
    };
    // Chunks keep a player, with its loaded policy and work space, for several episodes.
    let chunk = seeds.len().div_ceil(rayon::current_num_threads() * 4).max(1);
    let played: Vec<Vec<EpisodeRecord>> = seeds
        .par_chunks(chunk)
        .map(|seeds| {
            let mut player = new_player()?;
            seeds.iter().map(|seed| player.play(*seed)).collect()
        })
        .collect::<Result<_>>()?;
    Ok(played.into_iter().flatten().collect())
}

impl Summary {
    /// Sums some episodes up.
    pub fn of(records: &[EpisodeRecord], seconds: f64) -> Summary {
        let episodes = records.len() as u64;
        let count = |fact: fn(&EpisodeRecord) -> bool| {
            records.iter().filter(|record| fact(record)).count() as u64
        };
        let total = |number: fn(&EpisodeRecord) -> u64| records.iter().map(number).sum::<u64>();
        let average = |number: fn(&EpisodeRecord) -> f64| {
            mean(&records.iter().map(number).collect::<Vec<_>>())
        };
        let steps = total(|record| record.steps).max(1) as f64;
        let failures = count(|record| record.crashed || record.off_road);
        let share = |number: u64| number as f64 / episodes.max(1) as f64;
        Summary {
            episodes,
            collision_rate: share(failures),
            collision_ci95: wilson(failures, episodes),
            offroad_rate: share(count(|record| record.off_road)),
            proximity_risk: total(|record| record.close_steps) as f64 / steps,
            min_distance: average(|record| record.min_distance),
            return_mean: average(|record| record.episode_return),
            mean_speed: average(|record| record.mean_speed),
            success_rate: share(count(|record| record.success)),
            intervention_rate: total(|record| record.interventions) as f64 / steps,
            infeasible_rate: total(|record| record.infeasible) as f64 / steps,
            misprediction_rate: total(|record| record.mispredicted) as f64 / steps,
            budget_used: average(|record| record.budget_used),
            envelope_violations: count(|record| !record.envelope_held),
            steps_per_second: total(|record| record.steps) as f64 / seconds.max(1e-9),
        }
    }
}

fn print_for_people(options: &Options, summary: &Summary) {
    let [low, high] = summary.collision_ci95;
    println!(
        "{} on {} under {}, {} episodes from seed {}",
        options.method,
        options.env.name(),
        options.regime,
        summary.episodes,
        options.seed
    );
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let crashes = format!(
        "{} (95 %: {} to {})",
        percent(summary.collision_rate),
        percent(low),
        percent(high)
    );
    for (name, value) in [
        ("collisions", crashes),
        ("  of these off the road", percent(summary.offroad_rate)),
        ("return", format!("{:.3}", summary.return_mean)),
        ("mean speed", format!("{:.2} m/s", summary.mean_speed)),
        ("arrived or lasted", percent(summary.success_rate)),
        ("close steps", percent(summary.proximity_risk)),
        ("smallest distance", format!("{:.2} m", summary.min_distance)),
        ("interventions", percent(summary.intervention_rate)),
        ("infeasible steps", percent(summary.infeasible_rate)),
        ("mispredicted steps", percent(summary.misprediction_rate)),
        ("budget used", percent(summary.budget_used)),
        ("envelope violations", summary.envelope_violations.to_string()),
        ("decisions per second", format!("{:.0}", summary.steps_per_second)),
    ] {
        println!("  {name:<24} {value}");
    }
}
