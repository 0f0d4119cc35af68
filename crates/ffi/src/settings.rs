//! What may a caller ask of a shield?
//!
//! [`CpssSettings`] is `cpss_shield`'s sheet as plain numbers, [`CpssTerms`] what is said of a critic. Both come filled in
//! from `cpss_settings` and `cpss_terms`, and are checked when a shield is made.
//!
//! **Invariant:** choices come in as numbers and are read by a `match`: a number that names no choice is refused.

use std::ffi::{CStr, c_char};

use cpss_shield::{
    Charge, Fallback, GainSpec, Mode, OutOfRange, RiskRules, RiskSpec, Rules, ShieldSpec,
};

use crate::handle::one;

/// How the context tightens the threshold.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpssGain {
    /// Not at all: the budget alone decides.
    Constant = 0,
    /// By exp(-(k_density d + k_change delta)).
    Exponential = 1,
    /// By 1 / (1 + k_density d + k_change delta).
    Rational = 2,
}

/// Which action runs in place of a refused one.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpssFallback {
    /// The one that costs least.
    MinRisk = 0,
    /// Of those that fit the threshold the one with the greatest preference.
    BestAdmissible = 1,
}

/// Which cost a settled decision is charged.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpssCharge {
    /// What the executed action was observed to cost: the number given to cpss_shield_settle.
    Observed = 0,
    /// What it was predicted to cost: the very number that was judged. Use it with a critic.
    Predicted = 1,
}

/// Whether a shield acts on its verdicts.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpssMode {
    /// The verdict is carried out.
    Enforce = 0,
    /// The proposal always runs; the verdict says what would have been done.
    Shadow = 1,
}

/// What is asked of a shield. Take it from cpss_settings and change what differs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpssSettings {
    /// B: how much cost may be spent over the horizon. Above 0. For a shield of risks it is a
    /// probability: 0.005 is one incident in 200 episodes more than cannot be avoided.
    pub budget: f64,
    /// The epsilon of the projection. At least 1e-12; 1e-6 is fine.
    pub epsilon: f64,
    /// The most that one decision may ever cost, however much budget was saved. Above 0, below 1.
    pub tau_cap: f64,
    /// How many decisions' shares of the remaining budget one decision may spend. At least 1.
    pub pace: f64,
    /// The weight of risk against preferences; 0 for the threshold alone. At least 0.
    pub price: f64,
    /// Strength of the density in the gain. At least 0.
    pub k_density: f64,
    /// Strength of the density's change in the gain. At least 0.
    pub k_change: f64,
    /// The least gain. Above 0, at most 1.
    pub floor: f64,
    /// The weight of the newest density in the smoothed one. Above 0, at most 1.
    pub smoothing: f64,
    /// T: for how many decisions the budget has to last. At least 1. After them only cost 0 fits.
    pub horizon: u32,
    /// A CpssGain.
    pub gain: u32,
    /// A CpssFallback.
    pub fallback: u32,
    /// A CpssCharge.
    pub charge: u32,
    /// A CpssMode.
    pub mode: u32,
    /// CHOOSE IT: the action that is safest to take blindly. It runs when not one number of a
    /// moment is usable, and after every error. The 0 of cpss_settings is a placeholder.
    pub last_resort: usize,
}

/// What is said of a critic whose risks are judged. Take it from cpss_terms; cpss_critic_about
/// has gamma and resolution of a critic from a file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpssTerms {
    /// The chance that the critic's look-ahead goes on to the next decision. Above 0, at most 1.
    pub gamma: f64,
    /// Avoidable risks below this are noise, and cost next to nothing. At least 0, below 1.
    pub resolution: f64,
    /// How fast risks are raised when incidents come unforeseen; 0 for not at all.
    pub rate: f64,
    /// The most by which the log-odds of all risks are ever raised. From 0 to 40.
    pub max_shift: f64,
    /// The most by which those of what cannot be avoided are lifted beyond that. From 0 to 40.
    pub max_lift: f64,
    /// The level of evidence at which an alarm is raised: without cause it comes once in as many
    /// decisions or more, on average. At least 1.
    pub alarm: f64,
}

/// Settings with a budget for a horizon, and sensible numbers for the rest: cap 0.5, pace 1, price 0, an exponential
/// gain for densities of about 0 to 1, the least risky action as fallback, observed costs charged, enforcing.
#[unsafe(no_mangle)]
pub extern "C" fn cpss_settings(budget: f64, horizon: u32) -> CpssSettings {
    let spec = ShieldSpec::new(budget, horizon);
    CpssSettings {
        budget,
        epsilon: spec.epsilon,
        tau_cap: spec.tau_cap,
        pace: spec.pace,
        price: spec.price,
        k_density: 1.0,
        k_change: 1.0,
        floor: 0.1,
        smoothing: spec.smoothing,
        horizon,
        gain: CpssGain::Exponential as u32,
        fallback: CpssFallback::MinRisk as u32,
        charge: CpssCharge::Observed as u32,
        mode: CpssMode::Enforce as u32,
        last_resort: spec.last_resort,
    }
}

/// The terms of a critic that sees to the end of an episode: no resolution, no raising of risks, an alarm at 10,000.
#[unsafe(no_mangle)]
pub extern "C" fn cpss_terms() -> CpssTerms {
    let RiskSpec { gamma, resolution, rate, max_shift, max_lift, alarm, .. } = RiskSpec::new();
    CpssTerms { gamma, resolution, rate, max_shift, max_lift, alarm }
}

