//! How does a car get on that keeps to a lane, another one or an ego that has settled?
//!
//! A [`Way`] is a place on a lane that moves along it: towards the lane's middle, into the next lane
//! at its end, over to the side where the lane itself ends. A [`Habit`] is a speed over time. The
//! two together make a track of [`crate::forecast`].
//!
//! **Absent on purpose:** steering dynamics. A driver closes in on the middle of a lane at a rate,
//! which is a little faster than a real one starts to.

use cpss_highway::lane::Shape;
use cpss_highway::road::{LaneId, Network};
use cpss_highway::scene::Body;

use crate::proximity::Pose;
use crate::roadmap::Roadmap;
use crate::spec::Habits;

/// A place on a lane, and which turn is taken at forks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) lane: LaneId,
    pub(crate) along: f64,
    pub(crate) across: f64,
    turn: usize,
}

/// What a driver does with the pedals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// As now.
    Cruise,
    /// As traffic flows, see `traffic`.
    Flow,
    /// Down to the speed limit.
    Comply,
    /// As drivers often do.
    SlowDown,
    /// As drivers seldom do.
    Brake,
    /// As drivers do whose lane ends and who find no gap: down to a crawl.
    RunOut,
    /// To whoever is in front.
    Yield,
    /// A wreck slides to a stop, an obstacle stands.
    Slide,
}

/// Rate at which a driver closes its distance to the middle of its lane \[1/s\].
const CENTRING_RATE: f64 = 1.0 / 0.6;
/// Sideways speed from which a car is taken to be leaving its lane \[m/s\].
const DRIFT_SPEED: f64 = 0.25;
/// Speed across its lane from which on a car is taken to leave it \[m/s\]: a bend or a joint of two roads
/// makes it look like less than half of that.
const LEAVING_SPEED: f64 = 1.0;
/// How hard a driver above the speed limit brakes down to it \[m/s²\].
const COMPLYING_BRAKE: f64 = 6.0;
/// How hard a driver slows down whose lane ends \[m/s²\], and down to which speed \[m/s\].
const RUN_OUT_BRAKE: f64 = 2.5;
const CRAWL: f64 = 9.0;
/// Speed that a sideways slope is measured against at standstill \[m/s\].
const SLOWEST_SLOPE: f64 = 2.0;
/// Distance beyond which forks are not looked for \[m\].
const FURTHEST_FORK: f64 = 1e3;
/// Steepest slope of a lane change \[rad\].
const STEEPEST_SLOPE: f64 = 0.6;
impl Habit {
    /// The speed after `time` \[s\] of this habit.
    pub(crate) fn speed_after(self, speed: f64, time: f64, limit: f64, habits: &Habits) -> f64 {
        match self {
            // A flowing car's speed is looked up where the flow is known.
            Habit::Cruise | Habit::Flow => speed,
            Habit::Comply => (speed - COMPLYING_BRAKE * time).max(limit),
            Habit::SlowDown => slowed(speed, habits.slow_down * time.min(habits.brake_time)),
            Habit::Brake => slowed(speed, habits.brake * time.min(habits.brake_time)),
            Habit::RunOut => (speed - RUN_OUT_BRAKE * time).max(CRAWL.min(speed)),
            Habit::Yield => {
                slowed(speed, habits.yielding_brake * (time - habits.yielding_delay).max(0.0))
            }
            Habit::Slide => speed * (-time).exp(),
        }
    }
}

/// A speed less a loss, down to standstill. A car that backs up goes on backing up.
fn slowed(speed: f64, loss: f64) -> f64 {
    if speed > 0.0 { (speed - loss).max(0.0) } else { speed }
}

impl Way {
    /// Straight on.
    pub(crate) fn of(body: &Body) -> Way {
        Way { lane: body.lane, along: body.along, across: body.across, turn: 0 }
    }

    /// Along the middle of a lane.
    pub(crate) fn along(lane: LaneId, along: f64) -> Way {
        Way { lane, along, across: 0.0, turn: 0 }
    }

