//! Which policies of a plan were made elsewhere?
//!
//! ```toml
//! tasks = ["intersection-v0"]
//! policies = [0, 1]
//!
//! [own.intersection-v0]
//! files = ["first.onnx", "second.safetensors"]
//! config = { observation = { type = "Kinematics", vehicles_count = 15 } }
//! ```
//!
//! Policy K of the plan is then the K-th file. What they see is [`view`](crate::play::view)'s matter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::unit::OwnPolicy;

/// Policies of one task that are not ours.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnPolicies {
    /// Their files, `.safetensors` or `.onnx`.
    pub files: Vec<String>,
    /// What they see, by highway-env's keys; see `view`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

impl OwnPolicies {
    /// The policy at a place of the list.
    pub(super) fn at(&self, place: usize) -> Option<OwnPolicy> {
        let file = self.files.get(place)?.clone();
        Some(OwnPolicy { file, config: self.config.clone() })
    }
}
