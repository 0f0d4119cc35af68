//! What does a safety case ask of an experiment?
//!
//! One page, and the same as JSON: what was promised and whether it was kept, where the incidents came from, what the
//! shield did and what that was good for, the evidence against the critics, and the hashes of everything that it depends on:
//! build, critics, policies, settings, records, traces. Start at [`Evidence::of`].
//!
//! **Invariants:** everything is derived from the records and the traces in the folder; a trace counts only if it audits;
//! what is not shown is said on the page.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::measure::estimate::{Cell, Results};
use crate::measure::unit::UnitRecord;
use crate::plan::work::bytes_of;
use crate::play::arm::{Arm, ShieldSettings};
use crate::report::document::{machine, today};
use crate::report::tables::{Kept, kept};

mod cell;
mod folder;
mod identity;
mod page;

use cell::{CellEvidence, is_confident};
use folder::{Traces, records, traces};
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
    /// Episodes and decisions of these cells.
    episodes: usize,
    decisions: u64,
    /// No more happened than was promised.
    kept: usize,
    /// The same, and the upper end of the interval too is not above what was promised: enough episodes were played to say so.
    kept_with_confidence: usize,
    /// More happened, but no more than chance explains.
    within_interval: usize,
    broken: usize,
    /// Episodes of cells in which nothing was promised, and the incidents in them.
    unpromised_episodes: usize,
    unpromised_incidents: usize,
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
            if !counts(&results, cell) {
                continue;
            }
            let found = kept(&results, cell);
            promises.kept += usize::from(found == Some(Kept::Yes));
            promises.kept_with_confidence += usize::from(is_confident(&results, cell));
            promises.within_interval += usize::from(found == Some(Kept::WithinInterval));
            promises.broken += usize::from(found == Some(Kept::No));
            let Some(known) = CellEvidence::of(&results, cell) else { continue };
            promises.count(&known);
            cells.push(known);
        }
        cells.sort_by_key(CellEvidence::place);
        ensure!(
            !cells.is_empty(),
            "no record in {} is of an arm that promises anything",
            folder.display()
        );
        let document = Document {
            schema: 1,
            made_on: today(),
            machine: machine(),
            promises,
            cells,
            identity: Identity::of(&records)?,
            traces: traces(&folder.join("traces"), &records)?,
            not_shown: NOT_SHOWN,
        };
        Ok(Evidence { document })
    }

    /// The result in a sentence.
    pub(crate) fn headline(&self) -> String {
        let Document { promises, traces, .. } = &self.document;
        let Promises { made, episodes, decisions, .. } = promises;
        let Promises { kept, kept_with_confidence, within_interval, broken, .. } = promises;
        let mut words = format!(
            "{made} promises over {episodes} episodes and {decisions} decisions: {kept} kept ({kept_with_confidence} of them with \
             95 % confidence), {within_interval} within the interval, {broken} broken"
        );
        if promises.unpromised_episodes > 0 {
            let Promises { unpromised_episodes, unpromised_incidents, .. } = promises;
            words += &format!(
                "; nothing promised over {unpromised_episodes} more, with {unpromised_incidents} incidents"
            );
        }
        words += &format!(
            "; {} of {} traces derived again and found sound",
            traces.sound, traces.audited
        );
        match traces.foreign.len() {
            0 => words,
            foreign => format!("{words}, {foreign} of another program left out"),
        }
    }

    /// Whether nothing speaks against what was promised.
    ///
    /// # Errors
    ///
    /// A broken promise, an unsound trace, or no promise at all.
    pub(crate) fn verdict(&self) -> Result<()> {
        let Document { promises, traces, .. } = &self.document;
        ensure!(
            promises.made > 0,
            "nothing was promised in any cell: there is no promise to be kept"
        );
        let (broken, made) = (promises.broken, promises.made);
        ensure!(broken == 0, "{broken} of {made} promises were broken");
        if let Some((name, why)) = traces.unsound.first() {
            bail!("{} traces are not sound, the first is {name}: {why}", traces.unsound.len());
        }
        Ok(())
    }

    /// The page.
    pub(crate) fn page(&self) -> String {
        page::page(self)
    }
}

impl Promises {
    /// Adds the episodes of a cell.
    fn count(&mut self, cell: &CellEvidence) {
        match cell.promised {
            Some(_) => {
                self.made += 1;
                self.episodes += cell.episodes;
                self.decisions += cell.decisions;
            }
            None => {
                self.unpromised_episodes += cell.episodes;
                self.unpromised_incidents += cell.incidents;
            }
        }
    }
}

/// Whether a cell is of an arm that may promise something, and not the same episodes as another: at the usual budget `cpss:B` is
/// `cpss`.
fn counts(results: &Results<'_>, cell: Cell<'_>) -> bool {
    let Some(arm) = cell.arm.parse::<Arm>().ok().filter(|arm| arm.promises()) else { return false };
    let usual = cell.task.parse().ok().and_then(|id| ShieldSettings::shipped(id).ok());
    let is_usual =
        arm.given().is_some() && arm.given() == usual.map(|settings| settings.spec.budget);
    let plain = cell.arm.split(':').next().unwrap_or_default();
    !(is_usual && results.cells().contains(&Cell { arm: plain, ..cell }))
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
