//! Contract: in the calibrated world the novelty passes `A` after `A` episodes or more, on average.
//!
//! What makes it so is checked for every distribution that the bounds allow: the mean of an e-value is at
//! most 1. The run length itself is measured on seeded episodes; and in another world the alarm comes soon.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{Novelty, NoveltyScale};
use proptest::prelude::*;
use strategies::{Random, any_float};

const BORDERS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

/// A score of each bin.
const SCORES: [f64; 6] = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5];

/// What 300 calibration episodes would say: half of them in the lowest bin, one in twenty in the top.
const CALIBRATED: [f64; 6] = [0.5, 0.2, 0.1, 0.1, 0.05, 0.05];

/// Bounds that are above these by about a tenth to a half, as confidence bounds are.
fn scale() -> NoveltyScale {
    NoveltyScale { borders: BORDERS, bounds: CALIBRATED.map(|p| (p + 0.03).min(1.0)) }
}

/// The mean number of episodes to the alarm, in a world with these probabilities of the bins. A run
/// ends after 20,000 episodes at the latest.
fn run_length(level: f64, world: [f64; 6], runs: u32) -> f64 {
    let mut random = Random(7);
    let mut sum = 0.0;
    for _ in 0..runs {
        let mut novelty = Novelty::new(scale(), level).unwrap();
        while novelty.alarm().is_none() && novelty.seen() < 20_000 {
            let mut left = random.uniform();
            let bin = world.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            novelty.learn(SCORES[bin.unwrap_or(5)]);
        }
        sum += novelty.seen() as f64;
    }
    sum / f64::from(runs)
}

#[test]
fn false_alarms_are_as_rare_as_promised() {
    for level in [20.0, 100.0, 500.0] {
        let found = run_length(level, CALIBRATED, 400);
        assert!(found >= level, "{found} for {level}");
    }
}

#[test]
fn another_world_is_found_soon() {
    let rougher = [0.2, 0.2, 0.1, 0.1, 0.2, 0.2];
    let (found, calm) = (run_length(500.0, rougher, 400), run_length(500.0, CALIBRATED, 50));
    assert!(found < 40.0, "{found}");
    assert!(calm > 20.0 * found, "{calm} against {found}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever probabilities are below their bounds, however the bins are bounded.
    #[test]
    fn the_mean_of_an_e_value_is_at_most_one(
        bounds in prop::array::uniform6(1e-6..=1.0_f64),
        shares in prop::array::uniform6(0.0..=1.0_f64),
    ) {
        let scale = NoveltyScale { borders: BORDERS, bounds };
        let mean: f64 = SCORES.iter().zip(bounds).zip(shares)
            .map(|((score, bound), share)| share * bound * scale.e_value(*score))
            .sum();
        prop_assert!(mean <= 1.0 + 1e-15, "{mean}");
        // And where every probability is its bound, nothing is given away.
        let full: f64 = SCORES.iter().zip(bounds).map(|(score, bound)| bound * scale.e_value(*score)).sum();
        prop_assert!((full - 1.0).abs() < 1e-14, "{full}");
    }

    #[test]
    fn it_is_finite_and_never_negative(
        scores in prop::collection::vec(any_float(), 0..80),
        bounds in prop::array::uniform6(prop_oneof![Just(5e-324), Just(1.0), 1e-9..1.0_f64]),
        level in prop_oneof![Just(1.0), Just(1e308), 1.0..1e6_f64],
    ) {
        let mut novelty = Novelty::new(NoveltyScale { borders: BORDERS, bounds }, level).unwrap();
        for &score in scores.iter().cycle().take(400) {
            let rang = novelty.learn(score);
            prop_assert!((0.0..f64::INFINITY).contains(&novelty.value()));
            prop_assert!(!rang || novelty.alarm().is_some());
        }
    }
}
