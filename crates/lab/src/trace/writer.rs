//! How does a trace come about while an episode is played?
//!
//! A [`TraceWriter`] is an [`Observer`]: the player tells it what happened, and it adds a line. The
//! whole trace is kept in memory until the episode is over, so that a file is whole or not there.

use cpss_highway::{Scene, Task, TaskId};
use cpss_risk::{Blame, Hazard, LearnedRisk};
use cpss_shield::{Certificate, Memory, Shield};
use serde::Serialize;

use super::chain::Chain;
use super::format::{
    CertificateLine, End, Header, LedgerLine, Remembered, RiskLine, Step, Tau, VERSION,
    verdict_words,
};
use super::road::Road;
use crate::play::arm::Arm;
use crate::play::critic::{hash, promises_here};
use crate::play::observer::{Judged, Observer, Outcome};
use crate::play::sensor::{Behind, PERFECT};
use crate::record::EpisodeRecord;
use crate::record::exact::Exact;
use crate::record::memory::{MemoryLine, MemorySettings};
use crate::record::pose::{poses, round};

/// Which cell of a comparison an episode belongs to.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Regime, as it was asked for.
    pub regime: String,
    /// Sensor, as it was asked for,
    pub sensor: String,
    /// and who looks through it.
    pub behind: Behind,
    /// Arm.
    pub arm: Arm,
    /// Policy, as it was asked for.
    pub policy: String,
}

/// Writes the trace of one episode after the other.
#[derive(Debug)]
pub struct TraceWriter {
    cell: Cell,
    text: String,
    chain: Chain,
    step: Option<Step>,
    memory: Option<Remembered>,
}

impl TraceWriter {
    /// A writer for episodes of one cell.
    pub fn new(cell: Cell) -> TraceWriter {
        TraceWriter { cell, text: String::new(), chain: Chain::default(), step: None, memory: None }
    }

    /// The trace of the last episode, whole once that is over.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The hash that the trace ends in.
    pub fn chain_end(&self) -> String {
        self.chain.end()
    }

    /// What the trace says about the critic.
    fn risk_line(&self, risk: &LearnedRisk, id: TaskId, budget: f64) -> RiskLine {
        let card = risk.card();
        let Cell { regime, sensor, behind, .. } = &self.cell;
        // After an alarm nobody knows whether the world is still the calibrated one.
        let is_quiet = !self.memory.is_some_and(|memory| memory.found.is_alarmed());
        RiskLine {
            sha256: hash(risk),
            regimes: card.learning.regimes.clone(),
            gamma: card.gamma,
            resolution: card.resolution,
            conservative: is_quiet && promises_here(risk, id, (regime, sensor, *behind), budget),
        }
    }

    fn push(&mut self, line: &impl Serialize, last: bool) {
        // These lines are plain data: numbers, words and lists, which always become JSON.
        let body = serde_json::to_string(line).unwrap_or_default();
        self.text += &self.chain.seal(&body, last);
        self.text.push('\n');
    }
}

impl Observer for TraceWriter {
    fn wants_blame(&self) -> bool {
        true
    }

    fn remember(&mut self, settings: &MemorySettings, memory: &Memory) {
        self.memory = Some(Remembered { settings: *settings, found: MemoryLine::of(memory) });
    }

    fn begin(&mut self, seed: u64, task: &Task, shield: &Shield, risk: &LearnedRisk) {
        self.text.clear();
        self.chain = Chain::default();
        self.step = None;
        let Road { actions, decision_time, car, lanes, obstacles } = Road::of(task);
        let header = Header {
            cpss_trace: VERSION,
            program: concat!("cpss ", env!("CARGO_PKG_VERSION")).to_owned(),
            task: task.id.name().to_owned(),
            regime: self.cell.regime.clone(),
            sensor: Some(self.cell.sensor.clone()).filter(|sensor| sensor != PERFECT),
            behind: Some(self.cell.behind).filter(|behind| *behind != Behind::Both),
            arm: self.cell.arm.to_string(),
            privileged: self.cell.arm == Arm::Oracle,
            policy: self.cell.policy.clone(),
            seed,
            actions,
            decision_time,
            risk: self.risk_line(risk, task.id, shield.rules().spec().budget),
            shield: *shield.rules().spec(),
            memory: self.memory,
            car,
            lanes,
            obstacles,
        };
        self.push(&header, false);
    }

    fn judged(&mut self, judged: &Judged<'_>) {
        let Judged { situation, decision, tau_cap, scene, seen, risks, unavoidable, blame } =
            *judged;
        self.step = Some(Step {
            t: decision.step(),
            proposal: decision.proposal(),
            // A policy's values are singles; as such they are shorter, and as exact.
            preferences: situation.preferences.iter().map(|value| *value as f32).collect(),
            risks: risks.iter().copied().map(Exact).collect(),
            unavoidable: Exact(unavoidable),
            costs: situation.costs.iter().copied().map(Exact).collect(),
            density: Exact(decision.density()),
            tau: Tau::of(decision, tau_cap),
            verdict: verdict_words(decision.verdict()),
            allowed: decision.allowed(),
            ran: decision.executed(),
            charge: Exact(f64::NAN),
            closeness: Exact(f64::NAN),
            mispredicted: false,
            ledger: LedgerLine(0, Exact(0.0), Exact(0.0), Exact(0.0), Exact(0.0), false),
            reward: 0.0,
            conflict: blame.map(blame_words),
            what_if: None,
            scene: poses(scene),
            seen: seen.map(poses).unwrap_or_default(),
        });
    }

    fn settled(&mut self, outcome: &Outcome<'_>) {
        let Some(mut step) = self.step.take() else { return };
        step.closeness = Exact(outcome.closeness);
        step.charge = Exact(outcome.settlement.charge);
        step.mispredicted = outcome.settlement.mispredicted;
        step.ledger = LedgerLine::of(outcome.settlement, outcome.ledger);
        step.reward = outcome.reward;
        step.what_if = outcome.what_if.cloned();
        self.push(&step, false);
    }

    fn end(&mut self, scene: &Scene, record: &EpisodeRecord, certificate: &Certificate) {
        // Only where it goes on: what one episode leaves behind is in the certificate.
        let kept = self.memory.take().and(certificate.memory.as_ref()).map(MemoryLine::of);
        let end = End {
            end: VERSION,
            scene: poses(scene),
            record: *record,
            certificate: CertificateLine::from(certificate),
            memory: kept,
        };
        self.push(&end, true);
    }
}

fn blame_words(blame: &Blame) -> (String, f64, f64) {
    let hazard = match blame.hazard {
        // As in the scene, where the ego comes first.
        Hazard::Car(place) => format!("car {}", place + 1),
        Hazard::Obstacle(place) => format!("obstacle {place}"),
        Hazard::Road => "road".to_owned(),
    };
    (hazard, round(blame.risk, 1e6), round(blame.without, 1e6))
}
