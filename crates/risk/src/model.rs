//! What does each action risk?
//!
//! [`RiskModel::assess`] predicts the ego under each action with its own controller for one
//! decision, then under each [`Backup`] until the horizon, among others who may do anything that
//! `forecast` thinks possible, or, where drivers make way for each other, who drive by the book
//! (`rehearse`). An action costs
//!
//! ```text
//!   max( worst proximity in the coming decision, min over backups of the worst proximity after it )
//! ```
//!
//! so that 0 means: nothing comes near now, and a way out remains. What lies beyond the coming
//! decision fades with time ([`RiskSpec::fade`]), since it can still be averted.
//!
//! What takes an unlikely habit of another driver weighs less
//! ([`Habits::unlikely`](crate::Habits::unlikely)), and counts only as far as it can be **avoided**:
//! by how much an action is worse than the best one, as a share of what could be lost or saved at
//! all. A sudden braking that would end badly whatever the ego does is no reason to refuse any
//! action, nor to prefer one; but where much cannot be avoided any more, the little that can counts
//! the more. What is likely counts in full, avoidable or not, so that a scene without a way out says
//! so.
//!
//! **Invariants:** every cost is in [0, 1] and never NaN; an action that leads into a likely overlap
//! in the coming decision costs 1, weighed if it is only expected; a scene without an ego, or with a number in it that is
//! none, costs 1 throughout and has no density; the same scene costs the
//! same, bit for bit; nothing is allocated once the busiest scene has been seen.
//!
//! **Absent on purpose:** other drivers' plans, timers and parameters, which a [`Scene`] does not
//! hold; thresholds and choices, which belong to the shield.

use std::ops::Range;
use std::sync::Arc;

use cpss_highway::action::Controls;
use cpss_highway::control::{drive_on, obey};
use cpss_highway::driver::HEADING_GAIN;
use cpss_highway::road::LaneId;
use cpss_highway::scene::{Body, Ego};
use cpss_highway::vehicle::{Driver, LENGTH, Vehicle, WIDTH};
use cpss_highway::{Action, Scene, Task, World};

use crate::forecast::{Forecast, Hazard, distance};
use crate::helm::settled;
use crate::looks::Looks;
use crate::pilot::{Pilot, Progress, close_in, predict, roll, settle};
use crate::proximity::Pose;
use crate::rehearse::{Rehearsals, Terms};
use crate::roadmap::{Roadmap, edge_distance};
use crate::spec::{Backup, OutOfRange, RiskSpec};
use crate::traffic::Whereabouts;
use crate::way::Way;
use crate::worst::{Fading, Moment, Worst};

/// Judges scenes of one task. Keep one per thread: it owns its work space.
#[derive(Clone, Debug)]
pub struct RiskModel {
    task: Arc<Task>,
    spec: RiskSpec,
    map: Roadmap,
    pilot: Pilot,
    /// The spec's ways out, without those that the task's controls could not command.
    backups: Vec<Backup>,
    looks: Looks,
    /// Whether an escaping ego may be driven in steps longer than a frame.
    is_coarse: bool,
    /// Whether one that has settled in its lane may be moved along it instead of being steered.
    may_ride: bool,
    fading: Fading,
    /// The moments of the looks, from now on.
    moments: Vec<Moment>,
    forecast: Forecast,
    rehearsals: Rehearsals,
    /// For each action, the likely part of its cost.
    likely: Vec<f64>,
    /// What the ego would aim for after each action judged so far, and what came of it.
    judged: Vec<(Aim, Worst)>,
    assessment: Assessment,
}

/// What the actions of a scene cost, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// Cost of each action, in [0, 1].
    pub costs: Vec<f64>,
    /// For each action, what its cost is due to; `None` where it costs nothing.
    pub conflicts: Vec<Option<Conflict>>,
    /// How crowded it is around the ego: each car within reach counts 1 at the ego and 0 at the
    /// rim, linearly in between. NaN, which a shield refuses, if the scene cannot be read.
    pub density: f64,
}

