//! Which changes of the world are shields deployed into, and how is that work done?
//!
//! A [`DeployPlan`] is a TOML file; `experiments/adaptation.toml` is the built-in one. Its cells are a task, a change and
//! a method, each played by single cars and by a fleet. A finished cell is a file, so that a run that was stopped goes
//! on. Start at [`DeployPlan::play`].

mod block;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cpss_highway::TaskId;
use cpss_shield::RiskSpec;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::atomic::{folder, write_atomically};
use crate::measure::deployment::{Deployment, Method, Surroundings};
use crate::play::arm::ShieldSettings;
use crate::play::critic::{RiskSource, hash};
use crate::play::regime::RegimeSpec;
use crate::play::sensor::{PERFECT, SensorSpec};
use crate::record::memory::Adaptation;

pub use block::Block;

/// The built-in plan.
const BUILTIN: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/adaptation.toml"));

/// Episodes that are summed up together.
pub(crate) const BLOCK: u64 = 20;

/// Deployments, as a person writes them.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeployPlan {
    /// Task ids.
    pub tasks: Vec<String>,
    /// What the world changes to, from stationary traffic and perfect eyes.
    pub changes: Vec<Change>,
    /// How shields cope; all there are, unless said.
    #[serde(default = "every_method")]
    pub methods: Vec<Method>,
    /// Episodes of each car, a multiple of 20,
    pub episodes: u64,
    /// and those before the change.
    pub change: u64,
    /// Single cars.
    pub runs: u64,
    /// Cars of the fleet that shares a memory; 0 for none.
    pub fleet: usize,
    /// The first seed; every car has its own.
    pub first_seed: u64,
    /// Constant thresholds of the method `fixed`, by task.
    pub thresholds: BTreeMap<String, f64>,
    /// The most by which a memory raises the log-odds of all risks; the shipped shield's, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_shift: Option<f64>,
}

/// What the world changes to.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Change {
    /// A regime, by name or path.
    pub regime: String,
    /// A sensor, by name or path.
    pub sensor: String,
}

impl Default for Change {
    fn default() -> Change {
        Change { regime: STATIONARY.to_owned(), sensor: PERFECT.to_owned() }
    }
}

const STATIONARY: &str = "stationary";

fn every_method() -> Vec<Method> {
    Method::EACH.to_vec()
}

impl Change {
    /// In a word or two.
    pub(crate) fn words(&self) -> String {
        match (self.regime.as_str(), self.sensor.as_str()) {
            (STATIONARY, PERFECT) => "none".to_owned(),
            (regime, PERFECT) => format!("{regime} traffic"),
            (STATIONARY, sensor) => format!("{sensor} eyes"),
            (regime, sensor) => format!("{regime} traffic, {sensor} eyes"),
        }
    }
}

/// One cell: what came of one method after one change in one task.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct DeployCell {
    /// What it depends on.
    pub fingerprint: String,
    /// Task id.
    pub task: String,
    /// The change.
    pub change: Change,
    /// The method.
    pub method: Method,
    /// Cars that share a memory: 1 for single ones.
    pub cars: usize,
    /// Episodes before the change.
    pub before: u64,
    /// Sums over all cars, for every twenty episodes of each.
    pub blocks: Vec<Block>,
    /// For each run, after how many episodes from the change on there was an alarm about traffic.
    pub alarms: Vec<Option<u64>>,
    /// Alarms about traffic before the change,
    pub false_alarms: u64,
    /// and the decisions in which they came.
    pub quiet_decisions: u64,
}

