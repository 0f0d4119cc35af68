//! How would an ego with raw controls get out of this?
//!
//! A [`Helm`] steers along lanes, and weaves, with the controls that the task has. An ego without brakes loses
//! way by weaving only: from edge to edge of a road of ten metres at full lock it gets on a quarter slower.
//!
//! Start at [`Helm::command`].

use cpss_highway::Task;
use cpss_highway::action::{Controls, Pedals};
use cpss_highway::driver::steer_along;
use cpss_highway::road::LaneId;
use cpss_highway::vehicle::{LENGTH, Vehicle};

use crate::pilot::Progress;
use crate::spec::Backup;
use crate::way::Way;

/// Turns a backup into raw controls.
#[derive(Clone, Debug)]
pub(crate) struct Helm {
    /// What each discrete action does; empty where any point of a box can be asked for.
    commands: Vec<Command>,
    /// Hardest braking that can be asked for \[m/s²\].
    hardest_brake: f64,
    /// Sine of the largest slip to the left, which is negative as a rule, and to the right.
    slips: [f64; 2],
}

/// What a raw action makes of the ego's controls.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// \[m/s²\].
    acceleration: f64,
    slip_sin: f64,
    slip_cos: f64,
}

/// How much a slip of one counts against an acceleration of one m/s² in choosing a raw action.
const SLIP_WEIGHT: f64 = 20.0;
/// Angle to its lane up to which an ego goes straight on \[rad\].
const STRAIGHT_ON: f64 = 0.05;
/// Room that weaving leaves at the edges of the road \[m\].
const EDGE_ROOM: f64 = 0.6;
/// How far off the middle of a lane an ego may be to count as there \[m\], and at which angle \[rad\].
const ALMOST_CENTRED: f64 = 0.6;
const ALMOST_PARALLEL: f64 = 0.25;

impl Helm {
    /// Reads what the task's actions do; `None` if they are no raw controls.
    pub(crate) fn new(task: &Task, ego: &Vehicle) -> Option<Helm> {
        let read = |pedals: &Pedals, point: &[f32]| {
            let command = pedals.command(point);
            let mut car = ego.clone();
            car.steer(command.steering);
            let Vehicle { slip_sin, slip_cos, .. } = car;
            Command { acceleration: command.acceleration, slip_sin, slip_cos }
        };
        let (pedals, points) = match &task.controls {
            Controls::Meta { .. } => return None,
            Controls::Continuous(pedals) => (pedals, &[][..]),
            Controls::Discrete { pedals, points } => (pedals, &points[..]),
        };
        let [low, high] = [-1.0, 1.0].map(|end| read(pedals, &[end; 2]));
        Some(Helm {
            commands: points.iter().map(|point| read(pedals, point)).collect(),
            hardest_brake: low.acceleration,
            // A steering range may be so wide that its tangent turns over.
            slips: [low.slip_sin.min(high.slip_sin), low.slip_sin.max(high.slip_sin)],
        })
    }

    /// The part of [`Pilot::command`](crate::pilot::Pilot::command) that takes raw controls.
    pub(crate) fn command(&self, task: &Task, ego: &mut Vehicle, progress: Progress) -> bool {
        let Progress { backup, step, home } = progress;
        let time = step as f64 * task.decision_time;
        match backup {
            Backup::Meta(_) => false,
            Backup::Steer { sides, after, brakes } => {
                if brakes && self.hardest_brake >= 0.0 {
                    return false;
                }
                let side = sides[usize::from(time >= after)];
                let Some(lane) = lane_beside(task, ego, home, side) else { return false };
                steer_along(ego, lane, &task.network);
                // Braking ends at standstill: a raw ego could go on backwards.
                let stop = -ego.speed / task.decision_time;
                let pedal = if brakes { stop.clamp(self.hardest_brake, 0.0) } else { 0.0 };
                self.settle_for(ego, pedal);
                true
            }
            Backup::Weave { first, until, side } => {
                let Some(lane) = lane_beside(task, ego, home, side) else { return false };
                if time < until {
                    ego.slip_sin = self.weave(task, ego, first);
                } else {
                    steer_along(ego, lane, &task.network);
                }
                self.settle_for(ego, 0.0);
                true
            }
        }
    }

