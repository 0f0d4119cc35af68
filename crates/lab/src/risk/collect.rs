//! What is seen of the world while a critic learns, and how is it driven meanwhile?
//!
//! In the first round the policies drive, with some random actions; in later rounds mostly under the shield
//! of the round before, at several thresholds: what matters is where a shielded policy goes. How an
//! episode is driven ([`Behaviour`]) follows from its seed and round. Of a long episode a part is seen that
//! begins anywhere. And from some scenes, the more often the riskier they are, some action is tried
//! in a copy of the world with the least risky one ever after, which is what a risk is the probability of:
//! a good shield keeps out of danger, and would otherwise see ever less of it.
//!
//! **Invariants:** the same seeds, round and critic give the same experience for any number of threads.

use anyhow::Result;
use cpss_highway::random::Generator;
use cpss_highway::{Action, Scene, Step, World};
use cpss_learn::QFunction;
use cpss_learn::critic::experience::{Experience, Next};
use cpss_learn::critic::{Critic, Scratch};
use cpss_risk::features::{FIXED, Features, ITEM};
use rayon::prelude::*;

use super::{USUAL_THRESHOLD, longest_episode};
use crate::branch::is_off_road;
use crate::policy::{PolicySource, SHIPPED_SEEDS};
use crate::regime::{Drift, Regime};

/// Decisions of an episode after which nobody looks any further,
pub const LONGEST: usize = 200;
/// and those of a try.
const LONGEST_TRY: usize = 40;
/// The most tries from one episode.
const MOST_TRIES: usize = 4;
/// Episodes that are played between two looks at how many decisions there are.
const BLOCK: u64 = 512;

/// How an episode is driven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behaviour {
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

/// Who plays: policies, eyes and room. Keep one per thread.
pub struct Driver<'a> {
    regimes: &'a [Regime],
    policies: Vec<Box<dyn QFunction>>,
    critic: Option<&'a Critic>,
    features: Features,
    scratch: Scratch,
    scene: Scene,
    seen: Vec<f32>,
    risks: Vec<f64>,
}

/// What came of a measured episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Whether what must not happen happened.
    pub incident: bool,
    /// The return.
    pub episode_return: f64,
    /// Decisions, and on how many the proposal was refused.
    pub steps: u64,
    /// Interventions.
    pub interventions: u64,
    /// The risk at the start that could not be avoided.
    pub start: f64,
    /// The avoidable risk that was taken.
    pub chosen: f64,
    /// What came into view.
    pub arriving: f64,
}

impl Measured {
    /// What was not foreseen: the incident, less all that was.
    pub fn surprise(&self) -> f64 {
        f64::from(u8::from(self.incident)) - self.start - self.chosen - self.arriving
    }
}

