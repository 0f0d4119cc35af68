//! What is a policy that can be shipped, and how does it choose?
//!
//! A [`Policy`] is a network with a card: string metadata that says which task it is for and how it
//! was made. [`Policy::act`] is the greedy action. [`Policy::to_bytes`] and [`Policy::from_bytes`] are
//! the `safetensors` form, whose arrays have the names of a PyTorch `nn.Sequential` (`0.weight`,
//! `0.bias`, `2.weight`, …), so `load_state_dict` takes them as they are.
//!
//! **Invariants:** equal policies give equal bytes; a weight that is not finite is never loaded; a
//! Q-value that is not finite is an error that names the step, never an action.

use std::collections::BTreeMap;

use crate::network::{Network, Scratch, greedy};
use crate::tensors::{Reader, TensorError, Writer};
use crate::topology::{Activation, BadTopology, Topology};

/// A network and its card, ready to choose actions.
#[derive(Clone, Debug)]
pub struct Policy {
    network: Network,
    card: BTreeMap<String, String>,
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

/// A policy made for another task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the policy takes {observation_len} numbers and has {actions} actions, but the task gives \
     {task_observation_len} numbers and has {task_actions} actions"
)]
pub struct WrongTask {
    /// What the policy takes.
    pub observation_len: usize,
    /// How many actions it values.
    pub actions: usize,
    /// What the task gives.
    pub task_observation_len: usize,
    /// How many actions it has.
    pub task_actions: usize,
}

/// A step at which a policy has no action to propose.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ActError {
    /// A Q-value is NaN or infinite.
    #[error("step {step}: the Q-value of action {action} is {value}")]
    NotFinite {
        /// The decision step.
        step: u64,
        /// The first action at fault.
        action: usize,
        /// Its Q-value.
        value: f32,
    },
    /// An observation of the wrong length.
    #[error("step {step}: the observation has {found} numbers, not {expected}")]
    Length {
        /// The decision step.
        step: u64,
        /// The observation's length.
        found: usize,
        /// What the policy takes.
        expected: usize,
    },
}

impl Policy {
    /// Joins a network and a card.
    pub fn new(network: Network, card: BTreeMap<String, String>) -> Policy {
        let scratch = network.scratch();
        let q_values = vec![0.0; network.topology().actions()];
        Policy { network, card, scratch, q_values }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What is known about the policy; [`card`] has the usual keys.
    pub fn card(&self) -> &BTreeMap<String, String> {
        &self.card
    }

    /// Checks that the policy is for tasks of this shape.
    ///
    /// # Errors
    ///
    /// [`WrongTask`], with both shapes, if it is not.
    pub fn check_task(
        &self,
        task_observation_len: usize,
        task_actions: usize,
    ) -> Result<(), WrongTask> {
        let observation_len = self.network.topology().inputs();
        let actions = self.network.topology().actions();
        if (observation_len, actions) == (task_observation_len, task_actions) {
            return Ok(());
        }
        Err(WrongTask { observation_len, actions, task_observation_len, task_actions })
    }

    /// Returns the Q-value of each action. `step` is the decision step, for the error.
    ///
    /// # Errors
    ///
    /// If the observation has the wrong length or any Q-value is not finite.
    pub fn q_values(&mut self, step: u64, observation: &[f32]) -> Result<&[f32], ActError> {
        let expected = self.network.topology().inputs();
        if observation.len() != expected {
            return Err(ActError::Length { step, found: observation.len(), expected });
        }
        self.network.q_values(observation, &mut self.scratch, &mut self.q_values);
        match self.q_values.iter().position(|q| !q.is_finite()) {
            Some(action) => Err(ActError::NotFinite { step, action, value: self.q_values[action] }),
            None => Ok(&self.q_values),
        }
    }

    /// Returns the action with the greatest Q-value, the first among equals.
    ///
    /// # Errors
    ///
    /// As [`Policy::q_values`].
    pub fn act(&mut self, step: u64, observation: &[f32]) -> Result<usize, ActError> {
        let q_values = self.q_values(step, observation)?;
        // Every Q-value is finite here, so there is a greatest.
        Ok(greedy(q_values).unwrap_or(0))
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
            writer.f32s(&weight_name(index), &[layer.outputs, layer.inputs], &weights);
            writer.f32s(&bias_name(index), &[layer.outputs], &bias);
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
        Ok(Policy::new(network, card))
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
