//! What do the records of a cell come to, and how sure is that?
//!
//! A [`Results`] holds the records; [`Results::estimate`] gives one `Metric` of one cell as an
//! [`Estimate`]: the value over all episodes, its 95 % interval, and how much training seeds differ.
//! `Results::reduction` compares two arms on the same episodes (`compare`); `incidents` is about learners of which training
//! seeds differ.
//!
//! Rates of episodes have Wilson's interval. Everything else is bootstrapped at two levels, first
//! training seeds, then episodes within them: the training seed is the unit of replication, and an
//! episode's steps are not independent of each other. The random numbers come from the cell's name,
//! so a table is the same every time it is made.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::measure::statistics::{standard_deviation, wilson};
use crate::measure::unit::UnitRecord;
use crate::play::arm::Arm;
use crate::play::sensor::PERFECT;

mod compare;
mod incidents;
mod metric;
mod resample;

pub(crate) use incidents::difference;
pub(crate) use metric::{Kind, METRICS, Metric, metric};

use resample::{bootstrap, by_policy, distinct, seeded};

/// A number with what is known about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Over all episodes.
    pub value: f64,
    /// Ends of the 95 % interval.
    pub interval: [f64; 2],
    /// Standard deviation over training seeds; `None` where there is only one.
    pub deviation: Option<f64>,
}

/// Every metric of a cell; `None` for a share of nothing, such as of interventions where there are none.
type Estimates = [Option<Estimate>; METRICS.len()];

/// Which records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Task id.
    pub task: &'a str,
    /// Regime; `None` for all of them.
    pub regime: Option<&'a str>,
    /// Arm.
    pub arm: &'a str,
}

/// All records of an experiment.
#[derive(Debug)]
pub struct Results<'a> {
    records: &'a [UnitRecord],
    /// Bootstraps are asked for by tables and by figures, and made once.
    made: Mutex<Vec<(String, Estimates)>>,
}

impl<'a> Results<'a> {
    /// Results from records, all of one plan.
    pub fn new(records: &'a [UnitRecord]) -> Results<'a> {
        Results { records, made: Mutex::new(Vec::new()) }
    }

    /// The records of a cell, one per training seed and regime.
    pub fn units(&self, cell: Cell<'_>) -> Vec<&'a UnitRecord> {
        let wanted = |record: &&UnitRecord| {
            let unit = &record.unit;
            unit.task == cell.task
                && unit.arm == cell.arm
                && cell.regime.is_none_or(|regime| unit.regime == regime)
        };
        self.records.iter().filter(wanted).collect()
    }

    /// Every task, regime and arm that was played, in order, without the arms of the frontier.
    pub fn cells(&self) -> Vec<Cell<'a>> {
        self.distinct_cells(|arm| !is_of_frontier(arm))
    }

    /// Every task and arm of the frontier, in order.
    pub(crate) fn frontier_cells(&self) -> Vec<Cell<'a>> {
        self.distinct_cells(is_of_frontier)
    }

