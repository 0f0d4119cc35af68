//! What would come of an action if everybody drove by the book?
//!
//! Where roads cross, drivers make way for each other and for the ego, so that nobody's track can be
//! foretold alone. There the whole scene is played on, with the ego under the action and then under each
//! [`Backup`](crate::Backup), once per [`Guess`] at what a scene does not show. A guess costs what its best
//! way out costs: which guess is right is known before the way out is needed. Over the guesses, an
//! action costs half their worst and half their mean: no guess is overlooked, and of two actions that
//! may both end badly the one with better odds is cheaper.
//!
//! Start at [`Rehearsals::judge`].
//!
//! **Invariants:** the same scene costs the same, bit for bit; a scene in which every guess ends in a
//! crash within the coming decision costs 1.
//!
//! **Absent on purpose:** unlikely habits. A guess is taken at its word.

use cpss_highway::control::obey;
use cpss_highway::rehearsal::{Guess, Rehearsal};
use cpss_highway::vehicle::{LENGTH, Vehicle, WIDTH};
use cpss_highway::{Action, Scene, Task};

use crate::forecast::Hazard;
use crate::looks::Looks;
use crate::pilot::Pilot;
use crate::proximity::{Pose, Proximity};
use crate::roadmap::edge_distance;
use crate::spec::{Backup, RiskSpec};
use crate::worst::{Fading, Worst};

/// A scene under every guess, and room to play it on.
#[derive(Clone, Debug)]
pub(crate) struct Rehearsals {
    /// The scene as it is, one per guess.
    starts: Vec<Rehearsal>,
    /// After the action.
    decided: Rehearsal,
    /// On a way out of that.
    escaping: Rehearsal,
    /// Bodies without a driver.
    obstacles: Vec<Pose>,
}

/// What does not change from scene to scene.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) task: &'a Task,
    pub(crate) spec: &'a RiskSpec,
    pub(crate) looks: &'a Looks,
    pub(crate) pilot: &'a Pilot,
    pub(crate) fading: &'a Fading,
}

impl Rehearsals {
    /// Room for some guesses.
    pub(crate) fn new(task: &Task, guesses: &[Guess]) -> Rehearsals {
        let empty = Rehearsal::new(task);
        Rehearsals {
            starts: vec![empty.clone(); guesses.len()],
            decided: empty.clone(),
            escaping: empty,
            obstacles: Vec::new(),
        }
    }

    /// Takes up a scene.
    pub(crate) fn set(&mut self, scene: &Scene, guesses: &[Guess], task: &Task) {
        for (start, guess) in self.starts.iter_mut().zip(guesses) {
            start.set(scene, guess, task);
        }
        self.obstacles.clear();
        self.obstacles.extend(scene.obstacles.iter().map(Pose::of));
    }

    /// What an action costs.
    pub(crate) fn judge(&mut self, action: Action<'_>, terms: &Terms<'_>) -> Worst {
        let mut worst = Worst::NONE;
        let mut mean = 0.0;
        for guess in 0..self.starts.len() {
            let found = self.judge_guess(guess, action, terms);
            mean += found.cost / self.starts.len() as f64;
            if found.cost > worst.cost {
                worst = found;
            }
        }
        // A rounding error in the mean must not lift the cost above the worst.
        let cost = ((worst.cost + mean) / 2.0).min(worst.cost);
        Worst { likely: cost, cost, ..worst }
    }

    /// What an action costs if a guess is right: the coming decision, and the best way out after it.
    fn judge_guess(&mut self, guess: usize, action: Action<'_>, terms: &Terms<'_>) -> Worst {
        let Terms { task, spec, .. } = *terms;
        self.decided.become_like(&self.starts[guess]);
        let Some(ego) = self.decided.ego_mut() else { return Worst::CERTAIN };
        obey(task, ego, action);
        let mut now = Worst::NONE;
        let coming = 0..task.frames;
        play(&mut self.decided, &self.obstacles, coming, &Worst::CERTAIN, &mut now, terms);
        let mut best: Option<Worst> = None;
        for backup in &spec.backups {
            if now.cost >= 1.0 {
                break;
            }
            let bound = best.unwrap_or(Worst::BEYOND);
            let mut after = now;
            if !self.escape(*backup, &bound, &mut after, terms) {
                continue;
            }
            let found = bound.or_better(&after);
            best = Some(found);
            if !found.is_worse_than(&now) {
                break;
            }
        }
        // Without any backup that can be carried out, only the coming decision is known.
        best.unwrap_or(now)
    }

