//! Which methods are compared, and what does "alone" mean for each?
//!
//! A [`Method`] is a row of the tables: a learner, or the barrier filter around the shipped DQNs. What differs between
//! them when they are played is here and nowhere else: whose policies drive, in which arm they are alone, and whether
//! there is a row under our shield.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::learn::train::algorithm::Algorithm;

/// A method of the comparison.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) enum Method {
    /// The policies of a learner.
    Learner(Algorithm),
    /// The shipped DQNs behind a barrier filter, which learns nothing.
    Barrier,
}

/// The filter's name, of the method and of its arm.
const BARRIER: &str = "barrier";

impl Method {
    /// The unconstrained one that returns are measured against.
    pub(crate) const DQN: Method = Method::Learner(Algorithm::Dqn);

    /// All of them, in the order of tables.
    pub(crate) fn all() -> Vec<Method> {
        Algorithm::ALL.into_iter().map(Method::Learner).chain([Method::Barrier]).collect()
    }

    /// Its name on the command line, in plans, folders and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Learner(algorithm) => algorithm.name(),
            Method::Barrier => BARRIER,
        }
    }

    /// The arm in which it drives without our shield. The static shield is the method itself, and so stays; what learned
    /// under our shield drives without it here.
    pub(crate) fn alone(self) -> &'static str {
        match self {
            Method::Learner(Algorithm::StaticShield) => "fixed",
            Method::Learner(_) => "dqn",
            Method::Barrier => BARRIER,
        }
    }

    /// The arm in which our shield stands around it; none where that would be the DQN under it once more.
    pub(crate) fn shielded(self) -> Option<&'static str> {
        match self {
            Method::Learner(_) => Some("cpss"),
            Method::Barrier => None,
        }
    }

    /// Which learner's policies drive.
    pub(crate) fn learner(self) -> Algorithm {
        match self {
            Method::Learner(algorithm) => algorithm,
            Method::Barrier => Algorithm::Dqn,
        }
    }

    /// What it is to be compared with: the same without a constraint. `None` for one that has none.
    pub(crate) fn unconstrained(self) -> Option<Method> {
        let plain = Method::Learner(self.learner().unconstrained());
        (plain != self).then_some(plain)
    }

    /// Where a policy of it is, below the folder of all; `None` if it is shipped.
    pub(crate) fn file(self, folder: &Path, task: &str, seed: usize) -> Option<PathBuf> {
        let is_shipped = self.learner() == Algorithm::Dqn;
        let file =
            || folder.join(task).join(self.learner().name()).join(format!("{seed}.safetensors"));
        (!is_shipped).then(file)
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Method, String> {
        Method::all().into_iter().find(|method| method.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Method::all().into_iter().map(Method::name).collect();
            format!("`{text}` is no method: give one of {}", names.join(", "))
        })
    }
}

impl TryFrom<String> for Method {
    type Error = String;

    fn try_from(text: String) -> Result<Method, String> {
        text.parse()
    }
}

impl JsonSchema for Method {
    fn schema_name() -> Cow<'static, str> {
        "Method".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Method::all().into_iter().map(Method::name).collect();
        json_schema!({ "description": "A method of the comparison.", "type": "string", "enum": names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_read_as_it_is_written() {
        for method in Method::all() {
            assert_eq!(method.name().parse(), Ok(method));
        }
        let refusal = "shield".parse::<Method>().unwrap_err();
        assert!(refusal.contains("give one of dqn,") && refusal.ends_with("barrier"), "{refusal}");
    }

    #[test]
    fn what_is_shipped_has_no_file_and_no_constraint_no_comparison() {
        let of = |name: &str| name.parse::<Method>().unwrap();
        let file = of("cpo").file(Path::new("b"), "merge-v0", 3);
        assert_eq!(file, Some(PathBuf::from("b/merge-v0/cpo/3.safetensors")));
        for shipped in ["dqn", "barrier"] {
            assert_eq!(of(shipped).file(Path::new("b"), "merge-v0", 3), None);
        }
        assert_eq!(of("cpo").unconstrained(), Some(of("ppo")));
        assert_eq!(of("barrier").unconstrained(), Some(Method::DQN));
        assert_eq!((of("ppo").unconstrained(), Method::DQN.unconstrained()), (None, None));
    }
}
