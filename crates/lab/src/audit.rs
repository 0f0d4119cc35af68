//! Does a trace tell the truth about its shield?
//!
//! `cpss audit` reads a trace and believes none of its answers. The hash chain must fit, line by line. The
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
//! | `kept` | is it the trace whose hash was kept? |
//!
//! **Invariants:** any bytes at all end in a report or a [`Finding`], never in a panic; what is checked
//! takes the trace alone, no world and no policy; what is *not* checked is in every report
//! ([`Report::taken_as_written`]).
//!
//! **Absent on purpose:** a check of the risks themselves, of how close a step came, and of the scenes: they
//! are what was seen and what a critic said of it. Someone who forges those *and* hashes anew is caught only
//! by the chain's end, if that was kept elsewhere: `--expect` and `--index`.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::evaluate::Account;
use crate::terminal::{note, say};
use crate::trace::{End, Header};

mod ending;
mod finding;
mod header;
mod kept;
mod lines;
mod step;
mod totals;

pub use finding::{Finding, Problem};
pub use totals::{DISTANCE_TOLERANCE, SPEED_TOLERANCE};

use header::Episode;
use kept::Kept;
use lines::Lines;
use step::Steps;
use totals::Totals;

/// Options of `cpss audit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --method cpss --episodes 3 --trace traces
  cpss audit traces/*.jsonl
  cpss audit episode.jsonl --expect 5d1c...    the hash that it ended in when it was written
  cpss audit out/traces/*.jsonl --index out/traces/index.json
  cpss audit episode.jsonl --json")]
pub struct Options {
    /// Traces to audit
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// The hash that the trace must end in, kept elsewhere; for one trace
    #[arg(long, value_name = "HASH", conflicts_with = "index")]
    pub expect: Option<String>,
    /// A list of such hashes by file name, as a reproduction writes it (traces/index.json)
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,
    /// Print one JSON document per trace, sound or not, each on a line
    #[arg(long)]
    pub json: bool,
}

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
    /// Whether the envelope held at every step.
    pub envelope_held: bool,
    /// The hash that the trace ends in.
    pub chain_end: String,
    /// Fields that nothing in the trace determines. A forger who hashes anew may choose them.
    pub taken_as_written: Vec<&'static str>,
}

/// What no trace determines: who played what, what the shield was told, and what was seen.
const TAKEN_AS_WRITTEN: [&str; 14] = [
    "header.program",
    "header.regime",
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
    "end.scene",
];

/// Runs `cpss audit`.
///
/// # Errors
///
/// If a trace cannot be read, or if anything in one is not as derived.
pub fn run(options: &Options) -> Result<()> {
    let kept = Kept::load(options)?;
    let (mut unsound, mut unread) = (0, 0);
    for place in &options.traces {
        let found = audit_file(place, &kept);
        match &found {
            Ok(_) => {}
            Err(Wrong::Unread(_)) => unread += 1,
            // What this program does not know it cannot find to be forged.
            Err(Wrong::Unsound(Finding { problem: Problem::Version(_), .. })) => unread += 1,
            Err(Wrong::Unsound(_)) => unsound += 1,
        }
        let name = place.display();
        match found {
            Ok(report) if options.json => say!("{}", report.json(place))?,
            Err(wrong) if options.json => say!("{}", wrong.json(place))?,
            Ok(report) => say!(
                "{name}: {report}\n  taken as written: {}",
                report.taken_as_written.join(", ")
            )?,
            Err(wrong) => note!("{name}: {wrong}"),
        }
    }
    verdict(options.traces.len(), unsound, unread)
}

/// What is said of all traces together: a file that is not there was not found to be forged.
fn verdict(all: usize, unsound: usize, unread: usize) -> Result<()> {
    match (all, unsound, unread) {
        (_, 0, 0) => Ok(()),
        (1, _, 0) => bail!("the trace is not as it was written"),
        (1, _, _) => bail!("the trace cannot be read"),
        (_, _, 0) => bail!("{unsound} of {all} traces are not as they were written"),
        (_, 0, _) => bail!("{unread} of {all} traces cannot be read"),
        _ => bail!(
            "{unsound} of {all} traces are not as they were written, and {unread} cannot be read"
        ),
    }
}

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
    let open = totals.check(&end, header.seed, &steps).map_err(at(last))?;
    let shield = (!steps.episode().has_shipped_shield).then_some("header.shield");
    let record = &end.record;
    let certificate = steps.certificate(end.record.failed());
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
            .then(|| record.promise(certificate.budget)),
        incident: record.failed(),
        account: Account::of(&[*record]),
        evidence: record.evidence,
        envelope_held: certificate.envelope_held,
        chain_end: lines.chain_end,
        taken_as_written: TAKEN_AS_WRITTEN.into_iter().chain(shield).chain(open).collect(),
    })
}

/// Why a file is not known to be a sound trace.
enum Wrong {
    /// It could not be looked at.
    Unread(std::io::Error),
    /// It was, and something in it is not as derived.
    Unsound(Finding),
}

fn audit_file(place: &Path, kept: &Kept) -> Result<Report, Wrong> {
    let bytes = std::fs::read(place).map_err(Wrong::Unread)?;
    let report = audit(&bytes).map_err(Wrong::Unsound)?;
    let last = bytes.iter().filter(|byte| **byte == b'\n').count();
    match kept.check(place, &report.chain_end) {
        Ok(()) => Ok(report),
        Err(problem) => Err(Wrong::Unsound(Finding { line: last, problem })),
    }
}

impl Report {
    fn json(&self, place: &Path) -> serde_json::Value {
        let mut document = json!({"trace": place.display().to_string(), "sound": true});
        if let (Some(all), Ok(serde_json::Value::Object(more))) =
            (document.as_object_mut(), serde_json::to_value(self))
        {
            all.extend(more);
        }
        document
    }
}

impl Wrong {
    fn json(&self, place: &Path) -> serde_json::Value {
        let place = place.display().to_string();
        let line = match self {
            Wrong::Unread(_) => None,
            Wrong::Unsound(finding) => Some(finding.line),
        };
        json!({"trace": place, "sound": false, "where": line, "what": self.to_string()})
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Unread(error) if error.kind() == std::io::ErrorKind::NotFound => {
                f.write_str("there is no such file")
            }
            Wrong::Unread(error) => write!(f, "cannot be read: {error}"),
            Wrong::Unsound(finding) => finding.fmt(f),
        }
    }
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
        )
    }
}
