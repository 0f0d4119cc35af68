//! Contract: the learner explores as the schedule says. It acts at random while it warms up, less and
//! less so while epsilon falls, and greedily where epsilon is 0.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use cpss_learn::{Dqn, DqnSpec, End, Env, Learner, Outcome};

/// A world that never changes and writes down what is done in it.
struct Diary(Rc<RefCell<Vec<usize>>>);

impl Env for Diary {
    fn observation_len(&self) -> usize {
        1
    }

    fn actions(&self) -> usize {
        2
    }

    fn reset(&mut self, _seed: u64, observation: &mut [f32]) {
        observation[0] = 1.0;
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        self.0.borrow_mut().push(action);
        observation[0] = 1.0;
        // Action 1 is better from the first update on, and the reward keeps it so.
        Outcome { reward: action as f32, end: End::Terminated, incident: false, ran: action }
    }
}

#[test]
fn random_at_first_and_greedy_at_last() {
    let spec = DqnSpec {
        total_steps: 4_000,
        hidden: vec![8],
        learning_rate: 5e-3,
        learning_starts: 1_000,
        exploration_fraction: 0.75,
        exploration_final_eps: 0.0,
        ..DqnSpec::default()
    };
    let diary = Rc::new(RefCell::new(Vec::new()));
    let envs = vec![Diary(Rc::clone(&diary))];
    let mut learner = Learner::new(envs, Dqn::new(spec).unwrap(), 0, 0..1).unwrap();
    let mut epsilons = Vec::new();
    let mut watch = |progress: &cpss_learn::Progress| {
        epsilons.push(progress.epsilon.unwrap());
        ControlFlow::Continue(())
    };
    learner.run(u64::MAX, &mut watch).unwrap();
    let better = |steps: std::ops::Range<usize>| {
        let len = steps.len() as f64;
        diary.borrow()[steps].iter().sum::<usize>() as f64 / len
    };
    // Warming up, half of the actions are the better one. Then epsilon falls from 2/3 to 0, and the
    // better one is taken unless exploring chooses the other: 1 - epsilon / 2.
    assert!((better(0..1_000) - 0.5).abs() < 0.05);
    assert!((better(1_500..2_500) - (1.0 - 1.0 / 6.0)).abs() < 0.04);
    assert_eq!(better(3_000..4_000), 1.0);
    assert!((epsilons[1_499] - 0.5).abs() < 1e-9);
    assert_eq!(epsilons[3_999], 0.0);
}
