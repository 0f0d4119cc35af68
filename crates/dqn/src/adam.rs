//! How does a gradient change the weights?
//!
//! By [`Adam`] (Kingma and Ba, 2015) in PyTorch's formulation and with its defaults, after
//! [`clip_scale`] has bounded the gradient's length. The scale is folded into Adam's own loop: the
//! moments are the largest arrays of an update, and one trip through memory is what it costs.
//!
//! **Invariant:** where every gradient so far was zero, a parameter does not move. The network's
//! padding relies on it.

use pulp::Arch;

/// The optimiser's state: two moments per parameter and the number of steps taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    learning_rate: f64,
    first: Vec<f32>,
    second: Vec<f32>,
    steps: u64,
}

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f32 = 1e-8;

impl Adam {
    /// Starts with both moments at zero.
    pub fn new(parameters: usize, learning_rate: f64) -> Adam {
        Adam {
            learning_rate,
            first: vec![0.0; parameters],
            second: vec![0.0; parameters],
            steps: 0,
        }
    }

    /// Continues from saved moments, or returns `None` if their lengths differ.
    pub(crate) fn from_moments(
        first: Vec<f32>,
        second: Vec<f32>,
        steps: u64,
        learning_rate: f64,
    ) -> Option<Adam> {
        (first.len() == second.len()).then_some(Adam { learning_rate, first, second, steps })
    }

    /// The first and second moments, and the steps taken, to be saved.
    pub(crate) fn moments(&self) -> (&[f32], &[f32], u64) {
        (&self.first, &self.second, self.steps)
    }

    /// Moves `parameters` against `scale` times the `gradients`.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the moments.
    pub fn step(&mut self, parameters: &mut [f32], gradients: &[f32], scale: f32) {
        assert_eq!(parameters.len(), self.first.len(), "number of parameters");
        assert_eq!(gradients.len(), self.first.len(), "number of gradients");
        self.steps += 1;
        let t = self.steps as f64;
        let rate = (self.learning_rate / (1.0 - BETA_1.powf(t))) as f32;
        let unbias = (1.0 / (1.0 - BETA_2.powf(t)).sqrt()) as f32;
        let (keep_1, take_1) = (BETA_1 as f32, (1.0 - BETA_1) as f32);
        let (keep_2, take_2) = (BETA_2 as f32, (1.0 - BETA_2) as f32);
        let (first, second) = (&mut self.first, &mut self.second);
        // The loop is compiled once per instruction set and chosen at run time. It waits for memory,
        // not for arithmetic: without its division and root it takes nearly as long.
        Arch::new().dispatch(
            #[inline(always)]
            || {
                let moments = first.iter_mut().zip(second.iter_mut());
                for ((parameter, &gradient), (m, v)) in
                    parameters.iter_mut().zip(gradients).zip(moments)
                {
                    let gradient = gradient * scale;
                    *m = keep_1 * *m + take_1 * gradient;
                    *v = keep_2 * *v + take_2 * gradient * gradient;
                    *parameter -= rate * *m / (v.sqrt() * unbias + EPSILON);
                }
            },
        );
    }
}

/// Returns the factor that brings a gradient's length down to `max_norm`, or 1 if it is short
/// enough. `None` if that length is not finite: such a gradient must not reach a weight.
pub fn clip_scale(gradients: &[f32], max_norm: f32) -> Option<f32> {
    let norm = sum_of_squares(gradients).sqrt();
    // The small term is PyTorch's; it keeps a zero gradient from dividing by zero.
    norm.is_finite().then(|| (max_norm / (norm + 1e-6)).min(1.0))
}

/// Sums in sixteen interleaved chains: one chain would wait for each addition to finish.
fn sum_of_squares(values: &[f32]) -> f32 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let (blocks, rest) = values.as_chunks::<16>();
            let mut sums = [0.0_f32; 16];
            for block in blocks {
                for (sum, value) in sums.iter_mut().zip(block) {
                    *sum += value * value;
                }
            }
            sums.iter().sum::<f32>() + rest.iter().map(|value| value * value).sum::<f32>()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_the_learning_rate_against_the_sign() {
        let mut adam = Adam::new(3, 0.1);
        let mut parameters = [1.0, 1.0, 1.0];
        adam.step(&mut parameters, &[1e-3, -5.0, 0.0], 1.0);
        assert!((parameters[0] - 0.9).abs() < 1e-5);
        assert!((parameters[1] - 1.1).abs() < 1e-5);
        assert_eq!(parameters[2], 1.0);
    }

    #[test]
    fn clipping_bounds_the_length_and_leaves_short_gradients_alone() {
        let long: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let scale = clip_scale(&long, 10.0).unwrap();
        let length = long.iter().map(|g| (g * scale).powi(2)).sum::<f32>().sqrt();
        assert!((length - 10.0).abs() < 1e-3);
        assert_eq!(clip_scale(&[3.0, 4.0], 10.0), Some(1.0));
        assert_eq!(clip_scale(&[0.0; 4], 10.0), Some(1.0));
        assert_eq!(clip_scale(&[f32::NAN, 0.0], 10.0), None);
        assert_eq!(clip_scale(&[f32::INFINITY, 0.0], 10.0), None);
    }
}
