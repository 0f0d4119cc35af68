//! Which readers are there?
//!
//! [`TARGETS`] is the list. Each reads bytes as its command or function would, and then uses what it has read, since a file
//! that is taken for good and fails later is no better.
//!
//! | target | reader | who calls it |
//! |---|---|---|
//! | `trace` | `cpss::trace::audit` | `cpss audit`, `replay`, reports |
//! | `policy`, `onnx` | `Policy::from_bytes`, `policy_from_onnx` | `cpss evaluate --policy` |
//! | `critic`, `critics`, `driving-critic` | `Critic`, `Ensemble`, `LearnedRisk` | the C ABI, Python, `--risk` |
//! | `checkpoint` | `Learner::resume` | `cpss train --resume` |
//! | `memory` | `MemoryFile::parse` | `cpss evaluate --memory`, `cpss memory` |
//! | `record` | `record_of` | `cpss reproduce`, resumed |
//! | `plan`, `regime`, `shield`, `train`, `task` | TOML | `reproduce --plan`, `--regime`, `--shield`, `train --settings`, a task's folder |
//! | `config` | `Task::new` of JSON | `--config`, Gymnasium's `config` |
//! | `scene` | numbers of bodies, then `RiskModel` | Python's `cpss.driving` |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cpss::plan::Plan;
use cpss::plan::work::record_of;
use cpss::play::arm::ShieldSettings;
use cpss::play::critic::RiskSource;
use cpss::play::memory::MemoryFile;
use cpss::play::regime::{Regime, RegimeSpec};
use cpss::record::memory::MemorySettings;
use cpss::tasks::{self, TaskSpec};
use cpss::trace::audit::audit;
use cpss_highway::{Task, TaskId, World};
use cpss_learn::{
    Dqn, DqnSpec, End, Env, Learner, Network, Outcome, Policy, QFunction, Topology,
    policy_from_onnx,
};
use cpss_shield::{Rules, Shield};
use tempfile::{Builder, NamedTempFile};

use crate::mutate::Format;
use crate::scenes;
use crate::watch::overwrite;

mod critics;

use critics::{cards, critics_of_sets, flat_critics, read_card, read_critic, read_critics};

/// A reader, with what it is tried on.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What its files are made of.
    pub format: Format,
    /// Good files, as they are written.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads bytes, and uses what it has read.
    pub read: fn(&[u8]) -> Answer,
}

impl Target {
    /// Good files, without the checksums that ours have: those would hide the reader behind them from what is damaged.
    pub fn good_files(&self) -> Vec<Vec<u8>> {
        (self.seeds)().into_iter().map(unsealed).collect()
    }
}

/// The same file with its checksum, if there is one, under a name that nobody knows.
fn unsealed(mut bytes: Vec<u8>) -> Vec<u8> {
    const NAME: &[u8] = b"cpss-checksum";
    if let Some(place) = bytes.windows(NAME.len()).position(|part| part == NAME) {
        bytes[place..place + NAME.len()].copy_from_slice(b"cpss-unsealed");
    }
    bytes
}

/// What a reader said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It took the file for good.
    Accepted,
    /// It did not, for this reason.
    Refused(String),
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Answer {
    fn from(result: Result<T, E>) -> Answer {
        match result {
            Ok(_) => Answer::Accepted,
            // With its causes, as the command prints it.
            Err(error) => Answer::Refused(format!("{error:#}")),
        }
    }
}

/// Every reader.
pub const TARGETS: [Target; 16] = [
    Target { name: "trace", format: Format::Trace, seeds: traces, read: |b| audit(b).into() },
    Target { name: "policy", format: Format::Tensors, seeds: policies, read: read_policy },
    Target { name: "onnx", format: Format::Bytes, seeds: onnx, read: read_onnx },
    Target { name: "critic", format: Format::Tensors, seeds: critics_of_sets, read: read_critic },
    Target { name: "critics", format: Format::Tensors, seeds: flat_critics, read: read_critics },
    Target { name: "driving-critic", format: Format::Tensors, seeds: cards, read: read_card },
    Target {
        name: "checkpoint",
        format: Format::Tensors,
        seeds: checkpoints,
        read: read_checkpoint,
    },
    Target { name: "memory", format: Format::Text, seeds: memories, read: read_memory },
    Target { name: "record", format: Format::Text, seeds: records, read: read_record },
    Target { name: "plan", format: Format::Text, seeds: plans, read: read_plan },
    Target { name: "regime", format: Format::Text, seeds: regimes, read: read_regime },
    Target { name: "shield", format: Format::Text, seeds: shields, read: read_shield },
    Target { name: "train", format: Format::Text, seeds: trainings, read: read_training },
    Target { name: "task", format: Format::Text, seeds: specs, read: read_spec },
    Target { name: "config", format: Format::Text, seeds: configs, read: read_config },
    Target { name: "scene", format: Format::Bytes, seeds: scenes::seeds, read: scenes::read },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of a folder of the repository with this ending.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let wanted = paths.iter().filter(|path| path.extension().is_some_and(|end| end == ending));
    wanted.filter_map(|path| std::fs::read(path).ok()).collect()
}

