//! What is seen of the world while a critic learns, and how is it driven meanwhile?
//!
//! In the first round the policies drive, with some random actions; in later rounds mostly under the shield
//! of the round before, at several thresholds: what matters is where a shielded policy goes. How an
//! episode is driven ([`Behaviour`]) follows from its seed and round. Of a long episode a part is seen that
//! begins anywhere. And from some scenes, the more often the riskier they are, some action is tried
//! in a copy of the world with the least risky one ever after, which is what a risk is the probability of:
//! a good shield keeps out of danger, and would otherwise see ever less of it.
//! Where a critic drives, it is kept of every scene which action it calls the least risky: that choice is what is valued.
//!
//! **Invariants:** the same seeds, round and critic give the same experience for any number of threads.

use anyhow::Result;
use cpss_highway::random::Generator;
use cpss_highway::{Step, World};
use cpss_learn::critic::Critic;
use cpss_learn::critic::experience::{Experience, Next};
use cpss_risk::features::Inputs;
use rayon::prelude::*;

use super::driver::{Driver, judge, least, least_risky};
use super::weave::Weave;
use super::{Conditions, USUAL_THRESHOLD, longest_episode};
use crate::play::ending::is_incident;
use crate::play::regime::Drift;
use crate::play::sensor::Sight;
use crate::tasks::SHIPPED_SEEDS;

/// Decisions of an episode after which an episode is left,
pub(crate) const LONGEST: usize = 200;
/// and those of a try.
const LONGEST_TRY: usize = 40;
/// The most tries from one episode.
const MOST_TRIES: usize = 4;
/// The share of tries that begin by weaving, where that is how an ego loses way,
const WEAVING: f64 = 0.5;
/// and the risk above which an episode that weaves does so.
const WEAVE_ABOVE: f64 = 0.01;
/// Episodes that are played before the decisions are counted again.
const BLOCK: u64 = 512;

/// How an episode is driven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Behaviour {
    /// Which policy proposes; `None` for random proposals throughout.
    pub policy: Option<usize>,
    /// The share of proposals that are random instead.
    pub random: f64,
    /// The avoidable risk that is let through; infinite without a shield.
    pub threshold: f64,
}

impl Behaviour {
    /// Draws how an episode is driven.
    fn draw(random: &mut Generator, is_shielded: bool) -> Behaviour {
        const RANDOM: [f64; 6] = [0.0, 0.0, 0.03, 0.1, 0.3, 1.0];
        const THRESHOLDS: [f64; 6] = [0.001, 0.003, 0.01, 0.03, 0.1, f64::INFINITY];
        let policy = random.choice(SHIPPED_SEEDS);
        let share = RANDOM[random.choice(RANDOM.len())];
        let threshold = THRESHOLDS[random.choice(THRESHOLDS.len())];
        Behaviour {
            policy: (share < 1.0).then_some(policy),
            random: share,
            threshold: if is_shielded { threshold } else { f64::INFINITY },
        }
    }
}

/// From where something is tried.
struct Start {
    world: World,
    drift: Drift,
    sight: Option<Sight>,
}

