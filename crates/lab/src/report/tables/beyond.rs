//! Which tables show what the paper does not?
//!
//! What the interventions were good for, every arm, the bound of Theorem 3 beside what was measured, the
//! frontier, and every cell with everything.

use super::{INTERVALS, names};
use crate::measure::estimate::{Cell, METRICS, Results, metric};
use crate::play::tally::DISCOUNT;
use crate::record::EpisodeRecord;
use crate::report::table::{Entry, Table};

/// What the shield's interventions were good for.
pub(super) fn what_if(results: &Results<'_>) -> Table {
    let keys = ["avoided_share", "closer_share", "unavoided_share", "false_alarm_share"];
    let row = |task: &str, regime: Option<&str>| {
        let cell = Cell { task, regime, arm: "cpss" };
        let units = results.units(cell);
        let episodes = units.iter().flat_map(|record| &record.episodes);
        let replaced: u64 = episodes.map(EpisodeRecord::replaced).sum();
        let mut row = vec![
            Entry::words(task),
            Entry::words(regime.unwrap_or("**all**")),
            Entry::Number(replaced as f64, 0),
        ];
        row.extend(keys.map(|key| Entry::of(results, cell, metric(key))));
        (!units.is_empty()).then_some(row)
    };
    let regimes = results.regimes();
    let rows = results.tasks().into_iter().flat_map(|task| {
        regimes.iter().map(|regime| Some(*regime)).chain([None]).filter_map(move |r| row(task, r))
    });
    let columns = keys.map(|key| metric(key).name);
    Table {
        name: "what_if",
        title: "What CPSS's interventions were good for".to_owned(),
        columns: names(&[["task", "regime", "replaced actions"].as_slice(), &columns].concat()),
        rows: rows.collect(),
        note: format!(
            "{INTERVALS} Shares of replaced actions. For each, a copy of the world ran the refused action and \
             then the policy alone, for 10 s. A crash (on the racetrack also \
             leaving the road) counts as avoided if the copy had it and the real run did not within as \
             many decisions; a closer call, if neither did and the copy came closer to \
             something; the rest are false alarms."
        ),
    }
}

/// What the paper does not show: every arm, mean over regimes.
pub(super) fn beyond(results: &Results<'_>) -> Table {
    let keys = [
        "collision_rate",
        "return_mean",
        "mean_speed",
        "success_rate",
        "intervention_rate",
        "by_ledger_share",
        "budget_used",
    ];
    let mut rows = Vec::new();
    for task in results.tasks() {
        for arm in results.arms() {
            let cell = Cell { task, regime: None, arm };
            if results.units(cell).is_empty() {
                continue;
            }
            let mut row = vec![Entry::words(task), Entry::Words(arm_name(arm))];
            row.extend(keys.map(|key| Entry::of(results, cell, metric(key))));
            row.push(Entry::Number(violations(results, cell) as f64, 0));
            rows.push(row);
        }
    }
    let columns = keys.map(|key| metric(key).name);
    Table {
        name: "beyond_the_paper",
        title: "Every arm, mean over regimes".to_owned(),
        columns: names(&[["task", "arm"].as_slice(), &columns, &["envelope violations"]].concat()),
        rows,
        note: format!(
            "{INTERVALS} The oracle is privileged: its costs come from the true world's future, and it \
             plays fewer episodes. For arms that do not act (dqn, random, constant) interventions are \
             those that a shadow shield would have made."
        ),
    }
}

