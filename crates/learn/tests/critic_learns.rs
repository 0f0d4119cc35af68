//! Contract: a critic learns the probability of an incident under the least risky continuation. On small worlds
//! whose exact risks come from dynamic programming it agrees with them, picks the least risky action where
//! that matters, and the same seed gives the same bits for any number of threads.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use cpss_learn::critic::experience::{Experience, Next};
use cpss_learn::critic::learner::{CriticLearner, CriticSpec};
use cpss_learn::critic::{Critic, Scratch, Shape};
use cpss_learn::generator::{Generator, Purpose};

/// A grid with a pit along its lower edge: 4 wide, 3 high. Each move slips to either side now and then; the goal is
/// at the right end of the top row. `position = row * 4 + column`; row 0 is the pit's edge: moving down from
/// it is the incident.
const WIDTH: usize = 4;
const HEIGHT: usize = 3;
const STATES: usize = WIDTH * HEIGHT;
const GOAL: usize = STATES - 1;
const SLIP: f64 = 0.2;
/// Up, right, down, left.
const MOVES: [[i32; 2]; 4] = [[1, 0], [0, 1], [-1, 0], [0, -1]];

#[derive(Clone, Copy, PartialEq)]
enum Place {
    At(usize),
    Goal,
    Pit,
}

fn moved(state: usize, direction: usize) -> Place {
    let [up, right] = MOVES[direction];
    let (row, column) = ((state / WIDTH) as i32 + up, (state % WIDTH) as i32 + right);
    if row < 0 {
        return Place::Pit;
    }
    let row = row.min(HEIGHT as i32 - 1) as usize;
    let column = column.clamp(0, WIDTH as i32 - 1) as usize;
    let place = row * WIDTH + column;
    if place == GOAL { Place::Goal } else { Place::At(place) }
}

/// Where a move leads, with probabilities.
fn outcomes(state: usize, action: usize) -> [(f64, Place); 3] {
    let sides = [(action + 1) % 4, (action + 3) % 4];
    [
        (1.0 - SLIP, moved(state, action)),
        (SLIP / 2.0, moved(state, sides[0])),
        (SLIP / 2.0, moved(state, sides[1])),
    ]
}

/// The exact risks, by value iteration.
fn exact(gamma: f64) -> [[f64; 4]; STATES] {
    let mut risks = [[0.0; 4]; STATES];
    for _ in 0..2_000 {
        let least = risks.map(|row| row.iter().copied().fold(1.0, f64::min));
        for (state, row) in risks.iter_mut().enumerate() {
            for (action, risk) in row.iter_mut().enumerate() {
                let parts = outcomes(state, action).map(|(chance, place)| match place {
                    Place::Pit => chance,
                    Place::Goal => 0.0,
                    Place::At(next) => chance * gamma * least[next],
                });
                *risk = parts.iter().sum();
            }
        }
    }
    risks
}

fn observation(state: usize) -> [f32; STATES] {
    std::array::from_fn(|place| if place == state { 1.0 } else { 0.0 })
}

/// Random moves, from everywhere.
fn experience(seed: u64, decisions: usize) -> Experience {
    let mut random = Generator::new(seed, Purpose::Episodes);
    let mut seen = Experience::new(STATES, 0);
    while seen.len() < decisions {
        let mut state = random.below(GOAL as u64) as usize;
        for step in 0..40 {
            let action = random.below(4) as usize;
            let mut draw = random.unit();
            let mut place = Place::Goal;
            for (chance, next) in outcomes(state, action) {
                place = next;
                draw -= chance;
                if draw < 0.0 {
                    break;
                }
            }
            let next = match place {
                Place::Pit => Next::Incident,
                Place::Goal => Next::Over,
                Place::At(_) if step == 39 => Next::Unknown,
                Place::At(_) => Next::GoesOn,
            };
            seen.push(&observation(state), &[], action, next);
            match place {
                Place::At(next) => state = next,
                _ => break,
            }
        }
    }
    seen
}

fn learn(seed: u64, gamma: f64, updates: u64) -> CriticLearner {
    let shape = Shape { fixed: STATES, item: 0, encoder: vec![], head: vec![48], actions: 4 };
    let spec = CriticSpec { gamma, batch: 128, ..CriticSpec::default() };
    let mut learner = CriticLearner::new(shape, spec, seed).unwrap();
    let mut seen = experience(7, 60_000);
    for phase in 0..4 {
        if phase > 0 {
            seen.weigh(&learner.learned().clone());
        }
        for update in 0..updates / 4 {
            let share = (phase * (updates / 4) + update) as f64 / updates as f64;
            learner.update(&seen, share).unwrap();
        }
    }
    learner
}

