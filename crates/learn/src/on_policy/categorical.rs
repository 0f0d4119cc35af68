//! How does a network's output become a drawn action, and how far apart are two such policies?
//!
//! The outputs are logits: an action's probability is proportional to `exp(logit)`. Everything here works on the
//! logarithms of the probabilities, in `f64`, so that an action that is almost never taken still has a ratio.
//!
//! **Invariant:** a NaN that goes in comes out.

/// Writes the logarithm of each action's probability.
pub fn log_probabilities(logits: &[f32], log_probabilities: &mut [f64]) {
    let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    // The greatest is taken off first, so that no exponential overflows.
    for (log, &logit) in log_probabilities.iter_mut().zip(logits) {
        *log = f64::from(logit) - f64::from(greatest);
    }
    let total = log_probabilities.iter().map(|log| log.exp()).sum::<f64>().ln();
    log_probabilities.iter_mut().for_each(|log| *log -= total);
}

/// Returns the action at a number drawn from `0.0..1.0`.
pub fn draw(log_probabilities: &[f64], unit: f64) -> usize {
    let mut rest = unit;
    for (action, log) in log_probabilities.iter().enumerate() {
        rest -= log.exp();
        if rest < 0.0 {
            return action;
        }
    }
    // Rounding can leave a little over; it belongs to the last action.
    log_probabilities.len().saturating_sub(1)
}

/// Returns the entropy \[nat\].
pub fn entropy(log_probabilities: &[f64]) -> f64 {
    -log_probabilities.iter().map(|log| log.exp() * log).sum::<f64>()
}

/// Returns the KL divergence of `new` from `old` \[nat\].
pub fn kl(old: &[f64], new: &[f64]) -> f64 {
    old.iter().zip(new).map(|(old, new)| old.exp() * (old - new)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(logits: &[f32]) -> Vec<f64> {
        let mut logs = vec![0.0; logits.len()];
        log_probabilities(logits, &mut logs);
        logs
    }

    #[test]
    fn probabilities_sum_to_one_even_where_exponentials_would_overflow() {
        let logs = of(&[1_000.0, 999.0, -1_000.0]);
        assert!((logs.iter().map(|log| log.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((logs[0] - logs[1] - 1.0).abs() < 1e-12);
        assert!(logs[2].is_finite());
    }

    #[test]
    fn a_senseless_logit_comes_out() {
        assert!(of(&[0.0, f32::NAN]).iter().all(|log| log.is_nan()));
        assert!(of(&[0.0, f32::INFINITY]).iter().any(|log| log.is_nan()));
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let logs = [0.5_f64.ln(), 0.2_f64.ln(), 0.3_f64.ln()];
        let mut counts = [0; 3];
        (0..1_000).for_each(|i| counts[draw(&logs, (f64::from(i) + 0.5) / 1_000.0)] += 1);
        assert_eq!(counts, [500, 200, 300]);
        assert_eq!(draw(&logs, 1.0), 2);
    }

    #[test]
    fn entropy_and_divergence_of_known_policies() {
        assert!((entropy(&of(&[3.0; 4])) - 4.0_f64.ln()).abs() < 1e-12);
        let (old, new) = ([0.5_f64.ln(); 2], [0.25_f64.ln(), 0.75_f64.ln()]);
        let expected = 0.5 * 2.0_f64.ln() + 0.5 * (2.0_f64 / 3.0).ln();
        assert!((kl(&old, &new) - expected).abs() < 1e-12);
        assert_eq!(kl(&old, &old), 0.0);
    }
}
