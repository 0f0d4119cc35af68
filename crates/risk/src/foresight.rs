//! How well are the next scene's cars foretold by this one?
//!
//! A [`Foresight`] follows one episode. At every decision it asks of each car near the ego how far it is from where it
//! would be had it gone on along its lane, and whether cars have come, gone, braked or changed lane. Means over the
//! episode are its [`Portrait`]. What portraits look like in the traffic that a critic was calibrated in is on its card:
//! [`Likeness`] says how unlike that an episode is, as one number. Start at [`Foresight::look`].
//!
//! Incidents are rare, so that they tell one car little about its world; dozens of cars at every decision tell it much.
//!
//! **Invariants:** only what an observer sees goes in; nothing depends on the order of a scene's cars but the last bits
//! of sums; a portrait is finite, or its score is NaN, which counts as the least likely.

use cpss_highway::Scene;
use cpss_highway::road::Network;
use cpss_highway::scene::Body;
use serde::{Deserialize, Serialize};

use crate::track::{gone_on, wrapped};

/// Numbers in a portrait.
pub const TRAITS: usize = 14;

/// What an episode's traffic was like, on average.
pub type Portrait = [f64; TRAITS];

/// Cars farther from the ego than this are not looked at \[m\],
const REACH: f64 = 100.0;
/// and nearer than this they neither come nor go unnoticed.
const NEAR: f64 = 50.0;
/// What an error is measured in: along and across \[m\], of the speed \[m/s\] and the heading \[rad\].
const SCALES: [f64; 4] = [0.5, 0.2, 0.5, 0.02];
/// No error counts for more than so many of these.
const WORST: f64 = 20.0;
/// Braking that is hard \[m/s²\].
const HARD: f64 = 2.0;
/// The longest time gap that is told from none at all \[s\].
const LONGEST_GAP: f64 = 4.0;

/// Watches the traffic of one episode.
#[derive(Clone, Debug, Default)]
pub struct Foresight {
    /// The cars of the scene before, by number.
    before: Vec<(u32, Body)>,
    /// The greatest number of all so far.
    newest: u32,
    sums: Portrait,
    looks: f64,
    /// Cars that were looked at, and those that were also in the scene before.
    cars: f64,
    known: f64,
}

impl Foresight {
    /// A new episode begins.
    pub fn begin(&mut self) {
        self.before.clear();
        self.newest = 0;
        (self.sums, self.looks, self.cars, self.known) = ([0.0; TRAITS], 0.0, 0.0, 0.0);
    }

    /// Looks at a scene, `elapsed` \[s\] after the one before.
    pub fn look(&mut self, network: &Network, scene: &Scene, elapsed: f64) {
        let Some(ego) = &scene.ego else { return };
        let away = |body: &Body| {
            let [x, y] = ego.body.position;
            (body.position[0] - x).hypot(body.position[1] - y)
        };
        let mut expected: Vec<(u32, Body)> = std::mem::take(&mut self.before);
        let is_first = self.looks == 0.0;
        self.sums[12] += scene.others.len() as f64;
        let unseen = |car: &&Body| car.id.is_some_and(|id| id > self.newest);
        let (count, newest) =
            scene.others.iter().filter(unseen).fold((0.0, self.newest), |(n, most), car| {
                (n + 1.0, car.id.unwrap_or(0).max(most))
            });
        // Of those that are seen, who came after everybody who was seen before.
        self.sums[13] += if is_first { 0.0 } else { count };
        self.newest = newest;
        for car in scene.others.iter().filter(|car| away(car) <= REACH) {
            let Some(id) = car.id else { continue };
            self.cars += 1.0;
            self.sums[0] += 1.0;
            self.sums[1] += f64::from(u8::from(away(car) <= NEAR));
            let acceleration = car.acceleration.unwrap_or(0.0);
            self.sums[2] += acceleration.abs();
            self.sums[3] += f64::from(u8::from(acceleration < -HARD));
            self.sums[4] += time_gap(car, scene);
            match expected.iter().position(|(known, _)| *known == id) {
                Some(place) => self.compare(network, &expected.swap_remove(place).1, car, elapsed),
                None if !is_first && away(car) <= NEAR => self.sums[10] += 1.0,
                None => {}
            }
            self.before.push((id, *car));
        }
        // Whoever is left was expected, and is not there.
        let gone =
            expected.iter().filter(|(_, body)| away(&gone_on(network, body, elapsed)) <= NEAR);
        self.sums[11] += gone.count() as f64;
        self.looks += 1.0;
        expected.clear();
    }

