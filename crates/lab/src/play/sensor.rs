//! Through which eyes do policy and shield see the world?
//!
//! A sensor is a TOML file ([`SensorSpec`]): how far readings are off, what is missed, how late they are. The built-in
//! ones are files like any other: `experiments/sensors/`. [`Sight`] is one episode seen through a sensor: the
//! policy is shown what the sensor shows, and the critic what a tracker makes of it. What happened is measured on the
//! true world, whatever was seen.

use crate::files::sheet::read_sheet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cpss_highway::{Action, ActionError, Eyes, Scene, Sensor, Step, World, sensor};
use cpss_risk::Tracker;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sensor as a person writes it. What is left out is perfect.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SensorSpec {
    /// Its name in tables.
    pub name: String,
    /// How far positions are off along a car's heading, as a standard deviation \[m\].
    #[serde(default)]
    pub along: f64,
    /// How far they are off across it \[m\].
    #[serde(default)]
    pub across: f64,
    /// How far speeds are off \[m/s\].
    #[serde(default)]
    pub speed: f64,
    /// How far accelerations are off \[m/s²\].
    #[serde(default)]
    pub acceleration: f64,
    /// How far headings are off \[rad\].
    #[serde(default)]
    pub heading: f64,
    /// Chance that a look misses a car.
    #[serde(default)]
    pub missed: f64,
    /// How far it sees \[m\], from centre to centre.
    #[serde(default = "farthest")]
    pub range: f64,
    /// Whether a car is out of sight behind another one.
    #[serde(default)]
    pub hidden: bool,
    /// How many frames late it is; highway-env has 15 frames a second.
    #[serde(default)]
    pub delay: usize,
    /// Whether it sees where cars signal to go.
    #[serde(default = "yes")]
    pub signals: bool,
}

fn farthest() -> f64 {
    sensor::FARTHEST
}

fn yes() -> bool {
    true
}

/// A built-in sensor: its name and its file.
macro_rules! builtin {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/experiments/sensors/",
                $name,
                ".toml"
            )),
        )
    };
}

/// The built-in sensors' files, the best first.
pub(crate) const BUILTIN: [(&str, &str); 4] =
    [builtin!("perfect"), builtin!("good"), builtin!("fair"), builtin!("poor")];

/// The name of the sensor that sees everything.
pub(crate) const PERFECT: &str = "perfect";

impl SensorSpec {
    /// Reads a built-in sensor by name, or a TOML file by path.
    ///
    /// # Errors
    ///
    /// A name that is neither, a file that cannot be read, or a number that makes no sense.
    pub fn load(name_or_path: &str) -> Result<SensorSpec> {
        SensorSpec::parse(name_or_path, &SensorSpec::text(name_or_path)?)
    }

    /// The TOML of a built-in sensor by name, or of a file by path.
    ///
    /// # Errors
    ///
    /// A name that is neither, or a file that cannot be read.
    pub fn text(name_or_path: &str) -> Result<String> {
        match BUILTIN.iter().find(|(name, _)| *name == name_or_path) {
            Some((_, text)) => Ok((*text).to_owned()),
            None if Path::new(name_or_path).extension().is_some_and(|end| end == "toml") => {
                read_sheet(name_or_path)
                    .with_context(|| format!("cannot read the sensor {name_or_path}"))
            }
            None => bail!(
                "there is no sensor `{name_or_path}`: give {}, or the path of a .toml file",
                BUILTIN.map(|(name, _)| name).join(", ")
            ),
        }
    }

    /// Reads the TOML of a sensor that is known by this name or path.
    ///
    /// # Errors
    ///
    /// A field that there is not, or a number that makes no sense.
    pub fn parse(name_or_path: &str, text: &str) -> Result<SensorSpec> {
        let spec: SensorSpec =
            toml::from_str(text).with_context(|| format!("the sensor {name_or_path}"))?;
        spec.sensor().check().with_context(|| format!("sensor `{}`", spec.name))?;
        Ok(spec)
    }

    /// The sensor, without its name.
    pub fn sensor(&self) -> Sensor {
        let SensorSpec { along, across, speed, acceleration, heading, .. } = *self;
        let SensorSpec { missed, range, hidden, delay, signals, .. } = *self;
        Sensor {
            along,
            across,
            speed,
            acceleration,
            heading,
            missed,
            range,
            hidden,
            delay,
            signals,
        }
    }
}

/// Who looks through the sensor; everybody else sees the world as it is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Behind {
    /// The policy and the shield.
    #[default]
    Both,
    /// The policy alone.
    Policy,
    /// The shield alone.
    Shield,
}

/// A sensor, and who looks through it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaze {
    /// The sensor.
    pub sensor: Sensor,
    /// Who looks through it.
    pub behind: Behind,
    /// What the tracker takes it for: another one, if eyes have changed and nobody has told it.
    pub taken_for: Sensor,
}

impl Gaze {
    /// Everybody sees everything.
    pub const PERFECT: Gaze =
        Gaze { sensor: Sensor::PERFECT, behind: Behind::Both, taken_for: Sensor::PERFECT };

