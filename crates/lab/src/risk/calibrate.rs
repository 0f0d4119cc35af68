//! Do a critic's risks agree with what happens?
//!
//! Two answers, both from shielded episodes that it has not learned from. The [`Account`]: what was foretold of an
//! episode as a whole beside how it ended; the *surprise* is what is left, and a critic is conservative if
//! its mean is not above zero. The *reliability*: at some decisions some action is tried in a copy of the
//! world, with the least risky one ever after, which is what a risk is the probability of; sorted by the
//! risk foretold, the shares that ended in an incident stand beside it.
//!
//! [`calibrate`] shifts the log-odds until the surprise is conservative with confidence. Picking the least
//! risky of several actions favours underestimated ones, so this comes after the choice, not before.

use std::ops::Range;

use anyhow::Result;
use cpss_learn::critic::Critic;
use cpss_risk::card::{Bin, Calibration};
use serde::Serialize;

use super::collect::{Measured, Rule, Tried, measure};
use crate::regime::Regime;

/// Shifts that are tried, in order.
const SHIFTS: [f32; 9] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0];

/// The borders of the reliability's bins.
const BORDERS: [f64; 10] = [0.0, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0];

/// What measured episodes come to, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// Episodes.
    pub episodes: u64,
    /// Share with an incident.
    pub incidents: f64,
    /// Mean return.
    pub return_mean: f64,
    /// Share of decisions on which the proposal was refused.
    pub interventions: f64,
    /// Unavoidable risk at the start.
    pub start: f64,
    /// Avoidable risk that was let through.
    pub chosen: f64,
    /// Risk that came into view.
    pub arriving: f64,
    /// What was not foreseen; the incidents are the sum of these four.
    pub surprise: f64,
    /// 95 % interval of the last.
    pub surprise_ci95: [f64; 2],
}

impl Account {
    /// Sums episodes up.
    pub fn of(all: &[Measured]) -> Account {
        let n = all.len().max(1) as f64;
        let mean = |number: &dyn Fn(&Measured) -> f64| all.iter().map(number).sum::<f64>() / n;
        let steps: u64 = all.iter().map(|episode| episode.steps).sum();
        let refused: u64 = all.iter().map(|episode| episode.interventions).sum();
        let surprise = mean(&Measured::surprise);
        let variance = mean(&|episode| (episode.surprise() - surprise).powi(2));
        let incidents = mean(&|episode| f64::from(u8::from(episode.incident)));
        // Without a single incident the sample knows nothing of their spread: as if there had been one.
        let half = 1.96 * (variance.max(1.0 / n) / n).sqrt();
        Account {
            episodes: all.len() as u64,
            incidents,
            return_mean: mean(&|episode| episode.episode_return),
            interventions: refused as f64 / steps.max(1) as f64,
            start: mean(&|episode| episode.start),
            chosen: mean(&|episode| episode.chosen),
            arriving: mean(&|episode| episode.arriving),
            surprise,
            surprise_ci95: [surprise - half, surprise + half],
        }
    }

    /// Whether risks were, with confidence, not underestimated.
    pub fn is_conservative(&self) -> bool {
        self.surprise_ci95[1] <= 0.0
    }
}

/// Finds the smallest shift with which a critic is conservative, and sets it; the largest if none is.
///
/// # Errors
///
/// A task without shipped policies.
pub fn calibrate(
    regimes: &[Regime],
    critic: &mut Critic,
    seeds: Range<u64>,
    rule: &Rule,
    mut tell: impl FnMut(f32, &Account),
) -> Result<Calibration> {
    let mut last = Account::default();
    for shift in SHIFTS {
        critic.set_shift(shift);
        let rule = Rule { tries: 0.0, ..*rule };
        last = Account::of(&measure(regimes, critic, seeds.clone(), &rule)?.0);
        tell(shift, &last);
        if last.is_conservative() {
            break;
        }
    }
    Ok(Calibration {
        episodes: last.episodes,
        first_seed: seeds.start,
        threshold: rule.threshold,
        shift: f64::from(critic.shift()),
        incidents: last.incidents,
        start: last.start,
        chosen: last.chosen,
        arriving: last.arriving,
        surprise: last.surprise,
        surprise_ci95: last.surprise_ci95,
    })
}

/// Sorts what was tried by the risk foretold.
pub fn reliability(tried: &[Tried]) -> Vec<Bin> {
    let bins = BORDERS.windows(2).map(|border| {
        let within = |tried: &&Tried| {
            tried.risk >= border[0] && (tried.risk < border[1] || border[1] >= 1.0)
        };
        let inside: Vec<&Tried> = tried.iter().filter(within).collect();
        let n = inside.len().max(1) as f64;
        Bin {
            from: border[0],
            to: border[1],
            count: inside.len() as u64,
            predicted: inside.iter().map(|tried| tried.risk).sum::<f64>() / n,
            happened: inside.iter().map(|tried| tried.incident).sum::<f64>() / n,
        }
    });
    bins.filter(|bin| bin.count > 0).collect()
}
