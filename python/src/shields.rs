//! How are many environments shielded in one call, when a learned risk says what their actions risk?
//!
//! [`Shields`] is one shielded episode per environment. [`Shields::decide`] judges and settles a row of proposals
//! from the risks of every action, and tells what there is to tell. It charges what was judged, so nothing that
//! happens later changes the ledger; what happens goes into the account: [`Shields::close`].

use cpss_shield::{Rules, Situation};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::episode::{Episode, Foretold, Terms};
use crate::risk::RiskTerms;
use crate::settings::spec_of;
use crate::shield::{certificate, reason_code, verdict_code};
use crate::value_error;

/// Numbers told of each decision: costs of proposal and executed action, threshold, remaining, gain, envelope, risk,
/// unavoidable, the six of [`Episode::promised`], and whether the budget was kept.
const TOLD: usize = 15;

/// Many shields under the same terms.
#[pyclass(module = "cpss._native")]
pub(crate) struct Shields {
    terms: Terms,
    episodes: Vec<Episode>,
}

/// What ran, the numbers, and codes of verdicts and reasons.
type Told<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u8>>,
);

#[pymethods]
impl Shields {
    #[new]
    fn new(settings: &Bound<'_, PyDict>, terms: &RiskTerms, count: usize) -> PyResult<Shields> {
        let rules = Rules::new(spec_of(settings)?).map_err(value_error)?;
        let terms = Terms { rules, risk: Some(terms.terms) };
        Ok(Shields { terms, episodes: vec![Episode::open(terms); count] })
    }

    /// Judges and settles one proposal for each of some environments.
    #[pyo3(signature = (places, proposals, risks, preferences = None))]
    fn decide<'py>(
        &mut self,
        py: Python<'py>,
        places: PyReadonlyArray1<'_, i64>,
        proposals: PyReadonlyArray1<'_, i64>,
        risks: PyReadonlyArray2<'_, f64>,
        preferences: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Told<'py>> {
        let [count, actions] = [risks.shape()[0], risks.shape()[1]];
        let (places, proposals) = (places.as_slice()?, proposals.as_slice()?);
        let preference = preferences.as_ref().map(|array| array.as_slice()).transpose()?;
        let fits = places.len() == count && proposals.len() == count;
        if !fits || preference.is_some_and(|preference| preference.len() != count * actions) {
            return Err(value_error("proposals, risks and preferences of different lengths"));
        }
        let (mut executed, mut told) = (Vec::with_capacity(count), vec![f64::NAN; count * TOLD]);
        let (mut verdicts, mut reasons) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut costs = vec![0.0; actions];
        let rows = risks.as_slice()?.chunks_exact(actions).zip(told.chunks_exact_mut(TOLD));
        for (row, (risks, told)) in rows.enumerate() {
            let place = usize::try_from(places[row]).ok();
            let episode = place.and_then(|place| self.episodes.get_mut(place));
            let episode = episode.ok_or_else(|| value_error("there is no such environment"))?;
            let Some(risk) = self.terms.risk else { continue };
            let memory = risk.rules.memory();
            let unavoidable = risk.rules.costs(memory.recalibration(), risks, &mut costs);
            let unavoidable = unavoidable.map_err(value_error)?;
            let preferences = preference.map_or(&[][..], |all| &all[row * actions..][..actions]);
            let proposal = usize::try_from(proposals[row]).unwrap_or(usize::MAX);
            let situation = Situation { proposal, costs: &costs, preferences, density: 0.0 };
            let judged = episode.judge(&situation).map_err(value_error)?;
            let decision = judged.decision;
            let foretold = Foretold { unavoidable, risk: risks[decision.executed()] };
            let settled = episode.settle(judged, decision.cost_executed(), foretold);
            let settled = settled.map_err(value_error)?;
            executed.push(decision.executed() as i64);
            verdicts.push(verdict_code(decision.verdict()));
            reasons.push(reason_code(decision.verdict()));
            told[..8].copy_from_slice(&[
                decision.cost_proposed(),
                decision.cost_executed(),
                decision.threshold(),
                settled.remaining,
                decision.gain(),
                settled.envelope,
                foretold.risk,
                unavoidable,
            ]);
            told[8..14].copy_from_slice(&episode.promised());
            told[14] = f64::from(u8::from(episode.keeps_budget()));
        }
        let told = PyArray1::from_vec(py, told).reshape([count, TOLD])?;
        let codes = |codes| PyArray1::from_vec(py, codes);
        Ok((PyArray1::from_vec(py, executed), told, codes(verdicts), codes(reasons)))
    }

    /// Which actions each shield would let through; where none, the one that it would run.
    fn admissible<'py>(
        &self,
        py: Python<'py>,
        risks: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let [count, actions] = [risks.shape()[0], risks.shape()[1]];
        if count != self.episodes.len() {
            return Err(value_error("risks of another number of environments"));
        }
        let mut masks = vec![false; count * actions];
        let mut costs = vec![0.0; actions];
        let rows = risks.as_slice()?.chunks_exact(actions).zip(masks.chunks_exact_mut(actions));
        for (episode, (risks, mask)) in self.episodes.iter().zip(rows) {
            let Some(risk) = self.terms.risk else { continue };
            let memory = risk.rules.memory();
            risk.rules.costs(memory.recalibration(), risks, &mut costs).map_err(value_error)?;
            let situation =
                Situation { proposal: 0, costs: &costs, preferences: &[], density: 0.0 };
            let decision = episode.judge(&situation).map_err(value_error)?.decision;
            let tau = decision.threshold();
            mask.iter_mut().zip(&costs).for_each(|(mask, cost)| *mask = *cost <= tau);
            if !mask.contains(&true) {
                mask[decision.allowed()] = true;
            }
        }
        PyArray1::from_vec(py, masks).reshape([count, actions])
    }

    /// An episode is over; returns its account: promise, start, chosen, surprise, arriving, evidence.
    fn close(&mut self, place: usize, incident: bool) -> PyResult<[f64; 6]> {
        let episode = self.at(place)?;
        episode.close(incident);
        Ok(episode.promised())
    }

    /// The threshold of an environment's next decision.
    fn threshold(&mut self, place: usize) -> PyResult<f64> {
        self.at(place)?.threshold(0.0).map_err(value_error)
    }

    /// Opens a fresh ledger and account.
    fn reset(&mut self, place: usize) -> PyResult<()> {
        self.at(place)?.reset();
        Ok(())
    }

    /// What can be said of an episode so far.
    fn certificate<'py>(&mut self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyDict>> {
        certificate(py, self.at(place)?)
    }
}

impl Shields {
    fn at(&mut self, place: usize) -> PyResult<&mut Episode> {
        self.episodes.get_mut(place).ok_or_else(|| value_error("there is no such environment"))
    }
}