    /// The slip that weaving takes: full lock to the side to which the ego goes, as long as the other lock would
    /// still keep it on the road after this decision.
    fn weave(&self, task: &Task, ego: &Vehicle, first: i8) -> f64 {
        let network = &task.network;
        let lane = network.lane(ego.lane);
        let angle = lane.angle_at(ego.along, ego.heading);
        let side = if angle.abs() > STRAIGHT_ON { angle.signum() } else { f64::from(first) };
        let place = network.lane_offset(ego.lane);
        let lanes = network.lane_count(network.road_of(ego.lane));
        let beyond = if side > 0.0 { lanes - 1 - place } else { place };
        let room = lane.width * (0.5 + beyond as f64) - side * ego.across - EDGE_ROOM;
        // All of it as seen from that side, and as if the road went straight on.
        let lock = self.slips[1].min(-self.slips[0]).max(0.0);
        let slip = lock.asin();
        let radius = LENGTH / 2.0 / lock;
        let (mut across, mut heading) = (0.0, side * angle);
        for _ in 0..task.frames {
            across += ego.speed * (heading + slip).sin() * task.frame_time;
            heading += ego.speed / radius * task.frame_time;
        }
        let course = (heading - slip).max(0.0);
        let keeps_on = across + radius * (1.0 - course.cos()) <= room;
        lock * if keeps_on { side } else { -side }
    }

    /// Replaces the controls wished for by the closest that the task has.
    fn settle_for(&self, ego: &mut Vehicle, pedal: f64) {
        let wish = ego.slip_sin;
        let miss = |command: &Command| {
            (command.acceleration - pedal).abs() + SLIP_WEIGHT * (command.slip_sin - wish).abs()
        };
        match self.commands.iter().min_by(|a, b| miss(a).total_cmp(&miss(b))) {
            Some(command) => {
                ego.acceleration = command.acceleration;
                (ego.slip_sin, ego.slip_cos) = (command.slip_sin, command.slip_cos);
            }
            None => {
                ego.slip_sin = wish.clamp(self.slips[0], self.slips[1]);
                ego.slip_cos = (1.0 - ego.slip_sin * ego.slip_sin).sqrt();
                ego.acceleration = pedal;
            }
        }
    }
}

/// The way of an ego with raw controls that keeps its lane from now to the end of a backup, so that it need not be
/// steered to know where it goes; `None` if it is not that far.
pub(crate) fn settled(task: &Task, ego: &Vehicle, progress: Progress) -> Option<Way> {
    let Progress { backup, step, home } = progress;
    let time = step as f64 * task.decision_time;
    let side = match backup {
        Backup::Steer { sides: [first, last], after, brakes: false }
            if first == last || time >= after =>
        {
            last
        }
        Backup::Weave { until, side, .. } if time >= until => side,
        _ => return None,
    };
    let lane = task.network.lane(ego.lane);
    let [slowest, fastest] = ego.speed_range;
    let is_steady = ego.acceleration == 0.0
        && !ego.crashed
        && (slowest.max(0.0)..=fastest).contains(&ego.speed);
    let is_there = is_steady
        && lane_beside(task, ego, home, side) == Some(ego.lane)
        && ego.across.abs() < ALMOST_CENTRED
        && lane.angle_at(ego.along, ego.heading).abs() < ALMOST_PARALLEL;
    is_there.then(|| Way::along(ego.lane, ego.along))
}

