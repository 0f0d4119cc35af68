//! Contract: of the sampled candidates the nearest admissible one runs, and all lie where allowed.
//!
//! Random boxes, proposals and costs (every float among them) in one to four dimensions. The choice
//! is compared with a search that looks at every candidate; samples must stay within the bounds and
//! the box, repeat exactly, and extend: more candidates never change the first ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::candidates::{Neighbourhood, judge_nearest, sample};
use cpss_shield::{Mode, Shield, ShieldSpec, Verdict};
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
        costs in prop::collection::vec(prop_oneof![3 => 0.0..0.2, 1 => any_float()], 1..40),
        density in 0.0..2.0,
    ) {
        let column = |i: usize| axes.iter().map(|axis| axis[i]).collect::<Vec<f64>>();
        let (proposal, radius, low, high) = (column(0), column(1), column(2), column(3));
        let around =
            Neighbourhood { proposal: &proposal, radius: &radius, low: &low, high: &high };
        let mut candidates = vec![0.0; costs.len() * axes.len()];
        sample(&around, &mut candidates).unwrap();
        let rows: Vec<&[f64]> = candidates.chunks(axes.len()).collect();

        let mut longer = vec![0.0; candidates.len() + 3 * axes.len()];
        sample(&around, &mut longer).unwrap();
        prop_assert_eq!(&longer[..candidates.len()], &candidates[..]);

        for (d, &[proposal, radius, low, high]) in axes.iter().enumerate() {
            let centre = proposal.clamp(low, high);
            prop_assert_eq!(rows[0][d], centre, "candidate 0 is the proposal");
            for row in &rows {
                prop_assert!((low..=high).contains(&row[d]));
                prop_assert!((row[d] - centre).abs() <= radius * (1.0 + 1e-12));
            }
        }

        let shield = Shield::new(ShieldSpec { mode: Mode::Enforce, ..spec }).unwrap();
        let mut room = vec![0.0; costs.len()];
        let decision =
            judge_nearest(&shield, &around, &candidates, &costs, density, &mut room).unwrap();
        let distance = |row: usize| -> f64 {
            axes.iter()
                .zip(rows[row])
                .zip(rows[0])
                .filter(|((axis, _), _)| axis[1] > 0.0)
                .map(|((axis, x), centre)| ((x - centre) / axis[1]).powi(2))
                .sum()
        };
        let fits = |row: &usize| (0.0..=decision.threshold()).contains(&costs[*row]);
        let nearest = (0..costs.len()).filter(fits).map(distance).fold(f64::INFINITY, f64::min);
        match decision.verdict() {
            Verdict::Infeasible(_) => prop_assert_eq!(nearest, f64::INFINITY),
            Verdict::Admit => prop_assert_eq!(decision.executed(), 0),
            Verdict::Replace(_) => {
                prop_assert!(fits(&decision.executed()));
                prop_assert!(distance(decision.executed()) <= nearest + 1e-12);
            }
        }
    }
}
