//! What is a policy that can be shipped, and how does it choose?
//!
//! A [`Policy`] is a network with a card: string metadata that says which task it is for and how it
//! was made; as a [`QFunction`] it values and chooses actions. [`Policy::to_bytes`] and [`Policy::from_bytes`] are
//! the `safetensors` form, whose arrays have the names of a PyTorch `nn.Sequential` (`0.weight`,
//! `0.bias`, `2.weight`, …), so `load_state_dict` takes them as they are.
//!
//! **Invariants:** equal policies give equal bytes; a weight that is not finite is never loaded.

use std::collections::BTreeMap;

use crate::half::{from_half, to_half};
use crate::network::{Network, Scratch};
use crate::q_function::{ActError, QFunction, check_finite, check_length};
use crate::tensors::{Reader, TensorError, Writer};
use crate::topology::{Activation, BadTopology, Topology};

/// A network and its card, ready to choose actions.
#[derive(Clone, Debug)]
pub struct Policy {
    network: Network,
    card: BTreeMap<String, String>,
    /// Whether its weights are kept in half precision.
    is_half: bool,
    scratch: Scratch,
    q_values: Vec<f32>,
}

/// Well-known keys of a policy's card.
pub mod card {
    /// The id of the task it was trained in.
    pub const ENV: &str = "env";
    /// The training seed.
    pub const SEED: &str = "seed";
    /// Environment steps of training.
    pub const STEPS: &str = "steps";
    /// The settings of training, a [`DqnSpec`](crate::DqnSpec) as JSON.
    pub const SETTINGS: &str = "settings";
    /// The score that was measured after training.
    pub const SCORE: &str = "score";
    /// The config of the task that it was trained in, as JSON: what it sees.
    pub const CONFIG: &str = "config";
    /// The algorithm that trained it; a DQN where it is not said.
    pub const ALGORITHM: &str = "algorithm";
    /// What it sees beside the observation: `budget` for the share of the budget that is left, as one number more.
    pub const SEES: &str = "sees";
    /// Episodes of training.
    pub const EPISODES: &str = "training_episodes";
    /// Those of them with an incident.
    pub const INCIDENTS: &str = "training_incidents";
}

/// Keys that the file format itself uses.
const FORMAT: &str = "format";
const FORMAT_1: &str = "cpss-dqn policy 1";
const ACTIVATIONS: &str = "activations";
const DUELING: &str = "dueling";

