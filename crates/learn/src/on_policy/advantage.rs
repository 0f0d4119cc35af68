//! How much better than expected was each action?
//!
//! [`estimate`] is generalised advantage estimation (Schulman et al., 2016). It serves rewards and costs alike.
//! [`normalise`], [`centre`] and [`priced`] turn what it gives into what an update uses.
//!
//! **Invariant:** bootstrapping stops at a terminated step only; a truncated one is valued from where it was cut. The
//! sum over later steps stops at both.

use crate::env::End;

/// One signal of a rollout, step after step and in each step world after world.
#[derive(Clone, Copy, Debug)]
pub struct Signal<'a> {
    /// The reward or the cost of each step.
    pub gained: &'a [f32],
    /// The value of what each step started from.
    pub values: &'a [f32],
    /// The value of what each step led to, before any reset.
    pub next_values: &'a [f32],
    /// How the episode stood after each step.
    pub ends: &'a [End],
    /// Worlds that took turns.
    pub worlds: usize,
}

/// Writes the advantage of each step. `gamma` is the discount; `lambda` weighs later surprises, and at 0 only the
/// step's own counts.
pub fn estimate(signal: &Signal<'_>, gamma: f64, lambda: f64, advantages: &mut [f64]) {
    let Signal { gained, values, next_values, ends, worlds } = *signal;
    for world in 0..worlds {
        let mut later = 0.0;
        for index in (world..advantages.len()).step_by(worlds).rev() {
            let next = match ends[index] {
                End::Terminated => 0.0,
                End::Running | End::Truncated => f64::from(next_values[index]),
            };
            if ends[index] != End::Running {
                later = 0.0;
            }
            let surprise = f64::from(gained[index]) + gamma * next - f64::from(values[index]);
            later = surprise + gamma * lambda * later;
            advantages[index] = later;
        }
    }
}

/// Brings the mean to 0 and the standard deviation to 1.
pub fn normalise(advantages: &mut [f64]) {
    centre(advantages);
    let count = advantages.len() as f64;
    let variance = advantages.iter().map(|advantage| advantage * advantage).sum::<f64>() / count;
    // The small term is Stable-Baselines3's; it keeps advantages that are all alike from dividing by zero.
    let scale = 1.0 / (variance.sqrt() + 1e-8);
    advantages.iter_mut().for_each(|advantage| *advantage *= scale);
}

/// Brings the mean to 0.
pub fn centre(advantages: &mut [f64]) {
    let mean = advantages.iter().sum::<f64>() / advantages.len() as f64;
    advantages.iter_mut().for_each(|advantage| *advantage -= mean);
}

/// Charges each advantage for the incidents it brings: `(A - price * A_c) / (1 + price)`, as in Ray et al.
///
/// It comes before [`normalise`], so that the price is in units of return, whatever the advantages' spread.
pub fn priced(advantages: &mut [f64], cost_advantages: &[f64], price: f64) {
    for (advantage, cost) in advantages.iter_mut().zip(cost_advantages) {
        *advantage = (*advantage - price * cost) / (1.0 + price);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ends: [End; 4], worlds: usize, lambda: f64) -> [f64; 4] {
        let mut advantages = [0.0; 4];
        let signal = Signal {
            gained: &[1.0, 2.0, 3.0, 4.0],
            values: &[10.0, 20.0, 30.0, 40.0],
            next_values: &[20.0, 30.0, 40.0, 50.0],
            ends: &ends,
            worlds,
        };
        estimate(&signal, 0.5, lambda, &mut advantages);
        advantages
    }

    #[test]
    fn without_lambda_an_advantage_is_one_surprise() {
        assert_eq!(of([End::Running; 4], 1, 0.0), [1.0, -3.0, -7.0, -11.0]);
    }

    #[test]
    fn later_surprises_count_by_lambda_and_worlds_do_not_mix() {
        assert_eq!(of([End::Running; 4], 1, 1.0), [-3.625, -9.25, -12.5, -11.0]);
        assert_eq!(of([End::Running; 4], 2, 1.0), [-2.5, -8.5, -7.0, -11.0]);
    }

    #[test]
    fn a_cut_ends_the_sum_and_only_termination_ends_the_value() {
        let ends = |end| [End::Running, end, End::Running, End::Running];
        assert_eq!(of(ends(End::Truncated), 1, 1.0), [-0.5, -3.0, -12.5, -11.0]);
        assert_eq!(of(ends(End::Terminated), 1, 1.0), [-8.0, -18.0, -12.5, -11.0]);
    }

    #[test]
    fn normalised_advantages_have_mean_0_and_deviation_1() {
        let mut advantages = [1.0, 2.0, 3.0, 6.0];
        normalise(&mut advantages);
        assert!(advantages.iter().sum::<f64>().abs() < 1e-12);
        let squares = advantages.iter().map(|a| a * a).sum::<f64>();
        assert!((squares / 4.0 - 1.0).abs() < 1e-6);
        let mut alike = [5.0; 4];
        normalise(&mut alike);
        assert_eq!(alike, [0.0; 4]);
    }

    #[test]
    fn a_price_weighs_the_cost_against_the_reward() {
        let mut advantages = [2.0, -1.0];
        priced(&mut advantages, &[1.0, 0.0], 3.0);
        assert_eq!(advantages, [-0.25, -0.25]);
    }
}
