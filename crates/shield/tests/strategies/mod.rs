//! What do the property tests feed the shield?
//!
//! Everything a float can be, and specs of every kind. `any_float` favours the numbers that break
//! things; `any_spec` favours small horizons, where budgets run out and ledgers close.

#![allow(dead_code, reason = "each test file uses its own part of this module")]

use cpss_shield::{Charge, Fallback, GainSpec, Mode, ShieldSpec};
use proptest::prelude::*;

/// Any float at all: ordinary costs, exact edges, and raw bit patterns.
pub(crate) fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..1.0,
        2 => prop::sample::select(vec![
            0.0, -0.0, 1.0, 0.5, f64::MIN_POSITIVE, 5e-324, -5e-324, f64::EPSILON, f64::MAX,
            f64::MIN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, -1.0, 2.0, 1e300,
        ]),
        1 => any::<u64>().prop_map(f64::from_bits),
    ]
}

/// A gain of any form.
pub(crate) fn any_gain() -> impl Strategy<Value = GainSpec> {
    let strengths = || (0.0..5.0, 0.0..5.0, 0.01..=1.0);
    prop_oneof![
        Just(GainSpec::Constant),
        strengths().prop_map(|(k_density, k_change, floor)| GainSpec::Exponential {
            k_density,
            k_change,
            floor
        }),
        strengths().prop_map(|(k_density, k_change, floor)| GainSpec::Rational {
            k_density,
            k_change,
            floor
        }),
    ]
}

/// Any spec in range: in either mode, with either fallback and charge, at any pace and price.
pub(crate) fn any_spec() -> impl Strategy<Value = ShieldSpec> {
    let budget = prop_oneof![0.001..4.0, Just(5e-324), Just(1e-310), Just(1e300), 1e-9..1e9];
    let horizon = prop_oneof![8 => 1_u32..40, 1 => Just(u32::MAX)];
    let epsilon = prop_oneof![Just(1e-12), Just(1e-6), 1e-9..10.0, Just(1e300)];
    let fallback = prop::sample::select(vec![Fallback::MinRisk, Fallback::BestAdmissible]);
    let mode = prop::sample::select(vec![Mode::Enforce, Mode::Enforce, Mode::Shadow]);
    let charge = prop::sample::select(vec![Charge::Observed, Charge::Predicted]);
    let numbers = (budget, horizon, epsilon, 0.01..0.999, any_pace(), any_price(), 0.01..=1.0);
    (numbers, any_gain(), fallback, charge, mode).prop_map(
        |(numbers, gain, fallback, charge, mode)| {
            let (budget, horizon, epsilon, tau_cap, pace, price, smoothing) = numbers;
            ShieldSpec {
                epsilon,
                tau_cap,
                pace,
                price,
                gain,
                smoothing,
                fallback,
                charge,
                mode,
                last_resort: 0,
                ..ShieldSpec::new(budget, horizon)
            }
        },
    )
}

/// Any pace, Eq. 4's own among them.
pub(crate) fn any_pace() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(1.0), 3 => 1.0..10.0, 1 => 10.0..1e9, 1 => Just(f64::MAX)]
}

/// Any price, none as often as not.
pub(crate) fn any_price() -> impl Strategy<Value = f64> {
    prop_oneof![4 => Just(0.0), 3 => 0.0..5.0, 1 => Just(1e300)]
}

/// One moment: costs, preferences (perhaps none), the proposal, the density, the observed cost.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) costs: Vec<f64>,
    pub(crate) preferences: Vec<f64>,
    pub(crate) proposal: usize,
    pub(crate) density: f64,
    pub(crate) observed: f64,
}

impl Moment {
    pub(crate) fn situation(&self) -> cpss_shield::Situation<'_> {
        cpss_shield::Situation {
            proposal: self.proposal,
            costs: &self.costs,
            preferences: &self.preferences,
            density: self.density,
        }
    }
}

/// A moment with `actions` actions whose every number is drawn from `number`.
pub(crate) fn moment<S: Strategy<Value = f64> + Clone>(
    actions: std::ops::Range<usize>,
    number: S,
) -> impl Strategy<Value = Moment> {
    prop::collection::vec((number.clone(), number.clone()), actions).prop_flat_map(move |pairs| {
        let (costs, preferences): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        (
            Just(costs),
            Just(preferences),
            any::<bool>(),
            any::<prop::sample::Index>(),
            number.clone(),
            number.clone(),
        )
            .prop_map(|(costs, preferences, liked, proposal, density, observed)| Moment {
                proposal: proposal.index(costs.len()),
                preferences: if liked { preferences } else { Vec::new() },
                costs,
                density,
                observed,
            })
    })
}

/// Uniform numbers from a seed, for tests that play many episodes (Steele's SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number in `[0, 1)`.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * 2f64.powi(-53)
    }
}
