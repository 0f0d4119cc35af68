//! How good is a critic? (`cpss risk score`)
//!
//! Prints a critic's card and measures it anew on seeds that nobody learned from: the
//! account of shielded episodes, the frontier over budgets or thresholds, and the reliability of its risks.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use cpss_highway::TaskId;
use cpss_risk::LearnedRisk;
use cpss_risk::card::{Bin, Card, Learning};
use serde::Serialize;

use crate::learn::risk::account::Account;
use crate::learn::risk::calibrate::reliability;
use crate::learn::risk::measure::{play, try_out};
use crate::learn::risk::{Conditions, load_regimes, load_sensors, tries};
use crate::play::arm::{Arm, ShieldSettings};
use crate::play::critic::{RiskSource, hash};
use crate::terminal::say;

/// Options of `cpss risk score`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cpss risk score --env merge-v0
  cpss risk score --env highway-v0 --regimes high --episodes 5000
  cpss risk score --env highway-v0 --budgets 0.01,0.1 --thresholds 0.001,0.003
  cpss risk score --env merge-v0 --risk mine.safetensors --json")]
pub(crate) struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    env: TaskId,
    /// Critic: drift (shipped, learned over all regimes), stationary (shipped), or a .safetensors file
    #[arg(long, default_value = "drift")]
    risk: RiskSource,
    /// Regimes to play, by turns
    #[arg(long, value_delimiter = ',', default_value = "stationary")]
    regimes: Vec<String>,
    /// Sensors to look through, by turns
    #[arg(long, value_delimiter = ',', default_value = "perfect")]
    sensors: Vec<String>,
    /// Episodes for each budget and threshold
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    episodes: u64,
    /// Seed of the first episode
    #[arg(long, default_value_t = 1_500_000, value_parser = clap::value_parser!(u64).range(..=1 << 60))]
    seed: u64,
    /// Budgets of the shipped shield to try
    #[arg(long, value_delimiter = ',', default_value = "0.002,0.005,0.01,0.02,0.05,0.1")]
    budgets: Vec<f64>,
    /// Also with a price on risk
    #[arg(long)]
    priced: bool,
    /// Constant thresholds to try: avoidable risks to let through on each decision
    #[arg(long, value_delimiter = ',')]
    thresholds: Vec<f64>,
    /// Shield settings as a .toml file, instead of the task's own
    #[arg(long)]
    shield: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Score<'a> {
    card: &'a Card,
    hash: String,
    regimes: &'a [String],
    sensors: &'a [String],
    frontier: Vec<Point>,
    reliability: Vec<Bin>,
}

#[derive(Debug, Serialize)]
struct Point {
    arm: String,
    #[serde(flatten)]
    account: Account,
}

/// Runs `cpss risk score`.
pub(crate) fn run(options: &Options) -> Result<()> {
    let risk = options.risk.load(options.env)?;
    let regimes = load_regimes(options.env, &options.regimes)?;
    let sensors = load_sensors(&options.sensors)?;
    let conditions = Conditions { regimes: &regimes, sensors: &sensors };
    let seeds = options.seed..options.seed + options.episodes;
    let usual = match &options.shield {
        Some(path) => ShieldSettings::read(path)?,
        None => ShieldSettings::shipped(options.env)?,
    };
    let shared = Arc::new(risk.clone());
    let mut frontier = Vec::new();
    let budgets = options.budgets.iter().flat_map(|budget| {
        let cpss = [format!("cpss:{budget}")];
        cpss.into_iter().chain(options.priced.then(|| format!("priced:{budget}")))
    });
    let thresholds = options.thresholds.iter().map(|threshold| format!("threshold:{threshold}"));
    for name in budgets.chain(thresholds) {
        let arm: Arm = name.parse().map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let episodes = play(conditions, &shared, (arm, &usual), seeds.clone())?;
        frontier.push(Point { arm: name, account: Account::of(&episodes) });
    }
    let share = tries(options.env, 5.0);
    let tried = try_out(conditions, &risk, seeds, share)?;
    let score = Score {
        card: risk.card(),
        hash: hash(&risk),
        regimes: &options.regimes,
        sensors: &options.sensors,
        frontier,
        reliability: reliability(&tried),
    };
    if options.json {
        say!("{}", serde_json::to_string_pretty(&score)?)?;
        return Ok(());
    }
    print_card(&risk, &options.risk.to_string())?;
    say!("")?;
    say!(
        "measured on {} episodes from seed {} in {}:",
        options.episodes,
        options.seed,
        options.regimes.join(", ")
    )?;
    say!(
        "             method  incidents  return  interventions  by ledger   start  chosen  arriving  surprise [95 %]"
    )?;
    for Point { arm, account } in &score.frontier {
        let [low, high] = account.surprise_ci95;
        say!(
            "  {arm:>16}  {:>9.4}  {:>6.2}  {:>11.2} %  {:>7.1} %  {:>6.4}  {:>6.4}  {:>8.4}  {:+.4} [{low:+.4}, {high:+.4}]",
            account.incidents,
            account.return_mean,
            100.0 * account.interventions,
            100.0 * account.by_ledger,
            account.start,
            account.chosen,
            account.arriving,
            account.surprise,
        )?;
    }
    print_bins(&score.reliability)
}

