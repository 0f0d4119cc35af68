//! What becomes of a policy when its training is over?
//!
//! It is scored in the world that it learned in, and gets a card that says how it was made.

use std::collections::BTreeMap;

use anyhow::Result;
use cpss_learn::Policy;
use cpss_learn::policy::card;

use super::algorithm::Algorithm;
use super::learning::{Learning, Lesson, UNSAFE_REWARD};
use super::score::{Driver, SCORE_SEED, Score, score};
use crate::play::policy::BUDGET;
use crate::tasks::policy_config;

/// A policy with its card, and its score.
pub(crate) fn finished_policy(
    lesson: &Lesson,
    learning: &Learning,
    episodes: u64,
    in_half: bool,
) -> Result<(Policy, Score)> {
    let plain = Policy::new(learning.network(), BTreeMap::new());
    let plain = if in_half { plain.halved() } else { plain };
    let score = score(&lesson.world()?, &Driver::Greedy(plain.clone()), SCORE_SEED, episodes)?;
    let progress = learning.progress();
    let mut entries = vec![
        (card::ENV, lesson.task.name().to_owned()),
        (card::SEED, lesson.seed.to_string()),
        (card::STEPS, progress.steps.to_string()),
        (card::SETTINGS, lesson.settings_json()?),
        (card::SCORE, serde_json::to_string(&score)?),
        (card::EPISODES, progress.episodes.to_string()),
        (card::INCIDENTS, progress.incidents.to_string()),
        ("worlds", lesson.settings.worlds.to_string()),
        (card::CONFIG, policy_config(lesson.task).to_string()),
    ];
    if lesson.algorithm != Algorithm::Dqn {
        entries.push((card::ALGORITHM, lesson.algorithm.name().to_owned()));
    }
    if lesson.algorithm.sees_budget() {
        entries.push((card::SEES, BUDGET.to_owned()));
        entries.push((UNSAFE_REWARD, lesson.settings.unsafe_reward.to_string()));
    }
    let card = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let policy = Policy::new(plain.network().clone(), card);
    Ok((if in_half { policy.halved() } else { policy }, score))
}
