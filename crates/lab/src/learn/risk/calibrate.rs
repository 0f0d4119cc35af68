//! Do a critic's risks agree with what happens?
//!
//! Two answers, both from shielded episodes that it has not learned from. The [`Account`](super::account::Account): what was foretold of an
//! episode as a whole beside how it ended; the *surprise* is what is left, and a critic is conservative if
//! its mean is not above zero. The *reliability*: single actions are tried out, and sorted by the risk
//! foretold, the shares that ended in an incident stand beside it.
//!
//! [`certify`] shifts the log-odds until the surprise is conservative with confidence, and not above zero in any
//! regime by itself, under the very shield that is shipped. Picking the least risky of several actions favours underestimated ones, so this comes after
//! the choice, not before. What the card then says is measured once more, on episodes that chose nothing.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Result, ensure};
use cpss_highway::TaskId;
use cpss_learn::critic::Critic;
use cpss_risk::LearnedRisk;
use cpss_risk::card::{Bin, Calibration, Card, Learning, MOST_RESOLUTION, RegimeSurprise};
use cpss_risk::features::Inputs;
use cpss_shield::ShieldSpec;

use super::account::{Account, Accounts};
use super::likeness::likeness;
use super::measure::{Tried, play, try_out};
use super::rounds::CALIBRATION_SEEDS;
use super::{Conditions, enough, look_ahead, tries};
use crate::play::arm::{Arm, Millionths, ShieldSettings};
use crate::tasks::policy_task;

/// Shifts that are tried, in order; then those between the last one that is too small and the first that is not.
pub(crate) const SHIFTS: [f32; 13] =
    [0.0, 0.3, 0.6, 0.9, 1.2, 1.6, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0];
const FINE_STEP: f32 = 0.1;

/// Budgets that a critic is calibrated under, by halves.
const BUDGETS: [f64; 2] = [0.005, 0.02];

/// Avoidable risks that a critic may be able to tell apart, from coarse to fine.
const RESOLUTIONS: [f64; 6] = [0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001];

/// Episodes from which it is told what traffic is like; fewer where they are long.
const LOOKED_AT: u64 = 9_000;

/// The borders of the reliability's bins.
const BORDERS: [f64; 10] = [0.0, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0];

/// Where a critic is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage<'a> {
    /// The task.
    pub env: TaskId,
    /// The regimes and the sensors, by turns.
    pub conditions: Conditions<'a>,
    /// The regimes' names,
    pub regimes: &'a [String],
    /// and the sensors'.
    pub sensors: &'a [String],
    /// What a critic reads.
    pub inputs: Inputs,
    /// Episodes of a first look; four times as many decide.
    pub episodes: u64,
}

/// A critic as it was learned, not calibrated yet.
pub(crate) fn uncalibrated(
    env: TaskId,
    inputs: &Inputs,
    critic: Critic,
    learning: Learning,
) -> Result<LearnedRisk> {
    let features = inputs.name.to_owned();
    let card = Card { learning, features, ..Card::new(&policy_task(env), look_ahead(env)) };
    Ok(LearnedRisk::new(critic, card)?)
}

/// What an earlier calibration on the same episodes has shown, so that it need not be found out again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// The resolution, before any shift.
    pub resolution: Option<f64>,
    /// Shifts below this are too small.
    pub shift: f32,
}

