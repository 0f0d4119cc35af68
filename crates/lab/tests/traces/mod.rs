//! Real traces, and the tools to take them apart and put them together again, as a forger would.

#![allow(dead_code, reason = "every contract needs a part of it")]

use std::collections::BTreeMap;
use std::sync::Arc;

use cpss::measure::contest::Contest;
use cpss::play::arm::{Arm, ShieldSettings};
use cpss::play::policy::PolicySource;
use cpss::play::regime::{Regime, RegimeSpec};
use cpss::play::sensor::Gaze;
use cpss::tasks::policy_config;
use cpss::trace::chain::Chain;
use cpss::trace::{End, Header, Step};
use cpss_highway::{Task, TaskId};
use cpss_learn::critic::scale::Scale;
use cpss_learn::critic::{Critic, Shape};
use cpss_learn::generator::{Generator, Purpose};
use cpss_risk::card::{Calibration, FEWEST_EPISODES};
use cpss_risk::features::Inputs;
use cpss_risk::{ActionKey, Card, LearnedRisk};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The four tasks of the paper.
pub(crate) const TASKS: [TaskId; 4] =
    [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0];

/// How much drift these episodes have.
pub(crate) const REGIME: &str = "high";

/// The regime, ready to begin episodes of a task.
pub(crate) fn regime(task: TaskId) -> Regime {
    Regime::new(RegimeSpec::load(REGIME).unwrap(), task, &policy_config(task)).unwrap()
}

/// The same file with its checksum under a name that nobody knows, so that it may be changed.
fn unsealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let name = b"cpss-checksum";
    let place = bytes.windows(name.len()).position(|part| part == name).unwrap();
    bytes[place..place + name.len()].copy_from_slice(b"cpss-unsealed");
    bytes
}

/// A critic that has learned nothing: what it says is arbitrary, differs from action to action, and stays what
/// it is whatever critics the program comes with.
pub(crate) fn critic(task: &Task) -> LearnedRisk {
    let actions = ActionKey::list(&task.controls);
    let (encoder, head) = (vec![16], vec![16]);
    let Inputs { fixed, item, .. } = Inputs::of(task);
    let shape = Shape { fixed, item, encoder, head, actions: actions.len() };
    let mut critic = Critic::new(shape, &mut Generator::new(7, Purpose::Weights)).unwrap();
    // Weights begin where all risks are small and alike: in the middle, and four times as large, they differ.
    critic.set_scale(Scale::shifted(20.0));
    let mut bytes = unsealed(critic.to_bytes(&BTreeMap::new()));
    // A file of this kind is the length of its header, the header, and all numbers as singles.
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for number in bytes[8 + header..].chunks_exact_mut(4) {
        let larger = 4.0 * f32::from_le_bytes(number.try_into().unwrap());
        number.copy_from_slice(&larger.to_le_bytes());
    }
    let (critic, _) = Critic::from_bytes(&bytes).unwrap();
    let mut card = Card { resolution: 0.001, ..Card::new(task, 0.98) };
    card.calibration = Calibration {
        regimes: ["stationary", "high"].map(str::to_owned).to_vec(),
        episodes: FEWEST_EPISODES,
        budgets: vec![0.01],
        shift: f64::from(critic.scale().shift),
        ..Calibration::default()
    };
    LearnedRisk::new(critic, card).unwrap()
}

/// An episode of a shipped policy, or of a floor, on a tuning seed, judged by [`critic`].
pub(crate) fn trace_of(task: TaskId, arm: Arm, seed: u64) -> String {
    let regime = regime(task);
    let contest = Contest {
        regime: &regime,
        regime_name: REGIME,
        arm,
        settings: &ShieldSettings::shipped(task).unwrap(),
        risk: Arc::new(critic(regime.task())),
        policy: &PolicySource::Builtin(0),
        gaze: Gaze::PERFECT,
        sensor_name: "perfect",
        asks_what_if: true,
    };
    contest.trace(seed).unwrap().text
}

/// The first seed of an episode in which another action ran, and its trace.
pub(crate) fn first_replaced(task: TaskId) -> (u64, String) {
    let mut traces =
        (1_000_000..1_000_040).map(|seed| (seed, trace_of(task, Arm::Cpss(None), seed)));
    traces.find(|(_, trace)| trace.contains("\"what_if\"")).unwrap()
}

/// An episode of the merge that ended well, in which other actions ran on some steps and not on all.
pub(crate) fn first_replaced_well() -> Parts {
    let traces =
        (1_000_000..1_000_400).map(|seed| trace_of(TaskId::MergeV0, Arm::Cpss(None), seed));
    let mut episodes = traces.map(|trace| Parts::of(&trace));
    let suits = |parts: &Parts| {
        let replaced = parts.steps.iter().filter(|step| step.what_if.is_some()).count();
        !parts.end.record.failed() && (1..parts.steps.len()).contains(&replaced)
    };
    episodes.find(suits).unwrap()
}

/// A trace taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parts {
    pub(crate) header: Header,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
}

impl Parts {
    pub(crate) fn of(trace: &str) -> Parts {
        let lines = lines(trace);
        let last = lines.len() - 1;
        Parts {
            header: read(&lines[0]),
            steps: lines[1..last].iter().map(|line| read(line)).collect(),
            end: read(&lines[last]),
        }
    }

    /// Together again, and hashed anew.
    pub(crate) fn sealed(&self) -> String {
        let mut chain = Chain::default();
        let mut seal = |body: String, last| chain.seal(&body, last) + "\n";
        let mut text = seal(written(&self.header), false);
        for step in &self.steps {
            text += &seal(written(step), false);
        }
        text + &seal(written(&self.end), true)
    }
}

/// Hashes every line anew, as a forger would.
pub(crate) fn resealed(lines: &[String]) -> String {
    let mut chain = Chain::default();
    let seal = |line: &String| {
        let (body, _) = line.rsplit_once(",\"h\":").unwrap();
        chain.seal(&format!("{body}}}"), body.starts_with("{\"end\"")) + "\n"
    };
    lines.iter().map(seal).collect()
}

pub(crate) fn lines(trace: &str) -> Vec<String> {
    trace.lines().map(str::to_owned).collect()
}

pub(crate) fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn read<T: DeserializeOwned>(line: &str) -> T {
    let (body, _) = line.rsplit_once(",\"h\":").unwrap();
    serde_json::from_str(&format!("{body}}}")).unwrap()
}

fn written(line: &impl Serialize) -> String {
    serde_json::to_string(line).unwrap()
}
