//! What did the shields of a batch do, as Python reads it?
//!
//! A [`Report`] is one world's; [`arrays`] makes one array of each of its parts.

use cpss_highway::World;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::episode::Episode;

/// What a shield did at a step, as Python's `info["shield"]` has it.
#[derive(Clone, Default)]
pub(super) struct Report {
    pub(super) proposed: i64,
    pub(super) executed: i64,
    pub(super) proposed_point: Vec<f32>,
    pub(super) executed_point: Vec<f32>,
    pub(super) verdict: u8,
    pub(super) reason: u8,
    /// Costs of proposal and executed action, threshold, remaining, gain, envelope; the risk of the executed action, and
    /// the risk that cannot be avoided; promise, start, chosen, surprise, arriving, evidence; and 1 if the budget is kept.
    /// The two risks are known when it is judged, the others when it is settled.
    pub(super) numbers: Numbers,
}

/// The numbers of a report.
pub(super) type Numbers = [f64; 15];

/// What a shield did: proposed and executed actions, verdicts, reasons, and a row of numbers each.
pub(super) type Reports<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray2<f64>>,
);

/// The reports of all worlds; `dimension` is that of an action, where it is a point.
pub(super) fn arrays<'py>(
    py: Python<'py>,
    reports: &[Report],
    dimension: Option<usize>,
) -> PyResult<Reports<'py>> {
    let numbers: Vec<f64> = reports.iter().flat_map(|report| report.numbers).collect();
    let verdicts = PyArray1::from_iter(py, reports.iter().map(|report| report.verdict));
    let reasons = PyArray1::from_iter(py, reports.iter().map(|report| report.reason));
    let (proposed, executed) = match dimension {
        None => (
            PyArray1::from_iter(py, reports.iter().map(|report| report.proposed)).into_any(),
            PyArray1::from_iter(py, reports.iter().map(|report| report.executed)).into_any(),
        ),
        Some(dimension) => {
            let shape = [reports.len(), dimension];
            let points = |of: fn(&Report) -> &Vec<f32>| {
                let points = reports.iter().flat_map(|report| of(report).clone());
                PyArray1::from_iter(py, points).reshape(shape)
            };
            (points(|r| &r.proposed_point)?.into_any(), points(|r| &r.executed_point)?.into_any())
        }
    };
    let numbers = PyArray1::from_vec(py, numbers)
        .reshape([reports.len(), size_of::<Numbers>() / size_of::<f64>()])?;
    Ok((proposed, executed, verdicts, reasons, numbers))
}

impl Report {
    /// The report of a step that judged nothing.
    pub(super) fn of_nothing(world: &World, episode: Option<&Episode>) -> Report {
        let dimension = world.task().controls.box_dimension().unwrap_or(0);
        let mut numbers = [f64::NAN; size_of::<Numbers>() / size_of::<f64>()];
        if let Some(episode) = episode {
            let ledger = episode.shield().ledger();
            (numbers[3], numbers[5]) = (ledger.remaining(), ledger.envelope());
            numbers[14] = f64::from(u8::from(episode.keeps_budget()));
        }
        Report {
            proposed: -1,
            executed: -1,
            proposed_point: vec![f32::NAN; dimension],
            executed_point: vec![f32::NAN; dimension],
            verdict: 3,
            reason: 0,
            numbers,
        }
    }
}
