//! Which learners are compared on one yardstick, and how is that work done?
//!
//! A [`BaselinePlan`] is a TOML file; `experiments/baselines.toml` is the built-in one. Every [`Method`] becomes an
//! ordinary [`Plan`]: its policies alone, and under our shield, in every task and regime. Each has a folder of its own,
//! `OUT/METHOD/records`, since a record's name does not say whose policy drove. Start at [`BaselinePlan::play`].
//!
//! **Invariants:** policy K of every method plays the same episodes, none of which anything was chosen on. Nothing is
//! played before every policy is known to be there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cpss_learn::policy::card;
use schemars::JsonSchema;
use serde::Deserialize;

use super::work::run_units;
use super::{OwnPolicies, Plan};
use crate::measure::unit::UnitRecord;
use crate::play::policy::PolicySource;
use crate::play::regime::REGIMES;
use crate::tasks::{self, SHIPPED_SEEDS};

mod method;
mod training;

pub(crate) use method::Method;
pub(crate) use training::{Training, Trainings};

/// The built-in plan.
const BUILTIN: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/baselines.toml"));

/// The driver that has learned nothing: its arm, and its folder.
pub(crate) const FLOOR: &str = "random";

/// Seeds of a first look, on which things were tried.
const TUNING_SEED: u64 = 1_800_000;

/// How many missing files are named one by one.
const NAMED: usize = 5;

/// A comparison of learners, as a person writes it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct BaselinePlan {
    /// Task ids; those that are shipped, unless said.
    #[serde(default = "shipped_tasks")]
    pub tasks: Vec<String>,
    /// Regimes, by name or path; those that are built in, unless said.
    #[serde(default = "builtin_regimes")]
    pub regimes: Vec<String>,
    /// Methods; all there are, unless said.
    #[serde(default = "Method::all")]
    pub methods: Vec<Method>,
    /// Training seeds of the policies.
    #[serde(default = "every_seed")]
    pub policies: Vec<usize>,
    /// Episodes of each policy, in each task and regime. The floor has no policy and plays them once.
    pub episodes: u64,
    /// At most about so many decisions of all policies in each cell: where episodes are long, fewer are played.
    pub decisions: Option<u64>,
    /// Seed of the first episode of the first policy under the first regime; the others' blocks follow.
    pub first_seed: u64,
}

fn shipped_tasks() -> Vec<String> {
    tasks::shipped().iter().map(|task| task.name().to_owned()).collect()
}

fn builtin_regimes() -> Vec<String> {
    REGIMES.map(str::to_owned).to_vec()
}

fn every_seed() -> Vec<usize> {
    (0..SHIPPED_SEEDS).collect()
}

/// What was played, by method.
#[derive(Debug)]
pub(crate) struct Played {
    /// The records of each method, in the order of the plan.
    pub methods: Vec<(Method, Vec<UnitRecord>)>,
    /// The records of the floor.
    pub floor: Vec<UnitRecord>,
}

impl BaselinePlan {
    /// The built-in plan, or one from a file; with other methods, if some are given.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or an entry that makes no sense.
    pub(crate) fn load(path: Option<&Path>, methods: &[Method]) -> Result<BaselinePlan> {
        let (text, name) = super::text_of(path, BUILTIN)?;
        let mut plan: BaselinePlan = toml::from_str(&text).with_context(|| name.clone())?;
        if !methods.is_empty() {
            plan.methods = methods.to_vec();
        }
        plan.check().with_context(|| name)?;
        Ok(plan)
    }