/// The name of the first setting that is out of its range, such as "budget"; null if all are good. `terms` may be
/// null. The text lives as long as the program.
///
/// A pointer that is not null points to settings, or to terms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_settings_fault(
    settings: *const CpssSettings,
    terms: *const CpssTerms,
) -> *const c_char {
    // SAFETY: what the caller promises of both pointers.
    let (settings, terms) = unsafe { (one(settings), one(terms)) };
    let Some(settings) = settings else { return c"settings".as_ptr() };
    let fault = settings.rules().err().or_else(|| terms.and_then(|terms| terms.rules().err()));
    fault.map_or(std::ptr::null(), CStr::as_ptr)
}

impl CpssSettings {
    /// The checked rules, or the name of the first setting that is out of its range.
    pub(crate) fn rules(&self) -> Result<Rules, &'static CStr> {
        let (k_density, k_change, floor) = (self.k_density, self.k_change, self.floor);
        let spec = ShieldSpec {
            budget: self.budget,
            horizon: self.horizon,
            epsilon: self.epsilon,
            tau_cap: self.tau_cap,
            pace: self.pace,
            price: self.price,
            gain: match self.gain {
                0 => GainSpec::Constant,
                1 => GainSpec::Exponential { k_density, k_change, floor },
                2 => GainSpec::Rational { k_density, k_change, floor },
                _ => return Err(c"gain"),
            },
            smoothing: self.smoothing,
            fallback: match self.fallback {
                0 => Fallback::MinRisk,
                1 => Fallback::BestAdmissible,
                _ => return Err(c"fallback"),
            },
            charge: match self.charge {
                0 => Charge::Observed,
                1 => Charge::Predicted,
                _ => return Err(c"charge"),
            },
            mode: match self.mode {
                0 => Mode::Enforce,
                1 => Mode::Shadow,
                _ => return Err(c"mode"),
            },
            last_resort: self.last_resort,
        };
        Rules::new(spec).map_err(|error| name(&error))
    }
}

impl CpssTerms {
    /// The checked rules, or the name of the first term that is out of its range.
    pub(crate) fn rules(&self) -> Result<RiskRules, &'static CStr> {
        let CpssTerms { gamma, resolution, rate, max_shift, max_lift, alarm } = *self;
        let precaution = RiskSpec::new().precaution;
        let spec = RiskSpec { gamma, resolution, rate, max_shift, max_lift, alarm, precaution };
        RiskRules::new(spec).map_err(|error| name(&error))
    }
}

/// The field's name as C has it.
fn name(error: &OutOfRange) -> &'static CStr {
    const NAMES: [&CStr; 16] = [
        c"budget",
        c"horizon",
        c"epsilon",
        c"tau_cap",
        c"pace",
        c"price",
        c"k_density",
        c"k_change",
        c"floor",
        c"smoothing",
        c"gamma",
        c"resolution",
        c"rate",
        c"max_shift",
        c"max_lift",
        c"alarm",
    ];
    let field = error.field.strip_prefix("gain.").unwrap_or(error.field);
    NAMES.into_iter().find(|name| name.to_bytes() == field.as_bytes()).unwrap_or(c"a setting")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_cores_and_every_fault_has_its_name() {
        let good = cpss_settings(1.0, 10);
        assert_eq!(*good.rules().unwrap().spec(), ShieldSpec::new(1.0, 10));
        assert_eq!(*cpss_terms().rules().unwrap().spec(), RiskSpec::new());
        let nan = f64::NAN;
        for (name, bad) in [
            (c"budget", CpssSettings { budget: nan, ..good }),
            (c"horizon", CpssSettings { horizon: 0, ..good }),
            (c"epsilon", CpssSettings { epsilon: 0.0, ..good }),
            (c"tau_cap", CpssSettings { tau_cap: 1.0, ..good }),
            (c"pace", CpssSettings { pace: 0.5, ..good }),
            (c"price", CpssSettings { price: -1.0, ..good }),
            (c"k_density", CpssSettings { k_density: nan, ..good }),
            (c"k_change", CpssSettings { k_change: nan, ..good }),
            (c"floor", CpssSettings { floor: 0.0, ..good }),
            (c"smoothing", CpssSettings { smoothing: 2.0, ..good }),
            (c"gain", CpssSettings { gain: 3, ..good }),
            (c"fallback", CpssSettings { fallback: 2, ..good }),
            (c"charge", CpssSettings { charge: 2, ..good }),
            (c"mode", CpssSettings { mode: u32::MAX, ..good }),
        ] {
            assert_eq!(bad.rules().unwrap_err(), name);
        }
        for (name, bad) in [
            (c"gamma", CpssTerms { gamma: 0.0, ..cpss_terms() }),
            (c"resolution", CpssTerms { resolution: 1.0, ..cpss_terms() }),
            (c"rate", CpssTerms { rate: nan, ..cpss_terms() }),
            (c"max_shift", CpssTerms { max_shift: 41.0, ..cpss_terms() }),
            (c"max_lift", CpssTerms { max_lift: -1.0, ..cpss_terms() }),
            (c"alarm", CpssTerms { alarm: 0.0, ..cpss_terms() }),
        ] {
            assert_eq!(bad.rules().unwrap_err(), name);
        }
    }
}