/// The moment that an action's cost is due to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conflict {
    /// What comes too close.
    pub hazard: Hazard,
    /// When \[s\], from now. For an ego with raw controls, when an overlap began, as far as its depth tells.
    pub time: f64,
    /// The gap at that look \[m\]; negative for an overlap.
    pub clearance: f64,
}

/// What an ego under meta-actions aims for: all that an action changes about it.
type Aim = (LaneId, f64);

/// The longest step in which an ego under meta-actions is predicted while escaping \[s\]: its
/// steering, which closes in on a heading within 0.2 s, has to stay stable.
const LONGEST_STEP: f64 = 0.17;

/// For how many times as long as it takes to turn an order may be held by an ego that keeps its lane.
const LONGEST_HOLD: f64 = 1.5;

/// Speed at which an ego with raw controls is taken to run into whoever is ahead \[m/s\]: by it, how deep an overlap is tells
/// when it began.
const CATCHING_UP: f64 = 3.5;

impl RiskModel {
    /// A model for a task.
    ///
    /// # Errors
    ///
    /// The first number of the spec that makes no sense.
    pub fn new(task: &Arc<Task>, spec: RiskSpec) -> Result<RiskModel, OutOfRange> {
        spec.check()?;
        let even = Looks::new(task, spec.horizon, spec.sample_time, false);
        let is_coarse = matches!(task.controls, Controls::Meta { .. })
            && task.frames.is_multiple_of(even.stride)
            && even.stride_time() > LONGEST_STEP;
        let looks = Looks::new(task, spec.horizon, spec.sample_time, is_coarse);
        let actions = task.controls.action_count().unwrap_or(0);
        let rehearsals = Rehearsals::new(task, &spec);
        let pilot = Pilot::new(task, World::new(Arc::clone(task), 0).ego());
        let map = Roadmap::new(&task.network);
        // Orders that are held for longer than it takes to turn would not keep it in its lane.
        let may_ride = pilot.has_raw_controls()
            && HEADING_GAIN * task.decision_time < LONGEST_HOLD
            && map.is_endless(&task.network);
        let span = if spec.guesses.is_empty() { looks.span() } else { rehearsals.span(task) };
        let fading = Fading::new(task, &spec, span);
        Ok(RiskModel {
            map,
            may_ride,
            backups: spec
                .backups
                .iter()
                .copied()
                .filter(|backup| pilot.knows(task, backup))
                .collect(),
            pilot,
            looks,
            is_coarse,
            fading,
            moments: (0..=looks.count()).map(|look| fading.at(looks.time(look))).collect(),
            forecast: Forecast::new(looks, &spec),
            rehearsals,
            likely: Vec::with_capacity(actions),
            judged: Vec::with_capacity(actions),
            assessment: Assessment {
                costs: Vec::with_capacity(actions),
                conflicts: Vec::with_capacity(actions),
                density: 0.0,
            },
            task: Arc::clone(task),
            spec,
        })
    }

    /// The spec, checked.
    pub fn spec(&self) -> &RiskSpec {
        &self.spec
    }

    /// Judges every discrete action of the task; none if its actions are points of a box.
    ///
    /// ```
    /// use cpss_highway::{Scene, Task, TaskId, World};
    /// use cpss_risk::{RiskModel, RiskSpec};
    ///
    /// let task = Task::with_defaults(TaskId::HighwayV0);
    /// let mut model = RiskModel::new(&task, RiskSpec::for_task(task.id))?;
    /// let mut scene = Scene::default();
    /// scene.observe(&World::new(task, 7));
    /// let assessment = model.assess(&scene);
    /// assert_eq!(assessment.costs.len(), 5);
    /// # Ok::<(), cpss_risk::OutOfRange>(())
    /// ```
    pub fn assess(&mut self, scene: &Scene) -> &Assessment {
        let actions = self.task.controls.action_count().unwrap_or(0);
        self.assess_each(scene, (0..actions).map(Action::Index))
    }

