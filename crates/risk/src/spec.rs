//! Which numbers does the risk model take, and what are they for each task?
//!
//! Start at [`RiskSpec::for_task`]: one mechanism serves all tasks, and this file holds all that
//! differs. [`RiskModel::new`](crate::RiskModel::new) checks a spec before it is used.

use cpss_highway::TaskId;
use cpss_highway::action::Meta::{self, Faster, Idle, LaneLeft, LaneRight, Slower};
use cpss_highway::rehearsal::Guess;
use cpss_highway::vehicle::MAX_SPEED;

use crate::proximity::Margin;

/// What a person may choose about the risk model.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskSpec {
    /// How far ahead is looked, the coming decision included \[s\].
    pub horizon: f64,
    /// Time between two looks at the predicted bodies \[s\]; rounded to whole frames, or where the scene is
    /// rehearsed to whole parts of a decision.
    pub sample_time: f64,
    /// Bodies whose centres are further than this from the ego's are left out \[m\].
    pub reach: f64,
    /// By how much the speed at which the ego and a body approach each other may still grow
    /// \[m/s\]; those who cannot meet within the horizon even so are left out too.
    pub agility: f64,
    /// By how much an overlap at the horizon is cheaper than one now, in [0, 1). It makes the least
    /// costly of several bad actions the one that leaves most time.
    pub fade: f64,
    /// The room wanted around the ego.
    pub margin: Margin,
    /// What is thought possible of others.
    pub habits: Habits,
    /// What is guessed of others where the scene is rehearsed instead, all of them together; none where
    /// tracks will do.
    pub guesses: Vec<Guess>,
    /// The ways out that are tried after the action, the likeliest to work first.
    pub backups: Vec<Backup>,
}

/// What others may do with their pedals, whatever they do now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// What a cost is multiplied by if it comes about when drivers do what is expected of them: keep
    /// their distance, and change lane when it pays. In [0, 1].
    pub expected: f64,
    /// The same if it takes an unlikely habit: a sudden braking, a lane
    /// change that only an eager driver would make. In [0, 1].
    pub unlikely: f64,
    /// The speed that drivers are taken to aim for at least, within the limit \[m/s\].
    pub wish: f64,
    /// How hard a car ahead often slows down without a reason \[m/s²\].
    pub slow_down: f64,
    /// How hard it may suddenly brake \[m/s²\].
    pub brake: f64,
    /// For how long it does either \[s\].
    pub brake_time: f64,
    /// How hard a car behind the ego brakes for it \[m/s²\].
    pub yielding_brake: f64,
    /// How late it starts to \[s\].
    pub yielding_delay: f64,
}

impl Habits {
    /// Weight from which on something is likely: it counts in full, avoidable or not.
    pub(crate) const LIKELY: f64 = 0.75;

    /// What a cost comes to that is not likely, where the best action costs `unavoidable`: the
    /// avoidable part, stretched so that what might cost most if it were all avoidable still does.
    pub(crate) fn at_stake(&self, cost: f64, unavoidable: f64) -> f64 {
        let weights = [self.expected, self.unlikely];
        let most =
            weights.into_iter().filter(|weight| *weight < Habits::LIKELY).fold(0.0, f64::max);
        let avoidable = cost - unavoidable;
        // Beyond that something likely cannot be avoided, and nothing is to be stretched.
        if unavoidable < most {
            (avoidable * most / (most - unavoidable)).min(cost)
        } else {
            avoidable
        }
    }
}

/// A way out: what the ego does after the action that is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backup {
    /// Meta-actions, one per decision, the last one over and over. Passed over where the task
    /// lacks one of them, or where there is no lane to change to.
    Meta([Meta; 5]),
    /// Steering towards the middle of a lane and, later, of another, for an ego with raw controls. Passed
    /// over where there is no such lane.
    Steer {
        /// Which lanes: how many places to the right of its own, at first and later.
        sides: [i8; 2],
        /// From when on the second \[s\].
        after: f64,
        /// Whether it brakes meanwhile, if it has pedals.
        brakes: bool,
    },
    /// Weaving from edge to edge of the road at full lock, for an ego with raw controls: the nearest thing to a
    /// brake for one that has none.
    Weave {
        /// To which side first, if it goes straight on: -1 for left, 1 for right.
        first: i8,
        /// For how long \[s\].
        until: f64,
        /// Which lane it steers along after that: how many places to the right of the one where it began.
        side: i8,
    },
}

impl Backup {
    /// Whether it asks an ego under meta-actions neither to hold its speed nor to get faster.
    pub(crate) fn gets_slower(&self) -> bool {
        let Backup::Meta(script) = self else { return true };
        !script.iter().any(|meta| matches!(meta, Faster | Idle))
    }

    /// Whether it is known to change no lane from some decision on.
    pub(crate) fn keeps_lane_from(&self, step: usize) -> bool {
        let Backup::Meta(script) = self else { return false };
        // The last order is given over and over.
        let rest = &script[step.min(script.len() - 1)..];
        rest.iter().all(|meta| !matches!(meta, LaneLeft | LaneRight))
    }
}