    /// Through a sensor that is known as what it is.
    pub fn through(sensor: Sensor, behind: Behind) -> Gaze {
        Gaze { sensor, behind, taken_for: sensor }
    }
}

/// A world as it is seen through a sensor, from decision to decision. Start at [`Sight::begin`].
#[derive(Clone, Debug)]
pub struct Sight {
    gaze: Gaze,
    eyes: Option<Eyes>,
    sensed: Scene,
    tracker: Tracker,
    /// How late the last reading was \[s\].
    late: f64,
}

impl Sight {
    /// Sight through a sensor; `None` if that is perfect, and there is nothing to look through.
    pub fn through(gaze: Gaze) -> Option<Sight> {
        let tracker = Tracker::new(gaze.taken_for);
        let sight = Sight { gaze, eyes: None, sensed: Scene::default(), tracker, late: 0.0 };
        (!gaze.sensor.is_perfect()).then_some(sight)
    }

    /// An episode begins, in this world; readings follow from the seed.
    ///
    /// # Errors
    ///
    /// A sensor that makes no sense.
    pub fn begin(&mut self, world: &World, seed: u64) -> Result<()> {
        match &mut self.eyes {
            Some(eyes) => eyes.begin(world, seed),
            None => self.eyes = Some(Eyes::open(self.gaze.sensor, world, seed)?),
        }
        self.tracker.begin();
        self.late = 0.0;
        self.look(0.0);
        Ok(())
    }

    /// Steps the world, and looks at what came of it; `seen` is what perfect eyes see.
    ///
    /// # Errors
    ///
    /// As [`World::step`].
    ///
    /// # Panics
    ///
    /// As [`World::step`].
    pub fn step(
        &mut self,
        world: &mut World,
        action: Action<'_>,
        seen: &mut [f32],
    ) -> Result<Step, ActionError> {
        let step = self.advance(world, action, seen)?;
        self.look(world.task().decision_time);
        Ok(step)
    }

    /// Steps the world and takes readings of it, at which nobody has looked yet; [`Sight::look`] comes after.
    pub(crate) fn advance(
        &mut self,
        world: &mut World,
        action: Action<'_>,
        seen: &mut [f32],
    ) -> Result<Step, ActionError> {
        match &mut self.eyes {
            Some(eyes) => eyes.step(world, action, seen),
            None => world.step(action, seen),
        }
    }

    /// Takes the latest readings into account, so long after those before.
    pub(crate) fn look(&mut self, elapsed: f64) {
        let Some(eyes) = &self.eyes else { return };
        self.sensed.observe(eyes.world());
        let task = eyes.world().task();
        // No later than the tracker takes the sensor for.
        let late = eyes.lateness().min(self.gaze.taken_for.delay as f64 * task.frame_time);
        // At the start of an episode readings become late: there is less time between them than between decisions.
        let between = elapsed - (late - self.late);
        self.late = late;
        self.tracker.look(&task.network, &self.sensed, between, late);
    }

    /// Shows the policy what the sensor shows, if it looks through it.
    ///
    /// # Panics
    ///
    /// If `seen` has another length than the task's observations.
    pub fn show_policy(&mut self, seen: &mut [f32]) {
        if let (Some(eyes), Behind::Both | Behind::Policy) = (&mut self.eyes, self.gaze.behind) {
            eyes.observe(seen);
        }
    }

    /// The scene as the shield has it, if it looks through the sensor.
    pub fn scene(&self) -> Option<&Scene> {
        (self.gaze.behind != Behind::Policy).then(|| self.tracker.scene())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_sensors_go_from_perfect_to_poor_and_a_file_of_ones_own_works_alike() {
        let all = BUILTIN.map(|(name, _)| SensorSpec::load(name).unwrap());
        assert!(all[0].sensor().is_perfect());
        for pair in all.windows(2) {
            let [better, worse] = [pair[0].sensor(), pair[1].sensor()];
            assert!(better.along < worse.along && better.missed < worse.missed);
            assert!(better.speed < worse.speed && better.delay <= worse.delay);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, "name = 'mine'\nhidden = true\nrange = 60.0").unwrap();
        let mine = SensorSpec::load(path.to_str().unwrap()).unwrap();
        assert_eq!((mine.hidden, mine.range, mine.signals), (true, 60.0, true));
    }

    #[test]
    fn nonsense_is_refused_by_field_and_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.toml");
        for (text, words) in [
            ("name = 'x'\nmissed = 1.5", "`missed` is out of range: 1.5"),
            ("name = 'x'\nalong = -1.0", "`along` is out of range: -1"),
            ("name = 'x'\nspeed = nan", "`speed` is out of range: NaN"),
            ("name = 'x'\nfog = 1", "unknown field `fog`"),
            ("along = 1.0", "missing field `name`"),
            ("name = 'x'\ndelay = -1", "delay"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = format!("{:#}", SensorSpec::load(path.to_str().unwrap()).unwrap_err());
            assert!(error.contains(words), "{error}");
        }
        let unknown = SensorSpec::load("foggy").unwrap_err().to_string();
        assert!(unknown.contains("perfect, good, fair, poor"), "{unknown}");
    }
}
