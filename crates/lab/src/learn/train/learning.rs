//! Which learner does a run have?
//!
//! [`Learning`] is one of those of `cpss_learn`, with the one face that a command needs: run, show, save, go on.

use std::ops::{ControlFlow, Range};

use anyhow::{Result, anyhow, bail, ensure};
use cpss_highway::TaskId;
use cpss_learn::{Diverged, Learner, Network, OnPolicyLearner, Progress};
use serde::Serialize;

use super::algorithm::Algorithm;
use super::driving::Driving;
use super::settings::{LearnerSettings, TrainSettings};

/// Seeds of the episodes that policies are trained on. Tuning and reporting have later ones.
pub(crate) const TRAINING_SEEDS: Range<u64> = 0..1_000_000;

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
        if !is_same {
            bail!(
                "{place} was begun with other settings: give the --algorithm, --steps and --settings it was begun with"
            );
        }
        Ok(learning)
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

    /// The run's complete state.
    pub(crate) fn checkpoint(&self) -> Vec<u8> {
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
