//! How is a policy made? (`cpss train`)
//!
//! `cpss train` runs the learner of `cpss_learn` in worlds of `cpss_highway`, scores the result and
//! writes one file that says of itself how it was made. Start at [`run`].
//!
//! **Invariants:** the same task, seed and settings give the same file, byte for byte, on the same
//! machine, whether the run was stopped or killed and resumed or not; episodes come from the training seeds
//! alone, so no seed of tuning or reporting is ever learned from.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use cpss_highway::TaskId;
use serde::Serialize;

use crate::files::atomic::write_atomically;
use crate::learn::files::RunFiles;
use crate::learn::train::algorithm::Algorithm;
use crate::learn::train::finish::finished_policy;
use crate::learn::train::journal::Journal;
use crate::learn::train::learning::{Learning, Lesson};
use crate::learn::train::score::Score;
use crate::learn::train::settings::{TrainSettings, read_settings, shipped_settings};
use crate::play::seed;
use crate::tasks::SHIPPED_SEEDS;
use crate::terminal::say;

mod baselines;

use baselines::Request;

/// Options of `cpss train`.
#[derive(Debug, Args)]
#[command(after_help = "\
Beside --out FILE.safetensors stand FILE.csv (the log), FILE.tensorboard/ (for `tensorboard --logdir`)
and, until a run is complete, FILE.checkpoint, from which --resume goes on after Ctrl-C or a kill. The same
task, seed and settings give the same file again, byte for byte, on the same machine.

Examples:
  cpss train --env merge-v0
  cpss train --env highway-v0 --seed 7 --out quick.safetensors --steps 20000
  cpss train --env highway-v0 --seed 7 --out quick.safetensors --steps 20000 --resume   (after Ctrl-C)
  cpss train --env racetrack-v0 --seed 1 --out mine.safetensors --settings mine.toml
  cpss train --env merge-v0 --algorithm lagrangian         a price on incidents, learned against the budget

A settings file lists what differs from highway-env's own DQN script (see tasks/*/train.toml):
  worlds = 8
  [dqn]
  total_steps = 100000
  gamma = 0.95
  double = true")]
pub(super) struct Options {
    /// Task to learn, by highway-env's id, such as merge-v0
    #[arg(long, required_unless_present = "baselines")]
    env: Option<TaskId>,
    /// How [default: dqn]: lagrangian, cvar, saute, static-shield, shielded-dqn, shielded-dqn-proposed, ppo, ppo-lagrangian or cpo;
    /// docs/baselines.md says what each is
    #[arg(long)]
    algorithm: Option<Algorithm>,
    /// Train every learner of the comparison in every task with five seeds, where DIR does not have it yet; with --env or
    /// --algorithm only those [DIR: baselines]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "baselines", conflicts_with_all = ["seed", "out", "settings", "resume", "pause_at", "half", "json"])]
    baselines: Option<PathBuf>,
    /// How many training seeds --baselines has of each
    #[arg(long, value_name = "N", default_value_t = SHIPPED_SEEDS as u64, value_parser = clap::value_parser!(u64).range(1..=100), requires = "baselines")]
    seeds: u64,
    /// Training seed: weights, exploration and episodes all follow from it
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = seed::parse)]
    seed: u64,
    /// Where the policy goes, a .safetensors file [default: ENV-SEED.safetensors]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Environment steps of the whole run, in place of the settings' own number
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Settings from a TOML file, in place of the task's shipped ones
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Go on from the checkpoint that a stopped or killed run has left
    #[arg(long)]
    resume: bool,
    /// Stop at this step as Ctrl-C would, leaving a checkpoint (for jobs with a time limit)
    #[arg(long, value_name = "STEP")]
    pause_at: Option<u64>,
    /// Seconds between two checkpoints; more where writing one takes long
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    checkpoint_every: f64,
    /// Episodes to score the finished policy on
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=500_000))]
    score_episodes: u64,
    /// Keep the policy in half precision: half the room, and nearly the same numbers
    #[arg(long)]
    half: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Options {
    /// Where the policy goes.
    fn out(&self, lesson: &Lesson) -> PathBuf {
        let algorithm = match lesson.algorithm {
            Algorithm::Dqn => String::new(),
            other => format!("-{}", other.name()),
        };
        let named =
            || format!("{}{algorithm}-{}.safetensors", lesson.task.name(), self.seed).into();
        self.out.clone().unwrap_or_else(named)
    }
}

/// What came of a run.
#[derive(Debug, Serialize)]
struct Report<'a> {
    env: &'static str,
    seed: u64,
    out: &'a PathBuf,
    steps: u64,
    /// Time in the learner since the start or the latest resumption \[s\].
    seconds: f64,
    /// Environment steps in that time.
    steps_per_second: f64,
    /// Episodes that were learned from, and those of them with an incident.
    training_episodes: u64,
    training_incidents: u64,
    score: Score,
}

