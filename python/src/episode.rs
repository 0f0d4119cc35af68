//! How is a shielded episode kept, written down, and opened again?
//!
//! An [`Episode`] is a shield with what has been settled in its ledger since that was opened and, where a critic says
//! what actions risk, the account of that risk. The same one is made from its [`State`] again, to the last bit, by
//! judging and settling once more: the shield itself has, on purpose, no way to edit a ledger. Start at [`Episode::of`].
//!
//! **Invariant:** what a settlement leaves behind follows from the numbers of [`Past`]. The threshold follows from the
//! ledger, the context and the density. The verdict and the charge follow from two costs, the proposal's and that of the
//! action which the verdict called for: beside these two, no other action changes either.

use cpss_shield::candidates::{CandidateError, Neighbourhood, judge_nearest};
use cpss_shield::{
    Account, Certificate, Decision, JudgeError, Memory, Mode, RiskRules, Rules, Settlement, Shield,
    Situation, StaleDecision, Surprise,
};

/// A settled decision: density, cost of the proposal, cost of the action that the verdict called for, observed cost,
/// the risk that could not be avoided, and the risk of what ran. The last two are NaN without a critic.
pub(crate) type Past = [f64; 6];

/// An episode on paper: what was settled, and whether it has ended with or without an incident.
pub(crate) type State = (Vec<Past>, Option<bool>);

/// What an episode is judged by: the shield's rules, and the critic's, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) rules: Rules,
    pub(crate) risk: Option<RiskTerms>,
}

/// A shield, and what its ledger has seen.
#[derive(Clone)]
pub(crate) struct Episode {
    shield: Shield,
    risk: Option<Risk>,
    /// The surprise that came to light with what was settled or closed last.
    surprise: Option<Surprise>,
    past: Vec<Past>,
    /// Whether the world is one that the critic was calibrated in: of another nothing is promised.
    knows_world: bool,
}

/// How a critic's risks are accounted for, and whether its card says that it is conservative: only then, and only if
/// the shield acts, anything is promised.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct RiskTerms {
    pub(crate) rules: RiskRules,
    pub(crate) is_conservative: bool,
    /// The least and the greatest budget that this was found under.
    pub(crate) budgets: [f64; 2],
    /// How many decisions of an episode that was found for; of a longer one nothing is known.
    pub(crate) longest: usize,
}

/// The account of an episode's risk, and what the surprises in it say of the critic.
#[derive(Clone, Copy)]
struct Risk {
    terms: RiskTerms,
    account: Account,
    memory: Memory,
}

/// A decision, and the cost of the action that its verdict called for.
#[derive(Clone, Copy)]
pub(crate) struct Judged {
    pub(crate) decision: Decision,
    allowed: f64,
}

/// What a critic said of a decision: the risk that could not be avoided, and the risk of what ran.
#[derive(Clone, Copy)]
pub(crate) struct Foretold {
    pub(crate) unavoidable: f64,
    pub(crate) risk: f64,
}

impl Foretold {
    /// What is known without a critic.
    pub(crate) const NOTHING: Foretold = Foretold { unavoidable: f64::NAN, risk: f64::NAN };
}

impl Episode {
    /// Opens an episode.
    pub(crate) fn open(terms: Terms) -> Episode {
        let risk = terms.risk.map(Risk::open);
        let shield = Shield::under(terms.rules);
        Episode { shield, risk, surprise: None, past: Vec::new(), knows_world: true }
    }

    /// The episode in which this was settled.
    ///
    /// # Errors
    ///
    /// If the terms and the past do not fit together.
    pub(crate) fn of(terms: Terms, (past, incident): &State) -> Result<Episode, String> {
        let mut episode = Episode::open(terms);
        let room = 2.max(terms.rules.spec().last_resort.saturating_add(1));
        let mut costs = vec![f64::NAN; room];
        // Only a price asks for preferences, and it preferred what the verdict called for.
        let mut preferences = vec![0.0; room];
        preferences[1] = 1.0;
        for [density, proposed, allowed, observed, unavoidable, risk] in past.iter().copied() {
            (costs[0], costs[1]) = (proposed, allowed);
            let liked = if allowed < proposed { preferences.as_slice() } else { &[] };
            let situation = Situation { proposal: 0, costs: &costs, preferences: liked, density };
            let decision = episode.shield.judge(&situation).map_err(|error| error.to_string())?;
            let judged = Judged { decision, allowed };
            let foretold = Foretold { unavoidable, risk };
            episode.settle(judged, observed, foretold).map_err(|error| error.to_string())?;
        }
        if let Some(incident) = incident {
            episode.close(*incident);
        }
        Ok(episode)
    }

    /// What is needed to make the same episode again.
    pub(crate) fn state(&self) -> State {
        (self.past.clone(), self.risk.and_then(|risk| risk.account.incident()))
    }

    /// What it is judged by.
    pub(crate) fn terms(&self) -> Terms {
        Terms { rules: *self.shield.rules(), risk: self.risk.map(|risk| risk.terms) }
    }

    /// The shield, to look at.
    pub(crate) fn shield(&self) -> &Shield {
        &self.shield
    }

