//! What does one environment do?
//!
//! A [`World`] is one episode of a task in progress, and says how close every moment came. It can be copied,
//! and written down: a state is the random numbers that its episode began with and the actions taken
//! since, from which the same world is made again, to the last bit. Where traffic drifts or eyes are not perfect, there
//! is also the seed that both follow from.
//!
//! Start at [`World::step`]. What an action risks is for [`Driving`](crate::driving::Driving) to say.

use std::sync::Arc;

use cpss::play::ending::{has_failed, realised_cost};
use cpss_highway::batch::Actions;
use cpss_highway::random::Generator;
use cpss_highway::{Action, ActionError, Scene, Step};
use cpss_risk::closeness::closeness;
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadwriteArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conditions::{Course, Prepared, seed_from};
use crate::picture::{self, View};
use crate::task::Task;
use crate::value_error;

/// One episode in progress.
#[pyclass(module = "cpss._native")]
#[derive(Clone)]
pub(crate) struct World {
    task: Arc<cpss_highway::Task>,
    conditions: Option<Arc<Prepared>>,
    world: cpss_highway::World,
    /// The world as it is.
    scene: Scene,
    /// How it drifts, and is seen, in an episode under conditions.
    course: Option<Box<Course>>,
    /// The generator that the episode began with.
    origin: Generator,
    /// What was done since.
    taken: Vec<Taken>,
}

/// An action that was taken.
#[derive(Clone)]
pub(crate) enum Taken {
    Index(usize),
    Point(Vec<f32>),
}

impl Taken {
    /// The action of one world of a batch of `count`.
    pub(crate) fn at(actions: &Actions<'_>, place: usize, count: usize) -> Taken {
        match actions {
            Actions::Indices(indices) => Taken::Index(indices[place]),
            Actions::Points(points) => {
                let dimension = points.len() / count.max(1);
                Taken::Point(points[place * dimension..][..dimension].to_vec())
            }
        }
    }

    pub(crate) fn action(&self) -> Action<'_> {
        match self {
            Taken::Index(index) => Action::Index(*index),
            Taken::Point(point) => Action::Point(point),
        }
    }
}

#[pymethods]
impl World {
    #[new]
    fn new(task: &Task, seed: u64) -> World {
        let (task, conditions) = (Arc::clone(&task.inner), task.conditions.clone());
        let world = cpss_highway::World::new(Arc::clone(&task), seed);
        let (origin, scene) = (Generator::seeded(seed), Scene::default());
        let mut made =
            World { task, conditions, world, scene, course: None, origin, taken: Vec::new() };
        made.scene.observe(&made.world);
        made
    }

    /// Starts an episode, writes its first observation, and returns the info. Without a seed the random
    /// numbers go on: from `after` if it is given, the world that this one takes the place of. Drift and readings then
    /// follow from them.
    #[pyo3(signature = (seed, seen, after = None))]
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seed: Option<u64>,
        mut seen: PyReadwriteArrayDyn<'py, f32>,
        after: Option<PyRef<'py, World>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let seen = room(&self.task, &mut seen)?;
        let before = after.as_ref().map_or(&self.world, |after| &after.world);
        self.origin = seed.map_or_else(|| before.random().clone(), Generator::seeded);
        self.taken.clear();
        self.begin(seed, seen)?;
        self.info(py, closeness(&self.task, &self.scene))
    }

    /// Takes a discrete action.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        action: usize,
        seen: PyReadwriteArrayDyn<'py, f32>,
    ) -> PyResult<(f64, bool, bool, Bound<'py, PyDict>)> {
        self.advance(py, Taken::Index(action), seen)
    }

    /// Takes a point of the box.
    fn step_point<'py>(
        &mut self,
        py: Python<'py>,
        action: PyReadonlyArray1<'py, f32>,
        seen: PyReadwriteArrayDyn<'py, f32>,
    ) -> PyResult<(f64, bool, bool, Bound<'py, PyDict>)> {
        let point = Taken::Point(action.as_slice()?.to_vec());
        self.advance(py, point, seen)
    }

    /// A picture of the surroundings of the ego, as pixels.
    fn picture<'py>(
        &self,
        py: Python<'py>,
        size: (u32, u32),
        scaling: f64,
        centering: (f64, f64),
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let view = View { size, scaling, centering };
        let pixels = picture::paint(&self.world, &view).map_err(value_error)?;
        let (width, height) = size;
        PyArray1::from_vec(py, pixels).reshape([height as usize, width as usize, 3])
    }

    /// The surroundings of the ego, as text.
    fn text(&self) -> String {
        picture::write(&self.world)
    }

    /// Whether the ego has crashed or is off the road: what must not happen, where an episode ends.
    fn incident(&self) -> bool {
        has_failed(&self.world)
    }

    /// What is needed to make the same world again: the words of its generator, the actions, and the seed of an
    /// episode under conditions.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<([u64; 5], Vec<Py<PyAny>>, u64)> {
        let taken = self.taken.iter().map(|taken| match taken {
            Taken::Index(index) => Ok(index.into_pyobject(py)?.into_any().unbind()),
            Taken::Point(point) => Ok(PyArray1::from_slice(py, point).into_any().unbind()),
        });
        let seed = self.course.as_ref().map_or(0, |course| course.seed());
        Ok((self.origin.words(), taken.collect::<PyResult<_>>()?, seed))
    }

    /// Makes the world of a [`World::state`].
    #[pyo3(signature = (words, taken, seed = 0))]
    fn restore(
        &mut self,
        words: [u64; 5],
        taken: Vec<Bound<'_, PyAny>>,
        seed: u64,
    ) -> PyResult<()> {
        let mut seen = vec![0.0; self.task.observer.len()];
        let mut made = self.clone();
        made.origin = Generator::from_words(words);
        made.taken.clear();
        made.begin(Some(seed), &mut seen)?;
        for action in taken {
            let action = match action.extract::<usize>() {
                Ok(index) => Taken::Index(index),
                Err(_) => Taken::Point(
                    action.extract::<PyReadonlyArray1<'_, f32>>()?.as_slice()?.to_vec(),
                ),
            };
            made.run(&action, &mut seen).map_err(value_error)?;
            made.taken.push(action);
        }
        *self = made;
        self.scene.observe(&self.world);
        Ok(())
    }

    /// A copy that goes its own way.
    fn copy(&self) -> World {
        self.clone()
    }
}

