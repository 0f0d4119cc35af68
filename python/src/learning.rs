//! How does Python have a risk learned, in any environment?
//!
//! A [`RiskLearner`] keeps experience and learns from it; what it has learned is a [`RiskModel`]. Environments, rounds
//! and calibration are Python's, in `package/cpss/learning.py` and beside it.
//!
//! **Invariants:** learning runs with the interpreter released and looks for Ctrl-C between blocks of updates; the
//! same calls give the same bits; numbers that do not fit are a `ValueError`.

use cpss_learn::critic::Shape;
use cpss_learn::critic::ensemble::{Ensemble, EnsembleLearner, Scale};
use cpss_learn::critic::experience::{Experience, Next};
use cpss_learn::critic::learner::{CriticSpec, LearnerState};
use cpss_learn::critic::untried::learn_untried;
use cpss_learn::generator::Generator;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::risk::RiskModel;
use crate::settings::read;
use crate::value_error;

/// Updates between two looks for Ctrl-C.
const BLOCK: u64 = 50;

/// A learner with its experience.
#[pyclass(module = "cpss._native")]
pub(crate) struct RiskLearner {
    learner: EnsembleLearner,
    experience: Experience,
    scale: Scale,
    point: usize,
    as_safe: f64,
}

/// Numbers of decisions, actions, and what came of each.
type Parts<'py> = (Bound<'py, PyArray1<i16>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u8>>);

/// One critic's learner: parameters, those of its target, moments, and counters.
type State<'py> =
    (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, [u64; 2]);

