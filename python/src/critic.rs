//! Which critic says what an action risks?
//!
//! A [`Critic`] is one of those that come with the package, or was read from a file. It can be pickled: a shipped one by
//! its name, another with all of its bytes, since a file may be gone, or another one, where it is read again.
//!
//! **Invariant:** a file that is no critic is a `ValueError` with its name and the reason.

use std::sync::Arc;

use cpss::play::arm::ShieldSettings;
use cpss::play::critic::{RiskSource, knows};
use cpss::play::memory::MemoryFile;
use cpss::record::memory::MemorySettings;
use cpss_risk::{LearnedRisk, RiskModel};
use cpss_shield::{RiskRules, RiskSpec};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::conditions::Conditions;
use crate::episode::RiskTerms;
use crate::value_error;

/// A learned critic, and the conditions that it is asked in.
#[pyclass(frozen, module = "cpss._native")]
pub(crate) struct Critic {
    task: String,
    source: RiskSource,
    risk: Arc<LearnedRisk>,
    /// Without any, traffic and eyes are highway-env's own.
    conditions: Option<Py<Conditions>>,
}

/// What a critic is made of: the task's id, its name or path, the bytes of one that was a file, and the conditions.
type Parts<'py> = (String, String, Option<Bound<'py, PyBytes>>, Option<Py<Conditions>>);

#[pymethods]
impl Critic {
    /// `source` is `drift`, `sensed`, `stationary`, or the path of a file, unless its bytes are given.
    #[new]
    #[pyo3(signature = (task, source, bytes = None, conditions = None))]
    fn new(
        py: Python<'_>,
        task: &str,
        source: &str,
        bytes: Option<Vec<u8>>,
        conditions: Option<Py<Conditions>>,
    ) -> PyResult<Critic> {
        let id: cpss_highway::TaskId = task.parse().map_err(value_error)?;
        let Ok(source) = source.parse::<RiskSource>();
        let risk = py.detach(|| match bytes {
            None => source.load(id).map_err(|error| format!("{error:#}")),
            Some(bytes) => LearnedRisk::from_bytes(&bytes)
                .map(Arc::new)
                .map_err(|error| format!("the critic {source}: {error}")),
        });
        let risk = risk.map_err(|error| value_error(format!("`risk`: {error}")))?;
        Ok(Critic { task: id.name().to_owned(), source, risk, conditions })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Parts<'py>) {
        let bytes = match self.source {
            RiskSource::Drift | RiskSource::Sensed | RiskSource::Stationary => None,
            RiskSource::File(_) => Some(PyBytes::new(py, &self.risk.to_bytes())),
        };
        let conditions = self.conditions.as_ref().map(|conditions| conditions.clone_ref(py));
        (py.get_type::<Critic>(), (self.task.clone(), self.source.to_string(), bytes, conditions))
    }

    /// Whether a task has the config in which this was calibrated, but for what a policy sees.
    fn knows(&self, task: &crate::task::Task) -> bool {
        knows(&self.risk, &task.inner)
    }

    /// Itself: it never changes.
    fn __deepcopy__<'py>(slf: PyRef<'py, Critic>, _memo: &Bound<'py, PyAny>) -> PyRef<'py, Critic> {
        slf
    }
}

impl Critic {
    /// How its risks are accounted for, episode by episode. Nothing is recalibrated: an episode does not depend on those
    /// before it. It is conservative if it was found so in this regime and behind this sensor, by the names of
    /// built-in ones: of a file nobody knows what it said then.
    ///
    /// # Errors
    ///
    /// A card whose numbers make no sense.
    pub(crate) fn rules(&self) -> PyResult<RiskTerms> {
        let card = self.risk.card();
        let (gamma, resolution) = (card.gamma, card.resolution);
        let rules = RiskRules::new(RiskSpec { gamma, resolution, ..RiskSpec::new() })
            .map_err(|error| value_error(format!("`risk`: the critic's card: {error}")))?;
        let is_conservative = match self.conditions.as_ref().map(|conditions| conditions.get()) {
            None => card.is_conservative_in(&self.task, "stationary"),
            Some(conditions) => {
                let [regime, sensor] = conditions.names();
                card.is_conservative_behind(&self.task, regime, sensor)
            }
        };
        // A task's own horizon ends its episodes.
        Ok(RiskTerms { rules, is_conservative, budgets: card.budgets(), longest: usize::MAX })
    }

    /// What was learned.
    pub(crate) fn learned(&self) -> &Arc<LearnedRisk> {
        &self.risk
    }

    /// A memory of it in which nothing is yet, as the task's shield has it.
    ///
    /// # Errors
    ///
    /// A card whose numbers make no sense.
    pub(crate) fn memory(&self) -> PyResult<MemoryFile> {
        let id: cpss_highway::TaskId = self.task.parse().map_err(value_error)?;
        let shield = ShieldSettings::shipped(id).map_err(value_error)?;
        let card = self.risk.card();
        let settings = MemorySettings::of(card, shield.adaptation);
        MemoryFile::new(&self.risk, settings).map_err(value_error)
    }

    /// A model for a task.
    ///
    /// # Errors
    ///
    /// An action of the task whose risk was not learned.
    pub(crate) fn model(&self, task: &Arc<cpss_highway::Task>) -> PyResult<RiskModel> {
        RiskModel::new(task, Arc::clone(&self.risk)).map_err(|error| {
            value_error(format!(
                "{error}: ShieldWrapper(env, budget, horizon, cost=...), where cost is a function of (env, observation) \
                 or, for a box, of (env, observation, candidates)"
            ))
        })
    }
}
