//! Does a trace tell the truth about its shield?
//!
//! The audit reads a trace and believes none of its answers. The hash chain must fit, line by line. The
//! header must agree with itself: what the task and the arm say. Then a shield is built from its rules and told
//! again what the first one was told; costs must follow from risks, and every threshold, verdict, charge, ledger and the certificate must
//! come out the same to the last bit; and so must every number of the record that the lines determine. The
//! first thing that does not is named with its line. Start at [`audit`].
//!
//! | file | the question |
//! |---|---|
//! | `lines` | is every line in its place? |
//! | `header` | does the first line agree with itself? |
//! | `step` | does a decision follow from what the shield was told? |
//! | `ending` | was the episode over when it says so, and how did it end? |
//! | `totals` | does the record follow from the decisions? |
//! | `finding` | what is wrong, and where? |
//!
//! **Invariants:** any bytes at all end in a report or a [`Finding`], never in a panic; what is checked
//! takes the trace alone, no world and no policy; what is *not* checked is in every report
//! ([`Report::taken_as_written`]).
//!
//! **Absent on purpose:** a check of the risks themselves, of how close a step came, and of the scenes: they
//! are what was seen and what a critic said of it. Someone who forges those *and* hashes anew is caught only
//! by the chain's end, if that was kept elsewhere (`commands/audit/kept.rs`).

use std::fmt;

use serde::Serialize;

use crate::record::Account;
use crate::trace::format::{End, Header};

mod ending;
mod finding;
mod header;
mod lines;
mod step;
mod totals;

pub use finding::{Finding, Problem};
pub use totals::{DISTANCE_TOLERANCE, SPEED_TOLERANCE};

use header::Episode;
use lines::Lines;
use step::Steps;
use totals::Totals;

/// What a sound trace was found to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Task id.
    pub task: String,
    /// Arm.
    pub arm: String,
    /// The episode's seed.
    pub seed: u64,
    /// Decisions derived again.
    pub steps: u64,
    /// Proposals that were refused.
    pub interventions: u64,
    /// Cost spent.
    pub spent: f64,
    /// The budget.
    pub budget: f64,
    /// Whether no more than that was spent.
    pub budget_kept: bool,
    /// What was promised of the episode: the chance of an incident is at most this, if the critic is
    /// conservative. What could not be avoided at the start, what came into view, and the budget; `None` for
    /// an arm that promises nothing, or a critic that is not known to be conservative.
    pub promise: Option<f64>,
    /// Whether there was an incident.
    pub incident: bool,
    /// Where it came from, or why it did not come: start, chosen, surprise and arriving add up to it.
    pub account: Account,
    /// The evidence that the critic underestimates risk.
    pub evidence: f64,
    /// By how much its log-odds were raised in this episode, by a memory of those before.
    pub recalibration: f64,
    /// Why there is an alarm, if there is one.
    pub alarm: Option<String>,
    /// Whether the envelope held at every step.
    pub envelope_held: bool,
    /// The hash that the trace ends in.
    pub chain_end: String,
    /// Fields that nothing in the trace determines. A forger who hashes anew may choose them.
    pub taken_as_written: Vec<&'static str>,
}

/// What no trace determines: who played what, what the shield was told, and what was seen.
const TAKEN_AS_WRITTEN: [&str; 17] = [
    "header.program",
    "header.regime",
    "header.sensor",
    "header.behind",
    "header.policy",
    "header.seed",
    "header.risk",
    "step.likes",
    "step.risks",
    "step.density",
    "step.closeness",
    "step.reward",
    "step.conflict",
    "step.what_if",
    "step.scene",
    "step.seen",
    "end.scene",
];

/// Derives a trace again.
///
/// # Errors
///
/// The first line that is not as derived.
pub fn audit(bytes: &[u8]) -> Result<Report, Finding> {
    let lines = Lines::open(bytes)?;
    let at = |line: usize| move |problem| Finding { line, problem };
    let header: Header = lines.parse(1)?;
    let episode = Episode::of(&header).map_err(at(1))?;
    let mut steps = Steps::new(&header, episode).map_err(at(1))?;
    let mut totals = Totals::new();
    let last = lines.count();
    for line in 2..last {
        let step = lines.parse(line)?;
        steps.derive(&step).map_err(at(line))?;
        totals.add(step);
    }
    let end: End = lines.parse(last)?;
    let open = totals.check(&end, &header, &steps).map_err(at(last))?;
    let shield = (!steps.episode().has_shipped_shield).then_some("header.shield");
    let record = &end.record;
    let certificate = steps.certificate(record);
    let costs = (!steps.episode().arm.asks_critic()).then_some("step.costs");
    let memory = header.memory.is_some().then_some("header.memory");
    let score = record.score.is_some().then_some("end.record.score");
    let alarm = certificate.memory.as_ref().and_then(cpss_shield::Memory::alarm);
    Ok(Report {
        task: header.task,
        arm: header.arm,
        seed: header.seed,
        steps: certificate.steps,
        interventions: certificate.counts.replaced + certificate.counts.infeasible,
        spent: certificate.spent,
        budget: certificate.budget,
        budget_kept: certificate.budget_kept,
        promise: (steps.episode().arm.promises() && header.risk.conservative)
            .then(|| record.promise(certificate.budget))
            .flatten(),
        incident: record.failed(),
        account: record.account(),
        evidence: record.evidence,
        recalibration: header.memory.map_or(0.0, |memory| memory.found.recalibration.raised()),
        alarm: alarm.map(|alarm| alarm.to_string()),
        envelope_held: certificate.envelope_held,
        chain_end: lines.chain_end,
        taken_as_written: TAKEN_AS_WRITTEN
            .into_iter()
            .chain(costs)
            .chain(shield)
            .chain(memory)
            .chain(score)
            .chain(open)
            .collect(),
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sound: {} {} seed {}, {} decisions derived again, {} interventions, spent {:.4} of \
             {}, envelope {}, chain {}",
            self.task,
            self.arm,
            self.seed,
            self.steps,
            self.interventions,
            self.spent,
            self.budget,
            if self.envelope_held { "held" } else { "BROKEN" },
            self.chain_end
        )?;
        match &self.alarm {
            Some(reason) => write!(f, "; ALARM: {reason}"),
            None => Ok(()),
        }
    }
}
