//! How is a critic learned and calibrated? (`cpss risk learn`)

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cpss_highway::{Sensor, TaskId};
use cpss_learn::critic::Shape;
use cpss_learn::critic::learner::CriticSpec;
use cpss_risk::LearnedRisk;
use cpss_risk::features::Inputs;

use super::score::print_card;
use crate::learn::risk::calibrate::Stage;
use crate::learn::risk::rounds::{Recipe, learn};
use crate::learn::risk::{Conditions, enough, load_regimes, load_sensors, look_ahead};
use crate::play::critic::{RiskSource, hash};
use crate::tasks::{policy_task, take_policies};

/// Options of `cpss risk learn`.
#[derive(Debug, Args)]
#[command(after_help = "\
Beside --out FILE.safetensors stand FILE.csv (the log), FILE.tensorboard/ (for `tensorboard --logdir`)
and, until it is done, FILE.checkpoint, saved every minute. The same command goes on from there. The same
settings give the same file again, byte for byte, on the same machine.

Examples:
  cpss risk learn --env merge-v0 --out merge.safetensors
  cpss risk learn --env merge-v0 --out quick.safetensors --rounds 2 --decisions 100000 --updates 2000
  cpss risk learn --env highway-v0 --out still.safetensors --regimes stationary
  cpss risk learn --env merge-v0 --out seen.safetensors --from drift --rounds 2 --sensors perfect,good,fair,poor
  cpss evaluate --env merge-v0 --risk merge.safetensors")]
pub(crate) struct Options {
    /// Task, by highway-env's id
    #[arg(long)]
    env: TaskId,
    /// Where the critic goes, a .safetensors file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Rounds of data, each under the shield of the one before
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// Decisions to see in each round
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    decisions: u64,
    /// Updates to make in each round
    #[arg(long, default_value_t = 24_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    updates: u64,
    /// Regimes to learn in, by name or as .toml files, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "stationary,mild,average,high")]
    regimes: Vec<String>,
    /// Sensors to learn behind, by name or as .toml files, separated by commas; a critic that learns behind any but
    /// `perfect` is told how far what it sees may be off
    #[arg(long, value_delimiter = ',', default_value = "perfect")]
    sensors: Vec<String>,
    /// Begin with what a critic has learned: drift, stationary, or a .safetensors file
    #[arg(long, value_name = "CRITIC")]
    from: Option<RiskSource>,
    /// Episodes to measure after each round, and four times as many to calibrate on; fewer where they are long
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(100..=40_000))]
    episodes: u64,
    /// Policies that drive meanwhile, 0.safetensors to 4.safetensors in a folder [default: the shipped ones]
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Seed of weights and batches
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Units of the layers that each body goes through
    #[arg(long, value_delimiter = ',', default_value = "96,96", hide = true)]
    encoder: Vec<usize>,
    /// Units of the layers that all of them go through together
    #[arg(long, value_delimiter = ',', default_value = "128,128", hide = true)]
    head: Vec<usize>,
    /// Decisions per update
    #[arg(long, default_value_t = 512, hide = true)]
    batch: usize,
    /// Over how many decisions outcomes are followed
    #[arg(long, default_value_t = 20, hide = true)]
    follow_outcomes: usize,
}

impl Options {
    fn recipe(
        &self,
        conditions: Conditions<'_>,
        inputs: &Inputs,
        from: Option<&LearnedRisk>,
    ) -> Recipe {
        let task = policy_task(self.env);
        let regimes = conditions.regimes.iter().map(|regime| format!("{:?}", regime.spec()));
        let sensors = conditions.sensors.iter().map(|sensor| format!("{sensor:?}"));
        let shape = from.map(|from| from.critic().shape().clone());
        Recipe {
            env: self.env.name().to_owned(),
            regimes: self.regimes.clone(),
            sensors: self.sensors.clone(),
            from: from.map(hash),
            traffic: regimes.chain(sensors).collect(),
            rounds: self.rounds,
            decisions: self.decisions,
            updates: self.updates,
            seed: self.seed,
            shape: Shape {
                fixed: inputs.fixed,
                item: inputs.item,
                encoder: shape.as_ref().map_or(&self.encoder, |shape| &shape.encoder).clone(),
                head: shape.as_ref().map_or(&self.head, |shape| &shape.head).clone(),
                actions: task.controls.action_count().unwrap_or(0),
            },
            critic: CriticSpec {
                gamma: look_ahead(self.env),
                batch: self.batch,
                follow_outcomes: self.follow_outcomes,
                ..CriticSpec::default()
            },
            features: inputs.name,
        }
    }
}

/// Runs `cpss risk learn`.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(folder) = &options.policies {
        take_policies(options.env, folder)?;
    }
    let regimes = load_regimes(options.env, &options.regimes)?;
    let sensors = load_sensors(&options.sensors)?;
    let conditions = Conditions { regimes: &regimes, sensors: &sensors };
    let inputs = match sensors.iter().all(Sensor::is_perfect) {
        true => Inputs::of(&policy_task(options.env)),
        false => Inputs::of(&policy_task(options.env)).with_doubts(),
    };
    let from = options.from.as_ref().map(|from| from.load(options.env)).transpose()?;
    let recipe = options.recipe(conditions, &inputs, from.as_deref());
    let stage = Stage {
        env: options.env,
        conditions,
        regimes: &recipe.regimes,
        sensors: &recipe.sensors,
        inputs,
        episodes: enough(options.env, options.episodes),
        fresh: None,
    };
    let learned = learn(&recipe, &stage, from.as_ref().map(|from| from.critic()), &options.out)?;
    print_card(&learned, &options.out.display().to_string())
}
