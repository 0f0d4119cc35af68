//! What is the traffic like that a critic knows?
//!
//! [`likeness`] looks at shielded episodes of that traffic. A third of them says what is usual, and the others how often
//! an episode is how unlike it: of each policy, regime, sensor and shift of the risks by itself, with confidence, so that the
//! evidence that is built on it holds for each of them.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Result, ensure};
use cpss_learn::critic::scale::Scale;
use cpss_risk::card::{Calibration, Card};
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

/// Shifts of the log-odds that a recalibration may bring about: a shield that is more careful makes other traffic of it.
const SHIFTS: [f32; 4] = [0.0, 1.0, 2.0, 3.0];

/// An episode that was looked at: which of the kinds that are bounded by themselves it is of, and what it was like.
struct Looked {
    kind: usize,
    portrait: Portrait,
}

/// What the traffic is like, from so many episodes.
pub(crate) fn likeness(stage: &Stage<'_>, risk: &LearnedRisk, episodes: u64) -> Result<Likeness> {
    // The last of the calibration's seeds, which choose nothing else.
    let first_seed = CALIBRATION_SEEDS.end - episodes;
    let (mut usual, mut others) = (Vec::new(), Vec::new());
    let share = episodes / SHIFTS.len() as u64;
    for (place, shift) in SHIFTS.into_iter().enumerate() {
        let first = first_seed + place as u64 * share;
        let middle = first + share / 3;
        usual.extend(look(stage, risk, (place, shift), first..middle)?);
        others.extend(look(stage, risk, (place, shift), middle..first + share)?);
    }
    ensure!(usual.len() >= 50, "too few episodes to tell what traffic is like");
    let portraits: Vec<Portrait> = usual.iter().map(|looked| looked.portrait).collect();
    let mut known = Likeness::of(&portraits);
    let scores: Vec<(usize, f64)> =
        others.iter().map(|looked| (looked.kind, known.score(&looked.portrait))).collect();
    known.borders = borders(&scores);
    known.bounds = bounds(&scores, &known.borders, kinds(stage.conditions));
    known.regimes = stage.regimes.to_vec();
    known.sensors = stage.sensors.to_vec();
    known.episodes = episodes;
    known.first_seed = first_seed;
    Ok(known)
}

/// How many kinds of episodes are bounded by themselves: each policy, regime, sensor and shift.
fn kinds(conditions: Conditions<'_>) -> usize {
    SHIFTS.len() * SHIPPED_SEEDS * conditions.regimes.len() * conditions.sensors.len()
}

/// Looks at shielded episodes, with all risks raised by a shift.
fn look(
    stage: &Stage<'_>,
    risk: &LearnedRisk,
    (place, shift): (usize, f32),
    seeds: Range<u64>,
) -> Result<Vec<Looked>> {
    let mut critic = risk.critic().clone();
    let scale = critic.scale();
    critic.set_scale(Scale { shift: scale.shift + shift, ..scale });
    // Not calibrated as such, so its card says nothing of it.
    let card = Card { calibration: Calibration::default(), ..risk.card().clone() };
    let raised = Arc::new(LearnedRisk::new(critic, card)?);
    let settings = ShieldSettings::shipped(stage.env)?;
    let arm = (Arm::Cpss(None), &settings);
    let found = portraits(stage.conditions, &raised, arm, seeds.clone())?;
    let in_a_shift = kinds(stage.conditions) / SHIFTS.len();
    let kind = |seed: u64| place * in_a_shift + seed as usize % in_a_shift;
    let looked = seeds.zip(found).filter_map(|(seed, portrait)| {
        portrait.map(|portrait| Looked { kind: kind(seed), portrait })
    });
    Ok(looked.collect())
}

/// The scores above which these shares of episodes lie.
fn borders(scores: &[(usize, f64)]) -> [f64; 5] {
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

/// For each group the largest upper bound of its share, over all kinds of episodes.
fn bounds(scores: &[(usize, f64)], borders: &[f64; 5], kinds: usize) -> [f64; 6] {
    let mut counts = vec![[0_u64; 6]; kinds];
    for (kind, score) in scores {
        let group = borders.iter().filter(|border| *score >= **border).count();
        counts[*kind][group] += 1;
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
