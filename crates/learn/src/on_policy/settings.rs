//! Which numbers does an on-policy run depend on?
//!
//! [`OnPolicySpec`] is what a person writes, [`OnPolicy`] the same, checked. Defaults and meanings are those of
//! Stable-Baselines3's PPO, with OmniSafe's for the costs and for CPO; where a field has another name there, its
//! documentation gives it. The algorithm is a field:
//!
//! ```toml
//! total_steps = 200_000
//!
//! # Nothing here is PPO; `[constraint.lagrangian]` is PPO-Lagrangian; `[constraint.cpo]` is CPO.
//! [constraint.cpo]
//! budget = 0.01
//! ```
//!
//! Four differences in meaning from Stable-Baselines3: a rollout counts steps over all worlds; advantages are
//! normalised once per rollout, not per minibatch; policy and values are separate networks, each with an Adam
//! (PyTorch's epsilon, 1e-8) and a gradient clipped on its own, so that there is no `vf_coef`; samples that do not
//! fill a minibatch sit out that epoch.

use serde::{Deserialize, Serialize};

use crate::multiplier::MultiplierSpec;
use crate::settings::BadSetting;
use crate::topology::{Activation, MAX_UNITS};

/// An on-policy run's settings as a person writes them; not yet checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OnPolicySpec {
    /// Environment steps in the whole run, at least 1. Steps at the end that fill no rollout teach nothing.
    pub total_steps: u64,
    /// Units of each hidden layer, in the policy and in each value network.
    pub hidden: Vec<usize>,
    /// The hidden layers' activation.
    pub activation: Activation,
    /// Adam's step size, above 0.
    pub learning_rate: f64,
    /// Steps played between one round of learning and the next, over all worlds together and rounded up to a
    /// multiple of their number; at most `total_steps`. (`n_steps` times the number of worlds.)
    pub rollout_steps: usize,
    /// Samples in one minibatch; at most `rollout_steps`.
    pub batch_size: usize,
    /// Times that learning goes through a rollout. (`n_epochs`)
    pub epochs: usize,
    /// Discount of the next step's reward, in 0 to 1.
    pub gamma: f64,
    /// How far an advantage looks ahead before it trusts the value network, in 0 to 1.
    pub gae_lambda: f64,
    /// Discount of the next step's cost, in 0 to 1.
    pub cost_gamma: f64,
    /// As `gae_lambda`, for the cost. (OmniSafe's `lam_c`)
    pub cost_gae_lambda: f64,
    /// How far an action's probability may move before the loss stops rewarding it, above 0. Not used by CPO.
    pub clip_range: f64,
    /// What a nat of entropy is worth in the loss, from 0. Not used by CPO. (`ent_coef`)
    pub entropy_coefficient: f64,
    /// Greatest length of a gradient, above 0.
    pub max_grad_norm: f64,
    /// KL divergence above which, by half as much again, a rollout's learning stops early; none never does. CPO has
    /// its own.
    pub target_kl: Option<f64>,
    /// What holds the policy to a limit on incidents, and so which algorithm this is.
    pub constraint: Constraint,
}

/// What holds a policy to a limit on incidents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Constraint {
    /// Nothing: PPO.
    #[default]
    None,
    /// A price of incidents, learned against a budget: PPO-Lagrangian.
    Lagrangian(MultiplierSpec),
    /// The limit is part of each step's problem: CPO.
    Cpo(CpoSpec),
}

/// The numbers of CPO; defaults are OmniSafe's, but for the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CpoSpec {
    /// Incidents per episode that are allowed, above 0 and below 1. (`cost_limit`)
    pub budget: f64,
    /// Greatest mean KL divergence of one step, above 0.
    pub target_kl: f64,
    /// Rounds of conjugate gradient, at least 1. (`cg_iters`)
    pub cg_iterations: usize,
    /// What is added to the Fisher matrix's diagonal, from 0.
    pub cg_damping: f64,
    /// Step lengths tried, at least 1. (`total_steps` of its line search)
    pub line_search_steps: usize,
    /// Each of them as a share of the one before, above 0 and below 1. (`decay`)
    pub line_search_decay: f64,
}