impl World {
    /// The task.
    pub(crate) fn task(&self) -> &cpss_highway::Task {
        &self.task
    }

    /// What an observer sees now, through eyes that need not be perfect.
    pub(crate) fn scene(&self) -> &Scene {
        self.course.as_ref().and_then(|course| course.scene()).unwrap_or(&self.scene)
    }

    /// Begins the episode of its origin; where traffic drifts or eyes are not perfect, both follow from the seed or,
    /// without one, from the origin.
    fn begin(&mut self, seed: Option<u64>, seen: &mut [f32]) -> PyResult<()> {
        match &self.conditions {
            None => self.world.reset_from(self.origin.clone(), seen),
            Some(prepared) => {
                let seed = seed.unwrap_or_else(|| seed_from(&self.origin));
                let began = Course::begin(prepared, self.origin.clone(), seed, seen);
                let (world, course) = began.map_err(value_error)?;
                (self.world, self.course) = (world, Some(Box::new(course)));
            }
        }
        self.scene.observe(&self.world);
        Ok(())
    }

    fn run(&mut self, action: &Taken, seen: &mut [f32]) -> Result<Step, ActionError> {
        match &mut self.course {
            None => self.world.step(action.action(), seen),
            Some(course) => course.step(&mut self.world, action.action(), seen),
        }
    }

    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        action: Taken,
        mut seen: PyReadwriteArrayDyn<'py, f32>,
    ) -> PyResult<(f64, bool, bool, Bound<'py, PyDict>)> {
        let seen = room(&self.task, &mut seen)?;
        let step = self.run(&action, seen).map_err(value_error)?;
        self.scene.observe(&self.world);
        let info = self.info(py, realised_cost(&self.scene, &self.world, &step))?;
        info.set_item(
            "action",
            match &action {
                Taken::Index(index) => index.into_pyobject(py)?.into_any(),
                Taken::Point(point) => PyArray1::from_slice(py, point).into_any(),
            },
        )?;
        let rewards = PyDict::new(py);
        for (name, value) in step.reward.terms() {
            rewards.set_item(name, value)?;
        }
        info.set_item("rewards", rewards)?;
        self.taken.push(action);
        Ok((step.reward.total, step.terminated, step.truncated, info))
    }

    fn info<'py>(&self, py: Python<'py>, cost: f64) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        info.set_item("speed", self.world.ego().speed)?;
        info.set_item("crashed", self.world.ego().crashed)?;
        info.set_item("cost", cost)?;
        if let Some(course) = &self.course {
            info.set_item("drift", course.intensity(&self.world))?;
        }
        Ok(info)
    }
}

/// The caller's buffer for an observation, if it fits.
fn room<'a>(
    task: &cpss_highway::Task,
    seen: &'a mut PyReadwriteArrayDyn<'_, f32>,
) -> PyResult<&'a mut [f32]> {
    let seen = seen.as_slice_mut()?;
    let wanted = task.observer.len();
    if seen.len() != wanted {
        return Err(value_error(format!(
            "the buffer for the observation holds {} numbers, but {wanted} are needed",
            seen.len()
        )));
    }
    Ok(seen)
}
