//! How long does a decision take?
//!
//! [`Latencies`] counts decisions by how long they took, in tenths of a microsecond, so that however many there are take no more room.
//! What is timed is what judging adds to an episode: every action's risk, the verdict and the settlement, without observing the
//! scene, which the record needs as well, and without what an observer asks. Times are no part of a record, which is the
//! same on every machine.

use std::time::Duration;

/// How long a step of the scale is \[ns\], and how many there are; what takes longer counts as the last.
const STEP_NS: u128 = 100;
const STEPS: usize = 50_000;

/// Decisions by how long they took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latencies {
    counts: Vec<u32>,
}

impl Latencies {
    /// Adds a decision.
    pub(crate) fn add(&mut self, took: Duration) {
        let place = usize::try_from(took.as_nanos() / STEP_NS).unwrap_or(STEPS).min(STEPS - 1);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    /// Adds those of another.
    pub(crate) fn merge(&mut self, other: &Latencies) {
        let steps = self.counts.len().max(other.counts.len());
        self.counts.resize(steps, 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    /// What a share of the decisions did not take longer than \[µs\]; `None` if there are none.
    pub(crate) fn at_most_us(&self, share: f64) -> Option<f64> {
        let all: u64 = self.counts.iter().copied().map(u64::from).sum();
        let wanted = ((share * all as f64).ceil() as u64).max(1);
        let mut passed = 0;
        let place = self.counts.iter().position(|count| {
            passed += u64::from(*count);
            passed >= wanted
        })?;
        Some((place + 1) as f64 * STEP_NS as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_decisions_takes_no_longer() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.at_most_us(0.5), None);
        (1..=100).for_each(|us| latencies.add(Duration::from_nanos(1_000 * us - 50)));
        assert_eq!(latencies.at_most_us(0.5), Some(50.0));
        assert_eq!(latencies.at_most_us(0.99), Some(99.0));
        assert_eq!(latencies.at_most_us(1.0), Some(100.0));
        let mut both = Latencies::default();
        both.add(Duration::from_secs(3_600));
        both.merge(&latencies);
        assert_eq!(both.at_most_us(0.5), Some(51.0));
        assert_eq!(both.at_most_us(1.0), Some(5_000.0), "an hour is as long as can be told");
    }
}
