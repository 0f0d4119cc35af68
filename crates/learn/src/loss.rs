//! How wrong is a Q-value, and which way is better?
//!
//! [`td_target`] says what a Q-value should have been; [`huber`] says how much being off costs, and
//! its slope. Both as in Stable-Baselines3's DQN.
//!
//! **Invariant:** bootstrapping stops at a terminated step only. A truncated one cuts the record, not
//! the future, so its value is estimated from where it was cut.

use crate::env::End;

/// Returns `reward + gamma * next_q`, or the reward alone after a terminated step.
pub fn td_target(reward: f32, gamma: f32, next_q: f32, end: End) -> f32 {
    match end {
        End::Terminated => reward,
        End::Running | End::Truncated => reward + gamma * next_q,
    }
}

/// Returns the Huber loss of an error, with PyTorch's `beta = 1`, and its derivative.
pub fn huber(error: f32) -> (f32, f32) {
    if error.abs() < 1.0 {
        (0.5 * error * error, error)
    } else {
        (error.abs() - 0.5, error.signum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_termination_stops_bootstrapping() {
        assert_eq!(td_target(1.0, 0.5, 4.0, End::Running), 3.0);
        assert_eq!(td_target(1.0, 0.5, 4.0, End::Truncated), 3.0);
        assert_eq!(td_target(1.0, 0.5, 4.0, End::Terminated), 1.0);
    }

    #[test]
    fn huber_is_a_parabola_then_two_lines() {
        assert_eq!(huber(0.5), (0.125, 0.5));
        assert_eq!(huber(-0.5), (0.125, -0.5));
        assert_eq!(huber(3.0), (2.5, 1.0));
        assert_eq!(huber(-3.0), (2.5, -1.0));
        assert!(huber(f32::NAN).0.is_nan());
    }
}
