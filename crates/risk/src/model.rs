//! What does each action risk?
//!
//! [`RiskModel::assess`] predicts the ego under each action with its own controller for one
//! decision, then under each [`Backup`] until the horizon, among others who may do anything that
//! `forecast` thinks possible. An action costs
//!
//! ```text
//!   max( worst proximity in the coming decision, min over backups of the worst proximity after it )
//! ```
//!
//! so that 0 means: nothing comes near now, and a way out remains. What lies beyond the coming
//! decision fades with time ([`RiskSpec::fade`]), since it can still be averted; what takes an
//! unlikely habit of another driver weighs less ([`Habits::weight`](crate::Habits::weight)). Both
//! keep the costs of bad actions apart, so that the least of them is the one to take.
//!
//! **Invariants:** every cost is in [0, 1] and never NaN; an action that leads into an overlap in
//! the coming decision costs 1; a scene without an ego costs 1 throughout; the same scene costs the
//! same, bit for bit; nothing is allocated once the busiest scene has been seen.
//!
//! **Absent on purpose:** other drivers' plans, timers and parameters, which a [`Scene`] does not
//! hold; thresholds and choices, which belong to the shield.

use std::ops::Range;
use std::sync::Arc;

use cpss_highway::action::Controls;
use cpss_highway::control::obey;
use cpss_highway::scene::Body;
use cpss_highway::vehicle::{Driver, Vehicle};
use cpss_highway::{Action, Scene, Task, World};

use crate::forecast::{Forecast, Hazard, distance};
use crate::pilot::{Pilot, predict};
use crate::proximity::{Pose, Proximity};
use crate::roadmap::Roadmap;
use crate::spec::{Backup, OutOfRange, RiskSpec};

/// Judges scenes of one task. Keep one per thread: it owns its work space.
#[derive(Clone, Debug)]
pub struct RiskModel {
    task: Arc<Task>,
    spec: RiskSpec,
    map: Roadmap,
    pilot: Pilot,
    /// Frames between two looks.
    stride: usize,
    /// Frames until the horizon.
    frames: usize,
    /// Steps per look while escaping: fewer than frames where the ego allows it.
    strides: usize,
    forecast: Forecast,
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
    /// rim, linearly in between.
    pub density: f64,
}

/// The moment that an action's cost is due to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conflict {
    /// What comes too close.
    pub hazard: Hazard,
    /// When \[s\], from now.
    pub time: f64,
    /// The gap then \[m\]; negative for an overlap.
    pub clearance: f64,
}

/// The worst so far of one predicted drive.
#[derive(Clone, Copy)]
struct Worst {
    cost: f64,
    conflict: Option<Conflict>,
}

/// The longest step in which an ego under meta-actions is predicted while escaping \[s\]: its
/// steering, which closes in on a heading within 0.2 s, has to stay stable.
const LONGEST_STEP: f64 = 0.17;

