//! How fast is it here?
//!
//! [`measure`] drives every task with random actions in batches of 64 worlds per thread: on one
//! thread, then on all. Resets take their time but do not count as decisions. Then it times the
//! shield, decision by decision (the clock's own cost included), alone and in episodes
//! (`shielded`), and the learner's gradient step. Timings differ from machine to machine and from
//! minute to minute: compare them within a run.

pub(crate) mod shielded;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use cpss_highway::batch::{Actions, Autoreset, Batch, Buffers};
use cpss_highway::random::Generator;
use cpss_highway::{Task, TaskId};
use cpss_shield::{Shield, ShieldSpec, Situation};
use serde::Serialize;

use crate::tasks;
use crate::terminal::note;
use shielded::ShieldedReport;

/// Worlds in a batch, for each thread.
const WORLDS_PER_THREAD: usize = 64;

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Threads of the machine.
    pub threads: usize,
    /// Throughput of each task.
    pub tasks: BTreeMap<&'static str, TaskReport>,
    /// How long the shield takes for one decision with five actions, and its settlement.
    pub shield: Percentiles,
    /// How much of that is the clock.
    pub clock: Percentiles,
    /// What the shield costs in the episodes of each task that has a policy.
    pub shielded: BTreeMap<&'static str, ShieldedReport>,
    /// DQN updates per second: a 25-256-256-5 network, batch 32, one thread.
    pub gradient_steps_per_second: f64,
}

/// How long something takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Percentiles {
    /// Half of all decisions take at most this long \[ns\].
    pub p50_ns: u64,
    /// 99 of 100 do \[ns\].
    pub p99_ns: u64,
    /// 999 of 1,000 do \[ns\].
    pub p999_ns: u64,
}

/// Throughput of one task.
#[derive(Debug, Serialize)]
pub(crate) struct TaskReport {
    /// Decisions per second on one thread.
    pub steps_per_second: f64,
    /// Decisions per second on all threads.
    pub steps_per_second_all_threads: f64,
    /// Cars moved by a frame, per second, on one thread.
    pub vehicle_updates_per_second: f64,
}

/// Measures some tasks, or all, and the shield and the learner, for some time each \[s\].
pub(crate) fn measure(only: &[TaskId], seconds: f64) -> Result<Report> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let all = if only.is_empty() { &TaskId::ALL } else { only };
    let mut tasks = BTreeMap::new();
    for &id in all {
        note!("measuring {} ...", id.name());
        let (steps, updates) = throughput(id, 1, seconds)?;
        let (steps_all, _) = throughput(id, threads, seconds)?;
        tasks.insert(
            id.name(),
            TaskReport {
                steps_per_second: steps,
                steps_per_second_all_threads: steps_all,
                vehicle_updates_per_second: updates,
            },
        );
    }
    let mut shielded = BTreeMap::new();
    for &id in tasks::shipped().iter().filter(|id| tasks.contains_key(id.name())) {
        note!("measuring {} under the shield ...", id.name());
        shielded.insert(id.name(), shielded::measure(id, seconds)?);
    }
    note!("measuring the shield and the learner ...");
    let update = cpss_learn::measure_update(Duration::from_secs_f64(seconds));
    Ok(Report {
        threads,
        tasks,
        shield: shield_latency(seconds)?,
        clock: clock_latency(),
        shielded,
        gradient_steps_per_second: 1e6 / update.median_us,
    })
}

/// Times single decisions on costs that make the shield admit, replace and give in by turns.
///
/// The clock is read before and after each, which takes about as long as a decision: what it takes alone is
/// [`clock_latency`]'s to say.
fn shield_latency(seconds: f64) -> Result<Percentiles> {
    let mut shield = Shield::new(ShieldSpec::new(5.0, 1000)).map_err(|e| anyhow!("{e}"))?;
    let mut random = Generator::seeded(1);
    let mut times = Vec::new();
    let started = Instant::now();
    while started.elapsed().as_secs_f64() < seconds || times.len() < 1000 {
        for step in 0..1000 {
            let costs: [f64; 5] = std::array::from_fn(|_| random.uniform(0.0, 0.02));
            let moment = Situation {
                proposal: step % 5,
                costs: &costs,
                preferences: &[],
                density: random.random(),
            };
            let begin = Instant::now();
            let decision = shield.judge(&moment).map_err(|e| anyhow!("{e}"))?;
            let settled = shield.settle(decision, costs[0]).map_err(|e| anyhow!("{e}"))?;
            times.push(begin.elapsed().as_nanos() as u64);
            std::hint::black_box(settled);
        }
        std::hint::black_box(shield.reset());
    }
    Ok(percentiles(&mut times))
}

/// What the clock itself takes: two readings with nothing between them.
fn clock_latency() -> Percentiles {
    let nothing = |_| Instant::now().elapsed().as_nanos() as u64;
    percentiles(&mut (0..100_000).map(nothing).collect::<Vec<u64>>())
}

/// Percentiles of some times, of which there is at least one.
fn percentiles(times: &mut [u64]) -> Percentiles {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Percentiles { p50_ns: at(0.5), p99_ns: at(0.99), p999_ns: at(0.999) }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Percentiles { p50_ns, p99_ns, p999_ns } = self;
        write!(f, "p50 {p50_ns} ns, p99 {p99_ns} ns, p99.9 {p999_ns} ns")
    }
}

/// Steps and vehicle updates per second of a batch under random actions.
fn throughput(id: TaskId, threads: usize, seconds: f64) -> Result<(f64, f64)> {
    let task = Task::with_defaults(id);
    let worlds = WORLDS_PER_THREAD * threads;
    let mut batch = Batch::new(&task, worlds, 0, Autoreset::NextStep, threads)?;
    let mut random = Generator::seeded(1);
    let mut observations = vec![0.0; worlds * task.observer.len()];
    let (mut rewards, mut terminated, mut truncated) =
        (vec![0.0; worlds], vec![false; worlds], vec![false; worlds]);
    let mut indices = vec![0; worlds];
    let mut points = vec![0.0; worlds * task.controls.box_dimension().unwrap_or(0)];
    let mut moved = Vec::with_capacity(worlds);
    let (mut steps, mut updates) = (0_u64, 0_u64);
    let budget = Duration::from_secs_f64(seconds);
    let mut started = Instant::now();
    let mut warm = false;
    loop {
        let actions = match task.controls.action_count() {
            Some(count) => {
                indices.fill_with(|| random.choice(count));
                Actions::Indices(&indices)
            }
            None => {
                points.fill_with(|| random.uniform(-1.0, 1.0) as f32);
                Actions::Points(&points)
            }
        };
        let out = Buffers {
            observations: &mut observations,
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
            final_observations: &mut [],
        };
        // A world that has ended is reset by this call: that takes its time, but is no decision.
        moved.clear();
        moved.extend(batch.ended().iter().map(|ended| !ended));
        batch.step(actions, out)?;
        for (world, _) in batch.worlds().iter().zip(&moved).filter(|(_, moved)| **moved) {
            steps += 1;
            updates += (world.vehicles().len() * task.frames) as u64;
        }
        if !warm && started.elapsed() > budget / 10 {
            (warm, steps, updates, started) = (true, 0, 0, Instant::now());
        } else if warm && started.elapsed() >= budget {
            let elapsed = started.elapsed().as_secs_f64();
            return Ok((steps as f64 / elapsed, updates as f64 / elapsed));
        }
    }
}
