//! Which layers does a network have, and where do their parameters lie?
//!
//! A [`Topology`] is the answer, checked. Parameters lie in one flat array: layer after layer, weights
//! then biases, each row of weights padded to a whole number of vectors so that
//! `kernel` never meets a ragged end.
//!
//! With `dueling`, the last layer has one row more than there are actions: row 0 is the state's
//! value, the others are advantages, and `Q = V + A - mean(A)`. Both streams share the hidden
//! layers, so the setting costs one row.
//!
//! **Absent on purpose:** convolutions, normalisation, dropout. The tasks' observations are short
//! vectors.

use serde::{Deserialize, Serialize};

use crate::kernel::padded;

/// What a layer does to its sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Activation {
    /// `max(x, 0)`.
    #[default]
    Relu,
    /// The hyperbolic tangent.
    Tanh,
    /// Nothing.
    Identity,
}

impl Activation {
    /// Applies the function in place.
    pub(crate) fn apply(self, values: &mut [f32]) {
        match self {
            // Not `f32::max`, which drops a NaN: a NaN must come out where it can be refused.
            Activation::Relu => {
                values.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x })
            }
            Activation::Tanh => values.iter_mut().for_each(|x| *x = x.tanh()),
            Activation::Identity => {}
        }
    }

    /// Multiplies gradients with the derivative, taken from the function's `outputs`.
    pub(crate) fn apply_derivative(self, outputs: &[f32], gradients: &mut [f32]) {
        let pairs = gradients.iter_mut().zip(outputs);
        match self {
            Activation::Relu => pairs.for_each(|(g, &y)| *g = if y > 0.0 { *g } else { 0.0 }),
            Activation::Tanh => pairs.for_each(|(g, &y)| *g *= 1.0 - y * y),
            Activation::Identity => {}
        }
    }
}

/// One dense layer's place in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Length of what comes in.
    pub inputs: usize,
    /// Length of what goes out.
    pub outputs: usize,
    /// Applied to each output.
    pub activation: Activation,
    /// Where this layer's parameters start in the flat vector.
    offset: usize,
}

impl Layer {
    /// A layer whose parameters start at `offset`.
    pub(crate) fn at(
        inputs: usize,
        outputs: usize,
        activation: Activation,
        offset: usize,
    ) -> Layer {
        Layer { inputs, outputs, activation, offset }
    }

    /// Distance between rows of weights.
    pub(crate) fn stride(&self) -> usize {
        padded(self.inputs)
    }

    /// Where the weights lie in the flat vector.
    pub(crate) fn weights(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.outputs * self.stride()
    }

    /// Where the biases lie in the flat vector, without their padding.
    pub(crate) fn bias(&self) -> std::ops::Range<usize> {
        let start = self.weights().end;
        start..start + self.outputs
    }

    /// Where the parameters of this layer end in the flat vector.
    pub(crate) fn end(&self) -> usize {
        self.weights().end + padded(self.outputs)
    }
}

/// The layers' sizes, checked: at least one layer, no empty one, each as wide as the next expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    layers: Vec<Layer>,
    dueling: bool,
}

/// More units than this in one layer is a mistake or a damaged file, not a policy.
pub const MAX_UNITS: usize = 1 << 14;

/// Layers that do not make a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTopology {
    /// No layer at all.
    #[error("a network needs at least one layer")]
    Empty,
    /// A layer with no units, or more than [`MAX_UNITS`].
    #[error("layer {layer} has {units} units; 1 to {MAX_UNITS} are possible")]
    Units {
        /// The layer's index.
        layer: usize,
        /// Its inputs or outputs, whichever is at fault.
        units: usize,
    },
    /// A layer that does not take what the one before gives.
    #[error("layer {layer} takes {inputs} numbers, but the one before gives {given}")]
    Chain {
        /// The layer's index.
        layer: usize,
        /// What it takes.
        inputs: usize,
        /// What it gets.
        given: usize,
    },
    /// A dueling head without a single advantage.
    #[error("a dueling network needs at least two outputs in its last layer")]
    Dueling,
}

impl Topology {
    /// Describes a network by each layer's inputs, outputs and activation.
    ///
    /// # Errors
    ///
    /// The first thing that keeps the layers from being a network.
    pub fn new(
        sizes: impl IntoIterator<Item = (usize, usize, Activation)>,
        dueling: bool,
    ) -> Result<Topology, BadTopology> {
        let mut layers: Vec<Layer> = Vec::new();
        for (index, (inputs, outputs, activation)) in sizes.into_iter().enumerate() {
            for units in [inputs, outputs] {
                if !(1..=MAX_UNITS).contains(&units) {
                    return Err(BadTopology::Units { layer: index, units });
                }
            }
            if let Some(before) = layers.last()
                && before.outputs != inputs
            {
                return Err(BadTopology::Chain { layer: index, inputs, given: before.outputs });
            }
            let offset = layers.last().map_or(0, Layer::end);
            layers.push(Layer { inputs, outputs, activation, offset });
        }
        match layers.last() {
            None => Err(BadTopology::Empty),
            Some(last) if dueling && last.outputs < 2 => Err(BadTopology::Dueling),
            Some(_) => Ok(Topology { layers, dueling }),
        }
    }

    /// Describes the usual Q-network: hidden layers of one activation, then one output per action.
    ///
    /// # Errors
    ///
    /// As [`Topology::new`].
    pub fn mlp(
        inputs: usize,
        hidden: &[usize],
        actions: usize,
        activation: Activation,
        dueling: bool,
    ) -> Result<Topology, BadTopology> {
        let widths: Vec<usize> = std::iter::once(inputs).chain(hidden.iter().copied()).collect();
        let hidden_layers = widths.windows(2).map(|pair| (pair[0], pair[1], activation));
        let head = (widths[widths.len() - 1], actions + usize::from(dueling), Activation::Identity);
        Topology::new(hidden_layers.chain([head]), dueling)
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Whether the last layer holds a value and advantages.
    pub fn dueling(&self) -> bool {
        self.dueling
    }

    /// Length of an observation.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Number of Q-values.
    pub fn actions(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs - usize::from(self.dueling)
    }

    /// Length of the flat parameter vector, padding included.
    pub(crate) fn len(&self) -> usize {
        self.layers[self.layers.len() - 1].end()
    }

    /// Length of the longest padded row that passes between layers.
    pub(crate) fn widest(&self) -> usize {
        self.layers.iter().map(|layer| layer.stride().max(padded(layer.outputs))).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused() {
        let identity = Activation::Identity;
        assert_eq!(Topology::new([], false), Err(BadTopology::Empty));
        assert_eq!(
            Topology::new([(2, 0, identity)], false),
            Err(BadTopology::Units { layer: 0, units: 0 })
        );
        assert_eq!(
            Topology::new([(2, 3, identity), (4, 1, identity)], false),
            Err(BadTopology::Chain { layer: 1, inputs: 4, given: 3 })
        );
        assert_eq!(Topology::new([(2, 1, identity)], true), Err(BadTopology::Dueling));
    }
}
