//! Which numbers does a shield take from Python, and what are a task's own?
//!
//! [`spec_of`] reads a dictionary, [`shield_settings`] writes one, both by the lab's one list of settings.
//! **Invariant:** a key that nobody knows is an error; whether its numbers make sense is for the shield to say.

use cpss::play::arm::settings::{Kind, SETTINGS, Value, Written, written};
use cpss::play::arm::{Arm, ShieldSettings};
use cpss_highway::TaskId;
use cpss_shield::ShieldSpec;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::value_error;

/// Reads a shield's settings from a dictionary; a key that nobody knows is an error.
pub(crate) fn spec_of(settings: &Bound<'_, PyDict>) -> PyResult<ShieldSpec> {
    let mut shield = Written::default();
    for (key, value) in settings {
        let key: String = key.extract()?;
        let kind = Written::kind(&key).ok_or_else(|| {
            let known = SETTINGS.map(|(name, _)| name).join(", ");
            value_error(format!("a shield has no setting `{key}`; there are {known}"))
        })?;
        let found = match kind {
            Kind::Number => Value::Number(read(&key, &value, "a number")?),
            Kind::Whole => Value::Whole(read(&key, &value, "a whole number from 0")?),
            Kind::Name(_) => Value::Name(read(&key, &value, "a name")?),
        };
        shield.set(&key, found.clone()).map_err(|()| match found {
            Value::Name(name) => value_error(format!("`{key}` is {name:?}, but has to be {kind}")),
            _ => wrong(&key, &value, &kind.to_string()),
        })?;
    }
    Ok(shield.spec())
}

/// A setting's value, or an error that names the setting and says what it takes.
pub(crate) fn read<'py, T: FromPyObjectOwned<'py>>(
    key: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> PyResult<T> {
    value.extract().map_err(|_| wrong(key, value, wanted))
}

fn wrong(key: &str, value: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| "what cannot be shown".to_owned(), |r| r.to_string());
    value_error(format!("`{key}` is {shown}, but has to be {wanted}"))
}

/// The shipped shield of a task, by the names that [`Shield`] takes.
#[pyfunction]
pub(crate) fn shield_settings<'py>(py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyDict>> {
    let id: TaskId = id.parse().map_err(value_error)?;
    let settings = ShieldSettings::shipped(id).map_err(value_error)?;
    let dict = PyDict::new(py);
    for (name, value) in written(&Arm::Cpss(None).shield(&settings)) {
        match value {
            // Nobody chooses these for a task.
            _ if ["epsilon", "mode"].contains(&name) => {}
            Value::Number(number) => dict.set_item(name, number)?,
            Value::Whole(number) => dict.set_item(name, number)?,
            Value::Name(word) => dict.set_item(name, word)?,
        }
    }
    Ok(dict)
}
