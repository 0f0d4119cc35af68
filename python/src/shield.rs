//! What does Python see of a shield?
//!
//! [`Shield`] judges and settles; a [`Decision`] is what it answers. The arithmetic is
//! `cpss_shield`'s, to the last bit.

use cpss_shield::candidates::{Neighbourhood, sample};
use cpss_shield::{Reason, Rules, Situation, Verdict};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::critic::Critic;
use crate::episode::{Episode, Foretold, Judged, State, Terms};
use crate::risk::RiskTerms;
use crate::settings::spec_of;
use crate::value_error;

/// A shield with its ledger.
#[pyclass(module = "cpss._native")]
#[derive(Clone)]
pub(crate) struct Shield {
    inner: Episode,
}

/// Whose risks are judged: a driving critic's, or those of a risk learned in any environment.
#[derive(FromPyObject)]
pub(crate) enum WhoKnows<'py> {
    Driving(Bound<'py, Critic>),
    Learned(Bound<'py, RiskTerms>),
}

/// One judged proposal.
#[pyclass(frozen, module = "cpss._native")]
#[derive(Clone, Copy)]
pub(crate) struct Decision {
    inner: Judged,
}

/// What a settlement says: charge, remaining, envelope, excess, and whether the envelope holds.
type Settled = (f64, f64, f64, f64, bool);

#[pymethods]
impl Shield {
    /// Checks the settings, a dictionary (see `settings`), and opens a ledger; with a critic, whose risks are judged,
    /// also an account of risk.
    #[new]
    #[pyo3(signature = (settings, critic = None))]
    fn new(settings: &Bound<'_, PyDict>, critic: Option<WhoKnows<'_>>) -> PyResult<Shield> {
        let rules = Rules::new(spec_of(settings)?).map_err(value_error)?;
        let risk = match critic {
            None => None,
            Some(WhoKnows::Driving(critic)) => Some(critic.get().rules()?),
            Some(WhoKnows::Learned(terms)) => Some(terms.get().terms),
        };
        Ok(Shield { inner: Episode::open(Terms { rules, risk }) })
    }

    /// Judges a proposal; changes nothing.
    fn judge(
        &self,
        proposal: usize,
        costs: PyReadonlyArray1<'_, f64>,
        preferences: Option<PyReadonlyArray1<'_, f64>>,
        density: f64,
    ) -> PyResult<Decision> {
        let preferences = preferences.as_ref().map(|array| array.as_slice()).transpose()?;
        let situation = Situation {
            proposal,
            costs: costs.as_slice()?,
            preferences: preferences.unwrap_or(&[]),
            density,
        };
        Ok(Decision { inner: self.inner.judge(&situation).map_err(value_error)? })
    }

    /// Judges candidate points of a box, of which the first is the proposal; changes nothing.
    #[expect(clippy::too_many_arguments, reason = "they are one set of points, as Python has them")]
    fn judge_nearest(
        &self,
        proposal: PyReadonlyArray1<'_, f64>,
        radius: PyReadonlyArray1<'_, f64>,
        low: PyReadonlyArray1<'_, f64>,
        high: PyReadonlyArray1<'_, f64>,
        candidates: PyReadonlyArray1<'_, f64>,
        costs: PyReadonlyArray1<'_, f64>,
        density: f64,
    ) -> PyResult<Decision> {
        let around = Neighbourhood {
            proposal: proposal.as_slice()?,
            radius: radius.as_slice()?,
            low: low.as_slice()?,
            high: high.as_slice()?,
        };
        let (candidates, costs) = (candidates.as_slice()?, costs.as_slice()?);
        let inner = self.inner.judge_nearest(&around, candidates, costs, density);
        Ok(Decision { inner: inner.map_err(value_error)? })
    }

    /// Charges the executed action: what it was observed to cost, or what was judged, as the settings say. What a critic
    /// said, the unavoidable risk and that of what ran, goes into the account.
    #[pyo3(signature = (decision, observed, foretold = None))]
    fn settle(
        &mut self,
        decision: &Decision,
        observed: f64,
        foretold: Option<(f64, f64)>,
    ) -> PyResult<Settled> {
        let foretold = foretold
            .map_or(Foretold::NOTHING, |(unavoidable, risk)| Foretold { unavoidable, risk });
        let settled = self.inner.settle(decision.inner, observed, foretold).map_err(value_error)?;
        let cpss_shield::Settlement { charge, remaining, envelope, excess, .. } = settled;
        Ok((charge, remaining, envelope, excess, settled.envelope_holds))
    }

    /// The episode is over, with or without an incident.
    fn close(&mut self, incident: bool) {
        self.inner.close(incident);
    }

    /// Says whether the world is one that the critic was calibrated in: of another nothing is promised.
    fn knows_world(&mut self, knows: bool) {
        self.inner.knows_world(knows);
    }

    /// Opens a fresh ledger for another episode.
    fn reset(&mut self) {
        self.inner.reset();
    }

    /// The account so far.
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        certificate(py, &self.inner)
    }

    /// The threshold of a decision now, in surroundings of this density.
    fn threshold(&self, density: f64) -> PyResult<f64> {
        self.inner.threshold(density).map_err(value_error)
    }

    /// The budget left.
    #[getter]
    fn remaining(&self) -> f64 {
        self.inner.shield().ledger().remaining()
    }

    /// The anytime envelope.
    #[getter]
    fn envelope(&self) -> f64 {
        self.inner.shield().ledger().envelope()
    }

    /// What is promised, and the account of risk: promise, start, chosen, surprise, arriving, evidence.
    #[getter]
    fn promised(&self) -> [f64; 6] {
        self.inner.promised()
    }

    /// The surprise that came to light with what was settled or closed last, if any did: what was not foreseen, and what
    /// was not charged.
    #[getter]
    fn surprise(&self) -> Option<(f64, f64)> {
        self.inner.surprise().map(|surprise| (surprise.unforeseen, surprise.uncharged))
    }

    /// Whether no more than the budget was spent.
    #[getter]
    fn budget_kept(&self) -> bool {
        self.inner.keeps_budget()
    }

    /// A copy with its own ledger.
    fn copy(&self) -> Shield {
        self.clone()
    }

    /// What was settled since the ledger was opened.
    fn state(&self) -> State {
        self.inner.state()
    }

    /// Makes the ledger of a [`Shield::state`].
    fn restore(&mut self, state: State) -> PyResult<()> {
        self.inner = Episode::of(self.inner.terms(), &state).map_err(value_error)?;
        Ok(())
    }
}

