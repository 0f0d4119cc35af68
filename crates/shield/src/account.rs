//! Where did the risk of an episode come from?
//!
//! An [`Account`] splits what happened, `[incident]` as 0 or 1, into four parts:
//!
//! ```text
//!   [incident] = V_0   + sum of c_t + sum of d_t + (1 - gamma) sum of V_t over t >= 1
//!                start   chosen       surprise     arriving
//!
//!   d_t = [incident at t] + gamma V_{t+1} [goes on] - (V_t + c_t)
//! ```
//!
//! Start at [`Account::enter`], once for each decision, and end with [`Account::close`]. The identity
//! holds by definition of `d_t`, whatever the critic says: the sum telescopes.
//!
//! `c_t` is the cost that was *charged*, but never more than `1 - V_t`: where an incident is certain the
//! ledger is charged 1, and yet nobody chose anything. It may be less than the avoidable risk: what lies
//! below the critic's resolution is charged as next to nothing. So the surprise is the critic's own, measured against the
//! risk `rho` that it foretold, plus what was not charged:
//!
//! ```text
//!   d_t = ([incident at t] + gamma V_{t+1} [goes on] - rho_t)  +  (rho_t - V_t - c_t)
//!          what the critic did not foresee                        unresolved
//! ```
//!
//! [`Account::enter`] and [`Account::close`] return both as a [`Surprise`]. The first part has no positive mean if the critic is
//! conservative: the evidence is about that. The second has a mean above 0 even for a perfect critic, and would raise false
//! alarms. But a promise counts all of `d_t`, and so does the recalibration.
//!
//! **Invariants:** after each entry the four parts sum to the entered `V_t` plus `c_t`, and after
//! the end to `[incident]`, up to rounding; both numbers of a returned surprise are in `[-1, 1]`; a closed account
//! never changes.

use core::fmt;

use crate::decision::Short;
use crate::risk::is_probability;
use crate::usable;

/// The account of risk of one episode. [`RiskRules::account`](crate::RiskRules::account) opens it.
///
/// ```
/// use cpss_shield::{RiskRules, RiskSpec};
///
/// let mut account = RiskRules::new(RiskSpec::new())?.account();
/// // A scene of unavoidable risk 0.25, in which an action of risk 0.3125 ran.
/// assert_eq!(account.enter(0.25, 0.3125, 0.0625), None);
/// // It went well: now little can go wrong, and the least risky action runs.
/// let surprise = account.enter(0.125, 0.125, 0.0).unwrap();
/// assert_eq!((surprise.unforeseen, surprise.uncharged), (-0.1875, -0.1875));
/// assert_eq!(account.close(false).unwrap().unforeseen, -0.125);
/// assert_eq!((account.start(), account.chosen(), account.surprise()), (0.25, 0.0625, -0.3125));
/// assert_eq!(account.total(), 0.0, "no incident");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    gamma: f64,
    start: f64,
    chosen: f64,
    surprise: f64,
    arriving: f64,
    unresolved: f64,
    stage: Stage,
}

/// By how much one decision came out worse than expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surprise {
    /// Than the critic foretold: `outcome - rho`.
    pub unforeseen: f64,
    /// Than what could not be avoided and what was charged: `outcome - (V + c)`, the account's own `d`.
    pub uncharged: f64,
}

impl Surprise {
    /// Where all that was foretold was charged too, both are one number.
    pub const fn of(surprise: f64) -> Surprise {
        Surprise { unforeseen: surprise, uncharged: surprise }
    }
}

/// How far the episode is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Nothing was decided yet.
    Opened,
    /// A decision has been entered, and what comes of it is not known yet.
    Pending {
        /// `V_t + c_t`: what the account expects.
        expected: f64,
        /// `rho_t`: what the critic foretold of the executed action; `None` if nothing usable.
        foretold: Option<f64>,
    },
    /// The episode is over.
    Closed { incident: bool },
}

impl Account {
    /// An account with nothing in it. [`RiskRules`](crate::RiskRules) has checked `gamma`.
    pub(crate) const fn open(gamma: f64) -> Account {
        Account {
            gamma,
            start: 0.0,
            chosen: 0.0,
            surprise: 0.0,
            arriving: 0.0,
            unresolved: 0.0,
            stage: Stage::Opened,
        }
    }

