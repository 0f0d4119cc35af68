//! Contract: of the sampled candidates the nearest admissible one runs, and all lie where allowed.
//!
//! Random boxes, proposals and costs (every float among them) in one to four dimensions. The choice
//! is compared with a search that looks at every candidate; samples must stay within the bounds and
//! the box, repeat exactly, and extend: more candidates never change the first ones. The last row is
//! overwritten with an action from anywhere within the bounds, as a domain does that knows a safe one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::candidates::{CandidateError, Neighbourhood, judge_nearest, sample};
use cpss_shield::{Decision, JudgeError, Mode, Reason, Shield, ShieldSpec, Verdict};
use proptest::prelude::*;
use strategies::{any_float, any_spec};

/// Proposal, radius, least and greatest of one dimension.
fn axis() -> impl Strategy<Value = [f64; 4]> {
    (-3.0..3.0, prop_oneof![Just(0.0), 0.0..2.0], -2.0..2.0, 0.0..3.0)
        .prop_map(|(proposal, radius, low, width)| [proposal, radius, low, low + width])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nearest_admissible_runs(
        spec in any_spec(),
        axes in prop::collection::vec(axis(), 1..5),
        costs in prop::collection::vec(prop_oneof![3 => 0.0..0.2, 1 => any_float()], 2..40),
        density in 0.0..2.0,
        safe in prop::collection::vec(0.0..=1.0_f64, 4),
    ) {
        let column = |i: usize| axes.iter().map(|axis| axis[i]).collect::<Vec<f64>>();
        let (proposal, radius, low, high) = (column(0), column(1), column(2), column(3));
        let around =
            Neighbourhood { proposal: &proposal, radius: &radius, low: &low, high: &high };
        let mut candidates = vec![0.0; costs.len() * axes.len()];
        sample(&around, &mut candidates).unwrap();

        let mut longer = vec![0.0; candidates.len() + 3 * axes.len()];
        sample(&around, &mut longer).unwrap();
        prop_assert_eq!(&longer[..candidates.len()], &candidates[..]);

        let rows: Vec<&[f64]> = candidates.chunks(axes.len()).collect();
        for (d, &[proposal, radius, low, high]) in axes.iter().enumerate() {
            let centre = proposal.clamp(low, high);
            prop_assert_eq!(rows[0][d], centre, "candidate 0 is the proposal");
            for row in &rows {
                prop_assert!((low..=high).contains(&row[d]));
                prop_assert!((row[d] - centre).abs() <= radius * (1.0 + 1e-12));
            }
        }

        let last_resort = costs.len() - 1;
        for (d, &[_, _, low, high]) in axes.iter().enumerate() {
            candidates[last_resort * axes.len() + d] = (low + (high - low) * safe[d]).min(high);
        }
        let rows: Vec<&[f64]> = candidates.chunks(axes.len()).collect();

        let shield = Shield::new(ShieldSpec { mode: Mode::Enforce, last_resort, ..spec }).unwrap();
        let mut room = vec![0.0; costs.len()];
        let decision =
            judge_nearest(&shield, &around, &candidates, &costs, density, &mut room).unwrap();
        let distance = |row: usize| -> f64 {
            axes.iter()
                .zip(rows[row])
                .zip(rows[0])
                .map(|((axis, x), centre)| {
                    // Where there is no radius, 0 / 0 stands for "did not move".
                    let radii = (x - centre) / axis[1];
                    if radii.is_nan() { 0.0 } else { radii.powi(2) }
                })
                .sum()
        };
        let fits = |row: &usize| (0.0..=decision.threshold()).contains(&costs[*row]);
        let nearest = (0..costs.len()).filter(fits).map(distance).fold(f64::INFINITY, f64::min);
        match decision.verdict() {
            Verdict::Infeasible(_) => prop_assert!(!(0..costs.len()).any(|row| fits(&row))),
            Verdict::Admit => prop_assert_eq!(decision.executed(), 0),
            Verdict::Replace(_) => {
                prop_assert!(fits(&decision.executed()));
                prop_assert!(distance(decision.executed()) <= nearest + 1e-12);
            }
        }
    }
}

