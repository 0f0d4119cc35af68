//! What is made of an experiment's records, for people to read?
//!
//! | file | question |
//! |---|---|
//! | [`table`], [`tables`] | what is a table; which tables are there? |
//! | `figure` | which figures are there? |
//! | `paper` | what does the paper say, to compare with? |
//! | `selected` | which episodes are worth watching? |
//! | `page` | what does the report say, and how is an episode replayed in it? |
//! | `deployment` | what do deployments into a changing world come to? |
//! | `baselines` | what do learners come to, alone and under the shield? |
//! | `evidence` | what does a safety case ask of it? |
//! | [`document`] | how does a result get into a document? |

pub(crate) mod baselines;
pub(crate) mod deployment;
pub mod document;
pub(crate) mod evidence;
pub(crate) mod figure;
pub(crate) mod page;
pub(crate) mod paper;
pub(crate) mod selected;
pub mod table;
pub mod tables;

use std::path::Path;

use anyhow::Result;

use crate::measure::estimate::Results;
use crate::measure::unit::UnitRecord;
use crate::plan::Plan;
use page::Made;
use table::Table;

/// Everything that is made of records: tables, traces of selected episodes, figures, the report. The
/// same records give the same bytes, but for the day, the machine and the command in the report. Returns
/// the tables that sum it up.
///
/// # Errors
///
/// A folder that cannot be written, an episode that does not come out as its record says, or a trace
/// that does not audit.
pub fn write_results(
    records: &[UnitRecord],
    plan: &Plan,
    out: &Path,
    command: &str,
) -> Result<Vec<Table>> {
    let results = Results::new(records);
    results.prepare();
    let mut tables = tables::write_all(&results, out)?;
    let selected = selected::write_all(&results, out)?;
    let figures = figure::write_all(&results, plan, &selected, out)?;
    let made =
        Made { results: &results, plan, tables: &tables, figures: &figures, selected: &selected };
    page::write(&made, command, out)?;
    tables.truncate(tables::SUMMARY);
    Ok(tables)
}
