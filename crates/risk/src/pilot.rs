//! How would the ego get out of this?
//!
//! A [`Pilot`] gives the ego its orders for a [`Backup`], decision by decision, with nothing but
//! the actions that the task has: a way out that could not be commanded would be no way out.
//!
//! Start at [`Pilot::command`].

use cpss_highway::action::{Controls, Meta};
use cpss_highway::control::obey;
use cpss_highway::driver::{
    HEADING_GAIN, LATERAL_GAIN, SPEED_GAIN, follow_road, hold_speed, steer_along,
};
use cpss_highway::lane::Shape;
use cpss_highway::vehicle::{Driver, LENGTH, Vehicle};
use cpss_highway::{Action, Task};

use crate::helm::Helm;
use crate::spec::Backup;

/// How far an ego has come with a backup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) backup: Backup,
    /// Decisions taken so far.
    pub(crate) step: usize,
    /// The place of the lane on which it began.
    pub(crate) home: usize,
}

/// Turns a backup into actions of a task.
#[derive(Clone, Debug)]
pub(crate) struct Pilot {
    /// For an ego with raw controls.
    helm: Option<Helm>,
}

/// Moves a predicted ego under meta-actions by `dt` \[s\]: [`drive_frame`](cpss_highway::control::drive_frame)
/// without looking up the closest lane, which nobody asks for. It steers by the lane it aims for alone, so that lane
/// will do, and the search is a good part of the time that a frame takes.
#[inline]
pub(crate) fn predict(task: &Task, ego: &mut Vehicle, dt: f64) {
    follow_road(ego, &task.network);
    let lane = ego.target_lane;
    (ego.along, ego.across) = ego.coordinates_on(lane, &task.network);
    ego.lane = lane;
    steer_along(ego, lane, &task.network);
    hold_speed(ego);
    ego.advance(dt);
    (ego.along, ego.across) = task.network.lane(lane).local_coordinates(ego.position());
}

/// The same for an ego that closes in on the middle of a straight lane at a small angle, many times
/// cheaper: in the lane's own coordinates, with the first terms of sine, cosine and arcsine. Says
/// whether it could.
#[inline]
pub(crate) fn close_in(task: &Task, ego: &mut Vehicle, dt: f64, steps: usize) -> bool {
    let lane = task.network.lane(ego.target_lane);
    let Shape::Straight { heading, direction: [cos, sin], .. } = lane.shape else { return false };
    let (mut along, mut across) = ego.coordinates_on(ego.target_lane, &task.network);
    let mut angle = ego.heading - heading;
    let mut speed = ego.speed;
    let reach = ego.speed.max(ego.target_speed) * dt * steps as f64;
    if angle.abs() > SMALL_ANGLE
        || speed < LEAST_CLOSING_SPEED
        || ego.target_speed < LEAST_CLOSING_SPEED
        || lane.is_after_end(along + reach)
    {
        return false;
    }
    for _ in 0..steps {
        let approach = arcsine((-LATERAL_GAIN * across / speed).clamp(-SMALL_ANGLE, SMALL_ANGLE));
        let turning = HEADING_GAIN * (approach - angle);
        let slip = (LENGTH / 2.0 / speed * turning).clamp(-SMALL_ANGLE, SMALL_ANGLE);
        let (course_sin, course_cos) = small_sin_cos(angle + arcsine(slip));
        along += speed * course_cos * dt;
        across += speed * course_sin * dt;
        angle += speed * slip / (LENGTH / 2.0) * dt;
        speed += SPEED_GAIN * (ego.target_speed - speed) * dt;
    }
    let [x, y] = lane.position(along, across);
    let (turned_sin, turned_cos) = small_sin_cos(angle);
    (ego.x, ego.y, ego.speed) = (x, y, speed);
    (ego.lane, ego.along, ego.across) = (ego.target_lane, along, across);
    ego.heading = heading + angle;
    ego.cos = cos * turned_cos - sin * turned_sin;
    ego.sin = sin * turned_cos + cos * turned_sin;
    true
}

