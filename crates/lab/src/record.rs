//! What is kept of an episode as numbers?
//!
//! An [`EpisodeRecord`]: one line of an experiment's records, and the last line of a trace. Everything
//! in tables and figures is a sum over these.

use serde::{Deserialize, Serialize};

pub mod exact;
pub mod memory;
pub mod pose;
pub mod what_if;

use exact::Exact;
use memory::AlarmLine;
use what_if::Effects;

/// What came of one episode.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EpisodeRecord {
    /// Its seed.
    pub seed: u64,
    /// Decisions taken.
    pub steps: u64,
    /// Whether the ego crashed.
    pub crashed: bool,
    /// Whether it ended off the road (racetrack).
    pub off_road: bool,
    /// Whether it got where it was going, or lasted until the time was up.
    pub success: bool,
    /// Sum of rewards.
    pub episode_return: f64,
    /// Discounted sum of rewards, for Theorem 3.
    pub discounted_return: f64,
    /// Mean speed \[m/s\].
    pub mean_speed: f64,
    /// Steps that came close to something.
    pub close_steps: u64,
    /// Smallest distance to another vehicle, or to the boundary \[m\].
    #[serde(with = "crate::record::exact")]
    pub min_distance: f64,
    /// Steps on which the proposal was (or, in the shadow, would have been) refused.
    pub interventions: u64,
    /// The most of these in a row.
    pub longest_intervention: u64,
    /// Discounted count of these, for Theorem 3.
    pub discounted_interventions: f64,
    /// The most that a refusal changed the reward of its step, for Theorem 3.
    pub reward_change: f64,
    /// Replaced actions that would have led to a failure, which did not come.
    pub avoided: u64,
    /// Replaced actions that would have led to a failure, which came all the same.
    pub unavoided: u64,
    /// Replaced actions that would have led closer to others than the ego really came.
    pub closer: u64,
    /// Replaced actions that would have led to nothing worse.
    pub false_alarms: u64,
    /// Interventions that happened only because of what had been spent before.
    pub by_ledger: u64,
    /// Steps on which no action was admissible.
    pub infeasible: u64,
    /// Steps on which the executed action was predicted admissible and cost more.
    pub mispredicted: u64,
    /// Share of the budget that was spent.
    pub budget_used: f64,
    /// Whether no more than the budget was spent.
    pub budget_kept: bool,
    /// Whether the envelope held at every step.
    pub envelope_held: bool,
    /// The account: the risk at the start that could not be avoided,
    pub start: f64,
    /// the avoidable risk that was let through and charged,
    pub chosen: f64,
    /// and the risk that came into view where the look-ahead is limited. What is left of an incident, or
    /// missing for one, is [`EpisodeRecord::surprise`].
    pub arriving: f64,
    /// The evidence, at the end, that the critic underestimates risk.
    pub evidence: f64,
    /// By how much the log-odds of what cannot be avoided are raised, as its surprises have led to.
    pub recalibration: f64,
    /// How badly the episode's scenes were foretold, where that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Exact>,
    /// The evidence, at the end, that the world is not the one that the critic was calibrated in; 0 where no scores
    /// are watched.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub novelty: f64,
    /// The alarm that was raised by then, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<AlarmLine>,
}

/// Whether nothing has to be written.
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// An incident, or an incident rate, in four parts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Account {
    /// Risk at the start that could not be avoided.
    pub start: f64,
    /// Avoidable risk that the shield let the policy choose.
    pub chosen: f64,
    /// What the critic did not foresee.
    pub surprise: f64,
    /// Risk that came into view, where the look-ahead is limited.
    pub arriving: f64,
}

impl EpisodeRecord {
    /// Whether the ego crashed, or on the racetrack left the road.
    pub fn failed(&self) -> bool {
        self.crashed || self.off_road
    }

    /// What the critic did not foresee: with it, the account of every episode comes to 1 if there was an
    /// incident, and to 0 if there was none.
    pub fn surprise(&self) -> f64 {
        f64::from(u8::from(self.failed())) - self.start - self.chosen - self.arriving
    }

    /// Where its incident came from, or why there was none.
    pub fn account(&self) -> Account {
        let surprise = self.surprise();
        Account { start: self.start, chosen: self.chosen, surprise, arriving: self.arriving }
    }

    /// What a budget promises of the episode: the chance of an incident is at most this, if the critic is
    /// conservative. `None` where a budget allows everything, and so promises nothing.
    pub fn promise(&self, budget: f64) -> Option<f64> {
        (budget < 1.0).then_some(self.start + self.arriving + budget)
    }

    /// Steps on which another action ran than the proposed one, and the proposed one was tried in a
    /// branch of the world.
    pub fn replaced(&self) -> u64 {
        self.avoided + self.unavoided + self.closer + self.false_alarms
    }

    /// Takes down what the replaced actions would have led to.
    pub fn count(&mut self, effects: Effects) {
        let Effects { avoided, unavoided, closer, nothing } = effects;
        (self.avoided, self.unavoided) = (avoided, unavoided);
        (self.closer, self.false_alarms) = (closer, nothing);
    }
}