impl Driver<'_> {
    /// Plays an episode and keeps what was seen.
    fn collect(&mut self, seed: u64, round: u64, into: &mut Experience) -> Result<()> {
        let mut random = Generator::seeded(seed ^ 0x0c0_11ec7 ^ (round << 40));
        let Conditions { regimes, sensors } = self.conditions;
        let regime = &regimes[random.choice(regimes.len())];
        let behaviour = Behaviour::draw(&mut random, self.critic.is_some());
        let (mut world, mut drift) = regime.begin(seed);
        let sensor = match sensors {
            [only] => *only,
            several => several[random.choice(several.len())],
        };
        self.begin(&mut world, seed, sensor)?;
        let unseen = longest_episode(world.task()).saturating_sub(LONGEST);
        let unseen = if unseen > 0 { random.choice(unseen) } else { 0 };
        if !self.pass_by(&mut world, &mut drift, behaviour.policy.unwrap_or(0), unseen)? {
            return Ok(());
        }
        let actions = self.risks.len();
        let mut tries = Vec::new();
        let weaves = Weave::draw(world.task(), world.ego(), &mut random).is_some()
            && self.critic.is_some()
            && random.random() < WEAVING;
        let mut weave: Option<Weave> = None;
        for step in 0..LONGEST {
            drift.apply(&mut world);
            if !self.look(&world) {
                into.cut();
                break;
            }
            let proposal = match behaviour.policy {
                Some(_) if random.random() < behaviour.random => random.choice(actions),
                Some(policy) => self.policies[policy].act(step as u64, &self.seen)?,
                None => random.choice(actions),
            };
            if weaves && weave.is_none() && least(&self.risks) > WEAVE_ABOVE {
                weave = Weave::draw(world.task(), world.ego(), &mut random);
            }
            let woven = weave.as_mut().and_then(|weave| weave.action(&world));
            let action = match (woven, self.critic) {
                (Some(action), _) => action,
                (None, Some(_)) => judge(&self.risks, proposal, behaviour.threshold),
                (None, None) => proposal,
            };
            if woven.is_none() {
                weave = None;
            }
            let tried = self.critic.is_some() && tries.len() < MOST_TRIES;
            if tried && random.random() < worth_trying(&self.risks, proposal) {
                tries.push(Start {
                    world: world.clone(),
                    drift: drift.clone(),
                    sight: self.sight.clone(),
                });
            }
            let taken = self.step(&mut world, action)?;
            let next = next(&world, &taken, step + 1 == LONGEST);
            into.push(self.features.fixed(), self.features.items(), action, next);
            if self.critic.is_some() {
                into.tell_least_risky(least_risky(&self.risks));
            }
            if next != Next::GoesOn {
                break;
            }
        }
        for start in tries {
            let first = random.choice(actions);
            let weave = Weave::draw(start.world.task(), start.world.ego(), &mut random);
            let weave = weave.filter(|_| random.random() < WEAVING);
            self.try_out(start, (first, weave), into)?;
        }
        Ok(())
    }

    /// Lets some decisions pass under the usual shield; `false` if the episode is over before.
    fn pass_by(
        &mut self,
        world: &mut World,
        drift: &mut Drift,
        policy: usize,
        decisions: usize,
    ) -> Result<bool> {
        for step in 0..decisions {
            drift.apply(world);
            let proposal = self.policies[policy].act(step as u64, &self.seen)?;
            let action = match self.critic.is_some() && self.look(world) {
                true => judge(&self.risks, proposal, USUAL_THRESHOLD),
                false => proposal,
            };
            if self.step(world, action)?.is_over() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs an action, perhaps weaves for a while, and runs the least risky action ever after; keeps what
    /// was seen.
    fn try_out(
        &mut self,
        Start { mut world, mut drift, sight }: Start,
        (first, mut weave): (usize, Option<Weave>),
        into: &mut Experience,
    ) -> Result<()> {
        self.sight = sight;
        let longest = if weave.is_some() { 2 * LONGEST_TRY } else { LONGEST_TRY };
        for step in 0..longest {
            if step > 0 {
                drift.apply(&mut world);
            }
            if !self.look(&world) {
                into.cut();
                break;
            }
            let action = match weave.as_mut().and_then(|weave| weave.action(&world)) {
                Some(action) => action,
                None if step == 0 => first,
                None => least_risky(&self.risks),
            };
            let taken = self.step(&mut world, action)?;
            let next = next(&world, &taken, step + 1 == longest);
            into.push(self.features.fixed(), self.features.items(), action, next);
            if self.critic.is_some() {
                into.tell_least_risky(least_risky(&self.risks));
            }
            if next != Next::GoesOn {
                break;
            }
        }
        Ok(())
    }
}

/// The chance that some action is tried from a scene: the greater, the more is at stake, unless all is lost.
fn worth_trying(risks: &[f64], proposal: usize) -> f64 {
    let least = least(risks);
    if least > 0.5 {
        return 0.0;
    }
    0.25 * (least.max(risks[proposal]) / 0.1).sqrt().clamp(0.08, 1.0)
}

/// What came of a decision; the last one is not followed further.
fn next(world: &World, taken: &Step, is_last: bool) -> Next {
    match (is_incident(world, taken.terminated), taken.is_over()) {
        (true, _) => Next::Incident,
        (false, true) => Next::Over,
        (false, false) if is_last => Next::Unknown,
        (false, false) => Next::GoesOn,
    }
}

/// Plays episodes from a seed on until there are at least `decisions`; returns what was seen.
pub(crate) fn collect(
    conditions: Conditions<'_>,
    inputs: &Inputs,
    critic: Option<&Critic>,
    round: u64,
    seeds: std::ops::Range<u64>,
    decisions: usize,
) -> Result<Experience> {
    let Inputs { fixed, item, .. } = *inputs;
    let mut all = Experience::new(fixed, item);
    let mut first = seeds.start;
    while all.len() < decisions {
        let block: Vec<u64> = (first..first + BLOCK).map(|seed| seed % seeds.end).collect();
        first += BLOCK;
        let parts: Vec<Result<Experience>> = block
            .par_chunks(BLOCK as usize / 16)
            .map_init(
                || Driver::new(conditions, inputs, critic),
                |driver, seeds| {
                    let driver = driver.as_mut().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                    let mut part = Experience::new(fixed, item);
                    for &seed in seeds {
                        driver.collect(seed, round, &mut part)?;
                    }
                    Ok(part)
                },
            )
            .collect();
        for part in parts {
            all.append(&part?);
        }
    }
    Ok(all)
}