/// The angle up to which the first terms of a series will do \[rad\], and the speed from which on
/// lane changes keep below it \[m/s\].
const SMALL_ANGLE: f64 = 0.5;
const LEAST_CLOSING_SPEED: f64 = 12.0;

#[inline]
fn arcsine(x: f64) -> f64 {
    let square = x * x;
    x * (1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0)))
}

#[inline]
fn small_sin_cos(x: f64) -> (f64, f64) {
    let square = x * x;
    let sin = x * (1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0)));
    let cos = 1.0 - square * (0.5 - square * (1.0 / 24.0));
    (sin, cos)
}

/// Puts an ego that has all but reached the middle of a straight lane right into it, from where on
/// it can [`roll`].
#[inline]
pub(crate) fn settle(task: &Task, ego: &mut Vehicle) {
    let lane = task.network.lane(ego.target_lane);
    let Shape::Straight { heading, direction: [cos, sin], .. } = lane.shape else { return };
    let (along, across) = ego.coordinates_on(ego.target_lane, &task.network);
    if across.abs() > ALMOST_CENTRED || (ego.heading - heading).abs() > ALMOST_PARALLEL {
        return;
    }
    let [x, y] = lane.position(along, 0.0);
    (ego.x, ego.y, ego.heading, ego.cos, ego.sin) = (x, y, heading, cos, sin);
    (ego.lane, ego.along, ego.across) = (ego.target_lane, along, 0.0);
}

/// Drives an ego that goes dead straight over some frames at once, and says whether it could. It
/// closes in on the speed it aims for by the same share in every frame, so the way is a geometric
/// series, and the same as frame by frame but for rounding.
#[inline]
pub(crate) fn roll(task: &Task, ego: &mut Vehicle, frames: usize) -> bool {
    let lane = task.network.lane(ego.target_lane);
    let Shape::Straight { heading, direction: [cos, sin], .. } = lane.shape else { return false };
    let [slowest, fastest] = ego.speed_range;
    let is_straight =
        ego.lane == ego.target_lane && ego.across == 0.0 && ego.heading == heading && !ego.crashed;
    if !is_straight || ego.driver == Driver::Raw || !(slowest..=fastest).contains(&ego.speed) {
        return false;
    }
    let closing = SPEED_GAIN * task.frame_time;
    let left = (1.0 - closing).powi(frames as i32);
    let surplus = ego.speed - ego.target_speed;
    let distance =
        task.frame_time * (frames as f64 * ego.target_speed + surplus * (1.0 - left) / closing);
    if lane.is_after_end(ego.along.max(ego.along + distance)) {
        return false;
    }
    (ego.x, ego.y) = (ego.x + distance * cos, ego.y + distance * sin);
    ego.along += distance;
    ego.speed = ego.target_speed + surplus * left;
    (ego.slip_sin, ego.slip_cos) = (0.0, 1.0);
    true
}

/// How far off the middle of a lane an ego may be to count as there \[m\], and at which angle \[rad\].
const ALMOST_CENTRED: f64 = 0.02;
const ALMOST_PARALLEL: f64 = 0.004;

impl Pilot {
    /// Reads what the task's actions do.
    pub(crate) fn new(task: &Task, ego: &Vehicle) -> Pilot {
        Pilot { helm: Helm::new(task, ego) }
    }

    /// Whether a backup asks only for what the task's controls have.
    pub(crate) fn knows(&self, task: &Task, backup: &Backup) -> bool {
        match (backup, &task.controls) {
            (Backup::Meta(script), Controls::Meta { actions, .. }) => {
                script.iter().all(|meta| actions.contains(meta))
            }
            (Backup::Meta(_), _) => false,
            _ => self.has_raw_controls(),
        }
    }

    /// Gives the ego its orders for the next decision of a backup. Returns whether it can be carried out.
    pub(crate) fn command(&self, task: &Task, ego: &mut Vehicle, progress: Progress) -> bool {
        match (progress.backup, &task.controls) {
            (Backup::Meta(script), Controls::Meta { actions, .. }) => {
                let wish = script[progress.step.min(script.len() - 1)];
                let Some(index) = actions.iter().position(|meta| *meta == wish) else {
                    return false;
                };
                let target = ego.target_lane;
                obey(task, ego, Action::Index(index));
                !matches!(wish, Meta::LaneLeft | Meta::LaneRight) || ego.target_lane != target
            }
            _ => self.helm.as_ref().is_some_and(|helm| helm.command(task, ego, progress)),
        }
    }

