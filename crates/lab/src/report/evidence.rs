//! What does a safety case ask of an experiment?
//!
//! One page, and the same as JSON: what was promised and whether it was kept, where the incidents came from, what the
//! shield did and what that was good for, the evidence against the critics, and the hashes of everything that it depends on:
//! build, critics, policies, settings, records, traces. Start at [`Evidence::of`].
//!
//! **Invariants:** everything is derived from the records and the traces in the folder; a trace counts only if it audits;
//! what is not shown is said on the page.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cpss_highway::TaskId;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::measure::estimate::{Cell, Results, metric};
use crate::measure::unit::UnitRecord;
use crate::plan::work::bytes_of;
use crate::play::regime::BUILTIN;
use crate::report::document::{machine, today};
use crate::report::tables::{Kept, kept, promised};
use crate::trace::audit::audit;

mod identity;
mod page;

use identity::Identity;

/// What was found in a folder.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// Everything, for programs.
    pub document: Document,
}

/// Everything, for programs; the page shows the same.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    schema: u32,
    made_on: String,
    machine: String,
    episodes: usize,
    decisions: u64,
    promises: Promises,
    cells: Vec<CellEvidence>,
    identity: Identity,
    traces: Traces,
    not_shown: [&'static str; 5],
}

/// How many promises were made, and kept.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Promises {
    made: usize,
    /// No more happened than was promised.
    kept: usize,
    /// The same, and the upper end of the interval too is not above what was promised: enough episodes were played to say so.
    kept_with_confidence: usize,
    /// More happened, but no more than chance explains.
    within_interval: usize,
    broken: usize,
}

/// One task, regime and arm whose shield acts.
#[derive(Debug, Serialize)]
pub(crate) struct CellEvidence {
    task: String,
    regime: String,
    arm: String,
    episodes: usize,
    decisions: u64,
    /// `None`: nothing was promised.
    promised: Option<f64>,
    kept: Option<&'static str>,
    incidents: usize,
    incident_rate: f64,
    /// Wilson's.
    incident_rate_ci95: [f64; 2],
    start: f64,
    chosen: f64,
    surprise: f64,
    surprise_ci95: [f64; 2],
    arriving: f64,
    interventions: u64,
    /// Interventions that happened only because of what had been spent before.
    by_ledger: u64,
    /// Of the interventions that were tried in a branch of the world.
    judged: u64,
    avoided: u64,
    false_alarms: u64,
    infeasible: u64,
    mispredicted: u64,
    budgets_overdrawn: usize,
    /// The largest evidence at an episode's end that the critic underestimates risk.
    largest_evidence: f64,
    /// Episodes at whose end it stood at or above the alarm level.
    alarms: usize,
}

/// The traces that were found, audited.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Traces {
    audited: usize,
    sound: usize,
    /// The hashes that they end in, by file.
    ends: Vec<(String, String)>,
    unsound: Vec<(String, String)>,
}

/// What nobody should read into the page.
const NOT_SHOWN: [&str; 5] = [
    "A promise holds for episodes like those that the critic was calibrated on; whether the deployed traffic is like them is for the evidence to say, and surprises of risk are slow evidence.",
    "A critic is known to be conservative on average, over episodes of a regime, with 95 % confidence; not in every situation.",
    "Records are as this program wrote them. Their hash ties the page to them and does not say who made them; only traces are derived again.",
    "Whether an intervention was needed is judged by a copy of the simulated world, for 10 s.",
    "A simulation is not a road.",
];

impl Evidence {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// A folder without records, or with files among them that are none.
    pub(crate) fn of(folder: &Path) -> Result<Evidence> {
        let records = records(folder)?;
        let results = Results::new(&records);
        let mut cells = Vec::new();
        let mut promises = Promises::default();
        for cell in results.cells().into_iter().chain(results.frontier_cells()) {
            if !(cell.arm == "cpss" || cell.arm.starts_with("cpss:")) {
                continue;
            }
            let found = kept(&results, cell);
            promises.made += usize::from(found.is_some());
            promises.kept += usize::from(found == Some(Kept::Yes));
            promises.kept_with_confidence += usize::from(is_confident(&results, cell));
            promises.within_interval += usize::from(found == Some(Kept::WithinInterval));
            promises.broken += usize::from(found == Some(Kept::No));
            cells.extend(CellEvidence::of(&results, cell));
        }
        cells.sort_by_key(CellEvidence::place);
        ensure!(!cells.is_empty(), "no record in {} is of a shield that acts", folder.display());
        let document = Document {
            schema: 1,
            made_on: today(),
            machine: machine(),
            episodes: cells.iter().map(|cell| cell.episodes).sum(),
            decisions: cells.iter().map(|cell| cell.decisions).sum(),
            promises,
            cells,
            identity: Identity::of(&records)?,
            traces: traces(&folder.join("traces"))?,
            not_shown: NOT_SHOWN,
        };
        Ok(Evidence { document })
    }

