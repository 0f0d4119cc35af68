//! What differs between tasks?
//!
//! Everything that does is in a task's folder at the top of the repository, `tasks/<id>/`, and is compiled in:
//!
//! | file | what it says |
//! |---|---|
//! | `task.toml` | what policies see, how long an episode lasts, the shield's horizon and last resort, what drift adds: [`TaskSpec`] |
//! | `train.toml` | how its policies are trained: `TrainSpec` |
//! | `0.safetensors` to `4.safetensors` | the shipped policies, by training seed |
//! | `risk.safetensors`, `risk-stationary.safetensors` | the shipped critics |
//! | `risk-sensed.safetensors` | the one behind sensors, if there is one |
//! | `parity.json` | how the task is compared with highway-env; only `crates/highway/scripts/parity.py` reads it |
//!
//! Start at [`of`]. The build script lists the files, so that a file put there is shipped by the next build.
//! `docs/adding-a-task.md` says how a task is added.
//!
//! **Invariants:** a corrected or fast version of a task has no folder of its own: it is one of the `versions` in
//! the task's. Nothing else in the lab, the Python package, the page or the scripts depends on a task's name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};

use anyhow::{Context, Result};
use cpss_highway::{Task, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Training seeds of the shipped policies: `builtin:0` to `builtin:4`, for each task.
pub const SHIPPED_SEEDS: usize = 5;

/// Every file of every folder: the folder, the file's name, and its bytes.
const FILES: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/tasks.rs"));

/// What `task.toml` says.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// About how long an episode lasts \[s\].
    pub seconds: f64,
    /// What a shield has to know of the task; without it, none is shipped.
    pub shield: Option<ShieldNumbers>,
    /// The config in which policies are trained, by highway-env's keys.
    #[serde(default = "empty")]
    pub policy: Value,
    /// What drift adds.
    #[serde(default)]
    pub drift: DriftSpec,
    /// Other ids that the folder serves, with what differs.
    #[serde(default)]
    pub versions: BTreeMap<String, Version>,
}

/// What a task's shield differs by.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShieldNumbers {
    /// Horizon `T` \[decisions\]: at least as many as an episode takes.
    pub horizon: u32,
    /// The action that runs when no cost is usable.
    pub last_resort: usize,
}

/// What differs in another version of a task.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Version {
    /// About how long an episode lasts \[s\], if not as long.
    pub seconds: Option<f64>,
}

/// What drift adds to a task's traffic, besides drivers who drive otherwise.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct DriftSpec {
    /// A number of the config that is multiplied by the regime's density.
    pub density: Option<Density>,
    /// Numbers of the config that count cars: upstream then gives the extra ones a place and a route as it
    /// gives all others.
    pub more: Vec<More>,
    /// Cars that are put on the road one by one, where the config counts none.
    pub arrivals: Vec<Arrivals>,
    /// The chance that a car appears after a decision, where cars do.
    pub spawning: Option<Spawning>,
}

/// A number of the config that says how dense traffic is.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Density {
    /// Its key.
    pub key: String,
    /// What it is upstream.
    pub usual: f64,
}

/// A number of the config that counts cars.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// What a regime calls these cars, under `full.extra_cars`.
    pub name: String,
    /// How many more there are at full intensity.
    pub count: u32,
    /// The number's key.
    pub key: String,
    /// What it is upstream.
    pub usual: u64,
}

/// Cars that are put on the road.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// What a regime calls these cars, under `full.extra_cars`.
    pub name: String,
    /// How many there are at full intensity.
    pub count: u32,
    /// Where: roads by their nodes, each with up to two lanes.
    pub roads: Vec<[String; 2]>,
    /// The speed around which they drive at first \[m/s\].
    pub speed: f64,
    /// The speed around which they want to drive, if they want to be faster \[m/s\].
    #[serde(default)]
    pub cruise: f64,
    /// Where they may be bound for, by nodes; without any they follow the closest road.
    #[serde(default)]
    pub destinations: Vec<String>,
}

/// How cars appear while an episode runs.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spawning {
    /// The chance after each decision, upstream.
    pub usual: f64,
}

/// A task with what its folder says.
#[derive(Clone, Debug)]
pub struct TaskEntry {
    /// The task.
    pub id: TaskId,
    /// The id of the folder; another task's where this is a version of it.
    pub folder: &'static str,
    /// What its `task.toml` says; `seconds` is this version's.
    pub spec: TaskSpec,
}

