//! What did some episodes of a deployment come to?
//!
//! A [`Block`] is sums only, so that blocks of many cars add up to one.

use serde::{Deserialize, Serialize};

use crate::measure::deployment::Lived;

/// Sums over some episodes.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Block {
    /// Episodes.
    pub episodes: f64,
    /// With an incident.
    pub incidents: f64,
    /// What was promised.
    pub promise: f64,
    /// Surprises,
    pub surprise: f64,
    /// and their squares.
    pub surprise_squared: f64,
    /// Rewards.
    pub reward: f64,
    /// Decisions.
    pub steps: f64,
    /// Refused proposals.
    pub interventions: f64,
    /// By how much the log-odds of what cannot be avoided were raised.
    pub raised: f64,
}

impl Block {
    pub(crate) fn add(&mut self, other: &Block) {
        self.episodes += other.episodes;
        self.incidents += other.incidents;
        self.promise += other.promise;
        self.surprise += other.surprise;
        self.surprise_squared += other.surprise_squared;
        self.reward += other.reward;
        self.steps += other.steps;
        self.interventions += other.interventions;
        self.raised += other.raised;
    }

    pub(super) fn enter(&mut self, lived: &Lived) {
        self.add(&Block {
            episodes: 1.0,
            incidents: f64::from(u8::from(lived.incident)),
            promise: lived.promise,
            surprise: lived.surprise,
            surprise_squared: lived.surprise * lived.surprise,
            reward: lived.reward,
            steps: lived.steps as f64,
            interventions: lived.interventions as f64,
            raised: lived.raised,
        });
    }

    /// The mean surprise and its 95 % interval.
    pub(crate) fn mean_surprise(&self) -> (f64, [f64; 2]) {
        let n = self.episodes.max(1.0);
        let mean = self.surprise / n;
        // Without a single incident the sample knows nothing of their spread: as if there had been one.
        let variance = (self.surprise_squared / n - mean * mean).max(1.0 / n);
        let half = 1.96 * (variance / n).sqrt();
        (mean, [mean - half, mean + half])
    }
}
