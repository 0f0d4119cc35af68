//! Contract: an on-policy run learns, repeats and resumes. PPO finds the way along the corridor; the same seed gives the
//! same bits, however the run is cut, stopped or resumed, and another seed others; what is not finite moves no weight;
//! a step that was cut is valued from there; unusable settings are refused by name.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

mod corridor;
mod seal;

use std::ops::ControlFlow;

use corridor::{CELLS, Corridor, observe};
use cpss_learn::learner::StartError;
use cpss_learn::worlds::BadWorlds;
use cpss_learn::{
    Constraint, CpoSpec, Dqn, DqnSpec, End, Env, Learner, MultiplierSpec, OnPolicy,
    OnPolicyLearner, OnPolicySpec, Outcome, Policy, Progress, QFunction, ResumeError,
};
use proptest::prelude::*;
use seal::unsealed;

const WORLDS: usize = 3;

fn worlds() -> Vec<Corridor> {
    vec![Corridor::default(); WORLDS]
}

/// The three algorithms, each with its defaults.
fn constraints() -> [Constraint; 3] {
    [
        Constraint::None,
        Constraint::Lagrangian(MultiplierSpec::default()),
        Constraint::Cpo(CpoSpec::default()),
    ]
}

fn start(constraint: Constraint, seed: u64) -> OnPolicyLearner<Corridor> {
    let spec = OnPolicySpec {
        total_steps: 900,
        hidden: vec![16],
        // Not a multiple of the worlds, the minibatch or the steps of the run.
        rollout_steps: 100,
        batch_size: 32,
        epochs: 2,
        constraint,
        ..OnPolicySpec::default()
    };
    OnPolicyLearner::new(worlds(), OnPolicy::new(spec).unwrap(), seed, 0..50).unwrap()
}

