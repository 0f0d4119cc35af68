//! Contract: the account of risk balances at every prefix, and its surprises are the critic's.
//!
//! Random episodes, with a shield that enforces or only watches, a critic that says anything at
//! all, and outcomes that have nothing to do with it. After every entry the four parts must sum to
//! what is expected from there on, and at the end to whether there was an incident.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{Charge, RiskRules, RiskSpec, Shield, ShieldSpec, Situation, Surprise};
use proptest::prelude::*;
use strategies::{any_float, any_spec};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn it_balances_at_every_prefix(
        spec in any_spec(),
        gamma in prop_oneof![Just(1.0), 0.5..1.0],
        resolution in prop_oneof![Just(0.0), 0.0..0.2],
        (rate, before) in (prop_oneof![Just(0.0), 0.0..1.0], -1.0..=1.0_f64),
        steps in prop::collection::vec(
            (
                prop::collection::vec(
                    prop_oneof![9 => (0.0..=1.0_f64).boxed(), 1 => any_float().boxed()], 3),
                0..3_usize,
            ),
            0..40,
        ),
        incident in any::<bool>(),
    ) {
        let charge = Charge::Predicted;
        let mut shield = Shield::new(ShieldSpec { charge, ..spec }).unwrap();
        let rules = RiskRules::new(RiskSpec { gamma, resolution, rate, ..RiskSpec::new() }).unwrap();
        let (mut account, mut memory) = (rules.account(), rules.memory());
        memory.end_episode(Some(Surprise::of(before)));
        let shift = memory.recalibration().shift();
        let (mut surprises, mut whole, mut unforeseen) = (0.0, 0.0, 0);
        let mut chosen = 0.0;
        let is_risk = |risk: f64| (0.0..=1.0).contains(&risk);
        for (risks, proposal) in &steps {
            let mut costs = [0.0; 3];
            let unavoidable = rules.costs(memory.recalibration(), risks, &mut costs).unwrap();
            prop_assert!(is_risk(unavoidable));
            let situation =
                Situation { proposal: *proposal, costs: &costs, preferences: &[], density: 0.1 };
            let decision = shield.judge(&situation).unwrap();
            let risk = memory.recalibration().raising(risks).raise(risks[decision.executed()]);
            let settled = shield.settle_predicted(decision).unwrap();
            let surprise = account.enter(unavoidable, risk, settled.charge);
            // Where more is charged than what cannot be avoided leaves, less was chosen.
            let counts = settled.charge.min(1.0 - unavoidable);
            chosen += counts;

            let expected = unavoidable + counts;
            prop_assert!((account.total() - expected).abs() < 1e-12, "{account:?}");
            prop_assert_eq!(account.chosen(), chosen);
            prop_assert!(account.chosen() <= shield.ledger().spent());
            if let Some(surprise) = surprise {
                let Surprise { unforeseen, uncharged } = surprise;
                prop_assert!((-1.0..=1.0).contains(&unforeseen) && (-1.0..=1.0).contains(&uncharged));
                surprises += unforeseen;
                whole += uncharged;
                memory.learn(surprise);
            }
            unforeseen += u32::from(!is_risk(risk));
        }
        prop_assert_eq!(memory.recalibration().shift(), shift, "it stands still in an episode");
        let last = account.close(incident);
        memory.end_episode(last);
        prop_assert!((memory.recalibration().raised() - memory.recalibration().learned()).abs() < 1e-14);
        prop_assert_eq!(last.is_some(), !steps.is_empty());
        surprises += last.map_or(0.0, |last| last.unforeseen);
        whole += last.map_or(0.0, |last| last.uncharged);
        prop_assert!((account.total() - f64::from(u8::from(incident))).abs() < 1e-12);
        // Wherever the critic had a risk to tell, the surprise is its own and what was unresolved.
        if unforeseen == 0 && !steps.is_empty() {
            prop_assert!((account.surprise() - (surprises + account.unresolved())).abs() < 1e-12);
            prop_assert!((account.surprise() - whole).abs() < 1e-12);
        }
        if gamma == 1.0 {
            prop_assert_eq!(account.arriving(), 0.0);
        }

        let before = account;
        prop_assert_eq!((account.enter(0.5, 0.5, 0.0), account.close(!incident)), (None, None));
        prop_assert_eq!(account, before, "a closed account never changes");
        prop_assert_eq!(account.incident(), Some(incident));
    }
}

#[test]
fn what_the_resolution_swallows_is_in_the_surprise_and_not_in_the_critics_own() {
    let rules = RiskRules::new(RiskSpec { resolution: 0.25, ..RiskSpec::new() }).unwrap();
    let mut account = rules.account();
    // Of risk 0.625, where 0.5 cannot be avoided: 0.125 is below the resolution, and charged as 0.
    account.enter(0.5, 0.625, 0.0);
    assert_eq!(account.close(true), Some(Surprise { unforeseen: 0.375, uncharged: 0.5 }));
    assert_eq!((account.surprise(), account.unresolved()), (0.5, 0.125));
    assert_eq!(account.total(), 1.0);
}

#[test]
fn numbers_that_are_none_are_taken_for_the_worst() {
    let rules = RiskRules::new(RiskSpec { gamma: 0.5, ..RiskSpec::new() }).unwrap();
    for bad in [f64::NAN, f64::INFINITY, -1.0, 2.0] {
        let mut account = rules.account();
        account.enter(bad, bad, f64::NAN);
        assert_eq!((account.start(), account.chosen()), (1.0, 0.0));
        let surprise = account.enter(bad, 0.5, 0.0);
        assert_eq!(surprise, Some(Surprise::of(1.0)), "nothing usable was foretold");
        assert_eq!(account.arriving(), 0.5);
        account.close(false);
        assert_eq!(account.total(), 0.0);
    }
    let mut early = rules.account();
    assert_eq!((early.close(true), early.total()), (None, 1.0));
}

#[test]
fn regression_a_critic_that_calls_everything_lost_foresees_one_incident_and_no_more() {
    let rules = RiskRules::new(RiskSpec::new()).unwrap();
    let mut account = rules.account();
    // Twice nothing is to be had but certain failure, and 1 is charged each time.
    account.enter(1.0, 1.0, 1.0);
    account.enter(1.0, 1.0, 1.0);
    account.close(true);
    assert_eq!((account.start(), account.chosen(), account.surprise()), (1.0, 0.0, 0.0));
}
