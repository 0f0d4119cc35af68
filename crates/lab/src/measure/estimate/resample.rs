//! How are episodes drawn again?
//!
//! At two levels: training seeds with replacement, then of each as many episodes as it has, within every
//! regime. What is compared is drawn together, so that pairs stay pairs.

use cpss_highway::random::Generator;

use super::metric::{METRICS, add, quotient};
use crate::measure::statistics::percentiles;
use crate::measure::unit::UnitRecord;

/// Resamples of a bootstrap.
pub(super) const RESAMPLES: usize = 1000;

/// The records of each training seed, in order.
pub(super) fn by_policy<'a>(units: &[&'a UnitRecord]) -> Vec<Vec<&'a UnitRecord>> {
    let policies = distinct(units.iter().map(|record| record.unit.policy));
    let of = |policy: usize| units.iter().filter(|r| r.unit.policy == policy).copied().collect();
    policies.into_iter().map(of).collect()
}

/// Intervals of all metrics at once: a resample of episodes serves every one of them.
pub(super) fn bootstrap(
    policies: &[Vec<&UnitRecord>],
    random: &mut Generator,
) -> [[f64; 2]; METRICS.len()] {
    let drawn: Vec<[Option<f64>; METRICS.len()]> =
        (0..RESAMPLES).map(|_| resampled(policies, random)).collect();
    std::array::from_fn(|place| {
        percentiles(&mut drawn.iter().filter_map(|values| values[place]).collect::<Vec<_>>())
    })
}

/// All metrics of one resample: as many training seeds as there are, and of each as many episodes.
/// A share of nothing is `None`.
pub(super) fn resampled(
    policies: &[Vec<&UnitRecord>],
    random: &mut Generator,
) -> [Option<f64>; METRICS.len()] {
    let mut sums = [[0.0; 2]; METRICS.len()];
    for _ in 0..policies.len() {
        for record in &policies[random.choice(policies.len())] {
            for _ in 0..record.episodes.len() {
                let episode = &record.episodes[random.choice(record.episodes.len())];
                for (sum, metric) in sums.iter_mut().zip(&METRICS) {
                    *sum = add(*sum, metric.kind.parts(episode));
                }
            }
        }
    }
    sums.map(quotient)
}

/// The failure rate of one resample of training seeds and episodes.
pub(super) fn resampled_rate(policies: &[Vec<&UnitRecord>], random: &mut Generator) -> f64 {
    let (mut failures, mut episodes) = (0_usize, 0_usize);
    for _ in 0..policies.len() {
        for record in &policies[random.choice(policies.len())] {
            let count = record.episodes.len();
            let failed = |_: &usize| record.episodes[random.choice(count)].failed();
            failures += (0..count).filter(failed).count();
            episodes += count;
        }
    }
    failures as f64 / episodes.max(1) as f64
}

/// Failure rates of two arms in one resample of the same training seeds and episodes.
pub(super) fn resampled_pair(
    before: &[Vec<&UnitRecord>],
    after: &[Vec<&UnitRecord>],
    random: &mut Generator,
) -> [f64; 2] {
    let (mut failures, mut episodes) = ([0.0; 2], 0.0);
    for _ in 0..before.len() {
        let policy = random.choice(before.len());
        for (before, after) in before[policy].iter().zip(&after[policy]) {
            for _ in 0..before.episodes.len() {
                let place = random.choice(before.episodes.len());
                let failed =
                    |record: &UnitRecord| f64::from(u8::from(record.episodes[place].failed()));
                failures = add(failures, [failed(before), failed(after)]);
                episodes += 1.0;
            }
        }
    }
    failures.map(|count| count / f64::max(episodes, 1.0))
}

/// A stream of random numbers that belongs to a name (FNV-1a).
pub(super) fn seeded(name: &str) -> Generator {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Generator::seeded(name.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// The items without those seen before.
pub(super) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}
