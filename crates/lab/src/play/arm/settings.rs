//! How does a person write a shield down?
//!
//! [`ShieldSettings`]: a [`ShieldSpec`] with words for its choices, read from TOML. The shipped ones are one list for
//! all tasks, and for each task only what the task itself is.

use std::path::Path;

use anyhow::{Context, Result};
use cpss_highway::TaskId;
use cpss_shield::{Charge, Fallback, GainSpec, ShieldSpec};
use serde::{Deserialize, Serialize};

use crate::tasks::{self, ShieldNumbers};

/// A shield as a person writes it, in TOML; [`ShieldSpec`] with words for its choices.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShieldSettings {
    /// Budget `B` for an episode: how likely an incident may be beyond what cannot be avoided.
    pub budget: f64,
    /// How many decisions' shares of the budget left one decision may spend; 1 is the paper's.
    #[serde(default = "one")]
    pub pace: f64,
    /// The weight of risk against the policy's preferences in the `priced` arm, above 0.
    #[serde(default = "one")]
    pub price: f64,
    /// Horizon `T` \[decisions\].
    pub horizon: u32,
    /// The most that one decision may cost, below 1.
    #[serde(default = "default_cap")]
    pub tau_cap: f64,
    /// Strength of the density in the exponential gain.
    #[serde(default = "one")]
    pub k_density: f64,
    /// Strength of the density's change in it.
    #[serde(default = "one")]
    pub k_change: f64,
    /// The least gain.
    #[serde(default = "default_floor")]
    pub gain_floor: f64,
    /// Weight of the newest density in the smoothed one.
    #[serde(default = "default_smoothing")]
    pub smoothing: f64,
    /// Which action replaces a refused one.
    #[serde(default)]
    pub fallback: FallbackName,
    /// The action that runs when no cost is usable.
    #[serde(default)]
    pub last_resort: usize,
    /// Where a memory is kept: by how much a surprise of 1 shifts the log-odds of all risks from then on.
    #[serde(default = "default_recalibration")]
    pub recalibration: f64,
}

/// A fallback by its name.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FallbackName {
    /// The least cost: the paper's.
    MinRisk,
    /// The admissible action that the policy likes most.
    #[default]
    BestAdmissible,
}

impl From<FallbackName> for Fallback {
    fn from(name: FallbackName) -> Fallback {
        match name {
            FallbackName::MinRisk => Fallback::MinRisk,
            FallbackName::BestAdmissible => Fallback::BestAdmissible,
        }
    }
}

impl From<Fallback> for FallbackName {
    fn from(fallback: Fallback) -> FallbackName {
        match fallback {
            Fallback::MinRisk => FallbackName::MinRisk,
            Fallback::BestAdmissible => FallbackName::BestAdmissible,
        }
    }
}

impl ShieldSettings {
    /// The shipped settings: one for all tasks and regimes, but for the horizon and the last resort.
    ///
    /// # Errors
    ///
    /// For a task that has none.
    pub fn shipped(id: TaskId) -> Result<ShieldSettings> {
        let shared = include_str!("../../../../../experiments/shield.toml");
        let ShieldNumbers { horizon, last_resort } =
            tasks::of(id).spec.shield.with_context(|| {
                format!("no shield is shipped for {0}: tasks/{0}/task.toml has none", id.name())
            })?;
        toml::from_str(&format!("horizon = {horizon}\nlast_resort = {last_resort}\n{shared}"))
            .with_context(|| format!("the shipped shield of {}", id.name()))
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is no shield.
    pub fn read(path: &Path) -> Result<ShieldSettings> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the shield {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("the shield {}", path.display()))
    }

    pub(super) fn spec(&self) -> ShieldSpec {
        ShieldSpec {
            tau_cap: self.tau_cap,
            pace: self.pace,
            // What was judged is charged: costs are risks, and what cannot be avoided is nobody's choice.
            charge: Charge::Predicted,
            gain: GainSpec::Exponential {
                k_density: self.k_density,
                k_change: self.k_change,
                floor: self.gain_floor,
            },
            smoothing: self.smoothing,
            fallback: self.fallback.into(),
            last_resort: self.last_resort,
            ..ShieldSpec::new(self.budget, self.horizon)
        }
    }
}

pub(super) fn one() -> f64 {
    1.0
}

fn default_cap() -> f64 {
    0.5
}

pub(super) fn default_recalibration() -> f64 {
    2.0
}

pub(super) fn default_floor() -> f64 {
    0.1
}

fn default_smoothing() -> f64 {
    0.2
}
