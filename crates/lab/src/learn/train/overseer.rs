//! What does a shield inside the world do while a policy learns?
//!
//! An [`Overseer`] judges every proposal by the critic, as the shield of an evaluation does (but that of equally bad
//! actions it knows no favourite of the policy's), keeps the ledger, and says what is left of the budget. Whether it also overrules is its arm's matter: a shadow only counts.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use cpss_highway::{Scene, TaskId, World};
use cpss_risk::RiskModel;
use cpss_shield::{Decision, RiskRules, RiskSpec, Shield, Situation};

use crate::play::arm::{Arm, ShieldSettings};
use crate::play::critic::RiskSource;
use crate::play::ending::budget_left;
use crate::tasks::policy_task;

/// A shield inside a world to learn in.
#[derive(Clone, Debug)]
pub(super) struct Overseer {
    risk: RiskModel,
    rules: RiskRules,
    shield: Shield,
    scene: Scene,
    costs: Vec<f64>,
}

impl Overseer {
    /// The shield of an arm, with the task's shipped critic.
    pub(super) fn new(id: TaskId, arm: Arm) -> Result<Overseer> {
        let risk = RiskSource::Drift.load(id)?;
        let (gamma, resolution) = (risk.card().gamma, risk.card().resolution);
        let rules = RiskRules::new(RiskSpec { gamma, resolution, ..RiskSpec::new() })
            .map_err(|error| anyhow!("the critic's card: {error}"))?;
        let shield = Shield::new(arm.shield(&ShieldSettings::shipped(id)?))
            .map_err(|error| anyhow!("the shield of {arm}: {error}"))?;
        let risk = RiskModel::new(&policy_task(id), Arc::clone(&risk))?;
        Ok(Overseer { risk, rules, shield, scene: Scene::default(), costs: Vec::new() })
    }

    /// Begins an episode in this world.
    pub(super) fn begin(&mut self, world: &World) {
        self.scene.observe(world);
        self.shield.reset();
    }

    /// Judges a proposal.
    pub(super) fn judge(&mut self, proposal: usize) -> Decision {
        let assessment = self.risk.assess(&self.scene);
        self.costs.resize(assessment.risks.len(), 0.0);
        let (rules, memory) = (&self.rules, self.rules.memory());
        rules
            .costs(memory.recalibration(), &assessment.risks, &mut self.costs)
            .expect("there is a cost for each risk");
        let density = assessment.density;
        let situation = Situation { proposal, costs: &self.costs, preferences: &[], density };
        self.shield.judge(&situation).expect("the learner proposes what the task has")
    }

    /// Charges a decision, after which the world is this.
    pub(super) fn settle(&mut self, decision: Decision, world: &World) {
        self.shield.settle_predicted(decision).expect("a decision is settled once");
        self.scene.observe(world);
    }

    /// The share of the budget that is left.
    pub(super) fn left(&self) -> f32 {
        budget_left(self.shield.ledger())
    }
}
