//! Which critics come with the program, and how is one read from a file?
//!
//! Three sets: one learned over all built-in regimes, which every command uses unless told otherwise; one learned
//! over all of them behind sensors, for eyes that are not perfect; and one learned in stationary traffic with perfect
//! eyes only, for asking what happens when the world is not as learned.

use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use cpss_highway::{Sensor, Task, TaskId};
use cpss_risk::LearnedRisk;
use sha2::{Digest, Sha256};

use crate::play::sensor::{Behind, PERFECT};
use crate::tasks::{self, policy_task};

/// Where a critic comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RiskSource {
    /// Shipped, learned over all regimes.
    #[default]
    Drift,
    /// Shipped, learned over all regimes behind sensors.
    Sensed,
    /// Shipped, learned in stationary traffic only.
    Stationary,
    /// A file that `cpss risk learn` wrote.
    File(String),
}

impl FromStr for RiskSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<RiskSource, Self::Err> {
        Ok(match text {
            "drift" => RiskSource::Drift,
            "sensed" => RiskSource::Sensed,
            "stationary" => RiskSource::Stationary,
            path => RiskSource::File(path.to_owned()),
        })
    }
}

impl std::fmt::Display for RiskSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RiskSource::Drift => "drift",
            RiskSource::Sensed => "sensed",
            RiskSource::Stationary => "stationary",
            RiskSource::File(path) => path,
        })
    }
}

/// The file of a task's critic that was learned behind sensors.
const SENSED: &str = "risk-sensed.safetensors";

impl RiskSource {
    /// The shipped critic for such eyes.
    pub fn behind(sensor: &Sensor) -> RiskSource {
        if sensor.is_perfect() { RiskSource::Drift } else { RiskSource::Sensed }
    }

    /// Reads the critic.
    ///
    /// # Errors
    ///
    /// A file that is missing, or is no critic.
    pub fn load(&self, id: TaskId) -> Result<Arc<LearnedRisk>> {
        let read;
        let file = match self {
            RiskSource::Drift => shipped(id, "risk.safetensors")?,
            RiskSource::Sensed => match tasks::of(id).file(SENSED) {
                Some(file) => file,
                // A tracker serves any critic; one that has not learned how far it is off is the next best.
                None => shipped(id, "risk.safetensors")?,
            },
            RiskSource::Stationary => shipped(id, "risk-stationary.safetensors")?,
            RiskSource::File(path) => {
                read = std::fs::read(Path::new(path)).map_err(|error| {
                    let way = match error.kind() {
                        ErrorKind::NotFound => {
                            "; give drift, sensed, stationary, or a file that `cpss risk learn` wrote"
                        }
                        _ => "",
                    };
                    anyhow!("cannot read the critic {path}: {error}{way}")
                })?;
                &read
            }
        };
        // Its words say the cause already, which a chain of errors would say again.
        let risk =
            LearnedRisk::from_bytes(file).map_err(|error| anyhow!("the critic {self}: {error}"))?;
        let known: Option<TaskId> = risk.card().env.parse().ok();
        // Tasks may have actions of the same names; their risks are not the same.
        ensure!(
            known.is_some_and(|known| tasks::of(known).folder == tasks::of(id).folder),
            "the critic {self} was learned in {}, and says nothing about {}",
            risk.card().env,
            id.name()
        );
        Ok(Arc::new(risk))
    }
}

/// A shipped critic of a task. A task's corrected and fast versions are served by its own.
fn shipped(id: TaskId, file: &str) -> Result<&'static [u8]> {
    tasks::of(id).file(file).ok_or_else(|| {
        anyhow!(
            "no critic is shipped for {}; give --risk a file that `cpss risk learn` wrote",
            id.name()
        )
    })
}

/// Whether a critic was found conservative in this very task and regime, with policy and shield behind this sensor. Only
/// then anything is promised. Here a task's config differs in nothing but what a policy sees.
pub fn is_conservative_here(
    risk: &LearnedRisk,
    id: TaskId,
    (regime, sensor, behind): (&str, &str, Behind),
) -> bool {
    // Critics are calibrated with everybody behind the sensor.
    let as_calibrated = sensor == PERFECT || behind == Behind::Both;
    as_calibrated && risk.card().is_conservative_behind(id.name(), regime, sensor)
}

/// Whether a shield with this budget promises anything there: its critic was found conservative, and under such budgets.
pub fn promises_here(
    risk: &LearnedRisk,
    id: TaskId,
    world: (&str, &str, Behind),
    budget: f64,
) -> bool {
    risk.card().is_calibrated_for(budget) && is_conservative_here(risk, id, world)
}

/// Whether this is the task that a critic learned in, in a config that differs in nothing but what a policy sees.
pub fn knows(risk: &LearnedRisk, task: &Task) -> bool {
    let known: Option<TaskId> = risk.card().env.parse().ok();
    known.is_some_and(|known| policy_task(known).is_same_but_for_observation(task))
}

/// The hash of a critic's file.
pub fn hash(risk: &LearnedRisk) -> String {
    Sha256::digest(risk.to_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
