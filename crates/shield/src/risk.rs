//! What does a probability of an incident cost, and what may a critic be asked?
//!
//! A *critic* gives `rho(s, a)`: the probability of an incident in the rest of the episode if `a`
//! runs now and the least risky action ever after. Start at [`RiskRules::costs`], which turns the
//! risks of one moment into the costs of a [`Situation`](crate::Situation):
//!
//! ```text
//!   V(s)    = min over a of rho(s, a)         the risk that cannot be avoided here
//!   c(s, a) = rho(s, a) - V(s)                the avoidable risk of an action: its cost
//! ```
//!
//! **Invariants:** a cost is in `[0, 1]` or NaN; a risk that is no probability has a cost that is
//! NaN, which no threshold admits; while `V < 1`, the least risky action costs 0, so some action is
//! always admissible; where `V` is 1, nothing may run as if it cost nothing.
//!
//! **Absent on purpose:** the critic itself, and how it learned.

use core::fmt;

use crate::{Account, Memory, OutOfRange, Recalibration, usable};

/// What a person says about a critic and the shield's memory of it; not yet checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskSpec {
    /// The probability `gamma` with which a decision survives the critic's look-ahead. Above 0, at
    /// most 1; 1 if the critic sees to the end of an episode.
    pub gamma: f64,
    /// What the critic can tell apart: avoidable risks below it count as next to nothing. At least 0, below 1.
    pub resolution: f64,
    /// The rate `eta` of the recalibration; 0 for none. At least 0 and finite.
    pub rate: f64,
    /// The greatest shift of the log-odds that the recalibration may reach. At least 0, at most
    /// [`RiskSpec::MAX_SHIFT`].
    pub max_shift: f64,
    /// How far beyond it the recalibration may lift the log-odds of what cannot be avoided; 0 for not at all. At least 0, at most
    /// [`RiskSpec::MAX_SHIFT`]. The evidence is about the critic as it is raised, so what is lifted speaks against it no more:
    /// lift where something else tells that the world has changed, such as a [`Novelty`](crate::Novelty).
    pub max_lift: f64,
    /// The level `A` at which the evidence raises an alarm. At least 1 and finite.
    pub alarm: f64,
    /// What the log-odds are raised to, at least, when the world turns out not to be the calibrated one: an alarm of
    /// a [`Novelty`](crate::Novelty). 0 for none. At most the greatest shift and lift together.
    pub precaution: f64,
}

impl RiskSpec {
    /// The most that a shift may be allowed: it multiplies the odds by about 2e17.
    pub const MAX_SHIFT: f64 = 40.0;

    /// A critic that sees to the end and tells everything apart; no recalibration; an alarm that
    /// comes without cause after 10,000 decisions or more, on average.
    pub const fn new() -> RiskSpec {
        RiskSpec {
            gamma: 1.0,
            resolution: 0.0,
            rate: 0.0,
            max_shift: 3.0,
            max_lift: 0.0,
            alarm: 1e4,
            precaution: 0.0,
        }
    }
}

impl Default for RiskSpec {
    fn default() -> RiskSpec {
        RiskSpec::new()
    }
}

/// A [`RiskSpec`] that has been checked.
///
/// ```
/// use cpss_shield::{RiskRules, RiskSpec};
///
/// let rules = RiskRules::new(RiskSpec { resolution: 0.01, ..RiskSpec::new() })?;
/// let (memory, mut costs) = (rules.memory(), [0.0; 3]);
/// let unavoidable = rules.costs(memory.recalibration(), &[0.25, 0.255, 0.5], &mut costs)?;
/// assert_eq!(unavoidable, 0.25);
/// assert_eq!((costs[0], costs[2]), (0.0, 0.25));
/// assert!(costs[1] > 0.0 && costs[1] < 1e-12); // below the resolution: next to nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskRules(RiskSpec);

impl RiskRules {
    /// Checks every number of a spec.
    ///
    /// # Errors
    ///
    /// The first field, in the order of [`RiskSpec`], whose value is out of its range.
    pub fn new(spec: RiskSpec) -> Result<RiskRules, OutOfRange> {
        let RiskSpec { gamma, resolution, rate, max_shift, max_lift, alarm, precaution } = spec;
        let within = |most: f64, value: f64| (0.0..=most).contains(&value);
        for (field, value, in_range) in [
            ("gamma", gamma, 0.0 < gamma && gamma <= 1.0),
            ("resolution", resolution, (0.0..1.0).contains(&resolution)),
            ("rate", rate, usable(rate)),
            ("max_shift", max_shift, within(RiskSpec::MAX_SHIFT, max_shift)),
            ("max_lift", max_lift, within(RiskSpec::MAX_SHIFT, max_lift)),
            ("alarm", alarm, (1.0..f64::INFINITY).contains(&alarm)),
            ("precaution", precaution, within(max_shift + max_lift, precaution)),
        ] {
            if !in_range {
                return Err(OutOfRange { field, value });
            }
        }
        Ok(RiskRules(spec))
    }

