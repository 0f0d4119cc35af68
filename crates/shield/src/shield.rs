//! Which action runs now, and what did it cost?
//!
//! Algorithm 1 of the paper, in two halves that meet around the step of the world:
//! [`Shield::judge`] is its lines 3 to 9 and [`Shield::settle`] its line 10. The comparison of `c`
//! with `tau` is [`Threshold::admits`].
//!
//! **Invariants:** judging changes nothing and gives the same bits every time; only settling does,
//! once per decision; in [`Mode::Enforce`] an admissible proposal runs unless a price was set and a
//! cheaper action is worth more; an inadmissible action runs only as [`Verdict::Infeasible`], where
//! it is the least risky action or the last resort;
//! both are total over every float there is, and neither can panic (`tests/panic_free.rs`).
//!
//! **Absent on purpose:** a way to switch the shield off, to edit the ledger, or to change the
//! rules after construction.

use crate::fallback::{self, Choice};
use crate::{
    Certificate, Charge, Context, Counts, Decision, Fallback, JudgeError, Ledger, Mode, OutOfRange,
    Reason, Rules, Settlement, ShieldSpec, Situation, StaleDecision, Threshold, Verdict, price,
    usable,
};

/// The shield: rules that never change, a ledger, a context, and the counts of what it did.
///
/// ```
/// use cpss_shield::{Shield, ShieldSpec, Situation};
///
/// let mut shield = Shield::new(ShieldSpec::new(1.0, 10))?;
/// let costs = [0.05, 0.7];
/// let decision =
///     shield.judge(&Situation { proposal: 0, costs: &costs, preferences: &[], density: 0.0 })?;
/// assert_eq!(decision.executed(), 0);
/// let settlement = shield.settle(decision, 0.04)?;
/// assert_eq!(settlement.remaining, 0.96);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shield {
    rules: Rules,
    ledger: Ledger,
    context: Context,
    counts: Counts,
    envelope_held: bool,
    /// How many ledgers were closed before this one.
    generation: u64,
}

impl Shield {
    /// Checks the spec and opens a ledger.
    ///
    /// # Errors
    ///
    /// The first number of the spec that is out of its range.
    pub fn new(spec: ShieldSpec) -> Result<Shield, OutOfRange> {
        Rules::new(spec).map(Shield::under)
    }

    /// Opens a ledger under rules that were checked before.
    pub fn under(rules: Rules) -> Shield {
        let spec = rules.spec();
        Shield {
            ledger: Ledger::open(spec),
            context: Context::new(spec.smoothing),
            counts: Counts::default(),
            envelope_held: true,
            generation: 0,
            rules,
        }
    }

    /// Judges a proposal: lines 3 to 9 of Algorithm 1. Changes nothing.
    ///
    /// # Errors
    ///
    /// If the situation's shape makes no sense; see [`JudgeError`]. Its numbers cannot.
    pub fn judge(&self, situation: &Situation<'_>) -> Result<Decision, JudgeError> {
        let ShieldSpec { fallback, price, .. } = *self.rules.spec();
        self.judge_by(fallback, price, situation)
    }

    /// Judges with a fallback and a price that may differ from the rules' own.
    pub(crate) fn judge_by(
        &self,
        fallback: Fallback,
        price: f64,
        situation: &Situation<'_>,
    ) -> Result<Decision, JudgeError> {
        let Situation { proposal, costs, preferences, density } = *situation;
        let spec = self.rules.spec();

        // Lines 3 and 4: the proposal, and the threshold from what is left and what is around.
        let cost_proposed = situation.check(spec.last_resort)?;
        let threshold =
            Threshold::project(&self.ledger, &self.context, &spec.gain, spec.tau_cap, density);

        // Lines 5 to 9: run the proposal if it is admissible, or else the fallback.
        // A price may prefer another admissible action to either.
        let priced = price::choose(price, &threshold, situation, cost_proposed);
        let (verdict, allowed) = match (threshold.refusal(cost_proposed), priced) {
            (None, Some(action)) if action != proposal => {
                (Verdict::Replace(Reason::Priced), action)
            }
            (None, _) => (Verdict::Admit, proposal),
            (Some(reason), Some(action)) => (Verdict::Replace(reason), action),
            (Some(reason), None) => {
                match fallback::choose(fallback, &threshold, costs, preferences) {
                    Choice::Admissible(action) => (Verdict::Replace(reason), action),
                    Choice::LeastRisky(action) => (Verdict::Infeasible(reason), action),
                    Choice::Nothing => (Verdict::Infeasible(reason), spec.last_resort),
                }
            }
        };
        let executed = match spec.mode {
            Mode::Enforce => allowed,
            Mode::Shadow => proposal,
        };

        Ok(Decision {
            step: self.ledger.step(),
            generation: self.generation,
            proposal,
            allowed,
            executed,
            verdict,
            threshold,
            cost_proposed,
            cost_executed: costs.get(executed).copied().unwrap_or(f64::NAN),
            density,
        })
    }

