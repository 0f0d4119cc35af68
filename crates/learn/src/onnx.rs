//! How does somebody else's policy come in?
//!
//! As ONNX, the way Stable-Baselines3 users export a Q-network. [`policy_from_onnx`] reads the graph
//! and lowers it to our own [`Network`]: a policy that came in this way runs exactly as fast, and
//! fails exactly as closed, as one trained here. What a plain MLP needs is supported: `Gemm`,
//! `MatMul` with `Add`, `Relu` and `Tanh`, and the operators that only move numbers about
//! (`Flatten`, `Reshape`, `Identity`, `Cast` to float), with weights as initialisers or constants.
//! Both of PyTorch's exporters write such graphs.
//!
//! Start at [`policy_from_onnx`]; `graph` is what it reads of a model, `wire` the protobuf underneath.
//!
//! **Invariants:** each node must continue the one chain from the graph's input to its output, or
//! reckon a shape; anything else is an error that names the operator. No graph is run approximately.
//!
//! **Absent on purpose:** a general ONNX runtime. The one that was tried, `tract-onnx`, brings over a
//! hundred packages, for networks that a Q-learner on short observations seldom has. So are files:
//! weights that lie in a second file are refused, with the exporter's option that keeps them in one.

mod graph;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use graph::{Graph, Node, Tensor};
pub use wire::BadProtobuf;

use crate::network::Network;
use crate::policy::Policy;
use crate::topology::{Activation, BadTopology, Topology};

/// Reads an ONNX file's bytes into a policy whose card is `card`.
///
/// # Errors
///
/// If the file is damaged, or its graph is not a plain MLP from one input to Q-values.
pub fn policy_from_onnx(bytes: &[u8], card: BTreeMap<String, String>) -> Result<Policy, OnnxError> {
    let mut graph = Graph::read(bytes)?;
    let mut chain = Chain::begin(&mut graph)?;
    for node in &graph.nodes {
        chain.extend(&graph, node)?;
    }
    if !graph.outputs.contains(&chain.head) {
        return Err(OnnxError::Output { reached: chain.head });
    }
    let sizes = chain.layers.iter().map(|layer| (layer.inputs, layer.outputs, layer.activation));
    let mut network = Network::zeros(Topology::new(sizes, false)?);
    for (index, layer) in chain.layers.iter().enumerate() {
        // Finite factors can still have a product that is not.
        if !layer.weights.iter().chain(&layer.bias).all(|weight| weight.is_finite()) {
            return Err(OnnxError::NotFinite { layer: index });
        }
        network.set_layer(index, &layer.weights, &layer.bias);
    }
    Ok(Policy::new(network, card))
}

