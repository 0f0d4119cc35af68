//! Which numbers does a training run depend on?
//!
//! [`DqnSpec`] is what a person writes: each field has Stable-Baselines3's name and meaning, and the
//! default is highway-env's own DQN script. [`Dqn`] is the same, checked. Variants of the algorithm
//! are fields here, not other learners.
//!
//! One difference in meaning: intervals count environment steps over all worlds, so that changing
//! the number of worlds changes neither the updates per step nor the age of the target network.

use serde::{Deserialize, Serialize};

use crate::multiplier::MultiplierSpec;
use crate::quantile::QuantileSpec;
use crate::topology::{Activation, MAX_UNITS};

/// A training run's settings as a person writes them; not yet checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DqnSpec {
    /// Environment steps in the whole run, at least 1.
    pub total_steps: u64,
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// The hidden layers' activation.
    pub activation: Activation,
    /// Adam's step size, above 0.
    pub learning_rate: f64,
    /// Adam's step size at the end of the run, above 0, reached along a straight line; none keeps
    /// it as it is. What the last updates do is what the policy is, so small ones make it steadier.
    pub learning_rate_final: Option<f64>,
    /// Transitions remembered.
    pub buffer_size: usize,
    /// Steps of uniformly random actions before the first update.
    pub learning_starts: u64,
    /// Transitions in one update.
    pub batch_size: usize,
    /// Discount of the next step's value, in 0 to 1.
    pub gamma: f64,
    /// Environment steps from one round of updates to the next.
    pub train_freq: u64,
    /// Updates in one round.
    pub gradient_steps: u64,
    /// Environment steps from one copy of the target network to the next.
    pub target_update_interval: u64,
    /// Share of the run over which exploration falls, in 0 to 1.
    pub exploration_fraction: f64,
    /// Probability of a random action at the start, in 0 to 1.
    pub exploration_initial_eps: f64,
    /// Probability of a random action from the end of that share on, in 0 to 1.
    pub exploration_final_eps: f64,
    /// Greatest length of a gradient, above 0.
    pub max_grad_norm: f64,
    /// Whether the online network chooses the action that the target network values (van Hasselt
    /// et al., 2016).
    pub double: bool,
    /// Whether the network's head has a value and advantages (Wang et al., 2016).
    pub dueling: bool,
    /// Quantiles of the return in place of its mean (Dabney et al., 2018); not with `dueling`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<QuantileSpec>,
    /// A price on incidents that is learned against a budget (Tessler et al., 2019).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<MultiplierSpec>,
    /// Which action a transition is remembered with, where a shield inside the world may run another one.
    #[serde(skip_serializing_if = "is_usual")]
    pub remember: Remember,
}

/// Which action a transition is remembered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Remember {
    /// The one that ran: what came of it is what it leads to.
    #[default]
    Executed,
    /// The one that was proposed: the shield is part of the world.
    Proposed,
}

fn is_usual(remember: &Remember) -> bool {
    *remember == Remember::default()
}

impl Default for DqnSpec {
    fn default() -> DqnSpec {
        DqnSpec {
            total_steps: 20_000,
            hidden: vec![256, 256],
            activation: Activation::Relu,
            learning_rate: 5e-4,
            learning_rate_final: None,
            buffer_size: 15_000,
            learning_starts: 200,
            batch_size: 32,
            gamma: 0.8,
            train_freq: 1,
            gradient_steps: 1,
            target_update_interval: 50,
            exploration_fraction: 0.1,
            exploration_initial_eps: 1.0,
            exploration_final_eps: 0.05,
            max_grad_norm: 10.0,
            double: false,
            dueling: false,
            quantiles: None,
            multiplier: None,
            remember: Remember::Executed,
        }
    }
}

/// A training run's settings, checked. Built from a [`DqnSpec`].
#[derive(Clone, Debug, PartialEq)]
pub struct Dqn(DqnSpec);

