//! What does a shield, or an evaluation, ask of a policy?
//!
//! A [`QFunction`]: the value of each action at an observation, and with it the action the policy
//! likes most. [`Policy`](crate::Policy) is one. Whoever runs episodes takes `&mut dyn QFunction`, so
//! that a policy of another kind can be brought along.
//!
//! **Invariant:** a number that is not finite is an error that names the step, never an action.

use crate::network::greedy;

/// Something that values actions.
pub trait QFunction: Send {
    /// Length of the observations it takes.
    fn observation_len(&self) -> usize;

    /// Number of actions it values.
    fn actions(&self) -> usize;

    /// Returns the value of each action. `step` is the decision step, for the error.
    ///
    /// # Errors
    ///
    /// If the observation has the wrong length or any value is not finite.
    fn q_values(&mut self, step: u64, observation: &[f32]) -> Result<&[f32], ActError>;

    /// Returns the action of the greatest value, the first among equals.
    ///
    /// # Errors
    ///
    /// As [`QFunction::q_values`].
    fn act(&mut self, step: u64, observation: &[f32]) -> Result<usize, ActError> {
        greedy(self.q_values(step, observation)?).ok_or(ActError::NoActions { step })
    }

    /// Checks that it is for tasks of this shape.
    ///
    /// # Errors
    ///
    /// [`WrongTask`], with both shapes, if it is not.
    fn check_task(
        &self,
        task_observation_len: usize,
        task_actions: usize,
    ) -> Result<(), WrongTask> {
        let (observation_len, actions) = (self.observation_len(), self.actions());
        if (observation_len, actions) == (task_observation_len, task_actions) {
            return Ok(());
        }
        Err(WrongTask { observation_len, actions, task_observation_len, task_actions })
    }
}

/// A policy made for another task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the policy takes {observation_len} numbers and has {actions} actions, but the task gives \
     {task_observation_len} numbers and has {task_actions} actions"
)]
pub struct WrongTask {
    /// What the policy takes.
    pub observation_len: usize,
    /// How many actions it values.
    pub actions: usize,
    /// What the task gives.
    pub task_observation_len: usize,
    /// How many actions it has.
    pub task_actions: usize,
}

/// A step at which a policy has no action to propose.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ActError {
    /// A Q-value is NaN or infinite.
    #[error("step {step}: the Q-value of action {action} is {value}")]
    NotFinite {
        /// The decision step.
        step: u64,
        /// The first action at fault.
        action: usize,
        /// Its Q-value.
        value: f32,
    },
    /// An observation of the wrong length.
    #[error("step {step}: the observation has {found} numbers, not {expected}")]
    Length {
        /// The decision step.
        step: u64,
        /// The observation's length.
        found: usize,
        /// What the policy takes.
        expected: usize,
    },
    /// The policy values no action at all.
    #[error("step {step}: the policy has no actions")]
    NoActions {
        /// The decision step.
        step: u64,
    },
}

/// Refuses an observation of the wrong length.
pub(crate) fn check_length(
    step: u64,
    observation: &[f32],
    expected: usize,
) -> Result<(), ActError> {
    let found = observation.len();
    if found == expected { Ok(()) } else { Err(ActError::Length { step, found, expected }) }
}

/// Refuses values of which any is not finite.
pub(crate) fn check_finite(step: u64, q_values: &[f32]) -> Result<&[f32], ActError> {
    match q_values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((action, &value)) => Err(ActError::NotFinite { step, action, value }),
        None => Ok(q_values),
    }
}
