//! Contract: without cause, the evidence passes `A` after `A` decisions or more, on average.
//!
//! What makes it so is checked exactly: over all outcomes of a dozen decisions with a critic that is
//! right, the expected evidence equals the number of decisions, and with a cautious one it is below.
//! The run length itself is measured on seeded episodes; and where incidents are more frequent than
//! foretold, the alarm comes soon.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{Evidence, RiskRules, RiskSpec};
use proptest::prelude::*;
use strategies::{Random, any_float};

fn evidence(alarm: f64) -> Evidence {
    *RiskRules::new(RiskSpec { alarm, ..RiskSpec::new() }).unwrap().memory().evidence()
}

/// The expected evidence after some more decisions, over all outcomes. Each has a risk that depends
/// on what happened before, of which the critic foretells `told` times as much.
fn expected(before: Evidence, left: u32, risk: f64, told: f64) -> f64 {
    if left == 0 {
        return before.value();
    }
    let foretold = risk * told;
    let after = |outcome: f64| {
        let mut evidence = before;
        evidence.learn(outcome - foretold);
        evidence
    };
    risk * expected(after(1.0), left - 1, 0.05, told)
        + (1.0 - risk) * expected(after(0.0), left - 1, (1.3 * risk).min(0.5), told)
}

#[test]
fn it_grows_by_one_a_decision_if_the_critic_is_right_and_by_less_if_cautious() {
    for left in 1..=12 {
        let steps = f64::from(left);
        let right = expected(evidence(1e4), left, 0.1, 1.0);
        assert!((right - steps).abs() < 1e-11 * steps, "{right} after {steps}");
        assert!(expected(evidence(1e4), left, 0.1, 1.5) < steps);
        assert!(expected(evidence(1e4), left, 0.1, 0.5) > steps);
    }
}

#[test]
fn it_tells_the_level_it_watches_for() {
    for level in [2.5, 1e4] {
        let mut evidence = evidence(level);
        assert_eq!(evidence.level(), level);
        while evidence.alarm().is_none() {
            assert!(evidence.value() < evidence.level());
            evidence.learn(0.5);
        }
        assert!(evidence.level() <= evidence.value());
    }
}

/// The mean number of decisions to the alarm, where incidents have probability `risk` and the
/// critic foretold `told`. A run ends after 100,000 decisions at the latest.
fn run_length(level: f64, risk: f64, told: f64, runs: u32) -> f64 {
    let mut random = Random(5);
    let mut sum = 0.0;
    for _ in 0..runs {
        let mut evidence = evidence(level);
        while evidence.alarm().is_none() && evidence.seen() < 100_000 {
            let incident = random.uniform() < risk;
            evidence.learn(f64::from(u8::from(incident)) - told);
        }
        sum += evidence.seen() as f64;
    }
    sum / f64::from(runs)
}

#[test]
fn false_alarms_are_as_rare_as_promised() {
    for (level, risk) in [(50.0, 0.1), (200.0, 0.02), (1000.0, 0.005)] {
        let right = run_length(level, risk, risk, 1000);
        assert!(right >= level, "a right critic: {right} for {level}");
        let cautious = run_length(level, risk, 2.0 * risk, 200);
        assert!(cautious > 2.0 * right, "a cautious critic: {cautious}, a right one: {right}");
    }
}

#[test]
fn a_critic_that_underestimates_is_found_soon() {
    // Incidents are four times as frequent as foretold; about 30 of them are enough.
    let (wrong, right) = (run_length(1e4, 0.02, 0.005, 200), run_length(1e4, 0.005, 0.005, 50));
    assert!(wrong < 1500.0, "{wrong}");
    assert!(right > 5.0 * wrong, "{right} against {wrong}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn it_is_finite_and_never_negative(
        surprises in prop::collection::vec(any_float(), 0..80),
        repeats in 1..60,
    ) {
        let mut evidence = evidence(1e4);
        for _ in 0..repeats {
            for &surprise in &surprises {
                evidence.learn(surprise);
                prop_assert!((0.0..f64::INFINITY).contains(&evidence.value()));
            }
        }
    }

    #[test]
    fn a_greater_surprise_is_never_less_evidence(
        surprises in prop::collection::vec((-1.0..=1.0_f64, 0.0..0.5_f64), 1..80),
    ) {
        let (mut less, mut more) = (evidence(1e4), evidence(1e4));
        for (surprise, by) in surprises {
            less.learn(surprise);
            more.learn((surprise + by).min(1.0));
            prop_assert!(more.value() >= less.value());
        }
    }
}
