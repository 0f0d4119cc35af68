//! How are named arrays written to a file, so that the same contents give the same bytes?
//!
//! The format is `safetensors`, which PyTorch, JAX and others read: a header in JSON, then the
//! arrays. Reading goes through the `safetensors` crate and its checks. Writing is our own, for that
//! crate keeps metadata in a hash map and so writes it in an order that changes from run to run;
//! [`Writer`] sorts metadata and arrays by name.
//!
//! Start at [`Writer`] and [`Reader`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use safetensors::{Dtype, SafeTensors};

use crate::half::{from_half, to_half};

/// Collects arrays and metadata, and lays them out.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    metadata: BTreeMap<String, String>,
    tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Writer {
    pub(crate) fn metadata(&mut self, key: &str, value: impl Into<String>) {
        self.metadata.insert(key.to_owned(), value.into());
    }

    pub(crate) fn f32s(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensors.insert(name.to_owned(), (Dtype::F32, shape.to_vec(), bytes));
    }

    /// The same in half precision.
    pub(crate) fn f16s(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes = values.iter().flat_map(|value| to_half(*value).to_le_bytes()).collect();
        self.tensors.insert(name.to_owned(), (Dtype::F16, shape.to_vec(), bytes));
    }

    pub(crate) fn f64s(&mut self, name: &str, values: &[f64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensors.insert(name.to_owned(), (Dtype::F64, vec![values.len()], bytes));
    }

    pub(crate) fn u64s(&mut self, name: &str, values: &[u64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensors.insert(name.to_owned(), (Dtype::U64, vec![values.len()], bytes));
    }

    /// Returns the file's bytes, with a checksum over all that was added.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let parts = self.tensors.iter();
        let parts = parts.map(|(name, (_, shape, bytes))| (name.as_str(), &shape[..], &bytes[..]));
        let sum = checksum(self.metadata.iter(), parts);
        let mut metadata = self.metadata.clone();
        metadata.insert(CHECKSUM.to_owned(), sum);
        let mut header = format!("{{\"__metadata__\":{}", json(&metadata));
        let mut offset = 0;
        for (name, (dtype, shape, bytes)) in &self.tensors {
            let end = offset + bytes.len();
            // Writing to a `String` cannot fail, so there is nothing to handle.
            let _ = write!(
                header,
                ",{}:{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{offset},{end}]}}",
                json(name),
            );
            offset = end;
        }
        header.push('}');
        // Arrays start at a multiple of eight, as the format's own writer has it.
        while !header.len().is_multiple_of(8) {
            header.push(' ');
        }
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        for (_, _, bytes) in self.tensors.values() {
            file.extend_from_slice(bytes);
        }
        file
    }
}

/// The metadata entry that tells whether a file is as it was written. Against damage, not against malice.
const CHECKSUM: &str = "cpss-checksum";

/// The 64-bit FNV-1a hash of all that a file holds, in the order of names.
fn checksum<'a>(
    metadata: impl Iterator<Item = (&'a String, &'a String)>,
    tensors: impl Iterator<Item = (&'a str, &'a [usize], &'a [u8])>,
) -> String {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        // Lengths too, so that nothing can pass from one part to the next.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for (key, value) in metadata {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    for (name, shape, bytes) in tensors {
        add(name.as_bytes());
        shape.iter().for_each(|size| add(&(*size as u64).to_le_bytes()));
        add(bytes);
    }
    format!("{sum:016x}")
}

/// A file whose header and extents were checked.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    tensors: SafeTensors<'a>,
    metadata: BTreeMap<String, String>,
}