/// Runs `cpss train`.
pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(dir) = &options.baselines {
        let Options { env: task, algorithm, seeds, steps, score_episodes, .. } = *options;
        return baselines::run(&Request { dir, task, algorithm, seeds, steps, score_episodes });
    }
    let lesson = lesson(options)?;
    let files = RunFiles::beside(&options.out(&lesson), "policy")?;
    ensure!(
        !options.resume || files.checkpoint.exists(),
        "there is no run to go on with: {} is not there; leave --resume out to begin one",
        files.checkpoint.display()
    );
    let _lock = files.claim("cpss train")?;
    let mut learner = learning(options, &files, &lesson)?;
    let mut journal = Journal::open(&files, &learner.progress())?;
    let interrupted = interruption()?;

    let first = learner.progress().steps;
    let until = options.pause_at.unwrap_or(u64::MAX);
    let mut noted = Ok(());
    let start = Instant::now();
    let mut rhythm = Rhythm::new(options.checkpoint_every);
    let mut is_stopped = false;
    while !is_stopped && !learner.is_complete() {
        let before = learner.progress().steps;
        let progress = learner.run(until.saturating_sub(before), &mut |progress| {
            noted = journal.note(progress);
            is_stopped = noted.is_err() || interrupted.load(Ordering::Relaxed);
            if is_stopped || rhythm.is_due() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        is_stopped |= progress.steps >= until;
        if !learner.is_complete() {
            rhythm.save(|| write_atomically(&files.checkpoint, &lesson.checkpoint(&learner)))?;
        }
    }
    let progress = learner.progress();
    let seconds = start.elapsed().as_secs_f64();
    noted.and_then(|()| journal.close()).context("cannot write the logs")?;
    if !learner.is_complete() {
        bail!(
            "stopped at step {} of {}; the run is saved in {}: give the same command with --resume \
             to go on",
            progress.steps,
            progress.total_steps,
            files.checkpoint.display()
        );
    }
    let report = Report {
        env: lesson.task.name(),
        seed: options.seed,
        out: &files.result,
        steps: progress.steps,
        seconds,
        steps_per_second: (progress.steps - first) as f64 / seconds,
        training_episodes: progress.episodes,
        training_incidents: progress.incidents,
        score: finish(options, &files, &lesson, &learner)?,
    };
    report.print(options.json)
}

/// What the options ask for, checked.
fn lesson(options: &Options) -> Result<Lesson> {
    let task = options.env.context("give --env a task")?;
    let algorithm = options.algorithm.unwrap_or(Algorithm::Dqn);
    let mut spec = match &options.settings {
        Some(path) => read_settings(path)?,
        None => shipped_settings(task),
    };
    if let Some(steps) = options.steps {
        spec.set_steps(steps);
    }
    let settings = TrainSettings::new(spec, algorithm).context("the settings are unusable")?;
    Ok(Lesson { task, algorithm, seed: options.seed, settings })
}

/// A learner at the start of its run, or where the checkpoint has left it.
fn learning(options: &Options, files: &RunFiles, lesson: &Lesson) -> Result<Learning> {
    let path = files.checkpoint.display();
    if !options.resume {
        ensure!(
            !files.checkpoint.exists(),
            "{path} holds a run that was stopped: go on with --resume, or delete it to start again"
        );
        return lesson.begin();
    }
    let bytes = std::fs::read(&files.checkpoint)
        .with_context(|| format!("cannot read the checkpoint {path}"))?;
    lesson.resume(&bytes, &path.to_string())
}

/// Scores the learned policy, writes it with its card, and clears the checkpoint away.
fn finish(
    options: &Options,
    files: &RunFiles,
    lesson: &Lesson,
    learning: &Learning,
) -> Result<Score> {
    let (policy, score) = finished_policy(lesson, learning, options.score_episodes, options.half)?;
    write_atomically(&files.result, &policy.to_bytes())?;
    if files.checkpoint.exists() {
        std::fs::remove_file(&files.checkpoint)
            .with_context(|| format!("cannot remove {}", files.checkpoint.display()))?;
    }
    Ok(score)
}

/// When the next checkpoint is due.
struct Rhythm {
    interval: Duration,
    next: Instant,
}

impl Rhythm {
    /// A checkpoint holds the whole replay, which may be large: at most this share of the time goes into them.
    const SHARE: u32 = 20;

    fn new(seconds: f64) -> Rhythm {
        let interval = Duration::from_secs_f64(seconds);
        Rhythm { interval, next: Instant::now() + interval }
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Writes one, and sees how long that takes.
    fn save(&mut self, write: impl FnOnce() -> Result<()>) -> Result<()> {
        let begun = Instant::now();
        write()?;
        self.next = Instant::now() + self.interval.max(begun.elapsed() * Rhythm::SHARE);
        Ok(())
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e6 => Ok(value),
        _ => Err("a number of seconds above 0, at most 1000000".to_owned()),
    }
}

/// A flag that the first Ctrl-C sets; a second one ends the process at once.
fn interruption() -> Result<Arc<AtomicBool>> {
    /// What a shell reports for a process that Ctrl-C has ended.
    const INTERRUPTED: i32 = 130;
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if shared.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(flag)
}

impl Report<'_> {
    fn print(&self, json: bool) -> Result<()> {
        if json {
            return say!("{}", serde_json::to_string_pretty(self)?);
        }
        let Report { env, seed, out, steps, seconds, steps_per_second, score, .. } = self;
        say!("{env}, seed {seed}: {steps} steps, {seconds:.1} s, {steps_per_second:.0} steps/s")?;
        let (episodes, incidents) = (self.training_episodes, self.training_incidents);
        say!("learned from {episodes} episodes, {incidents} of them with an incident")?;
        say!(
            "return {:.2}, crashed {:.1} %, off road {:.1} %, {:.1} steps, {:.1} m/s over {} episodes",
            score.return_mean,
            100.0 * score.crashed_rate,
            100.0 * score.offroad_rate,
            score.length_mean,
            score.speed_mean,
            score.episodes
        )?;
        say!("wrote {}", out.display())
    }
}
