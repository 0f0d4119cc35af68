//! Contract: a Q-network exported from Stable-Baselines3 gives the Q-values that Stable-Baselines3
//! gives, by either road; an ONNX graph that is not a plain MLP is refused by the operator's name;
//! no bytes whatever make the reader panic.
//!
//! The fixtures are made by `scripts/export_sb3.py --fixture`.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

use std::collections::BTreeMap;

use cpss_dqn::{OnnxError, Policy, QFunction, load_onnx, policy_from_onnx};
use proptest::prelude::*;
use serde::Deserialize;

const RELU: &[u8] = include_bytes!("fixtures/sb3_relu.onnx");
const TANH: &[u8] = include_bytes!("fixtures/sb3_tanh.onnx");
const SIGMOID: &[u8] = include_bytes!("fixtures/sb3_sigmoid.onnx");

#[derive(Deserialize)]
struct Expected {
    observations: Vec<Vec<f32>>,
    relu: Vec<Vec<f32>>,
    tanh: Vec<Vec<f32>>,
    sigmoid: Vec<Vec<f32>>,
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
    assert_q_values(read(TANH).unwrap(), &expected.observations, &expected.tanh);
}

#[test]
fn a_lowered_policy_is_saved_and_loaded_like_any_other() {
    let policy = read(RELU).unwrap();
    let again = Policy::from_bytes(&policy.to_bytes()).unwrap();
    assert_eq!(again.network(), policy.network());
}

#[test]
#[cfg(not(feature = "onnx-tract"))]
fn another_graph_is_refused_and_the_feature_that_runs_it_is_named() {
    assert_eq!(Expected::load().sigmoid.len(), 4);
    assert!(load_onnx(RELU).is_ok());
    let Err(error) = load_onnx(SIGMOID) else { panic!("a Sigmoid was lowered") };
    assert!(matches!(&error, OnnxError::Operator { operator, .. } if operator == "Sigmoid"));
    assert!(error.to_string().contains("onnx-tract"));
}

#[test]
#[cfg(feature = "onnx-tract")]
fn another_graph_gives_its_own_q_values_by_the_general_runtime() {
    let expected = Expected::load();
    let mut policy = load_onnx(SIGMOID).unwrap();
    policy.check_task(25, 5).unwrap();
    for (observation, expected) in expected.observations.iter().zip(&expected.sigmoid) {
        let q_values = policy.q_values(0, observation).unwrap();
        for (q, expected) in q_values.iter().zip(expected) {
            assert!((q - expected).abs() < 1e-6, "{q} is not {expected}");
        }
    }
    let error = policy.act(12, &[f32::NAN; 25]).unwrap_err();
    assert!(matches!(error, cpss_dqn::ActError::NotFinite { step: 12, .. }));
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
