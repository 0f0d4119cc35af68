//! How is a plan's work done, resumed and shared out?
//!
//! Every finished unit is kept as a file. Killed at any moment, the work goes on where it was: a finished unit is never
//! lost, a half-written one never counted, and everything comes out the same to the last byte.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use rayon::prelude::*;

use crate::files::atomic::{folder, write_atomically};
use crate::measure::unit::{Unit, UnitRecord};
use crate::terminal::meter::Meter;

/// A share of a plan's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which of them, from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            Some(Shard { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        match parts {
            Some(shard) if shard.index < shard.count => Ok(shard),
            _ => Err("give I/N with I from 0 to N-1, such as 0/4".to_owned()),
        }
    }
}

/// Runs those units that are not finished yet, and returns the records of all, in order.
pub(crate) fn run_units(units: &[Unit], out: &Path) -> Result<Vec<UnitRecord>> {
    run_units_until(&|| false, units, out)
}

/// The same, for somebody who may want it to stop: no unit is begun after that, and those under way are finished and
/// kept.
///
/// # Errors
///
/// As `run_units`, or if it was stopped.
pub fn run_units_until(
    is_stopped: &(dyn Fn() -> bool + Sync),
    units: &[Unit],
    out: &Path,
) -> Result<Vec<UnitRecord>> {
    folder(&out.join("records"))?;
    let progress = Meter::new("units", 0, units.len() as u64);
    let finish = |unit: &Unit| -> Result<UnitRecord> {
        let record = match finished(unit, out)? {
            Some(record) => record,
            None => {
                ensure!(!is_stopped(), "stopped; what was finished is kept");
                let Unit { task, regime, arm, policy, .. } = unit;
                progress.tell(format!("{task} {regime} {arm} policy {policy}"));
                let record = unit.run()?;
                write_atomically(&place_of(unit, out), &bytes_of(&record)?)?;
                record
            }
        };
        progress.advance();
        Ok(record)
    };
    // Several units at once, since a unit of few episodes cannot keep all cores busy by itself.
    let records = units.par_iter().with_max_len(1).map(finish).collect::<Result<Vec<_>>>()?;
    progress.finish();
    Ok(records)
}

/// Where the record of a unit is, in the folder of an experiment.
fn place_of(unit: &Unit, out: &Path) -> PathBuf {
    out.join("records").join(format!("{}.json", unit.name()))
}

/// Writes a record where it belongs in the folder of an experiment.
///
/// # Errors
///
/// A folder that cannot be written.
pub fn keep_record(record: &UnitRecord, out: &Path) -> Result<()> {
    folder(&out.join("records"))?;
    write_atomically(&place_of(&record.unit, out), &bytes_of(record)?)
}

/// A record as it is written: the same bytes whoever made it.
///
/// # Errors
///
/// None that is known: a record is plain data.
pub fn bytes_of(record: &UnitRecord) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(record)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The record of a unit, if it was finished with the same program and settings.
///
/// # Errors
///
/// A task or regime that does not exist.
pub fn finished(unit: &Unit, out: &Path) -> Result<Option<UnitRecord>> {
    let Ok(bytes) = fs::read(place_of(unit, out)) else { return Ok(None) };
    record_of(unit, &bytes)
}

/// The record of a unit, if these bytes are one, made with the same program and settings.
///
/// # Errors
///
/// A task or regime that does not exist.
pub fn record_of(unit: &Unit, bytes: &[u8]) -> Result<Option<UnitRecord>> {
    // A file that cannot be read as a record was not written by us to the end; it is made again.
    let Ok(record) = serde_json::from_slice::<UnitRecord>(bytes) else { return Ok(None) };
    let is_current = record.unit == *unit && record.fingerprint == unit.fingerprint()?;
    Ok(is_current.then_some(record))
}
