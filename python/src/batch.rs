//! How are many environments stepped at once, with or without a shield?
//!
//! [`Batch`] steps worlds into NumPy's buffers with the interpreter released, and notes how close every
//! moment came. If it is given a shield, every world has its own ledger: the proposals are judged in
//! parallel ([`guard`]), what is allowed runs, and what was judged is charged before anything is reset.
//!
//! Start at [`Batch::step`]. **Invariants:** a decision is settled exactly once, its episode's last one
//! included, and if one ever could not be, nothing runs until all are reset; a step that only resets is neither judged nor charged, and the ledger is renewed there and
//! nowhere else; results do not depend on the number of threads.

mod conduct;
mod guard;
mod report;
mod row;
mod state;

use std::sync::{Arc, Mutex, PoisonError};

use cpss_highway::Autoreset;
use cpss_highway::batch::{Actions, Buffers};
use cpss_shield::{Charge, Rules};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArrayDyn,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conditions::Prepared;
use crate::episode::Terms;
use crate::settings::spec_of;
use crate::shield::certificate;
use crate::task::Task;
use crate::value_error;
use crate::world::Taken;
use conduct::Conducted;
use guard::{Guard, Proposals};
use report::{Report, Reports};
use row::Row;
use state::RowState;

/// Many worlds of one task.
#[pyclass(module = "cpss._native")]
pub(crate) struct Batch {
    batch: cpss_highway::Batch,
    autoreset: Autoreset,
    /// How traffic drifts, and through which eyes it is seen; nothing if both are highway-env's own.
    conditions: Option<Arc<Prepared>>,
    rows: Vec<Mutex<Row>>,
    guard: Option<Guard>,
    terms: Option<Terms>,
    /// Why nothing runs any more: a step that no ledger knows of. Only a reset of all makes it good.
    broken: Option<String>,
}

