//! What is in the folder of an experiment?
//!
//! Records, of which no episode may count twice, and traces, which are derived again. What another program made is told apart.
//! A trace of an episode that was recorded has to say of it what the record says, and those that `traces/index.json` lists
//! have to be there and end in the hashes that it keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cpss_highway::TaskId;
use serde::{Deserialize, Serialize};

use crate::measure::unit::UnitRecord;
use crate::play::critic::{RiskSource, hash};
use crate::play::sensor::{PERFECT, SensorSpec};
use crate::trace::audit::audit;
use crate::trace::{End, Header, read_line};

/// The traces that were found, audited.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Traces {
    pub audited: usize,
    pub sound: usize,
    /// The hashes that they end in, by file.
    pub ends: Vec<(String, String)>,
    pub unsound: Vec<(String, String)>,
    /// Files that are of another program or critic, and count for nothing here.
    pub foreign: Vec<String>,
}

/// Every record of a folder, in the order of their names.
pub(super) fn records(folder: &Path) -> Result<Vec<UnitRecord>> {
    let place = folder.join("records");
    let files = sorted(&place, "json").with_context(|| {
        format!(
            "{} has no folder `records`, which `cpss reproduce` and `cpss run` make",
            folder.display()
        )
    })?;
    ensure!(!files.is_empty(), "{} is empty: nothing was played to the end", place.display());
    let read = |file: &PathBuf| -> Result<UnitRecord> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&bytes).with_context(|| {
            format!("{} is no record; `cpss reproduce` makes it again", file.display())
        })
    };
    let records: Vec<UnitRecord> = files.iter().map(read).collect::<Result<_>>()?;
    // What is promised depends on the sensor: cells of several would be judged by one critic's promise.
    let sensors: BTreeSet<&str> = records.iter().map(|it| it.unit.sensor.as_str()).collect();
    ensure!(
        sensors.len() == 1,
        "{} has records behind several sensors ({}): give every plan a folder of its own, with --out",
        place.display(),
        sensors.into_iter().collect::<Vec<_>>().join(", ")
    );
    distinct(records)
}

/// The records without those whose episodes a larger one has too: a first look and the whole run may have one folder.
fn distinct(mut records: Vec<UnitRecord>) -> Result<Vec<UnitRecord>> {
    let place = |record: &UnitRecord| (record.unit.name(), record.unit.episodes);
    records.sort_by_key(|record| (std::cmp::Reverse(record.unit.episodes), place(record)));
    let mut seen: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    let mut kept = Vec::new();
    for record in records {
        let unit = &record.unit;
        let seeds: Vec<u64> = record.episodes.iter().map(|episode| episode.seed).collect();
        let wanted: Vec<u64> = (unit.first_seed..).take(unit.episodes as usize).collect();
        ensure!(seeds == wanted, "the record {} has not the episodes that it names", unit.name());
        let policy = (unit.policy, unit.own.clone().map(|own| own.file));
        let cell = (unit.task.clone(), unit.regime.clone(), unit.arm.clone(), policy);
        let before = seen.entry(cell).or_default();
        let again = seeds.iter().filter(|seed| before.contains(seed)).count();
        ensure!(
            again == 0 || again == seeds.len(),
            "the record {} has some episodes of another one: they would count twice",
            unit.name()
        );
        before.extend(seeds);
        if again == 0 {
            kept.push(record);
        }
    }
    kept.sort_by_key(place);
    Ok(kept)
}

/// A list of traces, as a reproduction keeps it: so much of it as is asked for here.
#[derive(Deserialize)]
struct Episode {
    traces: Vec<Listed>,
}

/// A trace, and the hash that it ends in.
#[derive(Deserialize)]
struct Listed {
    file: String,
    chain_end: String,
}

