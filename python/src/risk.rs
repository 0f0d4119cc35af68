//! What does Python see of a risk that was learned?
//!
//! A [`RiskModel`] is what a learner has learned and answers for whole batches; [`RiskTerms`] are what an account of its
//! risks goes by. How it is learned is in `learning.rs`.
//!
//! **Invariant:** numbers that do not fit are a `ValueError`.

use std::collections::BTreeMap;

use cpss_learn::critic::ensemble::{Ensemble, Room};
use cpss_shield::{RiskRules, RiskSpec};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::episode::RiskTerms as Terms;
use crate::value_error;

/// The metadata entry that holds the card.
const CARD: &str = "card";

/// Points, one per row, and the risk of each.
type Points<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f64>>);

/// A learned risk.
#[pyclass(frozen, module = "cpss._native")]
pub(crate) struct RiskModel {
    pub(crate) ensemble: Ensemble,
}

#[pymethods]
impl RiskModel {
    /// Reads a file; also returns its card.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<(RiskModel, String)> {
        let (ensemble, about) = Ensemble::from_bytes(bytes).map_err(value_error)?;
        let card = about.get(CARD).cloned();
        let card = card.ok_or_else(|| value_error("the file has no card"))?;
        Ok((RiskModel { ensemble }, card))
    }

    /// The file's bytes, with a card.
    fn to_bytes<'py>(&self, py: Python<'py>, card: &str) -> Bound<'py, PyBytes> {
        let about = BTreeMap::from([(CARD.to_owned(), card.to_owned())]);
        PyBytes::new(py, &self.ensemble.to_bytes(&about))
    }

    /// The same with another shift of the log-odds.
    fn shifted(&self, shift: f32) -> RiskModel {
        RiskModel { ensemble: self.ensemble.shifted(shift) }
    }

    /// The risk of every action, of each observation.
    fn risks<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let [count, width] = [rows.shape()[0], rows.shape()[1]];
        if width != self.ensemble.numbers() || self.ensemble.point() > 0 {
            return Err(value_error(format!(
                "an observation has {width} numbers, but has to have {}",
                self.ensemble.numbers()
            )));
        }
        let mut risks = vec![0.0; count * self.ensemble.actions()];
        let rows = rows.as_slice()?.to_vec();
        py.detach(|| self.ensemble.risks(&rows, &mut Room::default(), &mut risks));
        PyArray1::from_vec(py, risks).reshape([count, self.ensemble.actions()])
    }

    /// The risk of each of some points in one observation.
    fn risks_at<'py>(
        &self,
        py: Python<'py>,
        row: PyReadonlyArray1<'_, f32>,
        points: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (count, width) = (points.shape()[0], points.shape()[1]);
        if row.len() != self.ensemble.numbers() || width != self.ensemble.point() || width == 0 {
            return Err(value_error("an observation or points of another length"));
        }
        let mut risks = vec![0.0; count];
        let (row, points) = (row.as_slice()?, points.as_slice()?);
        self.ensemble.risks_at(row, points, &mut Room::default(), &mut risks);
        Ok(PyArray1::from_vec(py, risks))
    }

    /// The proposal, the least risky point, and the one nearest to the proposal whose risk is at most `threshold` above
    /// that; with their risks.
    fn project<'py>(
        &self,
        py: Python<'py>,
        row: PyReadonlyArray1<'_, f32>,
        proposal: PyReadonlyArray1<'_, f32>,
        threshold: f64,
    ) -> PyResult<Points<'py>> {
        let point = self.ensemble.point();
        if row.len() != self.ensemble.numbers() || proposal.len() != point || point == 0 {
            return Err(value_error("an observation or a proposal of another length"));
        }
        let proposal = proposal.as_slice()?;
        let found = self.ensemble.project(row.as_slice()?, proposal, threshold);
        let points = [proposal, &found.safest, &found.nearest].concat();
        let points = PyArray1::from_vec(py, points).reshape([3, point])?;
        Ok((points, PyArray1::from_slice(py, &found.risks)))
    }

    #[getter]
    fn numbers(&self) -> usize {
        self.ensemble.numbers()
    }

    #[getter]
    fn actions(&self) -> usize {
        self.ensemble.actions()
    }

    #[getter]
    fn point(&self) -> usize {
        self.ensemble.point()
    }

    #[getter]
    fn shift(&self) -> f32 {
        self.ensemble.shift()
    }
}

/// What an account of learned risks goes by: look-ahead, resolution, and whether anything may be promised.
#[pyclass(frozen, module = "cpss._native")]
pub(crate) struct RiskTerms {
    pub(crate) terms: Terms,
}

#[pymethods]
impl RiskTerms {
    #[new]
    #[pyo3(signature = (gamma, resolution, is_conservative, longest = None))]
    fn new(
        gamma: f64,
        resolution: f64,
        is_conservative: bool,
        longest: Option<usize>,
    ) -> PyResult<RiskTerms> {
        let longest = longest.unwrap_or(usize::MAX);
        let rules = RiskRules::new(RiskSpec { gamma, resolution, ..RiskSpec::new() });
        let rules = rules.map_err(value_error)?;
        // Whoever calls this has looked at the budget.
        let budgets = [0.0, f64::INFINITY];
        Ok(RiskTerms { terms: Terms { rules, is_conservative, budgets, longest } })
    }

    /// What each action costs, and the risk that cannot be avoided.
    fn costs<'py>(
        &self,
        py: Python<'py>,
        risks: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
        let risks = risks.as_slice()?;
        let mut costs = vec![0.0; risks.len()];
        let rules = self.terms.rules;
        let unavoidable = rules.costs(rules.memory().recalibration(), risks, &mut costs);
        Ok((PyArray1::from_vec(py, costs), unavoidable.map_err(value_error)?))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, RiskTerms>,
    ) -> (Bound<'py, pyo3::types::PyType>, (f64, f64, bool, usize)) {
        let Terms { rules, is_conservative, longest, .. } = slf.get().terms;
        let RiskSpec { gamma, resolution, .. } = *rules.spec();
        (slf.py().get_type::<RiskTerms>(), (gamma, resolution, is_conservative, longest))
    }
}
