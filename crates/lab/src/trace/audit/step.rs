//! Does a decision follow from what the shield was told?
//!
//! [`Steps::derive`] tells a shield again what the first one was told, one line after the other, and compares
//! every answer with the line's. Around it: who proposed, whether the episode was still going on, and whether
//! there is a branch where another action ran.

use std::fmt;

use cpss_learn::network::greedy;
use cpss_shield::{Account, Certificate, Memory, RiskRules, RiskSpec, Shield, Situation};

use super::ending::Ending;
use super::finding::{Problem, same};
use super::header::Episode;
use crate::play::arm::Arm;
use crate::play::branch::look_ahead;
use crate::play::tally::is_by_ledger;
use crate::record::EpisodeRecord;
use crate::record::exact::Exact;
use crate::record::pose::Pose;
use crate::record::what_if::WhatIf;
use crate::trace::format::{Header, LedgerLine, Remembered, Step, Tau, verdict_words};

/// The decisions of an episode, derived so far.
pub(super) struct Steps {
    episode: Episode,
    shield: Shield,
    rules: RiskRules,
    account: Account,
    memory: Memory,
    by_ledger: u64,
    tau_cap: f64,
    look_ahead: u64,
    time: f64,
}

impl Steps {
    /// Before the first decision.
    pub(super) fn new(header: &Header, episode: Episode) -> Result<Steps, Problem> {
        let shield = Shield::new(header.shield).map_err(|error| refused(&error))?;
        let look_ahead = look_ahead(episode.task.decision_time);
        let tau_cap = header.shield.tau_cap;
        let spec = RiskSpec {
            gamma: header.risk.gamma,
            resolution: header.risk.resolution,
            ..RiskSpec::new()
        };
        let (rules, memory) = match &header.memory {
            None => {
                let rules = RiskRules::new(spec).map_err(|error| refused(&error))?;
                (rules, rules.memory())
            }
            Some(Remembered { settings, found }) => {
                settings.recall(&spec, found).map_err(|error| refused(&error))?
            }
        };
        if memory.alarm().is_some() {
            same("risk: conservative after an alarm", header.risk.conservative, false)?;
        }
        let account = rules.account();
        let by_ledger = 0;
        Ok(Steps {
            episode,
            shield,
            rules,
            account,
            memory,
            by_ledger,
            tau_cap,
            look_ahead,
            time: 0.0,
        })
    }

    /// Judges a decision again, and charges it.
    pub(super) fn derive(&mut self, step: &Step) -> Result<(), Problem> {
        same("t", step.t, self.shield.ledger().step())?;
        self.check_going_on(step)?;
        let actions = self.episode.task.controls.action_count().unwrap_or(0);
        same("costs", step.costs.len(), actions)?;
        let costs: Vec<f64> = step.costs.iter().map(|cost| cost.0).collect();
        self.check_costs(step, actions)?;
        let is_close = (0.0..=1.0).contains(&step.closeness.0);
        same("closeness is from 0 to 1", is_close, true)?;
        let preferences: Vec<f64> = step.preferences.iter().copied().map(f64::from).collect();
        let (wanted, proposal) = match self.episode.arm {
            Arm::Constant(action) => (0, action),
            Arm::Random => (0, self.episode.random.choice(actions)),
            _ => (actions, greedy(&step.preferences).unwrap_or(usize::MAX)),
        };
        same("likes", preferences.len(), wanted)?;
        same("proposal", step.proposal, proposal)?;
        let situation = Situation {
            proposal,
            costs: &costs,
            preferences: &preferences,
            density: step.density.0,
        };
        let decision = self.shield.judge(&situation).map_err(|error| refused(&error))?;
        let Tau(tau, cap, budget, gain) = Tau::of(&decision, self.tau_cap);
        same("tau", step.tau.0, tau)?;
        same("tau: cap", step.tau.1, cap)?;
        same("tau: budget", step.tau.2, budget)?;
        same("tau: gain", step.tau.3, gain)?;
        same("verdict", step.verdict.as_str(), verdict_words(decision.verdict()).as_str())?;
        same("allowed", step.allowed, decision.allowed())?;
        same("ran", step.ran, decision.executed())?;
        self.check_branch(step)?;
        let spec = self.shield.rules().spec();
        let refused_now = decision.verdict().intervenes();
        self.by_ledger += u64::from(refused_now && is_by_ledger(&decision, spec));
        let settled = self.shield.settle_predicted(decision).map_err(|error| refused(&error))?;
        let risks: Vec<f64> = step.risks.iter().map(|risk| risk.0).collect();
        let ran = risks.get(decision.executed()).copied().unwrap_or(f64::NAN);
        let ran = self.memory.recalibration().raising(&risks).raise(ran);
        if let Some(surprise) = self.account.enter(step.unavoidable.0, ran, settled.charge) {
            self.memory.learn(surprise);
        }
        same("charge", step.charge, Exact(settled.charge))?;
        same("mispredicted", step.mispredicted, settled.mispredicted)?;
        let LedgerLine(count, spent, remaining, excess, envelope, holds) =
            LedgerLine::of(&settled, self.shield.ledger());
        same("ledger: step", step.ledger.0, count)?;
        same("ledger: spent", step.ledger.1, spent)?;
        same("ledger: remaining", step.ledger.2, remaining)?;
        same("ledger: excess", step.ledger.3, excess)?;
        same("ledger: envelope", step.ledger.4, envelope)?;
        same("ledger: envelope holds", step.ledger.5, holds)?;
        self.time += self.episode.task.decision_time;
        Ok(())
    }

