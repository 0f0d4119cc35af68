//! How often do incidents happen to a learner, when training seeds differ more than episodes?
//!
//! Wilson's interval knows what few incidents mean, and takes every episode for independent. A bootstrap over training
//! seeds and episodes knows that a bad seed fails again and again, and takes what it never saw for impossible.
//! [`Results::incidents`] is as careful as the more careful of both, at each end. [`difference`] compares two of them.

use super::metric::metric;
use super::resample::{RESAMPLES, by_policy, resampled_rate, seeded};
use super::{Cell, Estimate, Results};
use crate::measure::statistics::percentiles;

impl Results<'_> {
    /// The incident rate of a cell, with an interval that holds Wilson's and the bootstrap's; `None` where nothing was
    /// played.
    pub(crate) fn incidents(&self, cell: Cell<'_>) -> Option<Estimate> {
        let Estimate { value, interval: [low, high], deviation } =
            self.estimate(cell, metric("collision_rate"))?;
        let policies = by_policy(&self.units(cell));
        let mut random = seeded(&format!("incidents {} {:?} {}", cell.task, cell.regime, cell.arm));
        let mut drawn: Vec<f64> =
            (0..RESAMPLES).map(|_| resampled_rate(&policies, &mut random)).collect();
        let [least, most] = percentiles(&mut drawn);
        Some(Estimate { value, interval: [low.min(least), high.max(most)], deviation })
    }
}

/// By how much the first rate is above the second, from their own intervals (Newcombe, 1998, method 10). The two are taken
/// for independent, which is careful where they are of the same episodes.
pub(crate) fn difference(first: &Estimate, second: &Estimate) -> Estimate {
    let below = |it: &Estimate| it.value - it.interval[0];
    let above = |it: &Estimate| it.interval[1] - it.value;
    let value = first.value - second.value;
    let low = value - below(first).hypot(above(second));
    let high = value + above(first).hypot(below(second));
    Estimate { value, interval: [low, high], deviation: None }
}

#[cfg(test)]
mod tests {
    use super::super::tests::unit;
    use super::*;
    use crate::measure::statistics::wilson;

    const CELL: Cell<'_> = Cell { task: "merge-v0", regime: Some("high"), arm: "dqn" };

    #[test]
    fn seeds_that_differ_widen_the_interval() {
        let all: Vec<u64> = (0..100).collect();
        let alike: Vec<_> = (0..4).map(|policy| unit("dqn", policy, 100, &all[..25])).collect();
        let apart: Vec<_> =
            (0..4).map(|policy| unit("dqn", policy, 100, &all[..100 * (policy / 3)])).collect();
        let of = |records: &[_]| Results::new(records).incidents(CELL).unwrap();
        let (alike, apart) = (of(&alike), of(&apart));
        assert_eq!((alike.value, apart.value), (0.25, 0.25));
        let [low, high] = wilson(100, 400);
        // Alike, the interval is nearly Wilson's; apart, it may be that no seed of four is a bad one, or most are.
        assert!((alike.interval[0] - low).abs() < 0.01 && (alike.interval[1] - high).abs() < 0.01);
        assert!(apart.interval[0] == 0.0 && apart.interval[1] >= 0.75, "{apart:?}");
    }

    #[test]
    fn what_never_happened_may_still() {
        let found = [unit("dqn", 0, 50, &[])];
        let found = Results::new(&found).incidents(CELL).unwrap();
        assert_eq!((found.value, found.interval), (0.0, wilson(0, 50)));
        assert_eq!(Results::new(&[]).incidents(CELL), None);
    }

    #[test]
    fn a_difference_agrees_with_a_known_case() {
        // Newcombe (1998), table II: 56 of 70 against 48 of 80.
        let rate = |failures, episodes| Estimate {
            value: failures as f64 / episodes as f64,
            interval: wilson(failures, episodes),
            deviation: None,
        };
        let found = difference(&rate(56, 70), &rate(48, 80));
        assert!((found.value - 0.2).abs() < 1e-12);
        assert!((found.interval[0] - 0.0524).abs() < 5e-5, "{found:?}");
        assert!((found.interval[1] - 0.3339).abs() < 5e-5, "{found:?}");
    }
}
