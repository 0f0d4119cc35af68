//! How well does a driver drive?
//!
//! [`score`] plays episodes of consecutive seeds and averages what came of them. Episodes run on
//! all cores, but are summed in the order of their seeds: a score has the same bits on any number
//! of threads, which is what lets a policy file carry its own score and still be made again byte
//! for byte.
//!
//! The world is the one that was learned in, so what learned under a shield is scored under it.
//!
//! **Absent on purpose:** drift and confidence intervals. This is the yardstick of training, in the stationary task;
//! `cpss evaluate` is the experiment.

use cpss_highway::random::Generator;
use cpss_learn::{ActError, End, Env, Policy, QFunction};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::driving::Driving;
use crate::play::ending::has_failed;

/// First seed of the episodes that scores are made on. No training run plays it or any later one.
pub(crate) const SCORE_SEED: u64 = 1_500_000;

/// Someone who chooses among a list of actions.
#[derive(Clone, Debug)]
pub(crate) enum Driver {
    /// The policy's favourite.
    Greedy(Policy),
    /// Always the same action.
    Constant(usize),
    /// Any action, drawn from a generator seeded with the episode's seed.
    Random,
}

/// Averages over episodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score {
    /// Number of episodes; their seeds are consecutive.
    pub episodes: u64,
    /// First of those seeds.
    pub first_seed: u64,
    /// Mean return, undiscounted.
    pub return_mean: f64,
    /// Share of episodes in which the ego crashed.
    pub crashed_rate: f64,
    /// Share of episodes in which it left the road without a crash.
    pub offroad_rate: f64,
    /// Mean length \[decision steps\].
    pub length_mean: f64,
    /// Mean speed over all steps \[m/s\].
    pub speed_mean: f64,
}

/// An episode in which the driver had no action, or the task did not take it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum ScoreError {
    /// The policy had no action to propose.
    #[error("the episode of seed {seed}: {error}")]
    Act {
        /// The episode's seed.
        seed: u64,
        /// What was wrong with the policy's answer.
        error: ActError,
    },
    /// The task has no such action.
    #[error("the episode of seed {seed}: action {action} of {actions}")]
    Action {
        /// The episode's seed.
        seed: u64,
        /// The action.
        action: usize,
        /// How many there are.
        actions: usize,
    },
}

/// Plays the episodes of `episodes` seeds from `first_seed` on in a world like this one, and averages.
pub(crate) fn score(
    world: &Driving,
    driver: &Driver,
    first_seed: u64,
    episodes: u64,
) -> Result<Score, ScoreError> {
    let played: Vec<Played> = (first_seed..first_seed.saturating_add(episodes))
        .into_par_iter()
        .map_init(
            || (world.clone(), driver.clone()),
            |(world, driver), seed| play(world, driver, seed),
        )
        .collect::<Result<_, _>>()?;
    let total = |value: fn(&Played) -> f64| played.iter().map(value).sum::<f64>();
    let count = episodes as f64;
    let steps = total(|played| played.steps as f64);
    Ok(Score {
        episodes,
        first_seed,
        return_mean: total(|played| played.total_reward) / count,
        crashed_rate: total(|played| f64::from(u8::from(played.crashed))) / count,
        offroad_rate: total(|played| f64::from(u8::from(played.failed && !played.crashed))) / count,
        length_mean: steps / count,
        speed_mean: total(|played| played.speed_sum) / steps,
    })
}

/// What came of one episode.
struct Played {
    total_reward: f64,
    speed_sum: f64,
    steps: u64,
    crashed: bool,
    failed: bool,
}

fn play(env: &mut Driving, driver: &mut Driver, seed: u64) -> Result<Played, ScoreError> {
    let mut seen = vec![0.0; env.observation_len()];
    let mut random = Generator::seeded(seed);
    let (mut total_reward, mut speed_sum, mut steps) = (0.0, 0.0, 0);
    env.reset(seed, &mut seen);
    loop {
        let action = match driver {
            Driver::Greedy(policy) => {
                policy.act(steps, &seen).map_err(|error| ScoreError::Act { seed, error })?
            }
            Driver::Constant(action) => *action,
            Driver::Random => random.choice(env.actions()),
        };
        if action >= env.actions() {
            return Err(ScoreError::Action { seed, action, actions: env.actions() });
        }
        let outcome = env.step(action, &mut seen);
        total_reward += env.earned();
        let world = env.world();
        speed_sum += world.ego().speed;
        steps += 1;
        if outcome.end != End::Running {
            let (crashed, failed) = (world.ego().crashed, has_failed(world));
            return Ok(Played { total_reward, speed_sum, steps, crashed, failed });
        }
    }
}

#[cfg(test)]
mod tests {
    use cpss_highway::TaskId;

    use super::*;
    use crate::learn::train::driving::Inside;

    fn plain(id: TaskId) -> Driving {
        Driving::with(id, Inside::Nothing).unwrap()
    }

    #[test]
    fn a_score_has_the_same_bits_on_any_number_of_threads() {
        let task = plain(TaskId::MergeV0);
        let on = |threads: usize, first_seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| score(&task, &Driver::Random, first_seed, 40)).unwrap()
        };
        assert_eq!(on(1, 7), on(3, 7));
        assert_ne!(on(1, 7), on(1, 8));
    }

    #[test]
    fn waiting_at_the_intersection_is_safe_and_earns_nothing() {
        const SLOWER: usize = 0;
        let task = plain(TaskId::IntersectionV0);
        let score = score(&task, &Driver::Constant(SLOWER), SCORE_SEED, 20).unwrap();
        assert_eq!((score.return_mean, score.crashed_rate, score.offroad_rate), (0.0, 0.0, 0.0));
        assert_eq!(score.length_mean, 13.0);
    }

    #[test]
    fn an_action_that_the_task_lacks_is_an_error_with_the_seed() {
        let task = plain(TaskId::MergeV0);
        let error = score(&task, &Driver::Constant(5), 3, 1).unwrap_err();
        assert!(error.to_string().starts_with("the episode of seed 3: action 5"));
    }
}
