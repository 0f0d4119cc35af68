//! With which settings is each task's policy trained?
//!
//! [`TrainSpec`] is what a person writes, in TOML: the number of worlds, and under `[dqn]` whatever
//! differs from the script that highway-env ships for Stable-Baselines3. Each shipped task has such
//! a file beside its policies, `tasks/<task>/train.toml`, and it is compiled in: a shipped
//! policy and the settings that made it cannot part.

use std::path::Path;

use anyhow::{Context, Result};
use cpss_highway::TaskId;
use cpss_learn::{Dqn, DqnSpec, OnPolicy, OnPolicySpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::algorithm::{Algorithm, PPO_LEARNING_RATE};
use crate::files::sheet::read_sheet;
use crate::tasks;

/// Most worlds that feed one learner.
const MAX_WORLDS: usize = 1024;

/// A training run's settings as a person writes them; not yet checked.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TrainSpec {
    /// Worlds that feed the learner, from 1 to 1024. More are faster; the run is another one.
    pub worlds: usize,
    /// The learner's settings.
    pub dqn: DqnSpec,
    /// The settings of PPO and CPO.
    pub on_policy: OnPolicySpec,
    /// What `saute` is paid for a step once its budget is spent, at most 0; OmniSafe's number unless said.
    pub unsafe_reward: f64,
}

impl Default for TrainSpec {
    fn default() -> TrainSpec {
        TrainSpec {
            worlds: 8,
            dqn: DqnSpec::default(),
            on_policy: OnPolicySpec::default(),
            unsafe_reward: -0.2,
        }
    }
}

impl TrainSpec {
    /// Says how many environment steps a run has, whichever the learner.
    pub(crate) fn set_steps(&mut self, steps: u64) {
        self.dqn.total_steps = steps;
        self.on_policy.total_steps = steps;
    }
}

/// A training run's settings, checked. Built from a [`TrainSpec`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainSettings {
    /// Worlds that feed the learner.
    pub worlds: usize,
    /// The learner's settings.
    pub learner: LearnerSettings,
    /// What `saute` is paid for a step once its budget is spent.
    pub unsafe_reward: f64,
}

/// The settings of one of the learners, checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LearnerSettings {
    /// Q-learning.
    Dqn(Dqn),
    /// Policy gradients.
    OnPolicy(OnPolicy),
}

impl TrainSettings {
    /// Makes a spec an algorithm's, and checks it.
    pub(crate) fn new(mut spec: TrainSpec, algorithm: Algorithm) -> Result<TrainSettings> {
        algorithm.shape(&mut spec);
        anyhow::ensure!(
            (1..=MAX_WORLDS).contains(&spec.worlds),
            "`worlds` is {}, outside 1 to {MAX_WORLDS}",
            spec.worlds
        );
        anyhow::ensure!(
            (-1e6..=0.0).contains(&spec.unsafe_reward),
            "`unsafe_reward` is {}, outside -1000000 to 0",
            spec.unsafe_reward
        );
        let learner = match algorithm.unconstrained() {
            Algorithm::Ppo => LearnerSettings::OnPolicy(OnPolicy::new(spec.on_policy)?),
            _ => LearnerSettings::Dqn(Dqn::new(spec.dqn)?),
        };
        Ok(TrainSettings { worlds: spec.worlds, learner, unsafe_reward: spec.unsafe_reward })
    }
}

/// Returns the settings with which a task's policies are trained, highway-env's own where it has none. The
/// corrected and the fast versions of a task are trained as the task is.
pub(crate) fn shipped_settings(id: TaskId) -> TrainSpec {
    let file = tasks::of(id).file("train.toml").unwrap_or_default();
    // The files are compiled in, and a test reads every one of them.
    let mut spec: TrainSpec = toml::from_slice(file).expect("the shipped settings are valid");
    // Every learner of a task is given the same steps.
    spec.set_steps(spec.dqn.total_steps);
    spec.on_policy.learning_rate = PPO_LEARNING_RATE;
    spec
}

/// Reads settings from a file like the shipped ones. What it leaves out is as in highway-env's own
/// script, not as in the task's shipped settings, so that a file means the same for every task.
pub(crate) fn read_settings(path: &Path) -> Result<TrainSpec> {
    let text =
        read_sheet(path).with_context(|| format!("cannot read the settings {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("the settings {} are unusable", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_usable_settings() {
        for id in TaskId::ALL {
            for algorithm in Algorithm::ALL {
                TrainSettings::new(shipped_settings(id), algorithm).unwrap();
            }
        }
    }

    #[test]
    fn senseless_settings_are_refused_by_name() {
        let error = |spec| TrainSettings::new(spec, Algorithm::Dqn).unwrap_err().to_string();
        assert!(error(TrainSpec { worlds: 0, ..TrainSpec::default() }).contains("`worlds` is 0"));
        let paid = TrainSpec { unsafe_reward: 1.0, ..TrainSpec::default() };
        assert!(error(paid).contains("`unsafe_reward` is 1"));
        let dqn = DqnSpec { gamma: 2.0, ..DqnSpec::default() };
        assert!(error(TrainSpec { dqn, ..TrainSpec::default() }).contains("`gamma` is 2"));
        let error = toml::from_str::<TrainSpec>("[dqn]\ngama = 0.9").unwrap_err();
        assert!(error.to_string().contains("gama"));
    }
}
