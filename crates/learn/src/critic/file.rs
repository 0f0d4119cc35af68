//! How does a critic travel?
//!
//! As a `safetensors` file: one array per layer, and string metadata with the shape, the calibration
//! (a shift; in files of the second format a lift too) and whatever the maker adds (a card: what it was learned from, and how good it is). Start at
//! [`Critic::to_bytes`] and [`Critic::from_bytes`].
//!
//! **Invariants:** equal critics give equal bytes; a weight that is not finite is never loaded, and a file
//! that is no critic is refused with the reason.

use std::collections::BTreeMap;

use super::scale::Scale;
use super::{Critic, Shape};
use crate::tensors::{Reader, TensorError, Writer};
use crate::topology::{BadTopology, Layer};

const FORMAT: &str = "format";
const FORMAT_1: &str = "cpss critic 1";
/// The same with a lift, which who reads the first only must not pass over.
const FORMAT_2: &str = "cpss critic 2";
const SHAPE: &str = "shape";
const SHIFT: &str = "shift";
const LIFT: &str = "lift";

/// A file that is not a usable critic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CriticError {
    /// An array or entry is missing, damaged or of the wrong kind.
    #[error("the critic cannot be read: {0}")]
    Tensors(#[from] TensorError),
    /// A metadata entry has no meaning.
    #[error("the critic's metadata entry `{key}` is `{value}`")]
    Metadata {
        /// The entry's key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// The shape makes no network.
    #[error("the critic's layers do not fit together: {0}")]
    Topology(#[from] BadTopology),
}

impl Critic {
    /// Returns the critic as a `safetensors` file's bytes, with what else is to be known about it.
    pub fn to_bytes(&self, about: &BTreeMap<String, String>) -> Vec<u8> {
        let mut writer = Writer::default();
        for (key, value) in about {
            writer.metadata(key, value);
        }
        let Scale { shift, lift } = self.scale();
        let is_plain = lift == 0.0;
        writer.metadata(FORMAT, if is_plain { FORMAT_1 } else { FORMAT_2 });
        // A shape is plain numbers, which always have a JSON form.
        writer.metadata(SHAPE, serde_json::to_string(self.shape()).unwrap_or_default());
        writer.metadata(SHIFT, shift.to_string());
        if !is_plain {
            writer.metadata(LIFT, lift.to_string());
        }
        for (name, weights, bias) in self.named(self.parameters()) {
            let (rows, columns) = (bias.len(), weights.len() / bias.len());
            writer.f32s(&format!("{name}.weight"), &[rows, columns], &weights);
            writer.f32s(&format!("{name}.bias"), &[rows], &bias);
        }
        writer.finish()
    }

    /// Reads a critic and what else is known about it.
    ///
    /// # Errors
    ///
    /// If the file is damaged, is no critic, or holds a number that is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Critic, BTreeMap<String, String>), CriticError> {
        let reader = Reader::new(bytes)?;
        let senseless =
            |key: &'static str, value: &str| CriticError::Metadata { key, value: value.to_owned() };
        let format = reader.metadata(FORMAT)?;
        if ![FORMAT_1, FORMAT_2].contains(&format) {
            return Err(senseless(FORMAT, format));
        }
        let shape = reader.metadata(SHAPE)?;
        let shape: Shape = serde_json::from_str(shape).map_err(|_| senseless(SHAPE, shape))?;
        let mut scale = Scale::NONE;
        let mut parts = vec![(SHIFT, &mut scale.shift)];
        if format == FORMAT_2 {
            parts.push((LIFT, &mut scale.lift));
        }
        for (key, part) in parts {
            let value = reader.metadata(key)?;
            *part = value.parse().map_err(|_| senseless(key, value))?;
        }
        if !scale.is_sound() {
            return Err(senseless(SHIFT, &format!("{scale:?}")));
        }
        let mut critic = Critic::read(shape, &reader, "")?;
        critic.set_scale(scale);
        let mut about = reader.all_metadata().clone();
        about.retain(|key, _| ![FORMAT, SHAPE, SHIFT, LIFT].contains(&key.as_str()));
        Ok((critic, about))
    }

    /// Reads the layers of a critic, whose names in the file begin with `prefix`.
    pub(crate) fn read(
        shape: Shape,
        reader: &Reader<'_>,
        prefix: &str,
    ) -> Result<Critic, CriticError> {
        // The file's arrays come first: sizes alone, which a few bytes can make huge, are given no room.
        let layers = shape.layers()?;
        let mut critic = Critic { shape, layers, parameters: Vec::new(), scale: Scale::NONE };
        let named = critic.named_layers();
        for (name, layer) in &named {
            let wanted = [layer.outputs, layer.inputs];
            reader.expect_shape(&format!("{prefix}{name}.weight"), &wanted)?;
        }
        critic.parameters = vec![0.0; critic.layers.parameters];
        for (name, layer) in named {
            let shape = [layer.outputs, layer.inputs];
            let weights = reader.finite_f32s(&format!("{prefix}{name}.weight"), &shape)?;
            let bias = reader.finite_f32s(&format!("{prefix}{name}.bias"), &[layer.outputs])?;
            let parameters = critic.parameters_mut();
            let rows = parameters[layer.weights()].chunks_exact_mut(layer.stride());
            for (row, values) in rows.zip(weights.chunks_exact(layer.inputs)) {
                row[..layer.inputs].copy_from_slice(values);
            }
            parameters[layer.bias()].copy_from_slice(&bias);
        }
        Ok(critic)
    }

    /// Every layer by its name in a file: weights row by row, and biases. Of another flat array of the same
    /// length, such as gradients, as if it were the parameters.
    pub fn named(&self, parameters: &[f32]) -> Vec<(String, Vec<f32>, Vec<f32>)> {
        let part = |layer: Layer| {
            let rows = parameters[layer.weights()].chunks_exact(layer.stride());
            let weights = rows.flat_map(|row| row[..layer.inputs].to_vec()).collect();
            (weights, parameters[layer.bias()].to_vec())
        };
        let layers = self.named_layers().into_iter();
        layers.map(|(name, layer)| (part(layer), name)).map(|((w, b), name)| (name, w, b)).collect()
    }

    /// Every layer with its name in a file.
    pub(crate) fn named_layers(&self) -> Vec<(String, Layer)> {
        let layers = self.layers();
        let first = layers.item_in.iter().flat_map(|(items, fixed)| {
            [("encoder.0.item".to_owned(), *items), ("encoder.0.fixed".to_owned(), *fixed)]
        });
        let encoder = layers.encoder.iter().zip(1..);
        let encoder = encoder.map(|(layer, place)| (format!("encoder.{place}"), *layer));
        let head = layers.head.iter().zip(0..);
        first.chain(encoder).chain(head.map(|(layer, n)| (format!("head.{n}"), *layer))).collect()
    }
}