    /// The same for a first look, at seeds that are no result: those of the plan stay unseen.
    pub(crate) fn quick(self) -> BaselinePlan {
        let first_seed = TUNING_SEED;
        BaselinePlan { episodes: 4, decisions: Some(20_000), first_seed, ..self }
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.methods.is_empty(), "`methods` is empty: there is nothing to do");
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.methods.iter().find(|method| !seen.insert(method.name())) {
            bail!("`methods` has {} twice", twice.name());
        }
        // Whatever else makes no sense, makes none for the floor either.
        self.floor().check()
    }

    /// Every policy that should be there and is not.
    fn missing(&self, folder: &Path) -> Vec<PathBuf> {
        let mut missing = Vec::new();
        for method in &self.methods {
            for task in &self.tasks {
                let file = |seed: &usize| method.file(folder, task, *seed);
                let files = self.policies.iter().filter_map(file);
                missing.extend(files.filter(|file| !file.is_file()));
            }
        }
        missing
    }

    /// Refuses a folder that lacks policies, and anything else that would end the work in the middle.
    fn check_policies(&self, folder: &Path) -> Result<()> {
        let missing = self.missing(folder);
        if !missing.is_empty() {
            let named = missing.iter().take(NAMED).map(|file| file.display().to_string());
            let rest = match missing.len().saturating_sub(NAMED) {
                0 => String::new(),
                rest => format!(" and {rest} more"),
            };
            bail!(
                "there is no {}{rest}; `cpss train --baselines` makes them, and `--methods` leaves methods out",
                named.collect::<Vec<_>>().join(", ")
            );
        }
        for method in &self.methods {
            self.check_cards(*method, folder)?;
            self.plan_of(*method, folder).check().with_context(|| method.name())?;
        }
        Ok(())
    }

    /// Refuses a policy that is not what its place says: its card names another task, learner or seed.
    fn check_cards(&self, method: Method, folder: &Path) -> Result<()> {
        for task in &self.tasks {
            for &seed in &self.policies {
                let Some(file) = method.file(folder, task, seed) else { continue };
                let source = PolicySource::Safetensors(file.clone());
                let card = source.card(task.parse()?)?.unwrap_or_default();
                let says = |key: &str| card.get(key).map_or("", String::as_str);
                let found = (says(card::ENV), says(card::ALGORITHM), says(card::SEED));
                ensure!(
                    found == (task.as_str(), method.learner().name(), seed.to_string().as_str()),
                    "{} is a policy of {} by {}, seed {}, says its card; `cpss train --baselines` makes it anew",
                    file.display(),
                    found.0,
                    if found.1.is_empty() { "dqn" } else { found.1 },
                    found.2
                );
            }
        }
        Ok(())
    }

    /// The experiment that a method comes to.
    pub(crate) fn plan_of(&self, method: Method, folder: &Path) -> Plan {
        let arms = std::iter::once(method.alone()).chain(method.shielded());
        let most = self.policies.iter().max().map_or(0, |most| most + 1);
        let own = |task: &String| {
            let file =
                |seed| method.file(folder, task, seed).map(|file| file.display().to_string());
            let files = (0..most).map(file).collect::<Option<Vec<String>>>()?;
            Some((task.clone(), OwnPolicies { files, config: None }))
        };
        let own: BTreeMap<_, _> = self.tasks.iter().filter_map(own).collect();
        Plan { arms: arms.map(str::to_owned).collect(), own, ..self.floor() }
    }

    /// The floor's experiment.
    fn floor(&self) -> Plan {
        Plan {
            tasks: self.tasks.clone(),
            regimes: self.regimes.clone(),
            arms: vec![FLOOR.to_owned()],
            policies: self.policies.clone(),
            episodes: self.episodes,
            decisions: self.decisions,
            budgets: Vec::new(),
            thresholds: Vec::new(),
            first_seed: self.first_seed,
            ..Plan::default()
        }
    }

    /// Plays what is not finished yet, with the policies of a folder, and returns all records; `tell` is called with the
    /// name of what comes next.
    ///
    /// # Errors
    ///
    /// A policy that is missing or cannot be used, before anything is played; or a folder that cannot be written.
    pub(crate) fn play(&self, folder: &Path, out: &Path, tell: &dyn Fn(&str)) -> Result<Played> {
        self.check_policies(folder)?;
        let run = |name: &str, plan: Plan| {
            tell(name);
            run_units(&plan.units(), &out.join(name))
        };
        let floor = run(FLOOR, self.floor())?;
        let of =
            |method: &Method| Ok((*method, run(method.name(), self.plan_of(*method, folder))?));
        Ok(Played { methods: self.methods.iter().map(of).collect::<Result<_>>()?, floor })
    }
}

#[cfg(test)]
mod tests;