impl DeployPlan {
    /// The built-in plan, or one from a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or an entry that makes no sense.
    pub fn load(path: Option<&Path>) -> Result<DeployPlan> {
        let (text, name) = super::text_of(path, BUILTIN)?;
        let plan: DeployPlan = toml::from_str(&text).with_context(|| name.clone())?;
        plan.check().with_context(|| name)?;
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.tasks.is_empty() && !self.changes.is_empty(), "there is nothing to do");
        for task in &self.tasks {
            task.parse::<TaskId>()?;
            let threshold = self.thresholds.get(task);
            let threshold =
                threshold.with_context(|| format!("`thresholds` has none for {task}"))?;
            ensure!(
                *threshold >= 1e-6 && *threshold < 1.0,
                "`thresholds.{task}` is out of range: {threshold}, not from 0.000001 to 1"
            );
        }
        for change in &self.changes {
            RegimeSpec::load(&change.regime)?;
            SensorSpec::load(&change.sensor)?;
        }
        for (field, number) in [("episodes", self.episodes), ("change", self.change)] {
            ensure!(
                number > 0 && number % BLOCK == 0,
                "`{field}` is {number}, no multiple of {BLOCK}"
            );
        }
        ensure!(
            self.change <= self.episodes,
            "`change` is {}, after the last episode",
            self.change
        );
        if let Some(most) = self.max_shift {
            let range = 0.0..=RiskSpec::MAX_SHIFT;
            ensure!(range.contains(&most), "`max_shift` is {most}, not from 0 to {}", range.end());
        }
        ensure!(self.runs <= 10_000, "`runs` is out of range: {}, not from 0 to 10000", self.runs);
        ensure!(self.fleet <= 1_000, "`fleet` is out of range: {}, not from 0 to 1000", self.fleet);
        Ok(())
    }

    /// The cells, in the order of tables: task, change, method, and single cars before the fleet.
    pub(crate) fn cells(&self) -> Vec<(String, Change, Method, usize)> {
        let kinds: Vec<usize> =
            [usize::from(self.runs > 0), self.fleet].into_iter().filter(|cars| *cars > 0).collect();
        let mut cells = Vec::new();
        for task in &self.tasks {
            for change in &self.changes {
                for method in &self.methods {
                    let each =
                        kinds.iter().map(|cars| (task.clone(), change.clone(), *method, *cars));
                    cells.extend(each);
                }
            }
        }
        cells
    }

    /// Plays all cells into a folder, but for those that are there already; `tell` is called with what comes next, and
    /// `played` after each cell.
    ///
    /// # Errors
    ///
    /// A critic or policy that is not there, or a folder that cannot be written.
    pub fn play(
        &self,
        out: &Path,
        tell: &dyn Fn(String),
        played: &dyn Fn(),
    ) -> Result<Vec<DeployCell>> {
        let place = out.join("cells");
        folder(&place)?;
        let mut all = Vec::new();
        for (task, change, method, cars) in self.cells() {
            let fingerprint = self.fingerprint(&task, &change)?;
            let name =
                format!("{task}_{}_{}_{}_{cars}", change.regime, change.sensor, method.name());
            let file = place.join(format!("{}.json", name.replace(['/', '\\'], "-")));
            tell(name);
            let known = std::fs::read(&file).ok();
            let known: Option<DeployCell> =
                known.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let cell = match known.filter(|known| known.fingerprint == fingerprint) {
                Some(known) => known,
                None => {
                    let cell = self.play_cell(fingerprint, &task, &change, method, cars)?;
                    write_atomically(&file, serde_json::to_string(&cell)?.as_bytes())?;
                    cell
                }
            };
            played();
            all.push(cell);
        }
        Ok(all)
    }

    /// All that a cell depends on besides its name.
    fn fingerprint(&self, task: &str, change: &Change) -> Result<String> {
        let id: TaskId = task.parse()?;
        let critics = [RiskSource::Stationary, RiskSource::Drift, RiskSource::Sensed];
        let critics = critics.map(|source| source.load(id).map(|risk| hash(&risk)));
        let numbers = (self.episodes, self.change, self.runs, self.first_seed, &self.thresholds);
        let world = (RegimeSpec::load(&change.regime)?, SensorSpec::load(&change.sensor)?);
        let settings = self.settings(id)?;
        let inputs =
            format!("{critics:?} {numbers:?} {world:?} {settings:?} {}", env!("CPSS_SOURCES"));
        let digest = Sha256::digest(inputs);
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The shield of a task.
    fn settings(&self, id: TaskId) -> Result<ShieldSettings> {
        let shipped = ShieldSettings::shipped(id)?;
        let max_shift = self.max_shift.unwrap_or(shipped.adaptation.max_shift);
        let adaptation = Adaptation { max_shift, ..shipped.adaptation };
        Ok(ShieldSettings { adaptation, ..shipped })
    }

    fn play_cell(
        &self,
        fingerprint: String,
        task: &str,
        change: &Change,
        method: Method,
        cars: usize,
    ) -> Result<DeployCell> {
        let id: TaskId = task.parse()?;
        let settings = self.settings(id)?;
        let world = |change: &Change| -> Result<Surroundings> {
            let sensor = SensorSpec::load(&change.sensor)?.sensor();
            Ok(Surroundings { regime: RegimeSpec::load(&change.regime)?, sensor })
        };
        let deployment = Deployment {
            task: id,
            before: world(&Change::default())?,
            after: world(change)?,
            episodes: self.episodes,
            change: self.change,
            cars,
            method,
            threshold: self.thresholds.get(task).copied().unwrap_or(f64::NAN),
            settings: &settings,
            first_seed: self.first_seed,
        };
        // The fleet's seeds come after those of all single cars.
        let singles = self.runs * self.episodes;
        let seeds: Vec<u64> = match cars {
            1 => (0..self.runs).map(|run| self.first_seed + run * self.episodes).collect(),
            _ => vec![self.first_seed + singles],
        };
        let play = |first_seed: &u64| {
            Deployment { first_seed: *first_seed, ..deployment.clone() }.run(&|| {})
        };
        let runs = seeds.par_iter().map(play).collect::<Result<Vec<_>>>()?;
        let mut blocks = vec![Block::default(); (self.episodes / BLOCK) as usize];
        let (mut alarms, mut false_alarms, mut quiet_decisions) = (Vec::new(), 0, 0);
        for run in &runs {
            for lived in run {
                blocks[(lived.episode / BLOCK) as usize].enter(lived);
                if lived.episode < self.change {
                    quiet_decisions += lived.steps;
                }
            }
            let quiet = run.iter().filter(|lived| lived.episode < self.change);
            let before = quiet.map(|lived| lived.alarms).max().unwrap_or(0);
            false_alarms += before;
            let first = run.iter().find(|it| it.episode >= self.change && it.alarms > before);
            alarms.push(first.map(|lived| lived.episode - self.change + 1));
        }
        Ok(DeployCell {
            fingerprint,
            task: task.to_owned(),
            change: change.clone(),
            method,
            cars,
            before: self.change,
            blocks,
            alarms,
            false_alarms,
            quiet_decisions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_plan_makes_sense_and_nonsense_is_refused_by_field() {
        let plan = DeployPlan::load(None).unwrap();
        assert_eq!(plan.methods, Method::EACH);
        assert_eq!(plan.cells().len(), plan.tasks.len() * plan.changes.len() * 6 * 2);
        for (change, words) in [
            (DeployPlan { change: 30, ..plan.clone() }, "`change` is 30"),
            (DeployPlan { change: 800, ..plan.clone() }, "after the last episode"),
            (DeployPlan { fleet: 5_000, ..plan.clone() }, "`fleet` is out of range: 5000"),
            (DeployPlan { thresholds: BTreeMap::new(), ..plan.clone() }, "`thresholds` has none"),
        ] {
            let error = format!("{:#}", change.check().unwrap_err());
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_mean_surprise_without_incidents_is_not_certain() {
        let mut block = Block::default();
        for _ in 0..100 {
            block.add(&Block { episodes: 1.0, surprise: -0.001, ..Block::default() });
        }
        let (mean, [low, high]) = block.mean_surprise();
        assert!((mean + 0.001).abs() < 1e-12 && low < -0.02 && high > 0.018);
    }
}