    /// Enters a settled decision: the unavoidable risk `V_t` of its moment, the risk `rho_t` of the
    /// executed action, and what was charged for it.
    ///
    /// Returns the surprise of the decision *before*, which is known only now; `None` for the first.
    ///
    /// `V_t` and `rho_t` must be the numbers that were judged, raised by the recalibration. A `V_t` that is
    /// no probability counts as 1, a charge that is no cost as 1, and an action of unusable risk is the
    /// worst surprise, 1, whatever comes of it. Of a charge, at most `1 - V_t` was chosen: otherwise a
    /// critic that calls everything lost would seem to have foreseen more incidents than there can be.
    pub fn enter(&mut self, unavoidable: f64, risk: f64, charge: f64) -> Option<Surprise> {
        let unavoidable = if is_probability(unavoidable) { unavoidable } else { 1.0 };
        let charge = if usable(charge) { charge } else { 1.0 };
        let chosen = charge.min(1.0 - unavoidable);
        let foretold = is_probability(risk).then_some(risk);
        let surprise = match self.stage {
            Stage::Closed { .. } => return None,
            Stage::Opened => {
                self.start = unavoidable;
                None
            }
            Stage::Pending { expected, foretold } => {
                self.arriving += (1.0 - self.gamma) * unavoidable;
                Some(self.learn_outcome(self.gamma * unavoidable, expected, foretold))
            }
        };
        self.chosen += chosen;
        let expected = unavoidable + chosen;
        if let Some(risk) = foretold {
            self.unresolved += risk - expected;
        }
        self.stage = Stage::Pending { expected, foretold };
        surprise
    }

    /// Ends the episode, with or without an incident. An episode that is cut off ends without.
    ///
    /// Returns the surprise of the last decision; `None` if there was none, or if the account was
    /// closed before, which changes nothing. An incident before the first decision is surprise.
    pub fn close(&mut self, incident: bool) -> Option<Surprise> {
        let outcome = f64::from(u8::from(incident));
        let surprise = match self.stage {
            Stage::Closed { .. } => return None,
            Stage::Opened => {
                self.surprise += outcome;
                None
            }
            Stage::Pending { expected, foretold } => {
                Some(self.learn_outcome(outcome, expected, foretold))
            }
        };
        self.stage = Stage::Closed { incident };
        surprise
    }

    /// Books what came of a decision, and returns what was not expected of it.
    fn learn_outcome(&mut self, outcome: f64, expected: f64, foretold: Option<f64>) -> Surprise {
        self.surprise += outcome - expected;
        match foretold {
            Some(risk) => Surprise { unforeseen: outcome - risk, uncharged: outcome - expected },
            None => Surprise::of(1.0),
        }
    }

    /// The risk that could not be avoided at the start, `V_0`.
    pub const fn start(&self) -> f64 {
        self.start
    }

    /// The avoidable risk that was let through and charged: what the ledger has spent, but for charges
    /// where an incident was certain already.
    pub const fn chosen(&self) -> f64 {
        self.chosen
    }

    /// What was neither expected nor charged, so far.
    pub const fn surprise(&self) -> f64 {
        self.surprise
    }

    /// What came into view beyond the look-ahead; 0 for `gamma = 1`.
    pub const fn arriving(&self) -> f64 {
        self.arriving
    }

    /// The part of the surprise that was foretold and not charged, being below the resolution. It
    /// counts a decision from its entry on, before the surprise does.
    pub const fn unresolved(&self) -> f64 {
        self.unresolved
    }

    /// The four parts together: `[incident]` of a closed account, up to rounding.
    pub fn total(&self) -> f64 {
        self.start + self.chosen + self.surprise + self.arriving
    }

    /// Whether there was an incident; `None` while the episode goes on.
    pub const fn incident(&self) -> Option<bool> {
        match self.stage {
            Stage::Closed { incident } => Some(incident),
            _ => None,
        }
    }
}

/// For people, in one line.
impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.incident() {
            Some(true) => "INCIDENT",
            Some(false) => "no incident",
            None => "not over",
        };
        write!(
            f,
            "risk at the start {}, chosen {}, surprise {}, arriving {}: {end}",
            Short(self.start),
            Short(self.chosen),
            Short(self.surprise),
            Short(self.arriving)
        )
    }
}
