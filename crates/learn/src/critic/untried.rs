//! Which actions has nobody tried?
//!
//! A log shows what somebody did, and says nothing of what nobody did. [`learn_untried`] tells the two apart: a
//! critic learns to tell the actions of a log from random ones, in the same scenes and in scenes made up. Where it
//! is sure that an action is not the log's, nobody has tried it, and its risk is taken as 1. Given to an
//! [`EnsembleLearner`](super::ensemble::EnsembleLearner), the largest risk counts, and so such actions are
//! neither followed nor chosen.
//!
//! **Invariant:** the same experience and seed give the same critic, bit for bit, on the same machine.

use super::experience::{Experience, Next};
use super::learner::{CriticDiverged, CriticLearner, CriticSpec};
use super::{Critic, Shape};
use crate::generator::Generator;
use crate::topology::BadTopology;

/// An action is untried where it is, by these log-odds, not the log's: about one in 20 of a random one's share,
const SURE: f32 = 3.0;
/// and the change from tried to untried is this much sharper than what was learned.
const SHARPER: f32 = 6.0;
/// How far made-up scenes lie from the log's mean, in its own spreads.
const SPREAD: f64 = 3.0;

/// Why nothing could be learned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntriedError {
    /// No network of that shape.
    #[error(transparent)]
    Shape(#[from] BadTopology),
    /// It diverged.
    #[error(transparent)]
    Diverged(#[from] CriticDiverged),
}

/// Learns which actions of a list, or which points, nobody has tried.
///
/// # Errors
///
/// A shape that makes no network, or learning that diverges.
pub fn learn_untried(
    experience: &Experience,
    shape: &Shape,
    updates: u64,
    seed: u64,
) -> Result<Critic, UntriedError> {
    let mut draw = Generator::from_state(seed ^ 0x0011_e471);
    let seen = shape.fixed - experience.point();
    let mut told = Experience::new(shape.fixed, 0);
    let mut scene = Vec::with_capacity(shape.fixed);
    for place in 0..experience.len() {
        experience.numbers(place, &mut scene);
        told.push(&scene, &[], experience.action(place), Next::Over);
        let action = draw.below(shape.actions as u64) as usize;
        // One in four is made up: what lies far from all that was seen was not tried either.
        let mut any = |most: f64| ((2.0 * draw.unit() - 1.0) * most) as f32;
        if place % 4 == 0 {
            scene[..seen].fill_with(|| any(SPREAD));
        }
        // Where actions are points, any point of the box in place of the one that ran.
        scene[seen..].fill_with(|| any(1.0));
        told.push(&scene, &[], action, Next::Incident);
    }
    let spec = CriticSpec { batch: 256, ..CriticSpec::default() };
    let mut learner = CriticLearner::new(shape.clone(), spec, seed ^ (7 << 48))?;
    for update in 0..updates {
        learner.update(&told, update as f64 / updates as f64)?;
    }
    Ok(learner.learned().sharpened(SURE, SHARPER))
}
