//! Under which conditions is a task played: how does its traffic drift, and through which eyes is it seen?
//!
//! [`Conditions`] are a regime and a sensor, each by the name of a built-in one or the path of a file; [`Prepared`] are the same, made
//! ready for a task. A [`Course`] is one episode under them. It is the laboratory's own: drift before every decision,
//! the policy sees through the sensor, and the critic what a tracker makes of that. Start at [`Course::step`].
//!
//! **Invariants:** the episode of a seed is the one that the command `cpss` plays; what happened is measured on the true
//! world; a file is read once, so copies and pickles do not depend on what becomes of it.

use std::sync::Arc;

use cpss::play::critic::RiskSource;
use cpss::play::regime::{Drift, Regime, RegimeSpec};
use cpss::play::sensor::{Behind, Gaze, SensorSpec, Sight};
use cpss_highway::random::Generator;
use cpss_highway::{Action, ActionError, Scene, Sensor, Step, TaskId, World};
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde_json::Value;

use crate::value_error;

/// A regime and a sensor.
#[pyclass(frozen, module = "cpss._native")]
pub(crate) struct Conditions {
    /// The name or path that each was asked for by.
    names: [String; 2],
    /// The TOML of each.
    texts: (String, String),
    regime: RegimeSpec,
    sensor: SensorSpec,
}

/// What conditions are made of: names or paths of regime and sensor, and what is in their files.
type Parts = (String, String, (String, String));

#[pymethods]
impl Conditions {
    /// Reads both, unless it is told what is in their files.
    #[new]
    #[pyo3(signature = (regime, sensor, texts = None))]
    fn new(regime: &str, sensor: &str, texts: Option<(String, String)>) -> PyResult<Conditions> {
        let of_regime = |error: anyhow::Error| value_error(format!("`regime`: {error:#}"));
        let of_sensor = |error: anyhow::Error| value_error(format!("`sensor`: {error:#}"));
        let texts = match texts {
            Some(texts) => texts,
            None => (
                RegimeSpec::text(regime).map_err(of_regime)?,
                SensorSpec::text(sensor).map_err(of_sensor)?,
            ),
        };
        Ok(Conditions {
            names: [regime, sensor].map(str::to_owned),
            regime: RegimeSpec::parse(regime, &texts.0).map_err(of_regime)?,
            sensor: SensorSpec::parse(sensor, &texts.1).map_err(of_sensor)?,
            texts,
        })
    }

    /// Whether they are highway-env's own: traffic never drifts, and nothing is seen otherwise than it is.
    #[getter]
    fn are_usual(&self) -> bool {
        self.regime.peak == 0.0 && self.sensor.sensor().is_perfect()
    }

    /// The shipped critic for such eyes.
    #[getter]
    fn critic(&self) -> String {
        RiskSource::behind(&self.sensor.sensor()).to_string()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Parts) {
        let [regime, sensor] = self.names.clone();
        (py.get_type::<Conditions>(), (regime, sensor, self.texts.clone()))
    }

    /// Itself: it never changes.
    fn __deepcopy__<'py>(
        slf: PyRef<'py, Conditions>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyRef<'py, Conditions> {
        slf
    }
}

impl Conditions {
    /// The names or paths of regime and sensor.
    pub(crate) fn names(&self) -> &[String; 2] {
        &self.names
    }

    /// The same, ready for a task with a config; nothing if they are usual.
    ///
    /// # Errors
    ///
    /// A config that leaves no room for denser traffic.
    pub(crate) fn prepare(&self, id: TaskId, config: &Value) -> PyResult<Option<Arc<Prepared>>> {
        if self.are_usual() {
            return Ok(None);
        }
        let regime = Regime::new(self.regime.clone(), id, config)
            .map_err(|error| value_error(format!("`regime`: {error:#}")))?;
        Ok(Some(Arc::new(Prepared { regime, sensor: self.sensor.sensor() })))
    }
}

/// Conditions that a task is ready for.
pub(crate) struct Prepared {
    regime: Regime,
    sensor: Sensor,
}

/// One episode under conditions, in progress.
#[derive(Clone)]
pub(crate) struct Course {
    seed: u64,
    drift: Drift,
    /// What is seen of the world, where eyes are not perfect.
    sight: Option<Sight>,
}

impl Course {
    /// Begins the episode whose world follows from a generator, and whose drift and readings from a seed; writes what is
    /// seen first.
    ///
    /// # Errors
    ///
    /// A sensor that makes no sense.
    pub(crate) fn begin(
        prepared: &Prepared,
        origin: Generator,
        seed: u64,
        seen: &mut [f32],
    ) -> Result<(World, Course), String> {
        let (mut world, drift) = prepared.regime.begin_from(origin, seed);
        world.observe(seen);
        let gaze = Gaze::through(prepared.sensor, Behind::Both);
        let mut sight = Sight::through(gaze);
        if let Some(sight) = &mut sight {
            sight.begin(&world, seed).map_err(|error| error.to_string())?;
            sight.show_policy(seen);
        }
        Ok((world, Course { seed, drift, sight }))
    }

    /// Lets the traffic drift, steps the world, and writes what is seen of it.
    ///
    /// # Errors
    ///
    /// An action that the task does not have; all is then as it was.
    pub(crate) fn step(
        &mut self,
        world: &mut World,
        action: Action<'_>,
        seen: &mut [f32],
    ) -> Result<Step, ActionError> {
        world.task().controls.check(action)?;
        self.drift.apply(world);
        let Some(sight) = &mut self.sight else { return world.step(action, seen) };
        let step = sight.step(world, action, seen)?;
        sight.show_policy(seen);
        Ok(step)
    }

    /// The scene as the shield has it, where eyes are not perfect.
    pub(crate) fn scene(&self) -> Option<&Scene> {
        self.sight.as_ref().and_then(Sight::scene)
    }

    /// How intense the drift is now.
    pub(crate) fn intensity(&self, world: &World) -> f64 {
        self.drift.intensity_at(world.time())
    }

    /// What drift and readings follow from.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
}

/// What drift and readings follow from in an episode that is given no seed: a number that the generator of its world
/// would draw next. It stays undrawn, so the world is the same as without them.
pub(crate) fn seed_from(origin: &Generator) -> u64 {
    const DIGITS: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    (origin.clone().random() * DIGITS) as u64
}
