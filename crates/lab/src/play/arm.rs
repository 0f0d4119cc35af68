//! Which methods are compared?
//!
//! An [`Arm`] says who proposes and how the proposal is judged. Every arm has a shield: one that
//! acts, or, for the unshielded arms, a shadow that only keeps the account, so that all are
//! measured by the same yardstick. [`ShieldSettings`] is the shield as a person writes it.

use std::str::FromStr;

use cpss_shield::{Charge, GainSpec, Mode, ShieldSpec};

pub mod settings;

pub use settings::ShieldSettings;

use super::barrier;
use crate::record::memory::Adaptation;

/// A method of the comparison. Where a budget or threshold is not given, it is the settings' own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The policy alone.
    Dqn,
    /// The policy under the whole shield.
    Cpss(Option<Millionths>),
    /// The same with a price on risk.
    Priced(Option<Millionths>),
    /// The same costs against the constant threshold that makes the same promise: `B / T`.
    Fixed(Option<Millionths>),
    /// The same costs against any constant threshold; it promises nothing.
    Threshold(Millionths),
    /// The budget without the context's gain.
    BudgetOnly,
    /// The context's gain without the budget.
    ContextOnly,
    /// The whole shield with costs from branching the true world: privileged, an upper bound.
    Oracle,
    /// A control barrier function on distance and time to collision, instead of a critic; it promises nothing.
    Barrier,
    /// Random proposals, unshielded.
    Random,
    /// The same proposal always, unshielded.
    Constant(usize),
}

/// A number in millionths, so that arms can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millionths(u32);

impl Millionths {
    /// The nearest; `None` unless it is above 0 and below 1.
    pub fn of(number: f64) -> Option<Millionths> {
        let millionths = (number * 1e6).round();
        (1.0..1e6).contains(&millionths).then_some(Millionths(millionths as u32))
    }

