//! Which methods are compared?
//!
//! An [`Arm`] says who proposes and how the proposal is judged. Every arm has a shield: one that
//! acts, or, for the unshielded arms, a shadow that only keeps the account, so that all are
//! measured by the same yardstick. [`ShieldSettings`] is the shield as a person writes it.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};
use cpss_highway::TaskId;
use cpss_shield::{Fallback, GainSpec, Mode, ShieldSpec};
use serde::{Deserialize, Serialize};

/// A method of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The policy alone.
    Dqn,
    /// The policy under the whole shield.
    Cpss,
    /// The same with another budget: so many thousandths of the usual.
    CpssScaled(u32),
    /// The same costs against one constant threshold.
    Fixed,
    /// The same with another threshold: so many thousandths of the usual.
    FixedScaled(u32),
    /// The budget without the context's gain.
    BudgetOnly,
    /// The context's gain without the budget.
    ContextOnly,
    /// The whole shield with costs from branching the true world: privileged, an upper bound.
    Oracle,
    /// Random proposals, unshielded.
    Random,
    /// The same proposal always, unshielded.
    Constant(usize),
}

impl Arm {
    /// The arms that the policy proposes in, in the order of tables.
    pub const POLICY_ARMS: [Arm; 6] =
        [Arm::Dqn, Arm::Cpss, Arm::Fixed, Arm::BudgetOnly, Arm::ContextOnly, Arm::Oracle];

    /// The shield of this arm.
    pub fn shield(self, settings: &ShieldSettings) -> ShieldSpec {
        let whole = settings.spec();
        // A budget so large that only the cap limits a decision: the ledger counts, and no more.
        let unlimited = f64::from(whole.horizon) * 1e3;
        let fixed = |threshold: f64| ShieldSpec {
            budget: unlimited,
            tau_cap: threshold,
            gain: GainSpec::Constant,
            ..whole
        };
        match self {
            Arm::Cpss | Arm::Oracle => whole,
            Arm::CpssScaled(scale) => ShieldSpec { budget: whole.budget * times(scale), ..whole },
            Arm::Fixed => fixed(settings.fixed_threshold),
            // No threshold may admit a predicted crash, so a large scale ends just below 1.
            Arm::FixedScaled(scale) => fixed((settings.fixed_threshold * times(scale)).min(0.99)),
            Arm::BudgetOnly => ShieldSpec { gain: GainSpec::Constant, ..whole },
            Arm::ContextOnly => ShieldSpec { budget: unlimited, ..whole },
            Arm::Dqn | Arm::Random | Arm::Constant(_) => ShieldSpec { mode: Mode::Shadow, ..whole },
        }
    }

    /// A shield as this arm has it, from settings that agree with `spec` wherever the arm leaves a
    /// choice: what differs from `spec` is what the arm forces.
    pub fn forced(self, spec: &ShieldSpec) -> ShieldSpec {
        let (k_density, k_change, gain_floor) = match spec.gain {
            GainSpec::Exponential { k_density, k_change, floor } => (k_density, k_change, floor),
            _ => (one(), one(), default_floor()),
        };
        let settings = ShieldSettings {
            budget: spec.budget,
            horizon: spec.horizon,
            tau_cap: spec.tau_cap,
            k_density,
            k_change,
            gain_floor,
            smoothing: spec.smoothing,
            fallback: spec.fallback.into(),
            last_resort: spec.last_resort,
            fixed_threshold: spec.tau_cap,
        };
        match self {
            // A scale changes a number that is free to choose.
            Arm::CpssScaled(_) => Arm::Cpss.shield(&settings),
            Arm::FixedScaled(_) => Arm::Fixed.shield(&settings),
            arm => arm.shield(&settings),
        }
    }

    /// Whether its budget can ever limit a decision, so that a share of it means something.
    pub fn binds_ledger(self) -> bool {
        !matches!(self, Arm::Fixed | Arm::FixedScaled(_) | Arm::ContextOnly)
    }

    /// Whether it needs no policy: who proposes is part of the arm.
    pub fn is_floor(self) -> bool {
        matches!(self, Arm::Random | Arm::Constant(_))
    }
}

/// A scale in thousandths as a factor.
fn times(scale: u32) -> f64 {
    f64::from(scale) / 1e3
}

/// Reads `name*FACTOR`, with at most three decimals.
fn scaled(text: &str) -> Option<Arm> {
    let (name, factor) = text.split_once('*')?;
    let factor: f64 = factor.parse().ok().filter(|factor| (0.001..=1000.0).contains(factor))?;
    let scale = (factor * 1e3).round() as u32;
    match name {
        "cpss" => Some(Arm::CpssScaled(scale)),
        "fixed" => Some(Arm::FixedScaled(scale)),
        _ => None,
    }
}

impl FromStr for Arm {
    type Err = String;

