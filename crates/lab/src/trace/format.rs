//! What does each line of a trace say?
//!
//! Start at [`Header`], then [`Step`] and [`End`]. The order of a line's fields is the order of its struct.
//! [`VERSION`] grows whenever a reader of an older one could be misled.

use anyhow::{Context, Result};
use cpss_shield::{Certificate, Decision, Settlement, ShieldSpec, Verdict};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::shield::ShieldLine;
use crate::play::sensor::Behind;
use crate::record::EpisodeRecord;
use crate::record::exact::Exact;
use crate::record::memory::{MemoryLine, MemorySettings};
use crate::record::pose::Pose;
use crate::record::what_if::WhatIf;

/// The version of the format.
pub(crate) const VERSION: u32 = 5;

/// The first line: which episode, under which rules, on which road.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the format; its name tells what kind of file this is.
    pub cpss_trace: u32,
    /// The program that wrote it.
    pub program: String,
    /// Task id.
    pub task: String,
    /// Regime.
    pub regime: String,
    /// Through which eyes policy and shield saw the world, if they were not perfect: the sensor as it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensor: Option<String>,
    /// Who looks through it, if not both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// Arm.
    pub arm: String,
    /// Whether the arm's costs came from the true world's future.
    pub privileged: bool,
    /// Policy.
    pub policy: String,
    /// The episode's seed.
    pub seed: u64,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// Time between two decisions \[s\].
    pub decision_time: f64,
    /// The critic that says what each action risks.
    pub risk: RiskLine,
    /// The shield.
    #[serde(with = "ShieldLine")]
    pub shield: ShieldSpec,
    /// The memory at the start, where one goes on from episode to episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Remembered>,
    /// Length and width of a car \[m\].
    pub car: [f64; 2],
    /// The lanes, in the road's order.
    pub lanes: Vec<LaneLine>,
    /// Bodies without a driver: x, y, heading, length, width.
    pub obstacles: Vec<[f64; 5]>,
}

/// A memory, and what it depends on.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Remembered {
    /// By what it learns.
    pub settings: MemorySettings,
    /// What it has found.
    pub found: MemoryLine,
}

/// What a critic's numbers depend on.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RiskLine {
    /// The hash of its file.
    pub sha256: String,
    /// The regimes it was learned in.
    pub regimes: Vec<String>,
    /// The chance that its look-ahead goes on to the next decision.
    pub gamma: f64,
    /// Differences of risk below this count as none.
    pub resolution: f64,
    /// Whether its card says that its risks are not too low, in such traffic, behind such eyes and under such a budget, and
    /// no alarm has said otherwise before the episode: only then anything is promised.
    pub conservative: bool,
}

/// A lane, for drawing.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LaneLine {
    /// Width \[m\].
    pub width: f64,
    /// Points of the centre line \[m\].
    pub line: Vec<[f64; 2]>,
}

/// One decision: what the shield was told, what it answered, and what came of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The step, from 0.
    pub t: u64,
    /// The action that the policy proposed.
    pub proposal: usize,
    /// The policy's preferences, one for each action; empty where nobody was asked.
    #[serde(rename = "likes")]
    pub preferences: Vec<f32>,
    /// The risk of each action, as the critic has it; a memory raises it before it is judged.
    pub risks: Vec<Exact>,
    /// The least of the raised ones: what cannot be avoided.
    pub unavoidable: Exact,
    /// What each action costs: its avoidable risk, what the true world's future says for a privileged arm,
    /// or by how much it violates a barrier.
    pub costs: Vec<Exact>,
    /// The density.
    pub density: Exact,
    /// The threshold and what it is made of.
    pub tau: Tau,
    /// The verdict, with its reason.
    pub verdict: String,
    /// The action that the verdict calls for.
    pub allowed: usize,
    /// The action that ran.
    pub ran: usize,
    /// What was charged: the cost of what ran.
    pub charge: Exact,
    /// How close the step came to anything, from 0 to 1 for a crash. No decision depends on it.
    pub closeness: Exact,
    /// Whether the executed action was predicted admissible and cost more.
    pub mispredicted: bool,
    /// The ledger after the charge.
    pub ledger: LedgerLine,
    /// The reward.
    pub reward: f64,
    /// Who is to blame for the risk of a refused proposal: without whom it would be least, how large it is,
    /// and how large without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<(String, f64, f64)>,
    /// If another action ran than the proposed one: what that one would have led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_if: Option<WhatIf>,
    /// Where everybody was at the decision, the ego first.
    pub scene: Vec<Pose>,
    /// Where the shield took everybody to be, the ego first, if it looked through a sensor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Pose>,
}

/// A threshold: `tau`, cap, the budget's projection, gain.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Tau(pub Exact, pub Exact, pub Exact, pub Exact);

/// A ledger: decisions settled, spent, remaining, excess, envelope, and whether it holds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct LedgerLine(pub u64, pub Exact, pub Exact, pub Exact, pub Exact, pub bool);

