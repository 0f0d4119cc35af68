//! How does a critic learn from experience?
//!
//! By cross-entropy towards
//!
//! ```text
//!   1                               if the decision led to an incident
//!   0                               if the episode was over without one
//!   gamma · min over actions of the target critic's risk in the next scene    otherwise
//! ```
//!
//! and, where the action that ran in the next scene was itself about as safe as could be, towards what came of
//! that in the same way, for up to [`CriticSpec::follow_outcomes`] decisions: the minimum over noisy estimates makes
//! risk look small, and what really happened does not. Where the driver said which action it took for the least risky one
//! ([`Experience::tell_least_risky`]), the target critic's risk of that one stands in for the minimum, and "as safe as
//! could be" is meant beside it: the choice stays while the critic learns on, so that who values has less and less of the noise
//! of who chose. With Adam, and a target critic that follows slowly. Start at [`CriticLearner::update`].
//!
//! **Invariants:** the same settings, seed and experience give the same bits on the same machine for any
//! number of threads: a batch is cut into parts of a fixed size, and their gradients are added in order.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::experience::{Experience, Next};
use super::pass::{Batch, Pass};
use super::{Critic, Shape, probability};
use crate::adam::{Adam, clip_scale};
use crate::generator::{Generator, Purpose};
use crate::topology::BadTopology;

/// The numbers of an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CriticSpec {
    /// The chance that a decision's look-ahead goes on to the next.
    pub gamma: f64,
    /// Decisions per update.
    pub batch: usize,
    /// Adam's step at the start of a round.
    pub learning_rate: f64,
    /// The same at its end; in between it falls in a straight line.
    pub learning_rate_final: f64,
    /// The share by which the target critic follows after each update.
    pub follow: f64,
    /// Over how many decisions what came of safe actions is followed, instead of asking the target critic.
    pub follow_outcomes: usize,
}

impl Default for CriticSpec {
    fn default() -> CriticSpec {
        CriticSpec {
            gamma: 1.0,
            batch: 512,
            learning_rate: 1e-3,
            learning_rate_final: 5e-5,
            follow: 0.01,
            follow_outcomes: 20,
        }
    }
}

/// Scenes that are worked on together by one thread.
const PART: usize = 32;
/// Below so many parameters times scenes an update takes about a millisecond, and threads that wait for one another cost
/// more than they save, above all where others use the processor too.
const WORTH_THREADS: usize = 4_000_000;
/// The greatest length of a gradient.
const MAX_GRADIENT: f32 = 1.0;

/// A critic in the making.
#[derive(Clone, Debug)]
pub struct CriticLearner {
    spec: CriticSpec,
    critic: Critic,
    target: Critic,
    adam: Adam,
    sampling: Generator,
    gradients: Vec<f32>,
    parts: Vec<Part>,
}

/// What one part of a batch needs.
#[derive(Clone, Debug, Default)]
struct Part {
    scenes: Vec<usize>,
    actions: Vec<usize>,
    targets: Vec<f32>,
    batch: Batch,
    next: Batch,
    /// Which scene of the part each scene of `next` belongs to.
    owners: Vec<usize>,
    /// Which action is valued there; all of them if the driver did not say which is the least risky one.
    valued: Vec<Option<usize>>,
    /// The least logit in the scene that each scene of the part led to.
    least: Vec<f32>,
    pass: Pass,
    target_pass: Pass,
    other_passes: Vec<Pass>,
    by_logit: Vec<f32>,
    gradients: Vec<f32>,
    loss: f64,
}

/// Who else has a say in what the next scene risks, and which points are compared there if actions are points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Other critics: of all risks of an action the largest counts, as the least of noisy ones is too small.
    pub others: &'a [&'a Critic],
    /// Points, one after the other; empty unless actions are points.
    pub points: &'a [f32],
}

/// All that a learner is besides its settings and experience, to be saved.
#[derive(Clone, Debug)]
pub struct LearnerState {
    /// The critic's parameters.
    pub critic: Vec<f32>,
    /// The target critic's.
    pub target: Vec<f32>,
    /// Adam's moments, two numbers per parameter.
    pub moments: Vec<f32>,
    /// Updates so far.
    pub steps: u64,
    /// The state of the stream that decides which scenes an update sees.
    pub sampling: u64,
}

/// A gradient that is not finite: learning cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {updates} updates a gradient is not finite; try a smaller learning rate")]
pub struct CriticDiverged {
    /// How many updates went well.
    pub updates: u64,
}

