//! What exactly was it that was measured?

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Result, ensure};
use cpss_highway::TaskId;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{digest, hex};
use crate::measure::unit::UnitRecord;
use crate::play::arm::ShieldSettings;
use crate::play::critic::{RiskSource, hash};
use crate::play::policy::shipped;
use crate::play::sensor::{PERFECT, SensorSpec};

/// Hashes of everything that the records depend on.
#[derive(Debug, Serialize)]
pub(crate) struct Identity {
    /// The program that reads the records now, and its sources.
    pub program: String,
    pub sources: &'static str,
    pub records: usize,
    pub records_sha256: String,
    pub tasks: Vec<TaskIdentity>,
}

/// What a task was played with.
#[derive(Debug, Serialize)]
pub(crate) struct TaskIdentity {
    pub task: String,
    pub critic_sha256: String,
    pub critic_is_conservative: bool,
    pub calibrated_on_episodes: u64,
    /// Of the policies that drove, by their place in the plan.
    pub policies_sha256: BTreeMap<usize, String>,
    /// The shield's settings, written out.
    pub shield: String,
    pub shield_sha256: String,
}

impl Identity {
    pub(super) fn of(records: &[UnitRecord]) -> Result<Identity> {
        let is_other = |record: &&UnitRecord| {
            !record.unit.fingerprint().is_ok_and(|fingerprint| fingerprint == record.fingerprint)
        };
        // Whatever is said of critics, settings and promises is what this program ships.
        let others = records.iter().filter(is_other).count();
        ensure!(
            others == 0,
            "{others} of {} records were made by another program, critic, policy or setting: only the program that made them \
             can vouch for what they depend on; `cpss reproduce` or `cpss run` makes them again",
            records.len()
        );
        let names: BTreeSet<&str> =
            records.iter().map(|record| record.unit.task.as_str()).collect();
        let tasks = names.into_iter().map(|name| TaskIdentity::of(name, records));
        let tasks = tasks.collect::<Result<_>>()?;
        Ok(Identity {
            program: format!("cpss {}", env!("CARGO_PKG_VERSION")),
            sources: env!("CPSS_SOURCES"),
            records: records.len(),
            records_sha256: digest(records)?,
            tasks,
        })
    }
}

impl TaskIdentity {
    fn of(name: &str, records: &[UnitRecord]) -> Result<TaskIdentity> {
        let id: TaskId = name.parse()?;
        let eyes = records.first().map_or(PERFECT, |record| record.unit.sensor.as_str());
        let critic = RiskSource::behind(&SensorSpec::load(eyes)?.sensor()).load(id)?;
        let card = critic.card();
        let shield = format!("{:?}", ShieldSettings::shipped(id)?);
        let mut policies = BTreeMap::new();
        for unit in records.iter().map(|record| &record.unit).filter(|unit| unit.task == name) {
            let bytes = match &unit.own {
                Some(own) => fs::read(&own.file).ok(),
                None => shipped(id, unit.policy).ok().map(|policy| policy.to_bytes()),
            };
            policies.extend(bytes.map(|bytes| (unit.policy, hex(&Sha256::digest(bytes)))));
        }
        Ok(TaskIdentity {
            task: name.to_owned(),
            critic_sha256: hash(&critic),
            critic_is_conservative: card.is_conservative(),
            calibrated_on_episodes: card.calibration.episodes,
            policies_sha256: policies,
            shield_sha256: hex(&Sha256::digest(&shield)),
            shield,
        })
    }
}