    fn from_str(text: &str) -> Result<Arm, String> {
        match text {
            "dqn" => Ok(Arm::Dqn),
            "cpss" => Ok(Arm::Cpss),
            "fixed" => Ok(Arm::Fixed),
            "budget-only" => Ok(Arm::BudgetOnly),
            "context-only" => Ok(Arm::ContextOnly),
            "oracle" => Ok(Arm::Oracle),
            "random" => Ok(Arm::Random),
            _ => text
                .strip_prefix("constant:")
                .and_then(|index| index.parse().ok())
                .map(Arm::Constant)
                .or_else(|| scaled(text))
                .ok_or_else(|| {
                    "give dqn, cpss, fixed, budget-only, context-only, oracle, random or \
                     constant:K; cpss*F for F times the budget, fixed*F for F times the threshold"
                        .to_owned()
                }),
        }
    }
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arm::Dqn => f.write_str("dqn"),
            Arm::Cpss => f.write_str("cpss"),
            Arm::CpssScaled(scale) => write!(f, "cpss*{}", times(*scale)),
            Arm::Fixed => f.write_str("fixed"),
            Arm::FixedScaled(scale) => write!(f, "fixed*{}", times(*scale)),
            Arm::BudgetOnly => f.write_str("budget-only"),
            Arm::ContextOnly => f.write_str("context-only"),
            Arm::Oracle => f.write_str("oracle"),
            Arm::Random => f.write_str("random"),
            Arm::Constant(index) => write!(f, "constant:{index}"),
        }
    }
}

/// A shield as a person writes it, in TOML; [`ShieldSpec`] with words for its choices.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShieldSettings {
    /// Budget `B` for an episode.
    pub budget: f64,
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
    /// The constant threshold of the `fixed` arm.
    #[serde(default = "default_fixed")]
    pub fixed_threshold: f64,
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
        let text = match id {
            TaskId::MergeV0 | TaskId::MergeV1 => {
                include_str!("../../../experiments/shields/merge.toml")
            }
            TaskId::HighwayV0 | TaskId::HighwayFastV0 => {
                include_str!("../../../experiments/shields/highway.toml")
            }
            TaskId::IntersectionV0 | TaskId::IntersectionV2 => {
                include_str!("../../../experiments/shields/intersection.toml")
            }
            TaskId::RacetrackV0 | TaskId::RacetrackV1 => {
                include_str!("../../../experiments/shields/racetrack.toml")
            }
        };
        let shared = include_str!("../../../experiments/shield.toml");
        toml::from_str(&format!("{text}\n{shared}"))
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

    fn spec(&self) -> ShieldSpec {
        ShieldSpec {
            tau_cap: self.tau_cap,
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

fn one() -> f64 {
    1.0
}

fn default_cap() -> f64 {
    0.5
}

fn default_floor() -> f64 {
    0.1
}

fn default_smoothing() -> f64 {
    0.2
}

fn default_fixed() -> f64 {
    0.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_shield::Shield;

    #[test]
    fn every_arm_of_every_task_has_a_valid_shield() {
        for id in TaskId::ALL {
            let settings = ShieldSettings::shipped(id).unwrap();
            for arm in Arm::POLICY_ARMS {
                let shield = Shield::new(arm.shield(&settings)).unwrap();
                let acts = shield.rules().spec().mode == Mode::Enforce;
                assert_eq!(acts, arm != Arm::Dqn, "{id:?} {arm}");
            }
        }
    }

    #[test]
    fn a_scaled_arm_differs_in_one_number() {
        let settings = ShieldSettings::shipped(TaskId::MergeV0).unwrap();
        let usual = Arm::Cpss.shield(&settings);
        let scaled = Arm::CpssScaled(500).shield(&settings);
        assert_eq!(scaled, ShieldSpec { budget: usual.budget / 2.0, ..usual });
        let scaled = Arm::FixedScaled(500).shield(&settings);
        assert_eq!(scaled.tau_cap, settings.fixed_threshold / 2.0);
        assert!(Shield::new(Arm::FixedScaled(100_000).shield(&settings)).is_ok());
    }

    #[test]
    fn an_arm_forces_no_more_than_it_is() {
        for id in TaskId::ALL {
            let settings = ShieldSettings::shipped(id).unwrap();
            let some = [Arm::CpssScaled(70), Arm::FixedScaled(70), Arm::Random, Arm::Constant(1)];
            for arm in Arm::POLICY_ARMS.into_iter().chain(some) {
                let spec = arm.shield(&settings);
                assert_eq!(arm.forced(&spec), spec, "{id:?} {arm}");
            }
            let whole = Arm::Cpss.shield(&settings);
            for arm in [Arm::Dqn, Arm::Fixed, Arm::BudgetOnly, Arm::ContextOnly] {
                assert_ne!(arm.forced(&whole), whole, "{id:?} {arm}");
            }
        }
    }

    #[test]
    fn an_arm_is_read_as_it_is_written() {
        for arm in Arm::POLICY_ARMS.into_iter().chain([
            Arm::Random,
            Arm::Constant(3),
            Arm::CpssScaled(50),
            Arm::FixedScaled(2000),
        ]) {
            assert_eq!(arm.to_string().parse::<Arm>(), Ok(arm));
        }
        assert_eq!("cpss*0.05".parse(), Ok(Arm::CpssScaled(50)));
        assert!("dqn*2".parse::<Arm>().is_err() && "cpss*nan".parse::<Arm>().is_err());
        assert!("shield".parse::<Arm>().is_err());
    }
}