    /// Over to another lane.
    pub(crate) fn onto(lane: LaneId, body: &Body, network: &Network) -> Way {
        Way::to(lane, body.position, network)
    }

    /// Over to a lane from some position.
    pub(crate) fn to(lane: LaneId, position: [f64; 2], network: &Network) -> Way {
        let (along, across) = network.lane(lane).local_coordinates(position);
        Way { lane, along, across, turn: 0 }
    }

    /// Moves on by a distance \[m\], closing in on the middle of the lane by a factor.
    #[inline]
    pub(crate) fn go(&mut self, distance: f64, centring: f64, network: &Network, map: &Roadmap) {
        self.along += distance;
        self.across *= centring;
        // One change per look is enough: no lane is shorter than a look is long.
        if self.along > network.lane(self.lane).length {
            let next = map.after(self.lane);
            if let Some(lane) = next.get(self.turn % next.len().max(1)) {
                self.enter(map.must_move_to(*lane).unwrap_or(*lane), network);
            }
        }
    }

    /// The same place, but another turn at the next fork.
    pub(crate) fn turning(self, turn: usize) -> Way {
        Way { turn, ..self }
    }

    /// The limit on its lane \[m/s\].
    pub(crate) fn speed_limit(&self, network: &Network) -> f64 {
        network.lane(self.lane).speed_limit
    }

    /// How many ways there are at the first fork within a distance \[m\]; 1 without one.
    pub(crate) fn turns(&self, distance: f64, network: &Network, map: &Roadmap) -> usize {
        let mut lane = self.lane;
        // The furthest is bounded, because lanes may form a loop.
        let mut left = distance.min(FURTHEST_FORK) + self.along;
        loop {
            left -= network.lane(lane).length;
            let next = map.after(lane);
            match next {
                [only] if left > 0.0 => lane = *only,
                [_, _, ..] if left > 0.0 => return next.len(),
                _ => return 1,
            }
        }
    }

    fn enter(&mut self, lane: LaneId, network: &Network) {
        let position = network.lane(self.lane).position(self.along, self.across);
        let (along, across) = network.lane(lane).local_coordinates(position);
        *self = Way { lane, along, across, ..*self };
    }

    #[inline]
    pub(crate) fn pose(&self, speed: f64, half_size: [f64; 2], network: &Network) -> Pose {
        let lane = network.lane(self.lane);
        let position = lane.position(self.along, self.across);
        let slope = slope(self.across, speed);
        let [cos, sin] = match lane.shape {
            Shape::Straight { direction, .. } => tilted(direction, slope),
            _ => {
                let (sin, cos) = (lane.heading_at(self.along) + slope).sin_cos();
                [cos, sin]
            }
        };
        Pose { position, cos, sin, speed, half_size }
    }
}

/// At which slope a car goes that closes in on the middle of its lane.
#[inline(always)]
pub(crate) fn slope(across: f64, speed: f64) -> f64 {
    (-CENTRING_RATE * across / speed.max(SLOWEST_SLOPE)).clamp(-STEEPEST_SLOPE, STEEPEST_SLOPE)
}

/// A direction, turned by the angle whose tangent a slope is. On bends the slope itself is taken for
/// the angle, which is at most 0.06 more.
#[inline(always)]
pub(crate) fn tilted([x, y]: [f64; 2], slope: f64) -> [f64; 2] {
    let norm = 1.0 / (1.0 + slope * slope).sqrt();
    [(x - slope * y) * norm, (y + slope * x) * norm]
}

/// The factor by which a driver closes in on the middle of its lane within a time \[s\].
pub(crate) fn centring(time: f64) -> f64 {
    (-CENTRING_RATE * time).exp()
}

/// The lane that a car is seen drifting to, out of its own.
pub(crate) fn drifting_to(body: &Body, network: &Network) -> Option<LaneId> {
    let sideways = sideways_speed(body, network);
    let returns = body.across * sideways < 0.0;
    if returns || sideways.abs() < DRIFT_SPEED {
        return None;
    }
    if sideways > 0.0 { network.right_of(body.lane) } else { network.left_of(body.lane) }
}