/// A file that is not a usable policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// An array or entry is missing, damaged or of the wrong kind.
    #[error("the policy cannot be read: {0}")]
    Tensors(#[from] TensorError),
    /// A metadata entry has no meaning.
    #[error("the policy's metadata entry `{key}` is `{value}`")]
    Metadata {
        /// The entry's key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// A weight array without two dimensions.
    #[error("`{name}` has the shape {shape:?}, not one row per unit")]
    Dimensions {
        /// The array's name.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// The arrays do not make a network.
    #[error("the policy's layers do not fit together: {0}")]
    Topology(#[from] BadTopology),
}

impl Policy {
    /// Joins a network and a card.
    pub fn new(network: Network, card: BTreeMap<String, String>) -> Policy {
        let scratch = network.scratch();
        let q_values = vec![0.0; network.topology().actions()];
        Policy { network, card, is_half: false, scratch, q_values }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The same policy in half the room: every weight is rounded to half precision.
    #[must_use]
    pub fn halved(mut self) -> Policy {
        let round = |weight: &mut f32| *weight = from_half(to_half(*weight));
        self.network.parameters_mut().iter_mut().for_each(round);
        Policy { is_half: true, ..self }
    }

    /// What is known about the policy; [`card`] has the usual keys.
    pub fn card(&self) -> &BTreeMap<String, String> {
        &self.card
    }

    /// Returns the policy as a `safetensors` file's bytes, the same for equal policies.
    pub fn to_bytes(&self) -> Vec<u8> {
        let topology = self.network.topology();
        let mut writer = Writer::default();
        for (key, value) in &self.card {
            writer.metadata(key, value);
        }
        let activations = topology.layers().iter().map(|layer| activation_name(layer.activation));
        writer.metadata(FORMAT, FORMAT_1);
        writer.metadata(ACTIVATIONS, activations.collect::<Vec<_>>().join(","));
        writer.metadata(DUELING, topology.dueling().to_string());
        for (index, layer) in topology.layers().iter().enumerate() {
            let (weights, bias) = self.network.layer(index);
            let write = if self.is_half { Writer::f16s } else { Writer::f32s };
            write(&mut writer, &weight_name(index), &[layer.outputs, layer.inputs], &weights);
            write(&mut writer, &bias_name(index), &[layer.outputs], &bias);
        }
        writer.finish()
    }

    /// Reads a policy from a `safetensors` file's bytes.
    ///
    /// # Errors
    ///
    /// If the file is damaged, has the wrong arrays, or a weight is not finite.
    pub fn from_bytes(bytes: &[u8]) -> Result<Policy, LoadError> {
        let reader = Reader::new(bytes)?;
        let entry = |key: &'static str| -> Result<(&'static str, &str), TensorError> {
            Ok((key, reader.metadata(key)?))
        };
        let senseless = |(key, value): (&'static str, &str)| LoadError::Metadata {
            key,
            value: value.to_owned(),
        };
        let format = entry(FORMAT)?;
        if format.1 != FORMAT_1 {
            return Err(senseless(format));
        }
        let dueling = entry(DUELING)?;
        let dueling = dueling.1.parse().map_err(|_| senseless(dueling))?;
        let activations = entry(ACTIVATIONS)?;
        let mut sizes = Vec::new();
        for (index, name) in activations.1.split(',').enumerate() {
            let activation = activation_of_name(name).ok_or_else(|| senseless(activations))?;
            let name = weight_name(index);
            let shape = reader.shape(&name)?;
            let &[outputs, inputs] = shape.as_slice() else {
                return Err(LoadError::Dimensions { name, shape });
            };
            sizes.push((inputs, outputs, activation));
        }
        let mut network = Network::zeros(Topology::new(sizes.iter().copied(), dueling)?);
        for (index, &(inputs, outputs, _)) in sizes.iter().enumerate() {
            let weights = reader.finite_f32s(&weight_name(index), &[outputs, inputs])?;
            let bias = reader.finite_f32s(&bias_name(index), &[outputs])?;
            network.set_layer(index, &weights, &bias);
        }
        let mut card = reader.all_metadata().clone();
        card.retain(|key, _| ![FORMAT, ACTIVATIONS, DUELING].contains(&key.as_str()));
        let is_half = reader.is_half(&weight_name(0));
        Ok(Policy { is_half, ..Policy::new(network, card) })
    }
}

impl QFunction for Policy {
    fn observation_len(&self) -> usize {
        self.network.topology().inputs()
    }

    fn actions(&self) -> usize {
        self.network.topology().actions()
    }

    fn q_values(&mut self, step: u64, observation: &[f32]) -> Result<&[f32], ActError> {
        check_length(step, observation, self.observation_len())?;
        self.network.q_values(observation, &mut self.scratch, &mut self.q_values);
        check_finite(step, &self.q_values)
    }
}

/// A `nn.Sequential` counts its activations too, so layers have even numbers.
fn weight_name(layer: usize) -> String {
    format!("{}.weight", 2 * layer)
}

fn bias_name(layer: usize) -> String {
    format!("{}.bias", 2 * layer)
}

fn activation_name(activation: Activation) -> &'static str {
    match activation {
        Activation::Relu => "relu",
        Activation::Tanh => "tanh",
        Activation::Identity => "identity",
    }
}

fn activation_of_name(name: &str) -> Option<Activation> {
    [Activation::Relu, Activation::Tanh, Activation::Identity]
        .into_iter()
        .find(|activation| activation_name(*activation) == name)
}
