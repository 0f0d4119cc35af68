//! How do exploration and the step size change over a run?
//!
//! [`Linear`] is Stable-Baselines3's schedule: the number goes in a straight line from `initial` to
//! `last` over the first `steps` steps, and stays there.

/// A number that falls, or rises, along a straight line and then stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// At step 0.
    pub initial: f64,
    /// From step `steps` on.
    pub last: f64,
    /// How long the line is; 0 means `last` from the start.
    pub steps: u64,
}

impl Linear {
    /// Returns the value at a step.
    pub fn at(&self, step: u64) -> f64 {
        if step >= self.steps {
            return self.last;
        }
        self.initial + (self.last - self.initial) * (step as f64 / self.steps as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_in_a_line_and_stays() {
        let schedule = Linear { initial: 1.0, last: 0.0, steps: 4 };
        let values: Vec<f64> = (0..6).map(|step| schedule.at(step)).collect();
        assert_eq!(values, [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]);
        assert_eq!(Linear { initial: 1.0, last: 0.5, steps: 0 }.at(0), 0.5);
    }
}
