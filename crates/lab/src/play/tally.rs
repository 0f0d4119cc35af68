//! What is added to an episode's record with each decision?
//!
//! A [`Tally`] is the record's bookkeeping: the player tells it what came of each decision ([`Tally::add`]) and how the
//! episode ended ([`Tally::end`]), and [`Tally::record`] adds what the certificate says.

use std::time::Duration;

use cpss_highway::{Scene, Step, World};
use cpss_risk::closeness::min_distance;
use cpss_shield::{Certificate, Decision, Reason, ShieldSpec};

use super::branch::Branch;
use super::ending::is_off_road;
use super::latency::Latencies;
use crate::record::EpisodeRecord;
use crate::record::memory::AlarmLine;
use crate::record::what_if::{Effects, WhatIf};

/// Discount of the value difference that Theorem 3 bounds.
pub(crate) const DISCOUNT: f64 = 0.95;

/// The bookkeeping of one episode after the other.
#[derive(Debug, Default)]
pub(super) struct Tally {
    record: EpisodeRecord,
    discount: f64,
    /// Refusals since the last step without one.
    in_a_row: u64,
    speeds: f64,
    /// How close each step of the episode came to anything, and the branches with their steps.
    closeness: Vec<f64>,
    branches: Vec<(usize, WhatIf)>,
    /// For each step, in how many episodes its proposal was refused.
    refusals: Vec<u32>,
    /// How long the decisions of all episodes took, and in how many what cannot be avoided was above the shield's cap.
    latencies: Latencies,
    endangered: u64,
}

/// A decision that was taken, and what came of it.
pub(super) struct Taken<'a> {
    /// The decision.
    pub(super) decision: Decision,
    /// The shield's settings.
    pub(super) spec: &'a ShieldSpec,
    /// The risk that could not be avoided.
    pub(super) unavoidable: f64,
    /// What the whole shield lets one action risk at most, whichever arm this is.
    pub(super) cap: f64,
    /// How close the step came to anything.
    pub(super) closeness: f64,
    /// Its reward.
    pub(super) reward: f64,
    /// What the proposal would have led to, if another action ran.
    pub(super) branch: Option<Branch>,
}

impl Tally {
    /// Begins the record of an episode.
    pub(super) fn begin(&mut self, seed: u64) {
        self.record =
            EpisodeRecord { seed, min_distance: f64::INFINITY, ..EpisodeRecord::default() };
        (self.discount, self.in_a_row, self.speeds) = (1.0, 0, 0.0);
        self.closeness.clear();
        self.branches.clear();
    }

    /// Decisions taken so far.
    pub(super) fn steps(&self) -> u64 {
        self.record.steps
    }

    /// For each step, in how many of the episodes so far its proposal was refused.
    pub(super) fn refusals(&self) -> &[u32] {
        &self.refusals
    }

    /// How long the decisions so far took.
    pub(super) fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// Takes down how long a decision took.
    pub(super) fn took(&mut self, time: Duration) {
        self.latencies.add(time);
    }

    /// In how many decisions so far whatever ran risked more than any may.
    pub(super) fn endangered(&self) -> u64 {
        self.endangered
    }

    /// Whether the episode ended in a failure.
    pub(super) fn failed(&self) -> bool {
        self.record.failed()
    }

    /// Adds a decision, after which the world and the scene are these.
    pub(super) fn add(&mut self, world: &World, scene: &Scene, taken: Taken<'_>) {
        let Taken { decision, spec, unavoidable, cap, closeness, reward, branch } = taken;
        self.endangered += u64::from(unavoidable > cap);
        let place = self.closeness.len();
        let record = &mut self.record;
        record.steps += 1;
        record.episode_return += reward;
        record.discounted_return += self.discount * reward;
        if decision.verdict().intervenes() {
            record.interventions += 1;
            record.discounted_interventions += self.discount;
            record.by_ledger += u64::from(is_by_ledger(&decision, spec));
            self.in_a_row += 1;
            count_at(&mut self.refusals, place);
        } else {
            self.in_a_row = 0;
        }
        record.longest_intervention = record.longest_intervention.max(self.in_a_row);
        if let Some(Branch { what_if, reward: instead }) = branch {
            record.reward_change = record.reward_change.max((reward - instead).abs());
            self.branches.push((place, what_if));
        }
        self.discount *= DISCOUNT;
        self.speeds += world.ego().speed;
        record.close_steps += u64::from(closeness > 0.0);
        let distance = min_distance(world.task(), scene).unwrap_or(f64::INFINITY);
        record.min_distance = record.min_distance.min(distance);
        self.closeness.push(closeness);
    }

    /// Takes down how the episode ended.
    pub(super) fn end(&mut self, world: &World, step: &Step) {
        let record = &mut self.record;
        record.crashed = world.ego().crashed;
        record.off_road = is_off_road(world) && !record.crashed;
        record.success = match world.has_arrived() {
            Some(arrived) => arrived && !record.crashed,
            None => !step.terminated,
        };
    }

    /// The whole record of an episode that has ended; `look_ahead` is over how many decisions a branch is played.
    pub(super) fn record(&self, certificate: &Certificate, look_ahead: u64) -> EpisodeRecord {
        let mut record = self.record;
        let branches = self.branches.iter().map(|(step, what_if)| (*step, what_if));
        record.count(Effects::of(branches, &self.closeness, record.failed(), look_ahead));
        if let Some(account) = &certificate.account {
            (record.start, record.chosen) = (account.start(), account.chosen());
            record.arriving = account.arriving();
        }
        if let Some(memory) = &certificate.memory {
            record.evidence = memory.evidence().value();
            record.recalibration = memory.recalibration().raised();
            record.novelty = memory.novelty().map_or(0.0, cpss_shield::Novelty::value);
            record.alarm = memory.alarm().map(AlarmLine::from);
        }
        record.mean_speed = self.speeds / record.steps as f64;
        record.infeasible = certificate.counts.infeasible;
        record.mispredicted = certificate.counts.mispredicted;
        record.budget_used = certificate.spent / certificate.budget;
        record.budget_kept = certificate.budget_kept;
        record.envelope_held = certificate.envelope_held;
        record
    }
}

/// Whether a proposal was refused only because of what was spent before: with an unspent ledger it would
/// have run.
pub(crate) fn is_by_ledger(decision: &Decision, spec: &ShieldSpec) -> bool {
    let left = u64::from(spec.horizon).saturating_sub(decision.step());
    let share = spec.pace * spec.budget / (left as f64 + spec.epsilon);
    let unspent = if left > 0 { share.min(spec.budget) } else { 0.0 };
    // Who is passed over for a price was admissible as it is.
    let is_refused = decision.verdict().reason() != Some(Reason::Priced);
    is_refused && decision.cost_proposed() <= unspent.min(spec.tau_cap) * decision.gain()
}

fn count_at(counts: &mut Vec<u32>, place: usize) {
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += 1;
}
