//! How does the traffic drift during an episode?
//!
//! A regime is a TOML file: how intense the drift may get, how often it changes and how fast. One
//! number per moment, the intensity `u` in [0, 1], comes out of the episode's seed ([`Timeline`]);
//! it makes traffic denser, from the start on ([`Regime`]) and wherever cars can come and go out of sight, and rougher
//! all along ([`Drift`]). The
//! built-in ones are files like any other: `experiments/regimes/`.
//!
//! **Invariants:** at intensity zero nothing is done to the world, so a stationary episode is
//! upstream's bit for bit; the same seed has the same intensity over time under every arm. Which cars then come, and which
//! brake, depends on where the ego is.
//!
//! **Absent on purpose:** crashes that nobody could avoid. Distances shrink between bumpers and not
//! inside cars, and nobody starts closer to a car than braking for it takes. How far that goes is
//! measured: the `oracle` arm sees all that will happen, and what it cannot avoid is the world's.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use cpss_highway::random::Generator;
use cpss_highway::{Task, TaskId, World};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::files::sheet::read_sheet;
use crate::tasks::{self, Density, DriftSpec, More};

mod drift;
mod timeline;

pub use drift::Drift;
pub use timeline::Timeline;

/// A regime as a person writes it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RegimeSpec {
    /// Its name in tables.
    pub name: String,
    /// The greatest intensity, in [0, 1].
    pub peak: f64,
    /// How many times the intensity changes in an episode, at most 100.
    pub changes: usize,
    /// How long a change takes \[s\]; 0 is abrupt.
    #[serde(default)]
    pub ramp: f64,
    /// Whether the number of cars is that of the episode's first intensity all along, as in version 0.1.
    #[serde(default)]
    pub keeps_density: bool,
    /// What full intensity does.
    #[serde(default)]
    pub full: Intensity,
}

/// What traffic is like at full intensity; in between, each number is interpolated.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Intensity {
    /// Time gap that drivers keep \[s\].
    pub headway: f64,
    /// Share by which the distance kept in a jam, from bumper to bumper, shrinks, in [0, 1).
    pub jam_distance_cut: f64,
    /// Share by which drivers accelerate harder.
    pub acceleration_boost: f64,
    /// Acceleration that a lane change has to gain \[m/s²\].
    pub lane_change_gain: f64,
    /// Braking that a lane change may impose \[m/s²\].
    pub imposed_braking: f64,
    /// How much denser traffic is, relative to the usual, where a task has a density.
    #[serde(alias = "highway_density")]
    pub density: f64,
    /// Extra cars at the start, by the names that tasks give them; at most 100 of a name. Those that are not
    /// named are as many as the task's folder says.
    pub extra_cars: BTreeMap<String, u32>,
    /// Chance that a car appears after a decision, where cars do.
    pub spawn_probability: f64,
    /// Share by which speeds of cars that are put on the road spread around the usual.
    pub speed_spread: f64,
    /// Sudden brakings of the car ahead, per second \[1/s\].
    pub brakings_per_second: f64,
}

impl Intensity {
    /// How many cars of a name are extra, if a task has this many of its own accord.
    fn extra(&self, name: &str, usual: u32) -> u32 {
        self.extra_cars.get(name).copied().unwrap_or(usual)
    }
}

impl Default for Intensity {
    fn default() -> Intensity {
        Intensity {
            headway: 0.9,
            jam_distance_cut: 0.4,
            acceleration_boost: 0.5,
            lane_change_gain: 0.05,
            imposed_braking: 4.0,
            density: 2.0,
            extra_cars: BTreeMap::new(),
            spawn_probability: 1.0,
            speed_spread: 0.2,
            brakings_per_second: 0.1,
        }
    }
}

/// A built-in regime: its name and its file.
macro_rules! regime {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/experiments/regimes/",
                $name,
                ".toml"
            )),
        )
    };
}

/// The built-in regimes' files, in order of intensity; then those of version 0.1, which were milder.
pub(crate) const BUILTIN: [(&str, &str); 7] = [
    regime!("stationary"),
    regime!("mild"),
    regime!("average"),
    regime!("high"),
    regime!("mild-0.1"),
    regime!("average-0.1"),
    regime!("high-0.1"),
];

/// The regimes of the comparison.
pub(crate) const REGIMES: [&str; 4] = ["stationary", "mild", "average", "high"];

impl RegimeSpec {
    /// Reads a built-in regime by name, or a TOML file by path.
    ///
    /// # Errors
    ///
    /// A name that is neither, a file that cannot be read, or a number that makes no sense.
    pub fn load(name_or_path: &str) -> Result<RegimeSpec> {
        RegimeSpec::parse(name_or_path, &RegimeSpec::text(name_or_path)?)
    }

    /// The TOML of a built-in regime by name, or of a file by path.
    ///
    /// # Errors
    ///
    /// A name that is neither, or a file that cannot be read.
    pub fn text(name_or_path: &str) -> Result<String> {
        match BUILTIN.iter().find(|(name, _)| *name == name_or_path) {
            Some((_, text)) => Ok((*text).to_owned()),
            None if Path::new(name_or_path).extension().is_some_and(|end| end == "toml") => {
                read_sheet(name_or_path)
                    .with_context(|| format!("cannot read the regime {name_or_path}"))
            }
            None => bail!(
                "there is no regime `{name_or_path}`: give {}, or the path of a .toml file",
                BUILTIN.map(|(name, _)| name).join(", ")
            ),
        }
    }

