//! How do two arms compare, and how do tasks come together?
//!
//! [`Results::reduction`] and [`Results::value_difference`] compare two arms on the same episodes, drawn
//! together so that pairs stay pairs; [`Results::mean_over_tasks`] counts every task the same.

use super::metric::add;
use super::resample::{RESAMPLES, by_policy, resampled, resampled_pair, seeded};
use super::{Cell, Estimate, Kind, METRICS, Metric, Results, spread};
use crate::measure::statistics::{mean, percentiles, wilson};
use crate::measure::unit::UnitRecord;
use crate::record::EpisodeRecord;

impl Results<'_> {
    /// By how much an arm has fewer failures than another on the same episodes, as a share, of some
    /// tasks together, each counting the same; `None` where the other has none or nothing was played.
    pub(crate) fn reduction(&self, tasks: &[&str], before: &str, after: &str) -> Option<Estimate> {
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
            low = share(first, wilson(0, fewest_episodes(&after))[1]).max(0.0);
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
    pub(crate) fn value_difference(
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
    pub(crate) fn mean_over_tasks(
        &self,
        tasks: &[&str],
        regime: Option<&str>,
        arm: &str,
        metric: &Metric,
    ) -> Option<Estimate> {
        let tasks: Vec<Vec<Vec<&UnitRecord>>> =
            tasks.iter().map(|task| by_policy(&self.units(Cell { task, regime, arm }))).collect();
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
        let value = mean(&tasks.iter().map(|task| value(task)).collect::<Option<Vec<_>>>()?);
        let [mut low, mut high] = percentiles(&mut drawn);
        // What was never seen is in no resample either; Wilson's ends are more honest then.
        if let Kind::Episodes(_) = metric.kind {
            let episodes = fewest_episodes(&tasks);
            if value == 0.0 {
                high = wilson(0, episodes)[1];
            } else if value == 1.0 {
                low = wilson(episodes, episodes)[0];
            }
        }
        let deviation = spread(&policies.collect::<Vec<_>>());
        Some(Estimate { value, interval: [low, high], deviation })
    }
}

/// As many episodes as if every task had as few as the one with the fewest. For a mean over tasks that never
/// failed, Wilson's end for so many holds whatever the tasks' own rates are: with a given mean, no failure is
/// likeliest if all have the same.
fn fewest_episodes(tasks: &[Vec<Vec<&UnitRecord>>]) -> u64 {
    let episodes = |task: &Vec<Vec<&UnitRecord>>| -> u64 {
        task.iter().flatten().map(|record| record.episodes.len() as u64).sum()
    };
    tasks.iter().map(episodes).min().unwrap_or(0) * tasks.len() as u64
}

#[cfg(test)]
mod tests {
    use super::super::metric;
    use super::super::tests::unit;
    use super::*;

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
    fn a_mean_over_tasks_without_failure_ends_where_wilsons_does() {
        let other = |mut record: UnitRecord| {
            record.unit.task = "highway-v0".to_owned();
            record
        };
        let rate = |records: &[UnitRecord]| {
            let results = Results::new(records);
            results
                .mean_over_tasks(&results.tasks(), Some("high"), "cpss", metric("collision_rate"))
                .unwrap()
        };
        let calm = [unit("cpss", 0, 100, &[]), other(unit("cpss", 0, 60, &[]))];
        let found = rate(&calm);
        assert_eq!((found.value, found.interval), (0.0, [0.0, wilson(0, 120)[1]]));
        let wild: Vec<u64> = (0..100).collect();
        let found = rate(&[unit("cpss", 0, 100, &wild), other(unit("cpss", 0, 60, &wild))]);
        assert_eq!((found.value, found.interval), (1.0, [wilson(120, 120)[0], 1.0]));
        // With a failure it is bootstrapped again.
        let found = rate(&[unit("cpss", 0, 100, &[3]), other(unit("cpss", 0, 60, &[]))]);
        assert_eq!((found.value, found.interval[0]), (0.005, 0.0));
        assert!(found.interval[1] > 0.005 && found.interval[1] < 0.02, "{found:?}");
    }

    #[test]
    fn a_value_difference_is_of_the_same_episodes() {
        let records = [unit("dqn", 0, 30, &[]), unit("cpss", 0, 30, &[])];
        let results = Results::new(&records);
        let found = results.value_difference("merge-v0", "high", "cpss", "dqn").unwrap();
        // Returns run from 0 to 29, but every pair differs by a half.
        assert_eq!((found.value, found.interval), (0.5, [0.5, 0.5]));
    }
}
