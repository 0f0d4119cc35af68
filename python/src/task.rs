//! What is played: which actions are there, and what is seen?
//!
//! A [`Task`] is a task in a configuration, checked, as upstream's dictionaries describe it. Python
//! makes its Gymnasium spaces from it.

use std::sync::Arc;

use cpss::tasks;
use cpss_highway::TaskId;
use cpss_highway::action::{Controls, Meta, Pedals};
use cpss_highway::task::Window;
use pyo3::prelude::*;

use crate::conditions::{Conditions, Prepared};
use crate::value_error;

/// A task in a configuration, under conditions.
#[pyclass(frozen, module = "cpss._native")]
pub(crate) struct Task {
    pub(crate) inner: Arc<cpss_highway::Task>,
    /// Nothing if they are highway-env's own.
    pub(crate) conditions: Option<Arc<Prepared>>,
}

/// A lane's name, and its numbers.
type LaneRow<'a> = ((&'a str, &'a str, usize), Vec<f64>);

/// What the numbers of a lane are: where its centre line begins, is half-way, and ends, and its rules.
const LANE: [&str; 10] = [
    "start x",
    "start y",
    "middle x",
    "middle y",
    "end x",
    "end y",
    "width",
    "speed limit",
    "forbidden",
    "priority",
];

#[pymethods]
impl Task {
    /// Reads a config, as JSON by upstream's keys.
    #[new]
    #[pyo3(signature = (id, config, conditions = None))]
    fn new(id: &str, config: &str, conditions: Option<&Conditions>) -> PyResult<Task> {
        let id: TaskId = id.parse().map_err(value_error)?;
        let config: serde_json::Value = serde_json::from_str(config).map_err(value_error)?;
        let inner = cpss_highway::Task::new(id, &config).map_err(value_error)?;
        let conditions =
            conditions.map(|conditions| conditions.prepare(id, &config)).transpose()?;
        Ok(Task { inner, conditions: conditions.flatten() })
    }

    /// Upstream's id.
    #[getter]
    fn id(&self) -> &'static str {
        self.inner.id.name()
    }

    /// How many discrete actions there are, or `None` for a box.
    #[getter]
    fn actions(&self) -> Option<usize> {
        self.inner.controls.action_count()
    }

    /// The number of components of an action in a box, or `None` for a list.
    #[getter]
    fn box_dimension(&self) -> Option<usize> {
        self.inner.controls.box_dimension()
    }

    /// What each action is called, for a list of meta-actions.
    #[getter]
    fn action_labels(&self) -> Vec<&'static str> {
        match &self.inner.controls {
            Controls::Meta { actions, .. } => actions.iter().map(|meta| meta.label()).collect(),
            _ => Vec::new(),
        }
    }

    /// The action that is safest to take blindly: brake if there are brakes, and go straight.
    #[getter]
    fn last_resort(&self) -> Option<usize> {
        match &self.inner.controls {
            Controls::Meta { actions, .. } => {
                let find = |wanted| actions.iter().position(|meta| *meta == wanted);
                find(Meta::Slower).or_else(|| find(Meta::Idle))
            }
            Controls::Continuous(_) => None,
            Controls::Discrete { pedals, points } => calmest(pedals, points),
        }
    }

    /// The same for a box.
    #[getter]
    fn last_resort_point(&self) -> Option<Vec<f32>> {
        let Controls::Continuous(pedals) = &self.inner.controls else { return None };
        let axis = [-1.0, 0.0, 1.0];
        let points: Vec<Vec<f32>> = match self.box_dimension() {
            Some(2) => axis.iter().flat_map(|a| axis.map(|b| vec![*a, b])).collect(),
            _ => axis.map(|a| vec![a]).to_vec(),
        };
        calmest(pedals, &points).map(|place| points[place].clone())
    }

    /// The shape of an observation.
    #[getter]
    fn observation_shape(&self) -> Vec<usize> {
        self.inner.observer.shape()
    }

    /// Its lanes, by upstream's names, each with what [`LANE`] lists.
    fn lanes(&self) -> Vec<LaneRow<'_>> {
        let network = &self.inner.network;
        let rows = network.lanes().map(|(id, lane)| {
            let [[x0, y0], [x1, y1], [x2, y2]] =
                [0.0, 0.5, 1.0].map(|part| lane.position(part * lane.length, 0.0));
            let rules = [lane.speed_limit, f64::from(lane.forbidden), f64::from(lane.priority)];
            let numbers = [&[x0, y0, x1, y1, x2, y2, lane.width], rules.as_slice()].concat();
            (network.lane_name(id), numbers)
        });
        rows.collect()
    }

    /// What the numbers of a lane are.
    #[getter]
    fn lane_numbers(&self) -> [&'static str; 10] {
        LANE
    }

    /// Upstream's window: width and height \[px\], pixels per metre, and where in it the ego is.
    #[getter]
    fn window(&self) -> ((u32, u32), f64, (f64, f64)) {
        let Window { size: [width, height], scaling, center: [x, y] } = self.inner.window;
        ((width, height), scaling, (x, y))
    }

    /// Decisions per second.
    #[getter]
    fn policy_frequency(&self) -> f64 {
        1.0 / self.inner.decision_time
    }
}

/// The place of the point that brakes hardest and, of several, steers least.
fn calmest(pedals: &Pedals, points: &[Vec<f32>]) -> Option<usize> {
    let haste = |point: &Vec<f32>| {
        let command = pedals.command(point);
        [command.acceleration, command.steering.abs()]
    };
    let by_haste = |a: &usize, b: &usize| {
        let [a, b] = [haste(&points[*a]), haste(&points[*b])];
        a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
    };
    (0..points.len()).min_by(by_haste)
}

/// The ids of all tasks.
#[pyfunction]
pub(crate) fn task_ids() -> Vec<&'static str> {
    TaskId::ALL.map(TaskId::name).to_vec()
}

/// The ids of the tasks for which policies and critics are shipped.
#[pyfunction]
pub(crate) fn shipped_tasks() -> Vec<&'static str> {
    tasks::shipped().iter().map(|id| id.name()).collect()
}

/// The configuration that a task's shipped policies were trained in, as JSON.
#[pyfunction]
pub(crate) fn policy_config(id: &str) -> PyResult<String> {
    let id: TaskId = id.parse().map_err(value_error)?;
    Ok(tasks::policy_config(id).to_string())
}
