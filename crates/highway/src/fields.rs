//! How is a config dictionary read without losing a typing mistake?
//!
//! [`Fields`] takes keys out of a JSON object one by one, typed. Whatever is left at the end is a
//! key nobody knows, and the error names the nearest key that somebody does. Start at
//! [`Fields::read`].

use serde_json::{Map, Value};

/// A config that cannot be used: which key, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// No task has this id.
    #[error("there is no task `{id}`; the tasks are {known}")]
    UnknownTask {
        /// What was asked for.
        id: String,
        /// What there is.
        known: String,
    },
    /// A key that the task does not have.
    #[error("unknown key `{key}`{}", nearest.as_ref().map_or(String::new(), |near| format!("; did you mean `{near}`?")))]
    UnknownKey {
        /// The key, with the path to it.
        key: String,
        /// The known key that is spelt most alike.
        nearest: Option<String>,
    },
    /// A value of the wrong kind, or one that makes no sense.
    #[error("`{key}` is {value}, but has to be {wanted}")]
    BadValue {
        /// The key, with the path to it.
        key: String,
        /// What it held.
        value: String,
        /// What it may hold.
        wanted: String,
    },
}

/// Numbers that a config may hold: anything larger is a mistake, and could overflow later.
const MAGNITUDES: std::ops::RangeInclusive<f64> = -1e6..=1e6;

/// A config object being read.
pub(crate) struct Fields {
    path: String,
    values: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// Reads an object with `reader`, then refuses any key that was left over.
    pub(crate) fn read<T>(
        path: &str,
        value: &Value,
        reader: impl FnOnce(&mut Fields) -> Result<T, ConfigError>,
    ) -> Result<T, ConfigError> {
        let values = match value {
            Value::Object(map) => map.clone(),
            Value::Null => Map::new(),
            other => return Err(bad_value(path, other, "an object")),
        };
        let mut fields = Fields { path: path.to_owned(), values, known: Vec::new() };
        let read = reader(&mut fields)?;
        match fields.values.keys().next() {
            None => Ok(read),
            Some(key) => Err(ConfigError::UnknownKey {
                key: fields.name(key),
                nearest: fields.nearest(key).map(str::to_owned),
            }),
        }
    }

    /// Takes a value out, if the key is there.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.values.remove(key)
    }

    /// Accepts keys that do not matter here, such as the size of a window.
    pub(crate) fn ignore(&mut self, keys: &[&'static str]) {
        for key in keys {
            self.take(key);
        }
    }

    /// A number, within bounds that `wanted` puts in words.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        slot: &mut f64,
        wanted: &str,
        accept: impl Fn(f64) -> bool,
    ) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key) {
            match value.as_f64() {
                Some(number) if MAGNITUDES.contains(&number) && accept(number) => *slot = number,
                // What is too large may well be above zero.
                Some(number) if !MAGNITUDES.contains(&number) => {
                    return Err(self.bad(key, &value, &format!("{wanted}, and at most a million")));
                }
                _ => return Err(self.bad(key, &value, wanted)),
            }
        }
        Ok(())
    }

    /// A whole number within a range.
    pub(crate) fn count(
        &mut self,
        key: &'static str,
        slot: &mut usize,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key) {
            match value.as_u64().map(|count| count as usize) {
                Some(count) if range.contains(&count) => *slot = count,
                _ => {
                    let wanted =
                        format!("a whole number from {} to {}", range.start(), range.end());
                    return Err(self.bad(key, &value, &wanted));
                }
            }
        }
        Ok(())
    }

    /// True or false.
    pub(crate) fn flag(&mut self, key: &'static str, slot: &mut bool) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key) {
            *slot = value.as_bool().ok_or_else(|| self.bad(key, &value, "true or false"))?;
        }
        Ok(())
    }

    /// A pair of numbers, the first below the second by more than rounding.
    pub(crate) fn range(
        &mut self,
        key: &'static str,
        slot: &mut [f64; 2],
    ) -> Result<(), ConfigError> {
        if let Some(value) = self.take(key)
            && !value.is_null()
        {
            match self.numbers(key, &value)?.as_slice() {
                &[low, high] if high - low > 1e-9 => *slot = [low, high],
                _ => return Err(self.bad(key, &value, "two numbers, the first below the second")),
            }
        }
        Ok(())
    }

    /// A list of finite numbers.
    pub(crate) fn numbers(&self, key: &str, value: &Value) -> Result<Vec<f64>, ConfigError> {
        let wrong = || self.bad(key, value, "a list of numbers of at most a million");
        let list = value.as_array().ok_or_else(wrong)?;
        let number = |v: &Value| v.as_f64().filter(|n| MAGNITUDES.contains(n)).ok_or_else(wrong);
        list.iter().map(number).collect()
    }

    /// The error for a value that will not do.
    pub(crate) fn bad(&self, key: &str, value: &Value, wanted: &str) -> ConfigError {
        bad_value(&self.name(key), value, wanted)
    }

    /// A key with the path to it.
    pub(crate) fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn nearest(&self, key: &str) -> Option<&'static str> {
        let distance = |known: &&&'static str| strsim::damerau_levenshtein(known, key);
        let nearest = self.known.iter().min_by_key(distance)?;
        // Two of three letters have to be right: what is further off was meant for something else.
        (distance(&nearest) <= (key.chars().count() / 3).max(1)).then_some(*nearest)
    }
}

fn bad_value(key: &str, value: &Value, wanted: &str) -> ConfigError {
    ConfigError::BadValue {
        key: if key.is_empty() { "config".to_owned() } else { key.to_owned() },
        value: value.to_string(),
        wanted: wanted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Task, TaskId};

    #[test]
    fn regression_only_a_key_that_is_spelt_alike_is_suggested() {
        let said = |id, config| Task::new(id, &config).unwrap_err().to_string();
        let slip = json!({"durration": 20});
        // The merge has no `duration`, and nothing that is spelt like it.
        assert_eq!(said(TaskId::MergeV0, slip.clone()), "unknown key `durration`");
        let known = said(TaskId::HighwayV0, slip);
        assert_eq!(known, "unknown key `durration`; did you mean `duration`?");
        assert_eq!(said(TaskId::MergeV0, json!({"": 1})), "unknown key ``");
    }
}