    fn distinct_cells(&self, wanted: impl Fn(&str) -> bool) -> Vec<Cell<'a>> {
        let units = self.records.iter().map(|record| &record.unit).filter(|u| wanted(&u.arm));
        distinct(units.map(|u| Cell { task: &u.task, regime: Some(&u.regime), arm: &u.arm }))
    }

    /// The tasks, in order.
    pub fn tasks(&self) -> Vec<&'a str> {
        distinct(self.records.iter().map(|record| record.unit.task.as_str()))
    }

    /// The regimes, in order.
    pub fn regimes(&self) -> Vec<&'a str> {
        distinct(self.records.iter().map(|record| record.unit.regime.as_str()))
    }

    /// The sensor, which is one for a whole plan.
    pub fn sensor(&self) -> &'a str {
        self.records.first().map_or(PERFECT, |record| record.unit.sensor.as_str())
    }

    /// The arms, in order, without those of the frontier.
    pub fn arms(&self) -> Vec<&'a str> {
        let arms = distinct(self.records.iter().map(|record| record.unit.arm.as_str()));
        arms.into_iter().filter(|arm| !is_of_frontier(arm)).collect()
    }

    /// The arms of the frontier, in order.
    pub(crate) fn frontier_arms(&self) -> Vec<&'a str> {
        let arms = distinct(self.records.iter().map(|record| record.unit.arm.as_str()));
        arms.into_iter().filter(|arm| is_of_frontier(arm)).collect()
    }

    /// Works out every metric of every cell ahead, on all cores.
    pub fn prepare(&self) {
        let mut cells = self.cells();
        cells.extend(self.frontier_cells());
        let pooled = distinct(cells.iter().map(|cell| Cell { regime: None, ..*cell }));
        cells.extend(pooled);
        cells.par_iter().for_each(|cell| {
            let _ = self.estimates(*cell);
        });
    }

    /// One metric of a cell; `None` where nothing was played, or there is nothing to have a share in.
    pub fn estimate(&self, cell: Cell<'_>, metric: &Metric) -> Option<Estimate> {
        // A share of a budget so large that it limits nothing would say nothing.
        if metric.key == "budget_used" && !binds_ledger(cell.arm) {
            return None;
        }
        let place = METRICS.iter().position(|known| known.key == metric.key)?;
        self.estimates(cell)?[place]
    }

    fn estimates(&self, cell: Cell<'_>) -> Option<Estimates> {
        let units = self.units(cell);
        if units.is_empty() {
            return None;
        }
        let name = format!("{} {:?} {}", cell.task, cell.regime, cell.arm);
        let lock = || self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, made)) = lock().iter().find(|(made, _)| *made == name) {
            return Some(*made);
        }
        let intervals = bootstrap(&by_policy(&units), &mut seeded(&name));
        let estimates = std::array::from_fn(|place| estimate(&units, place, intervals[place]));
        lock().push((name, estimates));
        Some(estimates)
    }
}

/// Whether an arm has a budget or threshold of its own.
fn is_of_frontier(arm: &str) -> bool {
    arm.parse().is_ok_and(|arm: Arm| arm.given().is_some())
}

/// Whether an arm's ledger limits anything. One that is not known is taken to.
fn binds_ledger(arm: &str) -> bool {
    arm.parse().map_or(true, Arm::binds_ledger)
}

fn estimate(units: &[&UnitRecord], place: usize, bootstrapped: [f64; 2]) -> Option<Estimate> {
    let kind = METRICS[place].kind;
    let episodes = || units.iter().flat_map(|record| &record.episodes);
    let per_policy: Vec<f64> = by_policy(units)
        .iter()
        .filter_map(|records| kind.of(records.iter().flat_map(|record| &record.episodes)))
        .collect();
    let interval = match kind {
        Kind::Episodes(is_so) => {
            wilson(episodes().filter(|e| is_so(e)).count() as u64, episodes().count() as u64)
        }
        _ => bootstrapped,
    };
    Some(Estimate { value: kind.of(episodes())?, interval, deviation: spread(&per_policy) })
}

