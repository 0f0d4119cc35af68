//! Which parts of an ONNX model matter for a policy?
//!
//! [`Graph`] keeps the nodes in their order, the weights by name, and the names of inputs and
//! outputs. Field numbers are those of `onnx.proto`; everything not read here is skipped.

use std::collections::BTreeMap;

use super::wire::{BadProtobuf, Fields};
use super::{OnnxError, wrong};

/// ONNX's number for 32-bit floats.
pub(super) const FLOAT: i64 = 1;

/// A model's graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) tensors: BTreeMap<String, Tensor>,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
}

/// One operation.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    /// The value of a `Constant`.
    pub(super) value: Option<Tensor>,
    integers: BTreeMap<String, i64>,
    floats: BTreeMap<String, f32>,
}

/// A constant array. One that is not of 32-bit floats has a shape but no values: graphs carry
/// integer arrays for `Reshape`, which a policy does not need.
#[derive(Clone, Debug, Default)]
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

impl Graph {
    /// Reads the graph out of a model.
    pub(super) fn read(model: &[u8]) -> Result<Graph, BadProtobuf> {
        let mut graph = None;
        for field in Fields::new(model) {
            if let (7, value) = field? {
                graph = Some(Graph::read_graph(value.bytes(7)?)?);
            }
        }
        graph.ok_or(BadProtobuf::NoGraph)
    }

    fn read_graph(message: &[u8]) -> Result<Graph, BadProtobuf> {
        let mut graph = Graph::default();
        for field in Fields::new(message) {
            match field? {
                (1, value) => graph.nodes.push(Node::read(value.bytes(1)?)?),
                (5, value) => {
                    let (name, tensor) = Tensor::read(value.bytes(5)?)?;
                    graph.tensors.insert(name, tensor);
                }
                (11, value) => graph.inputs.push(value_name(value.bytes(11)?)?),
                (12, value) => graph.outputs.push(value_name(value.bytes(12)?)?),
                _ => {}
            }
        }
        Ok(graph)
    }

    /// The constant that a node takes as one of its inputs, each of its values finite.
    pub(super) fn tensor(&self, node: &Node, input: usize) -> Result<&Tensor, OnnxError> {
        let name = node.inputs.get(input);
        let tensor = name.and_then(|name| self.tensors.get(name));
        let tensor =
            tensor.ok_or_else(|| wrong(node, &format!("its input {input} is not a constant")))?;
        match tensor.values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(wrong(node, &format!("its input {input} holds {value}"))),
            None => Ok(tensor),
        }
    }
}

impl Node {
    fn read(message: &[u8]) -> Result<Node, BadProtobuf> {
        let mut node = Node::default();
        for field in Fields::new(message) {
            match field? {
                (1, value) => node.inputs.push(value.text(1)?),
                (2, value) => node.outputs.push(value.text(2)?),
                (3, value) => node.name = value.text(3)?,
                (4, value) => node.operator = value.text(4)?,
                (5, value) => node.read_attribute(value.bytes(5)?)?,
                _ => {}
            }
        }
        Ok(node)
    }

    fn read_attribute(&mut self, message: &[u8]) -> Result<(), BadProtobuf> {
        let (mut name, mut float, mut integer) = (String::new(), None, None);
        for field in Fields::new(message) {
            match field? {
                (1, value) => name = value.text(1)?,
                (2, value) => float = Some(value.float(2)?),
                (3, value) => integer = Some(value.integer(3)?),
                (5, value) => self.value = Some(Tensor::read(value.bytes(5)?)?.1),
                _ => {}
            }
        }
        if let Some(float) = float {
            self.floats.insert(name.clone(), float);
        }
        if let Some(integer) = integer {
            self.integers.insert(name, integer);
        }
        Ok(())
    }

    pub(super) fn integer(&self, name: &str, default: i64) -> i64 {
        self.integers.get(name).copied().unwrap_or(default)
    }

    pub(super) fn float(&self, name: &str, default: f32) -> f32 {
        self.floats.get(name).copied().unwrap_or(default)
    }
}

impl Tensor {
    fn read(message: &[u8]) -> Result<(String, Tensor), BadProtobuf> {
        let (mut name, mut dims, mut values) = (String::new(), Vec::new(), Vec::new());
        let (mut kind, mut raw): (_, Option<&[u8]>) = (FLOAT, None);
        for field in Fields::new(message) {
            match field? {
                (1, value) => value.integers(1, &mut dims)?,
                (2, value) => kind = value.integer(2)?,
                (4, value) => value.floats(4, &mut values)?,
                (8, value) => name = value.text(8)?,
                (9, value) => raw = Some(value.bytes(9)?),
                // A nonzero location says that the values are in another file.
                (14, value) if value.integer(14)? != 0 => return Err(BadProtobuf::External),
                _ => {}
            }
        }
        let shape: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let shape = shape.ok_or(BadProtobuf::Tensor)?;
        if kind != FLOAT {
            return Ok((name, Tensor { shape, values: Vec::new() }));
        }
        if let Some(raw) = raw {
            let (floats, rest) = raw.as_chunks();
            if !rest.is_empty() {
                return Err(BadProtobuf::Tensor);
            }
            values = floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        }
        let len = shape.iter().try_fold(1_usize, |len, &dim| len.checked_mul(dim));
        if len != Some(values.len()) {
            return Err(BadProtobuf::Tensor);
        }
        Ok((name, Tensor { shape, values }))
    }
}

/// The name of a graph's input or output.
fn value_name(message: &[u8]) -> Result<String, BadProtobuf> {
    let mut name = String::new();
    for field in Fields::new(message) {
        if let (1, value) = field? {
            name = value.text(1)?;
        }
    }
    Ok(name)
}
