//! What does the shield need to know about a moment, and which moments make no sense?
//!
//! [`Situation`] is the whole boundary between the shield and a domain: four pieces of plain data
//! that any system can fill in, and nothing that names a car, a room or a robot.
//!
//! **Invariants:** the *shape* of a situation can be wrong, and that is a caller's mistake and a
//! typed [`JudgeError`]; its *numbers* can be anything at all, and the shield answers for them.

use core::fmt;

/// One moment of choice: what the policy proposes, and what each action would cost.
///
/// A cost is a prediction in `[0, 1]`: 0 for no risk, 1 for a collision or whatever is worst in
/// the domain. A cost that is NaN, infinite or negative is inadmissible; an action that is not
/// available now is best given the cost `f64::INFINITY`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation<'a> {
    /// The action the policy proposes, an index into `costs`.
    pub proposal: usize,
    /// The predicted cost `c(s_t, a)` of each action.
    pub costs: &'a [f64],
    /// How much the policy prefers each action, on any scale, more is better; for a value-based
    /// policy its action values. May be empty.
    pub preferences: &'a [f64],
    /// The density `d_t` around the system: one number, at least 0, that grows with risk.
    pub density: f64,
}

impl Situation<'_> {
    /// The proposal's cost, once the shape is known to be sound.
    pub(crate) fn check(&self, last_resort: usize) -> Result<f64, JudgeError> {
        let actions = self.costs.len();
        if actions == 0 {
            return Err(JudgeError::NoActions);
        }
        if !self.preferences.is_empty() && self.preferences.len() != actions {
            return Err(JudgeError::PreferenceCount { found: self.preferences.len(), actions });
        }
        // Always, not only when it is needed: a wrong setting should show on the first decision,
        // not in the emergency it is kept for.
        if last_resort >= actions {
            return Err(JudgeError::LastResortOutOfRange { last_resort, actions });
        }
        let out_of_range = JudgeError::ProposalOutOfRange { proposal: self.proposal, actions };
        self.costs.get(self.proposal).copied().ok_or(out_of_range)
    }
}

/// A situation whose shape makes no sense. No verdict was given and nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeError {
    /// `costs` is empty: there is nothing to choose from.
    NoActions,
    /// `proposal` is not an index into `costs`.
    ProposalOutOfRange {
        /// The proposal.
        proposal: usize,
        /// How many costs there are.
        actions: usize,
    },
    /// `preferences` is neither empty nor as long as `costs`.
    PreferenceCount {
        /// How many preferences there are.
        found: usize,
        /// How many costs there are.
        actions: usize,
    },
    /// The spec's `last_resort` is not an index into `costs`.
    LastResortOutOfRange {
        /// The last resort.
        last_resort: usize,
        /// How many costs there are.
        actions: usize,
    },
}

impl fmt::Display for JudgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JudgeError::NoActions => f.write_str("`costs` is empty: there is no action to judge"),
            JudgeError::ProposalOutOfRange { proposal, actions } => {
                write!(f, "`proposal` is {proposal}, but there are {actions} actions")
            }
            JudgeError::PreferenceCount { found, actions } => {
                write!(f, "`preferences` has {found} entries for {actions} actions")
            }
            JudgeError::LastResortOutOfRange { last_resort, actions } => {
                write!(f, "`last_resort` is {last_resort}, but there are {actions} actions")
            }
        }
    }
}

impl core::error::Error for JudgeError {}
