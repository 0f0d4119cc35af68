//! Contract: several critics of a flat observation answer as the largest of a group and the mean of all groups, row by
//! row, and travel in one file; groups learn the same for any number of threads; what nobody tried in a log is told apart.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::collections::BTreeMap;

use cpss_learn::critic::ensemble::{Ensemble, EnsembleLearner, Room, Scale};
use cpss_learn::critic::experience::{Experience, Next};
use cpss_learn::critic::learner::CriticSpec;
use cpss_learn::critic::untried::learn_untried;
use cpss_learn::critic::{Critic, Shape};
use cpss_learn::generator::{Generator, Purpose};

fn shape(actions: usize) -> Shape {
    Shape { fixed: 3, item: 0, encoder: Vec::new(), head: vec![16, 16], actions }
}

fn critic(seed: u64) -> Critic {
    Critic::new(shape(4), &mut Generator::new(seed, Purpose::Weights)).unwrap()
}

fn scale() -> Scale {
    Scale { mean: vec![1.0, 0.0, -2.0], factor: vec![0.5, 1.0, 3.0] }
}

fn risks(ensemble: &Ensemble, rows: &[f32]) -> Vec<f64> {
    let mut risks = vec![0.0; rows.len() / 3 * ensemble.actions()];
    ensemble.risks(rows, &mut Room::default(), &mut risks);
    risks
}

fn rows(count: usize) -> Vec<f32> {
    let mut draw = Generator::from_state(5);
    (0..3 * count).map(|_| (4.0 * draw.unit() - 2.0) as f32).collect()
}

#[test]
fn the_larger_risk_counts() {
    let [one, other] =
        [1, 2].map(|seed| Ensemble::new(vec![critic(seed)], scale(), 0, 0.0).unwrap());
    let both = Ensemble::new(vec![critic(1), critic(2)], scale(), 0, 0.0).unwrap();
    let rows = rows(20);
    let larger: Vec<f64> =
        risks(&one, &rows).iter().zip(risks(&other, &rows)).map(|(a, b)| a.max(b)).collect();
    assert_eq!(risks(&both, &rows), larger);
    let raised = risks(&both.shifted(1.0), &rows);
    assert!(raised.iter().zip(&larger).all(|(raised, before)| raised > before));
}

fn four(groups: usize, shift: f32) -> Option<Ensemble> {
    let critics = (1..=4).map(critic).collect();
    Ensemble::new(critics, scale(), 0, shift)?.in_groups(groups)
}

#[test]
fn of_groups_the_mean_counts() {
    let pairs = [[1, 2], [3, 4]].map(|pair| {
        let pair = Ensemble::new(pair.map(critic).to_vec(), scale(), 0, 0.5).unwrap();
        risks(&pair, &rows(20))
    });
    let together = risks(&four(2, 0.5).unwrap(), &rows(20));
    for (found, (one, other)) in together.iter().zip(pairs[0].iter().zip(&pairs[1])) {
        assert!((found - 0.5 * (one + other)).abs() < 1e-12);
    }
    assert_ne!(together, risks(&four(1, 0.5).unwrap(), &rows(20)), "the largest of all");
    assert!(four(3, 0.0).is_none() && four(0, 0.0).is_none(), "four in three groups");
}

#[test]
fn a_row_does_not_depend_on_those_beside_it() {
    let ensemble = four(2, 0.3).unwrap();
    let rows = rows(70);
    let together = risks(&ensemble, &rows);
    for (row, expected) in rows.chunks_exact(3).zip(together.chunks_exact(4)) {
        assert_eq!(risks(&ensemble, row), expected);
    }
}

#[test]
fn of_what_is_not_finite_no_risk_is_known_and_only_there() {
    let ensemble = Ensemble::new(vec![critic(1)], scale(), 0, 0.0).unwrap();
    let mut rows = rows(3);
    let before = risks(&ensemble, &rows);
    rows[4] = f32::NAN;
    let after = risks(&ensemble, &rows);
    assert!(
        after[4..8].iter().all(|risk| risk.is_nan()),
        "a shield would take a number for a cost"
    );
    assert_eq!((&after[..4], &after[8..]), (&before[..4], &before[8..]));
}

/// Numbers whose scaled ones overflow are at the limit, where a critic has learned, and not at the mean.
#[test]
fn regression_what_is_huge_is_not_taken_for_the_mean() {
    let ensemble = Ensemble::new(vec![critic(1)], scale(), 0, 0.0).unwrap();
    for sign in [-1.0, 1.0] {
        let [huge, cut] = [f32::MAX, 1e6].map(|size| risks(&ensemble, &[0.0, 0.0, sign * size]));
        assert_eq!(huge, cut);
        assert_ne!(huge, risks(&ensemble, &[0.0, 0.0, -2.0]), "the mean");
    }
    let one = Critic::new(shape(1), &mut Generator::new(3, Purpose::Weights)).unwrap();
    let scale = Scale { mean: vec![0.0; 2], factor: vec![3.0; 2] };
    let points = Ensemble::new(vec![one], scale, 1, 0.0).unwrap();
    let [huge, cut, mean, unknown] = [f32::MAX, 1e6, 0.0, f32::INFINITY].map(|number| {
        let mut risk = [0.0];
        points.risks_at(&[number, 0.0], &[0.5], &mut Room::default(), &mut risk);
        risk[0]
    });
    assert_eq!(huge, cut);
    assert_ne!(huge, mean);
    assert!(unknown.is_nan());
}

