//! Which policy drives, and what does it see?
//!
//! A policy is named by a [`PolicySource`]: `builtin:K` for the one shipped with training seed K, or
//! a file, `.safetensors` or `.onnx`; `always:K` proposes the same action whatever it sees, which tries a shield out. [`PolicySource::load`] reads it and checks that it fits the
//! task. What it sees is the task's [`policy_config`](tasks::policy_config), or what `view` says.
//!
//! **Invariants:** a policy of the wrong shape is refused before the first step.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use cpss_highway::{Task, TaskId};
use cpss_learn::policy::card;
use cpss_learn::{ActError, LoadError, OnnxError, Policy, QFunction, WrongTask, policy_from_onnx};

use crate::tasks;

/// On a policy's card: it sees what is left of the budget, as one number after the observation.
pub(crate) const BUDGET: &str = "budget";

/// What a trace calls the policy of an arm that has none.
pub(crate) const NO_POLICY: &str = "none";

/// Where a policy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicySource {
    /// Shipped with this program: the one of this training seed.
    Builtin(usize),
    /// A file that `cpss train` wrote.
    Safetensors(PathBuf),
    /// A Q-network in ONNX.
    Onnx(PathBuf),
    /// The same proposal always.
    Always(usize),
}

/// Whoever proposes the same action always.
struct Always {
    sees: usize,
    values: Vec<f32>,
}

impl QFunction for Always {
    fn observation_len(&self) -> usize {
        self.sees
    }

    fn actions(&self) -> usize {
        self.values.len()
    }

    fn q_values(&mut self, _: u64, _: &[f32]) -> Result<&[f32], ActError> {
        Ok(&self.values)
    }
}

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Words that name no policy.
    #[error("`{0}` is no policy: give builtin:K, FILE.safetensors, FILE.onnx or always:K")]
    Unknown(String),
    /// An action that the task has not.
    #[error("always:{action} proposes no action of the task: there are {actions}, from 0")]
    NoAction {
        /// What it proposes.
        action: usize,
        /// How many there are.
        actions: usize,
    },
    /// A shipped policy that does not exist.
    #[error(
        "there is no policy builtin:{seed} for {env}: shipped are builtin:0 to builtin:4 for {}; \
         `cpss train` makes others",
        shipped_task_names()
    )]
    NotShipped {
        /// The task.
        env: &'static str,
        /// The training seed.
        seed: usize,
    },
    /// A file that cannot be read.
    #[error("cannot read the policy {path}: {error}")]
    Read {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A `safetensors` file that is not a policy.
    #[error("{path}: {error}")]
    Safetensors {
        /// The policy's name.
        path: String,
        /// What is wrong with it.
        error: LoadError,
    },
    /// An ONNX file that cannot be run.
    #[error("{path}: {error}")]
    Onnx {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        error: OnnxError,
    },
    /// A policy of another shape.
    #[error("{path}: {error}{}", way_out(error))]
    WrongTask {
        /// The policy's name.
        path: String,
        /// Both shapes.
        error: WrongTask,
    },
}

impl PolicySource {
    /// Reads the policy and checks that it fits the task.
    ///
    /// # Errors
    ///
    /// If it does not exist, cannot be read, is damaged, or has another shape than the task.
    pub fn load(&self, task: &Task) -> Result<Box<dyn QFunction>, PolicyError> {
        let actions = task.controls.action_count().unwrap_or(0);
        let policy = match self {
            PolicySource::Always(action) if *action < actions => {
                let values = (0..actions).map(|index| f32::from(u8::from(index == *action)));
                return Ok(Box::new(Always {
                    sees: task.observer.len(),
                    values: values.collect(),
                }));
            }
            PolicySource::Always(action) => {
                return Err(PolicyError::NoAction { action: *action, actions });
            }
            PolicySource::Builtin(seed) => shipped(task.id, *seed)?,
            PolicySource::Safetensors(path) => parse(&self.to_string(), &read(path)?)?,
            PolicySource::Onnx(path) => policy_from_onnx(&read(path)?, BTreeMap::new())
                .map_err(|error| PolicyError::Onnx { path: path.clone(), error })?,
        };
        let more = usize::from(policy.card().get(card::SEES).is_some_and(|sees| sees == BUDGET));
        policy
            .check_task(task.observer.len() + more, actions)
            .map_err(|error| PolicyError::WrongTask { path: self.to_string(), error })?;
        Ok(Box::new(policy))
    }

    /// Reads what a policy says of itself; `None` where its kind of file says nothing.
    ///
    /// # Errors
    ///
    /// If it does not exist, cannot be read or is damaged.
    pub fn card(&self, id: TaskId) -> Result<Option<BTreeMap<String, String>>, PolicyError> {
        match self {
            PolicySource::Builtin(seed) => Ok(Some(shipped(id, *seed)?.card().clone())),
            PolicySource::Safetensors(path) => {
                Ok(Some(parse(&self.to_string(), &read(path)?)?.card().clone()))
            }
            PolicySource::Onnx(_) | PolicySource::Always(_) => Ok(None),
        }
    }
}

