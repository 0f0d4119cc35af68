//! Was the promise kept, and where do the incidents come from?
//!
//! A budget promises that incidents are at most so much more likely than cannot be avoided. These tables put
//! what was promised beside what happened, and split what happened into the four parts of the account. Whether
//! a promise was kept could have come out otherwise: nothing here is so by construction.

use std::sync::Arc;

use cpss_highway::TaskId;
use cpss_risk::LearnedRisk;

use super::{INTERVALS, names};
use crate::measure::estimate::{Cell, Estimate, Results, metric};
use crate::play::arm::{Arm, ShieldSettings};
use crate::play::critic::{RiskSource, is_conservative_here};
use crate::play::sensor::{Behind, SensorSpec};
use crate::report::table::{Entry, Table};

/// What was promised of a cell. `None` for an arm that promises nothing, and where the critic is not known to be
/// conservative in such traffic or under such a budget.
pub(crate) fn promised(results: &Results<'_>, cell: Cell<'_>) -> Option<f64> {
    let arm: Arm = cell.arm.parse().ok()?;
    let critic = critic(results, cell)?;
    let is_known = critic.card().is_calibrated_for(budget(cell)?);
    if arm.promises() && is_known { allowed(results, cell) } else { None }
}

/// The critic that the shields of a cell ask.
fn critic(results: &Results<'_>, cell: Cell<'_>) -> Option<Arc<LearnedRisk>> {
    let sensor = SensorSpec::load(results.sensor()).ok()?.sensor();
    RiskSource::behind(&sensor).load(cell.task.parse().ok()?).ok()
}

/// The budget of a cell: its arm's own, or the usual one.
fn budget(cell: Cell<'_>) -> Option<f64> {
    let usual = || Some(ShieldSettings::shipped(cell.task.parse().ok()?).ok()?.spec.budget);
    cell.arm.parse().ok().and_then(|arm: Arm| arm.given()).or_else(usual)
}

/// What a budget allows in a cell, whether or not its arm promises to keep to it: what could not be avoided, what came
/// into view, and the budget. `None` where the critic is not known to be conservative in such traffic.
pub(crate) fn allowed(results: &Results<'_>, cell: Cell<'_>) -> Option<f64> {
    let eyes = results.sensor();
    let id: TaskId = cell.task.parse().ok()?;
    let critic = critic(results, cell)?;
    let regimes = cell.regime.map_or_else(|| results.regimes(), |regime| vec![regime]);
    let is_known = |regime: &&str| is_conservative_here(&critic, id, (regime, eyes, Behind::Both));
    regimes.iter().all(is_known).then_some(())?;
    // A budget of 1 or more allows everything, and so promises nothing.
    let budget = budget(cell).filter(|budget| *budget < 1.0)?;
    let mean = |key| results.estimate(cell, metric(key)).map(|found| found.value);
    Some(mean("start")? + mean("arriving")? + budget)
}

/// Whether a promise was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// No more happened than was promised.
    Yes,
    /// More happened, but no more than chance explains.
    WithinInterval,
    /// More happened.
    No,
}

impl Kept {
    /// Whether so much is at most what was promised.
    pub(crate) fn of(found: &Estimate, promised: f64) -> Kept {
        Kept::by(found.value, found.interval, promised)
    }

    /// The same of a rate and its interval.
    pub(crate) fn by(rate: f64, [low, _]: [f64; 2], promised: f64) -> Kept {
        match rate {
            rate if rate <= promised => Kept::Yes,
            _ if low <= promised => Kept::WithinInterval,
            _ => Kept::No,
        }
    }

    /// In a table.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kept::Yes => "yes",
            Kept::WithinInterval => "within its interval",
            Kept::No => "NO",
        }
    }
}

/// Whether the promise of a cell was kept; `None` for an arm that promises nothing.
pub(crate) fn kept(results: &Results<'_>, cell: Cell<'_>) -> Option<Kept> {
    let promised = promised(results, cell)?;
    let found = results.estimate(cell, metric("collision_rate"))?;
    Some(Kept::of(&found, promised))
}

/// Promised and measured, with the account, at the usual budget.
pub(super) fn promise(results: &Results<'_>) -> Table {
    let row = |cell: &Cell<'_>| row(results, *cell);
    Table {
        name: "promise",
        title: "Promised and measured at the usual budget".to_owned(),
        columns: columns(&["task", "regime"]),
        rows: results.cells().iter().filter(|cell| cell.arm == "cpss").filter_map(row).collect(),
        note: format!(
            "{INTERVALS} Promised is what could not be avoided at the start, plus what came into view (where \
             the look-ahead is limited), plus the budget. Start, chosen, surprise and arriving add up to what \
             happened. A critic is conservative if its surprise is not above 0; the promise rests on that. \
             The last column: interventions that an unspent budget would not have made."
        ),
    }
}

/// The same for every budget of the frontier.
pub(super) fn promise_by_budget(results: &Results<'_>) -> Table {
    let row = |cell: &Cell<'_>| {
        let arm: Arm = cell.arm.parse().ok()?;
        let is_cpss = matches!(arm, Arm::Cpss(Some(_)));
        let mut row = row(results, *cell).filter(|_| is_cpss)?;
        row.insert(2, Entry::Words(arm.given()?.to_string()));
        Some(row)
    };
    Table {
        name: "promise_by_budget",
        title: "Promised and measured at every budget".to_owned(),
        columns: columns(&["task", "regime", "budget"]),
        rows: results.frontier_cells().iter().filter_map(row).collect(),
        note: INTERVALS.to_owned(),
    }
}

fn columns(first: &[&str]) -> Vec<String> {
    let rest = [
        "promised: at most",
        "happened",
        "kept",
        "start",
        "chosen",
        "surprise",
        "arriving",
        "interventions only for what was spent",
    ];
    names(&[first, &rest].concat())
}

fn row(results: &Results<'_>, cell: Cell<'_>) -> Option<Vec<Entry>> {
    let found = |key| {
        let metric = metric(key);
        Entry::of(results, cell, metric)
    };
    Some(vec![
        Entry::words(cell.task),
        Entry::words(cell.regime.unwrap_or("**all**")),
        promised(results, cell).map_or(Entry::words("nothing"), |most| Entry::Number(most, 4)),
        found("collision_rate"),
        Entry::words(kept(results, cell).map_or("–", Kept::words)),
        found("start"),
        found("chosen"),
        found("surprise"),
        found("arriving"),
        found("by_ledger_share"),
    ])
}
