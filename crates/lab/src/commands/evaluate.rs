//! How does one method do on one task under one regime? (`cpss evaluate`)
//!
//! Plays one cell of the comparison, a [`Contest`], for a run of seeds, and prints what it comes to.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use cpss_highway::TaskId;
use serde_json::Value;

use crate::files::atomic::folder;
use crate::measure::contest::Contest;
use crate::measure::statistics::mean;
use crate::measure::summary::{AlarmSaid, Summary};
use crate::play::arm::{Arm, Millionths, ShieldSettings};
use crate::play::critic::{RiskSource, promises_here};
use crate::play::memory::Keeper;
use crate::play::policy::PolicySource;
use crate::play::regime::{Regime, RegimeSpec};
use crate::play::seed;
use crate::play::sensor::{Behind, Gaze, SensorSpec};
use crate::play::view;
use crate::report::tables::Kept;
use crate::terminal::meter::Meter;
use crate::terminal::say;

/// Options of `cpss evaluate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --method cpss
  cpss evaluate --env highway-v0 --regime high --method dqn --policy builtin:2 --episodes 500
  cpss evaluate --env highway-v0 --budget 0.005          at most one crash in 200 more than cannot be avoided
  cpss evaluate --env highway-v0 --method fixed --budget 0.005        the constant threshold that promises so
  cpss evaluate --env merge-v0 --method cpss --shield my_shield.toml --json
  cpss evaluate --env merge-v0 --method cpss --episodes 3 --trace traces
  cpss evaluate --env merge-v0 --regime high --memory car.json       goes on where it stopped the last time
  cpss evaluate --env intersection-v0 --policy mine.onnx --config '{}'    sees highway-env's default")]
pub(super) struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    env: TaskId,
    /// Drift: stationary, mild, average, high, or a .toml file
    #[arg(long, default_value = "stationary")]
    regime: String,
    /// Eyes: perfect, good, fair, poor, or a .toml file
    #[arg(long, default_value = "perfect")]
    sensor: String,
    /// Who looks through the sensor; the other sees the world as it is
    #[arg(long, value_enum, default_value_t)]
    behind: Behind,
    /// Method: dqn, cpss, priced, fixed (the constant threshold that makes the same promise), budget-only,
    /// context-only, oracle, barrier (a control barrier function instead of a critic), random or constant:K;
    /// cpss:B, priced:B and fixed:B have a budget of their own, threshold:X any constant threshold
    #[arg(long, default_value = "cpss")]
    method: Arm,
    /// Policy: builtin:K, FILE.safetensors or FILE.onnx; always:K proposes the same action whatever it sees
    #[arg(long, default_value = "builtin:0")]
    policy: PolicySource,
    /// What the policy sees, if it was made elsewhere: a JSON object with highway-env's `observation`; {}
    /// is highway-env's default. A .safetensors file may say it itself
    #[arg(long, value_name = "JSON", value_parser = view::parse)]
    config: Option<Value>,
    /// Episodes to play
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    episodes: u64,
    /// Seed of the first episode; the others count up. Below 1000000 are training seeds, from
    /// there on tuning seeds, from 2000000 on reporting seeds,
    /// of which the tables' own begin at 30000000
    #[arg(long, default_value_t = 1_000_000, allow_negative_numbers = true, value_parser = seed::parse)]
    seed: u64,
    /// Critic: drift (shipped, learned over all regimes), sensed (shipped, learned behind sensors), stationary (shipped),
    /// or a .safetensors file that `cpss risk learn` wrote. Without a word, sensed where eyes are not perfect, and else
    /// drift
    #[arg(long)]
    risk: Option<RiskSource>,
    /// Shield settings as a .toml file, instead of the task's own
    #[arg(long)]
    shield: Option<PathBuf>,
    /// Budget: how likely an incident may be in an episode beyond what cannot be avoided
    #[arg(long, value_name = "B", value_parser = probability)]
    budget: Option<f64>,
    /// Pace: how many decisions' shares of the budget left one decision may spend, at least 1
    #[arg(long, value_name = "K")]
    pace: Option<f64>,
    /// With --method fixed: any constant threshold instead of the budget's share of a decision
    #[arg(long, value_name = "X", value_parser = probability, conflicts_with = "budget")]
    threshold: Option<f64>,
    /// Evidence and recalibration go on from episode to episode, which are played in a row; with FILE also from run to
    /// run: it is read if it is there, and written after every episode (see `cpss memory`)
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    memory: Option<Option<PathBuf>>,
    /// Write a trace of every episode into this folder
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs `cpss evaluate`.
pub(super) fn run(options: &Options) -> Result<()> {
    let spec = RegimeSpec::load(&options.regime)?;
    let sensor = SensorSpec::load(&options.sensor)?;
    let policy = (!options.method.is_floor()).then_some(&options.policy);
    let config = view::config_for(policy, options.env, options.config.as_ref())?;
    let regime = Regime::new(spec, options.env, &config)?;
    let mut settings = match &options.shield {
        None => ShieldSettings::shipped(options.env)?,
        Some(path) => ShieldSettings::read(path)?,
    };
    if let (Some(_), Some(given)) = (options.budget, options.method.given()) {
        anyhow::bail!(
            "--method {} has a budget of its own, {given}: leave --budget out",
            options.method
        );
    }
    settings.spec.budget = options.budget.unwrap_or(settings.spec.budget);
    settings.spec.pace = options.pace.unwrap_or(settings.spec.pace);
    let arm = match (options.method, options.threshold) {
        (arm, None) => arm,
        (Arm::Fixed(None), Some(threshold)) => {
            Millionths::of(threshold).map(Arm::Threshold).context("--threshold is too small")?
        }
        (arm, Some(_)) => anyhow::bail!("--threshold goes with --method fixed, not with {arm}"),
    };
    if let Some(place) = &options.trace {
        folder(place)?;
    }
    let seeds = seed::from(options.seed, options.episodes)?;
    let started = Instant::now();
    let contest = Contest {
        regime: &regime,
        regime_name: &options.regime,
        arm,
        settings: &settings,
        risk: options.risk_source(&sensor).load(options.env)?,
        policy: &options.policy,
        gaze: Gaze::through(sensor.sensor(), options.behind),
        sensor_name: &options.sensor,
        asks_what_if: true,
    };
    let meter = Meter::new("episodes", 0, options.episodes);
    let traces = options.trace.as_deref();
    let (played, memory) = match &options.memory {
        None => (contest.play_all(&seeds, traces, &|| meter.advance())?, None),
        Some(file) => {
            let open =
                |place: &PathBuf| Keeper::open(place, &contest.risk, contest.memory_settings());
            let mut keeper = file.as_ref().map(open).transpose()?;
            let (played, memory) =
                contest.play_in_a_row(&seeds, traces, keeper.as_mut(), &|| meter.advance())?;
            (played, Some(memory))
        }
    };
    meter.finish();
    let mut summary = Summary::of(&played, started.elapsed().as_secs_f64());
    summary.budget_used = summary.budget_used.filter(|_| arm.binds_ledger());
    if let Some(memory) = memory {
        summary.alarms = memory.alarms().map(AlarmSaid::from).collect();
    }
    let world = (options.regime.as_str(), options.sensor.as_str(), options.behind);
    let budget = arm.given().unwrap_or(settings.spec.budget);
    // After an alarm nobody knows whether the world is still the calibrated one.
    let promises = arm.promises()
        && summary.alarms.is_empty()
        && promises_here(&contest.risk, options.env, world, budget);
    if promises {
        let each: Option<Vec<f64>> =
            played.episodes.iter().map(|record| record.promise(budget)).collect();
        summary.promise = each.map(|each| mean(&each));
    }
    if options.json {
        say!("{}", serde_json::to_string_pretty(&summary)?)
    } else {
        print_for_people(options, &summary)
    }
}