impl<'a> Driver<'a> {
    /// A driver of the shipped policies, under a critic if there is one.
    ///
    /// # Errors
    ///
    /// A task without shipped policies.
    pub fn new(regimes: &'a [Regime], critic: Option<&'a Critic>) -> Result<Driver<'a>> {
        let task = regimes[0].task();
        let policies = (0..SHIPPED_SEEDS).map(|seed| PolicySource::Builtin(seed).load(task));
        Ok(Driver {
            regimes,
            policies: policies.collect::<Result<_, _>>()?,
            critic,
            features: Features::default(),
            scratch: Scratch::default(),
            scene: Scene::default(),
            seen: vec![0.0; task.observer.len()],
            risks: vec![0.0; task.controls.action_count().unwrap_or(0)],
        })
    }

    /// Looks at the world; `false` if it cannot be read.
    fn look(&mut self, world: &World) -> bool {
        self.scene.observe(world);
        let readable = self.features.read(world.task(), &self.scene);
        match self.critic {
            Some(critic) if readable => {
                let (fixed, items) = (self.features.fixed(), self.features.items());
                critic.risks(fixed, items, &mut self.scratch, &mut self.risks);
            }
            _ => self.risks.fill(1.0),
        }
        readable
    }

    /// Plays an episode and keeps what was seen.
    fn collect(&mut self, seed: u64, round: u64, into: &mut Experience) -> Result<()> {
        let mut random = Generator::seeded(seed ^ 0x0c0_11ec7 ^ (round << 40));
        let regimes = self.regimes;
        let regime = &regimes[random.choice(regimes.len())];
        let behaviour = Behaviour::draw(&mut random, self.critic.is_some());
        let (mut world, mut drift) = regime.begin(seed);
        world.observe(&mut self.seen);
        let unseen = longest_episode(world.task()).saturating_sub(LONGEST);
        let unseen = if unseen > 0 { random.choice(unseen) } else { 0 };
        if !self.pass_by(&mut world, &mut drift, behaviour.policy.unwrap_or(0), unseen)? {
            return Ok(());
        }
        let actions = self.risks.len();
        let mut tries = Vec::new();
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
            let action = match self.critic {
                Some(_) => judge(&self.risks, proposal, behaviour.threshold),
                None => proposal,
            };
            let tried = self.critic.is_some() && tries.len() < MOST_TRIES;
            if tried && random.random() < worth_trying(&self.risks, proposal) {
                tries.push((world.clone(), drift.clone()));
            }
            let taken = world.step(Action::Index(action), &mut self.seen)?;
            let next = next(&world, &taken, step + 1 == LONGEST);
            into.push(self.features.fixed(), self.features.items(), action, next);
            if next != Next::GoesOn {
                break;
            }
        }
        for start in tries {
            let first = random.choice(actions);
            self.try_out(start, first, into)?;
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
            if world.step(Action::Index(action), &mut self.seen)?.is_over() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs an action, and the least risky one ever after, and keeps what was seen.
    fn try_out(
        &mut self,
        (mut world, mut drift): (World, Drift),
        first: usize,
        into: &mut Experience,
    ) -> Result<()> {
        for step in 0..LONGEST_TRY {
            if step > 0 {
                drift.apply(&mut world);
            }
            if !self.look(&world) {
                into.cut();
                break;
            }
            let action = if step == 0 { first } else { judge(&self.risks, 0, -1.0) };
            let taken = world.step(Action::Index(action), &mut self.seen)?;
            let next = next(&world, &taken, step + 1 == LONGEST_TRY);
            into.push(self.features.fixed(), self.features.items(), action, next);
            if next != Next::GoesOn {
                break;
            }
        }
        Ok(())
    }

    /// Plays an episode under a constant threshold and sums it up. On a share of its decisions some action
    /// is tried in a copy of the world, and the least risky one ever after: each gives a foretold risk and
    /// what came of it, into `tried`.
    ///
    /// # Errors
    ///
    /// A policy that gives a value which is no number.
    pub fn measure(&mut self, seed: u64, rule: &Rule, tried: &mut Vec<Tried>) -> Result<Measured> {
        let Rule { threshold, gamma, tries } = *rule;
        let mut random = Generator::seeded(seed ^ 0x7219_ed00);
        let regimes = self.regimes;
        let place = seed as usize;
        let regime = &regimes[place / SHIPPED_SEEDS % regimes.len()];
        let policy = place % SHIPPED_SEEDS;
        let (mut world, mut drift): (World, Drift) = regime.begin(seed);
        world.observe(&mut self.seen);
        let mut sum = Measured::default();
        loop {
            drift.apply(&mut world);
            self.look(&world);
            let unavoidable = least(&self.risks);
            match sum.steps {
                0 => sum.start = unavoidable,
                _ => sum.arriving += (1.0 - gamma) * unavoidable,
            }
            let proposal = self.policies[policy].act(sum.steps, &self.seen)?;
            let action = judge(&self.risks, proposal, threshold);
            if random.random() < tries {
                let first = random.choice(self.risks.len());
                let risk = self.risks[first];
                let (chosen, unavoidable) = (self.risks[action], unavoidable);
                let incident = self.least_risky_after((&world, &drift), first, gamma)?;
                tried.push(Tried { risk, incident });
                // The copy's scenes went through the same room.
                self.look(&world);
                debug_assert_eq!((self.risks[action], least(&self.risks)), (chosen, unavoidable));
            }
            sum.chosen += self.risks[action] - unavoidable;
            sum.interventions += u64::from(action != proposal);
            let taken = world.step(Action::Index(action), &mut self.seen)?;
            sum.steps += 1;
            sum.episode_return += taken.reward.total;
            if taken.is_over() {
                sum.incident = is_incident(&world, taken.terminated);
                return Ok(sum);
            }
        }
    }
}

