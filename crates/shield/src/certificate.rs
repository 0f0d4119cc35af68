//! What can be said about a whole run, and re-derived by someone who does not trust us?
//!
//! A [`Certificate`] is the ledger and the counts at the end of an episode (or so far), and in risk
//! mode the account of risk beside them. It follows from the trace of decisions and observed costs
//! alone. It can fail: [`Certificate::budget_kept`] says whether what was promised of the budget was
//! kept, whoever is to blame.
//!
//! **Invariants:** `admitted + replaced + infeasible == steps`; `envelope_held` covers every step,
//! not only the last; `budget_kept` does too, as the spent cost never decreases.

use core::fmt;

use crate::decision::Short;
use crate::{
    Account, Charge, Decision, Ledger, Memory, Mode, Reason, Settlement, ShieldSpec, Verdict,
};

/// The account of a run: what was allowed, what was spent, and how often the shield acted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// Whether the verdicts were carried out or only recorded.
    pub mode: Mode,
    /// Which cost was charged.
    pub charge: Charge,
    /// The budget `B`.
    pub budget: f64,
    /// The horizon `T` \[decisions\].
    pub horizon: u32,
    /// The `epsilon` of Eq. 4.
    pub epsilon: f64,
    /// The pace `k`.
    pub pace: f64,
    /// Decisions settled, `t`.
    pub steps: u64,
    /// Cost spent, `C_t`.
    pub spent: f64,
    /// Whether the spent cost is within the budget, `C_t <= B`, without any tolerance.
    ///
    /// Where predictions are charged and enforced, it fails only by steps without an admissible
    /// action. Where observations are charged, any of them can break it.
    pub budget_kept: bool,
    /// Cost above the thresholds, `E_t`.
    pub excess: f64,
    /// The anytime envelope at the last step.
    pub envelope: f64,
    /// Whether the spent cost was within the envelope at every step. Also `false` if the numbers
    /// ever grew too large for a double to tell; see [`Ledger::envelope_holds`].
    pub envelope_held: bool,
    /// How often the shield did what.
    pub counts: Counts,
    /// The account of risk, where there is one: start, chosen, surprise and arriving.
    pub account: Option<Account>,
    /// The evidence and the recalibration, where there are any.
    pub memory: Option<Memory>,
}

impl Certificate {
    pub(crate) fn of(
        spec: &ShieldSpec,
        ledger: &Ledger,
        counts: Counts,
        envelope_held: bool,
    ) -> Certificate {
        Certificate {
            mode: spec.mode,
            charge: spec.charge,
            budget: ledger.budget(),
            horizon: ledger.horizon(),
            epsilon: ledger.epsilon(),
            pace: ledger.pace(),
            steps: ledger.step(),
            spent: ledger.spent(),
            budget_kept: ledger.spent() <= ledger.budget(),
            excess: ledger.excess(),
            envelope: ledger.envelope(),
            envelope_held,
            counts,
            account: None,
            memory: None,
        }
    }

    /// The same certificate with the account of risk beside it.
    #[must_use]
    pub const fn with_account(self, account: Account) -> Certificate {
        Certificate { account: Some(account), ..self }
    }

    /// The same certificate with what is remembered from episode to episode.
    #[must_use]
    pub const fn with_memory(self, memory: Memory) -> Certificate {
        Certificate { memory: Some(memory), ..self }
    }

    /// By how much the budget is overspent, `max(0, C_t - B)`.
    pub fn overspent(&self) -> f64 {
        if self.budget_kept { 0.0 } else { self.spent - self.budget }
    }
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Proposals that were admissible.
    pub admitted: u64,
    /// Proposals that were refused or passed over while some action was admissible: it stood in
    /// for them, or in shadow mode would have.
    pub replaced: u64,
    /// Of those replaced, the admissible ones that were passed over for their price.
    pub priced: u64,
    /// Steps on which no action was admissible.
    pub infeasible: u64,
    /// Steps whose executed action was predicted to be admissible and then cost more.
    pub mispredicted: u64,
    /// Proposals refused because their cost was unusable.
    pub unusable_costs: u64,
    /// Steps whose density was unusable.
    pub unusable_contexts: u64,
    /// Steps whose observed cost was unusable, and which were charged 1.
    pub unusable_observations: u64,
}

impl Counts {
    /// Counts one settled decision.
    pub(crate) fn record(&mut self, decision: &Decision, settlement: &Settlement) {
        let verdict = decision.verdict();
        let priced = verdict.reason() == Some(Reason::Priced);
        let unusable_cost = verdict.reason() == Some(Reason::UnusableCost);
        for (count, happened) in [
            (&mut self.admitted, verdict == Verdict::Admit),
            (&mut self.replaced, matches!(verdict, Verdict::Replace(_))),
            (&mut self.priced, priced),
            (&mut self.infeasible, matches!(verdict, Verdict::Infeasible(_))),
            (&mut self.mispredicted, settlement.mispredicted),
            (&mut self.unusable_costs, unusable_cost),
            (&mut self.unusable_contexts, !crate::usable(decision.density())),
            (&mut self.unusable_observations, settlement.unusable_observation),
        ] {
            *count = count.saturating_add(u64::from(happened));
        }
    }
}

/// For people, in a few lines.
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        write!(
            f,
            "spent {} of {} in {} of {} decisions ({}, {}): ",
            Short(self.spent),
            Short(self.budget),
            self.steps,
            self.horizon,
            self.mode,
            self.charge
        )?;
        match self.budget_kept {
            true => writeln!(f, "budget kept")?,
            false => writeln!(f, "OVERSPENT by {}", Short(self.overspent()))?,
        }
        writeln!(
            f,
            "envelope {}, of which excess {}: {}",
            Short(self.envelope),
            Short(self.excess),
            if self.envelope_held { "held at every step" } else { "BROKEN" }
        )?;
        write!(
            f,
            "admitted {}, replaced {}, infeasible {}, mispredicted {}",
            counts.admitted, counts.replaced, counts.infeasible, counts.mispredicted
        )?;
        if counts.priced > 0 {
            write!(f, "\nof those replaced, {} were admissible and passed over", counts.priced)?;
        }
        for (count, what) in [
            (counts.unusable_costs, "cost"),
            (counts.unusable_contexts, "density"),
            (counts.unusable_observations, "observed cost"),
        ] {
            if count > 0 {
                write!(f, "\nunusable {what} on {count} steps, taken for the worst")?;
            }
        }
        if let Some(account) = &self.account {
            write!(f, "\n{account}")?;
        }
        if let Some(memory) = &self.memory {
            write!(f, "\n{memory}")?;
        }
        Ok(())
    }
}