impl Options {
    /// The critic that was asked for, or the one that was learned for such eyes.
    fn risk_source(&self, sensor: &SensorSpec) -> RiskSource {
        self.risk.clone().unwrap_or_else(|| RiskSource::behind(&sensor.sensor()))
    }
}

/// Reads a number above 0 and below 1.
fn probability(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "give a number above 0 and below 1".to_owned())?;
    Millionths::of(number).map(|_| number).ok_or_else(|| {
        "give a number from 0.000001 to 0.999999: the probability of an incident".to_owned()
    })
}

fn print_for_people(options: &Options, summary: &Summary) -> Result<()> {
    let [low, high] = summary.collision_ci95;
    say!(
        "{} on {} under {}, {} episodes from seed {}",
        options.method,
        options.env.name(),
        options.regime,
        summary.episodes,
        options.seed
    )?;
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let or_dash = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    let or_dash_us = |time: Option<f64>| time.map_or("–".to_owned(), |us| format!("{us:.1} µs"));
    let crashes = format!(
        "{} (95 %: {} to {})",
        percent(summary.collision_rate),
        percent(low),
        percent(high)
    );
    let kept = |most| match Kept::by(summary.collision_rate, summary.collision_ci95, most) {
        Kept::Yes => "kept",
        Kept::WithinInterval => "kept within the interval of what happened",
        Kept::No => "BROKEN",
    };
    let promised = match summary.promise {
        Some(most) => format!("{}: {}", percent(most), kept(most)),
        None if options.method.promises() => "nothing, see `cpss risk score`".to_owned(),
        None => "–".to_owned(),
    };
    for (name, value) in [
        ("collisions", crashes),
        ("  of these off the road", percent(summary.offroad_rate)),
        ("return", format!("{:.3}", summary.return_mean)),
        ("mean speed", format!("{:.2} m/s", summary.mean_speed)),
        ("arrived or lasted", percent(summary.success_rate)),
        ("close steps", percent(summary.proximity_risk)),
        ("smallest distance", format!("{:.2} m", summary.min_distance)),
        ("interventions", percent(summary.intervention_rate)),
        ("replaced actions", summary.replaced_steps.to_string()),
        ("  crash avoided", or_dash(summary.avoided_share)),
        ("  crash not avoided", or_dash(summary.unavoided_share)),
        ("  closer call avoided", or_dash(summary.closer_share)),
        ("  false alarm", or_dash(summary.false_alarm_share)),
        ("  only for what was spent", or_dash(summary.ledger_share)),
        ("promised: at most", promised),
        ("  unavoidable at the start", format!("{:.5}", summary.account.start)),
        ("  chosen risk", format!("{:.5}", summary.account.chosen)),
        ("  arriving risk", format!("{:.5}", summary.account.arriving)),
        ("  surprise", format!("{:+.5}", summary.account.surprise)),
        ("budget used", or_dash(summary.budget_used)),
        ("budget overspent", format!("{} episodes", summary.budget_violations)),
        ("evidence", format!("{:.2}", summary.evidence)),
        ("recalibration", format!("{:.2}", summary.recalibration)),
        ("novelty", format!("{:.2}", summary.novelty)),
        ("envelope violations", summary.envelope_violations.to_string()),
        ("unavoidable above cap", percent(summary.endangered_rate)),
        ("decisions per second", format!("{:.0}", summary.steps_per_second)),
        ("time to judge, p99", or_dash_us(summary.decision_p99_us)),
    ] {
        say!("  {name:<24} {value}")?;
    }
    for alarm in &summary.alarms {
        say!("  {:<24} {}", "ALARM", alarm.reason)?;
    }
    Ok(())
}
