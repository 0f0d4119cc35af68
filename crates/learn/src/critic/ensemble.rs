//! How likely is an incident in an environment of which only a flat observation is known?
//!
//! An [`Ensemble`] is one or more groups of critics over the same numbers, each brought to a common scale first.
//! Within a group the larger risk counts, since the least of several noisy ones would be too small. Of the groups the
//! mean counts: what one has made up where it saw little, the others have not, so that smaller differences mean
//! something. Actions are a list, or points of a box, which then are inputs of the critics like the observation.
//! Start at [`Ensemble::risks`]; how it learns is in [`EnsembleLearner`].
//!
//! **Invariants:** a row's risks do not depend on the rows beside it; a number that is not finite makes all
//! risks of its row NaN, which no shield takes for a cost, and one that is merely huge is cut, as it is where a critic
//! learns; what a critic sees is what it learned from, to the last bit.

mod learner;

pub use learner::EnsembleLearner;

use std::collections::BTreeMap;

use super::experience::{LIMIT, rounded};
use super::file::CriticError;
use super::pass::{Batch, Pass};
use super::{Critic, Shape, probability};
use crate::tensors::{Reader, Writer};

/// Critics over one flat observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// Group after group, all of one size.
    critics: Vec<Critic>,
    groups: usize,
    scale: Scale,
    /// How many of the critics' inputs are the action; 0 if actions are a list.
    point: usize,
    /// Added to every logit: the calibration.
    shift: f32,
}

/// What is taken from each number of an observation, and what it is multiplied by then.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// What is taken from each number,
    pub mean: Vec<f32>,
    /// and what it is multiplied by then.
    pub factor: Vec<f32>,
}

impl Scale {
    /// Leaves so many numbers as they are.
    pub fn none(numbers: usize) -> Scale {
        Scale { mean: vec![0.0; numbers], factor: vec![1.0; numbers] }
    }

    /// Brings a row to the scale. A number so great that its scaled one is infinite is cut like any other; one that
    /// is not finite stays so.
    pub fn apply<'a>(&'a self, row: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        let parts = row.iter().zip(&self.mean).zip(&self.factor);
        parts.map(|((number, mean), factor)| {
            let scaled = (number - mean) * factor;
            rounded(if number.is_finite() { scaled.clamp(-LIMIT, LIMIT) } else { f32::NAN })
        })
    }

    /// Whether a row can be read: whether all of its numbers are finite on the scale.
    fn reads(&self, row: &[f32]) -> bool {
        self.apply(row).all(f32::is_finite)
    }
}

/// Room for rows on their way through an ensemble, used again for each call.
#[derive(Clone, Debug, Default)]
pub struct Room {
    batch: Batch,
    pass: Pass,
    largest: Vec<f32>,
}

impl Ensemble {
    /// Joins critics of one shape into one group; `None` if they or the scale do not fit together.
    pub fn new(critics: Vec<Critic>, scale: Scale, point: usize, shift: f32) -> Option<Ensemble> {
        let shape = critics.first()?.shape().clone();
        let numbers = shape.fixed.checked_sub(point)?;
        let fits = critics.iter().all(|critic| *critic.shape() == shape)
            && shape.item == 0
            && [&scale.mean, &scale.factor].iter().all(|part| part.len() == numbers)
            && scale.mean.iter().chain(&scale.factor).all(|number| number.is_finite())
            && (point == 0 || shape.actions == 1)
            && shift.is_finite();
        fits.then_some(Ensemble { critics, groups: 1, scale, point, shift })
    }

    /// The same critics in so many groups, the first ones in the first; `None` if they cannot be shared out.
    pub fn in_groups(self, groups: usize) -> Option<Ensemble> {
        let fits = groups > 0 && self.critics.len().is_multiple_of(groups);
        fits.then_some(Ensemble { groups, ..self })
    }

    /// The same critics with another shift of the log-odds.
    pub fn shifted(&self, shift: f32) -> Ensemble {
        Ensemble { shift, ..self.clone() }
    }