#[test]
fn a_file_holds_all_of_it_and_a_damaged_one_is_refused() {
    let ensemble = four(2, -0.7).unwrap();
    let card = "calibrated in a good many episodes";
    let about = BTreeMap::from([("card".to_owned(), card.to_owned())]);
    let bytes = ensemble.to_bytes(&about);
    assert_eq!(Ensemble::from_bytes(&bytes).unwrap(), (ensemble, about));
    // One bit of a number, or of what is said about it, is enough.
    let place_of = |text: &str| bytes.windows(text.len()).position(|part| part == text.as_bytes());
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let said = place_of(card).unwrap();
    for place in (header..bytes.len()).step_by(7).chain(said..said + card.len()) {
        let mut damaged = bytes.clone();
        // Letters stay letters, so that it is still a text.
        damaged[place] ^= if place < header { 1 } else { 1 << (place % 8) };
        let refusal = Ensemble::from_bytes(&damaged).unwrap_err().to_string();
        assert!(refusal.contains("not those that were written"), "{refusal}");
    }
    for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        assert!(Ensemble::from_bytes(&bytes[..cut]).is_err());
    }
    // Who has none of our checksums is read, and refused by what it says.
    let put = |bytes: &[u8], good: &str, bad: &str| {
        let mut other = bytes.to_vec();
        let at = place_of(good).unwrap();
        other[at..at + good.len()].copy_from_slice(bad.as_bytes());
        other
    };
    let unsealed = put(&bytes, "cpss-checksum", "cpss-unsealed");
    assert!(Ensemble::from_bytes(&unsealed).is_ok());
    for (good, bad, words) in [
        ("cpss critics 1", "cpss critics 2", "cpss critics 2"),
        ("\"critics\":\"4\"", "\"critics\":\"9\"", "4.head"),
        ("\"groups\":\"2\"", "\"groups\":\"3\"", "other numbers"),
    ] {
        let refusal = Ensemble::from_bytes(&put(&unsealed, good, bad)).unwrap_err().to_string();
        assert!(refusal.contains(words), "{bad}: {refusal}");
    }
    let other = Scale { mean: vec![0.0; 2], ..scale() };
    assert!(Ensemble::new(vec![critic(1)], other, 0, 0.0).is_none());
}

/// Two scenes, told apart by the first number; action 1 of 3 in the second is an incident, action 0 is safe, and
/// nobody tries action 2.
fn log() -> Experience {
    let mut log = Experience::new(3, 0);
    let mut draw = Generator::from_state(8);
    for _ in 0..400 {
        log.push(&[1.0, 0.0, 0.0], &[], draw.below(2) as usize, Next::GoesOn);
        let action = draw.below(2) as usize;
        let next = if action == 1 { Next::Incident } else { Next::Over };
        log.push(&[0.0, 1.0, 0.0], &[], action, next);
    }
    log
}

#[test]
fn risks_are_learned_and_what_nobody_tried_is_taken_as_the_worst() {
    let log = log();
    let spec = CriticSpec { gamma: 0.9, batch: 64, follow: 0.03, ..CriticSpec::default() };
    let mut learner = EnsembleLearner::new(&shape(3), &spec, 0, (1, 2), 1).unwrap();
    learner.set_untried(learn_untried(&log, &shape(3), 1500, 1).unwrap());
    for update in 0..1500 {
        learner.update(&log, f64::from(update) / 1500.0).unwrap();
    }
    let ensemble = Ensemble::new(learner.critics(), Scale::none(3), 0, 0.0).unwrap();
    assert_eq!(ensemble.critics().len(), 3);
    let found = risks(&ensemble, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert!(found[2] > 0.95 && found[5] > 0.95, "untried: {found:?}");
    assert!(found[3] < 0.05 && found[4] > 0.95, "tried: {found:?}");
    assert!(found[0] < 0.1 && found[1] < 0.1, "the least of what was tried comes next: {found:?}");
}

#[test]
fn groups_learn_the_same_for_any_number_of_threads_and_not_the_same_as_one_another() {
    let log = log();
    let spec = CriticSpec { gamma: 0.9, batch: 64, ..CriticSpec::default() };
    let shares: Vec<f64> = (0..40).map(|update| f64::from(update) / 40.0).collect();
    let learned = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut learner = EnsembleLearner::new(&shape(3), &spec, 0, (3, 2), seed).unwrap();
        let mut log = log.clone();
        pool.install(|| {
            learner.learn(&log, &shares[..20]).unwrap();
            learner.weigh(&mut log, 0.01);
            learner.learn(&log, &shares[20..]).unwrap();
        });
        learner.critics()
    };
    let critics = learned(1, 1);
    assert_eq!(critics, learned(4, 1));
    assert_ne!(critics, learned(1, 2));
    for (place, critic) in critics.iter().enumerate() {
        assert!(!critics[..place].contains(critic), "each has weights of its own");
    }
}
