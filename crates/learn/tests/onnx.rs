//! Contract: a Q-network exported from Stable-Baselines3 gives the Q-values that Stable-Baselines3
//! gives, by safetensors and by ONNX from either of PyTorch's exporters; an ONNX graph that is not a
//! plain MLP is refused by the operator's name, one with its weights elsewhere with the remedy;
//! no bytes whatever make the reader panic.
//!
//! The fixtures are made by `scripts/export_sb3.py --fixture`.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::collections::BTreeMap;

use cpss_learn::onnx::BadProtobuf;
use cpss_learn::{ActError, OnnxError, Policy, QFunction, policy_from_onnx};
use proptest::prelude::*;
use serde::Deserialize;

const RELU: &[u8] = include_bytes!("fixtures/sb3_relu.onnx");
const TORCHSCRIPT: &[u8] = include_bytes!("fixtures/sb3_relu_torchscript.onnx");
const TANH: &[u8] = include_bytes!("fixtures/sb3_tanh.onnx");
const SIGMOID: &[u8] = include_bytes!("fixtures/sb3_sigmoid.onnx");

#[derive(Deserialize)]
struct Expected {
    observations: Vec<Vec<f32>>,
    relu: Vec<Vec<f32>>,
    tanh: Vec<Vec<f32>>,
}

impl Expected {
    fn load() -> Expected {
        serde_json::from_str(include_str!("fixtures/sb3_q_values.json")).unwrap()
    }
}

fn read(bytes: &[u8]) -> Result<Policy, OnnxError> {
    policy_from_onnx(bytes, BTreeMap::new())
}

fn assert_q_values(mut policy: impl QFunction, observations: &[Vec<f32>], expected: &[Vec<f32>]) {
    policy.check_task(25, 5).unwrap();
    for (observation, expected) in observations.iter().zip(expected) {
        let q_values = policy.q_values(0, observation).unwrap();
        for (q, expected) in q_values.iter().zip(expected) {
            assert!((q - expected).abs() < 1e-6, "{q} is not {expected}");
        }
    }
}

#[test]
fn an_exported_policy_gives_its_own_q_values() {
    let expected = Expected::load();
    assert_eq!(expected.observations.len(), 4);
    let relu = Policy::from_bytes(include_bytes!("fixtures/sb3_relu.safetensors")).unwrap();
    let tanh = Policy::from_bytes(include_bytes!("fixtures/sb3_tanh.safetensors")).unwrap();
    assert_q_values(relu, &expected.observations, &expected.relu);
    assert_q_values(tanh, &expected.observations, &expected.tanh);
    assert_q_values(read(RELU).unwrap(), &expected.observations, &expected.relu);
    assert_q_values(read(TORCHSCRIPT).unwrap(), &expected.observations, &expected.relu);
    assert_q_values(read(TANH).unwrap(), &expected.observations, &expected.tanh);
}

#[test]
fn a_lowered_policy_is_saved_and_loaded_like_any_other() {
    let policy = read(RELU).unwrap();
    let again = Policy::from_bytes(&policy.to_bytes()).unwrap();
    assert_eq!(again.network(), policy.network());
}

#[test]
fn another_graph_is_refused_and_the_refusal_says_what_to_export() {
    let error = read(SIGMOID).unwrap_err();
    assert!(matches!(&error, OnnxError::Operator { operator, .. } if operator == "Sigmoid"));
    assert!(error.to_string().contains("`model.policy.q_net`"));
}

#[test]
fn weights_in_another_file_are_refused_with_the_option_that_keeps_them_here() {
    // Field 14, the data location, is 1: external. PyTorch's newer exporter does this by default.
    let outside = field(5, &[field(1, &[1, 1]), vec![2 << 3, 1, 14 << 3, 1]].concat());
    let error = read(&model(&[node("MatMul", &["x", "W"], "y")], &[outside])).unwrap_err();
    assert_eq!(error, OnnxError::Protobuf(BadProtobuf::External));
    assert!(error.to_string().contains("`external_data=False`"));
}

#[test]
fn a_shape_may_be_reckoned_but_a_weight_may_not() {
    let weights = || tensor("W", &[1, 1], &[2.0]);
    let nodes = [
        node("Shape", &["x"], "size"),
        node("Constant", &[], "rest"),
        node("Concat", &["size", "rest"], "shape"),
        node("Reshape", &["x", "shape"], "flat"),
        node("MatMul", &["flat", "W"], "y"),
    ];
    let mut policy = read(&model(&nodes, &[weights()])).unwrap();
    assert_eq!(policy.q_values(0, &[3.0]).unwrap(), [6.0]);

    let nodes = [node("Neg", &["W"], "reckoned"), node("MatMul", &["x", "reckoned"], "y")];
    let error = read(&model(&nodes, &[weights()])).unwrap_err();
    assert!(matches!(error, OnnxError::Node { .. }), "{error}");
}

#[test]
fn weights_as_a_list_of_floats_are_read_as_raw_bytes_are() {
    let values = [2.0_f32, -1.0].map(f32::to_le_bytes).concat();
    let listed = [field(1, &[2, 1]), vec![2 << 3, 1], field(8, b"W"), field(4, &values)].concat();
    let nodes = [node("MatMul", &["x", "W"], "y")];
    let mut policy = read(&model(&nodes, &[field(5, &listed)])).unwrap();
    assert_eq!(policy.q_values(0, &[3.0, 1.0]).unwrap(), [5.0]);
}

