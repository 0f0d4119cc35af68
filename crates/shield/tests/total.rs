//! Contract: the shield answers for every float there is, and fails closed.
//!
//! Whatever the costs, preferences, densities and observed costs are (NaN, infinities, negative
//! zero, subnormals), before and after the horizon: judging and settling succeed, no number in the
//! account is NaN, the envelope holds wherever a double can tell, and an inadmissible action runs only
//! when nothing is admissible or in shadow.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{Charge, Mode, Reason, Shield, ShieldSpec, Situation, Verdict};
use proptest::prelude::*;
use strategies::{any_float, any_spec, moment};

fn usable(value: f64) -> bool {
    value >= 0.0 && value.is_finite()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_float_gets_an_answer(
        spec in any_spec(),
        moments in prop::collection::vec(moment(1..6, any_float().boxed()), 1..60),
    ) {
        let mut shield = Shield::new(spec).unwrap();
        for moment in &moments {
            let situation = moment.situation();
            let decision = shield.judge(&situation).unwrap();
            let again = shield.judge(&situation).unwrap();
            prop_assert_eq!(format!("{decision:?}"), format!("{again:?}"), "judging is pure");

            let tau = decision.threshold();
            prop_assert!((0.0..=spec.tau_cap).contains(&tau));
            prop_assert!((0.0..=1.0).contains(&decision.gain()));
            prop_assert!(decision.gain() > 0.0 || !usable(moment.density));
            prop_assert!(decision.executed() < moment.costs.len());
            prop_assert!(!decision.to_string().is_empty());

            let admissible = |action: usize| {
                usable(moment.costs[action]) && moment.costs[action] <= tau
            };
            let priced = decision.verdict() == Verdict::Replace(Reason::Priced);
            prop_assert_eq!(
                decision.verdict() == Verdict::Admit,
                admissible(moment.proposal) && !priced
            );
            if priced {
                prop_assert!(spec.price > 0.0 && decision.allowed() != moment.proposal);
                prop_assert!(moment.costs[decision.allowed()] < moment.costs[moment.proposal]);
            }
            let any_admissible = (0..moment.costs.len()).any(admissible);
            match decision.verdict() {
                Verdict::Infeasible(_) => prop_assert!(!any_admissible),
                _ => prop_assert!(any_admissible),
            }
            match spec.mode {
                Mode::Shadow => prop_assert_eq!(decision.executed(), moment.proposal),
                Mode::Enforce => {
                    prop_assert_eq!(admissible(decision.executed()), any_admissible);
                }
            }

            let settlement = shield.settle(decision, moment.observed).unwrap();
            let (cost, unread) = match spec.charge {
                Charge::Observed => (moment.observed, !usable(moment.observed)),
                Charge::Predicted => (moment.costs[decision.executed()], false),
            };
            prop_assert_eq!(settlement.unusable_observation, unread);
            prop_assert_eq!(settlement.charge, if usable(cost) { cost } else { 1.0 });
            prop_assert!(settlement.charge >= 0.0 && settlement.excess >= 0.0);
            prop_assert!(!settlement.remaining.is_nan() && !settlement.envelope.is_nan());
            prop_assert!(settlement.envelope_holds || too_large_to_tell(&shield));
        }
        let certificate = shield.certificate();
        let counts = certificate.counts;
        prop_assert_eq!(counts.admitted + counts.replaced + counts.infeasible, certificate.steps);
        prop_assert_eq!(certificate.steps, moments.len() as u64);
        prop_assert_eq!(certificate.budget_kept, shield.ledger().spent() <= spec.budget);
        prop_assert!(certificate.envelope_held || too_large_to_tell(&shield));
    }
}

/// Whether the bound may have overflowed, so that the envelope cannot be vouched for.
fn too_large_to_tell(shield: &Shield) -> bool {
    shield.ledger().spent() > 1e307
}

fn judge(shield: &Shield, costs: &[f64], density: f64) -> (Verdict, usize) {
    let situation = Situation { proposal: 0, costs, preferences: &[], density };
    let decision = shield.judge(&situation).unwrap();
    (decision.verdict(), decision.executed())
}

