//! How likely is an incident in an environment of which only a flat observation is known?
//!
//! An [`Ensemble`] is one or more critics over the same numbers, each brought to a common scale first; of their
//! risks the larger counts, since the least of several noisy ones would be too small. Actions are a list, or
//! points of a box, which then are inputs of the critics like the observation. Start at [`Ensemble::risks`];
//! how it learns is in [`EnsembleLearner`].
//!
//! **Invariants:** a row's risks do not depend on the rows beside it; a number that is not finite makes all
//! risks of its row NaN, which no shield takes for a cost, and one that is merely huge is cut, as it is where a critic
//! learns; what a critic sees is what it learned from, to the last bit.

use std::collections::BTreeMap;

use super::experience::{Experience, LIMIT, rounded};
use super::file::CriticError;
use super::learner::{Beside, CriticDiverged, CriticLearner, CriticSpec};
use super::pass::{Batch, Pass};
use super::{Critic, Shape, probability};
use crate::generator::Generator;
use crate::tensors::{Reader, Writer};
use crate::topology::BadTopology;

/// Critics over one flat observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    critics: Vec<Critic>,
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
}

impl Ensemble {
    /// Joins critics of one shape; `None` if they or the scale do not fit together.
    pub fn new(critics: Vec<Critic>, scale: Scale, point: usize, shift: f32) -> Option<Ensemble> {
        let shape = critics.first()?.shape().clone();
        let numbers = shape.fixed.checked_sub(point)?;
        let fits = critics.iter().all(|critic| *critic.shape() == shape)
            && shape.item == 0
            && [&scale.mean, &scale.factor].iter().all(|part| part.len() == numbers)
            && scale.mean.iter().chain(&scale.factor).all(|number| number.is_finite())
            && (point == 0 || shape.actions == 1)
            && shift.is_finite();
        fits.then_some(Ensemble { critics, scale, point, shift })
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

    /// The critics.
    pub fn critics(&self) -> &[Critic] {
        &self.critics
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

    /// The larger risk of each action in each scene of the batch.
    fn forward(&self, room: &mut Room, risks: &mut [f64]) {
        let actions = self.actions();
        assert_eq!(risks.len(), room.batch.len() * actions, "number of risks");
        risks.fill(0.0);
        for critic in &self.critics {
            room.pass.forward(critic, &room.batch);
            for (scene, risks) in risks.chunks_exact_mut(actions).enumerate() {
                for (action, risk) in risks.iter_mut().enumerate() {
                    let found = probability(room.pass.logit(scene, action) + self.shift);
                    *risk = risk.max(found);
                }
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
        let mut about = reader.all_metadata().clone();
        about.retain(|key, _| ![FORMAT, SHAPE, CRITICS, POINT, SHIFT].contains(&key.as_str()));
        Ok((ensemble.ok_or_else(|| senseless(SHAPE, "that of other numbers"))?, about))
    }
}

const FORMAT: &str = "format";
const FORMAT_1: &str = "cpss critics 1";
const SHAPE: &str = "shape";
const CRITICS: &str = "critics";
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

/// An ensemble in the making: critics that learn from the same experience, each from batches of its own, and
/// each asking the next about the scenes to come.
#[derive(Clone, Debug)]
pub struct EnsembleLearner {
    learners: Vec<CriticLearner>,
    point: usize,
    points: Generator,
    untried: Option<Critic>,
}

/// Points that are compared in the next scene.
const POINTS: usize = 12;

impl EnsembleLearner {
    /// Starts from random weights.
    ///
    /// # Errors
    ///
    /// A shape that makes no network.
    pub fn new(
        shape: &Shape,
        spec: &CriticSpec,
        point: usize,
        critics: usize,
        seed: u64,
    ) -> Result<EnsembleLearner, BadTopology> {
        let streams = (0..critics as u64).map(|place| seed ^ (place << 48));
        let learner = |seed| CriticLearner::new(shape.clone(), spec.clone(), seed);
        Ok(EnsembleLearner {
            learners: streams.map(learner).collect::<Result<_, _>>()?,
            point,
            points: Generator::from_state(seed ^ 0x0b01_4175),
            untried: None,
        })
    }

    /// The critics as learned so far, and last the one that knows what was never tried, if there is one.
    pub fn critics(&self) -> Vec<Critic> {
        let learned = self.learners.iter().map(|learner| learner.learned().clone());
        learned.chain(self.untried.clone()).collect()
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
        experience.weigh_by(&critics, &points, as_safe);
    }

    /// One update of every critic; `share` says how far the round has come. Returns the mean loss.
    ///
    /// # Errors
    ///
    /// A gradient that is not finite.
    pub fn update(&mut self, experience: &Experience, share: f64) -> Result<f64, CriticDiverged> {
        let points = self.draw();
        let mut loss = 0.0;
        let count = self.learners.len();
        for _ in 0..count {
            // Each in turn comes first, and asks the one that then is second.
            let (first, others) = self.learners.split_at_mut(1);
            let other = others.first().map(CriticLearner::learned);
            let others: Vec<&Critic> = other.into_iter().chain(&self.untried).collect();
            let beside = Beside { others: &others, points: &points };
            loss += first[0].update_beside(experience, share, beside)?;
            self.learners.rotate_left(1);
        }
        Ok(loss / count as f64)
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
