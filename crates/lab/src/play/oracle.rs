//! What would each action really lead to?
//!
//! Costs from branching the true world: every action is played in a copy, and then it is searched
//! for a continuation that comes through. Privileged (the copies know the other drivers' minds, the
//! drift and the random numbers to come), so it is only ever the `oracle` arm: what even that arm
//! cannot avoid is not for a better prediction to avoid.
//!
//! **Invariants:** an action costs 0 if a continuation was found, and otherwise more the sooner it
//! ends, from `LEAST_FAILURE` to 1; the search ends after `MOST_STEPS` steps of the world.

use cpss_highway::{Action, World};

use crate::play::regime::Drift;

/// How far ahead copies are played \[s\].
const LOOK_AHEAD: f64 = 6.0;
/// The cost of a failure at the end of the look ahead: above every threshold's cap.
const LEAST_FAILURE: f64 = 0.9;
/// The most steps of the world that are played for one action.
const MOST_STEPS: usize = 400;

/// Writes the cost of each discrete action.
pub(crate) fn branch_costs(world: &World, drift: &Drift, costs: &mut Vec<f64>, seen: &mut [f32]) {
    let actions = world.task().controls.action_count().unwrap_or(0);
    let decisions = (LOOK_AHEAD / world.task().decision_time).round().clamp(1.0, 15.0) as usize;
    costs.clear();
    costs.extend((0..actions).map(|first| {
        let mut search = Search { actions, decisions, furthest: 0, steps: 0, seen };
        let mut branch = Branch { world: world.clone(), drift: drift.clone() };
        if search.plays(&mut branch, first, 0) {
            return 0.0;
        }
        1.0 - (1.0 - LEAST_FAILURE) * search.furthest as f64 / decisions as f64
    }));
}

/// One future.
#[derive(Clone)]
struct Branch {
    world: World,
    drift: Drift,
}

/// A search for a future without failure, the deepest first.
struct Search<'a> {
    actions: usize,
    decisions: usize,
    /// How many decisions the longest future lasted.
    furthest: usize,
    steps: usize,
    seen: &'a mut [f32],
}

impl Search<'_> {
    /// Whether an action at this depth, and some continuation of it, comes through.
    fn plays(&mut self, branch: &mut Branch, action: usize, depth: usize) -> bool {
        self.steps += 1;
        let Ok(step) = branch.world.step(Action::Index(action), self.seen) else { return false };
        if step.is_over() {
            // Who crashes on arrival has not come through.
            let ends_well = !step.terminated || branch.world.has_arrived() == Some(true);
            return ends_well && !branch.world.ego().crashed;
        }
        self.furthest = self.furthest.max(depth + 1);
        if depth + 1 == self.decisions {
            return true;
        }
        branch.drift.apply(&mut branch.world);
        // More of the same is tried first: most escapes are made of it.
        let others = (0..self.actions).filter(|next| *next != action);
        std::iter::once(action)
            .chain(others)
            .any(|next| self.steps < MOST_STEPS && self.plays(&mut branch.clone(), next, depth + 1))
    }
}
