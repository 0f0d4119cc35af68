//! How does what a network says become a probability?
//!
//! ```text
//!   risk(a)  = sigmoid(logit(a) + shift)
//!   risk'(a) = risk(a) + lifted(V) - V,   V = min risk,   log-odds(lifted(V)) = log-odds(V) + lift
//! ```
//!
//! The shift brings risks to where they agree with what happens. The lift is for what no action by itself shows: the least of
//! several noisy risks is smaller than the risk of the action that it belongs to. It raises what cannot be avoided, and all
//! actions of a scene alike, so that what tells them apart stays what it was; only what would exceed 1 is 1.
//!
//! A shift keeps a conservative risk conservative, whatever was conservative before (`proofs/`). A lift does not: an action
//! that leads to a scene with more to lift costs as much as before. It is justified by measurement alone, of whole episodes.
//!
//! **Invariants:** the order of actions stays; a lift of 0 changes no bit, one above it lowers no risk; every risk is in
//! [0, 1].

use super::probability;

/// The calibration of a critic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// What is added to every logit.
    pub shift: f32,
    /// What is added to the log-odds of the least risk of a scene. At least 0.
    pub lift: f32,
}

impl Scale {
    /// As it was learned.
    pub const NONE: Scale = Scale { shift: 0.0, lift: 0.0 };

    /// All log-odds with something added.
    pub const fn shifted(shift: f32) -> Scale {
        Scale { shift, ..Scale::NONE }
    }

    /// Whether its numbers could have been found. Beyond some hundred log-odds the lift's arithmetic would overflow, and no
    /// lift would be left.
    pub fn is_sound(&self) -> bool {
        const MOST: f32 = 50.0;
        self.shift.abs() <= MOST && (0.0..=MOST).contains(&self.lift)
    }

    /// The risk of an action by itself.
    #[inline]
    pub(super) fn risk(&self, logit: f32) -> f64 {
        probability(logit + self.shift)
    }

    /// Raises the risks of all actions by what the least of them is lifted.
    pub(super) fn raise(&self, risks: &mut [f64]) {
        if self.lift == 0.0 {
            return;
        }
        let least = risks.iter().copied().fold(1.0, f64::min);
        let odds = f64::from(self.lift).exp();
        let by = (least * odds / (1.0 + least * (odds - 1.0)) - least).max(0.0);
        risks.iter_mut().for_each(|risk| *risk = (*risk + by).min(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lift_raises_the_least_by_its_log_odds_and_all_alike() {
        let scale = Scale { lift: 0.7, ..Scale::NONE };
        let mut risks = [0.3, 0.001, 0.02];
        scale.raise(&mut risks);
        let log_odds = |risk: f64| (risk / (1.0 - risk)).ln();
        assert!((log_odds(risks[1]) - log_odds(0.001) - f64::from(0.7_f32)).abs() < 1e-12);
        assert!((risks[0] - risks[1] - 0.299).abs() < 1e-15, "{risks:?}");
        assert!((risks[2] - risks[1] - 0.019).abs() < 1e-15, "{risks:?}");
    }

    #[test]
    fn nothing_is_lowered_and_nothing_leaves_the_unit_interval() {
        let scale = Scale { lift: 5.0, ..Scale::NONE };
        for before in [[0.0, 0.0, 1.0], [1.0; 3], [1e-300, 0.5, 1.0], [0.9, 0.95, 0.99]] {
            let mut after = before;
            scale.raise(&mut after);
            let pairs = before.iter().zip(&after);
            assert!(pairs.clone().all(|(old, new)| new >= old && *new <= 1.0), "{after:?}");
            let mut same = before;
            Scale::NONE.raise(&mut same);
            assert_eq!(same, before);
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_told() {
        let edits: [fn(&mut Scale); 5] = [
            |scale| scale.shift = f32::INFINITY,
            |scale| scale.shift = -51.0,
            |scale| scale.lift = 1000.0,
            |scale| scale.lift = -0.1,
            |scale| scale.lift = f32::NAN,
        ];
        for edit in edits {
            let mut scale = Scale::NONE;
            assert!(scale.is_sound());
            edit(&mut scale);
            assert!(!scale.is_sound(), "{scale:?}");
        }
    }
}
