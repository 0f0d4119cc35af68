//! Do a critic's risks agree with what happens?
//!
//! Two answers, both from shielded episodes that it has not learned from. The [`Account`](super::account::Account): what was foretold of an
//! episode as a whole beside how it ended; the *surprise* is what is left, and a critic is conservative if
//! its mean is not above zero. The *reliability*: single actions are tried out, and sorted by the risk
//! foretold, the shares that ended in an incident stand beside it.
//!
//! [`certify`] brings the two together in two steps. First *reliability*: the log-odds are shifted until, of single actions
//! that were tried out and whose risk a budget could buy, as many end in an incident as were foretold. Then the *promise*:
//! picking the least risky of several actions favours underestimated ones, so the least risk of each scene is lifted until
//! the surprise is conservative with confidence, not above zero in any regime or under any budget by itself, and not
//! clearly above it in any regime under any one budget, under the very shield that is shipped. A lift raises all actions of a scene alike, so that what tells them apart, which is
//! what a budget is spent on, stays as reliable as it was. What the card then says is measured once more, on episodes
//! that chose nothing.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use anyhow::{Result, ensure};
use cpss_highway::TaskId;
use cpss_learn::critic::Critic;
use cpss_learn::critic::scale::Scale;
use cpss_risk::LearnedRisk;
use cpss_risk::card::{Bin, Calibration, Card, Learning, PartSurprise};
use cpss_risk::features::Inputs;
use cpss_shield::ShieldSpec;

use super::account::{Account, Accounts};
use super::likeness::likeness;
use super::measure::{Tried, play, try_out};
use super::rounds::CALIBRATION_SEEDS;
use super::{Conditions, enough, look_ahead, tries};
use crate::play::arm::{Arm, Millionths, ShieldSettings};
use crate::tasks::policy_task;

/// Shifts of the log-odds, in tenths.
const SHIFTS: RangeInclusive<i32> = -10..=30;

/// The greatest lift, in tenths: whatever needs more does not know what cannot be avoided.
const MOST_LIFT: u32 = 50;

/// Budgets that a critic is calibrated under, in equal parts: the least and the greatest that anything is promised of, and
/// two between.
const BUDGETS: [f64; 4] = [0.002, 0.005, 0.02, 0.1];

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
    /// Where the fresh episodes begin that the card is measured on; right after those that choose, if nothing is said.
    pub(crate) fresh: Option<u64>,
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

