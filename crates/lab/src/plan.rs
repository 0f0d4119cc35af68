//! Which work does an experiment consist of?
//!
//! A [`Plan`] lists tasks, regimes, arms, policies and seeds; its [`Unit`]s are the pieces of work,
//! each a pure function of itself: the same unit gives the same record on any machine, in any
//! order, on any number of threads. That is what makes resuming and sharing out safe.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cpss_highway::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::sheet::read_sheet;
use crate::measure::unit::Unit;
use crate::play::arm::Arm;
use crate::play::regime::REGIMES;
use crate::play::sensor::PERFECT;
use crate::tasks::{self, SHIPPED_SEEDS, policy_task};

pub(crate) mod baselines;
mod check;
pub mod deployments;
mod own;
pub mod work;

pub use own::OwnPolicies;

/// The first seed of the reporting range; nothing is ever tuned on it.
pub(crate) const FIRST_REPORTING_SEED: u64 = 38_000_000;

/// Seeds set aside for a policy under a regime; a fixed number, so that a larger experiment plays the
/// episodes of a smaller one again.
const SEEDS_PER_BLOCK: u64 = 10_000;

/// An experiment, as a person writes it in TOML; what is left out is the paper's.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Task ids.
    pub tasks: Vec<String>,
    /// Regimes, by name or path.
    pub regimes: Vec<String>,
    /// Through which eyes policies and shields see the world: a sensor, by name or path.
    pub sensor: String,
    /// Arms to compare; `constants` stands for every constant action of a task.
    pub arms: Vec<String>,
    /// Training seeds of the policies; of a task in `own`, places in its list of files, from 0.
    pub policies: Vec<usize>,
    /// Policies that were made elsewhere, by task: they drive it in place of the shipped ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, OwnPolicies>,
    /// Episodes of each policy, in each cell. Floors have no policy and play them once.
    pub episodes: u64,
    /// At most about so many decisions of all policies in each cell: where episodes are long, fewer are played, so that
    /// no task takes most of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<u64>,
    /// Episodes for the oracle, which takes its time.
    pub oracle_episodes: u64,
    /// The frontier: budgets that `cpss`, `priced` and `fixed` are also tried with, under every regime,
    pub budgets: Vec<f64>,
    /// and constant thresholds, which promise nothing; the best of them is known in hindsight alone.
    pub thresholds: Vec<f64>,
    /// Episodes of each policy at each point of the frontier.
    pub frontier_episodes: u64,
    /// At most about so many decisions at each point of the frontier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontier_decisions: Option<u64>,
    /// Seed of the first episode of the first policy under the first regime; the others' blocks follow.
    pub first_seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        let arms = Arm::POLICY_ARMS.iter().map(Arm::to_string);
        Plan {
            tasks: tasks::shipped().iter().map(|task| task.name().to_owned()).collect(),
            regimes: REGIMES.map(str::to_owned).to_vec(),
            sensor: PERFECT.to_owned(),
            arms: arms.chain(["random", CONSTANTS].map(str::to_owned)).collect(),
            policies: (0..SHIPPED_SEEDS).collect(),
            own: BTreeMap::new(),
            episodes: 100,
            decisions: None,
            oracle_episodes: 5,
            budgets: vec![0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
            thresholds: vec![0.001, 0.003, 0.01, 0.03, 0.1],
            frontier_episodes: 40,
            frontier_decisions: Some(100_000),
            first_seed: FIRST_REPORTING_SEED,
        }
    }
}

/// How many episodes the paper's experiment is made again with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A first look.
    Quick,
    /// Enough for the tables.
    Default,
    /// Narrow intervals.
    Full,
}