fn shipped(name: &str) -> Vec<Vec<u8>> {
    tasks::all().filter_map(|task| task.file(name)).map(<[u8]>::to_vec).collect()
}

thread_local! {
    /// A file to be read, written anew for each input.
    static FILE: Option<NamedTempFile> = Builder::new().suffix(".toml").tempfile().ok();
}

/// Reads from a file what is read from files. Its name in the reason would say nothing new.
fn at_a_path(bytes: &[u8], read: impl FnOnce(&Path) -> Answer) -> Answer {
    FILE.with(|file| {
        let file = file.as_ref().expect("a file can be made in the folder for such");
        overwrite(file.as_file(), bytes).expect("and written");
        match read(file.path()) {
            Answer::Refused(reason) => {
                Answer::Refused(reason.replace(&file.path().display().to_string(), "the file"))
            }
            Answer::Accepted => Answer::Accepted,
        }
    })
}

fn text_of(bytes: &[u8]) -> Result<&str, Answer> {
    std::str::from_utf8(bytes).map_err(|error| Answer::Refused(error.to_string()))
}

fn traces() -> Vec<Vec<u8>> {
    files("crates/ffi/tests/recorded", "jsonl")
}

/// Memories of a shipped critic: a new one, and one that was forked.
fn memories() -> Vec<Vec<u8>> {
    let Ok(risk) = RiskSource::default().load(TaskId::MergeV0) else { return Vec::new() };
    let new = MemoryFile::new(&risk, MemorySettings::new(0.5));
    let forked = new.as_ref().ok().and_then(|new| new.fork().ok());
    new.into_iter()
        .chain(forked)
        .filter_map(|file| file.text().ok().map(String::into_bytes))
        .collect()
}

fn read_memory(bytes: &[u8]) -> Answer {
    let use_it = |file: MemoryFile| MemoryFile::merge(&[("it".to_owned(), file.fork()?)]);
    MemoryFile::parse(bytes).and_then(use_it).into()
}

fn policies() -> Vec<Vec<u8>> {
    let sizes = [[3, 4], [4, 2]].map(|[inputs, outputs]| {
        (
            inputs,
            outputs,
            if outputs == 2 {
                cpss_learn::Activation::Identity
            } else {
                cpss_learn::Activation::Relu
            },
        )
    });
    let mut seeds = files("crates/learn/tests/fixtures", "safetensors");
    for dueling in [false, true] {
        if let Ok(topology) = Topology::new(sizes, dueling) {
            seeds.push(Policy::new(Network::zeros(topology), BTreeMap::new()).to_bytes());
        }
    }
    seeds
}

fn use_policy(mut policy: Policy) -> Answer {
    let seen = vec![0.5; policy.observation_len()];
    policy.act(0, &seen).into()
}

fn read_policy(bytes: &[u8]) -> Answer {
    Policy::from_bytes(bytes).map_or_else(|error| Answer::Refused(error.to_string()), use_policy)
}

fn onnx() -> Vec<Vec<u8>> {
    let all = files("crates/learn/tests/fixtures", "onnx").into_iter();
    // One of them has an operator that is not supported, and is no good file.
    all.filter(|bytes| policy_from_onnx(bytes, BTreeMap::new()).is_ok()).collect()
}

fn read_onnx(bytes: &[u8]) -> Answer {
    let policy = policy_from_onnx(bytes, BTreeMap::new());
    policy.map_or_else(|error| Answer::Refused(error.to_string()), use_policy)
}

/// A world of a few steps, for checkpoints.
struct Steps(usize);

impl Env for Steps {
    fn observation_len(&self) -> usize {
        2
    }

    fn actions(&self) -> usize {
        2
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        self.0 = (seed % 3) as usize;
        observation.fill(self.0 as f32);
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        self.0 += 1;
        observation.fill(self.0 as f32);
        let end = if self.0 > 4 { End::Terminated } else { End::Running };
        Outcome { reward: action as f32, end, incident: false, ran: action }
    }
}

