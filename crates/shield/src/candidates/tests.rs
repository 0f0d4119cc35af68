use super::*;
use crate::{Reason, ShieldSpec, Verdict};

const AROUND: Neighbourhood<'_> = Neighbourhood {
    proposal: &[0.9, -3.0],
    radius: &[0.5, 0.25],
    low: &[-1.0, -2.0],
    high: &[1.0, 2.0],
};

#[test]
fn halton_mirrors_the_digits() {
    assert_eq!([1, 2, 3, 4].map(|i| radical_inverse(i, 2)), [0.5, 0.25, 0.75, 0.125]);
    assert!((radical_inverse(5, 3) - 7.0 / 9.0).abs() < 1e-15);
}

#[test]
fn candidates_stay_in_the_box_and_the_bounds_and_differ() {
    let mut candidates = [0.0; 128];
    sample(&AROUND, &mut candidates).unwrap();
    assert_eq!(candidates[..2], [0.9, -2.0], "the proposal, clamped");
    for row in candidates.chunks_exact(2) {
        assert!((0.4..=1.0).contains(&row[0]) && (-2.0..=-1.75).contains(&row[1]), "{row:?}");
    }
    for (i, row) in candidates.chunks_exact(2).enumerate() {
        assert!(candidates.chunks_exact(2).skip(i + 1).all(|other| other != row));
    }
}

#[test]
fn nearest_admissible_wins_even_under_min_risk() {
    let shield = Shield::new(ShieldSpec { last_resort: 3, ..ShieldSpec::new(2.0, 10) }).unwrap();
    let around = Neighbourhood { proposal: &[0.0], radius: &[1.0], low: &[-1.0], high: &[1.0] };
    let candidates = [0.0, 0.2, -0.4, 0.8];
    let (costs, mut room) = ([0.9, 0.8, 0.1, 0.0], [0.0; 4]);
    let decision = judge_nearest(&shield, &around, &candidates, &costs, 0.0, &mut room).unwrap();
    assert_eq!(decision.executed(), 2, "-0.4 is nearer than the least risky 0.8");
    assert_eq!(decision.verdict(), Verdict::Replace(Reason::OverCap));
}

#[test]
fn errors_name_the_field_and_the_value() {
    let mut room = [0.0; 4];
    let mut error = |around: &Neighbourhood<'_>| sample(around, &mut room).unwrap_err();
    let nan = [f64::NAN, 0.0];
    assert!(matches!(
        error(&Neighbourhood { proposal: &nan, ..AROUND }),
        CandidateError::OutOfRange { field: "proposal", dimension: 0, value } if value.is_nan()
    ));
    assert_eq!(
        error(&Neighbourhood { high: &[1.0, -2.5], ..AROUND }),
        CandidateError::OutOfRange { field: "high", dimension: 1, value: -2.5 }
    );
    let endless = f64::INFINITY;
    assert_eq!(
        error(&Neighbourhood { high: &[endless, 1.0], ..AROUND }),
        CandidateError::OutOfRange { field: "high", dimension: 0, value: endless }
    );
    assert_eq!(
        error(&Neighbourhood { low: &[-endless, -1.0], ..AROUND }),
        CandidateError::OutOfRange { field: "low", dimension: 0, value: -endless }
    );
    assert_eq!(
        error(&Neighbourhood { radius: &[1.0], ..AROUND }),
        CandidateError::Length { field: "radius", expected: 2, found: 1 }
    );
    assert_eq!(
        error(&Neighbourhood { proposal: &[], ..AROUND }),
        CandidateError::Dimensions { found: 0 }
    );
    assert_eq!(
        sample(&AROUND, &mut [0.0; 3]).unwrap_err(),
        CandidateError::Length { field: "candidates", expected: 2, found: 3 }
    );
}