impl TaskEntry {
    /// A file of the folder.
    pub fn file(&self, name: &str) -> Option<&'static [u8]> {
        file(self.folder, name)
    }

    /// The shipped policy of a training seed. Other versions of a task have none of their own: their episodes differ.
    pub fn policy(&self, seed: usize) -> Option<&'static [u8]> {
        if let Some((id, policies)) = POLICIES.get()
            && *id == self.id
        {
            return policies.get(seed).map(Vec::as_slice);
        }
        let is_own = self.folder == self.id.name();
        is_own.then(|| self.file(&format!("{seed}.safetensors"))).flatten()
    }

    /// Whether all policies and both critics are shipped.
    fn is_shipped(&self) -> bool {
        let critics = ["risk.safetensors", "risk-stationary.safetensors"];
        (0..SHIPPED_SEEDS).all(|seed| self.policy(seed).is_some())
            && critics.iter().all(|name| self.file(name).is_some())
    }

    /// Finds the folder that serves a task. A task without any can be played and learned with defaults.
    fn find(id: TaskId) -> TaskEntry {
        let folders = FILES.iter().filter(|(_, name, _)| *name == "task.toml");
        for (folder, _, text) in folders {
            let spec = parse(folder, text);
            let version = spec.versions.get(id.name()).copied();
            if *folder == id.name() || version.is_some() {
                let seconds = version.and_then(|version| version.seconds).unwrap_or(spec.seconds);
                return TaskEntry { id, folder, spec: TaskSpec { seconds, ..spec } };
            }
        }
        let spec = TaskSpec {
            seconds: 40.0,
            shield: None,
            policy: empty(),
            drift: DriftSpec::default(),
            versions: BTreeMap::new(),
        };
        TaskEntry { id, folder: id.name(), spec }
    }
}

/// Policies that stand for a task's shipped ones in this process.
static POLICIES: OnceLock<(TaskId, Vec<Vec<u8>>)> = OnceLock::new();

/// Takes a task's policies from a folder, for as long as this process runs: they need not be shipped yet.
pub(crate) fn take_policies(id: TaskId, folder: &Path) -> Result<()> {
    let read = |seed| {
        let file = folder.join(format!("{seed}.safetensors"));
        std::fs::read(&file).with_context(|| format!("cannot read the policy {}", file.display()))
    };
    let policies = (0..SHIPPED_SEEDS).map(read).collect::<Result<_>>()?;
    // Who comes first is heard; a process is asked once.
    let _ = POLICIES.set((id, policies));
    Ok(())
}

/// What a task's folder says.
pub fn of(id: TaskId) -> &'static TaskEntry {
    static ENTRIES: LazyLock<[TaskEntry; TaskId::ALL.len()]> =
        LazyLock::new(|| TaskId::ALL.map(TaskEntry::find));
    let place = TaskId::ALL.iter().position(|known| *known == id);
    &ENTRIES[place.unwrap_or(0)]
}

/// Returns the task's configuration for a policy, by highway-env's keys.
///
/// Where there is much traffic a policy sees a grid around the ego and not a list of cars: in a list,
/// a car that overtakes another changes places with it, and a small network has to learn every
/// order. It never touches rewards, traffic or the end of an episode, only what the ego sees and, where the task is
/// steered freely, the list of actions a DQN needs. `x` and `y` tell where in its cell a car stands, `on_road` where on the road the ego is.
pub fn policy_config(id: TaskId) -> Value {
    of(id).spec.policy.clone()
}

/// Builds the task in its [`policy_config`].
pub fn policy_task(id: TaskId) -> Arc<Task> {
    // The configurations are compiled in, and a test builds every one of them.
    Task::new(id, &policy_config(id)).expect("the policies' configurations are valid")
}

/// Every task, in the world's order.
pub fn all() -> impl Iterator<Item = &'static TaskEntry> {
    TaskId::ALL.into_iter().map(of)
}

/// The tasks for which policies and critics are shipped.
pub fn shipped() -> &'static [TaskId] {
    static SHIPPED: LazyLock<Vec<TaskId>> =
        LazyLock::new(|| all().filter(|task| task.is_shipped()).map(|task| task.id).collect());
    &SHIPPED
}

/// The names under which a regime knows drift's extra cars.
pub fn extra_cars() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for task in all().filter(|task| task.folder == task.id.name()) {
        let drift = &task.spec.drift;
        let more = drift.more.iter().map(|more| more.name.as_str());
        let arriving = drift.arrivals.iter().map(|arrivals| arrivals.name.as_str());
        names.extend(more.chain(arriving));
    }
    names
}

fn file(folder: &str, name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|file| (file.0, file.1) == (folder, name)).map(|file| file.2)
}

fn parse(folder: &str, text: &[u8]) -> TaskSpec {
    // The files are compiled in, and a test reads every one of them.
    let text = std::str::from_utf8(text).expect("the tasks' files are text");
    toml::from_str(text).unwrap_or_else(|error| panic!("tasks/{folder}/task.toml: {error}"))
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

#[cfg(test)]
mod tests;
