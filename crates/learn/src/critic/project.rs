//! Which admissible point is nearest to a proposal?
//!
//! Where actions are points of a box, [`Ensemble::project`] looks for two of them. The least risky point: the best of
//! some samples, improved by steps down the critics' slope. And the nearest one whose risk is at most a
//! threshold above that: on the way from safe points towards the proposal, and then along the level of risk, which
//! planes stand for, one more with every crossing. Samples alone find nothing near in more than a few dimensions.
//!
//! **Invariants:** the same call gives the same points; every point lies in the box `[-1, 1]`; what is returned as
//! admissible is so by the critics' own numbers, or it is the least risky point itself.
//!
//! **Absent on purpose:** a proof that the nearest is found. The level of a learned risk may have any shape.

use super::ensemble::{Ensemble, Room};
use super::probability;
use crate::generator::Generator;
use crate::topology::{Activation, Layer};

/// Points that are sampled for a first look.
const SAMPLES: usize = 32;
/// Steps down the slope of risk.
const DESCENTS: usize = 6;
/// Points that are looked at together: a critic takes about as long for one as for so many.
const STEPS: usize = 16;
/// Each step down the slope that is tried is this much shorter than the one before.
const SHORTER: f32 = 0.7;
/// How often a way is cut into parts, to find where it leaves what is admissible.
const CUTS: usize = 3;
/// Planes that stand for the level of risk,
const PLANES: usize = 24;
/// and how often each is projected on.
const PROJECTIONS: usize = 60;
/// A point is near enough if it is at most this much further than the planes allow.
const NEAR_ENOUGH: f32 = 1.02;
/// Safe samples from which the level is approached, the nearest first.
const STARTS: usize = 1;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    /// The least risky point found,
    pub safest: Vec<f32>,
    /// and the nearest admissible one; the proposal itself if that is.
    pub nearest: Vec<f32>,
    /// The risks of the proposal, the least risky and the nearest point.
    pub risks: [f64; 3],
}

impl Ensemble {
    /// Finds the least risky point, and the point nearest to a proposal whose risk is at most `threshold` above that.
    ///
    /// # Panics
    ///
    /// If actions are a list, or a slice has another length.
    pub fn project(&self, row: &[f32], proposal: &[f32], threshold: f64) -> Projected {
        assert!(self.point() > 0 && proposal.len() == self.point(), "length of the proposal");
        let mut search = Search::new(self, row);
        let proposed = search.risk(proposal);
        let (samples, risks) = search.samples(proposal);
        let best =
            (0..risks.len()).fold(0, |best, i| if risks[i] < risks[best] { i } else { best });
        let (safest, least) = search.descend(samples[best].clone(), risks[best]);
        let limit = least + threshold;
        if proposed <= limit {
            return Projected {
                safest,
                nearest: proposal.to_vec(),
                risks: [proposed, least, proposed],
            };
        }
        let mut starts: Vec<&Vec<f32>> = samples
            .iter()
            .zip(&risks)
            .filter(|(_, risk)| **risk <= limit)
            .map(|(s, _)| s)
            .collect();
        starts.sort_by(|a, b| distance(a, proposal).total_cmp(&distance(b, proposal)));
        starts.truncate(STARTS);
        starts.push(&safest);
        let mut nearest = safest.clone();
        for start in starts {
            let found = search.nearest_from(start, proposal, limit);
            if distance(&found, proposal) < distance(&nearest, proposal) {
                nearest = found;
            }
        }
        let risk = search.risk(&nearest);
        Projected { safest, nearest, risks: [proposed, least, risk] }
    }
}

/// One search, in one observation.
struct Search<'a> {
    ensemble: &'a Ensemble,
    row: &'a [f32],
    room: Room,
    /// The critics' inputs, of which the last are the point, and what each layer gives.
    input: Vec<f32>,
    layers: Vec<Vec<f32>>,
}

