//! How do rounds of data and learning make a critic?
//!
//! `cpss risk learn` plays a round of episodes, learns from all rounds so far, and plays the next round under
//! the shield of what it has learned; in the end it calibrates, and writes one file that says of itself
//! how it was made. Start at [`run`].
//!
//! **Invariants:** the same task, seed and settings give the same file, byte for byte, on the same machine,
//! for any number of threads, whether the run was killed and resumed or not; episodes come from seeds below
//! 1,000,000 alone.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use cpss_highway::TaskId;
use cpss_learn::critic::checkpoint::CriticCheckpoint;
use cpss_learn::critic::experience::Experience;
use cpss_learn::critic::learner::{CriticLearner, CriticSpec};
use cpss_learn::critic::{Critic, Shape};
use cpss_risk::card::Learning;
use cpss_risk::features::Inputs;
use serde::Serialize;

use super::calibrate::{Account, Known, Stage, certify, uncalibrated};
use super::collect::collect;
use super::journal::{Journal, RunFiles};
use super::{USUAL_THRESHOLD, load_regimes, look_ahead};
use crate::keep::keep;
use crate::policy::policy_task;
use crate::regime::Regime;
use crate::terminal::note;

/// Seeds of the episodes that a critic learns from, and of those that it is calibrated on.
pub const LEARNING_SEEDS: Range<u64> = 0..800_000;
pub(super) const CALIBRATION_SEEDS: Range<u64> = 800_000..1_000_000;

/// In how many parts a round is learned: before each, every decision is looked at anew.
const PHASES: u64 = 2;

/// How often a run is saved.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// Options of `cpss risk learn`.
#[derive(Debug, Args)]
#[command(after_help = "\
Beside --out FILE.safetensors stand FILE.csv (the log), FILE.tensorboard/ (for `tensorboard --logdir`)
and, until it is done, FILE.checkpoint, saved every minute. The same command goes on from there. The same
settings give the same file again, byte for byte, on the same machine.

Examples:
  cpss risk learn --env merge-v0 --out merge.safetensors
  cpss risk learn --env merge-v0 --out quick.safetensors --rounds 2 --decisions 100000 --updates 2000
  cpss risk learn --env highway-v0 --out still.safetensors --regimes stationary
  cpss evaluate --env merge-v0 --risk merge.safetensors")]
pub struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    pub env: TaskId,
    /// Where the critic goes, a .safetensors file
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Rounds of data, each under the shield of the one before
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub rounds: u64,
    /// Decisions to see in each round
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    pub decisions: u64,
    /// Updates to make in each round
    #[arg(long, default_value_t = 24_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub updates: u64,
    /// Regimes to learn in, by name or as .toml files, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "stationary,mild,average,high")]
    pub regimes: Vec<String>,
    /// Episodes to measure after each round, and four times as many to calibrate on; fewer where they are long
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(100..=40_000))]
    pub episodes: u64,
    /// Policies that drive meanwhile, 0.safetensors to 4.safetensors in a folder [default: the shipped ones]
    #[arg(long, value_name = "DIR")]
    pub policies: Option<PathBuf>,
    /// Seed of weights and batches
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Units of the layers that each body goes through
    #[arg(long, value_delimiter = ',', default_value = "96,96", hide = true)]
    pub encoder: Vec<usize>,
    /// Units of the layers that all of them go through together
    #[arg(long, value_delimiter = ',', default_value = "128,128", hide = true)]
    pub head: Vec<usize>,
    /// Decisions per update
    #[arg(long, default_value_t = 512, hide = true)]
    pub batch: usize,
    /// Over how many decisions outcomes are followed
    #[arg(long, default_value_t = 20, hide = true)]
    pub follow_outcomes: usize,
}

/// All that a run depends on.
#[derive(Clone, Debug, Serialize)]
struct Plan {
    env: String,
    regimes: Vec<String>,
    /// What the regimes are: a file may be edited while a run is stopped.
    traffic: Vec<String>,
    rounds: u64,
    decisions: u64,
    updates: u64,
    seed: u64,
    shape: Shape,
    critic: CriticSpec,
    features: &'static str,
}

impl Plan {
    fn of(options: &Options, regimes: &[Regime]) -> Plan {
        let task = policy_task(options.env);
        let inputs = Inputs::of(&task);
        Plan {
            env: options.env.name().to_owned(),
            regimes: options.regimes.clone(),
            traffic: regimes.iter().map(|regime| format!("{:?}", regime.spec())).collect(),
            rounds: options.rounds,
            decisions: options.decisions,
            updates: options.updates,
            seed: options.seed,
            shape: Shape {
                fixed: inputs.fixed,
                item: inputs.item,
                encoder: options.encoder.clone(),
                head: options.head.clone(),
                actions: task.controls.action_count().unwrap_or(0),
            },
            critic: CriticSpec {
                gamma: look_ahead(options.env),
                batch: options.batch,
                follow_outcomes: options.follow_outcomes,
                ..CriticSpec::default()
            },
            features: inputs.name,
        }
    }
}