impl FromStr for PolicySource {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<PolicySource, PolicyError> {
        let unknown = || PolicyError::Unknown(text.to_owned());
        if let Some(seed) = text.strip_prefix("builtin:") {
            return seed.parse().map(PolicySource::Builtin).map_err(|_| unknown());
        }
        if let Some(action) = text.strip_prefix("always:") {
            return action.parse().map(PolicySource::Always).map_err(|_| unknown());
        }
        let path = PathBuf::from(text);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("safetensors") => Ok(PolicySource::Safetensors(path)),
            Some("onnx") => Ok(PolicySource::Onnx(path)),
            _ => Err(unknown()),
        }
    }
}

impl std::fmt::Display for PolicySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PolicySource::Builtin(seed) => write!(f, "builtin:{seed}"),
            PolicySource::Always(action) => write!(f, "always:{action}"),
            PolicySource::Safetensors(path) | PolicySource::Onnx(path) => path.display().fmt(f),
        }
    }
}

/// Returns the shipped policy of a task and training seed, with its card.
///
/// # Errors
///
/// If there is none.
pub fn shipped(id: TaskId, seed: usize) -> Result<Policy, PolicyError> {
    let bytes =
        tasks::of(id).policy(seed).ok_or(PolicyError::NotShipped { env: id.name(), seed })?;
    parse(&format!("builtin:{seed} of {}", id.name()), bytes)
}

/// What to do about a policy that sees something else; about other actions nothing can be done.
fn way_out(error: &WrongTask) -> &'static str {
    let same_actions = error.actions == error.task_actions;
    if same_actions && error.observation_len != error.task_observation_len {
        "; --config, or `config` in a plan, says what a policy sees: '{}' is highway-env's default"
    } else {
        ""
    }
}

fn shipped_task_names() -> String {
    tasks::shipped().iter().map(|id| id.name()).collect::<Vec<_>>().join(", ")
}

fn read(path: &PathBuf) -> Result<Vec<u8>, PolicyError> {
    std::fs::read(path).map_err(|error| PolicyError::Read { path: path.clone(), error })
}

fn parse(path: &str, bytes: &[u8]) -> Result<Policy, PolicyError> {
    Policy::from_bytes(bytes)
        .map_err(|error| PolicyError::Safetensors { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tasks::{SHIPPED_SEEDS, policy_task};

    #[test]
    fn every_configuration_builds_and_leaves_a_list_of_actions() {
        for id in TaskId::ALL {
            assert!(policy_task(id).controls.action_count().is_some(), "{}", id.name());
        }
    }

    #[test]
    fn every_shipped_policy_fits_its_task_and_says_what_it_is() {
        for &id in tasks::shipped() {
            let task = policy_task(id);
            for seed in 0..SHIPPED_SEEDS {
                PolicySource::Builtin(seed).load(&task).unwrap();
                let policy = shipped(id, seed).unwrap();
                assert_eq!(policy.card()[card::ENV], id.name());
                assert_eq!(policy.card()[card::SEED], seed.to_string());
                assert!(policy.card().contains_key(card::SCORE));
            }
        }
    }

    #[test]
    fn a_policy_that_is_not_there_or_does_not_fit_is_refused_in_words() {
        let merge = policy_task(TaskId::MergeV0);
        let refusal = |text: &str, task: &Task| {
            let source = text.parse::<PolicySource>();
            let Err(error) = source.and_then(|source| source.load(task)) else {
                panic!("{text} was accepted");
            };
            error.to_string()
        };
        assert!(refusal("mine.zip", &merge).contains("FILE.onnx"));
        assert!(refusal("builtin:first", &merge).contains("builtin:K"));
        assert!(refusal("always:5", &merge).contains("there are 5, from 0"));
        assert!(refusal("always:right", &merge).contains("always:K"));
        let mut always = "always:3".parse::<PolicySource>().unwrap().load(&merge).unwrap();
        assert_eq!(always.act(0, &vec![0.0; always.observation_len()]).unwrap(), 3);
        assert!(refusal("builtin:5", &merge).contains("builtin:0 to builtin:4"));
        assert!(refusal("absent.onnx", &merge).contains("absent.onnx"));
        assert!(refusal("builtin:0", &policy_task(TaskId::MergeV1)).contains("merge-v1"));

        let other = Task::new(
            TaskId::MergeV0,
            &json!({"observation": {"type": "Kinematics", "vehicles_count": 2}}),
        )
        .unwrap();
        assert!(refusal("builtin:0", &other).contains("but the task gives 10 numbers"));
    }
}
