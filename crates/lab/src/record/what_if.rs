//! What would have happened without the intervention?
//!
//! A [`WhatIf`] is what a branch of the world showed, in which the policy's own action ran and the
//! policy then went on unshielded (`play/branch.rs` plays it). Beside what really happened, that
//! comes to an [`Effect`]: start at [`WhatIf::effect`], the one place where it is decided, for records and for
//! the audit alike.
//!
//! ```text
//!                        the branch failed    it did not
//!   the real run failed      unavoided         nothing
//!   it did not                avoided          closer, if the branch came closer to something; else nothing
//! ```
//!
//! **Invariants:** both are compared over the whole look-ahead, or as many decisions as there are, so a
//! failure that is only put off within it is not avoided; every branch has exactly one effect.
//!
//! **Absent on purpose:** the effect in a trace. It is derived, so it cannot disagree with its reasons.

use serde::{Deserialize, Serialize};

use super::exact::Exact;

/// What a branch of the world showed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Whether it ended in a failure: a crash, or on the racetrack off the road.
    pub crashed: bool,
    /// How close it came to anything with each of its decisions; 1 for a failure.
    pub costs: Vec<Exact>,
    /// The ego at the branch point and after each decision: x, y \[m\], heading \[rad\]. Rounded.
    pub ghost: Vec<[f64; 3]>,
}

/// What an intervention was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A failure that did not come.
    Avoided,
    /// A failure that came all the same.
    Unavoided,
    /// It would have been a closer call.
    Closer,
    /// It would not have been worse: a false alarm.
    Nothing,
}

impl WhatIf {
    /// What the intervention was good for. `costs` are the real run's, from that decision until its
    /// end, `failed` is whether that end was a failure, and `look_ahead` is over how many decisions a
    /// branch is played.
    pub fn effect(&self, costs: &[f64], failed: bool, look_ahead: u64) -> Effect {
        // Not the branch's own length: a branch that fails is short, and a failure soon after it is late,
        // not avoided.
        let decisions = usize::try_from(look_ahead).unwrap_or(usize::MAX);
        let failed = failed && costs.len() <= decisions;
        let worst = |costs: &mut dyn Iterator<Item = f64>| costs.fold(0.0, f64::max);
        match (self.crashed, failed) {
            (true, false) => Effect::Avoided,
            (true, true) => Effect::Unavoided,
            (false, true) => Effect::Nothing,
            (false, false) => {
                let branch = worst(&mut self.costs.iter().map(|cost| cost.0));
                let real = worst(&mut costs.iter().copied().take(decisions));
                if branch > real { Effect::Closer } else { Effect::Nothing }
            }
        }
    }
}

/// How many interventions of an episode had which effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// [`Effect::Avoided`].
    pub avoided: u64,
    /// [`Effect::Unavoided`].
    pub unavoided: u64,
    /// [`Effect::Closer`].
    pub closer: u64,
    /// [`Effect::Nothing`].
    pub nothing: u64,
}

impl Effects {
    /// Counts the branches of an episode, each with the place of its decision. `costs` are those of
    /// all its decisions, `failed` is how it ended, and `look_ahead` is as in [`WhatIf::effect`].
    pub fn of<'a>(
        branches: impl IntoIterator<Item = (usize, &'a WhatIf)>,
        costs: &[f64],
        failed: bool,
        look_ahead: u64,
    ) -> Effects {
        let mut effects = Effects::default();
        for (place, what_if) in branches {
            *match what_if.effect(costs.get(place..).unwrap_or_default(), failed, look_ahead) {
                Effect::Avoided => &mut effects.avoided,
                Effect::Unavoided => &mut effects.unavoided,
                Effect::Closer => &mut effects.closer,
                Effect::Nothing => &mut effects.nothing,
            } += 1;
        }
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(crashed: bool, costs: &[f64]) -> WhatIf {
        WhatIf { crashed, costs: costs.iter().copied().map(Exact).collect(), ghost: Vec::new() }
    }

    #[test]
    fn each_effect_has_its_case() {
        for (crashed, branched, real, failed, effect) in [
            (true, &[0.2, 1.0][..], &[0.0, 0.3, 0.0][..], false, Effect::Avoided),
            (true, &[1.0], &[0.0, 0.0, 1.0], true, Effect::Avoided), // It failed after the look-ahead.
            (true, &[1.0], &[0.0, 1.0], true, Effect::Unavoided),    // It was only put off.
            (true, &[0.5, 1.0], &[0.0], false, Effect::Avoided),     // It arrived before.
            (true, &[0.2, 1.0], &[0.0, 1.0], true, Effect::Unavoided),
            (true, &[0.2, 1.0], &[1.0], true, Effect::Unavoided),
            (false, &[0.0, 0.4], &[0.3, 0.1, 0.0], false, Effect::Closer),
            (false, &[0.0, 0.4], &[0.3, 0.1, 1.0], true, Effect::Closer), // It failed afterwards.
            (false, &[0.1, 0.3], &[0.3, 0.1], false, Effect::Nothing),
            (false, &[0.0, 0.0], &[0.0, 0.0], false, Effect::Nothing),
            (false, &[0.0, 0.9], &[0.2, 1.0], true, Effect::Nothing), // The branch was safer.
            (false, &[0.9], &[0.2, 1.0], true, Effect::Nothing),      // It arrived, and was safer.
        ] {
            assert_eq!(branch(crashed, branched).effect(real, failed, 2), effect, "{branched:?}");
        }
    }

    #[test]
    fn what_lies_beyond_the_look_ahead_does_not_count() {
        let short = branch(false, &[0.5]);
        assert_eq!(short.effect(&[0.4, 0.9], false, 1), Effect::Closer);
        assert_eq!(short.effect(&[0.6, 0.0], false, 1), Effect::Nothing);
        assert_eq!(short.effect(&[0.4, 0.9], false, 2), Effect::Nothing);
    }

    #[test]
    fn every_branch_is_counted_once() {
        let branches = [
            (0, branch(true, &[1.0])),
            (1, branch(true, &[0.0, 0.0, 1.0])),
            (1, branch(false, &[0.7])),
            (0, branch(false, &[0.7])),
        ];
        let found =
            Effects::of(branches.iter().map(|(t, b)| (*t, b)), &[0.0, 0.0, 0.5, 1.0], true, 3);
        assert_eq!(found, Effects { avoided: 1, unavoided: 1, closer: 1, nothing: 1 });
    }
}
