//! Which admissible action is worth its risk most?
//!
//! A threshold spends risk on whatever comes first. A price spends it where it buys most: of the
//! admissible actions, [`choose`] takes the one with the greatest
//!
//! ```text
//!   (preference - least preference) / spread  -  w c / tau
//! ```
//!
//! That is `preference - lambda c` with `lambda = w spread / tau`: the less budget is left, the lower
//! `tau`, and the dearer risk. Dividing by the spread frees the weight `w` of the preferences' unit.
//!
//! **Invariants:** only an admissible action is chosen; an admissible proposal gives way only to an
//! action of lower cost, so the price never spends more than was proposed; ties go to the
//! proposal, then to the lowest index; without a weight, or where the preferences have no scale
//! (none, one that is NaN or infinite, or all alike), nothing is chosen and the threshold rule stands.
//!
//! **Absent on purpose:** learning the weight, and memory of what earlier risk has bought.

use crate::{Situation, Threshold};

/// The action that a price of weight `weight` calls for; `None` to leave it to the threshold rule.
pub(crate) fn choose(
    weight: f64,
    threshold: &Threshold,
    situation: &Situation<'_>,
    cost_proposed: f64,
) -> Option<usize> {
    let Situation { proposal, costs, preferences, .. } = *situation;
    let tau = threshold.tau();
    // First, so that a shield without a price pays nothing for one.
    let scale = if weight > 0.0 { Scale::of(preferences)? } else { return None };
    let worth = |preference: f64, cost: f64| {
        // Where the threshold is 0, so is every admissible cost.
        let price = if cost > 0.0 { weight * (cost / tau) } else { 0.0 };
        (preference - scale.least) / scale.spread - price
    };
    let proposed = threshold.admits(cost_proposed).then_some(cost_proposed);
    let mut best = match (proposed, preferences.get(proposal)) {
        (Some(cost), Some(&preference)) => Some((proposal, worth(preference, cost))),
        _ => None,
    };
    // Not `enumerate`: its counter keeps an overflow check that a range over the length has not.
    for ((index, &cost), &preference) in (0..costs.len()).zip(costs).zip(preferences) {
        let stands_in = threshold.admits(cost) && proposed.is_none_or(|proposed| cost < proposed);
        if stands_in {
            let worth = worth(preference, cost);
            if best.is_none_or(|(_, greatest)| worth > greatest) {
                best = Some((index, worth));
            }
        }
    }
    best.map(|(index, _)| index)
}

/// What one unit of preference means in one situation.
struct Scale {
    least: f64,
    spread: f64,
}

impl Scale {
    /// `None` where the preferences have no scale.
    fn of(preferences: &[f64]) -> Option<Scale> {
        let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        for &preference in preferences {
            if !preference.is_finite() {
                return None;
            }
            least = least.min(preference);
            greatest = greatest.max(preference);
        }
        let spread = greatest - least;
        (0.0 < spread && spread < f64::INFINITY).then_some(Scale { least, spread })
    }
}
