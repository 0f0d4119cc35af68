//! Contract: a policy file is either loaded exactly or refused with the reason. What is saved loads to
//! the same bits; a file that is cut, damaged, of the wrong shape or holds a NaN is a typed error, and
//! no bytes whatever make the reader panic. A policy that computes a NaN never acts on it.

#![allow(clippy::unwrap_used, reason = "a test whose setup fails has failed")]

mod seal;

use std::collections::BTreeMap;

use cpss_learn::generator::{Generator, Purpose};
use cpss_learn::policy::card;
use cpss_learn::topology::BadTopology;
use cpss_learn::{
    ActError, Activation, LoadError, Network, Policy, QFunction, TensorError, Topology, WrongTask,
};
use proptest::prelude::*;
use seal::unsealed;

fn policy() -> Policy {
    let topology = Topology::mlp(6, &[10, 7], 3, Activation::Relu, true).unwrap();
    let network = Network::new(topology, &mut Generator::new(1, Purpose::Weights));
    let card = [(card::ENV, "merge-v0"), (card::SEED, "1"), (card::SCORE, "13.7")];
    Policy::new(network, card.map(|(key, value)| (key.to_owned(), value.to_owned())).into())
}

/// A file with this header and this much data after it.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// A policy of one layer, its weight and bias of the given shapes.
fn one_layer(weight: &str, bias: &str, values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (split, end) = (data.len() - 8, data.len());
    let header = format!(
        r#"{{"__metadata__":{{"format":"cpss-dqn policy 1","activations":"identity","dueling":"false"}},
        "0.weight":{{"dtype":"F32","shape":{weight},"data_offsets":[0,{split}]}},
        "0.bias":{{"dtype":"F32","shape":{bias},"data_offsets":[{split},{end}]}}}}"#
    );
    file(&header, &data)
}

#[test]
fn what_is_saved_loads_to_the_same_bits() {
    let saved = policy();
    let bytes = saved.to_bytes();
    let loaded = Policy::from_bytes(&bytes).unwrap();
    assert_eq!(loaded.network(), saved.network());
    assert_eq!(loaded.card(), saved.card());
    assert_eq!(loaded.to_bytes(), bytes);
}

#[test]
fn half_the_room_holds_nearly_the_same_policy_and_loads_to_its_bits() {
    let (whole, mut halved) = (policy(), policy().halved());
    let bytes = halved.to_bytes();
    let loaded = Policy::from_bytes(&bytes).unwrap();
    assert_eq!(loaded.network(), halved.network());
    assert_eq!(loaded.to_bytes(), bytes);
    let of_weights = |bytes: &[u8]| {
        bytes.len() - 8 - u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
    };
    assert_eq!(2 * of_weights(&bytes), of_weights(&whole.to_bytes()));
    let seen = [0.3, -0.1, 0.7, 0.2, -0.9, 0.5];
    let (mut whole, halved) = (whole, halved.q_values(0, &seen).unwrap().to_vec());
    for (whole, halved) in whole.q_values(0, &seen).unwrap().iter().zip(halved) {
        assert!((whole - halved).abs() < 1e-3, "{whole} is not {halved}");
    }
}

#[test]
fn a_well_formed_file_written_elsewhere_loads() {
    let bytes = one_layer("[2,3]", "[2]", &[1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 0.5, 0.0]);
    let mut policy = Policy::from_bytes(&bytes).unwrap();
    assert_eq!(policy.q_values(0, &[1.0, 1.0, 1.0]).unwrap(), [6.5, 1.0]);
}

#[test]
fn wrong_shapes_are_refused_by_name() {
    let values = [1.0; 8];
    let error = Policy::from_bytes(&one_layer("[3,2]", "[2]", &values)).unwrap_err();
    let shape = TensorError::Shape { name: "0.bias".into(), found: vec![2], expected: vec![3] };
    assert_eq!(error, LoadError::Tensors(shape));
    let error = Policy::from_bytes(&one_layer("[6]", "[2]", &values)).unwrap_err();
    assert_eq!(error, LoadError::Dimensions { name: "0.weight".into(), shape: vec![6] });
    let error = Policy::from_bytes(&one_layer("[2,0]", "[2]", &values[..2])).unwrap_err();
    assert_eq!(error, LoadError::Topology(BadTopology::Units { layer: 0, units: 0 }));
}

