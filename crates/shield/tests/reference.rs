//! Contract: the shield gives what the paper's equations give.
//!
//! `reference.py` is an independent reading of them in plain Python. Both are fed the same runs.
//! With a constant or a rational gain they must agree in every bit, over random runs and over an
//! exhaustive small grid on which costs hit thresholds exactly. The exponential gain is computed
//! differently on the two sides, so there thresholds may differ by 1e-12 and verdicts only where a
//! cost is that close to its threshold. Python also checks the envelope in exact rationals.
//!
//! [`transcript`] is the conversation with it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;
mod transcript;

use cpss_shield::{
    Account, Fallback, GainSpec, Memory, Novelty, NoveltyScale, RiskRules, RiskSpec, ShieldSpec,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use strategies::{Moment, Random, any_float, any_spec, moment};
use transcript::{Answer, Transcript, bits, number, verdict_and_action};

/// Runs drawn from a fixed seed: the two sides are compared in one conversation, not in thousands.
fn random_runs(runs: usize, gain: impl Fn(GainSpec) -> GainSpec) -> Transcript {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let numbers = prop_oneof![3 => (0.0..0.3).boxed(), 1 => any_float().boxed()].boxed();
    let run = (any_spec(), prop::collection::vec(moment(1..6, numbers), 1..30));
    let mut transcript = Transcript::default();
    for _ in 0..runs {
        let (spec, moments) = run.new_tree(&mut runner).unwrap().current();
        let mut shield = transcript.open(ShieldSpec { gain: gain(spec.gain), ..spec });
        for moment in moments {
            let decision = transcript.judge(&shield, &moment);
            transcript.settle(&mut shield, decision, moment.observed);
        }
    }
    transcript
}

#[test]
fn random_runs_agree_in_every_bit() {
    let rational = |gain| match gain {
        GainSpec::Exponential { k_density, k_change, floor } => {
            GainSpec::Rational { k_density, k_change, floor }
        }
        other => other,
    };
    random_runs(1500, rational).compare(|answer, line| answer.text() == line);
}

#[test]
fn exponential_gain_agrees_to_its_accuracy() {
    let exponential = |_| GainSpec::Exponential { k_density: 1.3, k_change: 2.1, floor: 1e-3 };
    random_runs(700, exponential).compare(|answer, line| {
        let words: Vec<&str> = line.split(' ').collect();
        match answer {
            Answer::Ready => line == "ready",
            Answer::Judged(decision, costs) => {
                let tau = number(words[3]);
                let close = |cost: &f64| (cost - tau).abs() < 1e-12;
                (decision.threshold() - tau).abs() <= 1e-12
                    && (decision.gain() - number(words[5])).abs() <= 1e-12
                    && bits(decision.tau_budget()) == words[4]
                    && (verdict_and_action(decision) == words[..3].join(" ")
                        || costs.iter().any(close))
            }
            Answer::Settled(text) => {
                // The charge, the spent cost and what remains do not pass through the gain.
                let ours: Vec<&str> = text.split(' ').collect();
                ours[0] == words[0] && ours[3..5] == words[3..5] && ours[6] == words[6]
            }
            Answer::Numbers(..) => false,
        }
    });
}

#[test]
fn small_grids_agree_in_every_bit() {
    let levels = [0.0, 0.125, 0.25, 0.5, 1.0];
    let mut transcript = Transcript::default();
    let mut exact_hits = 0;
    for horizon in 1..=2 {
        for budget in [0.5, 1.0] {
            for gain in [
                GainSpec::Constant,
                GainSpec::Rational { k_density: 1.0, k_change: 1.0, floor: 0.25 },
            ] {
                for (fallback, pace, price) in [
                    (Fallback::MinRisk, 1.0, 0.0),
                    (Fallback::BestAdmissible, 1.0, 0.0),
                    (Fallback::MinRisk, 2.0, 1.0),
                ] {
                    let spec = ShieldSpec {
                        epsilon: 1.0,
                        gain,
                        fallback,
                        pace,
                        price,
                        smoothing: 0.5,
                        ..ShieldSpec::new(budget, horizon)
                    };
                    for history in histories(horizon as usize) {
                        exact_hits += judge_everything(&mut transcript, spec, &history, &levels);
                    }
                }
            }
        }
    }
    assert!(exact_hits > 1000, "costs that equal their threshold: {exact_hits}");
    transcript.compare(|answer, line| answer.text() == line);
}

/// A world that spends exactly what it is allowed walks along the envelope itself, where only
/// rounding decides on which side it stands.
#[test]
fn greedy_runs_stay_within_the_exact_envelope() {
    let mut transcript = Transcript::default();
    for (budget, epsilon, pace) in [
        (0.1, 1e-12, 1.0),
        (1.0, 1e-6, 1.0),
        (7.3, 0.1, 1.0),
        (1e-3, 3.7, 1.0),
        (150.0, 1e-6, 1.0),
        (0.1, 1e-12, 1.7),
        (0.9, 1e-6, 5.0),
        (1e-3, 3.7, 60.0),
        (0.3, 1e-9, 1e9),
    ] {
        let spec = ShieldSpec {
            epsilon,
            pace,
            gain: GainSpec::Constant,
            tau_cap: 0.999,
            ..ShieldSpec::new(budget, 300)
        };
        let mut shield = transcript.open(spec);
        for _ in 0..310 {
            let at = Moment {
                costs: vec![0.0],
                preferences: vec![],
                proposal: 0,
                density: 0.0,
                observed: 0.0,
            };
            let decision = transcript.judge(&shield, &at);
            transcript.settle(&mut shield, decision, decision.threshold());
        }
        let (spent, line) = (shield.ledger().spent(), shield.ledger().envelope());
        assert!((spent - line).abs() < 1e-12 * budget, "{spent} is not along {line}");
    }
    transcript.compare(|answer, line| answer.text() == line);
}

/// Episodes of a critic: costs, account, evidence, shift and lift. The exponentials of these are
/// computed differently on the two sides, so without a rate they must agree in every bit, and
/// with one to 1e-10.
#[test]
fn risk_mode_agrees() {
    for (rate, accuracy) in [(0.0, 0.0), (0.3, 1e-10)] {
        let mut transcript = Transcript::default();
        let mut random = Random(3);
        for _ in 0..100 {
            transcript.episodes(&mut random, rate);
        }
        transcript.compare(|answer, line| {
            let Answer::Numbers(numbers, word) = answer else { return answer.text() == line };
            let words: Vec<&str> = line.split(' ').collect();
            words.len() == numbers.len() + usize::from(!word.is_empty())
                && (word.is_empty() || words.last() == Some(word))
                && numbers.iter().zip(&words).all(|(&ours, theirs)| {
                    let theirs = number(theirs);
                    ours.to_bits() == theirs.to_bits()
                        || ours.is_nan() && theirs.is_nan()
                        || (ours - theirs).abs() <= accuracy * ours.abs().max(1.0)
                })
        });
    }
}

impl Transcript {
    /// A critic of random numbers, for a few episodes in a row.
    fn episodes(&mut self, random: &mut Random, rate: f64) {
        let gamma = if random.uniform() < 0.5 { 1.0 } else { random.uniform().max(0.1) };
        let resolution = if random.uniform() < 0.5 { 0.0 } else { 0.1 * random.uniform() };
        let precaution = if rate > 0.0 { random.uniform() } else { 0.0 };
        let (max_shift, max_lift) = (1.5 * random.uniform(), 1.5);
        let spec = RiskSpec {
            gamma,
            resolution,
            rate,
            max_shift,
            max_lift,
            precaution,
            ..RiskSpec::new()
        };
        let (level, mut borders) =
            (20.0 + 100.0 * random.uniform(), [0; 5].map(|_| random.uniform()));
        borders.sort_by(f64::total_cmp);
        let bounds = [0; 6].map(|_| 0.01 + 0.4 * random.uniform());
        let numbers = [
            &[gamma, resolution, rate, max_shift, max_lift, precaution, level],
            &borders[..],
            &bounds[..],
        ];
        let words: Vec<String> = numbers.concat().into_iter().map(bits).collect();
        self.questions += &format!("critic {}\n", words.join(" "));
        self.answers.push(Answer::Ready);
        let rules = RiskRules::new(spec).unwrap();
        let novelty = Novelty::new(NoveltyScale { borders, bounds }, level).unwrap();
        let mut memory = rules.memory().with_novelty(novelty);
        for _ in 0..4 {
            self.episode(&rules, &mut memory, random);
        }
    }

    /// An episode of random risks, some of which are no probabilities.
    fn episode(&mut self, rules: &RiskRules, memory: &mut Memory, random: &mut Random) {
        let mut account = rules.account();
        for _ in 0..1 + (random.uniform() * 30.0) as usize {
            let risks = [0; 3].map(|_| match (random.uniform() * 40.0) as u32 {
                0 => f64::NAN,
                1 => 1.5,
                2 => 0.0,
                3..=8 => 1.0,
                _ => random.uniform() * random.uniform(),
            });
            let mut costs = [0.0; 3];
            let unavoidable = rules.costs(memory.recalibration(), &risks, &mut costs).unwrap();
            let asked: Vec<String> = risks.iter().map(|&risk| bits(risk)).collect();
            self.questions += &format!("risks {}\n", asked.join(" "));
            self.answers.push(Answer::Numbers([&[unavoidable], &costs[..]].concat(), ""));

            let executed = (random.uniform() * 3.0) as usize;
            let charge = if costs[executed].is_nan() { 1.0 } else { costs[executed] };
            self.questions += &format!("enter {executed} {}\n", bits(charge));
            let risk = memory.recalibration().raising(&risks).raise(risks[executed]);
            let surprise = account.enter(unavoidable, risk, charge);
            surprise.into_iter().for_each(|surprise| memory.learn(surprise));
            self.account_line(&account, memory);
        }
        let incident = random.uniform() < 0.3;
        let score = match (random.uniform() * 10.0) as u32 {
            0 => f64::NAN,
            1 => f64::NEG_INFINITY,
            _ => random.uniform(),
        };
        self.questions += &format!("close {incident} {}\n", bits(score));
        memory.end_episode_scored(account.close(incident), Some(score));
        self.account_line(&account, memory);
    }

    fn account_line(&mut self, account: &Account, memory: &Memory) {
        let numbers = vec![
            account.start(),
            account.chosen(),
            account.surprise(),
            account.arriving(),
            memory.evidence().value(),
            memory.recalibration().shift(),
            memory.recalibration().lift(),
            memory.recalibration().learned(),
            memory.novelty().unwrap().value(),
            memory.novelty().unwrap().alarms() as f64,
        ];
        self.answers.push(Answer::Numbers(numbers, "balances"));
    }
}

/// Every sequence of up to `longest` densities and observed costs from a small set.
fn histories(longest: usize) -> Vec<Vec<(f64, f64)>> {
    let mut all = vec![vec![]];
    let mut newest = all.clone();
    for _ in 0..longest {
        newest = newest
            .iter()
            .flat_map(|history| {
                [(0.0, 0.0), (0.0, 0.25), (1.0, 0.25), (1.0, 1.0)].map(|step| {
                    let mut longer: Vec<(f64, f64)> = history.clone();
                    longer.push(step);
                    longer
                })
            })
            .collect();
        all.extend(newest.iter().cloned());
    }
    all
}

/// Brings a shield through a history and judges every situation of the grid there; returns how
/// many proposals cost exactly the threshold.
fn judge_everything(
    transcript: &mut Transcript,
    spec: ShieldSpec,
    history: &[(f64, f64)],
    levels: &[f64],
) -> u32 {
    let mut exact_hits = 0;
    let mut shield = transcript.open(spec);
    let mut at =
        Moment { costs: vec![0.0], preferences: vec![], proposal: 0, density: 0.0, observed: 0.0 };
    for &(density, observed) in history {
        at.density = density;
        let decision = transcript.judge(&shield, &at);
        transcript.settle(&mut shield, decision, observed);
    }
    for (&first, &second) in levels.iter().flat_map(|a| levels.iter().map(move |b| (a, b))) {
        for (proposal, density) in [(0, 0.0), (0, 1.0), (1, 0.0), (1, 1.0)] {
            for preferences in [vec![], vec![1.0, 2.0, 2.0]] {
                at = Moment {
                    costs: vec![first, second, 0.25],
                    preferences,
                    proposal,
                    density,
                    observed: 0.0,
                };
                let decision = transcript.judge(&shield, &at);
                exact_hits += u32::from(decision.cost_proposed() == decision.threshold());
            }
        }
    }
    exact_hits
}
