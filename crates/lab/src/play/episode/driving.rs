//! What does a player see, and what does it propose?
//!
//! The half of [`Player`] that the shield does not concern: it makes itself ready for an episode, steps the world and
//! observes it, through a sensor if there is one, and asks whoever drives.

use anyhow::{Result, anyhow};
use cpss_highway::random::Generator;
use cpss_highway::{Action, Step, World};
use cpss_learn::network::greedy;

use super::Player;
use crate::play::arm::Arm;
use crate::play::ending::budget_left;
use crate::play::sensor::Sight;

impl Player<'_> {
    /// Makes itself ready for an episode.
    pub(super) fn begin(&mut self, world: &mut World, seed: u64) -> Result<()> {
        world.observe(&mut self.seen);
        self.scene.observe(world);
        if let Some(sight) = &mut self.sight {
            sight.begin(world, seed)?;
            sight.show_policy(&mut self.seen);
        }
        if let Some(foresight) = &mut self.foresight {
            foresight.begin();
        }
        self.foresee(world, 0.0);
        self.shield.reset();
        if self.remembers.is_none() {
            self.memory = self.rules.memory();
        }
        self.tally.begin(seed);
        Ok(())
    }

    /// Steps the world, and looks at it.
    pub(super) fn step(&mut self, world: &mut World, action: Action<'_>) -> Result<Step> {
        let step = match &mut self.sight {
            None => world.step(action, &mut self.seen)?,
            Some(sight) => {
                let step = sight.step(world, action, &mut self.seen)?;
                sight.show_policy(&mut self.seen);
                step
            }
        };
        self.scene.observe(world);
        self.foresee(world, world.task().decision_time);
        Ok(step)
    }

    /// Compares what is seen now with what was to be expected.
    pub(super) fn foresee(&mut self, world: &World, elapsed: f64) {
        if let Some(foresight) = &mut self.foresight {
            let scene = self.sight.as_ref().and_then(Sight::scene).unwrap_or(&self.scene);
            foresight.look(&world.task().network, scene, elapsed);
        }
    }

    /// How unlike the traffic that the critic knows the episode's was, if that is looked at.
    pub(super) fn score(&self) -> Option<f64> {
        let likeness = self.risk.learned().card().likeness.as_ref()?;
        Some(likeness.score(&self.portrait()?))
    }

    /// What whoever drives wants to do.
    pub(super) fn propose(&mut self, random: &mut Generator) -> Result<usize> {
        let actions = self.regime.task().controls.action_count().unwrap_or(0);
        self.preferences.clear();
        match (self.arm, &mut self.policy) {
            (Arm::Random, _) => Ok(random.choice(actions)),
            (Arm::Constant(index), _) => Ok(index),
            (_, Some(policy)) => {
                let seen = if policy.observation_len() > self.seen.len() {
                    self.beside.clone_from(&self.seen);
                    self.beside.push(budget_left(self.shield.ledger()));
                    &self.beside
                } else {
                    &self.seen
                };
                let values = policy.q_values(self.tally.steps(), seen)?;
                self.preferences.extend(values.iter().map(|value| f64::from(*value)));
                greedy(values).ok_or_else(|| anyhow!("the policy has no actions"))
            }
            (arm, None) => Err(anyhow!("the arm {arm} needs a policy")),
        }
    }
}