    /// What is added to every logit.
    pub fn shift(&self) -> f32 {
        self.shift
    }

    /// How many numbers an observation has.
    pub fn numbers(&self) -> usize {
        self.scale.mean.len()
    }

    /// How many actions there are; 1 if they are points.
    pub fn actions(&self) -> usize {
        self.critics[0].shape().actions
    }

    /// How many numbers an action has; 0 if actions are a list.
    pub fn point(&self) -> usize {
        self.point
    }

    /// How numbers are brought to a scale.
    pub fn scale(&self) -> &Scale {
        &self.scale
    }

    /// The critics, group after group.
    pub fn critics(&self) -> &[Critic] {
        &self.critics
    }

    /// The groups of critics.
    pub fn groups(&self) -> impl Iterator<Item = &[Critic]> {
        self.critics.chunks_exact(self.critics.len() / self.groups)
    }

    /// Writes the risk of every action for each of some observations, one after the other; NaN where an observation
    /// cannot be read.
    ///
    /// # Panics
    ///
    /// If actions are points, or a slice is not as long as the observations say.
    pub fn risks(&self, rows: &[f32], room: &mut Room, risks: &mut [f64]) {
        assert_eq!(self.point, 0, "actions are points");
        room.batch.clear();
        for row in rows.chunks_exact(self.numbers()) {
            room.batch.push(self.scale.apply(row).map(finite), std::iter::empty(), 0);
        }
        self.forward(room, risks);
        for (row, risks) in
            rows.chunks_exact(self.numbers()).zip(risks.chunks_exact_mut(self.actions()))
        {
            if !self.scale.reads(row) {
                risks.fill(f64::NAN);
            }
        }
    }

    /// Writes the risk of each of some points, one after the other, in one observation. Points lie in
    /// `[-1, 1]` in every dimension. NaN where the observation or the point cannot be read.
    ///
    /// # Panics
    ///
    /// If actions are a list, or a slice is not as long as it has to be.
    pub fn risks_at(&self, row: &[f32], points: &[f32], room: &mut Room, risks: &mut [f64]) {
        assert_eq!(row.len(), self.numbers(), "length of the observation");
        room.batch.clear();
        for point in points.chunks_exact(self.point) {
            let numbers = self.scale.apply(row).chain(point.iter().copied());
            room.batch.push(numbers.map(finite), std::iter::empty(), 0);
        }
        self.forward(room, risks);
        let all = self.scale.reads(row);
        for (point, risk) in points.chunks_exact(self.point).zip(risks) {
            if !(all && point.iter().all(|number| number.is_finite())) {
                *risk = f64::NAN;
            }
        }
    }

    /// The risk of each action in each scene of the batch: of the larger ones of every group the mean.
    fn forward(&self, room: &mut Room, risks: &mut [f64]) {
        let Room { batch, pass, largest } = room;
        let actions = self.actions();
        assert_eq!(risks.len(), batch.len() * actions, "number of risks");
        risks.fill(0.0);
        let share = 1.0 / self.groups as f64;
        for group in self.groups() {
            largest.clear();
            largest.resize(risks.len(), f32::NEG_INFINITY);
            for critic in group {
                pass.forward(critic, batch);
                for (scene, largest) in largest.chunks_exact_mut(actions).enumerate() {
                    for (action, largest) in largest.iter_mut().enumerate() {
                        let logit = pass.logit(scene, action);
                        // What is not a number is the worst, as for one critic.
                        *largest = if logit <= *largest { *largest } else { logit };
                    }
                }
            }
            for (risk, logit) in risks.iter_mut().zip(&*largest) {
                *risk += share * probability(logit + self.shift);
            }
        }
    }