/// A number in a [`RiskSpec`] that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// The field's name.
    pub field: &'static str,
    /// What it held.
    pub value: f64,
}

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is out of range: {}", self.field, self.value)
    }
}

impl std::error::Error for OutOfRange {}

const BRAKE: Backup = Backup::Meta([Slower; 5]);
const HOLD: Backup = Backup::Meta([Idle; 5]);
const GO: Backup = Backup::Meta([Faster; 5]);
const LEFT: Backup = Backup::Meta([LaneLeft, Slower, Slower, Slower, Slower]);
const RIGHT: Backup = Backup::Meta([LaneRight, Slower, Slower, Slower, Slower]);
const KEEP_LANE: Backup = steer([0, 0], 0.0);
const KEEP_LANE_AND_BRAKE: Backup = Backup::Steer { sides: [0, 0], after: 0.0, brakes: true };
const BRAKE_THEN_LEFT: Backup = Backup::Meta([Slower, LaneLeft, Slower, Slower, Slower]);
const BRAKE_THEN_RIGHT: Backup = Backup::Meta([Slower, LaneRight, Slower, Slower, Slower]);
const BRAKE_THEN_GO: Backup = Backup::Meta([Slower, Faster, Faster, Faster, Faster]);
const WAIT_THEN_GO: Backup = Backup::Meta([Slower, Slower, Faster, Faster, Faster]);
const WAIT_LONG_THEN_GO: Backup = Backup::Meta([Slower, Slower, Slower, Slower, Faster]);
const GO_THEN_BRAKE: Backup = Backup::Meta([Faster, Faster, Slower, Slower, Slower]);
const GO_FAR_THEN_BRAKE: Backup = Backup::Meta([Faster, Faster, Faster, Slower, Slower]);

/// Steering without braking.
const fn steer(sides: [i8; 2], after: f64) -> Backup {
    Backup::Steer { sides, after, brakes: false }
}

impl RiskSpec {
    /// The numbers for a task, chosen on tuning seeds (METHODOLOGY.md).
    pub fn for_task(task: TaskId) -> RiskSpec {
        let spec = RiskSpec {
            // The ego cannot drive slower than 20 m/s, and closes in on whoever does for that long.
            horizon: 10.0,
            sample_time: 1.0 / 3.0,
            reach: 150.0,
            agility: 12.0,
            fade: 0.95,
            margin: Margin { along: 2.0, across: 0.4, closing_time: 0.3, boundary: 1.0 },
            habits: Habits {
                expected: 0.8,
                unlikely: 0.5,
                wish: 21.0,
                slow_down: 0.0,
                brake: 3.6,
                brake_time: 0.7,
                yielding_brake: 4.0,
                yielding_delay: 0.2,
            },
            guesses: Vec::new(),
            // The last two are for an ego that is given raw controls there.
            backups: vec![
                BRAKE,
                LEFT,
                RIGHT,
                BRAKE_THEN_LEFT,
                BRAKE_THEN_RIGHT,
                KEEP_LANE_AND_BRAKE,
                KEEP_LANE,
            ],
        };
        match task {
            TaskId::HighwayV0 | TaskId::HighwayFastV0 => spec,
            // Beside a car that has to move over, staying ahead of it is a way out as well. Where roads
            // join, drivers see each other late, and brake hard.
            TaskId::MergeV0 | TaskId::MergeV1 => RiskSpec {
                horizon: 6.0,
                // Gaps open and close there within seconds: what is six away is no reason to refuse.
                fade: 0.98,
                habits: Habits {
                    expected: 0.6,
                    wish: 20.0,
                    brake: 6.0,
                    brake_time: 1.5,
                    ..spec.habits
                },
                backups: [&spec.backups[..], &[HOLD, GO]].concat(),
                ..spec
            },
            // Whoever waits in the middle of a crossing is in the way of those who come last: a look into
            // most of an episode.
            TaskId::IntersectionV0 | TaskId::IntersectionV2 => RiskSpec {
                horizon: 10.0,
                sample_time: 0.2,
                fade: 0.82,
                // Drivers who see each other coming pass closely, and stop half a metre apart.
                margin: Margin { along: 0.6, across: 0.2, closing_time: 0.12, ..spec.margin },
                // Cars appear at 8 m/s, give or take one, want 10 once they have waited, and drivers look
                // about twice a second.
                guesses: [(6.0, 0), (7.0, 2), (8.0, 4), (9.0, 6), (10.0, 1), (8.0, 3), (9.0, 5)]
                    .map(|(wish, frames)| Guess { wish, looked: f64::from(frames) / 15.0 })
                    .to_vec(),
                // Two are for an ego that is given raw controls there.
                backups: vec![
                    BRAKE,
                    GO,
                    HOLD,
                    BRAKE_THEN_GO,
                    WAIT_THEN_GO,
                    KEEP_LANE_AND_BRAKE,
                    KEEP_LANE,
                    WAIT_LONG_THEN_GO,
                    GO_THEN_BRAKE,
                    GO_FAR_THEN_BRAKE,
                ],
                ..spec
            },
            TaskId::RacetrackV0 | TaskId::RacetrackV1 => RiskSpec {
                // It has no brakes: two cars abreast have to be seen while there is time to weave until one of
                // them has drawn ahead. Cars that stand are seen 60 m ahead, which is time to pass one.
                horizon: 12.0,
                fade: 0.7,
                agility: 20.0,
                sample_time: 0.2,
                reach: 60.0,
                // There is no braking for whatever others might do: it would forbid passing them.
                habits: Habits {
                    unlikely: 0.0,
                    wish: 0.0,
                    slow_down: 1.0,
                    brake_time: 1.0,
                    ..spec.habits
                },
                // Between two cars that are almost abreast it has to go past one, then over before the other;
                // where that cannot be done, it waits by weaving.
                backups: [KEEP_LANE, steer([-1, -1], 0.0), steer([1, 1], 0.0)]
                    .into_iter()
                    .chain((1..=20).flat_map(|halves| {
                        [[0, -1], [0, 1], [-1, 0], [1, 0]]
                            .map(|sides| steer(sides, f64::from(halves) / 2.0))
                    }))
                    .chain([KEEP_LANE_AND_BRAKE])
                    .chain([-1, 1].into_iter().flat_map(|first| {
                        [0, -1, 1].map(|side| Backup::Weave { first, until: 2.0, side })
                    }))
                    .collect(),
                ..spec
            },
        }
    }