    /// Reads the TOML of a regime that is known by this name or path.
    ///
    /// # Errors
    ///
    /// A field that there is not, or a number that makes no sense.
    pub fn parse(name_or_path: &str, text: &str) -> Result<RegimeSpec> {
        let spec: RegimeSpec =
            toml::from_str(text).with_context(|| format!("the regime {name_or_path}"))?;
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<()> {
        let full = &self.full;
        let known = tasks::extra_cars();
        for name in full.extra_cars.keys() {
            ensure!(
                known.contains(&name.as_str()),
                "regime `{}`: no task has extra cars by the name `{name}`; there are {}",
                self.name,
                known.join(", ")
            );
        }
        let cars = full.extra_cars.values().copied().max().unwrap_or(0);
        // A field, its number, and the least and the most that it may be.
        for (field, value, least, most) in [
            ("peak", self.peak, 0.0, 1.0),
            ("changes", self.changes as f64, 0.0, 100.0),
            ("full.extra_cars", f64::from(cars), 0.0, 100.0),
            ("ramp", self.ramp, 0.0, 1e4),
            ("full.headway", full.headway, 0.1, 10.0),
            ("full.jam_distance_cut", full.jam_distance_cut, 0.0, 1.0_f64.next_down()),
            ("full.acceleration_boost", full.acceleration_boost, 0.0, 5.0),
            ("full.density", full.density, 0.2, 5.0),
            ("full.spawn_probability", full.spawn_probability, 0.0, 1.0),
            ("full.speed_spread", full.speed_spread, 0.0, 0.9),
            ("full.brakings_per_second", full.brakings_per_second, 0.0, 10.0),
            ("full.imposed_braking", full.imposed_braking, 0.1, 20.0),
            ("full.lane_change_gain", full.lane_change_gain, 0.0, 10.0),
        ] {
            ensure!(
                (least..=most).contains(&value),
                "regime `{}`: `{field}` is out of range: {value}, not from {least} to {most}",
                self.name
            );
        }
        Ok(())
    }
}

/// How many densities of a task are prepared.
const DENSITY_LEVELS: usize = 8;

/// A regime made ready for one task: what is the same for all episodes.
#[derive(Debug)]
pub struct Regime {
    spec: RegimeSpec,
    /// The task at rising density; one only where density is not a matter of its config.
    tasks: Vec<Arc<Task>>,
}

impl Regime {
    /// Prepares a regime for a task with a config.
    ///
    /// # Errors
    ///
    /// A config that the task refuses.
    pub fn new(spec: RegimeSpec, id: TaskId, config: &Value) -> Result<Regime> {
        let mut tasks = vec![Task::new(id, config)?];
        for level in 1..=DENSITY_LEVELS {
            let share = level as f64 / DENSITY_LEVELS as f64;
            match denser(&spec.full, id, config, share) {
                Some(config) if spec.peak > 0.0 => tasks.push(Task::new(id, &config)?),
                _ => break,
            }
        }
        Ok(Regime { spec, tasks })
    }

    /// The regime as it was written.
    pub fn spec(&self) -> &RegimeSpec {
        &self.spec
    }

    /// The task without drift.
    pub fn task(&self) -> &Arc<Task> {
        &self.tasks[0]
    }

    /// Starts an episode: the world of this seed, and the drift that goes with it.
    pub fn begin(&self, seed: u64) -> (World, Drift) {
        self.begin_from(Generator::seeded(seed), seed)
    }

    /// Starts the episode whose world follows from a generator, and whose drift from a seed.
    pub fn begin_from(&self, world: Generator, seed: u64) -> (World, Drift) {
        // A stream of its own, so that drift never shifts the world's random numbers.
        let mut random = Generator::seeded(seed ^ 0x5eed_d01f_7000_0000);
        let timeline =
            Timeline::draw(&self.spec, tasks::of(self.task().id).spec.seconds, &mut random);
        let intensity = timeline.at(0.0);
        let level = (intensity * (self.tasks.len() - 1) as f64).round() as usize;
        let mut world = World::from_random(Arc::clone(&self.tasks[level]), world);
        let mut drift = Drift::new(&self.spec, world.parameters(), timeline, random);
        if let dense @ 1.. = self.tasks.len() - 1 {
            drift.begins_with_density_of(level as f64 / dense as f64);
        }
        drift.add_cars(&mut world, intensity);
        (world, drift)
    }
}

/// A task's config with this share of the extra density; `None` if density is no matter of its config.
fn denser(full: &Intensity, id: TaskId, config: &Value, share: f64) -> Option<Value> {
    let DriftSpec { density, more, .. } = &tasks::of(id).spec.drift;
    let mut denser = config.clone();
    if let Some(Density { key, usual }) = density {
        let usual = config.get(key).and_then(Value::as_f64).unwrap_or(*usual);
        denser[key] = json!(usual * (1.0 + share * (full.density - 1.0)));
    }
    for More { name, count, key, usual } in more {
        let usual = config.get(key).and_then(Value::as_u64).unwrap_or(*usual);
        let extra = f64::from(full.extra(name, *count));
        denser[key] = json!(usual + (extra * share).round() as u64);
    }
    (density.is_some() || !more.is_empty()).then_some(denser)
}

#[cfg(test)]
mod tests;
