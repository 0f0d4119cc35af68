//! What happens in one shielded episode?
//!
//! The main flow of the whole project, once around per decision: observe, propose, judge, step,
//! settle, record. Start at [`Player::play_with`]. An [`Observer`] may follow, to write a trace; what becomes of the
//! record is in `tally`, what the player sees and proposes in `driving`.

mod driving;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow};
use cpss_highway::{Action, Scene, World};
use cpss_learn::QFunction;
use cpss_risk::{Foresight, LearnedRisk, Portrait, RiskModel};
use cpss_shield::{Account, Decision, Memory, RiskRules, RiskSpec, Settlement, Shield, Situation};

use super::arm::{Arm, ShieldSettings};
use super::barrier::barrier_costs;
use super::branch::{Branch, Brancher, look_ahead};
use super::ending::{budget_left, realised_cost};
use super::latency::Latencies;
use super::observer::{Judged, Observer, Outcome, blame};
use super::oracle::branch_costs;
use super::regime::{Drift, Regime};
use super::seed::random_proposals;
use super::sensor::{Gaze, Sight};
use super::tally::{Taken, Tally};
use crate::record::EpisodeRecord;
use crate::record::exact::Exact;
use crate::record::memory::{MemoryLine, MemorySettings};

/// Everything needed to play episodes of one cell; keep one per thread.
pub struct Player<'a> {
    regime: &'a Regime,
    arm: Arm,
    /// What the whole shield lets one action risk at most, whichever arm this is.
    cap: f64,
    policy: Option<Box<dyn QFunction>>,
    risk: RiskModel,
    shield: Shield,
    rules: RiskRules,
    /// What is remembered of the critic's surprises; from episode to episode if `remembers` says how.
    memory: Memory,
    remembers: Option<MemorySettings>,
    /// The world as it is, on which everything is measured.
    scene: Scene,
    /// What is seen of it, where eyes are not perfect.
    sight: Option<Sight>,
    /// How well the traffic is foretold, if that is looked at.
    foresight: Option<Foresight>,
    seen: Vec<f32>,
    /// The same with what is left of the budget, for a policy that sees that too.
    beside: Vec<f32>,
    preferences: Vec<f64>,
    costs: Vec<f64>,
    risks: Vec<f64>,
    raised: Vec<f64>,
    brancher: Option<Brancher>,
    tally: Tally,
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
            cap: settings.spec.tau_cap,
            rules,
            memory: rules.memory(),
            remembers: None,
            risk: RiskModel::new(task, risk)?,
            shield: Shield::new(arm.shield(settings))
                .map_err(|error| anyhow!("the shield of {arm}: {error}"))?,
            scene: Scene::default(),
            sight: None,
            foresight: None,
            seen: vec![0.0; task.observer.len()],
            beside: Vec::new(),
            preferences: Vec::new(),
            costs: Vec::new(),
            risks: Vec::new(),
            raised: Vec::new(),
            brancher: Some(Brancher::default()),
            tally: Tally::default(),
        })
    }

    /// The same player with a memory: what surprised it in one episode raises the risks of the next, at this
    /// rate of the log-odds. Episodes then depend on those before them.
    ///
    /// # Errors
    ///
    /// A rate that makes no sense.
    pub fn with_memory(self, rate: f64) -> Result<Player<'a>> {
        self.remembering(MemorySettings::new(rate), None)
    }

    /// The same with all settings of a memory, which goes on from what another has found.
    ///
    /// # Errors
    ///
    /// Numbers that make no sense.
    pub fn remembering(
        self,
        settings: MemorySettings,
        found: Option<&MemoryLine>,
    ) -> Result<Player<'a>> {
        let critic = self.rules.spec();
        let opened = match found {
            None => settings.open(critic),
            Some(line) => settings.recall(critic, line),
        };
        let (rules, memory) = opened.map_err(|error| anyhow!("the memory: {error}"))?;
        let foresight = settings.novelty.map(|_| Foresight::default());
        Ok(Player { rules, memory, remembers: Some(settings), foresight, ..self })
    }

    /// Goes on from another memory of the same settings.
    pub(crate) fn recall(&mut self, memory: Memory) {
        self.memory = memory;
    }

    /// What is remembered now.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The same player, who looks through a sensor.
    pub fn behind(self, gaze: Gaze) -> Player<'a> {
        Player { sight: Sight::through(gaze), ..self }
    }

    /// The same player, who looks at how well the traffic is foretold.
    pub(crate) fn with_foresight(self) -> Player<'a> {
        Player { foresight: Some(Foresight::default()), ..self }
    }

    /// What the traffic of the last episode was like, if that was looked at.
    pub(crate) fn portrait(&self) -> Option<Portrait> {
        self.foresight.as_ref().and_then(Foresight::portrait)
    }

    /// The same player, who does not ask what refused actions would have led to, which takes its time.
    pub(crate) fn without_branches(self) -> Player<'a> {
        Player { brancher: None, ..self }
    }

    /// Plays the episode of a seed.
    ///
    /// # Errors
    ///
    /// As [`Player::play_with`].
    pub fn play(&mut self, seed: u64) -> Result<EpisodeRecord> {
        self.play_with(&mut (), seed)
    }

    /// For each step, in how many of the episodes so far its proposal was refused.
    pub fn refusals(&self) -> &[u32] {
        self.tally.refusals()
    }

    /// How long the decisions of all episodes so far took.
    pub(crate) fn latencies(&self) -> &Latencies {
        self.tally.latencies()
    }

    /// In how many decisions so far what could not be avoided was above the shield's cap.
    pub(crate) fn endangered(&self) -> u64 {
        self.tally.endangered()
    }

    /// Plays the episode of a seed with an observer.
    ///
    /// # Errors
    ///
    /// A policy that gives a value which is no number; it never becomes an action.
    pub fn play_with(&mut self, observer: &mut dyn Observer, seed: u64) -> Result<EpisodeRecord> {
        let (mut world, mut drift) = self.regime.begin(seed);
        self.begin(&mut world, seed)?;
        if let Some(settings) = &self.remembers {
            observer.remember(settings, &self.memory);
        }
        observer.begin(seed, world.task(), &self.shield, self.risk.learned());
        let mut account = self.rules.account();
        let mut random = random_proposals(seed);
        loop {
            drift.apply(&mut world);
            let proposal = self.propose(&mut random)?;
            let begun = Instant::now();
            let (density, unavoidable) = self.assess(&world, &drift)?;
            let decision = self.judge(proposal, density)?;
            let judged = begun.elapsed();
            self.report(observer, &decision, density, unavoidable);
            let branch = self.branch(&world, &drift, &decision)?;
            let step = self.step(&mut world, Action::Index(decision.executed()))?;
            let closeness = realised_cost(&self.scene, &world, &step);
            let begun = Instant::now();
            let settlement = self.settle(decision, unavoidable, &mut account)?;
            if self.arm.asks_critic() {
                self.tally.took(judged + begun.elapsed());
            }
            observer.settled(&Outcome {
                closeness,
                settlement: &settlement,
                ledger: self.shield.ledger(),
                reward: step.reward.total,
                what_if: branch.as_ref().map(|branch| &branch.what_if),
            });
            let reward = step.reward.total;
            let (spec, cap) = (self.shield.rules().spec(), self.cap);
            self.tally.add(
                &world,
                &self.scene,
                Taken { decision, spec, unavoidable, cap, closeness, reward, branch },
            );
            if step.is_over() {
                self.tally.end(&world, &step);
                break;
            }
        }
        let score = self.score();
        self.memory.end_episode_scored(account.close(self.tally.failed()), score);
        let certificate = self.shield.certificate().with_account(account).with_memory(self.memory);
        let mut record = self.tally.record(&certificate, look_ahead(world.task().decision_time));
        record.score = score.map(Exact);
        observer.end(&self.scene, &record, &certificate);
        Ok(record)
    }

    /// Works out what each action risks and costs; returns the density, and the risk that cannot be avoided.
    fn assess(&mut self, world: &World, drift: &Drift) -> Result<(f64, f64)> {
        let scene = self.sight.as_ref().and_then(Sight::scene).unwrap_or(&self.scene);
        let assessment = self.risk.assess(scene);
        let density = assessment.density;
        let recalibration = self.memory.recalibration();
        self.costs.resize(assessment.risks.len(), 0.0);
        let unavoidable = self
            .rules
            .costs(recalibration, &assessment.risks, &mut self.costs)
            .map_err(|error| anyhow!("{error}"))?;
        self.risks.clear();
        self.risks.extend_from_slice(&assessment.risks);
        self.raised.clear();
        let raising = recalibration.raising(&assessment.risks);
        self.raised.extend(assessment.risks.iter().map(|risk| raising.raise(*risk)));
        match self.arm {
            Arm::Oracle => branch_costs(world, drift, &mut self.costs, &mut self.seen),
            Arm::Barrier => barrier_costs(world.task(), scene, &mut self.costs),
            _ => {}
        }
        Ok((density, unavoidable))
    }

    /// Asks the shield.
    fn judge(&mut self, proposal: usize, density: f64) -> Result<Decision> {
        let situation =
            Situation { proposal, costs: &self.costs, preferences: &self.preferences, density };
        self.shield.judge(&situation).map_err(|error| anyhow!("{error}"))
    }

    /// Reports its answer, with who is to blame for a refusal if the observer asks.
    fn report(
        &mut self,
        observer: &mut dyn Observer,
        decision: &Decision,
        density: f64,
        unavoidable: f64,
    ) {
        let proposal = decision.proposal();
        let blame = match decision.verdict().intervenes() && observer.wants_blame() {
            true => {
                let scene = self.sight.as_ref().and_then(Sight::scene).unwrap_or(&self.scene);
                blame(&mut self.risk, Action::Index(proposal), (scene, &self.scene))
            }
            false => None,
        };
        let (costs, preferences) = (&self.costs, &self.preferences);
        observer.judged(&Judged {
            situation: &Situation { proposal, costs, preferences, density },
            decision,
            tau_cap: self.shield.rules().spec().tau_cap,
            scene: &self.scene,
            seen: self.sight.as_ref().and_then(Sight::scene),
            risks: &self.risks,
            unavoidable,
            blame: blame.as_ref(),
        });
    }

    /// Plays what the proposal would have led to, if another action is to run: a shadow runs what was proposed.
    fn branch(
        &mut self,
        world: &World,
        drift: &Drift,
        decision: &Decision,
    ) -> Result<Option<Branch>> {
        let (Some(policy), Some(brancher)) = (&mut self.policy, &mut self.brancher) else {
            return Ok(None);
        };
        let (proposal, step) = (decision.proposal(), self.tally.steps());
        (decision.executed() != proposal)
            .then(|| {
                let left = budget_left(self.shield.ledger());
                brancher.play((world, drift), (proposal, left), step, policy.as_mut())
            })
            .transpose()
    }

    /// Charges what was judged, the avoidable risk of what ran, and learns from what surprised the critic.
    fn settle(
        &mut self,
        decision: Decision,
        unavoidable: f64,
        account: &mut Account,
    ) -> Result<Settlement> {
        let ran = self.raised.get(decision.executed()).copied().unwrap_or(f64::NAN);
        let settled = self.shield.settle_predicted(decision).map_err(|error| anyhow!("{error}"))?;
        if let Some(surprise) = account.enter(unavoidable, ran, settled.charge) {
            self.memory.learn(surprise);
        }
        Ok(settled)
    }
}
