//! Which learner does a run have?
//!
//! [`Learning`] is one of those of `cpss_learn`, with the one face that a command needs: run, show, save, go on.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use anyhow::{Result, anyhow, bail, ensure};
use cpss_highway::TaskId;
use cpss_learn::policy::card;
use cpss_learn::{Diverged, Learner, Network, OnPolicyLearner, Progress};
use serde::Serialize;

use super::algorithm::Algorithm;
use super::driving::Driving;
use super::settings::{LearnerSettings, TrainSettings, TrainSpec};

/// Seeds of the episodes that policies are trained on. Tuning and reporting have later ones.
pub(crate) const TRAINING_SEEDS: Range<u64> = 0..1_000_000;

/// On a card: what a learner that sees its budget was paid once it was spent.
pub(crate) const UNSAFE_REWARD: &str = "unsafe_reward";

/// Said of a checkpoint of another run.
const OTHER: &str = "give the --env, --algorithm, --steps and --settings it was begun with, or delete it to start again";

/// What is to be learned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lesson {
    /// The task.
    pub task: TaskId,
    /// The learner.
    pub algorithm: Algorithm,
    /// The training seed.
    pub seed: u64,
    /// Its settings.
    pub settings: TrainSettings,
}

/// A run in progress.
pub(crate) enum Learning {
    /// Q-learning.
    Dqn(Box<Learner<Driving>>),
    /// Policy gradients.
    OnPolicy(Box<OnPolicyLearner<Driving>>),
}

impl Lesson {
    /// A world to learn it in.
    pub(crate) fn world(&self) -> Result<Driving> {
        Driving::with(self.task, self.algorithm.inside(&self.settings))
    }

    /// Begins at the beginning.
    pub(crate) fn begin(&self) -> Result<Learning> {
        let worlds = vec![self.world()?; self.settings.worlds];
        Ok(match &self.settings.learner {
            LearnerSettings::Dqn(dqn) => Learning::Dqn(Box::new(Learner::new(
                worlds,
                dqn.clone(),
                self.seed,
                TRAINING_SEEDS,
            )?)),
            LearnerSettings::OnPolicy(settings) => Learning::OnPolicy(Box::new(
                OnPolicyLearner::new(worlds, settings.clone(), self.seed, TRAINING_SEEDS)?,
            )),
        })
    }

    /// Goes on from a checkpoint of the same lesson, which `place` names.
    pub(crate) fn resume(&self, checkpoint: &[u8], place: &str) -> Result<Learning> {
        let worlds = vec![self.world()?; self.settings.worlds];
        let line = self.line();
        let Some(checkpoint) = checkpoint.strip_prefix(line.as_bytes()) else {
            let (env, algorithm) = (self.task.name(), self.algorithm.name());
            bail!(
                "cannot go on from {place} in {env} by {algorithm}: it is damaged, or was begun otherwise; {OTHER}"
            );
        };
        // Its words say the cause already, which a chain of errors would say again.
        let lost = |error: &dyn std::fmt::Display| {
            let env = self.task.name();
            anyhow!("cannot go on from {place} in {env}: {error}; delete it to start again")
        };
        let (learning, is_same) = match &self.settings.learner {
            LearnerSettings::Dqn(dqn) => {
                let learner = Learner::resume(worlds, checkpoint).map_err(|error| lost(&error))?;
                let is_same = learner.settings() == dqn;
                (Learning::Dqn(Box::new(learner)), is_same)
            }
            LearnerSettings::OnPolicy(settings) => {
                let learner =
                    OnPolicyLearner::resume(worlds, checkpoint).map_err(|error| lost(&error))?;
                let is_same = learner.settings() == settings;
                (Learning::OnPolicy(Box::new(learner)), is_same)
            }
        };
        let found = learning.seed();
        ensure!(
            found == self.seed,
            "{place} is a run of seed {found}, but --seed is {}",
            self.seed
        );
        ensure!(is_same, "{place} was begun with other settings; {OTHER}");
        Ok(learning)
    }

    /// What a run depends on besides its learner's settings: a line before its checkpoint.
    fn line(&self) -> String {
        let Lesson { task, algorithm, settings, .. } = self;
        let paid = settings.unsafe_reward;
        format!("cpss run: {} in {}, {paid} once spent\n", algorithm.name(), task.name())
    }

    /// The state of a run of this, to be saved.
    pub(crate) fn checkpoint(&self, learning: &Learning) -> Vec<u8> {
        [self.line().into_bytes(), learning.checkpoint()].concat()
    }

    /// Whether a policy with this card was made by this.
    pub(crate) fn made(&self, card: &BTreeMap<String, String>) -> bool {
        let says = |key: &str, value: &str| card.get(key).is_some_and(|entry| entry == value);
        let algorithm = card.get(card::ALGORITHM).map_or(Algorithm::Dqn.name(), String::as_str);
        let paid = card.get(UNSAFE_REWARD).and_then(|entry| entry.parse().ok());
        let is_paid = !self.algorithm.sees_budget()
            || paid.unwrap_or(TrainSpec::default().unsafe_reward) == self.settings.unsafe_reward;
        algorithm == self.algorithm.name()
            && says(card::ENV, self.task.name())
            && says(card::SEED, &self.seed.to_string())
            && self.settings_json().is_ok_and(|settings| says(card::SETTINGS, &settings))
            && is_paid
    }

    /// The learner's settings, as a card has them.
    pub(crate) fn settings_json(&self) -> Result<String> {
        fn json(value: &impl Serialize) -> Result<String> {
            Ok(serde_json::to_string(value)?)
        }
        match &self.settings.learner {
            LearnerSettings::Dqn(dqn) => json(dqn.spec()),
            LearnerSettings::OnPolicy(settings) => json(settings.spec()),
        }
    }
}

impl Learning {
    /// Trains until so many more steps are done, the run is complete, or `watch` breaks.
    pub(crate) fn run(
        &mut self,
        steps: u64,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Progress, Diverged> {
        match self {
            Learning::Dqn(learner) => learner.run(steps, watch),
            Learning::OnPolicy(learner) => learner.run(steps, watch),
        }
    }

    /// Where the run stands.
    pub(crate) fn progress(&self) -> Progress {
        match self {
            Learning::Dqn(learner) => learner.progress(),
            Learning::OnPolicy(learner) => learner.progress(),
        }
    }

    /// Whether the run is complete.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Learning::Dqn(learner) => learner.is_complete(),
            Learning::OnPolicy(learner) => learner.is_complete(),
        }
    }

    /// The learner's complete state.
    fn checkpoint(&self) -> Vec<u8> {
        match self {
            Learning::Dqn(learner) => learner.checkpoint(),
            Learning::OnPolicy(learner) => learner.checkpoint(),
        }
    }

    /// The network of the policy as it is now.
    pub(crate) fn network(&self) -> Network {
        match self {
            Learning::Dqn(learner) => learner.policy_network(),
            Learning::OnPolicy(learner) => learner.network().clone(),
        }
    }

    fn seed(&self) -> u64 {
        match self {
            Learning::Dqn(learner) => learner.seed(),
            Learning::OnPolicy(learner) => learner.seed(),
        }
    }
}
