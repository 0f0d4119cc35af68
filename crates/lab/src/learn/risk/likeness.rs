//! What is the traffic like that a critic knows?
//!
//! [`likeness`] looks at shielded episodes of that traffic. A third of them says what is usual, and the others how often
//! an episode is how unlike it: of each policy, regime and sensor by itself, with confidence, so that the evidence that
//! is built on it holds for each of them.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Result, ensure};
use cpss_risk::{LearnedRisk, Likeness, Portrait};

use super::Conditions;
use super::calibrate::Stage;
use super::measure::portraits;
use super::rounds::CALIBRATION_SEEDS;
use crate::measure::statistics::upper_bound;
use crate::play::arm::{Arm, ShieldSettings};
use crate::tasks::SHIPPED_SEEDS;

/// Shares of episodes above which the groups of scores begin.
const SHARES: [f64; 5] = [0.5, 0.2, 0.05, 0.02, 0.005];
/// The chance that any of the bounds is too small.
const DOUBT: f64 = 0.01;

/// What the traffic is like, from so many episodes.
pub(crate) fn likeness(stage: &Stage<'_>, risk: &LearnedRisk, episodes: u64) -> Result<Likeness> {
    let Stage { env, conditions, .. } = *stage;
    // The last of the calibration's seeds, which choose nothing else.
    let seeds = CALIBRATION_SEEDS.end - episodes..CALIBRATION_SEEDS.end;
    let risk = Arc::new(risk.clone());
    let settings = ShieldSettings::shipped(env)?;
    let found = portraits(conditions, &risk, (Arm::Cpss(None), &settings), seeds.clone())?;
    let usual = seeds.start + episodes / 3;
    let those = |seeds: Range<u64>| -> Vec<(u64, Option<Portrait>)> {
        let all = (CALIBRATION_SEEDS.end - episodes..).zip(found.iter().copied());
        all.filter(|(seed, _)| seeds.contains(seed)).collect()
    };
    let portraits: Vec<Portrait> =
        those(seeds.start..usual).into_iter().filter_map(|(_, portrait)| portrait).collect();
    ensure!(portraits.len() >= 100, "too few episodes to tell what traffic is like");
    let mut known = Likeness::of(&portraits);
    let scores: Vec<(u64, f64)> = those(usual..seeds.end)
        .into_iter()
        .map(|(seed, portrait)| (seed, portrait.map_or(f64::INFINITY, |it| known.score(&it))))
        .collect();
    known.borders = borders(&scores);
    known.bounds = bounds(&scores, &known.borders, conditions);
    known.regimes = stage.regimes.to_vec();
    known.sensors = stage.sensors.to_vec();
    known.episodes = episodes;
    known.first_seed = seeds.start;
    Ok(known)
}

/// The scores above which these shares of episodes lie.
fn borders(scores: &[(u64, f64)]) -> [f64; 5] {
    let mut sorted: Vec<f64> = scores.iter().map(|(_, score)| *score).collect();
    sorted.sort_by(f64::total_cmp);
    let mut least = 0.0_f64;
    SHARES.map(|share| {
        let place = ((1.0 - share) * sorted.len() as f64) as usize;
        let border = sorted[place.min(sorted.len() - 1)];
        // Borders rise, whatever the scores are.
        least = border.clamp(least.next_up(), f64::MAX);
        least
    })
}

/// For each group the largest upper bound of its share, over all policies, regimes and sensors.
fn bounds(scores: &[(u64, f64)], borders: &[f64; 5], conditions: Conditions<'_>) -> [f64; 6] {
    let kinds = SHIPPED_SEEDS * conditions.regimes.len() * conditions.sensors.len();
    let mut counts = vec![[0_u64; 6]; kinds];
    for (seed, score) in scores {
        let group = borders.iter().filter(|border| *score >= **border).count();
        counts[*seed as usize % kinds][group] += 1;
    }
    let doubt = DOUBT / (6 * kinds) as f64;
    let mut bounds = [0.0_f64; 6];
    for counts in counts {
        let all: u64 = counts.iter().sum();
        for (bound, count) in bounds.iter_mut().zip(counts) {
            *bound = bound.max(upper_bound(count, all, doubt));
        }
    }
    bounds
}
