//! The nearest admissible point against the best possible, where that is known.

use super::*;
use crate::critic::ensemble::Scale;
use crate::critic::{Critic, Shape};

/// A risk that grows with how far a point is beyond some planes, `normal · a > level`: its safe points are convex.
fn beyond_planes(planes: &[(Vec<f32>, f32)], steepness: f32) -> Ensemble {
    let dimensions = planes[0].0.len();
    let shape = Shape {
        fixed: 1 + dimensions,
        item: 0,
        encoder: Vec::new(),
        head: vec![planes.len()],
        actions: 1,
    };
    let mut critic = Critic::zeros(shape).unwrap();
    let [hidden, last] = [critic.layers().head[0], critic.layers().head[1]];
    for (unit, (normal, level)) in planes.iter().enumerate() {
        let row = hidden.weights().start + unit * hidden.stride() + 1;
        critic.parameters_mut()[row..row + dimensions].copy_from_slice(normal);
        critic.parameters_mut()[hidden.bias().start + unit] = -level;
        critic.parameters_mut()[last.weights().start + unit] = steepness;
    }
    critic.parameters_mut()[last.bias().start] = -8.0;
    Ensemble::new(vec![critic], Scale::none(1), dimensions, 0.0).unwrap()
}

/// The nearest point of the box on the safe side of all planes: Dykstra's alternating projections, many times.
fn best_possible(planes: &[(Vec<f32>, f32)], proposal: &[f32]) -> Vec<f32> {
    let mut at: Vec<f64> = proposal.iter().map(|p| f64::from(*p)).collect();
    let mut corrections = vec![vec![0.0; at.len()]; planes.len() + 1];
    for _ in 0..20_000 {
        for (index, correction) in corrections.iter_mut().enumerate() {
            let from: Vec<f64> = at.iter().zip(&*correction).map(|(a, c)| a + c).collect();
            at = match planes.get(index) {
                None => from.iter().map(|a| a.clamp(-1.0, 1.0)).collect(),
                Some((normal, level)) => {
                    let normal: Vec<f64> = normal.iter().map(|n| f64::from(*n)).collect();
                    let product =
                        |a: &[f64]| -> f64 { a.iter().zip(&normal).map(|(a, n)| a * n).sum() };
                    let beyond = (product(&from) - f64::from(*level)).max(0.0) / product(&normal);
                    from.iter().zip(&normal).map(|(a, n)| a - beyond * n).collect()
                }
            };
            *correction = from.iter().zip(&at).map(|(f, a)| f - a).collect();
        }
    }
    at.iter().map(|a| *a as f32).collect()
}

/// A problem: planes that the middle of the box is safe of and the proposal is not.
fn problem(dimensions: usize, planes: usize, seed: u64) -> (Vec<(Vec<f32>, f32)>, Vec<f32>) {
    let mut draw = Generator::from_state(seed);
    let proposal: Vec<f32> = (0..dimensions).map(|_| (2.0 * draw.unit() - 1.0) as f32).collect();
    let mut made = Vec::new();
    while made.len() < planes {
        let mut normal: Vec<f32> =
            (0..dimensions).map(|_| (2.0 * draw.unit() - 1.0) as f32).collect();
        let length = dot(&normal, &normal).sqrt();
        normal.iter_mut().for_each(|n| *n /= length);
        let reach = dot(&normal, &proposal);
        // Between the middle and the proposal.
        if reach > 0.1 {
            made.push((normal, reach * (0.2 + 0.5 * draw.unit() as f32)));
        }
    }
    (made, proposal)
}