/// The traces that an index lists; none without one.
fn listed(folder: &Path) -> Result<Vec<Listed>> {
    let place = folder.join("index.json");
    let bytes = match fs::read(&place) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", place.display()));
        }
    };
    let episodes: Vec<Episode> = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is no list of traces", place.display()))?;
    Ok(episodes.into_iter().flat_map(|episode| episode.traces).collect())
}

/// Audits every trace of a folder, and compares it with the records; one that is not there has none.
pub(super) fn traces(folder: &Path, records: &[UnitRecord]) -> Result<Traces> {
    let mut traces = Traces::default();
    let listed = listed(folder)?;
    for file in sorted(folder, "jsonl").unwrap_or_default() {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let known = listed.iter().find(|listed| listed.file == name);
        if !is_ours(&bytes) {
            match known {
                None => traces.foreign.push(name),
                // What is listed was written here: whoever changes its first line does not get past the audit.
                Some(_) => {
                    traces.audited += 1;
                    let why = "index.json lists it, but it names another program or critic";
                    traces.unsound.push((name, why.to_owned()));
                }
            }
            continue;
        }
        traces.audited += 1;
        match audit(&bytes) {
            Err(finding) => traces.unsound.push((name, finding.to_string())),
            Ok(report) if known.is_some_and(|known| known.chain_end != report.chain_end) => {
                let why = "it does not end in the hash that index.json keeps of it";
                traces.unsound.push((name, why.to_owned()));
            }
            Ok(report) => match (agrees(&bytes, records)?, known) {
                (Some(false), _) => {
                    let why = "the record of this episode says something else";
                    traces.unsound.push((name, why.to_owned()));
                }
                // Whoever takes away a record has to answer for its traces.
                (None, Some(_)) => {
                    let why = "index.json lists it, but the record of this episode is not there";
                    traces.unsound.push((name, why.to_owned()));
                }
                (Some(true), _) | (None, None) => {
                    traces.sound += 1;
                    traces.ends.push((name, report.chain_end));
                }
            },
        }
    }
    for missing in listed.into_iter().filter(|listed| !folder.join(&listed.file).is_file()) {
        traces.audited += 1;
        traces.unsound.push((missing.file, "index.json lists it, but it is not there".to_owned()));
    }
    Ok(traces)
}

/// Whether a sound trace says of its episode what the record says; `None` if there is no record of it.
fn agrees(bytes: &[u8], records: &[UnitRecord]) -> Result<Option<bool>> {
    let text = str::from_utf8(bytes)?;
    let header: Header = read_line(text.lines().next().unwrap_or_default())?;
    let end: End = read_line(text.lines().last().unwrap_or_default())?;
    let is_of = |record: &&UnitRecord| {
        let unit = &record.unit;
        let sensor = header.sensor.as_deref().unwrap_or(PERFECT);
        (&unit.task, &unit.regime, &unit.arm) == (&header.task, &header.regime, &header.arm)
            && unit.sensor == sensor
            && header.policy == unit.policy_name()
    };
    let mut episodes = records.iter().filter(is_of).flat_map(|record| &record.episodes);
    Ok(episodes.find(|episode| episode.seed == header.seed).map(|found| *found == end.record))
}

/// Whether a trace says that this very program wrote it, with the critic that it ships. One that says nothing readable is left
/// to the audit.
fn is_ours(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(header) = str::from_utf8(first).map_err(Into::into).and_then(read_line::<Header>) else {
        return true;
    };
    let critic = header.task.parse::<TaskId>().map_err(Into::into);
    let eyes = header.sensor.as_deref().unwrap_or(PERFECT);
    let source = SensorSpec::load(eyes).map(|eyes| RiskSource::behind(&eyes.sensor()));
    let critic = critic.and_then(|id| source?.load(id));
    header.program == concat!("cpss ", env!("CARGO_PKG_VERSION"))
        && critic.is_ok_and(|critic| hash(&critic) == header.risk.sha256)
}

/// The files of a folder with an ending, by name.
fn sorted(folder: &Path, ending: &str) -> std::io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    files.sort();
    Ok(files)
}
