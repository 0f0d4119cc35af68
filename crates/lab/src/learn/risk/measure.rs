//! What comes of shielded episodes, and of single actions?
//!
//! [`play`] plays episodes as the lab plays them, under the very shield that is to be used. [`try_out`] looks at
//! single risks: at some decisions some action runs in a copy of the world, and the least risky one ever
//! after, which is what a risk is the probability of.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use cpss_highway::World;
use cpss_highway::random::Generator;
use cpss_risk::{LearnedRisk, Portrait};
use rayon::prelude::*;

use super::driver::{Driver, judge, least_risky};
use super::{Conditions, USUAL_THRESHOLD, gaze};
use crate::play::arm::{Arm, ShieldSettings};
use crate::play::ending::is_incident;
use crate::play::episode::Player;
use crate::play::policy::PolicySource;
use crate::play::regime::{Drift, Regime};
use crate::record::EpisodeRecord;
use crate::tasks::SHIPPED_SEEDS;

/// Episodes that a thread plays at a time.
const CHUNK: usize = 16;

/// Plays shielded episodes of some seeds, each shipped policy, regime and sensor by turns.
pub(crate) fn play(
    conditions: Conditions<'_>,
    risk: &Arc<LearnedRisk>,
    (arm, settings): (Arm, &ShieldSettings),
    seeds: Range<u64>,
) -> Result<Vec<EpisodeRecord>> {
    by_turns(seeds, || players(conditions, risk, (arm, settings)), |player, seed| player.play(seed))
}

/// A player for each policy, regime and sensor.
fn players<'a>(
    conditions: Conditions<'a>,
    risk: &Arc<LearnedRisk>,
    (arm, settings): (Arm, &ShieldSettings),
) -> Result<Vec<Player<'a>>> {
    let Conditions { regimes, sensors } = conditions;
    let each = sensors.iter().flat_map(|sensor| {
        let each = regimes.iter().flat_map(|it| (0..SHIPPED_SEEDS).map(move |p| (it, p)));
        each.map(move |(regime, policy)| (regime, policy, *sensor))
    });
    let player = |(regime, policy, sensor): (_, usize, _)| {
        let policy = PolicySource::Builtin(policy).load(Regime::task(regime))?;
        let player = Player::new(regime, arm, settings, Some(policy), Arc::clone(risk))?;
        Ok(player.without_branches().behind(gaze(sensor)))
    };
    each.map(player).collect()
}

/// What the traffic was like in shielded episodes of some seeds; `None` of one that was over at once.
pub(crate) fn portraits(
    conditions: Conditions<'_>,
    risk: &Arc<LearnedRisk>,
    (arm, settings): (Arm, &ShieldSettings),
    seeds: Range<u64>,
) -> Result<Vec<Option<Portrait>>> {
    let players = || -> Result<Vec<Player<'_>>> {
        let all = players(conditions, risk, (arm, settings))?;
        Ok(all.into_iter().map(Player::with_foresight).collect())
    };
    by_turns(seeds, players, |player, seed| {
        player.play(seed)?;
        Ok(player.portrait())
    })
}

/// Lets players play the episodes of some seeds by turns.
fn by_turns<'a, T: Clone + Send>(
    seeds: Range<u64>,
    players: impl Fn() -> Result<Vec<Player<'a>>> + Send + Sync,
    play: impl Fn(&mut Player<'a>, u64) -> Result<T> + Send + Sync,
) -> Result<Vec<T>> {
    let seeds: Vec<u64> = seeds.collect();
    let parts = seeds
        .par_chunks(CHUNK)
        .map_init(players, |players, seeds| {
            let players = players.as_mut().map_err(|error| anyhow::anyhow!("{error:#}"))?;
            let one = |seed: &u64| {
                let place = *seed as usize % players.len();
                play(&mut players[place], *seed)
            };
            seeds.iter().map(one).collect::<Result<Vec<_>>>()
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(parts.concat())
}

/// A risk that was foretold, and what came of it: 1, less for an incident beyond the look-ahead, or 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tried {
    /// What the critic said.
    pub risk: f64,
    /// What happened.
    pub incident: f64,
}

/// Tries single actions out in episodes of some seeds under a constant threshold, each policy and regime by
/// turns. `share` is the share of decisions to do so on.
pub(crate) fn try_out(
    conditions: Conditions<'_>,
    risk: &LearnedRisk,
    seeds: Range<u64>,
    share: f64,
) -> Result<Vec<Tried>> {
    let seeds: Vec<u64> = seeds.collect();
    let gamma = risk.card().gamma;
    let parts = seeds
        .par_chunks(CHUNK)
        .map_init(
            || Driver::new(conditions, &risk.inputs(), Some(risk.critic())),
            |driver, seeds| {
                let driver = driver.as_mut().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                let mut tried = Vec::new();
                for &seed in seeds {
                    driver.try_out_in(seed, (gamma, share), &mut tried)?;
                }
                Ok(tried)
            },
        )
        .collect::<Result<Vec<_>>>()?;
    Ok(parts.concat())
}

impl Driver<'_> {
    /// Plays one episode, and tries actions out on the way.
    fn try_out_in(
        &mut self,
        seed: u64,
        (gamma, share): (f64, f64),
        tried: &mut Vec<Tried>,
    ) -> Result<()> {
        let mut random = Generator::seeded(seed ^ 0x7219_ed00);
        let conditions = self.conditions;
        let regime = &conditions.regimes[conditions.regime_of(seed)];
        let policy = seed as usize % SHIPPED_SEEDS;
        let (mut world, mut drift): (World, Drift) = regime.begin(seed);
        self.begin(&mut world, seed, conditions.sensors[conditions.sensor_of(seed)])?;
        for step in 0.. {
            drift.apply(&mut world);
            self.look(&world);
            let proposal = self.policies[policy].act(step, &self.seen)?;
            let action = judge(&self.risks, proposal, USUAL_THRESHOLD);
            if random.random() < share {
                let first = random.choice(self.risks.len());
                let risk = self.risks[first];
                let before = (self.sight.clone(), self.seen.clone());
                let incident = self.least_risky_after((&world, &drift), first, gamma)?;
                (self.sight, self.seen) = before;
                tried.push(Tried { risk, incident });
            }
            if self.step(&mut world, action)?.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// The chance of an incident, as it came out, if an action runs now and the least risky ever after.
    fn least_risky_after(
        &mut self,
        (world, drift): (&World, &Drift),
        first: usize,
        gamma: f64,
    ) -> Result<f64> {
        let (mut world, mut drift) = (world.clone(), drift.clone());
        let mut action = first;
        let mut goes_on = 1.0;
        // Beyond this a look-ahead has practically ended.
        while goes_on > 1e-2 {
            let taken = self.step(&mut world, action)?;
            if is_incident(&world, taken.terminated) {
                return Ok(goes_on);
            }
            if taken.is_over() {
                break;
            }
            goes_on *= gamma;
            drift.apply(&mut world);
            self.look(&world);
            action = least_risky(&self.risks);
        }
        Ok(0.0)
    }
}
