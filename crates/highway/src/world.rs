//! What does a decision lead to?
//!
//! A [`World`] is a value: one episode of a [`Task`] in progress. `reset` starts it from a seed,
//! `step` takes a decision and writes what the ego then sees into the caller's buffer, `clone`
//! branches it. Two worlds with the same task, seed and decisions are the same to the last bit.

use std::sync::Arc;

use crate::action::{Action, ActionError};
use crate::control::obey;
use crate::observation::{Memory, View};
use crate::random::Generator;
use crate::simulation::Simulation;
use crate::task::{Reward, Task};
use crate::vehicle::Vehicle;

/// One episode in progress.
///
/// ```
/// use cpss_highway::{Action, Task, TaskId, World};
///
/// let mut world = World::new(Task::with_defaults(TaskId::MergeV0), 7);
/// let mut seen = vec![0.0; world.task().observer.len()];
/// world.reset(Some(7), &mut seen);
/// let faster = Action::Index(3);
/// let step = world.step(faster, &mut seen)?;
/// assert!(step.reward.total > 0.8 && !step.terminated);
/// # Ok::<(), cpss_highway::ActionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct World {
    task: Arc<Task>,
    simulation: Simulation,
    random: Generator,
    memory: Memory,
    time: f64,
}

/// What a step led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The reward, with its terms.
    pub reward: Reward,
    /// Whether the state is terminal: nothing more can be earned from it.
    pub terminated: bool,
    /// Whether the time is up.
    pub truncated: bool,
}

impl Step {
    /// Whether the episode is over, for whichever reason.
    pub fn is_over(&self) -> bool {
        self.terminated || self.truncated
    }
}

impl World {
    /// The first state of the episode of this seed.
    pub fn new(task: Arc<Task>, seed: u64) -> World {
        World::from_random(task, Generator::seeded(seed))
    }

    /// The first state of the episode that follows from a generator.
    pub fn from_random(task: Arc<Task>, random: Generator) -> World {
        let simulation = Simulation::new(task.rules.parameters());
        let mut world = World { task, simulation, random, memory: Memory::default(), time: 0.0 };
        world.begin_episode();
        world
    }

    /// Starts an episode and writes its first observation.
    ///
    /// With a seed, it is the episode of Gymnasium's `reset(seed=seed)`; without one the generator
    /// goes on from where it is, as in `reset()`.
    ///
    /// # Panics
    ///
    /// If `seen` has another length than the task's observations.
    pub fn reset(&mut self, seed: Option<u64>, seen: &mut [f32]) {
        let random = seed.map_or_else(|| self.random.clone(), Generator::seeded);
        self.reset_from(random, seen);
    }

    /// Starts the episode that follows from a generator: what [`World::random`] gave before a reset
    /// gives the same episode again.
    ///
    /// # Panics
    ///
    /// If `seen` has another length than the task's observations.
    pub fn reset_from(&mut self, random: Generator, seen: &mut [f32]) {
        self.check_room(seen);
        self.random = random;
        self.begin_episode();
        self.observe(seen);
    }

    /// The generator of the world's random numbers, as it is now.
    pub fn random(&self) -> &Generator {
        &self.random
    }

    /// Lets the ego decide and the world run until the next decision.
    ///
    /// # Errors
    ///
    /// An action that the task does not have; the world is then as it was.
    ///
    /// # Panics
    ///
    /// If `seen` has another length than the task's observations.
    pub fn step(&mut self, action: Action<'_>, seen: &mut [f32]) -> Result<Step, ActionError> {
        self.step_watched(action, seen, |_| {})
    }

    /// The same; `watch` is shown all cars after every frame on the way.
    ///
    /// # Errors
    ///
    /// As [`World::step`].
    ///
    /// # Panics
    ///
    /// As [`World::step`].
    #[inline]
    pub fn step_watched(
        &mut self,
        action: Action<'_>,
        seen: &mut [f32],
        mut watch: impl FnMut(&[Vehicle]),
    ) -> Result<Step, ActionError> {
        self.task.controls.check(action)?;
        self.check_room(seen);
        self.time += self.task.decision_time;
        let task = Arc::clone(&self.task);
        obey(&task, &mut self.simulation.vehicles[self.simulation.ego], action);
        for _ in 0..task.frames {
            self.simulation.frame(&task);
            watch(&self.simulation.vehicles);
        }
        self.observe(seen);
        let view = self.view();
        let step = Step {
            reward: task.rules.reward(&view, action),
            terminated: task.rules.is_terminated(&view),
            truncated: task.rules.is_truncated(self.time),
        };
        task.rules.after_step(&task, &mut self.simulation, &mut self.random);
        self.simulation.number_newcomers();
        Ok(step)
    }

    /// The task being played.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// All cars, in upstream's order.
    pub fn vehicles(&self) -> &[Vehicle] {
        &self.simulation.vehicles
    }

    /// The ego's place among the cars.
    pub fn ego_index(&self) -> usize {
        self.simulation.ego
    }

    /// The ego.
    pub fn ego(&self) -> &Vehicle {
        &self.simulation.vehicles[self.simulation.ego]
    }

    /// Time since the episode began \[s\].
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Whether the ego has got where it was going; `None` where the task has no such place.
    pub fn has_arrived(&self) -> Option<bool> {
        self.task.rules.has_arrived(&self.view())
    }

    pub(crate) fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    pub(crate) fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// Stops before anything has moved if the caller's buffer does not fit.
    fn check_room(&self, seen: &[f32]) {
        let wanted = self.task.observer.len();
        assert_eq!(seen.len(), wanted, "an observation of this task has {wanted} numbers");
    }

    fn begin_episode(&mut self) {
        let task = Arc::clone(&self.task);
        self.time = 0.0;
        self.simulation.clear(task.rules.parameters());
        task.rules.populate(&task, &mut self.simulation, &mut self.random);
        self.simulation.number_newcomers();
        let view = view(&task, &self.simulation);
        task.observer.begin_episode(&view, &mut self.memory);
    }

    /// Writes what the ego sees now. Where an observation is shuffled, this draws random numbers.
    ///
    /// # Panics
    ///
    /// If `seen` has another length than the task's observations.
    pub fn observe(&mut self, seen: &mut [f32]) {
        self.check_room(seen);
        let task = &self.task;
        let view = view(task, &self.simulation);
        task.observer.observe(&view, &mut self.memory, &mut self.random, seen);
    }

    fn view(&self) -> View<'_> {
        view(&self.task, &self.simulation)
    }
}

fn view<'a>(task: &'a Task, simulation: &'a Simulation) -> View<'a> {
    View {
        vehicles: &simulation.vehicles,
        obstacles: &task.obstacles,
        network: &task.network,
        ego: simulation.ego,
    }
}