/// Whether a car moves out of its lane so fast that it means to.
pub(crate) fn is_leaving(body: &Body, network: &Network) -> bool {
    drifting_to(body, network).is_some() && sideways_speed(body, network).abs() >= LEAVING_SPEED
}

/// How fast a car moves across its lane, to the right \[m/s\].
fn sideways_speed(body: &Body, network: &Network) -> f64 {
    let heading = network.lane(body.lane).heading_at(body.along);
    body.speed * (body.heading - heading).sin()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::{Task, TaskId};

    fn way(task: &Task, (from, to, place): (&str, &str, usize), along: f64, across: f64) -> Way {
        let lane = task.network.find_lane(from, to, place).unwrap();
        Way { lane, along, across, turn: 0 }
    }

    #[test]
    fn a_car_on_the_ramp_ends_up_on_the_highway() {
        let task = Task::with_defaults(TaskId::MergeV0);
        let map = Roadmap::new(&task.network);
        let mut way = way(&task, ("k", "b", 0), 70.0, 0.0);
        for _ in 0..15 {
            way.go(4.0, centring(0.2), &task.network, &map);
        }
        let pose = way.pose(20.0, [2.5, 1.0], &task.network);
        assert_eq!(Some(way.lane), task.network.find_lane("b", "c", 1));
        assert!((pose.position[1] - 4.0).abs() < 0.1, "{pose:?}");
    }

    #[test]
    fn every_turn_at_the_crossing_is_taken_and_only_when_it_is_near() {
        let task = Task::with_defaults(TaskId::IntersectionV0);
        let map = Roadmap::new(&task.network);
        let near = way(&task, ("o0", "ir0", 0), 90.0, 0.0);
        assert_eq!(near.turns(20.0, &task.network, &map), 3);
        assert_eq!(near.turns(5.0, &task.network, &map), 1);
        let ends = (0..3).map(|turn| {
            let mut way = near.turning(turn);
            for _ in 0..20 {
                way.go(2.0, 1.0, &task.network, &map);
            }
            way.lane.index()
        });
        let ends: Vec<usize> = ends.collect();
        assert!(ends[0] != ends[1] && ends[1] != ends[2] && ends[0] != ends[2], "{ends:?}");
    }

    #[test]
    fn a_loop_of_lanes_is_no_trap() {
        let task = Task::with_defaults(TaskId::RacetrackV0);
        let map = Roadmap::new(&task.network);
        let way = way(&task, ("a", "b", 0), 10.0, 0.0);
        assert_eq!(way.turns(f64::INFINITY, &task.network, &map), 1);
    }

    #[test]
    fn habits_change_speed_as_they_say() {
        let habits = Habits {
            expected: 0.8,
            unlikely: 0.5,
            wish: 0.0,
            slow_down: 2.0,
            brake: 5.0,
            brake_time: 1.0,
            yielding_brake: 4.0,
            yielding_delay: 0.5,
        };
        let after = |habit: Habit, speed: f64| habit.speed_after(speed, 2.0, 12.0, &habits);
        assert_eq!(after(Habit::Cruise, 10.0), 10.0);
        assert_eq!(after(Habit::Comply, 30.0), 18.0);
        assert_eq!(after(Habit::Comply, 13.0), 12.0);
        assert_eq!(after(Habit::SlowDown, 10.0), 8.0);
        assert_eq!(after(Habit::Brake, 10.0), 5.0);
        assert_eq!(after(Habit::Brake, 3.0), 0.0);
        assert_eq!(after(Habit::Brake, -3.0), -3.0);
        assert_eq!(after(Habit::RunOut, 20.0), 15.0);
        assert_eq!(after(Habit::RunOut, 10.0), 9.0);
        assert_eq!(after(Habit::RunOut, 5.0), 5.0);
        assert_eq!(after(Habit::Yield, 10.0), 4.0);
        assert!(after(Habit::Slide, 10.0) < 1.5);
    }
}
