//! What does the shield cost in an episode?
//!
//! Plays a shipped policy on training seeds by turns without and with the shield, on one thread. A
//! *whole decision* is all that the shield adds before the world moves on: looking at the scene, the
//! cost of every action, the verdict, and afterwards the settlement. By turns, so that both meet the same
//! neighbours on the machine. A third turn is behind the `fair` sensor, where a decision also follows every car
//! through its readings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_learn::QFunction;
use cpss_learn::network::greedy;
use cpss_risk::RiskModel;
use cpss_shield::{Shield, Situation};
use serde::Serialize;

use super::{Percentiles, percentiles};
use crate::play::arm::{Arm, ShieldSettings};
use crate::play::critic::RiskSource;
use crate::play::policy::PolicySource;
use crate::play::sensor::{Behind, Gaze, SensorSpec, Sight};
use crate::tasks::policy_config;

/// What a task's episodes take.
#[derive(Debug, Serialize)]
pub(crate) struct ShieldedReport {
    /// Time of a whole decision.
    pub decision: Percentiles,
    /// The same behind a sensor, with the tracker.
    pub behind_sensor: Percentiles,
    /// Decisions per second under the shield, on one thread.
    pub steps_per_second: f64,
    /// Decisions per second of world and policy alone, on one thread.
    pub unshielded_steps_per_second: f64,
}

/// The sensor of the third turn.
const EYES: &str = "fair";

/// Episodes between two turns.
const TURN: u64 = 2;

/// Measures one task for some time \[s\].
pub(super) fn measure(id: TaskId, seconds: f64) -> Result<ShieldedReport> {
    let task = Task::new(id, &policy_config(id))?;
    let source: PolicySource = "builtin:0".parse().map_err(|error| anyhow!("{error}"))?;
    let mut driver = Driver {
        policy: source.load(&task)?,
        seen: vec![0.0; task.observer.len()],
        preferences: Vec::new(),
    };
    let mut guard = Guard::new(&task, &RiskSource::Drift, None)?;
    let eyes = Gaze::through(SensorSpec::load(EYES)?.sensor(), Behind::Shield);
    let mut behind = Guard::new(&task, &RiskSource::Sensed, Sight::through(eyes))?;
    let mut world = World::new(task, 0);
    let (mut plain, mut shielded) = ((0_u64, Duration::ZERO), (0_u64, Duration::ZERO));
    let started = Instant::now();
    let mut seed = 0;
    while started.elapsed().as_secs_f64() < seconds || guard.times.is_empty() {
        for guarded in [false, true] {
            let begin = Instant::now();
            let guard = guarded.then_some(&mut guard);
            let steps = driver.drive(&mut world, seed..seed + TURN, guard)?;
            let account = if guarded { &mut shielded } else { &mut plain };
            *account = (account.0 + steps, account.1 + begin.elapsed());
        }
        driver.drive(&mut world, seed..seed + TURN, Some(&mut behind))?;
        seed += TURN;
    }
    let rate = |(steps, time): (u64, Duration)| steps as f64 / time.as_secs_f64();
    Ok(ShieldedReport {
        decision: percentiles(&mut guard.times),
        behind_sensor: percentiles(&mut behind.times),
        steps_per_second: rate(shielded),
        unshielded_steps_per_second: rate(plain),
    })
}

/// The reports of some tasks as a table.
pub(crate) fn markdown(reports: &BTreeMap<&'static str, ShieldedReport>) -> String {
    let mut lines = vec![
        "| task | a whole decision, p50 | p99 | with tracker, p99 | decisions/s without the shield | with it |"
            .to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(reports.iter().map(|(name, report)| {
        let ShieldedReport { decision, steps_per_second, unshielded_steps_per_second, .. } = report;
        let [p50, p99, behind] =
            [decision.p50_ns, decision.p99_ns, report.behind_sensor.p99_ns].map(|time| time as f64 / 1e3);
        format!(
            "| {name} | {p50:.1} µs | {p99:.1} µs | {behind:.1} µs | {unshielded_steps_per_second:.0} | {steps_per_second:.0} |"
        )
    }));
    lines.push(String::new());
    lines.join("\n")
}

/// A policy at the wheel.
struct Driver {
    policy: Box<dyn QFunction>,
    seen: Vec<f32>,
    preferences: Vec<f64>,
}

/// A shield and what it needs.
struct Guard {
    risk: RiskModel,
    shield: Shield,
    scene: Scene,
    /// What it sees the world through, if that is not perfect.
    sight: Option<Sight>,
    times: Vec<u64>,
}

impl Driver {
    /// Plays some episodes and returns how many decisions they took.
    fn drive(
        &mut self,
        world: &mut World,
        seeds: std::ops::Range<u64>,
        mut guard: Option<&mut Guard>,
    ) -> Result<u64> {
        let mut steps = 0;
        for seed in seeds {
            world.reset(Some(seed), &mut self.seen);
            if let Some(guard) = &mut guard {
                guard.begin(world, seed)?;
            }
            loop {
                let values = self.policy.q_values(steps, &self.seen)?;
                self.preferences.clear();
                self.preferences.extend(values.iter().map(|value| f64::from(*value)));
                let proposal = greedy(values).unwrap_or(0);
                let step = match &mut guard {
                    None => world.step(Action::Index(proposal), &mut self.seen)?,
                    Some(guard) => {
                        guard.step(world, proposal, &self.preferences, &mut self.seen)?
                    }
                };
                steps += 1;
                if step.is_over() {
                    break;
                }
            }
        }
        Ok(steps)
    }
}

impl Guard {
    fn new(task: &Arc<Task>, risk: &RiskSource, sight: Option<Sight>) -> Result<Guard> {
        let settings = ShieldSettings::shipped(task.id)?;
        Ok(Guard {
            risk: RiskModel::new(task, risk.load(task.id)?)?,
            shield: Shield::new(Arm::Cpss(None).shield(&settings))
                .map_err(|error| anyhow!("{error}"))?,
            scene: Scene::default(),
            sight,
            times: Vec::new(),
        })
    }

    fn begin(&mut self, world: &World, seed: u64) -> Result<()> {
        self.shield.reset();
        self.sight.as_mut().map_or(Ok(()), |sight| sight.begin(world, seed))
    }

    fn step(
        &mut self,
        world: &mut World,
        proposal: usize,
        preferences: &[f64],
        seen: &mut [f32],
    ) -> Result<cpss_highway::Step> {
        let begin = Instant::now();
        let scene = match self.sight.as_ref().and_then(Sight::scene) {
            Some(scene) => scene,
            None => {
                self.scene.observe(world);
                &self.scene
            }
        };
        let assessment = self.risk.assess(scene);
        let situation = Situation {
            proposal,
            costs: &assessment.costs,
            preferences,
            density: assessment.density,
        };
        let decision = self.shield.judge(&situation).map_err(|error| anyhow!("{error}"))?;
        let judging = begin.elapsed();
        let action = Action::Index(decision.executed());
        let step = match &mut self.sight {
            None => world.step(action, seen)?,
            Some(sight) => sight.advance(world, action, seen)?,
        };
        let begin = Instant::now();
        if let Some(sight) = &mut self.sight {
            sight.look(world.task().decision_time);
        }
        self.shield
            .settle(decision, decision.cost_executed())
            .map_err(|error| anyhow!("{error}"))?;
        self.times.push((judging + begin.elapsed()).as_nanos() as u64);
        Ok(step)
    }
}
