//! Which policy drives, and what does it see?
//!
//! A policy is named by a [`PolicySource`]: `builtin:K` for the one shipped with training seed K, or
//! a file, `.safetensors` or `.onnx`. [`PolicySource::load`] reads it and checks that it fits the
//! task. [`policy_config`] is the one place that says in which configuration of each task a policy
//! is trained, scored, shielded and replayed; [`view`](crate::view) is for policies that see something else.
//!
//! **Invariants:** a policy of the wrong shape is refused before the first step; a configuration
//! never touches rewards, traffic or the end of an episode, only what the ego sees and, where the
//! task is steered freely, the list of actions a DQN needs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use cpss_highway::{Task, TaskId};
use cpss_learn::{LoadError, OnnxError, Policy, QFunction, WrongTask, policy_from_onnx};
use serde_json::{Value, json};

/// Every file below `policies/`, as compiled in: the task's folder, the file's name, and its bytes.
const SHIPPED: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// A file of a task's folder.
pub(crate) fn shipped_file(folder: &str, name: &str) -> Option<&'static [u8]> {
    SHIPPED.iter().find(|file| (file.0, file.1) == (folder, name)).map(|file| file.2)
}

/// The tasks for which policies and critics are shipped.
pub static SHIPPED_TASKS: LazyLock<Vec<TaskId>> = LazyLock::new(|| {
    let is_shipped = |id: &TaskId| {
        let has = |file: &str| shipped_file(id.name(), file).is_some();
        (0..SHIPPED_SEEDS).all(|seed| has(&format!("{seed}.safetensors")))
            && has("risk.safetensors")
    };
    TaskId::ALL.into_iter().filter(is_shipped).collect()
});

/// Training seeds of the shipped policies: `builtin:0` to `builtin:4`, for each task.
pub const SHIPPED_SEEDS: usize = 5;

/// Returns the task's configuration for a policy, by highway-env's keys.
///
/// Where there is much traffic a policy sees a grid around the ego and not a list of cars: in a list,
/// a car that overtakes another changes places with it, and a small network has to learn every
/// order. `x` and `y` tell where in its cell a car stands, `on_road` where on the road the ego is.
pub fn policy_config(id: TaskId) -> Value {
    match id {
        // Four others are all that are ever near, so the task's own list is enough.
        TaskId::MergeV0 | TaskId::MergeV1 => json!({}),
        // All that are ever near, as seen from the ego, also from behind: who is in the circle comes
        // from anywhere. The direction of a car's destination stands for its turn signal.
        TaskId::RoundaboutV0 | TaskId::RoundaboutV1 => json!({
            "observation": {
                "type": "Kinematics",
                "vehicles_count": 9,
                "features": [
                    "presence", "x", "y", "vx", "vy", "cos_h", "sin_h", "cos_d", "sin_d",
                ],
                "features_range": {
                    "x": [-60, 60], "y": [-60, 60], "vx": [-20, 20], "vy": [-20, 20],
                },
                "absolute": false,
                "see_behind": true,
            },
        }),
        // Cells as wide as a lane: the lane that the ego is on and two to each side of it.
        TaskId::HighwayV0 | TaskId::HighwayFastV0 => json!({
            "observation": {
                "type": "OccupancyGrid",
                "features": ["presence", "x", "vx", "vy", "on_road"],
                "features_range": {"x": [-60, 60], "vx": [-15, 15], "vy": [-5, 5]},
                "grid_size": [[-20, 60], [-10, 10]],
                "grid_step": [5, 4],
            },
        }),
        // The ego comes from the south, so the crossing is ahead of it at negative y. The direction
        // of a car's destination stands for its turn signal.
        TaskId::IntersectionV0 | TaskId::IntersectionV2 => json!({
            "observation": {
                "type": "OccupancyGrid",
                "features": ["x", "y", "vx", "vy", "cos_d", "sin_d", "on_road"],
                "features_range": {
                    "x": [-35, 35], "y": [-40, 40], "vx": [-20, 20], "vy": [-20, 20],
                },
                "grid_size": [[-35, 35], [-40, 10]],
                "grid_step": [5, 5],
            },
        }),
        // A DQN needs its steering as a list. Upstream's own grid shows the track in cells of 3 m, in
        // which the ego's place in its lane is lost; `lat_off` and `ang_off` say where each car stands
        // in its lane and how it is turned to it. The track ahead matters more than the one behind.
        TaskId::RacetrackV0 | TaskId::RacetrackV1 => json!({
            "observation": {
                "type": "OccupancyGrid",
                "features": ["presence", "on_road", "lat_off", "ang_off"],
                "features_range": {"lat_off": [-5, 5], "ang_off": [-1, 1]},
                "grid_size": [[-12, 24], [-12, 12]],
                "grid_step": [3, 3],
                "as_image": false,
                "align_to_vehicle_axes": true,
            },
            "action": {
                "type": "DiscreteAction",
                "longitudinal": false,
                "lateral": true,
                "actions_per_axis": 5,
            },
        }),
    }
}

/// Builds the task in its [`policy_config`].
pub fn policy_task(id: TaskId) -> Arc<Task> {
    // The configurations are constants of this file, and a test builds every one of them.
    Task::new(id, &policy_config(id)).expect("the policies' configurations are valid")
}

/// Where a policy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicySource {
    /// Shipped with this program: the one of this training seed.
    Builtin(usize),
    /// A file that `cpss train` wrote.
    Safetensors(PathBuf),
    /// A Q-network in ONNX.
    Onnx(PathBuf),
}

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Words that name no policy.
    #[error("`{0}` is no policy: give builtin:K, FILE.safetensors or FILE.onnx")]
    Unknown(String),
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
        let policy: Box<dyn QFunction> = match self {
            PolicySource::Builtin(seed) => Box::new(shipped(task.id, *seed)?),
            PolicySource::Safetensors(path) => Box::new(parse(&self.to_string(), &read(path)?)?),
            PolicySource::Onnx(path) => Box::new(
                policy_from_onnx(&read(path)?, BTreeMap::new())
                    .map_err(|error| PolicyError::Onnx { path: path.clone(), error })?,
            ),
        };
        let actions = task.controls.action_count().unwrap_or(0);
        policy
            .check_task(task.observer.len(), actions)
            .map_err(|error| PolicyError::WrongTask { path: self.to_string(), error })?;
        Ok(policy)
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
            PolicySource::Onnx(_) => Ok(None),
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
    let bytes = shipped_file(id.name(), &format!("{seed}.safetensors"))
        .ok_or(PolicyError::NotShipped { env: id.name(), seed })?;
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
    SHIPPED_TASKS.iter().map(|id| id.name()).collect::<Vec<_>>().join(", ")
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
    use cpss_learn::policy::card;

    use super::*;

    #[test]
    fn every_configuration_builds_and_leaves_a_list_of_actions() {
        for id in TaskId::ALL {
            assert!(policy_task(id).controls.action_count().is_some(), "{}", id.name());
        }
    }

    #[test]
    fn every_shipped_policy_fits_its_task_and_says_what_it_is() {
        for &id in SHIPPED_TASKS.iter() {
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
