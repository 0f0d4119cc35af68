//! What happens when the world changes and nobody says so?
//!
//! A [`Deployment`] is a car, or a fleet that shares one memory, which plays episodes in a row; in the middle traffic or
//! eyes change. Its critic was learned and calibrated before the change. Start at [`Deployment::run`].
//!
//! **Invariants:** the same deployment gives the same numbers for any number of threads; every method plays the same
//! seeds.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use cpss_highway::{Sensor, TaskId};
use cpss_risk::LearnedRisk;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::play::arm::{Arm, Millionths, ShieldSettings};
use crate::play::critic::RiskSource;
use crate::play::episode::Player;
use crate::play::policy::PolicySource;
use crate::play::regime::{Regime, RegimeSpec};
use crate::play::sensor::{Behind, Gaze};
use crate::record::memory::{Adaptation, MemorySettings};
use crate::tasks::{SHIPPED_SEEDS, policy_config};

/// How a shield copes with a world that changes.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Deserialize,
    Serialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A constant threshold, tuned in stationary traffic.
    Fixed,
    /// The budget, without any adaptation.
    Budget,
    /// With the paper's context gain.
    Context,
    /// With evidence and recalibration, without the context gain.
    Memory,
    /// With all of it.
    All,
    /// The critic that was learned in the changed world: the bound.
    Knew,
}

impl Method {
    /// All, in the order of tables.
    pub const EACH: [Method; 6] =
        [Method::Fixed, Method::Budget, Method::Context, Method::Memory, Method::All, Method::Knew];

    /// Its name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Fixed => "fixed",
            Method::Budget => "budget",
            Method::Context => "context",
            Method::Memory => "memory",
            Method::All => "all",
            Method::Knew => "knew",
        }
    }

    /// Whether it remembers.
    pub fn remembers(self) -> bool {
        matches!(self, Method::Memory | Method::All)
    }
}

/// Traffic and eyes.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The regime.
    pub regime: RegimeSpec,
    /// The sensor.
    pub sensor: Sensor,
}

/// Episodes in a row, with a change.
#[derive(Clone, Debug)]
pub struct Deployment<'a> {
    /// The task.
    pub task: TaskId,
    /// How the world is at first,
    pub before: Surroundings,
    /// and after the change.
    pub after: Surroundings,
    /// Episodes of each car.
    pub episodes: u64,
    /// Episodes of each car before the change.
    pub change: u64,
    /// Cars that share one memory.
    pub cars: usize,
    /// How the shield copes.
    pub method: Method,
    /// The constant threshold of [`Method::Fixed`].
    pub threshold: f64,
    /// The shield.
    pub settings: &'a ShieldSettings,
    /// The first seed; the others count up.
    pub first_seed: u64,
}

/// What came of one episode of one car.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lived {
    /// Which car,
    pub car: usize,
    /// and which of its episodes, from 0.
    pub episode: u64,
    /// Whether there was an incident.
    pub incident: bool,
    /// What the critic calls unavoidable, and the budget.
    pub promise: f64,
    /// What it did not foresee.
    pub surprise: f64,
    /// The sum of rewards.
    pub reward: f64,
    /// Decisions, and those on which the proposal was refused.
    pub steps: u64,
    /// Of these.
    pub interventions: u64,
    /// By how much the log-odds of what cannot be avoided were raised in it.
    pub raised: f64,
    /// How many alarms about traffic there have been by its end,
    pub alarms: u64,
    /// and whether there has been one about incidents.
    pub incident_alarm: bool,
}

/// A car with one player for each half.
struct Car<'a> {
    players: [Player<'a>; 2],
}