    /// Judges the given actions, such as candidate points of a box, in order.
    pub fn assess_each<'a>(
        &mut self,
        scene: &Scene,
        actions: impl IntoIterator<Item = Action<'a>>,
    ) -> &Assessment {
        self.likely.clear();
        self.judged.clear();
        self.assessment.costs.clear();
        self.assessment.conflicts.clear();
        self.assessment.density = 0.0;
        let readable = scene.ego.filter(|_| is_readable(scene));
        if readable.is_none() {
            // Nor is the density known; what cannot be read is taken for the worst there is.
            self.assessment.density = f64::NAN;
        }
        let start = readable.map(|ego| {
            if self.spec.guesses.is_empty() {
                self.forecast.look(scene, &ego, &self.spec, &self.task, &self.map);
            } else {
                self.rehearsals.set(scene, &self.spec.guesses, &self.task);
            }
            self.assessment.density = density(scene, &ego.body, self.spec.reach);
            ego.vehicle()
        });
        let mut likeliest = 0;
        for action in actions {
            let judged = match &start {
                Some(ego) if self.task.controls.check(action).is_ok() => {
                    self.judge(ego, action, &mut likeliest)
                }
                _ => Worst::CERTAIN,
            };
            self.likely.push(judged.likely);
            self.assessment.costs.push(judged.cost);
            self.assessment.conflicts.push(judged.conflict);
        }
        // What no action avoids says nothing about which to take.
        let unavoidable = self.assessment.costs.iter().copied().fold(1.0, f64::min);
        let habits = &self.spec.habits;
        let Assessment { costs, conflicts, .. } = &mut self.assessment;
        for ((cost, conflict), likely) in costs.iter_mut().zip(conflicts).zip(&self.likely) {
            *cost = likely.max(habits.at_stake(*cost, unavoidable));
            *conflict = conflict.filter(|_| *cost > 0.0);
        }
        &self.assessment
    }

    /// What the present moment costs, whoever is to blame: the proximity of the closest body (or,
    /// for an ego that steers itself, of the edge of the road), and 1 after a crash. The margin
    /// is the spec's, the same for everyone who drives.
    pub fn realised_cost(&self, scene: &Scene) -> f64 {
        let Some(ego) = &scene.ego else { return 1.0 };
        if ego.body.crashed || !is_readable(scene) {
            return 1.0;
        }
        let margin = &self.spec.margin;
        let pose = Pose::of(&ego.body);
        let bodies = scene.others.iter().chain(&scene.obstacles);
        let bodies = bodies.map(|body| margin.proximity(&pose, &Pose::of(body)));
        let edge = edge_distance(&ego.vehicle(), &self.task.network);
        let edge = edge.map(|distance| margin.boundary_proximity(distance));
        bodies.chain(edge).fold(0.0, |worst, found| found.cost.max(worst))
    }

    /// The smallest distance \[m\] from the ego's centre to another car's, or, for an ego that
    /// steers itself, to the edge of the road; `None` if there is neither.
    pub fn min_distance(&self, scene: &Scene) -> Option<f64> {
        let ego = scene.ego.as_ref()?;
        let cars = scene.others.iter().map(|car| distance(car, &ego.body));
        let edge = edge_distance(&ego.vehicle(), &self.task.network);
        let edge = edge.map(|distance| distance.max(0.0));
        cars.chain(edge).min_by(f64::total_cmp)
    }

    /// The cost of one action. `likeliest` is the place of the backup to try first, and becomes
    /// that of the one that worked: what saves the ego after one action often does after the next.
    /// The order changes how soon the least cost is found, not the cost.
    fn judge(&mut self, start: &Vehicle, action: Action<'_>, likeliest: &mut usize) -> Worst {
        let mut ego = start.clone();
        obey(&self.task, &mut ego, action);
        if ego.driver == Driver::Raw {
            return self.judge_order(ego, action, likeliest);
        }
        // At its fastest an ego can only go on, and at the edge of the road too.
        let aim = (ego.target_lane, ego.target_speed);
        if let Some((_, known)) = self.judged.iter().find(|(judged, _)| *judged == aim) {
            return *known;
        }
        let found = self.judge_order(ego, action, likeliest);
        self.judged.push((aim, found));
        found
    }

    /// The cost of an ego that has its orders, by whichever kind of foresight the task asks for.
    fn judge_order(&mut self, ego: Vehicle, action: Action<'_>, likeliest: &mut usize) -> Worst {
        let RiskModel { task, spec, pilot, fading, .. } = self;
        if spec.guesses.is_empty() {
            return self.judge_among_tracks(ego, likeliest);
        }
        self.rehearsals.judge(action, &Terms { task, spec, pilot, fading })
    }

    /// The cost of an ego that has its orders, among others on their tracks.
    fn judge_among_tracks(&mut self, mut ego: Vehicle, likeliest: &mut usize) -> Worst {
        // With raw controls it may steer anywhere. A lane goes on across a joint of two roads.
        let place = |lane| self.task.network.lane_offset(lane);
        let leaves = ego.driver == Driver::Raw || place(ego.target_lane) != place(ego.lane);
        self.forecast.suppose(if leaves { Whereabouts::Gone } else { Whereabouts::OnItsLane });
        let mut now = Worst::NONE;
        self.drive(&mut ego, 0..self.task.frames, &Worst::CERTAIN, &mut now);
        let mut best: Option<Worst> = None;
        let first = *likeliest;
        let others = (0..self.backups.len()).filter(|place| *place != first);
        for place in std::iter::once(first).chain(others).take(self.backups.len()) {
            if now.likely >= 1.0 {
                break;
            }
            let bound = best.unwrap_or(Worst::BEYOND);
            let mut after = now;
            if !self.escape(&ego, self.backups[place], &bound, &mut after) {
                continue;
            }
            let found = bound.or_better(&after);
            best = Some(found);
            if !found.is_worse_than(&now) {
                *likeliest = place;
                break;
            }
        }
        // Without any backup that can be carried out, only the coming decision is known.
        best.unwrap_or(now)
    }

    /// Drives on under a backup until the horizon, or until it is no better than `bound`. Returns
    /// whether the backup can be carried out.
    fn escape(&self, from: &Vehicle, backup: Backup, bound: &Worst, worst: &mut Worst) -> bool {
        let mut ego = from.clone();
        let home = self.task.network.lane_offset(ego.lane);
        let mut frame = self.task.frames;
        let mut step = 0;
        while frame < self.looks.frames && bound.is_worse_than(worst) {
            // What is later weighs less, and from here on nothing can keep it from being carried out.
            let weight = self.moments[self.looks.until(frame)].weight;
            if worst.is_beyond(weight) && backup.keeps_lane_from(step) {
                return true;
            }
            let progress = Progress { backup, step, home };
            if !self.pilot.command(&self.task, &mut ego, progress) {
                return false;
            }
            if self.may_ride
                && let Some(way) = settled(&self.task, &ego, progress)
            {
                self.ride(&ego, way, frame, bound, worst);
                return true;
            }
            // Later on the orders only repeat, and every other one will do.
            let decisions = if frame < self.looks.early { 1 } else { 2 };
            let until = (frame + decisions * self.task.frames).min(self.looks.frames);
            if self.is_coarse {
                self.drive_coarsely(&mut ego, frame..until, bound, worst);
            } else {
                self.drive(&mut ego, frame..until, bound, worst);
            }
            frame = until;
            step += 1;
        }
        true
    }

    /// Drives the ego over some frames as the world would, and notes the worst look, until it is no
    /// better than `bound`.
    fn drive(&self, ego: &mut Vehicle, frames: Range<usize>, bound: &Worst, worst: &mut Worst) {
        let Range { start: mut frame, end } = frames;
        while frame < end && bound.is_worse_than(worst) {
            let next = (frame + 1).next_multiple_of(self.looks.stride).min(end);
            if ego.driver == Driver::Raw {
                drive_on(&self.task, ego, next - frame);
            } else if !roll(&self.task, ego, next - frame) {
                for _ in frame..next {
                    predict(&self.task, ego, self.task.frame_time);
                }
            }
            frame = next;
            if frame.is_multiple_of(self.looks.stride) {
                self.look(ego, self.looks.until(frame), worst);
            }
        }
    }

    /// The same from a frame to the horizon for an ego that keeps its lane at its speed.
    fn ride(&self, ego: &Vehicle, mut way: Way, frame: usize, bound: &Worst, worst: &mut Worst) {
        let network = &self.task.network;
        let mut time = frame as f64 * self.task.frame_time;
        for look in self.looks.until(frame) + 1..=self.looks.count() {
            if !bound.is_worse_than(worst) {
                return;
            }
            let earlier = std::mem::replace(&mut time, self.looks.time(look));
            way.go(ego.speed * (time - earlier), 1.0, network, &self.map);
            let pose = way.pose(ego.speed, [LENGTH / 2.0, WIDTH / 2.0], network);
            self.look_at_others(&pose, look, worst);
        }
    }

    /// The same in longer steps, over frames that begin and end at looks. A way out is planned
    /// anew at every decision, so it need not be known to the centimetre.
    fn drive_coarsely(
        &self,
        ego: &mut Vehicle,
        frames: Range<usize>,
        bound: &Worst,
        worst: &mut Worst,
    ) {
        for look in self.looks.until(frames.start) + 1..=self.looks.until(frames.end) {
            if !bound.is_worse_than(worst) {
                return;
            }
            let strides = self.looks.strides(look) - self.looks.strides(look - 1);
            settle(&self.task, ego);
            if !roll(&self.task, ego, strides * self.looks.stride) {
                let span = strides as f64 * self.looks.stride_time();
                let steps = (span / LONGEST_STEP).ceil();
                let dt = span / steps;
                if !close_in(&self.task, ego, dt, steps as usize) {
                    for _ in 0..steps as usize {
                        predict(&self.task, ego, dt);
                    }
                }
            }
            self.look(ego, look, worst);
        }
    }

    /// Notes how close the ego is to everything at a look (from 1).
    #[inline]
    fn look(&self, ego: &Vehicle, look: usize, worst: &mut Worst) {
        self.look_at_others(&Pose::of_ego(ego), look, worst);
        if let Some(distance) = edge_distance(ego, &self.task.network) {
            let edge = self.spec.margin.boundary_proximity(distance);
            worst.note(edge.cost, edge, Hazard::Boundary, self.moments[look]);
        }
    }

    /// Notes how close the ego is to other bodies at a look.
    #[inline]
    fn look_at_others(&self, ego: &Pose, look: usize, worst: &mut Worst) {
        let mut moment = self.moments[look];
        let is_raw = self.pilot.has_raw_controls();
        let stride = self.looks.stride_time();
        // An overlap may have begun a little earlier.
        let most = if is_raw { self.fading.at(moment.time - stride).weight } else { moment.weight };
        let close = self.forecast.worst_at(look, ego, &self.spec.margin, worst, most);
        let Some((proximity, hazard)) = close.any else { return };
        if is_raw {
            // Of two ways that end in the same car, weaving wins a few decimetres over the other in a decision.
            let ago = (-proximity.clearance).max(0.0) / CATCHING_UP;
            moment = self.fading.at(moment.time - ago.min(stride));
        }
        worst.note(close.likely, proximity, hazard, moment);
    }
}

/// Whether every number of a scene is one. A NaN that got into a prediction could be lost in a
/// comparison there, and a body with it; so it does not get in.
fn is_readable(scene: &Scene) -> bool {
    let is_finite = |body: &Body| {
        let [x, y] = body.position;
        let Body { heading, cos, sin, speed, length, width, along, across, .. } = *body;
        let [bound_x, bound_y] = body.bound_for.unwrap_or_default();
        let acceleration = body.acceleration.unwrap_or(0.0);
        [x, y, heading, cos, sin, speed, length, width, along, across, bound_x, bound_y]
            .iter()
            .chain([&acceleration])
            .all(|number| number.is_finite())
    };
    let is_sane = |ego: &Ego| {
        let [slowest, fastest] = ego.speed_range;
        is_finite(&ego.body)
            && [ego.target_speed, ego.slip_sin, slowest, fastest]
                .iter()
                .all(|number| number.is_finite())
    };
    scene.ego.as_ref().is_some_and(is_sane)
        && scene.others.iter().chain(&scene.obstacles).all(is_finite)
}

fn density(scene: &Scene, ego: &Body, reach: f64) -> f64 {
    scene.others.iter().map(|car| (1.0 - distance(car, ego) / reach).max(0.0)).sum()
}