#[test]
fn q_values_that_overflow_are_an_error_with_the_step_and_never_an_action() {
    let weights = tensor("W", &[1, 2], &[0.0, f32::MAX]);
    let mut policy = read(&model(&[node("MatMul", &["x", "W"], "y")], &[weights])).unwrap();
    assert_eq!(policy.act(11, &[1.0]).unwrap(), 1);
    let value = f32::INFINITY;
    assert_eq!(
        policy.act(12, &[2.0]).unwrap_err(),
        ActError::NotFinite { step: 12, action: 1, value }
    );
    let error = policy.act(13, &[f32::NAN]).unwrap_err();
    assert!(matches!(error, ActError::NotFinite { step: 13, action: 0, .. }), "{error}");
}

#[test]
fn matmul_and_add_make_a_layer_as_gemm_does() {
    // y = relu(x · [[1, -2], [3, 4]] + [1, 1]), the bias as the first operand of the sum.
    let weights = tensor("W", &[2, 2], &[1.0, -2.0, 3.0, 4.0]);
    let bias = tensor("b", &[2], &[1.0, 1.0]);
    let nodes = [
        node("MatMul", &["x", "W"], "sums"),
        node("Add", &["b", "sums"], "biased"),
        node("Relu", &["biased"], "y"),
    ];
    let mut policy = read(&model(&nodes, &[weights, bias])).unwrap();
    assert_eq!(policy.q_values(0, &[1.0, 0.0]).unwrap(), [2.0, 0.0]);
    assert_eq!(policy.q_values(0, &[0.0, 1.0]).unwrap(), [4.0, 5.0]);
}

#[test]
fn an_unsupported_operator_is_refused_by_name() {
    let weights = tensor("W", &[1, 1], &[1.0]);
    let nodes = [node("MatMul", &["x", "W"], "h"), node("Softmax", &["h"], "y")];
    let error = read(&model(&nodes, &[weights])).unwrap_err();
    assert!(matches!(&error, OnnxError::Operator { operator, .. } if operator == "Softmax"));
    assert!(error.to_string().contains("`Softmax`"));
}

#[test]
fn a_graph_that_is_not_one_chain_is_refused() {
    let weights = || tensor("W", &[1, 1], &[1.0]);
    // The second layer takes the observation again: the first would be left out.
    let branch = [node("MatMul", &["x", "W"], "h"), node("MatMul", &["x", "W"], "y")];
    assert!(matches!(read(&model(&branch, &[weights()])), Err(OnnxError::Node { .. })));
    // The chain ends before the output.
    let short = [node("MatMul", &["x", "W"], "h")];
    let error = read(&model(&short, &[weights()])).unwrap_err();
    assert_eq!(error, OnnxError::Output { reached: "h".into() });
    // A second activation cannot be a property of the layer.
    let twice =
        [node("MatMul", &["x", "W"], "h"), node("Tanh", &["h"], "g"), node("Relu", &["g"], "y")];
    assert!(matches!(read(&model(&twice, &[weights()])), Err(OnnxError::Node { .. })));
    // A weight that is not finite.
    let nan = tensor("W", &[1, 1], &[f32::NAN]);
    let plain = [node("MatMul", &["x", "W"], "y")];
    assert!(matches!(read(&model(&plain, &[nan])), Err(OnnxError::Node { .. })));
    // A bias that is not as long as the layer, and one that is not finite.
    let long = tensor("b", &[2], &[0.0, 0.0]);
    let nan = tensor("b", &[1], &[f32::NAN]);
    for bias in [long, nan] {
        let biased = [node("MatMul", &["x", "W"], "h"), node("Add", &["h", "b"], "y")];
        let error = read(&model(&biased, &[weights(), bias])).unwrap_err();
        assert!(matches!(error, OnnxError::Node { .. }));
    }
}

proptest! {
    #[test]
    fn a_damaged_file_never_panics_and_never_loads_a_nan(
        damage in proptest::collection::vec((0.0..1.0_f64, any::<u8>()), 1..8),
        keep in 0.5..=1.0_f64,
    ) {
        let mut bytes = RELU.to_vec();
        for (at, byte) in damage {
            let position = (at * bytes.len() as f64) as usize;
            bytes[position] = byte;
        }
        bytes.truncate((keep * bytes.len() as f64) as usize);
        if let Ok(policy) = read(&bytes) {
            for layer in 0..policy.network().topology().layers().len() {
                let (weights, bias) = policy.network().layer(layer);
                prop_assert!(weights.iter().chain(&bias).all(|weight| weight.is_finite()));
            }
        }
    }
}

/// A field of bytes: key, length, contents. Everything here is shorter than 128 bytes, so a length
/// is one byte.
fn field(number: u8, contents: &[u8]) -> Vec<u8> {
    assert!(contents.len() < 128);
    [&[number << 3 | 2, contents.len() as u8], contents].concat()
}

fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| field(1, input.as_bytes()));
    let rest = [field(2, output.as_bytes()), field(4, operator.as_bytes())].concat();
    field(1, &inputs.chain(rest).collect::<Vec<u8>>())
}

fn tensor(name: &str, shape: &[u8], values: &[f32]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    // Field 2, the data type, is 1: 32-bit floats.
    field(
        5,
        &[field(1, shape), vec![2 << 3, 1], field(8, name.as_bytes()), field(9, &values)].concat(),
    )
}

/// A model from `x` to `y`.
fn model(nodes: &[Vec<u8>], tensors: &[Vec<u8>]) -> Vec<u8> {
    let ends = [field(11, &field(1, b"x")), field(12, &field(1, b"y"))];
    let graph = [nodes.concat(), tensors.concat(), ends.concat()].concat();
    let length = [graph.len() as u8 & 0x7F | 0x80, (graph.len() >> 7) as u8];
    [&[7 << 3 | 2][..], &length, &graph].concat()
}
