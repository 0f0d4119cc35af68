//! How dense is it now, and how fast is that changing?
//!
//! Start at [`Context::read`]. The change is measured against an exponential average of the
//! densities so far:
//!
//! ```text
//!   dbar_t  = dbar_{t-1} + lambda (d_t - dbar_{t-1}),    dbar_0 = d_0
//!   delta_t = |d_t - dbar_t| = (1 - lambda) |d_t - dbar_{t-1}|
//! ```
//!
//! **Invariants:** the average is finite and at least 0; an unusable density (NaN, infinite or
//! negative) reads as `None`, which the shield turns into a threshold of 0, and leaves the average
//! as it was; reading changes nothing, so a decision can be judged twice.
//!
//! **Absent on purpose:** what a density is. It is one number that grows with risk, and the domain
//! says which.

use crate::usable;

/// The smoothed density: all that a shield remembers of its surroundings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Context {
    smoothing: f64,
    average: Option<f64>,
}

impl Context {
    /// A context that has seen nothing. [`Rules`](crate::Rules) has checked the smoothing.
    pub(crate) const fn new(smoothing: f64) -> Context {
        Context { smoothing, average: None }
    }

    /// The change `delta_t` that this density would bring, or `None` if it is unusable.
    ///
    /// The second form of the equation above is the one computed: over the reals it is the same
    /// number, and in floating point it never decreases as the density moves away from the
    /// average, which the first form does not promise.
    pub fn read(&self, density: f64) -> Option<f64> {
        if !usable(density) {
            return None;
        }
        Some(match self.average {
            Some(average) => (1.0 - self.smoothing) * (density - average).abs(),
            None => 0.0,
        })
    }

    /// Takes a density into the average, unless it is unusable.
    pub(crate) fn observe(&mut self, density: f64) {
        if usable(density) {
            self.average = Some(match self.average {
                Some(average) => average + self.smoothing * (density - average),
                None => density,
            });
        }
    }

    /// The smoothed density `dbar`, or `None` before the first usable reading.
    pub const fn average(&self) -> Option<f64> {
        self.average
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_reading_is_its_own_average() {
        let mut context = Context::new(0.25);
        assert_eq!(context.read(3.0), Some(0.0));
        context.observe(3.0);
        assert_eq!(context.average(), Some(3.0));
    }

    #[test]
    fn change_is_the_distance_to_the_new_average() {
        let mut context = Context::new(0.25);
        context.observe(1.0);
        let change = context.read(5.0).unwrap();
        context.observe(5.0);
        assert_eq!(context.average(), Some(2.0));
        assert_eq!(change, 5.0 - 2.0);
    }

    #[test]
    fn unusable_readings_leave_no_mark() {
        let mut context = Context::new(0.25);
        context.observe(1.0);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-300] {
            assert_eq!(context.read(bad), None);
            context.observe(bad);
            assert_eq!(context.average(), Some(1.0));
        }
    }
}
