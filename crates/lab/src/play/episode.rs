//! What happens in one shielded episode?
//!
//! The main flow of the whole project, once around per decision: observe, propose, judge, step,
//! settle, record. Start at [`Player::play_before`]. A [`Witness`] may look on, to write a trace.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use cpss_highway::random::Generator;
use cpss_highway::{Action, Scene, Task};
use cpss_learn::QFunction;
use cpss_risk::closeness::min_distance;
use cpss_risk::{Blame, LearnedRisk, RiskModel};
use cpss_shield::{
    Certificate, Decision, Ledger, Memory, Reason, RiskRules, RiskSpec, Settlement, Shield,
    ShieldSpec, Situation,
};

use crate::play::arm::{Arm, ShieldSettings};
use crate::play::branch::{Branch, Brancher, is_off_road, look_ahead, realised_cost};
use crate::play::oracle::branch_costs;
use crate::play::regime::Regime;
use crate::record::what_if::{Effects, WhatIf};

pub use crate::record::EpisodeRecord;

/// Discount of the value difference that Theorem 3 bounds.
pub const DISCOUNT: f64 = 0.95;

/// Someone who looks on while an episode is played, and changes nothing.
pub trait Witness {
    /// An episode begins.
    fn begin(&mut self, _seed: u64, _task: &Task, _shield: &Shield, _risk: &LearnedRisk) {}
    /// Whether it wants to know who is to blame for a refusal, which takes its time.
    fn asks(&self) -> bool {
        false
    }
    /// A proposal was judged.
    fn judged(&mut self, _judged: &Judged<'_>) {}
    /// The world was stepped and the decision settled.
    fn settled(&mut self, _outcome: &Outcome<'_>) {}
    /// The episode is over.
    fn end(&mut self, _scene: &Scene, _record: &EpisodeRecord, _certificate: &Certificate) {}
}

/// Nobody.
impl Witness for () {}

/// A decision, with all that led to it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What the shield was told.
    pub situation: &'a Situation<'a>,
    /// What it answered.
    pub decision: &'a Decision,
    /// The cap it is under.
    pub tau_cap: f64,
    /// What an observer saw.
    pub scene: &'a Scene,
    /// What each action risks, as recalibrated.
    pub risks: &'a [f64],
    /// The least of these: what cannot be avoided.
    pub unavoidable: f64,
    /// Who is to blame for the risk of a proposal that was refused.
    pub blame: Option<&'a Blame>,
}

/// What came of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// How close the step came to anything.
    pub closeness: f64,
    /// How it was settled.
    pub settlement: &'a Settlement,
    /// The ledger afterwards.
    pub ledger: &'a Ledger,
    /// The step's reward.
    pub reward: f64,
    /// If another action ran than the proposed one: what that one would have led to.
    pub what_if: Option<&'a WhatIf>,
}

/// Everything needed to play episodes of one cell; keep one per thread.
pub struct Player<'a> {
    regime: &'a Regime,
    arm: Arm,
    policy: Option<Box<dyn QFunction>>,
    risk: RiskModel,
    shield: Shield,
    rules: RiskRules,
    /// What is remembered of the critic's surprises; from episode to episode if `remembers`.
    memory: Memory,
    remembers: bool,
    scene: Scene,
    seen: Vec<f32>,
    preferences: Vec<f64>,
    costs: Vec<f64>,
    raised: Vec<f64>,
    brancher: Option<Brancher>,
    /// How close each step of the episode came to anything, and the branches with their steps.
    closeness: Vec<f64>,
    branches: Vec<(usize, WhatIf)>,
    /// For each step, in how many episodes its proposal was refused.
    refusals: Vec<u32>,
}