    /// The result in a sentence.
    pub(crate) fn headline(&self) -> String {
        let Document { promises, traces, episodes, decisions, .. } = &self.document;
        let Promises { made, kept, kept_with_confidence, within_interval, broken } = promises;
        format!(
            "{made} promises over {episodes} episodes and {decisions} decisions: {kept} kept ({kept_with_confidence} of them with \
             95 % confidence), {within_interval} within the interval, {broken} broken; {} of {} traces derived again and found sound",
            traces.sound, traces.audited
        )
    }

    /// Whether nothing speaks against what was promised.
    ///
    /// # Errors
    ///
    /// A broken promise or an unsound trace.
    pub(crate) fn verdict(&self) -> Result<()> {
        let Document { promises, traces, .. } = &self.document;
        ensure!(
            promises.broken == 0,
            "{} of {} promises were broken",
            promises.broken,
            promises.made
        );
        ensure!(traces.unsound.is_empty(), "{} traces do not audit", traces.unsound.len());
        Ok(())
    }

    /// The page.
    pub(crate) fn page(&self) -> String {
        page::page(self)
    }
}

/// Whether a promise was kept beyond doubt: the interval's upper end is not above it.
fn is_confident(results: &Results<'_>, cell: Cell<'_>) -> bool {
    let found = results.estimate(cell, metric("collision_rate"));
    let most = promised(results, cell);
    matches!((found, most), (Some(found), Some(most)) if found.interval[1] <= most)
}

impl CellEvidence {
    /// The usual budget first; then tasks and regimes in their own order, not the alphabet's.
    fn place(&self) -> (bool, usize, usize, String) {
        let task = TaskId::ALL.iter().position(|id| id.name() == self.task);
        let regime = BUILTIN.iter().position(|(name, _)| *name == self.regime);
        let place = |found: Option<usize>| found.unwrap_or(usize::MAX);
        (self.arm != "cpss", place(task), place(regime), self.arm.clone())
    }

    fn of(results: &Results<'_>, cell: Cell<'_>) -> Option<CellEvidence> {
        let units = results.units(cell);
        let episodes: Vec<_> = units.iter().flat_map(|record| &record.episodes).collect();
        let count =
            |of: fn(&crate::record::EpisodeRecord) -> u64| episodes.iter().map(|e| of(e)).sum();
        let found = |key| results.estimate(cell, metric(key));
        let mean = |key| found(key).map_or(f64::NAN, |found| found.value);
        let (rate, surprise) = (found("collision_rate")?, found("surprise")?);
        let level = cpss_shield::RiskSpec::new().alarm;
        Some(CellEvidence {
            task: cell.task.to_owned(),
            regime: cell.regime.unwrap_or("all").to_owned(),
            arm: cell.arm.to_owned(),
            episodes: episodes.len(),
            decisions: count(|e| e.steps),
            promised: promised(results, cell),
            kept: kept(results, cell).map(Kept::words),
            incidents: episodes.iter().filter(|e| e.failed()).count(),
            incident_rate: rate.value,
            incident_rate_ci95: rate.interval,
            start: mean("start"),
            chosen: mean("chosen"),
            surprise: surprise.value,
            surprise_ci95: surprise.interval,
            arriving: mean("arriving"),
            interventions: count(|e| e.interventions),
            by_ledger: count(|e| e.by_ledger),
            judged: count(|e| e.replaced()),
            avoided: count(|e| e.avoided),
            false_alarms: count(|e| e.false_alarms),
            infeasible: count(|e| e.infeasible),
            mispredicted: count(|e| e.mispredicted),
            budgets_overdrawn: episodes.iter().filter(|e| !e.budget_kept).count(),
            largest_evidence: episodes.iter().map(|e| e.evidence).fold(0.0, f64::max),
            alarms: episodes.iter().filter(|e| e.evidence >= level).count(),
        })
    }
}

/// Every record of a folder, in the order of their names.
fn records(folder: &Path) -> Result<Vec<UnitRecord>> {
    let place = folder.join("records");
    let files = sorted(&place, "json").with_context(|| {
        format!(
            "{} has no folder `records`, which `cpss reproduce` and `cpss run` make",
            folder.display()
        )
    })?;
    ensure!(!files.is_empty(), "{} is empty: nothing was played to the end", place.display());
    let read = |file: &std::path::PathBuf| -> Result<UnitRecord> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&bytes).with_context(|| {
            format!("{} is no record; `cpss reproduce` makes it again", file.display())
        })
    };
    files.iter().map(read).collect()
}

/// Audits every trace of a folder; one that is not there has none.
fn traces(folder: &Path) -> Result<Traces> {
    let mut traces = Traces::default();
    for file in sorted(folder, "jsonl").unwrap_or_default() {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        traces.audited += 1;
        match audit(&bytes) {
            Ok(report) => {
                traces.sound += 1;
                traces.ends.push((name, report.chain_end));
            }
            Err(finding) => traces.unsound.push((name, finding.to_string())),
        }
    }
    Ok(traces)
}

/// The files of a folder with an ending, by name.
fn sorted(folder: &Path, ending: &str) -> std::io::Result<Vec<std::path::PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    files.sort();
    Ok(files)
}

/// One hash of all records.
fn digest(records: &[UnitRecord]) -> Result<String> {
    let mut hash = Sha256::new();
    for record in records {
        hash.update(bytes_of(record)?);
    }
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