impl<'a> Search<'a> {
    fn new(ensemble: &'a Ensemble, row: &'a [f32]) -> Search<'a> {
        let input = ensemble.scale().apply(row).collect();
        Search { ensemble, row, room: Room::default(), input, layers: Vec::new() }
    }

    /// The risk of a point.
    fn risk(&mut self, point: &[f32]) -> f64 {
        let mut risk = [1.0];
        self.ensemble.risks_at(self.row, point, &mut self.room, &mut risk);
        risk[0]
    }

    /// Points for a first look, the proposal and the middle first, with their risks.
    fn samples(&mut self, proposal: &[f32]) -> (Vec<Vec<f32>>, Vec<f64>) {
        let point = proposal.len();
        let mut draw = Generator::from_state(0x5a_fe);
        let mut samples = vec![proposal.to_vec(), vec![0.0; point]];
        while samples.len() < SAMPLES {
            let number = |_| (2.0 * draw.unit() - 1.0) as f32;
            samples.push((0..point).map(number).collect());
        }
        let risks = self.risks(&samples);
        (samples, risks)
    }

    /// The risks of some points, at once.
    fn risks(&mut self, points: &[Vec<f32>]) -> Vec<f64> {
        let mut risks = vec![1.0; points.len()];
        self.ensemble.risks_at(self.row, &points.concat(), &mut self.room, &mut risks);
        risks
    }

    /// Goes down the slope of risk: of [`STEPS`] steps, each a part of the one before, the best counts.
    fn descend(&mut self, mut at: Vec<f32>, mut risk: f64) -> (Vec<f32>, f64) {
        let mut longest = (at.len() as f32).sqrt();
        for _ in 0..DESCENTS {
            let Some(slope) = self.slope(&at) else { break };
            let steps = (0..STEPS as i32).map(|step| longest * SHORTER.powi(step));
            let further: Vec<Vec<f32>> = steps
                .map(|step| {
                    at.iter().zip(&slope).map(|(a, s)| (a - step * s).clamp(-1.0, 1.0)).collect()
                })
                .collect();
            let risks = self.risks(&further);
            let best = (0..STEPS).fold(0, |b, i| if risks[i] < risks[b] { i } else { b });
            if risks[best] >= risk {
                break;
            }
            (at, risk) = (further[best].clone(), risks[best]);
            // The next ones begin a little above the length that was best.
            longest *= SHORTER.powi(best as i32 - 2);
        }
        (at, risk)
    }

    /// The point nearest to the proposal that is found from an admissible one. Each point where the level of risk is
    /// crossed gives a plane; the nearest point on the safe side of all of them is where to look next.
    fn nearest_from(&mut self, start: &[f32], proposal: &[f32], limit: f64) -> Vec<f32> {
        let (mut best, mut outside) = self.cross(start, proposal, limit);
        let mut crossing = best.clone();
        let mut planes: Vec<Plane> = Vec::new();
        for _ in 0..PLANES {
            let Some(normal) = self.slope(&outside) else { break };
            planes.push(Plane { level: dot(&normal, &crossing), normal });
            let target = within_planes(proposal, &planes);
            if self.risk(&target) <= limit {
                best = nearer(best, target, proposal);
                break;
            }
            let (near, _) = self.cross(&best, &target, limit);
            best = nearer(best, near, proposal);
            (crossing, outside) = self.cross(start, &target, limit);
            best = nearer(best, crossing.clone(), proposal);
            // Were the safe points convex, nothing nearer than the target could be among them.
            if distance(&best, proposal) <= NEAR_ENOUGH * distance(&target, proposal) {
                break;
            }
        }
        self.cross(&best, proposal, limit).0
    }

    /// The last admissible point on the way from an admissible one to another, and the next beyond: the way is cut into
    /// parts, and the last part that begins at an admissible point into parts again.
    fn cross(&mut self, from: &[f32], to: &[f32], limit: f64) -> (Vec<f32>, Vec<f32>) {
        let (mut low, mut high) = (0.0_f32, 1.0_f32);
        for _ in 0..CUTS {
            let part = (high - low) / (STEPS + 1) as f32;
            let share = |place: usize| low + part * (place + 1) as f32;
            let points: Vec<Vec<f32>> = (0..STEPS).map(|i| mix(from, to, share(i))).collect();
            let risks = self.risks(&points);
            match (0..STEPS).rev().find(|place| risks[*place] <= limit) {
                None => high = share(0),
                Some(last) if last + 1 == STEPS => low = share(last),
                Some(last) => (low, high) = (share(last), share(last + 1)),
            }
        }
        (mix(from, to, low), mix(from, to, high))
    }

    /// The direction in which risk grows most, by those critics whose risk counts; `None` where it is flat.
    fn slope(&mut self, point: &[f32]) -> Option<Vec<f32>> {
        let (numbers, ensemble) = (self.ensemble.numbers(), self.ensemble);
        self.input.truncate(numbers);
        self.input.extend_from_slice(point);
        let mut slope = vec![0.0; point.len()];
        let mut first = 0;
        for group in ensemble.groups() {
            let places = first..first + group.len();
            first = places.end;
            let logits: Vec<f32> = places.clone().map(|critic| self.forward(critic)).collect();
            let loudest = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]))?;
            if loudest + 1 < group.len() {
                self.forward(places.start + loudest);
            }
            // How much the risk grows with its log-odds; where it hardly does, it has a direction still.
            let risk = probability(logits[loudest] + ensemble.shift()) as f32;
            let weight = (risk * (1.0 - risk)).max(1e-12);
            let by_input = self.backward(places.start + loudest);
            slope
                .iter_mut()
                .zip(&by_input[numbers..])
                .for_each(|(sum, part)| *sum += weight * part);
        }
        // Divided by the largest part first: squares of small ones would be 0.
        let largest = slope.iter().fold(0.0_f32, |most, part| most.max(part.abs()));
        if !(largest > 1e-30 && largest.is_finite()) {
            return None;
        }
        slope.iter_mut().for_each(|part| *part /= largest);
        let length = dot(&slope, &slope).sqrt();
        slope.iter_mut().for_each(|part| *part /= length);
        Some(slope)
    }

    /// One critic's logit, keeping what each layer gives.
    fn forward(&mut self, critic: usize) -> f32 {
        let critic = &self.ensemble.critics()[critic];
        let layers = &critic.layers().head;
        self.layers.resize(layers.len(), Vec::new());
        for (index, layer) in layers.iter().enumerate() {
            let (before, after) = self.layers.split_at_mut(index);
            let input = before.last().unwrap_or(&self.input);
            let parameters = critic.parameters();
            let weights = parameters[layer.weights()].chunks_exact(layer.stride());
            let sums = weights.zip(&parameters[layer.bias()]);
            after[0].clear();
            after[0].extend(sums.map(|(row, bias)| bias + dot(&row[..layer.inputs], input)));
            layer.activation.apply(&mut after[0]);
        }
        self.layers.last().and_then(|logits| logits.first()).copied().unwrap_or(0.0)
    }

    /// The gradient of the logit of the last [`Search::forward`] by every input.
    fn backward(&self, critic: usize) -> Vec<f32> {
        let critic = &self.ensemble.critics()[critic];
        let mut delta = vec![1.0];
        for (layer, given) in critic.layers().head.iter().zip(&self.layers).rev() {
            if layer.activation == Activation::Relu {
                delta.iter_mut().zip(given).for_each(|(d, g)| *d = if *g > 0.0 { *d } else { 0.0 });
            }
            delta = by_inputs(layer, &critic.parameters()[layer.weights()], &delta);
        }
        delta
    }
}

