//! How does CPO move the policy, from one rollout?
//!
//! [`improve`] takes the gradients of the reward's and the cost's surrogate, solves for the two directions by conjugate
//! gradients on the Fisher matrix, lets [`trust_region`](super::trust_region) combine them, and shortens the step until
//! what was linear or quadratic there holds for the policy itself.
//!
//! The surrogates are means over steps, but the limit is per episode. So the excess over the limit is divided by the
//! mean length of an episode, as in Ray et al.'s code; without that, the limit would bind by a factor of that length
//! too late.
//!
//! **Invariant:** the policy moves to a step that was checked, or not at all.

use super::categorical::{kl, log_probabilities};
use super::conjugate::{dot, solve};
use super::fisher::Fisher;
use super::loss::Decisions;
use super::settings::CpoSpec;
use super::sweep::Sweep;
use super::trust_region::{Case, Problem};
use crate::network::Network;
use crate::update::NotFinite;

/// What CPO is told about a rollout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) observations: &'a [f32],
    pub(crate) decisions: &'a Decisions,
    /// How much more cost than expected each action brought.
    pub(crate) cost_advantages: &'a [f64],
    /// How far the cost is above the limit \[incidents per step\].
    pub(crate) excess: f64,
}

/// The policy's standing by a rollout: means over its samples.
#[derive(Clone, Copy, Debug)]
struct Standing {
    reward: f64,
    cost: f64,
    kl: f64,
}

/// Moves `policy` by one step, and says what determined it; [`Case::Stay`] if no length of the step was acceptable.
pub(crate) fn improve(
    policy: &mut Network,
    sweep: &mut Sweep,
    evidence: &Evidence<'_>,
    spec: &CpoSpec,
) -> Result<Case, NotFinite> {
    sweep.forward(policy, evidence.observations);
    let old = distributions(policy, sweep, evidence.decisions.actions.len());
    let gradient = |sweep: &mut Sweep, advantages: &[f64]| {
        surrogate_gradient(policy, sweep, &old, &evidence.decisions.actions, advantages)
    };
    let (g, b) = (
        gradient(sweep, &evidence.decisions.advantages),
        gradient(sweep, evidence.cost_advantages),
    );
    let mut fisher = Fisher::new(policy, evidence.observations, spec.cg_damping);
    let mut invert =
        |right: &[f64]| solve(|v, out| fisher.product_flat(v, out), right, spec.cg_iterations);
    let (by_reward, by_cost) = (invert(&g), invert(&b));
    let problem = Problem {
        q: dot(&g, &by_reward),
        r: dot(&g, &by_cost),
        s: dot(&b, &by_cost),
        c: evidence.excess,
        delta: spec.target_kl,
    };
    if ![problem.q, problem.r, problem.s, problem.c].iter().all(|number| number.is_finite()) {
        return Err(NotFinite);
    }
    let step = problem.solve();
    let direction: Vec<f64> = by_reward
        .iter()
        .zip(&by_cost)
        .map(|(reward, cost)| step.along_reward * reward + step.along_cost * cost)
        .collect();
    if step.case == Case::Stay {
        return Ok(Case::Stay);
    }
    Ok(match line_search(policy, sweep, evidence, &old, &direction, spec) {
        Some(better) => {
            *policy = better;
            step.case
        }
        None => Case::Stay,
    })
}

/// Returns the policy after the longest acceptable part of a step.
fn line_search(
    policy: &Network,
    sweep: &mut Sweep,
    evidence: &Evidence<'_>,
    old: &[f64],
    direction: &[f64],
    spec: &CpoSpec,
) -> Option<Network> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (reward, cost) = (mean(&evidence.decisions.advantages), mean(evidence.cost_advantages));
    let mut candidate = policy.clone();
    let mut share = 1.0;
    for _ in 0..spec.line_search_steps {
        let moves = candidate.parameters_mut().iter_mut().zip(policy.parameters()).zip(direction);
        moves.for_each(|((to, from), along)| *to = (f64::from(*from) + share * along) as f32);
        let standing = stand(&candidate, sweep, evidence, old);
        // Above the limit, reward may have to fall. A comparison with a NaN is false, and so refuses the step.
        let gains = evidence.excess > 0.0 || standing.reward >= reward;
        let keeps_limit = standing.cost - cost <= (-evidence.excess).max(0.0);
        if gains && keeps_limit && standing.kl <= spec.target_kl && standing.reward.is_finite() {
            return Some(candidate);
        }
        share *= spec.line_search_decay;
    }
    None
}

/// Evaluates a candidate on the rollout of the old policy.
fn stand(candidate: &Network, sweep: &mut Sweep, evidence: &Evidence<'_>, old: &[f64]) -> Standing {
    let actions = candidate.topology().actions();
    sweep.forward(candidate, evidence.observations);
    let (mut logits, mut new) = (vec![0.0; actions], vec![0.0; actions]);
    let mut sum = Standing { reward: 0.0, cost: 0.0, kl: 0.0 };
    for (sample, old) in old.chunks_exact(actions).enumerate() {
        sweep.outputs(sample, &mut logits);
        log_probabilities(&logits, &mut new);
        let action = evidence.decisions.actions[sample];
        let ratio = (new[action] - old[action]).exp();
        sum.reward += ratio * evidence.decisions.advantages[sample];
        sum.cost += ratio * evidence.cost_advantages[sample];
        sum.kl += kl(old, &new);
    }
    let share = 1.0 / evidence.decisions.actions.len() as f64;
    Standing { reward: share * sum.reward, cost: share * sum.cost, kl: share * sum.kl }
}