/// Prints what a critic says about itself.
pub(crate) fn print_card(risk: &LearnedRisk, name: &str) -> Result<()> {
    let Card { env, gamma, resolution, learning, calibration, .. } = risk.card();
    let [low, high] = calibration.surprise_ci95;
    say!("{name}: the risk of every action in {env}")?;
    say!("  learned in    {} (gamma {gamma})", learning.regimes.join(", "))?;
    let Learning { rounds, decisions, updates, seed, .. } = learning;
    say!(
        "  from          {rounds} rounds of {decisions} decisions and {updates} updates, seed {seed}"
    )?;
    say!(
        "  calibrated on {} shielded episodes in {}: incidents {:.4}, surprise {:+.4} [{low:+.4}, {high:+.4}]{}",
        calibration.episodes,
        calibration.regimes.join(", "),
        calibration.incidents,
        calibration.surprise,
        if risk.card().is_conservative() {
            ""
        } else {
            ": NOT conservative, so no budget promises anything"
        }
    )?;
    for (regime, own) in calibration.regimes.iter().zip(&calibration.by_regime) {
        let [low, high] = own.ci95;
        say!("    in {regime:<11} surprise {:+.4} [{low:+.4}, {high:+.4}]", own.mean)?;
    }
    for (budget, own) in calibration.budgets.iter().zip(&calibration.by_budget) {
        let [low, high] = own.ci95;
        say!("    at {budget:<11} surprise {:+.4} [{low:+.4}, {high:+.4}]", own.mean)?;
    }
    let budgets = calibration.budgets.len().max(1);
    let cells = calibration.by_cell.iter().enumerate();
    if let Some((cell, own)) = cells.max_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean)) {
        let (regime, budget) =
            (&calibration.regimes[cell / budgets], calibration.budgets.get(cell % budgets));
        let [low, high] = own.ci95;
        let budget = budget.map_or(String::new(), |budget| format!(" at {budget}"));
        say!("    most of all in {regime}{budget}: {:+.4} [{low:+.4}, {high:+.4}]", own.mean)?;
    }
    let lift = calibration.lift.unwrap_or(0.0);
    say!("  log-odds      {:+}, of the least risk {lift:+}", calibration.shift)?;
    say!("  resolution    {resolution}")?;
    say!("  parameters    {}", risk.critic().parameters().len())?;
    say!("  sha256        {}", hash(risk))?;
    print_bins(&risk.card().reliability)
}

fn print_bins(bins: &[Bin]) -> Result<()> {
    say!("  reliability: risk foretold      times   predicted  happened")?;
    for Bin { from, to, count, predicted, happened } in bins {
        say!("               {from:>6} to {to:<6}  {count:>8}   {predicted:>9.5}  {happened:.5}")?;
    }
    Ok(())
}
