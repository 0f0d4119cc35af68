//! How intense is the drift at each moment of an episode?
//!
//! A level at the start and one after each change, all drawn from the episode's seed.

use cpss_highway::random::Generator;

use super::RegimeSpec;

/// The intensity over an episode: levels, and when each begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    levels: Vec<(f64, f64)>,
    ramp: f64,
}

impl Timeline {
    /// Draws the levels of an episode of about `duration` \[s\].
    pub(crate) fn draw(spec: &RegimeSpec, duration: f64, random: &mut Generator) -> Timeline {
        let mut levels = vec![(0.0, random.uniform(0.0, spec.peak))];
        for change in 0..spec.changes {
            // One change in each equal part of the episode, so that none comes too late to matter.
            let part = duration / (spec.changes + 1) as f64;
            let begin = part * (change as f64 + random.uniform(0.5, 1.0));
            levels.push((begin, random.uniform(0.0, spec.peak)));
        }
        Timeline { levels, ramp: spec.ramp }
    }

    /// The intensity at a time \[s\].
    pub fn at(&self, time: f64) -> f64 {
        let mut intensity = self.levels[0].1;
        for &(begin, level) in &self.levels[1..] {
            if time < begin {
                break;
            }
            let share = if self.ramp > 0.0 { ((time - begin) / self.ramp).min(1.0) } else { 1.0 };
            intensity += (level - intensity) * share;
        }
        intensity
    }

    /// How many times the level changes.
    pub fn changes(&self) -> usize {
        self.levels.len() - 1
    }
}