impl<'a> Player<'a> {
    /// A player of an arm. Arms in which the policy proposes need one.
    ///
    /// # Errors
    ///
    /// A shield whose numbers make no sense, or a missing policy.
    pub fn new(
        regime: &'a Regime,
        arm: Arm,
        settings: &ShieldSettings,
        policy: Option<Box<dyn QFunction>>,
        risk: Arc<LearnedRisk>,
    ) -> Result<Player<'a>> {
        let task = regime.task();
        let actions = task.controls.action_count().unwrap_or(0);
        match arm {
            Arm::Random => {}
            Arm::Constant(index) if index < actions => {}
            Arm::Constant(index) => {
                return Err(anyhow!("constant:{index} is no action: there are {actions}, from 0"));
            }
            _ if policy.is_none() => return Err(anyhow!("the arm {arm} needs a policy")),
            _ => {}
        }
        let card = risk.card();
        let rules = RiskRules::new(RiskSpec {
            gamma: card.gamma,
            resolution: card.resolution,
            ..RiskSpec::new()
        })
        .map_err(|error| anyhow!("the critic's card: {error}"))?;
        Ok(Player {
            regime,
            arm,
            policy,
            rules,
            memory: rules.memory(),
            remembers: false,
            risk: RiskModel::new(task, risk)?,
            shield: Shield::new(arm.shield(settings))
                .map_err(|error| anyhow!("the shield of {arm}: {error}"))?,
            scene: Scene::default(),
            seen: vec![0.0; task.observer.len()],
            preferences: Vec::new(),
            costs: Vec::new(),
            raised: Vec::new(),
            brancher: Some(Brancher::default()),
            closeness: Vec::new(),
            branches: Vec::new(),
            refusals: Vec::new(),
        })
    }

    /// The same player with a memory: what surprised it in one episode raises the risks of the next, at this
    /// rate of the log-odds. Episodes then depend on those before them.
    ///
    /// # Errors
    ///
    /// A rate that makes no sense.
    pub fn with_memory(self, rate: f64) -> Result<Player<'a>> {
        let rules = RiskRules::new(RiskSpec { rate, ..*self.rules.spec() })
            .map_err(|error| anyhow!("the memory: {error}"))?;
        Ok(Player { rules, memory: rules.memory(), remembers: true, ..self })
    }

    /// The same player, who does not ask what refused actions would have led to, which takes its time.
    pub fn without_branches(self) -> Player<'a> {
        Player { brancher: None, ..self }
    }

    /// Plays the episode of a seed.
    ///
    /// # Errors
    ///
    /// As [`Player::play_before`].
    pub fn play(&mut self, seed: u64) -> Result<EpisodeRecord> {
        self.play_before(&mut (), seed)
    }

    /// For each step, in how many of the episodes so far its proposal was refused.
    pub fn refusals(&self) -> &[u32] {
        &self.refusals
    }

    /// Plays the episode of a seed before a witness.
    ///
    /// # Errors
    ///
    /// A policy that gives a value which is no number; it never becomes an action.
    pub fn play_before(&mut self, witness: &mut dyn Witness, seed: u64) -> Result<EpisodeRecord> {
        let (mut world, mut drift) = self.regime.begin(seed);
        world.observe(&mut self.seen);
        self.scene.observe(&world);
        self.shield.reset();
        if !self.remembers {
            self.memory = self.rules.memory();
        }
        let mut account = self.rules.account();
        witness.begin(seed, world.task(), &self.shield, self.risk.learned());
        let tau_cap = self.shield.rules().spec().tau_cap;
        let mut random = random_proposals(seed);
        let mut record =
            EpisodeRecord { seed, min_distance: f64::INFINITY, ..EpisodeRecord::default() };
        let mut discount = 1.0;
        let mut in_a_row = 0;
        self.closeness.clear();
        self.branches.clear();
        loop {
            drift.apply(&mut world);
            let proposal = self.propose(record.steps, &mut random)?;
            let assessment = self.risk.assess(&self.scene);
            let density = assessment.density;
            let recalibration = self.memory.recalibration();
            self.costs.resize(assessment.risks.len(), 0.0);
            let unavoidable = self
                .rules
                .costs(recalibration, &assessment.risks, &mut self.costs)
                .map_err(|error| anyhow!("{error}"))?;
            self.raised.clear();
            self.raised.extend(assessment.risks.iter().map(|risk| recalibration.raise(*risk)));
            if self.arm == Arm::Oracle {
                branch_costs(&world, &drift, &mut self.costs, &mut self.seen);
            }
            let situation =
                Situation { proposal, costs: &self.costs, preferences: &self.preferences, density };
            let decision = self.shield.judge(&situation).map_err(|error| anyhow!("{error}"))?;
            let refused = decision.verdict().intervenes();
            let blame = match refused && witness.asks() {
                true => self.risk.blame(&self.scene, Action::Index(proposal)),
                false => None,
            };
            witness.judged(&Judged {
                situation: &situation,
                decision: &decision,
                tau_cap,
                scene: &self.scene,
                risks: &self.raised,
                unavoidable,
                blame: blame.as_ref(),
            });
            // Only where the shield acts; a shadow runs what was proposed.
            let branch = match (&mut self.policy, &mut self.brancher) {
                (Some(policy), Some(brancher)) if decision.executed() != proposal => {
                    let (moment, step) = ((&world, &drift), record.steps);
                    Some(brancher.play(moment, proposal, step, policy.as_mut())?)
                }
                _ => None,
            };
            let step = world.step(Action::Index(decision.executed()), &mut self.seen)?;
            self.scene.observe(&world);
            let closeness = realised_cost(&self.scene, &world, &step);
            self.closeness.push(closeness);
            let by_ledger = refused && is_by_ledger(&decision, self.shield.rules().spec());
            record.by_ledger += u64::from(by_ledger);
            // What was judged is charged: the avoidable risk of what ran.
            let ran = self.raised.get(decision.executed()).copied().unwrap_or(f64::NAN);
            let settled =
                self.shield.settle_predicted(decision).map_err(|error| anyhow!("{error}"))?;
            if let Some(surprise) = account.enter(unavoidable, ran, settled.charge) {
                self.memory.learn(surprise);
            }
            witness.settled(&Outcome {
                closeness,
                settlement: &settled,
                ledger: self.shield.ledger(),
                reward: step.reward.total,
                what_if: branch.as_ref().map(|branch| &branch.what_if),
            });

            record.steps += 1;
            record.episode_return += step.reward.total;
            record.discounted_return += discount * step.reward.total;
            if refused {
                record.interventions += 1;
                record.discounted_interventions += discount;
                count_at(&mut self.refusals, record.steps as usize - 1);
            }
            in_a_row = if refused { in_a_row + 1 } else { 0 };
            record.longest_intervention = record.longest_intervention.max(in_a_row);
            if let Some(Branch { what_if, reward }) = branch {
                let change = (step.reward.total - reward).abs();
                record.reward_change = record.reward_change.max(change);
                self.branches.push((record.steps as usize - 1, what_if));
            }
            discount *= DISCOUNT;
            record.mean_speed += world.ego().speed;
            record.close_steps += u64::from(closeness > 0.0);
            let distance = min_distance(world.task(), &self.scene).unwrap_or(f64::INFINITY);
            record.min_distance = record.min_distance.min(distance);
            if step.is_over() {
                record.crashed = world.ego().crashed;
                record.off_road = is_off_road(&world) && !record.crashed;
                record.success = match world.has_arrived() {
                    Some(arrived) => arrived && !record.crashed,
                    None => !step.terminated,
                };
                break;
            }
        }
        let branches = self.branches.iter().map(|(step, what_if)| (*step, what_if));
        let look_ahead = look_ahead(world.task().decision_time);
        record.count(Effects::of(branches, &self.closeness, record.failed(), look_ahead));
        self.memory.end_episode(account.close(record.failed()));
        (record.start, record.chosen) = (account.start(), account.chosen());
        record.arriving = account.arriving();
        record.evidence = self.memory.evidence().value();
        record.recalibration = self.memory.recalibration().shift();
        let certificate = self.shield.certificate().with_account(account).with_memory(self.memory);
        record.mean_speed /= record.steps as f64;
        record.infeasible = certificate.counts.infeasible;
        record.mispredicted = certificate.counts.mispredicted;
        record.budget_used = certificate.spent / certificate.budget;
        record.budget_kept = certificate.budget_kept;
        record.envelope_held = certificate.envelope_held;
        witness.end(&self.scene, &record, &certificate);
        Ok(record)
    }

    fn propose(&mut self, step: u64, random: &mut Generator) -> Result<usize> {
        let actions = self.regime.task().controls.action_count().unwrap_or(0);
        self.preferences.clear();
        match (self.arm, &mut self.policy) {
            (Arm::Random, _) => Ok(random.choice(actions)),
            (Arm::Constant(index), _) => Ok(index),
            (_, Some(policy)) => {
                let values = policy.q_values(step, &self.seen)?;
                self.preferences.extend(values.iter().map(|value| f64::from(*value)));
                // `q_values` has refused anything that is not finite; the first of equals wins.
                let best = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                values
                    .iter()
                    .position(|value| *value == best)
                    .ok_or_else(|| anyhow!("the policy has no actions"))
            }
            (arm, None) => Err(anyhow!("the arm {arm} needs a policy")),
        }
    }
}

/// Whether a proposal was refused only because of what was spent before: with an unspent ledger it would
/// have run.
pub fn is_by_ledger(decision: &Decision, spec: &ShieldSpec) -> bool {
    let left = u64::from(spec.horizon).saturating_sub(decision.step());
    let share = spec.pace * spec.budget / (left as f64 + spec.epsilon);
    let unspent = if left > 0 { share.min(spec.budget) } else { 0.0 };
    // Who is passed over for a price was admissible as it is.
    let is_refused = decision.verdict().reason() != Some(Reason::Priced);
    is_refused && decision.cost_proposed() <= unspent.min(spec.tau_cap) * decision.gain()
}

/// Proposals of the random arm, from a stream that belongs to nobody else.
pub fn random_proposals(seed: u64) -> Generator {
    Generator::seeded(seed ^ 0xa2_1b9e_0000)
}

fn count_at(counts: &mut Vec<u32>, place: usize) {
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += 1;
}