impl Driver<'_> {
    /// The chance of an incident, as it came out, if an action runs now and the least risky ever after.
    fn least_risky_after(
        &mut self,
        (world, drift): (&World, &Drift),
        first: usize,
        gamma: f64,
    ) -> Result<f64> {
        let (mut world, mut drift) = (world.clone(), drift.clone());
        let mut seen = vec![0.0; self.seen.len()];
        let mut action = first;
        let mut goes_on = 1.0;
        // Beyond this a look-ahead has practically ended.
        while goes_on > 1e-2 {
            let taken = world.step(Action::Index(action), &mut seen)?;
            if is_incident(&world, taken.terminated) {
                return Ok(goes_on);
            }
            if taken.is_over() {
                break;
            }
            goes_on *= gamma;
            drift.apply(&mut world);
            self.look(&world);
            action = judge(&self.risks, 0, -1.0);
        }
        Ok(0.0)
    }
}

/// How measured episodes are played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The avoidable risk that is let through on each decision.
    pub threshold: f64,
    /// The chance that a look-ahead goes on.
    pub gamma: f64,
    /// The share of decisions on which some action is tried in a copy of the world.
    pub tries: f64,
}

/// A risk that was foretold, and what came of it: 1, less for an incident beyond the look-ahead, or 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// What the critic said.
    pub risk: f64,
    /// What happened.
    pub incident: f64,
}

fn least(risks: &[f64]) -> f64 {
    risks.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The action that runs: the proposal if its avoidable risk fits, and otherwise the least risky one.
fn judge(risks: &[f64], proposal: usize, threshold: f64) -> usize {
    let mut least = 0;
    for (action, risk) in risks.iter().enumerate() {
        if *risk < risks[least] {
            least = action;
        }
    }
    if risks[proposal] - risks[least] <= threshold { proposal } else { least }
}

/// The chance that some action is tried from a scene: the greater, the more is at stake, unless all is lost.
fn worth_trying(risks: &[f64], proposal: usize) -> f64 {
    let least = least(risks);
    if least > 0.5 {
        return 0.0;
    }
    0.25 * (least.max(risks[proposal]) / 0.1).sqrt().clamp(0.08, 1.0)
}

/// What came of a decision; nobody looks beyond the last one.
fn next(world: &World, taken: &Step, is_last: bool) -> Next {
    match (is_incident(world, taken.terminated), taken.is_over()) {
        (true, _) => Next::Incident,
        (false, true) => Next::Over,
        (false, false) if is_last => Next::Unknown,
        (false, false) => Next::GoesOn,
    }
}

/// Whether what must not happen has happened: a crash, or an end off the road.
pub fn is_incident(world: &World, terminated: bool) -> bool {
    world.ego().crashed || terminated && is_off_road(world)
}

/// Plays episodes from a seed on until there are at least `decisions`; returns what was seen.
///
/// # Errors
///
/// A task without shipped policies.
pub fn collect(
    regimes: &[Regime],
    critic: Option<&Critic>,
    round: u64,
    seeds: std::ops::Range<u64>,
    decisions: usize,
) -> Result<Experience> {
    let mut all = Experience::new(FIXED, ITEM);
    let mut first = seeds.start;
    while all.len() < decisions {
        let block: Vec<u64> = (first..first + BLOCK).map(|seed| seed % seeds.end).collect();
        first += BLOCK;
        let parts: Vec<Result<Experience>> = block
            .par_chunks(BLOCK as usize / 16)
            .map_init(
                || Driver::new(regimes, critic),
                |driver, seeds| {
                    let driver = driver.as_mut().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                    let mut part = Experience::new(FIXED, ITEM);
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

/// Plays shielded episodes of some seeds, each policy and regime by turns.
///
/// # Errors
///
/// A task without shipped policies.
pub fn measure(
    regimes: &[Regime],
    critic: &Critic,
    seeds: std::ops::Range<u64>,
    rule: &Rule,
) -> Result<(Vec<Measured>, Vec<Tried>)> {
    let seeds: Vec<u64> = seeds.collect();
    let parts = seeds
        .par_chunks(16)
        .map_init(
            || Driver::new(regimes, Some(critic)),
            |driver, seeds| {
                let driver = driver.as_mut().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                let mut tried = Vec::new();
                let play = |seed: &u64| driver.measure(*seed, rule, &mut tried);
                let measured = seeds.iter().map(play).collect::<Result<Vec<_>>>()?;
                Ok((measured, tried))
            },
        )
        .collect::<Result<Vec<_>>>()?;
    let (measured, tried): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    Ok((measured.concat(), tried.concat()))
}