    /// The file's bytes, with what else is to be known; the same for equal ensembles.
    pub fn to_bytes(&self, about: &BTreeMap<String, String>) -> Vec<u8> {
        let mut writer = Writer::default();
        for (key, value) in about {
            writer.metadata(key, value);
        }
        writer.metadata(FORMAT, FORMAT_1);
        // A shape is plain numbers, which always have a JSON form.
        let shape = serde_json::to_string(self.critics[0].shape()).unwrap_or_default();
        writer.metadata(SHAPE, shape);
        writer.metadata(CRITICS, self.critics.len().to_string());
        writer.metadata(GROUPS, self.groups.to_string());
        writer.metadata(POINT, self.point.to_string());
        writer.metadata(SHIFT, self.shift.to_string());
        let Scale { mean, factor } = &self.scale;
        writer.f32s(MEAN, &[mean.len()], mean);
        writer.f32s(FACTOR, &[factor.len()], factor);
        for (place, critic) in self.critics.iter().enumerate() {
            for (name, weights, bias) in critic.named(critic.parameters()) {
                let (rows, columns) = (bias.len(), weights.len() / bias.len());
                writer.f32s(&format!("{place}.{name}.weight"), &[rows, columns], &weights);
                writer.f32s(&format!("{place}.{name}.bias"), &[rows], &bias);
            }
        }
        writer.finish()
    }

    /// Reads a file, and what else is known.
    ///
    /// # Errors
    ///
    /// If the file is damaged, is no ensemble, or holds a number that is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Ensemble, BTreeMap<String, String>), CriticError> {
        let reader = Reader::new(bytes)?;
        let senseless =
            |key: &'static str, value: &str| CriticError::Metadata { key, value: value.to_owned() };
        let format = reader.metadata(FORMAT)?;
        if format != FORMAT_1 {
            return Err(senseless(FORMAT, format));
        }
        let shape = reader.metadata(SHAPE)?;
        let shape: Shape = serde_json::from_str(shape).map_err(|_| senseless(SHAPE, shape))?;
        let count = reader.metadata(CRITICS)?;
        let critics = count.parse().ok().filter(|critics| (1..=MOST_CRITICS).contains(critics));
        let critics = critics.ok_or_else(|| senseless(CRITICS, count))?;
        // Files of one group may not say so.
        let text = reader.all_metadata().get(GROUPS).map_or("1", String::as_str);
        let groups = text.parse().map_err(|_| senseless(GROUPS, text))?;
        let text = reader.metadata(POINT)?;
        let point = text.parse().ok().filter(|point: &usize| *point < shape.fixed);
        let point = point.ok_or_else(|| senseless(POINT, text))?;
        let shift = reader.metadata(SHIFT)?;
        let shift = shift.parse().map_err(|_| senseless(SHIFT, shift))?;
        let numbers = shape.fixed - point;
        let scale = Scale {
            mean: reader.finite_f32s(MEAN, &[numbers])?,
            factor: reader.finite_f32s(FACTOR, &[numbers])?,
        };
        let read = |place| Critic::read(shape.clone(), &reader, &format!("{place}."));
        let critics = (0..critics).map(read).collect::<Result<Vec<_>, _>>()?;
        let ensemble = Ensemble::new(critics, scale, point, shift);
        let ensemble = ensemble.and_then(|ensemble| ensemble.in_groups(groups));
        let mut about = reader.all_metadata().clone();
        about.retain(|key, _| {
            ![FORMAT, SHAPE, CRITICS, GROUPS, POINT, SHIFT].contains(&key.as_str())
        });
        Ok((ensemble.ok_or_else(|| senseless(SHAPE, "that of other numbers"))?, about))
    }
}

const FORMAT: &str = "format";
const FORMAT_1: &str = "cpss critics 1";
const SHAPE: &str = "shape";
const CRITICS: &str = "critics";
const GROUPS: &str = "groups";
const POINT: &str = "point";
const SHIFT: &str = "shift";
const MEAN: &str = "mean";
const FACTOR: &str = "factor";
/// More critics than this are a damaged file.
const MOST_CRITICS: usize = 16;

/// A number to calculate with in place of one that is none; the result is not used then.
fn finite(number: f32) -> f32 {
    if number.is_finite() { number } else { 0.0 }
}
