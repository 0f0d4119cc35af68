//! What does a shield answer?
//!
//! `cpss_shield`'s decision, settlement and certificate as plain structs. A number that a shield of costs does not have
//! is NaN.

use std::ffi::c_char;

use cpss_shield::{Certificate, Counts, Decision, Reason, Settlement, Verdict};

/// There is no such action: what CpssDecision.executed holds if not even the shield is known.
pub const CPSS_NO_ACTION: usize = usize::MAX;

/// The shield's answer to a proposal.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpssVerdict {
    /// The proposal fits and runs.
    Admit = 0,
    /// An action that fits runs in its place.
    Replace = 1,
    /// Nothing fits: the least risky action runs, or the last resort if no number was usable.
    Infeasible = 2,
    /// The call failed and nothing was judged: the last resort has to run.
    None = 3,
}

/// Why a proposal does not run: the outermost limit that refused it.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpssReason {
    /// It runs.
    None = 0,
    /// Its cost is NaN, infinite or negative, or its risk is no probability.
    UnusableCost = 1,
    /// Its cost is over the cap, and would be refused at any budget.
    OverCap = 2,
    /// The horizon is over; only cost 0 fits.
    HorizonClosed = 3,
    /// The budget is spent; only cost 0 fits.
    BudgetSpent = 4,
    /// Its cost is over the budget's projection.
    OverBudget = 5,
    /// The density is NaN, infinite or negative, so the worst is assumed.
    UnusableContext = 6,
    /// The context tightened the threshold below its cost.
    OverContext = 7,
    /// It fits, and a cheaper action is worth more at the price of risk.
    Priced = 8,
}

/// One judged proposal. Run `executed`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpssDecision {
    /// The action to run now. After an error: the last resort.
    pub executed: usize,
    /// The action that the verdict calls for; in shadow mode what would have run.
    pub allowed: usize,
    /// The step this decision is of, from 0 in every episode.
    pub step: u64,
    /// The threshold tau that costs were compared with.
    pub threshold: f64,
    /// The budget's projection, before the cap and the gain.
    pub tau_budget: f64,
    /// The gain; 0 if the density was unusable.
    pub gain: f64,
    /// The cost of the proposal; may be NaN.
    pub cost_proposed: f64,
    /// The cost of the executed action; may be NaN.
    pub cost_executed: f64,
    /// V: the risk that no action avoids. NaN for a shield of costs.
    pub unavoidable: f64,
    /// The risk of the executed action, raised as the terms say. NaN for a shield of costs.
    pub risk_executed: f64,
    /// What was decided about the proposal.
    pub verdict: CpssVerdict,
    /// Why, if it does not run.
    pub reason: CpssReason,
    /// Whether the executed action fits the threshold.
    pub admissible: bool,
}

/// What a decision cost, and where that leaves the ledger.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpssSettlement {
    /// The step that was settled.
    pub step: u64,
    /// What was charged; 1 if the cost was unusable.
    pub charge: f64,
    /// By how much that was above the threshold.
    pub excess: f64,
    /// The budget left; below 0 if overdrawn.
    pub remaining: f64,
    /// The bound that the spent cost keeps at every step.
    pub envelope: f64,
    /// Whether it does.
    pub envelope_holds: bool,
    /// Whether the action was predicted to fit and did not.
    pub mispredicted: bool,
    /// Whether the observed cost was unusable, so that 1 was charged.
    pub unusable_observation: bool,
}

/// The account of an episode: what was allowed, what was spent, and how often the shield acted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpssCertificate {
    /// B.
    pub budget: f64,
    /// What was spent of it.
    pub spent: f64,
    /// Charges above their thresholds, summed.
    pub excess: f64,
    /// The bound on what was spent.
    pub envelope: f64,
    /// Risk that could not be avoided at the start. This and the next six are NaN for a shield
    /// of costs; of a finished episode start + chosen + surprise + arriving is 1 after an incident,
    /// and else 0.
    pub start: f64,
    /// Avoidable risk that was let through and charged.
    pub chosen: f64,
    /// What the critic did not foresee.
    pub surprise: f64,
    /// What came into view beyond the look-ahead.
    pub arriving: f64,
    /// The part of the surprise that was below the critic's resolution.
    pub unresolved: f64,
    /// The evidence that the critic underestimates risk, over all episodes.
    pub evidence: f64,
    /// By how much the log-odds of all risks are raised now,
    pub shift: f64,
    /// and by how much more those of what cannot be avoided.
    pub lift: f64,
    /// Decisions settled.
    pub steps: u64,
    /// Proposals that ran, or in shadow mode would have.
    pub admitted: u64,
    /// Proposals in whose place another action fitted.
    pub replaced: u64,
    /// Of these, passed over for their price.
    pub priced: u64,
    /// Decisions for which nothing fitted.
    pub infeasible: u64,
    /// Actions that were predicted to fit and then cost more.
    pub mispredicted: u64,
    /// Proposals of unusable cost.
    pub unusable_costs: u64,
    /// Decisions of unusable density.
    pub unusable_contexts: u64,
    /// Settlements with an unusable observation.
    pub unusable_observations: u64,
    /// After how many surprises, over all episodes, the evidence first reached its alarm; 0 if never.
    pub alarm: u64,
    /// Whether no more than the budget was spent.
    pub budget_kept: bool,
    /// Whether the spent cost was within the envelope at every step.
    pub envelope_held: bool,
}