    /// Costs follow from risks, unless somebody else than the critic said them.
    fn check_costs(&self, step: &Step, actions: usize) -> Result<(), Problem> {
        same("risks", step.risks.len(), actions)?;
        let sound = |risk: &Exact| (0.0..=1.0).contains(&risk.0);
        same("risks are from 0 to 1", step.risks.iter().all(sound), true)?;
        let risks: Vec<f64> = step.risks.iter().map(|risk| risk.0).collect();
        let mut costs = vec![0.0; actions];
        let least = self.rules.costs(self.memory.recalibration(), &risks, &mut costs);
        same("unavoidable", step.unavoidable, Exact(least.map_err(|error| refused(&error))?))?;
        if !self.episode.arm.asks_critic() {
            return Ok(());
        }
        for (cost, derived) in step.costs.iter().zip(costs) {
            same("costs", *cost, Exact(derived))?;
        }
        Ok(())
    }

    /// The account of all decisions, closed with or without an incident, and the memory after an episode of this score.
    pub(super) fn certificate(&self, record: &EpisodeRecord) -> Certificate {
        let (mut account, mut memory) = (self.account, self.memory);
        let score = record.score.map(|score| score.0);
        memory.end_episode_scored(account.close(record.failed()), score);
        self.shield.certificate().with_account(account).with_memory(memory)
    }

    /// Interventions that happened only because of what had been spent before.
    pub(super) fn by_ledger(&self) -> u64 {
        self.by_ledger
    }

    /// Which episode they are of.
    pub(super) fn episode(&self) -> &Episode {
        &self.episode
    }

    /// Over how many decisions a branch is played.
    pub(super) fn look_ahead(&self) -> u64 {
        self.look_ahead
    }

    /// What the last scene says about the end, and whether the time was up.
    pub(super) fn ending(&self, scene: &[Pose]) -> Result<(Ending, bool), Problem> {
        Ok((self.ending_at(scene)?, self.episode.task.rules.is_truncated(self.time)))
    }

    fn ending_at(&self, scene: &[Pose]) -> Result<Ending, Problem> {
        let ending = scene.first().and_then(|ego| Ending::at(&self.episode.task, ego));
        ending.ok_or_else(|| Problem::Unknown {
            field: "scene: ego",
            found: format!("{:?}", scene.first()),
        })
    }

    /// Nobody decides in an episode that is over.
    fn check_going_on(&self, step: &Step) -> Result<(), Problem> {
        let (ending, time_is_up) = self.ending(&step.scene)?;
        same("scene: is over", time_is_up || ending.terminated == Some(true), false)
    }

    /// A branch is there exactly where another action ran than the proposed one; it starts where the ego
    /// was, goes no further than the look-ahead, and a failure costs 1.
    fn check_branch(&self, step: &Step) -> Result<(), Problem> {
        same("what_if: is there", step.what_if.is_some(), step.ran != step.proposal)?;
        let Some(WhatIf { crashed, costs, ghost }) = &step.what_if else { return Ok(()) };
        let decisions = costs.len() as u64;
        same("what_if: decisions", decisions, decisions.clamp(1, self.look_ahead))?;
        same("what_if: poses", ghost.len(), costs.len() + 1)?;
        let ego = step.scene.first().map(|ego| [ego.0, ego.1, ego.2]);
        same("what_if: starts at the ego", ghost.first().copied() == ego, true)?;
        let sound = costs.iter().all(|cost| (0.0..=1.0).contains(&cost.0));
        same("what_if: costs are from 0 to 1", sound, true)?;
        let last = costs.last().map_or(0.0, |cost| cost.0);
        same("what_if: a crash costs 1", !crashed || last == 1.0, true)
    }
}

fn refused(error: &dyn fmt::Display) -> Problem {
    Problem::Refused(error.to_string())
}