    /// The certificate so far, with the account of risk where there is one.
    pub(crate) fn certificate(&self) -> Certificate {
        let certificate = self.shield.certificate();
        match self.risk {
            Some(Risk { account, memory, .. }) => {
                certificate.with_account(account).with_memory(memory)
            }
            None => certificate,
        }
    }

    /// What is promised and what the account says: promise, start, chosen, surprise, arriving, evidence. NaN where
    /// nothing is promised, and before the first decision, when nobody has looked at the scene yet.
    pub(crate) fn promised(&self) -> [f64; 6] {
        match &self.risk {
            Some(Risk { terms, account, memory }) if !self.past.is_empty() => {
                let (start, arriving) = (account.start(), account.arriving());
                let acts = self.shield.rules().spec().mode == Mode::Enforce;
                let budget = self.shield.ledger().budget();
                let [least, most] = terms.budgets;
                // A budget of 1 or more allows everything: what is promised is a probability.
                let is_tried = budget < 1.0 && least <= budget && budget <= most;
                let is_known = self.knows_world && self.past.len() <= terms.longest;
                // Once more than the budget was spent, since nothing could be judged or something else ran, it limits nothing.
                let holds = is_known && self.keeps_budget();
                let most = start + arriving + budget;
                let promise = match terms.is_conservative && holds && acts && is_tried && most < 1.0
                {
                    true => most,
                    false => f64::NAN,
                };
                let evidence = memory.evidence().value();
                [promise, start, account.chosen(), account.surprise(), arriving, evidence]
            }
            _ => [f64::NAN; 6],
        }
    }

    /// Says whether the world is one that the critic was calibrated in.
    pub(crate) fn knows_world(&mut self, knows: bool) {
        self.knows_world = knows;
    }

    /// Whether no more than the budget was spent.
    pub(crate) fn keeps_budget(&self) -> bool {
        self.shield.certificate().budget_kept
    }

    /// The threshold of a decision now: it does not depend on what is proposed.
    pub(crate) fn threshold(&self, density: f64) -> Result<f64, JudgeError> {
        let costs = vec![0.0; self.shield.rules().spec().last_resort + 1];
        let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density };
        Ok(self.shield.judge(&situation)?.threshold())
    }

    /// Judges a proposal; changes nothing.
    pub(crate) fn judge(&self, situation: &Situation<'_>) -> Result<Judged, JudgeError> {
        let decision = self.shield.judge(situation)?;
        Ok(Judged::of(decision, situation.costs))
    }

    /// Judges candidates of a box; changes nothing.
    pub(crate) fn judge_nearest(
        &self,
        around: &Neighbourhood<'_>,
        candidates: &[f64],
        costs: &[f64],
        density: f64,
    ) -> Result<Judged, CandidateError> {
        let mut preference = vec![0.0; costs.len()];
        let decision =
            judge_nearest(&self.shield, around, candidates, costs, density, &mut preference)?;
        Ok(Judged::of(decision, costs))
    }

    /// Charges the executed action: what it was observed to cost, or what was judged, as the rules say.
    pub(crate) fn settle(
        &mut self,
        judged: Judged,
        observed: f64,
        foretold: Foretold,
    ) -> Result<Settlement, StaleDecision> {
        let Judged { decision, allowed } = judged;
        let settled = self.shield.settle(decision, observed)?;
        let Foretold { unavoidable, risk } = foretold;
        let found = self.risk.as_mut().map(|own| &mut own.account);
        let found = found.and_then(|account| account.enter(unavoidable, risk, settled.charge));
        self.learn(found);
        let costs = [decision.density(), decision.cost_proposed(), allowed, observed];
        let [density, proposed, allowed, observed] = costs;
        self.past.push([density, proposed, allowed, observed, unavoidable, risk]);
        Ok(settled)
    }

    /// The episode is over, with or without an incident: its account is closed.
    pub(crate) fn close(&mut self, incident: bool) {
        let found = self.risk.as_mut().and_then(|own| own.account.close(incident));
        self.learn(found);
    }

    /// The surprise that came to light with what was settled or closed last, if any did.
    pub(crate) fn surprise(&self) -> Option<Surprise> {
        self.surprise
    }

    fn learn(&mut self, surprise: Option<Surprise>) {
        self.surprise = surprise;
        if let (Some(risk), Some(surprise)) = (&mut self.risk, surprise) {
            risk.memory.learn(surprise);
        }
    }

    /// Opens a fresh ledger and a fresh account for another episode.
    pub(crate) fn reset(&mut self) {
        self.shield.reset();
        self.risk = self.risk.map(|risk| Risk::open(risk.terms));
        self.surprise = None;
        self.past.clear();
    }
}

impl Risk {
    fn open(terms: RiskTerms) -> Risk {
        Risk { terms, account: terms.rules.account(), memory: terms.rules.memory() }
    }
}

impl Judged {
    fn of(decision: Decision, costs: &[f64]) -> Judged {
        let allowed = costs.get(decision.allowed()).copied().unwrap_or(f64::NAN);
        Judged { decision, allowed }
    }
}