/// The lane of the ego's road that is `side` places to the right of place `home`.
fn lane_beside(task: &Task, ego: &Vehicle, home: usize, side: i8) -> Option<LaneId> {
    let place = home.checked_add_signed(isize::from(side))?;
    task.network.lane_at(task.network.road_of(ego.lane), place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roadmap::Roadmap;
    use cpss_highway::control::drive_on;
    use cpss_highway::{TaskId, World};
    use serde_json::json;

    fn racetrack() -> std::sync::Arc<Task> {
        let action =
            json!({"type": "DiscreteAction", "longitudinal": false, "actions_per_axis": 5});
        let config = json!({"other_vehicles": 0, "action": action});
        Task::new(TaskId::RacetrackV0, &config).unwrap()
    }

    /// Drives an ego under a backup for some decisions; says how far it came, and whether on the road.
    fn drive(task: &Task, ego: &mut Vehicle, backup: Backup, decisions: usize) -> (f64, bool) {
        let helm = Helm::new(task, ego).unwrap();
        let home = task.network.lane_offset(ego.lane);
        let (mut come, mut stayed) = (0.0, true);
        for step in 0..decisions {
            assert!(helm.command(task, ego, Progress { backup, step, home }));
            let lane = task.network.lane(ego.lane);
            let before = lane.local_coordinates(ego.position()).0;
            let direction = lane.heading_at(before).sin_cos();
            let [x, y] = ego.position();
            drive_on(task, ego, task.frames);
            come += (ego.x - x) * direction.1 + (ego.y - y) * direction.0;
            stayed &= ego.on_road(&task.network);
        }
        (come, stayed)
    }

    #[test]
    fn weaving_loses_way_and_stays_on_the_road() {
        let task = racetrack();
        for (seed, first) in [(0, -1), (1, 1), (2, -1), (3, 1), (4, -1), (5, 1)] {
            let mut ego = World::new(task.clone(), seed).ego().clone();
            let weave = Backup::Weave { first, until: 60.0, side: 0 };
            let (come, stayed) = drive(&task, &mut ego, weave, 20);
            assert!(stayed, "seed {seed}");
            let share = come / (ego.speed * 20.0 * task.decision_time);
            assert!(share < 0.82, "seed {seed}: {share}");
        }
    }

    #[test]
    fn an_ego_that_has_settled_goes_where_it_would_be_steered() {
        let task = racetrack();
        let map = Roadmap::new(&task.network);
        for seed in 0..20 {
            let mut ego = World::new(task.clone(), seed).ego().clone();
            let keep = Backup::Steer { sides: [0, 0], after: 0.0, brakes: false };
            drive(&task, &mut ego, keep, 1);
            let home = task.network.lane_offset(ego.lane);
            let mut way = settled(&task, &ego, Progress { backup: keep, step: 0, home })
                .expect("in the middle of its lane");
            for _ in 0..50 {
                drive(&task, &mut ego, keep, 1);
                way.go(ego.speed * task.decision_time, 1.0, &task.network, &map);
            }
            let pose = way.pose(ego.speed, [2.5, 1.0], &task.network);
            let apart = (ego.x - pose.position[0]).hypot(ego.y - pose.position[1]);
            assert!(apart < 2.0, "seed {seed}: {apart} m after ten seconds");
        }
    }

    #[test]
    fn a_helm_that_turns_one_way_only_steers_as_far_as_it_can() {
        let action = json!({
            "type": "ContinuousAction", "longitudinal": false, "steering_range": [-0.5, -0.1],
        });
        let config = json!({"other_vehicles": 0, "action": action});
        let task = Task::new(TaskId::RacetrackV0, &config).unwrap();
        let mut ego = World::new(task.clone(), 0).ego().clone();
        let helm = Helm::new(&task, &ego).unwrap();
        for backup in [
            Backup::Steer { sides: [0, 0], after: 0.0, brakes: false },
            Backup::Weave { first: 1, until: 60.0, side: 0 },
        ] {
            assert!(helm.command(&task, &mut ego, Progress { backup, step: 0, home: 0 }));
            assert!(ego.slip_sin < 0.0 && ego.slip_sin > -0.3, "{}", ego.slip_sin);
        }
    }

    #[test]
    fn an_ego_that_turns_or_will_has_not_settled() {
        let task = racetrack();
        let ego = World::new(task.clone(), 0).ego().clone();
        let home = task.network.lane_offset(ego.lane);
        let over = if home == 0 { 1 } else { -1 };
        let later = Backup::Steer { sides: [0, over], after: 1.0, brakes: false };
        assert!(settled(&task, &ego, Progress { backup: later, step: 0, home }).is_none());
        let weave = Backup::Weave { first: 1, until: 1.0, side: 0 };
        assert!(settled(&task, &ego, Progress { backup: weave, step: 0, home }).is_none());
        assert!(settled(&task, &ego, Progress { backup: weave, step: 5, home }).is_some());
        let change: [fn(&mut Vehicle); 4] = [
            |ego| ego.heading += 0.5,
            |ego| ego.speed = -3.0,
            |ego| ego.acceleration = 1.0,
            |ego| ego.crashed = true,
        ];
        for change in change {
            let mut other = ego.clone();
            change(&mut other);
            assert!(
                settled(&task, &other, Progress { backup: weave, step: 5, home }).is_none(),
                "{other:?}"
            );
        }
    }
}
