//! How are all learners of the comparison trained? (`cpss train --baselines`)
//!
//! One run for each task, learner and training seed, as many at once as there are cores, each on one of them. Policies
//! go to `DIR/TASK/LEARNER/SEED.safetensors`, in half precision; what the runs took and cost goes to `DIR/training.csv`.
//! Stopped at any moment it goes on with the runs that are missing; only those under way are lost. Of the plain DQN the
//! policies are shipped already, so only what its training cost is written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use cpss_highway::TaskId;
use cpss_learn::Policy;

use crate::files::atomic::{folder, write_atomically};
use crate::files::lock::{Claim, Lock};
use crate::learn::train::algorithm::Algorithm;
use crate::learn::train::finish::finished_policy;
use crate::learn::train::learning::Lesson;
use crate::learn::train::settings::{TrainSettings, shipped_settings};
use crate::tasks;
use crate::terminal::meter::Meter;
use crate::terminal::say;

/// Columns of the table of runs.
const COLUMNS: &str = "task,algorithm,seed,steps,seconds,episodes,incidents";
/// The table of runs.
const RUNS: &str = "training.csv";

/// Which runs.
pub(super) struct Request<'a> {
    /// Where policies go.
    pub(super) dir: &'a Path,
    /// This task only.
    pub(super) task: Option<TaskId>,
    /// This learner only.
    pub(super) algorithm: Option<Algorithm>,
    /// Training seeds, from 0.
    pub(super) seeds: u64,
    /// Other steps than the task's own.
    pub(super) steps: Option<u64>,
    /// Episodes to score each policy on.
    pub(super) score_episodes: u64,
}

/// A run by its place in the table.
type Place = (String, String, u64);

/// Trains what is missing.
pub(super) fn run(request: &Request<'_>) -> Result<()> {
    let _lock = Lock::take(request.dir, Claim::Alone, "cpss train --baselines")?;
    let runs = Mutex::new(read_runs(&request.dir.join(RUNS))?);
    let missing: Vec<Lesson> = {
        let done = lock(&runs);
        let is_missing = |lesson: &Lesson| {
            let is_kept =
                lesson.algorithm == Algorithm::Dqn || is_of(&place_of(request.dir, lesson), lesson);
            !is_kept || !done.contains_key(&place(lesson))
        };
        lessons(request)?.into_iter().filter(is_missing).collect()
    };
    let meter = Meter::new("runs", 0, missing.len() as u64);
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(lesson) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if lock(&failed).is_some() {
                        return;
                    }
                    let Lesson { task, algorithm, seed, .. } = lesson;
                    meter.tell(format!("{} {} seed {seed}", task.name(), algorithm.name()));
                    match train(request, lesson, &runs) {
                        Ok(()) => meter.advance(),
                        Err(error) => *lock(&failed) = Some(error),
                    }
                }
            });
        }
    });
    meter.finish();
    match failed.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => say!(
            "{} runs trained; policies and {RUNS} are in {}",
            missing.len(),
            request.dir.display()
        ),
    }
}

/// Trains one policy and writes it down.
fn train(
    request: &Request<'_>,
    lesson: &Lesson,
    runs: &Mutex<BTreeMap<Place, String>>,
) -> Result<()> {
    let words = || format!("{} in {}", lesson.algorithm.name(), lesson.task.name());
    let start = Instant::now();
    let mut learning = lesson.begin().with_context(words)?;
    learning.run(u64::MAX, &mut |_| ControlFlow::Continue(())).with_context(words)?;
    let seconds = start.elapsed().as_secs_f64();
    let progress = learning.progress();
    if lesson.algorithm != Algorithm::Dqn {
        let (policy, _) = finished_policy(lesson, &learning, request.score_episodes, true)?;
        let path = place_of(request.dir, lesson);
        if let Some(parent) = path.parent() {
            folder(parent)?;
        }
        write_atomically(&path, &policy.to_bytes())?;
    }
    let row =
        format!("{},{seconds:.1},{},{}", progress.steps, progress.episodes, progress.incidents);
    let mut runs = lock(runs);
    runs.insert(place(lesson), row);
    let mut text = format!("{COLUMNS}\n");
    for ((task, algorithm, seed), row) in &*runs {
        // Writing to a `String` cannot fail, so there is nothing to handle.
        let _ = writeln!(text, "{task},{algorithm},{seed},{row}");
    }
    write_atomically(&request.dir.join(RUNS), text.as_bytes())
}

/// Whether a file is the policy of a run: another's, or one of other settings, is trained again.
fn is_of(path: &Path, lesson: &Lesson) -> bool {
    let policy = std::fs::read(path).ok().and_then(|bytes| Policy::from_bytes(&bytes).ok());
    policy.is_some_and(|policy| lesson.made(policy.card()))
}

/// Every run that is asked for, seed by seed, so that what is there after a while is the same of all.
fn lessons(request: &Request<'_>) -> Result<Vec<Lesson>> {
    let mut lessons = Vec::new();
    let is_wanted = |algorithm: &Algorithm| request.algorithm.is_none_or(|one| one == *algorithm);
    for seed in 0..request.seeds {
        for &task in tasks::shipped().iter().filter(|id| request.task.is_none_or(|one| one == **id))
        {
            for algorithm in Algorithm::ALL.into_iter().filter(is_wanted) {
                let mut spec = shipped_settings(task);
                if let Some(steps) = request.steps {
                    spec.set_steps(steps);
                }
                let settings = TrainSettings::new(spec, algorithm)?;
                lessons.push(Lesson { task, algorithm, seed, settings });
            }
        }
    }
    Ok(lessons)
}

fn place(lesson: &Lesson) -> Place {
    (lesson.task.name().to_owned(), lesson.algorithm.name().to_owned(), lesson.seed)
}

fn place_of(dir: &Path, lesson: &Lesson) -> PathBuf {
    let (task, algorithm, seed) = place(lesson);
    dir.join(task).join(algorithm).join(format!("{seed}.safetensors"))
}

/// Reads the table of runs; there is none before the first.
fn read_runs(path: &Path) -> Result<BTreeMap<Place, String>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the runs {}", path.display()))?;
    let run = |line: &str| -> Option<(Place, String)> {
        let mut cells = line.splitn(4, ',');
        let (task, algorithm) = (cells.next()?.to_owned(), cells.next()?.to_owned());
        let seed = cells.next()?.parse().ok()?;
        let numbers = cells.next()?;
        let is_number = |cell: &str| cell.parse::<f64>().is_ok_and(f64::is_finite);
        let is_run = numbers.split(',').count() == 4 && numbers.split(',').all(is_number);
        is_run.then(|| ((task, algorithm, seed), numbers.to_owned()))
    };
    text.lines()
        .skip(1)
        .map(|line| run(line).ok_or_else(|| anyhow!("{}: `{line}` is no run", path.display())))
        .collect()
}

/// A panic elsewhere has spoiled nothing here: what is behind the lock is whole at any moment.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