/// The arrays that a step writes: rewards, both ends, then costs, speeds and crashes, and the same three
/// of the moments at which episodes ended.
type Outcome<'py> =
    (PyReadwriteArray1<'py, f64>, PyReadwriteArray1<'py, bool>, PyReadwriteArray1<'py, bool>);
type Told<'py> =
    (PyReadwriteArray1<'py, f64>, PyReadwriteArray1<'py, f64>, PyReadwriteArray1<'py, bool>);

#[pymethods]
impl Batch {
    /// `count` worlds; `shield` is a dictionary of settings with the critic as `risk`, and for a box also
    /// `candidates`, `radius` and `resort`.
    #[new]
    fn new(
        task: &Task,
        count: usize,
        autoreset: &str,
        threads: usize,
        shield: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Batch> {
        let (task, conditions) = (Arc::clone(&task.inner), task.conditions.clone());
        let autoreset = match autoreset {
            "NextStep" => Autoreset::NextStep,
            "SameStep" => Autoreset::SameStep,
            "Disabled" => Autoreset::Disabled,
            other => {
                return Err(value_error(format!(
                    "`autoreset_mode` is {other:?}, but has to be NextStep, SameStep or Disabled"
                )));
            }
        };
        let batch =
            cpss_highway::Batch::new(&task, count, 0, autoreset, threads).map_err(value_error)?;
        let (guard, terms) = match shield {
            None => (None, None),
            Some(settings) => {
                let settings = settings.copy()?;
                let (guard, risk) = Guard::new(&task, &settings, threads.clamp(1, count.max(1)))?;
                let rules = Rules::new(spec_of(&settings)?).map_err(value_error)?;
                // What is not charged as it was judged has no account of risk.
                let risk = (rules.spec().charge == Charge::Predicted).then_some(risk);
                (Some(guard), Some(Terms { rules, risk }))
            }
        };
        let rows = batch.worlds().iter().map(|world| Mutex::new(Row::new(world, terms))).collect();
        Ok(Batch { batch, autoreset, conditions, rows, guard, terms, broken: None })
    }

    /// Resets the worlds that have an entry in `seeds`: a seed, or `(None,)` to go on with their own
    /// random numbers.
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seeds: Vec<Option<(Option<u64>,)>>,
        mut observations: PyReadwriteArrayDyn<'py, f32>,
        mut told: Told<'py>,
    ) -> PyResult<()> {
        if seeds.len() != self.rows.len() {
            return Err(value_error(format!(
                "`seed` has {} entries for {} environments",
                seeds.len(),
                self.rows.len()
            )));
        }
        let observations = observations.as_slice_mut()?;
        let Batch { batch, conditions, rows, .. } = self;
        py.detach(|| conduct::reset(batch, rows, conditions.as_deref(), &seeds, observations))
            .map_err(|error| value_error(format!("{error:#}")))?;
        if seeds.iter().all(Option::is_some) {
            self.broken = None;
        }
        self.tell(&mut told, |row| row.now)
    }

    /// Steps every world by an index each.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arrays that a step reads and writes"
    )]
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        actions: PyReadonlyArray1<'py, i64>,
        preferences: Option<PyReadonlyArray1<'py, f64>>,
        observations: PyReadwriteArrayDyn<'py, f32>,
        finals: PyReadwriteArrayDyn<'py, f32>,
        outcome: Outcome<'py>,
        told: Told<'py>,
        closing: Told<'py>,
    ) -> PyResult<()> {
        let actions = actions.as_slice()?;
        // A negative index is out of range; it becomes one that no task has.
        let indices: Vec<usize> =
            actions.iter().map(|index| usize::try_from(*index).unwrap_or(usize::MAX)).collect();
        // Copies: others may write into the caller's arrays while the interpreter is released.
        let preferences = match &preferences {
            Some(array) => array.as_slice()?.to_vec(),
            None => Vec::new(),
        };
        let proposals = Proposals::Indices(&indices, &preferences);
        self.run(py, proposals, observations, finals, outcome, told, closing)
    }

    /// Steps every world by a point each, one after the other.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arrays that a step reads and writes"
    )]
    fn step_points<'py>(
        &mut self,
        py: Python<'py>,
        actions: PyReadonlyArray1<'py, f32>,
        observations: PyReadwriteArrayDyn<'py, f32>,
        finals: PyReadwriteArrayDyn<'py, f32>,
        outcome: Outcome<'py>,
        told: Told<'py>,
        closing: Told<'py>,
    ) -> PyResult<()> {
        let points = actions.as_slice()?.to_vec();
        self.run(py, Proposals::Points(&points), observations, finals, outcome, told, closing)
    }

    /// What the shields did in the last step (or, where an episode ended and another began in it, at
    /// that end).
    fn reports<'py>(&self, py: Python<'py>, closing: bool) -> PyResult<Reports<'py>> {
        let dimension = self.batch.task().controls.box_dimension();
        let pick =
            |row: &Row| if closing { row.closing_report.clone() } else { row.report.clone() };
        let reports: Vec<Report> = self.rows.iter().map(|row| pick(&lock(row))).collect();
        report::arrays(py, &reports, dimension)
    }

    /// Which actions the shields would let through now, row after row; at least one each.
    fn admissible<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let Some(guard) = &self.guard else {
            return Err(value_error("this batch has no shield: make it with `shield=`"));
        };
        let actions = self.batch.task().controls.action_count();
        let actions = actions.ok_or_else(|| value_error("points of a box cannot be masked"))?;
        let rows = &self.rows;
        let masks = py.detach(|| guard.masks(rows, actions)).map_err(value_error)?;
        PyArray1::from_vec(py, masks).reshape([rows.len(), actions])
    }

    /// The account of every shield.
    fn certificates<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let accounts = self.rows.iter().filter_map(|row| {
            let row = lock(row);
            row.episode.as_ref().map(|episode| certificate(py, episode))
        });
        accounts.collect()
    }

    /// How intense the drift is in every world now (or, where an episode ended and another began in the last step, at
    /// that end).
    fn drifts<'py>(&self, py: Python<'py>, closing: bool) -> Bound<'py, PyArray1<f64>> {
        let pick = |row: &Row| if closing { row.closing.drift } else { row.now.drift };
        PyArray1::from_iter(py, self.rows.iter().map(|row| pick(&lock(row))))
    }

    /// Which worlds have ended and wait for a reset.
    fn ended<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_slice(py, self.batch.ended())
    }

    /// What is needed to make the same worlds again, and why nothing runs any more, if so.
    fn state(&self) -> (Vec<RowState>, Option<String>) {
        let rows = self.rows.iter().zip(self.batch.ended());
        let rows = rows.map(|(row, ended)| state::write(&lock(row), *ended));
        (rows.collect(), self.broken.clone())
    }

    /// Makes the worlds of a [`Batch::state`]: they are played again up to where they were.
    fn restore(
        &mut self,
        py: Python<'_>,
        rows: Vec<RowState>,
        broken: Option<String>,
    ) -> PyResult<()> {
        self.expect(rows.len())?;
        let (worlds, terms) = (self.batch.worlds(), self.terms);
        let conditions = self.conditions.as_deref();
        let made = py.detach(|| {
            let rows = rows.into_iter().zip(worlds);
            let made = rows.map(|(row, world)| state::read(row, world.clone(), terms, conditions));
            made.collect::<Result<Vec<_>, String>>()
        });
        for (place, (row, world, ended)) in made.map_err(value_error)?.into_iter().enumerate() {
            self.put(place, row, world, ended);
        }
        self.broken = broken;
        Ok(())
    }

    /// Becomes a copy of another batch of the same task, with threads of its own.
    fn adopt(&mut self, other: PyRef<'_, Batch>) -> PyResult<()> {
        self.expect(other.rows.len())?;
        for (place, row) in other.rows.iter().enumerate() {
            let (world, ended) = (other.batch.worlds()[place].clone(), other.batch.ended()[place]);
            self.put(place, lock(row).clone(), world, ended);
        }
        self.broken.clone_from(&other.broken);
        Ok(())
    }

    /// Never drops this batch: in a process that was forked, its threads are not there to be stopped.
    fn abandon(slf: Py<Batch>) {
        std::mem::forget(slf);
    }

    /// One of the worlds, as text.
    fn text(&self, place: usize) -> PyResult<String> {
        let worlds = self.batch.worlds();
        let world =
            worlds.get(place).ok_or_else(|| value_error(format!("there is no world {place}")))?;
        Ok(crate::picture::write(world))
    }

    /// One of the worlds, as pixels.
    fn picture<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        size: (u32, u32),
        scaling: f64,
        centering: (f64, f64),
    ) -> PyResult<Bound<'py, numpy::PyArray3<u8>>> {
        let worlds = self.batch.worlds();
        let world =
            worlds.get(place).ok_or_else(|| value_error(format!("there is no world {place}")))?;
        let view = crate::picture::View { size, scaling, centering };
        let pixels = crate::picture::paint(world, &view).map_err(value_error)?;
        PyArray1::from_vec(py, pixels).reshape([size.1 as usize, size.0 as usize, 3])
    }
}

