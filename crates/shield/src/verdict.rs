//! What did the shield decide about a proposal, and why?
//!
//! Start at [`Verdict`]; the [`Reason`] inside it is the outermost limit that refused the
//! proposal, or the price at which an admissible one was passed over.
//!
//! **Invariants:** every intervention has exactly one reason; each reason has one sentence for people,
//! its `Display`, and one for the reader of the docs.

use core::fmt;

/// The shield's answer to one proposal.
///
/// What "runs" below is what runs in [`Mode::Enforce`](crate::Mode::Enforce). In shadow mode the
/// verdict is the same and the proposal runs all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The proposal is admissible and runs.
    Admit,
    /// The proposal is refused, or passed over for its price, and an admissible action runs in its
    /// place (in shadow mode: would have run).
    Replace(Reason),
    /// The proposal is refused and no action is admissible: the least risky one runs (in shadow
    /// mode: would have run), which may be the proposal itself. What the executed action costs
    /// above the threshold is counted as excess.
    Infeasible(Reason),
}

impl Verdict {
    /// Why the proposal does not run; `None` if it was admitted.
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Verdict::Admit => None,
            Verdict::Replace(reason) | Verdict::Infeasible(reason) => Some(reason),
        }
    }

    /// Whether the proposal was refused or passed over: the `I_t` of Theorem 3.
    pub const fn intervenes(self) -> bool {
        !matches!(self, Verdict::Admit)
    }
}

/// Why a proposal does not run: the limit that refused it, or its price. Later ones apply only where earlier ones do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The predicted cost is NaN, infinite or negative: nothing can be said for it.
    UnusableCost,
    /// The cost is over the cap, and would be refused at any budget.
    OverCap,
    /// The horizon is over and nobody has renewed the ledger; only cost 0 is admissible.
    HorizonClosed,
    /// The budget is spent or overdrawn; only cost 0 is admissible.
    BudgetSpent,
    /// The cost fits the cap but not the budget's projection.
    OverBudget,
    /// The density is NaN, infinite or negative, so the worst is assumed; only cost 0 is
    /// admissible.
    UnusableContext,
    /// The cost would fit the cap and the budget; the context tightened the threshold below it.
    OverContext,
    /// The proposal is admissible, and a cheaper action is worth more at the price of risk.
    Priced,
}

impl Reason {
    /// Every reason, in order.
    pub const ALL: [Reason; 8] = [
        Reason::UnusableCost,
        Reason::OverCap,
        Reason::HorizonClosed,
        Reason::BudgetSpent,
        Reason::OverBudget,
        Reason::UnusableContext,
        Reason::OverContext,
        Reason::Priced,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::UnusableCost => "its cost is not a usable number",
            Reason::OverCap => "its cost is over the cap",
            Reason::HorizonClosed => "the horizon is over",
            Reason::BudgetSpent => "the budget is spent",
            Reason::OverBudget => "its cost is over the projected budget",
            Reason::UnusableContext => "the density is not a usable number",
            Reason::OverContext => "the context tightened the threshold below its cost",
            Reason::Priced => "a cheaper action is worth more at the price of risk",
        })
    }
}