impl Dqn {
    /// Checks a spec, so that training cannot divide by zero or wait for ever.
    ///
    /// # Errors
    ///
    /// The first field whose value is outside the range its documentation gives.
    pub fn new(spec: DqnSpec) -> Result<Dqn, BadSetting> {
        let check = |field, value: f64, range: std::ops::RangeInclusive<f64>| {
            if range.contains(&value) { Ok(()) } else { Err(BadSetting { field, value, range }) }
        };
        let counts = 1.0..=1e12;
        let units = 1.0..=MAX_UNITS as f64;
        for &width in &spec.hidden {
            check("hidden", width as f64, units.clone())?;
        }
        check("total_steps", spec.total_steps as f64, counts.clone())?;
        let rates = f64::MIN_POSITIVE..=1e3;
        check("learning_rate", spec.learning_rate, rates.clone())?;
        if let Some(rate) = spec.learning_rate_final {
            check("learning_rate_final", rate, rates)?;
        }
        check("buffer_size", spec.buffer_size as f64, 1.0..=1e8)?;
        check("learning_starts", spec.learning_starts as f64, 0.0..=1e12)?;
        check("batch_size", spec.batch_size as f64, units)?;
        check("gamma", spec.gamma, 0.0..=1.0)?;
        check("train_freq", spec.train_freq as f64, counts.clone())?;
        check("gradient_steps", spec.gradient_steps as f64, 1.0..=1e6)?;
        check("target_update_interval", spec.target_update_interval as f64, counts)?;
        check("exploration_fraction", spec.exploration_fraction, 0.0..=1.0)?;
        check("exploration_initial_eps", spec.exploration_initial_eps, 0.0..=1.0)?;
        check("exploration_final_eps", spec.exploration_final_eps, 0.0..=1.0)?;
        check("max_grad_norm", spec.max_grad_norm, f64::MIN_POSITIVE..=1e9)?;
        if let Some(quantiles) = spec.quantiles {
            check("count", quantiles.count as f64, 1.0..=1e3)?;
            check("level", quantiles.level, f64::MIN_POSITIVE..=1.0)?;
            // A head of a value and advantages has one number for each action.
            check("dueling", f64::from(u8::from(spec.dueling)), 0.0..=0.0)?;
        }
        spec.multiplier.map_or(Ok(()), |multiplier| multiplier.check())?;
        Ok(Dqn(spec))
    }

    /// The numbers.
    pub fn spec(&self) -> &DqnSpec {
        &self.0
    }
}

/// A number in a spec with which no run could be trained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{field}` is {value}, outside {} to {}", range.start(), range.end())]
pub struct BadSetting {
    /// The field's name, as in the spec.
    pub field: &'static str,
    /// What it held.
    pub value: f64,
    /// What it may hold.
    pub range: std::ops::RangeInclusive<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_settings_are_refused_by_name() {
        let spec = DqnSpec::default;
        let quantiles = |count, level| Some(QuantileSpec { count, level });
        let free = MultiplierSpec { budget: 1.0, ..MultiplierSpec::default() };
        for (spec, field) in [
            (DqnSpec { total_steps: 0, ..spec() }, "total_steps"),
            (DqnSpec { hidden: vec![64, 0], ..spec() }, "hidden"),
            (DqnSpec { learning_rate: 0.0, ..spec() }, "learning_rate"),
            (DqnSpec { learning_rate_final: Some(0.0), ..spec() }, "learning_rate_final"),
            (DqnSpec { buffer_size: 0, ..spec() }, "buffer_size"),
            (DqnSpec { batch_size: 0, ..spec() }, "batch_size"),
            (DqnSpec { gamma: 1.5, ..spec() }, "gamma"),
            (DqnSpec { gamma: f64::NAN, ..spec() }, "gamma"),
            (DqnSpec { train_freq: 0, ..spec() }, "train_freq"),
            (DqnSpec { gradient_steps: 0, ..spec() }, "gradient_steps"),
            (DqnSpec { target_update_interval: 0, ..spec() }, "target_update_interval"),
            (DqnSpec { exploration_fraction: -0.1, ..spec() }, "exploration_fraction"),
            (DqnSpec { exploration_final_eps: 2.0, ..spec() }, "exploration_final_eps"),
            (DqnSpec { max_grad_norm: 0.0, ..spec() }, "max_grad_norm"),
            (DqnSpec { quantiles: quantiles(0, 1.0), ..spec() }, "count"),
            (DqnSpec { quantiles: quantiles(8, 0.0), ..spec() }, "level"),
            (DqnSpec { quantiles: quantiles(8, 0.5), dueling: true, ..spec() }, "dueling"),
            (DqnSpec { multiplier: Some(free), ..spec() }, "budget"),
        ] {
            assert_eq!(Dqn::new(spec).unwrap_err().field, field);
        }
        assert!(Dqn::new(spec()).is_ok());
    }

    #[test]
    fn a_file_lists_only_what_differs_and_a_misspelt_key_is_refused() {
        let spec: DqnSpec = serde_json::from_str(r#"{"gamma": 0.9, "double": true}"#).unwrap();
        assert_eq!(spec, DqnSpec { gamma: 0.9, double: true, ..DqnSpec::default() });
        let error = serde_json::from_str::<DqnSpec>(r#"{"gama": 0.9}"#).unwrap_err();
        assert!(error.to_string().contains("gama"));
    }
}
