//! What does a shield remember from one episode to the next?
//!
//! How well its critic has foretold what happened: the evidence against it, and by how much its
//! risks must be raised. Start at [`Memory::learn`].
//!
//! **Absent on purpose:** anything about a single episode, which is in the ledger and the account.

use core::fmt;

use crate::decision::Short;
use crate::{Evidence, Recalibration, RiskSpec};

/// The evidence and the recalibration, which both learn from surprises.
///
/// [`RiskRules::memory`](crate::RiskRules::memory) opens one; keep it from episode to episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    evidence: Evidence,
    recalibration: Recalibration,
}

impl Memory {
    pub(crate) const fn new(spec: &RiskSpec) -> Memory {
        Memory {
            evidence: Evidence::new(spec.alarm),
            recalibration: Recalibration::new(spec.rate, spec.max_shift),
        }
    }

    /// Takes one surprise into account, as [`Account::enter`](crate::Account::enter) and
    /// [`Account::close`](crate::Account::close) return it.
    pub fn learn(&mut self, surprise: f64) {
        self.evidence.learn(surprise);
        self.recalibration.learn(surprise);
    }

    /// The evidence that the critic, as it is recalibrated, underestimates risk.
    pub const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// By how much risks are raised.
    pub const fn recalibration(&self) -> &Recalibration {
        &self.recalibration
    }

    /// Forgets the evidence and keeps the recalibration: after an alarm that was seen to.
    pub fn restart_evidence(&mut self) {
        self.evidence.restart();
    }
}

/// For people, in one line.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { evidence, recalibration } = self;
        write!(f, "evidence {}", Short(evidence.value()))?;
        match evidence.alarm() {
            Some(seen) => write!(f, ": ALARM after {seen} decisions")?,
            None => write!(f, ", below the alarm at {}", Short(evidence.level()))?,
        }
        write!(f, "; log-odds raised by {}", Short(recalibration.shift()))
    }
}