/// A reason in words, for people. The text lives as long as the program; any number may be asked.
#[unsafe(no_mangle)]
pub extern "C" fn cpss_reason_text(reason: u32) -> *const c_char {
    let text = match reason {
        0 => c"it runs",
        1 => c"its cost is not a usable number",
        2 => c"its cost is over the cap",
        3 => c"the horizon is over",
        4 => c"the budget is spent",
        5 => c"its cost is over the projected budget",
        6 => c"the density is not a usable number",
        7 => c"the context tightened the threshold below its cost",
        8 => c"a cheaper action is worth more at the price of risk",
        _ => c"no such reason",
    };
    text.as_ptr()
}

impl CpssDecision {
    /// What comes back when nothing was judged.
    pub(crate) fn refused(last_resort: usize) -> CpssDecision {
        CpssDecision {
            executed: last_resort,
            allowed: last_resort,
            step: 0,
            threshold: f64::NAN,
            tau_budget: f64::NAN,
            gain: f64::NAN,
            cost_proposed: f64::NAN,
            cost_executed: f64::NAN,
            unavoidable: f64::NAN,
            risk_executed: f64::NAN,
            verdict: CpssVerdict::None,
            reason: CpssReason::None,
            admissible: false,
        }
    }

    pub(crate) fn of(decision: &Decision, unavoidable: f64, risk: f64) -> CpssDecision {
        let verdict = decision.verdict();
        CpssDecision {
            executed: decision.executed(),
            allowed: decision.allowed(),
            step: decision.step(),
            threshold: decision.threshold(),
            tau_budget: decision.tau_budget(),
            gain: decision.gain(),
            cost_proposed: decision.cost_proposed(),
            cost_executed: decision.cost_executed(),
            unavoidable,
            risk_executed: risk,
            verdict: match verdict {
                Verdict::Admit => CpssVerdict::Admit,
                Verdict::Replace(_) => CpssVerdict::Replace,
                Verdict::Infeasible(_) => CpssVerdict::Infeasible,
            },
            reason: match verdict.reason() {
                None => CpssReason::None,
                Some(Reason::UnusableCost) => CpssReason::UnusableCost,
                Some(Reason::OverCap) => CpssReason::OverCap,
                Some(Reason::HorizonClosed) => CpssReason::HorizonClosed,
                Some(Reason::BudgetSpent) => CpssReason::BudgetSpent,
                Some(Reason::OverBudget) => CpssReason::OverBudget,
                Some(Reason::UnusableContext) => CpssReason::UnusableContext,
                Some(Reason::OverContext) => CpssReason::OverContext,
                Some(Reason::Priced) => CpssReason::Priced,
            },
            admissible: decision.is_admissible(),
        }
    }
}

impl From<Settlement> for CpssSettlement {
    fn from(settled: Settlement) -> CpssSettlement {
        CpssSettlement {
            step: settled.step,
            charge: settled.charge,
            excess: settled.excess,
            remaining: settled.remaining,
            envelope: settled.envelope,
            envelope_holds: settled.envelope_holds,
            mispredicted: settled.mispredicted,
            unusable_observation: settled.unusable_observation,
        }
    }
}

impl From<Certificate> for CpssCertificate {
    fn from(certificate: Certificate) -> CpssCertificate {
        let Counts {
            admitted,
            replaced,
            priced,
            infeasible,
            mispredicted,
            unusable_costs,
            unusable_contexts,
            unusable_observations,
        } = certificate.counts;
        let account = certificate.account;
        let part = |of: fn(&cpss_shield::Account) -> f64| account.as_ref().map_or(f64::NAN, of);
        let memory = certificate.memory.as_ref();
        CpssCertificate {
            budget: certificate.budget,
            spent: certificate.spent,
            excess: certificate.excess,
            envelope: certificate.envelope,
            start: part(cpss_shield::Account::start),
            chosen: part(cpss_shield::Account::chosen),
            surprise: part(cpss_shield::Account::surprise),
            arriving: part(cpss_shield::Account::arriving),
            unresolved: part(cpss_shield::Account::unresolved),
            evidence: memory.map_or(f64::NAN, |memory| memory.evidence().value()),
            shift: memory.map_or(f64::NAN, |memory| memory.recalibration().shift()),
            lift: memory.map_or(f64::NAN, |memory| memory.recalibration().lift()),
            steps: certificate.steps,
            admitted,
            replaced,
            priced,
            infeasible,
            mispredicted,
            unusable_costs,
            unusable_contexts,
            unusable_observations,
            alarm: memory.and_then(|memory| memory.evidence().alarm()).unwrap_or(0),
            budget_kept: certificate.budget_kept,
            envelope_held: certificate.envelope_held,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn reasons_are_said_in_the_cores_words() {
        for (reason, number) in Reason::ALL.into_iter().zip(1..) {
            // SAFETY: the function returns a text that lives as long as the program.
            let text = unsafe { CStr::from_ptr(cpss_reason_text(number)) };
            assert_eq!(text.to_str().unwrap(), reason.to_string());
        }
    }
}
