//! Contract: a price spends risk where it buys most, and never more of it than was proposed.
//!
//! The choice is compared with a search over every admissible action. The scale of the preferences
//! does not matter; a weight of 0, and preferences without a scale, leave the threshold rule alone; a
//! greater weight never runs a dearer action.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{
    Decision, Fallback, GainSpec, Mode, Reason, Shield, ShieldSpec, Situation, StaleDecision,
    Verdict,
};
use proptest::prelude::*;
use strategies::{any_float, any_spec, moment};

fn judge(price: f64, proposal: usize, costs: &[f64], preferences: &[f64]) -> Decision {
    let spec = ShieldSpec { price, gain: GainSpec::Constant, ..ShieldSpec::new(1.0, 10) };
    let shield = Shield::new(spec).unwrap();
    shield.judge(&Situation { proposal, costs, preferences, density: 0.0 }).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_choice_is_the_search(
        spec in any_spec(),
        price in prop_oneof![0.01..5.0, Just(1e300)],
        at in moment(1..7, prop_oneof![8 => (0.0..0.2).boxed(), 1 => any_float().boxed()].boxed()),
        steps in 0..3,
    ) {
        let spec = ShieldSpec { price, mode: Mode::Enforce, ..spec };
        let mut shield = Shield::new(spec).unwrap();
        for _ in 0..steps {
            let decision = shield.judge(&at.situation()).unwrap();
            shield.settle(decision, 0.05).unwrap();
        }
        let decision = shield.judge(&at.situation()).unwrap();
        let tau = decision.threshold();
        let fits = |action: &usize| (0.0..=tau).contains(&at.costs[*action]);
        let likes = &at.preferences;
        let (least, most) = likes
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &x| (l.min(x), m.max(x)));
        let has_scale = likes.iter().all(|x| x.is_finite())
            && (most - least).is_finite()
            && most - least > 0.0;
        if !has_scale {
            let plain = shield_without_price(&spec, steps, &at);
            prop_assert_eq!(decision.executed(), plain.executed());
            prop_assert_eq!(decision.verdict(), plain.verdict());
            return Ok(());
        }
        let worth = |action: usize| {
            let cost = at.costs[action];
            let risk = if cost == 0.0 { 0.0 } else { price * ((most - least) / tau) * cost };
            (likes[action] - least) - risk
        };
        let proposed = fits(&at.proposal);
        let open = |action: &usize| {
            fits(action)
                && (!proposed
                    || *action == at.proposal
                    || at.costs[*action] < at.costs[at.proposal])
        };
        let best = (0..at.costs.len()).filter(open).map(worth).fold(f64::NEG_INFINITY, f64::max);
        let executed = decision.executed();
        match decision.verdict() {
            Verdict::Infeasible(_) => prop_assert!(!(0..at.costs.len()).any(|a| fits(&a))),
            Verdict::Admit => prop_assert!(proposed && worth(at.proposal) == best),
            Verdict::Replace(reason) => {
                prop_assert!(fits(&executed) && worth(executed) == best);
                prop_assert_eq!(reason == Reason::Priced, proposed);
                if proposed {
                    prop_assert!(at.costs[executed] < at.costs[at.proposal]);
                    prop_assert!(worth(executed) > worth(at.proposal), "ties go to the proposal");
                }
                prop_assert!((0..executed).filter(open).all(|a| worth(a) < best), "lowest index");
            }
        }
    }

    /// Preferences in another unit, and from another zero, make the same choice. Powers of two, so
    /// that rounding makes none.
    #[test]
    fn the_unit_of_the_preferences_does_not_matter(
        price in 0.01..4.0,
        proposal in 0..4_usize,
        costs in prop::array::uniform4((0..64).prop_map(|cost| f64::from(cost) / 512.0)),
        likes in prop::array::uniform4((0..64).prop_map(|like| f64::from(like) / 64.0)),
        (power, zero) in (-20..20, -8..8),
    ) {
        let other = likes.map(|like| (like + f64::from(zero)) * 2f64.powi(power));
        let (one, two) =
            (judge(price, proposal, &costs, &likes), judge(price, proposal, &costs, &other));
        prop_assert_eq!((one.verdict(), one.executed()), (two.verdict(), two.executed()));
    }

    #[test]
    fn a_greater_price_never_runs_a_dearer_action(
        (low, more) in (0.01..4.0, 0.0..4.0),
        proposal in 0..5_usize,
        costs in prop::array::uniform5(0.0..0.15),
        likes in prop::array::uniform5(-3.0..3.0),
    ) {
        let (cheap, dear) = (
            judge(low + more, proposal, &costs, &likes),
            judge(low, proposal, &costs, &likes),
        );
        prop_assert!(cheap.cost_executed() <= dear.cost_executed());
    }
}

