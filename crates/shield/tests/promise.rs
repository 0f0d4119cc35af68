//! Contract: `P(incident) <= V_0 + B`, whatever the policy does, if the critic is conservative.
//!
//! Small Markov decision processes, in which every probability is known. The critic's `rho` comes from
//! dynamic programming, exactly, raised, or belittled. The worst policy is found by exhaustive search:
//! at every history it proposes what does most harm, and the shield answers, so the bound is checked
//! against all policies, deterministic or not, with memory or without. There is no sampling and no
//! interval. For a critic that underestimates, the search must find a policy that breaks the bound.
//!
//! With a look-ahead of `gamma < 1` what arrives is added to the bound, and with a resolution what
//! it swallowed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{
    Charge, GainSpec, Memory, Mode, RiskRules, RiskSpec, Shield, ShieldSpec, Situation, Surprise,
};
use strategies::Random;

const STATES: usize = 3;
const ACTIONS: usize = 3;
const STEPS: usize = 4;

type Table = [[f64; ACTIONS]; STATES];

/// A process of `STEPS` decisions from state 0.
struct World {
    /// The probability of an incident now.
    incident: Table,
    /// Where it goes on, if it does.
    next: [[[f64; STATES]; ACTIONS]; STATES],
    /// How much the policy likes each action.
    preferences: Table,
}

impl World {
    fn random(random: &mut Random) -> World {
        let mut world = World {
            incident: [[0.0; ACTIONS]; STATES],
            next: [[[0.0; STATES]; ACTIONS]; STATES],
            preferences: [[0.0; ACTIONS]; STATES],
        };
        for state in 0..STATES {
            // In some worlds there is a state from which nothing is safe.
            let doomed = state > 0 && random.uniform() < 0.1;
            for action in 0..ACTIONS {
                let draw = random.uniform();
                world.incident[state][action] = if doomed { 1.0 } else { 0.3 * draw * draw };
                let weights = [0; STATES].map(|_| random.uniform());
                let sum: f64 = weights.iter().sum();
                world.next[state][action] = weights.map(|weight| weight / sum);
                world.preferences[state][action] = random.uniform();
            }
        }
        world
    }

    /// The risks that a critic gives who believes in these probabilities of an incident.
    fn risks(&self, believed: &Table, gamma: f64) -> [Table; STEPS] {
        let mut risks = [[[0.0; ACTIONS]; STATES]; STEPS];
        let mut unavoidable = [0.0; STATES];
        for table in risks.iter_mut().rev() {
            for state in 0..STATES {
                for action in 0..ACTIONS {
                    let ahead: f64 =
                        self.next[state][action].iter().zip(unavoidable).map(|(p, v)| p * v).sum();
                    let now = believed[state][action];
                    table[state][action] = now + (1.0 - now) * gamma * ahead;
                }
            }
            unavoidable = table.map(|row| row.into_iter().fold(1.0, f64::min));
        }
        risks
    }
}

/// One critic with its rules, and the shift and the lift that it was raised by.
struct Critic<'a> {
    world: &'a World,
    risks: [Table; STEPS],
    rules: RiskRules,
    memory: Memory,
}

impl Critic<'_> {
    /// `V` and the costs of a moment.
    fn costs(&self, step: usize, state: usize) -> (f64, [f64; ACTIONS]) {
        let mut costs = [0.0; ACTIONS];
        let recalibration = self.memory.recalibration();
        let unavoidable =
            self.rules.costs(recalibration, &self.risks[step][state], &mut costs).unwrap();
        (unavoidable, costs)
    }

    /// The greatest expectation, over all policies, of the incident less what arrives and what the
    /// resolution swallows.
    fn worst(&self, step: usize, state: usize, shield: Shield) -> f64 {
        let (unavoidable, costs) = self.costs(step, state);
        let gamma = self.rules.spec().gamma;
        let mut worst = f64::NEG_INFINITY;
        let mut tried = [false; ACTIONS];
        for proposal in 0..ACTIONS {
            let preferences = &self.world.preferences[state];
            let situation = Situation { proposal, costs: &costs, preferences, density: 0.1 };
            let decision = shield.judge(&situation).unwrap();
            let action = decision.executed();
            // The account and the world see the executed action only.
            if std::mem::replace(&mut tried[action], true) {
                continue;
            }
            let mut after = shield;
            let charge = after.settle_predicted(decision).unwrap().charge;
            let risk = self
                .memory
                .recalibration()
                .raising(&self.risks[step][state])
                .raise(self.risks[step][state][action]);
            let swallowed = (risk - unavoidable - charge).max(0.0);
            let now = self.world.incident[state][action];
            let mut expected = now - swallowed;
            if step + 1 < STEPS {
                for (next, p) in self.world.next[state][action].iter().enumerate() {
                    let arriving = (1.0 - gamma) * self.costs(step + 1, next).0;
                    let ahead = self.worst(step + 1, next, after) - arriving;
                    expected += (1.0 - now) * p * ahead;
                }
            }
            worst = worst.max(expected);
        }
        worst
    }
}

