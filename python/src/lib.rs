//! What does Python see of the Rust crates?
//!
//! The module `cpss._native`: thin classes over the crates, with NumPy arrays as buffers. All that a
//! user reads (environments, wrappers, docstrings) is Python, in `package/`; nothing here is meant to be
//! imported by users. Start at the module at the end of this file, which lists everything.
//!
//! **Invariants:** a batch's steps and masks, a policy's values, a sweep's units, and the costs of scenes
//! from elsewhere are worked out with the interpreter released (one world of its own is not: its steps
//! are short); what is read then is a copy, and what is written is an array that nobody else has yet; no
//! array is kept, so those that Python holds never change behind its back; a wrong argument is a
//! `ValueError` that names it.
//!
//! **Absent on purpose:** decisions. The shield, the costs and the world are the crates'.

use pyo3::prelude::*;

mod batch;
mod command;
mod conditions;
mod critic;
mod driving;
mod episode;
mod learning;
mod memory;
mod picture;
mod policy;
mod risk;
mod settings;
mod shield;
mod shields;
mod sweep;
mod task;
mod world;

/// The compiled half of the package `cpss`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<conditions::Conditions>()?;
    module.add_class::<task::Task>()?;
    module.add_class::<world::World>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<critic::Critic>()?;
    module.add_class::<driving::Driving>()?;
    module.add_class::<shield::Shield>()?;
    module.add_class::<shield::Decision>()?;
    module.add_class::<shields::Shields>()?;
    module.add_class::<learning::RiskLearner>()?;
    module.add_class::<risk::RiskModel>()?;
    module.add_class::<risk::RiskTerms>()?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<memory::MemoryInUse>()?;
    module.add_class::<policy::Policy>()?;
    module.add_class::<sweep::FolderLock>()?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(task::task_ids, module)?)?;
    module.add_function(wrap_pyfunction!(task::policy_config, module)?)?;
    module.add_function(wrap_pyfunction!(task::shipped_tasks, module)?)?;
    module.add_function(wrap_pyfunction!(settings::shield_settings, module)?)?;
    module.add_function(wrap_pyfunction!(shield::sample_candidates, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::plan_units, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::run_unit, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::keep_record, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::unfinished, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::finish, module)?)?;
    Ok(())
}

/// An error of ours as Python's `ValueError`, with its words.
fn value_error(error: impl std::fmt::Display) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}
