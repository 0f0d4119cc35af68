//! What exactly was it that was measured?

use std::collections::BTreeSet;

use anyhow::Result;
use cpss_highway::TaskId;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{digest, hex};
use crate::measure::unit::UnitRecord;
use crate::play::arm::ShieldSettings;
use crate::play::critic::{RiskSource, hash};
use crate::play::policy::shipped;

/// Hashes of everything that the records depend on.
#[derive(Debug, Serialize)]
pub(crate) struct Identity {
    /// The program that reads the records now, and its sources.
    pub program: String,
    pub sources: &'static str,
    /// Whether every record was made by this very program with what it ships.
    pub records_are_of_this_program: bool,
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
    pub policies_sha256: Vec<String>,
    /// The shield's settings, written out.
    pub shield: String,
    pub shield_sha256: String,
}

impl Identity {
    pub(super) fn of(records: &[UnitRecord]) -> Result<Identity> {
        let is_current = |record: &UnitRecord| {
            record.unit.fingerprint().is_ok_and(|fingerprint| fingerprint == record.fingerprint)
        };
        let names: BTreeSet<&str> =
            records.iter().map(|record| record.unit.task.as_str()).collect();
        let tasks = names.into_iter().map(TaskIdentity::of).collect::<Result<_>>()?;
        Ok(Identity {
            program: format!("cpss {}", env!("CARGO_PKG_VERSION")),
            sources: env!("CPSS_SOURCES"),
            records_are_of_this_program: records.iter().all(is_current),
            records: records.len(),
            records_sha256: digest(records)?,
            tasks,
        })
    }
}

impl TaskIdentity {
    fn of(name: &str) -> Result<TaskIdentity> {
        let id: TaskId = name.parse()?;
        let critic = RiskSource::default().load(id)?;
        let card = critic.card();
        let shield = format!("{:?}", ShieldSettings::shipped(id)?);
        let policies = (0..).map_while(|seed| shipped(id, seed).ok());
        Ok(TaskIdentity {
            task: name.to_owned(),
            critic_sha256: hash(&critic),
            critic_is_conservative: card.is_conservative(),
            calibrated_on_episodes: card.calibration.episodes,
            policies_sha256: policies
                .map(|policy| hex(&Sha256::digest(policy.to_bytes())))
                .collect(),
            shield_sha256: hex(&Sha256::digest(&shield)),
            shield,
        })
    }
}