fn shield_without_price(spec: &ShieldSpec, steps: i32, at: &strategies::Moment) -> Decision {
    let mut plain = Shield::new(ShieldSpec { price: 0.0, ..*spec }).unwrap();
    for _ in 0..steps {
        let decision = plain.judge(&at.situation()).unwrap();
        plain.settle(decision, 0.05).unwrap();
    }
    plain.judge(&at.situation()).unwrap()
}

#[test]
fn an_admissible_proposal_gives_way_to_a_better_bargain() {
    // The threshold is 0.1. Action 0 is liked a little more than action 1, at half the threshold.
    let (costs, likes) = ([0.05, 0.0, 0.0], [1.0, 0.75, 0.0]);
    assert_eq!(judge(0.0, 0, &costs, &likes).verdict(), Verdict::Admit);
    assert_eq!(judge(0.25, 0, &costs, &likes).verdict(), Verdict::Admit);
    let priced = judge(1.0, 0, &costs, &likes);
    assert_eq!((priced.verdict(), priced.executed()), (Verdict::Replace(Reason::Priced), 1));
    assert_eq!(
        priced.to_string(),
        "replaced action 0 by 1: a cheaper action is worth more at the price of risk \
         (cost 0.05, threshold 0.1)"
    );
    // Nobody asked for action 0: the policy likes it most, and proposed what costs nothing.
    assert_eq!(judge(0.25, 1, &costs, &likes).verdict(), Verdict::Admit);
    // A refused proposal is replaced by the best bargain, not by the fallback.
    let refused = judge(0.25, 2, &[0.05, 0.0, 0.9], &[1.0, 0.25, 0.0]);
    assert_eq!((refused.verdict(), refused.executed()), (Verdict::Replace(Reason::OverCap), 0));
}

#[test]
fn preferences_without_a_scale_leave_the_threshold_rule() {
    let costs = [0.05, 0.0];
    let none: &[f64] = &[];
    for likes in [none, &[1.0, 1.0], &[f64::NAN, 0.0], &[f64::INFINITY, 0.0], &[f64::MAX, f64::MIN]]
    {
        assert_eq!(judge(5.0, 0, &costs, likes).verdict(), Verdict::Admit, "{likes:?}");
    }
    // Nor does a price choose in place of a refused proposal: the fallback does, by the least risk.
    for likes in [[1.0; 3], [f64::MAX, f64::MIN, 0.0], [f64::NAN, 1.0, 0.0]] {
        let refused = judge(0.25, 2, &[0.05, 0.0, 0.9], &likes);
        assert_eq!(refused.executed(), 1, "{likes:?}");
    }
}

#[test]
fn the_zero_of_the_preferences_does_not_matter_even_where_sums_of_them_overflow() {
    // As above: the threshold is 0.1, and at this price half of it is worth more than a quarter of the spread.
    let likes = [-1e308, -1.0025e308, -1.01e308];
    let priced = judge(1.0, 0, &[0.05, 0.0, 0.0], &likes);
    assert_eq!((priced.verdict(), priced.executed()), (Verdict::Replace(Reason::Priced), 1));
}

#[test]
fn a_preference_that_is_no_number_is_below_every_other() {
    let spec = ShieldSpec { fallback: Fallback::BestAdmissible, ..ShieldSpec::new(1.0, 10) };
    let shield = Shield::new(spec).unwrap();
    for (likes, runs) in [([f64::NAN, -5.0, 9.0], 1), ([-5.0, f64::NAN, 9.0], 0)] {
        // The proposal alone is over the threshold of 0.1.
        let situation =
            Situation { proposal: 2, costs: &[0.0, 0.0, 0.9], preferences: &likes, density: 0.0 };
        assert_eq!(shield.judge(&situation).unwrap().executed(), runs, "{likes:?}");
    }
}

#[test]
fn a_certificate_counts_what_was_passed_over() -> Result<(), StaleDecision> {
    for (price, counted) in [(1.0, true), (0.0, false)] {
        let spec = ShieldSpec { price, gain: GainSpec::Constant, ..ShieldSpec::new(1.0, 10) };
        let mut shield = Shield::new(spec).unwrap();
        let situation = Situation {
            proposal: 0,
            costs: &[0.05, 0.0, 0.0],
            preferences: &[1.0, 0.75, 0.0],
            density: 0.0,
        };
        shield.settle(shield.judge(&situation).unwrap(), 0.0)?;
        let report = shield.certificate().to_string();
        let line = "\nof those replaced, 1 were admissible and passed over";
        assert_eq!(report.contains(line), counted, "{report}");
        assert_eq!(report.contains("passed over"), counted, "{report}");
    }
    Ok(())
}