impl Plan {
    /// The paper's experiment.
    pub(crate) fn sized(size: Size) -> Plan {
        let paper = Plan::default();
        match size {
            Size::Quick => Plan {
                episodes: 8,
                decisions: Some(20_000),
                oracle_episodes: 1,
                frontier_episodes: 1,
                ..paper
            },
            Size::Default => paper,
            Size::Full => Plan {
                episodes: 1000,
                oracle_episodes: 50,
                frontier_episodes: 200,
                frontier_decisions: Some(1_000_000),
                ..paper
            },
        }
    }
}

/// Stands in a plan for every constant action of a task.
const CONSTANTS: &str = "constants";

impl Plan {
    /// Reads a plan from a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, an unknown key, or an entry that does not exist.
    pub fn load(path: &Path) -> Result<Plan> {
        Plan::load_seeing(path, None)
    }

    /// Reads a plan from a file, and what its own policies see from somewhere else.
    pub(crate) fn load_seeing(path: &Path, config: Option<&Value>) -> Result<Plan> {
        let text =
            read_sheet(path).with_context(|| format!("cannot read the plan {}", path.display()))?;
        let mut plan: Plan =
            toml::from_str(&text).with_context(|| format!("the plan {}", path.display()))?;
        if let Some(config) = config {
            plan.see(config)?;
        }
        plan.check()?;
        Ok(plan)
    }

    /// Says what the policies that were made elsewhere see, whatever the plan says.
    fn see(&mut self, config: &Value) -> Result<()> {
        ensure!(
            !self.own.is_empty(),
            "--config is for policies that were made elsewhere, and the plan has none: list their files \
             under [own.TASK]"
        );
        for own in self.own.values_mut() {
            own.config = Some(config.clone());
        }
        Ok(())
    }

    /// The units, in the order of tables; those of the frontier come last.
    pub fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for task in &self.tasks {
            for regime in &self.regimes {
                for arm in self.arms.iter().flat_map(|arm| expanded(arm, task)) {
                    self.push_units(&mut units, task, regime, &arm);
                }
            }
        }
        for task in &self.tasks {
            for regime in &self.regimes {
                for arm in self.frontier() {
                    self.push_units(&mut units, task, regime, &arm);
                }
            }
        }
        units
    }

    /// The arms of the frontier.
    pub(crate) fn frontier(&self) -> Vec<String> {
        let budgets = self
            .budgets
            .iter()
            .flat_map(|budget| ["cpss", "priced", "fixed"].map(|arm| format!("{arm}:{budget}")));
        budgets.chain(self.thresholds.iter().map(|tau| format!("threshold:{tau}"))).collect()
    }

    fn push_units(&self, units: &mut Vec<Unit>, task: &str, regime: &str, arm: &str) {
        let parsed: Option<Arm> = arm.parse().ok();
        let is_floor = parsed.is_some_and(Arm::is_floor);
        let episodes = match parsed {
            Some(Arm::Oracle) => self.oracle_episodes,
            Some(arm) if arm.given().is_some() => {
                self.at_most(self.frontier_episodes, self.frontier_decisions, task)
            }
            _ => self.at_most(self.episodes, self.decisions, task),
        };
        let policies =
            if is_floor { &self.policies[..self.policies.len().min(1)] } else { &self.policies };
        let regime_place = self.regimes.iter().position(|known| known == regime).unwrap_or(0);
        units.extend(policies.iter().enumerate().map(|(place, &policy)| Unit {
            task: task.to_owned(),
            regime: regime.to_owned(),
            arm: arm.to_owned(),
            policy,
            own: self.own.get(task).and_then(|own| own.at(policy)),
            sensor: self.sensor.clone(),
            first_seed: self.first_seed_of(regime_place, place),
            episodes,
        }));
    }

    /// Episodes of each policy, or as many as so many decisions of all policies allow: at least one, if there are any.
    pub(crate) fn at_most(&self, episodes: u64, decisions: Option<u64>, task: &str) -> u64 {
        let Some(decisions) = decisions else { return episodes };
        let shield = task.parse().ok().and_then(|task: TaskId| tasks::of(task).spec.shield);
        let horizon = shield.map_or(1, |shield| u64::from(shield.horizon));
        let each = decisions / (horizon * self.policies.len() as u64).max(1);
        episodes.min(each.max(1))
    }

    /// Every arm drives the same episodes: paired. Every policy has its own, and so has every regime,
    /// because what makes an episode hard is mostly its traffic: the same for all of them, it would
    /// make many failures out of one.
    fn first_seed_of(&self, regime: usize, policy: usize) -> u64 {
        let most = self.episodes.max(self.oracle_episodes).max(self.frontier_episodes);
        let block = (regime * self.policies.len() + policy) as u64;
        self.first_seed.saturating_add(block.saturating_mul(most.max(SEEDS_PER_BLOCK)))
    }
}