/// A file that does not hold what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// Not a `safetensors` file, or one that was cut or damaged.
    #[error("the file is not whole: {0}")]
    Damaged(String),
    /// An array that should be there is not.
    #[error("there is no array named `{0}`")]
    Missing(String),
    /// A metadata entry that should be there is not.
    #[error("the metadata has no entry `{0}`")]
    MissingMetadata(String),
    /// An array of the wrong type.
    #[error("`{name}` holds {found}, not {expected}")]
    Type {
        /// The array's name.
        name: String,
        /// The type found.
        found: String,
        /// The type expected.
        expected: String,
    },
    /// An array of the wrong shape.
    #[error("`{name}` has the shape {found:?}, not {expected:?}")]
    Shape {
        /// The array's name.
        name: String,
        /// The shape found.
        found: Vec<usize>,
        /// The shape expected.
        expected: Vec<usize>,
    },
    /// A weight that is NaN or infinite.
    #[error("`{name}` holds {value} at index {index}")]
    NotFinite {
        /// The array's name.
        name: String,
        /// Where.
        index: usize,
        /// What.
        value: String,
    },
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Reader<'a>, TensorError> {
        let damaged = |error: safetensors::SafeTensorError| TensorError::Damaged(error.to_string());
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let metadata = header.metadata().iter().flatten();
        let metadata = metadata.map(|(key, value)| (key.clone(), value.clone()));
        let mut metadata: BTreeMap<String, String> = metadata.collect();
        // Files of other programs, and of before there was one, have none.
        if let Some(wanted) = metadata.remove(CHECKSUM) {
            let mut parts = tensors.tensors();
            parts.sort_by(|(a, _), (b, _)| a.cmp(b));
            let parts = parts.iter().map(|(name, part)| (name.as_str(), part.shape(), part.data()));
            if checksum(metadata.iter(), parts) != wanted {
                let reason = "its numbers or words are not those that were written";
                return Err(TensorError::Damaged(reason.to_owned()));
            }
        }
        Ok(Reader { tensors, metadata })
    }

    pub(crate) fn all_metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    pub(crate) fn metadata(&self, key: &str) -> Result<&str, TensorError> {
        let value = self.metadata.get(key).map(String::as_str);
        value.ok_or_else(|| TensorError::MissingMetadata(key.to_owned()))
    }

    /// The array's shape.
    pub(crate) fn shape(&self, name: &str) -> Result<Vec<usize>, TensorError> {
        let tensor = self.tensors.tensor(name);
        let tensor = tensor.map_err(|_| TensorError::Missing(name.to_owned()))?;
        Ok(tensor.shape().to_vec())
    }

    /// Whether there is an array of this shape.
    pub(crate) fn expect_shape(&self, name: &str, expected: &[usize]) -> Result<(), TensorError> {
        let found = self.shape(name)?;
        if found == expected {
            return Ok(());
        }
        Err(TensorError::Shape { name: name.to_owned(), found, expected: expected.to_vec() })
    }

    /// Reads an array of this shape, each element finite.
    pub(crate) fn finite_f32s(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, TensorError> {
        let values = self.f32s(name, shape)?;
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let value = values[index].to_string();
            return Err(TensorError::NotFinite { name: name.to_owned(), index, value });
        }
        Ok(values)
    }

    /// Whether an array is there in half precision.
    pub(crate) fn is_half(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok_and(|tensor| tensor.dtype() == Dtype::F16)
    }

    /// Reads an array of this shape, in single or in half precision.
    pub(crate) fn f32s(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, TensorError> {
        if self.is_half(name) {
            let bytes = self.bytes(name, Dtype::F16, Some(shape))?;
            let halves = bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            return Ok(halves.map(from_half).collect());
        }
        let bytes = self.bytes(name, Dtype::F32, Some(shape))?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// Reads a list of any length.
    pub(crate) fn f64s(&self, name: &str) -> Result<Vec<f64>, TensorError> {
        let bytes = self.bytes(name, Dtype::F64, None)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// Reads a list of any length.
    pub(crate) fn u64s(&self, name: &str) -> Result<Vec<u64>, TensorError> {
        let bytes = self.bytes(name, Dtype::U64, None)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    fn bytes(
        &self,
        name: &str,
        dtype: Dtype,
        shape: Option<&[usize]>,
    ) -> Result<&'a [u8], TensorError> {
        let tensor = self.tensors.tensor(name);
        let tensor = tensor.map_err(|_| TensorError::Missing(name.to_owned()))?;
        if tensor.dtype() != dtype {
            let (found, expected) = (tensor.dtype().to_string(), dtype.to_string());
            return Err(TensorError::Type { name: name.to_owned(), found, expected });
        }
        match shape {
            Some(expected) if expected != tensor.shape() => Err(TensorError::Shape {
                name: name.to_owned(),
                found: tensor.shape().to_vec(),
                expected: expected.to_vec(),
            }),
            _ => Ok(tensor.data()),
        }
    }
}

/// Strings and maps of strings always have a JSON form.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_bytes_repeat() {
        let write = || {
            let mut writer = Writer::default();
            for key in ["zeta", "alpha", "mid \"quoted\""] {
                writer.metadata(key, format!("value of {key}"));
            }
            writer.f32s("weights", &[2, 3], &[1.0, -0.0, f32::NAN, 4.0, 5.0, 6.0]);
            writer.f64s("returns", &[0.1]);
            writer.u64s("counters", &[u64::MAX, 0]);
            writer.finish()
        };
        let bytes = write();
        assert_eq!(bytes, write());
        let reader = Reader::new(&bytes).unwrap();
        assert_eq!(reader.metadata("zeta").unwrap(), "value of zeta");
        assert_eq!(reader.all_metadata().len(), 3);
        assert_eq!(reader.u64s("counters").unwrap(), [u64::MAX, 0]);
        assert_eq!(reader.f64s("returns").unwrap(), [0.1]);
        let weights = reader.f32s("weights", &[2, 3]).unwrap();
        assert!(weights[2].is_nan() && weights[1].is_sign_negative());
        assert!(matches!(
            reader.finite_f32s("weights", &[2, 3]),
            Err(TensorError::NotFinite { index: 2, .. })
        ));
        assert!(matches!(reader.f32s("weights", &[3, 2]), Err(TensorError::Shape { .. })));
        assert!(matches!(reader.u64s("weights"), Err(TensorError::Type { .. })));
        assert!(matches!(reader.u64s("nothing"), Err(TensorError::Missing(_))));
    }
}