    /// Refuses numbers that make no sense.
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        let RiskSpec {
            horizon,
            sample_time,
            reach,
            agility,
            fade,
            margin,
            habits,
            guesses,
            backups,
        } = self;
        for (field, value, zero_allowed) in [
            ("horizon", *horizon, false),
            ("sample_time", *sample_time, false),
            ("reach", *reach, false),
            ("agility", *agility, true),
            ("fade", *fade, true),
            ("margin.along", margin.along, false),
            ("margin.across", margin.across, false),
            ("margin.closing_time", margin.closing_time, true),
            ("margin.boundary", margin.boundary, false),
            ("habits.expected", habits.expected, true),
            ("habits.unlikely", habits.unlikely, true),
            ("habits.wish", habits.wish, true),
            ("habits.slow_down", habits.slow_down, true),
            ("habits.brake", habits.brake, true),
            ("habits.brake_time", habits.brake_time, true),
            ("habits.yielding_brake", habits.yielding_brake, true),
            ("habits.yielding_delay", habits.yielding_delay, true),
            ("backups", backups.len() as f64, false),
        ] {
            let in_range = value.is_finite() && (value > 0.0 || zero_allowed && value == 0.0);
            if !in_range {
                return Err(OutOfRange { field, value });
            }
        }
        for guess in guesses {
            for (field, value) in [("guesses.wish", guess.wish), ("guesses.looked", guess.looked)] {
                // Drivers look about at least every second.
                let most = if field == "guesses.looked" { 1.0 } else { MAX_SPEED };
                if !(0.0..=most).contains(&value) {
                    return Err(OutOfRange { field, value });
                }
            }
        }
        // A minute at a hundred looks a second is more than any driver plans.
        for (field, value, most) in [
            ("horizon", *horizon, 60.0),
            ("fade", *fade, 0.99),
            ("habits.expected", habits.expected, 1.0),
            ("habits.unlikely", habits.unlikely, 1.0),
        ] {
            if value > most {
                return Err(OutOfRange { field, value });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_stake_is_stretched_to_the_weight_of_the_unlikely() {
        let habits = RiskSpec::for_task(TaskId::HighwayV0).habits;
        assert_eq!((habits.expected, habits.unlikely), (0.8, 0.5));
        let at_stake = |cost, unavoidable| habits.at_stake(cost, unavoidable);
        assert_eq!(at_stake(0.3, 0.0), 0.3, "all of it can be avoided");
        assert_eq!(at_stake(0.4, 0.4), 0.0, "nothing of it can");
        assert!((at_stake(0.5, 0.4) - 0.5).abs() < 1e-12, "all that could be lost is lost");
        assert!((at_stake(0.45, 0.4) - 0.25).abs() < 1e-12, "and half of it");
        assert_eq!(at_stake(0.9, 0.45), 0.9, "never more than the cost");
        assert!((at_stake(0.9, 0.6) - 0.3).abs() < 1e-12, "what is likely is not stretched");
    }

    #[test]
    fn a_backup_keeps_its_lane_after_its_last_lane_change() {
        assert!(BRAKE.keeps_lane_from(0) && LEFT.keeps_lane_from(1) && LEFT.keeps_lane_from(9));
        assert!(!LEFT.keeps_lane_from(0) && !BRAKE_THEN_LEFT.keeps_lane_from(1));
        let drifting = Backup::Meta([Slower, Slower, Slower, Slower, LaneLeft]);
        assert!(!drifting.keeps_lane_from(9) && !KEEP_LANE.keeps_lane_from(0));
    }

    #[test]
    fn without_anything_unlikely_nothing_is_stretched() {
        let habits = RiskSpec::for_task(TaskId::RacetrackV0).habits;
        assert!((habits.at_stake(0.7, 0.2) - 0.5).abs() < 1e-12);
    }
}
