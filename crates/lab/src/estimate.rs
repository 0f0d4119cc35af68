//! What do the records of a cell come to, and how sure is that?
//!
//! A [`Results`] holds the records; [`Results::estimate`] gives one [`Metric`] of one cell as an
//! [`Estimate`]: the value over all episodes, its 95 % interval, and how much training seeds differ.
//! [`Results::reduction`] compares two arms on the same episodes.
//!
//! Rates of episodes have Wilson's interval. Everything else is bootstrapped at two levels, first
//! training seeds, then episodes within them: the training seed is the unit of replication, and an
//! episode's steps are not independent of each other. The random numbers come from the cell's name,
//! so a table is the same every time it is made.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::episode::EpisodeRecord;
use crate::plan::UnitRecord;
use crate::statistics::{mean, percentiles, standard_deviation, wilson};

mod metric;
mod resample;

pub use metric::{Kind, METRICS, Metric, metric};

use metric::add;
use resample::{RESAMPLES, bootstrap, by_policy, distinct, resampled, resampled_pair, seeded};

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
        self.distinct_cells(|arm| !arm.contains('*'))
    }

    /// Every task and arm of the frontier, in order.
    pub fn frontier_cells(&self) -> Vec<Cell<'a>> {
        self.distinct_cells(|arm| arm.contains('*'))
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

    /// The arms, in order, without those of the frontier.
    pub fn arms(&self) -> Vec<&'a str> {
        let arms = distinct(self.records.iter().map(|record| record.unit.arm.as_str()));
        arms.into_iter().filter(|arm| !arm.contains('*')).collect()
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

    /// By how much an arm has fewer failures than another on the same episodes, as a share, of some
    /// tasks together, each counting the same; `None` where the other has none or nothing was played.
    pub fn reduction(&self, tasks: &[&str], before: &str, after: &str) -> Option<Estimate> {
        let of = |arm: &str| -> Vec<Vec<Vec<&UnitRecord>>> {
            let units = |task: &&str| by_policy(&self.units(Cell { task, regime: None, arm }));
            tasks.iter().map(units).collect()
        };
        let (before, after) = (of(before), of(after));
        let shape = |all: &[Vec<Vec<&UnitRecord>>]| -> Vec<usize> {
            all.iter().flatten().flatten().map(|record| record.episodes.len()).collect()
        };
        if before.iter().any(Vec::is_empty) || shape(&before) != shape(&after) {
            return None;
        }
        let rate = |task: &[Vec<&UnitRecord>]| {
            let episodes = task.iter().flatten().flat_map(|record| &record.episodes);
            Kind::Episodes(EpisodeRecord::failed).of(episodes).unwrap_or_default()
        };
        let share = |before: f64, after: f64| 1.0 - after / before;
        let rates = |all: &[Vec<Vec<&UnitRecord>>]| {
            mean(&all.iter().map(|task| rate(task)).collect::<Vec<_>>())
        };
        let (first, second) = (rates(&before), rates(&after));
        if first <= 0.0 {
            return None;
        }
        let mut random = seeded(&format!("reduction {tasks:?}"));
        let mut drawn = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            let mut sums = [0.0; 2];
            for (before, after) in before.iter().zip(&after) {
                let pair = resampled_pair(before, after, &mut random);
                sums = add(sums, pair);
            }
            if sums[0] > 0.0 {
                drawn.push(share(sums[0], sums[1]));
            }
        }
        let [mut low, high] = percentiles(&mut drawn);
        // Without a single failure every resample says 100 %; Wilson's upper end is more honest.
        if second == 0.0 {
            let episodes: u64 = shape(&after).iter().map(|count| *count as u64).sum();
            low = share(first, wilson(0, episodes)[1]).max(0.0);
        }
        let policies: Vec<f64> = (0..before.iter().map(Vec::len).min().unwrap_or(0))
            .filter_map(|policy| {
                let of = |all: &[Vec<Vec<&UnitRecord>>]| {
                    mean(&all.iter().map(|t| rate(&t[policy..=policy])).collect::<Vec<_>>())
                };
                let (first, second) = (of(&before), of(&after));
                (first > 0.0).then(|| share(first, second))
            })
            .collect();
        Some(Estimate {
            value: share(first, second),
            interval: [low, high],
            deviation: spread(&policies),
        })
    }

    /// By how much the discounted return of an arm is above another's, on the same episodes.
    pub fn value_difference(
        &self,
        task: &str,
        regime: &str,
        after: &str,
        before: &str,
    ) -> Option<Estimate> {
        let of = |arm| by_policy(&self.units(Cell { task, regime: Some(regime), arm }));
        let (after, before) = (of(after), of(before));
        let difference = |after: &[&UnitRecord], before: &[&UnitRecord]| -> Vec<f64> {
            let returns = |records: &[&UnitRecord]| -> Vec<f64> {
                let episodes = records.iter().flat_map(|record| &record.episodes);
                episodes.map(|episode| episode.discounted_return).collect()
            };
            let pairs = returns(after).into_iter().zip(returns(before));
            pairs.map(|(after, before)| after - before).collect()
        };
        let policies: Vec<Vec<f64>> =
            after.iter().zip(&before).map(|(after, before)| difference(after, before)).collect();
        if policies.is_empty() || policies.iter().any(Vec::is_empty) {
            return None;
        }
        let mut random = seeded(&format!("value difference {task} {regime}"));
        let mut drawn: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let mut values = Vec::new();
                for _ in 0..policies.len() {
                    let policy = &policies[random.choice(policies.len())];
                    values.extend((0..policy.len()).map(|_| policy[random.choice(policy.len())]));
                }
                mean(&values)
            })
            .collect();
        let means: Vec<f64> = policies.iter().map(|values| mean(values)).collect();
        Some(Estimate {
            value: mean(&policies.concat()),
            interval: percentiles(&mut drawn),
            deviation: spread(&means),
        })
    }

    /// The mean of a metric over tasks, each counting the same, with a bootstrapped interval.
    pub fn mean_over_tasks(
        &self,
        regime: Option<&str>,
        arm: &str,
        metric: &Metric,
    ) -> Option<Estimate> {
        let tasks: Vec<Vec<Vec<&UnitRecord>>> = self
            .tasks()
            .into_iter()
            .map(|task| by_policy(&self.units(Cell { task, regime, arm })))
            .collect();
        if tasks.iter().any(Vec::is_empty) {
            return None;
        }
        let place = METRICS.iter().position(|known| known.key == metric.key)?;
        let mut random = seeded(&format!("mean over tasks {regime:?} {arm} {}", metric.key));
        let mut drawn: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let values = tasks.iter().map(|task| resampled(task, &mut random)[place]);
                Some(mean(&values.collect::<Option<Vec<_>>>()?))
            })
            .collect();
        let value = |task: &[Vec<&UnitRecord>]| {
            metric.kind.of(task.iter().flatten().flat_map(|record| &record.episodes))
        };
        let policies = (0..tasks.iter().map(Vec::len).min().unwrap_or(0)).filter_map(|policy| {
            let values = tasks.iter().map(|task| value(&task[policy..=policy]));
            Some(mean(&values.collect::<Option<Vec<_>>>()?))
        });
        Some(Estimate {
            value: mean(&tasks.iter().map(|task| value(task)).collect::<Option<Vec<_>>>()?),
            interval: percentiles(&mut drawn),
            deviation: spread(&policies.collect::<Vec<_>>()),
        })
    }
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
    use crate::plan::Unit;

    /// A unit in which the episodes of these places failed, each of ten steps with a return of its
    /// own.
    fn unit(arm: &str, policy: usize, episodes: u64, failures: &[u64]) -> UnitRecord {
        let unit = Unit {
            task: "merge-v0".to_owned(),
            regime: "high".to_owned(),
            arm: arm.to_owned(),
            policy,
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
    fn a_reduction_is_paired_and_its_interval_holds_it() {
        let failures: Vec<u64> = (0..50).collect();
        let records = [unit("dqn", 0, 100, &failures), unit("cpss", 0, 100, &failures[..10])];
        let results = Results::new(&records);
        let found = results.reduction(&["merge-v0"], "dqn", "cpss").unwrap();
        assert!((found.value - 0.8).abs() < 1e-12);
        let [low, high] = found.interval;
        // The ratio of 10 of 50 failures: Wilson's interval of it is 0.11 to 0.33.
        assert!((0.6..0.74).contains(&low) && (0.85..0.95).contains(&high), "{low} {high}");
        assert_eq!(results.reduction(&["merge-v0"], "dqn", "cpss"), Some(found), "the same again");
        assert_eq!(results.reduction(&["merge-v0"], "dqn", "fixed"), None);
    }

    #[test]
    fn no_failure_at_all_is_not_certainty() {
        let records =
            [unit("dqn", 0, 100, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), unit("cpss", 0, 100, &[])];
        let found = Results::new(&records).reduction(&["merge-v0"], "dqn", "cpss").unwrap();
        assert_eq!((found.value, found.interval[1]), (1.0, 1.0));
        assert!((found.interval[0] - (1.0 - wilson(0, 100)[1] / 0.1)).abs() < 1e-12);
    }

    #[test]
    fn a_value_difference_is_of_the_same_episodes() {
        let records = [unit("dqn", 0, 30, &[]), unit("cpss", 0, 30, &[])];
        let results = Results::new(&records);
        let found = results.value_difference("merge-v0", "high", "cpss", "dqn").unwrap();
        // Returns run from 0 to 29, but every pair differs by a half.
        assert_eq!((found.value, found.interval), (0.5, [0.5, 0.5]));
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
