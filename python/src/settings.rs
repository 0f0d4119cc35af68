//! Which numbers does a shield take from Python, and what are a task's own?
//!
//! [`spec_of`] reads a dictionary, [`shield_settings`] writes one. **Invariant:** a key that nobody knows is
//! an error; whether its numbers make sense is for the shield to say.

use cpss::arm::{Arm, FallbackName, ShieldSettings};
use cpss_highway::TaskId;
use cpss_shield::{Fallback, GainSpec, Mode, ShieldSpec};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::value_error;

/// Reads a shield's settings from a dictionary; a key that nobody knows is an error.
pub(crate) fn spec_of(settings: &Bound<'_, PyDict>) -> PyResult<ShieldSpec> {
    let mut spec = ShieldSpec::new(f64::NAN, 0);
    let (mut form, mut k_density, mut k_change, mut floor) =
        ("exponential".to_owned(), 1.0, 1.0, 0.1);
    for (key, value) in settings {
        let key: String = key.extract()?;
        match key.as_str() {
            "budget" => spec.budget = value.extract()?,
            "horizon" => spec.horizon = value.extract()?,
            "epsilon" => spec.epsilon = value.extract()?,
            "tau_cap" => spec.tau_cap = value.extract()?,
            "smoothing" => spec.smoothing = value.extract()?,
            "last_resort" => spec.last_resort = value.extract()?,
            "gain" => form = value.extract()?,
            "k_density" => k_density = value.extract()?,
            "k_change" => k_change = value.extract()?,
            "gain_floor" => floor = value.extract()?,
            "fallback" => {
                spec.fallback = match value.extract::<String>()?.as_str() {
                    "min-risk" => Fallback::MinRisk,
                    "best-admissible" => Fallback::BestAdmissible,
                    other => {
                        return Err(value_error(format!(
                            "`fallback` is {other:?}, but has to be \"min-risk\" or \"best-admissible\""
                        )));
                    }
                };
            }
            "mode" => {
                spec.mode = match value.extract::<String>()?.as_str() {
                    "enforce" => Mode::Enforce,
                    "shadow" => Mode::Shadow,
                    other => {
                        return Err(value_error(format!(
                            "`mode` is {other:?}, but has to be \"enforce\" or \"shadow\""
                        )));
                    }
                };
            }
            other => {
                return Err(value_error(format!(
                    "a shield has no setting `{other}`; there are budget, horizon, epsilon, tau_cap, \
                     gain, k_density, k_change, gain_floor, smoothing, fallback, mode and last_resort"
                )));
            }
        }
    }
    spec.gain = match form.as_str() {
        "exponential" => GainSpec::Exponential { k_density, k_change, floor },
        "rational" => GainSpec::Rational { k_density, k_change, floor },
        "constant" => GainSpec::Constant,
        other => {
            return Err(value_error(format!(
                "`gain` is {other:?}, but has to be \"exponential\", \"rational\" or \"constant\""
            )));
        }
    };
    Ok(spec)
}

/// The shipped shield of a task, by the names that [`Shield`] takes.
#[pyfunction]
pub(crate) fn shield_settings<'py>(py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyDict>> {
    let id: TaskId = id.parse().map_err(value_error)?;
    let settings = ShieldSettings::shipped(id).map_err(value_error)?;
    let spec = Arm::Cpss.shield(&settings);
    let dict = PyDict::new(py);
    dict.set_item("budget", spec.budget)?;
    dict.set_item("horizon", spec.horizon)?;
    dict.set_item("tau_cap", spec.tau_cap)?;
    dict.set_item("gain", "exponential")?;
    dict.set_item("k_density", settings.k_density)?;
    dict.set_item("k_change", settings.k_change)?;
    dict.set_item("gain_floor", settings.gain_floor)?;
    dict.set_item("smoothing", spec.smoothing)?;
    dict.set_item(
        "fallback",
        match settings.fallback {
            FallbackName::MinRisk => "min-risk",
            FallbackName::BestAdmissible => "best-admissible",
        },
    )?;
    dict.set_item("last_resort", spec.last_resort)?;
    Ok(dict)
}