    /// Charges the executed action: line 10 of Algorithm 1.
    ///
    /// The rules say which cost that is, so no call can get it wrong. Under [`Charge::Observed`] it
    /// is `observed`, which may differ from the prediction. Under [`Charge::Predicted`] it is
    /// [`Decision::cost_executed`], the number that was judged, and `observed` is not read.
    ///
    /// It is charged as it is, even above 1: a domain that lets it leave the scale of costs is
    /// charged by what it said. If it is NaN, infinite or negative it says nothing, and 1 is
    /// charged, the worst on that scale.
    ///
    /// # Errors
    ///
    /// If the decision is of another step or another ledger than the shield's: it has been settled
    /// already, or the shield was renewed or reset since. Nothing is charged then. A decision of
    /// *another shield*, at the same step of an equally old ledger, cannot be told apart; keep each
    /// shield's decisions with it.
    pub fn settle(
        &mut self,
        decision: Decision,
        observed: f64,
    ) -> Result<Settlement, StaleDecision> {
        self.expects(&decision)?;
        let rule = self.rules.spec().charge;
        let cost = match rule {
            Charge::Observed => observed,
            Charge::Predicted => decision.cost_executed(),
        };
        let charge = if usable(cost) { cost } else { 1.0 };
        let unusable_observation = rule == Charge::Observed && !usable(observed);

        let excess = self.ledger.charge(charge, decision.threshold());
        self.context.observe(decision.density());

        let settlement = Settlement {
            step: decision.step(),
            charge,
            excess,
            mispredicted: decision.is_admissible() && charge > decision.threshold(),
            unusable_observation,
            remaining: self.ledger.remaining(),
            envelope: self.ledger.envelope(),
            envelope_holds: self.ledger.envelope_holds(),
        };
        self.counts.record(&decision, &settlement);
        self.envelope_held &= settlement.envelope_holds;
        Ok(settlement)
    }

    /// Settles without an observation, as a shield that charges by prediction needs none.
    ///
    /// Under [`Charge::Observed`] the cost of such a step is unknown, and 1 is charged.
    ///
    /// # Errors
    ///
    /// As [`Shield::settle`].
    pub fn settle_predicted(&mut self, decision: Decision) -> Result<Settlement, StaleDecision> {
        self.settle(decision, f64::NAN)
    }

    /// Whether a decision is of the ledger and the step this shield is at.
    pub(crate) fn expects(&self, decision: &Decision) -> Result<(), StaleDecision> {
        let stale = StaleDecision {
            decided_at: decision.step(),
            decided_in: decision.generation,
            shield_at: self.ledger.step(),
            shield_in: self.generation,
        };
        let current = stale.decided_at == stale.shield_at && stale.decided_in == stale.shield_in;
        if current { Ok(()) } else { Err(stale) }
    }

    /// Closes the ledger and opens a fresh one, keeping the context: a deployment that goes on.
    ///
    /// Returns the finished account.
    pub fn renew(&mut self) -> Certificate {
        let finished = self.certificate();
        let context = self.context;
        *self = Shield { context, ..self.next_ledger() };
        finished
    }

    /// Closes the ledger, opens a fresh one and forgets the context: a new episode.
    ///
    /// Returns the finished account.
    pub fn reset(&mut self) -> Certificate {
        let finished = self.certificate();
        *self = self.next_ledger();
        finished
    }

    /// The shield as it was built, but for the generation. It wraps rather than saturates, so that
    /// even then neighbouring ledgers differ.
    fn next_ledger(&self) -> Shield {
        Shield { generation: self.generation.wrapping_add(1), ..Shield::under(self.rules) }
    }

    /// The account so far. A shield in risk mode has more to tell:
    /// [`Certificate::with_account`].
    pub fn certificate(&self) -> Certificate {
        Certificate::of(self.rules.spec(), &self.ledger, self.counts, self.envelope_held)
    }

    /// The rules, which never change.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The ledger as it stands.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The context as it stands.
    pub const fn context(&self) -> &Context {
        &self.context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_envelope_is_never_forgotten() {
        // No run can break it, so the flag is set by hand; a later step must not clear it.
        let sound = Shield::new(ShieldSpec::new(1.0, 10)).unwrap();
        let mut broken = Shield { envelope_held: false, ..sound };
        let situation = Situation { proposal: 0, costs: &[0.0], preferences: &[], density: 0.0 };
        let settled = broken.settle(broken.judge(&situation).unwrap(), 0.0).unwrap();
        assert!(settled.envelope_holds);
        assert!(!broken.certificate().envelope_held);
        assert!(!broken.renew().envelope_held, "the old account says so to the end");
        assert!(broken.certificate().envelope_held, "and the new one starts afresh");
    }

    #[test]
    fn the_generation_wraps_without_a_panic() {
        let sound = Shield::new(ShieldSpec::new(1.0, 10)).unwrap();
        let mut oldest = Shield { generation: u64::MAX, ..sound };
        let situation = Situation { proposal: 0, costs: &[0.0], preferences: &[], density: 0.0 };
        let decision = oldest.judge(&situation).unwrap();
        oldest.reset();
        let stale = oldest.settle(decision, 0.0).unwrap_err();
        assert_eq!((stale.decided_in, stale.shield_in), (u64::MAX, 0));
    }
}