    /// The numbers, as they were written.
    pub const fn spec(&self) -> &RiskSpec {
        &self.0
    }

    /// The account of a new episode.
    pub const fn account(&self) -> Account {
        Account::open(self.0.gamma)
    }

    /// A memory that has learned nothing. It goes on from episode to episode.
    pub const fn memory(&self) -> Memory {
        Memory::new(&self.0)
    }

    /// Writes what each action costs, and returns the unavoidable risk `V`.
    ///
    /// Each risk is shifted by the recalibration first. `V` is the least of those that are
    /// probabilities, or 1 if none is. A cost is `rho - V`, and what is returned is `V` lifted; of what is below the resolution next to
    /// nothing is left: it fits every threshold above zero and adds nothing to speak of to what was
    /// spent, and yet the least risky action is the one that costs least. Where nothing at all may be
    /// spent any more, only that one runs. If `V` is 1, every action of usable risk costs 1: an incident is certain whatever runs, or the
    /// critic's numbers have overflowed, and neither is to be had for nothing.
    ///
    /// A lift in force raises what cannot be avoided, and changes no bit of any cost: costs are those of the shifted risks.
    /// Were they taken from what is lifted, a lift that brings everything close to 1 would make a certain crash cost next to nothing.
    ///
    /// The resolution does not grow with the shift in force: in a world that the critic was not calibrated in nobody
    /// knows what is noise, and a shield that is surprised has to mind smaller differences.
    ///
    /// # Errors
    ///
    /// If there is not one place in `costs` for each risk. Nothing is written then.
    pub fn costs(
        &self,
        recalibration: &Recalibration,
        risks: &[f64],
        costs: &mut [f64],
    ) -> Result<f64, CostCount> {
        if risks.len() != costs.len() {
            return Err(CostCount { risks: risks.len(), costs: costs.len() });
        }
        let raising = recalibration.raising(risks);
        let mut unavoidable = 1.0;
        for (&risk, cost) in risks.iter().zip(&mut *costs) {
            let raised = raising.shift(risk);
            // Accepted by a comparison that a NaN fails, so `V` is a probability.
            if is_probability(raised) && raised <= unavoidable {
                unavoidable = raised;
            }
            *cost = raised;
        }
        for cost in costs {
            *cost = avoidable(*cost, unavoidable, self.0.resolution);
        }
        Ok(raising.lift(unavoidable))
    }
}

/// The cost of one risk beside what cannot be avoided; NaN for what is no probability.
fn avoidable(risk: f64, unavoidable: f64, resolution: f64) -> f64 {
    if !is_probability(risk) {
        return f64::NAN;
    }
    if unavoidable >= 1.0 {
        return 1.0;
    }
    let cost = risk - unavoidable;
    if cost < resolution { cost * UNTOLD } else { cost }
}

/// What is left of an avoidable risk that the critic cannot tell: nothing to speak of for a budget, and yet of two
/// such actions a fallback takes the one of less risk.
const UNTOLD: f64 = 1.0 / (1_u64 << 40) as f64;

/// Whether a number can stand for a probability. A NaN cannot.
pub(crate) fn is_probability(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

/// There is not one place for a cost for each risk. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostCount {
    /// How many risks there are.
    pub risks: usize,
    /// How many costs there is room for.
    pub costs: usize,
}

impl fmt::Display for CostCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`costs` has {} entries for {} risks", self.costs, self.risks)
    }
}

impl core::error::Error for CostCount {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Surprise;

    fn costs<const N: usize>(resolution: f64, risks: [f64; N]) -> (f64, [f64; N]) {
        let rules = RiskRules::new(RiskSpec { resolution, ..RiskSpec::new() }).unwrap();
        let mut costs = [0.5; N];
        let unavoidable = rules.costs(rules.memory().recalibration(), &risks, &mut costs).unwrap();
        (unavoidable, costs)
    }

    #[test]
    fn the_least_risky_action_costs_nothing() {
        assert_eq!(costs(0.0, [0.5, 0.25, 1.0]), (0.25, [0.25, 0.0, 0.75]));
        let next_to_nothing = 0.25 * UNTOLD;
        assert_eq!(costs(0.3, [0.5, 0.25, 1.0]), (0.25, [next_to_nothing, 0.0, 0.75]));
        assert_eq!(costs(0.25, [0.5, 0.25, 1.0]), (0.25, [0.25, 0.0, 0.75]), "at it, not below");
    }

    #[test]
    fn below_the_resolution_less_risk_still_costs_less() {
        let (_, costs) = costs(0.01, [0.255, 0.25, 0.251]);
        assert!(costs[1] < costs[2] && costs[2] < costs[0], "{costs:?}");
        assert!(costs.iter().sum::<f64>() < 1e-13, "of a million decisions nothing is noticed");
    }