/// The text of a plan, from a file or built in, and what to call it in an error.
fn text_of(path: Option<&Path>, builtin: &str) -> Result<(String, String)> {
    let Some(path) = path else {
        return Ok((builtin.to_owned(), "the built-in plan".to_owned()));
    };
    let name = format!("the plan {}", path.display());
    let text = read_sheet(path).with_context(|| format!("cannot read {name}"))?;
    Ok((text, name))
}

/// The arms that an entry of a plan stands for.
fn expanded(arm: &str, task: &str) -> Vec<String> {
    if arm != CONSTANTS {
        return vec![arm.to_owned()];
    }
    let Ok(id) = task.parse::<TaskId>() else { return Vec::new() };
    let actions = policy_task(id).controls.action_count().unwrap_or(0);
    (0..actions).map(|action| Arm::Constant(action).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_plan_has_every_arm_and_no_unit_twice() {
        let units = Plan::default().units();
        let count = |task: &str, arm: &str| {
            units.iter().filter(|unit| unit.task == task && unit.arm == arm).count()
        };
        for arm in Arm::POLICY_ARMS {
            assert_eq!(count("highway-v0", &arm.to_string()), 4 * SHIPPED_SEEDS, "{arm}");
        }
        // Floors have no policy: once per regime. The intersection has three actions.
        assert_eq!(count("merge-v0", "random"), 4);
        assert_eq!(count("merge-v0", "constant:4"), 4);
        assert_eq!(count("intersection-v0", "constant:2"), 4);
        assert_eq!(count("intersection-v0", "constant:3"), 0);
        assert_eq!(count("racetrack-v0", "cpss:0.02"), 4 * SHIPPED_SEEDS);
        // Where an episode takes 1,501 decisions, the frontier has fewer of them.
        let long = units.iter().find(|unit| unit.task == "racetrack-v0" && unit.arm == "cpss:0.02");
        assert_eq!(long.unwrap().episodes, 100_000 / (1501 * SHIPPED_SEEDS as u64));
        let mut names: Vec<String> = units.iter().map(Unit::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), units.len());
    }

    #[test]
    fn regression_a_plan_that_says_nothing_of_decisions_plays_every_episode() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/stationary.toml");
        let plan = Plan::load(&file).unwrap();
        assert!(plan.units().iter().all(|unit| unit.episodes == plan.episodes));
    }

    #[test]
    fn every_arm_of_a_cell_plays_the_same_seeds_and_none_that_was_tuned_on() {
        for size in [Size::Quick, Size::Default, Size::Full] {
            let plan = Plan::sized(size);
            let mut starts = std::collections::BTreeMap::new();
            for unit in plan.units() {
                assert!(unit.first_seed >= FIRST_REPORTING_SEED);
                assert!(unit.episodes >= 1 && unit.episodes <= plan.episodes);
                let cell = (unit.regime.clone(), unit.policy);
                assert_eq!(*starts.entry(cell).or_insert(unit.first_seed), unit.first_seed);
            }
            // No episode is played by two policies, or under two regimes.
            let mut starts: Vec<u64> = starts.into_values().collect();
            starts.sort_unstable();
            assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= plan.episodes));
        }
    }
}
