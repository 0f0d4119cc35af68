//! What did the training of a method's policies cost?
//!
//! `cpss train --baselines` writes a line for every policy into `training.csv` beside them: task, algorithm, seed, steps,
//! seconds, episodes and incidents. Where the table has no line, a policy's card still knows episodes and incidents.
//! Time is no property of a policy, so that no card has it. Start at [`Trainings::of`].

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use cpss_highway::TaskId;

use super::Method;
use crate::measure::statistics::mean;
use crate::play::policy::PolicySource;

/// The table's name, in the folder of all policies.
const FILE: &str = "training.csv";

/// What training cost; in the mean over seeds, where it is of several. `None` where nothing says it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Training {
    /// Episodes.
    pub episodes: Option<f64>,
    /// Episodes with an incident.
    pub incidents: Option<f64>,
    /// Time \[s\].
    pub seconds: Option<f64>,
}

/// What the training of each policy cost, by task, learner and seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trainings(BTreeMap<(String, String, usize), Training>);

impl Trainings {
    /// Reads the table of a folder; one without a table has no lines.
    ///
    /// # Errors
    ///
    /// A table that is not one.
    pub(crate) fn load(folder: &Path) -> Result<Trainings> {
        let file = folder.join(FILE);
        match std::fs::read_to_string(&file) {
            Ok(text) => Trainings::parse(&text).with_context(|| format!("{}", file.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Trainings::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    fn parse(text: &str) -> Result<Trainings> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let head = fields(lines.next().unwrap_or_default());
        let mut found = BTreeMap::new();
        for (place, line) in lines.enumerate() {
            let row: BTreeMap<&str, &str> = head.iter().copied().zip(fields(line)).collect();
            // The head is the first line.
            let (key, cost) = entry(&row).with_context(|| format!("line {}", place + 2))?;
            found.insert(key, cost);
        }
        Ok(Trainings(found))
    }

    /// The cost of the policies that drive for a method in a task, mean over seeds.
    pub(crate) fn of(
        &self,
        method: Method,
        folder: &Path,
        task: &str,
        seeds: &[usize],
    ) -> Training {
        let each: Vec<Training> =
            seeds.iter().map(|seed| self.of_policy(method, folder, task, *seed)).collect();
        // A mean over some seeds only would be taken for one over all.
        let over = |number: fn(&Training) -> Option<f64>| {
            Some(mean(&each.iter().map(number).collect::<Option<Vec<_>>>()?))
        };
        Training {
            episodes: over(|it| it.episodes),
            incidents: over(|it| it.incidents),
            seconds: over(|it| it.seconds),
        }
    }

    fn of_policy(&self, method: Method, folder: &Path, task: &str, seed: usize) -> Training {
        let key = (task.to_owned(), method.learner().name().to_owned(), seed);
        let known = self.0.get(&key).copied();
        known.or_else(|| on_card(method, folder, task, seed)).unwrap_or_default()
    }
}

fn fields(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn entry(row: &BTreeMap<&str, &str>) -> Result<((String, String, usize), Training)> {
    let field =
        |name: &str| row.get(name).copied().with_context(|| format!("there is no column `{name}`"));
    let number = |name: &str| -> Result<Option<f64>> {
        let text = field(name)?;
        Ok(Some(text.parse().with_context(|| format!("`{name}` is `{text}`, no number"))?))
    };
    let seed = field("seed")?;
    let seed = seed.parse().with_context(|| format!("`seed` is `{seed}`, no number"))?;
    let cost = Training {
        episodes: number("episodes")?,
        incidents: number("incidents")?,
        seconds: number("seconds")?,
    };
    Ok(((field("task")?.to_owned(), field("algorithm")?.to_owned(), seed), cost))
}

/// What a policy says of its own training.
fn on_card(method: Method, folder: &Path, task: &str, seed: usize) -> Option<Training> {
    let source = method
        .file(folder, task, seed)
        .map_or(PolicySource::Builtin(seed), PolicySource::Safetensors);
    let card = source.card(task.parse::<TaskId>().ok()?).ok()??;
    let number = |key: &str| card.get(key)?.parse().ok();
    let (episodes, incidents) = (number("training_episodes"), number("training_incidents"));
    Some(Training { episodes, incidents, seconds: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "task,algorithm,seed,steps,seconds,episodes,incidents\n\
                         merge-v0,ppo,0,1000,12.5,70,9\nmerge-v0,ppo,1,1000,13.5,74,11\n";

    #[test]
    fn costs_are_means_over_seeds_and_none_if_one_is_missing() {
        let trainings = Trainings::parse(TABLE).unwrap();
        let of = |method: &str, seeds: &[usize]| {
            trainings.of(method.parse().unwrap(), Path::new("absent"), "merge-v0", seeds)
        };
        let both = Training { episodes: Some(72.0), incidents: Some(10.0), seconds: Some(13.0) };
        assert_eq!(of("ppo", &[0, 1]), both);
        assert_eq!(of("ppo", &[0, 1, 2]), Training::default());
        assert_eq!(of("cpo", &[0]), Training::default());
    }

    #[test]
    fn the_barrier_costs_what_its_policies_did() {
        let table = TABLE.replace("ppo", "dqn");
        let trainings = Trainings::parse(&table).unwrap();
        let barrier = trainings.of(Method::Barrier, Path::new("absent"), "merge-v0", &[0]);
        assert_eq!(barrier.seconds, Some(12.5));
    }

    #[test]
    fn a_table_that_is_none_is_refused_by_line() {
        for (text, words) in [
            (TABLE.replace("13.5", "soon"), "line 3: `seconds` is `soon`, no number"),
            (TABLE.replace("incidents", "crashes"), "line 2: there is no column `incidents`"),
            (TABLE.replace(",9\n", "\n"), "line 2: there is no column `incidents`"),
        ] {
            let refusal = format!("{:#}", Trainings::parse(&text).unwrap_err());
            assert!(refusal.starts_with(words), "{refusal}");
        }
    }
}