/// Calibrates a critic, finds out what it can tell apart, unless an earlier calibration has, and how reliable it is, and
/// writes its card.
pub(crate) fn certify(
    stage: &Stage<'_>,
    critic: Critic,
    learning: Learning,
    resolution: Option<f64>,
    mut tell: impl FnMut(&str),
) -> Result<LearnedRisk> {
    let Stage { env, conditions, regimes, sensors, inputs, episodes, fresh } = *stage;
    let seeds = CALIBRATION_SEEDS.start..CALIBRATION_SEEDS.start + 4 * episodes;
    let from = fresh.unwrap_or(seeds.end);
    ensure!(
        from >= seeds.end,
        "fresh episodes begin at {} at the earliest, not at {from}",
        seeds.end
    );
    // As a subtraction, which no seed is too large for.
    ensure!(
        4 * episodes <= CALIBRATION_SEEDS.end.saturating_sub(from),
        "{} fresh episodes from {from} do not fit into the calibration seeds, which end at {}",
        4 * episodes,
        CALIBRATION_SEEDS.end
    );
    let fresh = from..from + 4 * episodes;
    let risk = uncalibrated(env, &inputs, critic, learning)?;
    let risk = with(&risk, |critic, _| critic.set_scale(Scale::NONE))?;
    let cap = ShieldSettings::shipped(env)?.spec.tau_cap;
    let shift = agreeing(&try_out(conditions, &risk, seeds.clone(), tries(env, 5.0))?, cap);
    tell(&format!("log-odds {shift:+} agree best with what was tried out"));
    let risk = with(&risk, |critic, _| critic.set_scale(Scale::shifted(shift)))?;
    let resolution = match resolution {
        Some(resolution) => resolution,
        None => stage.resolution(&risk, seeds.clone(), &mut tell)?,
    };
    let risk = with(&risk, |_, card| card.resolution = resolution)?;
    // If no lift makes it conservative, nothing is promised, and it is lifted by what comes closest.
    let (risk, is_found) = stage.lifted(&risk, seeds, &mut tell)?;
    let accounts = stage.accounts(&risk, fresh.clone())?;
    tell(&format!("on fresh episodes: {}", accounts.tell()));
    let Accounts { all: account, by_regime, by_sensor, by_budget, by_cell } = accounts;
    let surprises = |each: &[Account]| {
        let own = |own: &Account| PartSurprise { mean: own.surprise, ci95: own.surprise_ci95 };
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
            // Where no lift was enough, the card names no budget, and so none promises anything.
            budgets: if is_found { BUDGETS.to_vec() } else { Vec::new() },
            // As they were chosen, not as single precision numbers write them out.
            shift: rounded(critic.scale().shift.into()),
            lift: Some(rounded(critic.scale().lift.into())),
            incidents: account.incidents,
            start: account.start,
            chosen: account.chosen,
            arriving: account.arriving,
            surprise: account.surprise,
            surprise_ci95: account.surprise_ci95,
            by_regime: surprises(&by_regime),
            by_sensor: surprises(&by_sensor),
            by_budget: surprises(&by_budget),
            by_cell: surprises(&by_cell),
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
    /// The critic with the smallest lift, in tenths, that makes it conservative; if none does, with the greatest. And whether
    /// one does.
    fn lifted(
        &self,
        plain: &LearnedRisk,
        seeds: Range<u64>,
        tell: &mut impl FnMut(&str),
    ) -> Result<(LearnedRisk, bool)> {
        let scale = plain.critic().scale();
        let mut tenths = 0;
        loop {
            let lift = tenths as f32 / 10.0;
            let lifted = with(plain, |critic, _| critic.set_scale(Scale { lift, ..scale }))?;
            let accounts = self.accounts(&lifted, seeds.clone())?;
            tell(&format!("lift {lift}: {}", accounts.tell()));
            let is_found = accounts.is_conservative();
            if is_found || tenths >= MOST_LIFT {
                return Ok((lifted, is_found));
            }
            // A lift changes hardly any decision (beside the floor, and where a risk would exceed 1), so that what is missing can
            // be told from what there is.
            let more = (10.0 * accounts.missing_lift()).ceil().clamp(1.0, f64::from(MOST_LIFT));
            tenths = (tenths + more as u32).min(MOST_LIFT);
        }
    }

    /// What episodes under the shipped shield come to, an equal part of them under each of [`BUDGETS`].
    fn accounts(&self, risk: &LearnedRisk, seeds: Range<u64>) -> Result<Accounts> {
        let risk = Arc::new(risk.clone());
        let usual = ShieldSettings::shipped(self.env)?;
        let border = |part: usize| {
            seeds.start + (seeds.end - seeds.start) * part as u64 / BUDGETS.len() as u64
        };
        let under = |(part, budget)| {
            let settings = ShieldSettings { spec: ShieldSpec { budget, ..usual.spec }, ..usual };
            let seeds = border(part)..border(part + 1);
            play(self.conditions, &risk, (Arm::Cpss(None), &settings), seeds)
        };
        let of_budgets = BUDGETS.into_iter().enumerate().map(under).collect::<Result<Vec<_>>>()?;
        Ok(Accounts::of(&of_budgets, self.conditions))
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

/// The shift, in tenths, with which as much is foretold as happened, of tries whose risk was at most `most` as learned: what
/// is riskier no budget buys. None where nothing happened.
fn agreeing(tried: &[Tried], most: f64) -> f32 {
    let known: Vec<&Tried> = tried.iter().filter(|tried| tried.risk <= most).collect();
    let happened: f64 = known.iter().map(|tried| tried.incident).sum();
    if happened == 0.0 {
        return 0.0;
    }
    let foretold = |tenths: i32| -> f64 {
        let odds = (f64::from(tenths) / 10.0).exp();
        known.iter().map(|tried| tried.risk * odds / (1.0 + tried.risk * (odds - 1.0))).sum()
    };
    let enough = SHIFTS.into_iter().find(|tenths| foretold(*tenths) >= happened);
    enough.unwrap_or(*SHIFTS.end()) as f32 / 10.0
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
    fn as_much_is_foretold_as_happened_of_what_a_budget_could_buy() {
        let tried = |risk, count: usize, incidents: usize| {
            (0..count).map(move |n| Tried { risk, incident: f64::from(u8::from(n < incidents)) })
        };
        // Three times as many as foretold: a shift of ln 3. What is riskier has no say.
        let some: Vec<Tried> = tried(0.01, 1_000, 29).chain(tried(0.9, 1_000, 10)).collect();
        assert_eq!(agreeing(&some, 0.05), 1.1);
        assert_eq!(agreeing(&tried(0.01, 1_000, 5).collect::<Vec<_>>(), 0.05), -0.6);
        assert_eq!(agreeing(&tried(0.01, 1_000, 0).collect::<Vec<_>>(), 0.05), 0.0);
        assert_eq!(agreeing(&tried(0.001, 10, 10).collect::<Vec<_>>(), 0.05), 3.0);
        assert_eq!(agreeing(&[], 0.05), 0.0);
    }

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
