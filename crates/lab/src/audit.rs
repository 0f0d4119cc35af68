//! Does a trace tell the truth about its shield?
//!
//! `cpss audit` reads a trace and believes none of its answers. The hash chain must fit, line by
//! line; then a shield is built from the header's rules and told again what the first one was told,
//! and every threshold, verdict, charge, ledger and the certificate must come out the same to the
//! last bit. The first thing that does not is named with its line. Start at [`audit`].
//!
//! **Invariants:** any bytes at all end in a report or a [`Finding`], never in a panic; what is checked
//! takes the trace alone, no world and no policy.
//!
//! **Absent on purpose:** a check of the predicted and observed costs themselves, and of the scene:
//! they are what the shield was told. Someone who forges those *and* hashes anew is caught only by
//! the chain's end, if that was kept elsewhere (`traces/index.json` of a reproduction keeps it).

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use cpss_shield::{Certificate, Shield, Situation};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::episode::DISCOUNT;
use crate::trace::chain::Chain;
use crate::trace::{
    CertificateLine, End, Exact, Header, LedgerLine, Step, Tau, VERSION, verdict_words,
};
use crate::what_if::{Effects, WhatIf};

/// Options of `cpss audit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --method cpss --episodes 3 --trace traces
  cpss audit traces/*.jsonl
  cpss audit episode.jsonl --json")]
pub struct Options {
    /// Traces to audit
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Print one line of JSON per trace
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
    /// Whether the envelope held at every step.
    pub envelope_held: bool,
    /// The hash that the trace ends in.
    pub chain_end: String,
}

/// The first thing that is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What can be wrong with a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It does not fit the lines above it.
    Chain,
    /// It is sealed as the last line, but others follow; or the other way round.
    Cut,
    /// It cannot be read.
    Unreadable(String),
    /// It is of a version that this program does not know.
    Version(u32),
    /// The shield refuses what it is told.
    Refused(String),
    /// A field differs from what is derived.
    Differs {
        /// The field.
        field: &'static str,
        /// What the trace says.
        found: String,
        /// What comes out.
        derived: String,
    },
}

/// Runs `cpss audit`.
///
/// # Errors
///
/// If a trace cannot be read, or if anything in one is not as derived.
pub fn run(options: &Options) -> Result<()> {
    let mut unsound = 0;
    for place in &options.traces {
        let bytes = std::fs::read(place)
            .with_context(|| format!("cannot read the trace {}", place.display()))?;
        let name = place.display();
        match audit(&bytes) {
            Ok(report) if options.json => println!("{}", serde_json::to_string(&report)?),
            Ok(report) => println!("{name}: {report}"),
            Err(finding) => {
                unsound += 1;
                eprintln!("{name}: {finding}");
            }
        }
    }
    match unsound {
        0 => Ok(()),
        1 if options.traces.len() == 1 => bail!("the trace is not as it was written"),
        _ => bail!("{unsound} of {} traces are not as they were written", options.traces.len()),
    }
}

/// Derives a trace again.
///
/// # Errors
///
/// The first line that is not as derived.
pub fn audit(bytes: &[u8]) -> Result<Report, Finding> {
    let mut lines = Lines::new(bytes);
    let header: Header = lines.header()?;
    let mut shield = Shield::new(header.shield.spec())
        .map_err(|error| lines.finding(Problem::Refused(error.to_string())))?;
    let mut total = Totals::default();
    loop {
        match lines.next_line()? {
            Line::Step(step) => {
                derive(&mut shield, &header, &step).map_err(|problem| lines.finding(problem))?;
                total.add(*step);
            }
            Line::End(end) => {
                let certificate = shield.certificate();
                total.check(&end, &header, &certificate).map_err(|p| lines.finding(p))?;
                return Ok(Report {
                    task: header.task,
                    arm: header.arm,
                    seed: header.seed,
                    steps: certificate.steps,
                    interventions: certificate.counts.replaced + certificate.counts.infeasible,
                    spent: certificate.spent,
                    budget: certificate.budget,
                    envelope_held: certificate.envelope_held,
                    chain_end: lines.chain.end(),
                });
            }
        }
    }
}

/// Judges and settles a step again.
fn derive(shield: &mut Shield, header: &Header, step: &Step) -> Result<(), Problem> {
    same("t", step.t, shield.ledger().step())?;
    same("costs", step.costs.len(), header.actions.len())?;
    let costs: Vec<f64> = step.costs.iter().map(|cost| cost.0).collect();
    let preferences: Vec<f64> = step.likes.iter().map(|liking| f64::from(*liking)).collect();
    if let Some(best) = favourite(&preferences) {
        same("proposal", step.proposal, best)?;
    }
    let situation = Situation {
        proposal: step.proposal,
        costs: &costs,
        preferences: &preferences,
        density: step.density.0,
    };
    let refused = |error: &dyn fmt::Display| Problem::Refused(error.to_string());
    let decision = shield.judge(&situation).map_err(|error| refused(&error))?;
    let Tau(tau, cap, budget, gain) = Tau::of(&decision, header.shield.tau_cap);
    same("tau", step.tau.0, tau)?;
    same("tau: cap", step.tau.1, cap)?;
    same("tau: budget", step.tau.2, budget)?;
    same("tau: gain", step.tau.3, gain)?;
    same("verdict", step.verdict.as_str(), verdict_words(decision.verdict()).as_str())?;
    same("allowed", step.allowed, decision.allowed())?;
    same("ran", step.ran, decision.executed())?;
    check_branch(step, decision.executed())?;
    let settled = shield.settle(decision, step.observed.0).map_err(|error| refused(&error))?;
    same("charge", step.charge, Exact(settled.charge))?;
    same("mispredicted", step.mispredicted, settled.mispredicted)?;
    let LedgerLine(count, spent, remaining, excess, envelope, holds) =
        LedgerLine::of(&settled, shield.ledger());
    same("ledger: step", step.ledger.0, count)?;
    same("ledger: spent", step.ledger.1, spent)?;
    same("ledger: remaining", step.ledger.2, remaining)?;
    same("ledger: excess", step.ledger.3, excess)?;
    same("ledger: envelope", step.ledger.4, envelope)?;
    same("ledger: envelope holds", step.ledger.5, holds)
}

/// A branch is there exactly where another action ran than the proposed one; it starts where the ego was,
/// and a failure costs 1.
fn check_branch(step: &Step, ran: usize) -> Result<(), Problem> {
    let replaced = ran != step.proposal;
    same("what_if: is there", step.what_if.is_some(), replaced)?;
    let Some(WhatIf { crashed, costs, ghost }) = &step.what_if else { return Ok(()) };
    same("what_if: has decisions", !costs.is_empty(), true)?;
    same("what_if: poses", ghost.len(), costs.len() + 1)?;
    let ego = step.scene.first().map(|ego| [ego.0, ego.1, ego.2]);
    same("what_if: starts at the ego", ghost.first().copied() == ego, true)?;
    let sound = costs.iter().all(|cost| (0.0..=1.0).contains(&cost.0));
    same("what_if: costs are from 0 to 1", sound, true)?;
    let last = costs.last().map_or(0.0, |cost| cost.0);
    same("what_if: a crash costs 1", !crashed || last == 1.0, true)
}

/// What a policy proposes: the first of the actions that it likes most.
fn favourite(likes: &[f64]) -> Option<usize> {
    let best = likes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    likes.iter().position(|liking| *liking == best)
}

/// What the record says of all steps together.
#[derive(Default)]
struct Totals {
    rewards: f64,
    discounted_rewards: f64,
    close: u64,
    interventions: u64,
    discount: Option<f64>,
    observed: Vec<f64>,
    branches: Vec<(usize, WhatIf)>,
}

impl Totals {
    fn add(&mut self, step: Step) {
        let discount = self.discount.unwrap_or(1.0);
        self.rewards += step.reward;
        self.discounted_rewards += discount * step.reward;
        self.close += u64::from(step.charge.0 > 0.0);
        self.interventions += u64::from(step.verdict != "admit");
        self.discount = Some(discount * DISCOUNT);
        self.branches.extend(step.what_if.map(|what_if| (self.observed.len(), what_if)));
        self.observed.push(step.observed.0);
    }

    fn check(&self, end: &End, header: &Header, account: &Certificate) -> Result<(), Problem> {
        let derived = CertificateLine::from(account);
        if end.certificate != derived {
            let words = |line: &CertificateLine| serde_json::to_string(line).unwrap_or_default();
            return Err(Problem::Differs {
                field: "certificate",
                found: words(&end.certificate),
                derived: words(&derived),
            });
        }
        let record = &end.record;
        same("record: seed", record.seed, header.seed)?;
        same("record: steps", record.steps, account.steps)?;
        same("record: return", Exact(record.episode_return), Exact(self.rewards))?;
        let discounted = Exact(self.discounted_rewards);
        same("record: discounted return", Exact(record.discounted_return), discounted)?;
        same("record: close steps", record.close_steps, self.close)?;
        same("record: interventions", record.interventions, self.interventions)?;
        same("record: infeasible", record.infeasible, account.counts.infeasible)?;
        same("record: mispredicted", record.mispredicted, account.counts.mispredicted)?;
        let used = account.spent / account.budget;
        same("record: budget used", Exact(record.budget_used), Exact(used))?;
        same("record: envelope held", record.envelope_held, account.envelope_held)?;
        let wrecked = end.scene.first().is_some_and(|ego| ego.4 == 1);
        same("record: crashed", record.crashed, wrecked)?;
        let branches = self.branches.iter().map(|(step, what_if)| (*step, what_if));
        let effects = Effects::of(branches, &self.observed, record.failed());
        same("record: avoided", record.avoided, effects.avoided)?;
        same("record: unavoided", record.unavoided, effects.unavoided)?;
        same("record: closer", record.closer, effects.closer)?;
        same("record: false alarms", record.false_alarms, effects.nothing)
    }
}

fn same<T: PartialEq + fmt::Display>(
    field: &'static str,
    found: T,
    derived: T,
) -> Result<(), Problem> {
    if found == derived {
        return Ok(());
    }
    Err(Problem::Differs { field, found: found.to_string(), derived: derived.to_string() })
}

/// A line after the first.
enum Line {
    Step(Box<Step>),
    End(Box<End>),
}

/// The lines of a trace, opened one by one.
struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
    chain: Chain,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Lines<'a> {
        Lines { rest: bytes, number: 0, chain: Chain::default() }
    }

    fn finding(&self, problem: Problem) -> Finding {
        Finding { line: self.number, problem }
    }

    fn header(&mut self) -> Result<Header, Finding> {
        // Before the chain: a later version may seal its lines in another way.
        let line = self.rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let version = serde_json::from_slice::<serde_json::Value>(line)
            .ok()
            .and_then(|header| header.get("cpss_trace")?.as_u64());
        if let Some(version) = version
            && version != u64::from(VERSION)
        {
            let version = u32::try_from(version).unwrap_or(u32::MAX);
            return Err(Finding { line: 1, problem: Problem::Version(version) });
        }
        let (body, last) = self.take()?;
        if last {
            return Err(self.finding(Problem::Cut));
        }
        self.parse(&body)
    }

    fn next_line(&mut self) -> Result<Line, Finding> {
        let (body, last) = self.take()?;
        let is_end = body.starts_with(b"{\"end\":");
        if last != is_end || is_end && !self.rest.is_empty() {
            return Err(self.finding(Problem::Cut));
        }
        if is_end {
            return self.parse(&body).map(|end| Line::End(Box::new(end)));
        }
        self.parse(&body).map(|step| Line::Step(Box::new(step)))
    }

    /// The next line's body, and whether it is sealed as the last.
    fn take(&mut self) -> Result<(Vec<u8>, bool), Finding> {
        self.number += 1;
        let Some(length) = self.rest.iter().position(|byte| *byte == b'\n') else {
            return Err(self.finding(Problem::Cut));
        };
        let (line, rest) = self.rest.split_at(length);
        self.rest = &rest[1..];
        let opened = self.chain.open(line).ok_or_else(|| self.finding(Problem::Chain))?;
        Ok((opened.body, opened.last))
    }

    fn parse<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Finding> {
        serde_json::from_slice(body)
            .map_err(|error| self.finding(Problem::Unreadable(error.to_string())))
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        // The header is line 1, so the decision of step t is on line t + 2.
        if let (Some(step), Problem::Differs { .. }) = (self.line.checked_sub(2), &self.problem) {
            write!(f, " (step {step})")?;
        }
        match &self.problem {
            Problem::Chain => f.write_str(
                " does not fit the lines above it: it, or one above it, was edited, moved, added \
                 or taken away",
            ),
            Problem::Cut => f.write_str(
                " is not where a trace ends: lines are missing after it, or do not belong there",
            ),
            Problem::Unreadable(error) => write!(f, " cannot be read: {error}"),
            Problem::Version(version) => {
                write!(
                    f,
                    ": the trace is of version {version}, this program knows {VERSION}; play the \
                     episode again to have it in that"
                )
            }
            Problem::Refused(error) => write!(f, ": the shield refuses it: {error}"),
            Problem::Differs { field, found, derived } => {
                write!(f, ": `{field}` is {found}, but {derived} is derived")
            }
        }
    }
}

impl std::error::Error for Finding {}
