//! What does a critic learn from?
//!
//! [`Experience`] holds scenes in the order in which they were seen, each with the action that ran in it
//! and what came next. The scene after a decision is simply the next one, so that each is kept once.
//! Numbers are kept as 16-bit integers in steps of 1/[`STEPS`]: half the room of floats, and finer than any
//! of them needs to be.
//!
//! **Invariant:** a scene whose decision does not end its episode is followed by the scene it led to.

use rayon::prelude::*;

use super::pass::{Batch, Pass};
use super::{Critic, probability};

/// Steps that a number is kept in, per unit. Numbers beyond ±[`LIMIT`] are cut.
pub const STEPS: f32 = 4096.0;
/// The largest number that is kept.
pub const LIMIT: f32 = 7.99;

/// Decisions at least as risky as this are looked at most often,
const FULLY_WEIGHED: f64 = 0.1;
/// and the least risky ones this often, relative to those.
const LEAST_WEIGHT: f64 = 0.1;

/// An avoidable risk up to this is as good as none when outcomes are followed.
const AS_SAFE: f64 = 0.001;

/// What came of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Next {
    /// The episode went on: the next scene tells how.
    GoesOn,
    /// It was over, without an incident.
    Over,
    /// What must not happen happened.
    Incident,
    /// Nobody looked any further: nothing can be learned from this scene's decision.
    Unknown,
}

/// Scenes, decisions and what came of them.
#[derive(Clone, Debug, Default)]
pub struct Experience {
    fixed: usize,
    item: usize,
    /// How many numbers at the end of the fixed part are the action that ran, if actions are points.
    point: usize,
    fixed_numbers: Vec<i16>,
    item_numbers: Vec<i16>,
    /// Where each scene's items begin, counted in numbers; one more than there are scenes.
    starts: Vec<u64>,
    actions: Vec<u8>,
    nexts: Vec<u8>,
    /// How often each is looked at, relative to 255.
    weights: Vec<u8>,
    /// Whether what ran was about as safe as what was taken for the least risky action, as far as is known.
    safest: Vec<bool>,
    /// Which action the driver took for the least risky one; [`UNTOLD`] if it did not say.
    least_risky: Vec<u8>,
}

/// Nobody said which action is the least risky one.
const UNTOLD: u8 = u8::MAX;

impl Experience {
    /// Room for scenes of a shape.
    pub fn new(fixed: usize, item: usize) -> Experience {
        Experience { fixed, item, starts: vec![0], ..Experience::default() }
    }

    /// Room for scenes without items whose last `point` numbers are the action that ran, a point.
    pub fn with_points(fixed: usize, point: usize) -> Experience {
        Experience { point, ..Experience::new(fixed, 0) }
    }

    /// How many numbers of a scene are the action that ran; 0 if actions are a list.
    pub fn point(&self) -> usize {
        self.point
    }

    /// What is saved of it: numbers, actions, and what came of them, but not what the driver said of the least risky
    /// action. Only of scenes without items.
    pub fn parts(&self) -> (&[i16], &[u8], &[u8]) {
        (&self.fixed_numbers, &self.actions, &self.nexts)
    }

    /// Adds what was saved; `false`, and nothing is changed, if it does not fit.
    pub fn extend(&mut self, numbers: &[i16], actions: &[u8], nexts: &[u8]) -> bool {
        let count = actions.len();
        if self.item > 0 || numbers.len() != count * self.fixed || nexts.len() != count {
            return false;
        }
        self.fixed_numbers.extend_from_slice(numbers);
        self.starts.resize(self.starts.len() + count, 0);
        self.actions.extend_from_slice(actions);
        self.nexts.extend_from_slice(nexts);
        self.weights.resize(self.actions.len(), u8::MAX);
        self.safest.resize(self.actions.len(), false);
        self.least_risky.resize(self.actions.len(), UNTOLD);
        true
    }

    /// Adds a decision, in the order of the episode.
    ///
    /// # Panics
    ///
    /// If the fixed part has another length, or the action is above 255.
    pub fn push(&mut self, fixed: &[f32], items: &[f32], action: usize, next: Next) {
        assert_eq!(fixed.len(), self.fixed, "length of the fixed part");
        self.fixed_numbers.extend(fixed.iter().copied().map(pack));
        self.item_numbers.extend(items.iter().copied().map(pack));
        self.starts.push(self.item_numbers.len() as u64);
        self.actions.push(u8::try_from(action).expect("at most 256 actions"));
        self.nexts.push(next as u8);
        self.weights.push(u8::MAX);
        self.safest.push(false);
        self.least_risky.push(UNTOLD);
    }

    /// Says of the scene last added which action its driver took for the least risky one. A learner then values that one
    /// instead of the least of its own estimates, of which the luckiest is always the least.
    /// Where actions are points there is no list that it could be a place in, and nothing is kept; nor is the last of 256.
    pub fn tell_least_risky(&mut self, action: usize) {
        let action = u8::try_from(action).ok().filter(|_| self.point == 0);
        if let (Some(told), Some(action)) = (self.least_risky.last_mut(), action) {
            *told = action;
        }
    }