/// An ONNX file that is not a policy we can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OnnxError {
    /// The file is not ONNX, or was cut or damaged.
    #[error("the file is not a whole ONNX model: {0}")]
    Protobuf(#[from] BadProtobuf),
    /// The graph has no input, or more than one.
    #[error("the graph has {0} inputs; a policy takes one observation")]
    Inputs(usize),
    /// An operator that a plain MLP does not have.
    #[error(
        "the operator `{operator}` (node `{node}`) is not part of a plain MLP: export the Q-network \
         alone (`model.policy.q_net`), of linear layers with ReLU or Tanh between them"
    )]
    Operator {
        /// The operator's name.
        operator: String,
        /// The node's name.
        node: String,
    },
    /// A supported operator, used in a way that no plain MLP does.
    #[error("node `{node}` ({operator}): {problem}")]
    Node {
        /// The node's name.
        node: String,
        /// The operator's name.
        operator: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The chain of layers does not lead to an output of the graph.
    #[error("the layers lead to `{reached}`, which is not an output of the graph")]
    Output {
        /// The last value reached.
        reached: String,
    },
    /// A layer's weights overflow once its factors are multiplied in.
    #[error("a weight of layer {layer} is not finite")]
    NotFinite {
        /// The layer's index.
        layer: usize,
    },
    /// The layers do not fit together.
    #[error("the layers do not fit together: {0}")]
    Topology(#[from] BadTopology),
}

/// The layers found so far, and the name of the value that they lead to.
struct Chain {
    head: String,
    layers: Vec<Lowered>,
    /// Values that depend on constants and shapes alone, such as what a `Reshape` is to make. They
    /// are not reckoned: a weight among them is refused when a layer asks for it.
    shapes: BTreeSet<String>,
}

struct Lowered {
    inputs: usize,
    outputs: usize,
    activation: Activation,
    /// One row per output.
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Chain {
    /// Starts at the graph's one input that is not a weight.
    fn begin(graph: &mut Graph) -> Result<Chain, OnnxError> {
        let constants: Vec<Node> =
            graph.nodes.extract_if(.., |node| node.operator == "Constant").collect();
        let mut shapes = BTreeSet::new();
        for mut node in constants {
            match (node.outputs.pop(), node.value.take()) {
                (Some(output), Some(value)) => {
                    graph.tensors.insert(output, value);
                }
                // A constant that is no tensor is a list of whole numbers, for a shape.
                (Some(output), None) => {
                    shapes.insert(output);
                }
                (None, _) => {}
            }
        }
        graph.inputs.retain(|input| !graph.tensors.contains_key(input));
        match graph.inputs.as_slice() {
            [input] => Ok(Chain { head: input.clone(), layers: Vec::new(), shapes }),
            inputs => Err(OnnxError::Inputs(inputs.len())),
        }
    }

    /// Follows one node.
    fn extend(&mut self, graph: &Graph, node: &Node) -> Result<(), OnnxError> {
        if self.makes_shape(graph, node) {
            self.shapes.extend(node.outputs.iter().cloned());
            return Ok(());
        }
        match node.operator.as_str() {
            "Gemm" => self.gemm(graph, node)?,
            "MatMul" => self.mat_mul(graph, node)?,
            "Add" => self.add(graph, node)?,
            "Relu" => self.activate(node, Activation::Relu)?,
            "Tanh" => self.activate(node, Activation::Tanh)?,
            // These move numbers about without changing one. Whatever shape they make, the next
            // layer's weights fix how many numbers there are, and that is checked.
            "Flatten" | "Identity" | "Reshape" => self.follows(node, 0)?,
            "Cast" if node.integer("to", 0) == graph::FLOAT => self.follows(node, 0)?,
            _ => {
                let (operator, node) = (node.operator.clone(), node.name.clone());
                return Err(OnnxError::Operator { operator, node });
            }
        }
        let output = node.outputs.first().ok_or_else(|| wrong(node, "it has no output"))?;
        self.head.clone_from(output);
        Ok(())
    }

    /// `alpha * x · W + beta * b`, with `W` transposed or not.
    fn gemm(&mut self, graph: &Graph, node: &Node) -> Result<(), OnnxError> {
        self.follows(node, 0)?;
        if node.integer("transA", 0) != 0 {
            return Err(wrong(node, "a transposed observation makes no sense"));
        }
        let weights = graph.tensor(node, 1)?;
        self.push(node, weights, node.integer("transB", 0) != 0)?;
        let (alpha, beta) = (node.float("alpha", 1.0), node.float("beta", 1.0));
        let bias = if node.inputs.len() > 2 { Some(graph.tensor(node, 2)?) } else { None };
        if let Some(layer) = self.layers.last_mut() {
            layer.weights.iter_mut().for_each(|weight| *weight *= alpha);
            if let Some(bias) = bias {
                layer.add_bias(node, &bias.values, beta)?;
            }
        }
        Ok(())
    }

    /// `x · W`; a bias may follow as an `Add`.
    fn mat_mul(&mut self, graph: &Graph, node: &Node) -> Result<(), OnnxError> {
        self.follows(node, 0)?;
        let weights = graph.tensor(node, 1)?;
        self.push(node, weights, false)
    }

    /// The bias of the layer before, as either operand.
    fn add(&mut self, graph: &Graph, node: &Node) -> Result<(), OnnxError> {
        let bias = if self.follows(node, 0).is_ok() { 1 } else { 0 };
        self.follows(node, 1 - bias)?;
        let bias = graph.tensor(node, bias)?;
        match self.layers.last_mut() {
            Some(layer) if layer.activation == Activation::Identity => {
                layer.add_bias(node, &bias.values, 1.0)
            }
            _ => Err(wrong(node, "it adds to something that is not a layer's sums")),
        }
    }

    fn activate(&mut self, node: &Node, activation: Activation) -> Result<(), OnnxError> {
        self.follows(node, 0)?;
        match self.layers.last_mut() {
            Some(layer) if layer.activation == Activation::Identity => {
                layer.activation = activation;
                Ok(())
            }
            _ => Err(wrong(node, "it follows no layer, or a layer that has an activation")),
        }
    }

    /// Whether nothing that the policy sees can reach the node's outputs, its shape apart.
    fn makes_shape(&self, graph: &Graph, node: &Node) -> bool {
        let known = |input| graph.tensors.contains_key(input) || self.shapes.contains(input);
        node.operator == "Shape" || node.inputs.iter().all(known)
    }

    /// Checks that the node takes what the chain has led to.
    fn follows(&self, node: &Node, input: usize) -> Result<(), OnnxError> {
        match node.inputs.get(input) {
            Some(name) if *name == self.head => Ok(()),
            _ => Err(wrong(node, "it does not continue the chain of layers")),
        }
    }

    fn push(&mut self, node: &Node, tensor: &Tensor, transposed: bool) -> Result<(), OnnxError> {
        let &[rows, columns] = tensor.shape.as_slice() else {
            return Err(wrong(node, "its weights are not a matrix"));
        };
        if tensor.values.is_empty() {
            return Err(wrong(node, "its weights are not 32-bit floats, or there are none"));
        }
        let (inputs, outputs) = if transposed { (columns, rows) } else { (rows, columns) };
        let weights = if transposed {
            tensor.values.clone()
        } else {
            (0..outputs)
                .flat_map(|output| tensor.values.iter().skip(output).step_by(columns))
                .copied()
                .collect()
        };
        let activation = Activation::Identity;
        self.layers.push(Lowered {
            inputs,
            outputs,
            activation,
            weights,
            bias: vec![0.0; outputs],
        });
        Ok(())
    }
}

impl Lowered {
    fn add_bias(&mut self, node: &Node, values: &[f32], scale: f32) -> Result<(), OnnxError> {
        if values.len() != self.outputs {
            let problem = format!("its bias has {} numbers, not {}", values.len(), self.outputs);
            return Err(wrong(node, &problem));
        }
        self.bias.iter_mut().zip(values).for_each(|(bias, value)| *bias += scale * value);
        Ok(())
    }
}

fn wrong(node: &Node, problem: &str) -> OnnxError {
    OnnxError::Node {
        node: node.name.clone(),
        operator: node.operator.clone(),
        problem: problem.to_owned(),
    }
}