/// Runs `cpss risk learn`.
///
/// # Errors
///
/// A task or regime that cannot be used, an output that cannot be written, or learning that diverges.
pub fn run(options: &Options) -> Result<()> {
    if let Some(folder) = &options.policies {
        crate::tasks::take_policies(options.env, folder)?;
    }
    let regimes = load_regimes(options.env, &options.regimes)?;
    let plan = Plan::of(options, &regimes);
    let episodes = super::enough(options.env, options.episodes);
    let stage = Stage { env: options.env, regimes: &regimes, names: &plan.regimes, episodes };
    let files = RunFiles::beside(&options.out)?;
    let mut learner = CriticLearner::new(plan.shape.clone(), plan.critic.clone(), plan.seed)
        .context("the critic's layers")?;
    let settings = serde_json::to_string(&plan)?;
    let (mut phase, mut update, mut critics) = (0, 0, Vec::new());
    if files.checkpoint.exists() {
        let path = files.checkpoint.display();
        let bytes =
            std::fs::read(&files.checkpoint).with_context(|| format!("cannot read {path}"))?;
        let saved = CriticCheckpoint::resume(&bytes, &settings, &mut learner)
            .with_context(|| format!("cannot go on from {path}; delete it to start again"))?;
        (phase, update, critics) = (saved.round, saved.update, saved.rounds);
        note!("going on from {path}: round {}, update {update}", phase / PHASES);
    }
    let mut journal = Journal::open(&files, plan.rounds * plan.updates.div_ceil(PHASES) * PHASES)?;
    let mut experience = Experience::new(plan.shape.fixed, plan.shape.item);
    // Nothing is left to learn where only the calibration was cut off.
    let again = if phase < plan.rounds * PHASES { phase.div_ceil(PHASES) } else { 0 };
    for earlier in 0..again {
        experience.append(&play_round(&plan, &regimes, &critics, earlier)?);
    }
    let in_a_phase = plan.updates.div_ceil(PHASES);
    let mut saved = Instant::now();
    while phase < plan.rounds * PHASES {
        let (round, part) = (phase / PHASES, phase % PHASES);
        if part == 0 {
            experience.append(&play_round(&plan, &regimes, &critics, round)?);
            journal.round(round, experience.len(), experience.incidents());
        }
        if let Some(critic) = critics.last() {
            experience.weigh(critic);
        }
        while update < in_a_phase {
            let share = (part * in_a_phase + update) as f64 / (in_a_phase * PHASES) as f64;
            let loss = learner.update(&experience, share)?;
            update += 1;
            journal.update(phase * in_a_phase + update, loss)?;
            if saved.elapsed() > SAVE_EVERY {
                let state = CriticCheckpoint::of(&learner, &settings, [phase, update], &critics);
                keep(&files.checkpoint, &state.to_bytes())?;
                saved = Instant::now();
            }
        }
        critics.push(learner.learned().clone());
        (phase, update) = (phase + 1, 0);
        let state = CriticCheckpoint::of(&learner, &settings, [phase, update], &critics);
        keep(&files.checkpoint, &state.to_bytes())?;
        if part + 1 == PHASES {
            let account = measure_round(&plan, &stage, learner.learned())?;
            journal.measured(phase * in_a_phase, &account)?;
        }
    }
    drop(experience);
    let critic = learner.learned().clone();
    let learned =
        certify(&stage, critic, learning(&plan), Known::default(), |words| journal.say(words))?;
    keep(&files.critic, &learned.to_bytes())?;
    std::fs::remove_file(&files.checkpoint)
        .with_context(|| format!("cannot remove {}", files.checkpoint.display()))?;
    journal.close()?;
    super::score::print_card(&learned, &files.critic.display().to_string())
}

/// The episodes of a round, driven under the critic of the one before.
fn play_round(
    plan: &Plan,
    regimes: &[Regime],
    critics: &[Critic],
    round: u64,
) -> Result<Experience> {
    let before = (round * PHASES).checked_sub(1).and_then(|before| critics.get(before as usize));
    let first = round * 100_000 % LEARNING_SEEDS.end;
    collect(regimes, before, round, first..LEARNING_SEEDS.end, plan.decisions as usize)
}

fn measure_round(plan: &Plan, stage: &Stage<'_>, critic: &Critic) -> Result<Account> {
    let risk = uncalibrated(stage.env, critic.clone(), learning(plan))?;
    // Not those that it is calibrated on.
    let seeds = CALIBRATION_SEEDS.end - stage.episodes..CALIBRATION_SEEDS.end;
    stage.account_at(&risk, USUAL_THRESHOLD, seeds)
}

/// What the card says about the learning.
fn learning(plan: &Plan) -> Learning {
    Learning {
        regimes: plan.regimes.clone(),
        seed: plan.seed,
        rounds: plan.rounds,
        decisions: plan.decisions as usize,
        updates: plan.updates,
        seeds: [LEARNING_SEEDS.start, LEARNING_SEEDS.end],
    }
}
