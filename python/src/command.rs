//! The laboratory's command, for `cpss` and `python -m cpss`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Does what a command line says, the program's name first, and returns the exit status. What the command line itself is
/// wrong about, and `--help`, end the process, as they do elsewhere.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| cpss::commands::run_from(arguments))
}
