//! Contract: at every step, `C_t <= B t / (T + epsilon) + E_t`, whatever the world does.
//!
//! The adversary sees the threshold and charges just under it, at it, just over it, or anything
//! else. In doubles the bound is checked with the slack that `Ledger::envelope_holds` derives; a
//! run without excess must keep `C_t <= B` exactly. `reference.rs` repeats the check in rationals.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{GainSpec, Mode, Shield, ShieldSpec, Situation};
use proptest::prelude::*;
use strategies::any_spec;

/// What the adversary charges, given the threshold.
#[derive(Clone, Copy, Debug)]
enum Attack {
    Nothing,
    AtThreshold,
    OneUlpOver,
    Share(f64),
    Crash,
}

fn any_attack() -> impl Strategy<Value = Attack> {
    prop_oneof![
        1 => Just(Attack::Nothing),
        5 => Just(Attack::AtThreshold),
        1 => Just(Attack::OneUlpOver),
        3 => (0.0..1.0).prop_map(Attack::Share),
        1 => Just(Attack::Crash),
    ]
}

fn charge(attack: Attack, tau: f64) -> f64 {
    match attack {
        Attack::Nothing => 0.0,
        Attack::AtThreshold => tau,
        Attack::OneUlpOver => tau.next_up(),
        Attack::Share(share) => share * tau,
        Attack::Crash => 1.0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn holds_at_every_step_under_attack(
        spec in any_spec(),
        steps in prop::collection::vec((any_attack(), 0.0..1.0, 0.0..3.0), 1..80),
    ) {
        let mut shield = Shield::new(spec).unwrap();
        for (attack, cost, density) in steps {
            // One action, so that a step is infeasible whenever its cost is over the threshold.
            let costs = [cost];
            let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density };
            let decision = shield.judge(&situation).unwrap();
            let settlement = shield.settle(decision, charge(attack, decision.threshold())).unwrap();

            let ledger = shield.ledger();
            prop_assert!(settlement.envelope_holds, "{ledger:?}");
            prop_assert_eq!(
                settlement.mispredicted,
                cost <= decision.threshold() && settlement.excess > 0.0
            );
        }
        prop_assert!(shield.certificate().envelope_held);
    }

    #[test]
    fn never_overdrawn_while_predictions_hold(
        spec in any_spec(),
        shares in prop::collection::vec(prop_oneof![3 => Just(1.0), 1 => 0.0..1.0], 1..80),
    ) {
        let mut shield = Shield::new(ShieldSpec { mode: Mode::Enforce, ..spec }).unwrap();
        for share in shares {
            // A greedy world: everything the threshold allows is spent, exactly.
            let tau = shield.judge(&ZERO_COST).unwrap().threshold();
            let costs = [share * tau];
            let decision = shield.judge(&Situation { costs: &costs, ..ZERO_COST }).unwrap();
            let settlement = shield.settle(decision, costs[0]).unwrap();
            prop_assert_eq!(settlement.excess, 0.0);
            prop_assert!(shield.ledger().spent() <= spec.budget, "{:?}", shield.ledger());
        }
    }
}

const ZERO_COST: Situation<'_> =
    Situation { proposal: 0, costs: &[0.0], preferences: &[], density: 0.1 };

/// Without the margin of `proofs/projection_below_remaining.smt2`, a divisor of exactly 1 would let
/// this account end one unit in the last place above the budget.
#[test]
fn regression_the_last_decision_cannot_overdraw_by_an_ulp() {
    // B - C lies half way between two doubles and rounds up, and so does C plus that.
    let (budget, first) = (0.875 + 1.5 * f64::EPSILON, 0.25 + 0.75 * f64::EPSILON);
    assert!(first + (budget - first) > budget, "what a divisor of 1 would allow");

    let spec = ShieldSpec {
        epsilon: ShieldSpec::MIN_EPSILON,
        tau_cap: 0.999,
        gain: GainSpec::Constant,
        ..ShieldSpec::new(budget, 2)
    };
    assert!(Shield::new(ShieldSpec { epsilon: 1e-17, ..spec }).is_err(), "1 + 1e-17 rounds to 1");
    let mut shield = Shield::new(spec).unwrap();
    let first_step = shield.judge(&ZERO_COST).unwrap();
    shield.settle(first_step, first).unwrap();
    let last_step = shield.judge(&ZERO_COST).unwrap();
    assert_eq!(shield.settle(last_step, last_step.threshold()).unwrap().excess, 0.0);
    assert!(shield.ledger().spent() <= budget);
}
