//! Contract: the same settings, worlds and seed give the same weights, bit for bit, however the run
//! is cut into pieces; another seed gives others.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

mod corridor;

use std::ops::ControlFlow;

use corridor::Corridor;
use cpss_learn::{Dqn, DqnSpec, Learner, Policy};

fn learner(seed: u64, worlds: usize) -> Learner<Corridor> {
    let spec = DqnSpec { total_steps: 1_000, hidden: vec![24], double: true, ..DqnSpec::default() };
    let envs = vec![Corridor::default(); worlds];
    Learner::new(envs, Dqn::new(spec).unwrap(), seed, 0..1_000).unwrap()
}

/// The bytes of the trained policy: every bit of every weight.
fn train(seed: u64, worlds: usize, piece: u64) -> Vec<u8> {
    let mut learner = learner(seed, worlds);
    while !learner.is_complete() {
        learner.run(piece, &mut |_| ControlFlow::Continue(())).unwrap();
    }
    Policy::new(learner.network().clone(), Default::default()).to_bytes()
}

#[test]
fn same_seed_same_bits() {
    assert_eq!(train(3, 4, u64::MAX), train(3, 4, u64::MAX));
}

#[test]
fn cutting_the_run_into_pieces_changes_nothing() {
    assert_eq!(train(3, 4, u64::MAX), train(3, 4, 7));
}

#[test]
fn another_seed_other_weights() {
    assert_ne!(train(3, 4, u64::MAX), train(4, 4, u64::MAX));
}

#[test]
fn the_number_of_worlds_does_not_change_the_number_of_updates() {
    let updates = |worlds| {
        let progress = learner(0, worlds).run(u64::MAX, &mut |_| ControlFlow::Continue(()));
        progress.unwrap().updates
    };
    assert_eq!(updates(1), 800);
    assert_eq!(updates(4), 800);
}

#[test]
fn watching_can_stop_the_run() {
    let mut learner = learner(0, 1);
    let stop_at_ten = &mut |progress: &cpss_learn::Progress| {
        if progress.steps == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert_eq!(learner.run(u64::MAX, stop_at_ten).unwrap().steps, 10);
    assert!(!learner.is_complete());
}