/// The same, as it comes back.
type Saved<'py> =
    (PyReadonlyArray1<'py, f32>, PyReadonlyArray1<'py, f32>, PyReadonlyArray1<'py, f32>, [u64; 2]);

#[pymethods]
impl RiskLearner {
    /// `settings` may have gamma, batch, learning_rate, learning_rate_final, follow, follow_outcomes, as_safe, hidden
    /// (units of each layer), critics, groups (of so many critics each), seed.
    #[new]
    fn new(
        numbers: usize,
        actions: usize,
        point: usize,
        settings: &Bound<'_, pyo3::types::PyDict>,
    ) -> PyResult<RiskLearner> {
        let mut spec = CriticSpec::default();
        let (mut hidden, mut critics, mut groups) = (vec![64, 64], 2, 1);
        let (mut seed, mut as_safe) = (0, 0.001);
        for (key, value) in settings {
            let key: String = key.extract()?;
            match key.as_str() {
                "gamma" => spec.gamma = read(&key, &value, "a number")?,
                "batch" => spec.batch = read(&key, &value, "a whole number from 1")?,
                "learning_rate" => spec.learning_rate = read(&key, &value, "a number")?,
                "learning_rate_final" => spec.learning_rate_final = read(&key, &value, "a number")?,
                "follow" => spec.follow = read(&key, &value, "a number")?,
                "follow_outcomes" => spec.follow_outcomes = read(&key, &value, "a whole number")?,
                "as_safe" => as_safe = read(&key, &value, "a number")?,
                "hidden" => hidden = read(&key, &value, "a list of whole numbers")?,
                "critics" => critics = read(&key, &value, "1 or 2")?,
                "groups" => groups = read(&key, &value, "1 to 5")?,
                "seed" => seed = read(&key, &value, "a whole number from 0")?,
                other => return Err(value_error(format!("a learner has no setting `{other}`"))),
            }
        }
        let in_range = 0.0 < spec.gamma
            && spec.gamma <= 1.0
            && spec.batch > 0
            && (1..=2).contains(&critics)
            && (1..=5).contains(&groups);
        if !in_range {
            return Err(value_error("`gamma`, `batch`, `critics` or `groups` is out of range"));
        }
        let shape =
            Shape { fixed: numbers + point, item: 0, encoder: Vec::new(), head: hidden, actions };
        let learner = EnsembleLearner::new(&shape, &spec, point, (groups, critics), seed);
        Ok(RiskLearner {
            learner: learner.map_err(value_error)?,
            experience: Experience::with_points(numbers + point, point),
            scale: Scale::none(numbers),
            point,
            as_safe,
        })
    }

    /// Says how numbers are brought to a scale; before anything is pushed.
    fn set_scale(
        &mut self,
        mean: PyReadonlyArray1<'_, f32>,
        factor: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<()> {
        let (mean, factor) = (mean.as_slice()?.to_vec(), factor.as_slice()?.to_vec());
        let numbers = self.scale.mean.len();
        if mean.len() != numbers || factor.len() != numbers || !self.experience.is_empty() {
            return Err(value_error("a scale of another length, or too late"));
        }
        self.scale = Scale { mean, factor };
        Ok(())
    }

    /// Adds decisions in the order of their episodes: what was seen (and the point that ran), the action's index, and
    /// what came of it (0 goes on, 1 over, 2 incident, 3 unknown).
    fn push(
        &mut self,
        rows: PyReadonlyArray2<'_, f32>,
        actions: PyReadonlyArray1<'_, i64>,
        nexts: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let (numbers, width) = (self.scale.mean.len(), self.scale.mean.len() + self.point);
        let (actions, nexts) = (actions.as_slice()?, nexts.as_slice()?);
        if rows.shape() != [actions.len(), width] || nexts.len() != actions.len() {
            return Err(value_error("decisions of another shape"));
        }
        let most = self.learner.critics()[0].shape().actions;
        let mut fixed = Vec::with_capacity(width);
        for ((row, &action), &next) in rows.as_slice()?.chunks_exact(width).zip(actions).zip(nexts)
        {
            let next = match next {
                0 => Next::GoesOn,
                1 => Next::Over,
                2 => Next::Incident,
                _ => Next::Unknown,
            };
            let action = usize::try_from(action).ok().filter(|action| *action < most);
            let action = action.ok_or_else(|| value_error("an action out of range"))?;
            fixed.clear();
            fixed.extend(self.scale.apply(&row[..numbers]));
            fixed.extend_from_slice(&row[numbers..]);
            if !fixed.iter().all(|number| number.is_finite()) {
                // Nothing can be learned from what was not seen, nor from the decision that led there.
                self.experience.cut();
                continue;
            }
            self.experience.push(&fixed, &[], action, next);
        }
        Ok(())
    }

    /// Looks at every decision anew.
    fn weigh(&mut self, py: Python<'_>) {
        py.detach(|| self.learner.weigh(&mut self.experience, self.as_safe));
    }

    /// Makes updates, of which the first is the `first`-th of `all` in its round; returns the mean loss of the last few.
    fn learn(&mut self, py: Python<'_>, updates: u64, first: u64, all: u64) -> PyResult<f64> {
        self.check_something_was_read()?;
        let (mut done, mut loss) = (0, f64::NAN);
        while done < updates {
            let block = BLOCK.min(updates - done);
            let (learner, experience) = (&mut self.learner, &self.experience);
            loss = py
                .detach(|| {
                    let share = |update| (first + update) as f64 / all.max(1) as f64;
                    let shares: Vec<f64> = (done..done + block).map(share).collect();
                    learner.learn(experience, &shares)
                })
                .map_err(|error: cpss_learn::critic::learner::CriticDiverged| value_error(error))?;
            done += block;
            py.check_signals()?;
        }
        Ok(loss)
    }

    /// Learns which actions of this log nobody has tried: their risk is taken as 1 from now on.
    fn learn_untried(&mut self, py: Python<'_>, updates: u64, seed: u64) -> PyResult<()> {
        self.check_something_was_read()?;
        let shape = self.learner.critics()[0].shape().clone();
        let experience = &self.experience;
        let untried = py.detach(|| learn_untried(experience, &shape, updates, seed));
        self.learner.set_untried(untried.map_err(value_error)?);
        Ok(())
    }

    /// What has been learned so far.
    fn model(&self) -> PyResult<RiskModel> {
        let critics = self.learner.critics();
        let ensemble = Ensemble::new(critics, self.scale.clone(), self.point, 0.0);
        let ensemble = ensemble.and_then(|found| found.in_groups(self.learner.groups()));
        let ensemble = ensemble.ok_or_else(|| value_error("the scale is not finite"))?;
        Ok(RiskModel { ensemble })
    }

    /// Decisions, and incidents among them.
    fn counts(&self) -> (usize, usize) {
        (self.experience.len(), self.experience.incidents())
    }

    /// The experience, to be saved.
    fn experience<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let (numbers, actions, nexts) = self.experience.parts();
        let bytes = |part: &[u8]| PyArray1::from_slice(py, part);
        (PyArray1::from_slice(py, numbers), bytes(actions), bytes(nexts))
    }

    /// Adds experience that was saved.
    fn add_experience(
        &mut self,
        numbers: PyReadonlyArray1<'_, i16>,
        actions: PyReadonlyArray1<'_, u8>,
        nexts: PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let (numbers, actions) = (numbers.as_slice()?, actions.as_slice()?);
        if self.experience.extend(numbers, actions, nexts.as_slice()?) {
            return Ok(());
        }
        Err(value_error("experience of another shape"))
    }

    /// The learners, to be saved, and the state of the stream of points.
    fn state<'py>(&mut self, py: Python<'py>) -> (Vec<State<'py>>, u64) {
        let points = self.learner.points_mut().state();
        let states = self.learner.learners().iter().map(|learner| {
            let state = learner.state();
            let array = |part: &[f32]| PyArray1::from_slice(py, part);
            let counters = [state.steps, state.sampling];
            (array(&state.critic), array(&state.target), array(&state.moments), counters)
        });
        (states.collect(), points)
    }

    /// Goes on from what was saved.
    fn restore(&mut self, states: Vec<Saved<'_>>, points: u64) -> PyResult<()> {
        if states.len() != self.learner.learners().len() {
            return Err(value_error("learners of another number"));
        }
        for (learner, (critic, target, moments, [steps, sampling])) in
            self.learner.learners_mut().iter_mut().zip(states)
        {
            let list = |part: PyReadonlyArray1<'_, f32>| part.as_slice().map(<[f32]>::to_vec);
            let (critic, target, moments) = (list(critic)?, list(target)?, list(moments)?);
            let state = LearnerState { critic, target, moments, steps, sampling };
            if !learner.restore(&state) {
                return Err(value_error("a learner of another shape"));
            }
        }
        *self.learner.points_mut() = Generator::from_state(points);
        Ok(())
    }
}

impl RiskLearner {
    /// Refuses to learn from nothing: decisions whose observations cannot be read were left out.
    fn check_something_was_read(&self) -> PyResult<()> {
        match self.experience.is_empty() {
            true => Err(value_error(
                "no observation could be read: every one has a number that is not finite, or is too large to be one",
            )),
            false => Ok(()),
        }
    }
}