#[test]
fn the_nearest_admissible_point_is_found_to_within_a_tenth_in_up_to_sixteen_dimensions() {
    for dimensions in [1, 2, 4, 8, 16] {
        for (planes, seed) in [(1, 1), (1, 2), (2, 3), (3, 4), (3, 5), (4, 6)] {
            let (planes, proposal) = problem(dimensions, planes, seed + 100 * dimensions as u64);
            let ensemble = beyond_planes(&planes, 400.0);
            // Where not one plane is crossed the risk is 0.0003; a threshold of 0.001 is crossed at once.
            let found = ensemble.project(&[0.0], &proposal, 0.001);
            let best = distance(&best_possible(&planes, &proposal), &proposal);
            let far = distance(&found.nearest, &proposal);
            assert!(found.risks[2] <= found.risks[1] + 0.001, "not admissible");
            assert!(
                far <= 1.1 * best + 0.01,
                "{dimensions} dimensions, {} planes, seed {seed}: {far} for {best}",
                planes.len()
            );
        }
    }
}

#[test]
fn an_admissible_proposal_stays_and_the_least_risky_point_is_safe() {
    let (planes, proposal) = problem(6, 3, 9);
    let ensemble = beyond_planes(&planes, 30.0);
    let safe = vec![0.0; 6];
    let found = ensemble.project(&[0.0], &safe, 0.001);
    assert_eq!(found.nearest, safe);
    let found = ensemble.project(&[0.0], &proposal, 0.001);
    assert!(found.risks[0] > 0.5 && found.risks[1] < 0.001);
    assert!(found.nearest.iter().chain(&found.safest).all(|a| (-1.0..=1.0).contains(a)));
    assert_eq!(found, ensemble.project(&[0.0], &proposal, 0.001), "the same call, the same points");
}

#[test]
fn where_nothing_is_known_no_risk_is_told_and_no_other_point_is_better() {
    let (planes, proposal) = problem(3, 2, 11);
    let found = beyond_planes(&planes, 30.0).project(&[f32::NAN], &proposal, 0.01);
    assert!(found.risks.iter().all(|risk| risk.is_nan()), "{:?}", found.risks);
    assert_eq!(found.nearest, proposal, "all points are as bad: nothing is gained by another one");
}

#[test]
fn of_groups_the_slope_is_that_of_their_mean() {
    let shape = Shape { fixed: 3, item: 0, encoder: Vec::new(), head: vec![8], actions: 1 };
    let critics = (1..=4).map(|seed| {
        Critic::new(shape.clone(), &mut Generator::from_state(seed)).unwrap().sharpened(-5.0, 8.0)
    });
    let ensemble = Ensemble::new(critics.collect(), Scale::none(1), 2, -0.5).unwrap();
    let ensemble = ensemble.in_groups(2).unwrap();
    let mut search = Search::new(&ensemble, &[0.3]);
    for at in [[0.2_f32, -0.4], [-0.7, 0.1], [0.5, 0.6]] {
        let slope = search.slope(&at).unwrap();
        let numeric = [0, 1].map(|place| {
            let step = |by: f32| {
                let mut at = at;
                at[place] += by;
                at
            };
            // Points are not rounded as observations are, so a small step will do.
            (search.risk(&step(1e-3)) - search.risk(&step(-1e-3))) as f32
        });
        let along = dot(&slope, &numeric) / dot(&numeric, &numeric).sqrt();
        assert!(along > 0.999, "{slope:?} and {numeric:?}");
    }
}

#[test]
fn the_nearest_point_of_two_groups_is_admissible_by_their_mean() {
    let (planes, proposal) = problem(4, 2, 21);
    let [one, other] = [0, 1].map(|place| beyond_planes(&planes[place..=place], 400.0));
    let critics = [one, other].map(|ensemble| ensemble.critics()[0].clone()).to_vec();
    let ensemble = Ensemble::new(critics, Scale::none(1), 4, 0.0).unwrap().in_groups(2).unwrap();
    // Beyond one of the planes the mean risk is a half.
    let found = ensemble.project(&[0.0], &proposal, 0.001);
    assert!(found.risks[0] > 0.9 && found.risks[2] <= found.risks[1] + 0.001, "{:?}", found.risks);
    let best = distance(&best_possible(&planes, &proposal), &proposal);
    assert!(distance(&found.nearest, &proposal) <= 1.1 * best + 0.01);
}