/// Theorem 3: the bound on the value lost to shielding, beside what was lost.
pub(super) fn theorem_three(results: &Results<'_>) -> Table {
    let mut rows = Vec::new();
    for task in results.tasks() {
        for regime in results.regimes() {
            let units = results.units(Cell { task, regime: Some(regime), arm: "cpss" });
            let Some(found) = results.value_difference(task, regime, "cpss", "dqn") else {
                continue;
            };
            let episodes = || units.iter().flat_map(|record| &record.episodes);
            let played = episodes().count() as f64;
            let last = units.iter().map(|record| record.refusals.len()).max().unwrap_or(0);
            let refused_at = |step: usize| {
                units.iter().map(|r| r.refusals.get(step).copied().unwrap_or(0)).sum::<u32>()
            };
            let eta = f64::from((0..last).map(refused_at).max().unwrap_or(0)) / played;
            let change = episodes().map(|episode| episode.reward_change).fold(0.0, f64::max);
            let discounted: f64 = episodes().map(|e| e.discounted_interventions).sum();
            let bound = eta * change / (1.0 - DISCOUNT);
            let holds = if found.value.abs() <= bound { "yes" } else { "no" };
            rows.push(vec![
                Entry::words(task),
                Entry::words(regime),
                Entry::Number(eta, 3),
                Entry::Number(change, 3),
                Entry::Number(bound, 3),
                Entry::Number(discounted / played * change, 3),
                Entry::Estimate(found, 3),
                Entry::words(holds),
            ]);
        }
    }
    Table {
        name: "theorem_3",
        title: "Theorem 3: bound on the value difference, and what was measured".to_owned(),
        columns: names(&[
            "task",
            "regime",
            "η",
            "Δr",
            "bound",
            "bound by steps",
            "value difference",
            "within",
        ]),
        rows,
        note: format!(
            "γ = {DISCOUNT}. η is the largest share, over steps, of episodes refused at that step; Δr the \
             largest change of a step's reward by a refusal, from a copy of the world that ran the \
             proposal; the bound is ηΔr/(1 − γ), and by steps Δr times the mean discounted number of \
             refusals; the value difference is that of discounted returns, cpss less dqn, on the same \
             episodes. The theorem compares rewards step by step in the same state; a measured \
             difference includes everything that follows, such as a crash that did not happen, and may \
             lie outside."
        ),
    }
}

/// Budgets and thresholds, mean over regimes.
pub(super) fn frontier(results: &Results<'_>) -> Table {
    let keys = ["collision_rate", "return_mean", "intervention_rate", "chosen", "by_ledger_share"];
    let mut rows = Vec::new();
    for task in results.tasks() {
        for arm in results.frontier_arms() {
            let cell = Cell { task, regime: None, arm };
            let mut row = vec![Entry::words(task), Entry::words(arm)];
            row.extend(keys.map(|key| Entry::of(results, cell, metric(key))));
            rows.push(row);
        }
    }
    Table {
        name: "frontier",
        title: "What a budget earns: the shield, with a price, and constant thresholds, mean over regimes"
            .to_owned(),
        columns: names(&[["task", "arm"].as_slice(), &keys.map(|key| metric(key).name)].concat()),
        rows,
        note: format!(
            "{INTERVALS} fixed:B is the constant threshold B / T, which makes the same promise as cpss:B; \
             threshold:X promises nothing."
        ),
    }
}

/// Everything about every cell.
pub(super) fn every_cell(results: &Results<'_>) -> Table {
    let rows = results.cells().into_iter().map(|cell| {
        let episodes: usize = results.units(cell).iter().map(|record| record.episodes.len()).sum();
        let mut row = vec![
            Entry::words(cell.task),
            Entry::words(cell.regime.unwrap_or_default()),
            Entry::words(cell.arm),
            Entry::Number(episodes as f64, 0),
        ];
        row.extend(METRICS.iter().map(|metric| Entry::of(results, cell, metric)));
        row.push(Entry::Number(violations(results, cell) as f64, 0));
        row
    });
    let columns = METRICS.map(|metric| metric.name);
    Table {
        name: "cells",
        title: "Every cell".to_owned(),
        columns: names(
            &[["task", "regime", "arm", "episodes"].as_slice(), &columns, &["envelope violations"]]
                .concat(),
        ),
        rows: rows.collect(),
        note: INTERVALS.to_owned(),
    }
}

pub(super) fn violations(results: &Results<'_>, cell: Cell<'_>) -> usize {
    let units = results.units(cell);
    units.iter().flat_map(|record| &record.episodes).filter(|e| !e.envelope_held).count()
}

fn arm_name(arm: &str) -> String {
    if arm == "oracle" { "oracle (privileged)".to_owned() } else { arm.to_owned() }
}