impl Deployment<'_> {
    /// Plays all episodes; `played` is called after each round of all cars.
    ///
    /// # Errors
    ///
    /// A critic or policy that is not there, or settings that make no sense.
    pub fn run(&self, played: &(dyn Fn() + Sync)) -> Result<Vec<Lived>> {
        let config = policy_config(self.task);
        let regimes = [&self.before, &self.after]
            .map(|world| Regime::new(world.regime.clone(), self.task, &config));
        let [before, after] = regimes;
        let regimes = [before?, after?];
        let risk = self.critic()?;
        let settings = self.memory_settings(&risk);
        let mut cars = (0..self.cars)
            .map(|car| self.car(car, &regimes, &risk, settings.as_ref()))
            .collect::<Result<Vec<_>>>()?;
        let mut memory = cars.first().map(|car| *car.players[0].memory()).context("no cars")?;
        let mut all = Vec::new();
        for episode in 0..self.episodes {
            let half = usize::from(episode >= self.change);
            let lived = cars
                .par_iter_mut()
                .enumerate()
                .map(|(place, car)| {
                    let player = &mut car.players[half];
                    if settings.is_some() {
                        player.recall(memory.fork());
                    }
                    let seed = self.first_seed + place as u64 * self.episodes + episode;
                    let record = player.play(seed)?;
                    Ok((record, *player.memory()))
                })
                .collect::<Result<Vec<_>>>()?;
            let raised = memory.recalibration().raised();
            if settings.is_some() {
                let forks: Vec<_> = lived.iter().map(|(_, memory)| *memory).collect();
                memory = memory.join(&forks).map_err(|error| anyhow!("{error}"))?;
            }
            let budget = self.settings.spec.budget;
            all.extend(lived.iter().enumerate().map(|(car, (record, _))| Lived {
                car,
                episode,
                incident: record.failed(),
                // A budget of 1 or more allows everything.
                promise: record.promise(budget).unwrap_or(1.0),
                surprise: record.surprise(),
                reward: record.episode_return,
                steps: record.steps,
                interventions: record.interventions,
                raised,
                alarms: memory.novelty().map_or(0, |novelty| novelty.alarms()),
                incident_alarm: memory.evidence().alarm().is_some(),
            }));
            played();
        }
        Ok(all)
    }

    fn critic(&self) -> Result<Arc<LearnedRisk>> {
        match self.method {
            Method::Knew => RiskSource::behind(&self.after.sensor),
            _ => RiskSource::Stationary,
        }
        .load(self.task)
    }

    fn memory_settings(&self, risk: &LearnedRisk) -> Option<MemorySettings> {
        let adaptation = self.settings.adaptation;
        // What all cars of a fleet add up in a round would shake the shift otherwise.
        let rate = adaptation.rate / (self.cars as f64).sqrt();
        let settings = || MemorySettings::of(risk.card(), Adaptation { rate, ..adaptation });
        self.method.remembers().then(settings)
    }

    fn car<'a>(
        &self,
        car: usize,
        regimes: &'a [Regime; 2],
        risk: &Arc<LearnedRisk>,
        memory: Option<&MemorySettings>,
    ) -> Result<Car<'a>> {
        let [before, after] = [(0, &self.before), (1, &self.after)].map(|(half, world)| {
            let regime = &regimes[half];
            // Of a change that comes unannounced, only the critic that knew it knows.
            let taken_for = match self.method {
                Method::Knew => world.sensor,
                _ => self.before.sensor,
            };
            let gaze = Gaze { sensor: world.sensor, behind: Behind::Both, taken_for };
            let seed = (self.first_seed as usize / 7 + car) % SHIPPED_SEEDS;
            let policy = PolicySource::Builtin(seed).load(regime.task())?;
            let risk = Arc::clone(risk);
            let player = Player::new(regime, self.arm()?, self.settings, Some(policy), risk)?;
            let player = player.without_branches().behind(gaze);
            match memory {
                Some(settings) => player.remembering(*settings, None),
                None => Ok(player),
            }
        });
        Ok(Car { players: [before?, after?] })
    }

    fn arm(&self) -> Result<Arm> {
        Ok(match self.method {
            Method::Fixed => {
                Arm::Threshold(Millionths::of(self.threshold).context("`threshold` is too small")?)
            }
            Method::Budget | Method::Memory => Arm::BudgetOnly,
            Method::Context | Method::All | Method::Knew => Arm::Cpss(None),
        })
    }
}