/// Calibrates a critic, finds out what it can tell apart and how reliable it is, and writes its card.
pub(crate) fn certify(
    stage: &Stage<'_>,
    mut critic: Critic,
    learning: Learning,
    known: Known,
    mut tell: impl FnMut(&str),
) -> Result<LearnedRisk> {
    let Stage { env, conditions, regimes, sensors, inputs, episodes } = *stage;
    let seeds = CALIBRATION_SEEDS.start..CALIBRATION_SEEDS.start + 4 * episodes;
    let fresh = seeds.end..seeds.end + 4 * episodes;
    ensure!(fresh.end <= CALIBRATION_SEEDS.end - episodes, "too many episodes to calibrate on");
    critic.set_shift(0.0);
    let mut risk = uncalibrated(env, &inputs, critic, learning)?;
    let resolution = match known.resolution {
        Some(resolution) => resolution,
        None => stage.resolution(&risk, seeds.clone(), &mut tell)?,
    };
    let raw = with(&risk, |_, card| card.resolution = resolution)?;
    // If no shift makes it conservative, nothing is promised, and it is raised by what comes closest.
    let (shifted, is_found) = stage.shifted(&raw, known.shift, seeds, &mut tell)?;
    risk = shifted;
    let accounts = stage.accounts(&risk, fresh.clone())?;
    tell(&format!("on fresh episodes: {}", accounts.tell()));
    let Accounts { all: account, by_regime, by_sensor } = accounts;
    let surprises = |each: &[Account]| {
        let own = |own: &Account| RegimeSurprise { mean: own.surprise, ci95: own.surprise_ci95 };
        each.iter().map(own).collect()
    };
    let tried = try_out(conditions, &risk, fresh.clone(), tries(env, 5.0))?;
    let known = likeness(stage, &risk, enough(env, LOOKED_AT))?;
    with(&risk, |critic, card| {
        card.likeness = Some(known);
        card.calibration = Calibration {
            regimes: regimes.to_vec(),
            sensors: sensors.to_vec(),
            episodes: account.episodes,
            first_seed: fresh.start,
            // Where no shift was enough, the card names no budget, and so none promises anything.
            budgets: if is_found { BUDGETS.to_vec() } else { Vec::new() },
            // As it was chosen, not as a single precision number writes it out.
            shift: rounded(critic.shift().into()),
            incidents: account.incidents,
            start: account.start,
            chosen: account.chosen,
            arriving: account.arriving,
            surprise: account.surprise,
            surprise_ci95: account.surprise_ci95,
            by_regime: surprises(&by_regime),
            by_sensor: surprises(&by_sensor),
        };
        card.reliability = reliability(&tried);
    })
}

