//! What is known of one task, regime and arm?

use cpss_highway::TaskId;
use cpss_shield::{RiskRules, RiskSpec, Surprise};
use serde::Serialize;

use crate::measure::estimate::{Cell, Results, metric};
use crate::play::regime::BUILTIN;
use crate::record::EpisodeRecord;
use crate::report::tables::{Kept, kept, promised};

/// One task, regime and arm whose shield acts.
#[derive(Debug, Serialize)]
pub(crate) struct CellEvidence {
    pub task: String,
    pub regime: String,
    pub arm: String,
    pub episodes: usize,
    pub decisions: u64,
    /// `None`: nothing was promised.
    pub promised: Option<f64>,
    pub kept: Option<&'static str>,
    pub incidents: usize,
    pub incident_rate: f64,
    /// Wilson's.
    pub incident_rate_ci95: [f64; 2],
    pub start: f64,
    pub chosen: f64,
    pub surprise: f64,
    pub surprise_ci95: [f64; 2],
    pub arriving: f64,
    pub interventions: u64,
    /// Interventions that happened only because of what had been spent before.
    pub by_ledger: u64,
    /// Of the interventions that were tried in a branch of the world.
    pub judged: u64,
    pub avoided: u64,
    pub false_alarms: u64,
    pub infeasible: u64,
    pub mispredicted: u64,
    pub budgets_overdrawn: usize,
    /// The evidence that the critic underestimates risk, over the surprises of all episodes in a row.
    pub evidence: f64,
    /// After how many of them it first reached the alarm level; `None`: never.
    pub alarm: Option<u64>,
}

/// Whether a promise was kept beyond doubt: the interval's upper end is not above it.
pub(super) fn is_confident(results: &Results<'_>, cell: Cell<'_>) -> bool {
    let found = results.estimate(cell, metric("collision_rate"));
    let most = promised(results, cell);
    matches!((found, most), (Some(found), Some(most)) if found.interval[1] <= most)
}

impl CellEvidence {
    /// The whole shield at its usual budget first; then arms by name, tasks and regimes in their own order, not the alphabet's.
    pub(super) fn place(&self) -> (bool, String, usize, usize) {
        let task = TaskId::ALL.iter().position(|id| id.name() == self.task);
        let regime = BUILTIN.iter().position(|(name, _)| *name == self.regime);
        let place = |found: Option<usize>| found.unwrap_or(usize::MAX);
        (self.arm != "cpss", self.arm.clone(), place(task), place(regime))
    }

    pub(super) fn of(results: &Results<'_>, cell: Cell<'_>) -> Option<CellEvidence> {
        let units = results.units(cell);
        let episodes: Vec<_> = units.iter().flat_map(|record| &record.episodes).collect();
        let count = |of: fn(&EpisodeRecord) -> u64| episodes.iter().map(|e| of(e)).sum();
        let found = |key| results.estimate(cell, metric(key));
        let mean = |key| found(key).map_or(f64::NAN, |found| found.value);
        let (rate, surprise) = (found("collision_rate")?, found("surprise")?);
        let (evidence, alarm) = in_a_row(&episodes);
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
            evidence,
            alarm,
        })
    }
}

/// The evidence after episodes one after the other, each with its whole surprise: in a record every episode has forgotten the
/// one before, and a few decisions can never speak loudly. If the critic is right the alarm level is reached once in as many
/// episodes, on average, or more seldom.
fn in_a_row(episodes: &[&EpisodeRecord]) -> (f64, Option<u64>) {
    // The rules are the core's own defaults.
    let Ok(rules) = RiskRules::new(RiskSpec::new()) else { return (f64::NAN, None) };
    let mut memory = rules.memory();
    for episode in episodes {
        memory.learn(Surprise::of(episode.surprise().clamp(-1.0, 1.0)));
    }
    (memory.evidence().value(), memory.evidence().alarm())
}
