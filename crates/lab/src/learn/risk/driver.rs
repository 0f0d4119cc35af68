//! Who drives while a critic is learned and tried out?
//!
//! A [`Driver`] has the shipped policies to propose, a critic to ask, and room to look at the world with.

use anyhow::Result;
use cpss_highway::{Scene, World};
use cpss_learn::QFunction;
use cpss_learn::critic::{Critic, Scratch};
use cpss_risk::ActionKey;
use cpss_risk::features::Features;

use crate::play::policy::PolicySource;
use crate::play::regime::Regime;
use crate::tasks::SHIPPED_SEEDS;

/// Who plays: policies, eyes and room. Keep one per thread.
pub(super) struct Driver<'a> {
    pub(super) regimes: &'a [Regime],
    pub(super) policies: Vec<Box<dyn QFunction>>,
    pub(super) critic: Option<&'a Critic>,
    pub(super) features: Features,
    pub(super) scratch: Scratch,
    pub(super) scene: Scene,
    pub(super) seen: Vec<f32>,
    pub(super) risks: Vec<f64>,
    /// What each of them is the risk of.
    actions: Vec<ActionKey>,
}

impl<'a> Driver<'a> {
    /// A driver of the shipped policies, under a critic if there is one.
    pub(super) fn new(regimes: &'a [Regime], critic: Option<&'a Critic>) -> Result<Driver<'a>> {
        let task = regimes[0].task();
        let policies = (0..SHIPPED_SEEDS).map(|seed| PolicySource::Builtin(seed).load(task));
        Ok(Driver {
            regimes,
            policies: policies.collect::<Result<_, _>>()?,
            critic,
            features: Features::default(),
            scratch: Scratch::default(),
            scene: Scene::default(),
            seen: vec![0.0; task.observer.len()],
            risks: vec![0.0; task.controls.action_count().unwrap_or(0)],
            actions: ActionKey::list(&task.controls),
        })
    }

    /// Looks at the world; `false` if it cannot be read.
    pub(super) fn look(&mut self, world: &World) -> bool {
        self.scene.observe(world);
        let readable = self.features.read(world.task(), &self.scene);
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
    let mut least = 0;
    for (action, risk) in risks.iter().enumerate() {
        if *risk < risks[least] {
            least = action;
        }
    }
    if risks[proposal] - risks[least] <= threshold { proposal } else { least }
}
