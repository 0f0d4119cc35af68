//! What does an incident cost a learner that has a budget of them?
//!
//! A [`Multiplier`] is the price `lambda` of one incident, in units of return. It is learned against the budget
//! (Tessler et al., 2019): after every episode it rises by `rate * (1 - budget)` if there was an incident, and falls by
//! `rate * budget` if there was none, so that it stands still where incidents are as probable as the budget allows. With
//! [`Pid`] it also answers to how far off and how fast incidents change (Stooke et al., 2020), which swings less.
//!
//! **Invariant:** the price is finite, and between 0 and `most`.

use serde::{Deserialize, Serialize};

use crate::settings::BadSetting;

/// How the price of an incident is learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MultiplierSpec {
    /// Incidents per episode that are allowed, above 0 and below 1.
    pub budget: f64,
    /// The price before the first episode, from 0.
    pub initial: f64,
    /// How much an episode with an incident raises it, above 0.
    pub rate: f64,
    /// The highest price, above 0.
    pub most: f64,
    /// Gains of the proportional and the derivative part; without them only the integral remains.
    pub pid: Option<Pid>,
}

impl Default for MultiplierSpec {
    fn default() -> MultiplierSpec {
        MultiplierSpec { budget: 0.01, initial: 0.0, rate: 0.01, most: 100.0, pid: None }
    }
}

/// The parts of a controller beside the integral.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Pid {
    /// Price per incident an episode above the budget, from 0.
    pub proportional: f64,
    /// Price per rise of incidents from one episode to the next, from 0.
    pub derivative: f64,
    /// How much of the smoothed rate of incidents each episode keeps, from 0 and below 1.
    pub smoothing: f64,
}

impl Default for Pid {
    fn default() -> Pid {
        Pid { proportional: 10.0, derivative: 10.0, smoothing: 0.99 }
    }
}

impl MultiplierSpec {
    /// Refuses numbers that are no price.
    ///
    /// # Errors
    ///
    /// The first field outside the range its documentation gives.
    pub fn check(&self) -> Result<(), BadSetting> {
        let check = |field, value: f64, range: std::ops::RangeInclusive<f64>| {
            if range.contains(&value) { Ok(()) } else { Err(BadSetting { field, value, range }) }
        };
        check("budget", self.budget, 1e-9..=0.999_999)?;
        check("initial", self.initial, 0.0..=self.most.max(0.0))?;
        check("rate", self.rate, 1e-12..=1e6)?;
        check("most", self.most, 1e-9..=1e9)?;
        let Some(pid) = self.pid else { return Ok(()) };
        check("proportional", pid.proportional, 0.0..=1e6)?;
        check("derivative", pid.derivative, 0.0..=1e6)?;
        check("smoothing", pid.smoothing, 0.0..=0.999_999)
    }
}

/// The price of an incident, as far as it is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multiplier {
    spec: MultiplierSpec,
    integral: f64,
    /// Smoothed incidents per episode, and the same one episode before.
    smoothed: f64,
    before: f64,
}

impl Multiplier {
    /// Begins at the initial price.
    pub fn new(spec: MultiplierSpec) -> Multiplier {
        Multiplier { spec, integral: spec.initial, smoothed: 0.0, before: 0.0 }
    }

    /// Learns from one finished episode.
    pub fn observe(&mut self, incident: bool) {
        let happened = f64::from(u8::from(incident));
        let MultiplierSpec { budget, rate, most, pid, .. } = self.spec;
        self.integral = (self.integral + rate * (happened - budget)).clamp(0.0, most);
        let keep = pid.map_or(0.0, |pid| pid.smoothing);
        self.before = self.smoothed;
        self.smoothed = keep * self.smoothed + (1.0 - keep) * happened;
    }

    /// The price of an incident now.
    pub fn price(&self) -> f64 {
        let more = self.spec.pid.map_or(0.0, |pid| {
            let above = self.smoothed - self.spec.budget;
            // Only a rise is answered to, as in the paper: a fall is what is wanted.
            pid.proportional * above + pid.derivative * (self.smoothed - self.before).max(0.0)
        });
        (self.integral + more).clamp(0.0, self.spec.most)
    }

    /// All that changes, to be saved.
    pub(crate) fn state(&self) -> [f64; 3] {
        [self.integral, self.smoothed, self.before]
    }

    /// Goes on from a saved state; `None` if no multiplier could stand so.
    pub(crate) fn with_state(mut self, state: [f64; 3]) -> Option<Multiplier> {
        let [integral, smoothed, before] = state;
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        let possible = (0.0..=self.spec.most).contains(&integral);
        (self.integral, self.smoothed, self.before) = (integral, smoothed, before);
        (possible && is_share(smoothed) && is_share(before)).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The price after so many episodes, every `every`-th of which has an incident.
    fn after(spec: MultiplierSpec, episodes: u64, every: u64) -> f64 {
        let mut multiplier = Multiplier::new(spec);
        (0..episodes).for_each(|episode| multiplier.observe(episode % every == every - 1));
        multiplier.price()
    }

    #[test]
    fn the_price_rises_above_the_budget_falls_below_it_and_stands_still_at_it() {
        let spec = MultiplierSpec { initial: 5.0, ..MultiplierSpec::default() };
        assert!((after(spec, 1_000, 2) - (5.0 + 0.01 * 490.0)).abs() < 1e-9);
        assert!(after(spec, 10_000, 1_000) < 5.0);
        assert!((after(spec, 10_000, 100) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn the_price_stays_between_0_and_the_most() {
        let pid = Some(Pid::default());
        for spec in [MultiplierSpec::default(), MultiplierSpec { pid, ..MultiplierSpec::default() }]
        {
            assert_eq!(after(spec, 100_000, 1), 100.0);
            assert_eq!(after(spec, 1_000, 2_000), 0.0);
        }
    }

    #[test]
    fn a_controller_answers_at_once_where_the_integral_alone_waits() {
        let pid = MultiplierSpec { pid: Some(Pid::default()), ..MultiplierSpec::default() };
        assert!(after(pid, 100, 1) > 3.0 * after(MultiplierSpec::default(), 100, 1));
    }

    #[test]
    fn unusable_numbers_are_refused_by_name_and_a_state_goes_on() {
        let usual = MultiplierSpec::default;
        for (spec, field) in [
            (MultiplierSpec { budget: 0.0, ..usual() }, "budget"),
            (MultiplierSpec { initial: -1.0, ..usual() }, "initial"),
            (MultiplierSpec { rate: f64::NAN, ..usual() }, "rate"),
            (MultiplierSpec { most: 0.0, ..usual() }, "most"),
            (
                MultiplierSpec { pid: Some(Pid { smoothing: 1.0, ..Pid::default() }), ..usual() },
                "smoothing",
            ),
        ] {
            assert_eq!(spec.check().unwrap_err().field, field);
        }
        let mut multiplier = Multiplier::new(usual());
        multiplier.observe(true);
        assert_eq!(Multiplier::new(usual()).with_state(multiplier.state()), Some(multiplier));
        assert_eq!(Multiplier::new(usual()).with_state([f64::NAN, 0.0, 0.0]), None);
    }
}