impl Batch {
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arrays that a step reads and writes"
    )]
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        proposals: Proposals<'_>,
        mut observations: PyReadwriteArrayDyn<'py, f32>,
        mut finals: PyReadwriteArrayDyn<'py, f32>,
        (mut rewards, mut terminated, mut truncated): Outcome<'py>,
        mut told: Told<'py>,
        mut closing: Told<'py>,
    ) -> PyResult<()> {
        if let Some(why) = &self.broken {
            return Err(runtime_error(why));
        }
        let out = Buffers {
            observations: observations.as_slice_mut()?,
            rewards: rewards.as_slice_mut()?,
            terminated: terminated.as_slice_mut()?,
            truncated: truncated.as_slice_mut()?,
            final_observations: finals.as_slice_mut()?,
        };
        let Batch { batch, autoreset, conditions, rows, guard, broken, .. } = self;
        let unsettled = Mutex::new(None);
        py.detach(|| -> Result<(), String> {
            let skips_ended = *autoreset == Autoreset::NextStep;
            let chosen = match guard {
                None => None,
                Some(guard) => {
                    let rests = |i: usize| skips_ended && batch.ended()[i];
                    Some(guard.judge(rows, &proposals, rests)?)
                }
            };
            let actions = match (&chosen, &proposals) {
                (Some(chosen), _) => chosen.actions(),
                (None, Proposals::Indices(indices, _)) => Actions::Indices(indices),
                (None, Proposals::Points(points)) => Actions::Points(points),
            };
            let rows = &*rows;
            let note = |place: usize, error: String| {
                let why = format!("environment {place}: {error}; reset all of them");
                unsettled.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
            };
            let stepped = match conditions {
                None => batch.step_before(actions, out, |place, world, moment| {
                    let mut row = lock(&rows[place]);
                    let action = || Taken::at(&actions, place, rows.len());
                    if let Err(error) = row.follow(world, moment, action) {
                        note(place, error);
                    }
                }),
                Some(conditions) => {
                    batch.step_by(actions, out, &Conducted { conditions, rows, actions, note })
                }
            };
            stepped.map_err(|error| error.to_string())
        })
        .map_err(value_error)?;
        *broken = unsettled.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = broken {
            return Err(runtime_error(why));
        }
        self.tell(&mut told, |row| row.now)?;
        match self.autoreset {
            Autoreset::SameStep => self.tell(&mut closing, |row| row.closing),
            _ => Ok(()),
        }
    }

    /// Whether there are as many rows as here.
    fn expect(&self, rows: usize) -> PyResult<()> {
        if rows == self.rows.len() {
            return Ok(());
        }
        Err(value_error(format!("{rows} worlds cannot be those of a batch of {}", self.rows.len())))
    }

    fn put(&mut self, place: usize, row: Row, world: cpss_highway::World, ended: bool) {
        self.batch.put(place, world, ended);
        self.rows[place] = Mutex::new(row);
    }

    fn tell(&self, told: &mut Told<'_>, of: impl Fn(&Row) -> row::Told) -> PyResult<()> {
        let (costs, speeds, crashed) = told;
        let (costs, speeds) = (costs.as_slice_mut()?, speeds.as_slice_mut()?);
        let places = costs.iter_mut().zip(speeds).zip(crashed.as_slice_mut()?);
        for (((cost, speed), crash), row) in places.zip(&self.rows) {
            let told = of(&lock(row));
            (*cost, *speed, *crash) = (told.cost, told.speed, told.crashed);
        }
        Ok(())
    }
}

fn runtime_error(why: &str) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(why.to_owned())
}

/// A row; one that a panic left locked is still a row, and a later step makes it whole.
fn lock(row: &Mutex<Row>) -> std::sync::MutexGuard<'_, Row> {
    row.lock().unwrap_or_else(PoisonError::into_inner)
}
