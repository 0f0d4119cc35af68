//! What happens if these actions are taken from this seed?
//!
//! `cpss rollout` prints a reset line and then one line per step: what was done, what it earned,
//! what the ego sees, and where every car is. The same seed and actions in highway-env give the
//! same numbers; `scripts/parity.py` of the world's crate checks just that, through this command.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use cpss_highway::action::Controls;
use cpss_highway::{Action, Step, Task, TaskId, World};
use serde::Serialize;

use crate::play::seed;
use crate::terminal::Stdout;

/// Options of `cpss rollout`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss rollout --env merge-v0 --seed 7 --actions 3,3,1,0
  cpss rollout --env racetrack-v0 --seed 1 --actions 0.1,-0.05,0
  cpss rollout --env highway-v0 --seed 0 --actions 1,1 --config '{\"lanes_count\": 3}'")]
pub(super) struct Options {
    /// Task, by highway-env's id, such as merge-v0
    #[arg(long)]
    env: TaskId,
    /// Seed of the episode, as in Gymnasium's reset(seed=N)
    #[arg(long, allow_negative_numbers = true, value_parser = seed::parse)]
    seed: u64,
    /// Actions separated by commas: indices, or numbers for a task that is steered freely (the
    /// components of one action are joined by colons)
    #[arg(long, allow_hyphen_values = true)]
    actions: String,
    /// Config as a JSON object, by highway-env's keys
    #[arg(long, conflicts_with = "config_file")]
    config: Option<String>,
    /// Config from a JSON file
    #[arg(long)]
    config_file: Option<PathBuf>,
    /// Go on when the episode has ended, as highway-env does
    #[arg(long)]
    past_end: bool,
}

/// Runs `cpss rollout`.
pub(super) fn run(options: &Options) -> Result<()> {
    let task = build_task(options.env, options.config.as_deref(), options.config_file.as_ref())?;
    let actions = Actions::parse(&options.actions, &task.controls)?;
    let mut world = World::new(Arc::clone(&task), options.seed);
    let mut seen = vec![0.0; task.observer.len()];
    let mut out = BufWriter::new(Stdout::lock());
    world.reset(Some(options.seed), &mut seen);
    write_line(&mut out, &Line::after_reset(&world, &seen, options.seed))?;
    for place in 0..actions.len() {
        let action = actions.at(place);
        let step = world.step(action, &mut seen).with_context(|| format!("step {place}"))?;
        write_line(&mut out, &Line::after_step(&world, &seen, place, action, &step))?;
        if step.is_over() && !options.past_end {
            break;
        }
    }
    out.flush().context("writing to standard output")
}

/// Builds a task from what the command line says of its config.
pub(super) fn build_task(
    id: TaskId,
    config: Option<&str>,
    config_file: Option<&PathBuf>,
) -> Result<Arc<Task>> {
    let text = match (config, config_file) {
        (Some(text), _) => text.to_owned(),
        (None, Some(path)) => std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the config file {}", path.display()))?,
        (None, None) => "{}".to_owned(),
    };
    let value = serde_json::from_str(&text).context("the config is not valid JSON")?;
    Task::new(id, &value).with_context(|| format!("the config of {} cannot be used", id.name()))
}

/// The actions of a rollout, as the task takes them.
enum Actions {
    Indices(Vec<usize>),
    Points(Vec<Vec<f32>>),
}

impl Actions {
    fn parse(text: &str, controls: &Controls) -> Result<Actions> {
        let none = text.trim().is_empty();
        let words = text.split(',').map(str::trim).skip(usize::from(none));
        if let Some(place) = words.clone().position(str::is_empty) {
            bail!("action {place} of `{text}` is missing: there is nothing between two commas");
        }
        if controls.action_count().is_some() {
            let index = |word: &str| {
                word.parse().with_context(|| format!("`{word}` is not the index of an action"))
            };
            return Ok(Actions::Indices(words.map(index).collect::<Result<_>>()?));
        }
        let point = |word: &str| -> Result<Vec<f32>> {
            let number = |part: &str| {
                part.parse().with_context(|| format!("`{part}` of action `{word}` is not a number"))
            };
            let point: Vec<f32> = word.split(':').map(number).collect::<Result<_>>()?;
            match controls.box_dimension() {
                Some(wanted) if wanted != point.len() => {
                    bail!("action `{word}` has {} components, the task takes {wanted}", point.len())
                }
                _ => Ok(point),
            }
        };
        Ok(Actions::Points(words.map(point).collect::<Result<_>>()?))
    }

    fn len(&self) -> usize {
        match self {
            Actions::Indices(indices) => indices.len(),
            Actions::Points(points) => points.len(),
        }
    }

    fn at(&self, place: usize) -> Action<'_> {
        match self {
            Actions::Indices(indices) => Action::Index(indices[place]),
            Actions::Points(points) => Action::Point(&points[place]),
        }
    }
}

/// One line of output.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reward: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewards: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    obs: &'a [f32],
    vehicles: Vec<Car<'a>>,
}

#[derive(Serialize)]
struct Car<'a> {
    x: f64,
    y: f64,
    heading: f64,
    speed: f64,
    crashed: bool,
    lane: (&'a str, &'a str, usize),
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ego: bool,
}

impl<'a> Line<'a> {
    fn after_reset(world: &'a World, seen: &'a [f32], seed: u64) -> Line<'a> {
        Line {
            seed: Some(seed),
            step: None,
            action: None,
            reward: None,
            rewards: None,
            terminated: None,
            truncated: None,
            obs: seen,
            vehicles: cars(world),
        }
    }

    fn after_step(
        world: &'a World,
        seen: &'a [f32],
        place: usize,
        action: Action<'_>,
        step: &Step,
    ) -> Line<'a> {
        let terms = step.reward.terms().map(|(name, value)| (name.to_owned(), value.into()));
        Line {
            step: Some(place),
            action: Some(match action {
                Action::Index(index) => index.into(),
                Action::Point(point) => point.to_vec().into(),
            }),
            reward: Some(step.reward.total),
            rewards: Some(terms.collect()),
            terminated: Some(step.terminated),
            truncated: Some(step.truncated),
            seed: None,
            ..Line::after_reset(world, seen, 0)
        }
    }
}

fn cars(world: &World) -> Vec<Car<'_>> {
    let network = &world.task().network;
    let car = |(place, vehicle): (usize, &cpss_highway::vehicle::Vehicle)| Car {
        x: vehicle.x,
        y: vehicle.y,
        heading: vehicle.heading,
        speed: vehicle.speed,
        crashed: vehicle.crashed,
        lane: network.lane_name(vehicle.lane),
        ego: place == world.ego_index(),
    };
    // The closure's lifetime has to be the network's, which `map` cannot see through a reference.
    world.vehicles().iter().enumerate().map(car).collect()
}

fn write_line(out: &mut impl Write, line: &Line<'_>) -> Result<()> {
    serde_json::to_writer(&mut *out, line).context("writing to standard output")?;
    out.write_all(b"\n").context("writing to standard output")
}
