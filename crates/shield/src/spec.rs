//! What may a person ask of a shield, and which numbers make sense?
//!
//! Start at [`ShieldSpec`], the sheet a person fills in; [`Rules`] is the same sheet after every
//! number on it has been checked, and the only one that a shield works with.
//!
//! **Invariants:** no [`Rules`] exists with a number out of range, so nothing after construction
//! has to doubt one; a check accepts with `<=`, `<` and `contains`, so a NaN, which satisfies
//! none of them, is refused; an error names the field and the value.
//!
//! **Absent on purpose:** a switch that turns the shield off (an unshielded run is another arm,
//! measured in [`Mode::Shadow`]), and reading files (the core has no dependencies).

use core::fmt;

use crate::{Fallback, GainSpec, usable};

/// What a person asks of a shield; not yet checked. See [`Rules::new`].
///
/// ```
/// use cpss_shield::{Fallback, Shield, ShieldSpec};
///
/// let spec = ShieldSpec { fallback: Fallback::BestAdmissible, ..ShieldSpec::new(2.0, 40) };
/// assert!(Shield::new(spec).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShieldSpec {
    /// The budget `B`: how much cost may be spent over the horizon. Above 0.
    pub budget: f64,
    /// The horizon `T` \[decisions\]. At least 1.
    pub horizon: u32,
    /// The `epsilon` of Eq. 4, which keeps the projection's divisor above the number of
    /// decisions left. At least [`ShieldSpec::MIN_EPSILON`].
    pub epsilon: f64,
    /// The most that one decision may ever be allowed to cost, however much budget was saved.
    /// Above 0 and below 1: a predicted collision costs 1, so no budget buys one.
    pub tau_cap: f64,
    /// The pace `k`: how many decisions' shares of the remaining budget one decision may spend. At
    /// least 1 and finite. 1 is Eq. 4 as printed; more lets bursts through earlier, and never more
    /// than the budget in all.
    pub pace: f64,
    /// The weight `w` of risk against the policy's preferences: 0 for the threshold rule alone. At
    /// least 0 and finite. See the [guide](crate#the-price-of-risk).
    pub price: f64,
    /// How the context tightens the threshold.
    pub gain: GainSpec,
    /// The weight `lambda` of the newest density in the smoothed one. Above 0, at most 1.
    pub smoothing: f64,
    /// Which action runs in place of a refused one.
    pub fallback: Fallback,
    /// Which cost is charged: the one that was observed, or the one that was judged.
    pub charge: Charge,
    /// Whether the verdict is carried out or only recorded.
    pub mode: Mode,
    /// The action that runs when not one cost of a situation is usable: the predictor has failed,
    /// and the shield knows nothing.
    ///
    /// **Choose it.** The 0 of [`ShieldSpec::new`] is a placeholder. Only the domain knows which
    /// action is safest to take blindly; if that is not action 0, a spec that leaves it at 0 runs
    /// whatever action 0 happens to be. For candidate sets row 0 is the proposal, so
    /// [`judge_nearest`](crate::candidates::judge_nearest) refuses 0. Its range depends on the
    /// action set, so each situation checks it.
    pub last_resort: usize,
}

impl ShieldSpec {
    /// The least `epsilon`.
    ///
    /// The paper asks only for more than 0. In doubles, one that `1 + epsilon` rounds away would
    /// let the last decision spend the remaining budget rounded *up*, and the account end one unit
    /// in the last place above `B`. From here on it cannot: `proofs/ledger_never_overdrawn.smt2`.
    pub const MIN_EPSILON: f64 = 1e-12;

    /// The defaults around the two numbers that nobody can choose for you.
    ///
    /// `epsilon` is 1e-6, the cap 0.5, the gain exponential with its default strengths (made for
    /// densities of about 0 to 1), the smoothing 0.2, the pace 1, the price 0, the fallback the
    /// paper's [`Fallback::MinRisk`], the charge [`Charge::Observed`], the mode [`Mode::Enforce`], and
    /// the last resort action 0, which is a placeholder: see [`ShieldSpec::last_resort`].
    pub const fn new(budget: f64, horizon: u32) -> ShieldSpec {
        ShieldSpec {
            budget,
            horizon,
            epsilon: 1e-6,
            tau_cap: 0.5,
            pace: 1.0,
            price: 0.0,
            gain: GainSpec::EXPONENTIAL,
            smoothing: 0.2,
            fallback: Fallback::MinRisk,
            charge: Charge::Observed,
            mode: Mode::Enforce,
            last_resort: 0,
        }
    }
}

/// Which cost a settled decision is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Charge {
    /// What the executed action was observed to cost, as in the paper. It may exceed what was
    /// predicted, and then the budget can be overspent.
    #[default]
    Observed,
    /// What the executed action was predicted to cost: the very number that was judged. In
    /// [`Mode::Enforce`] the budget is overspent only where no action was admissible.
    Predicted,
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Charge::Observed => "observed",
            Charge::Predicted => "predicted",
        })
    }
}

/// Whether a shield acts on its verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The verdict is carried out.
    #[default]
    Enforce,
    /// The verdict is what it would have been, and the proposal runs all the same: an
    /// unshielded run, measured by the shield's own yardstick.
    Shadow,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Enforce => "enforce",
            Mode::Shadow => "shadow",
        })
    }
}

/// A [`ShieldSpec`] that has been checked. It cannot be changed, only read through
/// [`Rules::spec`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules(ShieldSpec);

impl Rules {
    /// Checks every number of a spec.
    ///
    /// # Errors
    ///
    /// The first field, in the order of [`ShieldSpec`], whose value is out of its range.
    pub fn new(spec: ShieldSpec) -> Result<Rules, OutOfRange> {
        let ShieldSpec { budget, horizon, epsilon, tau_cap, pace, price, gain, smoothing, .. } =
            spec;
        let positive = |value: f64| 0.0 < value && value < f64::INFINITY;
        for (field, value, in_range) in [
            ("budget", budget, positive(budget)),
            ("horizon", f64::from(horizon), 1 <= horizon),
            ("epsilon", epsilon, (ShieldSpec::MIN_EPSILON..f64::INFINITY).contains(&epsilon)),
            ("tau_cap", tau_cap, 0.0 < tau_cap && tau_cap < 1.0),
            ("pace", pace, (1.0..f64::INFINITY).contains(&pace)),
            ("price", price, usable(price)),
        ] {
            if !in_range {
                return Err(OutOfRange { field, value });
            }
        }
        gain.check()?;
        if !(0.0 < smoothing && smoothing <= 1.0) {
            return Err(OutOfRange { field: "smoothing", value: smoothing });
        }
        Ok(Rules(spec))
    }

    /// The numbers, as they were written.
    pub const fn spec(&self) -> &ShieldSpec {
        &self.0
    }
}

/// A number in a [`ShieldSpec`] or a [`RiskSpec`](crate::RiskSpec) that no shield can work with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// The field, as in its spec; `gain.floor` and the like for a field of its gain.
    pub field: &'static str,
    /// What it held.
    pub value: f64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is out of range: {}", self.field, self.value)
    }
}

impl core::error::Error for OutOfRange {}
