//! How does a gradient change the weights?
//!
//! By [`Adam`] (Kingma and Ba, 2015) in PyTorch's formulation and with its defaults, after
//! [`clip_scale`] has bounded the gradient's length. The step waits for memory more than for
//! arithmetic, hence two choices: the scale is folded into Adam's own loop, and the two moments lie
//! side by side in blocks, so that one step walks three arrays and not four.
//!
//! **Invariant:** where every gradient so far was zero, a parameter does not move. The network's
//! padding relies on it.

use pulp::Arch;

use crate::kernel::PAD;

/// The optimiser's state: two moments per parameter and the number of steps taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    learning_rate: f64,
    moments: Vec<Moments>,
    steps: u64,
}

/// The moments of neighbouring parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    first: [f32; PAD],
    second: [f32; PAD],
}

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f32 = 1e-8;

impl Adam {
    /// Starts with both moments at zero.
    ///
    /// # Panics
    ///
    /// If the number of parameters is not a multiple of 16, as every padded network's is.
    pub fn new(parameters: usize, learning_rate: f64) -> Adam {
        assert!(parameters.is_multiple_of(PAD), "{parameters} parameters are not padded");
        Adam { learning_rate, moments: vec![Moments::default(); parameters / PAD], steps: 0 }
    }

    /// Continues from what [`Adam::moments`] gave; what does not fill a block is left out.
    pub(crate) fn from_moments(moments: &[f32], steps: u64, learning_rate: f64) -> Adam {
        let (halves, _) = moments.as_chunks::<PAD>();
        let (blocks, _) = halves.as_chunks::<2>();
        let moments = blocks.iter().map(|&[first, second]| Moments { first, second }).collect();
        Adam { learning_rate, moments, steps }
    }

    /// The moments, two numbers per parameter, to be saved.
    pub(crate) fn moments(&self) -> Vec<f32> {
        self.moments.iter().flat_map(|block| [block.first, block.second]).flatten().collect()
    }

    /// Changes the step size from the next step on.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    /// Number of steps taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Moves `parameters` against `scale` times the `gradients`.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the moments.
    pub fn step(&mut self, parameters: &mut [f32], gradients: &[f32], scale: f32) {
        assert_eq!(parameters.len(), self.moments.len() * PAD, "number of parameters");
        assert_eq!(gradients.len(), self.moments.len() * PAD, "number of gradients");
        self.steps += 1;
        let t = self.steps as f64;
        let rate = (self.learning_rate / (1.0 - BETA_1.powf(t))) as f32;
        let unbias = (1.0 / (1.0 - BETA_2.powf(t)).sqrt()) as f32;
        let (keep_1, take_1) = (BETA_1 as f32, (1.0 - BETA_1) as f32);
        let (keep_2, take_2) = (BETA_2 as f32, (1.0 - BETA_2) as f32);
        let (parameters, _) = parameters.as_chunks_mut::<PAD>();
        let (gradients, _) = gradients.as_chunks::<PAD>();
        let blocks = parameters.iter_mut().zip(gradients).zip(&mut self.moments);
        // The loop is compiled once per instruction set and chosen at run time.
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for ((parameters, gradients), Moments { first, second }) in blocks {
                    for i in 0..PAD {
                        let gradient = gradients[i] * scale;
                        first[i] = keep_1 * first[i] + take_1 * gradient;
                        second[i] = keep_2 * second[i] + take_2 * gradient * gradient;
                        parameters[i] -= rate * first[i] / (second[i].sqrt() * unbias + EPSILON);
                    }
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

/// Sums in interleaved chains: a single one would wait for each addition to finish.
fn sum_of_squares(values: &[f32]) -> f32 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let (blocks, rest) = values.as_chunks::<PAD>();
            let mut sums = [0.0_f32; PAD];
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
        let mut adam = Adam::new(PAD, 0.1);
        let (mut parameters, mut gradients) = ([1.0; PAD], [0.0; PAD]);
        (gradients[0], gradients[1]) = (1e-3, -5.0);
        adam.step(&mut parameters, &gradients, 1.0);
        assert!((parameters[0] - 0.9).abs() < 1e-5);
        assert!((parameters[1] - 1.1).abs() < 1e-5);
        assert_eq!(parameters[2..], [1.0; PAD - 2]);
    }

    #[test]
    fn saved_moments_continue_where_they_were() {
        let gradients: Vec<f32> = (0..2 * PAD).map(|i| i as f32 - 7.5).collect();
        let mut parameters = vec![0.0; 2 * PAD];
        let mut adam = Adam::new(2 * PAD, 0.1);
        adam.step(&mut parameters, &gradients, 1.0);
        assert_eq!(Adam::from_moments(&adam.moments(), adam.steps(), 0.1), adam);
    }

    #[test]
    fn the_scale_is_part_of_the_gradient() {
        // Halving is exact, so scaling inside the step and outside it must agree to the bit.
        let gradients: [f32; PAD] = std::array::from_fn(|i| i as f32 - 7.5);
        let step = |gradients: [f32; PAD], scale| {
            let (mut adam, mut parameters) = (Adam::new(PAD, 0.1), [0.0; PAD]);
            adam.step(&mut parameters, &gradients, scale);
            (adam, parameters)
        };
        assert_eq!(step(gradients, 0.5), step(gradients.map(|gradient| gradient / 2.0), 1.0));
        assert_ne!(step(gradients, 0.5), step(gradients, 1.0));
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