#[test]
fn each_reason_has_its_cause() {
    let shield = Shield::new(ShieldSpec::new(1.0, 10)).unwrap();
    assert_eq!(judge(&shield, &[0.6, 0.0], 0.0), (Verdict::Replace(Reason::OverCap), 1));
    assert_eq!(judge(&shield, &[0.2, 0.0], 0.0), (Verdict::Replace(Reason::OverBudget), 1));
    assert_eq!(judge(&shield, &[0.09, 0.0], 0.0), (Verdict::Admit, 0));
    assert_eq!(judge(&shield, &[0.09, 0.0], 1.0), (Verdict::Replace(Reason::OverContext), 1));
    for bad in [f64::NAN, f64::INFINITY, -0.1] {
        let unusable = Reason::UnusableCost;
        assert_eq!(judge(&shield, &[bad, 0.0], 0.0), (Verdict::Replace(unusable), 1));
        assert_eq!(judge(&shield, &[bad, 0.9], 0.0), (Verdict::Infeasible(unusable), 1));
        let unread = Reason::UnusableContext;
        assert_eq!(judge(&shield, &[0.09, 0.0], bad), (Verdict::Replace(unread), 1));
        assert_eq!(judge(&shield, &[0.09, 0.05], bad), (Verdict::Infeasible(unread), 1));
    }

    let mut spent = shield;
    let costs = [0.0];
    let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density: 0.0 };
    spent.settle(spent.judge(&situation).unwrap(), 1.0).unwrap();
    assert_eq!(judge(&spent, &[0.1, 0.0], 0.0), (Verdict::Replace(Reason::BudgetSpent), 1));

    let mut closed = Shield::new(ShieldSpec::new(1.0, 1)).unwrap();
    closed.settle(closed.judge(&situation).unwrap(), 0.0).unwrap();
    assert_eq!(judge(&closed, &[0.1, 0.0], 0.0), (Verdict::Replace(Reason::HorizonClosed), 1));
    closed.renew();
    assert_eq!(judge(&closed, &[0.1, 0.0], 0.0), (Verdict::Admit, 0));
}

#[test]
fn last_resort_runs_when_no_cost_is_usable() {
    let spec = ShieldSpec { last_resort: 2, ..ShieldSpec::new(1.0, 10) };
    let shield = Shield::new(spec).unwrap();
    let verdict = Verdict::Infeasible(Reason::UnusableCost);
    assert_eq!(judge(&shield, &[f64::NAN, -1.0, f64::INFINITY], 0.0), (verdict, 2));
}

#[test]
fn unusable_observation_is_charged_as_the_worst() {
    let mut shield = Shield::new(ShieldSpec::new(1.0, 10)).unwrap();
    let costs = [0.0];
    let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density: 0.0 };
    let settlement = shield.settle(shield.judge(&situation).unwrap(), f64::NAN).unwrap();
    assert_eq!((settlement.charge, settlement.remaining), (1.0, 0.0));
    assert!(settlement.unusable_observation && settlement.mispredicted);
    assert_eq!(shield.certificate().counts.unusable_observations, 1);

    // A number above the scale is off it, but it is a number, and is charged as it is.
    let settlement = shield.settle(shield.judge(&situation).unwrap(), 2.0).unwrap();
    assert_eq!((settlement.charge, settlement.remaining), (2.0, -2.0));
    assert!(!settlement.unusable_observation);
}

#[test]
fn renewal_keeps_the_context_and_reset_does_not() {
    let mut shield = Shield::new(ShieldSpec::new(1.0, 2)).unwrap();
    let costs = [0.0];
    let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density: 0.5 };
    shield.settle(shield.judge(&situation).unwrap(), 0.25).unwrap();
    let finished = shield.renew();
    assert_eq!((finished.steps, finished.spent), (1, 0.25));
    assert_eq!((shield.ledger().step(), shield.ledger().spent()), (0, 0.0));
    assert_eq!(shield.context().average(), Some(0.5));
    assert_eq!(shield.reset().steps, 0);
    assert_eq!(shield.context().average(), None);
}