#[pymethods]
impl Decision {
    /// The action to run.
    #[getter]
    fn executed(&self) -> usize {
        self.inner.decision.executed()
    }

    /// The action that the verdict calls for, even in shadow mode.
    #[getter]
    fn allowed(&self) -> usize {
        self.inner.decision.allowed()
    }

    /// `admit`, `replace` or `infeasible`.
    #[getter]
    fn verdict(&self) -> &'static str {
        VERDICTS[usize::from(verdict_code(self.inner.decision.verdict()))]
    }

    /// Why the proposal was refused; empty if it was not.
    #[getter]
    fn reason(&self) -> &'static str {
        REASONS[usize::from(reason_code(self.inner.decision.verdict()))]
    }

    /// Predicted costs of proposal and executed action, threshold, gain.
    #[getter]
    fn numbers(&self) -> (f64, f64, f64, f64) {
        let decision = &self.inner.decision;
        (decision.cost_proposed(), decision.cost_executed(), decision.threshold(), decision.gain())
    }

    fn __str__(&self) -> String {
        self.inner.decision.to_string()
    }
}

/// Verdicts by code; the last stands for a step that judged nothing.
pub(crate) const VERDICTS: [&str; 4] = ["admit", "replace", "infeasible", "reset"];

/// Reasons by code; the first stands for none.
pub(crate) const REASONS: [&str; 9] = [
    "",
    "unusable-cost",
    "over-cap",
    "horizon-closed",
    "budget-spent",
    "over-budget",
    "unusable-context",
    "over-context",
    "priced",
];

pub(crate) fn verdict_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Admit => 0,
        Verdict::Replace(_) => 1,
        Verdict::Infeasible(_) => 2,
    }
}

pub(crate) fn reason_code(verdict: Verdict) -> u8 {
    match verdict.reason() {
        None => 0,
        Some(reason) => {
            let place = Reason::ALL.iter().position(|known| *known == reason);
            place.map_or(0, |place| place as u8 + 1)
        }
    }
}

pub(crate) fn certificate<'py>(py: Python<'py>, episode: &Episode) -> PyResult<Bound<'py, PyDict>> {
    let certificate = episode.certificate();
    let counts = certificate.counts;
    let dict = PyDict::new(py);
    dict.set_item("mode", certificate.mode.to_string())?;
    dict.set_item("charge", certificate.charge.to_string())?;
    dict.set_item("horizon", certificate.horizon)?;
    for (name, value) in [
        ("budget", certificate.budget),
        ("epsilon", certificate.epsilon),
        ("pace", certificate.pace),
        ("spent", certificate.spent),
        ("excess", certificate.excess),
        ("envelope", certificate.envelope),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("budget_kept", certificate.budget_kept)?;
    for (name, count) in [
        ("steps", certificate.steps),
        ("admitted", counts.admitted),
        ("replaced", counts.replaced),
        ("priced", counts.priced),
        ("infeasible", counts.infeasible),
        ("mispredicted", counts.mispredicted),
        ("unusable_costs", counts.unusable_costs),
        ("unusable_contexts", counts.unusable_contexts),
        ("unusable_observations", counts.unusable_observations),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item("envelope_held", certificate.envelope_held)?;
    let account = certificate.account.map(|account| -> PyResult<_> {
        let parts = PyDict::new(py);
        parts.set_item("start", account.start())?;
        parts.set_item("chosen", account.chosen())?;
        parts.set_item("surprise", account.surprise())?;
        parts.set_item("arriving", account.arriving())?;
        Ok(parts)
    });
    dict.set_item("account", account.transpose()?)?;
    dict.set_item("incident", certificate.account.and_then(|account| account.incident()))?;
    dict.set_item("evidence", certificate.memory.map(|memory| memory.evidence().value()))?;
    let [promise, ..] = episode.promised();
    dict.set_item("promise", certificate.account.map(|_| promise).filter(|most| !most.is_nan()))?;
    Ok(dict)
}

/// Candidate points around a proposal, one after the other; the first is the proposal itself.
#[pyfunction]
pub(crate) fn sample_candidates<'py>(
    py: Python<'py>,
    proposal: PyReadonlyArray1<'_, f64>,
    radius: PyReadonlyArray1<'_, f64>,
    low: PyReadonlyArray1<'_, f64>,
    high: PyReadonlyArray1<'_, f64>,
    count: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let around = Neighbourhood {
        proposal: proposal.as_slice()?,
        radius: radius.as_slice()?,
        low: low.as_slice()?,
        high: high.as_slice()?,
    };
    let mut candidates = vec![0.0; count * around.proposal.len()];
    sample(&around, &mut candidates).map_err(value_error)?;
    Ok(PyArray1::from_vec(py, candidates))
}