impl RiskModel {
    /// A model for a task.
    ///
    /// # Errors
    ///
    /// The first number of the spec that makes no sense.
    pub fn new(task: &Arc<Task>, spec: RiskSpec) -> Result<RiskModel, OutOfRange> {
        spec.check()?;
        let whole = |time: f64| (time / task.frame_time).round().max(1.0) as usize;
        let stride = whole(spec.sample_time);
        // Whole looks, and at least the coming decision.
        let frames = whole(spec.horizon).max(task.frames).div_ceil(stride) * stride;
        let actions = task.controls.action_count().unwrap_or(0);
        let look_time = stride as f64 * task.frame_time;
        let coarse = (look_time / LONGEST_STEP).ceil() as usize;
        let is_coarse =
            matches!(task.controls, Controls::Meta { .. }) && task.frames.is_multiple_of(stride);
        let strides = if is_coarse { coarse.min(stride) } else { stride };
        let pilot = Pilot::new(task, World::new(Arc::clone(task), 0).ego());
        Ok(RiskModel {
            map: Roadmap::new(&task.network),
            pilot,
            stride,
            frames,
            strides,
            forecast: Forecast::new(frames / stride, look_time),
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
        self.assessment.costs.clear();
        self.assessment.conflicts.clear();
        self.assessment.density = 0.0;
        let start = scene.ego.map(|ego| {
            self.forecast.look(scene, &ego.body, &self.spec, &self.task, &self.map);
            self.assessment.density = density(scene, &ego.body, self.spec.reach);
            ego.vehicle()
        });
        let mut likeliest = 0;
        for action in actions {
            let judged = match &start {
                Some(ego) if self.task.controls.check(action).is_ok() => {
                    self.judge(ego, action, &mut likeliest)
                }
                _ => Worst { cost: 1.0, conflict: None },
            };
            self.assessment.costs.push(judged.cost);
            self.assessment.conflicts.push(judged.conflict);
        }
        &self.assessment
    }

    /// What the present moment costs, whoever is to blame: the proximity of the closest body (or,
    /// for an ego that steers itself, of the edge of the road), and 1 after a crash. The margin
    /// is the spec's, the same for everyone who drives.
    pub fn realised_cost(&self, scene: &Scene) -> f64 {
        let Some(ego) = &scene.ego else { return 1.0 };
        if ego.body.crashed {
            return 1.0;
        }
        let margin = &self.spec.margin;
        let pose = Pose::of(&ego.body);
        let bodies = scene.others.iter().chain(&scene.obstacles);
        let bodies = bodies.map(|body| margin.proximity(&pose, &Pose::of(body)));
        let edge = self.edge_distance(&ego.vehicle());
        let edge = edge.map(|distance| margin.boundary_proximity(distance));
        bodies.chain(edge).fold(0.0, |worst, found| found.cost.max(worst))
    }

    /// The smallest distance \[m\] from the ego's centre to another car's, or, for an ego that
    /// steers itself, to the edge of the road; `None` if there is neither.
    pub fn min_distance(&self, scene: &Scene) -> Option<f64> {
        let ego = scene.ego.as_ref()?;
        let cars = scene.others.iter().map(|car| distance(car, &ego.body));
        let edge = self.edge_distance(&ego.vehicle()).map(|distance| distance.max(0.0));
        cars.chain(edge).min_by(f64::total_cmp)
    }

    /// The cost of one action. `likeliest` is the place of the backup to try first, and becomes
    /// that of the one that worked: what saves the ego after one action often does after the next.
    /// The order changes how soon the least cost is found, not the cost.
    fn judge(&self, start: &Vehicle, action: Action<'_>, likeliest: &mut usize) -> Worst {
        let mut ego = start.clone();
        obey(&self.task, &mut ego, action);
        let mut now = Worst { cost: 0.0, conflict: None };
        self.drive(&mut ego, 0..self.task.frames, 1.0, &mut now);
        let mut best = Worst { cost: f64::INFINITY, conflict: None };
        let first = *likeliest;
        let places = 0..self.spec.backups.len();
        for place in std::iter::once(first).chain(places.filter(|place| *place != first)) {
            if now.cost >= 1.0 {
                break;
            }
            let mut after = now;
            let backup = self.spec.backups[place];
            if self.escape(&ego, backup, best.cost, &mut after) && after.cost < best.cost {
                best = after;
            }
            if best.cost <= now.cost {
                *likeliest = place;
                break;
            }
        }
        // Without any backup that can be carried out, only the coming decision is known.
        if best.cost.is_finite() { best } else { now }
    }

    /// Drives on under a backup until the horizon, or until it is no better than `bound`. Returns
    /// whether the backup can be carried out.
    fn escape(&self, from: &Vehicle, backup: Backup, bound: f64, worst: &mut Worst) -> bool {
        let mut ego = from.clone();
        let home = self.task.network.lane_offset(ego.lane);
        let mut frame = self.task.frames;
        let mut step = 0;
        while frame < self.frames && worst.cost < bound {
            if !self.pilot.command(&self.task, &mut ego, backup, step, home) {
                return false;
            }
            let until = (frame + self.task.frames).min(self.frames);
            if self.strides < self.stride {
                self.drive_coarsely(&mut ego, frame..until, bound, worst);
            } else {
                self.drive(&mut ego, frame..until, bound, worst);
            }
            frame = until;
            step += 1;
        }
        true
    }

    /// Drives the ego over some frames, one by one, and notes the worst look, until it is no better
    /// than `bound`.
    fn drive(&self, ego: &mut Vehicle, frames: Range<usize>, bound: f64, worst: &mut Worst) {
        for frame in frames {
            if worst.cost >= bound {
                return;
            }
            predict(&self.task, ego, self.task.frame_time);
            if (frame + 1).is_multiple_of(self.stride) {
                self.look(ego, (frame + 1) / self.stride, worst);
            }
        }
    }

    /// The same in longer steps, over frames that begin and end at looks. A way out is planned
    /// anew at every decision, so it need not be known to the centimetre.
    fn drive_coarsely(
        &self,
        ego: &mut Vehicle,
        frames: Range<usize>,
        bound: f64,
        worst: &mut Worst,
    ) {
        let dt = self.task.frame_time * self.stride as f64 / self.strides as f64;
        for look in frames.start / self.stride + 1..=frames.end / self.stride {
            if worst.cost >= bound {
                return;
            }
            for _ in 0..self.strides {
                predict(&self.task, ego, dt);
            }
            self.look(ego, look, worst);
        }
    }

    /// Notes how close the ego is to everything at a look (from 1).
    #[inline]
    fn look(&self, ego: &Vehicle, look: usize, worst: &mut Worst) {
        let margin = &self.spec.margin;
        let time = (look * self.stride) as f64 * self.task.frame_time;
        if let Some((proximity, hazard)) = self.forecast.worst_at(look, &Pose::of_ego(ego), margin)
        {
            self.note(proximity, hazard, time, worst);
        }
        if let Some(distance) = self.edge_distance(ego) {
            self.note(margin.boundary_proximity(distance), Hazard::Boundary, time, worst);
        }
    }

    fn note(&self, proximity: Proximity, hazard: Hazard, time: f64, worst: &mut Worst) {
        let horizon = self.frames as f64 * self.task.frame_time;
        let later = (time - self.task.decision_time).max(0.0) / horizon;
        let cost = proximity.cost * (1.0 - self.spec.fade * later);
        if cost > worst.cost {
            let conflict = Conflict { hazard, time, clearance: proximity.clearance };
            *worst = Worst { cost, conflict: Some(conflict) };
        }
    }

    /// How far the ego's centre is from the edge of the road \[m\], negative beyond it; `None` for
    /// an ego that holds a lane by itself and for one far from any edge.
    fn edge_distance(&self, ego: &Vehicle) -> Option<f64> {
        if ego.driver != Driver::Raw {
            return None;
        }
        let network = &self.task.network;
        let lane = network.lane(ego.lane);
        let half = lane.width / 2.0;
        if !lane.contains(ego.along, ego.across, 0.0) {
            // Also between two lanes that do not quite meet, which the world takes for off road.
            return Some((half - ego.across.abs()).min(0.0));
        }
        let left = network.left_of(ego.lane).is_none().then_some(half + ego.across);
        let right = network.right_of(ego.lane).is_none().then_some(half - ego.across);
        left.into_iter().chain(right).min_by(f64::total_cmp)
    }
}

fn density(scene: &Scene, ego: &Body, reach: f64) -> f64 {
    scene.others.iter().map(|car| (1.0 - distance(car, ego) / reach).max(0.0)).sum()
}
