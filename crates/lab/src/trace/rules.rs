//! How are a shield's rules written down, so that it can be set up again?

use cpss_shield::{Charge, GainSpec, Mode, ShieldSpec};
use serde::{Deserialize, Serialize};

/// A [`ShieldSpec`], all of it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// `B`.
    pub budget: f64,
    /// `T`.
    pub horizon: u32,
    /// The `epsilon` of Eq. 4.
    pub epsilon: f64,
    /// The most that a decision may cost.
    pub tau_cap: f64,
    /// How many decisions' shares of the budget left one decision may spend.
    pub pace: f64,
    /// The weight of risk against preferences; 0 without a price.
    pub price: f64,
    /// Which cost is charged.
    pub charge: ChargeName,
    /// The gain.
    pub gain: Gain,
    /// Weight of the newest density.
    pub smoothing: f64,
    /// `min-risk` or `best-admissible`.
    pub fallback: crate::play::arm::FallbackName,
    /// Whether verdicts were only recorded.
    pub shadow: bool,
    /// The action for when no cost is usable.
    pub last_resort: usize,
}

/// Which cost is charged, by its name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChargeName {
    /// What was observed.
    Observed,
    /// What was judged.
    Predicted,
}

/// A [`GainSpec`].
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Gain {
    /// Always 1.
    Constant {},
    /// `exp(-x)`.
    Exponential {
        /// Strength of the density.
        k_density: f64,
        /// Strength of its change.
        k_change: f64,
        /// The least gain.
        floor: f64,
    },
    /// `1 / (1 + x)`.
    Rational {
        /// Strength of the density.
        k_density: f64,
        /// Strength of its change.
        k_change: f64,
        /// The least gain.
        floor: f64,
    },
}

impl Rules {
    /// The rules as a spec.
    pub fn spec(&self) -> ShieldSpec {
        ShieldSpec {
            budget: self.budget,
            horizon: self.horizon,
            epsilon: self.epsilon,
            tau_cap: self.tau_cap,
            pace: self.pace,
            price: self.price,
            charge: match self.charge {
                ChargeName::Observed => Charge::Observed,
                ChargeName::Predicted => Charge::Predicted,
            },
            gain: match self.gain {
                Gain::Constant {} => GainSpec::Constant,
                Gain::Exponential { k_density, k_change, floor } => {
                    GainSpec::Exponential { k_density, k_change, floor }
                }
                Gain::Rational { k_density, k_change, floor } => {
                    GainSpec::Rational { k_density, k_change, floor }
                }
            },
            smoothing: self.smoothing,
            fallback: self.fallback.into(),
            mode: if self.shadow { Mode::Shadow } else { Mode::Enforce },
            last_resort: self.last_resort,
        }
    }
}

impl From<&ShieldSpec> for Rules {
    fn from(spec: &ShieldSpec) -> Rules {
        Rules {
            budget: spec.budget,
            horizon: spec.horizon,
            epsilon: spec.epsilon,
            tau_cap: spec.tau_cap,
            pace: spec.pace,
            price: spec.price,
            charge: match spec.charge {
                Charge::Observed => ChargeName::Observed,
                Charge::Predicted => ChargeName::Predicted,
            },
            gain: match spec.gain {
                GainSpec::Constant => Gain::Constant {},
                GainSpec::Exponential { k_density, k_change, floor } => {
                    Gain::Exponential { k_density, k_change, floor }
                }
                GainSpec::Rational { k_density, k_change, floor } => {
                    Gain::Rational { k_density, k_change, floor }
                }
            },
            smoothing: spec.smoothing,
            fallback: spec.fallback.into(),
            shadow: spec.mode == Mode::Shadow,
            last_resort: spec.last_resort,
        }
    }
}
