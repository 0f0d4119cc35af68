//! Do these traces tell the truth about their shields? (`cpss audit`)
//!
//! Every trace is derived again ([`audit`]) and, where its last hash was kept elsewhere, compared with that (`kept`).

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use crate::terminal::{note, say};
use crate::trace::audit::{Finding, Problem, Report, audit};

mod kept;

use kept::Kept;

/// Options of `cpss audit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --method cpss --episodes 3 --trace traces
  cpss audit traces/*.jsonl
  cpss audit episode.jsonl --expect 5d1c...    the hash that it ended in when it was written
  cpss audit out/traces/*.jsonl --index out/traces/index.json
  cpss audit episode.jsonl --json")]
pub(super) struct Options {
    /// Traces to audit
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// The hash that the trace must end in, kept elsewhere; for one trace
    #[arg(long, value_name = "HASH", conflicts_with = "index")]
    expect: Option<String>,
    /// A list of such hashes by file name, as a reproduction writes it (traces/index.json)
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
    /// Print one JSON document per trace, sound or not, each on a line
    #[arg(long)]
    json: bool,
}

/// Runs `cpss audit`.
pub(super) fn run(options: &Options) -> Result<()> {
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
            Ok(report) if options.json => say!("{}", report_json(&report, place))?,
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

/// Why a file is not known to be a sound trace.
enum Wrong {
    /// It could not be read.
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

fn report_json(report: &Report, place: &Path) -> serde_json::Value {
    let mut document = json!({"trace": place.display().to_string(), "sound": true});
    if let (Some(all), Ok(serde_json::Value::Object(more))) =
        (document.as_object_mut(), serde_json::to_value(report))
    {
        all.extend(more);
    }
    document
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