    /// Compares a car with where it would be had it gone on as it did.
    fn compare(&mut self, network: &Network, before: &Body, car: &Body, elapsed: f64) {
        let expected = gone_on(network, before, elapsed);
        let [x, y] =
            [car.position[0] - expected.position[0], car.position[1] - expected.position[1]];
        let errors = [
            x * expected.cos + y * expected.sin,
            y * expected.cos - x * expected.sin,
            car.speed - expected.speed,
            wrapped(car.heading - expected.heading),
        ];
        for ((sum, error), scale) in self.sums[5..9].iter_mut().zip(errors).zip(SCALES) {
            *sum += (error / scale).abs().min(WORST);
        }
        self.sums[9] += f64::from(u8::from(car.lane != expected.lane));
        self.known += 1.0;
    }

    /// What the episode was like so far; `None` before the second look.
    pub fn portrait(&self) -> Option<Portrait> {
        let (looks, cars, known) = (self.looks, self.cars, self.known);
        let per = [
            looks, looks, cars, cars, cars, known, known, known, known, known, looks, looks, looks,
            looks,
        ];
        let mut portrait = self.sums;
        for (part, per) in portrait.iter_mut().zip(per) {
            // Of means that grow without bound, the order of magnitude tells as much.
            *part = if per > 0.0 { (*part / per).ln_1p() } else { 0.0 };
        }
        (self.looks > 1.0).then_some(portrait)
    }
}

/// The time gap to the next car ahead in a car's lane \[s\].
fn time_gap(car: &Body, scene: &Scene) -> f64 {
    let others = scene.others.iter().chain(scene.ego.iter().map(|ego| &ego.body));
    let ahead = others.filter(|other| other.lane == car.lane).map(|other| other.along - car.along);
    let gap = ahead.filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min) - car.length;
    (gap.max(0.0) / car.speed.abs().max(1.0)).min(LONGEST_GAP)
}

/// What portraits look like in the traffic that a critic was calibrated in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// The mean portrait.
    pub mean: Portrait,
    /// What makes all parts of a portrait's deviation alike, row by row: the inverse of a triangle whose square is the
    /// covariance.
    pub whitening: Vec<Portrait>,
    /// Scores that divide episodes into six groups.
    pub borders: [f64; 5],
    /// Upper bounds of the shares of episodes in each group: of each policy, in each regime, with confidence.
    pub bounds: [f64; 6],
    /// The regimes and sensors that it knows.
    pub regimes: Vec<String>,
    /// The sensors.
    pub sensors: Vec<String>,
    /// Episodes that it comes from.
    pub episodes: u64,
    /// The first of their seeds.
    pub first_seed: u64,
}

impl Likeness {
    /// The mean and the spread of some portraits; groups are found afterwards, on others.
    pub fn of(portraits: &[Portrait]) -> Likeness {
        let n = portraits.len().max(2) as f64;
        let mut mean = [0.0; TRAITS];
        for portrait in portraits {
            mean.iter_mut().zip(portrait).for_each(|(mean, part)| *mean += part / n);
        }
        let mut covariance = [[0.0; TRAITS]; TRAITS];
        for portrait in portraits {
            for (row, a) in covariance.iter_mut().zip(portrait.iter().zip(&mean)) {
                for (cell, b) in row.iter_mut().zip(portrait.iter().zip(&mean)) {
                    *cell += (a.0 - a.1) * (b.0 - b.1) / (n - 1.0);
                }
            }
        }
        Likeness {
            mean,
            whitening: whitening(&covariance),
            borders: [0.0; 5],
            bounds: [1.0; 6],
            regimes: Vec::new(),
            sensors: Vec::new(),
            episodes: 0,
            first_seed: 0,
        }
    }

