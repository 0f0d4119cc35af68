//! Contract: every error names what was wrong and the value it had, and changes nothing.

use cpss_shield::{
    CostCount, GainSpec, JoinError, JudgeError, Rules, Shield, ShieldSpec, Situation, StaleDecision,
};

const SPEC: ShieldSpec = ShieldSpec::new(1.0, 10);
const SOUND: Situation<'_> =
    Situation { proposal: 0, costs: &[0.0, 0.5], preferences: &[], density: 0.0 };

#[test]
fn numbers_out_of_range_are_refused_by_name_and_value() {
    let gain = |k_density, k_change, floor| ShieldSpec {
        gain: GainSpec::Rational { k_density, k_change, floor },
        ..SPEC
    };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, 1.5] {
        let above_zero = !(bad.is_finite() && bad > 0.0);
        for (field, spec, out_of_range) in [
            ("budget", ShieldSpec { budget: bad, ..SPEC }, above_zero),
            ("epsilon", ShieldSpec { epsilon: bad, ..SPEC }, above_zero),
            ("tau_cap", ShieldSpec { tau_cap: bad, ..SPEC }, true),
            ("pace", ShieldSpec { pace: bad, ..SPEC }, !(bad.is_finite() && bad >= 1.0)),
            ("price", ShieldSpec { price: bad, ..SPEC }, !(bad.is_finite() && bad >= 0.0)),
            ("smoothing", ShieldSpec { smoothing: bad, ..SPEC }, bad != 1.0),
            ("gain.k_density", gain(bad, 1.0, 0.5), !(bad.is_finite() && bad >= 0.0)),
            ("gain.k_change", gain(1.0, bad, 0.5), !(bad.is_finite() && bad >= 0.0)),
            ("gain.floor", gain(1.0, 1.0, bad), bad != 1.0),
        ] {
            match Rules::new(spec) {
                Err(error) => {
                    assert!(out_of_range, "{field} = {bad} was refused");
                    assert_eq!(error.field, field);
                    assert_eq!(error.value.to_bits(), bad.to_bits());
                    assert_eq!(error.to_string(), format!("`{field}` is out of range: {bad}"));
                }
                Ok(_) => assert!(!out_of_range, "{field} = {bad} was accepted"),
            }
        }
    }
    let error = Shield::new(ShieldSpec { horizon: 0, ..SPEC }).unwrap_err();
    assert_eq!(error.to_string(), "`horizon` is out of range: 0");
    assert!(Shield::new(ShieldSpec { epsilon: 9e-13, ..SPEC }).is_err());
    assert!(Shield::new(ShieldSpec { epsilon: 1e-12, ..SPEC }).is_ok());
}

#[test]
fn situations_of_no_sense_are_refused_by_name_and_value() {
    let shield = Shield::new(ShieldSpec { last_resort: 1, ..SPEC }).unwrap();
    for (situation, error, text) in [
        (
            Situation { costs: &[], ..SOUND },
            JudgeError::NoActions,
            "`costs` is empty: there is no action to judge",
        ),
        (
            Situation { proposal: 2, ..SOUND },
            JudgeError::ProposalOutOfRange { proposal: 2, actions: 2 },
            "`proposal` is 2, but there are 2 actions",
        ),
        (
            Situation { preferences: &[1.0], ..SOUND },
            JudgeError::PreferenceCount { found: 1, actions: 2 },
            "`preferences` has 1 entries for 2 actions",
        ),
        (
            Situation { costs: &[0.0], ..SOUND },
            JudgeError::LastResortOutOfRange { last_resort: 1, actions: 1 },
            "`last_resort` is 1, but there are 1 actions",
        ),
    ] {
        assert_eq!(shield.judge(&situation), Err(error));
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_decision_settles_once() {
    let mut shield = Shield::new(SPEC).unwrap();
    let decision = shield.judge(&SOUND).unwrap();
    shield.settle(decision, 0.05).unwrap();
    let before = shield;
    let error = shield.settle(decision, 0.05).unwrap_err();
    let stale = StaleDecision { decided_at: 0, decided_in: 0, shield_at: 1, shield_in: 0 };
    assert_eq!(error, stale);
    assert_eq!(error.to_string(), "the decision is of step 0, but the shield is at step 1");
    assert_eq!(shield, before, "nothing was charged");
}

#[test]
fn a_decision_does_not_outlive_its_ledger() {
    let mut shield = Shield::new(SPEC).unwrap();
    shield.settle(shield.judge(&SOUND).unwrap(), 0.0).unwrap();
    let late = shield.judge(&SOUND).unwrap();
    shield.renew();
    let error = shield.settle(late, 0.0).unwrap_err();
    let stale = StaleDecision { decided_at: 1, decided_in: 0, shield_at: 0, shield_in: 1 };
    assert_eq!(error, stale);
}

#[test]
fn regression_a_first_decision_does_not_outlive_its_ledger() {
    // At step 0 the steps agree, and only the ledger tells the two apart.
    for open_another in [Shield::renew, Shield::reset] {
        let mut shield = Shield::new(SPEC).unwrap();
        let first = shield.judge(&SOUND).unwrap();
        shield.settle(first, 0.05).unwrap();
        open_another(&mut shield);
        let before = shield;
        let error = shield.settle(first, 0.05).unwrap_err();
        let stale = StaleDecision { decided_at: 0, decided_in: 0, shield_at: 0, shield_in: 1 };
        assert_eq!(error, stale);
        assert_eq!(
            error.to_string(),
            "the decision is of step 0 of ledger 0, but the shield is at step 0 of ledger 1"
        );
        assert_eq!(shield, before, "nothing was charged");
    }
}

#[test]
fn memories_that_cannot_be_joined_and_costs_without_room_are_told_in_words() {
    for (error, text) in [
        (JoinError::OtherSettings(2), "memory 2 has other settings"),
        (JoinError::NoFork(0), "memory 0 is no fork of the base"),
    ] {
        assert_eq!(error.to_string(), text);
    }
    let short = CostCount { risks: 5, costs: 4 };
    assert_eq!(short.to_string(), "`costs` has 4 entries for 5 risks");
}