fn spread(per_policy: &[f64]) -> Option<f64> {
    (per_policy.len() > 1).then(|| standard_deviation(per_policy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::unit::Unit;
    use crate::record::EpisodeRecord;

    /// A unit in which the episodes of these places failed, each of ten steps with a return of its
    /// own.
    pub(super) fn unit(arm: &str, policy: usize, episodes: u64, failures: &[u64]) -> UnitRecord {
        let unit = Unit {
            task: "merge-v0".to_owned(),
            regime: "high".to_owned(),
            arm: arm.to_owned(),
            policy,
            own: None,
            sensor: "perfect".to_owned(),
            first_seed: 0,
            episodes,
        };
        let episode = |seed: u64| EpisodeRecord {
            seed,
            steps: 10,
            crashed: failures.contains(&seed),
            episode_return: seed as f64,
            discounted_return: seed as f64 + if arm == "cpss" { 0.5 } else { 0.0 },
            interventions: seed % 2,
            ..EpisodeRecord::default()
        };
        let episodes = (0..episodes).map(episode).collect();
        UnitRecord { unit, fingerprint: String::new(), episodes, refusals: Vec::new() }
    }

    const CELL: Cell<'_> = Cell { task: "merge-v0", regime: Some("high"), arm: "dqn" };

    #[test]
    fn a_small_cell_comes_to_what_it_should() {
        let records = [unit("dqn", 0, 4, &[0, 1]), unit("dqn", 1, 4, &[])];
        let results = Results::new(&records);
        let rate = results.estimate(CELL, metric("collision_rate")).unwrap();
        assert_eq!((rate.value, rate.interval), (0.25, wilson(2, 8)));
        // 0.5 and 0: a deviation of a half, over the root of two.
        assert!((rate.deviation.unwrap() - 0.5 / 2_f64.sqrt()).abs() < 1e-12);
        let returns = results.estimate(CELL, metric("return_mean")).unwrap();
        assert_eq!((returns.value, returns.deviation), (1.5, Some(0.0)));
        assert!(returns.interval[0] < 1.5 && 1.5 < returns.interval[1]);
        let refused = results.estimate(CELL, metric("intervention_rate")).unwrap();
        assert_eq!(refused.value, 4.0 / 80.0);
        assert_eq!(results.estimate(Cell { arm: "cpss", ..CELL }, metric("return_mean")), None);
    }

    #[test]
    fn one_training_seed_has_no_deviation() {
        let records = [unit("dqn", 0, 4, &[0])];
        let rate = Results::new(&records).estimate(CELL, metric("collision_rate")).unwrap();
        assert_eq!(rate.deviation, None);
    }

    #[test]
    fn a_share_of_no_budget_is_none() {
        let records = ["cpss", "fixed", "threshold:0.01", "context-only", "barrier"]
            .map(|arm| unit(arm, 0, 4, &[]));
        let results = Results::new(&records);
        let used = |arm| results.estimate(Cell { arm, ..CELL }, metric("budget_used"));
        assert!(used("cpss").is_some() && used("fixed").is_some());
        assert!(
            ["threshold:0.01", "context-only", "barrier"].iter().all(|arm| used(arm).is_none())
        );
    }

    #[test]
    fn a_share_of_interventions_is_of_those_that_there_are() {
        let mut records =
            [unit("cpss", 0, 4, &[]), unit("cpss", 1, 4, &[]), unit("dqn", 0, 4, &[])];
        for (place, episode) in records[0].episodes.iter_mut().enumerate() {
            (episode.avoided, episode.false_alarms) = (1, place as u64);
        }
        let results = Results::new(&records);
        let share = |arm, key| results.estimate(Cell { arm, ..CELL }, metric(key));
        let avoided = share("cpss", "avoided_share").unwrap();
        // Four of ten; the other training seed has none to have a share in.
        assert_eq!((avoided.value, avoided.deviation), (0.4, None));
        assert!(avoided.interval[0] >= 0.25 && avoided.interval[1] <= 1.0, "{avoided:?}");
        assert_eq!(share("cpss", "unavoided_share").unwrap().value, 0.0);
        assert_eq!(share("dqn", "avoided_share"), None);
    }

    #[test]
    fn the_bootstrap_is_as_wide_as_theory_says() {
        let records = [unit("dqn", 0, 400, &[])];
        let found = Results::new(&records).estimate(CELL, metric("return_mean")).unwrap();
        let width = found.interval[1] - found.interval[0];
        let values: Vec<f64> = (0..400).map(f64::from).collect();
        let theory = 2.0 * 1.96 * standard_deviation(&values) / 20.0;
        assert!((width / theory - 1.0).abs() < 0.1, "{width} {theory}");
    }
}
