//! Contract: the learner learns. It finds the way along a corridor in which reward comes only at the
//! far end, so values must travel backwards through the target network, and the Q-values it ends
//! with are the ones that theory gives.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

mod corridor;

use std::ops::ControlFlow;

use corridor::{CELLS, Corridor, END_REWARD, observe};
use cpss_learn::{Dqn, DqnSpec, Learner};

fn spec() -> DqnSpec {
    DqnSpec {
        total_steps: 6_000,
        hidden: vec![32, 32],
        learning_rate: 2e-3,
        exploration_fraction: 0.5,
        exploration_final_eps: 0.3,
        ..DqnSpec::default()
    }
}

/// Trains in four corridors and returns the Q-values of each cell, left and right.
fn train(spec: DqnSpec) -> Vec<[f32; 2]> {
    let envs = vec![Corridor::default(); 4];
    let mut learner = Learner::new(envs, Dqn::new(spec).unwrap(), 1, 0..100).unwrap();
    learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(learner.is_complete());
    let network = learner.network();
    let mut scratch = network.scratch();
    (0..CELLS - 1)
        .map(|cell| {
            let (mut observation, mut q) = ([0.0; CELLS], [0.0; 2]);
            observe(cell, &mut observation);
            network.q_values(&observation, &mut scratch, &mut q);
            q
        })
        .collect()
}

/// The optimal values: walking right from `cell` earns the reward after `CELLS - 1 - cell` steps.
fn optimal(cell: usize) -> [f32; 2] {
    let value = |cell: usize| END_REWARD * 0.8_f32.powi((CELLS - 2 - cell) as i32);
    [0.8 * value(cell.saturating_sub(1)), value(cell)]
}

fn assert_optimal(learned: &[[f32; 2]]) {
    for (cell, q) in learned.iter().enumerate() {
        let expected = optimal(cell);
        for (q, expected) in q.iter().zip(expected) {
            assert!((q - expected).abs() < 0.05, "cell {cell}: {q} is not {expected}");
        }
    }
}

#[test]
fn dqn_finds_the_optimal_values() {
    assert_optimal(&train(spec()));
}

#[test]
fn double_dqn_finds_them_too() {
    assert_optimal(&train(DqnSpec { double: true, ..spec() }));
}

#[test]
fn a_dueling_network_finds_them_too() {
    assert_optimal(&train(DqnSpec { dueling: true, ..spec() }));
}

#[test]
fn a_target_network_that_is_never_copied_does_not() {
    // The test above would be worthless if it passed without the target network's copies.
    let learned = train(DqnSpec { target_update_interval: 1_000_000, ..spec() });
    assert!((learned[0][1] - optimal(0)[1]).abs() > 0.1);
}