impl CriticLearner {
    /// Starts from random weights.
    ///
    /// # Errors
    ///
    /// A shape that makes no network.
    pub fn new(shape: Shape, spec: CriticSpec, seed: u64) -> Result<CriticLearner, BadTopology> {
        let critic = Critic::new(shape, &mut Generator::new(seed, Purpose::Weights))?;
        let parameters = critic.parameters().len();
        Ok(CriticLearner {
            target: critic.clone(),
            adam: Adam::new(parameters, spec.learning_rate),
            sampling: Generator::new(seed, Purpose::Sampling),
            gradients: vec![0.0; parameters],
            parts: vec![Part::default(); spec.batch.div_ceil(PART).max(1)],
            critic,
            spec,
        })
    }

    /// Goes on from a critic's weights instead of random ones; `None`, and nothing is changed, if its layers are others.
    pub fn begin_with(&mut self, critic: &Critic) -> Option<()> {
        if critic.shape() != self.critic.shape() {
            return None;
        }
        self.critic.parameters_mut().copy_from_slice(critic.parameters());
        self.target.parameters_mut().copy_from_slice(critic.parameters());
        Some(())
    }

    /// The critic as learned so far: the slow one, which is steadier.
    pub fn learned(&self) -> &Critic {
        &self.target
    }

    /// Updates so far.
    pub fn updates(&self) -> u64 {
        self.adam.steps()
    }

    /// What is to be saved.
    pub fn state(&self) -> LearnerState {
        LearnerState {
            critic: self.critic.parameters().to_vec(),
            target: self.target.parameters().to_vec(),
            moments: self.adam.moments(),
            steps: self.adam.steps(),
            sampling: self.sampling.state(),
        }
    }

    /// Goes on from what was saved; `false`, and nothing is changed, if it does not fit.
    pub fn restore(&mut self, state: &LearnerState) -> bool {
        let parameters = self.gradients.len();
        let fits = [&state.critic, &state.target].iter().all(|saved| saved.len() == parameters)
            && state.moments.len() == 2 * parameters;
        if fits {
            self.critic.parameters_mut().copy_from_slice(&state.critic);
            self.target.parameters_mut().copy_from_slice(&state.target);
            self.adam = Adam::from_moments(&state.moments, state.steps, self.spec.learning_rate);
            self.sampling = Generator::from_state(state.sampling);
        }
        fits
    }

    /// Learns from one random batch; `share` says how far the round has come, in [0, 1]. Returns the loss.
    ///
    /// # Errors
    ///
    /// A gradient that is not finite; nothing was changed then.
    pub fn update(&mut self, experience: &Experience, share: f64) -> Result<f64, CriticDiverged> {
        self.update_beside(experience, share, Beside::default())
    }

    /// The same, where others have a say or actions are points.
    ///
    /// # Errors
    ///
    /// A gradient that is not finite; nothing was changed then.
    pub fn update_beside(
        &mut self,
        experience: &Experience,
        share: f64,
        beside: Beside<'_>,
    ) -> Result<f64, CriticDiverged> {
        let spec = &self.spec;
        let usable = |scene: usize| match experience.next(scene) {
            Next::GoesOn => scene + 1 < experience.len(),
            Next::Over | Next::Incident => true,
            Next::Unknown => false,
        };
        for (index, part) in self.parts.iter_mut().enumerate() {
            let count = PART.min(spec.batch.saturating_sub(index * PART));
            part.scenes.clear();
            let mut tries = 0;
            while part.scenes.len() < count && tries < 1000 * PART {
                tries += 1;
                let scene = self.sampling.below(experience.len() as u64) as usize;
                let look = self.sampling.below(255) < u64::from(experience.weight(scene));
                if look && usable(scene) {
                    part.scenes.push(scene);
                }
            }
        }
        let (critic, target) = (&self.critic, &self.target);
        let weight = 1.0 / spec.batch as f32;
        let work = |part: &mut Part| part.work([critic, target], beside, experience, spec, weight);
        let is_small = spec.batch * self.gradients.len() < WORTH_THREADS;
        if is_small {
            self.parts.iter_mut().for_each(work);
        } else {
            self.parts.par_iter_mut().for_each(work);
        }
        let parts = &self.parts;
        const BLOCK: usize = 4096;
        let sum = |(block, sums): (usize, &mut [f32])| {
            sums.copy_from_slice(&parts[0].gradients[block * BLOCK..][..sums.len()]);
            for part in &parts[1..] {
                let addends = &part.gradients[block * BLOCK..];
                sums.iter_mut().zip(addends).for_each(|(sum, addend)| *sum += addend);
            }
        };
        if is_small {
            self.gradients.chunks_mut(BLOCK).enumerate().for_each(sum);
        } else {
            self.gradients.par_chunks_mut(BLOCK).enumerate().for_each(sum);
        }
        let diverged = CriticDiverged { updates: self.adam.steps() };
        let scale = clip_scale(&self.gradients, MAX_GRADIENT).ok_or(diverged)?;
        let (from, to) = (spec.learning_rate, spec.learning_rate_final);
        self.adam.set_learning_rate(from + (to - from) * share.clamp(0.0, 1.0));
        self.adam.step(self.critic.parameters_mut(), &self.gradients, scale);
        let follow = spec.follow as f32;
        let pairs = self.target.parameters_mut().iter_mut().zip(self.critic.parameters());
        pairs.for_each(|(slow, fast)| *slow += follow * (fast - *slow));
        Ok(self.parts.iter().map(|part| part.loss).sum())
    }
}