    /// Which action the driver took for the least risky one, if it said.
    pub fn least_risky(&self, scene: usize) -> Option<usize> {
        Some(self.least_risky[scene]).filter(|told| *told != UNTOLD).map(usize::from)
    }

    /// Says that nobody looked beyond the last decision: the scene that it led to cannot be told.
    pub fn cut(&mut self) {
        if let Some(last) = self.nexts.last_mut().filter(|last| **last == Next::GoesOn as u8) {
            *last = Next::Unknown as u8;
        }
    }

    /// Adds another's scenes behind these.
    pub fn append(&mut self, other: &Experience) {
        let base = self.item_numbers.len() as u64;
        self.fixed_numbers.extend_from_slice(&other.fixed_numbers);
        self.item_numbers.extend_from_slice(&other.item_numbers);
        self.starts.extend(other.starts[1..].iter().map(|start| base + start));
        self.actions.extend_from_slice(&other.actions);
        self.nexts.extend_from_slice(&other.nexts);
        self.weights.extend_from_slice(&other.weights);
        self.safest.extend_from_slice(&other.safest);
        self.least_risky.extend_from_slice(&other.least_risky);
    }

    /// Forgets the oldest scenes, up to the end of an episode, until at most `most` are left.
    pub fn keep_newest(&mut self, most: usize) {
        if self.len() <= most {
            return;
        }
        let ends = |scene: usize| self.nexts[scene] != Next::GoesOn as u8;
        let Some(last) = (self.len() - most - 1..self.len()).find(|scene| ends(*scene)) else {
            return;
        };
        let cut = last + 1;
        let base = self.starts[cut];
        self.fixed_numbers.drain(..cut * self.fixed);
        self.item_numbers.drain(..base as usize);
        self.starts.drain(..cut);
        self.starts.iter_mut().for_each(|start| *start -= base);
        self.actions.drain(..cut);
        self.nexts.drain(..cut);
        self.weights.drain(..cut);
        self.safest.drain(..cut);
        self.least_risky.drain(..cut);
    }

    /// Asks a critic about every decision: how often it is to be looked at (the more, the riskier it is; what
    /// came of it plays no part, so that what is learned stays a probability), and whether what ran was
    /// about as safe as the least risky action, so that what came of it can be learned from directly.
    pub fn weigh(&mut self, critic: &Critic) {
        self.weigh_by(&[critic], 1, &[], AS_SAFE);
    }

    /// The same by several critics in groups, as those of an [`Ensemble`](super::ensemble::Ensemble); `points` are
    /// compared with what ran where actions are points, and an avoidable risk up to `as_safe` is as good as none.
    pub fn weigh_by(&mut self, critics: &[&Critic], groups: usize, points: &[f32], as_safe: f64) {
        /// Decisions that go through the critic together.
        const BLOCK: usize = 64;
        let Some(actions) = critics.first().map(|critic| critic.shape().actions) else { return };
        let each = 1 + points.len().checked_div(self.point).unwrap_or(0);
        let share = 1.0 / groups as f64;
        let mut weights = std::mem::take(&mut self.weights);
        let mut safest = std::mem::take(&mut self.safest);
        let experience = &*self;
        let blocks = weights.par_chunks_mut(BLOCK).zip(safest.par_chunks_mut(BLOCK)).enumerate();
        blocks.for_each_init(
            || (Batch::default(), vec![Pass::default(); critics.len()]),
            |(batch, passes), (block, (weights, safest))| {
                batch.clear();
                let scenes = block * BLOCK..block * BLOCK + weights.len();
                scenes.clone().for_each(|scene| experience.gather_all(scene, points, batch));
                for (pass, critic) in passes.iter_mut().zip(critics) {
                    pass.forward(critic, batch);
                }
                let risk_of = |place: usize, action: usize| {
                    let largest = |group: &[Pass]| {
                        let logits = group.iter().map(|pass| pass.logit(place, action));
                        probability(logits.fold(f32::NEG_INFINITY, f32::max))
                    };
                    let groups = passes.chunks(passes.len() / groups).map(largest);
                    groups.sum::<f64>() * share
                };
                for ((place, scene), (weight, safest)) in
                    scenes.enumerate().zip(weights.iter_mut().zip(safest))
                {
                    let risk = risk_of(place * each, experience.action(scene));
                    let places = place * each..(place + 1) * each;
                    let risks = places.flat_map(|p| (0..actions).map(move |action| (p, action)));
                    let least = match experience.least_risky(scene) {
                        Some(action) => risk_of(place * each, action),
                        None => risks.map(|(p, action)| risk_of(p, action)).fold(1.0, f64::min),
                    };
                    *safest = risk - least <= as_safe;
                    let share = (risk / FULLY_WEIGHED).sqrt().clamp(LEAST_WEIGHT, 1.0);
                    *weight = (share * 255.0).round() as u8;
                }
            },
        );
        (self.weights, self.safest) = (weights, safest);
    }

