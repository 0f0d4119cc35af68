//! How is the risk of each action learned, and how good is what was learned?
//!
//! | file | question |
//! |---|---|
//! | [`collect`] | what is seen of the world, and how is it driven meanwhile? |
//! | `driver` | who drives meanwhile? |
//! | `weave` | how does an ego without brakes lose way? |
//! | [`measure`] | what comes of shielded episodes, and of single actions? |
//! | [`rounds`] | how do rounds of data and learning make a critic? |
//! | [`account`] | what do measured episodes come to? |
//! | [`calibrate`] | do its risks agree with what happens? |
//! | [`likeness`] | what is the traffic like that it knows? |

pub(crate) mod account;
pub(crate) mod calibrate;
pub(crate) mod collect;
mod driver;
mod journal;
pub(crate) mod likeness;
pub(crate) mod measure;
pub(crate) mod rounds;
mod weave;

use anyhow::Result;
use cpss_highway::{Sensor, TaskId};

use crate::play::regime::{Regime, RegimeSpec};
use crate::play::sensor::{Behind, Gaze, SensorSpec};
use crate::tasks::{self, SHIPPED_SEEDS, policy_config, policy_task};

/// Longer episodes than this many decisions cannot be seen to their end.
const LONG: f64 = 200.0;
/// The chance that the look-ahead goes on there: 100 decisions on average.
const LONG_LOOK_AHEAD: f64 = 0.99;

/// The chance that a look-ahead goes on to the next decision: 1 where an episode can be seen to its end.
pub(crate) fn look_ahead(id: TaskId) -> f64 {
    let task = policy_task(id);
    if tasks::of(id).spec.seconds / task.decision_time > LONG { LONG_LOOK_AHEAD } else { 1.0 }
}

/// The avoidable risk that is let through while a critic is measured and calibrated.
pub(crate) const USUAL_THRESHOLD: f64 = 0.003;

/// Decisions in a long episode of a task.
fn longest_episode(task: &cpss_highway::Task) -> usize {
    (tasks::of(task.id).spec.seconds / task.decision_time).round() as usize
}

/// As many episodes as were asked for, but no more than take this many decisions: long episodes say more.
pub(crate) fn enough(id: TaskId, episodes: u64) -> u64 {
    const DECISIONS: f64 = 800_000.0;
    let task = policy_task(id);
    episodes.min((DECISIONS * task.decision_time / tasks::of(id).spec.seconds) as u64).max(1)
}

/// The share of decisions on which to try some action, for about so many tries in an episode.
pub(crate) fn tries(id: TaskId, in_an_episode: f64) -> f64 {
    let task = policy_task(id);
    in_an_episode * task.decision_time / tasks::of(id).spec.seconds
}

/// Under which traffic and through which eyes episodes are played, by turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions<'a> {
    /// The regimes.
    pub regimes: &'a [Regime],
    /// The sensors, through which policy and shield look.
    pub sensors: &'a [Sensor],
}

impl Conditions<'_> {
    /// Which regime the episode of a seed is played under, by its place: all policies come before the next one.
    pub(crate) fn regime_of(&self, seed: u64) -> usize {
        seed as usize / SHIPPED_SEEDS % self.regimes.len()
    }

    /// And through which sensor: all regimes come before the next one.
    pub(crate) fn sensor_of(&self, seed: u64) -> usize {
        seed as usize / (SHIPPED_SEEDS * self.regimes.len()) % self.sensors.len()
    }
}

/// Both look through the sensor.
pub(crate) fn gaze(sensor: Sensor) -> Gaze {
    Gaze::through(sensor, Behind::Both)
}

/// Reads some sensors.
pub(crate) fn load_sensors(names: &[String]) -> Result<Vec<Sensor>> {
    anyhow::ensure!(!names.is_empty(), "give at least one sensor");
    names.iter().map(|name| Ok(SensorSpec::load(name)?.sensor())).collect()
}

/// Makes some regimes ready for a task.
pub(crate) fn load_regimes(id: TaskId, names: &[String]) -> Result<Vec<Regime>> {
    anyhow::ensure!(!names.is_empty(), "give at least one regime");
    let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    if let Some((_, name)) = twice {
        anyhow::bail!("the regime {name} is given twice");
    }
    let make = |name: &String| Regime::new(RegimeSpec::load(name)?, id, &policy_config(id));
    names.iter().map(make).collect()
}