const AROUND: Neighbourhood<'_> = Neighbourhood {
    proposal: &[0.5, 3.0],
    radius: &[1.0, 0.0],
    low: &[-1.0, -2.0],
    high: &[1.0, 2.0],
};
/// Row 0 is the clamped proposal.
const ROWS: [f64; 6] = [0.5, 2.0, 0.1, 2.0, -1.0, -2.0];

fn judge(spec: ShieldSpec, rows: &[f64], costs: &[f64]) -> Result<Decision, CandidateError> {
    let shield = Shield::new(spec).unwrap();
    judge_nearest(&shield, &AROUND, rows, costs, 0.0, &mut vec![0.0; costs.len()])
}

fn spec(last_resort: usize) -> ShieldSpec {
    ShieldSpec { last_resort, ..ShieldSpec::new(1.0, 10) }
}

#[test]
fn regression_a_failed_predictor_does_not_let_the_proposal_through() {
    let blind = [f64::NAN; 3];
    let error = judge(spec(0), &ROWS, &blind).unwrap_err();
    assert_eq!(error, CandidateError::LastResortIsProposal);
    assert!(error.to_string().starts_with("`last_resort` is 0, which is the proposal"));
    // It shows on a good day too, not only once the predictor has failed.
    assert_eq!(judge(spec(0), &ROWS, &[0.0; 3]), Err(error));

    let decision = judge(spec(2), &ROWS, &blind).unwrap();
    assert_eq!(decision.executed(), 2);
    assert_eq!(decision.verdict(), Verdict::Infeasible(Reason::UnusableCost));

    // In shadow mode nobody relies on it, and the range is checked as ever.
    let shadow = ShieldSpec { mode: Mode::Shadow, ..spec(0) };
    assert_eq!(judge(shadow, &ROWS, &blind).unwrap().executed(), 0);
    let beyond = JudgeError::LastResortOutOfRange { last_resort: 3, actions: 3 };
    assert_eq!(judge(spec(3), &ROWS, &blind), Err(CandidateError::Judge(beyond)));
}

#[test]
fn regression_a_dimension_without_radius_is_left_alone_if_it_can_be() {
    // Row 1 does not move in the searched dimension but does in the other; row 2 is the reverse.
    let rows = [0.5, 2.0, 0.5, -2.0, -1.0, 2.0];
    assert_eq!(judge(spec(1), &rows, &[0.9, 0.0, 0.0]).unwrap().executed(), 2);
    // If nothing else is admissible, moving there is better than what is not, and cost decides.
    assert_eq!(judge(spec(1), &rows, &[0.9, 0.0, 0.9]).unwrap().executed(), 1);
    let both_moved = [0.5, 2.0, 0.5, -2.0, -1.0, -2.0];
    assert_eq!(judge(spec(1), &both_moved, &[0.9, 0.05, 0.01]).unwrap().executed(), 2);
}

#[test]
fn regression_candidates_are_checked_before_they_are_judged() {
    for (cell, value) in
        [(0, f64::NAN), (0, 0.4), (1, 3.0), (2, f64::NAN), (4, -1.5), (5, f64::INFINITY)]
    {
        let mut rows = ROWS;
        rows[cell] = value;
        let error = judge(spec(2), &rows, &[0.0; 3]).unwrap_err();
        match error {
            CandidateError::Candidate { row, dimension, value: found, .. } => {
                assert_eq!((row, dimension), (cell / 2, cell % 2));
                assert_eq!(found.to_bits(), value.to_bits());
            }
            other => panic!("{other}"),
        }
        let named = format!("`candidates` row {}, dimension {} is {value}", cell / 2, cell % 2);
        assert!(error.to_string().starts_with(&named), "{error}");
    }
    assert_eq!(judge(spec(2), &ROWS, &[0.0; 3]).unwrap().verdict(), Verdict::Admit);
}
