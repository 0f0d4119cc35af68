//! Which work does an experiment consist of?
//!
//! A [`Plan`] lists tasks, regimes, arms, policies and seeds; its [`Unit`]s are the pieces of work,
//! each a pure function of itself: the same unit gives the same record on any machine, in any
//! order, on any number of threads. That is what makes resuming and sharing out safe.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use cpss_highway::TaskId;
use serde::{Deserialize, Serialize};

use crate::arm::{Arm, ShieldSettings};
use crate::episode::EpisodeRecord;
use crate::evaluate::play_all;
use crate::policy::{PolicySource, SHIPPED_SEEDS, SHIPPED_TASKS, policy_config};
use crate::regime::{BUILTIN, Regime, RegimeSpec};

/// The first seed of the reporting range; nothing is ever tuned on it.
pub const FIRST_REPORTING_SEED: u64 = 2_000_000;

/// An experiment, as a person writes it in TOML; what is left out is the paper's.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Task ids.
    pub tasks: Vec<String>,
    /// Regimes, by name or path.
    pub regimes: Vec<String>,
    /// Arms to compare.
    pub arms: Vec<String>,
    /// Training seeds of the policies.
    pub policies: Vec<usize>,
    /// Episodes of each policy, in each cell.
    pub episodes: u64,
    /// Seed of the first episode.
    pub first_seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        let arms = [Arm::Dqn, Arm::Cpss, Arm::Fixed, Arm::BudgetOnly, Arm::ContextOnly];
        Plan {
            tasks: SHIPPED_TASKS.iter().map(|task| task.name().to_owned()).collect(),
            regimes: BUILTIN.map(|(name, _)| name.to_owned()).to_vec(),
            arms: arms.map(|arm| arm.to_string()).to_vec(),
            policies: (0..SHIPPED_SEEDS).collect(),
            episodes: 100,
            first_seed: FIRST_REPORTING_SEED,
        }
    }
}

/// One piece of work: some episodes of one cell with one policy.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Task id.
    pub task: String,
    /// Regime name.
    pub regime: String,
    /// Arm.
    pub arm: String,
    /// Training seed of the policy.
    pub policy: usize,
    /// First episode's seed.
    pub first_seed: u64,
    /// How many episodes.
    pub episodes: u64,
}

/// A finished unit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct UnitRecord {
    /// What was done.
    pub unit: Unit,
    /// With which program and settings; a record with another fingerprint is made again.
    pub fingerprint: String,
    /// What came of it.
    pub episodes: Vec<EpisodeRecord>,
}

impl Plan {
    /// Reads a plan from a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, an unknown key, or an entry that does not exist.
    pub fn load(path: &Path) -> Result<Plan> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the plan {}", path.display()))?;
        let plan: Plan =
            toml::from_str(&text).with_context(|| format!("the plan {}", path.display()))?;
        for task in &plan.tasks {
            task.parse::<TaskId>()?;
        }
        for regime in &plan.regimes {
            RegimeSpec::load(regime)?;
        }
        for arm in &plan.arms {
            arm.parse::<Arm>().map_err(|hint| anyhow!("`{arm}` is no arm: {hint}"))?;
        }
        Ok(plan)
    }

    /// The units, in the order of tables.
    pub fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for task in &self.tasks {
            for regime in &self.regimes {
                for arm in &self.arms {
                    // Every policy drives the same episodes, and so does every arm: paired.
                    units.extend(self.policies.iter().map(|&policy| Unit {
                        task: task.clone(),
                        regime: regime.clone(),
                        arm: arm.clone(),
                        policy,
                        first_seed: self.first_seed,
                        episodes: self.episodes,
                    }));
                }
            }
        }
        units
    }
}

impl Unit {
    /// A file name that no other unit of a plan has.
    pub fn name(&self) -> String {
        let Unit { task, regime, arm, policy, first_seed, episodes } = self;
        let name = format!("{task}_{regime}_{arm}_{policy}_{first_seed}_{episodes}");
        // A regime may be a path, and an arm has a colon; neither belongs into a file's name.
        name.replace(['/', '\\', ':'], "-")
    }

    /// Everything besides the unit that its record depends on.
    ///
    /// # Errors
    ///
    /// A task or regime that does not exist.
    pub fn fingerprint(&self) -> Result<String> {
        let task: TaskId = self.task.parse()?;
        let settings = ShieldSettings::shipped(task)?;
        let regime = RegimeSpec::load(&self.regime)?;
        Ok(format!(
            "cpss {}; {}; {regime:?}",
            env!("CARGO_PKG_VERSION"),
            serde_json::to_string(&settings)?
        ))
    }

    /// Does the work.
    ///
    /// # Errors
    ///
    /// A task, regime, arm or policy that does not exist or cannot be used.
    pub fn run(&self) -> Result<UnitRecord> {
        let task: TaskId = self.task.parse()?;
        let arm: Arm =
            self.arm.parse().map_err(|hint: String| anyhow!("`{}` is no arm: {hint}", self.arm))?;
        let regime = Regime::new(RegimeSpec::load(&self.regime)?, task, &policy_config(task))?;
        let settings = ShieldSettings::shipped(task)?;
        let seeds: Vec<u64> = (0..self.episodes).map(|i| self.first_seed + i).collect();
        let policy = PolicySource::Builtin(self.policy);
        Ok(UnitRecord {
            unit: self.clone(),
            fingerprint: self.fingerprint()?,
            episodes: play_all(&regime, arm, &settings, &policy, &seeds)?,
        })
    }
}