#[test]
fn a_weight_that_is_not_finite_is_refused_by_name_and_place() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let values = [1.0, 1.0, 1.0, 1.0, bad, 1.0, 1.0, 1.0];
        let error = Policy::from_bytes(&one_layer("[2,3]", "[2]", &values)).unwrap_err();
        let value = bad.to_string();
        let at = TensorError::NotFinite { name: "0.weight".into(), index: 4, value };
        assert_eq!(error, LoadError::Tensors(at));
    }
}

#[test]
fn missing_parts_are_refused_by_name() {
    let error = Policy::from_bytes(&file("{}", &[])).unwrap_err();
    assert_eq!(error, LoadError::Tensors(TensorError::MissingMetadata("format".into())));
    let header =
        r#"{"__metadata__":{"format":"cpss-dqn policy 1","activations":"gelu","dueling":"false"}}"#;
    let error = Policy::from_bytes(&file(header, &[])).unwrap_err();
    assert_eq!(error, LoadError::Metadata { key: "activations", value: "gelu".into() });
    let error = Policy::from_bytes(&file(&header.replace("gelu", "relu"), &[])).unwrap_err();
    assert_eq!(error, LoadError::Tensors(TensorError::Missing("0.weight".into())));
}

#[test]
fn a_policy_for_another_task_is_refused_with_both_shapes() {
    let policy = policy();
    assert_eq!(policy.check_task(6, 3), Ok(()));
    let error = policy.check_task(25, 5).unwrap_err();
    assert_eq!((error.observation_len, error.task_observation_len), (6, 25));
    let WrongTask { actions, task_actions, .. } = error;
    assert_eq!((actions, task_actions), (3, 5));
}

#[test]
fn a_nan_is_an_error_that_names_the_step_and_never_an_action() {
    let mut policy = policy();
    let mut observation = [0.1; 6];
    assert!(policy.act(16, &observation).is_ok());
    observation[2] = f32::NAN;
    let error = policy.act(17, &observation).unwrap_err();
    assert!(matches!(error, ActError::NotFinite { step: 17, action: 0, .. }));
    assert_eq!(error.to_string(), "step 17: the Q-value of action 0 is NaN");
    // Finite weights and a finite observation can overflow: that is no action either.
    let topology = Topology::mlp(1, &[], 2, Activation::Relu, false).unwrap();
    let mut network = Network::zeros(topology);
    network.set_layer(0, &[0.0, f32::MAX], &[0.0, 0.0]);
    let mut policy = Policy::new(network, BTreeMap::new());
    let error = policy.act(3, &[2.0]).unwrap_err();
    assert_eq!(error, ActError::NotFinite { step: 3, action: 1, value: f32::INFINITY });
    let error = policy.act(4, &[2.0, 1.0]).unwrap_err();
    assert_eq!(error, ActError::Length { step: 4, found: 2, expected: 1 });
}

proptest! {
    #[test]
    fn a_cut_file_is_an_error(keep in 0.0..1.0_f64) {
        let bytes = policy().to_bytes();
        let len = (keep * bytes.len() as f64) as usize;
        let error = Policy::from_bytes(&bytes[..len]).unwrap_err();
        prop_assert!(matches!(error, LoadError::Tensors(TensorError::Damaged(_))));
    }

    #[test]
    fn a_damaged_file_never_panics_and_never_loads_a_nan(
        damage in proptest::collection::vec((0.0..1.0_f64, any::<u8>()), 1..8),
    ) {
        // What a checksum would refuse is not read at all.
        let mut bytes = unsealed(policy().to_bytes());
        for (at, byte) in damage {
            let position = (at * bytes.len() as f64) as usize;
            bytes[position] = byte;
        }
        if let Ok(policy) = Policy::from_bytes(&bytes) {
            for layer in 0..policy.network().topology().layers().len() {
                let (weights, bias) = policy.network().layer(layer);
                prop_assert!(weights.iter().chain(&bias).all(|weight| weight.is_finite()));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Policy::from_bytes(&bytes).is_err());
    }
}