/// Where following a decision's outcome ends.
enum Outcome {
    Incident,
    Over,
    /// The target critic is asked about this scene.
    Ask(usize),
}

/// Follows what came of a decision, for as long as what ran next was about as safe as could be. Also returns
/// the chance that the look-ahead goes so far.
fn follow(experience: &Experience, mut scene: usize, spec: &CriticSpec) -> (f32, Outcome) {
    let mut goes_on = 1.0;
    for followed in 0.. {
        match experience.next(scene) {
            Next::Incident => return (goes_on, Outcome::Incident),
            Next::Over => return (goes_on, Outcome::Over),
            Next::GoesOn => {
                scene += 1;
                goes_on *= spec.gamma as f32;
            }
            // Only a first scene could be this one, and such are not chosen.
            Next::Unknown => break,
        }
        let ends = followed >= spec.follow_outcomes
            || !experience.ran_safest(scene)
            || experience.next(scene) == Next::Unknown;
        if ends {
            break;
        }
    }
    (goes_on, Outcome::Ask(scene))
}

impl Part {
    fn work(
        &mut self,
        [critic, target]: [&Critic; 2],
        beside: Beside<'_>,
        experience: &Experience,
        spec: &CriticSpec,
        weight: f32,
    ) {
        self.batch.clear();
        self.next.clear();
        self.owners.clear();
        self.valued.clear();
        self.actions.clear();
        self.targets.clear();
        for (index, &scene) in self.scenes.iter().enumerate() {
            experience.gather(scene, &mut self.batch);
            self.actions.push(experience.action(scene));
            let (goes_on, outcome) = follow(experience, scene, spec);
            match outcome {
                Outcome::Incident => self.targets.push(goes_on),
                Outcome::Over => self.targets.push(0.0),
                Outcome::Ask(next) => {
                    self.targets.push(goes_on);
                    experience.gather_all(next, beside.points, &mut self.next);
                    self.owners.resize(self.next.len(), index);
                    self.valued.resize(self.next.len(), experience.least_risky(next));
                }
            }
        }
        self.look_ahead(target, beside.others);
        self.pass.forward(critic, &self.batch);
        self.by_logit.clear();
        self.loss = 0.0;
        for (scene, (&action, &y)) in self.actions.iter().zip(&self.targets).enumerate() {
            let logit = self.pass.logit(scene, action);
            self.by_logit.push(weight * (probability(logit) as f32 - y));
            // Cross-entropy, in the form that cannot overflow.
            let loss = logit.max(0.0) - logit * y + (-logit.abs()).exp().ln_1p();
            self.loss += f64::from(weight * loss);
        }
        self.gradients.resize(critic.parameters().len(), 0.0);
        let Part { pass, batch, actions, by_logit, gradients, .. } = self;
        pass.backward(critic, batch, actions, by_logit, gradients);
    }

    /// Multiplies each target by the least risk in the scene that the target critic is asked about.
    fn look_ahead(&mut self, target: &Critic, others: &[&Critic]) {
        if self.next.is_empty() {
            return;
        }
        self.target_pass.forward(target, &self.next);
        self.other_passes.resize(others.len(), Pass::default());
        for (pass, other) in self.other_passes.iter_mut().zip(others) {
            pass.forward(other, &self.next);
        }
        self.least.clear();
        self.least.resize(self.targets.len(), f32::INFINITY);
        for (scene, (&owner, valued)) in self.owners.iter().zip(&self.valued).enumerate() {
            let actions = match valued {
                Some(action) => *action..*action + 1,
                None => 0..target.shape().actions,
            };
            for action in actions {
                let mut logit = self.target_pass.logit(scene, action);
                for pass in &self.other_passes {
                    logit = logit.max(pass.logit(scene, action));
                }
                self.least[owner] = self.least[owner].min(logit);
            }
        }
        self.owners.dedup();
        for &owner in &self.owners {
            self.targets[owner] *= probability(self.least[owner]) as f32;
        }
    }
}