fn checkpoints() -> Vec<Vec<u8>> {
    let spec = DqnSpec {
        total_steps: 200,
        hidden: vec![4],
        buffer_size: 64,
        learning_starts: 20,
        ..DqnSpec::default()
    };
    let Ok(settings) = Dqn::new(spec) else { return Vec::new() };
    let Ok(mut learner) = Learner::new(vec![Steps(0)], settings, 0, 0..100) else {
        return Vec::new();
    };
    let ran = learner.run(50, &mut |_| std::ops::ControlFlow::Continue(()));
    ran.map(|_| vec![learner.checkpoint()]).unwrap_or_default()
}

fn read_checkpoint(bytes: &[u8]) -> Answer {
    Learner::resume(vec![Steps(0)], bytes).map(drop).into()
}

fn records() -> Vec<Vec<u8>> {
    let unit = some_unit();
    let record = unit.run().ok().and_then(|record| cpss::plan::work::bytes_of(&record).ok());
    record.into_iter().collect()
}

fn some_unit() -> cpss::measure::unit::Unit {
    cpss::measure::unit::Unit {
        task: "merge-v0".to_owned(),
        regime: "high".to_owned(),
        arm: "cpss".to_owned(),
        policy: 0,
        own: None,
        sensor: "perfect".to_owned(),
        first_seed: 1_000_000,
        episodes: 2,
    }
}

fn read_record(bytes: &[u8]) -> Answer {
    match record_of(&some_unit(), bytes) {
        Ok(Some(_)) => Answer::Accepted,
        Ok(None) => Answer::Refused("it is made again".to_owned()),
        Err(error) => Answer::Refused(format!("{error:#}")),
    }
}

fn plans() -> Vec<Vec<u8>> {
    let mut seeds = files("experiments", "toml");
    seeds.retain(|seed| toml::from_slice::<Plan>(seed).is_ok());
    seeds.extend(files("viewer/tests", "toml"));
    seeds
}

fn read_plan(bytes: &[u8]) -> Answer {
    at_a_path(bytes, |path| Plan::load(path).map(|plan| plan.units().len()).into())
}

fn regimes() -> Vec<Vec<u8>> {
    files("experiments/regimes", "toml")
}

fn read_regime(bytes: &[u8]) -> Answer {
    at_a_path(bytes, |path| {
        let spec = RegimeSpec::load(&path.display().to_string());
        let id = TaskId::MergeV0;
        spec.and_then(|spec| Regime::new(spec, id, &tasks::policy_config(id)))
            .map(|regime| regime.begin(1_000_000).0.time())
            .into()
    })
}

fn shields() -> Vec<Vec<u8>> {
    let whole = b"budget = 0.01\nhorizon = 20\npace = 5.0\ntau_cap = 0.05\nprice = 0.3\nk_density = 0.02\n\
                  k_change = 0.05\ngain_floor = 0.5\nfallback = \"min-risk\"\nlast_resort = 4\nsmoothing = 0.2\n";
    vec![whole.to_vec()]
}

fn read_shield(bytes: &[u8]) -> Answer {
    at_a_path(bytes, |path| match ShieldSettings::read(path) {
        Ok(settings) => Rules::new(settings.spec).map(Shield::under).into(),
        Err(error) => Answer::Refused(format!("{error:#}")),
    })
}

fn trainings() -> Vec<Vec<u8>> {
    let learner = |file: Vec<u8>| {
        let table: toml::Table = toml::from_slice(&file).ok()?;
        Some(toml::to_string(table.get("dqn")?).ok()?.into_bytes())
    };
    shipped("train.toml").into_iter().filter_map(learner).collect()
}

/// The learner's part of `train.toml`; the lab adds the number of worlds.
fn read_training(bytes: &[u8]) -> Answer {
    match toml::from_slice::<DqnSpec>(bytes) {
        Ok(spec) => Dqn::new(spec).into(),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

fn specs() -> Vec<Vec<u8>> {
    shipped("task.toml")
}

fn read_spec(bytes: &[u8]) -> Answer {
    match toml::from_slice::<TaskSpec>(bytes) {
        Ok(spec) => Task::new(TaskId::MergeV0, &spec.policy).map(drop).into(),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

fn configs() -> Vec<Vec<u8>> {
    let ids = [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0];
    ids.map(|id| format!("{} {}", id.name(), tasks::policy_config(id)).into_bytes()).to_vec()
}

/// A task's name, and its config as JSON.
fn read_config(bytes: &[u8]) -> Answer {
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let (name, config) = text.split_once(' ').unwrap_or((text, ""));
    let id: TaskId = match name.parse() {
        Ok(id) => id,
        Err(error) => return Answer::from(Err::<(), _>(error)),
    };
    match serde_json::from_str(config) {
        Ok(config) => Task::new(id, &config).map(|task| World::new(task, 1).time()).into(),
        Err(error) => Answer::Refused(error.to_string()),
    }
}