fn advance(learner: &mut OnPolicyLearner<Corridor>, steps: u64) -> Progress {
    learner.run(steps, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Every bit of the state at the end of a run, and its progress.
fn finished(constraint: Constraint, seed: u64) -> (Vec<u8>, Progress) {
    let mut learner = start(constraint, seed);
    let progress = advance(&mut learner, u64::MAX);
    assert!(learner.is_complete() && progress.updates > 0);
    (learner.checkpoint(), progress)
}

#[test]
fn ppo_finds_the_way_along_the_corridor() {
    let spec = OnPolicySpec {
        total_steps: 10_000,
        hidden: vec![32, 32],
        learning_rate: 2e-3,
        rollout_steps: 512,
        ..OnPolicySpec::default()
    };
    let envs = vec![Corridor::default(); 4];
    let mut learner = OnPolicyLearner::new(envs, OnPolicy::new(spec).unwrap(), 1, 0..100).unwrap();
    let first = learner.run(512, &mut |_| ControlFlow::Continue(())).unwrap();
    let last = learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    // Episodes start two and a half steps from the goal on average, and one that ends there is as short.
    assert!(first.length_mean > 5.0, "the first policy already knows the way: {first:?}");
    assert!(last.length_mean < 2.8 && last.return_mean > 0.99, "{last:?}");
    let policy = Policy::new(learner.network().clone(), Default::default());
    let mut policy = Policy::from_bytes(&policy.to_bytes()).unwrap();
    for cell in 0..CELLS - 1 {
        let mut observation = [0.0; CELLS];
        observe(cell, &mut observation);
        assert_eq!(policy.act(0, &observation).unwrap(), 1, "cell {cell}");
    }
}

#[test]
fn same_seed_same_bits_and_another_seed_others() {
    for constraint in constraints() {
        let (bytes, _) = finished(constraint, 3);
        assert!(bytes == finished(constraint, 3).0, "{constraint:?}");
        let weights = |seed| {
            let mut learner = start(constraint, seed);
            advance(&mut learner, u64::MAX);
            Policy::new(learner.network().clone(), Default::default()).to_bytes()
        };
        assert_ne!(weights(3), weights(4), "{constraint:?}");
    }
}

#[test]
fn the_three_algorithms_differ() {
    let [ppo, lagrangian, cpo] = constraints().map(|constraint| {
        let mut learner = start(constraint, 3);
        advance(&mut learner, u64::MAX);
        Policy::new(learner.network().clone(), Default::default()).to_bytes()
    });
    assert!(ppo != lagrangian && ppo != cpo && lagrangian != cpo);
}

#[test]
fn a_resumed_run_ends_like_one_that_never_stopped() {
    for constraint in constraints() {
        let (whole, whole_progress) = finished(constraint, 9);
        // Before the first rollout is full, just when it is, and in the middle of later ones.
        for stop in [1, 102, 301, 640] {
            let mut stopped = start(constraint, 9);
            advance(&mut stopped, stop);
            let mut resumed = OnPolicyLearner::resume(worlds(), &stopped.checkpoint()).unwrap();
            assert!(resumed.checkpoint() == stopped.checkpoint());
            let progress = advance(&mut resumed, u64::MAX);
            assert!(resumed.checkpoint() == whole, "{constraint:?} stopped at {stop}");
            assert_eq!(progress, whole_progress);
        }
    }
}

#[test]
fn watching_can_stop_the_run_anywhere_and_it_goes_on() {
    for constraint in constraints() {
        let mut learner = start(constraint, 9);
        while !learner.is_complete() {
            let before = learner.progress().steps;
            let stop = &mut |progress: &Progress| {
                if progress.steps >= before + 37 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let progress = learner.run(u64::MAX, stop).unwrap();
            assert!(progress.steps <= before + 39);
            learner = OnPolicyLearner::resume(worlds(), &learner.checkpoint()).unwrap();
        }
        assert!(learner.checkpoint() == finished(constraint, 9).0, "{constraint:?}");
    }
}

#[test]
fn progress_says_what_there_is() {
    let [ppo, lagrangian, cpo] = constraints().map(|constraint| finished(constraint, 0).1);
    assert_eq!([ppo.epsilon, lagrangian.epsilon, cpo.epsilon], [None; 3]);
    assert!(lagrangian.multiplier.is_some_and(|price| price > 0.0));
    assert_eq!((ppo.multiplier, cpo.multiplier), (None, None));
    // Eight rollouts of 102 steps fill three minibatches each, twice.
    assert_eq!([ppo.updates, lagrangian.updates, cpo.updates], [8 * 3 * 2; 3]);
    assert!(ppo.loss.is_finite());
    assert!(start(Constraint::None, 0).progress().loss.is_nan());
}

#[test]
fn a_target_divergence_stops_a_rollouts_learning_early() {
    let spec = |target_kl| OnPolicySpec {
        total_steps: 900,
        hidden: vec![16],
        rollout_steps: 100,
        batch_size: 32,
        learning_rate: 1e-2,
        target_kl,
        ..OnPolicySpec::default()
    };
    let updates = |target_kl| {
        let settings = OnPolicy::new(spec(target_kl)).unwrap();
        let mut learner = OnPolicyLearner::new(worlds(), settings, 0, 0..50).unwrap();
        advance(&mut learner, u64::MAX).updates
    };
    assert!(updates(Some(1e-4)) < updates(None) / 2);
}

#[test]
fn checkpoints_of_other_learners_and_worlds_are_refused() {
    let mut learner = start(Constraint::None, 9);
    advance(&mut learner, 300);
    let bytes = learner.checkpoint();
    let error = OnPolicyLearner::resume(vec![Corridor::default(); 2], &bytes).unwrap_err();
    let count = BadWorlds::Count { saved: WORLDS, given: 2 };
    assert_eq!(error, ResumeError::Start(StartError::Worlds(count)));
    assert!(matches!(Learner::resume(worlds(), &bytes), Err(ResumeError::Format { .. })));
    let dqn = Learner::new(worlds(), Dqn::new(DqnSpec::default()).unwrap(), 0, 0..50).unwrap();
    let error = OnPolicyLearner::resume(worlds(), &dqn.checkpoint()).unwrap_err();
    assert!(matches!(error, ResumeError::Format { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_damaged_checkpoint_never_panics(
        at in 0.0..1.0_f64,
        byte: u8,
        keep in 0.5..=1.0_f64,
    ) {
        let mut learner = start(Constraint::Lagrangian(MultiplierSpec::default()), 9);
        advance(&mut learner, 150);
        let mut bytes = unsealed(learner.checkpoint());
        let position = (at * bytes.len() as f64) as usize;
        bytes[position] = byte;
        // Damage to a reward or an unused seed cannot be seen, so either answer is right.
        let _ = OnPolicyLearner::resume(worlds(), &bytes);
        bytes.truncate((keep * bytes.len() as f64) as usize);
        let _ = OnPolicyLearner::resume(worlds(), &bytes);
    }
}

/// Walks for ever: each step is worth 1, and the clock cuts (or ends) an episode after one.
#[derive(Clone, Debug)]
struct Treadmill {
    end: End,
    reward: f32,
}

impl Env for Treadmill {
    fn observation_len(&self) -> usize {
        1
    }

    fn actions(&self) -> usize {
        2
    }

    fn reset(&mut self, _seed: u64, observation: &mut [f32]) {
        observation.fill(1.0);
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        observation.fill(1.0);
        Outcome { reward: self.reward, end: self.end, incident: false, ran: action }
    }
}

fn treadmill(end: End, reward: f32, constraint: Constraint) -> OnPolicyLearner<Treadmill> {
    let spec = OnPolicySpec {
        total_steps: 20_000,
        hidden: vec![8],
        learning_rate: 1e-2,
        rollout_steps: 128,
        gamma: 0.5,
        max_grad_norm: 100.0,
        constraint,
        ..OnPolicySpec::default()
    };
    let settings = OnPolicy::new(spec).unwrap();
    OnPolicyLearner::new(vec![Treadmill { end, reward }], settings, 0, 0..1).unwrap()
}

#[test]
fn a_cut_episode_is_valued_from_where_it_was_cut() {
    // One reward where the episode ends, and 1 / (1 - gamma) where it would have gone on.
    for (end, value) in [(End::Terminated, 1.0), (End::Truncated, 2.0)] {
        let mut learner = treadmill(end, 1.0, Constraint::None);
        learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
        let learned = learner.value(&[1.0]);
        assert!((learned - value).abs() < 0.05, "{end:?}: {learned} is not {value}");
    }
}

#[test]
fn a_number_that_is_not_finite_moves_no_weight() {
    for constraint in constraints() {
        let mut learner = treadmill(End::Terminated, f32::NAN, constraint);
        let before = learner.network().clone();
        let error = learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(error.step, 128);
        assert_eq!(learner.network(), &before);
        // It can be asked again: the rollout at fault is gone.
        assert!(learner.run(u64::MAX, &mut |_| ControlFlow::Continue(())).is_err());
        assert_eq!(learner.progress().steps, 256);
    }
}

#[test]
fn unusable_settings_are_refused_by_name() {
    let spec = OnPolicySpec::default;
    let cpo = CpoSpec::default;
    let limited = |cpo| OnPolicySpec { constraint: Constraint::Cpo(cpo), ..spec() };
    let priced = MultiplierSpec { rate: 0.0, ..MultiplierSpec::default() };
    for (spec, field) in [
        (OnPolicySpec { total_steps: 0, ..spec() }, "total_steps"),
        (OnPolicySpec { total_steps: 2_000, ..spec() }, "rollout_steps"),
        (OnPolicySpec { hidden: vec![64, 0], ..spec() }, "hidden"),
        (OnPolicySpec { learning_rate: 0.0, ..spec() }, "learning_rate"),
        (OnPolicySpec { rollout_steps: 0, ..spec() }, "rollout_steps"),
        (OnPolicySpec { batch_size: 0, ..spec() }, "batch_size"),
        (OnPolicySpec { batch_size: 4_096, ..spec() }, "batch_size"),
        (OnPolicySpec { epochs: 0, ..spec() }, "epochs"),
        (OnPolicySpec { gamma: 1.5, ..spec() }, "gamma"),
        (OnPolicySpec { gae_lambda: -0.1, ..spec() }, "gae_lambda"),
        (OnPolicySpec { cost_gamma: f64::NAN, ..spec() }, "cost_gamma"),
        (OnPolicySpec { cost_gae_lambda: 2.0, ..spec() }, "cost_gae_lambda"),
        (OnPolicySpec { clip_range: 0.0, ..spec() }, "clip_range"),
        (OnPolicySpec { entropy_coefficient: -1.0, ..spec() }, "entropy_coefficient"),
        (OnPolicySpec { max_grad_norm: 0.0, ..spec() }, "max_grad_norm"),
        (OnPolicySpec { target_kl: Some(0.0), ..spec() }, "target_kl"),
        (OnPolicySpec { constraint: Constraint::Lagrangian(priced), ..spec() }, "rate"),
        (limited(CpoSpec { budget: 0.0, ..cpo() }), "constraint.cpo.budget"),
        (limited(CpoSpec { target_kl: 0.0, ..cpo() }), "constraint.cpo.target_kl"),
        (limited(CpoSpec { cg_iterations: 0, ..cpo() }), "constraint.cpo.cg_iterations"),
        (limited(CpoSpec { cg_damping: -1.0, ..cpo() }), "constraint.cpo.cg_damping"),
        (limited(CpoSpec { line_search_steps: 0, ..cpo() }), "constraint.cpo.line_search_steps"),
        (limited(CpoSpec { line_search_decay: 1.0, ..cpo() }), "constraint.cpo.line_search_decay"),
    ] {
        assert_eq!(OnPolicy::new(spec).unwrap_err().field, field);
    }
    assert!(OnPolicy::new(spec()).is_ok());
}

#[test]
fn a_file_names_the_algorithm_by_its_constraint_and_a_misspelt_key_is_refused() {
    let read = |text| serde_json::from_str::<OnPolicySpec>(text);
    assert_eq!(read("{}").unwrap(), OnPolicySpec::default());
    let spec = read(r#"{"constraint": {"cpo": {"budget": 0.02}}}"#).unwrap();
    let cpo = CpoSpec { budget: 0.02, ..CpoSpec::default() };
    assert_eq!(spec.constraint, Constraint::Cpo(cpo));
    let spec = read(r#"{"constraint": {"lagrangian": {"rate": 0.1}}}"#).unwrap();
    let multiplier = MultiplierSpec { rate: 0.1, ..MultiplierSpec::default() };
    assert_eq!(spec.constraint, Constraint::Lagrangian(multiplier));
    assert_eq!(read(r#"{"constraint": "none"}"#).unwrap().constraint, Constraint::None);
    for misspelt in [r#"{"gama": 0.9}"#, r#"{"constraint": {"cpo": {"bugdet": 0.02}}}"#] {
        assert!(read(misspelt).is_err(), "{misspelt}");
    }
}
