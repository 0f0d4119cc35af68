//! What is one piece of an experiment's work?
//!
//! A [`Unit`] is some episodes of one cell with one policy, and a pure function of itself: the same unit gives the
//! same [`UnitRecord`] on any machine, in any order, on any number of threads.

use std::fs;

use anyhow::{Context, Result, anyhow};
use cpss_highway::TaskId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::contest::Contest;
use crate::play::arm::{Arm, ShieldSettings};
use crate::play::critic::{RiskSource, hash};
use crate::play::policy::{NO_POLICY, PolicySource, shipped};
use crate::play::regime::{Regime, RegimeSpec};
use crate::play::sensor::{Behind, Gaze, PERFECT, SensorSpec};
use crate::play::{seed, view};
use crate::record::EpisodeRecord;
use crate::tasks;

/// One piece of work: some episodes of one cell with one policy.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Task id.
    pub task: String,
    /// Regime name.
    pub regime: String,
    /// Arm.
    pub arm: String,
    /// Training seed of the policy, or its place in the task's list of files.
    pub policy: usize,
    /// Its file and what it sees, if it was made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnPolicy>,
    /// Sensor, by name or path.
    #[serde(default = "perfect", skip_serializing_if = "is_perfect")]
    pub sensor: String,
    /// First episode's seed.
    pub first_seed: u64,
    /// How many episodes.
    pub episodes: u64,
}

/// A finished unit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct UnitRecord {
    /// What was done.
    pub unit: Unit,
    /// With which program and settings; a record with another fingerprint is made again.
    pub fingerprint: String,
    /// What came of it.
    pub episodes: Vec<EpisodeRecord>,
    /// For each step, in how many episodes its proposal was refused.
    pub refusals: Vec<u32>,
}

/// A policy that is not ours.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct OwnPolicy {
    /// Its file.
    pub file: String,
    /// What it sees, where a person says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

fn perfect() -> String {
    PERFECT.to_owned()
}

fn is_perfect(sensor: &str) -> bool {
    sensor == PERFECT
}

impl Unit {
    /// A file name that no other unit of a plan has.
    pub fn name(&self) -> String {
        let Unit { task, regime, arm, policy, own: _, sensor, first_seed, episodes } = self;
        let sensor = if is_perfect(sensor) { String::new() } else { format!("_{sensor}") };
        let name = format!("{task}_{regime}{sensor}_{arm}_{policy}_{first_seed}_{episodes}");
        // A regime may be a path, and an arm has a colon; neither belongs into a file's name.
        name.replace(['/', '\\', ':', '*'], "-")
    }

    /// What drives, as a trace names it.
    pub fn policy_name(&self) -> String {
        let is_floor = self.arm.parse().is_ok_and(|arm: Arm| arm.is_floor());
        match &self.own {
            _ if is_floor => NO_POLICY.to_owned(),
            Some(own) => own.file.clone(),
            None => PolicySource::Builtin(self.policy).to_string(),
        }
    }

    /// Everything besides the unit that its record depends on.
    ///
    /// # Errors
    ///
    /// A task or regime that does not exist.
    pub fn fingerprint(&self) -> Result<String> {
        let task: TaskId = self.task.parse()?;
        let settings = ShieldSettings::shipped(task)?;
        let regime = RegimeSpec::load(&self.regime)?;
        let sensor = SensorSpec::load(&self.sensor)?.sensor();
        let policy = match &self.own {
            Some(own) => fs::read(&own.file).with_context(|| format!("the policy {}", own.file))?,
            None => shipped(task, self.policy).map_or(Vec::new(), |policy| policy.to_bytes()),
        };
        let critic = hash(&*RiskSource::behind(&sensor).load(task)?);
        let of_task = &tasks::of(task).spec;
        let inputs = format!("{settings:?}; {regime:?}; {sensor:?}; {of_task:?}; {critic}");
        let digest = Sha256::new().chain_update(inputs).chain_update(policy).finalize();
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let (version, sources) = (env!("CARGO_PKG_VERSION"), env!("CPSS_SOURCES"));
        Ok(format!("cpss {version}, sources {sources}, inputs {digits}"))
    }

    /// Does the work.
    ///
    /// # Errors
    ///
    /// A task, regime, arm or policy that does not exist or cannot be used.
    pub fn run(&self) -> Result<UnitRecord> {
        let seeds = seed::from(self.first_seed, self.episodes)?;
        let played = self.within(|contest| contest.play_all(&seeds, None, &|| {}))?;
        Ok(UnitRecord {
            unit: self.clone(),
            fingerprint: self.fingerprint()?,
            episodes: played.episodes,
            refusals: played.refusals,
        })
    }

    /// Prepares what its episodes depend on, and does something with it.
    ///
    /// # Errors
    ///
    /// As [`Unit::run`].
    pub fn within<T>(&self, act: impl FnOnce(&Contest<'_>) -> Result<T>) -> Result<T> {
        let task: TaskId = self.task.parse()?;
        let arm: Arm =
            self.arm.parse().map_err(|hint: String| anyhow!("`{}` is no arm: {hint}", self.arm))?;
        let (policy, given) = match &self.own {
            Some(own) => (own.file.parse()?, own.config.as_ref()),
            None => (PolicySource::Builtin(self.policy), None),
        };
        let sensor = SensorSpec::load(&self.sensor)?.sensor();
        let config = view::config_for((!arm.is_floor()).then_some(&policy), task, given)?;
        act(&Contest {
            regime: &Regime::new(RegimeSpec::load(&self.regime)?, task, &config)?,
            regime_name: &self.regime,
            arm,
            settings: &ShieldSettings::shipped(task)?,
            policy: &policy,
            risk: RiskSource::behind(&sensor).load(task)?,
            gaze: Gaze::through(sensor, Behind::Both),
            sensor_name: &self.sensor,
            // The tables ask it of whole methods alone, not of every point of the frontier.
            asks_what_if: arm.given().is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_tells_inputs_apart() {
        let unit = |task: &str, regime: &str, policy| Unit {
            task: task.to_owned(),
            regime: regime.to_owned(),
            arm: "cpss".to_owned(),
            policy,
            own: None,
            sensor: perfect(),
            first_seed: 0,
            episodes: 1,
        };
        let of = |unit: Unit| unit.fingerprint().unwrap();
        let one = of(unit("merge-v0", "high", 0));
        assert_eq!(one, of(unit("merge-v0", "high", 0)));
        for other in [
            unit("merge-v0", "high", 1),
            unit("merge-v0", "mild", 0),
            unit("highway-v0", "high", 0),
        ] {
            assert_ne!(one, of(other));
        }
    }
}