    /// How unlike the traffic that it knows an episode was: its squared distance from the mean, in standard deviations.
    pub fn score(&self, portrait: &Portrait) -> f64 {
        let mut score = 0.0;
        for row in &self.whitening {
            let parts = row.iter().zip(portrait.iter().zip(&self.mean));
            let off: f64 = parts.map(|(weight, (part, mean))| weight * (part - mean)).sum();
            score += off * off;
        }
        score
    }

    /// Whether its numbers could have been found.
    pub fn is_sound(&self) -> bool {
        let numbers = self.mean.iter().chain(self.whitening.iter().flatten());
        let rising = self.borders.windows(2).all(|pair| pair[0] < pair[1]);
        numbers.chain(&self.borders).all(|number| number.is_finite())
            && self.whitening.len() == TRAITS
            && rising
            && self.bounds.iter().all(|bound| *bound > 0.0 && *bound <= 1.0)
    }
}

/// A trait that never varied in calibration is told from the usual once it is this far off.
const LEAST_DEVIATION: f64 = 0.01;

/// The inverse of the covariance's Cholesky factor.
fn whitening(covariance: &[Portrait; TRAITS]) -> Vec<Portrait> {
    let mut factor = [[0.0; TRAITS]; TRAITS];
    for row in 0..TRAITS {
        for column in 0..=row {
            let mut rest = covariance[row][column];
            if row == column {
                rest += LEAST_DEVIATION * LEAST_DEVIATION;
            }
            for (mine, other) in factor[row].iter().zip(&factor[column]).take(column) {
                rest -= mine * other;
            }
            factor[row][column] = match row == column {
                true => rest.max(LEAST_DEVIATION * LEAST_DEVIATION).sqrt(),
                false => rest / factor[column][column],
            };
        }
    }
    let mut inverse: Vec<Portrait> = Vec::with_capacity(TRAITS);
    for (row, factors) in factor.iter().enumerate() {
        let mut found = [0.0; TRAITS];
        for (column, entry) in found.iter_mut().enumerate().take(row + 1) {
            let own = if row == column { 1.0 } else { 0.0 };
            let rest: f64 = (column..row).map(|k| factors[k] * inverse[k][column]).sum();
            *entry = (own - rest) / factors[row];
        }
        inverse.push(found);
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Portraits of which the second part follows the first.
    fn portraits() -> Vec<Portrait> {
        let mut state = 1_u64;
        let mut next = || {
            let uniform = (0..12).map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1_u64 << 53) as f64
            });
            uniform.sum::<f64>() - 6.0
        };
        let one = |_| {
            let mut portrait = [0.0; TRAITS];
            portrait.iter_mut().for_each(|part| *part = 0.3 * next());
            portrait[1] = 2.0 * portrait[0] + 0.1 * next();
            portrait
        };
        (0..4_000).map(one).collect()
    }

    #[test]
    fn usual_episodes_score_one_for_each_trait_and_unusual_ones_more() {
        let all = portraits();
        let known = Likeness::of(&all);
        let mean: f64 = all.iter().map(|p| known.score(p)).sum::<f64>() / all.len() as f64;
        assert!((mean / TRAITS as f64 - 1.0).abs() < 0.02, "{mean}");
        // Far along the way that both go together is usual; a little across it is not.
        let mut along = known.mean;
        (along[0], along[1]) = (along[0] + 0.6, along[1] + 1.2);
        let mut across = known.mean;
        (across[0], across[1]) = (across[0] + 0.3, across[1] - 0.6);
        assert!(known.score(&along) < 8.0 && known.score(&across) > 100.0);
        assert_eq!(known.score(&known.mean), 0.0);
        assert!(known.score(&[f64::NAN; TRAITS]).is_nan());
    }

    #[test]
    fn a_trait_that_never_varied_is_noticed_once_it_does() {
        let all: Vec<Portrait> = portraits()
            .into_iter()
            .map(|mut p| {
                p[7] = 0.5;
                p
            })
            .collect();
        let known = Likeness::of(&all);
        let mut other = known.mean;
        other[7] += 0.2;
        assert!(known.score(&other) > 100.0);
    }
}