    /// Whether what ran was about as safe as the least risky action.
    pub(crate) fn ran_safest(&self, scene: usize) -> bool {
        self.safest[scene]
    }

    /// How often a decision is looked at, relative to 255.
    pub(crate) fn weight(&self, scene: usize) -> u8 {
        self.weights[scene]
    }

    /// How many decisions there are.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// The action that ran in a scene.
    pub fn action(&self, scene: usize) -> usize {
        usize::from(self.actions[scene])
    }

    /// What came of it.
    pub fn next(&self, scene: usize) -> Next {
        match self.nexts[scene] {
            0 => Next::GoesOn,
            1 => Next::Over,
            2 => Next::Incident,
            _ => Next::Unknown,
        }
    }

    /// How many incidents there are.
    pub fn incidents(&self) -> usize {
        self.nexts.iter().filter(|next| **next == Next::Incident as u8).count()
    }

    /// Adds a scene to a batch.
    pub fn gather(&self, scene: usize, batch: &mut Batch) {
        let fixed = &self.fixed_numbers[scene * self.fixed..(scene + 1) * self.fixed];
        let items =
            &self.item_numbers[self.starts[scene] as usize..self.starts[scene + 1] as usize];
        batch.push(fixed.iter().map(unpack), items.iter().map(unpack), self.item);
    }

    /// The fixed part of a scene.
    pub(crate) fn numbers(&self, scene: usize, into: &mut Vec<f32>) {
        let numbers = &self.fixed_numbers[scene * self.fixed..(scene + 1) * self.fixed];
        into.clear();
        into.extend(numbers.iter().map(unpack));
    }

    /// Adds a scene as it was, and once more with each of some points in place of the action that ran.
    pub(crate) fn gather_all(&self, scene: usize, points: &[f32], batch: &mut Batch) {
        self.gather(scene, batch);
        if self.point == 0 {
            return;
        }
        let seen = &self.fixed_numbers[scene * self.fixed..(scene + 1) * self.fixed - self.point];
        for point in points.chunks_exact(self.point) {
            let numbers = seen.iter().map(unpack).chain(point.iter().copied());
            batch.push(numbers, std::iter::empty(), 0);
        }
    }
}

/// What is left of a number after it was kept: what a critic sees must be what it learned from.
pub fn rounded(number: f32) -> f32 {
    if number.is_finite() { unpack(&pack(number)) } else { number }
}

fn pack(number: f32) -> i16 {
    (number.clamp(-LIMIT, LIMIT) * STEPS).round() as i16
}

fn unpack(number: &i16) -> f32 {
    f32::from(*number) * (1.0 / STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::critic::Shape;
    use crate::generator::{Generator, Purpose};

    /// An episode of as many scenes, in each of which the driver calls an action the least risky one, if it says.
    fn episode(scenes: usize, told: impl Fn(usize) -> Option<usize>) -> Experience {
        let mut seen = Experience::new(1, 0);
        for scene in 0..scenes {
            let next = if scene + 1 == scenes { Next::Over } else { Next::GoesOn };
            seen.push(&[scene as f32 / 4.0], &[], 0, next);
            told(scene).into_iter().for_each(|action| seen.tell_least_risky(action));
        }
        seen
    }

    #[test]
    fn what_a_driver_has_told_stays_with_its_scene() {
        let mut all = episode(3, |scene| (scene != 1).then_some(scene));
        all.append(&episode(4, |scene| Some(10 + scene)));
        let told =
            |all: &Experience| (0..all.len()).map(|s| all.least_risky(s)).collect::<Vec<_>>();
        let numbers = |numbers: [usize; 4]| numbers.map(Some).to_vec();
        assert_eq!(told(&all), [vec![Some(0), None, Some(2)], numbers([10, 11, 12, 13])].concat());
        all.keep_newest(5);
        assert_eq!(told(&all), numbers([10, 11, 12, 13]));
        // Of points there is no list that it could be a place in.
        let mut points = Experience::with_points(2, 1);
        points.push(&[0.0, 0.5], &[], 0, Next::Over);
        points.tell_least_risky(0);
        assert_eq!(points.least_risky(0), None);
    }

    #[test]
    fn as_safe_as_could_be_is_meant_beside_what_the_driver_has_told() {
        let shape = Shape { fixed: 1, item: 0, encoder: vec![], head: vec![4], actions: 2 };
        let critic = Critic::new(shape, &mut Generator::new(1, Purpose::Weights)).unwrap();
        let weighed = |told: Option<usize>| {
            let mut seen = episode(3, |_| told);
            seen.weigh_by(&[&critic], 1, &[], 1e-6);
            (0..3).map(|scene| seen.ran_safest(scene)).collect::<Vec<_>>()
        };
        // The first action ran. Beside itself it is safe, beside the better of the two only where it is that one.
        assert_eq!(weighed(Some(0)), [true; 3]);
        let alone = weighed(None);
        let worse = weighed(Some(1));
        assert!(alone == worse, "what ran is as safe as the other or is not: {alone:?} {worse:?}");
        assert!(alone.contains(&false), "{alone:?}");
    }
}