fn risks(critic: &Critic, state: usize) -> [f64; 4] {
    let mut risks = [0.0; 4];
    critic.risks(&observation(state), &[], &mut Scratch::default(), &mut risks);
    risks
}

#[test]
fn learned_risks_agree_with_dynamic_programming() {
    for gamma in [1.0, 0.9] {
        let learner = learn(0, gamma, 12_000);
        let exact = exact(gamma);
        let mut total = 0.0;
        for state in 0..GOAL {
            let (learned, exact) = (risks(learner.learned(), state), exact[state]);
            for action in 0..4 {
                let error = (learned[action] - exact[action]).abs();
                total += error;
                assert!(error < 0.08, "{gamma} {state} {action}: {learned:?} is not {exact:?}");
            }
            // The least risky action, by what it really risks.
            let chosen = (0..4).min_by(|a, b| learned[*a].total_cmp(&learned[*b])).unwrap();
            let least = exact.iter().copied().fold(1.0, f64::min);
            assert!(exact[chosen] <= least + 0.02, "{gamma} {state}: {learned:?} {exact:?}");
        }
        let mean = total / (4 * GOAL) as f64;
        assert!(mean < 0.02, "mean error {mean} at gamma {gamma}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_for_any_number_of_threads() {
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learn(seed, 1.0, 200).learned().parameters().to_vec())
    };
    let one = with(1, 3);
    assert_eq!(one, with(3, 3));
    assert_ne!(one, with(1, 4));
}

#[test]
fn a_checkpoint_goes_on_as_if_nothing_had_happened() {
    use cpss_learn::critic::checkpoint::{CheckpointError, CriticCheckpoint};
    let seen = experience(7, 5_000);
    let shape = Shape { fixed: STATES, item: 0, encoder: vec![], head: vec![16], actions: 4 };
    let new = || CriticLearner::new(shape.clone(), CriticSpec::default(), 0).unwrap();
    let run = |learner: &mut CriticLearner, updates: std::ops::Range<u64>| {
        updates.for_each(|update| {
            learner.update(&seen, update as f64 / 60.0).unwrap();
        });
    };
    let mut whole = new();
    run(&mut whole, 0..60);
    let mut first = new();
    run(&mut first, 0..25);
    let rounds = [first.learned().clone()];
    let saved = CriticCheckpoint::of(&first, "these", [1, 25], &rounds).to_bytes();
    let mut second = new();
    let found = CriticCheckpoint::resume(&saved, "these", &mut second).unwrap();
    assert_eq!((found.round, found.update, found.rounds.len()), (1, 25, 1));
    run(&mut second, 25..60);
    assert_eq!(second.learned(), whole.learned());
    let others = CriticCheckpoint::resume(&saved, "those", &mut new());
    assert!(matches!(others, Err(CheckpointError::Settings(_))));
    assert!(CriticCheckpoint::resume(&saved[..saved.len() - 1], "these", &mut new()).is_err());
}

#[test]
fn old_episodes_are_forgotten_whole() {
    let mut seen = experience(1, 2_000);
    let before = seen.len();
    seen.keep_newest(500);
    assert!(seen.len() <= 500 && seen.len() > 400 && before >= 2_000, "{}", seen.len());
}

/// Two scenes in a row: from the first any action leads to the second, where the first action is an incident and the second
/// one is not. What the first risks depends on which of them is taken there.
#[test]
fn where_the_driver_says_which_action_it_takes_for_the_least_risky_that_one_is_valued() {
    let learn = |told: Option<usize>| {
        let mut seen = Experience::new(2, 0);
        for pair in 0..200 {
            seen.push(&[1.0, 0.0], &[], pair % 2, Next::GoesOn);
            let ends = [Next::Incident, Next::Over][pair / 2 % 2];
            seen.push(&[0.0, 1.0], &[], pair / 2 % 2, ends);
            told.into_iter().for_each(|action| seen.tell_least_risky(action));
        }
        let shape = Shape { fixed: 2, item: 0, encoder: vec![], head: vec![16], actions: 2 };
        let spec = CriticSpec { batch: 64, follow: 0.1, ..CriticSpec::default() };
        let mut learner = CriticLearner::new(shape, spec, 3).unwrap();
        for _ in 0..1_500 {
            learner.update(&seen, 0.0).unwrap();
        }
        let mut risks = [0.0; 2];
        learner.learned().risks(&[1.0, 0.0], &[], &mut Scratch::default(), &mut risks);
        risks
    };
    assert!(learn(None).iter().all(|risk| *risk < 0.05), "{:?}", learn(None));
    assert!(learn(Some(1)).iter().all(|risk| *risk < 0.05), "{:?}", learn(Some(1)));
    assert!(learn(Some(0)).iter().all(|risk| *risk > 0.95), "{:?}", learn(Some(0)));
}