    /// Whether the ego has raw controls.
    pub(crate) fn has_raw_controls(&self) -> bool {
        self.helm.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::control::drive_frame;
    use cpss_highway::{TaskId, World};

    #[test]
    fn the_predicted_ego_drives_as_the_world_would_drive_it() {
        for id in [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0] {
            let task = Task::with_defaults(id);
            let actions = task.controls.action_count().unwrap();
            for seed in 0..20 {
                let mut driven = World::new(task.clone(), seed).ego().clone();
                let mut predicted = driven.clone();
                for decision in 0..8 {
                    let action = Action::Index((seed as usize * 7 + decision * 3) % actions);
                    obey(&task, &mut driven, action);
                    obey(&task, &mut predicted, action);
                    for _ in 0..task.frames {
                        drive_frame(&task, &mut driven);
                        predict(&task, &mut predicted, task.frame_time);
                        let gap = (driven.x - predicted.x).hypot(driven.y - predicted.y);
                        assert!(gap < 1e-9, "{} {seed} {decision}: {gap}", id.name());
                        assert!((driven.speed - predicted.speed).abs() < 1e-9);
                    }
                }
            }
        }
    }

    #[test]
    fn rolling_is_driving_frame_by_frame() {
        for id in [TaskId::HighwayV0, TaskId::MergeV0] {
            let task = Task::with_defaults(id);
            let mut rolling = World::new(task.clone(), 3).ego().clone();
            let mut driving = rolling.clone();
            for (target_speed, frames) in [(20.0, 5), (30.0, 15), (25.0, 1)] {
                rolling.target_speed = target_speed;
                driving.target_speed = target_speed;
                assert!(roll(&task, &mut rolling, frames), "{}", id.name());
                for _ in 0..frames {
                    predict(&task, &mut driving, task.frame_time);
                }
                for (rolled, driven) in [
                    (rolling.x, driving.x),
                    (rolling.y, driving.y),
                    (rolling.speed, driving.speed),
                    (rolling.along, driving.along),
                ] {
                    assert!((rolled - driven).abs() < 1e-9, "{}: {rolled} {driven}", id.name());
                }
            }
        }
    }

    #[test]
    fn closing_in_is_steering_but_for_a_centimetre() {
        let task = Task::with_defaults(TaskId::HighwayV0);
        for (speed, target_speed) in [(20.0, 20.0), (30.0, 30.0), (30.0, 20.0), (25.0, 30.0)] {
            let mut steering = World::new(task.clone(), 3).ego().clone();
            let side = task.network.left_of(steering.lane).or(task.network.right_of(steering.lane));
            (steering.speed, steering.target_speed) = (speed, target_speed);
            steering.target_lane = side.unwrap();
            let mut closing = steering.clone();
            for _ in 0..10 {
                assert!(close_in(&task, &mut closing, 1.0 / 6.0, 2));
                for _ in 0..2 {
                    predict(&task, &mut steering, 1.0 / 6.0);
                }
                let apart = (closing.x - steering.x).hypot(closing.y - steering.y);
                assert!(apart < 0.01, "{speed} {target_speed}: {apart}");
                assert!((closing.heading - steering.heading).abs() < 2e-3);
            }
        }
    }

    #[test]
    fn a_lane_change_and_the_end_of_a_lane_are_not_rolled_over() {
        let task = Task::with_defaults(TaskId::MergeV0);
        let ego = World::new(task.clone(), 3).ego().clone();
        let mut changing = ego.clone();
        changing.target_lane = task.network.left_of(ego.lane).unwrap();
        assert!(!roll(&task, &mut changing, 5));
        let mut leaving = ego;
        assert!(!roll(&task, &mut leaving, 1_000));
    }
}
