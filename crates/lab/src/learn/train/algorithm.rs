//! Which learners can be compared, and what does each learn in?
//!
//! An [`Algorithm`] is what `cpss train --algorithm` takes. Each is a learner of `cpss_learn` and a world: the plain one,
//! one with the budget in sight, or one with a shield inside. What differs from the task's DQN is said here and nowhere
//! else, with the same numbers for every task.

use std::str::FromStr;

use cpss_learn::{Constraint, CpoSpec, MultiplierSpec, QuantileSpec, Remember};

use super::driving::Inside;
use super::settings::{TrainSettings, TrainSpec};
use crate::play::arm::Arm;

// Each of these is the one of three values that had the fewest incidents; docs/baselines.md has the trials.

/// Share of the worst returns that `cvar` acts on.
const CVAR_LEVEL: f64 = 0.25;
/// How much an incident raises its price in `lagrangian`, and in `ppo-lagrangian`.
const DQN_PRICE_RATE: f64 = 0.01;
const PPO_PRICE_RATE: f64 = 0.03;
/// How far a step of `cpo` may move the policy.
const CPO_TARGET_KL: f64 = 0.03;
/// PPO's step size, the one of three with the highest return; its constrained relatives have it too.
pub(super) const PPO_LEARNING_RATE: f64 = 1e-3;

/// A learner of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Algorithm {
    /// DQN, unconstrained.
    Dqn,
    /// DQN with a learned price on incidents (Tessler et al., 2019).
    Lagrangian,
    /// Quantile DQN that acts on the mean of the worst returns (Dabney et al., 2018; Chow et al., 2015).
    Cvar,
    /// DQN that sees what is left of the budget, and is paid nothing once it is spent (Sootla et al., 2022).
    Saute,
    /// DQN with a constant threshold on risk, while it learns and while it drives (Alshiekh et al., 2018).
    StaticShield,
    /// DQN that learned under the shield, and remembers what ran.
    ShieldedDqn,
    /// The same, and remembers what it had proposed.
    ShieldedDqnProposed,
    /// Proximal policy optimisation, unconstrained (Schulman et al., 2017).
    Ppo,
    /// The same with a learned price on incidents (Ray et al., 2019).
    PpoLagrangian,
    /// Constrained policy optimisation (Achiam et al., 2017).
    Cpo,
}

impl Algorithm {
    /// All of them, in the order of tables.
    pub(crate) const ALL: [Algorithm; 10] = [
        Algorithm::Dqn,
        Algorithm::Lagrangian,
        Algorithm::Cvar,
        Algorithm::Saute,
        Algorithm::StaticShield,
        Algorithm::ShieldedDqn,
        Algorithm::ShieldedDqnProposed,
        Algorithm::Ppo,
        Algorithm::PpoLagrangian,
        Algorithm::Cpo,
    ];

    /// Its name on the command line, in cards, folders and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Algorithm::Dqn => "dqn",
            Algorithm::Lagrangian => "lagrangian",
            Algorithm::Cvar => "cvar",
            Algorithm::Saute => "saute",
            Algorithm::StaticShield => "static-shield",
            Algorithm::ShieldedDqn => "shielded-dqn",
            Algorithm::ShieldedDqnProposed => "shielded-dqn-proposed",
            Algorithm::Ppo => "ppo",
            Algorithm::PpoLagrangian => "ppo-lagrangian",
            Algorithm::Cpo => "cpo",
        }
    }

    /// Makes the task's settings this algorithm's, where they do not say otherwise.
    pub(crate) fn shape(self, spec: &mut TrainSpec) {
        let dqn = &mut spec.dqn;
        match self {
            Algorithm::Lagrangian => {
                dqn.multiplier.get_or_insert(priced(DQN_PRICE_RATE));
            }
            Algorithm::Cvar => {
                dqn.quantiles
                    .get_or_insert(QuantileSpec { level: CVAR_LEVEL, ..QuantileSpec::default() });
                dqn.dueling = false;
            }
            Algorithm::PpoLagrangian if spec.on_policy.constraint == Constraint::None => {
                spec.on_policy.constraint = Constraint::Lagrangian(priced(PPO_PRICE_RATE));
            }
            Algorithm::Cpo if spec.on_policy.constraint == Constraint::None => {
                let cpo = CpoSpec { target_kl: CPO_TARGET_KL, ..CpoSpec::default() };
                spec.on_policy.constraint = Constraint::Cpo(cpo);
            }
            Algorithm::ShieldedDqnProposed => dqn.remember = Remember::Proposed,
            _ => {}
        }
    }

    /// What the world that it learns in has inside.
    pub(crate) fn inside(self, settings: &TrainSettings) -> Inside {
        match self {
            Algorithm::Saute => Inside::Ledger { unsafe_reward: settings.unsafe_reward as f32 },
            Algorithm::StaticShield => Inside::Shield(Arm::Fixed(None)),
            Algorithm::ShieldedDqn | Algorithm::ShieldedDqnProposed => {
                Inside::Shield(Arm::Cpss(None))
            }
            _ => Inside::Nothing,
        }
    }

    /// Whether its policies see what is left of the budget.
    pub(crate) fn sees_budget(self) -> bool {
        self == Algorithm::Saute
    }

    /// The same without a constraint: what it is to be compared with.
    pub(crate) fn unconstrained(self) -> Algorithm {
        match self {
            Algorithm::Ppo | Algorithm::PpoLagrangian | Algorithm::Cpo => Algorithm::Ppo,
            _ => Algorithm::Dqn,
        }
    }
}

fn priced(rate: f64) -> MultiplierSpec {
    MultiplierSpec { rate, ..MultiplierSpec::default() }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == text).ok_or_else(|| {
            format!("give one of {}", Algorithm::ALL.map(Algorithm::name).join(", "))
        })
    }
}
