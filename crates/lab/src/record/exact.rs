//! How is a double written so that the same double is read back?
//!
//! In the shortest decimal form that does, which is what `serde_json` writes (and, with its
//! `float_roundtrip` feature, reads). JSON has no NaN and no infinity; a shield is told of them all the
//! same, so they are written as words.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A double of an account, kept to the bit.
#[derive(Clone, Copy, Debug)]
pub struct Exact(pub f64);

/// The same bits; every NaN is the same, as all are written alike.
impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        self.0.to_bits() == other.0.to_bits() || self.0.is_nan() && other.0.is_nan()
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_finite() => serializer.serialize_f64(number),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            _ => serializer.serialize_str("nan"),
        }
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Exact, D::Error> {
        deserializer.deserialize_any(ExactVisitor)
    }
}

/// Writes a plain `f64` field this way; for `#[serde(with = ...)]`.
pub(crate) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Exact(*number).serialize(serializer)
}

/// Reads a plain `f64` field this way; for `#[serde(with = ...)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Exact::deserialize(deserializer).map(|exact| exact.0)
}

struct ExactVisitor;

impl Visitor<'_> for ExactVisitor {
    type Value = Exact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"nan\", \"inf\" or \"-inf\"")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Exact, E> {
        Ok(Exact(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Exact, E> {
        Ok(Exact(value as f64))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Exact, E> {
        Ok(Exact(value as f64))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Exact, E> {
        match word {
            "nan" => Ok(Exact(f64::NAN)),
            "inf" => Ok(Exact(f64::INFINITY)),
            "-inf" => Ok(Exact(f64::NEG_INFINITY)),
            _ => Err(E::custom(format!("`{word}` is no number"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::random::Generator;

    #[test]
    fn every_double_comes_back_as_it_went() {
        let mut random = Generator::seeded(5);
        let mut bits = || u64::from_le_bytes(random.random().to_le_bytes()).rotate_left(13);
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE, 5e-324];
        let some = (0..20_000).map(|_| f64::from_bits(bits())).collect::<Vec<_>>();
        for value in odd.into_iter().chain(some).chain((1..1000).map(|n| 1.0 / f64::from(n))) {
            let text = serde_json::to_string(&Exact(value)).unwrap();
            let back: Exact = serde_json::from_str(&text).unwrap();
            assert_eq!(back, Exact(value), "{text}");
        }
        assert!(serde_json::from_str::<Exact>("\"none\"").is_err());
    }
}