/// Four digits are enough of a number that was chosen.
fn rounded(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// The same critic with something changed.
fn with(risk: &LearnedRisk, change: impl FnOnce(&mut Critic, &mut Card)) -> Result<LearnedRisk> {
    let (mut critic, mut card) = (risk.critic().clone(), risk.card().clone());
    change(&mut critic, &mut card);
    Ok(LearnedRisk::new(critic, card)?)
}

impl Stage<'_> {
    /// The critic with the smallest shift, from some shift on, that makes it conservative; if none does, with the one under
    /// which it is surprised least. And whether one does.
    fn shifted(
        &self,
        raw: &LearnedRisk,
        first: f32,
        seeds: Range<u64>,
        tell: &mut impl FnMut(&str),
    ) -> Result<(LearnedRisk, bool)> {
        let mut least: Option<(f64, LearnedRisk)> = None;
        let mut conservative = |shift: f32| -> Result<Option<LearnedRisk>> {
            // What is noise before the shift is as much noise after it.
            let resolution = raw.card().resolution * f64::from(shift).exp();
            let shifted = with(raw, |critic, card| {
                critic.set_shift(shift);
                card.resolution = rounded(resolution.min(MOST_RESOLUTION));
            })?;
            let accounts = self.accounts(&shifted, seeds.clone())?;
            tell(&format!("log-odds {shift:+}: {}", accounts.tell()));
            if accounts.is_conservative() {
                return Ok(Some(shifted));
            }
            let surprise = accounts.all.surprise;
            if least.as_ref().is_none_or(|(known, _)| surprise < *known) {
                least = Some((surprise, shifted));
            }
            Ok(None)
        };
        let mut too_small = None;
        for shift in SHIFTS.into_iter().filter(|shift| *shift >= first) {
            let Some(found) = conservative(shift)? else {
                too_small = Some(shift);
                continue;
            };
            let Some(mut between) = too_small.map(|small: f32| small + FINE_STEP) else {
                return Ok((found, true));
            };
            while between < shift - FINE_STEP / 2.0 {
                // In tenths, whatever a sum of singles is.
                if let Some(finer) = conservative((between * 10.0).round() / 10.0)? {
                    return Ok((finer, true));
                }
                between += FINE_STEP;
            }
            return Ok((found, true));
        }
        Ok((least.map_or_else(|| raw.clone(), |(_, closest)| closest), false))
    }

    /// What episodes under the shipped shield come to, half of them under each of [`BUDGETS`].
    fn accounts(&self, risk: &LearnedRisk, seeds: Range<u64>) -> Result<Accounts> {
        let risk = Arc::new(risk.clone());
        let usual = ShieldSettings::shipped(self.env)?;
        let middle = seeds.start + (seeds.end - seeds.start) / 2;
        let mut all = Vec::new();
        for (budget, seeds) in BUDGETS.into_iter().zip([seeds.start..middle, middle..seeds.end]) {
            let spec = ShieldSpec { budget, ..usual.spec };
            let settings = ShieldSettings { spec, ..usual };
            all.extend(play(self.conditions, &risk, (Arm::Cpss(None), &settings), seeds)?);
        }
        Ok(Accounts::of(&all, self.conditions))
    }

    /// What episodes under a constant threshold come to.
    pub(super) fn account_at(
        &self,
        risk: &LearnedRisk,
        threshold: f64,
        seeds: Range<u64>,
    ) -> Result<Account> {
        let risk = Arc::new(risk.clone());
        let usual = ShieldSettings::shipped(self.env)?;
        let arm = Millionths::of(threshold).map_or(Arm::Cpss(None), Arm::Threshold);
        Ok(Account::of(&play(self.conditions, &risk, (arm, &usual), seeds)?))
    }

    /// Finds what a critic can tell apart: the largest avoidable risk that one may leave alone without clearly
    /// more incidents. Acting on less than that is acting on noise.
    fn resolution(
        &self,
        risk: &LearnedRisk,
        seeds: Range<u64>,
        tell: &mut impl FnMut(&str),
    ) -> Result<f64> {
        let mut found = Vec::new();
        for threshold in RESOLUTIONS {
            let account = self.account_at(risk, threshold, seeds.clone())?;
            tell(&format!("threshold {threshold}: {account}"));
            found.push((threshold, account));
        }
        Ok(coarsest(&found))
    }
}

/// The coarsest threshold, of some from coarse to fine, that is within one standard error of the fewest incidents.
fn coarsest(found: &[(f64, Account)]) -> f64 {
    let incidents = found.iter().map(|(_, account)| account.incidents);
    let fewest = incidents.fold(f64::INFINITY, f64::min);
    let within = |account: &Account| {
        // As if there had been one, where there was none.
        let n = account.episodes.max(1) as f64;
        account.incidents <= fewest + (fewest.max(1.0 / n) / n).sqrt()
    };
    let coarsest = found.iter().find(|(_, account)| within(account));
    coarsest.map_or(RESOLUTIONS[0], |(threshold, _)| *threshold)
}

/// Sorts what was tried by the risk foretold.
pub(crate) fn reliability(tried: &[Tried]) -> Vec<Bin> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolution_is_as_coarse_as_incidents_allow() {
        let at = |threshold, incidents| {
            (threshold, Account { episodes: 10_000, incidents, ..Account::default() })
        };
        // One standard error of 0.0010 is 0.0003.
        let found = [at(0.03, 0.0040), at(0.01, 0.0014), at(0.003, 0.0012), at(0.001, 0.0010)];
        assert_eq!(coarsest(&found), 0.003);
        assert_eq!(coarsest(&[at(0.03, 0.0), at(0.01, 0.0)]), 0.03);
        assert_eq!(coarsest(&[at(0.03, 0.01), at(0.01, 0.02)]), 0.03, "finer is worse");
    }
}
