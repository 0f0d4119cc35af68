//! Real traces, and the tools to take them apart and put them together again, as a forger would.

#![allow(dead_code, reason = "every contract needs a part of it")]

use cpss::arm::{Arm, ShieldSettings};
use cpss::evaluate::Contest;
use cpss::policy::{PolicySource, policy_config};
use cpss::regime::{Regime, RegimeSpec};
use cpss::trace::chain::Chain;
use cpss::trace::{End, Header, Step};
use cpss_highway::TaskId;
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

/// An episode of a shipped policy, or of a floor, on a tuning seed.
pub(crate) fn trace_of(task: TaskId, arm: Arm, seed: u64) -> String {
    let contest = Contest {
        regime: &regime(task),
        regime_name: REGIME,
        arm,
        settings: &ShieldSettings::shipped(task).unwrap(),
        policy: &PolicySource::Builtin(0),
    };
    contest.trace(seed).unwrap().text
}

/// The first seed of an episode that ended well and in which another action ran, and its trace.
pub(crate) fn first_replaced(task: TaskId) -> (u64, String) {
    let mut traces = (1_000_000..1_000_040).map(|seed| (seed, trace_of(task, Arm::Cpss, seed)));
    let ended_well = "\"crashed\":false,\"off_road\":false";
    traces.find(|(_, trace)| trace.contains("\"what_if\"") && trace.contains(ended_well)).unwrap()
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
