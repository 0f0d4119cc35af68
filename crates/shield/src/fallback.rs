//! Which action runs when the proposal may not?
//!
//! Start at [`Fallback`]; [`choose`] applies it. Both forms are one pass over the actions.
//!
//! **Invariants:** the choice never depends on the proposal; every tie is broken, at last by the
//! lowest index, so the choice is a function of its arguments; an action of unusable cost is never
//! chosen; a NaN preference counts as the least liked.
//!
//! **Absent on purpose:** search, optimisation, and memory of earlier choices.

use crate::{Threshold, usable};

/// How the action that replaces a refused proposal is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fallback {
    /// The least predicted cost, as in the paper; ties by preference, then by lowest index.
    #[default]
    MinRisk,
    /// Of the admissible actions the one the policy prefers most; ties by cost, then by lowest
    /// index. Without preferences, the same as `MinRisk`.
    BestAdmissible,
}

/// What [`choose`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// An admissible action.
    Admissible(usize),
    /// No action is admissible; this one has the least cost.
    LeastRisky(usize),
    /// Not one cost is usable.
    Nothing,
}

/// Chooses among the actions. `preferences` is empty or as long as `costs`.
pub(crate) fn choose(
    fallback: Fallback,
    threshold: &Threshold,
    costs: &[f64],
    preferences: &[f64],
) -> Choice {
    let mut safest: Option<Action> = None;
    let mut favourite: Option<Action> = None;
    // Not `enumerate`: its counter keeps an overflow check that a range over the length has not.
    for (index, &cost) in (0..costs.len()).zip(costs) {
        if !usable(cost) {
            continue;
        }
        let action = Action { index, cost, preference: preference(preferences, index) };
        if safest.is_none_or(|best| action.is_safer_than(&best)) {
            safest = Some(action);
        }
        if threshold.admits(cost) && favourite.is_none_or(|best| action.is_liked_above(&best)) {
            favourite = Some(action);
        }
    }
    match (fallback, favourite, safest) {
        (Fallback::BestAdmissible, Some(action), _) => Choice::Admissible(action.index),
        // Whenever some action is admissible, so is the safest.
        (Fallback::MinRisk, Some(_), Some(action)) => Choice::Admissible(action.index),
        (_, None, Some(action)) => Choice::LeastRisky(action.index),
        (_, _, None) => Choice::Nothing,
    }
}

/// One action, as the fallback sees it.
#[derive(Clone, Copy)]
struct Action {
    index: usize,
    cost: f64,
    preference: f64,
}

impl Action {
    // Both orders are strict: of two equal actions the first seen, the one with the lower index,
    // stays.
    fn is_safer_than(&self, other: &Action) -> bool {
        self.cost < other.cost || self.cost == other.cost && self.preference > other.preference
    }

    fn is_liked_above(&self, other: &Action) -> bool {
        self.preference > other.preference
            || self.preference == other.preference && self.cost < other.cost
    }
}

fn preference(preferences: &[f64], index: usize) -> f64 {
    match preferences.get(index) {
        Some(preference) if !preference.is_nan() => *preference,
        _ => f64::NEG_INFINITY,
    }
}