impl Default for OnPolicySpec {
    fn default() -> OnPolicySpec {
        OnPolicySpec {
            total_steps: 200_000,
            hidden: vec![64, 64],
            activation: Activation::Tanh,
            learning_rate: 3e-4,
            rollout_steps: 2_048,
            batch_size: 64,
            epochs: 10,
            gamma: 0.99,
            gae_lambda: 0.95,
            cost_gamma: 0.99,
            cost_gae_lambda: 0.95,
            clip_range: 0.2,
            entropy_coefficient: 0.0,
            max_grad_norm: 0.5,
            target_kl: None,
            constraint: Constraint::None,
        }
    }
}

impl Default for CpoSpec {
    fn default() -> CpoSpec {
        CpoSpec {
            budget: 0.01,
            target_kl: 0.01,
            cg_iterations: 15,
            cg_damping: 0.1,
            line_search_steps: 15,
            line_search_decay: 0.8,
        }
    }
}

/// An on-policy run's settings, checked. Built from an [`OnPolicySpec`].
#[derive(Clone, Debug, PartialEq)]
pub struct OnPolicy(OnPolicySpec);

impl OnPolicy {
    /// Checks a spec, so that training cannot divide by zero, wait for ever or learn nothing.
    ///
    /// # Errors
    ///
    /// The first field whose value is outside the range its documentation gives.
    pub fn new(spec: OnPolicySpec) -> Result<OnPolicy, BadSetting> {
        for &width in &spec.hidden {
            check("hidden", width as f64, 1.0..=MAX_UNITS as f64)?;
        }
        check("total_steps", spec.total_steps as f64, 1.0..=1e12)?;
        check("learning_rate", spec.learning_rate, f64::MIN_POSITIVE..=1e3)?;
        let longest = (spec.total_steps as f64).min(MAX_ROLLOUT);
        check("rollout_steps", spec.rollout_steps as f64, 1.0..=longest)?;
        let largest = spec.rollout_steps.min(MAX_UNITS) as f64;
        check("batch_size", spec.batch_size as f64, 1.0..=largest)?;
        check("epochs", spec.epochs as f64, 1.0..=1e6)?;
        check("gamma", spec.gamma, 0.0..=1.0)?;
        check("gae_lambda", spec.gae_lambda, 0.0..=1.0)?;
        check("cost_gamma", spec.cost_gamma, 0.0..=1.0)?;
        check("cost_gae_lambda", spec.cost_gae_lambda, 0.0..=1.0)?;
        check("clip_range", spec.clip_range, 1e-9..=1e9)?;
        check("entropy_coefficient", spec.entropy_coefficient, 0.0..=1e6)?;
        check("max_grad_norm", spec.max_grad_norm, f64::MIN_POSITIVE..=1e9)?;
        if let Some(target_kl) = spec.target_kl {
            check("target_kl", target_kl, 1e-9..=1e9)?;
        }
        match &spec.constraint {
            Constraint::None => {}
            Constraint::Lagrangian(multiplier) => multiplier.check()?,
            Constraint::Cpo(cpo) => cpo.check()?,
        }
        Ok(OnPolicy(spec))
    }

    /// The numbers.
    pub fn spec(&self) -> &OnPolicySpec {
        &self.0
    }
}

/// A longer rollout than this is a mistake or a damaged file.
const MAX_ROLLOUT: f64 = 1e6;

impl CpoSpec {
    fn check(&self) -> Result<(), BadSetting> {
        check("constraint.cpo.budget", self.budget, 1e-9..=0.999_999)?;
        check("constraint.cpo.target_kl", self.target_kl, 1e-9..=1e3)?;
        check("constraint.cpo.cg_iterations", self.cg_iterations as f64, 1.0..=1e4)?;
        check("constraint.cpo.cg_damping", self.cg_damping, 0.0..=1e6)?;
        check("constraint.cpo.line_search_steps", self.line_search_steps as f64, 1.0..=1e4)?;
        check("constraint.cpo.line_search_decay", self.line_search_decay, 1e-6..=0.999_999)
    }
}

fn check(
    field: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
) -> Result<(), BadSetting> {
    if range.contains(&value) { Ok(()) } else { Err(BadSetting { field, value, range }) }
}
