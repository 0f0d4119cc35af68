//! Contract: less budget, a denser context or a faster-changing one never admits more.
//!
//! The gain is monotone in each of its arguments, and the threshold in the remaining budget and in
//! the gain. A shield at the same step that has spent more, or sees a density further above its
//! average, has a threshold that is no higher, compared bit by bit and not up to a tolerance.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{Charge, GainSpec, Shield, ShieldSpec, Situation};
use proptest::prelude::*;
use strategies::{any_gain, any_spec};

fn situation(density: f64) -> Situation<'static> {
    Situation { proposal: 0, costs: &[0.0], preferences: &[], density }
}

/// A shield that has seen one step of this density and charge.
fn after(spec: ShieldSpec, density: f64, charge: f64) -> Shield {
    let mut shield = Shield::new(ShieldSpec { charge: Charge::Observed, ..spec }).unwrap();
    let decision = shield.judge(&situation(density)).unwrap();
    shield.settle(decision, charge).unwrap();
    shield
}

fn tau(shield: &Shield, density: f64) -> f64 {
    shield.judge(&situation(density)).unwrap().threshold()
}

/// Finite, at least 0, of every magnitude.
fn magnitude() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.0..4.0, 1 => any::<f64>().prop_map(f64::abs)]
        .prop_filter("finite", |x: &f64| x.is_finite())
}

/// Two neighbours as often as two strangers.
fn ordered_pair() -> impl Strategy<Value = (f64, f64)> {
    (magnitude(), magnitude(), any::<bool>()).prop_map(|(a, b, near)| {
        if near && a.next_up().is_finite() { (a, a.next_up()) } else { (a.min(b), a.max(b)) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn gain_is_in_range_and_never_increases(
        gain in any_gain(),
        (less, more) in ordered_pair(),
        other in magnitude(),
    ) {
        let g: &dyn Fn(f64, f64) -> f64 = &|density, change| gain.at(density, change);
        prop_assert!(g(less, other) > 0.0 && g(less, other) <= 1.0);
        prop_assert!(g(more, other) <= g(less, other), "denser");
        prop_assert!(g(other, more) <= g(other, less), "faster");
        prop_assert_eq!(g(0.0, 0.0), 1.0);
    }

    #[test]
    fn less_budget_never_admits_more(
        spec in any_spec(),
        (less, more) in ordered_pair(),
        (before, now) in (magnitude(), magnitude()),
    ) {
        let (rich, poor) = (after(spec, before, less), after(spec, before, more));
        prop_assert!(tau(&poor, now) <= tau(&rich, now));
    }

    #[test]
    fn a_smaller_budget_never_admits_more(
        spec in any_spec(),
        (less, more) in ordered_pair(),
        density in magnitude(),
    ) {
        // A budget of 0 is no budget; the least one stands in for it.
        let with = |budget: f64| ShieldSpec { budget: budget.max(5e-324), ..spec };
        let (poor, rich) = (Shield::new(with(less)).unwrap(), Shield::new(with(more)).unwrap());
        prop_assert!(tau(&poor, density) <= tau(&rich, density));
    }

    #[test]
    fn further_above_the_average_never_admits_more(
        spec in any_spec(),
        (near, far) in ordered_pair(),
        lower in magnitude(),
    ) {
        let average = lower.min(near);
        let shield = after(spec, average, 0.0);
        prop_assert!(tau(&shield, far) <= tau(&shield, near));
    }

    #[test]
    fn further_below_the_average_never_admits_more_of_change_alone(
        spec in any_spec(),
        (far, near) in ordered_pair(),
        higher in magnitude(),
    ) {
        let average = higher.max(near);
        // With no strength on the density itself, change is all there is.
        let gain = GainSpec::Exponential { k_density: 0.0, k_change: 1.5, floor: 0.01 };
        let shield = after(ShieldSpec { gain, ..spec }, average, 0.0);
        prop_assert!(tau(&shield, far) <= tau(&shield, near));
    }
}

#[test]
fn context_does_matter() {
    // The properties above would hold of a constant gain; this one says that it is not constant.
    let shield = Shield::new(ShieldSpec::new(1.0, 10)).unwrap();
    assert!(tau(&shield, 1.0) < tau(&shield, 0.5));
    let moved = after(ShieldSpec::new(1.0, 10), 0.2, 0.0);
    let still = after(ShieldSpec::new(1.0, 10), 1.0, 0.0);
    assert!(tau(&moved, 1.0) < tau(&still, 1.0));
}
