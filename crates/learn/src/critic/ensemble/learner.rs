//! How does an ensemble learn?
//!
//! [`EnsembleLearner`] has groups of critics that know nothing of one another. Those of a group learn from the same
//! experience, each from batches of its own, and each asks the next about the scenes to come. Start at
//! [`EnsembleLearner::learn`].
//!
//! **Invariant:** the same settings, seed and experience give the same bits for any number of threads: groups learn side
//! by side, and what they share is drawn before.

use rayon::prelude::*;

use super::super::experience::Experience;
use super::super::learner::{Beside, CriticDiverged, CriticLearner, CriticSpec};
use super::super::{Critic, Shape};
use crate::generator::Generator;
use crate::topology::BadTopology;

/// An ensemble in the making.
#[derive(Clone, Debug)]
pub struct EnsembleLearner {
    /// Group after group.
    learners: Vec<CriticLearner>,
    groups: usize,
    point: usize,
    points: Generator,
    untried: Option<Critic>,
}

/// Points that are compared in the next scene.
const POINTS: usize = 12;

impl EnsembleLearner {
    /// Starts from random weights, with so many groups of so many critics.
    ///
    /// # Errors
    ///
    /// A shape that makes no network.
    ///
    /// # Panics
    ///
    /// Without a critic.
    pub fn new(
        shape: &Shape,
        spec: &CriticSpec,
        point: usize,
        (groups, critics): (usize, usize),
        seed: u64,
    ) -> Result<EnsembleLearner, BadTopology> {
        assert!(groups > 0 && critics > 0, "an ensemble has critics");
        let streams = (0..(groups * critics) as u64).map(|place| seed ^ (place << 48));
        let learner = |seed| CriticLearner::new(shape.clone(), spec.clone(), seed);
        Ok(EnsembleLearner {
            learners: streams.map(learner).collect::<Result<_, _>>()?,
            groups,
            point,
            points: Generator::from_state(seed ^ 0x0b01_4175),
            untried: None,
        })
    }

    /// The critics as learned so far, group after group; last in each the one that knows what was never tried, if
    /// there is one.
    pub fn critics(&self) -> Vec<Critic> {
        let groups = self.learners.chunks(self.learners.len() / self.groups);
        let learned = |group: &[CriticLearner]| {
            let learned = group.iter().map(|learner| learner.learned().clone());
            learned.chain(self.untried.clone()).collect::<Vec<_>>()
        };
        groups.flat_map(learned).collect()
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// From now on actions that this critic calls risky, because nobody has tried them, are.
    pub fn set_untried(&mut self, untried: Critic) {
        self.untried = Some(untried);
    }

    /// The learners, to be saved.
    pub fn learners(&self) -> &[CriticLearner] {
        &self.learners
    }

    /// The learners, to go on from what was saved.
    pub fn learners_mut(&mut self) -> &mut [CriticLearner] {
        &mut self.learners
    }

    /// The stream of points to compare.
    pub fn points_mut(&mut self) -> &mut Generator {
        &mut self.points
    }

    /// Looks at every decision anew: how often it is to be looked at, and whether it was about as safe as could be.
    pub fn weigh(&mut self, experience: &mut Experience, as_safe: f64) {
        let points = self.draw();
        let critics: Vec<&Critic> = self.learners.iter().map(CriticLearner::learned).collect();
        experience.weigh_by(&critics, self.groups, &points, as_safe);
    }

    /// One update of every critic; `share` says how far the round has come. Returns the mean loss.
    ///
    /// # Errors
    ///
    /// A gradient that is not finite.
    pub fn update(&mut self, experience: &Experience, share: f64) -> Result<f64, CriticDiverged> {
        self.learn(experience, &[share])
    }

    /// An update of every critic for each of `shares`, which say how far the round has come. Returns the mean loss.
    ///
    /// # Errors
    ///
    /// A gradient that is not finite.
    pub fn learn(
        &mut self,
        experience: &Experience,
        shares: &[f64],
    ) -> Result<f64, CriticDiverged> {
        let updates: Vec<_> = shares.iter().map(|share| (*share, self.draw())).collect();
        let (untried, each) = (self.untried.as_ref(), self.learners.len() / self.groups);
        let groups = self.learners.par_chunks_mut(each).map(|group| {
            let mut loss = 0.0;
            for (share, points) in &updates {
                for _ in 0..each {
                    // Each in turn comes first, and asks the one that then is second.
                    let (first, others) = group.split_at_mut(1);
                    let other = others.first().map(CriticLearner::learned);
                    let others: Vec<&Critic> = other.into_iter().chain(untried).collect();
                    let beside = Beside { others: &others, points };
                    loss += first[0].update_beside(experience, *share, beside)?;
                    group.rotate_left(1);
                }
            }
            Ok(loss)
        });
        let losses = groups.collect::<Result<Vec<f64>, _>>()?;
        Ok(losses.iter().sum::<f64>() / (self.learners.len() * shares.len()) as f64)
    }

    /// Points to compare, where actions are points: corners now and then, since the least risk is often at one.
    fn draw(&mut self) -> Vec<f32> {
        let generator = &mut self.points;
        let mut number = || match generator.below(4) {
            0 => -1.0,
            1 => 1.0,
            _ => (2.0 * generator.unit() - 1.0) as f32,
        };
        (0..POINTS * self.point).map(|_| number()).collect()
    }
}
