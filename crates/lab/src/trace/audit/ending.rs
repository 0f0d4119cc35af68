//! Was an episode over when it says so, and how did it end?
//!
//! Whether the ego is off the road, has arrived or is past the end follows from its pose, by the task's own
//! rules. A trace's poses are rounded, so the rules are asked at every corner of what a rounded pose may
//! stand for: where all agree the answer is derived, and elsewhere it is left open. Start at
//! [`Ending::at`].

use cpss_highway::Task;
use cpss_highway::observation::View;
use cpss_highway::vehicle::{Driver, Vehicle};

use crate::record::pose::Pose;

/// Half of a rounded position's last digit \[m\], and of a rounded heading's \[rad\], with a crumb for
/// the doubles themselves.
const HALF_A_CENTIMETRE: f64 = 0.005 + 1e-6;
const HALF_A_MILLIRADIAN: f64 = 0.0005 + 1e-9;
/// No road leads further than this \[m\].
const FURTHEST: f64 = 1e6;

/// What a pose says about an episode's end; `None` where rounding leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// Whether the state is terminal.
    pub(super) terminated: Option<bool>,
    /// Whether the ego is off the road.
    pub(super) off_road: Option<bool>,
    /// Whether the episode is a success if it ends here.
    pub(super) success: Option<bool>,
}

impl Ending {
    /// What the ego's pose says; `None` for a pose that is nowhere.
    pub(super) fn at(task: &Task, ego: &Pose) -> Option<Ending> {
        let (x, y, heading, speed, wreck) = *ego;
        let near = -FURTHEST..=FURTHEST;
        if ![x, y, heading, speed].iter().all(|number| near.contains(number)) || wreck > 1 {
            return None;
        }
        let mut agreed: Option<[Option<bool>; 3]> = None;
        for east in [-HALF_A_CENTIMETRE, 0.0, HALF_A_CENTIMETRE] {
            for north in [-HALF_A_CENTIMETRE, 0.0, HALF_A_CENTIMETRE] {
                for turn in [-HALF_A_MILLIRADIAN, 0.0, HALF_A_MILLIRADIAN] {
                    let found = facts(task, [x + east, y + north], heading + turn, wreck == 1);
                    let found = found.map(Some);
                    agreed = Some(agreed.map_or(found, |agreed| {
                        std::array::from_fn(|i| agreed[i].filter(|fact| Some(*fact) == found[i]))
                    }));
                }
            }
        }
        let [terminated, off_road, success] = agreed?;
        Some(Ending { terminated, off_road, success })
    }
}

/// Terminated, off the road, a success: as the episode itself finds them.
fn facts(task: &Task, position: [f64; 2], heading: f64, crashed: bool) -> [bool; 3] {
    let mut ego = Vehicle::new(&task.network, Driver::Meta, position, heading, 0.0);
    ego.crashed = crashed;
    let off_road = !ego.on_road(&task.network);
    let view = View { vehicles: &[ego], obstacles: &[], network: &task.network, ego: 0 };
    let terminated = task.rules.is_terminated(&view);
    let success = match task.rules.has_arrived(&view) {
        Some(arrived) => arrived && !crashed,
        None => !terminated,
    };
    [terminated, off_road, success]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::TaskId;

    #[test]
    fn what_rounding_leaves_open_stays_open() {
        let task = Task::with_defaults(TaskId::HighwayV0);
        let at = |y: f64, wreck| Ending::at(&task, &(100.0, y, 0.0, 25.0, wreck)).unwrap();
        // The first lane's middle is at 0, and it is 4 m wide.
        let on = Ending { terminated: Some(false), off_road: Some(false), success: Some(true) };
        assert_eq!(at(-1.99, 0), on);
        assert_eq!(at(-2.0, 0), Ending { off_road: None, ..on });
        assert_eq!(at(-2.01, 0), Ending { off_road: Some(true), ..on });
        let wreck = at(0.0, 1);
        assert_eq!((wreck.terminated, wreck.success), (Some(true), Some(false)));
        for nowhere in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Ending::at(&task, &(nowhere, 0.0, 0.0, 25.0, 0)), None);
        }
    }

    #[test]
    fn the_finish_of_the_merge_is_a_success() {
        let task = Task::with_defaults(TaskId::MergeV0);
        let at = |x: f64| Ending::at(&task, &(x, 0.0, 0.0, 25.0, 0)).unwrap();
        assert_eq!((at(369.9).terminated, at(369.9).success), (Some(false), Some(false)));
        assert_eq!((at(370.0).terminated, at(370.0).success), (None, None));
        assert_eq!((at(370.1).terminated, at(370.1).success), (Some(true), Some(true)));
    }
}
