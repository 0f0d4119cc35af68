//! How is a policy asked from Python?
//!
//! Many observations at once, with the interpreter released, from any thread. A policy comes from the shipped ones, a
//! file, or the bytes of one, and goes back to bytes, so that it can be pickled.

use cpss::play::policy::{PolicySource, shipped};
use cpss::tasks::policy_task;
use cpss_highway::TaskId;
use cpss_learn::QFunction;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::value_error;

/// A network that values actions.
#[pyclass(frozen, module = "cpss._native")]
pub(crate) struct Policy {
    /// Its work space is one, so threads take turns; nobody waits for the interpreter with this locked.
    inner: Mutex<cpss_learn::Policy>,
}

impl Policy {
    fn of(inner: cpss_learn::Policy) -> Policy {
        Policy { inner: Mutex::new(inner) }
    }

    /// A network has nothing that a panic could leave half done.
    fn lock(&self) -> MutexGuard<'_, cpss_learn::Policy> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Policy {
    /// The shipped policy of a task and training seed.
    #[staticmethod]
    fn shipped(id: &str, seed: usize) -> PyResult<Policy> {
        let id: TaskId = id.parse().map_err(value_error)?;
        // Loading it for its task also says in words what is wrong with a seed that is not there.
        PolicySource::Builtin(seed).load(&policy_task(id)).map_err(value_error)?;
        Ok(Policy::of(shipped(id, seed).map_err(value_error)?))
    }

    /// The policy of a `safetensors` file's bytes.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Policy> {
        Ok(Policy::of(cpss_learn::Policy::from_bytes(bytes).map_err(value_error)?))
    }

    /// The bytes of its `safetensors` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock().to_bytes())
    }

    /// How many numbers it sees.
    #[getter]
    fn observation_len(&self) -> usize {
        self.lock().observation_len()
    }

    /// How many actions it values.
    #[getter]
    fn actions(&self) -> usize {
        self.lock().actions()
    }

    /// What is known about it.
    #[getter]
    fn card(&self) -> BTreeMap<String, String> {
        self.lock().card().clone()
    }

    /// Writes the value of every action at every observation, row after row.
    fn values(
        &self,
        py: Python<'_>,
        observations: PyReadonlyArray1<'_, f32>,
        mut values: PyReadwriteArray1<'_, f32>,
    ) -> PyResult<()> {
        // A copy: others may write into the caller's array while the interpreter is released.
        let observations = observations.as_slice()?.to_vec();
        let values = values.as_slice_mut()?;
        let (width, actions) = (self.observation_len(), self.actions());
        if observations.len() * actions != values.len() * width {
            return Err(value_error(format!(
                "{} numbers are no whole observations of {width}",
                observations.len()
            )));
        }
        py.detach(|| {
            let mut policy = self.lock();
            let rows = observations.chunks_exact(width).zip(values.chunks_exact_mut(actions));
            for (row, (observation, values)) in rows.enumerate() {
                values.copy_from_slice(policy.q_values(row as u64, observation)?);
            }
            Ok(())
        })
        .map_err(|error: cpss_learn::ActError| value_error(error))
    }
}
