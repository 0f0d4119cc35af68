//! What would come of an action if everybody drove by the book?
//!
//! Where roads cross, drivers make way for each other and for the ego, so that nobody's track can be
//! foretold alone. There the whole scene is played on, with the ego under the action and then under each
//! [`Backup`](crate::Backup), once per [`Guess`] at what a scene does not show. A guess costs what its best
//! way out costs: which guess is right is known before the way out is needed. Over the guesses, an
//! action costs half their worst and half their mean: no guess is overlooked, and of two actions that
//! may both end badly the one with better odds is cheaper. A crash in the coming decision costs 1 even if
//! one guess alone sees it.
//!
//! Start at [`Rehearsals::judge`].
//!
//! **Invariants:** the same scene costs the same, bit for bit; an action that ends in a crash within
//! the coming decision by any guess costs 1, and so does everything for a wrecked ego.
//!
//! **Absent on purpose:** unlikely habits. A guess is taken at its word.

use cpss_highway::control::obey;
use cpss_highway::rehearsal::{Guess, LONGEST_FRAME, Rehearsal};
use cpss_highway::vehicle::{LENGTH, Vehicle, WIDTH};
use cpss_highway::{Action, Scene, Task};

use crate::forecast::{Hazard, length};
use crate::pilot::{Pilot, Progress};
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
    view: View,
    /// Decisions until the horizon.
    decisions: usize,
    /// The backup to try first: what saved the ego last often does so again. The order changes how soon
    /// the least cost is found, not the cost.
    likeliest: usize,
}

/// What does not change from scene to scene.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) task: &'a Task,
    pub(crate) spec: &'a RiskSpec,
    pub(crate) pilot: &'a Pilot,
    pub(crate) fading: &'a Fading,
}

/// Decisions that are played in the world's own frames: who makes way for whom hangs on tenths of a
/// second. Later ones are played in frames as long as the time between two looks.
const FINE_DECISIONS: usize = 4;

impl Rehearsals {
    /// Room for a spec's guesses.
    pub(crate) fn new(task: &Task, spec: &RiskSpec) -> Rehearsals {
        let wished = spec.sample_time.min(LONGEST_FRAME);
        // A hair less, so that five fifths of a second are five looks whatever the last bit says.
        let at_least = |quotient: f64| (quotient - 1e-9).ceil().max(1.0) as usize;
        let empty = Rehearsal::new(task);
        Rehearsals {
            starts: vec![empty.clone(); spec.guesses.len()],
            decided: empty.clone(),
            escaping: empty,
            view: View {
                obstacles: Vec::new(),
                half_sizes: Vec::new(),
                looks: at_least(task.decision_time / wished),
            },
            decisions: at_least(spec.horizon / task.decision_time),
            likeliest: 0,
        }
    }

    /// The time until the horizon \[s\].
    pub(crate) fn span(&self, task: &Task) -> f64 {
        self.decisions as f64 * task.decision_time
    }

    /// Takes up a scene.
    pub(crate) fn set(&mut self, scene: &Scene, guesses: &[Guess], task: &Task) {
        for (start, guess) in self.starts.iter_mut().zip(guesses) {
            start.set(scene, guess, task);
        }
        self.likeliest = 0;
        let View { obstacles, half_sizes, .. } = &mut self.view;
        obstacles.clear();
        obstacles.extend(scene.obstacles.iter().map(Pose::of));
        half_sizes.clear();
        half_sizes.extend(scene.others.iter().map(|body| [body.length / 2.0, body.width / 2.0]));
    }

    /// What an action costs.
    pub(crate) fn judge(&mut self, action: Action<'_>, terms: &Terms<'_>) -> Worst {
        let mut worst = Worst::NONE;
        let mut sum = 0.0;
        for guess in 0..self.starts.len() {
            let found = self.judge_guess(guess, action, terms);
            sum += found.cost;
            if found.cost > worst.cost {
                worst = found;
            }
            if found.cost >= 1.0 {
                // A crash in the coming decision, if only by one guess, is not to be bought.
                return worst;
            }
        }
        let cost = f64::midpoint(worst.cost, sum / self.starts.len() as f64);
        Worst { likely: cost, cost, ..worst }
    }

