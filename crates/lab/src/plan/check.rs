//! Does a plan make sense, from its first unit to its last?
//!
//! All of it is checked before the first episode: a plan may run for hours until it comes to a
//! policy that is not there. Start at [`Plan::check`].

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow, bail, ensure};
use cpss_highway::TaskId;

use super::{CONSTANTS, OwnPolicies, Plan};
use crate::play::arm::Arm;
use crate::play::regime::RegimeSpec;
use crate::play::seed;
use crate::play::sensor::SensorSpec;

/// The most episodes that a cell may have; as of `cpss evaluate`.
const MOST_EPISODES: u64 = 10_000_000;

impl Plan {
    /// Looks at every entry, and at what they come to together.
    pub(super) fn check(&self) -> Result<()> {
        for task in &self.tasks {
            task.parse::<TaskId>()?;
        }
        for regime in &self.regimes {
            RegimeSpec::load(regime)?;
        }
        SensorSpec::load(&self.sensor)?;
        for arm in self.arms.iter().filter(|arm| *arm != CONSTANTS).cloned().chain(self.frontier())
        {
            arm.parse::<Arm>().map_err(|hint| anyhow!("`{arm}` is no arm: {hint}"))?;
        }
        self.check_numbers()?;
        self.check_lists()?;
        self.check_own()?;
        self.check_units()
    }

    fn check_numbers(&self) -> Result<()> {
        // The oracle and the frontier may be left out; without episodes of the rest there are no results.
        for (field, episodes, least) in [
            ("episodes", self.episodes, 1),
            ("oracle_episodes", self.oracle_episodes, 0),
            ("frontier_episodes", self.frontier_episodes, 0),
        ] {
            ensure!(
                (least..=MOST_EPISODES).contains(&episodes),
                "`{field}` is {episodes}, outside {least} to {MOST_EPISODES}"
            );
        }
        for (field, decisions) in
            [("decisions", self.decisions), ("frontier_decisions", self.frontier_decisions)]
        {
            ensure!(decisions != Some(0), "`{field}` is 0: leave it out, or give at least 1");
        }
        Ok(())
    }

    fn check_lists(&self) -> Result<()> {
        let policies: Vec<String> = self.policies.iter().map(usize::to_string).collect();
        let frontier = self.frontier();
        for (field, entries, may_be_empty) in [
            ("tasks", &self.tasks, false),
            ("regimes", &self.regimes, false),
            ("policies", &policies, false),
            ("arms", &self.arms, !frontier.is_empty()),
            ("budgets` and `thresholds", &frontier, true),
        ] {
            ensure!(
                may_be_empty || !entries.is_empty(),
                "`{field}` is empty: there is nothing to do"
            );
            let mut seen = BTreeSet::new();
            if let Some(twice) = entries.iter().find(|entry| !seen.insert(*entry)) {
                bail!("`{field}` has {twice} twice");
            }
        }
        Ok(())
    }

    /// Whether every policy that is not ours has a place.
    fn check_own(&self) -> Result<()> {
        for (task, OwnPolicies { files, .. }) in &self.own {
            ensure!(
                self.tasks.contains(task),
                "`own` has policies for `{task}`, which is none of the plan's tasks"
            );
            if let Some(place) = self.policies.iter().find(|place| **place >= files.len()) {
                bail!(
                    "`policies` asks for policy {place} of {task}, but `own` has {} files for it, \
                     counted from 0",
                    files.len()
                );
            }
        }
        Ok(())
    }

    /// Whether every unit has its seeds, its policy and its action, and a name of its own.
    fn check_units(&self) -> Result<()> {
        let (mut names, mut drivers) = (BTreeSet::new(), BTreeSet::new());
        for unit in self.units() {
            ensure!(names.insert(unit.name()), "the plan asks for {} twice", unit.name());
            seed::check(unit.first_seed, unit.episodes)?;
            // The same driver comes back under every regime, and needs to be checked once.
            let is_floor = unit.arm.parse::<Arm>().is_ok_and(Arm::is_floor);
            let arm = if is_floor { unit.arm.as_str() } else { "" }.to_owned();
            if drivers.insert((unit.task.clone(), arm, unit.policy)) {
                unit.within(|contest| contest.check_policy())
                    .with_context(|| format!("policy {} of {}", unit.policy, unit.task))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(toml: &str) -> String {
        let plan: Plan = toml::from_str(toml).unwrap();
        plan.check().map_or_else(|error| format!("{error:#}"), |()| "nothing".to_owned())
    }

    #[test]
    fn regression_a_plan_that_comes_to_nothing_is_refused_at_once() {
        for (toml, words) in [
            ("tasks = []", "`tasks` is empty"),
            ("regimes = []", "`regimes` is empty"),
            ("policies = []", "`policies` is empty"),
            ("arms = []\nbudgets = []\nthresholds = []", "`arms` is empty"),
            ("episodes = 0", "`episodes` is 0, outside 1 to 10000000"),
            ("episodes = 9000000000000000000", "`episodes` is 9000000000000000000, outside"),
            ("tasks = [\"merge-v0\", \"merge-v0\"]", "`tasks` has merge-v0 twice"),
            ("policies = [0, 0]", "`policies` has 0 twice"),
            ("arms = [\"constants\", \"constant:1\"]", "constant-1"),
            ("policies = [0, 7]", "there is no policy builtin:7"),
            ("tasks = [\"merge-v0\", \"merge-v1\"]", "there is no policy builtin:0 for merge-v1"),
            ("arms = [\"dqn\", \"constant:9\"]", "constant:9 is no action"),
        ] {
            assert!(refusal(toml).contains(words), "{toml}: {}", refusal(toml));
        }
        for fine in ["", "arms = []", "oracle_episodes = 0", "frontier_episodes = 0"] {
            assert_eq!(refusal(fine), "nothing", "{fine}");
        }
    }
}