/// The last line: how it ended, and the account of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The version again; its name tells what kind of line this is.
    pub end: u32,
    /// Where everybody ended.
    pub scene: Vec<Pose>,
    /// What came of the episode.
    pub record: EpisodeRecord,
    /// The shield's certificate.
    pub certificate: CertificateLine,
    /// The memory afterwards, where one goes on from episode to episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryLine>,
}

/// A [`Certificate`]; budget, horizon, epsilon and mode are in the header's shield.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateLine {
    /// Decisions settled.
    pub steps: u64,
    /// Cost spent.
    pub spent: Exact,
    /// Whether that is within the budget.
    pub budget_kept: bool,
    /// Cost above the thresholds.
    pub excess: Exact,
    /// The envelope at the last step.
    pub envelope: Exact,
    /// Whether it held at every step.
    pub envelope_held: bool,
    /// Proposals admitted.
    pub admitted: u64,
    /// Proposals replaced.
    pub replaced: u64,
    /// Of these, admissible ones that were passed over for their price.
    pub priced: u64,
    /// Steps without an admissible action.
    pub infeasible: u64,
    /// Steps predicted admissible that cost more.
    pub mispredicted: u64,
    /// Unusable costs, densities and observations.
    pub unusable: [u64; 3],
    /// The account of risk: start, chosen, surprise, arriving. Their sum is 1 after an incident, and else 0.
    pub account: [Exact; 4],
    /// The evidence that the critic underestimates risk.
    pub evidence: Exact,
    /// By how much the log-odds of what cannot be avoided are raised, as its surprises have led to.
    pub recalibration: Exact,
}

impl Tau {
    /// The threshold of a decision, under this cap.
    pub fn of(decision: &Decision, tau_cap: f64) -> Tau {
        let parts = [decision.threshold(), tau_cap, decision.tau_budget(), decision.gain()];
        let [tau, cap, budget, gain] = parts.map(Exact);
        Tau(tau, cap, budget, gain)
    }
}

impl LedgerLine {
    /// The ledger after a settlement.
    pub fn of(settled: &Settlement, ledger: &cpss_shield::Ledger) -> LedgerLine {
        let numbers = [ledger.spent(), settled.remaining, ledger.excess(), settled.envelope];
        let [spent, remaining, excess, envelope] = numbers.map(Exact);
        LedgerLine(ledger.step(), spent, remaining, excess, envelope, settled.envelope_holds)
    }
}

impl From<&Certificate> for CertificateLine {
    fn from(certificate: &Certificate) -> CertificateLine {
        let counts = &certificate.counts;
        let parts = |account: cpss_shield::Account| {
            [account.start(), account.chosen(), account.surprise(), account.arriving()]
        };
        let memory = certificate.memory.as_ref();
        CertificateLine {
            steps: certificate.steps,
            spent: Exact(certificate.spent),
            budget_kept: certificate.budget_kept,
            excess: Exact(certificate.excess),
            envelope: Exact(certificate.envelope),
            envelope_held: certificate.envelope_held,
            admitted: counts.admitted,
            replaced: counts.replaced,
            priced: counts.priced,
            infeasible: counts.infeasible,
            mispredicted: counts.mispredicted,
            unusable: [
                counts.unusable_costs,
                counts.unusable_contexts,
                counts.unusable_observations,
            ],
            account: certificate.account.map_or([f64::NAN; 4], parts).map(Exact),
            evidence: Exact(memory.map_or(f64::NAN, |memory| memory.evidence().value())),
            recalibration: Exact(memory.map_or(f64::NAN, |memory| memory.recalibration().raised())),
        }
    }
}

/// Reads a line without its hash; whoever doubts it audits the trace.
pub(crate) fn read_line<T: DeserializeOwned>(line: &str) -> Result<T> {
    let (body, _) = line.rsplit_once(",\"h\":").context("a line of a trace has no hash")?;
    serde_json::from_str(&format!("{body}}}")).context("a line of a trace")
}

/// A verdict in words: `admit`, `replace over-budget`, `infeasible over-cap`, ...
pub(crate) fn verdict_words(verdict: Verdict) -> String {
    use cpss_shield::Reason;
    let kind = match verdict {
        Verdict::Admit => return "admit".to_owned(),
        Verdict::Replace(_) => "replace",
        Verdict::Infeasible(_) => "infeasible",
    };
    let reason = match verdict.reason() {
        None => "",
        Some(Reason::UnusableCost) => "unusable-cost",
        Some(Reason::OverCap) => "over-cap",
        Some(Reason::HorizonClosed) => "horizon-closed",
        Some(Reason::BudgetSpent) => "budget-spent",
        Some(Reason::OverBudget) => "over-budget",
        Some(Reason::UnusableContext) => "unusable-context",
        Some(Reason::OverContext) => "over-context",
        Some(Reason::Priced) => "priced",
    };
    format!("{kind} {reason}")
}