    /// Plays on under a backup until the horizon, or until it is no better than `bound`. Returns whether
    /// the backup can be carried out.
    fn escape(
        &mut self,
        backup: Backup,
        bound: &Worst,
        worst: &mut Worst,
        terms: &Terms<'_>,
    ) -> bool {
        let Terms { task, looks, pilot, .. } = *terms;
        self.escaping.become_like(&self.decided);
        let home = self.escaping.ego().map_or(0, |ego| task.network.lane_offset(ego.lane));
        let mut frame = task.frames;
        let mut step = 0;
        while frame < looks.frames && bound.is_worse_than(worst) {
            let Some(ego) = self.escaping.ego_mut() else { return false };
            if !pilot.command(task, ego, backup, step, home) {
                return false;
            }
            let until = (frame + task.frames).min(looks.frames);
            play(&mut self.escaping, &self.obstacles, frame..until, bound, worst, terms);
            frame = until;
            step += 1;
        }
        true
    }
}

/// Plays some frames and notes the worst look, until it is no better than `bound`.
fn play(
    rehearsal: &mut Rehearsal,
    obstacles: &[Pose],
    frames: std::ops::Range<usize>,
    bound: &Worst,
    worst: &mut Worst,
    terms: &Terms<'_>,
) {
    for frame in frames.start + 1..=frames.end {
        if !bound.is_worse_than(worst) {
            return;
        }
        rehearsal.frame(terms.task);
        if frame.is_multiple_of(terms.looks.stride) {
            let time = frame as f64 * terms.task.frame_time;
            look(rehearsal, obstacles, time, worst, terms);
        }
    }
}

/// Notes how close the ego is to everything now.
fn look(
    rehearsal: &Rehearsal,
    obstacles: &[Pose],
    time: f64,
    worst: &mut Worst,
    terms: &Terms<'_>,
) {
    let Terms { task, spec, fading, .. } = *terms;
    let Some(ego) = rehearsal.ego() else { return };
    let pose = Pose::of_ego(ego);
    let mut note = |mut found: Proximity, hazard: Hazard| {
        // What has become no number is taken for the worst there is.
        if ego.crashed || found.cost.is_nan() {
            found.cost = 1.0;
        }
        worst.note(found.cost, found, hazard, time, fading);
    };
    let cars = rehearsal.others().iter().enumerate();
    // A wreck is put down to whatever is closest to it.
    for (place, car) in cars.filter(|(_, car)| is_near(ego, car, spec)) {
        note(spec.margin.proximity(&pose, &Pose::of_ego(car)), Hazard::Car(place));
    }
    for (place, obstacle) in obstacles.iter().enumerate() {
        note(spec.margin.proximity(&pose, obstacle), Hazard::Obstacle(place));
    }
    if let Some(distance) = edge_distance(ego, &task.network) {
        note(spec.margin.boundary_proximity(distance), Hazard::Boundary);
    }
}

/// Whether a car can be within the ego's margin at all. One that cannot be told, for a NaN, is.
fn is_near(ego: &Vehicle, car: &Vehicle, spec: &RiskSpec) -> bool {
    let margin = &spec.margin;
    let closing = margin.closing_time * (ego.speed.abs() + car.speed.abs());
    let reach = LENGTH + WIDTH + margin.along.max(margin.across) + closing;
    let [dx, dy] = [car.x - ego.x, car.y - ego.y];
    let is_far = dx * dx + dy * dy > reach * reach;
    !is_far
}