    /// The number.
    pub fn number(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl Arm {
    /// The arms that the policy proposes in, in the order of tables.
    pub(crate) const POLICY_ARMS: [Arm; 7] = [
        Arm::Dqn,
        Arm::Cpss(None),
        Arm::Priced(None),
        Arm::Fixed(None),
        Arm::BudgetOnly,
        Arm::ContextOnly,
        Arm::Oracle,
    ];

    /// The shield of this arm.
    pub fn shield(self, settings: &ShieldSettings) -> ShieldSpec {
        let budget = match self {
            Arm::Cpss(budget) | Arm::Priced(budget) | Arm::Fixed(budget) => budget,
            _ => None,
        };
        let budget = budget.map_or(settings.spec.budget, Millionths::number);
        let whole = ShieldSpec { budget, ..settings.spec };
        // A budget so large that only the cap limits a decision: the ledger counts, and no more.
        let unlimited = f64::from(whole.horizon) * 1e3;
        let constant = |threshold: f64, budget| ShieldSpec {
            budget,
            // Enough for the whole budget at once: the cap alone decides, and the sum is kept.
            pace: f64::from(whole.horizon) + 1.0,
            tau_cap: threshold,
            gain: GainSpec::Constant,
            ..whole
        };
        match self {
            Arm::Cpss(_) | Arm::Oracle => whole,
            Arm::Priced(_) => ShieldSpec { price: settings.price, ..whole },
            // No threshold may admit a predicted crash.
            Arm::Fixed(_) => {
                let share = whole.budget / f64::from(whole.horizon);
                constant(share.min(0.99), whole.budget)
            }
            Arm::Threshold(threshold) => constant(threshold.number(), unlimited),
            Arm::Barrier => constant(barrier::THRESHOLD, unlimited),
            Arm::BudgetOnly => ShieldSpec { gain: GainSpec::Constant, ..whole },
            Arm::ContextOnly => ShieldSpec { budget: unlimited, ..whole },
            Arm::Dqn | Arm::Random | Arm::Constant(_) => ShieldSpec { mode: Mode::Shadow, ..whole },
        }
    }

    /// A shield as this arm has it, from settings that agree with `spec` wherever the arm leaves a
    /// choice: what differs from `spec` is what the arm forces.
    pub(crate) fn forced(self, spec: &ShieldSpec) -> ShieldSpec {
        let gain = match spec.gain {
            GainSpec::Exponential { .. } => spec.gain,
            _ => GainSpec::EXPONENTIAL,
        };
        let usual = ShieldSpec::new(spec.budget, spec.horizon);
        let settings = ShieldSettings {
            spec: ShieldSpec {
                gain,
                charge: Charge::Predicted,
                epsilon: usual.epsilon,
                mode: usual.mode,
                price: usual.price,
                ..*spec
            },
            price: if spec.price > 0.0 { spec.price } else { 1.0 },
            adaptation: Adaptation::default(),
        };
        // A threshold is the cap of its shield.
        let arm = match self {
            Arm::Threshold(_) => Millionths::of(spec.tau_cap).map_or(self, Arm::Threshold),
            arm => arm,
        };
        arm.shield(&settings)
    }

    /// Whether its budget can ever limit a decision, so that a share of it means something.
    pub(crate) fn binds_ledger(self) -> bool {
        !matches!(self, Arm::Threshold(_) | Arm::ContextOnly | Arm::Barrier)
    }

    /// Whether it promises that incidents are no more than its budget above what cannot be avoided.
    pub(crate) fn promises(self) -> bool {
        matches!(self, Arm::Cpss(_) | Arm::Priced(_) | Arm::Fixed(_) | Arm::BudgetOnly)
    }

    /// Whether its costs are the critic's: they follow from the risks.
    pub(crate) fn asks_critic(self) -> bool {
        !matches!(self, Arm::Oracle | Arm::Barrier)
    }

    /// The budget or threshold that it was given, of the frontier.
    pub fn given(self) -> Option<f64> {
        match self {
            Arm::Cpss(given) | Arm::Priced(given) | Arm::Fixed(given) => given,
            Arm::Threshold(threshold) => Some(threshold),
            _ => None,
        }
        .map(Millionths::number)
    }

    /// Whether it needs no policy: who proposes is part of the arm.
    pub(crate) fn is_floor(self) -> bool {
        matches!(self, Arm::Random | Arm::Constant(_))
    }
}

/// Reads `name:NUMBER`.
fn given(text: &str) -> Option<Arm> {
    let (name, number) = text.split_once(':')?;
    if name == "constant" {
        return number.parse().ok().map(Arm::Constant);
    }
    let wanted: f64 = number.parse().ok()?;
    // What is promised is promised of the number that is given, not of the nearest that an arm's name can hold.
    let number = Millionths::of(wanted).filter(|whole| (whole.number() - wanted).abs() <= 1e-12)?;
    match name {
        "cpss" => Some(Arm::Cpss(Some(number))),
        "priced" => Some(Arm::Priced(Some(number))),
        "fixed" => Some(Arm::Fixed(Some(number))),
        "threshold" => Some(Arm::Threshold(number)),
        _ => None,
    }
}

impl FromStr for Arm {
    type Err = String;

    fn from_str(text: &str) -> Result<Arm, String> {
        match text {
            "dqn" => Ok(Arm::Dqn),
            "cpss" => Ok(Arm::Cpss(None)),
            "priced" => Ok(Arm::Priced(None)),
            "fixed" => Ok(Arm::Fixed(None)),
            "budget-only" => Ok(Arm::BudgetOnly),
            "context-only" => Ok(Arm::ContextOnly),
            "oracle" => Ok(Arm::Oracle),
            "barrier" => Ok(Arm::Barrier),
            "random" => Ok(Arm::Random),
            _ => given(text).ok_or_else(|| {
                "give dqn, cpss, priced, fixed, budget-only, context-only, oracle, barrier, random \
                 or constant:K; cpss:B, priced:B and fixed:B for a budget B of their own, \
                 threshold:X for a constant threshold, both between 0.000001 and 0.999999"
                    .to_owned()
            }),
        }
    }
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut with = |name: &str, given: &Option<Millionths>| match given {
            Some(number) => write!(f, "{name}:{}", number.number()),
            None => f.write_str(name),
        };
        match self {
            Arm::Dqn => f.write_str("dqn"),
            Arm::Cpss(budget) => with("cpss", budget),
            Arm::Priced(budget) => with("priced", budget),
            Arm::Fixed(budget) => with("fixed", budget),
            Arm::Threshold(threshold) => with("threshold", &Some(*threshold)),
            Arm::BudgetOnly => f.write_str("budget-only"),
            Arm::ContextOnly => f.write_str("context-only"),
            Arm::Oracle => f.write_str("oracle"),
            Arm::Barrier => f.write_str("barrier"),
            Arm::Random => f.write_str("random"),
            Arm::Constant(index) => write!(f, "constant:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::TaskId;
    use cpss_shield::Shield;

    #[test]
    fn every_arm_of_every_task_has_a_valid_shield() {
        for id in TaskId::ALL {
            let settings = ShieldSettings::shipped(id).unwrap();
            for arm in Arm::POLICY_ARMS.into_iter().chain([Arm::Barrier]) {
                let shield = Shield::new(arm.shield(&settings)).unwrap();
                let acts = shield.rules().spec().mode == Mode::Enforce;
                assert_eq!(acts, arm != Arm::Dqn, "{id:?} {arm}");
            }
        }
    }

    #[test]
    fn a_budget_of_its_own_is_the_only_difference() {
        let settings = ShieldSettings::shipped(TaskId::MergeV0).unwrap();
        let usual = Arm::Cpss(None).shield(&settings);
        let other = Arm::Cpss(Millionths::of(0.25)).shield(&settings);
        assert_eq!(other, ShieldSpec { budget: 0.25, ..usual });
        let threshold = Arm::Threshold(Millionths::of(0.125).unwrap()).shield(&settings);
        assert_eq!(threshold.tau_cap, 0.125);
    }

    #[test]
    fn a_fixed_threshold_makes_the_same_promise() {
        for id in TaskId::ALL {
            let settings = ShieldSettings::shipped(id).unwrap();
            let fixed = Arm::Fixed(None).shield(&settings);
            assert_eq!(fixed.budget, settings.spec.budget);
            let most = fixed.tau_cap * f64::from(fixed.horizon);
            assert!((most - settings.spec.budget).abs() < 1e-12, "{id:?}: {most}");
        }
    }

    #[test]
    fn an_arm_forces_no_more_than_it_is() {
        let number = Millionths::of(0.07).unwrap();
        for id in TaskId::ALL {
            let settings = ShieldSettings::shipped(id).unwrap();
            let some = [
                Arm::Cpss(Some(number)),
                Arm::Priced(Some(number)),
                Arm::Threshold(number),
                Arm::Barrier,
                Arm::Random,
                Arm::Constant(1),
            ];
            for arm in Arm::POLICY_ARMS.into_iter().chain(some) {
                let spec = arm.shield(&settings);
                assert_eq!(arm.forced(&spec), spec, "{id:?} {arm}");
            }
            let whole = Arm::Cpss(None).shield(&settings);
            for arm in
                [Arm::Dqn, Arm::Priced(None), Arm::Fixed(None), Arm::BudgetOnly, Arm::Barrier]
            {
                assert_ne!(arm.forced(&whole), whole, "{id:?} {arm}");
            }
        }
    }

    #[test]
    fn an_arm_is_read_as_it_is_written() {
        for nearly in ["cpss:0.0019999", "fixed:0.1000004", "threshold:0.0000015", "cpss:NaN"] {
            assert!(nearly.parse::<Arm>().is_err(), "{nearly} is no whole millionth");
        }
        let number = Millionths::of(0.05).unwrap();
        for arm in Arm::POLICY_ARMS.into_iter().chain([
            Arm::Barrier,
            Arm::Random,
            Arm::Constant(3),
            Arm::Cpss(Some(number)),
            Arm::Priced(Some(number)),
            Arm::Fixed(Some(number)),
            Arm::Threshold(number),
        ]) {
            assert_eq!(arm.to_string().parse::<Arm>(), Ok(arm));
        }
        assert_eq!("cpss:0.05".parse(), Ok(Arm::Cpss(Some(number))));
        for bad in ["dqn:2", "cpss:nan", "cpss:0", "threshold:1", "fixed:-1", "shield", "cpss*2"] {
            assert!(bad.parse::<Arm>().is_err(), "{bad}");
        }
    }
}
