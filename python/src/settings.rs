//! Which numbers does a shield take from Python, and what are a task's own?
//!
//! [`spec_of`] reads a dictionary, [`shield_settings`] writes one. **Invariant:** a key that nobody knows is
//! an error; whether its numbers make sense is for the shield to say.

use cpss::play::arm::{Arm, FallbackName, ShieldSettings};
use cpss_highway::TaskId;
use cpss_shield::{Charge, Fallback, GainSpec, Mode, ShieldSpec};
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
            "budget" => spec.budget = read(&key, &value, "a number")?,
            "horizon" => spec.horizon = read(&key, &value, "a whole number from 0")?,
            "epsilon" => spec.epsilon = read(&key, &value, "a number")?,
            "tau_cap" => spec.tau_cap = read(&key, &value, "a number")?,
            "pace" => spec.pace = read(&key, &value, "a number")?,
            "price" => spec.price = read(&key, &value, "a number")?,
            "smoothing" => spec.smoothing = read(&key, &value, "a number")?,
            "last_resort" => spec.last_resort = read(&key, &value, "a whole number from 0")?,
            "gain" => form = read(&key, &value, "a name")?,
            "k_density" => k_density = read(&key, &value, "a number")?,
            "k_change" => k_change = read(&key, &value, "a number")?,
            "gain_floor" => floor = read(&key, &value, "a number")?,
            "fallback" => {
                spec.fallback = match read::<String>(&key, &value, "a name")?.as_str() {
                    "min-risk" => Fallback::MinRisk,
                    "best-admissible" => Fallback::BestAdmissible,
                    other => {
                        return Err(value_error(format!(
                            "`fallback` is {other:?}, but has to be \"min-risk\" or \"best-admissible\""
                        )));
                    }
                };
            }
            "charge" => {
                spec.charge = match read::<String>(&key, &value, "a name")?.as_str() {
                    "observed" => Charge::Observed,
                    "predicted" => Charge::Predicted,
                    other => {
                        return Err(value_error(format!(
                            "`charge` is {other:?}, but has to be \"observed\" or \"predicted\""
                        )));
                    }
                };
            }
            "mode" => {
                spec.mode = match read::<String>(&key, &value, "a name")?.as_str() {
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
                    "a shield has no setting `{other}`; there are budget, horizon, epsilon, tau_cap, pace, price, \
                     charge, gain, k_density, k_change, gain_floor, smoothing, fallback, mode and last_resort"
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

/// A setting's value, or an error that names the setting and says what it takes.
pub(crate) fn read<'py, T: FromPyObjectOwned<'py>>(
    key: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> PyResult<T> {
    value.extract().map_err(|_| {
        let shown =
            value.repr().map_or_else(|_| "what cannot be shown".to_owned(), |r| r.to_string());
        value_error(format!("`{key}` is {shown}, but has to be {wanted}"))
    })
}

/// The shipped shield of a task, by the names that [`Shield`] takes.
#[pyfunction]
pub(crate) fn shield_settings<'py>(py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyDict>> {
    let id: TaskId = id.parse().map_err(value_error)?;
    let settings = ShieldSettings::shipped(id).map_err(value_error)?;
    let spec = Arm::Cpss(None).shield(&settings);
    let dict = PyDict::new(py);
    dict.set_item("budget", spec.budget)?;
    dict.set_item("horizon", spec.horizon)?;
    dict.set_item("pace", spec.pace)?;
    dict.set_item("price", spec.price)?;
    dict.set_item("charge", spec.charge.to_string())?;
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