/// Returns the logarithm of each action's probability, sample after sample.
pub(crate) fn distributions(policy: &Network, sweep: &Sweep, samples: usize) -> Vec<f64> {
    let actions = policy.topology().actions();
    let mut logits = vec![0.0; actions];
    let mut logs = vec![0.0; samples * actions];
    for (sample, row) in logs.chunks_exact_mut(actions).enumerate() {
        sweep.outputs(sample, &mut logits);
        log_probabilities(&logits, row);
    }
    logs
}

/// Returns the gradient of the mean of `ratio * advantage`, where the ratio is still 1.
fn surrogate_gradient(
    policy: &Network,
    sweep: &mut Sweep,
    old: &[f64],
    chosen: &[usize],
    advantages: &[f64],
) -> Vec<f64> {
    let actions = policy.topology().actions();
    let share = 1.0 / chosen.len() as f64;
    let mut gradient = vec![0.0; policy.parameters().len()];
    let by_output = |first: usize, _: &crate::pass::Pass, by_logit: &mut [f32]| {
        for (offset, by_logit) in by_logit.chunks_exact_mut(actions).enumerate() {
            let sample = first + offset;
            let logs = &old[sample * actions..(sample + 1) * actions];
            for (action, (by_logit, log)) in by_logit.iter_mut().zip(logs).enumerate() {
                let by_log = f64::from(u8::from(action == chosen[sample])) - log.exp();
                *by_logit = (share * advantages[sample] * by_log) as f32;
            }
        }
    };
    sweep.backward(policy, by_output, &mut gradient);
    gradient
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{Generator, Purpose};
    use crate::topology::{Activation, Topology};

    /// One observation seen twice, with either action taken once: action 1 has the reward, and the cost.
    const OBSERVATIONS: [f32; 2] = [1.0, 1.0];
    const COSTS: [f64; 2] = [-0.5, 0.5];

    fn decisions() -> Decisions {
        let (actions, advantages) = (vec![0, 1], vec![-1.0, 1.0]);
        Decisions { actions, advantages, log_probabilities: vec![0.5_f64.ln(); 2] }
    }

    /// The probability of action 1 after the line search along `toward` action 1; `None` if it found nothing.
    fn search(toward: f64, excess: f64) -> Option<f64> {
        let topology = Topology::mlp(1, &[], 2, Activation::Tanh, false).unwrap();
        let policy = Network::zeros(topology.clone());
        let mut sweep = Sweep::new(&topology, 2);
        let old = [0.5_f64.ln(); 4];
        let mut along = Network::zeros(topology);
        along.set_layer(0, &[0.0, 0.0], &[0.0, toward as f32]);
        let direction: Vec<f64> = along.parameters().iter().map(|&x| f64::from(x)).collect();
        let decisions = decisions();
        let evidence = Evidence {
            observations: &OBSERVATIONS,
            decisions: &decisions,
            cost_advantages: &COSTS,
            excess,
        };
        let spec = CpoSpec::default();
        let better = line_search(&policy, &mut sweep, &evidence, &old, &direction, &spec)?;
        sweep.forward(&better, &OBSERVATIONS);
        Some(distributions(&better, &sweep, 2)[1].exp())
    }

    #[test]
    fn a_step_is_shortened_until_the_divergence_is_kept() {
        // A divergence of 0.01 from a fair coin is a probability of 0.571.
        let probability = search(5.0, -1.0).unwrap();
        assert!((0.55..0.571).contains(&probability), "{probability}");
        assert!((search(0.1, -1.0).unwrap() - 0.525).abs() < 1e-3, "a short one is taken whole");
    }

    #[test]
    fn a_step_is_shortened_until_the_cost_fits_the_room_that_is_left() {
        // At probability p, the cost is p - 0.5 above the old policy's.
        let probability = search(1.0, -0.02).unwrap();
        assert!((0.51..0.52).contains(&probability), "{probability}");
        assert_eq!(search(1.0, 0.0), None, "there is no room");
    }

    #[test]
    fn reward_may_fall_above_the_limit_only() {
        assert!(search(-0.1, 0.5).unwrap() < 0.5);
        assert_eq!(search(-0.1, -0.5), None);
    }

    #[test]
    fn a_senseless_advantage_is_an_error_and_moves_nothing() {
        let topology = Topology::mlp(1, &[4], 2, Activation::Tanh, false).unwrap();
        let mut policy = Network::new(topology.clone(), &mut Generator::new(0, Purpose::Weights));
        let before = policy.clone();
        let evidence = Evidence {
            observations: &OBSERVATIONS,
            decisions: &decisions(),
            cost_advantages: &[f64::NAN, 0.0],
            excess: 0.0,
        };
        let mut sweep = Sweep::new(&topology, 2);
        let result = improve(&mut policy, &mut sweep, &evidence, &CpoSpec::default());
        assert_eq!((result, policy), (Err(NotFinite), before));
    }
}