/// By how much the worst policy exceeds the promise, in each of many worlds.
fn excesses(
    worlds: usize,
    risk: RiskSpec,
    raised: [f64; 2],
    believe: fn(f64) -> f64,
    shield: ShieldSpec,
) -> Vec<f64> {
    let mut random = Random(11);
    let [max_shift, lift] = raised;
    let rules =
        RiskRules::new(RiskSpec { rate: max_shift + lift, max_shift, max_lift: lift, ..risk })
            .unwrap();
    let mut memory = rules.memory();
    memory.end_episode(Some(Surprise::of(1.0)));
    assert_eq!(memory.recalibration().shift(), max_shift);
    (0..worlds)
        .map(|_| {
            let world = World::random(&mut random);
            let believed = world.incident.map(|row| row.map(believe));
            let risks = world.risks(&believed, risk.gamma);
            let critic = Critic { world: &world, risks, rules, memory };
            let (start, _) = critic.costs(0, 0);
            let opened = Shield::new(shield).unwrap();
            critic.worst(0, 0, opened) - (start + shield.budget)
        })
        .collect()
}

fn shield(budget: f64, pace: f64) -> ShieldSpec {
    ShieldSpec {
        pace,
        charge: Charge::Predicted,
        gain: GainSpec::Constant,
        ..ShieldSpec::new(budget, STEPS as u32)
    }
}

fn greatest(excesses: &[f64]) -> f64 {
    excesses.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

const EXACT: fn(f64) -> f64 = |p| p;
const CAUTIOUS: fn(f64) -> f64 = |p| (1.5 * p + 0.01).min(1.0);
const CARELESS: fn(f64) -> f64 = |p| 0.4 * p;

#[test]
fn it_is_kept_against_every_policy() {
    for believe in [EXACT, CAUTIOUS] {
        for budget in [0.005, 0.05, 0.2] {
            for pace in [1.0, 2.0, 1e9] {
                for price in [0.0, 1.0] {
                    let spec = ShieldSpec { price, ..shield(budget, pace) };
                    let excesses = excesses(200, RiskSpec::new(), [0.0; 2], believe, spec);
                    let worst = greatest(&excesses);
                    assert!(worst < 1e-12, "budget {budget}, pace {pace}, price {price}: {worst}");
                }
            }
        }
    }
}

#[test]
fn it_is_kept_with_a_look_ahead_a_resolution_a_shift_and_a_lift() {
    for (gamma, resolution, raised) in [
        (0.9, 0.0, [0.0, 0.0]),
        (0.5, 0.02, [0.0, 0.0]),
        (1.0, 0.05, [0.0, 0.0]),
        (1.0, 0.0, [1.0, 0.0]),
        (0.7, 0.01, [2.0, 0.0]),
        (1.0, 0.0, [0.0, 0.1]),
        (1.0, 0.0, [0.0, 9.0]),
        (1.0, 0.02, [1.0, 3.0]),
    ] {
        let risk = RiskSpec { gamma, resolution, ..RiskSpec::new() };
        for pace in [1.0, 3.0] {
            let worst = greatest(&excesses(200, risk, raised, EXACT, shield(0.05, pace)));
            assert!(
                worst < 1e-12,
                "gamma {gamma}, resolution {resolution}, raised by {raised:?}: {worst}"
            );
        }
    }
}

/// The budget is there to be spent: some policy comes close to the whole of it.
#[test]
fn it_is_no_looser_than_it_need_be() {
    for pace in [1.0, 1e9] {
        let closest =
            greatest(&excesses(100, RiskSpec::new(), [0.0; 2], EXACT, shield(0.05, pace)));
        assert!(closest > -0.5 * 0.05, "pace {pace}: {closest}");
    }
}

#[test]
fn it_fails_for_a_critic_that_underestimates() {
    for pace in [1.0, 2.0, 1e9] {
        let excesses = excesses(100, RiskSpec::new(), [0.0; 2], CARELESS, shield(0.01, pace));
        let broken = excesses.iter().filter(|excess| **excess > 0.01).count();
        assert!(broken > 50, "pace {pace}: broken in {broken} of 100 worlds");
    }
}

#[test]
fn it_fails_where_nothing_is_enforced() {
    let shadow = ShieldSpec { mode: Mode::Shadow, ..shield(0.01, 1.0) };
    let broken = excesses(100, RiskSpec::new(), [0.0; 2], EXACT, shadow)
        .iter()
        .filter(|x| **x > 0.01)
        .count();
    assert!(broken > 50, "broken in {broken} of 100 worlds");
}