    /// What an action costs if a guess is right: the coming decision, and the best way out after it.
    fn judge_guess(&mut self, guess: usize, action: Action<'_>, terms: &Terms<'_>) -> Worst {
        self.decided.become_like(&self.starts[guess]);
        let Some(ego) = self.decided.ego_mut().filter(|ego| !ego.crashed) else {
            return Worst::CERTAIN;
        };
        obey(terms.task, ego, action);
        let mut now = Worst::NONE;
        self.view.play(&mut self.decided, 0, &Worst::CERTAIN, &mut now, terms);
        let mut best: Option<Worst> = None;
        let first = self.likeliest;
        let places = 0..terms.spec.backups.len();
        for place in std::iter::once(first).chain(places.filter(|place| *place != first)) {
            if now.cost >= 1.0 {
                break;
            }
            let bound = best.unwrap_or(Worst::BEYOND);
            let mut after = now;
            if !self.escape(terms.spec.backups[place], &bound, &mut after, terms) {
                continue;
            }
            let found = bound.or_better(&after);
            best = Some(found);
            if !found.is_worse_than(&now) {
                self.likeliest = place;
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
        let Terms { task, pilot, .. } = *terms;
        self.escaping.become_like(&self.decided);
        let home = self.escaping.ego().map_or(0, |ego| task.network.lane_offset(ego.lane));
        for decision in 1..self.decisions {
            let Some(ego) = self.escaping.ego_mut() else { return false };
            if !bound.is_worse_than(worst) {
                break;
            }
            if !pilot.command(task, ego, Progress { backup, step: decision - 1, home }) {
                return false;
            }
            self.view.play(&mut self.escaping, decision, bound, worst, terms);
        }
        true
    }
}

/// What is looked at besides the rehearsed, and how often.
#[derive(Clone, Debug)]
struct View {
    /// Bodies without a driver.
    obstacles: Vec<Pose>,
    /// Half the length and width of every other car \[m\]: a scene may hold larger ones than the world.
    half_sizes: Vec<[f64; 2]>,
    /// Looks in a decision.
    looks: usize,
}

impl View {
    /// Plays a decision, by its number from now, and notes the worst look, until it is no better than
    /// `bound` or the ego is a wreck.
    fn play(
        &self,
        rehearsal: &mut Rehearsal,
        decision: usize,
        bound: &Worst,
        worst: &mut Worst,
        terms: &Terms<'_>,
    ) {
        let task = terms.task;
        for look in 1..=self.looks {
            if !bound.is_worse_than(worst) || rehearsal.ego().is_none_or(|ego| ego.crashed) {
                return;
            }
            if decision < FINE_DECISIONS {
                let until = |look: usize| look * task.frames / self.looks;
                for _ in until(look - 1)..until(look) {
                    rehearsal.frame(task.frame_time, task);
                }
            } else {
                rehearsal.frame(task.decision_time / self.looks as f64, task);
            }
            let share = look as f64 / self.looks as f64;
            self.look(rehearsal, (decision as f64 + share) * task.decision_time, worst, terms);
        }
    }

    /// Notes how close the ego is to everything now.
    fn look(&self, rehearsal: &Rehearsal, time: f64, worst: &mut Worst, terms: &Terms<'_>) {
        let Terms { task, spec, fading, .. } = *terms;
        let Some(ego) = rehearsal.ego() else { return };
        let pose = Pose::of_ego(ego);
        // Of a wreck only who hit it is of interest: the closest.
        let mut closest: Option<(Proximity, Hazard)> = None;
        let mut note = |mut found: Proximity, hazard: Hazard| {
            // What has become no number is taken for the worst there is.
            if found.cost.is_nan() {
                found.cost = 1.0;
            }
            if !ego.crashed {
                worst.note(found.cost, found, hazard, fading.at(time));
            } else if closest.is_none_or(|(known, _)| found.clearance < known.clearance) {
                closest = Some((found, hazard));
            }
        };
        let cars = rehearsal.others().enumerate();
        for ((place, car), half_size) in cars.zip(&self.half_sizes) {
            if ego.crashed || is_near(ego, car, half_size, spec) {
                let car = Pose { half_size: *half_size, ..Pose::of_ego(car) };
                note(spec.margin.proximity(&pose, &car), Hazard::Car(place));
            }
        }
        for (place, obstacle) in self.obstacles.iter().enumerate() {
            note(spec.margin.proximity(&pose, obstacle), Hazard::Obstacle(place));
        }
        if ego.crashed {
            let nobody = (Proximity { cost: 1.0, clearance: 0.0 }, Hazard::Boundary);
            let (found, hazard) = closest.unwrap_or(nobody);
            worst.note(1.0, Proximity { cost: 1.0, ..found }, hazard, fading.at(time));
        } else if let Some(distance) = edge_distance(ego, &task.network) {
            note(spec.margin.boundary_proximity(distance), Hazard::Boundary);
        }
    }
}

/// Whether a car can be within the ego's margin at all. One that cannot be told, for a NaN, is.
fn is_near(ego: &Vehicle, car: &Vehicle, half_size: &[f64; 2], spec: &RiskSpec) -> bool {
    let margin = &spec.margin;
    let closing = margin.closing_time * (ego.speed.abs() + car.speed.abs());
    let sizes = (LENGTH + WIDTH) / 2.0 + half_size[0] + half_size[1];
    let reach = sizes + length([margin.along, margin.across]) + closing;
    let [dx, dy] = [car.x - ego.x, car.y - ego.y];
    let is_far = dx * dx + dy * dy > reach * reach;
    !is_far
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::{TaskId, World};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn whoever_costs_an_ego_anything_is_near(
            [along, across] in prop::array::uniform2(0.1..15.0),
            closing_time in 0.0..1.0,
            turned in prop::array::uniform2(-3.2..3.2_f64),
            speeds in prop::array::uniform2(-10.0..40.0),
            [half_length, half_width] in prop::array::uniform2(0.5..10.0),
            towards in -3.2..3.2_f64,
        ) {
            let task = Task::with_defaults(TaskId::IntersectionV0);
            let mut spec = RiskSpec::for_task(task.id);
            (spec.margin.along, spec.margin.across) = (along, across);
            spec.margin.closing_time = closing_time;
            let driven = World::new(task, 1).ego().clone();
            let [mut ego, mut car] = [0, 1].map(|which| {
                let (sin, cos) = turned[which].sin_cos();
                Vehicle { cos, sin, speed: speeds[which], ..driven.clone() }
            });
            (ego.x, ego.y) = (0.0, 0.0);
            let half_size = [half_length, half_width];
            // As far away as it may be without being near.
            let (sin, cos) = towards.sin_cos();
            let (mut near, mut far) = (0.0, 500.0);
            for _ in 0..50 {
                let middle = (near + far) / 2.0;
                (car.x, car.y) = (middle * cos, middle * sin);
                if is_near(&ego, &car, &half_size, &spec) { near = middle } else { far = middle }
            }
            (car.x, car.y) = (far * cos, far * sin);
            prop_assert!(!is_near(&ego, &car, &half_size, &spec));
            let car = Pose { half_size, ..Pose::of_ego(&car) };
            prop_assert_eq!(spec.margin.proximity(&Pose::of_ego(&ego), &car).cost, 0.0);
        }
    }
}
