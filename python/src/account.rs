//! How is a shield written down, and opened again?
//!
//! An [`Account`] is a shield with what has been settled in its ledger since that was opened. The same ledger is made
//! from it again, to the last bit, by judging and settling once more: the shield itself has, on purpose, no way to
//! edit one. Start at [`Account::of`].
//!
//! **Invariant:** what a settlement leaves behind follows from four numbers of a decision, which are kept as [`Past`].
//! The threshold follows from the ledger, the context and the density; the verdict from the proposal's cost and from
//! whether anything at all was admissible, which the least cost says. Which action stood in changes nothing: one that
//! replaces is admissible, and one that runs because nothing is, is not.

use cpss_shield::candidates::{CandidateError, Neighbourhood, judge_nearest};
use cpss_shield::{Decision, JudgeError, Rules, Settlement, Shield, Situation, StaleDecision};

/// A settled decision: density, cost of the proposal, least usable cost of any action, observed cost.
pub(crate) type Past = [f64; 4];

/// A shield, and what its ledger has seen.
#[derive(Clone)]
pub(crate) struct Account {
    shield: Shield,
    past: Vec<Past>,
}

/// A decision, and the least cost that it could have chosen.
#[derive(Clone, Copy)]
pub(crate) struct Judged {
    pub(crate) decision: Decision,
    least: f64,
}

impl Account {
    /// Opens an account under rules that were checked before.
    pub(crate) fn open(rules: Rules) -> Account {
        Account { shield: Shield::under(rules), past: Vec::new() }
    }

    /// The account in which this was settled.
    ///
    /// # Errors
    ///
    /// If the rules and the past do not fit together.
    pub(crate) fn of(rules: Rules, past: &[Past]) -> Result<Account, String> {
        let mut account = Account::open(rules);
        let last_resort = rules.spec().last_resort;
        let mut costs = vec![f64::NAN; 2.max(last_resort.saturating_add(1))];
        for [density, proposed, least, observed] in past.iter().copied() {
            (costs[0], costs[1]) = (proposed, least);
            let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density };
            let judged = account.judge(&situation).map_err(|error| error.to_string())?;
            // The proposal's own cost is among the costs, so the least is what it was.
            account.settle(judged, observed).map_err(|error| error.to_string())?;
        }
        Ok(account)
    }

    /// What was settled since the ledger was opened.
    pub(crate) fn past(&self) -> &[Past] {
        &self.past
    }

    /// The shield, to look at.
    pub(crate) fn shield(&self) -> &Shield {
        &self.shield
    }

    /// Judges a proposal; changes nothing.
    pub(crate) fn judge(&self, situation: &Situation<'_>) -> Result<Judged, JudgeError> {
        let decision = self.shield.judge(situation)?;
        Ok(Judged { decision, least: least(situation.costs) })
    }

    /// Judges candidates of a box; changes nothing.
    pub(crate) fn judge_nearest(
        &self,
        around: &Neighbourhood<'_>,
        candidates: &[f64],
        costs: &[f64],
        density: f64,
    ) -> Result<Judged, CandidateError> {
        let mut liking = vec![0.0; costs.len()];
        let decision =
            judge_nearest(&self.shield, around, candidates, costs, density, &mut liking)?;
        Ok(Judged { decision, least: least(costs) })
    }

    /// Charges what the executed action was observed to cost.
    pub(crate) fn settle(
        &mut self,
        judged: Judged,
        observed: f64,
    ) -> Result<Settlement, StaleDecision> {
        let Judged { decision, least } = judged;
        let settled = self.shield.settle(decision, observed)?;
        self.past.push([decision.density(), decision.cost_proposed(), least, observed]);
        Ok(settled)
    }

    /// Opens a fresh ledger for another episode.
    pub(crate) fn reset(&mut self) {
        self.shield.reset();
        self.past.clear();
    }
}

/// The least cost that the shield could use, or NaN.
fn least(costs: &[f64]) -> f64 {
    let usable = costs.iter().copied().filter(|cost| (0.0..f64::INFINITY).contains(cost));
    usable.min_by(f64::total_cmp).unwrap_or(f64::NAN)
}
