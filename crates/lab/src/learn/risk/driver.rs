//! Who drives while a critic is learned and tried out?
//!
//! A [`Driver`] has the shipped policies to propose, a critic to ask, and room to look at the world with.

use anyhow::Result;
use cpss_highway::{Action, Scene, Sensor, Step, World};
use cpss_learn::QFunction;
use cpss_learn::critic::{Critic, Scratch};
use cpss_risk::ActionKey;
use cpss_risk::features::{Features, Inputs};

use super::{Conditions, gaze};
use crate::play::policy::PolicySource;
use crate::play::sensor::Sight;
use crate::tasks::SHIPPED_SEEDS;

/// Who plays: policies, eyes and room. Keep one per thread.
pub(super) struct Driver<'a> {
    pub(super) conditions: Conditions<'a>,
    pub(super) policies: Vec<Box<dyn QFunction>>,
    pub(super) critic: Option<&'a Critic>,
    pub(super) features: Features,
    pub(super) scratch: Scratch,
    scene: Scene,
    /// What is seen of the world, where eyes are not perfect.
    pub(super) sight: Option<Sight>,
    pub(super) seen: Vec<f32>,
    pub(super) risks: Vec<f64>,
    /// What each of them is the risk of.
    actions: Vec<ActionKey>,
}

impl<'a> Driver<'a> {
    /// A driver of the shipped policies, under a critic if there is one.
    pub(super) fn new(
        conditions: Conditions<'a>,
        inputs: &Inputs,
        critic: Option<&'a Critic>,
    ) -> Result<Driver<'a>> {
        let task = conditions.regimes[0].task();
        let policies = (0..SHIPPED_SEEDS).map(|seed| PolicySource::Builtin(seed).load(task));
        Ok(Driver {
            conditions,
            policies: policies.collect::<Result<_, _>>()?,
            critic,
            features: Features::for_inputs(inputs),
            scratch: Scratch::default(),
            scene: Scene::default(),
            sight: None,
            seen: vec![0.0; task.observer.len()],
            risks: vec![0.0; task.controls.action_count().unwrap_or(0)],
            actions: ActionKey::list(&task.controls),
        })
    }

    /// An episode begins, seen through a sensor.
    pub(super) fn begin(&mut self, world: &mut World, seed: u64, sensor: Sensor) -> Result<()> {
        world.observe(&mut self.seen);
        self.sight = Sight::through(gaze(sensor));
        if let Some(sight) = &mut self.sight {
            sight.begin(world, seed)?;
            sight.show_policy(&mut self.seen);
        }
        Ok(())
    }

    /// Steps the world; the policy is shown what is seen of it.
    pub(super) fn step(&mut self, world: &mut World, action: usize) -> Result<Step> {
        let action = Action::Index(action);
        let Some(sight) = &mut self.sight else {
            return Ok(world.step(action, &mut self.seen)?);
        };
        let step = sight.step(world, action, &mut self.seen)?;
        sight.show_policy(&mut self.seen);
        Ok(step)
    }

    /// Looks at the world; `false` if it cannot be read.
    pub(super) fn look(&mut self, world: &World) -> bool {
        let scene = match self.sight.as_ref().and_then(Sight::scene) {
            Some(scene) => scene,
            None => {
                self.scene.observe(world);
                &self.scene
            }
        };
        let readable = self.features.read(world.task(), scene);
        match self.critic {
            Some(critic) if readable => {
                let (fixed, items) = (self.features.fixed(), self.features.items());
                critic.risks(fixed, items, &mut self.scratch, &mut self.risks);
                self.features.raise(&self.actions, &mut self.risks);
            }
            _ => self.risks.fill(1.0),
        }
        readable
    }
}

pub(super) fn least(risks: &[f64]) -> f64 {
    risks.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The action that runs: the proposal if its avoidable risk fits, and otherwise the least risky one.
pub(super) fn judge(risks: &[f64], proposal: usize, threshold: f64) -> usize {
    let least = least_risky(risks);
    if risks[proposal] - risks[least] <= threshold { proposal } else { least }
}

/// The action that risks least; the first of several.
pub(super) fn least_risky(risks: &[f64]) -> usize {
    let mut least = 0;
    for (action, risk) in risks.iter().enumerate() {
        if *risk < risks[least] {
            least = action;
        }
    }
    least
}
