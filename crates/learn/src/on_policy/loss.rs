//! Which way should the policy and the values move?
//!
//! [`Clipped`] is PPO's loss and [`squared_error`] the value networks'. Both read the outputs of a [`Pass`] and write
//! the gradient by each output, from which [`Pass::backward_all`] goes on.

use super::categorical::{entropy, log_probabilities};
use crate::pass::Pass;

/// What a minibatch says about the policy, sample by sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decisions {
    /// The actions drawn.
    pub actions: Vec<usize>,
    /// The logarithm of each one's probability when it was drawn.
    pub log_probabilities: Vec<f64>,
    /// How much better than expected each one was.
    pub advantages: Vec<f64>,
}

/// PPO's loss: an action's advantage counts until its probability has moved by `clip_range`, and entropy is worth
/// `entropy_coefficient`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clipped {
    /// How far the ratio of new to old probability counts, on each side of 1.
    pub clip_range: f64,
    /// What a nat of entropy is worth.
    pub entropy_coefficient: f64,
}

/// What [`Clipped::gradient`] found besides the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyLoss {
    /// The mean loss.
    pub loss: f64,
    /// Schulman's estimate of the KL divergence from the policy that drew the actions, as in Stable-Baselines3.
    pub kl: f64,
}

impl Clipped {
    /// Writes the gradient of the mean loss by each logit, one number per action, sample after sample.
    /// [`Pass::forward`] came before.
    ///
    /// # Panics
    ///
    /// If `by_logit` has not one number per sample and action.
    pub fn gradient(&self, pass: &Pass, decisions: &Decisions, by_logit: &mut [f32]) -> PolicyLoss {
        let samples = decisions.actions.len();
        let actions = by_logit.len() / samples;
        assert_eq!(by_logit.len(), samples * actions, "number of gradients by logit");
        let share = 1.0 / samples as f64;
        let (mut logits, mut logs) = (vec![0.0; actions], vec![0.0; actions]);
        let mut sum = PolicyLoss { loss: 0.0, kl: 0.0 };
        for (sample, by_logit) in by_logit.chunks_exact_mut(actions).enumerate() {
            pass.q_values(sample, &mut logits);
            log_probabilities(&logits, &mut logs);
            let action = decisions.actions[sample];
            let log_ratio = logs[action] - decisions.log_probabilities[sample];
            let (surrogate, slope) = self.surrogate(log_ratio.exp(), decisions.advantages[sample]);
            let entropy = entropy(&logs);
            sum.loss -= share * (surrogate + self.entropy_coefficient * entropy);
            sum.kl += share * (log_ratio.exp_m1() - log_ratio);
            for (index, (by_logit, log)) in by_logit.iter_mut().zip(&logs).enumerate() {
                let probability = log.exp();
                let by_log = f64::from(u8::from(index == action)) - probability;
                let by_entropy = -probability * (log + entropy);
                let gain = slope * by_log + self.entropy_coefficient * by_entropy;
                *by_logit = (-share * gain) as f32;
            }
        }
        sum
    }

    /// Returns the clipped surrogate of one decision, and its derivative by the action's log-probability.
    fn surrogate(&self, ratio: f64, advantage: f64) -> (f64, f64) {
        let clipped = ratio.clamp(1.0 - self.clip_range, 1.0 + self.clip_range);
        let (free, bound) = (ratio * advantage, clipped * advantage);
        // Written so that a NaN takes the first branch and comes out.
        if bound < free { (bound, 0.0) } else { (free, free) }
    }
}

/// Writes the gradient of the mean squared error by each value, and returns the error. [`Pass::forward`] came before.
pub fn squared_error(pass: &Pass, targets: &[f64], by_value: &mut [f32]) -> f64 {
    let share = 1.0 / targets.len() as f64;
    let mut loss = 0.0;
    for (sample, (by_value, target)) in by_value.iter_mut().zip(targets).enumerate() {
        let error = f64::from(pass.q(sample, 0)) - target;
        loss += share * error * error;
        *by_value = (2.0 * share * error) as f32;
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_on_is_rewarded_up_to_the_clip_and_moving_back_always_is() {
        let loss = Clipped { clip_range: 0.2, entropy_coefficient: 0.0 };
        assert_eq!(loss.surrogate(1.1, 2.0), (2.2, 2.2));
        assert_eq!(loss.surrogate(1.5, 2.0), (2.4, 0.0));
        assert_eq!(loss.surrogate(0.5, 2.0), (1.0, 1.0));
        assert_eq!(loss.surrogate(0.5, -2.0), (-1.6, 0.0));
        assert_eq!(loss.surrogate(1.5, -2.0), (-3.0, -3.0));
        assert!(loss.surrogate(f64::NAN, 1.0).0.is_nan());
    }
}
