//! How bad does a predicted drive get?
//!
//! A [`Worst`] gathers the worst moment of one drive; a [`Fading`] says how much a moment weighs by
//! when it comes, since what lies beyond the coming decision can still be averted.
//!
//! **Invariant:** nothing here is ever NaN: proximities are in [0, 1], and weights too.

use cpss_highway::Task;

use crate::forecast::Hazard;
use crate::model::Conflict;
use crate::proximity::Proximity;
use crate::spec::RiskSpec;

/// The worst so far of one predicted drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worst {
    /// Of what is likely.
    pub(crate) likely: f64,
    /// Of all, the unlikely included.
    pub(crate) cost: f64,
    pub(crate) conflict: Option<Conflict>,
}

/// How much a moment weighs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fading {
    decision: f64,
    /// From the coming decision to the horizon \[s\].
    span: f64,
    fade: f64,
}

/// A time from now \[s\], and how much it weighs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) time: f64,
    pub(crate) weight: f64,
}

impl Fading {
    /// That of a spec, up to a horizon \[s\].
    pub(crate) fn new(task: &Task, spec: &RiskSpec, horizon: f64) -> Fading {
        let decision = task.decision_time;
        Fading { decision, span: (horizon - decision).max(task.frame_time), fade: spec.fade }
    }

    /// A moment \[s\], which weighs 1 within the coming decision and least at the horizon.
    #[inline]
    pub(crate) fn at(&self, time: f64) -> Moment {
        let weight = 1.0 - self.fade * (time - self.decision).max(0.0) / self.span;
        Moment { time, weight }
    }
}

impl Worst {
    pub(crate) const NONE: Worst = Worst { likely: 0.0, cost: 0.0, conflict: None };
    pub(crate) const CERTAIN: Worst = Worst { likely: 1.0, cost: 1.0, conflict: None };
    /// Worse than anything that can be found.
    pub(crate) const BEYOND: Worst =
        Worst { likely: f64::INFINITY, cost: f64::INFINITY, conflict: None };

    /// Notes a moment: how close it comes to a hazard, and the likely part of that.
    #[inline]
    pub(crate) fn note(
        &mut self,
        likely: f64,
        proximity: Proximity,
        hazard: Hazard,
        Moment { time, weight }: Moment,
    ) {
        self.likely = self.likely.max(likely * weight);
        let cost = proximity.cost * weight;
        if cost > self.cost {
            self.cost = cost;
            self.conflict = Some(Conflict { hazard, time, clearance: proximity.clearance });
        }
    }

    /// Whether this is worse in one way or the other.
    #[inline]
    pub(crate) fn is_worse_than(&self, other: &Worst) -> bool {
        self.likely > other.likely || self.cost > other.cost
    }

    /// Whether nothing that weighs this much or less could make it worse.
    #[inline]
    pub(crate) fn is_beyond(&self, weight: f64) -> bool {
        self.likely >= weight && self.cost >= weight
    }

    /// The better of both, in each way by itself: which way out is taken can wait until it is known
    /// whether the unlikely happens.
    pub(crate) fn or_better(&self, other: &Worst) -> Worst {
        let better = if other.cost < self.cost { other } else { self };
        Worst { likely: self.likely.min(other.likely), ..*better }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(likely: f64, cost: f64) -> Worst {
        Worst { likely, cost, conflict: None }
    }

    #[test]
    fn the_worst_moment_is_kept_with_its_reason_and_the_first_of_equals() {
        let mut found = Worst::NONE;
        let close = |cost| Proximity { cost, clearance: 1.0 - cost };
        let moment = |time, weight| Moment { time, weight };
        found.note(0.2, close(0.4), Hazard::Car(1), moment(1.0, 1.0));
        found.note(0.6, close(0.6), Hazard::Car(2), moment(2.0, 0.5));
        assert_eq!((found.likely, found.cost), (0.3, 0.4));
        found.note(0.0, close(0.8), Hazard::Car(3), moment(3.0, 0.5));
        let conflict = found.conflict.unwrap();
        assert_eq!((conflict.hazard, conflict.time), (Hazard::Car(1), 1.0));
        found.note(0.0, close(1.0), Hazard::Boundary, moment(4.0, 0.5));
        assert_eq!((found.likely, found.cost), (0.3, 0.5));
        assert_eq!(found.conflict.unwrap().hazard, Hazard::Boundary);
    }

    #[test]
    fn worse_is_worse_in_either_way_and_not_the_same() {
        let known = worst(0.2, 0.5);
        for (likely, cost, is_worse) in [
            (0.2, 0.5, false),
            (0.1, 0.4, false),
            (0.3, 0.5, true),
            (0.2, 0.6, true),
            (0.3, 0.4, true),
            (0.1, 0.6, true),
        ] {
            assert_eq!(worst(likely, cost).is_worse_than(&known), is_worse, "{likely} {cost}");
        }
    }

    #[test]
    fn nothing_that_weighs_less_makes_it_worse() {
        let known = worst(0.2, 0.5);
        assert!(known.is_beyond(0.2) && known.is_beyond(0.1) && !known.is_beyond(0.3));
        assert!(!known.is_beyond(0.6), "neither in the one way nor in the other");
        assert!(!worst(0.6, 0.2).is_beyond(0.3), "each counts");
    }

    #[test]
    fn the_better_way_out_is_the_better_one_in_each_way() {
        let conflict = Conflict { hazard: Hazard::Boundary, time: 1.0, clearance: 0.0 };
        let other = Worst { likely: 0.4, cost: 0.4, conflict: Some(conflict) };
        let both = worst(0.2, 0.5).or_better(&other);
        assert_eq!((both.likely, both.cost), (0.2, 0.4));
        assert_eq!(both.conflict, Some(conflict), "the reason is that of the cost");
        let first = worst(0.5, 0.4).or_better(&other);
        assert_eq!(
            (first.likely, first.cost, first.conflict),
            (0.4, 0.4, None),
            "of equals the first"
        );
    }
}