    #[test]
    fn a_shield_that_is_surprised_minds_smaller_differences() {
        let spec = RiskSpec { resolution: 0.01, rate: 1.0, max_shift: 5.0, ..RiskSpec::new() };
        let rules = RiskRules::new(spec).unwrap();
        let mut memory = rules.memory();
        let cost = |memory: &Memory| {
            let mut costs = [0.0; 2];
            rules.costs(memory.recalibration(), &[0.001, 0.0105], &mut costs).unwrap();
            costs[1]
        };
        assert!(cost(&memory) < 1e-12, "0.0095 apart: below the resolution");
        memory.end_episode(Some(Surprise::of(1.0)));
        assert!(cost(&memory) > 0.02, "0.0251 apart, and minded: {}", cost(&memory));
    }

    #[test]
    fn a_lift_raises_what_cannot_be_avoided_and_no_cost() {
        let spec = RiskSpec { rate: 2.0, max_shift: 0.0, max_lift: 9.0, ..RiskSpec::new() };
        let rules = RiskRules::new(spec).unwrap();
        let mut memory = rules.memory();
        let risks = [0.25, 0.125, 0.5];
        let mut costs = [[0.0; 3]; 2];
        let before = rules.costs(memory.recalibration(), &risks, &mut costs[0]).unwrap();
        memory.end_episode(Some(Surprise::of(0.5)));
        let after = rules.costs(memory.recalibration(), &risks, &mut costs[1]).unwrap();
        let log_odds = |risk: f64| (risk / (1.0 - risk)).ln();
        assert!((log_odds(after) - log_odds(before) - 1.0).abs() < 1e-12, "{before} {after}");
        assert_eq!(costs[0], costs[1]);
    }

    /// If costs were what lifted risks differ by, a certain crash would cost 0.01 here, and fit a threshold.
    #[test]
    fn a_certain_crash_costs_no_less_where_everything_is_lifted() {
        let spec = RiskSpec { rate: 9.0, max_shift: 0.0, max_lift: 9.0, ..RiskSpec::new() };
        let rules = RiskRules::new(spec).unwrap();
        let mut memory = rules.memory();
        memory.end_episode(Some(Surprise::of(1.0)));
        let mut costs = [0.0; 3];
        let risks = [0.05, 0.3, 1.0];
        let unavoidable = rules.costs(memory.recalibration(), &risks, &mut costs).unwrap();
        assert!(unavoidable > 0.99 && costs == [0.0, 0.25, 0.95], "{unavoidable} {costs:?}");
    }

    #[test]
    fn what_is_no_probability_has_no_usable_cost() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-9, 1.0_f64.next_up()] {
            let (unavoidable, costs) = costs(0.0, [0.5, bad, 0.75]);
            assert_eq!((unavoidable, costs[0], costs[2]), (0.5, 0.0, 0.25));
            assert!(costs[1].is_nan(), "{bad}");
        }
        let (unavoidable, costs) = costs(0.0, [f64::NAN; 2]);
        assert!(
            unavoidable == 1.0 && costs.iter().all(|cost| cost.is_nan()),
            "the last resort runs"
        );
    }

    #[test]
    fn certain_failure_is_not_to_be_had_for_nothing() {
        let (unavoidable, costs) = costs(0.1, [1.0, f64::NAN, 1.0]);
        assert_eq!((unavoidable, costs[0], costs[2]), (1.0, 1.0, 1.0));
        assert!(costs[1].is_nan());
    }

    #[test]
    fn too_little_room_is_an_error_and_numbers_out_of_range_too() {
        let rules = RiskRules::new(RiskSpec::new()).unwrap();
        let error = rules.costs(rules.memory().recalibration(), &[0.5; 3], &mut [0.0; 2]);
        assert_eq!(error, Err(CostCount { risks: 3, costs: 2 }));
        const SPEC: RiskSpec = RiskSpec::new();
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            for (field, spec) in [
                ("gamma", RiskSpec { gamma: bad, ..SPEC }),
                ("resolution", RiskSpec { resolution: bad, ..SPEC }),
                ("rate", RiskSpec { rate: bad, ..SPEC }),
                ("max_shift", RiskSpec { max_shift: bad, ..SPEC }),
                ("max_lift", RiskSpec { max_lift: bad, ..SPEC }),
                ("alarm", RiskSpec { alarm: bad, ..SPEC }),
                ("precaution", RiskSpec { precaution: bad, ..SPEC }),
            ] {
                assert_eq!(RiskRules::new(spec).unwrap_err().field, field);
            }
        }
        assert!(RiskRules::new(RiskSpec { gamma: 0.0, ..SPEC }).is_err());
        let too_much = RiskSpec { precaution: 1.5, max_shift: 1.0, max_lift: 0.25, ..SPEC };
        assert_eq!(RiskRules::new(too_much).unwrap_err().field, "precaution");
    }
}
