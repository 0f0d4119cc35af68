//! How is an experiment shared out from Python?
//!
//! A plan's units are the lab's own (`cpss run` does the same ones), each a pure function of itself. A
//! unit and its record travel as JSON, so that any machine with this package can do one (of a regime
//! that is a file only the path travels, so the file has to be there as well). Start at
//! [`plan_units`]; [`finish`] makes of the records what `cpss merge` makes.
//!
//! **Invariant:** a record has the same bytes whoever made it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use cpss::files::lock::{Claim, Lock};
use cpss::measure::unit::Unit;
use cpss::plan::Plan;
use cpss::plan::work::{self, bytes_of, finished, record_of, run_units_until};
use cpss::report::write_results;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPoolBuilder;

use crate::value_error;

/// The units of a plan, which is the path of a TOML file; each as JSON.
#[pyfunction]
pub(crate) fn plan_units(plan: PathBuf) -> PyResult<Vec<String>> {
    let units = Plan::load(&plan).map_err(in_words)?.units();
    units.iter().map(|unit| serde_json::to_string(unit).map_err(value_error)).collect()
}

/// Does a unit on some threads, and returns its record's bytes.
#[pyfunction]
pub(crate) fn run_unit<'py>(
    py: Python<'py>,
    unit: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let unit: Unit = serde_json::from_str(unit).map_err(value_error)?;
    let bytes = py.detach(|| -> anyhow::Result<Vec<u8>> {
        // A pool of its own: whoever shares a machine out has said how many threads this may take.
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
        bytes_of(&pool.install(|| unit.run())?)
    });
    Ok(PyBytes::new(py, &bytes.map_err(in_words)?))
}

/// Writes a record where `cpss run` would have, whole or not at all.
#[pyfunction]
pub(crate) fn keep_record(out: PathBuf, unit: &str, record: &[u8]) -> PyResult<()> {
    let unit: Unit = serde_json::from_str(unit).map_err(value_error)?;
    record_of(&unit, record)
        .map_err(in_words)?
        .with_context(|| format!("the record of {} was made by another program", unit.name()))
        .and_then(|record| work::keep_record(&record, &out))
        .map_err(in_words)
}

/// Which of some units have no current record there.
#[pyfunction]
pub(crate) fn unfinished(out: PathBuf, units: Vec<String>) -> PyResult<Vec<String>> {
    let mut left = Vec::new();
    for text in units {
        let unit: Unit = serde_json::from_str(&text).map_err(value_error)?;
        if finished(&unit, &out).map_err(in_words)?.is_none() {
            left.push(text);
        }
    }
    Ok(left)
}

/// A folder that nobody else may work in, `cpss reproduce` included, until this is closed.
#[pyclass(module = "cpss._native")]
pub(crate) struct FolderLock(Option<Lock>);

#[pymethods]
impl FolderLock {
    /// Makes the folder if there is none; `command` is who works there, in words for others.
    #[new]
    fn new(out: PathBuf, command: &str) -> PyResult<FolderLock> {
        let lock = Lock::take(&out, Claim::Alone, command).map_err(in_words)?;
        Ok(FolderLock(Some(lock)))
    }

    /// Lets go of it.
    fn close(&mut self) {
        self.0 = None;
    }
}

/// Does what is left of a plan here, and makes tables, figures, traces and the report of all records;
/// the report says by which command they are made again.
///
/// Interrupted, it begins no other unit and waits for those under way, whose records are kept; interrupted again, it
/// does not wait.
#[pyfunction]
pub(crate) fn finish(
    py: Python<'_>,
    plan: PathBuf,
    out: PathBuf,
    threads: usize,
    command: String,
) -> PyResult<()> {
    /// How long somebody who interrupts may be kept waiting for an answer.
    const PATIENCE: Duration = Duration::from_millis(10);
    let stop = Arc::new(AtomicBool::new(false));
    let is_stopped = {
        let stop = Arc::clone(&stop);
        move || stop.load(Ordering::Relaxed)
    };
    // On a thread of its own, since only this one hears of signals.
    let worker = std::thread::spawn(move || -> anyhow::Result<()> {
        let plan = Plan::load(&plan)?;
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        pool.install(|| {
            let records = run_units_until(&is_stopped, &plan.units(), &out)?;
            write_results(&records, &plan, &out, &command)?;
            Ok(())
        })
    });
    let mut interruption = None;
    while !worker.is_finished() {
        py.detach(|| std::thread::sleep(PATIENCE));
        if let Err(signal) = py.check_signals() {
            stop.store(true, Ordering::Relaxed);
            if interruption.replace(signal).is_some() {
                break;
            }
        }
    }
    match interruption {
        Some(signal) => Err(signal),
        None => {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(in_words)
        }
    }
}

/// An error of the lab with all that led to it.
fn in_words(error: anyhow::Error) -> PyErr {
    value_error(format!("{error:#}"))
}
