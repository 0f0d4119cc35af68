//! Contract: a batch gives every row the bits that the single form gives, and rows are strangers.
//!
//! Random batches with masked rows are run beside single shields, comparing every bit of every
//! decision and settlement; rows are reset while others go on; a wrong batch changes nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::batch::{BatchError, Situations, judge_all, settle_all};
use cpss_shield::{JudgeError, Shield, ShieldSpec, StaleDecision};
use proptest::prelude::*;
use strategies::{any_float, any_spec, moment};

const ROWS: usize = 4;
const ACTIONS: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn batch_equals_single(
        specs in prop::collection::vec(any_spec(), ROWS),
        steps in prop::collection::vec(
            prop::collection::vec(
                (moment(ACTIONS..ACTIONS + 1, any_float().boxed()), any::<bool>(), 0..8_u32),
                ROWS,
            ),
            1..12,
        ),
        liked in any::<bool>(),
    ) {
        let mut single: Vec<Shield> = specs.iter().map(|&s| Shield::new(s).unwrap()).collect();
        let mut rows = single.clone();
        let (mut decisions, mut settlements) = (vec![None; ROWS], vec![None; ROWS]);
        for step in steps {
            let column = |pick: fn(&strategies::Moment) -> f64| -> Vec<f64> {
                step.iter().map(|(moment, ..)| pick(moment)).collect()
            };
            let costs: Vec<f64> = step.iter().flat_map(|(m, ..)| m.costs.clone()).collect();
            let preferences = if liked { costs.iter().map(|c| -c).collect() } else { vec![] };
            let proposals: Vec<usize> = step.iter().map(|(m, ..)| m.proposal).collect();
            let active: Vec<bool> = step.iter().map(|(_, active, _)| *active).collect();
            let observed = column(|moment| moment.observed);
            let situations = Situations {
                actions: ACTIONS,
                proposals: &proposals,
                costs: &costs,
                preferences: &preferences,
                densities: &column(|moment| moment.density),
                active: &active,
            };
            judge_all(&rows, &situations, &mut decisions).unwrap();
            settle_all(&mut rows, &decisions, &observed, &mut settlements).unwrap();

            for (row, (mut moment, active, reset)) in step.into_iter().enumerate() {
                if active {
                    moment.preferences = if liked {
                        moment.costs.iter().map(|cost| -cost).collect()
                    } else {
                        vec![]
                    };
                    let decision = single[row].judge(&moment.situation()).unwrap();
                    let settlement = single[row].settle(decision, moment.observed).unwrap();
                    // As text, because it tells every pair of floats apart and NaN equals itself.
                    prop_assert_eq!(format!("{:?}", decisions[row]), format!("{:?}", Some(decision)));
                    prop_assert_eq!(
                        format!("{:?}", settlements[row]),
                        format!("{:?}", Some(settlement))
                    );
                } else {
                    prop_assert!(decisions[row].is_none() && settlements[row].is_none());
                }
                if reset == 0 {
                    prop_assert_eq!(rows[row].reset(), single[row].reset());
                }
            }
            prop_assert_eq!(&rows, &single);
        }
    }
}

fn shields() -> [Shield; 2] {
    [Shield::new(ShieldSpec::new(1.0, 10)).unwrap(); 2]
}

const SOUND: Situations<'_> = Situations {
    actions: 2,
    proposals: &[0, 1],
    costs: &[0.0; 4],
    preferences: &[],
    densities: &[0.0; 2],
    active: &[],
};

#[test]
fn errors_name_the_row_or_the_buffer() {
    let mut room = [None; 2];
    let mut error = |situations| judge_all(&shields(), &situations, &mut room).unwrap_err();

    let wrong = error(Situations { proposals: &[0, 2], ..SOUND });
    let inner = JudgeError::ProposalOutOfRange { proposal: 2, actions: 2 };
    assert_eq!(wrong, BatchError::Judge { row: 1, error: inner });
    assert_eq!(wrong.to_string(), "row 1: `proposal` is 2, but there are 2 actions");

    let none = error(Situations { actions: 0, costs: &[], ..SOUND });
    assert_eq!(none, BatchError::Judge { row: 0, error: JudgeError::NoActions });

    for (situations, buffer, expected, found) in [
        (Situations { proposals: &[0], ..SOUND }, "proposals", 2, 1),
        (Situations { costs: &[0.0; 3], ..SOUND }, "costs", 4, 3),
        (Situations { preferences: &[0.0; 2], ..SOUND }, "preferences", 4, 2),
        (Situations { densities: &[0.0; 3], ..SOUND }, "densities", 2, 3),
        (Situations { active: &[true], ..SOUND }, "active", 2, 1),
    ] {
        assert_eq!(error(situations), BatchError::Length { buffer, expected, found });
    }
    let short = judge_all(&shields(), &SOUND, &mut room[..1]).unwrap_err();
    assert_eq!(short.to_string(), "`decisions` has 1 entries, expected 2");
}

#[test]
fn a_stale_row_settles_no_row() {
    let mut shields = shields();
    let (mut decisions, mut settlements) = ([None; 2], [None; 2]);
    judge_all(&shields, &SOUND, &mut decisions).unwrap();
    shields[1].settle(decisions[1].unwrap(), 0.0).unwrap();
    let before = shields;
    let error = settle_all(&mut shields, &decisions, &[0.0; 2], &mut settlements).unwrap_err();
    let inner = StaleDecision { decided_at: 0, decided_in: 0, shield_at: 1, shield_in: 0 };
    assert_eq!(error, BatchError::Settle { row: 1, error: inner });
    assert_eq!(shields, before);
}

#[test]
fn regression_a_row_reset_before_settling_is_not_charged() {
    let mut shields = shields();
    let (mut decisions, mut settlements) = ([None; 2], [None; 2]);
    judge_all(&shields, &SOUND, &mut decisions).unwrap();
    shields[1].reset();
    let before = shields;
    let error = settle_all(&mut shields, &decisions, &[0.5; 2], &mut settlements).unwrap_err();
    let inner = StaleDecision { decided_at: 0, decided_in: 0, shield_at: 0, shield_in: 1 };
    assert_eq!(error, BatchError::Settle { row: 1, error: inner });
    assert_eq!(shields, before);
}

#[test]
fn regression_an_error_leaves_no_decision_of_an_earlier_call() {
    let mut decisions = [None; 2];
    judge_all(&shields(), &SOUND, &mut decisions).unwrap();
    judge_all(&shields(), &Situations { proposals: &[2, 0], ..SOUND }, &mut decisions).unwrap_err();
    assert_eq!(decisions, [None; 2]);

    judge_all(&shields(), &SOUND, &mut decisions).unwrap();
    judge_all(&shields(), &Situations { proposals: &[0], ..SOUND }, &mut decisions).unwrap_err();
    assert_eq!(decisions, [None; 2], "a buffer of the wrong length, too");
}