fn by_inputs(layer: &Layer, weights: &[f32], delta: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; layer.inputs];
    for (row, d) in weights.chunks_exact(layer.stride()).zip(delta) {
        out.iter_mut().zip(row).for_each(|(sum, weight)| *sum += d * weight);
    }
    out
}

/// Safe is what lies at most so far along the normal, which has the length 1.
struct Plane {
    normal: Vec<f32>,
    level: f32,
}

/// The point of the box nearest to a proposal on the safe side of all planes, about: Dykstra's projections.
fn within_planes(proposal: &[f32], planes: &[Plane]) -> Vec<f32> {
    let mut at = proposal.to_vec();
    let mut cut_off = vec![0.0; at.len()];
    let mut moved = vec![0.0_f32; planes.len()];
    for _ in 0..PROJECTIONS {
        for (plane, moved) in planes.iter().zip(&mut moved) {
            // What this plane took last time is given back first.
            let beyond = (dot(&at, &plane.normal) + *moved - plane.level).max(0.0);
            let change = *moved - beyond;
            at.iter_mut().zip(&plane.normal).for_each(|(a, n)| *a += change * n);
            *moved = beyond;
        }
        for (a, off) in at.iter_mut().zip(&mut cut_off) {
            let from = *a + *off;
            *a = from.clamp(-1.0, 1.0);
            *off = from - *a;
        }
    }
    at
}

fn nearer(one: Vec<f32>, other: Vec<f32>, proposal: &[f32]) -> Vec<f32> {
    if distance(&other, proposal) < distance(&one, proposal) { other } else { one }
}

fn mix(from: &[f32], to: &[f32], share: f32) -> Vec<f32> {
    from.iter().zip(to).map(|(a, b)| a + share * (b - a)).collect()
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

fn distance(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests;
