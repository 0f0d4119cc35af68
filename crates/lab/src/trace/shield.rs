//! How does a whole shield stand in a trace, so that it can be set up again?
//!
//! A [`ShieldSpec`], all of it and in its own words; these types only say how `serde` reads and writes the shield's own.

use cpss_shield::{Charge, Fallback, GainSpec, Mode, ShieldSpec};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// For `#[serde(with = ...)]`.
#[derive(Deserialize, Serialize)]
#[serde(remote = "ShieldSpec", deny_unknown_fields)]
pub(crate) struct ShieldLine {
    budget: f64,
    horizon: u32,
    epsilon: f64,
    tau_cap: f64,
    pace: f64,
    price: f64,
    #[serde(with = "ChargeWord")]
    charge: Charge,
    #[serde(with = "GainLine")]
    gain: GainSpec,
    smoothing: f64,
    #[serde(with = "FallbackWord")]
    fallback: Fallback,
    /// Whether verdicts were only recorded.
    #[serde(rename = "shadow", serialize_with = "write_shadow", deserialize_with = "read_shadow")]
    mode: Mode,
    last_resort: usize,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Charge", rename_all = "kebab-case")]
enum ChargeWord {
    Observed,
    Predicted,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Fallback", rename_all = "kebab-case")]
enum FallbackWord {
    MinRisk,
    BestAdmissible,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "GainSpec", rename_all = "kebab-case", deny_unknown_fields)]
enum GainLine {
    Constant {},
    Exponential { k_density: f64, k_change: f64, floor: f64 },
    Rational { k_density: f64, k_change: f64, floor: f64 },
}

fn write_shadow<S: Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    (*mode == Mode::Shadow).serialize(serializer)
}

fn read_shadow<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
    let is_shadow = bool::deserialize(deserializer)?;
    Ok(if is_shadow { Mode::Shadow } else { Mode::Enforce })
}
